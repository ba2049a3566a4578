"""Long paths by doubling: rows join a tree many at a time, and long paths are applied at once.

A search of few columns a level pays a wait for memory a level, and often a barrier, and a path of a
hundred thousand rows has as many levels. When a phase has waited for `jump_after` levels, of which
those that blocks make by themselves count as one, it jumps:

1. `choose`: every unclaimed row chooses one column to come from, and so the row matched to it.
2. `hop`: every row asks its chosen row where that one leads, and goes on from there. After round k
   a row knows its 2**k-th chosen row at least, or that a living tree lies before it.
3. `attach`: all rows that lead to a living tree join it at once, each by the column it has chosen.

Chosen rows make a forest that hangs on the living trees, besides cycles and trees that have found
their end, which stay out: so every row that joins has one parent, which is in the same tree, and
trees stay disjoint. Their columns are the next frontier, which is expanded as any other. A jump
makes a path longer than need be, never wrong. The wait doubles after each jump of a phase, so that
jumps cost no more than the levels before them.

`augment_marked` applies paths as long as that: an end marks its way to the root by doubling as
well. The arrays are in the table of `beyond.kernels`; ``renewable`` has no rows to graft while a
phase searches, and holds the chosen columns, and afterwards the marks.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.deveci_matching.beyond.kernels.control import (
    JUMPS,
    ROUND_OF,
    ROUNDS,
    clear_rounds,
    meet,
)
from papers.deveci_matching.beyond.kernels.frontier import (
    NOTHING,
    add_up,
    append,
    join,
    tree_to_join,
)

LOST, IN_TREE = -1, -2
"""Words of ``hops``: no row to go on from; from here down, ``IN_TREE - root``."""

LOOKS = 8
"""Columns that a row looks at before it chooses."""


@cuda.jit(device=True)
def choose(turn, rows, level, graph, matching, trees, queues):
    """Let every unclaimed row choose a column: one of a living tree, else any with a row to go to.

    `turn` numbers the jumps of a phase: each begins to look at another column of the row.
    No thread writes what another reads here: trees do not grow, and none finds its end.
    """
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        ahead, chosen = int32(LOST), int32(-1)
        if trees.parent[row] == -1:
            first, mate = graph.rxadj[row], matching.rmatch[row]
            degree = int32(graph.rxadj[row + 1] - first)
            for look in range(min(degree, LOOKS)):
                column = graph.radj[first + int32(turn + look) % degree]
                if column != mate:
                    tree = tree_to_join(column, True, level, trees)
                    if tree >= 0:
                        ahead, chosen = int32(IN_TREE - tree), column
                        break
                    before = matching.cmatch[column]
                    if chosen < 0 and before >= 0 and trees.parent[before] == -1:
                        ahead, chosen = before, column
        queues.hops[row] = ahead
        queues.renewable[row] = chosen


@cuda.jit(device=True)
def hop(rows, into, queues, control):
    """Let every row go on from where its row ahead leads; count those that reach a tree.

    Race: the row ahead may have gone on just now or not. Either word names a row further on the
    same way, or its end, and at least twice as far as before the last barrier.
    """
    hops, arrived = queues.hops, int32(0)
    for base in range(cuda.blockIdx.x * cuda.blockDim.x, rows, cuda.gridsize(1)):
        row = int32(base + cuda.threadIdx.x)
        if row < rows:
            ahead = load_relaxed(hops, row)
            if ahead >= 0:
                further = load_relaxed(hops, ahead)
                store_relaxed(hops, row, further)
                if further <= IN_TREE:
                    arrived = int32(arrived + 1)
    add_up(arrived, into, control)


@cuda.jit(device=True)
def attach(rows, columns, now, graph, matching, trees, queues, control):
    """Let all rows that lead to a living tree join it; their columns are of the next frontier."""
    there, grown = int32(1 - now.side), int32(0)
    for base in range(cuda.blockIdx.x * cuda.blockDim.x, rows, cuda.gridsize(1)):
        row, found = int32(base + cuda.threadIdx.x), int32(NOTHING)
        if row < rows and queues.hops[row] <= IN_TREE:
            # A row joins even if its tree has an end by now: others may hang on it.
            trees.parent[row] = queues.renewable[row]
            tree = int32(IN_TREE - queues.hops[row])
            found = join(row, matching.rmatch[row], tree, now, trees, queues, control)
        grown = int32(grown + append(found, 2, columns, now.into, there, graph, queues, control))
    return grown


@cuda.jit(device=True)
def jump(turn, sizes, now, graph, matching, trees, queues, control):
    """Let rows join living trees over any number of levels; return the edges of their columns.

    A round in which no row arrives is the last. For take a row that leads to a tree and has not
    arrived, the nearest to it: all rows before it have, so it arrives in this round. Hence there
    are no more rounds than rows, and doubling makes them as few as the logarithm of the longest
    way.
    """
    rows, columns = sizes
    if cuda.grid(1) == 0:
        clear_rounds(control)
        control[JUMPS] += 1
    choose(turn, rows, now.level, graph, matching, trees, queues)
    meet(control)
    for k in range(rows + 1):
        into = ROUND_OF + k % 3
        if cuda.grid(1) == 0:
            control[ROUND_OF + (k + 1) % 3] = 0
            control[ROUNDS] += 1
        hop(rows, into, queues, control)
        meet(control)
        if load_relaxed(control, into) == 0:
            break
    return attach(rows, columns, now, graph, matching, trees, queues, control)


# ------------------------------------------------------------------------------- long paths


@cuda.jit(device=True)
def begin_marks(rows, matching, trees, queues):
    """Mark the ends of the paths, and let every row of a finished tree point at the row before."""
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        ahead, mark = int32(LOST), int32(0)
        column = trees.parent[row]
        if column >= 0:
            end = trees.end_of_root[trees.root[column]]
            if end >= 0:
                ahead = matching.cmatch[column]  # -1 for a root
                if end == row:
                    mark = int32(1)
        queues.hops[row] = ahead
        queues.renewable[row] = mark


@cuda.jit(device=True)
def mark_on(rows, side, into, queues, control):
    """Mark the row that each marked row points at, and double the way of all pointers.

    Pointers go from one half of ``hops`` to the other, because each must be 2**k rows long in
    round k, no more.
    Race: a mark that is set in this round may be passed on in it or not; it marks a row of the same
    path either way.
    """
    hops, marks, passed = queues.hops, queues.renewable, int32(0)
    here, there = int64(side) * rows, int64(1 - side) * rows
    for base in range(cuda.blockIdx.x * cuda.blockDim.x, rows, cuda.gridsize(1)):
        row = int32(base + cuda.threadIdx.x)
        if row < rows:
            ahead = hops[here + row]
            further = int32(LOST)
            if ahead >= 0:
                further = hops[here + ahead]
                if load_relaxed(marks, row) == 1:
                    store_relaxed(marks, ahead, int32(1))
                    passed = int32(passed + 1)
            hops[there + row] = further
    add_up(passed, into, control)


@cuda.jit(device=True)
def augment_marked(rows, matching, trees, queues, control):
    """Apply all paths of this phase, a thread a row: mark the paths' rows, then flip them.

    After round k the 2**(k + 1) rows nearest to an end are marked. A round in which no mark is
    passed on is the last: no end has a row 2**k before it.
    """
    if cuda.grid(1) == 0:
        clear_rounds(control)
    begin_marks(rows, matching, trees, queues)
    meet(control)
    for k in range(32):  # a path has fewer than 2**31 rows
        into = ROUND_OF + k % 3
        if cuda.grid(1) == 0:
            control[ROUND_OF + (k + 1) % 3] = 0
            control[ROUNDS] += 1
        mark_on(rows, int32(k & 1), into, queues, control)
        meet(control)
        if load_relaxed(control, into) == 0:
            break
    for row in range(cuda.grid(1), rows, cuda.gridsize(1)):
        if queues.renewable[row] == 1:
            column = trees.parent[row]
            matching.cmatch[column] = row
            matching.rmatch[row] = column
