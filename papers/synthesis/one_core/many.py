"""Solves many matrices of one shape on one core: the short way of `solver`, in a compiled loop.

Of small matrices one call after the other spends more time around the solver than in it. Here a
loop takes the columns' least costs, rows in turn and shortest paths, and judges each answer by its
own duals. What that does not settle, whoever calls solves by itself: matrices that want scales,
costs that are forbidden or too large, and duals of floats that prove too little.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from papers.common.deadline import Deadline
from papers.common.gpu.limits import largest
from papers.common.problems import assignment_proof
from papers.common.problems.duals import EPS
from papers.synthesis.assignment.costs import SHARE_OF_OPTIMUM
from papers.synthesis.one_core import steps
from papers.synthesis.one_core.solver import AWAY, SCALE_ABOVE

LARGEST = 2**40
"""Whole numbers up to this add up to no dual or distance that overflows, at any side."""

WITHOUT_SCALES = 64
"""Sides up to which paths match all rows that the turns leave, however many these are."""

SAMPLED = 8
"""Matrices after which the loop ends if it has settled less than half of them."""

ENTRIES = 2**22
"""Entries of the matrices between two looks at the clock."""


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


def solve(stack: np.ndarray, maximize: bool, deadline: Deadline) -> Settled | None:
    """Solve what the short way settles.

    Parameters
    ----------
    stack : ndarray[k, n, m]
        Booleans, integers or floats of up to 64 bits.
    maximize : bool
    deadline : Deadline

    Returns
    -------
    Settled, or None
        None if the costs are not all finite, or too large.

    Raises
    ------
    GivenUpError
    """
    work = _working(stack, maximize)
    if work is None:
        return None
    turned = work.shape[1] > work.shape[2]
    if turned:
        work = np.ascontiguousarray(work.transpose(0, 2, 1))
    k, n, m = work.shape
    whole = work.dtype.kind == "i"
    dual: Any = np.dtype(np.int64 if whole else np.float64)
    top = largest(dual)
    away = dual.type(AWAY) if whole else top
    column, done = np.empty((k, n), np.int64), np.zeros(k, np.bool_)
    u, v = np.empty((k, n), dual), np.empty((k, m), dual)
    share = 0.0 if whole else SHARE_OF_OPTIMUM
    at_once = max(1, ENTRIES // max(1, n * m))
    begin, end = 0, min(k, at_once, SAMPLED)
    while begin < end:
        deadline.check(f"{begin} matrices", reached={"matrices": begin})
        solve_each(work, begin, end, column, u, v, done, share, top, away)
        if begin == 0 and 2 * done[:end].sum() < end:
            break  # the others are of the same kind, most likely
        begin, end = end, min(k, end + at_once)
    rows = np.empty((k, n), np.int64)
    rows[:] = np.arange(n)
    if maximize:
        u, v = -u, -v
    if not turned:
        return Settled(rows, column, u, v, done)
    order = np.argsort(column, axis=1)
    return Settled(np.take_along_axis(column, order, 1), order, v, u, done)


def _working(stack: np.ndarray, maximize: bool) -> np.ndarray | None:
    """Return the costs to be minimized, in a type that the loop knows; None if it must not."""
    if stack.dtype.itemsize > 8:
        return None
    if stack.dtype.kind == "f":
        wide = stack.astype(np.float64, copy=False)
        size = float(np.abs(wide).max(initial=0.0))
        if not np.isfinite((2.0 * max(stack.shape[1:]) + 4.0) * 2.0 * size):
            return None  # NaN, an infinity, or sums that overflow
        return np.ascontiguousarray(-wide if maximize else wide)
    if stack.size and max(-int(stack.min()), int(stack.max())) > LARGEST:
        return None
    kept = not maximize and stack.dtype in (np.int32, np.int64)
    work = stack if kept else stack.astype(np.int64)
    return np.ascontiguousarray(-work if maximize else work)


@njit(**steps.JIT)
def solve_each(stack, begin, end, column_of, us, vs, done, share, top, away):
    """Solve matrices one after the other, each from the beginning.

    Parameters
    ----------
    stack : T[k, n, m]
        ``n <= m``.
    begin, end : int
        The part of the stack that is solved.
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
    for k in range(begin, end):
        matrix, column, u, v = stack[k], column_of[k], us[k], vs[k]
        column[:] = -1
        row[:] = -1
        v[:] = 0
        for i in range(n):
            free[i] = i
        if n == m:
            steps.column_minima(matrix, v, top)
        left, _ = steps.take_in_turn(matrix, v, column, row, free, n, 4 * n, top)
        if n == m and n > WITHOUT_SCALES and left > SCALE_ABOVE * n:
            continue
        if steps.shortest_paths(matrix, v, column, row, free, 0, left, top, away) < 0:
            continue
        if n == 0:
            done[k] = True
            continue
        slack, total = steps.slack_of(matrix, v, u, column, top)
        done[k] = slack <= share * abs(total)
        if share > 0 and done[k]:
            done[k] = are_proved(matrix, v, u, column, row)


@njit(**steps.JIT)
def are_proved(matrix, v, u, column, row):
    """Whether duals prove the pairs of floats, whatever was rounded on the way to them.

    By sums, as `papers.common.problems.duals.gap_by_sums`; or since no row has a smaller cost than
    its own, with the duals that say so.
    """
    chosen, sizes, apart, loose = 0.0, 0.0, 0.0, 0.0
    n, m = u.size, v.size
    for i in range(n):
        cost = matrix[i, column[i]]
        chosen += abs(cost)
        sizes += abs(cost) + abs(u[i])
        apart += cost - u[i]
    for j in range(m):
        sizes += abs(v[j])
        apart -= v[j]
        if n < m and (row[j] < 0 or v[j] > 0):  # no dual may be positive, and 0 without a row
            loose += abs(v[j])
    gap = abs(apart) + (2 * n + m) * EPS * sizes + loose
    if gap <= assignment_proof.FLOAT_TOLERANCE * chosen:
        return True
    for i in range(n):
        cost = matrix[i, column[i]]
        for j in range(m):
            if matrix[i, j] < cost:
                return False
    for i in range(n):
        u[i] = matrix[i, column[i]]
    v[:] = 0
    return True
