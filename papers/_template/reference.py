"""The sequential algorithm of [T00], in plain NumPy: the oracle, to be read beside the paper.

Each function is one step of the paper and is named after it. Speed does not matter here, but every
line should be findable in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Tableau:
    """The algorithm's state on an ``n x n`` cost matrix.

    Attributes
    ----------
    cost : ndarray[n, n]
        Entries >= 0.
    u, v : ndarray[n]
        Row and column duals: ``u[i] + v[j] <= cost[i, j]``, equal on assigned pairs.
    row_of_column : int64[n]
        -1 where there is none.
    """

    cost: np.ndarray
    u: np.ndarray = field(init=False)
    v: np.ndarray = field(init=False)
    row_of_column: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.u, self.v = (np.zeros(len(self.cost), self.cost.dtype) for _ in range(2))
        self.row_of_column = np.full(len(self.cost), -1)


def search(t: Tableau, root: int) -> tuple[int, np.ndarray]:
    """Find a shortest path of reduced costs from a free row to a free column [T00 Alg.1].

    The duals change so that the path has no slack afterwards.

    Parameters
    ----------
    t : Tableau
    root : int
        The free row.

    Returns
    -------
    end : int
        The free column.
    before : int64[n]
        The column before each on its path, -1 where that is the root.
    """
    distance = t.cost[root] - t.u[root] - t.v
    before = np.full(len(t.cost), -1)
    tree: list[int] = []
    while True:
        outside = [column for column in range(len(t.cost)) if column not in tree]
        column = min(outside, key=lambda c: distance[c])
        if t.row_of_column[column] < 0:
            break
        tree.append(column)
        row = t.row_of_column[column]
        through = distance[column] + t.cost[row] - t.u[row] - t.v
        shorter = (through < distance) & ~np.isin(np.arange(len(t.cost)), tree)
        distance[shorter], before[shorter] = through[shorter], column
    t.u[root] += distance[column]
    for other in tree:
        t.u[t.row_of_column[other]] += distance[column] - distance[other]
        t.v[other] -= distance[column] - distance[other]
    return column, before


def augment(t: Tableau, root: int, end: int, before: np.ndarray) -> None:
    """Shift the rows along the path, which frees its first column for the root [T00 Alg.2]."""
    column = end
    while before[column] >= 0:
        t.row_of_column[column] = t.row_of_column[before[column]]
        column = before[column]
    t.row_of_column[column] = root


def solve(cost: np.ndarray) -> Tableau:
    """Assign all rows, one after another; `Tableau.row_of_column` is the answer.

    Parameters
    ----------
    cost : int64[n, n] or float64[n, n]
        Entries >= 0.
    """
    t = Tableau(cost)
    for root in range(len(cost)):
        augment(t, root, *search(t, root))
    return t
