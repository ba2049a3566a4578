"""The classical variant on a strip of rows [DN16 sec.5] (4a): compression and stage 1 of the
update. Notation in `kernels.shared` and `several_gpus.kernels.strips`; the forward pass is the
root's, on one GPU.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.reductions import FULL_WARP, warp_min, warp_rank
from papers.datenagi2016.kernels.classical import stage_edges
from papers.datenagi2016.kernels.half_units import no_slack, reduced_cost


@cuda.jit
def compression_predicate(
    rows, columns, first, width, negligible, cost, row_dual, column_dual, staged, counts
):
    """Count the zero-slack edges of every row of the strip, and keep the first `width` of them.

    Paper: [DN16 sec.3.3] on C^i, "a partial adjacency list Z^i" [DN16 sec.5] (4a).
    Launch and Reads/Writes: as `kernels.classical.compression_predicate`.
    """
    row = cuda.grid(1) >> 5
    if row >= rows:
        return
    lane = cuda.threadIdx.x & 31
    at = row * columns
    u = row_dual[first + row]
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
def compression_scatter(
    rows,
    columns,
    first,
    width,
    negligible,
    cost,
    row_dual,
    column_dual,
    staged,
    pointers,
    adjacency,
):
    """Scatter the edges' columns to where the prefix sum points: the partial list Z^i.

    Paper: [DN16 sec.3.3] [DN16 sec.5] (4a).  Launch: one warp a row.
    Reads/Writes: as `kernels.classical.compression_scatter`.
    """
    row = cuda.grid(1) >> 5
    if row >= rows:
        return
    lane = cuda.threadIdx.x & 31
    start, stop = pointers[row], pointers[row + 1]
    if stop - start <= width:
        for k in range(lane, stop - start, 32):
            adjacency[start + k] = staged[row * width + k]
        return
    at = row * columns
    u = row_dual[first + row]
    for base in range(0, columns, 32):
        j = base + lane
        found = False
        if j < columns:
            found = no_slack(cost[at + j], u, column_dual[j], negligible)
        rank, total = warp_rank(found)
        if found:
            adjacency[start + rank] = j
        start += total


@cuda.jit
def dual_update_stage_1(
    rows, columns, first, top, cost, row_dual, column_dual, row_cover, column_cover, least_of_row
):
    """U[i] = the smallest slack of row i of the strip over the uncovered columns.

    Paper: [DN16 Alg.7] [DN16 sec.5] (5).  Launch: one warp a row; covered rows get infinity.
    Reads/Writes: reads the uncovered rows of ``cost``, four loads in flight a lane; writes U.
    """
    row = cuda.grid(1) >> 5
    if row >= rows:
        return
    lane = cuda.threadIdx.x & 31
    least = top
    if row_cover[first + row] == 0:
        at = row * columns
        u = row_dual[first + row]
        j = lane
        while j + 96 < columns:
            a, b = cost[at + j], cost[at + j + 32]
            c, d = cost[at + j + 64], cost[at + j + 96]
            if column_cover[j] == 0:
                least = min(least, reduced_cost(a, u, column_dual[j]))
            if column_cover[j + 32] == 0:
                least = min(least, reduced_cost(b, u, column_dual[j + 32]))
            if column_cover[j + 64] == 0:
                least = min(least, reduced_cost(c, u, column_dual[j + 64]))
            if column_cover[j + 96] == 0:
                least = min(least, reduced_cost(d, u, column_dual[j + 96]))
            j += 128
        while j < columns:
            if column_cover[j] == 0:
                least = min(least, reduced_cost(cost[at + j], u, column_dual[j]))
            j += 32
        least = warp_min(least)
    if lane == 0:
        least_of_row[row] = least


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
_STRIP = "void(int32, int32, int32"
SIGNATURES = {
    compression_predicate: f"{_STRIP}, int32, T, T[::1], T[::1], T[::1], {_LINES}, {_LINES})",
    compression_scatter: (
        f"{_STRIP}, int32, T, T[::1], T[::1], T[::1], {', '.join([_LINES] * 3)})"
    ),
    dual_update_stage_1: f"{_STRIP}, T, T[::1], T[::1], T[::1], {_LINES}, {_LINES}, T[::1])",
}
"""What each kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`."""
