"""The alternating tree variant's forward pass. Notation in `kernels.shared`.

**The grid searches.** A level reads the frontier's rows of the cost matrix, so all
multiprocessors work on it; one cooperative launch makes the whole pass, a grid barrier (some two
microseconds) between two levels, where the paper goes back to the host.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.reductions import FULL_WARP, warp_rank
from papers.datenagi2016.kernels.arguments import Forest, Limits, Lines, Matrix, Queue
from papers.datenagi2016.kernels.half_units import reduced_cost
from papers.datenagi2016.kernels.shared import (
    ACTIVE,
    INACTIVE,
    LEVELS,
    MAX_BLOCK,
    REVERSE,
    SIZES,
    TO_REVERSE,
    VISITED,
    send_signal,
)


@cuda.jit(device=True)
def append(flag, value, array, offset, sizes, index):
    """Append the values of a warp's flagged lanes to a list: ballot, one atomic, scatter.

    The compaction of [DN16 Fig.1(a)] with the prefix sum cut at warps: the order of the warps is
    whatever the atomics make it. Every lane of the warp calls it.
    """
    rank, total = warp_rank(flag)
    if total > 0:
        base = int32(0)
        if cuda.threadIdx.x & 31 == 0:
            base = cuda.atomic.add(sizes, index, total)
        base = cuda.shfl_sync(FULL_WARP, base, 0)
        if flag:
            array[offset + base + rank] = value


@cuda.jit(device=True)
def first_frontier(n, row_mark, frontier, flags):
    """Compress the active rows into F_in: the unassigned, or those a dual update woke up."""
    for start in range(0, n, cuda.gridsize(1)):
        i = start + cuda.grid(1)
        active = False
        if i < n:
            active = row_mark[i] == ACTIVE
        append(active, i, frontier, 0, flags, SIZES)
        if active:
            row_mark[i] = VISITED


@cuda.jit(device=True)
def least_of_rows(first, step, size, n, j, v, top, matrix, frontier, offset):
    """Smallest slack of column j over frontier rows ``first, first + step ...``, and its row.

    ``v`` is the column's dual, ``n`` the columns of the matrix.
    """
    cost, row_dual = matrix.cost, matrix.duals.row
    least, best = top, int32(-1)
    f = first
    while f + 3 * step < size:
        i_0, i_1 = frontier[offset + f], frontier[offset + f + step]
        i_2, i_3 = frontier[offset + f + 2 * step], frontier[offset + f + 3 * step]
        a, b, c, d = cost[i_0 * n + j], cost[i_1 * n + j], cost[i_2 * n + j], cost[i_3 * n + j]
        a, b = reduced_cost(a, row_dual[i_0], v), reduced_cost(b, row_dual[i_1], v)
        c, d = reduced_cost(c, row_dual[i_2], v), reduced_cost(d, row_dual[i_3], v)
        if a < least:
            least, best = a, i_0
        if b < least:
            least, best = b, i_1
        if c < least:
            least, best = c, i_2
        if d < least:
            least, best = d, i_3
        f += 4 * step
    while f < size:
        i = frontier[offset + f]
        a = reduced_cost(cost[i * n + j], row_dual[i], v)
        if a < least:
            least, best = a, i
        f += step
    return least, best


@cuda.jit(device=True)
def shares_of(size, groups, warps):
    """Return how many warps look at a group of 32 columns, each at its share of `size` rows."""
    split = 1
    while 2 * split <= warps and 2 * split * groups <= warps * cuda.gridDim.x and split < size:
        split *= 2
    return split


@cuda.jit(device=True)
def least_of_shares(share, split, least, best, shared_least, shared_best):
    """A column's least slack over the shares, for share 0. Every thread of the block calls it."""
    thread = cuda.threadIdx.x
    if split > 1:
        shared_least[thread], shared_best[thread] = least, best
        cuda.syncthreads()
        if share == 0:
            for other in range(1, split):
                value = shared_least[thread + 32 * other]
                if value < least:
                    least, best = value, shared_best[thread + 32 * other]
        cuda.syncthreads()
    return least, best


