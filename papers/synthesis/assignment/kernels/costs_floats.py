"""Floats in device memory: widened, and judged a row at a time."""

from __future__ import annotations

import numpy as np
from numba import cuda, int64

from papers.common.gpu.reductions import block_max, block_min
from papers.synthesis.assignment.kernels.costs import BLOCK, move

INFINITE, NOT_A_NUMBER = 1.0, 2.0
"""Faults of a row: an infinity of the wrong sign, NaN."""

LEAST, LOW, HIGH, FAULT = range(4)
"""Lines of ``found``: the least size, the lowest and the highest of a row's finite costs; `FAULT`s.

A row without finite costs has infinity, infinity and minus infinity.
"""


@cuda.jit
def move_wider(n, m, across, sign, shift, source, target):
    """Move floats of 32 bits; see `papers.synthesis.assignment.kernels.costs.move`.

    Paper: none; before a run.  Launch: grid-stride over the matrix.
    Reads/Writes: reads ``source``; writes ``target``, once each.
    """
    move(n, m, across, sign, shift, source, target)


@cuda.jit
def judge(n, m, top, cost, found):
    """Find each row's extremes and faults.

    Paper: none; before a run.  Launch: a block a row, in turn; blocks of a power of two threads.
    Reads/Writes: reads ``cost`` once; writes ``found`` float64[4 * n], the lines of `LEAST` to
    `FAULT` one after the other.
    """
    leasts = cuda.shared.array(BLOCK, np.float64)
    lows = cuda.shared.array(BLOCK, np.float64)
    highs = cuda.shared.array(BLOCK, np.float64)
    faults = cuda.shared.array(BLOCK, np.float64)
    thread = cuda.threadIdx.x
    for row in range(cuda.blockIdx.x, n, cuda.gridDim.x):
        begin = int64(row) * m
        least, low, high, fault = top, top, -top, 0.0 * thread
        for j in range(thread, m, cuda.blockDim.x):
            value = cost[begin + j]
            if value != value:
                fault = NOT_A_NUMBER
            elif value == -top:
                fault = max(fault, INFINITE)
            elif value < top:
                least = min(least, abs(value))
                low, high = min(low, value), max(high, value)
        leasts[thread], lows[thread] = least, low
        highs[thread], faults[thread] = high, fault
        block_min(leasts, thread, 1)
        block_min(lows, thread, 1)
        block_max(highs, thread, 1)
        block_max(faults, thread, 1)
        if thread == 0:
            found[LEAST * n + row] = leasts[0]
            found[LOW * n + row] = lows[0]
            found[HIGH * n + row] = highs[0]
            found[FAULT * n + row] = faults[0]
        cuda.syncthreads()  # the next row's values go to the same words


ELEMENT_TYPES = ("float64",)
SIGNATURES = {
    move_wider: "void(int32, int32, int32, T, T, float32[::1], T[::1])",
    judge: "void(int32, int32, T, T[::1], T[::1])",
}
"""The signature of each kernel."""
