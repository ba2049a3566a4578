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
    duals = found.xs("from host to host, with duals", level="costs")
    warm, cold = (f"{duals[way].min():.2f} to {duals[way].max():.2f}" for way in ("warm", "cold"))
    many, call = (10_000, 30), found.xs("a call", level="costs")
    others = call["cold"].drop(many)
    assert f"It came to {warm} warm and {cold} cold, and a call to" in RESULTS
    assert f"a call to {call.loc[many, 'warm']:.2f} on 10,000 of 30 a side" in RESULTS
    assert f"to {others.min():.2f} to {others.max():.2f} cold on the others" in RESULTS
    assert (call["cold"] > 1).sum() == (duals["cold"] > 1).sum() == 1  # "two calls ... longer"
    assert f"{warm} of the time from host to host, one after the other, a call" in CHANGELOG
    assert f"(with duals to {duals.loc[many, 'cold']:.2f} cold)" in RESULTS
    device = found.loc[1].drop(["NumPy", "its run alone"], level="costs")
    span = "{:.2f} to {:.2f}".format(*device.loc[64, "cold"].agg(["min", "max"]))
    assert f"the device takes {span} of its time cold at n = 64" in RESULTS
    assert f"{span} of a cold call's time at n = 64" in CHANGELOG
    says = f"takes {device.loc[(64, 'Numba'), 'warm']:.2f} on Numba's memory, no less on CuPy's and"
    assert f"{says} on PyTorch's {device.loc[(64, 'PyTorch'), 'warm']:.2f}; at n = 256" in RESULTS
    assert f"PyTorch's take {device.loc[(256, 'PyTorch'), 'warm']:.2f}." in RESULTS
    assert 1 <= device.loc[(64, "CuPy"), "warm"] < 1.05
    run = found.loc[(1, 64, "its run alone")]
    adds = device.loc[64]
    assert (adds["cold_now"] - run["cold_now"] > 100).all()  # "more ... than the goal allows"
    assert adds.loc["PyTorch", "warm_now"] - run["warm_now"] > 100
    assert run["warm"] == pytest.approx(1, abs=0.01)
    turns = pd.read_csv(HOME / "evidence/host_paths.csv").groupby(["turn", "code"]).size()
    assert (turns[1] == 18).all()
    assert (turns[2] < 18).all()  # "was stopped before its last rows"


def test_a_batch_spends_little_of_its_time_on_the_device():
    parts = pd.read_csv(HOME / "evidence/batch_parts.csv")
    whole = parts.groupby("problems")["us"].sum()
    run = parts[parts["part"] == "the run"].set_index("problems")["us"]
    assert 0.005 < (run / whole).min() < (run / whole).max() < 0.02  # "one to two hundredths"


def test_the_pages_say_what_small_runs_on_one_core_take():
    found = calls.cold_on_one_core().set_index("costs", append=True)
    share = found["cold_now"] / found["cold_before"]
    assert f"take {share.min():.2f} to {share.max():.2f} of the time before" in RESULTS
    beside = found["cold_now"] / found["lapjv"]
    short = found["n"] == 32
    assert f"{beside[short].max():.2f}. OR-Library's" in RESULTS
    warm = (found["warm_now"] / found["cold_now"])[found["n"] == 100]
    assert warm.max() < 0.2  # "a fifth"
    ahead = found[found["scipy"] < found["cold_now"]]  # "SciPy stays ahead"
    assert ahead[["family", "n"]].drop_duplicates().to_numpy().tolist() == [
        ["uniform", 32], ["floats", 64]
    ]  # fmt: skip
    assert f"and {beside[found['n'] != 32].max():.2f} of lapjv's at most" in RESULTS
    (of,), (to,) = (line.xs("assign100", level="costs") for line in (share, beside))
    assert f"takes {of:.2f} of the time before and {to:.2f} of lapjv's" in RESULTS


def test_lists_go_as_the_page_says():
    found = calls.lists_on_one_core().set_index("problems")
    assert (found.loc[1000, "over"] < 0.8).all()
    behind = found[(found["now"] > found["scipy"]) & (found["n"] > 3)]
    assert set(behind["n"]) == {8, 10}  # "SciPy's loop stays ahead at 8 and 10 a side"
    code = pd.read_csv(HOME / "evidence/one_core_lists.csv")["code"].iloc[-1]
    assert f"before (7d7ae6c) and now ({code}) by turns" in RESULTS
