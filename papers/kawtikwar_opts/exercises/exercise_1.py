"""Exercise 1, easy, with a pencil: a dual update.

It teaches which slacks a dual update touches, because that is all that the report optimizes.

Rows go down, columns across, from 0. Row 0 is covered, and so are columns 1 and 2::

    0 2 5 0
    3 0 4 2
    4 6 0 3
    5 0 1 4

Give the least uncovered slack, the matrix after the update, the number of slacks that the update
writes, and how many zeros the bins of columns 0 and 1 and of columns 2 and 3 hold afterwards.
"""

from __future__ import annotations

LEAST: int | None = None
AFTER: list[list[int]] | None = None
WRITTEN: int | None = None
BINS: list[int] | None = None
