"""Passes over rows: several warps find a row's nearest column and the second nearest distance."""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_ahead, load_once
from papers.common.gpu.reductions import FULL_WARP, warp_min_int32, warp_min_int64
from papers.synthesis.assignment.kernels import search
from papers.synthesis.assignment.kernels.team import threads_of

TAKEN = 2**30
"""Set in the place of a column that is taken: such a one comes behind all that are free."""

NOWHERE = 2**31 - 1
"""The place of a column that does not exist, behind all others."""


@cuda.jit(device=True)
def first_tile(row, turn, m):
    """The tile of 32 columns that a row looks at first, so that rows do not all look at one."""
    tiles = uint32((m + 31) >> 5)
    return int32(uint32(row + turn) % tiles)


@cuda.jit(device=True)
def column_at(place, row, begin, m):
    """The column in a place of a row's order, whose first tile is `begin`; it may lie beyond m.

    See `reference.places`.
    """
    tiles = int32((m + 31) >> 5)
    place = int32(place & (TAKEN - 1))
    tile = int32((place >> 5) + begin)
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
    warps = int32(threads_of(shape) >> 5)
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


@cuda.jit(device=True)
def two_of_warp_by_shuffles(first, place, second):
    """`better` over the lanes of a warp; every lane gets it."""
    for distance in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(FULL_WARP, first, distance)
        where = cuda.shfl_xor_sync(FULL_WARP, place, distance)
        next_best = cuda.shfl_xor_sync(FULL_WARP, second, distance)
        first, place, second = better(first, place, second, other, where, next_best)
    return first, place, second


@cuda.jit(device=True)
def two_of_warp_by_minima(first, place, second):
    """`two_of_warp_by_shuffles` of integers: three minima, which are an instruction or two each."""
    least = warp_min_int64(first)
    if first != least:
        place = int32(NOWHERE)
    at = warp_min_int32(place)
    if first != least or place != at:
        second = first
    return least, at, warp_min_int64(second)


def two_of_warp_with(floats: bool) -> Any:
    """The two least over the lanes of a warp, of a kernel for integers or for floats."""
    return two_of_warp_by_shuffles if floats else two_of_warp_by_minima


def two_least_with(loads: int, floats: bool) -> Any:
    """Make `two_least` with so many loads in flight a thread."""
    two_of_warp = two_of_warp_with(floats)

    @cuda.jit(device=True)
    def two_least(shape, matrix, v, row_of, row, turn, power):
        """The nearest column's distance ``c - v`` and place, and the second nearest distance.

        All threads of a block call it, those of a group of ``2**power`` warps with one row, or
        with -1. The group's first thread gets the result. Of equally near columns the first free
        one counts, else the first.
        """
        firsts, seconds, places = shape.firsts, shape.seconds, shape.places
        costs = cuda.local.array(loads, matrix.cost.dtype)
        held = cuda.local.array(loads, v.dtype)
        owners = cuda.local.array(loads, int32)
        thread = cuda.threadIdx.x
        lane, warp = int32(thread & 31), int32(thread >> 5)
        warps = int32(1 << power)
        m, tiles = shape.m, int32((shape.m + 31) >> 5)
        first, second, place = matrix.top, matrix.top, int32(NOWHERE)
        if row >= 0:
            begin, start = int64(row) * m, first_tile(row, turn, m)
            for tile in range(int32(warp & (warps - 1)), tiles, int32(warps * loads)):
                # Nothing is asked between the loads, so that all of them are on their way at once:
                # what lies beyond the end looks at the last column, and is passed over below.
                for k in range(loads):
                    here = min(int32(tile + int32(k * warps)), int32(tiles - 1))
                    column = column_at(int32((here << 5) + lane), row, start, m)
                    column = min(column, int32(m - 1))
                    costs[k] = load_ahead(matrix.cost, begin + column)
                    held[k] = v[uint32(column)]
                    owners[k] = row_of[uint32(column)]
                for k in range(loads):
                    here = int32(tile + int32(k * warps))
                    where = int32((here << 5) + lane)
                    if here < tiles and column_at(where, row, start, m) < m:
                        value = costs[k] - held[k]
                        if owners[k] >= 0:
                            where = int32(where | TAKEN)
                        if value < first or (value == first and where < place):
                            second, first, place = first, value, where
                        elif value < second:
                            second = value
        first, place, second = two_of_warp(first, place, second)
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


def least_with(loads: int, floats: bool) -> Any:
    """Make `least_of_row` with so many loads in flight a thread, and as many behind them."""
    least_of_warp = search.least_with(floats)

    @cuda.jit(device=True)
    def fetch_of_row(costs, start, begin, last, cost):
        """Load every 32nd cost of a row from a column on, of the last one where there are fewer."""
        for k in range(loads):
            costs[k] = load_once(cost, begin + min(int32(start + int32(k << 5)), last))
        cuda.syncwarp()  # see `memory_order.load_ahead`

    @cuda.jit(device=True)
    def least_of(costs, least, v_counts, start, last, v, zero):
        """Lower the least ``c - v`` by fetched costs."""
        for k in range(loads):
            # The last column may be looked at again: that changes no minimum.
            value = costs[k] + zero
            if v_counts:
                value -= v[uint32(min(int32(start + int32(k << 5)), last))]
            least = min(least, value)
        return least

    @cuda.jit(device=True)
    def least_of_row(v_counts, shape, matrix, v, row, power):
        """The least ``c - v`` of a row, or top of no row: `two_least` for who asks no more.

        All threads of a block call it, those of a group of ``2**power`` warps with one row, or
        with -1, and all of them get the result. Single warps wait for nobody.

        Parameters
        ----------
        v_counts : bool
            Whether to look at `v`, which is 0 in all columns else.
        """
        costs = cuda.local.array(loads, matrix.cost.dtype)
        ahead = cuda.local.array(loads, matrix.cost.dtype)
        thread = int32(cuda.threadIdx.x)
        lane, warp, warps = int32(thread & 31), int32(thread >> 5), int32(1 << power)
        last, least = int32(shape.m - 1), matrix.top
        if row >= 0:
            begin, wide = int64(row) * shape.m, int32(loads << 5)
            first, step = int32(int32(warp & (warps - 1)) * wide), int32(wide << power)
            fetch_of_row(costs, int32(first + lane), begin, last, matrix.cost)
            # By turns: one set of costs is on its way while the other is looked at.
            for start in range(first, shape.m, int32(2 * step)):
                mine = int32(start + lane)
                middle = int32(mine + step)
                fetch_of_row(ahead, middle, begin, last, matrix.cost)
                least = least_of(costs, least, v_counts, mine, last, v, matrix.zero)
                fetch_of_row(costs, int32(middle + step), begin, last, matrix.cost)
                least = least_of(ahead, least, v_counts, middle, last, v, matrix.zero)
        least = least_of_warp(least)
        if power > 0:
            shape.firsts[uint32(warp)] = least
            cuda.syncthreads()
            for k in range(1, warps):
                least = min(least, shape.firsts[uint32(warp ^ k)])
            cuda.syncthreads()  # the next row's results go to the same words
        return least

    return least_of_row


@cuda.jit(device=True)
def group_of(power, shape):
    """The number in the team of the group of warps that a thread belongs to, and groups."""
    a_block = int32((cuda.blockDim.x >> 5) >> power)
    mine = int32((cuda.threadIdx.x >> 5) >> power)
    return int32(shape.block * a_block + mine), int32(shape.blocks * a_block)


@cuda.jit(device=True)
def leads(power):
    """Whether a thread is the first of its group."""
    return cuda.threadIdx.x & ((32 << power) - 1) == 0
