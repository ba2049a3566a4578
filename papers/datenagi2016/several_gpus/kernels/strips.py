"""The kernels of [DN16 sec.5] that both variants share, on a strip of the matrix. Notation in
`kernels.shared`.

A rank holds ``rows x columns`` costs, row after row: a strip of rows (classical) or of columns
(tree), ``first`` its first line in the whole. Arrays over the split lines hold the rank's own;
those over the other lines are whole, and equal on all ranks. What the root alone does, the reverse
and the augmentation pass and the classical forward pass, is done by the kernels of one GPU, on
gathered arrays.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_release_system
from papers.common.gpu.reductions import warp_min
from papers.datenagi2016.kernels.half_units import reduced_cost
from papers.datenagi2016.kernels.shared import (
    ACTIVE,
    AUGMENT,
    FLAGS,
    INACTIVE,
    MATCHES,
    REVERSE,
    SIGNALS,
    SIZES,
)

OUT = SIZES
"""Size of what this rank adds to the next frontier; in the place of `Flag.SIZES`.
`several_gpus.kernels.peers` has two, used in turn."""

ROWS, EXCHANGES, ARRIVED = FLAGS, FLAGS + 1, FLAGS + 2
"""Rows that a run has expanded and its exchanges (`several_gpus.kernels.peers`), and the blocks
that have ended their part of what the last one closes."""

MPI_FLAGS = FLAGS + 3


@cuda.jit(device=True)
def tell_host(payload, flags, signal):
    """Send the host a word (`papers.common.gpu.signals`)."""
    sequence = int64(flags[SIGNALS]) + 1
    flags[SIGNALS] = sequence
    store_release_system(signal, sequence % signal.size, (sequence << 34) | payload)


@cuda.jit(device=True)
def ends_last(flags):
    """Whether this block is the last to end; asked by one thread a block, behind its barrier."""
    cuda.threadfence()
    if cuda.atomic.add(flags, ARRIVED, 1) + 1 != cuda.gridDim.x:
        return False
    cuda.threadfence()
    flags[ARRIVED] = 0
    return True


# ---------------------------------------------------------------------------------- start


@cuda.jit
def init(rows, columns, top, column_dual, row_assignment, column_assignment, flags):
    """Nothing is assigned; the column minima begin at infinity.

    Paper: [DN16 sec.2.1].  Launch: one thread a line.
    Reads/Writes: writes the arrays, once each; keeps the sequence number of `Flag.SIGNALS`, which
    the host goes on counting.
    """
    i = cuda.grid(1)
    for k in range(i, MPI_FLAGS, cuda.gridsize(1)):
        if k != SIGNALS:
            flags[k] = 0
    if i < rows:
        row_assignment[i] = -1
    if i < columns:
        column_dual[i] = top
        column_assignment[i] = -1


@cuda.jit
def row_minima(rows, columns, top, zero, cost, row_dual):
    """The minimum of every row of the strip, in half units; infinity of an empty one.

    Paper: [DN16 Alg.1], first kernel, on C^i [DN16 sec.5] (2).  Launch: one warp a row.
    Reads/Writes: reads ``cost`` once, four loads in flight a lane; writes ``row_dual``.
    """
    row = cuda.grid(1) >> 5
    if row >= rows:
        return
    first = row * columns
    least = top
    j = cuda.threadIdx.x & 31
    while j + 96 < columns:
        a, b = cost[first + j], cost[first + j + 32]
        c, d = cost[first + j + 64], cost[first + j + 96]
        least = min(least, min(min(a, b), min(c, d)))
        j += 128
    while j < columns:
        least = min(least, cost[first + j])
        j += 32
    least = warp_min(least)
    if cuda.threadIdx.x & 31 == 0:
        row_dual[row] = reduced_cost(least, zero, zero) if least < top else top


@cuda.jit
def column_minima(rows, columns, rows_a_block, first, top, zero, cost, row_dual, column_dual):
    """The minimum of C[i, j] - D_r[i] of every column of the strip.

    Paper: [DN16 Alg.1], second kernel, on C^i [DN16 sec.5] (2).  Launch: as
    `kernels.shared.column_reduction`; row i of the strip has the dual ``row_dual[first + i]``.
    Reads/Writes: reads ``cost`` once; one atomic minimum a thread into ``column_dual``, infinity
    before.
    """
    if columns == 0:
        return
    groups = (columns + cuda.blockDim.x - 1) // cuda.blockDim.x
    j = (cuda.blockIdx.x % groups) * cuda.blockDim.x + cuda.threadIdx.x
    i = (cuda.blockIdx.x // groups) * rows_a_block
    stop = min(i + rows_a_block, rows)
    if j >= columns or i >= stop:
        return
    least = top
    while i + 3 < stop:
        a, b = cost[i * columns + j], cost[(i + 1) * columns + j]
        c, d = cost[(i + 2) * columns + j], cost[(i + 3) * columns + j]
        u = first + i
        a = min(reduced_cost(a, row_dual[u], zero), reduced_cost(b, row_dual[u + 1], zero))
        c = min(reduced_cost(c, row_dual[u + 2], zero), reduced_cost(d, row_dual[u + 3], zero))
        least = min(least, min(a, c))
        i += 4
    while i < stop:
        least = min(least, reduced_cost(cost[i * columns + j], row_dual[first + i], zero))
        i += 1
    cuda.atomic.min(column_dual, j, least)


@cuda.jit
def least_of_parts(n, parts, stride, top, gathered, minima):
    """The root: the minimum over the ranks' partial arrays, element by element.

    Paper: [DN16 sec.5] (2), "identified on the root by finding the minimum for each column".
    Launch: one thread an element.  Reads/Writes: reads ``gathered[part * stride + i]``.
    """
    i = cuda.grid(1)
    if i < n:
        least = top
        for part in range(parts):
            least = min(least, gathered[part * stride + i])
        minima[i] = least


# ---------------------------------------------------------------------------------- check


@cuda.jit(device=True)
def count_and_forget(
    rows,
    columns,
    first,
    scope,
    top,
    row_assignment,
    row_cover,
    column_cover,
    row_predecessor,
    column_predecessor,
    row_successor,
    column_successor,
    row_mark,
    column_mark,
    slack,
    flags,
):
    """The body of `optimality_check`; ends with the block's first thread having counted."""
    i = cuda.grid(1)
    if i == 0:
        flags[REVERSE] = 0
        flags[AUGMENT] = 0
    mine = 0
    if i < rows:
        assigned = 1 if row_assignment[i] != -1 else 0
        if i >= first and i < first + scope:
            mine = assigned
        row_cover[i] = assigned
        row_mark[i] = INACTIVE if assigned == 1 else ACTIVE
        row_predecessor[i] = -1
        row_successor[i] = -1
    if i < columns:
        column_cover[i] = 0
        column_mark[i] = INACTIVE
        column_predecessor[i] = -1
        column_successor[i] = -1
        slack[i] = top
    count = cuda.syncthreads_count(int32(mine))
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(flags, MATCHES, count)


