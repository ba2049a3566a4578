"""Two groups of repetitions are told from scatter, a drift and an outlier."""

import numpy as np
import pytest

from papers.common.evidence import spread


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([15.12, 15.12, 14.94, 23.95, 23.82], (3, 2)),  # a CYCLE that came out as the best
        ([0.43, 0.42, 5.09, 5.79, 5.02], (2, 3)),  # a disturbed machine
        ([10.0, 20.0, 10.1, 20.1], (2, 2)),
        ([7, 7, 7, 9, 9, 9, 9], (3, 4)),
        ([15.1, float("nan"), 15.1, 23.9, 23.9, 15.2], (3, 2)),
    ],
)
def test_two_groups_are_found(values, counts):
    found = spread.modes(values)
    assert (found.low_count, found.high_count) == counts
    assert found.low < found.high
    assert f"{counts[0]} at" in found.text()
    assert f"{counts[1]} at" in found.text()


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1.0, 2.0],
        [1.0, 1.0, 2.0],  # nobody knows of three
        [31.1, 30.7, 31.9, 31.0, 24.2],  # an outlier
        [66.0, 67.0, 148.0, 69.0, 68.0],
        [1.0, 2.0, 3.0, 4.0, 5.0],  # a drift
        [5.0, 5.0, 5.0, 5.0, 5.0],
        [100.0, 100.1, 104.0, 104.1, 104.05],  # two groups 4 % apart change no result
        [10.0, 12.0, 19.0, 21.0],  # wide groups
    ],
)
def test_everything_else_is_one_group(values):
    assert spread.modes(values) is None


@pytest.mark.parametrize("of", ["uniform", "normal", "lognormal"])
def test_chance_makes_few_of_them(of):
    """Five draws with a spread as large as themselves: the docstring's 3 of 100, or fewer."""
    draw = np.random.default_rng(5)
    drawn = {"uniform": draw.random, "normal": lambda s: 3 + draw.normal(size=s),
             "lognormal": lambda s: draw.lognormal(size=s)}[of]((4000, 5))  # fmt: skip
    share = sum(spread.modes(values) is not None for values in drawn.tolist()) / len(drawn)
    assert share < 0.04


def test_planted_groups_are_nearly_always_found():
    """Scatter of 2 % in each of two groups that are a half apart, two values at least in each."""
    draw = np.random.default_rng(6)
    for _ in range(200):
        high = draw.permutation([0, 0, 1, 1, int(draw.integers(2))])
        values = (1 + 0.5 * high) * (1 + 0.02 * draw.uniform(-1, 1, 5))
        assert spread.modes(values.tolist()) is not None
