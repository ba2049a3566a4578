"""Exercise 5, a prediction: barriers of the grid in Opt 2, 3 and 4.

It teaches what one launch has in place of launches: count where blocks wait for one another.

A run has one bin of zeros, whose search block 0 does alone, or several, with a block each. Read
`kernels/one_launch.py` and `kernels/search.py`, and predict the barriers of the grid from what a
run has counted: dual updates, augmentations, and runs of step 4.
"""

from __future__ import annotations


def barriers(several_bins: bool, updates: int, augmentations: int, runs: int) -> int:
    """Return the barriers of the grid in a whole run of one launch."""
    raise NotImplementedError
