"""Opt 2: everything in one cooperative launch [K21 Opt 2] [K21 sec.IV.C].

The report changes `add_sub_compress_matrix`; the kernel around it is `one_launch`'s, and so is the
notation.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.kawtikwar_opts.kernels.entries import UNROLL, advance, place, quotient, update_duals
from papers.kawtikwar_opts.kernels.near_zero import near_zero
from papers.kawtikwar_opts.kernels.one_launch import ELEMENT_TYPES as ELEMENT_TYPES
from papers.kawtikwar_opts.kernels.one_launch import SIGNATURE, go_on_with, hungarian_with


@cuda.jit(device=True)
def add_sub_compress_matrix(order, eps, slack, covers, least, zeros, duals):
    """Step 6's additions and subtractions, and the compression, in one pass.

    Paper: [K21 Listing 3].  Launch: all blocks, over tiles of the matrix (`entries`).
    Reads/Writes: reads all slacks, and those of the test again; writes those that change; moves the
    duals; appends to ``zeros``; its sizes must be 0 at the start.
    Race: the atomics decide the order inside a bin; a thread tests the entries it wrote itself.
    """
    n, lines = order
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


hungarian = hungarian_with(add_sub_compress_matrix)
go_on = go_on_with(add_sub_compress_matrix)

SIGNATURES = {hungarian: SIGNATURE, go_on: SIGNATURE}
