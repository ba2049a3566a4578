"""Strips: the costs of a block's columns in its shared memory, so that a level waits for no cache.

A block of a cluster looks at the same columns at every level. If all of their costs fit beside what
the block keeps there anyway, they are copied once (`WHOLE`). Integers of 32 bits that do not fit
are kept in 16, each counted from the least of its row in the strip (`NARROW`); a block with a row
whose costs differ by more reads the matrix, as all do without strips.

A row of a strip is `PAD` costs longer than the block has columns, so that parts of a warp, which
look at different rows, mostly ask different banks.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint16, uint32

from papers.common.gpu.memory_order import load_once
from papers.common.gpu.reductions import warp_min_int32

NOWHERE, WHOLE, NARROW, NOTED = "nowhere", "whole", "narrow", "noted"
"""Where a cluster's search reads costs: in the matrix; in strips, as they are; in 16 bits; and
again in the matrix, of 32 bits, whose sizes are noted as they are read (`short`)."""

PAD = 8
"""Columns that a warp looks at side by side, at least (`levels.place_of`)."""

WIDEST = 2**16 - 1
"""The widest range of a row's costs in a narrow strip."""

NARROW_ROWS, NARROW_COLUMNS = 1024, 64
"""Rows and columns of a narrow strip at most; costs of 64 bits have none."""

TOO_WIDE = 1 << 30
"""The size that anything larger counts as."""

BEGUN = 16
"""Costs that a thread loads before it stores the first of them."""


def bytes_of(strip: str, n: int, width: int, itemsize: int) -> int:
    """Dynamic shared memory of a block with so many columns."""
    each = {NOWHERE: 0, NOTED: 0, WHOLE: itemsize, NARROW: 2}[strip]
    return n * (width + PAD) * each


@cuda.jit(device=True)
def size_of(value):
    """The size of a whole number, `TOO_WIDE` at most."""
    return int32(min(max(int64(value), -int64(value + 1)), int64(TOO_WIDE)))


def fill_whole_with(loads: int, floats: bool) -> Any:
    """Make `fill_strip` for costs as they are."""

    @cuda.jit(device=True)
    def fill_strip(cost, shape):
        """Copy the costs of the block's columns; a barrier has to follow.

        Beyond the last column stand copies of its costs, which nobody looks at.

        Returns
        -------
        filled : bool
            Always.
        size : int32
            The largest size of a cost that the thread has seen (`size_of`); of floats 0.
        """
        size = int32(0)
        costs = cuda.local.array(loads, cost.dtype)
        width, begin = int32(1 << shape.bits), int32(shape.block << shape.bits)
        total, last = int32(shape.n << shape.bits), int32(shape.m - 1)
        for first in range(int32(cuda.threadIdx.x), total, int32(loads * cuda.blockDim.x)):
            for k in range(loads):
                item = min(int32(first + int32(k * cuda.blockDim.x)), int32(total - 1))
                column = min(int32(begin + int32(item & int32(width - 1))), last)
                costs[k] = load_once(cost, int64(item >> shape.bits) * shape.m + column)
            cuda.syncwarp()  # see `memory_order.load_ahead`
            for k in range(loads):
                item = min(int32(first + int32(k * cuda.blockDim.x)), int32(total - 1))
                row, column = int32(item >> shape.bits), int32(item & int32(width - 1))
                shape.strip[uint32(int32(row * shape.stride) + column)] = costs[k]
                if not floats:
                    size = max(size, size_of(costs[k]))
        return True, size

    return fill_strip


def fill_narrow_with(loads: int) -> Any:
    """Make `fill_strip` for 16 bits a cost; a warp takes a row at a time, two columns a lane."""
    rows_at_once = max(1, loads // 2)

    @cuda.jit(device=True)
    def fill_strip(cost, shape):
        """Copy the costs of the block's columns; barriers of the block are within.

        Returns
        -------
        filled : bool
            Whether all fit. If not, the floors are 0, as if nothing were in the strip.
        size : int32
            The largest size of a cost that the thread has seen (`size_of`).
        """
        size = int32(0)
        left = cuda.local.array(rows_at_once, cost.dtype)
        right = cuda.local.array(rows_at_once, cost.dtype)
        begin, last = int32(shape.block << shape.bits), int32(shape.m - 1)
        lane, warp = int32(cuda.threadIdx.x & 31), int32(cuda.threadIdx.x >> 5)
        warps, fits = int32(cuda.blockDim.x >> 5), int32(1)
        beside = int32(lane + int32(int32(1 << shape.bits) - 32))  # of 32 columns the same again
        here, there = min(int32(begin + lane), last), min(int32(begin + beside), last)
        for first in range(warp, shape.n, int32(rows_at_once * warps)):
            for r in range(rows_at_once):
                start = int64(min(int32(first + int32(r * warps)), int32(shape.n - 1))) * shape.m
                left[r] = load_once(cost, start + here)
                right[r] = load_once(cost, start + there)
            cuda.syncwarp()  # see `memory_order.load_ahead`
            for r in range(rows_at_once):
                row = min(int32(first + int32(r * warps)), int32(shape.n - 1))
                least = warp_min_int32(int32(min(left[r], right[r])))
                size = max(size, max(size_of(left[r]), size_of(right[r])))
                more, more_beside = int64(left[r]) - least, int64(right[r]) - least
                if more > WIDEST or more_beside > WIDEST:
                    fits = int32(0)
                place = int32(row * shape.stride)
                # What does not fit is nobody's: the strip is not looked at then.
                shape.strip[uint32(int32(place + lane))] = uint16(more & WIDEST)
                shape.strip[uint32(int32(place + beside))] = uint16(more_beside & WIDEST)
                if lane == 0:
                    shape.floors[uint32(row)] = least
        if cuda.syncthreads_and(fits) != 0:
            return True, size
        for row in range(int32(cuda.threadIdx.x), shape.n, int32(cuda.blockDim.x)):
            shape.floors[uint32(row)] = int32(0)
        return False, int32(TOO_WIDE)

    return fill_strip


@cuda.jit(device=True)
def fill_nothing(cost, shape):
    """Where there is no strip: no cost has been seen, and none is too large yet."""
    return False, int32(0)


def fill_with(strip: str, floats: bool) -> Any:
    """Make `fill_strip`; see there."""
    if strip == NARROW:
        return fill_narrow_with(BEGUN)
    return fill_whole_with(BEGUN, floats) if strip == WHOLE else fill_nothing
