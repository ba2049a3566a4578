"""Exercise 1, easy, with a pencil: a search.

It teaches what the levels mean, and where APsB stops and APFB goes on.

Rows go down, columns across, from 0; rows 0, 1 and 2 are matched to columns 1, 2 and 3::

    1 1 . . .
    . 1 1 . .
    . . . 1 1
    . . 1 . .
    . . . 1 .

Give ``bfs_array`` after the first search of APFB (GPUBFS): a level a column, which the schedule
does not change. Give the rows that it marks with -2, and the launches of GPUBFS in this search by
APFB and by APsB.
"""

from __future__ import annotations

BFS_ARRAY: list[int] | None = None
ENDS: list[int] | None = None
APFB_LAUNCHES: int | None = None
APSB_LAUNCHES: int | None = None
