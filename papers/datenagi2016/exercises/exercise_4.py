"""Exercise 4, a proof turned into an assertion: half units are enough.

It teaches why integer duals that move by theta / 2 never need quarters.

The kernels store duals doubled, so that theta / 2 is a whole number as long as theta is. But slacks
are made of duals: could theta become a half itself, and theta / 2 a quarter? Find what all doubled
duals have in common after the reduction, prove that a dual update keeps it, and write it as a
function. The check asks it at every dual update of many runs; and it moves one dual by an odd
number, which your function must notice.
"""

from __future__ import annotations

import numpy as np


def holds(row_duals: np.ndarray, column_duals: np.ndarray) -> bool:
    """Whether doubled duals have what all of them have in common.

    Parameters
    ----------
    row_duals, column_duals : int64[n]
        As the device has them: doubled.
    """
    raise NotImplementedError
