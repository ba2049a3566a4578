"""Solves many matrices of one shape on one core: the short way of `solver`, in a compiled loop.

Of small matrices one call after the other spends more time around the solver than in it. Here a
loop takes the columns' least costs, rows in turn and shortest paths, and judges each answer by its
own duals. What that does not settle, whoever calls solves by itself: matrices that want scales,
costs that are forbidden or too large, and duals of floats that prove too little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from papers.common.gpu.limits import largest
from papers.synthesis.assignment.costs import SHARE_OF_OPTIMUM
from papers.synthesis.one_core import steps
from papers.synthesis.one_core.short import short_way
from papers.synthesis.one_core.solver import AWAY, SCALE_ABOVE

LARGEST = 2**40
"""Whole numbers up to this add up to no dual or distance that overflows, at any side."""

WITHOUT_SCALES = 64
"""Sides up to which paths match all rows that the turns leave, however many these are."""

SAMPLED = 8
"""Matrices after which the loop ends if it has settled less than half of them; beyond
`WITHOUT_SCALES` it is one, as each takes longer there."""

WORK = 2**24
"""Costs that paths of all rows would look at, between two looks at the clock."""

MOST = 4096
"""Matrices between two looks at the clock."""


class Settled(NamedTuple):
    """Answers to a stack.

    Attributes
    ----------
    rows, columns : int64[k, min(n, m)]
        Pairs, the rows in order.
    row_duals, column_duals : int64[k, n] and int64[k, m], or float64
    done : bool[k]
        Which matrices are solved; the lines of the others hold nothing.
    """

    rows: np.ndarray
    columns: np.ndarray
    row_duals: np.ndarray
    column_duals: np.ndarray
    done: np.ndarray


def solve(stack: np.ndarray, maximize: bool, check: Callable[[int], Any]) -> Settled:
    """Solve what the short way settles.

    Parameters
    ----------
    stack : ndarray[k, n, m]
        Booleans, integers or floats. It is copied in parts, and not changed.
    maximize : bool
    check : callable(int)
        Is told before each part of the work how many matrices are solved; may raise.

    Returns
    -------
    Settled
        Matrices with costs that are not finite or too large are among those that are not done.
    """
    turned = stack.shape[1] > stack.shape[2]
    k, n, m = len(stack), min(stack.shape[1:]), max(stack.shape[1:])
    whole = stack.dtype.kind != "f"
    dual: Any = np.dtype(np.int64 if whole else np.float64)
    top = largest(dual)
    away = dual.type(AWAY) if whole else top
    share = 0.0 if whole else SHARE_OF_OPTIMUM
    column, done = np.zeros((k, n), np.int64), np.zeros(k, np.bool_)
    u, v = np.zeros((k, n), dual), np.zeros((k, m), dual)
    known = stack.dtype.itemsize <= 8
    begin, end = 0, min(k, SAMPLED if n <= WITHOUT_SCALES else 1)
    while known and begin < end:
        check(int(done[:begin].sum()))
        part = slice(begin, end)
        work, fit = _working(stack[part], maximize, turned)
        solve_each(work, column[part], u[part], v[part], done[part], share, top, away)
        done[part] &= fit
        if begin == 0 and 2 * done[:end].sum() < end:
            break  # the others are of the same kind, most likely
        begin, end = end, min(k, end + min(MOST, max(1, WORK // max(1, n * n * m))))
    if maximize:
        np.negative(u, out=u)
        np.negative(v, out=v)
    rows = np.empty((k, n), np.int64)
    rows[:] = np.arange(n)
    if not turned:
        return Settled(rows, column, u, v, done)
    order = np.argsort(column, axis=1)
    return Settled(np.take_along_axis(column, order, 1), order, v, u, done)


def _working(stack: np.ndarray, maximize: bool, turned: bool) -> tuple[np.ndarray, Any]:
    """Return costs to be minimized, in a type that the loop knows, and which matrices it may see.

    The others are zeros there.
    """
    if turned:
        stack = stack.transpose(0, 2, 1)
    longer = stack.shape[2]
    if stack.dtype.kind == "f":
        work = np.array(stack, np.float64, order="C")
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(work).max(axis=(1, 2), initial=0.0)
            fit = np.isfinite((4.0 * longer + 8.0) * size)  # no NaN, no infinity, no sum of them
    else:
        low, high = (pick(axis=(1, 2), initial=0).tolist() for pick in (stack.min, stack.max))
        sizes = [max(-a, b) for a, b in zip(low, high, strict=True)]
        fit = np.array([size <= LARGEST for size in sizes], np.bool_)
        narrow = stack.dtype == np.int32 and not maximize
        work = np.array(stack, np.int32 if narrow else np.int64, order="C")
    work[~fit] = 0
    return (np.negative(work, out=work) if maximize else work), fit


@njit(**steps.JIT)
def solve_each(stack, column_of, us, vs, done, share, top, away):
    """Solve matrices one after the other, each from the beginning.

    Parameters
    ----------
    stack : T[k, n, m]
        ``n <= m``.
    column_of : int64[k, n]
        Written.
    us, vs : dual[k, n], dual[k, m]
        Written.
    done : bool[k]
        Written: whether the duals prove the answer.
    share : float
        What all pairs may lie above the rows' least distances, of the sum of the pairs; 0 for
        integers.
    top, away : dual
        As in `papers.synthesis.one_core.steps.shortest_paths`.
    """
    n, m = stack.shape[1], stack.shape[2]
    row = np.empty(m, np.int64)
    free = np.empty(n, np.int64)
    most = SCALE_ABOVE * n if n == m and n > WITHOUT_SCALES else float(n)
    for k in range(stack.shape[0]):
        matrix, column, u, v = stack[k], column_of[k], us[k], vs[k]
        left, _, scans, slack, total = short_way(
            matrix, v, u, column, row, free, most, False, top, away
        )
        if left > most or scans < 0:
            continue
        done[k] = slack <= share * abs(total)
        if share > 0 and n > 0 and done[k]:
            done[k] = steps.are_proved(matrix, v, u, column, row)
