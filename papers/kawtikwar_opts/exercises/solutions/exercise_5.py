"""Solution 5.

Step 1 has three. A dual update with one bin has three: before the minimum all blocks must know
that block 0's search has run dry, then the blocks' minima meet, then the list of zeros is whole.
The last search, which ends in an answer, has the first of these alone: that is the one barrier
more. Augmentations have none, since one block does them. With several bins the blocks know at
once, by `agree`, whether a search has run dry, so a dual update has two; but each run of step 4
has one, each augmentation one (`tell`), and so has the first count of the stars.
"""

from __future__ import annotations

from typing import Any


def barriers(several_bins: bool, updates: int, augmentations: int, runs: int) -> int:
    """Return the barriers of the grid in a whole run of one launch."""
    if several_bins:
        return 3 + 1 + runs + augmentations + 2 * updates
    return 3 + 3 * updates + 1


def as_many_as_launches(several_bins: bool, updates: int, augmentations: int, runs: int) -> int:
    """Put a barrier for every launch of the host loop, as the printed configuration has it."""
    return 3 + runs + 2 * augmentations + 3 * updates


WRONG: dict[str, list[Any]] = {"barriers": [as_many_as_launches]}
