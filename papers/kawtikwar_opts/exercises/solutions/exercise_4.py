"""Solution 4.

Behind the barrier of run r the fast block 0 begins run r + 1 and clears the slot of run r + 2 for
it. With two slots that is the slot of run r, which a slow block may be about to read: it hears
"no" where "yes" was said, ends its search a run too early, and the blocks part. With three slots
the slot that is cleared in run r + 1 is that of run r - 1, and nobody reads it any more: whoever
came to the barrier of run r had read it before. It is written next in run r + 2, behind another
barrier.

Two slots pass by luck under few seeds: a test of one interleaving proves nothing.
"""

from __future__ import annotations

from typing import Any

CHANGES: list[tuple[str, str]] | None = [("% 3", "% 2")]
SEED: int | None = 0
LUCKY: int | None = 10

WRONG: dict[str, list[Any]] = {
    "CHANGES": [[("% 3", "% 1")], [("1) % 3", "1 + 3) % 3")]],  # one slot; and three as they were
    "SEED": [10],
    "LUCKY": [0],
}
