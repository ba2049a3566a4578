"""Costs in device memory: their range and working form before a run, the assigned ones after it.

And the way out for who asks for the pairs alone, `deliver`.

``source`` is the caller's matrix as it lies in memory, ``target`` the solver's, row after row: n
rows of m columns, ``n <= m``. Where ``across`` is 1, the solver's rows are the source's columns.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, int64

from papers.common.gpu.memory_order import store_release_system
from papers.common.gpu.reductions import block_max, block_min

BLOCK = 256
"""Threads a block at most; sizes the shared arrays."""

SMALLEST, LARGEST = -(2**63), 2**63 - 1


@cuda.jit(device=True)
def find_extremes(total, source, extremes):
    """Set two words of each block to the smallest and the largest entry that it has seen."""
    lows = cuda.shared.array(BLOCK, np.int64)
    highs = cuda.shared.array(BLOCK, np.int64)
    thread = cuda.threadIdx.x
    low, high = int64(LARGEST), int64(SMALLEST)
    for k in range(cuda.grid(1), total, cuda.gridsize(1)):
        value = int64(source[k])
        low, high = min(low, value), max(high, value)
    lows[thread] = low
    highs[thread] = high
    block_min(lows, thread, 1)
    block_max(highs, thread, 1)
    if thread == 0:
        extremes[2 * cuda.blockIdx.x] = lows[0]
        extremes[2 * cuda.blockIdx.x + 1] = highs[0]


@cuda.jit
def bound(total, source, extremes):
    """Find the extremes of integers of 64 bits; see `find_extremes`.

    Paper: none; before a run.  Launch: grid-stride over the matrix, blocks of a power of two
    threads.
    Reads/Writes: reads ``source`` int64[total] once; writes ``extremes`` int64[2 * blocks].
    """
    find_extremes(total, source, extremes)


@cuda.jit
def bound_narrow(total, source, extremes):
    """Find the extremes of integers of 32 bits; see `find_extremes`.

    Paper: none; before a run.  Launch: grid-stride over the matrix, blocks of a power of two
    threads.
    Reads/Writes: reads ``source`` int32[total] once; writes ``extremes`` int64[2 * blocks].
    """
    find_extremes(total, source, extremes)


@cuda.jit(device=True)
def move(n, m, across, sign, shift, source, target):
    """Set ``target = sign * source + shift``, turned if need be."""
    for k in range(cuda.grid(1), int64(n) * m, cuda.gridsize(1)):
        place = int64(k)
        if across != 0:
            row = int64(k) // m
            place = (int64(k) - row * m) * n + row
        target[k] = sign * source[place] + shift


@cuda.jit
def move_alike(n, m, across, sign, shift, source, target):
    """Move costs of the working type; see `move`.

    Paper: none; before a run.  Launch: grid-stride over the matrix.
    Reads/Writes: reads ``source``; writes ``target``, once each.
    """
    move(n, m, across, sign, shift, source, target)


@cuda.jit
def move_narrower(n, m, across, sign, shift, source, target):
    """Move integers of 64 bits whose range 32 bits hold; see `move`.

    Paper: none; before a run.  Launch: grid-stride over the matrix.
    Reads/Writes: reads ``source``; writes ``target``, once each.
    """
    move(n, m, across, sign, shift, source, target)


@cuda.jit
def gather(n, m, cost, column, chosen):
    """Collect the entry that is assigned to each row.

    Paper: none; after a run.  Launch: one thread a row.
    Reads/Writes: reads ``column`` and one entry a row; writes ``chosen``.
    """
    row = int32(cuda.grid(1))
    if row < n:
        chosen[row] = cost[int64(row) * m + column[row]]


@cuda.jit
def deliver(n, rows, columns, word, column, target, signal):
    """Write each row's column, and the rows where ``rows`` is a place, into ``target``; then tell.

    Paper: none; after a run, for who asks for the pairs alone.  Launch: one block.
    Reads/Writes: reads ``column`` int32[n]; writes n words of ``target``, int64, from ``columns``
    on and from ``rows`` on, which is -1 for none, and ``word`` to the host's ``signal``.
    """
    for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        if rows >= 0:
            target[rows + i] = i
        target[columns + i] = column[i]
    cuda.syncthreads()  # the release below carries what all threads of the block have written
    if cuda.threadIdx.x == 0:
        store_release_system(signal, 0, word)


ELEMENT_TYPES = ("int32", "int64", "float64")
SIGNATURES = {
    bound: "void(int64, int64[::1], int64[::1])",
    bound_narrow: "void(int64, int32[::1], int64[::1])",
    move_alike: "void(int32, int32, int32, D, D, T[::1], T[::1])",
    move_narrower: "void(int32, int32, int32, int64, int64, int64[::1], int32[::1])",
    gather: "void(int32, int32, T[::1], int32[::1], D[::1])",
    deliver: "void(int32, int64, int64, int64, int32[::1], int64[::1], int64[::1])",
}
"""The signature of each kernel."""
