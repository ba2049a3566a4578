"""Solution 1.

Pixel 0 sends 5 of its 6 units on, pixel 1 gives 2 to the sink and 2 to pixel 2, as much as fits.
Pixel 2 then has 5 and sends 3 on; pixel 3 gives 1 to the sink and 2 to pixel 4, from where they
arrive. Five units have arrived, and four climb home. Pixels 0 to 3 can still be reached from pixels
with excess; what leads out of them is full: 2 and 1 to the sink and 2 between pixels 3 and 4, which
makes 5. Every flow has to cross this cut, so that none is larger.
"""

from __future__ import annotations

from typing import Any

VALUE: int | None = 5
GO_HOME: int | None = 4
SOURCE_SIDE: list[int] | None = [0, 1, 2, 3]

WRONG: dict[str, list[Any]] = {
    "VALUE": [7],  # all that the sink could take
    "GO_HOME": [2],
    "SOURCE_SIDE": [[0], [0, 2], []],  # cuts, but no least ones
}
