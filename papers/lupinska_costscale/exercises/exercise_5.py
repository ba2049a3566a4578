"""Exercise 5, a race: the transient violation of Lemma 5.5.

It teaches that epsilon-optimality is broken for a moment in the lock-free refine, and mends itself.

A node looks through its arcs, decides to lower its price, and meanwhile a push opens an arc that it
has not seen: the arc lies below minus epsilon. On the weights `evidence.trace.STALE` find a seed of
`test_exercises.violations` under which that happens. How many events pass until it is mended, and
why does the unit go straight back?
"""

from __future__ import annotations

SEED: int | None = None
