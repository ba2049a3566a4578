"""Solution 2.

Two rows of the frontier read the cover before either stores it, both believe that the column is
theirs, and both gather the row that it is assigned to. The column's predecessor is one of them, the
last store, so the trees are still trees; but F_out holds the row twice, and could hold more rows
than there are. The paper's contraction drops the second one, and `kernels.printed` has it so. With
the exchange exactly one row gets the old value 0, and there is nothing to drop.
"""

from __future__ import annotations

from typing import Any

EXCHANGE = "            elif cuda.atomic.exch(covers.column, j, 1) == 0:\n"
STORE = "            else:\n                covers.column[j] = 1\n"

CHANGES: list[tuple[str, str]] | None = [(EXCHANGE, STORE)]
SEED: int | None = 22

WRONG: dict[str, list[Any]] = {
    # Another atomic that tells who was first is as good as the exchange.
    "CHANGES": [
        [("cuda.atomic.exch(covers.column, j, 1)", "cuda.atomic.add(covers.column, j, 1)")]
    ],
    "SEED": [0],
}
