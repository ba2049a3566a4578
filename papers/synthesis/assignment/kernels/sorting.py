"""Sorts the lines of a square where that solves it: whole numbers that become a Monge array by it.

In a Monge array ``c[i, j] + c[i + 1, j + 1] <= c[i, j + 1] + c[i + 1, j]`` everywhere, and its
diagonal is an optimum (G. Monge 1781, A. J. Hoffman 1963). Products of two numbers are one in the
right order, and so are distances of points on a line; auctions and searches are slow there. One
core begins by sorting, too (`papers.synthesis.one_core.monge`).

Where many rows are free after the start, the lines are sorted before any scale begins, in five
stages with a barrier of the team behind each: the lines' keys (`find_keys`) and what the diagonal
asks (`add_up`) are the first block's, their order (`rank_lines`), the proof (`prove`) and the pairs
(`take`) are everybody's. Nothing is believed: the diagonal is taken only if the duals that it gives
prove it, which is one pass over all costs. Where they do not, nothing has changed but what rounds,
rescaling and searches make anew, and most matrices are told before that pass, by the inequalities
along the diagonal; n * n keys are read for each side by then. Lines that are alike at the outermost
lines across, but not between them, may come into a wrong order: then a Monge array is not solved.

==================  ===================  ======================================================
reference           array                dtype, shape
==================  ===================  ======================================================
keys of rows        lists.offer          D[n]; from `add_up` on the rows' duals
keys of columns     tree.distance        D[n]; from `add_up` on the columns' duals
rows                tree.before          int32[n], the rows in order
columns             tree.opened          int32[n], the columns in order
==================  ===================  ======================================================
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed_anywhere, store_relaxed_anywhere
from papers.common.gpu.reductions import block_scan_int64, warp_least, warp_sum
from papers.synthesis.assignment.kernels.arguments import HOLDS, SORTED, SORTS
from papers.synthesis.assignment.kernels.team import thread_of, threads_of
from papers.synthesis.assignment.kernels.words import count, is_late, prepare_turn
from papers.synthesis.assignment.settings import MOST_TURNS


@cuda.jit(device=True)
def cost_at(row, column, shape, matrix):
    """A cost, as wide as a dual."""
    return matrix.zero + matrix.cost[int64(row) * shape.m + column]


@cuda.jit(device=True)
def least_of_block(value, place, shape):
    """As `warp_least`, of a block; every thread calls it."""
    lane, warp = int32(cuda.threadIdx.x & 31), int32(cuda.threadIdx.x >> 5)
    value, place = warp_least(value, place)
    cuda.syncthreads()  # everybody has read what was there before
    shape.firsts[warp], shape.places[warp] = value, place
    cuda.syncthreads()
    if lane < int32(cuda.blockDim.x >> 5):
        value, place = shape.firsts[lane], shape.places[lane]
    return warp_least(value, place)


@cuda.jit(device=True)
def outermost(first, last, of_line, of_end, turn, keys, shape, matrix):
    """Write each line's key, its cost at one end less that at the other, by the first block.

    Parameters
    ----------
    first, last : int32
        The lines across that are the ends.
    of_line, of_end : int64
        How far the costs of two lines, and of two ends, are apart in memory.
    turn : int32
        In every second one the last of equal lines is taken, else the first.
    keys : D[n]

    Returns
    -------
    least_at, most_at : int32
        The lines of the least key and of the greatest.
    spread : D
        Their difference.
    """
    least, most = matrix.top, matrix.top
    least_at, most_at = int32(shape.n), int32(shape.n)
    for line in range(int32(cuda.threadIdx.x), shape.n, int32(cuda.blockDim.x)):
        begin, place = int64(line) * of_line, int32(line)
        key = matrix.zero + matrix.cost[begin + first * of_end]
        key -= matrix.cost[begin + last * of_end]
        keys[line] = key
        if turn & 1:
            place = int32(shape.n - 1 - line)
        if key < least or (key == least and place < least_at):
            least, least_at = key, place
        if -key < most or (-key == most and place < most_at):
            most, most_at = -key, place
    least, least_at = least_of_block(least, least_at, shape)
    most, most_at = least_of_block(most, most_at, shape)
    if turn & 1:
        least_at, most_at = int32(shape.n - 1 - least_at), int32(shape.n - 1 - most_at)
    return least_at, most_at, -most - least


@cuda.jit(device=True)
def find_keys(shape, matrix, lists, tree):
    """Keys of rows and of columns, between the outermost ones: by the first block.

    In a Monge array the difference of two columns grows from row to row, and that of two rows from
    column to column. The ends are looked for in turns, `MOST_TURNS` at most, until two of them do
    not spread the columns' keys more widely: points of a line beyond all others are alike here, so
    that one turn may come by a point that lies farther out.
    """
    apart, one = int64(shape.m), int64(1)
    first, last = int32(0), int32(shape.m - 1)
    widest, still = matrix.none, int32(0)
    for turn in range(MOST_TURNS):
        upper, lower, _ = outermost(first, last, apart, one, turn, lists.offer, shape, matrix)
        left, right, spread = outermost(
            upper, lower, one, apart, turn, tree.distance, shape, matrix
        )
        still = int32(still + 1)
        if spread > widest:
            widest, still = spread, int32(0)
        if still == 2:
            break
        first, last = left, right


@cuda.jit(device=True)
def rank_lines(keys, order, shape):
    """Put each line in its place, a warp a line: behind those of lesser keys, or equal and before.

    Parameters
    ----------
    keys : D[n]
    order : int32[n]
        Written.
    """
    lane = int32(cuda.threadIdx.x & 31)
    for line in range(thread_of(shape) >> 5, shape.n, threads_of(shape) >> 5):
        mine, before = keys[line], int32(0)
        for other in range(lane, shape.n, 32):
            key = keys[other]
            if key < mine or (key == mine and other < line):
                before += int32(1)
        before = warp_sum(before)
        if lane == 0:
            order[before] = line


@cuda.jit(device=True)
def step_of(place, shape, matrix, tree):
    """By how much the dual of a place's row exceeds that of the place before; whether it may."""
    row, column = tree.before[place], tree.opened[place]
    above, beside = tree.before[place - 1], tree.opened[place - 1]
    step = cost_at(row, column, shape, matrix) - cost_at(above, column, shape, matrix)
    most = cost_at(row, beside, shape, matrix) - cost_at(above, beside, shape, matrix)
    return step, step <= most


