"""ALTERNATE and FIXMATCHING: all paths flipped at once, then repaired [D13 Alg.3] [D13 sec.3].

The arrays, and three facts about a BFS on which the arguments about races rest, are in
`kernels.notation`.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.deveci_matching.kernels.notation import END, FREE, L0, STUCK


@cuda.jit(device=True)
def alternate_path(row_vertex, nc, cmatch, rmatch, predecessor, flags):
    """Walk from a free row towards its root; give each column on the way to the row before it.

    Paper: [D13 Alg.3], lines 5 to 12.

    Race: three claims hold for any order of the threads, also within a warp, and however late a
    thread sees the writes of another:

    - *The walk ends.* A walk that passes line 8 at column c has read the mate of c, or -1: by facts
      2 and 3 any row that a walk has put there has ``predecessor == c``. So it goes on to
      ``predecessor[mate(c)]``, one level closer to the root, and has at most as many steps as there
      are levels. (It would end with any contents of the arrays: line 8 stops it at a column that it
      has passed.) Without line 8, a walk that meets the column of another walk would go to and fro
      between that column and the other's row [D13 Fig.1]. The bound on the loop is never reached;
      it is there so that damaged memory cannot keep a GPU busy for ever, and reaching it is
      reported.
    - *Every column keeps a row of its own.* A column that was passed holds, by any last writer, a
      row r with ``predecessor[r] == c``, and ``rmatch[r] = c``; so no two of them hold the same.
      The mate of a column that was not passed stays with it: a walk gets to a mate only by passing
      its column.
    - *Every tree with a walk gains one pair.* A walk that passes a column goes on to the next one,
      which it passes, or which another walk has passed. So the root is passed: it was free, and now
      has a row. A path that is alternated only in part costs nothing: its last row loses its column
      to another row, because both walks belong to one tree.

    ``cmatch`` is therefore right when ALTERNATE ends, and larger by at least one pair. Only
    ``rmatch`` of the rows that have lost their column is wrong; `fix_matching` repairs it.

    A free column has no mate, so the paper's line 8 would read ``predecessor[-1]``: here line 8 is
    applied only if there is a row.
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
    """ALTERNATE: walk from every row that the BFS has marked, along its path.

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
    """The improved ALTERNATE: make one walk for each root, from the end that its entry names.

    Paper: [D13 sec.3], for APsB-GPUBFS-WR.  Launch: CT or MT, over the columns (the paper leaves
    open who looks up the ends; see below).
    Reads/Writes: ``bfs_array`` and ``predecessor``; writes both match arrays.
    Race: see `alternate_path`, whose three claims hold wherever the walks start. Two roots may
    name the same row: both walks then write the same, or the later one stops at the first column.
    It would be wrong to look at the rows instead, and to start from r if the root of
    ``predecessor[r]`` names r: with two trees that race for two rows, each row's predecessor may
    belong to the tree whose root names the other row. No walk would start, and a phase with paths
    would gain nothing.
    """
    for col_vertex in range(cuda.grid(1), nc, cuda.gridsize(1)):
        entry = bfs_array[col_vertex]
        if entry < L0 - 1:
            alternate_path(int32(-entry), nc, cmatch, rmatch, predecessor, flags)


@cuda.jit
def fix_matching(nr, cmatch, rmatch):
    """FIXMATCHING: a row keeps its column only if the column keeps it.

    Paper: [D13 sec.3]: ``rmatch[r] = -1`` for any r with ``cmatch[rmatch[r]] != r``.
    Launch: CT or MT, over the rows.  Reads/Writes: reads ``cmatch``, writes ``rmatch``. No race: a
    row belongs to one thread.

    A row that still holds -2 was the end of a path that was not alternated: it is free, and must be
    marked so, or the next phases would pass over it. The other direction needs no repair: the row
    of each column names that column (`alternate_path`).
    """
    for row_vertex in range(cuda.grid(1), nr, cuda.gridsize(1)):
        column = rmatch[row_vertex]
        if column == END or (column > -1 and cmatch[column] != row_vertex):
            rmatch[row_vertex] = FREE


_LINES = "int32[::1]"
SIGNATURES = {
    alternate: f"void(int32, int32, {', '.join([_LINES] * 4)})",
    alternate_from_ends: f"void(int32, {', '.join([_LINES] * 5)})",
    fix_matching: f"void(int32, {', '.join([_LINES] * 2)})",
}
"""The types that each kernel is compiled for."""
