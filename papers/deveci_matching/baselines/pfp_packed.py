"""PFP with the numbers of a column side by side in memory.

`baselines.pfp` reads of a column its edges' two ends and its place of lookahead from two arrays,
and writes its partner into a third. On a permuted graph that no cache holds, each waits for memory.
Here these four lie in one line of sixteen bytes. A row's mark stays a byte of its own: it is read
for every edge, and a wider word that holds the partner as well leaves the caches sooner (measured:
slower). The searches are the same, edge by edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from papers.deveci_matching.baselines.pfp import EDGES, JIT, OVER, PATHS, PHASES, mark_of, unmatched

FIRST, LAST, LOOK, ROW = range(4)
"""Places in a column's line: its first edge, the one after its last, where its lookahead resumes,
its partner."""


class Work(NamedTuple):
    """The memory of the searches."""

    visited: np.ndarray  # uint8[rows]: the mark of the phase that last visited the row, or 0
    columns: np.ndarray  # int32[columns, 4]
    free: np.ndarray  # int32[columns]: free columns
    stack: np.ndarray  # int32[columns + 1]: the path, from the root on
    edge_at: np.ndarray  # int32[columns + 1]: the edge that each column of the path tries next


def allocate(rows: int, columns: int) -> Work:
    """Allocate for a graph of these sizes; `pfp_packed` fills."""
    numbers = np.empty((3, columns + 1), np.int32)
    visited, lines = np.empty(rows, np.uint8), np.empty((columns, 4), np.int32)
    return Work(visited, lines, numbers[0, :-1], numbers[1], numbers[2])


@njit(**JIT)
def _augment(row, depth, rmatch, work):
    """`baselines.pfp.augment` on packed columns."""
    for d in range(depth, -1, -1):
        column = work.stack[d]
        before = work.columns[column, ROW]
        work.columns[column, ROW] = row
        rmatch[row] = column
        row = before


@njit(**JIT)
def _search(root, adj, rmatch, work, mark, forward):
    """`baselines.pfp.search` on packed columns; parameters and results are the same."""
    visited, lines, _, stack, edge_at = work
    step = 1 if forward else -1
    depth, column, entered = 0, np.int64(root), True
    edges: int | np.int64 = 0
    while True:
        end = lines[column, LAST]
        if entered:
            at = lines[column, LOOK]
            edges -= at
            while at < end:
                row = adj[at]
                at += 1
                if rmatch[row] < 0:
                    visited[row] = mark
                    stack[depth] = column
                    lines[column, LOOK] = at
                    _augment(row, depth, rmatch, work)
                    return 1, edges + at
            lines[column, LOOK] = end
            edges += end
            at = np.int64(lines[column, FIRST] if forward else end - 1)
        else:
            at = np.int64(edge_at[depth])
        stop = np.int64(end if forward else lines[column, FIRST] - 1)
        before = at
        entered = False
        while at != stop:
            row = adj[at]
            at += step
            if visited[row] != mark:
                visited[row] = mark
                stack[depth] = column
                edge_at[depth] = at
                depth += 1
                column = np.int64(rmatch[row])
                entered = True
                break
        edges += (at - before) * step
        if not entered:
            if depth == 0:
                return 0, edges
            depth -= 1
            column = np.int64(stack[depth])


@njit(**JIT)
def pfp_packed(cxadj, cadj, rmatch, cmatch, work, tally, limit):
    """Enlarge a matching to a maximum one; parameters and results as of `baselines.pfp.pfp`."""
    visited, lines, free, _, _ = work
    for column in range(cmatch.size):
        lines[column, FIRST] = lines[column, LOOK] = cxadj[column]
        lines[column, LAST] = cxadj[column + 1]
        lines[column, ROW] = cmatch[column]
    count = unmatched(cmatch, free)
    phase, paths, outcome = 0, 1, 0
    while paths > 0 and outcome == 0:  # Each turn but the last matches a column more.
        phase += 1
        tally[PHASES] += 1
        mark = mark_of(phase, visited)
        paths, kept = 0, 0
        for k in range(count):
            found, edges = _search(free[k], cadj, rmatch, work, mark, phase % 2 == 1)
            paths += found
            tally[EDGES] += edges
            if tally[EDGES] > limit:
                outcome = OVER
                break
            if found == 0:
                free[kept] = free[k]
                kept += 1
        tally[PATHS] += paths
        count = kept
    for column in range(cmatch.size):
        cmatch[column] = lines[column, ROW]
    return outcome
