"""Solution 5.

A column is uncovered, and a row covered, if an alternating path (zero, star, zero, ...) leads there
from a free column; dry means that all such paths were followed, whoever followed them. So the
covers depend on zeros and stars alone, not on the order of the threads. Nor do they depend on which
greatest set of stars S it is. A column is reached if and only if some greatest set T leaves it
free: flip the path, and S becomes such a T; conversely, the lines in which S and T differ form
alternating paths, and the one that begins at this column, free in T, must end, since both sets are
as large, at a column that is free in S. A row is reached if it has a zero in a reached column.

So by induction: equal slacks at the start lead to equal covers when the first search is dry, to the
same least slack, to equal slacks. The number of dual updates is the same in every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def find_star(zeros: np.ndarray, column: int, star: list[int], seen: set[int]) -> bool:
    """Star a zero of a column, moving other columns' stars as needed; `star` is by row."""
    for row in np.flatnonzero(zeros[:, column]).tolist():
        if row not in seen:
            seen.add(row)
            if star[row] < 0 or find_star(zeros, star[row], star, seen):
                star[row] = column
                return True
    return False


def dry_covers(zeros: np.ndarray) -> tuple[list[bool], list[bool]]:
    """Return which rows and which columns are covered when step 4 has run dry.

    Parameters
    ----------
    zeros : ndarray[n, n] of bool
        Where the slack is zero, rows first.
    """
    n = len(zeros)
    star, rows, columns = [-1] * n, np.zeros(n, bool), np.ones(n, bool)
    for column in range(n):
        find_star(zeros, column, star, set())
    waiting = sorted(set(range(n)) - set(star))
    columns[waiting] = False
    while waiting:
        for row in np.flatnonzero(zeros[:, waiting.pop()] & ~rows):
            rows[row], columns[star[row]] = True, False
            waiting.append(star[row])
    return rows.tolist(), columns.tolist()


def from_free_rows(zeros: np.ndarray) -> tuple[list[bool], list[bool]]:
    """Return the other minimum cover, of a search that starts from the free rows."""
    columns, rows = dry_covers(zeros.T)
    return rows, columns


def starred_columns(zeros: np.ndarray) -> tuple[list[bool], list[bool]]:
    """Return the covers of step 3: no row, and all columns that have a zero."""
    return [False] * len(zeros), [bool(column.any()) for column in zeros.T]


WRONG: dict[str, list[Any]] = {"dry_covers": [from_free_rows, starred_columns]}
