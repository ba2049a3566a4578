"""Solution 4.

Without the fence the second load of the row may be as old as the first: a check sees the column
uncovered, and not that the row was covered before. That the zeros of a row see the changes in one
order (S4) is what fails, in the proof's step that orders the four checks in time. An executor that
shows every store at once has one order for everybody, so its interleavings all pass; a weak memory
misses the fence, and so do the instructions, which tests/test_compile.py reads: load, fence, load.
"""

from __future__ import annotations

from typing import Any

CHANGES: list[tuple[str, str]] | None = [("    fence()\n", "")]
SEED: int | None = 1

WRONG: dict[str, list[Any]] = {
    # It breaks S2, which interleavings show without a weak memory.
    "CHANGES": [
        [
            (
                "    fence()\n    return load_relaxed(covers.row, row) == 0\n",
                "    return load_relaxed(covers.column, column) == 0\n",
            ),
            (
                "    if load_relaxed(covers.column, column) != 0:\n        return False\n",
                "",
            ),
        ]
    ],
    "SEED": [0],
}
