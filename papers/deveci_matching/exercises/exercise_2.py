"""Exercise 2, a race: the collision of Figure 1.

It teaches why FIXMATCHING is needed: two walks pass the same column, and a row believes a lie.

Leave the kernels as they are. On the page's example, `evidence.examples.GRAPH`, find a seed under
which rows r2 and r3 (here 1 and 2) both hold column c2 (here 1) in ``rmatch`` when ALTERNATE ends,
and one under which line 8 stops one of the walks, so that its row still holds -2.
`test_exercises.left` runs a seed and returns ``rmatch``.
"""

from __future__ import annotations

BOTH_PASS: int | None = None
ONE_STOPS: int | None = None
