"""Finds an optimum by sorting where the lines of a matrix can be sorted into a Monge array.

In a Monge array ``c[i, j] + c[i + 1, j + 1] <= c[i, j + 1] + c[i + 1, j]`` everywhere; then the
diagonal is an optimal assignment (G. Monge 1781, A. J. Hoffman 1963). Products of two numbers are
such an array once their rows and columns are in order, and so is every convex function of a
difference, such as the distance of points on a line. The Hungarian algorithm and auctions are at
their slowest there.

Nothing here has to be right: whoever takes a start from it parts the pairs that its duals leave
loose. So a sample may decide. Of twelve matrices of distances rounded to whole numbers it
took none for such, and of twelve of real ones it missed one (`evidence/one_core_sorted.csv`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from papers.synthesis.one_core.steps import looks_settled

JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

SAMPLED = 8
"""Rows and columns of a sample, evenly spread."""

SORTED_BELOW = 2**58
"""Duals of sorted lines add up a range of the costs for each row: that is less than this."""

MOST_VIOLATED = 4
"""Inequalities of the sample's 49 that rounding may violate; of uniform costs half of them are."""


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
def wants_sorting(matrix):
    """Whether a square matrix `looks_sortable`, unless nearly all its rows keep what they take."""
    return not looks_settled(matrix) and looks_sortable(matrix)


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
