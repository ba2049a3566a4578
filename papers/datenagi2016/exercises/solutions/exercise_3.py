"""Solution 3.

Row 0 has an edge to column 0 alone, row 1 to columns 0 and 1. If row 1 takes both, row 0's tree
ends where it began, and all the free columns are leaves of row 1's tree, which is good for one
path: two paths have become one, and row 0 waits for a round of its own. Nothing of that moves a
dual: an update is made when the assignment is as large as the edges without slack allow, whoever
got which column, and what alternating paths reach is then the same.
"""

from __future__ import annotations

from typing import Any

LUCKY: int | None = 3
UNLUCKY: int | None = 20
DUAL_UPDATES: int | None = 1

WRONG: dict[str, list[Any]] = {
    "LUCKY": [20],
    "UNLUCKY": [3],
    "DUAL_UPDATES": [0, 2],
}
