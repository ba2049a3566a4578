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

NOTHING, REFUSED, ENDED = -1, -2, -3
"""Results of `join` that are no column of the next frontier: no row was taken; it was free, but the
tree had an end; it was free, and is the end."""

# ---------------------------------------------------------------------------------- joining


@cuda.jit(device=True)
def append(column, least, columns, into, side, graph, queues, control):
    """Append one column for each lane to the next frontier, -1 for none; whole warps call it.

    A column of fewer than `least` edges stays out: a matched column of a single edge leads nowhere.

    Returns
    -------
    int32
        The number of edges that the lane's column adds to the frontier.
    """
    degree = int32(0)
    if column >= 0:
        degree = int32(graph.cxadj[column + 1] - graph.cxadj[column])
    if degree < least:
        degree = int32(0)
    append_heavy(column, degree, columns, into, side, queues, control)
    append_light(column, is_light(degree, queues), columns, into, side, queues, control)
    return degree


@cuda.jit(device=True)
def is_light(degree, queues):
    """Tell whether a column has edges to follow, and so few that one block takes them."""
    return degree > 0 and (degree <= HEAVY_DEGREE or queues.spreads == 0)


@cuda.jit(device=True)
def append_light(column, light, columns, into, side, queues, control):
    """Append the lanes' light columns, by one atomic of the warp; whole warps call it."""
    rank, total = warp_rank(light)
    if total > 0:
        place = int32(0)
        if cuda.threadIdx.x & 31 == 0:
            place = cuda.atomic.add(control, into + LIGHT, total)
        place = cuda.shfl_sync(FULL_WARP, place, 0)
        if light:
            queues.frontier[int64(side) * columns + place + rank] = column


@cuda.jit(device=True)
def append_heavy(column, degree, columns, into, side, queues, control):
    """Append a column to the heavy ones, if it is one: they fill the queue from its other end."""
    if degree > 0 and not is_light(degree, queues):
        place = cuda.atomic.add(control, into + HEAVY, 1)
        queues.frontier[int64(side) * columns + columns - 1 - place] = column


@cuda.jit(device=True)
def add_up(value, at, control):
    """Add the lanes' values to a counter, with one atomic a warp; whole warps call it."""
    total = warp_sum(value)
    if cuda.threadIdx.x & 31 == 0 and total > 0:
        cuda.atomic.add(control, at, total)


@cuda.jit(device=True)
def join(row, other, tree, now, trees, queues, control):
    """Take a row, which only this thread may take, into a tree.

    A free row ends the tree's path, unless the tree has an end already: the atomic lets one win.

    Parameters
    ----------
    other : int32
        The row's column, or -1.

    Returns
    -------
    int32
        That column, which belongs to the next frontier; `ENDED` for a free row; `REFUSED` for a
        free row whose tree had an end.
    """
    if other < 0:
        if cuda.atomic.cas(trees.end_of_root, tree, -1, row) != -1:
            return int32(REFUSED)
        queues.ends[cuda.atomic.add(control, ENDS + now.odd, 1)] = tree
        cuda.atomic.add(control, now.into + FOUND, 1)
        return int32(ENDED)
    store_relaxed(trees.root, other, tree)
    store_relaxed(trees.level_of, other, int32(now.level + 1))
    return int32(other)


