"""Solution 3.

The zero (0, 0) is covered twice, and (1, 1) becomes one: as many go as come. Tested first, the list
holds (0, 0), whose slack is 1 by then, and lacks (1, 1). Step 4 would prime (0, 0) although the
edge has slack, and an answer over it is not optimal; nor does a next search mend that, because the
list is only made anew in a dual update. The worked 4x4 example of the page would do as well.
"""

from __future__ import annotations

from typing import Any

CHANGES: list[tuple[str, str]] | None = [
    (
        "    add_sub(i, order.n, slack, covers, least)\n"
        "    if near_zero(slack[i], eps):\n        collect(i, order, zeros)\n",
        "    if near_zero(slack[i], eps):\n        collect(i, order, zeros)\n"
        "    add_sub(i, order.n, slack, covers, least)\n",
    )
]
SLACK: list[list[int]] | None = [[0, 0, 1], [0, 1, 2], [3, 2, 2]]
COVERED_ROWS: list[int] | None = [1, 0, 0]
COVERED_COLUMNS: list[int] | None = [1, 0, 0]

WRONG: dict[str, list[Any]] = {
    "CHANGES": [
        [("near_zero(slack[i], eps)", "slack[i] == 0")],  # the same for integers
        [("    add_sub(i, order.n, slack, covers, least)\n", "")],  # never updated
    ],
    "SLACK": [[[0, 0, 1], [0, 1, 1], [3, 2, 2]]],  # two zeros come, one goes: a count notices
    "COVERED_COLUMNS": [[0, 0, 0]],  # (1, 0) is an uncovered zero
}
