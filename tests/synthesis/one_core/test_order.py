"""Floats as whole numbers of the same order, and the minima that are taken by them."""

import numpy as np
import pytest
from numba import njit

from papers.synthesis.one_core import steps
from papers.synthesis.one_core.order import number_of, ordered

SPECIAL = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1.5e308, -1.5e308, np.inf, -np.inf, np.pi]


@njit
def orders(numbers):
    return np.array([ordered(one) for one in numbers])


@njit
def there_and_back(numbers):
    return np.array([number_of(ordered(one), one) for one in numbers])


def test_floats_keep_their_order():
    g = np.random.default_rng(1)
    numbers = np.array(SPECIAL + list(g.normal(size=200) * 10.0 ** g.integers(-300, 300, 200)))
    sorted_numbers = np.sort(numbers)
    found = orders(sorted_numbers)
    assert found.dtype == np.int64
    rises = sorted_numbers[1:] > sorted_numbers[:-1]
    assert (found[1:][rises] > found[:-1][rises]).all()
    zeros = orders(np.array([-0.0, 0.0]))
    assert zeros[0] < zeros[1]


def test_what_goes_there_comes_back():
    numbers = np.array(SPECIAL)
    back = there_and_back(numbers)
    assert back.tobytes() == numbers.tobytes()
    whole = np.array([-(2**62), -1, 0, 1, 2**62])
    assert (there_and_back(whole) == whole).all()
    assert (orders(whole) == whole).all()


def test_they_are_for_compiled_code():
    for call in (lambda: ordered(1.0), lambda: number_of(1, 1.0)):
        with pytest.raises(NotImplementedError):
            call()


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
@pytest.mark.parametrize("m", [1, 2, 3, 7, 64, 65])
def test_the_nearest_columns_are_those_of_a_sort(kind, m):
    g = np.random.default_rng([m, np.dtype(kind).itemsize])
    dual = np.float64 if kind is np.float64 else np.int64
    top = dual(np.inf) if dual is np.float64 else dual(2**62)
    for _ in range(50):
        row = g.integers(-4, 5, m).astype(kind)  # with ties
        v = g.integers(-3, 4, m).astype(dual)
        if kind is np.float64:
            row[g.random(m) < 0.3] = np.inf
        first, second, column = steps.nearest(row, v, top)
        distance = row - v
        if np.isposinf(distance).all():
            assert (first, second, column) == (top, top, -1)
            continue
        assert first == distance.min()
        assert column == distance.argmin()
        others = np.sort(distance)[1:]
        assert second == (others[0] if m > 1 and others[0] < top else first)
