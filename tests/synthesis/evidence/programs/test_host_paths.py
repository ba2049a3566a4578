"""The program of ``host_paths.csv`` makes a table of the ways of costs, warm and cold."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.synthesis.evidence.measured import calls
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
    done, collected = [], []
    monkeypatch.setattr(host_paths.gc, "collect", lambda: collected.append(len(done)))
    found = host_paths.medians(lambda: done.append(1), 3)
    assert set(found) == {"warm_us", "cold_us"}
    assert len(done) == 2 * (host_paths.WARM + 3)
    assert collected == list(np.arange(len(done) // 2, len(done)))  # before each of the cold ones


HOME = Path(papers.__file__).parent / "synthesis"
RESULTS = " ".join((HOME / "RESULTS.md").read_text(encoding="utf-8").split())
CHANGELOG = " ".join((HOME.parents[1] / "CHANGELOG.md").read_text(encoding="utf-8").split())


def test_the_pages_say_what_the_host_does_less():
    found = calls.by_codes("host_paths", ["problems", "n", "costs"])
    for way in ("warm", "cold"):
        found[way] = found[f"{way}_now"] / found[f"{way}_before"]
    found = found.set_index(["problems", "n", "costs"])
    duals = found.xs("from host to host, with duals", level="costs")["warm"]
    span = f"{duals.min():.2f} to {duals.max():.2f}"
    assert f"It came to {span}, and a call to" in RESULTS
    assert f"{span} of the time from host to host, a call without duals" in CHANGELOG
    many, call = (10_000, 30), found.xs("a call", level="costs")["warm"]
    assert (
        f"does less](#batches): {duals[many]:.2f} of that time, and {call[many]:.2f} in" in RESULTS
    )
    assert f"a call to {call[many]:.2f} on the shortest sides" in RESULTS
    numba = found.loc[(1, 64, "Numba")]
    said = f"takes {numba['warm']:.2f} of its time warm and {numba['cold']:.2f} cold at n = 64"
    assert said in RESULTS
    assert f"and takes {numba['cold']:.2f} of its time." in RESULTS
    assert found.loc[(1, 64, "its run alone"), "warm"] == pytest.approx(1, abs=0.01)
    run = found.loc[(1, 64, "its run alone"), "cold_now"]
    assert numba["cold_now"] - run > 100  # "Cold it still adds more than the goal's"
    turns = pd.read_csv(HOME / "evidence/host_paths.csv").groupby(["turn", "code"]).size()
    assert (turns[1] == 18).all()
    assert (turns[2] < 18).all()  # "was stopped before its last rows"


def test_a_batch_spends_little_of_its_time_on_the_device():
    parts = pd.read_csv(HOME / "evidence/batch_parts.csv")
    whole = parts.groupby("problems")["us"].sum()
    run = parts[parts["part"] == "the run"].set_index("problems")["us"]
    assert 0.005 < (run / whole).min() < (run / whole).max() < 0.02  # "a hundredth"


def test_the_pages_say_what_small_runs_on_one_core_take():
    found = calls.cold_on_one_core().set_index("costs", append=True)
    share = found["cold_now"] / found["cold_before"]
    assert f"take {share.min():.2f} to {share.max():.2f} of the time before" in RESULTS
    beside = found["cold_now"] / found["lapjv"]
    short = found["n"] == 32
    assert f"{beside[short].max():.2f}. OR-Library's" in RESULTS
    assert f"and {beside[found['n'] != 32].max():.2f} of lapjv's at most" in RESULTS
    (of,), (to,) = (line.xs("assign100", level="costs") for line in (share, beside))
    assert f"takes {of:.2f} of the time before and {to:.2f} of lapjv's" in RESULTS


def test_lists_go_as_the_page_says():
    found = calls.lists_on_one_core().set_index("problems")
    assert (found.loc[1000, "over"] < 0.8).all()
    assert (found.loc[1000, "now"] < found.loc[1000, "before"]).all()
    code = pd.read_csv(HOME / "evidence/one_core_lists.csv")["code"].iloc[-1]
    assert f"before (7d7ae6c) and now ({code}) by turns" in RESULTS
