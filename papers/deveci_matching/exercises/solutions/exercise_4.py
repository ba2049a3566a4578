"""Solution 4.

In natural order column 0 marks both rows with -2 and is the predecessor of both. Row 0 gets it; row
1's walk is stopped by line 8 and keeps its -2. The next search from column 1 finds that row 1 is
neither matched nor free, so it reaches nothing and ends, though (1, 1) could be a pair.
"""

from __future__ import annotations

from typing import Any

GRAPH: list[list[int]] | None = [[1, 0], [1, 1]]

WRONG: dict[str, list[Any]] = {
    "GRAPH": [
        [[1, 0], [0, 1]],  # no row is marked in vain
        [[1, 0], [1, 0]],  # one pair is the most
    ]
}
