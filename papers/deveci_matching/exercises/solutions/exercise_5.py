"""Solution 5.

A complete graph will do, or the triangle of it below. The first column's thread comes first, marks
all free rows and is their predecessor; the threads of other columns find no row that is still free.
All walks but one are stopped by line 8, since all of them want the same column, so that one pair is
gained. The next phase has one column less. Under other schedules the columns share the rows, and it
is fewer phases; but no schedule is excluded, so n is the only bound that holds.
"""

from __future__ import annotations

from typing import Any


def graph(n: int) -> list[list[int]]:
    """Return a triangle: column k sees rows k to n - 1."""
    return [[int(row >= column) for column in range(n)] for row in range(n)]


def a_pair_a_column(n: int) -> list[list[int]]:
    """Return a graph whose pairs are all found at once."""
    return [[int(row == column) for column in range(n)] for row in range(n)]


def one_column(n: int) -> list[list[int]]:
    """Return a graph in which there is one pair and no more."""
    return [[int(column == 0) for column in range(n)] for _ in range(n)]


def other_triangle(n: int) -> list[list[int]]:
    """Return a graph in which every column comes upon one row that no other has marked."""
    return [[int(row <= column) for column in range(n)] for row in range(n)]


WRONG: dict[str, list[Any]] = {"graph": [a_pair_a_column, one_column, other_triangle]}
