"""INITBFSARRAY, GPUBFS and GPUBFS-WR: the search from all free columns [D13 Alg.2] [D13 Alg.4].

The arrays, and three facts about a BFS on which the arguments about races rest, are in
`kernels.notation`; the named tuples of arrays are in `kernels.arguments`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed, store_release_system
from papers.deveci_matching.configuration import LOADS
from papers.deveci_matching.kernels.arguments import Columns, Words
from papers.deveci_matching.kernels.notation import (
    END,
    FOUND,
    FOUND_BIT,
    FREE,
    INSERTED,
    INSERTED_BIT,
    L0,
    LEVEL,
    SIGNALS,
    STUCK,
    STUCK_BIT,
)

SCAN = LOADS
"""Entries of ``bfs_array`` that a thread asks for at a time, in our configuration."""

COUNT_BITS = 20
"""Bits of a count in ``tally``; a grid has fewer than ``2**COUNT_BITS`` blocks."""

# ---------------------------------------------------------------------------------- start


@cuda.jit
def restore_start(nr, nc, rmatch_start, cmatch_start, rmatch, cmatch, flags, tally):
    """Begin a run: copy the prior matching into the match arrays.

    Paper: [D13 Alg.1], its input.  Launch: any grid.
    Reads/Writes: copies the two start arrays, once each; clears the flags except the host's: its
    sequence number, and those that it clears before a launch. No race.
    """
    for row_vertex in range(cuda.grid(1), nr, cuda.gridsize(1)):
        rmatch[row_vertex] = rmatch_start[row_vertex]
    for col_vertex in range(cuda.grid(1), nc, cuda.gridsize(1)):
        cmatch[col_vertex] = cmatch_start[col_vertex]
    if cuda.grid(1) == 0:
        flags[LEVEL] = L0
        flags[STUCK] = 0
        tally[0] = 0


@cuda.jit
def init_bfs_array(nc, cmatch, bfs_array, flags):
    """INITBFSARRAY: free columns form the first level, and no other column is reached yet.

    Paper: [D13 sec.3] [D13 Alg.1], lines 3 and 4.  Launch: any grid.
    Reads/Writes: reads ``cmatch``, writes ``bfs_array``, the first bfs_level. No race.
    """
    for col_vertex in range(cuda.grid(1), nc, cuda.gridsize(1)):
        bfs_array[col_vertex] = L0 if cmatch[col_vertex] == FREE else L0 - 1
    if cuda.grid(1) == 0:
        flags[LEVEL] = L0


@cuda.jit
def init_bfs_array_wr(nc, cmatch, bfs_array, root, flags):
    """INITBFSARRAY for the variants with roots: a free column is its own root.

    Paper: [D13 sec.3].  Launch: any grid.
    Reads/Writes: as `init_bfs_array`; writes ``root``, which is 0 for matched columns as in the
    paper (this 0 is never read, because a column's root is written when the column is reached). No
    race.
    """
    for col_vertex in range(cuda.grid(1), nc, cuda.gridsize(1)):
        if cmatch[col_vertex] == FREE:
            bfs_array[col_vertex] = L0
            root[col_vertex] = col_vertex
        else:
            bfs_array[col_vertex] = L0 - 1
            root[col_vertex] = 0
    if cuda.grid(1) == 0:
        flags[LEVEL] = L0


# ---------------------------------------------------------------------------------- BFS


@cuda.jit(device=True)
def columns_at(bfs_level, first, nc, bfs_array):
    """Find which of a thread's next `SCAN` columns are at bfs_level: bit k stands for the k-th.

    Paper: [D13 Alg.2], lines 2 to 4, for several turns of the loop; ``first`` is the next
    col_vertex. The loads do not depend on each other, so all are in flight at once: with 65,536
    threads, one load at a time leaves most of the memory bandwidth unused. Beyond the last column
    the last one is read again, so that there is no branch between the loads.

    An entry cannot become or cease to be bfs_level during the launch: columns are inserted at the
    next level, and a root is marked either by its own thread or in a later launch.
    """
    found = int32(0)
    for k in range(SCAN):
        col_vertex = first + k * cuda.gridsize(1)
        entry = load_relaxed(bfs_array, min(col_vertex, nc - 1))
        if col_vertex < nc and entry == bfs_level:
            found = int32(found | (1 << k))
    return found


@cuda.jit(device=True)
def next_columns(bfs_level, first, loads, nc, bfs_array):
    """Find which of a thread's next ``loads`` columns are at bfs_level: one as printed, or `SCAN`.

    Paper: [D13 Alg.2], line 4, or `columns_at`.
    """
    if loads != 1:
        return columns_at(bfs_level, first, nc, bfs_array)
    return int32(1) if load_relaxed(bfs_array, first) == bfs_level else int32(0)


@cuda.jit(device=True)
def report(vertex_inserted, augmenting_path_found, bfs_level, words):
    """Let the last block that ends signal what all threads found, and advance bfs_level.

    As printed (``words.read_by_host``) a thread sets the two flags, and the host copies them and
    counts the levels. Race: all threads store the same.

    Every thread of the grid calls it at its end. One 64-bit sum counts, from the lowest bits up,
    the blocks that have ended, those that inserted a vertex and those that found a path: one atomic
    a block, and no order between several words is needed. The fence keeps every thread's read of
    ``flags[LEVEL]``, done before its block's barriers, ahead of the last block's write. The
    sequence number has 29 bits: a state counts 500 million launches, which take hours, before it
    would wrap.
    """
    flags, tally, signal, read_by_host = words
    if read_by_host != 0:
        if vertex_inserted:
            store_relaxed(flags, INSERTED, int32(1))
        if augmenting_path_found:
            store_relaxed(flags, FOUND, int32(1))
        return
    inserted = cuda.syncthreads_or(int32(vertex_inserted))
    found = cuda.syncthreads_or(int32(augmenting_path_found))
    if cuda.threadIdx.x == 0:
        own = int64(1)
        if inserted:
            own += int64(1) << COUNT_BITS
        if found:
            own += int64(1) << (2 * COUNT_BITS)
        cuda.threadfence()
        total = cuda.atomic.add(tally, 0, own) + own
        if total & ((1 << COUNT_BITS) - 1) == cuda.gridDim.x:
            cuda.threadfence()
            tally[0] = 0
            flags[LEVEL] = bfs_level + 1
            sequence = int64(flags[SIGNALS]) + 1
            flags[SIGNALS] = sequence
            word = sequence << 34
            if total >> COUNT_BITS & ((1 << COUNT_BITS) - 1) != 0:
                word |= INSERTED_BIT
            if total >> (2 * COUNT_BITS) != 0:
                word |= FOUND_BIT
            if flags[STUCK] != 0:
                word |= STUCK_BIT
            store_release_system(signal, 0, word)


@cuda.jit
def gpubfs(nc, loads, bfs_array, graph, rmatch, predecessor, words):
    """GPUBFS: expand one level, from the columns at bfs_level to those not reached yet.

    Paper: [D13 Alg.2].  Launch: CT or MT; each thread takes every gridsize-th column, which is the
    paper's getProcessCount.
    Reads/Writes: reads the rows of the level's columns; writes the next level into ``bfs_array``,
    ``predecessor`` of the rows it passes, -2 into ``rmatch`` of the free rows it finds.
    Race: several columns of the level may see the same column not reached, or the same row free.
    All write the same level, or the same -2; each of them is a valid predecessor (fact 1 of
    `kernels.notation`), and a word holds one of them whole. Columns that are inserted meanwhile are
    at bfs_level + 1 and not scanned before the next launch.
    """
    bfs_level = load_relaxed(words.flags, LEVEL)
    vertex_inserted = False
    augmenting_path_found = False
    for first in range(cuda.grid(1), nc, loads * cuda.gridsize(1)):
        columns = next_columns(bfs_level, first, loads, nc, bfs_array)
        while columns != 0:
            col_vertex = first + (cuda.ffs(columns) - 1) * cuda.gridsize(1)
            columns &= columns - 1
            for j in range(graph.cxadj[col_vertex], graph.cxadj[col_vertex + 1]):
                neighbor_row = graph.cadj[j]
                col_match = load_relaxed(rmatch, neighbor_row)
                if col_match > -1:
                    if load_relaxed(bfs_array, col_match) == L0 - 1:
                        vertex_inserted = True
                        store_relaxed(bfs_array, col_match, bfs_level + 1)
                        store_relaxed(predecessor, neighbor_row, col_vertex)
                elif col_match == FREE:
                    store_relaxed(rmatch, neighbor_row, END)
                    store_relaxed(predecessor, neighbor_row, col_vertex)
                    augmenting_path_found = True
    report(vertex_inserted, augmenting_path_found, bfs_level, words)


@cuda.jit
def gpubfs_wr(nc, ends, loads, bfs_array, graph, rmatch, root, predecessor, words):
    """GPUBFS-WR: as `gpubfs`, but a column whose root has a path is passed over.

    Paper: [D13 Alg.4]; with ``ends`` (0 or 1) line 19 writes -(neighbor_row), for APsB [D13 sec.3].
    Row 0 is written as 0, which is below L0 - 1 = 1 like all the others: that is why L0 is 2, and
    why the test below is ``< L0 - 1``, not ``< 0``.
    Launch: CT or MT.  Reads/Writes: as `gpubfs`; ``root`` of the columns it inserts, and the mark
    of a root with a path in ``bfs_array``.
    Race: as in `gpubfs`; besides,

    - several ends may mark one root: any of their rows is right, because each has a predecessor;
    - ``root`` and ``predecessor`` of one inserted column may come from two racing columns of
      different trees. Roots are therefore hints only: a tree may be left although the path that was
      found belongs to its neighbour. That costs work in a later phase, but no path: in this phase
      some path was found, and a phase that finds none has marked no root and left no tree, so its
      search was complete;
    - a mark may be seen late or not at all: the column is then scanned, as in `gpubfs`;
    - ``root[col_vertex]`` itself was written by an earlier launch.
    """
    bfs_level = load_relaxed(words.flags, LEVEL)
    vertex_inserted = False
    augmenting_path_found = False
    for first in range(cuda.grid(1), nc, loads * cuda.gridsize(1)):
        columns = next_columns(bfs_level, first, loads, nc, bfs_array)
        while columns != 0:
            col_vertex = first + (cuda.ffs(columns) - 1) * cuda.gridsize(1)
            columns &= columns - 1
            my_root = root[col_vertex]
            if load_relaxed(bfs_array, my_root) < L0 - 1:
                continue
            for j in range(graph.cxadj[col_vertex], graph.cxadj[col_vertex + 1]):
                neighbor_row = graph.cadj[j]
                col_match = load_relaxed(rmatch, neighbor_row)
                if col_match > -1:
                    if load_relaxed(bfs_array, col_match) == L0 - 1:
                        vertex_inserted = True
                        store_relaxed(bfs_array, col_match, bfs_level + 1)
                        store_relaxed(root, col_match, my_root)
                        store_relaxed(predecessor, neighbor_row, col_vertex)
                elif col_match == FREE:
                    store_relaxed(bfs_array, my_root, -neighbor_row if ends else L0 - 2)
                    store_relaxed(rmatch, neighbor_row, END)
                    store_relaxed(predecessor, neighbor_row, col_vertex)
                    augmenting_path_found = True
    report(vertex_inserted, augmenting_path_found, bfs_level, words)


_LINES = "int32[::1]"
SIGNATURES = {
    restore_start: f"void(int32, int32, {', '.join([_LINES] * 5)}, int64[::1])",
    init_bfs_array: f"void(int32, {', '.join([_LINES] * 3)})",
    init_bfs_array_wr: f"void(int32, {', '.join([_LINES] * 4)})",
    gpubfs: ("int32", "int32", _LINES, Columns, _LINES, _LINES, Words),
    gpubfs_wr: ("int32", "int32", "int32", _LINES, Columns, _LINES, _LINES, _LINES, Words),
}
"""The types that each kernel is compiled for."""
