"""The kernels of `papers.common.instances.matrices.on_device`: the family `uniform`, drawn.

``costs`` is the matrix or a block of it, row after row; positions are 64 bits wide throughout, for
a matrix may have more than 2**31 entries. ``key`` is the counter of entry (0, 0), see
`papers.common.instances.matrices.streams`.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
WORD = np.uint64((1 << 64) - 1)


@cuda.jit(device=True)
def mix(x):
    """Return the mixed uint64 of a uint64, as `papers.common.instances.counter_rng.mix` does.

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

    Paper: none; draws an instance.  Launch: grid-stride over the matrix.
    Reads/Writes: writes ``costs``, once each.
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

    Paper: none; draws an instance.  Launch: a block a row, in turn; its threads pass along the row.
    Reads/Writes: writes ``costs``, int32[rows * columns], once each.
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


_COSTS = "int32[::1]"
SIGNATURES = {
    draw_uniform: f"void(int64, uint64, uint64, {_COSTS})",
    draw_uniform_block: f"void(int32, int32, uint64, uint64, uint64, {_COSTS})",
}
"""The argument types that each kernel is compiled for."""
