"""Boxes: what a block of a cluster tells the others at the end of a search's level.

A block writes its box into its own shared memory, and after the cluster's barrier all blocks read
all boxes there (`distributed`). 32 columns are a group: a warp of its block decides about them, and
tells how many rows it has taken, its nearest open column and its farthest free one (a head), and
the rows. A box has two halves, by turns: who writes a half anew has met all others since
they have read it.

**Short distances.** One instruction finds the least of a warp's words of 32 bits. So a head has
both distances in 32 bits, counted from the nearest open column of the level before. Where one does
not fit, which is seen by all, the blocks read the whole ones, too (`whole_ends`). Of floats they
always do.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.reductions import FULL_WARP, warp_min_int32, warp_or, warp_rank
from papers.synthesis.assignment.kernels.arguments import CREW_THREADS, FRONT_CHUNK, NUMBERS
from papers.synthesis.assignment.kernels.cluster.distributed import load_from_block
from papers.synthesis.assignment.kernels.cluster.strips import NARROW, WHOLE
from papers.synthesis.assignment.kernels.grid.reports import MOST
from papers.synthesis.assignment.kernels.search import (
    farther,
    farthest_with,
    least_with,
    nothing_reached,
)

GROUP_BITS = 5
"""A group is two to this power columns."""

GROUPS = CREW_THREADS >> GROUP_BITS
"""Groups of a block at most."""

HAS_OPEN, HAS_FOUND = 1 << 26, 1 << 27
"""Flags of a head beside those of `grid.reports`: an open column, a free one that was reached."""

NEVER = 2**31 - 1
"""A short distance that does not fit, or that is not there."""

ROWS, FLAGS, NEAR, FAR = range(NUMBERS)
"""Words in which the heads meet."""


@cuda.jit(device=True)
def column_bits(m, blocks):
    """Columns of each of so many blocks, as a power of two: a group at least."""
    bits = int32(GROUP_BITS)
    while int32(blocks << bits) < m:
        bits = int32(bits + 1)
    return bits


@cuda.jit(device=True)
def groups_of(shape):
    """All groups of columns."""
    return int32((shape.m + 31) >> GROUP_BITS)


@cuda.jit(device=True)
def home_of(group, shape):
    """The block that has a group of columns, and the group's number there."""
    bits = int32(shape.bits - GROUP_BITS)
    block = int32(group >> bits)
    return block, int32(group - int32(block << bits))


@cuda.jit(device=True)
def head_of(number, level):
    """The place of the head of a block's group in its box."""
    return int32(int32(GROUPS * int32(level & 1)) + number)


@cuda.jit(device=True)
def row_of(number, behind, level):
    """The place of a row of a block's group in its box."""
    half = int32(CREW_THREADS * int32(level & 1))
    return int32(half + int32(int32(number << GROUP_BITS) + behind))


@cuda.jit(device=True)
def short_of(distance):
    """A distance from the nearest open column on, as 32 bits."""
    return int32(max(min(distance, int64(NEVER)), int64(-NEVER)))


