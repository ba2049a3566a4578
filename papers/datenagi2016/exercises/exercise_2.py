"""Exercise 2, a race: a store in the place of an exchange.

It teaches what keeps the trees apart (Proposition 1), and what the paper's contraction has to mend.

`kernels.classical.expansion` takes a column by an exchange of its cover. Let it store the cover
instead, as the paper does: `CHANGES` are pairs of text that stands there, as it is indented, and
text to put in its place. Then find a seed of `test_exercises.gathered_twice` under which a row is
gathered twice in one forward pass, on a 5x5 matrix where four rows want the same two columns.
"""

from __future__ import annotations

CHANGES: list[tuple[str, str]] | None = None
SEED: int | None = None
