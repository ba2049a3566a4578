"""The alternating tree variant on a strip of columns [DN16 sec.5] (4b), through messages. Notation
in `kernels.shared` and `several_gpus.kernels.strips`.

A level is one launch and one exchange: `search_level` takes the rows that the last exchange has
brought for the frontier (the contraction), lowers the slacks of this rank's columns by them, and
leaves the rows that become active as this rank's message (the expansion). A message is ``[rows,
free columns, row, row ...]``: a count, the value of `Flag.REVERSE`, the rows; it has room for as
many rows as the rank has columns, or as it wakes.

The search begins with an exchange, too: every rank sends its share of the unassigned rows, or those
that its dual update woke.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed
from papers.datenagi2016.kernels.arguments import (
    Assignments,
    Forest,
    Limits,
    Matrix,
    Messages,
    Split,
)
from papers.datenagi2016.kernels.shared import (
    ACTIVE,
    AUGMENT,
    INACTIVE,
    MAX_BLOCK,
    REVERSE,
    TO_REVERSE,
    VISITED,
)
from papers.datenagi2016.kernels.tree import append, least_of_rows, least_of_shares, shares_of
from papers.datenagi2016.several_gpus.kernels.strips import OUT, ends_last, tell_host

HEADER = 2
"""Words of a message before its rows."""

NOTHING, WHAT_CAME, WHAT_GOES = 0, 1, 2
"""The word of a kernel to the host: none, the rows that it was brought, or those that it sends."""


# ---------------------------------------------------------------------------------- messages


@cuda.jit(device=True)
def rows_and_path(rows, path):
    """Pack a word to the host: how many rows, and whether a free column is known."""
    if path:
        rows |= int64(1) << 33
    return rows


@cuda.jit(device=True)
def close_message(message, flags, tell, signal):
    """The last block to end writes the message's header, and clears its counter."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and ends_last(flags):
        count = cuda.atomic.exch(flags, OUT, 0)
        ends = load_relaxed(flags, REVERSE)
        message[0] = count
        message[1] = ends
        if tell == WHAT_GOES:
            tell_host(rows_and_path(int64(count), ends > 0), flags, signal)


@cuda.jit
def send_rows(first, last, row_mark, message, flags, tell, signal):
    """Make this rank's message before the first level: the active rows in ``first .. last``.

    Paper: [DN16 sec.5] (4b), "the initial frontier consists of unassigned row vertices"; and
    [DN16 Alg.9], the "active" predecessors, of which several ranks may wake one.
    Launch: whole warps.
    Reads/Writes: reads marks; writes ``message``, in the host's memory if the host sends it.
    """
    for start in range(first, last, cuda.gridsize(1)):
        i = start + cuda.grid(1)
        active = False
        if i < last:
            active = row_mark[i] == ACTIVE
        append(active, i, message, HEADER, flags, OUT)
    close_message(message, flags, tell, signal)


@cuda.jit
def copy_message(source, target):
    """Copy the rows that all ranks have sent, as one message, from the host's memory.

    Paper: none; MPI leaves the rows there.  Launch: few blocks, for each read crosses the bus.
    Reads/Writes: reads ``source``, writes ``target``: the header, and as many rows as it counts.
    """
    for k in range(cuda.grid(1), HEADER + source[0], cuda.gridsize(1)):
        target[k] = source[k]


# ---------------------------------------------------------------------------------- a level


@cuda.jit(device=True)
def arrive(row, row_assignment, forest):
    """A row of the frontier is visited and uncovered; its own column precedes it."""
    forest.marks.row[row] = VISITED
    forest.covers.row[row] = 0
    forest.predecessors.row[row] = row_assignment[row]


@cuda.jit(device=True)
def lower_slack(j, least, best, zero, column_assignment, forest):
    """Lower column j's slack; if none is left, take the column into the tree.

    Paper: [DN16 Alg.4], its second half.

    Returns
    -------
    grows, ends : bool
        Whether the column brings a row, and whether it is a free one, met for the first time.
    row : int32
    """
    grows, ends = False, False
    row = int32(-1)
    left = forest.slack[j]
    if least < left:
        left = least
        forest.slack[j] = least
        forest.predecessors.column[j] = best
    if left <= zero:
        row = column_assignment[j]
        if row != -1:
            grows = True
            forest.covers.column[j] = 1
        elif forest.marks.column[j] == INACTIVE:
            ends = True
            forest.marks.column[j] = TO_REVERSE
    return grows, ends, row


