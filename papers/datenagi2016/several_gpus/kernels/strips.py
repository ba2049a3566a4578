"""The kernels of [DN16 sec.5] that both variants need besides those of one GPU. Notation in
`kernels.shared`.

A rank holds ``rows x columns`` costs, row after row: a strip of rows (classical) or of columns
(tree), ``first`` its first row in the whole. Arrays over the split lines hold the rank's own; those
over the other lines are whole, and equal on all ranks. So the kernels of one GPU, which take a
shape and an offset, serve a rank: the reductions, the check, compression, stage 1 and the dual
update on its strip, and on the root the reverse and the augmentation pass and the classical forward
pass, on gathered arrays.
"""

from __future__ import annotations

from numba import cuda, int64

from papers.common.gpu.memory_order import load_relaxed, store_release_system
from papers.datenagi2016.kernels.arguments import (
    Covers,
    Lines,
    Marks,
    Predecessors,
    Scope,
    Successors,
)
from papers.datenagi2016.kernels.shared import FLAGS, MATCHES, SIGNALS, SIZES, count_and_forget

OUT = SIZES
"""Rows that this rank adds to the next frontier; in the place of `Flag.SIZES`.
`several_gpus.kernels.peers` has two, used in turn."""

ROWS, EXCHANGES, ARRIVED, GAVE_UP = FLAGS, FLAGS + 1, FLAGS + 2, FLAGS + 3
"""Counters in ``flags`` beyond `Flag`: rows that a run has expanded and its exchanges
(`several_gpus.kernels.peers`); blocks that have ended their part, the last of which closes it;
and whether a wait for another rank has ended without its word."""

MPI_FLAGS = FLAGS + 4

GIVEN_UP = (1 << 34) - 1
"""The payload that tells the host of `GAVE_UP`; no count is as large."""


@cuda.jit(device=True)
def tell_host(payload, flags, signal):
    """Send the host a word (`papers.common.gpu.signals`)."""
    sequence = int64(flags[SIGNALS]) + 1
    flags[SIGNALS] = sequence
    store_release_system(signal, sequence % signal.size, (sequence << 34) | payload)


@cuda.jit(device=True)
def unless_given_up(payload, flags):
    """The payload, or `GIVEN_UP` if a wait has ended without another rank's word in this run."""
    if load_relaxed(flags, GAVE_UP) != 0:
        return int64(GIVEN_UP)
    return int64(payload)


@cuda.jit(device=True)
def ends_last(flags):
    """Return whether this block is the last to end; for one thread a block, behind its barrier."""
    cuda.threadfence()
    if cuda.atomic.add(flags, ARRIVED, 1) + 1 != cuda.gridDim.x:
        return False
    cuda.threadfence()
    flags[ARRIVED] = 0
    return True


# ---------------------------------------------------------------------------------- start


@cuda.jit
def take_columns(n, columns, first_column, whole, cost):
    """Copy a rank's columns out of a matrix that its device memory holds whole.

    Paper: [DN16 sec.5] (1).  Launch: a block a row, in turn; its threads pass along the row.
    Reads/Writes: writes ``cost``, each entry once.
    """
    for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, columns, cuda.blockDim.x):
            cost[i * columns + j] = whole[i * n + first_column + j]


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


@cuda.jit
def optimality_check_of_all(
    lines, top, row_assignment, covers, predecessors, successors, marks, slack, flags, signal
):
    """Count all assigned rows, forget the last search, and tell the host.

    Paper: [DN16 Alg.2]. Every rank has the whole assignment, so that each may count all of it, and
    nothing need be reduced: used where the ranks exchange without their hosts.
    Launch: as `kernels.shared.optimality_check`.
    Reads/Writes: as `kernels.shared.optimality_check`; ``flags[ARRIVED]``, zero before and after,
    finds the last block, which sends the count.
    """
    all_rows = Scope(0, lines.n)
    count_and_forget(
        lines, all_rows, top, row_assignment, covers, predecessors, successors, marks, slack, flags
    )
    if cuda.threadIdx.x == 0 and ends_last(flags):
        count = unless_given_up(load_relaxed(flags, MATCHES), flags)
        tell_host(count, flags, signal)


@cuda.jit(device=True)
def own_columns(i, columns, first_column, row_assignment, column_assignment, flags):
    """Row i's column, if it is this rank's, is assigned that row; matches are counted anew."""
    if i == 0:
        flags[MATCHES] = 0
    j = row_assignment[i] - first_column
    if row_assignment[i] != -1 and j >= 0 and j < columns:
        column_assignment[j] = i


@cuda.jit
def accept_assignment(n, columns, first_column, row_assignment, column_assignment, flags):
    """Take over the root's assignment: the columns of this rank, from the rows'.

    Paper: [DN16 sec.5] (4), "modified assignment arrays are broadcast"; the columns' array need
    not be sent, as it is the rows' one inverted.
    Launch: one thread a row.  Reads/Writes: every assigned column is written by its one row; no
    column is ever released.
    """
    i = cuda.grid(1)
    if i < n:
        own_columns(i, columns, first_column, row_assignment, column_assignment, flags)


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    take_columns: f"void(int32, int32, int32, {_LINES}, {_LINES})",
    least_of_parts: "void(int32, int32, int32, T, T[::1], T[::1])",
    optimality_check_of_all: (
        Lines, "T", _LINES, Covers, Predecessors, Successors, Marks, "T[::1]", _LINES, "int64[::1]",
    ),
    accept_assignment: f"void(int32, int32, int32, {', '.join([_LINES] * 3)})",
}  # fmt: skip
"""The types that each kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`."""
