"""Solution 1.

Step 1: u = 4 1 2 6, v = 1 0 1 0. Stars: (0,0), (1,1), (2,2); row 3 is free. The search primes
(2,3), covers row 2, uncovers column 2, and is dry. The least uncovered slack is 1, at (0,2): row 2
gives one up, columns 2 and 3 gain one, and (0,2) is primed. Row 0 is covered, column 0 uncovered,
and (3,0) ends a path: row 3 takes column 0, row 0 column 2, row 2 column 3. The costs 6 + 1 + 2 + 7
= 16 are the sum of the duals, and no assignment costs less than the duals: each row and each column
stands once in the sum of u[i] + v[j] <= cost[i][j] over the pairs of any assignment.
"""

from __future__ import annotations

from typing import Any

COLUMN_OF_ROW: list[int] | None = [2, 1, 3, 0]
U: list[int] | None = [4, 1, 1, 6]
V: list[int] | None = [1, 0, 2, 1]

WRONG: dict[str, list[Any]] = {
    "COLUMN_OF_ROW": [[0, 1, 3, 2], [2, 1, 3, 2]],  # a greedy one, and a column that is taken twice
    "U": [[4, 1, 2, 6], [5, 1, 0, 6]],  # row 2 gave nothing up; the right sum, and a pair too dear
}
