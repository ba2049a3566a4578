"""Duals of an optimal assignment that came without any, or with some that prove nothing.

With the rows and columns of an optimal assignment, `v[j]` is the length of the shortest exchange
that gets column j its row's place elsewhere: the distances of a graph with one arc for every pair,
found by Bellman and Ford's relaxations from the rows that have changed alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from papers.common.model import Assignment
from papers.common.problems.assignment import total_cost

OUTGROWN = 2.0**9
"""Float duals whose sizes add up to at most so many times their sum, which is the optimum, are
taken at their solver's word: a thousand roundings of each stay below what a proof tolerates."""

SHARE_OF_COST, SHARE_OF_DUALS = 2.0**-40, 2.0**-50
"""Floats: a dual is lowered only by more than this share of the mean assigned cost, or of the
largest dual. Over all rows that is a hundredth of what the proof tolerates."""


def are_small(row_duals: np.ndarray, column_duals: np.ndarray) -> np.ndarray:
    """Return of one or of many problems whether their duals are beside the optimum (`OUTGROWN`).

    Parameters
    ----------
    row_duals, column_duals : float64[..., n] and float64[..., m]

    Returns
    -------
    bool[...]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        optimum = np.abs(row_duals.sum(axis=-1) + column_duals.sum(axis=-1))
        sizes = np.abs(row_duals).sum(axis=-1) + np.abs(column_duals).sum(axis=-1)
        return np.asarray((sizes <= OUTGROWN * optimum) & np.isfinite(sizes) & (optimum > 0))


def hold(
    cost: np.ndarray, pairs: tuple[np.ndarray, ...], duals: tuple[np.ndarray, ...], maximize: bool
) -> bool:
    """Return whether duals prove an assignment.

    Large costs in the place of forbidden pairs may have made float duals so large that their solver
    has not seen what it rounded.

    Parameters
    ----------
    cost : float[n, m]
    pairs : (int64[k], int64[k])
        Rows and columns.
    duals : (float64[n], float64[m])
    maximize : bool
    """
    from papers.common.problems import assignment_proof  # Numba's compiler, which few calls need

    total = total_cost(cost[pairs])
    answer = Assignment(pairs[0], pairs[1], total, duals[0], duals[1], maximize)
    return assignment_proof.assignment(cost, answer).ok


def duals_of(
    cost: np.ndarray,
    row_ind: np.ndarray,
    col_ind: np.ndarray,
    maximize: bool = False,
    look: Callable[[], object] | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the duals that prove an assignment optimal.

    Parameters
    ----------
    cost : bool, int or float[n, m]
        Integers up to 2**50 in size.
    row_ind, col_ind : int64[min(n, m)]
        An optimal assignment.
    maximize : bool
    look : callable(), optional
        Called before each pass over the costs; its errors, of a limit of time, end it.

    Returns
    -------
    row_duals, column_duals : int64[n] and int64[m], or float64
        ``u[i] + v[j] <= cost[i, j]`` (``>=`` when maximizing), equal on assigned pairs, 0 for
        lines that are not assigned; up to rounding for floats.
    or None
        If there are none: the assignment is not optimal, as far as the type resolves.
    """
    kind = np.float64 if cost.dtype.kind == "f" else np.int64
    wide = cost.astype(kind)
    if maximize:
        np.negative(wide, out=wide)
    n, m = cost.shape
    if n <= m:
        found = _of_rows(wide, col_ind, look)
    else:
        order = np.argsort(col_ind)
        found = _of_rows(wide.T, row_ind[order], look)
        found = found and found[::-1]
    if found is None:
        return None
    return (-found[0], -found[1]) if maximize else found


def _of_rows(
    cost: np.ndarray, column: np.ndarray, look: Callable[[], object] | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the duals where every row is assigned, ``n <= m``; `column` is each row's."""
    n, m = cost.shape
    chosen = cost[np.arange(n), column]
    with np.errstate(over="ignore"):
        if cost.dtype.kind == "f" and not np.abs(chosen).sum() < np.inf:
            return None  # nothing would be small beside it
    row = np.full(m, -1)
    row[column] = np.arange(n)
    v = np.zeros(m, cost.dtype)
    small = SHARE_OF_COST * float(np.abs(chosen).sum()) / n if cost.dtype.kind == "f" and n else 0
    changed = np.arange(n)
    for _ in range(n + 1):
        if look is not None:
            look()
        if not changed.size:
            return chosen - v[column], v
        starts = chosen[changed] - v[column[changed]]
        reached = (cost[changed] - starts[:, None]).min(axis=0)
        if cost.dtype.kind == "f":
            small = max(small, SHARE_OF_DUALS * float(-v.min()))
        lower = np.flatnonzero(reached < v - small)
        v[lower] = reached[lower]
        changed = row[lower]
        if changed.size and changed.min() < 0:
            return None  # a column without a row would be cheaper
    return None
