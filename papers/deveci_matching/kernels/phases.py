"""The kernels of [D13 sec.3], one a function of the paper, named after it.

==========================  ==============  =======================================================
paper                       array           dtype, shape
==========================  ==============  =======================================================
cxadj, cadj                 cxadj, cadj     int32 [nc + 1], [edges]: the rows of each column
rmatch                      rmatch          int32 [nr]: column of each row; -1 none; -2 the row ends
                                            an augmenting path that this BFS has found
cmatch                      cmatch          int32 [nc]: row of each column; -1 none
the prior matching          rmatch_start,   int32 [nr], [nc]; never changed
                            cmatch_start
bfs_array                   bfs_array       int32 [nc]: level; L0 - 1 not reached; below that a root
                                            whose path is found
predecessor                 predecessor     int32 [nr]: column from which the row was reached;
                                            only rows reached by the last BFS hold anything
root                        root            int32 [nc]: free column that the column descends from
bfs_level, vertex_inserted  flags, tally    int32 [FLAGS], see `Flag`; int64 [1], see `report`
augmenting_path_found
nc, nr                      nc, nr          int32
L0                          `L0`            2 in all variants
==========================  ==============  =======================================================

**What the races of a launch cannot spoil.** Write "mate" for the row of a column when ALTERNATE
begins. All proofs below rest on three facts about one BFS, which hold whoever wins its races:

1. A launch of the BFS kernel scans the columns of one level and gives their successors the next
   one, so ``predecessor[r]`` is a column exactly one level below r's own column. Predecessors form
   trees, whose roots are free columns.
2. A column is never reached through its own scan of its mate (it has a level by then), so
   ``predecessor[mate(c)] != c``.
3. ALTERNATE writes ``cmatch[c] = r`` only where ``predecessor[r] == c``.

All accesses that race within a launch are relaxed, 32 bits wide and aligned: each yields a value
that some thread wrote, whole.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed, store_release_system

L0 = 2
"""BFS start level. The paper asks for 2 in APsB-GPUBFS-WR: levels are then 1 (not reached), 2, 3,
..., and a root's entry can hold ``-row``, 0 included, and still be told from a level."""

FREE = -1
"""In a match array: no partner."""

END = -2
"""In ``rmatch``: a free row that a BFS has reached."""


class Flag:
    """Indices into ``flags``."""

    LEVEL = 0
    """bfs_level of the next launch of the BFS kernel."""
    STUCK = 1
    """A walk of ALTERNATE had more steps than there are columns."""
    SIGNALS = 2
    """Words sent to the host, over all runs."""


FLAGS = 3
LEVEL, STUCK, SIGNALS = Flag.LEVEL, Flag.STUCK, Flag.SIGNALS

SCAN = 8
"""Entries of ``bfs_array`` that a thread asks for at a time."""

COUNT_BITS = 20
"""Bits of a count in ``tally``; a grid has fewer than ``2**COUNT_BITS`` blocks."""


class Signal:
    """Bits of the word that a launch of the BFS kernel sends."""

    INSERTED = 1
    FOUND = 2
    STUCK = 4


INSERTED_BIT, FOUND_BIT, STUCK_BIT = Signal.INSERTED, Signal.FOUND, Signal.STUCK

# ---------------------------------------------------------------------------------- start