@cuda.jit(max_registers=64)
def search_level(
    split, limits, matrix, assignments, forest, messages, frontier_reverse, flags, tell, signal
):
    """One level of the search on this rank's columns.

    Paper: [DN16 Alg.4] [DN16 sec.5] (4b); the columns are shared out as in
    `kernels.tree.forward_pass`.  Launch: blocks of a power of two of warps.
    Reads/Writes: reads the messages ``came[part * stride ...]``, the frontier's rows of the strip
    and the duals; slacks, predecessors, covers and marks of columns, each by the one warp that
    holds the column; appends rows to the message that goes and free columns to
    ``frontier_reverse``. Rows that came become visited and uncovered on every rank. Where the
    device sends the messages, the host hears at once how many rows came.
    Race: none on columns; a row comes once, but for those that several ranks woke, which are
    written alike.
    """
    shared_least = cuda.shared.array(MAX_BLOCK, matrix.cost.dtype)
    shared_best = cuda.shared.array(MAX_BLOCK, int32)
    parts, stride, columns = split.parts, split.stride, split.columns
    came, goes = messages.came, messages.goes
    thread, warps = cuda.threadIdx.x, cuda.blockDim.x >> 5
    lane, warp = thread & 31, thread >> 5
    groups = (columns + 31) >> 5
    size, ends = int64(0), int64(0)
    for part in range(parts):
        size += came[part * stride]
        ends += came[part * stride + 1]
    if cuda.grid(1) == 0 and tell == WHAT_CAME:
        tell_host(rows_and_path(size, ends > 0), flags, signal)
    for part in range(parts):
        at = part * stride
        for k in range(cuda.gridsize(1) - 1 - cuda.grid(1), came[at], cuda.gridsize(1)):
            arrive(came[at + HEADER + k], assignments.row, forest)
    shares = shares_of(size, groups, warps)
    here = warps // shares
    stop = groups if size > 0 else 0
    for start in range(cuda.blockIdx.x * here, stop, cuda.gridDim.x * here):
        group = start + warp // shares
        share = warp % shares
        j = group * 32 + lane
        uncovered = False
        if group < groups and j < columns:
            uncovered = forest.covers.column[j] == 0
        least, best = limits.top, int32(-1)
        if uncovered:
            v = matrix.duals.column[j]
            for part in range(parts):  # each begins with another share: most are short
                at = part * stride
                value, row = least_of_rows(
                    (share + part) % shares, shares, came[at], columns, j, v, limits.top, matrix,
                    came, at + HEADER,
                )  # fmt: skip
                if value < least:
                    least, best = value, row
        least, best = least_of_shares(share, shares, least, best, shared_least, shared_best)
        if share == 0:
            grows, free, row = False, False, int32(-1)
            if uncovered:
                grows, free, row = lower_slack(
                    j, least, best, limits.zero, assignments.column, forest
                )
            append(grows, row, goes, HEADER, flags, OUT)
            append(free, j, frontier_reverse, 0, flags, REVERSE)
    close_message(goes, flags, tell, signal)


# ---------------------------------------------------------------------------------- reverse pass


@cuda.jit(device=True)
def predecessor_in_tree(j, column_cover, column_mark, column_predecessor):
    """Column j's predecessor, -1 if no tree has the column."""
    inside = column_cover[j] == 1 or column_mark[j] != INACTIVE
    return column_predecessor[j] if inside else int32(-1)


@cuda.jit(device=True)
def empty_frontiers(root_flags):
    """F_rev and F_aug of the root's hold nothing."""
    if cuda.grid(1) == 0:
        root_flags[REVERSE] = 0
        root_flags[AUGMENT] = 0


@cuda.jit
def predecessors_of_trees(
    columns, column_cover, column_mark, column_predecessor, sent, root_flags
):  # fmt: skip
    """Make this rank's part of the predecessors: those of columns in the trees, else -1.

    Paper: [DN16 sec.5], "the partial column predecessor arrays are gathered at the root node".
    Launch: one thread a column.  Reads/Writes: writes ``sent``; empties the root's frontiers.
    """
    empty_frontiers(root_flags)
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


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    send_rows: f"void(int32, int32, {', '.join([_LINES] * 3)}, int32, int64[::1])",
    copy_message: f"void({_LINES}, {_LINES})",
    search_level: (
        Split, Limits, Matrix, Assignments, Forest, Messages, _LINES, _LINES, "int32", "int64[::1]",
    ),
    predecessors_of_trees: f"void(int32, {', '.join([_LINES] * 5)})",
    free_columns: f"void(int32, {', '.join([_LINES] * 4)})",
}  # fmt: skip
"""The types that each kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`."""
