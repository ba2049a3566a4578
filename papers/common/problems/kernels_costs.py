"""The kernels of `papers.common.problems.costs_on_device`: what costs in device memory need besides
a solver.

``costs`` is the matrix row after row, ``total = n * n`` its entries, which may be more than 2**31:
positions are 64 bits wide throughout.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from papers.common.gpu.reductions import block_max, block_min

BLOCK = 256
"""Threads a block at most; sizes the shared arrays."""

SMALLEST, LARGEST = -(2**31), 2**31 - 1


@cuda.jit
def bound_costs(total, costs, bounds):
    """Smallest and largest entry.

    Paper: none; before a run.  Launch: grid-stride over the matrix, blocks of a power of two
    threads.
    Reads/Writes: reads ``costs`` once; lowers ``bounds[0]`` and raises ``bounds[1]`` by one atomic
    each a block, so they must hold the largest and the smallest int32 at the start.
    Race: minimum and maximum do not depend on the blocks' order.
    """
    lows = cuda.shared.array(BLOCK, np.int32)
    highs = cuda.shared.array(BLOCK, np.int32)
    thread = cuda.threadIdx.x
    k = cuda.grid(1)
    stride = cuda.gridsize(1)
    low = np.int32(LARGEST)
    high = np.int32(SMALLEST)
    while k < total:
        cost = costs[k]
        low = min(low, cost)
        high = max(high, cost)
        k += stride
    lows[thread] = low
    highs[thread] = high
    block_min(lows, thread, 1)
    block_max(highs, thread, 1)
    if thread == 0:
        cuda.atomic.min(bounds, 0, lows[0])
        cuda.atomic.max(bounds, 1, highs[0])


@cuda.jit
def gather_chosen(n, costs, column_of_row, chosen):
    """Collect the entry that is assigned to each row.

    Paper: none; after a run.  Launch: one thread a row.
    Reads/Writes: reads ``column_of_row`` and one entry a row; writes ``chosen``.
    """
    row = cuda.grid(1)
    if row < n:
        chosen[row] = costs[row * n + column_of_row[row]]


_COSTS = "int32[::1]"
SIGNATURES = {
    bound_costs: f"void(int64, {_COSTS}, {_COSTS})",
    gather_chosen: f"void(int64, {_COSTS}, {_COSTS}, {_COSTS})",
}
"""The signature of each kernel."""
