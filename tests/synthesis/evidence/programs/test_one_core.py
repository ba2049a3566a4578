"""What the pages say of the solver for one core stands in ``one_core.csv``."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.common.model import Instance
from papers.synthesis.calls.choice import Question, choose
from papers.synthesis.evidence.measured import solving
from papers.synthesis.evidence.programs import one_core

HOME = Path(papers.__file__).parent / "synthesis"
PAGE = " ".join((HOME / "README.md").read_text().split())


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(HOME / "evidence/one_core.csv")


def test_how_it_stands_beside_scipy(table):
    ratio = table["scipy_ms"] / table["one_core_ms"]
    assert f"On {len(table)} uniform, structured, float" in PAGE
    assert "between a hundredth and seven tenths of SciPy's time" in PAGE
    whole = ratio[table["family"].isin(("uniform", "structured"))]
    assert 1.4 < ratio.min() < 1.45
    assert 95 < ratio.max() < 110
    reasons = pd.read_csv(HOME / "calls/choices.csv").set_index("solver")["reason"]
    said = reasons.loc["synthesis:one_core"].tolist()
    span = f"{whole.min():.1f} to {whole.max():.0f} times as fast as SciPy from n = 128 on"
    assert any(span in reason for reason in said)
    rectangles = ratio[table["family"] == "rectangle"]
    span = f"{rectangles.min():.1f} to {rectangles.max():.1f} times as fast as SciPy"
    assert any(span in reason for reason in said)
    assert table.loc[table["family"] == "rectangle", "n"].min() == 100


def test_on_how_many_it_is_the_fastest(table):
    others = table[["scipy_ms", "lapjv_ms", "lapjvs_ms", "cpu_sp_ms"]].min(axis=1)
    ahead = int((table["one_core_ms"] < others).sum())
    assert f"on {ahead} of them it was the fastest of five codes" in PAGE


def test_what_vectors_save(table):
    found = pd.read_csv(HOME / "evidence/one_core_minima.csv")
    assert found[["family", "costs", "n"]].equals(table[["family", "costs", "n"]])
    ratio = found["run_ms"] / found["before_run_ms"]
    assert 0.78 < np.exp(np.log(ratio).mean()) < 0.82
    assert ratio.max() < 1
    assert "a run takes four fifths of the time before" in PAGE


def test_the_table_is_made_by_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(one_core, "INSTANCES", (Instance("structured", 40, "lowrank", seed=7),))
    one_core.main(str(tmp_path / "times.csv"), "1")
    (row,) = pd.read_csv(tmp_path / "times.csv").to_dict("records")
    assert row["one_core_ms"] > 0
    assert row["scipy_ms"] > 0
    assert row["scales"] > 0


def test_an_answer_that_is_not_proved_ends_the_program(tmp_path, monkeypatch):
    wrong = one_core.assignment_proof.Proof(False, "lp-duals", "a pair is too dear")
    monkeypatch.setattr(one_core.assignment_proof, "assignment", lambda *given: wrong)
    monkeypatch.setattr(one_core, "INSTANCES", (Instance("uniform", 9, "n"),))
    with pytest.raises(RuntimeError, match="too dear"):
        one_core.main(str(tmp_path / "times.csv"), "1")


def test_squares_go_to_one_core_from_where_it_takes_less_than_scipy_s_time():
    """In the geometric mean of a kind and order; a tenth less, so that noise does not decide."""
    found = pd.read_csv(HOME / "evidence/one_core_small.csv")
    found = found[found["family"] != "file"]
    found["kind"] = np.where(found["family"] == "floats", "float64", "int64")
    found["over"] = np.log(found["one_core_us"] / found["scipy_us"])
    over = np.exp(found.groupby(["kind", "n"])["over"].mean())
    for kind, least in (("int64", 100), ("float64", 144)):
        means = over[kind]
        assert means.loc[:least].index[means.loc[:least] < 0.9].tolist() == [least]
        assert (means.loc[least:] < 0.9).all()
        for n in (least - 1, least):
            question = Question("assignment", "square", n, kind)
            chosen = "scipy" if n < least else "synthesis:one_core"
            assert choose(question, "cpu").solver == chosen
    said = dict(zip(*reasons_of_squares(), strict=True))
    mean = "in the geometric mean of {} matrices"
    assert f"{over['int64', 100]:.2f} of its time {mean.format(27)}" in said["int"]
    assert f"{over['float64', 144]:.2f} of SciPy's time" in said["float"]
    assert mean.format("fifteen") in said["float"]
    many = found.groupby(["kind", "n"]).size()
    assert (many["int64", 100], many["float64", 144]) == (27, 15)


def reasons_of_squares():
    """The kinds and reasons of the rules that send squares to one core."""
    rules = pd.read_csv(HOME / "calls/choices.csv")
    rules = rules[(rules["solver"] == "synthesis:one_core") & (rules["shape"] == "square")]
    return rules["kinds"], rules["reason"]


def test_what_is_nearly_settled_takes_less_than_scipy_s_time_from_300_on():
    found = solving.settled()
    assert len(found) == 24
    large = found[found["n"] >= 300]
    assert large["over"].max() < 1 < found.loc[found["n"] == 144, "over"].min()
    sorted_before = large[large["costs"].str.startswith("line")]
    assert (sorted_before["before"] / sorted_before["scipy"]).min() > 9
    file = pd.read_csv(HOME / "evidence/one_core_settled.csv")
    told = {code: set(rows["commit"]) for code, rows in file.groupby("code")}
    (before,), (now,) = told["before"], told["now"]
    page = " ".join((HOME / "RESULTS.md").read_text(encoding="utf-8").split())
    assert f"before ({before}) and now ({now}) by turns" in page
