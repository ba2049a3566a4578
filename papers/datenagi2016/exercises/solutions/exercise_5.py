"""Solution 5.

Stage 1 loads the uncovered entries, the compression all of them. (From n = 97 on stage 1 has four
loads in flight a lane, and does not ask the columns' covers first.) The tree variant's update loads
no cost: it lowers n slacks, and the next pass loads the rows that wake up. At n = 20000 and 4 bytes
the classical update reads 0.16 GB for theta, whole rows, and 1.6 GB for the edges, of which hardly
any are new.
"""

from __future__ import annotations

from typing import Any


def loads(n: int, uncovered_rows: int, uncovered_columns: int) -> int:
    """Return the loads of costs of a classical dual update and the compression behind it."""
    return uncovered_rows * uncovered_columns + n * n


def of_uncovered_rows(n: int, uncovered_rows: int, uncovered_columns: int) -> int:
    """Take covered columns for loaded, and compress the trees' rows alone."""
    return uncovered_rows * n + uncovered_rows * n


def twice_the_matrix(n: int, uncovered_rows: int, uncovered_columns: int) -> int:
    """Load everything twice."""
    return 2 * n * n


WRONG: dict[str, list[Any]] = {"loads": [of_uncovered_rows, twice_the_matrix]}
