"""Exercise 3, a race: what a lost column costs.

It teaches that the races decide how many rounds a run takes, and never how many dual updates.

Two rows of `evidence.trace.RACE` want the same column in one pass, and the loser's tree may bear no
fruit in that round. Find a lucky and an unlucky seed of `test_exercises.passes`, with fewer and
more forward passes of the classical variant, and say how many dual updates both have.
"""

from __future__ import annotations

LUCKY: int | None = None
UNLUCKY: int | None = None
DUAL_UPDATES: int | None = None
