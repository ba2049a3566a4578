"""The kernels of [T00]: one for each step of the paper, named after it.

=================  ========  =============  ====================================================
here               paper     type           meaning
=================  ========  =============  ====================================================
``matrix``         c         T[n * n]       costs, row after row
``u``, ``v``       u, v      T[n]           duals
``row_of_column``  x         int32[n]       row assigned to each column, -1 if none
``distance``       d         T[n]           length of the shortest path known to each column
``before``         pred      int32[n]       column before it on that path, -1 for the root
``tree``           T         int32[n]       1: the shortest path to the column is final
``stage``          k         int32[1]       the row that is being assigned, and how many are
``end``            -         int32[1]       the free column that the search has found
=================  ========  =============  ====================================================

T is the working type; n is the order.
"""

from __future__ import annotations

from numba import cuda, int32

MAX_BLOCK = 1024
"""Threads a block at most; sizes the shared array."""


@cuda.jit
def init(n, u, v, row_of_column, stage):
    """Start with no assigned row and no dual.

    Paper: [T00 Alg.1], the first line.  Launch: a thread a column.
    Reads/Writes: writes all four.
    """
    column = cuda.grid(1)
    if column == 0:
        stage[0] = 0
    if column < n:
        u[column] = 0
        v[column] = 0
        row_of_column[column] = -1


@cuda.jit
def search(n, matrix, stage, u, v, row_of_column, distance, before, tree, end):
    """Find a shortest path of reduced costs from row ``stage[0]`` to a free column.

    Paper: [T00 Alg.1].  Launch: one block; its threads share the columns.
    Reads/Writes: reads ``matrix``; writes ``distance``, ``before``, ``tree``, ``end``, and the
    duals of the rows and columns in the tree.
    Race: none. A thread writes its own columns only; thread 0 alone writes ``nearest_of[0]`` and
    the nearest column's ``tree``, between the two barriers of a round.
    """
    nearest_of = cuda.shared.array(MAX_BLOCK, int32)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    root = stage[0]
    for column in range(thread, n, threads):
        distance[column] = matrix[root * n + column] - u[root] - v[column]
        before[column] = -1
        tree[column] = 0
    nearest = 0
    for _ in range(n):  # each round takes a column into the tree, or ends
        mine = n
        for column in range(thread, n, threads):
            if tree[column] == 0 and (mine == n or distance[column] < distance[mine]):
                mine = column
        nearest_of[thread] = mine
        cuda.syncthreads()
        if thread == 0:
            for other in range(1, threads):
                theirs = nearest_of[other]
                if theirs < n and (mine == n or distance[theirs] < distance[mine]):
                    mine = theirs
            nearest_of[0] = mine
            if row_of_column[mine] >= 0:
                tree[mine] = 1
        cuda.syncthreads()
        nearest = nearest_of[0]
        row = row_of_column[nearest]
        if row < 0:
            break
        for column in range(thread, n, threads):
            if tree[column] == 0:
                entry = matrix[row * n + column] - u[row] - v[column]
                through = distance[nearest] + entry
                if through < distance[column]:
                    distance[column] = through
                    before[column] = nearest
        cuda.syncthreads()  # `nearest_of[0]` has been read by all
    for column in range(thread, n, threads):
        if tree[column] == 1:
            u[row_of_column[column]] += distance[nearest] - distance[column]
            v[column] -= distance[nearest] - distance[column]
    if thread == 0:
        u[root] += distance[nearest]
        end[0] = nearest


@cuda.jit
def augment(n, stage, row_of_column, before, end):
    """Shift the assigned rows along the path, which frees its first column for the root.

    Paper: [T00 Alg.2].  Launch: one thread.
    Reads/Writes: reads ``before`` and ``end``; writes ``row_of_column`` and ``stage``.
    """
    column = end[0]
    for _ in range(n):  # a path has at most n columns
        if before[column] < 0:
            break
        row_of_column[column] = row_of_column[before[column]]
        column = before[column]
    row_of_column[column] = stage[0]
    stage[0] += 1


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    init: f"void(int32, T[::1], T[::1], {_LINES}, {_LINES})",
    search: f"void(int32, T[::1], {_LINES}, T[::1], T[::1], {_LINES}, T[::1], {_LINES}, {_LINES}, "
    f"{_LINES})",
    augment: f"void(int32, {_LINES}, {_LINES}, {_LINES}, {_LINES})",
}
"""Types that a test compiles each kernel for: T stands for each of `ELEMENT_TYPES`."""
