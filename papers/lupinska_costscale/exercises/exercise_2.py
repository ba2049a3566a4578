"""Exercise 2, a race: how many pushes does the worked example take?

It teaches what the schedule may change, the work, and what it may not, the value.

The page's row of four takes 8 pushes and 6 relabels in natural order. Let nodes act at the same
time: find seeds of `test_exercises.operations` with as few pushes as that and with more, and give
the value that both end with.
"""

from __future__ import annotations

FEW: int | None = None
MANY: int | None = None
VALUE: int | None = None
