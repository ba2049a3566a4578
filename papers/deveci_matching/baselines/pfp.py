"""PFP: Pothen and Fan's algorithm, depth first, with lookahead and fairness.

One of the two sequential rivals of [D13 sec.4], from its reference 8. A phase searches once from
every free column, depth first, and augments at once where it finds a free row. Within a phase no
row is visited twice, so a phase costs no more than two looks at every edge.

Lookahead: before a search goes deeper from a column it looks for a free row among the neighbours.
Matched rows stay matched, so each column resumes its lookahead where it left off: over the whole
run it looks ahead along each edge once.

Fairness: every other phase tries the neighbours in the opposite order, so that not all searches go
down the same few rows.

All functions may be given the two sides of the graph swapped: they search from rows then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

# Places of the counts in the codes' `tally`, int64[TALLY].
PATHS, EDGES, PHASES, LEVELS = range(4)
TALLY = 4

OVER = -1
"""A code returns it after it has looked at more edges than it may."""

STUCK = -2
"""A code returns it if it finds no path where there must be one: never, if the code is right."""

MARKS = 255


class Work(NamedTuple):
    """The memory of the searches from columns."""

    visited: np.ndarray  # uint8[rows]: the mark of the phase that last visited the row, or 0
    look: np.ndarray  # int32[columns]: the edge where each lookahead resumes
    free: np.ndarray  # int32[columns]: free columns
    stack: np.ndarray  # int32[columns + 1]: the path, from the root on
    edge_at: np.ndarray  # int32[columns + 1]: the edge that each column of the path tries next


def allocate(rows: int, columns: int) -> Work:
    """Allocate for a graph of these sizes; `prepare` fills."""
    numbers = np.empty((4, columns + 1), np.int32)
    return Work(np.empty(rows, np.uint8), numbers[0, :-1], numbers[1, :-1], numbers[2], numbers[3])


@njit(**JIT)
def augment(row, depth, stack, cmatch, rmatch):
    """Match `row` with the column on top of the stack, whose row goes to the one below, and so on.

    ``stack[d + 1]`` was entered through the row matched to it, a neighbour of ``stack[d]``.
    """
    for d in range(depth, -1, -1):
        column = stack[d]
        before = cmatch[column]
        cmatch[column] = row
        rmatch[row] = column
        row = before


@njit(**JIT)
def search(root, xadj, adj, rmatch, cmatch, work, mark, forward):
    """Look for a free row from the free column `root`, depth first, and augment along the path.

    It is a loop over a stack, not a recursion, because paths may be as long as the graph.

    Parameters
    ----------
    root : int
    xadj, adj : int32[columns + 1], int32[edges]
    rmatch, cmatch : int32[rows], int32[columns]
    work : Work
        Rows that bear the mark of this phase are not visited again. A mark is one byte, so that
        all marks stay in a near cache: every look at an edge reads one.
    mark : uint8
    forward : bool
        Whether neighbours are tried from first to last.

    Returns
    -------
    paths, edges : int
        1 for an augmenting path, else 0; edges looked at.
    """
    visited, look, _, stack, edge_at = work
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
                if rmatch[row] < 0:
                    visited[row] = mark
                    stack[depth] = column
                    look[column] = at
                    augment(row, depth, stack, cmatch, rmatch)
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
            if visited[row] != mark:
                visited[row] = mark
                stack[depth] = column
                edge_at[depth] = at
                depth += 1
                column = rmatch[row]
                entered = True
                break
        edges += (at - before) * step
        if not entered:
            if depth == 0:
                return 0, edges
            depth -= 1
            column = stack[depth]


@njit(**JIT)
def mark_of(phase, visited):
    """Return the mark of a phase, 1 to 255 over and over; before they come again, clear `visited`.

    Parameters
    ----------
    phase : int
        From 1 on.
    visited : uint8[any]
    """
    mark = (phase - 1) % MARKS + 1
    if mark == 1:
        visited[:] = 0
    return np.uint8(mark)


@njit(**JIT)
def unmatched(match, into):
    """List the vertices without a partner in `into`, in increasing order; return their number."""
    count = 0
    for vertex in range(match.size):
        if match[vertex] < 0:
            into[count] = vertex
            count += 1
    return count


@njit(**JIT)
def still_unmatched(match, free, count):
    """Keep those of the first `count` in `free` that have no partner; return their number."""
    kept = 0
    for k in range(count):
        if match[free[k]] < 0:
            free[kept] = free[k]
            kept += 1
    return kept


@njit(**JIT)
def prepare(xadj, cmatch, work):
    """Reset the lookahead and list the free columns; return their number."""
    for column in range(cmatch.size):
        work.look[column] = xadj[column]
    return unmatched(cmatch, work.free)


@njit(**JIT)
def search_all(xadj, adj, rmatch, cmatch, work, count, phase, tally, limit):
    """Run one phase, from the first `count` columns of ``work.free``.

    Returns
    -------
    int
        Paths found, or `OVER`.
    """
    mark = mark_of(phase, work.visited)
    forward = phase % 2 == 1
    paths = 0
    for k in range(count):
        found, edges = search(work.free[k], xadj, adj, rmatch, cmatch, work, mark, forward)
        paths += found
        tally[EDGES] += edges
        if tally[EDGES] > limit:
            return OVER
    tally[PATHS] += paths
    return paths


@njit(**JIT)
def pfp(cxadj, cadj, rmatch, cmatch, work, tally, limit):
    """Enlarge a matching to a maximum one [D13 sec.4].

    The last phase finds no path. In it the matching did not change, every neighbour of a free
    column or of a visited row's column was visited, and none was free: by Berge's theorem
    [D13 sec.2] the matching is maximum.

    Parameters
    ----------
    cxadj, cadj : int32[columns + 1], int32[edges]
    rmatch, cmatch : int32[rows], int32[columns]
        The matching to start from; the maximum one upon return.
    work : Work
    tally : int64[TALLY]
        Counts, added to.
    limit : int
        Edges that may be looked at.

    Returns
    -------
    int
        0, or `OVER`.
    """
    count = prepare(cxadj, cmatch, work)
    phase = 0
    paths = 1
    while paths > 0:  # Each turn but the last matches a column more.
        phase += 1
        tally[PHASES] += 1
        paths = search_all(cxadj, cadj, rmatch, cmatch, work, count, phase, tally, limit)
        count = still_unmatched(cmatch, work.free, count)
    return paths
