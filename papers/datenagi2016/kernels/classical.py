"""The classical variant's own kernels: matrix compression, forward pass, stage 1 of the update.

Notation in `kernels.shared`. The zero-slack edges are compressed as in [DN16 Fig.1(b)]: a
predicate, a prefix sum over the rows' counts (`papers.common.gpu.kernels_scan`), a scatter.

**One block searches.** The graph of zero-slack edges is small (a handful of edges a row), and a
level of the search is a chain of a few dependent loads. One block passes from level to level by
its own barrier, a tenth of a microsecond, where the paper goes back to the host.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.reductions import FULL_WARP, block_scan, warp_min, warp_rank
from papers.datenagi2016.kernels.arguments import (
    Covers,
    Edges,
    Frontiers,
    Marks,
    Matrix,
    Predecessors,
    Shape,
)
from papers.datenagi2016.kernels.half_units import no_slack, reduced_cost
from papers.datenagi2016.kernels.shared import (
    ACTIVE,
    LEVELS,
    REVERSE,
    TO_REVERSE,
    VISITED,
    send_signal,
)

# ---------------------------------------------------------------------------------- compression


@cuda.jit(device=True)
def stage_edges(found, j, row, kept, width, staged):
    """Put the columns of a warp's new edges into the row's stage, in order; returns the count."""
    rank, total = warp_rank(found)
    if found and kept + rank < width:
        staged[row * width + kept + rank] = j
    return int32(kept + total)


@cuda.jit
def compression_predicate(shape, width, negligible, matrix, staged, counts):
    """Count the zero-slack edges of every row, and keep the first `width` of them.

    Paper: [DN16 sec.3.3] [DN16 Fig.1], the predicate and, within a row, its sum; on C^i "a partial
    adjacency list Z^i" [DN16 sec.5] (4a).
    Launch: one warp a row; ballots give the edges' places in the row.
    Reads/Writes: reads ``cost`` once, four loads in flight a lane; writes ``counts`` and
    ``staged[row * width ...]``.
    """
    row = cuda.grid(1) >> 5
    if row >= shape.rows:
        return
    lane = cuda.threadIdx.x & 31
    columns, cost, column_dual = shape.columns, matrix.cost, matrix.duals.column
    at = row * columns
    u = matrix.duals.row[shape.first + row]
    kept = int32(0)
    start = 0
    while start + 128 <= columns:
        j = start + lane
        a, b = cost[at + j], cost[at + j + 32]
        c, d = cost[at + j + 64], cost[at + j + 96]
        is_a = no_slack(a, u, column_dual[j], negligible)
        is_b = no_slack(b, u, column_dual[j + 32], negligible)
        is_c = no_slack(c, u, column_dual[j + 64], negligible)
        is_d = no_slack(d, u, column_dual[j + 96], negligible)
        if cuda.any_sync(FULL_WARP, is_a or is_b or is_c or is_d):
            kept = stage_edges(is_a, j, row, kept, width, staged)
            kept = stage_edges(is_b, j + 32, row, kept, width, staged)
            kept = stage_edges(is_c, j + 64, row, kept, width, staged)
            kept = stage_edges(is_d, j + 96, row, kept, width, staged)
        start += 128
    while start < columns:
        j = start + lane
        found = False
        if j < columns:
            found = no_slack(cost[at + j], u, column_dual[j], negligible)
        kept = stage_edges(found, j, row, kept, width, staged)
        start += 32
    if lane == 0:
        counts[row] = kept


@cuda.jit
def compression_scatter(shape, width, negligible, matrix, staged, edges):
    """Scatter the edges' columns to where the prefix sum points: the adjacency list Z.

    Paper: [DN16 sec.3.3] [DN16 Fig.1(b)].  Launch: one warp a row.
    Reads/Writes: reads ``pointers`` and ``staged``, writes ``adjacency``; a row with more than
    `width` edges is read again.
    """
    row = cuda.grid(1) >> 5
    if row >= shape.rows:
        return
    lane = cuda.threadIdx.x & 31
    start, stop = edges.pointers[row], edges.pointers[row + 1]
    if stop - start <= width:
        for k in range(lane, stop - start, 32):
            edges.adjacency[start + k] = staged[row * width + k]
        return
    columns = shape.columns
    at = row * columns
    u = matrix.duals.row[shape.first + row]
    for base in range(0, columns, 32):
        j = base + lane
        found = False
        if j < columns:
            found = no_slack(matrix.cost[at + j], u, matrix.duals.column[j], negligible)
        rank, total = warp_rank(found)
        if found:
            edges.adjacency[start + rank] = j
        start += total


# ---------------------------------------------------------------------------------- forward pass


@cuda.jit(device=True)
def first_frontier(n, pointers, row_cover, row_mark, frontier_in, totals):
    """Compress the uncovered rows with at least one edge into F_in; returns its size.

    [DN16 sec.4.3.1], item 1: after the optimality check these are the unassigned rows, after a
    dual update all rows of the trees ("go to search" in [DN16 sec.2.2] pushes the same).
    """
    size = int32(0)
    for start in range(0, n, cuda.blockDim.x):
        i = start + cuda.threadIdx.x
        active = int32(0)
        if i < n and row_cover[i] == 0:
            if pointers[i + 1] > pointers[i]:
                active = int32(1)
                row_mark[i] = ACTIVE
            else:
                row_mark[i] = VISITED
        before, total = block_scan(active, totals)
        if active == 1:
            frontier_in[size + before] = i
        size = int32(size + total)
    return size


@cuda.jit(device=True)
def expansion(
    size, edges, column_assignment, covers, predecessors, marks, frontiers, gathered, flags
):
    """Reach new columns from the frontier, and gather the rows they are assigned to into F_out.

    Paper: [DN16 Alg.3].  One thread an element of F_in.
    Race: several rows may find the same uncovered column. The exchange of its cover lets one of
    them go on, so no row is gathered twice and the trees stay vertex-disjoint [DN16 Prop.1]; the
    paper lets the last store win and removes duplicates later. An unassigned column is never
    covered: each row that finds it stores itself as predecessor, any of them is right, and the
    exchange of its mark lets one append it to F_rev.
    A row with no edge but its own assigned one cannot lead on: it is "visited" at once, and the
    contraction drops it.
    """
    for k in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        i = frontiers.f_in[k]
        for e in range(edges.pointers[i], edges.pointers[i + 1]):
            j = edges.adjacency[e]
            i_new = column_assignment[j]
            if covers.column[j] != 0 or i_new == i:
                continue
            if i_new == -1:
                predecessors.column[j] = i
                if cuda.atomic.exch(marks.column, j, TO_REVERSE) != TO_REVERSE:
                    frontiers.f_rev[cuda.atomic.add(flags, REVERSE, 1)] = j
            elif cuda.atomic.exch(covers.column, j, 1) == 0:
                predecessors.column[j] = i
                predecessors.row[i_new] = j
                covers.row[i_new] = 0
                first = edges.pointers[i_new]
                alone = edges.pointers[i_new + 1] - first == 1 and edges.adjacency[first] == j
                marks.row[i_new] = VISITED if alone else ACTIVE
                frontiers.f_out[cuda.atomic.add(gathered, 0, 1)] = i_new
        marks.row[i] = VISITED


@cuda.jit(device=True)
def contraction(size, row_mark, frontier_in, frontier_out, totals):
    """Compress F_out into F_in, without the rows already visited; returns the new size.

    Paper: [DN16 sec.4.3.1], item 3: predicate, prefix sum, scatter [DN16 Fig.1(a)].
    """
    left = int32(0)
    for start in range(0, size, cuda.blockDim.x):
        k = start + cuda.threadIdx.x
        active = int32(0)
        i = int32(-1)
        if k < size:
            i = frontier_out[k]
            if row_mark[i] == ACTIVE:
                active = int32(1)
        before, total = block_scan(active, totals)
        if active == 1:
            frontier_in[left + before] = i
        left = int32(left + total)
    return left


@cuda.jit
def forward_pass(
    n, edges, column_assignment, covers, predecessors, marks, frontiers, flags, signal
):
    """Breadth-first search along zero-slack edges from all uncovered rows at once.

    Paper: [DN16 sec.4.3.1], the classical variant: expansion and contraction in turn until the
    frontier is empty.  Launch: one block of whole warps; its barrier separates the levels.
    Reads/Writes: reads Z and the assignments; predecessors, covers, marks, F_in, F_out, F_rev.
    Race: see `expansion`.
    """
    totals = cuda.shared.array(32, int32)
    gathered = cuda.shared.array(1, int32)
    thread = cuda.threadIdx.x
    if thread == 0:
        gathered[0] = 0
    known = flags[REVERSE]  # 0, but for a pass that is launched after one that found a path
    size = first_frontier(n, edges.pointers, covers.row, marks.row, frontiers.f_in, totals)
    reached = 0
    levels = 0
    for _ in range(n + 1):  # every level but the last covers a column for good
        cuda.syncthreads()
        if size == 0:
            break
        expansion(
            size, edges, column_assignment, covers, predecessors, marks, frontiers, gathered, flags
        )
        cuda.syncthreads()
        new = gathered[0]
        cuda.syncthreads()
        if thread == 0:
            gathered[0] = 0
        size = contraction(new, marks.row, frontiers.f_in, frontiers.f_out, totals)
        reached += new
        levels += 1
    if thread == 0:
        flags[LEVELS] += levels
        send_signal(reached + flags[REVERSE] - known, flags, signal)


# ---------------------------------------------------------------------------------- dual update


@cuda.jit
def dual_update_stage_1(shape, top, matrix, covers, slack):
    """U[i] = the smallest slack of row i over the uncovered columns, if the row is uncovered.

    Paper: [DN16 Alg.7] [DN16 sec.4.4] [DN16 sec.5] (5); `kernels.shared.minimum` takes the minimum
    over U, whose array is ``slack``.
    Launch: one warp a row (the paper: one thread).
    Reads/Writes: reads the uncovered rows of ``cost``, four loads in flight a lane; writes U.
    """
    row = cuda.grid(1) >> 5
    if row >= shape.rows:
        return
    lane = cuda.threadIdx.x & 31
    columns, cost, column_dual = shape.columns, matrix.cost, matrix.duals.column
    least = top
    if covers.row[shape.first + row] == 0:
        at = row * columns
        u = matrix.duals.row[shape.first + row]
        j = lane
        while j + 96 < columns:
            a, b = cost[at + j], cost[at + j + 32]
            c, d = cost[at + j + 64], cost[at + j + 96]
            if covers.column[j] == 0:
                least = min(least, reduced_cost(a, u, column_dual[j]))
            if covers.column[j + 32] == 0:
                least = min(least, reduced_cost(b, u, column_dual[j + 32]))
            if covers.column[j + 64] == 0:
                least = min(least, reduced_cost(c, u, column_dual[j + 64]))
            if covers.column[j + 96] == 0:
                least = min(least, reduced_cost(d, u, column_dual[j + 96]))
            j += 128
        while j < columns:
            if covers.column[j] == 0:
                least = min(least, reduced_cost(cost[at + j], u, column_dual[j]))
            j += 32
        least = warp_min(least)
    if lane == 0:
        slack[row] = least


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    compression_predicate: (Shape, "int32", "T", Matrix, _LINES, _LINES),
    compression_scatter: (Shape, "int32", "T", Matrix, _LINES, Edges),
    forward_pass: (
        "int32", Edges, _LINES, Covers, Predecessors, Marks, Frontiers, _LINES, "int64[::1]",
    ),
    dual_update_stage_1: (Shape, "T", Matrix, Covers, "T[::1]"),
}  # fmt: skip
"""The types that each kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`."""