def tell_with(floats: bool) -> Any:
    """Make `tell`."""
    least_of_warp, farthest_of_warp = least_with(floats), farthest_with(floats)

    @cuda.jit(device=True)
    def tell(level, taken, row, distance, dual, flag, least, low, reach, shape):
        """Put what the warp of a group has found into the block's box: all of its lanes.

        Parameters
        ----------
        level : int32
            The level that may read it.
        taken : bool
            Whether the lane's row comes into the front.
        flag : int32
        least : D
            The nearest open column before this level.
        low, reach : D
            The lane's column, if it is open, and if it is free and reached.
        """
        number = int32(cuda.threadIdx.x >> GROUP_BITS)
        rank, total = warp_rank(taken)
        if taken:
            place, value = row_of(number, rank, level), distance
            if not floats:
                value = distance - dual
            shape.taken[uint32(place)], shape.values[uint32(place)] = row, value
        flags, place = warp_or(flag), uint32(head_of(number, level))
        near, far = int32(NEVER), int32(NEVER)
        if not floats:
            if flag & HAS_OPEN != 0:
                near = short_of(low - least)
            if flag & HAS_FOUND != 0:
                far = short_of(least - reach if shape.square != 0 else reach - least)
            near, far = warp_min_int32(near), warp_min_int32(far)
        # A lane has what stands for nothing, where its column is neither open nor found.
        if floats or (flags & HAS_OPEN != 0 and near == NEVER):
            low = least_of_warp(low)
        elif flags & HAS_OPEN != 0:
            low = least + near
        if floats or (flags & HAS_FOUND != 0 and (far == NEVER or far == -NEVER)):
            reach = farthest_of_warp(reach, shape)
        elif flags & HAS_FOUND != 0:
            reach = least - far if shape.square != 0 else least + far
        if cuda.threadIdx.x & 31 == 0:
            shape.heads[place] = int32(total | flags)
            shape.nears[place], shape.fars[place] = near, far
            shape.lows[place], shape.reaches[place] = low, reach

    return tell


def hold_with(floats: bool, strip: str) -> Any:
    """Make `hold`: put a row of the front, with its value, into the block's shared memory."""
    by_spot, narrow = strip != WHOLE, strip == NARROW

    @cuda.jit(device=True)
    def hold(place, row, value, shape, duals):
        here = uint32(place)
        shape.rows[here] = row
        if by_spot:
            shape.spots[here] = int64(row) * shape.m
        if narrow:
            value += shape.floors[uint32(row)]
        if floats:
            shape.starts[here] = value
            value -= duals.u[uint32(row)]
        shape.bases[here] = value

    return hold


@cuda.jit(device=True)
def clear_numbers(level, shape):
    """Nothing has been told to a level yet: the first thread of each block."""
    at = uint32(NUMBERS * int32(level & 1))
    shape.sums[at + ROWS], shape.sums[at + FLAGS] = 0, 0
    shape.sums[at + NEAR], shape.sums[at + FAR] = NEVER, NEVER


def rows_with(floats: bool, strip: str) -> Any:
    """Make `take_rows`."""
    hold = hold_with(floats, strip)

    @cuda.jit(device=True)
    def take_rows(first, beyond, share, level, shape, duals):
        """Read some groups: their heads meet in ``sums``, and their rows come into the front.

        Two to the power `share` threads read a group; those of one warp put their rows side by
        side. Rows beyond the front's room are counted, no more. A barrier of the block stands on
        both sides.

        Race: which warp's rows come first is open; any order would do.
        """
        thread, step = int32(cuda.threadIdx.x), int32(1 << share)
        group, behind = int32(first + int32(thread >> share)), int32(thread & int32(step - 1))
        at = uint32(NUMBERS * int32(level & 1))
        if int32(group - int32(int32(thread & 31) >> share)) < beyond:  # the warp's first one
            there = group < beyond
            block, number = home_of(min(group, int32(beyond - 1)), shape)
            head = head_of(number, level)
            # All of them are on their way together, the row perhaps in vain.
            word = load_from_block(shape.heads, head, block)
            near = load_from_block(shape.nears, head, block)
            far = load_from_block(shape.fars, head, block)
            row = load_from_block(shape.taken, row_of(number, behind, level), block)
            value = load_from_block(shape.values, row_of(number, behind, level), block)
            flags, size = warp_or(int32(word & ~MOST)), int32(word & MOST)
            if not there:
                size = int32(0)
            if not floats:
                near, far = warp_min_int32(near), warp_min_int32(far)
            if thread & 31 == 0:
                cuda.atomic.or_(shape.sums, at + FLAGS, flags)
                if not floats:
                    cuda.atomic.min(shape.sums, at + NEAR, near)
                    cuda.atomic.min(shape.sums, at + FAR, far)
            while True:
                rank, total = warp_rank(behind < size)
                if total == 0:
                    break
                place = int32(0)
                if thread & 31 == 0:
                    place = cuda.atomic.add(shape.sums, at + ROWS, total)
                place = int32(cuda.shfl_sync(FULL_WARP, place, 0) + rank)
                if behind < size and place < FRONT_CHUNK:
                    hold(place, row, value, shape, duals)
                behind = int32(behind + step)
                if behind < size:
                    row = load_from_block(shape.taken, row_of(number, behind, level), block)
                    value = load_from_block(shape.values, row_of(number, behind, level), block)

    return take_rows


