"""Exercise 4, memory order: a check without its fence.

It teaches which faults no interleaving shows, and what does show them: a weak memory.

Take the fence out of `kernels.search.uncovered` (`CHANGES`, as in exercise 2) and find a seed under
which the four zeros of Table A.5 lead to one another in a circle: `test_exercises.forbidden` runs
them, on a memory that shows every store at once or on a weak one, where stores come late and loads
are old. Which sentence of Theorem 1's proof fails?
"""

from __future__ import annotations

CHANGES: list[tuple[str, str]] | None = None
SEED: int | None = None
