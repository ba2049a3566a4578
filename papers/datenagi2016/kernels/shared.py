"""The kernels of [DN16 sec.4] that both variants share, one a step, named after it.

`kernels.classical` and `kernels.tree` hold the steps that differ: the forward pass and the dual
update. A kernel that takes ``rows``, ``columns`` and ``first`` works on a strip of the matrix that
begins at row ``first``; one GPU has the whole, ``n``, ``n`` and 0 (`several_gpus`). Arrays that go
together come in the named tuples of `kernels.arguments`: ``covers.row`` is ``row_cover``. The
notation of all three modules [DN16 sec.2.1]:

==================  =======================  ===================================================
paper               array                    dtype, shape
==================  =======================  ===================================================
C                   cost                     int32/int64/float64 [n * n], row-major; not changed
A_r, A_c            row/column_assignment    int32 [n], -1: none
V_r, V_c            row/column_cover         int32 [n], 0 or 1
D_r, D_c            row/column_dual          as cost [n], in half units (`half_units`)
slack               slack                    as cost [n], in half units; classical: array U
P_r, P_c            row/column_predecessor   int32 [n], -1: none
S_r, S_c            row/column_successor     int32 [n], -1: none
Z and its pointers  adjacency, pointers      int32 [n * n] and [n + 1], CSR (classical)
R and its sums      counts; staged           int32 [n], edges a row; the first few of each row
F_in, F_out         frontier_in/_out         int32 [n] (classical)
F_in, next F_in     frontier                 int32 [2 n], by turns (tree)
F_rev, F_aug        frontier_reverse/        int32 [n]; their sizes stand in ``flags``
                    _augment
"active", ...       row_mark, column_mark    int32 [n], see `Mark`
theta               theta                    as cost [1], in half units
match_count, ...    flags                    int32 [FLAGS], see `Flag`
==================  =======================  ===================================================

Index arithmetic: Numba makes ``int32 * int32`` an int64, which positions in the matrix need.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.memory_order import store_release_system
from papers.common.gpu.reductions import block_min, warp_min
from papers.datenagi2016.kernels.arguments import (
    Assignments,
    Covers,
    Duals,
    Limits,
    Lines,
    Marks,
    Predecessors,
    Scope,
    Successors,
)
from papers.datenagi2016.kernels.half_units import halve, reduced_cost


class Flag:
    """Indices into ``flags``."""

    MATCHES = 0
    """match_count: assigned rows, counted by the optimality check."""
    REVERSE = 1
    """Size of F_rev."""
    AUGMENT = 2
    """Size of F_aug."""
    UPDATED = 3
    """A dual update was made and no forward pass since."""
    LEVELS = 4
    """BFS levels of all forward passes of a run."""
    SIGNALS = 5
    """Words sent to the host."""
    SIZES = 6
    """Three sizes of frontiers, used in turn by the tree variant's forward pass."""


FLAGS = 9
MATCHES, REVERSE, AUGMENT = Flag.MATCHES, Flag.REVERSE, Flag.AUGMENT
UPDATED, LEVELS, SIGNALS, SIZES = Flag.UPDATED, Flag.LEVELS, Flag.SIGNALS, Flag.SIZES


class Mark:
    """Values of ``row_mark`` and ``column_mark``, by the paper's words."""

    INACTIVE = 0
    ACTIVE = 1
    VISITED = 2
    TO_REVERSE = 3
    TO_AUGMENT = 4


INACTIVE, ACTIVE, VISITED = Mark.INACTIVE, Mark.ACTIVE, Mark.VISITED
TO_REVERSE, TO_AUGMENT = Mark.TO_REVERSE, Mark.TO_AUGMENT

MAX_BLOCK = 1024
"""Threads a block at most; sizes the shared arrays."""

# ---------------------------------------------------------------------------------- start


