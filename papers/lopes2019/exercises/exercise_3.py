"""Exercise 3, a race: step 2 without the undo.

It teaches why Algorithm 1 gives a row back, and that a greedy start needs it to be maximal.

In `kernels.search.step_2` a thread that has got the row of its zero, but not the column, gives the
row back and asks for another round. Take that away (`CHANGES`, as in exercise 2) and find a seed of
`test_exercises.stars` under which four threads star a single zero of a 2x2 matrix of zeros.
"""

from __future__ import annotations

CHANGES: list[tuple[str, str]] | None = None
SEED: int | None = None
