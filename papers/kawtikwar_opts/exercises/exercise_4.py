"""Exercise 4, a race: two slots instead of three.

It teaches what a barrier does and does not separate, on the flags by which blocks agree in Opt 2.

In `kernels.step_4.agree` blocks say whether they uncovered a column, meet at one barrier, and read
what was said. The flags rotate through three slots. Change the function so that they rotate through
two (`CHANGES`: pairs of text that stands there and text to put in its place, everywhere), and find
a seed of `test_exercises.heard` under which a block does not hear what was said, and a lucky one
under which all hear it. Why are three enough, whatever the seed?
"""

from __future__ import annotations

CHANGES: list[tuple[str, str]] | None = None
SEED: int | None = None
LUCKY: int | None = None