@cuda.jit
def restore_start(nr, nc, rmatch_start, cmatch_start, rmatch, cmatch, flags, tally):
    """Begin a run: the matching is the prior one.

    Paper: [D13 Alg.1], its input.  Launch: any grid.
    Reads/Writes: copies the two start arrays, once each; clears all flags but the host's sequence
    number. No race.
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
    """INITBFSARRAY: free columns are the first level, the others are not reached.

    Paper: [D13 sec.3] [D13 Alg.1], lines 3 and 4.  Launch: any grid.
    Reads/Writes: reads ``cmatch``, writes ``bfs_array``, the first bfs_level. No race.
    """
    for col_vertex in range(cuda.grid(1), nc, cuda.gridsize(1)):
        bfs_array[col_vertex] = L0 if cmatch[col_vertex] == FREE else L0 - 1
    if cuda.grid(1) == 0:
        flags[LEVEL] = L0


@cuda.jit
def init_bfs_array_wr(nc, cmatch, bfs_array, root, flags):
    """INITBFSARRAY of the variants with roots: a free column is its own root.

    Paper: [D13 sec.3].  Launch: any grid.
    Reads/Writes: as `init_bfs_array`; writes ``root``, 0 for matched columns as in the paper
    (nobody reads that: a column's root is written when it is reached). No race.
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
    """Which of a thread's next `SCAN` columns are at bfs_level: bit k for the k-th.

    Paper: [D13 Alg.2], lines 2 to 4, for several turns of the loop; ``first`` is the next
    col_vertex. The loads do not depend on each other, so all are under way at once: with 65,536
    threads one load at a time would leave most of the memory's width unused. Beyond the last column
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
def report(vertex_inserted, augmenting_path_found, bfs_level, flags, tally, signal):
    """The last block to end tells the host what all threads found, and makes bfs_level the next.

    Every thread of the grid calls it at its end. One 64-bit sum counts, from the lowest bits up,
    the blocks that have ended, those that inserted a vertex and those that found a path: one atomic
    a block, and no order between several words is needed. The fence lets no thread's read of
    ``flags[LEVEL]``, done before its block's barriers, meet the last block's write. The sequence
    number has 29 bits: a state counts 500 million launches, hours of them, before it would wrap.
    """
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
def gpubfs(nc, bfs_array, cxadj, cadj, rmatch, predecessor, flags, tally, signal):
    """GPUBFS: one level, from the columns at bfs_level to those not reached.

    Paper: [D13 Alg.2].  Launch: CT or MT; each thread takes every gridsize-th column, which is the
    paper's getProcessCount.
    Reads/Writes: reads the rows of the level's columns; writes the next level into ``bfs_array``,
    ``predecessor`` of the rows it passes, -2 into ``rmatch`` of the free rows it finds.
    Race: several columns of the level may see the same column not reached, or the same row free.
    All write the same level, or the same -2; any of them is a right predecessor (fact 1 above), and
    one word cannot be torn between two. Columns that are inserted meanwhile are at bfs_level + 1
    and not scanned before the next launch.
    """
    bfs_level = load_relaxed(flags, LEVEL)
    vertex_inserted = False
    augmenting_path_found = False
    for first in range(cuda.grid(1), nc, SCAN * cuda.gridsize(1)):
        columns = columns_at(bfs_level, first, nc, bfs_array)
        while columns != 0:
            col_vertex = first + (cuda.ffs(columns) - 1) * cuda.gridsize(1)
            columns &= columns - 1
            for j in range(cxadj[col_vertex], cxadj[col_vertex + 1]):
                neighbor_row = cadj[j]
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
    report(vertex_inserted, augmenting_path_found, bfs_level, flags, tally, signal)


@cuda.jit
def gpubfs_wr(
    nc, ends, bfs_array, cxadj, cadj, rmatch, root, predecessor, flags, tally, signal
):  # fmt: skip
    """GPUBFS-WR: as `gpubfs`, but a column whose root has a path is passed over.

    Paper: [D13 Alg.4]; with ``ends`` (0 or 1) line 19 writes -(neighbor_row), for APsB [D13 sec.3].
    Row 0 is written as 0, which is below L0 - 1 = 1 as all the others are: hence L0 = 2, and hence
    the test below is ``< L0 - 1``, not ``< 0``.
    Launch: CT or MT.  Reads/Writes: as `gpubfs`; ``root`` of the columns it inserts, and the mark
    of a root with a path in ``bfs_array``.
    Race: as in `gpubfs`; besides,

    - several ends may mark one root: any of their rows will do, each has a predecessor;
    - ``root`` and ``predecessor`` of one inserted column may come from two racing columns of
      different trees. Roots then are hints only: a tree may be left although the path found belongs
      to its neighbour. That costs work in a later phase; it costs no path, because some path was
      found, and a phase that finds none has marked no root, thus left no tree: it was complete;
    - a mark may be seen late, or never: the column is then scanned, as in `gpubfs`;
    - ``root[col_vertex]`` itself was written by an earlier launch.
    """
    bfs_level = load_relaxed(flags, LEVEL)
    vertex_inserted = False
    augmenting_path_found = False
    for first in range(cuda.grid(1), nc, SCAN * cuda.gridsize(1)):
        columns = columns_at(bfs_level, first, nc, bfs_array)
        while columns != 0:
            col_vertex = first + (cuda.ffs(columns) - 1) * cuda.gridsize(1)
            columns &= columns - 1
            my_root = root[col_vertex]
            if load_relaxed(bfs_array, my_root) < L0 - 1:
                continue
            for j in range(cxadj[col_vertex], cxadj[col_vertex + 1]):
                neighbor_row = cadj[j]
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
    report(vertex_inserted, augmenting_path_found, bfs_level, flags, tally, signal)


# ---------------------------------------------------------------------------------- augmentation


@cuda.jit(device=True)
def alternate_path(row_vertex, nc, cmatch, rmatch, predecessor, flags):
    """Walk from a free row towards its root; give each column on the way to the row before it.

    Paper: [D13 Alg.3], lines 5 to 12.

    What comes out, whatever the order of the threads, also within a warp, and however late one sees
    the other's writes:

    - *It ends.* A walk that passes line 8 at column c has read the mate of c, or -1: by facts 2 and
      3 any row that a walk has put there has ``predecessor == c``. So it goes on to
      ``predecessor[mate(c)]``, one level closer to the root, and has at most as many steps as there
      are levels. (It would end, whatever the arrays held: where it has passed, line 8 stops it.)
      Without line 8 a walk that meets another's column would go to and fro between that column and
      the other's row [D13 Fig.1]. The bound on the loop is never reached; it is there so that
      damaged memory cannot keep a GPU busy for ever, and reaching it is reported.
    - *Every column keeps a row of its own.* A column that was passed holds, whoever wrote last, a
      row r with ``predecessor[r] == c``, and ``rmatch[r] = c``; so no two of them hold the same.
      The mate of a column that was not passed is in nobody's hands: a walk gets to a mate only by
      passing its column.
    - *Every tree with a walk gains one.* Whoever passes a column goes on to the next one, which it
      passes, or which another walk has passed. So the root is passed: it was free, and now has a
      row. A path that is alternated only in part costs nothing: its last row loses its column to
      another row, both walks being of one tree.

    ``cmatch`` is therefore right when ALTERNATE ends, and larger by at least one. What is wrong is
    ``rmatch`` of rows that have lost their column: `fix_matching`.

    A free column has no mate, and the paper's line 8 would read ``predecessor[-1]``: here it is
    asked only of a row.
    """
    for _ in range(nc):
        matched_col = predecessor[row_vertex]
        matched_row = load_relaxed(cmatch, matched_col)
        if matched_row > -1 and predecessor[matched_row] == matched_col:
            return
        store_relaxed(cmatch, matched_col, row_vertex)
        store_relaxed(rmatch, row_vertex, matched_col)
        if matched_row == FREE:
            return
        row_vertex = matched_row
    flags[STUCK] = 1


@cuda.jit
def alternate(nc, nr, cmatch, rmatch, predecessor, flags):
    """ALTERNATE: from every row that the BFS has marked, along its path.

    Paper: [D13 Alg.3].  Launch: CT or MT, over the rows.
    Reads/Writes: ``predecessor`` and the -2 of ``rmatch`` start a walk; writes both match arrays.
    Race: see `alternate_path`. Only its own thread starts from a row: a walk reaches mates, which
    are not free.
    """
    for row_vertex in range(cuda.grid(1), nr, cuda.gridsize(1)):
        if load_relaxed(rmatch, row_vertex) == END:
            alternate_path(int32(row_vertex), nc, cmatch, rmatch, predecessor, flags)


@cuda.jit
def alternate_from_ends(nc, bfs_array, cmatch, rmatch, predecessor, flags):
    """The improved ALTERNATE: one walk a root, from the end that its entry names.

    Paper: [D13 sec.3], for APsB-GPUBFS-WR.  Launch: CT or MT, over the columns (the paper leaves
    open who looks up the ends; see below).
    Reads/Writes: ``bfs_array`` and ``predecessor``; writes both match arrays.
    Race: see `alternate_path`, whose three claims ask nothing of where walks start. Two roots may
    name the same row: both walks then write the same, or the later one stops at the first column.
    To look at the rows instead, and start from r if the root of ``predecessor[r]`` names r, would
    be wrong: with two trees that race for two rows, each row's predecessor may be of the tree
    whose root names the other row. No walk would start, and a phase with paths gain nothing.
    """
    for col_vertex in range(cuda.grid(1), nc, cuda.gridsize(1)):
        entry = bfs_array[col_vertex]
        if entry < L0 - 1:
            alternate_path(int32(-entry), nc, cmatch, rmatch, predecessor, flags)


@cuda.jit
def fix_matching(nr, cmatch, rmatch):
    """FIXMATCHING: a row keeps the column that keeps it.

    Paper: [D13 sec.3]: ``rmatch[r] = -1`` for any r with ``cmatch[rmatch[r]] != r``.
    Launch: CT or MT, over the rows.  Reads/Writes: reads ``cmatch``, writes ``rmatch``. No race: a
    row belongs to one thread.

    A row that still holds -2 was the end of a path that was not alternated: it is free, and must be
    marked so, or the next phases would pass over it. The other direction needs no repair: each
    column's row names it (`alternate_path`).
    """
    for row_vertex in range(cuda.grid(1), nr, cuda.gridsize(1)):
        column = rmatch[row_vertex]
        if column == END or (column > -1 and cmatch[column] != row_vertex):
            rmatch[row_vertex] = FREE


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32",)

_LINES = "int32[::1]"
_REPORT = "int32[::1], int64[::1], int64[::1]"
SIGNATURES = {
    restore_start: f"void(int32, int32, {', '.join([_LINES] * 5)}, int64[::1])",
    init_bfs_array: f"void(int32, {', '.join([_LINES] * 3)})",
    init_bfs_array_wr: f"void(int32, {', '.join([_LINES] * 4)})",
    gpubfs: f"void(int32, {', '.join([_LINES] * 5)}, {_REPORT})",
    gpubfs_wr: f"void(int32, int32, {', '.join([_LINES] * 6)}, {_REPORT})",
    alternate: f"void(int32, int32, {', '.join([_LINES] * 4)})",
    alternate_from_ends: f"void(int32, {', '.join([_LINES] * 5)})",
    fix_matching: f"void(int32, {', '.join([_LINES] * 2)})",
}
"""What each kernel is compiled for."""
