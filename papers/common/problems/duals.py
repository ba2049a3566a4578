"""Duals that hold in spite of rounding, and slacks whose own rounding is counted.

**Slacks.** ``cost - u - v`` in float64 may hide a violation as large as the last digit of the
duals: with duals of 1e12 that is 1e-4. The rounding error of one addition is itself a float64 and
can be computed (Knuth's two-sum), so `slacks` loses nothing of its three terms, and says by how
much the slack that it returns is off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numba import njit

EPS = float(np.finfo(np.float64).eps)
"""Twice the largest relative error of one float64 operation."""


def gap_by_sums(chosen: np.ndarray, u: np.ndarray, v: np.ndarray) -> float:
    """Return a bound on how far assigned pairs are from the optimum, by sums of float64 alone.

    It holds for row duals that are the rows' least ``cost - v``, each rounded once: no pair
    undercuts such a dual by more than its last digit. No sum here is off by more than a last digit
    of all terms for each of them.

    Parameters
    ----------
    chosen : float64[k]
        The assigned costs.
    u, v : float64[n], float64[m]
        The duals; that those of lines without a partner are 0 is the caller's to check.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(chosen).sum() + np.abs(u).sum() + np.abs(v).sum()
        apart = abs(chosen.sum() - u.sum() - v.sum())
        return float(apart + (chosen.size + u.size + v.size) * EPS * sizes)


@njit(cache=True, nogil=True)
def row_duals(cost: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the largest row duals that these column duals allow: ``min(cost[i] - v)`` a row.

    For floats: a solver's own row duals may exceed them by what it has rounded, and prove nothing.

    Parameters
    ----------
    cost : ndarray[n, n]
    v : ndarray[n]
        Column duals.

    Returns
    -------
    float64[n]
    """
    u = np.full(v.size, np.inf)
    for i in range(v.size):
        for j in range(v.size):
            u[i] = min(u[i], cost[i, j] - v[j])
    return u


def slacks(cost: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``cost - u - v`` of each triple, and a bound on the error of each.

    Parameters
    ----------
    cost, u, v : float64[k]
        Finite.

    Returns
    -------
    slack, error : float64[k]
        The true value is within `error` of `slack`. Where float64 holds the value, `error` is 0;
        else it is about a unit in the slack's last place, however large the terms are.

    Raises
    ------
    OverflowError
        If a slack leaves float64.

    Notes
    -----
    Five two-sums turn the three terms into a slack and two remainders, whose sum is exactly that of
    the terms; what remains is the error.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        first, below = _two_sum(cost, -u)
        second, under = _two_sum(first, -v)
        middle, least = _two_sum(below, under)
        high, lost = _two_sum(second, middle)
        rest, left = _two_sum(lost, least)
        slack, gone = _two_sum(high, rest)
        error = np.abs(left) + np.abs(gone)
        error = np.where(error > 0, np.nextafter(error, np.inf), error)
    for k in np.flatnonzero(~np.isfinite(slack) | ~np.isfinite(error)):  # a partial sum overflows
        slack[k] = sum_to_nearest([float(cost[k]), -float(u[k]), -float(v[k])])
        error[k] = math.nextafter(EPS * abs(slack[k]), math.inf)
    return slack, error


def violations(
    cost: np.ndarray, allowed: np.ndarray | None, u: np.ndarray, v: np.ndarray, maximize: bool
) -> np.ndarray:
    """Return a bound on the largest violation of each row: by how much its duals are infeasible.

    Parameters
    ----------
    cost : float64[k, m]
        Finite.
    allowed : bool[k, m] or None
        The pairs that count; None: all.
    u, v : float64[k], float64[m]
        Finite.
    maximize : bool
        Whether the duals are to lie above the costs.

    Returns
    -------
    float64[k]
        No smaller than the true violation of the row, and 0 where there is none.

    Raises
    ------
    OverflowError
        If a violation leaves float64.

    Notes
    -----
    Rounding to nearest keeps the order of numbers: if ``cost - u`` is at most v, it is so after
    rounding, and its difference from v comes out as at most 0. So only where float64 finds no
    positive slack can there be a violation. Those pairs are few, and they are computed anew.
    """
    sign = -1 if maximize else 1
    with np.errstate(over="ignore"):
        slack = cost - u[:, None]
        slack -= v[None, :]
    near = slack >= 0 if maximize else slack <= 0
    if allowed is not None:
        near &= allowed
    rows, columns = np.nonzero(near)
    exact, error = slacks(cost[rows, columns], u[rows], v[columns])
    shortfall = -sign * exact
    shortfall = np.where(error > 0, np.nextafter(shortfall + error, np.inf), shortfall)
    worst = np.zeros(len(cost))
    np.maximum.at(worst, rows, shortfall)
    return worst


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``a + b`` rounded, and what that has lost: together the exact sum."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def sum_to_nearest(values: Sequence[float]) -> float:
    """Return the exact sum, rounded to nearest once.

    Raises
    ------
    OverflowError
        If the sum leaves float64; partial sums may.
    """
    try:
        return math.fsum(values)
    except OverflowError:  # in this order: with signs in turn no partial sum outgrows the terms
        return math.fsum(_signs_in_turn(values))


def _signs_in_turn(values: Sequence[float]) -> list[float]:
    """The same values; each takes the sum so far back towards 0, while there are such left."""
    up, down = [x for x in values if x >= 0], [x for x in values if x < 0]
    total, order = 0.0, []
    while up or down:
        order.append((down if (total > 0 and down) or not up else up).pop())
        total += order[-1]
    return order


def sum_upward(values: Sequence[float]) -> float:
    """Return the smallest float64 that is no smaller than the exact sum.

    Raises
    ------
    OverflowError
        As `sum_to_nearest`.
    """
    total = sum_to_nearest(values)
    if not math.isfinite(total):  # one of the values was not
        return total
    lost = sum_to_nearest([*values, -total])
    return math.nextafter(total, math.inf) if lost > 0 else total
