"""P-HK: Hopcroft and Karp's algorithm with both parts of a phase shared out among threads.

A multicore rival of [D13 sec.4], from its reference 1. The parts are those of `baselines.hk`:

1. Breadth first, a level at a time. Threads take columns of the level; a row new to the phase is
   claimed by raising its level atomically, and its column joins the next level. The matching does
   not change here. Levels of a few columns are not worth waking the threads for.
2. Depth first, back from the free rows of the last level. Threads take such rows; a row of the
   level before is claimed by lowering its level to 0 atomically, a free column by writing its match
   in place of -1.

Any interleaving of part 2 is right. A path enters a matched column only through a claim of the
row that the thread read as its match. That match changes only on a path through the column, whose
thread claimed the row first; and a claim succeeds once a phase. So if the claim succeeds the match
is still the one read, and row and column are this thread's. If the match read is a newer one, that
row lies on some path, its level is 0 or (a path's free row) the last, and it is not claimed. Paths
therefore are disjoint.

The set of paths need not be maximal, as a search may fail for a row that another failing search
holds. It is not empty: with no path at all, the claimed rows would be all that lead back from the
last level, with all their neighbours looked at, and a free column is among these. So each phase
but the last enlarges the matching, and the last ends as in `baselines.hk`: part 1 reaches no free
row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from papers.deveci_matching.baselines.atomics import atomic_add, compare_and_swap, load
from papers.deveci_matching.baselines.hk import FIRST, next_base
from papers.deveci_matching.baselines.parallel import (
    ENDS,
    LOOKED,
    NEXT,
    PARALLEL,
    TAIL,
    allocate_counters,
    augment_shared,
    chunk_of,
    count_phase,
    looked,
)
from papers.deveci_matching.baselines.pfp import JIT, OVER, STUCK, still_unmatched, unmatched

SPAN = 256
"""Columns that a thread gathers before it appends them to the queue."""

FEW = 1024
"""A level of fewer columns is left to one thread."""


class Work(NamedTuple):
    """The memory of P-HK; unused parts of a thread's stack cost no memory."""

    level: np.ndarray  # int32[rows]: from the phase's base on, if met in this phase
    queue: np.ndarray  # int32[columns]: the free columns, then the others as they are met
    ends: np.ndarray  # int32[rows]: the free rows of the last level
    stack: np.ndarray  # int32[threads, rows + 1]: the path, from the free row back
    edge_at: np.ndarray  # int32[threads, rows + 1]: the edge that each tries next
    gathered: np.ndarray  # int32[threads, SPAN]
    counters: np.ndarray  # int64[COUNTERS]


def allocate(rows: int, columns: int, threads: int) -> Work:
    """Allocate for a graph of these sizes; `p_hk` fills."""
    numbers = np.empty((2, rows), np.int32)
    paths = np.empty((2, threads, rows + 1), np.int32)
    gathered = np.empty((threads, SPAN), np.int32)
    queue = np.empty(columns, np.int32)
    return Work(numbers[0], queue, numbers[1], paths[0], paths[1], gathered, allocate_counters())


@njit(**JIT)
def _append(queue, counters, gathered, size):
    """Move the gathered columns of a thread to places of the queue that no other thread has."""
    to = atomic_add(counters, TAIL, size)
    for k in range(size):
        queue[to + k] = gathered[k]


@njit(**JIT)
def _expand(cxadj, cadj, rmatch, work, base, depth, first, last, limit, thread):
    """Do one thread's part of a level: take columns of ``queue[first:last]``, claim their rows."""
    level, queue, ends, _, _, all_gathered, counters = work
    gathered = all_gathered[thread]
    size = 0
    chunk = chunk_of(last - first, all_gathered.shape[0])
    within = True
    while within:
        begin = first + atomic_add(counters, NEXT, chunk)
        if begin >= last:
            break
        edges = 0
        for k in range(begin, min(begin + chunk, last)):
            column = queue[k]
            edges += cxadj[column + 1] - cxadj[column]
            for at in range(cxadj[column], cxadj[column + 1]):
                row = cadj[at]
                seen = load(level, row)
                if seen < base and compare_and_swap(level, row, seen, base + depth) == seen:
                    mate = rmatch[row]
                    if mate < 0:
                        ends[atomic_add(counters, ENDS, 1)] = row
                        continue
                    gathered[size] = mate
                    size += 1
                    if size == SPAN:
                        _append(queue, counters, gathered, size)
                        size = 0
        within = looked(counters, edges, limit)
    _append(queue, counters, gathered, size)


