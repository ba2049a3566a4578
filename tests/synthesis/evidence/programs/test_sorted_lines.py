"""What the page says of sorted lines on one core stands in ``one_core_sorted.csv``."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import papers
from papers.synthesis.evidence.programs import sorted_lines

HOME = Path(papers.__file__).parent / "synthesis"
PAGE = " ".join((HOME / "README.md").read_text().split())


def test_what_sorting_saves():
    found = pd.read_csv(HOME / "evidence/one_core_sorted.csv")
    share = found["one_core_ms"] / found["scipy_ms"]
    integers = share[found["costs"].isin(["products", "squares"])]
    assert f"take {integers.min():.4f} to {integers.max():.2f} of SciPy's time by it" in PAGE
    by_sorting = found.groupby("costs")["sorted"].agg(["sum", "size"])
    assert by_sorting.loc["products"].tolist() == by_sorting.loc["squares"].tolist() == [12, 12]
    assert by_sorting.loc["distances"].tolist() == [11, 12]
    assert "of twelve matrices of real distances it missed one" in PAGE
    assert by_sorting.loc["rounded"].tolist() == [0, 12]
    assert "of twelve of distances rounded to integers it took none for such" in PAGE


def test_the_table_is_made_by_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr(sorted_lines, "ORDERS", (40,))
    monkeypatch.setattr(sorted_lines, "SEEDS", (1,))
    sorted_lines.main(str(tmp_path / "times.csv"), "1")
    made = pd.read_csv(tmp_path / "times.csv").set_index("costs")
    assert made.index.tolist() == ["products", "squares", "distances", "rounded"]
    assert (made[["one_core_ms", "scipy_ms"]] > 0).all(axis=None)
    assert (made.loc[["products", "squares"], "sorted"] == 1).all()


def test_an_answer_that_is_not_proved_ends_the_program(monkeypatch):
    wrong = sorted_lines.assignment_proof.Proof(False, "lp-duals", "a pair is too dear")
    monkeypatch.setattr(sorted_lines.assignment_proof, "assignment", lambda *given: wrong)
    monkeypatch.setattr(sorted_lines, "ORDERS", (9,))
    with pytest.raises(RuntimeError, match="products, n = 9: a pair is too dear"):
        list(sorted_lines.rows(1))


@pytest.mark.parametrize("kind", sorted_lines.KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_is_of_its_order(kind):
    cost = kind(np.random.default_rng(1), 30)
    assert cost.shape == (30, 30)
    assert cost.min() >= 0