@cuda.jit(device=True)
def tree_to_join(column, grafting, level, trees):
    """Return the tree that a row may join through a column, or -1.

    The tree must still search, and the column must be of this level: of the frontier, or expanded
    within a block in the last step, and then without an unclaimed row. When grafting, any column of
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
def reach(row, column, tree, now, graph, matching, trees, queues, control):
    """Follow one edge of the frontier.

    Race: the atomic lets one of the columns that reach the row claim it. A free row whose tree has
    found an end meanwhile stays claimed for this phase: if it were given back, a search that passed
    it in between would have missed it and would still count as finished. `grafting.sort_rows` gives
    it back.

    Returns
    -------
    found : int32
        As from `join`, or `NOTHING`.
    first, degree : int32
        Where the edges of the column that was found begin, and how many they are; 0 if there is
        none, or none but the edge that it is matched along.
    """
    parent, cxadj = trees.parent, graph.cxadj
    # Both loads are issued before either is tested: a level is a chain of waits for them.
    claim, other = load_relaxed(parent, row), matching.rmatch[row]
    if claim != -1:
        return int32(NOTHING), int32(0), int32(0)
    one = max(other, int32(0))
    first, last = cxadj[one], cxadj[one + 1]
    if cuda.atomic.cas(parent, row, -1, column) != -1:
        return int32(NOTHING), int32(0), int32(0)
    found, degree = join(row, other, tree, now, trees, queues, control), int32(last - first)
    if found < 0 or degree < 2:
        degree = int32(0)
    return found, first, degree


@cuda.jit(device=True)
def part_of(light, worker, workers):
    """Return the first of a block's columns, and the one behind its last: no block has two more
    than another.
    """
    share = int32(light // workers)
    rest = int32(light - share * workers)
    first = int32(worker * share + min(worker, rest))
    return first, int32(first + share + (1 if worker < rest else 0))


@cuda.jit(device=True)
def member_with(edge, offset):
    """Return which of the block's columns an edge is of, by bisection of the sums of degrees."""
    low, high = int32(0), int32(cuda.blockDim.x)
    while high - low > 1:
        middle = int32((low + high) >> 1)
        if offset[middle] <= edge:
            low = middle
        else:
            high = middle
    return low


@cuda.jit(device=True)
def push(room, front, columns, now, graph, matching, trees, queues, control):
    """Follow all edges of the frontier; a block shares them evenly, all blocks the heavy columns.

    A block takes its part of the columns, at most as many at a time as it has threads, and adds
    their degrees up; thread t then follows the edges t, t + width ... of these columns.
    """
    totals, offset, shift, member, tree_of = room
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    worker, workers = cuda.blockIdx.x, cuda.gridDim.x
    cxadj, cadj, root, queue = graph.cxadj, graph.cadj, trees.root, queues.frontier
    here, there = int64(now.side) * columns, int32(1 - now.side)
    begin, end = part_of(front.light, int32(worker), int32(workers))
    grown = int32(0)
    for base in range(int64(begin), end, width):
        column, tree, first, degree = int32(-1), int32(0), int32(0), int32(0)
        if base + thread < end:
            column = queue[here + base + thread]
            tree, first, last = root[column], cxadj[column], cxadj[column + 1]
            if load_relaxed(trees.end_of_root, tree) < 0:
                degree = int32(last - first)
        before, total = block_scan(degree, totals)
        offset[thread], shift[thread] = before, int32(first - before)
        member[thread], tree_of[thread] = column, tree
        cuda.syncthreads()
        for start in range(0, total, width):
            edge, found, degree = int32(start + thread), int32(NOTHING), int32(0)
            if thread < total - start:
                k = member_with(edge, offset)
                found, _, degree = reach(
                    cadj[int32(edge + shift[k])], member[k], tree_of[k], now, graph, matching,
                    trees, queues, control,
                )  # fmt: skip
            append_heavy(found, degree, columns, now.into, there, queues, control)
            light = is_light(degree, queues)
            append_light(found, light, columns, now.into, there, queues, control)
            grown = int32(grown + degree)
        cuda.syncthreads()
    for k in range(front.heavy):
        owner = queue[here + columns - 1 - k]
        tree, last = root[owner], cxadj[owner + 1]
        for start in range(int64(cxadj[owner]) + worker * width, last, workers * width):
            found, degree = int32(NOTHING), int32(0)
            if start + thread < last and load_relaxed(trees.end_of_root, tree) < 0:
                found, _, degree = reach(
                    cadj[start + thread], owner, tree, now, graph, matching, trees, queues, control
                )
            append_heavy(found, degree, columns, now.into, there, queues, control)
            light = is_light(degree, queues)
            append_light(found, light, columns, now.into, there, queues, control)
            grown = int32(grown + degree)
    add_up(grown, now.into + EDGES, control)
