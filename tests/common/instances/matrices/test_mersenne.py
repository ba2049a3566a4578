"""The stream of the authors' program: the totals that its first release states, its rejections."""

import numpy as np
import pytest
from nightly import first
from scipy.optimize import linear_sum_assignment

from papers.common.evidence import published
from papers.common.instances import draw, matrices
from papers.common.instances.matrices import mersenne
from papers.common.model import Instance

TOTALS = published.load("lopes2019", "authors_totals").set_index(["n", "cost_range"])["total"]
CASES = sorted(TOTALS.index, key=lambda case: (case != (2048, "n"), case[0] > 256, case))
"""The one in which two numbers are rejected if a range of 2048 is taken for incomplete, then the
small ones."""


@pytest.mark.parametrize("case", first(7, CASES), ids=str)
def test_the_totals_are_those_that_the_authors_state(case):
    costs = draw(Instance("lopes_authors", *case))
    assert costs.dtype == np.int32
    assert costs[linear_sum_assignment(costs, maximize=True)].sum() == TOTALS[case]


def raw(count):
    return np.random.RandomState(45345).randint(0, 2**32, count, np.uint32)


def test_the_matrices_follow_one_another_in_one_stream():
    whole = (raw(3 * 25) % 8).reshape(3, 5, 5)
    for place, expected in enumerate(whole, 1):
        assert matrices.lopes_authors(5, place, high=7).tolist() == expected.tolist()


def test_numbers_of_an_incomplete_last_run_are_rejected():
    """Of 2**31 - 5 values there are two runs; the ten numbers beyond them are rejected."""
    values = 2**31 - 5
    edge = np.array([0, 2 * values - 1, 2 * values, 2**32 - 1], np.uint32)
    assert mersenne._accepted(edge, values).tolist() == [0, values - 1]
    assert mersenne._accepted(edge, 2**31).size == 4, "two complete runs"
    assert mersenne._accepted(edge, 1).tolist() == [0] * 4


def test_further_numbers_take_the_places_of_rejected_ones(monkeypatch):
    monkeypatch.setattr(mersenne, "_DRAWN_AT_ONCE", 7)
    monkeypatch.setattr(mersenne, "_accepted", lambda some, values: some[some % 2 == 0] % values)
    numbers = raw(1000)
    kept = numbers[numbers % 2 == 0] % 8
    assert matrices.lopes_authors(9, 1, high=7).ravel().tolist() == kept[:81].tolist()
    assert matrices.lopes_authors(9, 3, high=7).ravel().tolist() == kept[162:243].tolist()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [({"high": -1}, "high"), ({"high": 2**31}, "high"), ({"high": 5, "seed": 0}, "from 1")],
)
def test_bad_arguments_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        matrices.lopes_authors(2, **arguments)
