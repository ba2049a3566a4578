"""Exercise 3, a race: a push uphill, and who takes it back.

It teaches why the hybrid's host cancels arcs before it draws heights anew.

In the story "uphill" of `evidence.trace` (a 4x4 grid, `hybrid`) a node reads its neighbour's
height, the neighbour is lifted, and the push goes up. Find a seed of `test_exercises.uphill` under
which that happens in the kernel as it is, and give the units that the host takes back by cancelling
in that run. Who would undo the push in `lock_free`, which has no host?
"""

from __future__ import annotations

SEED: int | None = None
UNITS: int | None = None
