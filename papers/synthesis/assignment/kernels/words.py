"""Turns of the lists, counts, and appending to a list of a team's threads."""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed_anywhere, store_relaxed_anywhere
from papers.common.gpu.reductions import FULL_WARP, warp_rank
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment.kernels.arguments import DUE, FREE, LATE, TURN, WIDTH
from papers.synthesis.assignment.kernels.team import thread_of

CLOCK_EVERY = 16
"""Steps from one look at the clock to the next."""


@cuda.jit(device=True)
def count(shape, log, which, amount):
    """Add to a total, by the first thread of the team."""
    if thread_of(shape) == 0:
        cuda.atomic.add(log.totals, which, amount)


@cuda.jit(device=True)
def free_rows(log, turn):
    """Free rows in this turn's list."""
    return load_relaxed_anywhere(log.words, FREE + turn % 3)


@cuda.jit(device=True)
def is_late(log, turn):
    """Whether the time was over before this turn: the same for all threads."""
    return load_relaxed_anywhere(log.words, LATE + turn % 3) != 0


@cuda.jit(device=True)
def tell_time(log, word, step, due):
    """Store whether the time is over for the step after this: the first thread of the team.

    All blocks of a GPU read one timer, and wait for one another there: so it is not asked at every
    step. `word` is the first of the three slots; what was late stays late.
    """
    late = load_relaxed_anywhere(log.words, word + step % 3)
    if late == 0 and step % CLOCK_EVERY == 0 and globaltimer() > due:
        late = int32(1)
    store_relaxed_anywhere(log.words, word + (step + 1) % 3, late)


@cuda.jit(device=True)
def prepare_turn(shape, log, turn, due):
    """Clear the count of the turn after the next, and look at the clock for the next."""
    if thread_of(shape) == 0:
        store_relaxed_anywhere(log.words, FREE + (turn + 2) % 3, int32(0))
        tell_time(log, LATE, turn, due)


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


@cuda.jit(device=True)
def hand_over(turn, delta, due, shape, log):
    """Leave to the launch behind this one what it needs: the first thread of the team.

    Parameters
    ----------
    turn : int32
    delta : D
        A bucket's width.
    due : int64
        When the time is over, in nanoseconds; the launch behind has it to the even one.
    """
    if thread_of(shape) == 0:
        log.levels[WIDTH] = delta
        store_relaxed_anywhere(log.words, TURN, turn)
        store_relaxed_anywhere(log.words, DUE, int32(due >> 32))
        store_relaxed_anywhere(log.words, DUE + 1, int32(due >> 1 & 0x7FFFFFFF))


@cuda.jit(device=True)
def keep(shape, log):
    """Leave nothing to the launch behind this one: the first thread of the team."""
    if thread_of(shape) == 0:
        store_relaxed_anywhere(log.words, TURN, int32(-1))


@cuda.jit(device=True)
def taken_over(log):
    """The turn, the width and the time that another launch has left (`hand_over`).

    The turn is -1 if it has left nothing (`keep`).
    """
    due = int64(load_relaxed_anywhere(log.words, DUE)) << 32
    due |= int64(load_relaxed_anywhere(log.words, DUE + 1)) << 1
    return load_relaxed_anywhere(log.words, TURN), log.levels[WIDTH], due
