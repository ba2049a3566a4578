"""Passes over rows: several warps find a row's nearest column and the second nearest distance."""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32, uint64

from papers.common.gpu.reductions import FULL_WARP

TAKEN = 2**30
"""Set in the place of a column that is taken: such a one comes behind all that are free."""

NOWHERE = 2**31 - 1
"""The place of a column that does not exist, behind all others."""


@cuda.jit(device=True)
def column_at(place, row, turn, m):
    """The column that a row looks at in a place of its order; see `reference.places`."""
    tiles = int32((m + 31) >> 5)
    place = int32(place & (TAKEN - 1))
    tile = int32((place >> 5) + int32(row + turn) % tiles)
    if tile >= tiles:
        tile = int32(tile - tiles)
    return int32((tile << 5) + (int32(place + row) & 31))


@cuda.jit(device=True)
def row_dual(least, top):
    """The dual of a row with that least ``c - v``: 0 if no pair is allowed."""
    if least < top:
        return least
    return 0


@cuda.jit(device=True)
def better(first, place, second, other_first, other_place, other_second):
    """The two least of two pairs of least distances, and the place of the least."""
    if other_first < first or (other_first == first and other_place < place):
        return other_first, other_place, min(first, other_second)
    return first, place, min(second, other_first)


@cuda.jit(device=True)
def log_warps(shape, rows, loads):
    """Warps a row as a power of two: no more than there are, or than a row has work for."""
    power = int32(0)
    warps = int32(cuda.gridsize(1) >> 5)
    block = int32(cuda.blockDim.x >> 5)
    for _ in range(5):
        twice = int32(2 << power)
        if (
            twice > shape.warps_a_row
            or twice > block
            or int64(rows) * twice > warps
            or int32((loads << 5) << power) >= shape.m
        ):
            break
        power = int32(power + 1)
    return power


def two_least_with(loads: int) -> Any:
    """Make `two_least` with so many loads in flight a thread."""

    @cuda.jit(device=True)
    def two_least(shape, matrix, v, row_of, row, turn, power):
        """The nearest column's distance ``c - v`` and place, and the second nearest distance.

        All threads of a block call it, those of a group of ``2**power`` warps with one row, or
        with -1. The group's first thread gets the result. Of equally near columns the first free
        one counts, else the first.
        """
        firsts, seconds, places = shape.firsts, shape.seconds, shape.places
        held = cuda.local.array(loads, v.dtype)
        thread = cuda.threadIdx.x
        lane, warp = int32(thread & 31), int32(thread >> 5)
        warps = int32(1 << power)
        m, tiles = shape.m, int32((shape.m + 31) >> 5)
        first, second, place = matrix.top, matrix.top, int32(NOWHERE)
        if row >= 0:
            begin = int64(row) * m
            for tile in range(warp & (warps - 1), tiles, warps * loads):
                taken = int32(0)
                for k in range(loads):
                    here = int32(tile + k * warps)
                    held[k] = matrix.top
                    if here < tiles:
                        column = column_at(int32((here << 5) + lane), row, turn, m)
                        if column < m:
                            held[k] = matrix.cost[uint64(begin + column)] - v[uint32(column)]
                            if row_of[uint32(column)] >= 0:
                                taken = int32(taken | (1 << k))
                for k in range(loads):
                    value = held[k]
                    here = int32(((tile + k * warps) << 5) + lane)
                    if taken >> k & 1 != 0:
                        here = int32(here | TAKEN)
                    if value < first or (value == first and here < place):
                        second, first, place = first, value, here
                    elif value < second:
                        second = value
        for distance in (16, 8, 4, 2, 1):
            other = cuda.shfl_xor_sync(FULL_WARP, first, distance)
            where = cuda.shfl_xor_sync(FULL_WARP, place, distance)
            next_best = cuda.shfl_xor_sync(FULL_WARP, second, distance)
            first, place, second = better(first, place, second, other, where, next_best)
        if lane == 0:
            firsts[warp], places[warp], seconds[warp] = first, place, second
        cuda.syncthreads()
        if lane == 0 and warp & (warps - 1) == 0:
            for k in range(warp + 1, warp + warps):
                first, place, second = better(
                    first, place, second, firsts[k], places[k], seconds[k]
                )
        cuda.syncthreads()  # the next row's results go to the same words
        return first, place, second

    return two_least


@cuda.jit(device=True)
def group_of(power):
    """The number in the grid of the group of warps that a thread belongs to, and groups."""
    a_block = int32((cuda.blockDim.x >> 5) >> power)
    mine = int32((cuda.threadIdx.x >> 5) >> power)
    return int32(cuda.blockIdx.x * a_block + mine), int32(cuda.gridDim.x * a_block)


@cuda.jit(device=True)
def leads(power):
    """Whether a thread is the first of its group."""
    return cuda.threadIdx.x & ((32 << power) - 1) == 0
