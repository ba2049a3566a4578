"""The program of ``host_paths.csv`` makes a table of the ways of costs, warm and cold."""

import numpy as np
import pandas as pd

from papers.synthesis.evidence.programs import host_paths


def test_a_row_a_way_of_the_costs(tmp_path, monkeypatch):
    """In the executor, whose arrays are NumPy's."""
    monkeypatch.setattr(host_paths, "ORDERS", (5,))
    monkeypatch.setattr(host_paths, "BATCHES", ((3, 4),))
    monkeypatch.setattr(host_paths.device, "select", lambda kind: None)
    monkeypatch.setattr(host_paths, "WARM", 0)
    monkeypatch.setattr(host_paths.importlib.util, "find_spec", lambda name: None)
    host_paths.main(str(tmp_path / "paths.csv"), "1")
    found = pd.read_csv(tmp_path / "paths.csv")
    assert found[["problems", "n"]].value_counts().to_dict() == {(1, 5): 3, (3, 4): 2}
    assert (found[["warm_us", "cold_us"]] > 0).all(axis=None)


def test_each_way_is_timed_warm_and_cold(monkeypatch):
    calls, collected = [], []
    monkeypatch.setattr(host_paths.gc, "collect", lambda: collected.append(len(calls)))
    found = host_paths.medians(lambda: calls.append(1), 3)
    assert set(found) == {"warm_us", "cold_us"}
    assert len(calls) == 2 * (host_paths.WARM + 3)
    assert collected == list(np.arange(len(calls) // 2, len(calls)))  # before each of the cold ones
