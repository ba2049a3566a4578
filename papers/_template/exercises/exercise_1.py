"""Exercise 1, easy, with a pencil: a search.

It teaches how a shortest path gives rows other columns.

Rows go down, columns across, from 0::

    1 2 4
    1 3 5
    1 2 8

Rows 0 and 1 have been assigned, one after the other. Give the column of each of the two, the free
column at which row 2's search ends, and the columns of all three rows afterwards.
"""

from __future__ import annotations

BEFORE: list[int] | None = None
END: int | None = None
AFTER: list[int] | None = None
