"""MS-BFS-Graft: breadth first from all free columns, the trees kept from phase to phase.

A rival of today, after Azad, Buluc and Pothen (2017), from whom `beyond` has its grafting. A phase
searches from all free columns at once, level by level, along edges from columns or, where the
frontier is large, from the rows that are left. Rows are claimed, so trees never meet, and a tree
stops at its first free row. After the paths are applied, the trees without one stay, and the rows
of the others look for them (graft); if there are more rows to give back than to keep, all trees are
planted anew.

The threads take chunks of a level by a common counter, as in `baselines.parallel`. Any interleaving
is right: one compare-and-swap gives a row to one tree, another gives a tree its end; a row that its
tree has to refuse stays claimed until the phase ends, and then the next phase looks at it again.

The last phase finds no path, so no tree was finished in it: every row that a living tree touches is
claimed, none of them is free, and by Berge's theorem the matching is maximum. A row that is left
unclaimed by earlier phases touches no living tree, because a tree's columns are expanded while it
lives, and rows given back have looked at all their columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from papers.deveci_matching.baselines.atomics import atomic_add, compare_and_swap, load, store
from papers.deveci_matching.baselines.parallel import (
    ENDS,
    LOOKED,
    NEXT,
    PARALLEL,
    TAIL,
    allocate_counters,
    chunk_of,
    count_phase,
    looked,
)
from papers.deveci_matching.baselines.pfp import JIT, OVER

SPAN = 256
"""Columns that a thread gathers before it appends them to the next frontier."""

FEW = 128
"""A level of fewer items is the work of the calling thread alone."""

DENSE = 8
"""Rows look for columns once the frontier has more edges than a `DENSE`-th of those left."""


class Work(NamedTuple):
    """The memory of the searches."""

    parent: np.ndarray  # int32[rows]: the column that reached the row, -1 for none
    root: np.ndarray  # int32[columns]: a free column, -1 for none
    end: np.ndarray  # int32[columns]: the free row that a tree has found, -1 for none
    queue: np.ndarray  # int32[2, columns]: the frontier and the next one
    rows: np.ndarray  # int32[rows]: rows that look for columns
    ends: np.ndarray  # int32[columns]: roots with an end
    gathered: np.ndarray  # int32[threads, SPAN]
    counters: np.ndarray  # int64[COUNTERS]


def allocate(rows: int, columns: int, threads: int) -> Work:
    """Allocate for a graph of these sizes; `ms_bfs_graft` fills."""
    return Work(
        np.empty(rows, np.int32), np.empty(columns, np.int32), np.empty(columns, np.int32),
        np.empty((2, columns), np.int32), np.empty(rows, np.int32), np.empty(columns, np.int32),
        np.empty((threads, SPAN), np.int32), allocate_counters(),
    )  # fmt: skip


@njit(**JIT)
def _lives(tree, end):
    """Return whether a tree searches still."""
    return tree >= 0 and load(end, tree) < 0


@njit(**JIT)
def _join(row, tree, rmatch, work):
    """Take a claimed row into a tree; return its column, or -1 for a free row."""
    mate = rmatch[row]
    if mate < 0:
        if compare_and_swap(work.end, tree, -1, row) == -1:
            work.ends[atomic_add(work.counters, ENDS, 1)] = tree
        return np.int32(-1)
    store(work.root, mate, tree)
    return np.int32(mate)


@njit(**JIT)
def _append(into, counters, gathered, size):
    place = atomic_add(counters, TAIL, size)
    for k in range(size):
        into[place + k] = gathered[k]


@njit(**JIT)
def _push(column, cxadj, cadj, rmatch, work, into, gathered, size):
    """Follow the edges of a frontier's column; return the columns gathered and the edges."""
    tree = work.root[column]
    for at in range(cxadj[column], cxadj[column + 1]):
        if not _lives(tree, work.end):
            return size, at - cxadj[column]
        row = cadj[at]
        if load(work.parent, row) == -1 and compare_and_swap(work.parent, row, -1, column) == -1:
            mate = _join(row, tree, rmatch, work)
            if mate >= 0:
                gathered[size] = mate
                size += 1
                if size == SPAN:
                    _append(into, work.counters, gathered, size)
                    size = 0
    return size, cxadj[column + 1] - cxadj[column]


@njit(**JIT)
def _pull(row, rxadj, radj, rmatch, work, into, gathered, size):
    """Let an unclaimed row join the first living tree that it touches."""
    for at in range(rxadj[row], rxadj[row + 1]):
        column = radj[at]
        tree = load(work.root, column)
        if _lives(tree, work.end):
            work.parent[row] = column
            mate = _join(row, tree, rmatch, work)
            if mate >= 0:
                gathered[size] = mate
                size += 1
                if size == SPAN:
                    _append(into, work.counters, gathered, size)
                    size = 0
            return size, at + 1 - rxadj[row]
    return size, rxadj[row + 1] - rxadj[row]


