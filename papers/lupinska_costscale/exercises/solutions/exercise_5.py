"""Solution 5.

A y has read the prices of its residual arcs, of which the one to some x is none yet. The x pushes
its unit to this y, by an old price, which opens the arc from y to x; or it has pushed already, and
y lowers its price by what it saw before. Either way the arc from y to x, which nobody has looked
at, lies below minus epsilon. It lasts until y's next turn: y has a unit too many now, this arc is
the least of its arcs, so that it is the one along which y pushes, and a pushed arc is no longer
residual. Its reverse, from x to y, has the opposite reduced cost, above epsilon. That is case 5 of
the lemma.
"""

from __future__ import annotations

from typing import Any

SEED: int | None = 16

WRONG: dict[str, list[Any]] = {"SEED": [0]}
