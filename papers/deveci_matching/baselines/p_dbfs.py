"""P-DBFS: breadth-first searches from all free columns, disjoint, shared out among threads.

The best of the multicore rivals in [D13 sec.4], from its reference 1. In a phase each free column
grows a search of its own, breadth first, over rows that it claims one by one, atomically, once a
phase; where it claims a free row it augments at once and ends. Each search runs on one thread.

Any interleaving is right. Searches share no row, hence no matched column: besides the marks, a
thread reads and writes only ``rmatch`` of rows that it holds and ``cmatch`` of their columns.

The last phase finds no path. The matching was then the same all the time, and each neighbour of a
free column or of a claimed row's column was claimed by some thread, which then went through all
neighbours of its column: all rows that can be reached were claimed, none was free, and the matching
is maximum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from papers.deveci_matching.baselines.atomics import atomic_add
from papers.deveci_matching.baselines.parallel import (
    LOOKED,
    NEXT,
    PARALLEL,
    allocate_counters,
    chunk_of,
    claim,
    count_phase,
    looked,
)
from papers.deveci_matching.baselines.pfp import JIT, OVER, mark_of, still_unmatched, unmatched


class Work(NamedTuple):
    """The memory of the searches; unused parts of a thread's queue cost no memory."""

    visited: np.ndarray  # uint8[rows]: the mark of the phase that last claimed the row, or 0
    came_from: np.ndarray  # int32[rows]: the column from which a row was claimed
    free: np.ndarray  # int32[columns]: free columns
    queue: np.ndarray  # int32[threads, columns]: the columns of a search
    counters: np.ndarray  # int64[COUNTERS]


def allocate(rows: int, columns: int, threads: int) -> Work:
    """Allocate for a graph of these sizes; `p_dbfs` fills."""
    visited, came_from = np.empty(rows, np.uint8), np.empty(rows, np.int32)
    free, queue = np.empty(columns, np.int32), np.empty((threads, columns), np.int32)
    return Work(visited, came_from, free, queue, allocate_counters())


@njit(**JIT)
def _augment(row, root, came_from, rmatch, cmatch):
    """Match `row` with the column that it was claimed from, and so on back to the root."""
    column = np.int32(-1)
    while column != root:
        column = came_from[row]
        before = cmatch[column]
        cmatch[column] = row
        rmatch[row] = column
        row = before


@njit(**JIT)
def _search(root, xadj, adj, rmatch, cmatch, visited, mark, came_from, queue):
    """Look for a free row from the free column `root`, breadth first, and augment.

    Returns
    -------
    paths, edges : int
        1 for an augmenting path, else 0; edges looked at.
    """
    queue[0] = root
    head, tail = 0, 1
    edges = 0
    while head < tail:
        column = queue[head]
        head += 1
        begin = xadj[column]
        for at in range(begin, xadj[column + 1]):
            row = adj[at]
            if claim(visited, row, mark):
                came_from[row] = column
                mate = rmatch[row]
                if mate < 0:
                    _augment(row, root, came_from, rmatch, cmatch)
                    return 1, edges + at + 1 - begin
                queue[tail] = mate
                tail += 1
        edges += xadj[column + 1] - begin
    return 0, edges


@njit(**JIT)
def _help(xadj, adj, rmatch, cmatch, work, count, mark, limit, thread):
    """Do one thread's part of a phase; return the paths found."""
    visited, came_from, free, queues, counters = work
    queue = queues[thread]
    chunk = chunk_of(count, queues.shape[0])
    paths = 0
    while True:
        first = atomic_add(counters, NEXT, chunk)
        if first >= count:
            return paths
        scanned = 0
        for k in range(first, min(first + chunk, count)):
            found, edges = _search(
                free[k], xadj, adj, rmatch, cmatch, visited, mark, came_from, queue
            )
            paths += found
            scanned += edges
        if not looked(counters, scanned, limit):
            return paths


@njit(**PARALLEL)
def _phase(xadj, adj, rmatch, cmatch, work, count, mark, limit):
    """All threads' parts; return the paths found."""
    paths = 0
    for thread in prange(work.queue.shape[0]):
        paths += _help(xadj, adj, rmatch, cmatch, work, count, mark, limit, np.int64(thread))
    return paths


@njit(**JIT)
def p_dbfs(cxadj, cadj, rmatch, cmatch, work, tally, limit):
    """Enlarge a matching to a maximum one; parameters and results as of `baselines.pfp.pfp`."""
    counters = work.counters
    counters[LOOKED] = 0
    count = unmatched(cmatch, work.free)
    phase = 0
    paths = 1
    while paths > 0:  # Each turn but the last matches a column more.
        phase += 1
        counters[NEXT] = 0
        mark = mark_of(phase, work.visited)
        paths = _phase(cxadj, cadj, rmatch, cmatch, work, count, mark, limit)
        count_phase(tally, counters, paths, 0)
        if counters[LOOKED] > limit:
            return OVER
        count = still_unmatched(cmatch, work.free, count)
    return 0
