"""The levels of a phase: expanded from columns, from rows, or by blocks on their own.

The arrays are in the table of `beyond.kernels`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed
from papers.common.gpu.reductions import FULL_WARP
from papers.deveci_matching.beyond.kernels.arguments import Front, Room, Step
from papers.deveci_matching.beyond.kernels.control import (
    EDGES,
    FOUND,
    HEAVY,
    LEVEL,
    LEVELS,
    LIGHT,
    LONE,
    MARK,
    MORE_SEEN,
    MORE_WORK,
    PULLED,
    SEEN,
    SIDE,
    SLOT,
    STATUS,
    TOO_MANY_LEVELS,
    WITHIN,
    WORK,
    clear,
    hand_over,
    meet,
)
from papers.deveci_matching.beyond.kernels.frontier import (
    MAX_BLOCK,
    NOTHING,
    REFUSED,
    add_up,
    append,
    join,
    push,
    tree_to_join,
)
from papers.deveci_matching.beyond.kernels.jumping import jump
from papers.deveci_matching.beyond.kernels.within import EDGES_OF_ALL, TURNS, push_within

CUT_SHARE, CUT_WORK = 4, 1
"""A phase is cut short once a `CUT_SHARE`-th of its trees has a path, and the edges since the last
one are more than `CUT_WORK` times those before."""

NEVER = 2**62
"""A number of edges that no phase reaches."""

LONE_EDGES = 4
"""Block 0 expands a frontier alone if it has at most this many edges a thread."""

# ---------------------------------------------------------------------------------- pull


@cuda.jit(device=True)
def pull(grafting, count, columns, now, graph, matching, trees, queues, control):
    """Let unclaimed rows look for a column to join: a thread each, or a warp each if they are long.

    Only the thread or warp that a row belongs to writes the row's claim, so no atomic is needed. A
    row of a million edges is the work of one warp, while such a column is shared by all blocks: the
    row stops at the first column that fits.

    Parameters
    ----------
    grafting : bool
        If true, the rows are the first `count` of ``queues.renewable``, and they may join any tree
        through any of its columns. If false, all rows look, and only columns of the frontier count.
    """
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    lane, there = thread & 31, int32(1 - now.side)
    chunk = int32(int32(thread >> 5) * cuda.gridDim.x + cuda.blockIdx.x)
    rxadj, parent = graph.rxadj, trees.parent
    grown = int32(0)
    for base in range(int64(chunk) << 5, count, cuda.gridDim.x * width):
        row, first, last = int32(-1), int32(0), int32(0)
        if base + lane < count:
            row = queues.renewable[base + lane] if grafting else int32(base + lane)
            if parent[row] == -1:
                first, last = rxadj[row], rxadj[row + 1]
        found = int32(NOTHING)
        if last - first <= 32:
            for edge in range(first, last):
                column = graph.radj[edge]
                tree = tree_to_join(column, grafting, now.level, trees)
                if tree >= 0:
                    found = join(row, matching.rmatch[row], tree, now, trees, queues, control)
                    if found != REFUSED:
                        parent[row] = column
                        break
        crowd = int64(cuda.ballot_sync(FULL_WARP, last - first > 32)) & FULL_WARP
        while crowd != 0:
            source = cuda.ffs(crowd) - 1
            crowd &= crowd - 1
            its_found = pull_by_warp(
                grafting, cuda.shfl_sync(FULL_WARP, row, source),
                cuda.shfl_sync(FULL_WARP, first, source), cuda.shfl_sync(FULL_WARP, last, source),
                now, graph, matching, trees, queues, control,
            )  # fmt: skip
            if lane == source:
                found = its_found
        grown = int32(grown + append(found, 2, columns, now.into, there, graph, queues, control))
    add_up(grown, now.into + EDGES, control)


@cuda.jit(device=True)
def pull_by_warp(grafting, row, first, last, now, graph, matching, trees, queues, control):
    """Pull one long row, 32 of its columns at a time; every lane gets the result of `join`."""
    lane = cuda.threadIdx.x & 31
    found = int32(REFUSED)
    for start in range(int64(first), last, 32):  # 64 bits: the last turn may end past 2**31
        if found != REFUSED:
            break
        tree, column = int32(-1), int32(-1)
        if start + lane < last:
            column = graph.radj[start + lane]
            tree = tree_to_join(column, grafting, now.level, trees)
        votes = int64(cuda.ballot_sync(FULL_WARP, tree >= 0)) & FULL_WARP
        while votes != 0 and found == REFUSED:
            leader = cuda.ffs(votes) - 1
            votes &= votes - 1
            if lane == leader:
                found = join(row, matching.rmatch[row], tree, now, trees, queues, control)
                if found != REFUSED:
                    trees.parent[row] = column
            found = cuda.shfl_sync(FULL_WARP, found, leader)
    return found


# ---------------------------------------------------------------------------------- levels


@cuda.jit(device=True)
def is_small(light, heavy, edges, threads, a_thread):
    """Tell whether so many threads are enough: no column is heavy, and a thread has a column at
    most, and `a_thread` edges at most in the mean.
    """
    return heavy == 0 and light <= threads and edges <= int64(a_thread) * threads


@cuda.jit(device=True)
def levels(step, living, odd, wait, ways, sizes, graph, matching, trees, queues, control):
    """Expand the frontier until it is empty, or until the rest is not worth its edges.

    It is one long loop, since every choice of a step reads the same counts.

    Every step of the grid reads slot ``step % 3``, counts in the next slot and clears the one after
    that, which all blocks have read before the last barrier. `living` is the number of trees that
    search, or 0 if the columns of the frontier are their roots. After `wait` levels the phase
    jumps, and then again after twice as many: see `jumping`. In a step that has jumped, all blocks
    expand the frontier by one level. What blocks do within a level counts as that one.

    Returns
    -------
    (int32, int32, bool, int32)
        The number of the step after the last; the number of trees that searched; whether the phase
        was cut short; its jumps.
    """
    first = cuda.grid(1) == 0
    rows, columns = sizes
    room = Room(
        cuda.shared.array(32, int32), cuda.shared.array(MAX_BLOCK, int32),
        cuda.shared.array(MAX_BLOCK, int32), cuda.shared.array(MAX_BLOCK, int32),
        cuda.shared.array(MAX_BLOCK, int32),
    )  # fmt: skip
    found, jumps, grown = int32(0), int32(0), int32(0)
    due = int64(load_relaxed(control, SLOT * (step % 3) + LEVEL)) + wait
    for _ in range(columns + 2):
        slot, into = SLOT * (step % 3), SLOT * ((step + 1) % 3)
        light, heavy = load_relaxed(control, slot + LIGHT), load_relaxed(control, slot + HEAVY)
        edges, level = load_relaxed(control, slot + EDGES), load_relaxed(control, slot + LEVEL)
        side = load_relaxed(control, slot + SIDE)
        seen = int32(load_relaxed(control, slot + SEEN) + load_relaxed(control, slot + MORE_SEEN))
        work = int32(load_relaxed(control, slot + WORK) + load_relaxed(control, slot + MORE_WORK))
        seen, mark = int32(seen + light + heavy), load_relaxed(control, slot + MARK)
        news = load_relaxed(control, slot + FOUND)
        if living == 0:
            living = int32(light + heavy)
        if light + heavy == 0:
            return step, living, False, jumps
        if news > 0:
            found, mark = int32(found + news), work
        most = int64(NEVER)
        if ways.cuts != 0 and int64(found) * CUT_SHARE >= living:
            most = int64(mark) * (1 + CUT_WORK)
            if int64(work) + edges > most:
                return step, living, True, jumps
        if first:
            clear(SLOT * ((step + 2) % 3), control)
        front, now = Front(light, heavy, edges), Step(level, odd, into, side)
        jumps_now = level >= due
        if jumps_now:
            grown = jump(jumps, sizes, now, graph, matching, trees, queues, control)
            add_up(grown, into + EDGES, control)
            jumps = int32(jumps + 1)
            due = int64(level) + (int64(wait) << min(jumps, 31))
            meet(control)
        alone = not jumps_now and ways.lone != 0
        alone = alone and is_small(light, heavy, edges, cuda.blockDim.x, LONE_EDGES)
        pulls = not alone and ways.pulls != 0 and edges > rows >> 3
        pulls = pulls and edges > int64(ways.pulls) * (rows - seen)
        within = not (alone or pulls or jumps_now) and ways.within != 0
        within = within and is_small(light, heavy, edges, cuda.gridsize(1), EDGES_OF_ALL)
        done = int32(1)
        if within or (alone and cuda.blockIdx.x == 0):
            turns = min(due - level, int64(columns) + 1) if alone else int64(TURNS)
            done = push_within(
                alone, room, front, most - work - edges, turns, columns, now, graph, matching,
                trees, queues, control,
            )  # fmt: skip
        elif pulls:
            pull(False, rows, columns, now, graph, matching, trees, queues, control)
        elif not alone:
            push(room, front, columns, now, graph, matching, trees, queues, control)
        if first:
            passed = done if alone else int32(1)
            hand_over(
                into, int32(level + passed), int32(1 - side), seen, int32(work + edges), mark,
                control,
            )  # fmt: skip
            control[LEVELS] += passed
            if alone:
                control[LONE] += done
            elif within:
                control[WITHIN] += int32(done - 1)
            elif pulls:
                control[PULLED] += 1
        meet(control)
        step = int32(step + 1)
    if first:
        control[STATUS] = TOO_MANY_LEVELS
    return step, living, False, jumps
