"""Exercise 4, a kernel: an addition that is not atomic.

It teaches what "only thread x lowers e(x), others add" asks of the additions.

In `flow.kernels.lock_free.push` the last line adds to the excess of the node at the other end. Let
it load, add and store instead: `CHANGES` are pairs of text that stands there, as it is indented,
and text to put in its place. Find a seed of `test_exercises.total` under which units get lost or
made from nothing, and one under which their number is right all the same.
"""

from __future__ import annotations

CHANGES: list[tuple[str, str]] | None = None
SEED: int | None = None
LUCKY: int | None = None