@cuda.jit
def optimality_check(
    rows,
    columns,
    first,
    scope,
    top,
    row_assignment,
    row_cover,
    column_cover,
    row_predecessor,
    column_predecessor,
    row_successor,
    column_successor,
    row_mark,
    column_mark,
    slack,
    flags,
):
    """Count the assigned rows of this rank's scope, cover all, and forget the last search.

    Paper: [DN16 Alg.2] "on the rows within its scope" [DN16 sec.5] (3): ``scope`` rows from
    ``first`` on.  Launch: one thread a line, the longer side's number.
    Reads/Writes: as `kernels.shared.optimality_check`; one atomic a block into ``flags[MATCHES]``,
    zero before.
    """
    count_and_forget(
        rows, columns, first, scope, top, row_assignment, row_cover, column_cover,
        row_predecessor, column_predecessor, row_successor, column_successor, row_mark,
        column_mark, slack, flags,
    )  # fmt: skip


@cuda.jit
def optimality_check_of_all(
    rows,
    columns,
    top,
    row_assignment,
    row_cover,
    column_cover,
    row_predecessor,
    column_predecessor,
    row_successor,
    column_successor,
    row_mark,
    column_mark,
    slack,
    flags,
    signal,
):
    """Count all assigned rows, forget the last search, and tell the host.

    Paper: [DN16 Alg.2]. Every rank has the whole assignment, so that each may count all of it, and
    nothing need be reduced: used where the ranks exchange without their hosts.
    Launch: as `optimality_check`.
    Reads/Writes: as `optimality_check`; ``flags[ARRIVED]``, zero before and after, finds the last
    block, which sends the count.
    """
    count_and_forget(
        rows, columns, 0, rows, top, row_assignment, row_cover, column_cover, row_predecessor,
        column_predecessor, row_successor, column_successor, row_mark, column_mark, slack, flags,
    )  # fmt: skip
    if cuda.threadIdx.x == 0 and ends_last(flags):
        tell_host(int64(load_relaxed(flags, MATCHES)), flags, signal)


@cuda.jit(device=True)
def own_columns(i, columns, first, row_assignment, column_assignment, flags):
    """Row i's column, if it is this rank's, is assigned that row; matches are counted anew."""
    if i == 0:
        flags[MATCHES] = 0
    j = row_assignment[i] - first
    if row_assignment[i] != -1 and j >= 0 and j < columns:
        column_assignment[j] = i


@cuda.jit
def accept_assignment(n, columns, first, row_assignment, column_assignment, flags):
    """Take over the root's assignment: the columns of this rank, from the rows'.

    Paper: [DN16 sec.5] (4), "modified assignment arrays are broadcast"; the columns' array need
    not be sent, as it is the rows' one inverted.
    Launch: one thread a row.  Reads/Writes: every assigned column is written by its one row; no
    column is ever released.
    """
    i = cuda.grid(1)
    if i < n:
        own_columns(i, columns, first, row_assignment, column_assignment, flags)


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    init: f"void(int32, int32, T, T[::1], {', '.join([_LINES] * 3)})",
    row_minima: "void(int32, int32, T, T, T[::1], T[::1])",
    column_minima: "void(int32, int32, int32, int32, T, T, T[::1], T[::1], T[::1])",
    least_of_parts: "void(int32, int32, int32, T, T[::1], T[::1])",
    optimality_check: (
        f"void(int32, int32, int32, int32, T, {', '.join([_LINES] * 9)}, T[::1], {_LINES})"
    ),
    optimality_check_of_all: (
        f"void(int32, int32, T, {', '.join([_LINES] * 9)}, T[::1], {_LINES}, int64[::1])"
    ),
    accept_assignment: f"void(int32, int32, int32, {', '.join([_LINES] * 3)})",
}
"""What each kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`."""
