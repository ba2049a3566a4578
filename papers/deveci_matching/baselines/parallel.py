"""The common parts of the multicore codes: a counter that hands out work, and atomic claims.

A parallel part is a ``prange`` over the threads. Each thread takes items, a chunk at a time, by a
common counter until none are left: searches differ far too much in length for equal shares. No
thread ever waits for another, so a part is right with any number of threads, even one after the
other; its end is the only barrier.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from papers.deveci_matching.baselines.atomics import atomic_add, compare_and_swap, load, store
from papers.deveci_matching.baselines.pfp import EDGES, JIT, LEVELS, PATHS, PHASES

PARALLEL: dict[str, Any] = JIT | {"parallel": True}

# Places of the common counters, int64[COUNTERS], each with two cache lines of its own.
NEXT, LOOKED, TAIL, ENDS = 0, 16, 32, 48
COUNTERS = 64


@njit(**JIT)
def chunk_of(count, threads):
    """Return the number of items that a thread takes at a time, an eighth of its share or 64."""
    return max(1, min(64, count // (8 * threads)))


@njit(**JIT)
def claim(visited, row, mark):
    """Return whether this thread, and no other one, gets the row for this phase.

    It loads the mark before it swaps, because most rows that are looked at are visited already.
    """
    seen = load(visited, row)
    return seen != mark and compare_and_swap(visited, row, seen, mark) == seen


@njit(**JIT)
def looked(counters, edges, limit):
    """Add edges to the common count; return whether they are still within the limit."""
    return atomic_add(counters, LOOKED, edges) + edges <= limit


@njit(**JIT)
def augment_shared(row, depth, stack, cmatch, rmatch):
    """`baselines.pfp.augment` while other threads read `rmatch`."""
    for d in range(depth, -1, -1):
        column = stack[d]
        before = cmatch[column]
        cmatch[column] = row
        store(rmatch, row, column)
        row = before


@njit(**JIT)
def count_phase(tally, counters, paths, levels):
    """Add the counts of a phase to the tally."""
    tally[PHASES] += 1
    tally[PATHS] += paths
    tally[LEVELS] += levels
    tally[EDGES] = counters[LOOKED]


def allocate_counters() -> np.ndarray:
    """Allocate the common counters; every code resets those it uses."""
    return np.zeros(COUNTERS, np.int64)
