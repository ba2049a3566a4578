"""The walk of the matrix-wide kernels of all six versions over the slack matrix.

A block takes tiles of `UNROLL` times its width; a thread's entries of a tile stand one block
width apart, so that neighbouring threads read neighbouring entries, and all its loads are issued
before the first value is looked at. Rows and columns are carried along: a division an entry would
cost more than the memory access.
"""

from __future__ import annotations

from numba import cuda, int32, uint32

UNROLL = 4
"""Entries of a tile that a thread holds: loads in flight, to hide the memory's latency."""


@cuda.jit(device=True)
def quotient(a, b):
    """``a // b`` of whole numbers below 2**31 as a 32-bit division, several times shorter."""
    return int32(uint32(a) // uint32(b))


@cuda.jit(device=True)
def place(position, n):
    """(row, column) of a position in the matrix, or of a distance: once a kernel, not an entry."""
    column = quotient(position, n)
    return int32(position - column * n), column


@cuda.jit(device=True)
def advance(row, column, rows, columns, n):
    """(row, column) further on by the distance (rows, columns), which `place` gave."""
    row = int32(row + rows)
    column = int32(column + columns)
    if row >= n:
        row = int32(row - n)
        column = int32(column + 1)
    return row, column


@cuda.jit(device=True)
def update_duals(n, least, covers, duals):
    """Move the duals as the slacks move: a thread of the grid every gridDim-th line."""
    for line in range(cuda.grid(1), n, cuda.gridsize(1)):
        if covers.row[line] != 0:
            duals.row[line] -= least
        if covers.column[line] == 0:
            duals.column[line] += least
