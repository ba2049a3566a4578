"""Solution 2.

Say that a row is starred in some column, and that its thread has primed another zero of the row.
With the stores swapped it uncovers the star's column first. Before it covers the row, another
thread looks at the star itself: column uncovered, row not yet covered, so it is primed, and the row
leads to itself. In the right order whoever sees the column uncovered sees the row covered, too. A
walk of the paper's step 5a that comes to this row would never leave it; ours ends after n steps,
and the search is lost. Under this seed no walk comes there, and in any case a later search finds
the way: the answer is right all the same, which is why a test of answers alone does not notice.
"""

from __future__ import annotations

from typing import Any

ROW = "    store_relaxed(covers.row, row, 1)\n"
FENCE = "    fence()\n"
COLUMN = "    store_relaxed(covers.column, star, 0)\n"

CHANGES: list[tuple[str, str]] | None = [(ROW + FENCE + COLUMN, COLUMN + FENCE + ROW)]
SEED: int | None = 31

WRONG: dict[str, list[Any]] = {"CHANGES": [[(FENCE, "")]], "SEED": [0]}
