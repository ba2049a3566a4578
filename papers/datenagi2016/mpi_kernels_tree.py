"""The alternating tree variant on a strip of columns [DN16 sec.5] (4b). Notation in `kernels` and
`mpi_kernels`.

A level is three launches and one exchange: `expansion` lowers the slacks of this rank's columns by
the frontier's rows and collects the rows that become active, `send_frontier` closes the message,
the ranks exchange their messages, and `contraction` makes one frontier of them, the same on every
rank. A message is ``[rows, free columns, row, row ...]``: count, what `Flag.REVERSE` has come to,
the rows; room for as many rows as the rank has columns.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.primitives import store_release_system
from papers.datenagi2016 import kernels_tree as one_gpu
from papers.datenagi2016.half_units import halve
from papers.datenagi2016.kernels import (
    ACTIVE,
    INACTIVE,
    MAX_BLOCK,
    REVERSE,
    SIGNALS,
    VISITED,
)
from papers.datenagi2016.kernels_tree import append, least_of_rows, settle
from papers.datenagi2016.mpi_kernels import EPOCH, FRONTIER, OUT

HEADER = 2
"""Words of a message before its rows."""


@cuda.jit
def first_frontier(n, row_mark, frontier, flags):
    """Compress the unassigned rows into F_in; every rank knows them all.

    Paper: [DN16 sec.5] (4b), "the initial frontier consists of unassigned row vertices".
    Launch: one thread a row.  Reads/Writes: ``flags[FRONTIER]`` is zero before.
    """
    one_gpu.first_frontier(n, row_mark, frontier, flags)


@cuda.jit
def wake(n, row_mark, message, flags):
    """Put the rows that this rank's dual update woke up into its message.

    Paper: [DN16 Alg.9], the "active" predecessors; several ranks may wake one row.
    Launch: one thread a row.  Reads/Writes: counts in ``flags[OUT]``.
    """
    for start in range(0, n, cuda.gridsize(1)):
        i = start + cuda.grid(1)
        active = False
        if i < n:
            active = row_mark[i] == ACTIVE
        append(active, i, message, HEADER, flags, OUT)
        if active:
            row_mark[i] = VISITED


@cuda.jit(max_registers=64)
def expansion(
    columns,
    top,
    zero,
    cost,
    row_dual,
    column_dual,
    column_assignment,
    row_cover,
    column_cover,
    row_predecessor,
    column_predecessor,
    slack,
    row_mark,
    column_mark,
    frontier,
    message,
    frontier_reverse,
    flags,
):
    """One level of the search on this rank's columns.

    Paper: [DN16 Alg.4] [DN16 sec.5] (4b), the expansion; shared out as in
    `kernels_tree.forward_pass`, of which it is the body of a level.
    Launch: blocks of a power of two of warps.
    Reads/Writes: reads the frontier's rows of the strip and the duals; slacks, predecessors,
    covers and marks of columns, each by the one warp that holds the column; appends rows to
    ``message`` and free columns to ``frontier_reverse``.
    Race: none on columns, none on rows (a row is assigned to one column, of one rank). The row's
    predecessor is stored as a column of the strip, and once more by `contraction`.
    """
    size = flags[FRONTIER]
    if size == 0:
        return
    shared_least = cuda.shared.array(MAX_BLOCK, cost.dtype)
    shared_best = cuda.shared.array(MAX_BLOCK, int32)
    thread, warps = cuda.threadIdx.x, cuda.blockDim.x >> 5
    lane, warp = thread & 31, thread >> 5
    groups = (columns + 31) >> 5
    split = 1
    while 2 * split <= warps and 2 * split * groups <= warps * cuda.gridDim.x and split < size:
        split *= 2
    here = warps // split
    for start in range(cuda.blockIdx.x * here, groups, cuda.gridDim.x * here):
        group = start + warp // split
        part = warp % split
        j = group * 32 + lane
        uncovered = False
        least, best = top, int32(-1)
        if group < groups and j < columns and column_cover[j] == 0:
            uncovered = True
            least, best = least_of_rows(
                part, split, size, columns, j, column_dual[j], top, cost, row_dual, frontier, 0
            )
        if split > 1:
            shared_least[thread], shared_best[thread] = least, best
            cuda.syncthreads()
            if part == 0:
                for other in range(1, split):
                    value = shared_least[thread + 32 * other]
                    if value < least:
                        least, best = value, shared_best[thread + 32 * other]
            cuda.syncthreads()
        if part == 0:
            settle(
                columns, j, uncovered, least, best, zero, column_assignment, row_cover,
                column_cover, row_predecessor, column_predecessor, slack, row_mark,
                column_mark, message, HEADER, OUT, frontier_reverse, flags,
            )  # fmt: skip


@cuda.jit
def send_frontier(message, flags, tell, signal):
    """Close the message: its counts; and tell the host, if it is the host that sends it.

    Paper: [DN16 sec.5] (4b).  Launch: one thread, after `expansion` or `wake`.
    Reads/Writes: clears the sizes of both frontiers; counts the exchange.
    """
    count = flags[OUT]
    message[0] = count
    message[1] = flags[REVERSE]
    flags[OUT] = 0
    flags[FRONTIER] = 0
    flags[EPOCH] += 1
    if tell == 1:
        sequence = flags[SIGNALS] + 1
        flags[SIGNALS] = sequence
        store_release_system(signal, 0, (sequence << 34) | count)


@cuda.jit
def contraction(
    parts,
    stride,
    messages,
    row_assignment,
    row_cover,
    row_predecessor,
    row_mark,
    stamp,
    frontier,
    flags,
    sent,
    signal,
):
    """Make one frontier of the ranks' messages.

    Paper: [DN16 sec.5] (4b), the contraction, where "a global frontier is created".
    Launch: whole warps.
    Reads/Writes: reads ``messages[part * stride ...]``; the rows become visited and uncovered, and
    their own column precedes them, on every rank. ``stamp`` holds the exchange that a row last
    came with, so that of several messages that hold it one counts. With ``sent`` >= 0 the first
    thread tells the host how many rows came, and whether a free column is known.
    Race: the exchange of the stamp lets one thread append a row. The order of the frontier
    differs between the ranks; a column looks at all of it, and is one rank's.
    """
    epoch = flags[EPOCH]
    for part in range(parts):
        at = part * stride
        count = messages[at]  # once: the list may be in the host's memory
        for start in range(0, count, cuda.gridsize(1)):
            i = start + cuda.grid(1)
            fresh = False
            row = int32(-1)
            if i < count:
                row = messages[at + HEADER + i]
                if cuda.atomic.exch(stamp, row, epoch) != epoch:
                    fresh = True
                    row_cover[row] = 0
                    row_mark[row] = VISITED
                    row_predecessor[row] = row_assignment[row]
            append(fresh, row, frontier, 0, flags, FRONTIER)
    if cuda.grid(1) == 0 and sent >= 0:
        total, ends = 0, 0
        for part in range(parts):
            total += messages[part * stride]
            ends += messages[part * stride + 1]
        sequence = flags[sent] + 1
        flags[sent] = sequence
        path = 1 if ends > 0 else 0
        store_release_system(signal, 0, (sequence << 34) | (path << 33) | total)


@cuda.jit(device=True)
def predecessor_in_tree(j, column_cover, column_mark, column_predecessor):
    """Column j's predecessor, -1 if no tree has the column."""
    inside = column_cover[j] == 1 or column_mark[j] != INACTIVE
    return column_predecessor[j] if inside else int32(-1)


