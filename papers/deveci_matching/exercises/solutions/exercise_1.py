"""Solution 1.

Columns 0 and 4 are free: level 2. Column 0 reaches row 0, whose column is 1, and column 4 reaches
row 2, whose column is 3: level 3. Of these column 1 reaches row 1 and so column 2, at level 4, and
column 3 reaches row 4, which is free: -2. APsB stops here, after two launches. APFB goes on: column
2 reaches row 3, free as well, and nothing is new at level 5, so that the third launch is the last.
"""

from __future__ import annotations

from typing import Any

BFS_ARRAY: list[int] | None = [2, 3, 4, 3, 2]
ENDS: list[int] | None = [3, 4]
APFB_LAUNCHES: int | None = 3
APSB_LAUNCHES: int | None = 2

WRONG: dict[str, list[Any]] = {
    "BFS_ARRAY": [[0, 1, 2, 1, 0], [2, 3, 1, 3, 2]],  # levels from 0 on; as APsB leaves it
    "ENDS": [[4]],
    "APFB_LAUNCHES": [4],
    "APSB_LAUNCHES": [1],
}
