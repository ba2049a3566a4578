"""Duals that hold in spite of rounding."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def row_duals(cost: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the largest row duals that these column duals allow: ``min(cost[i] - v)`` a row.

    For floats: a solver's own row duals may exceed them by what it has rounded, and prove nothing.

    Parameters
    ----------
    cost : ndarray[n, n]
    v : ndarray[n]
        Column duals.

    Returns
    -------
    float64[n]
    """
    u = np.full(v.size, np.inf)
    for i in range(v.size):
        for j in range(v.size):
            u[i] = min(u[i], cost[i, j] - v[j])
    return u
