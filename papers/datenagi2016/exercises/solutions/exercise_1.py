"""Solution 1.

The row minima are 4 1 2 6, the column minima of what is left 1 0 1 0. Slacks: 0 0 1 5, 1 0 2 5, 1 1
0 0, 0 0 2 2. Rows 0, 1 and 3 have edges to columns 0 and 1 alone, so one of them is left, and row 2
takes column 2 or 3: three rows are assigned. Whichever of rows 0, 1 and 3 is left, its tree reaches
columns 0 and 1 and by them the other two rows, while row 2 is never reached: it stays covered. The
least slack of rows 0, 1, 3 over columns 2 and 3 is theta = 1, at (0,2). Rows 0, 1, 3 gain 1/2 and
row 2 loses it; columns 0 and 1, covered, lose 1/2, and columns 2 and 3 gain it. These duals add up
to 16, the cost of (0,2), (1,1), (2,3), (3,0). The page of `lopes2019` has the same matrix and other
duals: there nothing but covered rows and uncovered columns moves, by the whole of theta.
"""

from __future__ import annotations

from typing import Any

THETA: float | None = 1
UNCOVERED_ROWS: list[int] | None = [0, 1, 3]
ROW_DUALS: list[float] | None = [4.5, 1.5, 1.5, 6.5]
COLUMN_DUALS: list[float] | None = [0.5, -0.5, 1.5, 0.5]

WRONG: dict[str, list[Any]] = {
    "THETA": [0.5, 2],
    "UNCOVERED_ROWS": [[2], [3]],  # the words of Munkres' covers; the free row alone
    "ROW_DUALS": [[4, 1, 1, 6]],  # as `lopes2019` moves them
    "COLUMN_DUALS": [[1, 0, 2, 1]],
}
