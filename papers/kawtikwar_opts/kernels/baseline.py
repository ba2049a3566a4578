"""Baseline: Lopes's solver, from which the report starts [K21 sec.III.C], in tiles of four entries.

Only the kernels that the report changes; all others are `papers.lopes2019`'s. As printed they are
in `kernels.printed.host_loop`. The notation is that of `papers.lopes2019.kernels.search`, but for

==================  ====================  =====================================================
report              array                 dtype, shape
==================  ====================  =====================================================
zeros_size          zeros_size            int32 [1], all zeros
zeros_size_b        zeros_size_b          int32 [bins], zeros of each bin (lopes2019: zeros_size)
data_block_size     lines * n             int32, a bin's entries; bins of `lines` columns
d_min_in_mat        minimum               as slack [1]
near_zero           eps                   as slack; see `near_zero`
==================  ====================  =====================================================
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.kawtikwar_opts.kernels.arguments import Duals
from papers.kawtikwar_opts.kernels.entries import UNROLL, advance, place, quotient, update_duals
from papers.kawtikwar_opts.kernels.near_zero import near_zero
from papers.lopes2019.kernels.arguments import Covers


@cuda.jit
def step_6_init(zeros_size, zeros_size_b):
    """Clear the sizes for the compression that follows.

    Paper: [K21 Listing 1].  In Lopes's code the addition does it; a fused kernel cannot, since its
    blocks do not meet, so that a launch of its own does it in all versions with a host loop.
    Launch: one block.
    Reads/Writes: writes both sizes.
    """
    zeros_size[0] = 0
    for b in range(cuda.threadIdx.x, zeros_size_b.size, cuda.blockDim.x):
        zeros_size_b[b] = 0


@cuda.jit
def step_6_add_sub(n, slack, covers, minimum, duals):
    """Add the minimum where both lines are covered, subtract it where neither is.

    Paper: [K21 Listing 2].  Launch: whole blocks over tiles of the matrix (`entries`).
    Reads/Writes: reads the covers, reads and writes the slacks that change; moves the duals.
    """
    least = minimum[0]
    update_duals(n, least, covers, duals)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    stride = UNROLL * width * cuda.gridDim.x
    first = int64(UNROLL * width * cuda.blockIdx.x)
    row, column = place(first + thread, n)
    rows, columns = place(width, n)
    tile_rows, tile_columns = place(stride, n)
    while first < n * n:
        cover = cuda.local.array(UNROLL, covers.row.dtype)
        value = cuda.local.array(UNROLL, slack.dtype)
        r, c = row, column
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                cover[k] = covers.row[r] + covers.column[c]
                if cover[k] != 1:
                    value[k] = slack[i]
            r, c = advance(r, c, rows, columns, n)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                if cover[k] == 2:
                    slack[i] = value[k] + least
                elif cover[k] == 0:
                    slack[i] = value[k] - least
        row, column = advance(row, column, tile_rows, tile_columns, n)
        first += stride


@cuda.jit
def compress_matrix(n, lines, eps, slack, zeros, zeros_size, zeros_size_b):
    """Collect the positions of all zeros of the slack matrix in bins of `lines` columns.

    Paper: [K21 Listing 1].  Launch: whole blocks over tiles of the matrix (`entries`).
    Reads/Writes: reads ``slack`` once; appends to ``zeros``; counts all zeros and each bin's, which
    must be 0 at the start.
    Race: the atomics decide the order inside a bin, which the algorithm leaves open.
    """
    data_block_size = int32(lines * n)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    stride = UNROLL * width * cuda.gridDim.x
    first = int64(UNROLL * width * cuda.blockIdx.x)
    while first < n * n:
        value = cuda.local.array(UNROLL, slack.dtype)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                value[k] = slack[i]
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n and near_zero(value[k], eps):
                cuda.atomic.add(zeros_size, 0, 1)
                b = quotient(i, data_block_size)
                i0 = b * data_block_size
                j = cuda.atomic.add(zeros_size_b, b, 1)
                zeros[i0 + j] = i
        first += stride


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    step_6_init: f"void({_LINES}, {_LINES})",
    step_6_add_sub: ("int32", "T[::1]", Covers, "T[::1]", Duals),
    compress_matrix: f"void(int32, int32, T, T[::1], {_LINES}, {_LINES}, {_LINES})",
}
"""Types that each kernel is compiled for: T stands for each of `ELEMENT_TYPES`, D for float64
beside float64 and for int64 beside integers."""
