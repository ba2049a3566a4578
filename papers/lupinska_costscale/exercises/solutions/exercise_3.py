"""Solution 3.

Pixel (2, 0) is lifted between the moment at which (3, 0) reads its height and that at which (3, 0)
pushes: 2 units go up. The arc back from (2, 0) now leads steeply down, which no distance to the
sink allows; the host cancels exactly such arcs, 2 units here, and draws the heights anew.
`lock_free` has no host and needs none: a node pushes to its *lowest* neighbour, and to (2, 0), high
up with the excess, none is lower than (3, 0), so that it pushes the units back itself.
"""

from __future__ import annotations

from typing import Any

SEED: int | None = 2
UNITS: int | None = 2

WRONG: dict[str, list[Any]] = {"SEED": [0], "UNITS": [0, 1]}
