"""The steps between two searches, for ranks whose kernels write into each other's memory.

Past the paper, which gathers and broadcasts through the hosts [DN16 sec.5]: the same steps by the
same root, but the predecessors and the assignment go through the ranks' windows
(`several_gpus.kernels.window`).

A word is ``tag << 32 | value + 1``, and who reads one looks at it until its tag is the search's:
``flags[EXCHANGES]``, which no kernel here changes, and which a search has raised on all ranks
alike. One place a word is enough, for a search is a barrier: no rank ends it before all have begun
it, and a rank begins it after it has taken the last one's assignment, the root after it has read
the last one's trees. A wait is bounded as in `several_gpus.kernels.peers`; a value that does not
come is -1.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import store_at
from papers.datenagi2016.several_gpus.kernels.peers import awaited
from papers.datenagi2016.several_gpus.kernels.strips import ARRIVED, EXCHANGES, own_columns
from papers.datenagi2016.several_gpus.kernels.tree import (
    append_free,
    empty_frontiers,
    predecessor_in_tree,
)
from papers.datenagi2016.several_gpus.kernels.window import assignment_at, trees_at


@cuda.jit(device=True)
def word_of(value, flags):
    """A value and the search that it belongs to."""
    return (int64(flags[EXCHANGES]) << 32) | (int64(value) + 1)


@cuda.jit(device=True)
def value_at(words, place, patience, flags):
    """The value at a place, once it has come; -1 if the wait was given up."""
    tag = int64(flags[EXCHANGES])
    word = awaited(words, place, 32, tag, patience, flags)
    if word >> 32 != tag:
        return int32(-1)
    return int32((word & 0xFFFFFFFF) - 1)


@cuda.jit
def clear(words):
    """Forget a window's words.

    Paper: none; print has no windows.  Launch: any grid.  Reads/Writes: ``words``, once each.
    """
    for k in range(cuda.grid(1), words.size, cuda.gridsize(1)):
        words[k] = 0


# ---------------------------------------------------------------------------------- reverse pass


@cuda.jit
def send_trees(
    columns,
    first_column,
    parts,
    stride,
    column_cover,
    column_mark,
    column_predecessor,
    addresses,
    flags,
    root_flags,
):
    """Send the predecessors of this rank's columns to the root.

    Paper: [DN16 sec.5], "the partial column predecessor arrays are gathered at the root node".
    Launch: one thread a column.  Reads/Writes: one word of the root's part for each column, -1
    outside the trees; the root's frontiers are empty again.
    """
    empty_frontiers(root_flags)
    j = cuda.grid(1)
    if j < columns:
        before = predecessor_in_tree(j, column_cover, column_mark, column_predecessor)
        place = trees_at(parts, stride) + first_column + j
        store_at(addresses[0], place, word_of(before, flags))


@cuda.jit
def free_columns(
    n, patience, trees, column_predecessor, column_assignment, frontier_reverse, flags, root_flags
):  # fmt: skip
    """The root: all predecessors, once they have come, and F_rev.

    Paper: [DN16 sec.5] [DN16 sec.4.3.2].  Launch: one thread a column, whole warps.
    Reads/Writes: as `several_gpus.kernels.tree.free_columns`, with ``root_flags``; ``flags`` has
    the tag. Race: a block waits for other ranks alone, which wait for none of the root's: so blocks
    that are not resident at once do no harm.
    """
    j = cuda.grid(1)
    if j < n:
        column_predecessor[j] = value_at(trees, j, patience, flags)
    append_free(n, column_predecessor, column_assignment, frontier_reverse, root_flags)


# ---------------------------------------------------------------------------------- augmentation


@cuda.jit
def send_assignment(n, parts, stride, row_assignment, addresses, flags):
    """The root: send the assignment to all ranks, itself among them.

    Paper: [DN16 sec.5] (4), "modified assignment arrays are broadcast".  Launch: one thread a row.
    Reads/Writes: one word of every part for each row.
    """
    i = cuda.grid(1)
    if i < n:
        word = word_of(row_assignment[i], flags)
        for other in range(parts):
            store_at(addresses[other], assignment_at(parts, stride) + i, word)


@cuda.jit
def take_assignment(
    n, columns, first_column, patience, assignment, row_assignment, column_assignment, flags
):
    """Take over the root's assignment, once it has come.

    Paper: as `several_gpus.kernels.strips.accept_assignment`.  Launch: one thread a row.
    Reads/Writes: ``row_assignment``, and as `several_gpus.kernels.strips.accept_assignment`; blocks
    that have arrived are counted anew. Race: as in `free_columns`, for the root.
    """
    i = cuda.grid(1)
    if i == 0:
        flags[ARRIVED] = 0
    if i < n:
        row_assignment[i] = value_at(assignment, i, patience, flags)
        own_columns(i, columns, first_column, row_assignment, column_assignment, flags)


# ---------------------------------------------------------------------------------- types

_LINES = "int32[::1]"
_WORDS = "int64[::1]"
SIGNATURES = {
    clear: f"void({_WORDS})",
    send_trees: (
        f"void({', '.join(['int32'] * 4)}, {', '.join([_LINES] * 3)}, {_WORDS}, {_LINES}, {_LINES})"
    ),
    free_columns: f"void(int32, int32, {_WORDS}, {', '.join([_LINES] * 5)})",
    send_assignment: f"void(int32, int32, int32, {_LINES}, {_WORDS}, {_LINES})",
    take_assignment: f"void(int32, int32, int32, int32, {_WORDS}, {', '.join([_LINES] * 3)})",
}
"""The types that each kernel is compiled for."""
