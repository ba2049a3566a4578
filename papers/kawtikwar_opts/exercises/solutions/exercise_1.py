"""Solution 1.

The uncovered slacks are those of rows 1, 2, 3 in columns 0 and 3: 3 2, 4 3, 5 4, of which 2 is the
least. They lose it. Covered twice are row 0's in columns 1 and 2, which gain it. The other eight
are covered once and stay, so that no more than eight of sixteen are written. The zero (1, 3) is
new, and row 0 keeps its zeros, because they are covered once.
"""

from __future__ import annotations

from typing import Any

LEAST: int | None = 2
AFTER: list[list[int]] | None = [[0, 4, 7, 0], [1, 0, 4, 0], [2, 6, 0, 1], [3, 0, 1, 2]]
WRITTEN: int | None = 8
BINS: list[int] | None = [3, 3]

WRONG: dict[str, list[Any]] = {
    "LEAST": [1],  # it is the least slack of all that are not zero, but it is covered
    "AFTER": [[[0, 2, 5, 0], [1, 0, 4, 0], [2, 6, 0, 1], [3, 0, 1, 2]]],  # row 0 left alone
    "WRITTEN": [16],
    "BINS": [[6], [4, 2]],
}
