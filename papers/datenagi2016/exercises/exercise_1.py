"""Exercise 1, easy, with a pencil: a dual update by theta / 2.

It teaches who is covered here, and how the duals of all lines move at once.

Rows go down, columns across, from 0::

    5 4 6 9
    3 1 4 6
    4 3 3 2
    7 6 9 8

Reduce rows, then columns. The first searches assign three rows, and the next one ends without a
free column. Give theta of the dual update that follows, the rows that it finds uncovered, and the
duals at the end, in the costs' units (not doubled, as the device has them).
"""

from __future__ import annotations

THETA: float | None = None
UNCOVERED_ROWS: list[int] | None = None
ROW_DUALS: list[float] | None = None
COLUMN_DUALS: list[float] | None = None