@njit(**JIT)
def _share(pulling, items, count, graph, rmatch, work, into, limit, thread):
    """Do one thread's part of a level: `items` are columns, or rows if it is pulled."""
    cxadj, cadj, rxadj, radj = graph
    gathered, counters = work.gathered[thread], work.counters
    size, within, chunk = 0, True, chunk_of(count, work.gathered.shape[0])
    while within:
        begin = atomic_add(counters, NEXT, chunk)
        if begin >= count:
            break
        edges = np.int64(0)
        for k in range(begin, min(begin + chunk, count)):
            if pulling:
                size, more = _pull(items[k], rxadj, radj, rmatch, work, into, gathered, size)
            else:
                size, more = _push(items[k], cxadj, cadj, rmatch, work, into, gathered, size)
            edges += more
        within = looked(counters, edges, limit)
    _append(into, counters, gathered, size)


@njit(**PARALLEL)
def _together(pulling, items, count, graph, rmatch, work, into, limit):
    """Do all threads' parts of a level."""
    for thread in prange(work.gathered.shape[0]):
        _share(pulling, items, count, graph, rmatch, work, into, limit, np.int64(thread))


@njit(**JIT)
def _level(pulling, items, count, graph, rmatch, work, into, limit):
    """Expand a level; return the columns of the next frontier."""
    counters = work.counters
    counters[NEXT], counters[TAIL] = 0, 0
    if count < FEW:
        _share(pulling, items, count, graph, rmatch, work, into, limit, np.int64(0))
    else:
        _together(pulling, items, count, graph, rmatch, work, into, limit)
    return counters[TAIL]


@njit(**JIT)
def _unclaimed(parent, into):
    count = 0
    for row in range(parent.size):
        if parent[row] == -1:
            into[count] = row
            count += 1
    return count


@njit(**JIT)
def _search(side, count, graph, rmatch, work, limit):
    """Expand all levels of a phase; return their number."""
    cxadj = graph[0]
    levels, left = 0, graph[1].size
    while count > 0 and work.counters[LOOKED] <= limit:
        front, into = work.queue[side], work.queue[1 - side]
        edges = 0
        for k in range(count):
            edges += cxadj[front[k] + 1] - cxadj[front[k]]
        left -= edges
        if edges * DENSE > left and count >= FEW:
            rows = _unclaimed(work.parent, work.rows)
            count = _level(True, work.rows, rows, graph, rmatch, work, into, limit)
        else:
            count = _level(False, front, count, graph, rmatch, work, into, limit)
        side = 1 - side
        levels += 1
    return levels


@njit(**JIT)
def _plant(cmatch, work):
    """Forget all trees; return the free columns, roots of new ones, in the first queue."""
    work.parent[:] = -1
    count = 0
    for column in range(cmatch.size):
        work.root[column] = work.end[column] = -1
        if cmatch[column] < 0:
            work.root[column] = column
            work.queue[0, count] = column
            count += 1
    return count


@njit(**JIT)
def _augment(rmatch, cmatch, work):
    """Apply the paths of the phase, which are disjoint as their trees are."""
    for k in range(work.counters[ENDS]):
        row = work.end[work.ends[k]]
        while row >= 0:
            column = work.parent[row]
            before = cmatch[column]
            cmatch[column] = row
            rmatch[row] = column
            row = before


@njit(**JIT)
def _give_back(work):
    """Unclaim the rows of finished trees and list them; return their number and that of others."""
    back, kept = 0, 0
    for row in range(work.parent.size):
        column = work.parent[row]
        if column >= 0:
            if work.end[work.root[column]] >= 0:
                work.parent[row] = -1
                work.rows[back] = row
                back += 1
            else:
                kept += 1
    return back, kept


@njit(**JIT)
def ms_bfs_graft(cxadj, cadj, rxadj, radj, rmatch, cmatch, work, tally, limit):
    """Enlarge a matching to a maximum one; parameters and results as of `baselines.hk.hk`."""
    graph, counters = (cxadj, cadj, rxadj, radj), work.counters
    counters[LOOKED] = counters[ENDS] = 0
    count = _plant(cmatch, work)
    while True:  # Each turn but the last matches a column more.
        levels = _search(0, count, graph, rmatch, work, limit) if count > 0 else 0
        if counters[LOOKED] > limit:
            count_phase(tally, counters, 0, levels)
            return OVER
        paths = counters[ENDS]
        count_phase(tally, counters, paths, levels)
        if paths == 0:
            return 0
        _augment(rmatch, cmatch, work)
        back, kept = _give_back(work)
        counters[ENDS] = 0
        if kept > back:
            count = _level(True, work.rows, back, graph, rmatch, work, work.queue[0], limit)
        else:
            count = _plant(cmatch, work)
