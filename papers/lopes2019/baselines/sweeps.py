"""Vectorizable sweeps over a row of reduced costs, shared by the O(n^3) CPU baselines.

T is the working type. A sweep runs in blocks and leaves the least entry of each block behind, so
that the search for *where* the least is, which does not vectorize, looks into few blocks only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# No reassociation: only what lets a minimum of finite doubles be vectorized.
JIT: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": {"nnan", "nsz"}}
BLOCK = 256


def blocks(n: int) -> int:
    """Number of blocks of a row of n entries."""
    return -(-n // BLOCK)


def limit_of(dtype: Any) -> Any:
    """Largest value of a working type, as a scalar of that type."""
    t = np.dtype(dtype)
    return t.type(np.inf if t.kind == "f" else np.iinfo(t).max)


@njit(**JIT)
def two_least(row: np.ndarray, v: np.ndarray, limit: Any) -> tuple[int, Any, int, Any]:
    """Find the two least entries of ``row - v``: first column and value, second column and value.

    Equal entries count twice; a row of one entry returns it for both. Most entries fail the first
    comparison, and a processor foresees that: blocks of vectors are no faster here.
    """
    j1, j2, least, second = 0, 0, limit, limit
    for k in range(row.size):
        entry = row.dtype.type(row[k] - v[k])
        if entry < second:
            if entry < least:
                j2, second = j1, least
                j1, least = k, entry
            else:
                j2, second = k, entry
    if row.size == 1:
        j2, second = j1, least
    return j1, least, j2, second


@njit(**JIT)
def _relax_block(
    row: np.ndarray,
    v: np.ndarray,
    offset: Any,
    floor: Any,
    i: Any,
    distance: np.ndarray,
    parent: np.ndarray,
    closed: np.ndarray,
    least: Any,
) -> Any:
    for k in range(row.size):
        # The floor only bites on rounding. No closed column is farther, so none ever changes.
        entry = max(row.dtype.type(row[k] - v[k] - offset), floor)
        now = distance[k]
        parent[k] = i if entry < now else parent[k]
        distance[k] = min(entry, now)
        least = min(least, max(min(entry, now), closed[k]))
    return least


@njit(**JIT)
def relax(
    row: np.ndarray,
    v: np.ndarray,
    offset: Any,
    floor: Any,
    i: int,
    distance: np.ndarray,
    parent: np.ndarray,
    closed: np.ndarray,
    block_least: np.ndarray,
    limit: Any,
) -> Any:
    """``distance = min(distance, max(row - v - offset, floor))``.

    Parameters
    ----------
    row, v : T[n]
        Costs of row `i` and the column duals.
    offset, floor : T
        Constants of the sweep; no closed column may have a distance above `floor`.
    i : int
        Becomes the parent of every column whose distance falls.
    distance : T[n]
    parent : int32[n]
    closed : T[n]
        0 for open columns, T's largest value for closed ones.
    block_least : T[blocks(n)]
        Receives the least open distance of each block.
    limit : T
        T's largest value.

    Returns
    -------
    T
        The least open distance.
    """
    n = row.size
    least = limit
    who = np.int32(i)
    for b in range(block_least.size):
        p = slice(b * BLOCK, min(b * BLOCK + BLOCK, n))
        found = _relax_block(
            row[p], v[p], offset, floor, who, distance[p], parent[p], closed[p], limit
        )
        block_least[b] = found
        least = found if found < least else least
    return least


@njit(**JIT)
def locate(
    distance: np.ndarray,
    closed: np.ndarray,
    block_least: np.ndarray,
    least: Any,
    row_of_column: np.ndarray,
) -> int:
    """Return an open column at distance `least`: an unmatched one if there is one."""
    n = distance.size
    found = -1
    for b in range(block_least.size):
        if block_least[b] != least:
            continue
        for k in range(b * BLOCK, min(b * BLOCK + BLOCK, n)):
            if distance[k] == least and closed[k] == 0:
                if row_of_column[k] < 0:
                    return k
                found = k if found < 0 else found
    return found


@njit(**JIT)
def augment(
    j: int, parent: np.ndarray, column_of_row: np.ndarray, row_of_column: np.ndarray
) -> bool:
    """Exchange the pairs on the path that ends at column `j`; False if it has no end."""
    for _ in range(parent.size):
        i = parent[j]
        previous = column_of_row[i]
        column_of_row[i] = j
        row_of_column[j] = i
        if previous < 0:
            return True
        j = previous
    return False