@cuda.jit(device=True)
def settle(
    j, uncovered, least, best, zero, column_assignment, forest, queue, frontier_reverse, flags
):
    """Lower column j's slack; if none is left, take the column into the tree.

    The second half of [DN16 Alg.4] for the 32 columns of a warp, and the contraction: the rows
    that become active are appended to the next F_in, the queue.
    """
    covers, predecessors, marks = forest.covers, forest.predecessors, forest.marks
    grows, ends = False, False
    i_new = int32(-1)
    if uncovered:
        left = forest.slack[j]
        if least < left:
            left = least
            forest.slack[j] = least
            predecessors.column[j] = best
        if left <= zero:
            i_new = column_assignment[j]
            if i_new != -1:
                grows = True
                predecessors.row[i_new] = j
                covers.row[i_new] = 0
                marks.row[i_new] = VISITED
                covers.column[j] = 1
            elif marks.column[j] == INACTIVE:
                ends = True
                marks.column[j] = TO_REVERSE
    append(grows, i_new, queue.rows, queue.offset, flags, queue.counter)
    append(ends, j, frontier_reverse, 0, flags, REVERSE)


@cuda.jit(max_registers=64)
def forward_pass(
    lines, limits, matrix, column_assignment, forest, frontier, frontier_reverse, flags, signal
):
    """Breadth-first search that keeps every column's least slack, from all active rows at once.

    Paper: [DN16 Alg.4] [DN16 sec.4.3.1], the tree variant.  The paper gives a column to a thread;
    here 32 columns go to `split` warps of a block, which share the frontier's rows between them
    and combine their minima in shared memory, so that wide and narrow frontiers fill the GPU.
    Launch: cooperative; blocks of a power of two of warps, as many as are resident at once at
    most. 64 registers a thread let two blocks of 512 share a multiprocessor.
    Ends: every level but the last covers a column for good, and each row is in one frontier.
    Reads/Writes: reads the frontier's rows of ``cost``, the duals, the assignments; slacks,
    predecessors, covers, marks, each by the one warp that holds the column; ``frontier`` holds
    F_in and the next F_in by turns, ``flags[SIZES ...]`` their sizes: one is read, one counted
    up, one cleared.
    Race: none on columns (one warp each), none on rows (a row is assigned to one column), so the
    trees are vertex-disjoint [DN16 Prop.1]. Barriers of the grid separate the levels.
    """
    grid = cuda.cg.this_grid()
    n, columns = lines.n, lines.columns
    shared_least = cuda.shared.array(MAX_BLOCK, matrix.cost.dtype)
    shared_best = cuda.shared.array(MAX_BLOCK, int32)
    thread, warps = cuda.threadIdx.x, cuda.blockDim.x >> 5
    lane, warp = thread & 31, thread >> 5
    leader = cuda.grid(1) == 0
    groups = (columns + 31) >> 5
    known = flags[REVERSE]  # 0, but for a pass that is launched after one that found a path
    reached = 0
    first_frontier(n, forest.marks.row, frontier, flags)
    grid.sync()
    for level in range(n + 1):  # every level but the last covers a column for good
        size = flags[SIZES + level % 3]
        if size == 0:
            break
        if leader:
            flags[SIZES + (level + 2) % 3] = 0
            reached += size if level > 0 else 0
        split = shares_of(size, groups, warps)
        here = warps // split  # groups of 32 columns that the block works on at a time
        for start in range(cuda.blockIdx.x * here, groups, cuda.gridDim.x * here):
            group = start + warp // split
            part = warp % split
            j = group * 32 + lane
            uncovered = False
            least, best = limits.top, int32(-1)
            if group < groups and j < columns and forest.covers.column[j] == 0:
                uncovered = True
                least, best = least_of_rows(
                    part, split, size, columns, j, matrix.duals.column[j], limits.top, matrix,
                    frontier, (level & 1) * n,
                )  # fmt: skip
            least, best = least_of_shares(part, split, least, best, shared_least, shared_best)
            if part == 0:
                settle(
                    j, uncovered, least, best, limits.zero, column_assignment, forest,
                    Queue(frontier, ((level + 1) & 1) * n, SIZES + (level + 1) % 3),
                    frontier_reverse, flags,
                )  # fmt: skip
        grid.sync()
    if leader:
        flags[LEVELS] += level
        for k in range(3):
            flags[SIZES + k] = 0
        send_signal(reached + flags[REVERSE] - known, flags, signal)


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    forward_pass: (
        Lines, Limits, Matrix, _LINES, Forest, _LINES, _LINES, _LINES, "int64[::1]",
    ),
}  # fmt: skip
"""The types that the kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`."""
