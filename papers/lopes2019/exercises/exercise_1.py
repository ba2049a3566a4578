"""Exercise 1, easy, with a pencil: an optimal assignment, and the duals that prove it.

It teaches what the steps work towards: an answer and a proof that nobody has to believe.

Rows go down, columns across, from 0::

    5 4 6 9
    3 1 4 6
    4 3 3 2
    7 6 9 8

Take steps 1 to 6 with a pencil until every row is starred (step 6 is needed once). Give the column
of each row, and the duals u of rows and v of columns: no u[i] + v[j] may exceed a cost, and they
must add up to the cost of your assignment.
"""

from __future__ import annotations

COLUMN_OF_ROW: list[int] | None = None
U: list[int] | None = None
V: list[int] | None = None
