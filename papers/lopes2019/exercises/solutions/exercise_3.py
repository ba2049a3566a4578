"""Solution 3.

Threads of (0,0) and (1,0) have a row each and both ask for column 0; one of them loses. Meanwhile
the threads of (0,1) and (1,1) have found their rows taken and have gone. Without the undo the
loser's row stays covered without a star, and nobody asks again, though (0,1) or (1,1) could be
starred. With it the row is free once more and a further round finds it. A round either leaves
everything as it is or covers a line for good, so that there are at most 2 n rounds and one more.
"""

from __future__ import annotations

from typing import Any

UNDO = (
    "                        cuda.atomic.exch(covered_row, row, 0)\n"
    "                        again = 1\n"
)

CHANGES: list[tuple[str, str]] | None = [
    (UNDO, "                        again = 0\n"),
]
SEED: int | None = 4

WRONG: dict[str, list[Any]] = {
    # The row is given back, but nobody asks once more.
    "CHANGES": [[("again = 1", "again = 2")]],
    "SEED": [0],
}
