"""Queues of columns, claims of rows, and the search from columns to rows.

The arrays are in the table of `beyond.kernels`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.common.gpu.reductions import FULL_WARP, block_scan, warp_rank, warp_sum
from papers.deveci_matching.beyond.kernels.control import EDGES, ENDS, FOUND, HEAVY, LIGHT

MAX_BLOCK = 1024
HEAVY_DEGREE = 2048
"""Columns of more edges than this are shared by all blocks."""

NOTHING, REFUSED = -1, -2
"""Results of `join` that are no column of the next frontier."""

# ---------------------------------------------------------------------------------- joining


@cuda.jit(device=True)
def append(column, least, columns, into, side, graph, queues, control):
    """Append one column for each lane to the next frontier, -1 for none; whole warps call it.

    A warp makes one atomic for all its light columns; the few heavy ones fill the queue from its
    other end. A column of fewer than `least` edges stays out: a matched column of a single edge
    leads nowhere.

    Returns
    -------
    int32
        The number of edges that the lane's column adds to the frontier.
    """
    queue, degree = queues.frontier, int32(0)
    if column >= 0:
        degree = int32(graph.cxadj[column + 1] - graph.cxadj[column])
    if degree < least:
        degree = int32(0)
    heavy = degree > HEAVY_DEGREE and queues.spreads != 0
    light = degree > 0 and not heavy
    rank, total = warp_rank(light)
    if total > 0:
        place = int32(0)
        if cuda.threadIdx.x & 31 == 0:
            place = cuda.atomic.add(control, into + LIGHT, total)
        place = cuda.shfl_sync(FULL_WARP, place, 0)
        if light:
            queue[int64(side) * columns + place + rank] = column
    if heavy:
        place = cuda.atomic.add(control, into + HEAVY, 1)
        queue[int64(side) * columns + columns - 1 - place] = column
    return degree


@cuda.jit(device=True)
def add_up(value, at, control):
    """Add the lanes' values to a counter, with one atomic a warp; whole warps call it."""
    total = warp_sum(value)
    if cuda.threadIdx.x & 31 == 0 and total > 0:
        cuda.atomic.add(control, at, total)


@cuda.jit(device=True)
def join(row, tree, now, matching, trees, queues, control):
    """Take a row, which only this thread may take, into a tree.

    A free row ends the tree's path, unless the tree has an end already: the atomic lets one win.

    Returns
    -------
    int32
        The row's column, which belongs to the next frontier; `NOTHING` for a free row; `REFUSED`
        for a free row whose tree had an end.
    """
    other = matching.rmatch[row]
    if other < 0:
        if cuda.atomic.cas(trees.end_of_root, tree, -1, row) != -1:
            return int32(REFUSED)
        queues.ends[cuda.atomic.add(control, ENDS + now.odd, 1)] = tree
        cuda.atomic.add(control, now.into + FOUND, 1)
        return int32(NOTHING)
    store_relaxed(trees.root, other, tree)
    store_relaxed(trees.level_of, other, int32(now.level + 1))
    return int32(other)


@cuda.jit(device=True)
def tree_to_join(column, grafting, level, trees):
    """Return the tree that a row may join through a column, or -1.

    The tree must still search, and the column must be of the frontier; when grafting, any column of
    the tree will do.
    Race: another thread may bring the column into a tree just now; its root is read once. A column
    that joins has a level above this one, and when grafting it is as good as any other of its tree.
    """
    if not grafting and load_relaxed(trees.level_of, column) != level:
        return int32(-1)
    tree = int32(load_relaxed(trees.root, column))
    if tree >= 0 and load_relaxed(trees.end_of_root, tree) >= 0:
        return int32(-1)
    return tree


# ---------------------------------------------------------------------------------- push


@cuda.jit(device=True)
def reach(row, column, tree, now, matching, trees, queues, control):
    """Follow one edge of the frontier; return the column of the next frontier, or a value below 0.

    Race: the atomic lets one of the columns that reach the row claim it. A free row whose tree has
    found an end meanwhile stays claimed for this phase: if it were given back, a search that passed
    it in between would have missed it and would still count as finished. `grafting.sort_rows` gives
    it back.
    """
    parent = trees.parent
    if load_relaxed(parent, row) != -1 or cuda.atomic.cas(parent, row, -1, column) != -1:
        return int32(NOTHING)
    return join(row, tree, now, matching, trees, queues, control)


@cuda.jit(device=True)
def push(worker, workers, front, columns, now, graph, matching, trees, queues, control):
    """Follow all edges of the frontier; a block shares them evenly, all blocks the heavy columns.

    A block takes as many columns as it has threads and adds their degrees up; thread t then follows
    the edges t, t + width ... of these columns, and finds the column of each edge by bisection.
    """
    totals = cuda.shared.array(32, int32)
    offset = cuda.shared.array(MAX_BLOCK, int32)
    member = cuda.shared.array(MAX_BLOCK, int32)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    cxadj, cadj, root, queue = graph.cxadj, graph.cadj, trees.root, queues.frontier
    here, there = int64(now.side) * columns, int32(1 - now.side)
    grown = int32(0)
    for base in range(worker * width, front.light, workers * width):
        column, degree = int32(-1), int32(0)
        if base + thread < front.light:
            column = queue[here + base + thread]
            if load_relaxed(trees.end_of_root, root[column]) < 0:
                degree = int32(cxadj[column + 1] - cxadj[column])
        before, total = block_scan(degree, totals)
        offset[thread] = before
        member[thread] = column
        cuda.syncthreads()
        for start in range(0, total, width):
            edge, found = int32(start + thread), int32(NOTHING)
            if edge < total:
                low, high = int32(0), int32(width)
                while high - low > 1:
                    middle = int32((low + high) >> 1)
                    if offset[middle] <= edge:
                        low = middle
                    else:
                        high = middle
                owner = member[low]
                found = reach(
                    cadj[cxadj[owner] + int32(edge - offset[low])], owner, root[owner], now,
                    matching, trees, queues, control,
                )  # fmt: skip
            grown = int32(
                grown + append(found, 2, columns, now.into, there, graph, queues, control)
            )
        cuda.syncthreads()
    for k in range(front.heavy):
        owner = queue[here + columns - 1 - k]
        tree, last = root[owner], cxadj[owner + 1]
        for start in range(int64(cxadj[owner]) + worker * width, last, workers * width):
            found = int32(NOTHING)
            if start + thread < last and load_relaxed(trees.end_of_root, tree) < 0:
                found = reach(
                    cadj[start + thread], owner, tree, now, matching, trees, queues, control
                )
            grown = int32(
                grown + append(found, 2, columns, now.into, there, graph, queues, control)
            )
    add_up(grown, now.into + EDGES, control)
