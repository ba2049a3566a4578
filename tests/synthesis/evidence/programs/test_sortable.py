"""What the page says of matrices whose lines can be sorted stands in ``sortable.csv``."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.synthesis.assignment import reference
from papers.synthesis.assignment.settings import Settings
from papers.synthesis.evidence.programs import in_vain, sortable

HOME = Path(papers.__file__).parent / "synthesis"
FOUND = pd.read_csv(HOME / "evidence/sortable.csv")
PAGE = " ".join((HOME / "RESULTS.md").read_text().split())


def test_the_page_says_what_sorting_is_worth():
    done = FOUND[FOUND["sorted"] == 1]
    gains = done["unsorted_run_ms"] / done["run_ms"]
    over = done["dense_ms"] / done["one_core_ms"]
    product = gains[done["costs"] == "product"].groupby(done["n"]).mean()
    for words in (
        f"runs without it take {gains.min():.1f} to {gains.max():.0f} times as long,",
        f"Beside one core the calls take {over.min():.2f} to {over.max():.2f} of the time;",
        f"on the product of n = 300 {product[300]:.0f} times,",
        f"and {product[4000]:.0f} times with n = 4000.",
    ):
        assert words in PAGE


def test_the_page_says_what_sorting_in_vain_costs():
    vain = FOUND[FOUND["costs"] == "noisy"]
    assert (vain["sorted"] == 0).all()
    assert (FOUND.loc[FOUND["costs"] != "noisy", "sorted"] == 1).all()
    times = vain["run_ms"] / vain["unsorted_run_ms"]
    mean = np.exp(np.log(times).mean())
    assert len(vain) == 8
    said = f"the noisy ones took {times.min():.2f} to {times.max():.2f} of the time without it, "
    assert f"{said}{mean:.2f} in the geometric mean of eight matrices" in PAGE


def test_the_page_says_what_sorting_in_vain_costs_on_larger_matrices():
    found = pd.read_csv(HOME / "evidence/sorted_in_vain.csv")
    assert (found["sorts"] == 1).all()
    times = found["run_ms"] / found["unsorted_run_ms"]
    longest = found.groupby("costs")["n"].max().to_dict()
    assert longest == {"euclid": 8000, "lowrank": 8000, "noisy": in_vain.MOST_NOISY}
    assert len(found) == 16
    mean = np.exp(np.log(times).mean())
    said = f"took {times.min():.2f} to {times.max():.2f} of the time, {mean:.2f}"
    assert f"{said} in the geometric mean of sixteen matrices" in PAGE


def test_the_table_of_sorting_in_vain_is_made_by_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(in_vain, "ORDERS", (24,))
    monkeypatch.setattr(
        in_vain, "KINDS", {kind: in_vain.KINDS[kind] for kind in ("noisy", "lowrank")}
    )
    in_vain.main(str(tmp_path / "times.csv"), "1")
    made = pd.read_csv(tmp_path / "times.csv")
    assert list(made) == list(pd.read_csv(HOME / "evidence/sorted_in_vain.csv", nrows=0))
    assert made["costs"].tolist() == list(in_vain.KINDS)
    assert made["sorts"].max() == 1


@pytest.mark.parametrize("kind", sortable.KINDS, ids=lambda kind: kind.__name__)
def test_the_reference_sorts_what_the_table_has_as_sorted(kind):
    rows = FOUND[(FOUND["costs"] == kind.__name__) & (FOUND["n"] <= 300)]
    said = []
    for n, seed in zip(rows["n"], rows["seed"], strict=True):
        cost = sortable.drawn(kind, n, seed)
        said.append(int(reference.sort(reference.State(cost, Settings.for_shape(n, n)))))
    assert said == rows["sorted"].tolist()


def test_the_table_is_made_by_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(sortable, "ORDERS", (12,))
    monkeypatch.setattr(sortable, "SEEDS", (1,))
    monkeypatch.setattr(sortable, "SOLVERS", ("synthesis:one_core", "scipy"))
    sortable.main(str(tmp_path / "times.csv"), "1")
    made = pd.read_csv(tmp_path / "times.csv")
    assert made["costs"].unique().tolist() == [kind.__name__ for kind in sortable.KINDS]
    assert set(FOUND) - set(made) == {"dense_ms"}
    assert (made["one_core_ms"] > 0).all()


def test_costs_that_differ_end_the_program(monkeypatch):
    """Planted: a solver that returns the diagonal."""
    monkeypatch.setattr(sortable, "ORDERS", (9,))
    monkeypatch.setattr(sortable, "SOLVERS", ("one", "scipy"))

    def call(cost, solver):
        lines = np.arange(len(cost))
        return (lines, lines) if solver == "one" else papers.linear_sum_assignment(cost)

    monkeypatch.setattr(sortable, "linear_sum_assignment", call)
    with pytest.raises(RuntimeError, match="product, n = 9: costs"):
        list(sortable.rows(1))
