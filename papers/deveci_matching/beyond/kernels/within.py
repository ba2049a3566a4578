"""Levels that a block makes by itself: its columns stand in its shared memory, and nobody waits.

A level of the grid is a chain of loads, each of which waits for the one before, and a barrier.
Where a frontier is small, most of that is waiting. So each block goes on with the columns that its
own rows led to, level after level, until there are too many for it, or none, or one that is heavy,
or `TURNS` levels are done; what is left then is the next frontier of the grid, which the blocks
share anew. A tree may then be deeper in one block than in another, and a path longer than need be,
never wrong: a row is still claimed by an atomic, and a column expanded once, while its tree lives.
Where block 0 has the whole frontier alone, it goes on beyond `TURNS`, until a path is found, the
phase is to be cut, or a jump is due.

The arrays are in the table of `beyond.kernels`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed
from papers.common.gpu.reductions import FULL_WARP, block_scan, warp_rank, warp_sum
from papers.deveci_matching.beyond.kernels.arguments import Step
from papers.deveci_matching.beyond.kernels.control import EDGES, LIGHT, MORE_SEEN, MORE_WORK
from papers.deveci_matching.beyond.kernels.frontier import (
    ENDED,
    MAX_BLOCK,
    NOTHING,
    add_up,
    append_heavy,
    append_light,
    is_light,
    member_with,
    part_of,
    reach,
)

TURNS = 8
"""Levels that a block makes by itself at most while the others do the same."""

EDGES_OF_ALL = 2
"""Blocks go on by themselves from a frontier of at most so many edges a thread of the grid."""

EDGES_OF_ONE = 4
"""A block goes on while its own columns have at most so many edges a thread."""

COUNT, GROWN, GIVEN, FOUND_HERE, PLACE = range(5)
"""Words of a block's tally: columns in its list and their edges, columns that it has given to the
grid at once, paths; a place in the queue."""


@cuda.jit(device=True)
def put(found, first, degree, tree, light, columns, into, side, lists, tally, queues, control):
    """Put the lanes' light columns into the block's list; what has no room goes to the grid.

    Parameters
    ----------
    found, first, degree, tree : int32
        A lane's column, where its edges begin and how many they are, its tree.
    light : bool
        Whether the lane has such a column, and it is light.
    lists : array[4, MAX_BLOCK]
        Of each place: column, tree, first edge, degree.

    Returns
    -------
    bool
        Whether the lane's column is in the list.
    """
    width = int32(cuda.blockDim.x)
    rank, total = warp_rank(light)
    kept = False
    if total > 0:
        place = int32(0)
        if cuda.threadIdx.x & 31 == 0:
            place = cuda.atomic.add(tally, COUNT, total)
        place = int32(cuda.shfl_sync(FULL_WARP, place, 0) + rank)
        kept = light and place < width
        if kept:
            lists[0, place], lists[1, place] = found, tree
            lists[2, place], lists[3, place] = first, degree
        append_light(found, light and not kept, columns, into, side, queues, control)
    return kept


@cuda.jit(device=True)
def push_within(
    alone, room, front, most, turns, columns, now, graph, matching, trees, queues, control
):
    """Follow all edges of a frontier without heavy columns, and go on within each block.

    It is longer than most kernels' parts because a thread keeps a column from level to level.

    Parameters
    ----------
    alone : bool
        Whether this block has the whole frontier, or all blocks share it.
    room : Room
    front : Front
        No more columns than there are threads to share it: a thread begins with one at most.
    most : int64
        Edges that one block alone may follow beyond those of the frontier.
    turns : int
        Levels at most. One block alone counts each as a level, and stops at a path.

    Returns
    -------
    int32
        The levels that the block has made.
    """
    totals, offset, shift, member, tree_of = room
    lists = cuda.shared.array((4, MAX_BLOCK), int32)
    tally = cuda.shared.array(5, int32)
    thread, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    there, worker, workers = int32(1 - now.side), int32(0), int32(1)
    if not alone:
        worker, workers = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    column, tree, first, degree = int32(-1), int32(0), int32(0), int32(0)
    begin, end = part_of(front.light, worker, workers)
    if thread < end - begin:
        column = queues.frontier[int64(now.side) * columns + begin + thread]
        tree, first = trees.root[column], graph.cxadj[column]
        degree = int32(graph.cxadj[column + 1] - first)
    done, seen, work, over = int32(0), int32(0), int64(0), int32(0)
    for _ in range(turns):
        if column >= 0 and load_relaxed(trees.end_of_root, tree) >= 0:
            degree = int32(0)
        before, total = block_scan(degree, totals)
        offset[thread], shift[thread] = before, int32(first - before)
        member[thread], tree_of[thread] = column, tree
        if thread == 0:
            tally[COUNT], tally[GROWN], tally[GIVEN], tally[FOUND_HERE] = 0, 0, 0, 0
        cuda.syncthreads()
        level = now.level
        if alone:
            level = int32(level + done)
        step = Step(level, now.odd, now.into, now.side)
        grown, given, ended = int32(0), int32(0), int32(0)
        for start in range(0, total, width):
            edge, found, its, at = int32(start + thread), int32(NOTHING), int32(0), int32(0)
            k = int32(0)
            if thread < total - start:
                k = member_with(edge, offset)
                found, at, its = reach(
                    graph.cadj[int32(edge + shift[k])], member[k], tree_of[k], step, graph,
                    matching, trees, queues, control,
                )  # fmt: skip
            append_heavy(found, its, columns, now.into, there, queues, control)
            light = is_light(its, queues)
            kept = put(
                found, at, its, tree_of[k], light, columns, now.into, there, lists, tally, queues,
                control,
            )  # fmt: skip
            if kept:
                grown = int32(grown + its)
            elif its > 0:
                over, given = int32(over + its), int32(given + 1)
            if found == ENDED:
                ended = int32(ended + 1)
        grown, given, ended = warp_sum(grown), warp_sum(given), warp_sum(ended)
        if thread & 31 == 0:
            if grown > 0:
                cuda.atomic.add(tally, GROWN, grown)
            if given > 0:
                cuda.atomic.add(tally, GIVEN, given)
            if ended > 0:
                cuda.atomic.add(tally, FOUND_HERE, ended)
        cuda.syncthreads()
        count, edges, done = tally[COUNT], tally[GROWN], int32(done + 1)
        stops = count == 0 or tally[GIVEN] > 0 or edges > EDGES_OF_ONE * width or done == turns
        if stops or (alone and (tally[FOUND_HERE] > 0 or work + edges > most)):
            break
        column, degree = int32(-1), int32(0)
        if thread < count:
            column, tree, first, degree = (
                lists[0, thread], lists[1, thread], lists[2, thread], lists[3, thread],
            )  # fmt: skip
        seen, work = int32(seen + count), work + edges
    count = min(tally[COUNT], width)
    if thread == 0:
        if count > 0:
            tally[PLACE] = cuda.atomic.add(control, now.into + LIGHT, count)
            cuda.atomic.add(control, now.into + EDGES, tally[GROWN])
        if seen > 0:
            cuda.atomic.add(control, now.into + MORE_SEEN, seen)
            cuda.atomic.add(control, now.into + MORE_WORK, int32(work))
    cuda.syncthreads()
    if thread < count:
        queues.frontier[int64(there) * columns + tally[PLACE] + thread] = lists[0, thread]
    add_up(over, now.into + EDGES, control)
    cuda.syncthreads()
    return done
