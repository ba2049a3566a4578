"""P-PFP: Pothen and Fan's algorithm with the searches of a phase shared out among threads.

A multicore rival of [D13 sec.4], from its reference 1. The threads search from different free
columns, depth first with lookahead and fairness as in `baselines.pfp`. A search may enter a row
only after an atomic claim of it, once a phase: the searches' rows are disjoint, and with them the
columns matched to those rows.

Any interleaving is right. The thread that holds a row holds its column, too, so both sides of an
augmenting path are written by one thread. The only thing that it reads of other threads is whether
a row is free, in the lookahead. If it reads "free", it claims the row: a claim that succeeds means
that no thread has matched the row in this phase, and one that fails means that the row's holder
matches it. If it reads "matched", the row remains matched. Either way the lookahead may pass on for
good.

The last phase finds no path. The matching was then the same all the time; each neighbour of a free
column or of a claimed row's column was claimed by some thread, which then went through all
neighbours of its column, and none of them was free. So no free row can be reached, and the matching
is maximum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from papers.deveci_matching.baselines import pfp
from papers.deveci_matching.baselines.atomics import atomic_add, load
from papers.deveci_matching.baselines.parallel import (
    LOOKED,
    NEXT,
    PARALLEL,
    allocate_counters,
    augment_shared,
    chunk_of,
    claim,
    count_phase,
    looked,
)
from papers.deveci_matching.baselines.pfp import JIT, OVER, mark_of, prepare, still_unmatched


class Work(NamedTuple):
    """The memory of the searches; unused parts of a thread's stack cost no memory."""

    visited: np.ndarray  # uint8[rows]: the mark of the phase that last claimed the row, or 0
    look: np.ndarray  # int32[columns]: the edge where each lookahead resumes
    free: np.ndarray  # int32[columns]: free columns
    stack: np.ndarray  # int32[threads, columns + 1]: the path, from the root on
    edge_at: np.ndarray  # int32[threads, columns + 1]: the edge that each tries next
    counters: np.ndarray  # int64[COUNTERS]


def allocate(rows: int, columns: int, threads: int) -> Work:
    """Allocate for a graph of these sizes; `p_pfp` fills."""
    numbers = np.empty((2, columns), np.int32)
    paths = np.empty((2, threads, columns + 1), np.int32)
    counters = allocate_counters()
    return Work(np.empty(rows, np.uint8), numbers[0], numbers[1], paths[0], paths[1], counters)


@njit(**JIT)
def _search(root, xadj, adj, rmatch, cmatch, own, mark, forward):
    """`baselines.pfp.search` with claims; its ``work`` is `own`, with this thread's stack."""
    visited, look, _, stack, edge_at = own
    step = 1 if forward else -1
    depth = 0
    column = root
    entered = True
    edges: int | np.int64 = 0
    while True:
        end = xadj[column + 1]
        if entered:
            at = look[column]
            edges -= at
            while at < end:
                row = adj[at]
                at += 1
                if load(rmatch, row) < 0 and claim(visited, row, mark):
                    stack[depth] = column
                    look[column] = at
                    augment_shared(row, depth, stack, cmatch, rmatch)
                    return 1, edges + at
            look[column] = end
            edges += end
            at = np.int64(xadj[column] if forward else end - 1)
        else:
            at = np.int64(edge_at[depth])
        stop = np.int64(end if forward else xadj[column] - 1)
        before = at
        entered = False
        while at != stop:
            row = adj[at]
            at += step
            if claim(visited, row, mark):
                stack[depth] = column
                edge_at[depth] = at
                depth += 1
                column = load(rmatch, row)  # Matched: the lookahead has passed it.
                entered = True
                break
        edges += (at - before) * step
        if not entered:
            if depth == 0:
                return 0, edges
            depth -= 1
            column = stack[depth]


@njit(**JIT)
def _help(xadj, adj, rmatch, cmatch, work, count, mark, forward, limit, thread):
    """Do one thread's part of a phase; return the paths found."""
    visited, look, free, stacks, edges_at, counters = work
    own = pfp.Work(visited, look, free, stacks[thread], edges_at[thread])
    chunk = chunk_of(count, stacks.shape[0])
    paths = 0
    while True:
        first = atomic_add(counters, NEXT, chunk)
        if first >= count:
            return paths
        scanned = 0
        for k in range(first, min(first + chunk, count)):
            found, edges = _search(free[k], xadj, adj, rmatch, cmatch, own, mark, forward)
            paths += found
            scanned += edges
        if not looked(counters, scanned, limit):
            return paths


@njit(**PARALLEL)
def _phase(xadj, adj, rmatch, cmatch, work, count, mark, forward, limit):
    """Do all threads' parts of a phase; return the paths found."""
    paths = 0
    for thread in prange(work.stack.shape[0]):
        paths += _help(
            xadj, adj, rmatch, cmatch, work, count, mark, forward, limit, np.int64(thread)
        )
    return paths


@njit(**JIT)
def p_pfp(cxadj, cadj, rmatch, cmatch, work, tally, limit):
    """Enlarge a matching to a maximum one; parameters and results as of `baselines.pfp.pfp`."""
    counters = work.counters
    counters[LOOKED] = 0
    count = prepare(cxadj, cmatch, work)
    phase = 0
    paths = 1
    while paths > 0:  # Each turn but the last matches a column more.
        phase += 1
        counters[NEXT] = 0
        mark = mark_of(phase, work.visited)
        paths = _phase(cxadj, cadj, rmatch, cmatch, work, count, mark, phase % 2 == 1, limit)
        count_phase(tally, counters, paths, 0)
        if counters[LOOKED] > limit:
            return OVER
        count = still_unmatched(cmatch, work.free, count)
    return 0
