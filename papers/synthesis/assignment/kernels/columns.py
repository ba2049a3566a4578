"""Passes over columns, and the mean: a thread takes a column of a strip of rows."""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_once
from papers.common.gpu.reductions import FULL_WARP, warp_sum
from papers.synthesis.assignment.kernels.arguments import NUMBER, SUM
from papers.synthesis.assignment.kernels.team import thread_of, threads_of
from papers.synthesis.assignment.settings import WARP

FREE_ONLY, OTHERS = 0, 1
"""Which pairs count: those of free columns, or those that are not matched."""


def fetch_with(loads: int) -> Any:
    """Make `fetch` with so many loads in flight a thread."""

    @cuda.jit(device=True)
    def fetch(costs, begin, end, column, m, cost):
        """Load a column's costs in rows from `begin` on, of the last one where there are fewer.

        The warp's barrier keeps these loads in front of whatever follows
        (see `memory_order.load_ahead`).
        """
        for k in range(loads):
            row = min(int32(begin + k), int32(end - 1))
            costs[k] = load_once(cost, int64(row) * m + column)
        cuda.syncwarp()

    return fetch


def least_with(loads: int) -> Any:
    """Make `least_in_columns` with so many loads in flight a thread, and as many behind them."""
    loads = min(loads, WARP)  # a row's dual is in the lane of its number
    fetch = fetch_with(loads)

    @cuda.jit(device=True)
    def least_of(costs, nearest, begin, end, own, held):
        """Lower the nearest ``c - u`` by fetched costs.

        Parameters
        ----------
        own : int32
            A row that does not count.
        held : D
            A row's dual, in the lane of its number.
        """
        for k in range(loads):
            # The last row may be looked at again: that changes no minimum.
            row, dual = min(int32(begin + k), int32(end - 1)), cuda.shfl_sync(FULL_WARP, held, k)
            if row != own:
                nearest = min(nearest, costs[k] - dual)
        return nearest

    @cuda.jit(device=True)
    def least_in_columns(which, shape, matrix, u, row_of, least):
        """Lower ``least[j]`` to the smallest ``c - u`` of column j; needs a barrier on both sides.

        Race: blocks take strips of rows, and their minima meet in atomics, in any order.
        """
        costs = cuda.local.array(loads, matrix.cost.dtype)
        ahead = cuda.local.array(loads, matrix.cost.dtype)
        n, m = shape.n, shape.m
        thread, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        lane = int32(thread & 31)
        chunks = int32((m + width - 1) // width)
        strips = int32(max(1, min(n, shape.blocks // chunks)))
        deep = int32((n + strips - 1) // strips)
        for item in range(shape.block, int32(chunks * strips), shape.blocks):
            column = int32((item % chunks) * width + thread)
            begin = int32(item // chunks * deep)
            end = min(n, int32(begin + deep))
            inside = min(column, int32(m - 1))
            owner = row_of[uint32(inside)]
            wanted = column < m and not (which == FREE_ONLY and owner >= 0)
            own = int32(-1)
            if which == OTHERS:
                own = owner
            if cuda.any_sync(FULL_WARP, wanted) and begin < end:
                nearest, last = matrix.top, int32(end - 1)
                fetch(costs, begin, end, inside, m, matrix.cost)
                # By turns: one set of costs is on its way while the other is looked at.
                for i in range(begin, end, 2 * loads):
                    middle = int32(i + loads)
                    held = u[uint32(min(int32(i + lane), last))]
                    beside = u[uint32(min(int32(middle + lane), last))]
                    fetch(ahead, middle, end, inside, m, matrix.cost)
                    nearest = least_of(costs, nearest, int32(i), end, own, held)
                    fetch(costs, int32(middle + loads), end, inside, m, matrix.cost)
                    nearest = least_of(ahead, nearest, middle, end, own, beside)
                if wanted and nearest < matrix.top:
                    cuda.atomic.min(least, column, nearest)

    return least_in_columns


@cuda.jit(device=True)
def fill(array, size, value, shape):
    """Set the first elements of an array; each thread of the team its own."""
    for k in range(thread_of(shape), size, threads_of(shape)):
        array[k] = value


@cuda.jit(device=True)
def raise_free_columns(eps, shape, matrix, duals, row_of, least):
    """Let free columns rise to their least slack and eps above."""
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        if row_of[j] < 0 and least[j] < matrix.top:
            risen = least[j] + eps
            duals.v[j] = risen
            duals.bid[j] = risen


@cuda.jit(device=True)
def lift_columns(zero, shape, duals, least):
    """Let negative duals rise as far as the pairs that are not matched allow, at most to 0."""
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        limit = min(least[j], zero)
        if duals.v[j] < limit:
            duals.v[j] = limit
            duals.bid[j] = limit


def sum_with(scaled: Any) -> Any:
    """Make `sum_of_sample`; `scaled` shifts integers so that no sum overflows."""

    @cuda.jit(device=True)
    def sum_of_sample(zero, shape, matrix, duals, levels):
        """Add up the reduced costs of evenly spread rows, and count the allowed pairs."""
        step = shape.sample_step
        samples = int32((shape.n + step - 1) // step)
        total, number = zero, int64(0)
        for sample in range(shape.block, samples, shape.blocks):
            row = int32(sample * step)
            begin, u = int64(row) * shape.m, duals.u[row]
            for j in range(cuda.threadIdx.x, shape.m, cuda.blockDim.x):
                slack = matrix.cost[begin + j] - duals.v[j] - u
                if slack < matrix.top:
                    total += scaled(slack, shape.shift)
                    number += 1
        total, number = warp_sum(total), warp_sum(number)
        if cuda.threadIdx.x & 31 == 0 and number > 0:
            cuda.atomic.add(levels, SUM, total)
            cuda.atomic.add(levels, NUMBER, number)

    return sum_of_sample
