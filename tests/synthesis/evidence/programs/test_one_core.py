"""What the pages say of the solver for one core stands in ``one_core.csv``."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.common.model import Instance
from papers.synthesis.calls.choice import Question, choose
from papers.synthesis.calls.one_matrix import MIDDLING
from papers.synthesis.evidence.measured import calls, solving
from papers.synthesis.evidence.programs import one_core, one_core_small, one_core_thin

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
    found = small()
    found = found[found["code"] == found["code"].iloc[-1]]
    found["over"] = np.log(found["one_core_us"] / found["scipy_us"])
    over = np.exp(found.groupby(["kind", "n"])["over"].mean())
    for kind, least in (("int64", 80), ("float64", 112)):
        means = over[kind]
        assert means.loc[:least].index[means.loc[:least] < 0.9].tolist() == [least]
        assert (means.loc[least:] < 0.9).all()
        for n in (least - 1, least):
            question = Question("assignment", "square", n, kind)
            chosen = "scipy" if n < least else "synthesis:one_core"
            assert choose(question, "cpu").solver == chosen
    said = dict(zip(*reasons_of_squares(), strict=True))
    mean = "in the geometric mean of {} matrices"
    assert f"{over['int64', 80]:.2f} of its time {mean.format(27)}" in said["int"]
    assert f"{over['float64', 112]:.2f} of SciPy's time" in said["float"]
    assert f"{over['float64', 100]:.2f} at 100" in said["float"]
    assert mean.format("fifteen") in said["float"]
    lapx = np.log(found["one_core_us"] / found["lapjv_us"]).groupby([found["kind"], found["n"]])
    assert (lapx.mean()["int64"].loc[80:] < 0).all()
    assert "in the geometric mean, of integers less than lapx's, too (" in PAGE
    many = found.groupby(["kind", "n"]).size()
    assert (many["int64", 80], many["float64", 112]) == (27, 15)


def small():
    """The medians of the turns of ``one_core_small.csv``, a row a code and matrix."""
    found = pd.read_csv(HOME / "evidence/one_core_small.csv")
    key = ["code", "family", "n", "costs", "seed"]
    assert (found.groupby(key)["turn"].nunique() == 2).all()
    found = found.groupby(key, sort=False).median().reset_index()
    found["kind"] = np.where(found["family"] == "floats", "float64", "int64")
    return found


def test_what_one_loop_for_a_stack_is_worth():
    found = calls.many_on_one_core()
    file = pd.read_csv(HOME / "evidence/one_core_many.csv")
    key = ["code", "costs", "problems", "n", "m"]
    assert (file.groupby(key)["turn"].nunique() == 2).all()
    before, now = dict.fromkeys(file["code"])
    page, changes = (
        " ".join((HOME / name).read_text(encoding="utf-8").split())
        for name in ("RESULTS.md", "../../CHANGELOG.md")
    )
    assert f"Calls one after the other ({before}) and this loop ({now}) by turns" in page
    reasons = pd.read_csv(HOME / "calls/choices.csv")["reason"]
    said = f"takes {found['over'].min():.2f} to {found['over'].max():.2f} of the time of calls one"
    assert any(said in of and f"on {len(found)} kinds of stacks" in of for of in reasons)
    lines = found["problems"] * found[["n", "m"]].max(axis=1)
    assert lines.min() == 1000
    whole = found["costs"] == "uniform integers"
    (many,) = found[whole & (found["problems"] == 10_000)].itertuples()
    said = f"take {many.over:.2f} of the time of calls one after the other, and "
    assert f"{said}{many.now / many.scipy:.2f} of SciPy's loop's" in changes
    paths = found[(found["costs"] == "Euclidean floats") & (found["n"] > 10) & (found["n"] < 64)]
    paths = paths[paths["n"] == paths["m"]]
    assert paths["n"].tolist() == [16, 30, 30]
    assert ((paths["now"] / paths["scipy"]).sub(1).abs() < 0.12).all()
    assert "For Euclidean distances SciPy's loop takes about as long at 16 and 30 a side:" in page


def test_what_less_around_one_core_is_worth():
    before, now = (rows.set_index(["kind", "family", "n", "costs", "seed"])["one_core_us"]
                   for _, rows in small().groupby("code", sort=False))  # fmt: skip
    less = np.log(now / before)
    less = less[less.index.get_level_values("n") >= 64].groupby("kind").mean()
    changes = " ".join((HOME.parents[1] / "CHANGELOG.md").read_text(encoding="utf-8").split())
    said = "{:.2f} of the time on squares of integers of n = 64 to 128, {:.2f} on floats"
    assert said.format(*np.exp(less[["int64", "float64"]])) in changes


def test_the_table_of_small_squares_is_made_by_the_program(tmp_path, monkeypatch):
    some = (Instance("uniform", 9, "n"), Instance("floats", 9, "normal"))
    monkeypatch.setattr(one_core_small, "INSTANCES", some)
    one_core_small.main(str(tmp_path / "times.csv"), "2")
    found = pd.read_csv(tmp_path / "times.csv")
    assert found["family"].tolist() == ["uniform", "floats"]
    assert (found[["scipy_us", "one_core_us"]] > 0).all(axis=None)
    columns = pd.read_csv(HOME / "evidence/one_core_small.csv", nrows=0).columns
    assert [name for name in columns if name != "turn"] == list(found)


def test_two_answers_of_two_costs_end_the_program_of_small_squares(tmp_path, monkeypatch):
    def call(cost, solver):
        diagonal = np.arange(len(cost))
        return diagonal, diagonal if solver == "scipy" else diagonal[::-1]

    monkeypatch.setattr(one_core_small, "linear_sum_assignment", call)
    monkeypatch.setattr(one_core_small, "INSTANCES", (Instance("uniform", 9, "n"),))
    with pytest.raises(RuntimeError, match="n=9"):
        one_core_small.main(str(tmp_path / "times.csv"), "1")


def test_the_rule_for_rectangles_with_a_short_side():
    found = pd.read_csv(HOME / "evidence/one_core_thin.csv")
    ratio, size = found["one_core_us"] / found["scipy_us"], found["rows"] * found["columns"]
    within, below = ratio[size.between(*MIDDLING)], ratio[size < MIDDLING[0]]
    beyond = ratio[size > MIDDLING[1]]
    assert min(below.max(), beyond.max()) > 1.1
    assert within.max() < 0.95
    sides = found[["rows", "columns"]].min(axis=1)
    reasons = pd.read_csv(HOME / "calls/choices.csv")["reason"]
    said = (
        f"{within.min():.2f} to {within.max():.2f} of the time of SciPy's call on {len(within)} "
        f"rectangles of 20,000 to a million integers with {sides.min()} to {sides.max()} rows or"
    )
    assert reasons.str.startswith(said).sum() == 1


def test_the_table_of_thin_rectangles_is_made_by_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(one_core_thin, "SHORT", (3,))
    monkeypatch.setattr(one_core_thin, "LONG", (30,))
    monkeypatch.setattr(one_core_thin, "LEAST", 0)
    one_core_thin.main(str(tmp_path / "times.csv"), "2")
    found = pd.read_csv(tmp_path / "times.csv")
    assert found["costs"].tolist() == [*2 * ["uniform"], *2 * ["distances"], *2 * ["products"]]
    assert found["rows"].tolist() == 3 * [3, 30]
    assert list(found) == list(pd.read_csv(HOME / "evidence/one_core_thin.csv", nrows=0))


def test_two_answers_of_two_costs_end_the_program_of_thin_rectangles(tmp_path, monkeypatch):
    def call(cost, solver):
        diagonal = np.arange(min(cost.shape))
        return diagonal, diagonal if solver == "scipy" else diagonal[::-1]

    monkeypatch.setattr(one_core_thin, "linear_sum_assignment", call)
    with pytest.raises(RuntimeError, match="uniform"):
        one_core_thin.main(str(tmp_path / "times.csv"), "1")


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
