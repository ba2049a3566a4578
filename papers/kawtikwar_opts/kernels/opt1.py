"""Opt 1: add and subtract fused with the compression [K21 Opt 1] [K21 sec.IV.B].

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
from papers.lopes2019.kernels.arguments import Covers, Order, Zeros
from papers.lopes2019.kernels.matrix import MAX_BLOCK


@cuda.jit
def step_6_init(zeros_size_b):
    """Clear the sizes for the compression that follows.

    Paper: [K21 Listing 1].  In Lopes's code the addition does it; a fused kernel cannot, since its
    blocks do not meet, so that a launch of its own does it in all versions with a host loop.
    Launch: one block.
    Reads/Writes: writes the sizes.
    """
    for b in range(cuda.threadIdx.x, zeros_size_b.size, cuda.blockDim.x):
        zeros_size_b[b] = 0


@cuda.jit
def add_sub_compress_matrix(order, eps, slack, covers, minimum, zeros, duals):
    """Step 6's additions and subtractions, and the compression, in one pass.

    Paper: [K21 Listing 3].  Launch: whole blocks over tiles of the matrix (`entries`).
    Reads/Writes: reads all slacks, and those of the test again; writes those that change; moves the
    duals; appends to ``zeros``; its sizes must be 0 at the start.
    Race: as `compress_matrix`; a thread tests the entries that it wrote itself.
    """
    n, lines = order
    least = minimum[0]
    update_duals(n, least, covers, duals)
    data_block_size = int32(lines * n)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    stride = UNROLL * width * cuda.gridDim.x
    first = int64(UNROLL * width * cuda.blockIdx.x)
    row, column = place(first + thread, n)
    rows, columns = place(width, n)
    tile_rows, tile_columns = place(stride, n)
    while first < n * n:
        value = cuda.local.array(UNROLL, slack.dtype)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                value[k] = slack[i]
        r, c = row, column
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                cover = covers.row[r] + covers.column[c]
                if cover == 2:
                    slack[i] = value[k] + least
                elif cover == 0:
                    slack[i] = value[k] - least
            r, c = advance(r, c, rows, columns, n)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n and near_zero(slack[i], eps):
                b = quotient(i, data_block_size)
                i0 = b * data_block_size
                j = cuda.atomic.add(zeros.sizes, b, 1)
                zeros.positions[i0 + j] = i
        row, column = advance(row, column, tile_rows, tile_columns, n)
        first += stride


@cuda.jit
def compress_matrix(n, lines, eps, slack, zeros, zeros_size_b):
    """Collect the positions of all zeros of the slack matrix in bins of `lines` columns.

    Paper: [K21 Listing 1].  Launch: whole blocks over tiles of the matrix (`entries`).
    Reads/Writes: reads ``slack`` once; appends to ``zeros``; counts each bin's zeros, which must
    be 0 at the start.
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
                b = quotient(i, data_block_size)
                i0 = b * data_block_size
                j = cuda.atomic.add(zeros_size_b, b, 1)
                zeros[i0 + j] = i
        first += stride


@cuda.jit
def add_reduction(zeros_size_b, zeros_size):
    """Add the bins' sizes up to the number of all zeros.

    Paper: [K21 Opt 0].  Launch: one block of a power of two threads.
    Reads/Writes: reads ``zeros_size_b``, writes ``zeros_size[0]``.
    """
    shared = cuda.shared.array(MAX_BLOCK, int32)
    thread, half = cuda.threadIdx.x, cuda.blockDim.x >> 1
    count = int32(0)
    for b in range(thread, zeros_size_b.size, cuda.blockDim.x):
        count += zeros_size_b[b]
    shared[thread] = count
    cuda.syncthreads()
    while half > 0:
        if thread < half:
            shared[thread] += shared[thread + half]
        cuda.syncthreads()
        half >>= 1
    if thread == 0:
        zeros_size[0] = shared[0]


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    step_6_init: f"void({_LINES})",
    add_sub_compress_matrix: (Order, "T", "T[::1]", Covers, "T[::1]", Zeros, Duals),
    compress_matrix: f"void(int32, int32, T, T[::1], {_LINES}, {_LINES})",
    add_reduction: f"void({_LINES}, {_LINES})",
}
"""Types that each kernel is compiled for: T stands for each of `ELEMENT_TYPES`, D for float64
beside float64 and for int64 beside integers."""