@cuda.jit
def init(n, columns, top, column_dual, row_assignment, column_assignment, flags):
    """Nothing is assigned; the column minima begin at infinity.

    Paper: [DN16 sec.2.1], the sentinel -1.  Launch: one thread a line.
    Reads/Writes: writes the four arrays, once each; keeps the host's sequence number.
    """
    i = cuda.grid(1)
    for k in range(i, flags.size, cuda.gridsize(1)):
        if k != SIGNALS:
            flags[k] = 0
    if i < n:
        row_assignment[i] = -1
    if i < columns:
        column_dual[i] = top
        column_assignment[i] = -1


@cuda.jit
def row_reduction(rows, columns, top, zero, cost, row_dual):
    """D_r[i] = the minimum of row i; infinity of a row without columns.

    Paper: [DN16 Alg.1] [DN16 sec.4.1], first kernel; on C^i [DN16 sec.5] (2).  Launch: one warp a
    row (the paper: one thread), so that its reads are consecutive.
    Reads/Writes: reads ``cost`` once, four loads in flight a lane; writes ``row_dual``.
    """
    row = cuda.grid(1) >> 5
    if row >= rows:
        return
    at = row * columns
    least = top
    j = cuda.threadIdx.x & 31
    while j + 96 < columns:
        a, b = cost[at + j], cost[at + j + 32]
        c, d = cost[at + j + 64], cost[at + j + 96]
        least = min(least, min(min(a, b), min(c, d)))
        j += 128
    while j < columns:
        least = min(least, cost[at + j])
        j += 32
    least = warp_min(least)
    if cuda.threadIdx.x & 31 == 0:
        row_dual[row] = reduced_cost(least, zero, zero) if least < top else top


