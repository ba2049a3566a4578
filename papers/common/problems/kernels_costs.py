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

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
WORD = np.uint64((1 << 64) - 1)


@cuda.jit(device=True)
def mix(x):
    """Output function of SplitMix64, as in `papers.common.instances.generators`.

    Every operand is uint64: with a signed one Numba would turn to float64. The masks are for the
    CPU executor, where nothing wraps by itself; on a GPU they vanish.
    """
    x = (x + GOLDEN) & WORD
    x = ((x ^ (x >> np.uint64(30))) * MULTIPLIER_1) & WORD
    x = ((x ^ (x >> np.uint64(27))) * MULTIPLIER_2) & WORD
    return x ^ (x >> np.uint64(31))


@cuda.jit
def draw_uniform(total, key, cost_range, costs):
    """Draw every entry: ``(high * cost_range) >> 32`` of the upper half of ``mix(key + k)``.

    Launch: grid-stride over the matrix.  Reads/Writes: writes ``costs``.
    """
    k = cuda.grid(1)
    stride = cuda.gridsize(1)
    while k < total:
        high = mix((key + np.uint64(k)) & WORD) >> np.uint64(32)
        costs[k] = np.int32((high * cost_range) >> np.uint64(32))
        k += stride


@cuda.jit
def draw_uniform_block(rows, columns, key, stride, cost_range, costs):
    """Draw a block of the matrix: entry (i, j) is that of counter ``key + i stride + j``.

    Launch: a block a row, in turn; its threads pass along the row.  Reads/Writes: writes
    ``costs``, int32[rows * columns].
    """
    i = cuda.blockIdx.x
    while i < rows:
        first = (key + np.uint64(i) * stride) & WORD
        at = i * np.int64(columns)
        j = cuda.threadIdx.x
        while j < columns:
            high = mix((first + np.uint64(j)) & WORD) >> np.uint64(32)
            costs[at + j] = np.int32((high * cost_range) >> np.uint64(32))
            j += cuda.blockDim.x
        i += cuda.gridDim.x


@cuda.jit
def bound_costs(total, costs, bounds):
    """Smallest and largest entry.

    Launch: grid-stride over the matrix, blocks of a power of two threads.
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

    Launch: one thread a row.  Reads/Writes: reads one entry a row; writes ``chosen``.
    """
    row = cuda.grid(1)
    if row < n:
        chosen[row] = costs[row * n + column_of_row[row]]


_COSTS = "int32[::1]"
SIGNATURES = {
    draw_uniform: f"void(int64, uint64, uint64, {_COSTS})",
    draw_uniform_block: f"void(int32, int32, uint64, uint64, uint64, {_COSTS})",
    bound_costs: f"void(int64, {_COSTS}, {_COSTS})",
    gather_chosen: f"void(int64, {_COSTS}, {_COSTS}, {_COSTS})",
}
"""What each kernel is compiled for."""
