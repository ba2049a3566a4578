"""Exercise 3, a kernel: ALTERNATE without line 8.

It teaches what one test prevents: two walks that run to and fro between a column and two rows.

Take line 8 out of `kernels.fix_matching.alternate_path`: `CHANGES` are pairs of text that stands
there, as it is indented, and text to put in its place. Find a seed under which a walk on the page's
example does not end (the bound on our loop reports it), and one under which all goes well, so that
a test of one run would have passed. `test_exercises.ends` runs a seed.
"""

from __future__ import annotations

CHANGES: list[tuple[str, str]] | None = None
ENDLESS: int | None = None
LUCKY: int | None = None
