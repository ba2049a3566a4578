"""Finds an optimum by sorting where the lines of a matrix can be sorted into a Monge array.

In a Monge array ``c[i, j] + c[i + 1, j + 1] <= c[i, j + 1] + c[i + 1, j]`` everywhere; then the
diagonal is an optimal assignment (G. Monge 1781, A. J. Hoffman 1963). Products of two numbers are
such an array once their rows and columns are in order, and so is every convex function of a
difference, such as the distance of points on a line. The Hungarian algorithm and auctions are at
their slowest there.

Nothing here has to be right: whoever takes a start from it parts the pairs that its duals leave
loose. So a sample may decide. Of twelve matrices of distances rounded to whole numbers it
took none for such, and of twelve of real ones it missed one (`evidence/one_core_sorted.csv`).

Where a GPU is at hand, sorting on one core is the faster way all the same, and the search there is
the slower one. So a call that has to choose asks for more than a sample (`is_sortable`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

SAMPLED = 8
"""Rows and columns of the sample, evenly spread."""

MOST_VIOLATED = 4
"""Inequalities of the sample's 49 that rounding may violate; of uniform costs half of them are."""

MOST_TURNS = 8
"""Times that `is_sortable` sorts both sides at most. To it points of a line beyond all others are
alike, so that it finds the outermost ones step by step."""

EXACT = 2.0**51
"""Sums of two costs below this in size are exact in float64."""


@njit(**JIT)
def sort_lines(matrix, rows, columns, keys):
    """Sort the lines so that a matrix of the kind becomes a Monge array.

    In one, the difference of two columns falls from row to row, and that of two rows from column
    to column. The first difference is of any two columns, the second one of the outermost two.

    Parameters
    ----------
    matrix : T[n, n]
    rows, columns : int64[n]
        Written: the lines in order.
    keys : int64[n] or float64[n]
        Scratch, wide enough for a difference of two costs.
    """
    n = rows.size
    first, last = 0, n - 1
    for _ in range(4):
        for i in range(n):
            keys[i] = matrix[i, first] - keys.dtype.type(matrix[i, last])
        rows[:] = np.argsort(keys)
        upper, lower = rows[0], rows[n - 1]
        for j in range(n):
            keys[j] = matrix[upper, j] - keys.dtype.type(matrix[lower, j])
        columns[:] = np.argsort(keys)
        first, last = columns[0], columns[n - 1]


@njit(**JIT)
def looks_sortable(matrix):
    """Whether a sample of a square matrix is a Monge array once it is sorted, but for some places.

    Returns
    -------
    bool
        False for orders below `SAMPLED`, and where the sample has a forbidden pair.
    """
    n, k = matrix.shape[0], SAMPLED
    if n < k:
        return False
    sample = np.empty((k, k))
    for a in range(k):
        for b in range(k):
            sample[a, b] = matrix[a * n // k, b * n // k]
            if not np.isfinite(sample[a, b]):
                return False
    rows, columns = np.empty(k, np.int64), np.empty(k, np.int64)
    sort_lines(sample, rows, columns, np.empty(k))
    violated = 0
    for a in range(1, k):
        for b in range(1, k):
            upper, lower, left, right = rows[a - 1], rows[a], columns[b - 1], columns[b]
            along = sample[upper, left] + sample[lower, right]
            violated += along > sample[upper, right] + sample[lower, left]
    return violated <= MOST_VIOLATED


@njit(**JIT)
def match_sorted(matrix, v, column, row):
    """Match the sorted rows to the sorted columns, with duals of a Monge array.

    The pairs of the diagonal and those beside it are tight, ``u[0] = 0``.

    Parameters
    ----------
    matrix : T[n, n]
    v : int64[n] or float64[n]
        Written: the columns' duals.
    column, row : int64[n]
        Written: the matching.
    """
    n = row.size
    rows, columns = np.empty(n, np.int64), np.empty(n, np.int64)
    sort_lines(matrix, rows, columns, np.empty_like(v))
    u = v.dtype.type(0)
    for k in range(n):
        i, j = rows[k], columns[k]
        v[j] = matrix[rows[max(0, k - 1)], j] - u
        u = matrix[i, j] - v[j]
        column[i], row[j] = j, i


def is_sortable(matrix: np.ndarray) -> bool:
    """Whether a square matrix of whole numbers becomes a Monge array once it is sorted.

    Most that do not are told by a sample of 64 entries, so that a call loses little time. The
    others' lines are sorted, and the inequalities along the diagonal are looked at, all of which
    have to hold: small changes of the costs violate some of them.

    Parameters
    ----------
    matrix : int[n, n]

    Returns
    -------
    bool
        False for orders below `SAMPLED`, for costs beyond `EXACT`, and where the sample's outermost
        inequality is an equation: sums of a row's and a column's number need no sorting.
    """
    step = matrix.shape[0] // SAMPLED
    if not step:
        return False
    sample = matrix[: step * SAMPLED : step, : step * SAMPLED : step].astype(np.float64)
    rows, columns = _in_order(sample)
    sample = sample[rows[:, None], columns]
    falls = sample[1:] - sample[:-1]
    if (falls[:, 1:] > falls[:, :-1]).any() or falls[:, 0].sum() == falls[:, -1].sum():
        return False
    rows, columns = _in_order(matrix)
    before, after = slice(None, -1), slice(1, None)
    along, across = (
        matrix[rows[first], columns[second]].astype(np.float64)
        for first, second in ((before, before), (before, after))
    )
    below, beyond = (
        matrix[rows[after], columns[second]].astype(np.float64) for second in (before, after)
    )
    if max(np.abs(part).max() for part in (along, across, below, beyond)) >= EXACT:
        return False
    return bool((along + beyond <= across + below).all())


def _in_order(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows and the columns as `sort_lines` orders them, until the outermost ones stay."""
    ends = 0, -1
    for _ in range(MOST_TURNS):
        first, last = ends
        rows = np.argsort(matrix[:, first] - matrix[:, last].astype(np.float64))
        columns = np.argsort(matrix[rows[0]] - matrix[rows[-1]].astype(np.float64))
        ends = columns[0], columns[-1]
        if ends == (first, last):
            break
    return rows, columns
