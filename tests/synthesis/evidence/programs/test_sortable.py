"""What the choice and the page say of matrices that can be sorted stands in ``sortable.csv``."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.synthesis.calls import choice
from papers.synthesis.evidence.programs import sortable

HOME = Path(papers.__file__).parent / "synthesis"
FOUND = pd.read_csv(HOME / "evidence/sortable.csv")
PAGE = " ".join((HOME / "RESULTS.md").read_text().split())
RULE = next(rule for rule in choice.rules() if "sortable" in rule.only)


def test_the_rule_stands_on_the_table():
    taken = FOUND[FOUND["sortable"] == 1]
    times = taken["dense_ms"] / taken["one_core_ms"]
    assert f"takes {times.min():.1f} to {times.max():.0f} times as long" in RULE.reason
    assert f"takes {times.min():.1f} to {times.max():.0f} times as long from host to" in PAGE
    assert (RULE.least, RULE.most) == (taken["n"].min(), taken["n"].max())
    assert times.min() > 1


def test_what_cannot_be_sorted_is_not_taken_for_such():
    other = FOUND[FOUND["costs"] == "noisy"]
    assert (other["sortable"] == 0).all()
    times = other["one_core_ms"] / other["dense_ms"]
    assert f"one core would take {times.min():.1f} to {times.max():.1f} times as long" in PAGE
    assert times.min() > 1
    assert (FOUND.loc[FOUND["costs"] != "noisy", "sortable"] == 1).all()


@pytest.mark.parametrize("kind", sortable.KINDS, ids=lambda kind: kind.__name__)
def test_the_table_has_what_is_said_today_of_its_matrices(kind):
    rows = FOUND[(FOUND["costs"] == kind.__name__) & (FOUND["n"] <= 1000)]
    said = [
        int(sortable.is_sortable(sortable.drawn(kind, n, seed)))
        for n, seed in zip(rows["n"], rows["seed"], strict=True)
    ]
    assert said == rows["sortable"].tolist()


def test_the_table_is_made_by_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(sortable, "ORDERS", (40,))
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
