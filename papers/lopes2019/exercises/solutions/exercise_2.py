"""Solution 2.

Row 1 of the matrix has its star in column 0. Its thread has primed the row and, with the stores
swapped, uncovers column 0 first. Before it covers row 1, another thread looks at the zero (1, 0),
the star itself: column uncovered, row not yet covered, so it is primed, and row 1 leads to itself.
In the right order whoever sees column 0 uncovered sees row 1 covered, too. The paper's step 5a
would walk this circle for ever; ours ends after n steps, and the search is lost. So does this run:
its answer is right all the same, which is why a test of answers alone does not notice.
"""

from __future__ import annotations

from typing import Any

ROW = "    store_relaxed(covers.row, row, 1)\n"
FENCE = "    fence()\n"
COLUMN = "    store_relaxed(covers.column, star, 0)\n"

CHANGES: list[tuple[str, str]] | None = [(ROW + FENCE + COLUMN, COLUMN + FENCE + ROW)]
SEED: int | None = 31

WRONG: dict[str, list[Any]] = {"CHANGES": [[(FENCE, "")]], "SEED": [0]}
