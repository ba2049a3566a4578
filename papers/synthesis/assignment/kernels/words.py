"""Turns of the lists, counts, and appending to a list of a grid's threads."""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.common.gpu.reductions import FULL_WARP, warp_rank
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment.kernels.arguments import FREE, LATE


@cuda.jit(device=True)
def count(log, which, amount):
    """Add to a total, by the first thread of the grid."""
    if cuda.grid(1) == 0:
        cuda.atomic.add(log.totals, which, amount)


@cuda.jit(device=True)
def free_rows(log, turn):
    """Free rows in this turn's list."""
    return load_relaxed(log.words, FREE + turn % 3)


@cuda.jit(device=True)
def is_late(log, turn):
    """Whether the time was over before this turn: the same for all threads."""
    return load_relaxed(log.words, LATE + turn % 3) != 0


@cuda.jit(device=True)
def tell_time(log, word, due):
    """Store whether the time is over, for the next turn: the first thread of the grid."""
    late = int32(0)
    if globaltimer() > due:
        late = int32(1)
    store_relaxed(log.words, word, late)


@cuda.jit(device=True)
def prepare_turn(log, turn, due):
    """Clear the count of the turn after the next, and look at the clock for the next."""
    if cuda.grid(1) == 0:
        store_relaxed(log.words, FREE + (turn + 2) % 3, int32(0))
        tell_time(log, LATE + (turn + 1) % 3, due)


@cuda.jit(device=True)
def place_for(wanted, words, word):
    """A place in a list for each lane that wants one: a full warp adds to the count once.

    Returns
    -------
    int32
        Undefined for the other lanes.
    """
    rank, total = warp_rank(wanted)
    first = int32(0)
    if total > 0:
        if cuda.threadIdx.x & 31 == 0:
            first = cuda.atomic.add(words, word, total)
        first = cuda.shfl_sync(FULL_WARP, first, 0)
    return int32(first + rank)
