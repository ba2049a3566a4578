"""Solution 4.

All doubled duals are even, or all are odd. After the reduction they are even, being doubled
integers. A slack is a doubled cost less a row's and a column's dual: even less two numbers of one
parity is even, so theta, doubled, is even, and half of it is whole. The update adds or subtracts
that half from *every* dual, covered or not: if it is odd all change their parity, if it is even
none does. That is what moving all lines is good for; if covered lines stood still, as in Munkres'
own updates, they would have to move by the whole of theta.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def holds(row_duals: np.ndarray, column_duals: np.ndarray) -> bool:
    """Whether all are even, or all are odd."""
    return len({int(dual) % 2 for dual in (*row_duals, *column_duals)}) == 1


def all_even(row_duals: np.ndarray, column_duals: np.ndarray) -> bool:
    """Hold at the start, and no longer after the first theta of one unit."""
    return not (row_duals % 2).any() and not (column_duals % 2).any()


def whole_numbers(row_duals: np.ndarray, column_duals: np.ndarray) -> bool:
    """Hold always, and say nothing."""
    return all(float(dual).is_integer() for dual in (*row_duals, *column_duals))


def an_even_sum(row_duals: np.ndarray, column_duals: np.ndarray) -> bool:
    """Hold always, too, and overlook two duals that are off by one."""
    return int(row_duals.sum() + column_duals.sum()) % 2 == 0


WRONG: dict[str, list[Any]] = {"holds": [all_even, whole_numbers, an_even_sum]}