@njit(**PARALLEL)
def _expand_together(cxadj, cadj, rmatch, work, base, depth, first, last, limit):
    """Do all threads' parts of a level."""
    for thread in prange(work.stack.shape[0]):
        _expand(cxadj, cadj, rmatch, work, base, depth, first, last, limit, np.int64(thread))


@njit(**JIT)
def _levels_of(cxadj, cadj, rmatch, work, base, count, limit):
    """Part 1, as `baselines.hk.levels_of`; ``ENDS`` counts the free rows of the last level.

    Returns
    -------
    int
        The last level, from 0 on.
    """
    counters = work.counters
    counters[TAIL], counters[ENDS] = count, 0
    first, last, depth, alone = np.int64(0), count, np.int64(0), np.int64(0)
    while True:
        counters[NEXT] = 0
        if last - first < FEW:
            _expand(cxadj, cadj, rmatch, work, base, depth, first, last, limit, alone)
        else:
            _expand_together(cxadj, cadj, rmatch, work, base, depth, first, last, limit)
        first, last = last, counters[TAIL]
        if counters[ENDS] > 0 or first == last or counters[LOOKED] > limit:
            return depth
        depth += 1


@njit(**JIT)
def _search(end, last, rxadj, radj, rmatch, cmatch, level, base, stack, edge_at):
    """`baselines.hk.search_levels` with claims; parameters and results are the same."""
    depth = 0
    stack[0] = end
    edge_at[0] = rxadj[end]
    edges: int | np.int64 = 0
    while depth >= 0:
        row = stack[depth]
        stop = rxadj[row + 1]
        at = np.int64(edge_at[depth])
        before = at
        wanted = base + last - depth - 1
        back = np.int32(-1)
        while at < stop and back < 0:
            column = radj[at]
            at += 1
            mate = load(cmatch, column)
            if mate < 0:
                if compare_and_swap(cmatch, column, -1, row) == -1:
                    augment_shared(column, depth, stack, rmatch, cmatch)
                    return 1, edges + at - before
            elif load(level, mate) == wanted and compare_and_swap(level, mate, wanted, 0) == wanted:
                back = mate
        edges += at - before
        if back < 0:
            depth -= 1
        else:
            edge_at[depth] = at
            depth += 1
            stack[depth] = back
            edge_at[depth] = rxadj[back]
    return 0, edges


@njit(**JIT)
def _help(rxadj, radj, rmatch, cmatch, work, base, last, limit, thread):
    """Do one thread's share of part 2; return the paths found."""
    level, _, ends, stacks, edges_at, _, counters = work
    stack, edge_at = stacks[thread], edges_at[thread]
    count = counters[ENDS]
    chunk = chunk_of(count, stacks.shape[0])
    paths = 0
    while True:
        first = atomic_add(counters, NEXT, chunk)
        if first >= count:
            return paths
        scanned = 0
        for k in range(first, min(first + chunk, count)):
            found, edges = _search(
                ends[k], last, rxadj, radj, rmatch, cmatch, level, base, stack, edge_at
            )
            paths += found
            scanned += edges
        if not looked(counters, scanned, limit):
            return paths


@njit(**PARALLEL)
def _search_together(rxadj, radj, rmatch, cmatch, work, base, last, limit):
    """Do all threads' parts of part 2; return the paths found."""
    paths = 0
    for thread in prange(work.stack.shape[0]):
        paths += _help(rxadj, radj, rmatch, cmatch, work, base, last, limit, np.int64(thread))
    return paths


@njit(**JIT)
def p_hk(cxadj, cadj, rxadj, radj, rmatch, cmatch, work, tally, limit):
    """Enlarge a matching to a maximum one; parameters and results as of `baselines.hk.hk`."""
    counters = work.counters
    counters[LOOKED] = 0
    work.level[:] = 0
    count = unmatched(cmatch, work.queue)
    base = FIRST
    while True:  # Each turn but the last matches a column more.
        last = _levels_of(cxadj, cadj, rmatch, work, base, count, limit)
        paths = 0
        if counters[ENDS] > 0 and counters[LOOKED] <= limit:
            counters[NEXT] = 0
            paths = _search_together(rxadj, radj, rmatch, cmatch, work, base, last, limit)
        count_phase(tally, counters, paths, last + 1 if count > 0 else 0)
        if counters[LOOKED] > limit:
            return OVER
        if paths == 0:
            return 0 if counters[ENDS] == 0 else STUCK
        count = still_unmatched(cmatch, work.queue, count)
        base = next_base(base, last, work.level, cmatch.size)
