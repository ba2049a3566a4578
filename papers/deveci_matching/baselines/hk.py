"""HK and HKDW: Hopcroft and Karp's algorithm, and Duff and Wiberg's extension of it.

HK is the second sequential rival of [D13 sec.4]; the GPU algorithms APsB and APFB correspond to HK
and HKDW [D13 sec.2]. A phase of HK has two parts:

1. breadth first from all free columns at once, level by level, up to the first level that has free
   rows;
2. depth first from each of these rows, back from level to level, augmenting where a free column is
   met: a maximal set of disjoint shortest augmenting paths. (Searching from the free columns would
   do as well, but there are many more of them, most of which lead nowhere.)

HKDW adds a third part: depth first from each row that is still free, along any edges, each column
once; its paths need not be shortest. That is a phase of `baselines.pfp` with the sides swapped.

**Levels are kept by row.** A matched column is entered through its own row only, so the row's level
serves for both, and part 1 looks at ``level[row]`` alone for most edges. Levels grow from phase
to phase: a row counts as new when its level is below the `base` of the phase, so that nothing has
to be cleared in between. A row that part 2 has tried becomes level 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from papers.deveci_matching.baselines.atomics import prefetch
from papers.deveci_matching.baselines.pfp import (
    EDGES,
    JIT,
    LEVELS,
    OVER,
    PATHS,
    PHASES,
    STUCK,
    augment,
    prepare,
    search_all,
    still_unmatched,
    unmatched,
)

FIRST = np.int64(2)  # A NumPy number, because Numba compiles anew for each literal.
"""The first base. No row ever has level ``base - 1``, which part 2 relies on."""

MOST = 2**31 - 3
"""The largest level that is given."""

AHEAD = 4
"""Columns of the queue between one question ahead and the next (`ask_ahead`)."""

MOST_AHEAD = 64
"""Rows of a column, at most, that are asked for ahead."""


class Adjacency(NamedTuple):
    """A graph by columns and by rows."""

    cxadj: np.ndarray  # int32[columns + 1]
    cadj: np.ndarray  # int32[edges]: the rows of each column
    rxadj: np.ndarray  # int32[rows + 1]
    radj: np.ndarray  # int32[edges]: the columns of each row


class Work(NamedTuple):
    """The memory of HK."""

    level: np.ndarray  # int32[rows]: from the phase's base on, if met in this phase
    queue: np.ndarray  # int32[columns]: the free columns, then the others as they are met
    ends: np.ndarray  # int32[rows]: the free rows of the last level
    stack: np.ndarray  # int32[rows + 1]: the path, from the free row back
    edge_at: np.ndarray  # int32[rows + 1]: the edge that each row of the path tries next


def allocate(rows: int, columns: int) -> Work:
    """Allocate for a graph of these sizes; `hk` fills."""
    numbers = np.empty((4, rows + 1), np.int32)
    queue = np.empty(columns, np.int32)
    return Work(numbers[0, :-1], queue, numbers[1, :-1], numbers[2], numbers[3])


@njit(**JIT)
def next_base(base, last, level, columns):
    """Return the base of the next phase, after one with levels up to ``base + last``.

    It leaves one number out (see `FIRST`). Levels begin anew before they could exceed `MOST`.
    """
    base += last + 2
    if base > MOST - columns:
        level[:] = 0
        base = FIRST
    return base


@njit(**JIT)
def ask_ahead(k, tail, queue, cxadj, cadj, rmatch, level):
    """Ask for what part 1 reads soon: a column's place, then its rows, then what is known of them.

    Each needs the one before, and each is far away in a graph in random order.
    """
    if k + 3 * AHEAD < tail:
        prefetch(cxadj, queue[k + 3 * AHEAD])
    if k + 2 * AHEAD < tail:
        prefetch(cadj, cxadj[np.uint32(queue[k + 2 * AHEAD])])
    if k + AHEAD < tail:
        column = np.uint32(queue[k + AHEAD])
        begin = cxadj[column]
        end = min(cxadj[np.uint32(column + np.uint32(1))], begin + MOST_AHEAD)
        for at in range(begin, end):
            row = cadj[np.uint32(at)]
            prefetch(level, row)
            prefetch(rmatch, row)


@njit(**JIT)
def levels_of(cxadj, cadj, rmatch, level, base, queue, count, ends, tally):
    """Part 1: number the rows by levels from `base` on, from the free columns.

    Parameters
    ----------
    cxadj, cadj : int32[columns + 1], int32[edges]
    rmatch : int32[rows]
    level : int32[rows]
        All below `base`.
    base : int
    queue : int32[columns]
        Begins with the `count` free columns; the others follow as they are met.
    count : int
    ends : int32[rows]
        Receives the free rows of the last level.
    tally : int64[TALLY]

    Returns
    -------
    last : int
        The level of the nearest free rows, from 0 on.
    found : int
        Their number; 0 if no free row can be reached, so that the matching is maximum.
    """
    first, last, tail = 0, count, count
    depth = 0
    found = 0
    while first < last:
        edges = 0
        for k in range(first, last):
            ask_ahead(k, tail, queue, cxadj, cadj, rmatch, level)
            # An unsigned index is not asked whether it counts from the end, which halves the time
            # on permuted Delaunay graphs (`evidence/causes/compiled.csv`).
            column = np.uint32(queue[k])
            begin, end = cxadj[column], cxadj[np.uint32(column + np.uint32(1))]
            edges += end - begin
            for at in range(begin, end):
                row = np.uint32(cadj[np.uint32(at)])
                if level[row] < base:
                    level[row] = base + depth
                    mate = rmatch[row]
                    if mate < 0:
                        ends[found] = row
                        found += 1
                    else:
                        queue[tail] = mate
                        tail += 1
        tally[EDGES] += edges
        tally[LEVELS] += 1
        if found > 0:
            break
        first, last = last, tail
        depth += 1
    return depth, found


@njit(**JIT)
def search_levels(end, last, rxadj, radj, rmatch, cmatch, level, base, stack, edge_at):
    """Part 2 for one free row: go back from level to level to a free column, and augment.

    Parameters
    ----------
    end, last : int
        The row, and its level.
    rxadj, radj : int32[rows + 1], int32[edges]
    rmatch, cmatch : int32[rows], int32[columns]
    level : int32[rows]
        From `base` on, in this phase; the rows visited become 0.
    base : int
    stack, edge_at : int32[at least levels] each
        Rows on the path, and the edge each of them tries next.

    Returns
    -------
    paths, edges : int
        1 for an augmenting path, else 0; edges looked at.
    """
    depth = 0
    stack[0] = end
    edge_at[0] = rxadj[end]
    level[end] = 0
    edges: int | np.int64 = 0
    while depth >= 0:
        row = stack[depth]
        stop = rxadj[row + 1]
        at = np.int64(edge_at[depth])
        before = at
        wanted = base + last - depth - 1  # `base - 1`, no level, where only free columns are left.
        back = np.int32(-1)
        while at < stop and back < 0:
            column = radj[at]
            at += 1
            mate = cmatch[column]
            if mate < 0:
                augment(column, depth, stack, rmatch, cmatch)
                return 1, edges + at - before
            if level[mate] == wanted:
                back = mate
        edges += at - before
        if back < 0:
            depth -= 1
        else:
            edge_at[depth] = at
            level[back] = 0
            depth += 1
            stack[depth] = back
            edge_at[depth] = rxadj[back]
    return 0, edges


@njit(**JIT)
def search_all_levels(found, last, rxadj, radj, rmatch, cmatch, work, base, tally, limit):
    """Part 2 for the first `found` rows in ``work.ends``; return the paths found, or `OVER`."""
    level, _, ends, stack, edge_at = work
    paths = 0
    for k in range(found):
        path, edges = search_levels(
            ends[k], last, rxadj, radj, rmatch, cmatch, level, base, stack, edge_at
        )
        paths += path
        tally[EDGES] += edges
        if tally[EDGES] > limit:
            return OVER
    tally[PATHS] += paths
    return paths


@njit(**JIT)
def hk(graph, rmatch, cmatch, work, duff_wiberg, extra, tally, limit):
    """Enlarge a matching to a maximum one [D13 sec.2].

    It ends when part 1 reaches no free row: every row that can be reached is then matched, and by
    Berge's theorem the matching is maximum.

    Parameters
    ----------
    graph : Adjacency
    rmatch, cmatch : int32[rows], int32[columns]
        The matching to start from; the maximum one upon return.
    work : Work
    duff_wiberg : bool
        Whether part 3 follows: HKDW.
    extra : pfp.Work
        Memory of part 3, of the swapped graph; without it, of any size.
    tally : int64[TALLY]
        Counts, added to.
    limit : int
        Edges that may be looked at.

    Returns
    -------
    int
        0, `OVER` or `STUCK`.
    """
    cxadj, cadj, rxadj, radj = graph
    level, queue, ends = work.level, work.queue, work.ends
    level[:] = 0
    count = unmatched(cmatch, queue)
    free_rows = prepare(rxadj, rmatch, extra) if duff_wiberg else 0
    phase = 0
    base = FIRST
    while True:  # Each turn but the last matches a column more.
        phase += 1
        tally[PHASES] += 1
        last, found = levels_of(cxadj, cadj, rmatch, level, base, queue, count, ends, tally)
        if tally[EDGES] > limit:
            return OVER
        if found == 0:
            return 0
        paths = search_all_levels(
            found, last, rxadj, radj, rmatch, cmatch, work, base, tally, limit
        )
        if paths <= 0:
            return OVER if paths == OVER else STUCK
        if duff_wiberg:
            free_rows = still_unmatched(rmatch, extra.free, free_rows)
            paths = search_all(rxadj, radj, cmatch, rmatch, extra, free_rows, phase, tally, limit)
            if paths == OVER:
                return OVER
        count = still_unmatched(cmatch, queue, count)
        base = next_base(base, last, level, cmatch.size)
