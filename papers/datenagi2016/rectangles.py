"""Rectangular costs without padding lines: what the search needs less, and the way back.

The paper has square matrices. A rectangle could be padded with lines of zeros, but rows that are
all alike are the worst input of its search: all free columns have the same predecessor, so that a
search from all of them finds one path. 200 x 2000 costs took about 2000 searches. Here the shorter
side's n lines are the rows of an n x m problem, and no line is added.

**Duals.** A column that stays unassigned must have the largest dual of all columns; if it is 0, the
duals are feasible and add up to the cost. So columns begin with 0: there is no column reduction. A
dual update lowers the duals of columns in the forest, which are assigned and stay so, and moves all
by the same half of theta. Columns without a row were never in a forest and keep the largest dual,
all the same one.
"""

from __future__ import annotations

import numpy as np

from papers.common.problems.assignment import Problem


def rows_first(problem: Problem) -> np.ndarray:
    """Return the working costs without padding, the shorter side's lines as rows."""
    n, m = problem.cost.shape
    matrix = problem.matrix[:n, :m]
    return np.ascontiguousarray(matrix if n <= m else matrix.T)


def square_again(
    problem: Problem, columns: np.ndarray, u: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the answer of the padded square from that of the rectangle, its shorter side as rows.

    The largest dual of a column is taken from all of them and given to the rows. No column's dual
    is above 0 then, and those without a row have 0. The padding rows, which cost nothing and get
    those columns, have a dual of 0, too.

    Parameters
    ----------
    problem : Problem
    columns : int[n]
        The column of each row of the shorter side.
    u, v : int64[n] and int64[m], or float64
        Duals, n < m.

    Returns
    -------
    columns, u, v : int64[m], duals[m], duals[m]
        Of the matrix of order m, with the caller's rows as rows.
    """
    n, m, most = u.size, v.size, v.max()
    free = np.ones(m, bool)
    free[columns] = False
    columns = np.concatenate([columns.astype(np.int64), np.flatnonzero(free)])
    u, v = np.concatenate([u + most, np.zeros(m - n, u.dtype)]), v - most
    if problem.cost.shape[0] > problem.cost.shape[1]:
        return np.argsort(columns), v, u
    return columns, u, v
