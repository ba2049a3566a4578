"""Opt 4: a barrier before the test keeps the warps in step [K21 Opt 4] [K21 sec.IV.E].

What the report changes, and the kernel; all other steps stand in `steps`. The notation is
that of `papers.lopes2019.kernels.search`, but for

==================  ====================  =====================================================
report              array                 dtype, shape
==================  ====================  =====================================================
zeros_size_b        zeros_size_b          int32 [bins], zeros of each bin (lopes2019: zeros_size)
data_block_size     lines * n             int32, a bin's entries; bins of `lines` columns
d_min_in_mat        least                 as slack, a scalar
near_zero           eps                   as slack; see `near_zero`
==================  ====================  =====================================================
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.kawtikwar_opts.kernels.clock import mark
from papers.kawtikwar_opts.kernels.entries import UNROLL, advance, place, quotient, update_duals
from papers.kawtikwar_opts.kernels.near_zero import near_zero
from papers.kawtikwar_opts.kernels.one_launch import (
    DRY,
    finish,
    least_of,
    search_until_dry,
    step_1,
    step_6_reduction,
    steps_2_and_3,
)


@cuda.jit(device=True)
def add_sub_compress_matrix(
    n,
    lines,
    eps,
    slack,
    covered_row,
    covered_column,
    least,
    zeros,
    zeros_size_b,
    row_dual,
    column_dual,
):
    """Step 6's additions and subtractions, and the compression, in one pass.

    Paper: [K21 Listing 5].  Launch: all blocks, over tiles of the matrix (`entries`).
    Reads/Writes: reads all slacks, each of them once; writes those that change; moves the
    duals; appends to ``zeros``; ``zeros_size_b`` must be 0 at the start.
    Race: the atomics decide the order inside a bin; a thread tests the entries it wrote itself.
    """
    update_duals(n, least, covered_row, covered_column, row_dual, column_dual)
    data_block_size = int32(lines * n)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    stride = UNROLL * width * cuda.gridDim.x
    first = int64(UNROLL * width * cuda.blockIdx.x)
    row, column = place(first + thread, n)
    rows, columns = place(width, n)
    tile_rows, tile_columns = place(stride, n)
    while first < n * n:
        reg = cuda.local.array(UNROLL, slack.dtype)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                reg[k] = slack[i]
        r, c = row, column
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                cover = covered_row[r] + covered_column[c]
                if cover == 2:
                    reg[k] += least
                    slack[i] = reg[k]
                elif cover == 0:
                    reg[k] -= least
                    slack[i] = reg[k]
            r, c = advance(r, c, rows, columns, n)
        cuda.syncthreads()
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n and near_zero(reg[k], eps):
                b = quotient(i, data_block_size)
                i0 = b * data_block_size
                j = cuda.atomic.add(zeros_size_b, b, 1)
                zeros[i0 + j] = i
        row, column = advance(row, column, tile_rows, tile_columns, n)
        first += stride


@cuda.jit
def hungarian(
    n,
    lines,
    lines_a_turn,
    multiplier,
    shift,
    patience,
    eps,
    top,
    cost,
    slack,
    min_in_row,
    min_in_column,
    partial,
    covered_row,
    covered_column,
    row_of_star_at_column,
    column_of_star_at_row,
    column_of_prime_at_row,
    row_of_green_at_column,
    zeros,
    zeros_size_b,
    row_dual,
    column_dual,
    flags,
    clocks,
    signal,
):
    """The whole solve [K21 Fig.7]: steps 1 to 3, then searches and dual updates in turn.

    Longer than a kernel should be: its arguments are those of all steps. They also want more
    registers than a large block has: `launches.for_block` sets the limit.

    Paper: [K21 Opt 2].  Launch: cooperative; blocks of a power of two threads, at least a warp, as
    many as are resident at once at most and at least one a bin of zeros.
    Reads/Writes: reads ``cost``, writes everything else.
    Race: those of the steps, see `steps`; barriers of the grid stand between the phases.
    """
    grid = cuda.cg.this_grid()
    alone = zeros_size_b.size == 1
    step_1(
        n, lines, lines_a_turn, eps, top, cost, min_in_row, min_in_column, slack, zeros,
        zeros_size_b, covered_row, covered_column, row_of_star_at_column, column_of_star_at_row,
        row_dual, column_dual, flags, clocks,
    )  # fmt: skip
    matches = steps_2_and_3(
        alone, n, lines, zeros, zeros_size_b, covered_row, covered_column,
        row_of_star_at_column, column_of_star_at_row, column_of_prime_at_row,
        row_of_green_at_column, flags, clocks,
    )  # fmt: skip
    run, barren, updates = int32(0), int32(0), int32(0)
    while True:  # `search_until_dry` gives up when its patience ends
        status, matches, run, barren = search_until_dry(
            alone, n, lines, multiplier, shift, patience, matches, run, barren, zeros,
            zeros_size_b, covered_row, covered_column, row_of_star_at_column,
            column_of_star_at_row, column_of_prime_at_row, row_of_green_at_column, flags, clocks,
        )  # fmt: skip
        if status != DRY:
            break
        step_6_reduction(n, slack, covered_row, covered_column, top, partial, zeros_size_b)
        grid.sync()
        add_sub_compress_matrix(
            n, lines, eps, slack, covered_row, covered_column, least_of(partial, top), zeros,
            zeros_size_b, row_dual, column_dual,
        )  # fmt: skip
        grid.sync()
        mark(clocks, 6)
        updates = int32(updates + 1)
    finish(status, updates, flags, signal)


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    hungarian: (
        f"void(int32, int32, int32, int64, int32, int32, T, T, {', '.join(['T[::1]'] * 5)}, "
        f"{', '.join([_LINES] * 8)}, D[::1], D[::1], {_LINES}, int64[::1], int64[::1])"
    ),
}
"""What the kernel is compiled for: T stands for each of `ELEMENT_TYPES`, D for float64 beside
float64 and for int64 beside integers."""
