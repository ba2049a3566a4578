"""Solution 3.

Say r2 has taken c2 and goes on with r1 to c1. Now r3 comes to c2, finds r2 there, takes the column,
and goes on with r2, whose predecessor is c2: it finds itself there, takes the column for r2, goes
on with r3, and so for ever. Line 8 notices a row in c2 whose predecessor is c2: another walk has
been here. Both walks end, by luck, if they keep step all the way: each has read c2, and then c1,
before the other stores there. So rare a luck would not save the kernel, but it would save a
careless test.
"""

from __future__ import annotations

from typing import Any

LINE_8 = (
    "        if matched_row > -1 and predecessor[matched_row] == matched_col:\n            return\n"
)

CHANGES: list[tuple[str, str]] | None = [(LINE_8, "")]
ENDLESS: int | None = 0
LUCKY: int | None = 32

WRONG: dict[str, list[Any]] = {
    "CHANGES": [[("range(nc)", "range(nc + 1)")]],  # a longer walk that ends all the same
    "ENDLESS": [32],
    "LUCKY": [0],
}