@cuda.jit
def predecessors_of_trees(columns, column_cover, column_mark, column_predecessor, sent):
    """What the root needs for the reverse pass: predecessors of columns in the trees, else -1.

    Paper: [DN16 sec.5], "the partial column predecessor arrays are gathered at the root node".
    Launch: one thread a column.  Reads/Writes: writes ``sent``.
    """
    j = cuda.grid(1)
    if j < columns:
        sent[j] = predecessor_in_tree(j, column_cover, column_mark, column_predecessor)


@cuda.jit(device=True)
def append_free(n, column_predecessor, column_assignment, frontier_reverse, flags):
    """The body of `free_columns`."""
    j = cuda.grid(1)
    ends = False
    if j < n:
        ends = column_predecessor[j] != -1 and column_assignment[j] == -1
    append(ends, j, frontier_reverse, 0, flags, REVERSE)


@cuda.jit
def free_columns(n, column_predecessor, column_assignment, frontier_reverse, flags):
    """The root: F_rev, the unassigned columns that a tree has reached.

    Paper: [DN16 sec.4.3.2].  Launch: one thread a column, whole warps.
    Reads/Writes: appends to ``frontier_reverse``; its size in ``flags[REVERSE]``, zero before.
    """
    append_free(n, column_predecessor, column_assignment, frontier_reverse, flags)


@cuda.jit
def dual_update(
    rows,
    columns,
    top,
    zero,
    theta,
    row_cover,
    column_cover,
    column_predecessor,
    row_dual,
    column_dual,
    slack,
    row_mark,
):
    """Move every dual by theta / 2 and every positive slack by theta.

    Paper: [DN16 Alg.9] [DN16 sec.5] (5), "on all devices": all rows, this rank's columns.
    Launch: one thread a line, the longer side's number.
    Reads/Writes: as `kernels.dual_update`, but for the flag that an update was: the host knows.
    """
    k = cuda.grid(1)
    if theta[0] >= top:
        return
    half = halve(theta[0])
    if k < rows:
        if row_cover[k] == 0:
            row_dual[k] += half
        else:
            row_dual[k] -= half
    if k < columns:
        if column_cover[k] == 0:
            column_dual[k] += half
        else:
            column_dual[k] -= half
        left = slack[k]
        if left > zero and left < top:
            left -= theta[0]
            slack[k] = left
            if left <= zero:
                row_mark[column_predecessor[k]] = ACTIVE


# ---------------------------------------------------------------------------------- types

SLACK_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    first_frontier: f"void(int32, {', '.join([_LINES] * 3)})",
    wake: f"void(int32, {', '.join([_LINES] * 3)})",
    expansion: (
        f"void(int32, T, T, T[::1], T[::1], T[::1], {', '.join([_LINES] * 5)}, T[::1], "
        f"{', '.join([_LINES] * 6)})"
    ),
    send_frontier: f"void({_LINES}, {_LINES}, int32, int64[::1])",
    contraction: f"void(int32, int32, {', '.join([_LINES] * 8)}, int32, int64[::1])",
    predecessors_of_trees: f"void(int32, {', '.join([_LINES] * 4)})",
    free_columns: f"void(int32, {', '.join([_LINES] * 4)})",
    dual_update: (
        f"void(int32, int32, T, T, T[::1], {', '.join([_LINES] * 3)}, T[::1], T[::1], T[::1], "
        f"{_LINES})"
    ),
}
"""What each kernel is compiled for; ``T`` stands for each of `SLACK_TYPES`."""
