"""The kernels of [L19 sec.4] that pass over the whole matrix: steps 1 and 6, and the compression.

Notation in `kernels.search`; ``top`` is the paper's "Maximum", the largest value of the slack type.
"""

from __future__ import annotations

from numba import cuda

from papers.common.gpu.reductions import block_max, block_min

MAX_BLOCK = 1024
"""Threads a block at most; sizes the shared arrays."""

# Entries that a thread of `compress_matrix` reads before it looks at any of them: enough loads in
# flight to keep the memory busy.
UNROLL = 4

# ---------------------------------------------------------------------------------- step 1


@cuda.jit
def step_1_min_in_rows(n, rows_a_block, cost, top, min_in_row):
    """Minimum of every row, `rows_a_block` rows (a power of two) to a block.

    Paper: [L19 sec.4.7] [L19 Fig.3] [L19 Alg.8].  The matrix is cut into slices of
    ``block / rows_a_block`` columns; a thread walks through the slices at one position, then
    the block halves its results in shared memory until only different rows are left.
    `evidence.diagrams.fig_3` draws who reads what.
    Launch: ceil(n / rows_a_block) blocks of a power of two threads.
    Reads/Writes: reads ``cost`` once; writes ``min_in_row``.
    """
    shared = cuda.shared.array(MAX_BLOCK, cost.dtype)
    thread = cuda.threadIdx.x
    row = cuda.blockIdx.x * rows_a_block + thread % rows_a_block
    slice_columns = cuda.blockDim.x // rows_a_block
    least = top
    if row < n:
        for column in range(thread // rows_a_block, n, slice_columns):
            least = min(least, cost[column * n + row])
    shared[thread] = least
    block_min(shared, thread, rows_a_block)
    if thread < rows_a_block and row < n:
        min_in_row[row] = shared[thread]


@cuda.jit
def step_1_row_sub(n, cost, min_in_row, slack, row_dual):
    """Slack = cost minus the minimum of its row, which is the row's first dual.

    Paper: [L19 Alg.9] for a minimization.  Launch: grid-stride over the matrix.
    Reads/Writes: reads ``cost`` and ``min_in_row``, writes ``slack``: the copy "initialize the
    slack matrix with the cost matrix" of step 1 is made on the way.
    """
    stride = cuda.gridsize(1)
    i = cuda.grid(1)
    for line in range(i, n, stride):
        row_dual[line] = min_in_row[line]
    row = i % n
    row_step = stride % n
    while i < n * n:
        slack[i] = cost[i] - min_in_row[row]
        i += stride
        row += row_step
        if row >= n:
            row -= n


@cuda.jit
def step_1_max_in_rows(n, rows_a_block, cost, bottom, max_in_row):
    """Maximum of every row: step 1 when the sum is maximized, as the paper prints it.

    Paper: [L19 Alg.8] [L19 Fig.3].  Otherwise as `step_1_min_in_rows`; `bottom` is the smallest
    value of the type.
    Launch: ceil(n / rows_a_block) blocks of a power of two threads.
    Reads/Writes: reads ``cost`` once; writes ``max_in_row``.
    """
    shared = cuda.shared.array(MAX_BLOCK, cost.dtype)
    thread = cuda.threadIdx.x
    row = cuda.blockIdx.x * rows_a_block + thread % rows_a_block
    slice_columns = cuda.blockDim.x // rows_a_block
    most = bottom
    if row < n:
        for column in range(thread // rows_a_block, n, slice_columns):
            most = max(most, cost[column * n + row])
    shared[thread] = most
    block_max(shared, thread, rows_a_block)
    if thread < rows_a_block and row < n:
        max_in_row[row] = shared[thread]


@cuda.jit
def step_1_max_slack(n, cost, max_in_row, slack, row_dual):
    """Slack = the maximum of its row minus cost.

    Paper: [L19 Alg.9].  Launch: grid-stride over the matrix.  As `step_1_row_sub`; the duals are
    those of minimizing ``-cost``.
    Reads/Writes: reads ``cost`` once, and ``max_in_row``; writes ``slack`` and ``row_dual``.
    """
    stride = cuda.gridsize(1)
    i = cuda.grid(1)
    for line in range(i, n, stride):
        row_dual[line] = max_in_row[line]
        row_dual[line] = -row_dual[line]  # in the dual's type: a uint8 has no negative
    row = i % n
    row_step = stride % n
    while i < n * n:
        slack[i] = max_in_row[row] - cost[i]
        i += stride
        row += row_step
        if row >= n:
            row -= n


@cuda.jit
def step_1_min_in_columns(n, columns_a_block, slack, top, min_in_column):
    """Minimum of every column, `columns_a_block` columns (a power of two) to a block.

    Paper: [L19 sec.4.7], "exchange rows and columns".  A column's threads stand side by side,
    so that they read neighbouring entries; shared memory is laid out crosswise for the halving.
    Launch: ceil(n / columns_a_block) blocks of a power of two threads.
    Reads/Writes: reads ``slack`` once; writes ``min_in_column``.
    """
    shared = cuda.shared.array(MAX_BLOCK, slack.dtype)
    thread = cuda.threadIdx.x
    slice_rows = cuda.blockDim.x // columns_a_block
    mine = thread // slice_rows
    column = cuda.blockIdx.x * columns_a_block + mine
    least = top
    if column < n:
        for row in range(thread % slice_rows, n, slice_rows):
            least = min(least, slack[column * n + row])
    shared[(thread % slice_rows) * columns_a_block + mine] = least
    block_min(shared, thread, columns_a_block)
    if thread < columns_a_block:
        column = cuda.blockIdx.x * columns_a_block + thread
        if column < n:
            min_in_column[column] = shared[thread]


@cuda.jit
def step_1_column_sub(n, slack, min_in_column, column_dual):
    """Subtract the minimum of its column, which is the column's first dual, from every slack.

    Paper: [L19 sec.4.7], last sentence.  Launch: grid-stride over the matrix.
    Reads/Writes: ``slack`` in place, only where the minimum is not zero already.
    """
    stride = cuda.gridsize(1)
    i = cuda.grid(1)
    for line in range(i, n, stride):
        column_dual[line] = min_in_column[line]
    column = i // n
    row = i - column * n
    column_step = stride // n
    row_step = stride - column_step * n
    while i < n * n:
        least = min_in_column[column]
        if least != 0:
            slack[i] = slack[i] - least
        i += stride
        column += column_step
        row += row_step
        if row >= n:
            row -= n
            column += 1


@cuda.jit
def compress_matrix(n, lines, by_row, slack, zeros, zeros_size):
    """Collect the positions of all zeros of the slack matrix into bins of `lines` lines.

    Paper: [L19 Alg.7] [L19 sec.4.6].  Launch: grid-stride over the matrix, `UNROLL` entries a
    turn.  ``by_row``: bins of rows (Appendix B's alternatives) instead of columns.
    Reads/Writes: reads ``slack`` once; appends to ``zeros`` by an atomic increment of the bin's
    size, which must be 0 at the start. Beyond the matrix's end a turn repeats its first entry,
    which makes no new zero: only positions inside are looked at again.
    Race: the atomics decide the order inside a bin, which the algorithm leaves open ("in random
    order" [L19 sec.4.1]).
    """
    stride = cuda.gridsize(1)
    total = n * n
    i = cuda.grid(1)
    while i < total:
        value0 = slack[i]
        value1 = slack[i + stride] if i + stride < total else value0
        value2 = slack[i + 2 * stride] if i + 2 * stride < total else value0
        value3 = slack[i + 3 * stride] if i + 3 * stride < total else value0
        if value0 == 0 or value1 == 0 or value2 == 0 or value3 == 0:
            for k in range(UNROLL):
                position = i + k * stride
                if position < total and slack[position] == 0:
                    line = position % n if by_row else position // n
                    bin_ = line // lines
                    slot = cuda.atomic.add(zeros_size, bin_, 1)
                    zeros[bin_ * lines * n + slot] = position
        i += UNROLL * stride


# ---------------------------------------------------------------------------------- step 6


@cuda.jit
def step_6_reduction_1(n, slack, covered_row, covered_column, top, partial):
    """Minimum of the uncovered slacks, one result a block.

    Paper: [L19 Alg.5].  Launch: a full GPU's worth of blocks of a power of two threads; each
    thread takes pairs of entries one block apart. A division takes many times an addition's time,
    so row and column are divided out once and then carried on by additions.
    Reads/Writes: reads the covers and the uncovered slacks only; writes ``partial[block]``.
    """
    shared = cuda.shared.array(MAX_BLOCK, slack.dtype)
    thread = cuda.threadIdx.x
    width = cuda.blockDim.x
    stride = 2 * width * cuda.gridDim.x
    i = 2 * width * cuda.blockIdx.x + thread
    column = i // n
    row = i - column * n
    column_step = stride // n
    row_step = stride - column_step * n
    column_pair = width // n
    row_pair = width - column_pair * n
    least = top
    while i < n * n:
        if covered_column[column] == 0 and covered_row[row] == 0:
            least = min(least, slack[i])
        if i + width < n * n:
            column2 = column + column_pair
            row2 = row + row_pair
            if row2 >= n:
                row2 -= n
                column2 += 1
            if covered_column[column2] == 0 and covered_row[row2] == 0:
                least = min(least, slack[i + width])
        i += stride
        column += column_step
        row += row_step
        if row >= n:
            row -= n
            column += 1
    shared[thread] = least
    block_min(shared, thread, 1)
    if thread == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def step_6_reduction_2(partial, top, minimum):
    """Minimum of the blocks' results.

    Paper: [L19 sec.4.6], the second kernel of the reduction.  Launch: one block.
    Reads/Writes: reads ``partial``, writes ``minimum[0]``.
    """
    shared = cuda.shared.array(MAX_BLOCK, partial.dtype)
    thread = cuda.threadIdx.x
    least = top
    for k in range(thread, partial.size, cuda.blockDim.x):
        least = min(least, partial[k])
    shared[thread] = least
    block_min(shared, thread, 1)
    if thread == 0:
        minimum[0] = shared[0]


@cuda.jit
def step_6_add_sub(
    n, slack, covered_row, covered_column, minimum, zeros_size, row_dual, column_dual
):
    """Add the minimum where both lines are covered, subtract it where neither is.

    Paper: [L19 Alg.6]; the duals change as in [L19 sec.2.2].  Launch: grid-stride over the matrix.
    Reads/Writes: touches only the slacks that change; clears ``zeros_size`` for the compression
    that follows, as in the paper.
    """
    stride = cuda.gridsize(1)
    i = cuda.grid(1)
    least = minimum[0]
    for line in range(i, n, stride):
        if line < zeros_size.size:
            zeros_size[line] = 0
        if covered_row[line] != 0:
            row_dual[line] -= least
        if covered_column[line] == 0:
            column_dual[line] += least
    column = i // n
    row = i - column * n
    column_step = stride // n
    row_step = stride - column_step * n
    while i < n * n:
        cover = covered_column[column]
        if cover == covered_row[row]:
            if cover != 0:
                slack[i] = slack[i] + least
            else:
                slack[i] = slack[i] - least
        i += stride
        column += column_step
        row += row_step
        if row >= n:
            row -= n
            column += 1


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64", "uint8")

_LINES = "int32[::1]"
SIGNATURES = {
    step_1_min_in_rows: "void(int32, int32, T[::1], T, T[::1])",
    step_1_row_sub: "void(int32, T[::1], T[::1], T[::1], D[::1])",
    step_1_max_in_rows: "void(int32, int32, T[::1], T, T[::1])",
    step_1_max_slack: "void(int32, T[::1], T[::1], T[::1], D[::1])",
    step_1_min_in_columns: "void(int32, int32, T[::1], T, T[::1])",
    step_1_column_sub: "void(int32, T[::1], T[::1], D[::1])",
    compress_matrix: f"void(int32, int32, int32, T[::1], {_LINES}, {_LINES})",
    step_6_reduction_1: f"void(int32, T[::1], {_LINES}, {_LINES}, T, T[::1])",
    step_6_reduction_2: "void(T[::1], T, T[::1])",
    step_6_add_sub: f"void(int32, T[::1], {_LINES}, {_LINES}, T[::1], {_LINES}, D[::1], D[::1])",
}
"""Types that each kernel is compiled for: T stands for each of `ELEMENT_TYPES`, D for float64
beside float64 and for int64 beside integers."""