@cuda.jit
def column_reduction(rows, columns, first, rows_a_block, top, zero, cost, row_dual, column_dual):
    """D_c[j] = the minimum of C[i, j] - D_r[i] over the rows.

    Paper: [DN16 Alg.1] [DN16 sec.4.1], second kernel; on C^i [DN16 sec.5] (2).  Launch: one thread
    a column and slice of ``rows_a_block`` rows, ceil(columns / block) * ceil(rows / rows_a_block)
    blocks (the paper: one thread a column; too few for a wide GPU).
    Reads/Writes: reads ``cost`` once, ``row_dual``; one atomic minimum a thread into
    ``column_dual``, which `init` has set to infinity.
    """
    groups = (columns + cuda.blockDim.x - 1) // cuda.blockDim.x
    if groups == 0:
        return
    j = (cuda.blockIdx.x % groups) * cuda.blockDim.x + cuda.threadIdx.x
    i = (cuda.blockIdx.x // groups) * rows_a_block
    stop = min(i + rows_a_block, rows)
    if j >= columns or i >= stop:
        return
    least = top
    duals = row_dual[first:]  # of the strip's rows: no offset is added in the loop
    while i + 3 < stop:
        a, b = cost[i * columns + j], cost[(i + 1) * columns + j]
        c, d = cost[(i + 2) * columns + j], cost[(i + 3) * columns + j]
        a = min(reduced_cost(a, duals[i], zero), reduced_cost(b, duals[i + 1], zero))
        c = min(reduced_cost(c, duals[i + 2], zero), reduced_cost(d, duals[i + 3], zero))
        least = min(least, min(a, c))
        i += 4
    while i < stop:
        least = min(least, reduced_cost(cost[i * columns + j], duals[i], zero))
        i += 1
    cuda.atomic.min(column_dual, j, least)


# ---------------------------------------------------------------------------------- check


@cuda.jit(device=True)
def count_and_forget(
    lines, scope, top, row_assignment, covers, predecessors, successors, marks, slack, flags
):
    """The body of `optimality_check`; ends with the block's first thread having counted."""
    i = cuda.grid(1)
    if i == 0:
        flags[REVERSE] = 0
        flags[AUGMENT] = 0
    mine = 0
    if i < lines.n:
        assigned = 1 if row_assignment[i] != -1 else 0
        if i >= scope.first and i < scope.first + scope.rows:
            mine = assigned
        covers.row[i] = assigned
        marks.row[i] = INACTIVE if assigned == 1 else ACTIVE
        predecessors.row[i] = -1
        successors.row[i] = -1
    if i < lines.columns:
        covers.column[i] = 0
        marks.column[i] = INACTIVE
        predecessors.column[i] = -1
        successors.column[i] = -1
        slack[i] = top
    count = cuda.syncthreads_count(int32(mine))
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(flags, MATCHES, count)


@cuda.jit
def optimality_check(
    lines, scope, top, row_assignment, covers, predecessors, successors, marks, slack, flags
):
    """Count the assigned rows within the scope, cover all, forget the last search.

    Paper: [DN16 Alg.2] [DN16 sec.4.2], "on the rows within its scope" [DN16 sec.5] (3); the
    unassigned rows are marked "active", all else "inactive" [DN16 sec.4.3.1], and the slacks are
    reset to infinity.
    Launch: one thread a line, the longer side's number.
    Reads/Writes: reads ``row_assignment``, writes the other arrays, once each; adds to
    ``flags[MATCHES]`` (zero before: `init`, `augmentation`), one atomic a block.
    """
    count_and_forget(
        lines, scope, top, row_assignment, covers, predecessors, successors, marks, slack, flags
    )


# ---------------------------------------------------------------------------------- forward pass


@cuda.jit(device=True)
def send_signal(found, flags, signal):
    """Tell the host the outcome of a forward pass, in one 64-bit store of its last thread.

    match_count, whether there is a path (reverse pass next, or dual update), and whether a dual
    update was followed by a pass that reached nothing new, which with integers would repeat for
    ever.
    `papers.datenagi2016.host.Signal` unpacks it.
    """
    path = 1 if flags[REVERSE] > 0 else 0
    stuck = 1 if flags[UPDATED] == 1 and found == 0 else 0
    flags[UPDATED] = 0
    sequence = flags[SIGNALS] + 1
    flags[SIGNALS] = sequence
    word = (sequence << 34) | (stuck << 33) | (path << 32) | flags[MATCHES]
    store_release_system(signal, 0, word)


# ---------------------------------------------------------------------------------- reverse pass


@cuda.jit
def reverse_pass(n, frontier_reverse, predecessors, successors, row_mark, frontier_augment, flags):
    """From every free column walk back to the root and note the way in the successor arrays.

    Paper: [DN16 Alg.5] [DN16 sec.4.3.2].  Launch: one thread an element of F_rev, at most as
    many as columns; its size stands in ``flags``.
    Reads/Writes: reads predecessors, writes successors; appends the root to F_aug.
    Race: two threads of one tree meet at a row and store different successors; one word, the
    last store wins. Above that row both walk the same way and store the same words. So from the
    root on the successors name one path [DN16 Prop.2]; the loser's words below are on no path.
    The exchange lets one of the two append the root.
    """
    k = cuda.grid(1)
    if k >= flags[REVERSE]:
        return
    row = int32(-1)
    column = frontier_reverse[k]
    for _ in range(n):  # a path visits a column once
        successors.column[column] = row
        row = predecessors.column[column]
        successors.row[row] = column
        column = predecessors.row[row]
        if column == -1:
            break
    if cuda.atomic.exch(row_mark, row, TO_AUGMENT) != TO_AUGMENT:
        frontier_augment[cuda.atomic.add(flags, AUGMENT, 1)] = row


# ---------------------------------------------------------------------------------- augmentation


@cuda.jit
def augmentation(n, frontier_augment, successors, assignments, flags):
    """From every root follow the successors and swap assigned and unassigned edges.

    Paper: [DN16 Alg.6] [DN16 sec.4.3.3].  Launch: one thread an element of F_aug, n at most.
    Reads/Writes: reads successors, writes assignments.
    Race: none, the paths share no line [DN16 Prop.1] [DN16 Prop.2].
    """
    k = cuda.grid(1)
    if k == 0:
        flags[MATCHES] = 0
    if k >= flags[AUGMENT]:
        return
    row = frontier_augment[k]
    for _ in range(n):  # a path visits a row once
        column = successors.row[row]
        assignments.row[row] = column
        assignments.column[column] = row
        row = successors.column[column]
        if row == -1:
            break


# ---------------------------------------------------------------------------------- dual update


@cuda.jit
def minimum(n, top, zero, values, theta):
    """Theta = the smallest positive value.

    Paper: [DN16 sec.4.4], "a simple O(n) reduction" of the slacks (tree); the loop of thread 0 in
    [DN16 Alg.7] over U (classical).  Launch: one block, a power of two threads.
    Reads/Writes: reads ``values``, writes ``theta[0]``.
    """
    shared = cuda.shared.array(MAX_BLOCK, values.dtype)
    thread = cuda.threadIdx.x
    least = top
    for k in range(thread, n, cuda.blockDim.x):
        value = values[k]
        if value > zero:
            least = min(least, value)
    shared[thread] = least
    block_min(shared, thread, 1)
    if thread == 0:
        theta[0] = shared[0]


@cuda.jit(device=True)
def shift_dual(k, half, cover, dual):
    """Move the dual of line k by theta / 2, up where it is uncovered, down where it is covered."""
    if cover[k] == 0:
        dual[k] += half
    else:
        dual[k] -= half


@cuda.jit
def dual_update_stage_2(lines, top, theta, covers, duals, flags):
    """Move every dual by theta / 2: at least one new edge has no slack (classical).

    Paper: [DN16 Alg.8] [DN16 sec.4.4].  Launch: one thread a line, the longer side's number.
    Reads/Writes: reads covers and theta, changes the duals, each by one thread.
    """
    k = cuda.grid(1)
    if k == 0:
        flags[UPDATED] = 1
    if theta[0] < top:
        half = halve(theta[0])
        if k < lines.n:
            shift_dual(k, half, covers.row, duals.row)
        if k < lines.columns:
            shift_dual(k, half, covers.column, duals.column)


@cuda.jit
def dual_update(lines, limits, theta, covers, column_predecessor, duals, slack, row_mark, flags):
    """Move every dual by theta / 2 and every positive slack by theta (tree).

    Paper: [DN16 Alg.9] [DN16 sec.4.4]; "on all devices" [DN16 sec.5] (5). The predecessor of a
    column whose slack is used up becomes active again.  Launch: one thread a line, the longer
    side's number.
    Reads/Writes: reads covers, predecessors and theta; changes duals and slacks, each by one
    thread; ``row_mark`` by several, all with the same value.
    """
    k = cuda.grid(1)
    if k == 0:
        flags[UPDATED] = 1
    if theta[0] >= limits.top:
        return
    half = halve(theta[0])
    if k < lines.n:
        shift_dual(k, half, covers.row, duals.row)
    if k < lines.columns:
        shift_dual(k, half, covers.column, duals.column)
        left = slack[k]
        if left > limits.zero and left < limits.top:
            left -= theta[0]
            slack[k] = left
            if left <= limits.zero:
                row_mark[column_predecessor[k]] = ACTIVE


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    init: f"void(int32, int32, T, T[::1], {', '.join([_LINES] * 3)})",
    row_reduction: "void(int32, int32, T, T, T[::1], T[::1])",
    column_reduction: "void(int32, int32, int32, int32, T, T, T[::1], T[::1], T[::1])",
    optimality_check: (
        Lines, Scope, "T", _LINES, Covers, Predecessors, Successors, Marks, "T[::1]", _LINES,
    ),
    reverse_pass: ("int32", _LINES, Predecessors, Successors, _LINES, _LINES, _LINES),
    augmentation: ("int32", _LINES, Successors, Assignments, _LINES),
    minimum: "void(int32, T, T, T[::1], T[::1])",
    dual_update_stage_2: (Lines, "T", "T[::1]", Covers, Duals, _LINES),
    dual_update: (Lines, Limits, "T[::1]", Covers, _LINES, Duals, "T[::1]", _LINES, _LINES),
}  # fmt: skip
"""The types that each kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`."""
