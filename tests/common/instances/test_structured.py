"""Structured costs, floats and rectangles: known optima, and what each name promises."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common.instances import structured
from papers.common.instances.matrices.whole import uniform

OPTIMA = {
    ("euclid", 1000): 3548552,
    ("clustered", 1000): 19213239,
    ("lowrank", 1000): 4877549,
    ("hidden", 1000): 0,
    ("two", 1000): 0,
    ("product", 300): 4545100,
}
"""What others' programs found on their instances of these names."""


@pytest.mark.parametrize(("name", "n"), OPTIMA)
def test_a_structured_matrix_has_the_known_optimum(name, n):
    cost = structured.structured(n, name=name)
    assert (cost.shape, cost.dtype) == ((n, n), np.int32)
    assert cost[linear_sum_assignment(cost)].astype(np.int64).sum() == OPTIMA[name, n]


def test_the_uniform_family_has_the_optima_of_the_peers():
    """The optimum of others' instance n = 512, range n, seed 3; and of one of another range."""
    for cost_range, optimum in ((512, 580), (5120, 8198)):
        cost = uniform(512, 3, cost_range=cost_range)
        assert cost[linear_sum_assignment(cost)].sum() == optimum


def test_another_seed_is_another_matrix():
    for name in structured.STRUCTURED[:-1]:
        first, second = (structured.structured(20, seed, name=name) for seed in (77, 78))
        assert (first != second).any()


@pytest.mark.parametrize("name", structured.FLOATS)
def test_floats_are_what_their_name_says(name):
    cost = structured.floats(120, 2, name=name)
    assert (cost.shape, cost.dtype) == ((120, 120), np.float64)
    values, finite = np.unique(cost), np.isfinite(cost)
    few = {"ties": 12, "two_values": 2}
    assert values.size == few[name] if name in few else values.size > 250
    assert finite.all() or name == "few_pairs"
    if name == "lognormal":
        assert 9 < np.log10(values[-1] / values[0]) < 20
    if name == "few_pairs":
        assert 0.01 < finite.mean() < 0.03
        assert np.isfinite(cost[linear_sum_assignment(cost)]).all()
    if name == "normal":
        assert values[0] < 0 < values[-1]


def test_a_rectangle_is_uniform_below_ten_times_its_longer_side():
    for n, columns in ((20, 50), (50, 20)):
        cost = structured.rectangle(n, 3, columns=columns)
        assert cost.shape == (n, columns)
        assert 0 <= cost.min() < 20
        assert 480 < cost.max() < 500


@pytest.mark.parametrize("make", [structured.structured, structured.floats])
def test_an_unknown_name_is_bad_input(make):
    with pytest.raises(ValueError, match=r"'cubic' is none of \w+"):
        make(4, name="cubic")
