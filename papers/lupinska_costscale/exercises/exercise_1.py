"""Exercise 1, easy, with a pencil: a maximum flow, and the cut that proves it.

It teaches what push-relabel leaves behind: a value, and a side of the source that proves it.

Five pixels in a row, numbered from 0. From the source: 6 to pixel 0 and 3 to pixel 2. To the sink:
2 from pixel 1, 1 from pixel 3 and 4 from pixel 4. Between neighbours, both ways: 5, 2, 3, 2. Push
and lift with a pencil as the page does. Give the value of a maximum flow, the units that go home,
and the pixels on the source's side of a least cut.
"""

from __future__ import annotations

VALUE: int | None = None
GO_HOME: int | None = None
SOURCE_SIDE: list[int] | None = None
