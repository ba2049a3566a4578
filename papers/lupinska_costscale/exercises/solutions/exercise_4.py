"""Solution 4.

A thread loads e(y), another one adds to e(y) or y itself takes from it, and the first stores the
old number and its own amount: what came in between is lost, and what y took is there once more.
That x reads e(x) early is harmless, because others only add; but every change of e has to be one
step, those of x itself as well. Residual capacities are the same case: the push adds to u(y, x)
while y may take from it.
"""

from __future__ import annotations

from typing import Any

CHANGES: list[tuple[str, str]] | None = [
    (
        "    cuda.atomic.add(flow.excess, end, amount)\n",
        "    flow.excess[end] = flow.excess[end] + amount\n",
    )
]
SEED: int | None = 9
LUCKY: int | None = 0

WRONG: dict[str, list[Any]] = {
    # Without the fence nothing is lost in a memory that shows every store at once.
    "CHANGES": [
        [("    cuda.threadfence()\n", "")],
        [("    cuda.atomic.add(flow.excess, end, amount)\n", "")],  # all that is pushed is lost
    ],
    "SEED": [0],
    "LUCKY": [9],
}
