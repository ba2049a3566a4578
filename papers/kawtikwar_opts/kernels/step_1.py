"""Step 1 of the one-launch versions: the first slacks and their zeros [K21 app. step 1].

All blocks take part. The notation is that of `papers.lopes2019.kernels.search`; the tiles are those
of `entries`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.reductions import block_min
from papers.kawtikwar_opts.kernels.arguments import AUGMENTATIONS, MOVED, PATH, SEARCHES, UPDATES
from papers.kawtikwar_opts.kernels.clock import mark, start_clock
from papers.kawtikwar_opts.kernels.entries import UNROLL, advance, place, quotient
from papers.kawtikwar_opts.kernels.near_zero import near_zero
from papers.lopes2019.kernels.matrix import MAX_BLOCK


@cuda.jit(device=True)
def least_in_rows(n, rows_a_block, cost, top, min_in_row):
    """Minimum of every row, `rows_a_block` rows (a power of two) to a block's turn.

    As `papers.lopes2019.kernels.matrix.step_1_min_in_rows`, but that blocks take turns.
    """
    shared = cuda.shared.array(MAX_BLOCK, cost.dtype)
    thread = cuda.threadIdx.x
    slice_columns = cuda.blockDim.x // rows_a_block
    for start in range(cuda.blockIdx.x * rows_a_block, n, cuda.gridDim.x * rows_a_block):
        row = start + thread % rows_a_block
        least = top
        if row < n:
            for column in range(thread // rows_a_block, n, slice_columns):
                least = min(least, cost[column * n + row])
        shared[thread] = least
        block_min(shared, thread, rows_a_block)
        if thread < rows_a_block and row < n:
            min_in_row[row] = shared[thread]
        cuda.syncthreads()


@cuda.jit(device=True)
def least_in_columns(n, columns_a_block, cost, top, min_in_row, min_in_column):
    """Minimum of every column once the rows' minima are subtracted.

    As `papers.lopes2019.kernels.matrix.step_1_min_in_columns`, but that nothing has been written
    yet, and that blocks take turns.
    """
    shared = cuda.shared.array(MAX_BLOCK, cost.dtype)
    thread = cuda.threadIdx.x
    slice_rows = cuda.blockDim.x // columns_a_block
    mine = thread // slice_rows
    for start in range(cuda.blockIdx.x * columns_a_block, n, cuda.gridDim.x * columns_a_block):
        column = start + mine
        least = top
        if column < n:
            for row in range(thread % slice_rows, n, slice_rows):
                least = min(least, cost[column * n + row] - min_in_row[row])
        shared[(thread % slice_rows) * columns_a_block + mine] = least
        block_min(shared, thread, columns_a_block)
        if thread < columns_a_block and start + thread < n:
            min_in_column[start + thread] = shared[thread]
        cuda.syncthreads()


@cuda.jit(device=True)
def subtract_and_compress(order, matrix, zeros):
    """The first slacks, written once, and their zeros, in tiles as step 6 takes them."""
    n, lines = order
    data_block_size = int32(lines * n)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    stride = UNROLL * width * cuda.gridDim.x
    first = int64(UNROLL * width * cuda.blockIdx.x)
    row, column = place(first + thread, n)
    rows, columns = place(width, n)
    tile_rows, tile_columns = place(stride, n)
    while first < n * n:
        reg = cuda.local.array(UNROLL, matrix.slack.dtype)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                reg[k] = matrix.cost[i]
        r, c = row, column
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                reg[k] = (reg[k] - matrix.min_in_row[r]) - matrix.min_in_column[c]
                matrix.slack[i] = reg[k]
            r, c = advance(r, c, rows, columns, n)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n and near_zero(reg[k], matrix.eps):
                b = quotient(i, data_block_size)
                j = cuda.atomic.add(zeros.sizes, b, 1)
                zeros.positions[b * data_block_size + j] = i
        row, column = advance(row, column, tile_rows, tile_columns, n)
        first += stride


@cuda.jit(device=True)
def step_1(shape, matrix, search, duals, log):
    """Clear everything, make the first slacks and list their zeros [K21 app. step 1].

    Three passes over the costs and three barriers: row minima, column minima, slacks with zeros.
    """
    grid = cuda.cg.this_grid()
    n, flags = shape.order.n, log.flags
    start_clock(log.clocks)
    for line in range(cuda.grid(1), n, cuda.gridsize(1)):
        padding = int32(line >= shape.searched)  # counts as starred: row 0, which no row says
        search.stars.row_of_star_at_column[line] = padding - 1
        search.stars.column_of_star_at_row[line] = -1
        search.covers.row[line] = 0
        search.covers.column[line] = padding
    for b in range(cuda.grid(1), search.zeros.sizes.size, cuda.gridsize(1)):
        search.zeros.sizes[b] = 0
    if cuda.grid(1) == 0:
        flags[AUGMENTATIONS] = 0
        flags[SEARCHES] = 0
        flags[UPDATES] = 0
        for slot in range(3):
            flags[MOVED + slot] = 0
            flags[PATH + slot] = 0
    least_in_rows(n, shape.lines_a_turn, matrix.cost, matrix.top, matrix.min_in_row)
    grid.sync()
    least_in_columns(
        n, shape.lines_a_turn, matrix.cost, matrix.top, matrix.min_in_row, matrix.min_in_column
    )
    grid.sync()
    for line in range(cuda.grid(1), n, cuda.gridsize(1)):
        duals.row[line] = matrix.min_in_row[line]
        duals.column[line] = matrix.min_in_column[line]
    subtract_and_compress(shape.order, matrix, search.zeros)
    grid.sync()
    mark(log.clocks, 1)