@cuda.jit(device=True)
def add_up(shape, matrix, lists, tree, log):
    """The duals that make the diagonal tight, and the pairs above it: by the first block.

    They are steps added up from row to row, a run of places a thread. If a pair below the diagonal
    forbids a step, `HOLDS` is 0, and there are no duals.
    """
    k, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
    each = int32((shape.n + width - 1) // width)
    begin, end = min(int32(k * each), shape.n), min(int32((k + 1) * each), shape.n)
    total, holds = matrix.zero, int32(1)
    for place in range(max(begin, int32(1)), end):
        step, may = step_of(place, shape, matrix, tree)
        total += step
        if not may:
            holds = int32(0)
    forbidden = cuda.syncthreads_or(int32(1 - holds))
    if k == 0:
        store_relaxed_anywhere(log.words, HOLDS, int32(0 if forbidden else 1))
    if not forbidden:
        dual, _ = block_scan_int64(total, shape.firsts)  # free behind the barrier above
        for place in range(begin, end):
            if place > 0:
                step, _ = step_of(place, shape, matrix, tree)
                dual += step
            row, column = tree.before[place], tree.opened[place]
            lists.offer[row] = dual
            tree.distance[column] = cost_at(row, column, shape, matrix) - dual


@cuda.jit(device=True)
def prove(shape, matrix, lists, tree, log):
    """Look at every pair, a warp a row: `HOLDS` becomes 0 if one costs less than its duals.

    Race: whoever finds one stores the same word, and who reads it late looks at more pairs.
    """
    lane = int32(cuda.threadIdx.x & 31)
    for row in range(thread_of(shape) >> 5, shape.n, threads_of(shape) >> 5):
        if load_relaxed_anywhere(log.words, HOLDS) == 0:
            break
        dual, holds = lists.offer[row], True
        for column in range(lane, shape.m, 32):
            if cost_at(row, column, shape, matrix) < dual + tree.distance[column]:
                holds = False
        if not holds:
            store_relaxed_anywhere(log.words, HOLDS, int32(0))


@cuda.jit(device=True)
def take(turn, due, shape, duals, matching, lists, tree, log):
    """Match the sorted rows to the sorted columns; no row is free in the next turn."""
    for place in range(thread_of(shape), shape.n, threads_of(shape)):
        row, column = tree.before[place], tree.opened[place]
        matching.column[row], matching.row[column] = column, row
        duals.u[row] = lists.offer[row]
        dual = tree.distance[column]
        duals.v[column], duals.bid[column] = dual, dual
    prepare_turn(shape, log, turn, due)
    count(shape, log, SORTED, 1)


@cuda.jit(device=True)
def sort_nothing(turn, due, schedule, shape, matrix, duals, matching, lists, tree, log):
    """No sorting: of floats, whose sums of steps are rounded, and in batches."""
    return False


def sort_with(meet: Any) -> Any:
    """Make `sort` from the team's barrier."""

    @cuda.jit(device=True)
    def sort(turn, due, schedule, shape, matrix, duals, matching, lists, tree, log):
        """Whether sorting has solved the problem; `turn` is over then.

        Sums of steps are less than two to the power 62 where sums of reduced costs need no shift.
        """
        if schedule.sorting == 0 or shape.shift != 0 or is_late(log, turn):
            return False
        if shape.block == 0:
            find_keys(shape, matrix, lists, tree)
        count(shape, log, SORTS, 1)
        meet()
        rank_lines(lists.offer, tree.before, shape)
        rank_lines(tree.distance, tree.opened, shape)
        meet()
        if shape.block == 0:
            add_up(shape, matrix, lists, tree, log)
        meet()
        prove(shape, matrix, lists, tree, log)
        meet()
        if load_relaxed_anywhere(log.words, HOLDS) == 0:
            return False
        take(turn, due, shape, duals, matching, lists, tree, log)
        meet()
        return True

    return sort
