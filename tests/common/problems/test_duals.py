"""Slacks and violations are bounded, not estimated: beside exact fractions, at mixed scales."""

from fractions import Fraction

import numpy as np
import pytest

from papers.common.problems import duals

TINY = 5e-324


def of_mixed_scales(rng, *shape):
    """Floats of all sizes, among them denormals, zeros, and pairs that nearly cancel."""
    scale = rng.choice([TINY, 1e-300, 1e-9, 1.0, 1e12, 1e17, 1e300], shape)
    return rng.integers(-9, 10, shape) * scale * rng.choice([1.0, 1 / 3, 2.0**-20], shape)


def cancelling(rng, k):
    """Costs that are the sum of their duals, but for what that sum has lost, or a little more."""
    u, v = of_mixed_scales(rng, k), of_mixed_scales(rng, k)
    nudged = np.nextafter(u + v, rng.choice([-np.inf, np.inf], k))
    return np.where(rng.random(k) < 0.5, u + v, nudged), u, v


def exactly(*terms):
    return sum(map(Fraction, terms))


def test_a_slack_is_within_its_error_and_as_near_as_float64_can_be():
    rng = np.random.default_rng(1)
    for cost, u, v in (cancelling(rng, 500), (of_mixed_scales(rng, 3, 500))):
        slack, error = duals.slacks(cost, u, v)
        for c, a, b, s, e in zip(cost, u, v, slack, error, strict=True):
            true = exactly(c, -a, -b)
            assert abs(true - Fraction(s)) <= Fraction(e)
            assert e <= 2 * np.spacing(abs(s))
            assert (s < 0) == (true < 0)
            if true == Fraction(s):
                assert e == 0


def test_a_slack_whose_partial_sums_overflow_is_right_or_refused():
    most = np.finfo(float).max
    slack, error = duals.slacks(np.array([most]), np.array([-most]), np.array([most]))
    assert slack[0] == most
    assert 0 < error[0] < most * (2 * duals.EPS)
    with pytest.raises(OverflowError):
        duals.slacks(np.array([most]), np.array([-most]), np.array([-most]))


@pytest.mark.parametrize("maximize", [False, True])
def test_the_violation_of_a_row_is_bounded_from_above_and_tightly(maximize):
    rng = np.random.default_rng(2)
    sign = -1 if maximize else 1
    for _ in range(40):
        cost, u, v = of_mixed_scales(rng, 4, 6), of_mixed_scales(rng, 4), of_mixed_scales(rng, 6)
        allowed = rng.random((4, 6)) < 0.8
        near = rng.random((4, 6)) < 0.5
        cost = np.where(near, u[:, None] + v, cost)
        for mask in (allowed, None):
            worst = duals.violations(cost, mask, u, v, maximize)
            for i in range(4):
                true = max(
                    Fraction(0),
                    *(
                        -sign * exactly(cost[i, j], -u[i], -v[j])
                        for j in range(6)
                        if mask is None or mask[i, j]
                    ),
                    Fraction(0),
                )
                assert true <= Fraction(worst[i]) <= true * (1 + Fraction(1, 2**50))


def test_a_sum_is_rounded_upward():
    assert duals.sum_upward([]) == 0
    for values in (
        [0.1] * 3,
        [0.1, 0.2],
        [1e16, 1.0],
        [2.0, 3.0],
        [1e300, TINY],
        [1.0, -1.0, TINY],
    ):
        found = duals.sum_upward(values)
        below = np.nextafter(found, -np.inf)
        assert Fraction(below) < exactly(*values) <= Fraction(found)
    most = np.finfo(float).max
    assert duals.sum_upward([most, most, most, -most, -most, -1.0]) == most
    assert duals.sum_upward([-most, -most, most, most, 1.0]) == 1
    with pytest.raises(OverflowError):
        duals.sum_upward([1.7e308] * 2)


def test_row_duals_are_the_largest():
    rng = np.random.default_rng(3)
    cost, v = rng.normal(size=(5, 5)), rng.normal(size=5)
    assert np.array_equal(duals.row_duals(cost, v), (cost - v).min(axis=1))


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_gap_by_sums_is_no_smaller_than_the_exact_one(n):
    """Whatever the column duals and the assignment, with row duals that are least distances."""
    rng = np.random.default_rng(n)
    small = 0
    for draw in range(150):
        scales = rng.choice([1e-9, 1.0, 1e12, 1e15], (n + 1, n))
        cost = rng.random((n, n)) * scales[:n]
        v = rng.choice([0.0, -1.0, 1 / 3], n) * scales[n]
        columns = rng.permutation(n)
        if draw % 2:  # an optimum, but for rounding
            cost += v - v.min()
            cost[np.arange(n), columns] = (v - v.min())[columns]
        u = (cost - v).min(axis=1)
        chosen = cost[np.arange(n), columns]
        gap = duals.gap_by_sums(chosen, u, v)
        violated = sum(
            max(0, *(exactly(u[i], v[j], -cost[i, j]) for j in range(n))) for i in range(n)
        )
        apart = abs(exactly(*chosen) - exactly(*u, *v))
        assert Fraction(gap) >= apart + violated
        small += gap < 1e-6 * (np.abs(chosen).sum() + np.abs(u).sum() + np.abs(v).sum())
    assert small > 0, "a bound that is always large would bound anything"


def test_a_gap_of_sums_that_overflow_proves_nothing():
    huge = np.array([1.5e308, 1.5e308])
    assert not duals.gap_by_sums(huge, huge, -huge) < np.inf