def whole_with(floats: bool) -> Any:
    """Make `whole_ends`."""
    least_of_warp, farthest_of_warp = least_with(floats), farthest_with(floats)

    @cuda.jit(device=True)
    def whole_ends(level, shape, matrix):
        """The nearest open and the farthest free column of all groups; barriers are within."""
        if cuda.threadIdx.x < 32:
            least, reach = matrix.top, nothing_reached(shape, matrix)
            group = int32(cuda.threadIdx.x)
            while group < groups_of(shape):
                block, number = home_of(group, shape)
                place = head_of(number, level)
                near = load_from_block(shape.lows, place, block)
                far = load_from_block(shape.reaches, place, block)
                least, reach = min(least, near), farther(reach, far, shape)
                group = int32(group + 32)
            cuda.syncwarp()
            least, reach = least_of_warp(least), farthest_of_warp(reach, shape)
            if cuda.threadIdx.x == 0:
                shape.ends[0], shape.ends[1] = least, reach
        cuda.syncthreads()
        return shape.ends[0], shape.ends[1]

    return whole_ends


def gather_with(floats: bool, strip: str) -> Any:
    """Make `gather`."""
    take_rows, whole_ends = rows_with(floats, strip), whole_with(floats)

    @cuda.jit(device=True)
    def gather(level, least, shape, matrix, duals):
        """Read all boxes, and as much of the front as fits; behind the cluster's barrier.

        Parameters
        ----------
        least : D
            The nearest open column before the last level.

        Returns
        -------
        rows : int32
            In the front.
        least, reach : D
        flags : int32
        """
        take_rows(int32(0), groups_of(shape), shape.share, level, shape, duals)
        cuda.syncthreads()
        at = uint32(NUMBERS * int32(level & 1))
        rows, flags = shape.sums[at + ROWS], shape.sums[at + FLAGS]
        near, far = shape.sums[at + NEAR], shape.sums[at + FAR]
        if cuda.threadIdx.x == 0:
            clear_numbers(int32(level + 1), shape)
        reach = nothing_reached(shape, matrix)
        if (
            floats
            or (flags & HAS_OPEN != 0 and near == NEVER)
            or (flags & HAS_FOUND != 0 and (far == NEVER or far == -NEVER))
        ):
            least, reach = whole_ends(level, shape, matrix)
        else:
            if flags & HAS_FOUND != 0:
                reach = least - far if shape.square != 0 else least + far
            if flags & HAS_OPEN != 0:
                least += near
            else:
                least = matrix.top
        return rows, least, reach, flags

    return gather


def parts_with(take_rows: Any) -> Any:
    """Make `take_part`."""

    @cuda.jit(device=True)
    def take_part(level, first, shape, duals):
        """Copy the rows of some groups, none of which is without room; how many rows.

        Where a front is too long for the block's memory, it is taken so, `GROUPS` groups at a time;
        barriers of the block are within.
        """
        at = uint32(NUMBERS * int32(level & 1))
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            shape.sums[at + ROWS] = 0
        cuda.syncthreads()
        beyond = min(int32(first + FRONT_CHUNK // 32), groups_of(shape))
        take_rows(first, beyond, shape.share, level, shape, duals)
        cuda.syncthreads()
        return shape.sums[at + ROWS]

    return take_part
