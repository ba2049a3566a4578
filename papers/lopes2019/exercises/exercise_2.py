"""Exercise 2, a race: break S3, the condition that a row is covered before a column is uncovered.

It teaches what Theorem 1's third condition is for, in a minute: primes that run in a circle.

Swap the last two stores of `kernels.search.process`. `CHANGES` are pairs of text that stands there,
as it is indented, and text to put in its place. Then find a seed of
`test_exercises.leads_to_itself` under which a row of `evidence.examples.OWN_STAR`, a 3x3 matrix,
primes its own star. Draw on paper who did what in which order.
"""

from __future__ import annotations

CHANGES: list[tuple[str, str]] | None = None
SEED: int | None = None
