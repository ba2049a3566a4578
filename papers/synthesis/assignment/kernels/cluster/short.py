"""Searches in 32 bits, for integers that are not too large.

Most of a level's time goes into reading, comparing and telling distances
(`evidence/level_parts.csv`), and those of 64 bits take several instructions for one. So a search
counts in 32 bits wherever nothing can run over; any other one counts in 64 (`levels`, `boxes`),
level for level the same.

**The bound.** Let all costs and duals lie between -w and w, where w is at most 2^`BITS`. A free
row begins at 0 and looks at every column, so that after the first level no distance is over 3 w,
and later ones only fall. A row of the front counts its distance less its dual, at most 4 w, and
adds a cost and subtracts a column's dual: at most 6 w, less than 2^30. Duals move by a search's
reach at most. So each block notes the largest of its strip's costs and of its part of the duals
(`note`), all agree once on the largest of these, and every search adds its reach (`agree`,
`risen`).

**Costs that lie in no strip** nobody has seen before a search reads them. So a search notes those
that are too large as it reads them (`large`), and takes the bound for them meanwhile; a block that
has read one tells it with its level (`TOO_LARGE`), all leave that search behind the level, and
begin it anew in 64 bits. Nothing of it counts: duals and matching move behind a search alone, and
a search that was left stores no rows before, since trees that stay need theirs.

**Pairs.** Two numbers that are read together stand in one word of 64 bits, the one that may be
negative in its upper half.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_ahead
from papers.common.gpu.reductions import FULL_WARP, warp_min_int32, warp_or, warp_rank
from papers.synthesis.assignment.kernels.arguments import FRONT_CHUNK, NUMBERS, SOLVED
from papers.synthesis.assignment.kernels.cluster.boxes import (
    FAR,
    FLAGS,
    GROUP_BITS,
    NEAR,
    NEVER,
    ROWS,
    clear_numbers,
    groups_of,
    head_of,
    home_of,
    row_of,
)
from papers.synthesis.assignment.kernels.cluster.distributed import load_from_block
from papers.synthesis.assignment.kernels.cluster.strips import NARROW, NOTED, TOO_WIDE, size_of
from papers.synthesis.assignment.kernels.grid.reports import MOST
from papers.synthesis.assignment.kernels.team import thread_of, threads_of

BITS = 27
"""Costs and duals below two to this power, on both sides of 0, allow 32 bits."""

MINE, ALL, SEEN = range(3)
"""Words of the largest size: of a block, and of all; and whether the block has read a larger cost,
which has a word of its own since others may still look at the first."""

TOO_LARGE = 1 << 28
"""A flag of a head beside those of `boxes`: a block has read a cost that is too large."""

IN_STRIP = 4
"""Rows that a thread looks up in its strip together."""


@cuda.jit(device=True)
def paired(upper, lower):
    """One word of two: `lower` is not negative."""
    return int64(upper) << 32 | int64(lower)


@cuda.jit(device=True)
def upper_of(pair):
    """The half that may be negative."""
    return int32(pair >> 32)


@cuda.jit(device=True)
def lower_of(pair):
    """The other half."""
    return int32(pair & 0xFFFFFFFF)


@cuda.jit(device=True)
def note(size, shape, duals):
    """Note the largest size of a block's costs and of its share of the duals: all its threads.

    Parameters
    ----------
    size : int32
        The largest size of a cost that the thread has seen; `TOO_WIDE` where there is no strip.
    """
    for i in range(thread_of(shape), shape.n, threads_of(shape)):
        size = max(size, size_of(duals.u[i]))
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        size = max(size, size_of(duals.v[j]))
    cuda.syncwarp()
    size = int32(-warp_min_int32(int32(-size)))
    if cuda.threadIdx.x & 31 == 0:
        cuda.atomic.max(shape.widest, MINE, size)


@cuda.jit(device=True)
def agree(shape):
    """The largest size of all blocks, behind a barrier of the cluster that stands behind `note`."""
    if cuda.threadIdx.x < 32:
        block = min(int32(cuda.threadIdx.x), int32(shape.blocks - 1))
        size = load_from_block(shape.widest, MINE, block)
        size = int32(-warp_min_int32(int32(-size)))
        if cuda.threadIdx.x == 0:
            shape.widest[ALL] = size
    cuda.syncthreads()


@cuda.jit(device=True)
def fits(shape):
    """Whether a search may count in 32 bits."""
    return shape.widest[ALL] < 1 << BITS


@cuda.jit(device=True)
def risen(reach, status, shape):
    """Note that duals may have moved so far; barriers stand between this and the next search."""
    if cuda.threadIdx.x == 0:
        size = int64(TOO_WIDE)
        if status == SOLVED and reach < TOO_WIDE:
            size = min(size, shape.widest[ALL] + reach)
        shape.widest[ALL] = int32(size)


@cuda.jit(device=True)
def tell(level, taken, row, distance, dual, flag, least, low, reach, shape):
    """As `boxes.tell_with`'s, in 32 bits; an open column and a free one need no flags."""
    number = int32(cuda.threadIdx.x >> GROUP_BITS)
    rank, total = warp_rank(taken)
    if taken:
        pair = paired(int32(distance - dual), row)
        shape.values[uint32(row_of(number, rank, level))] = pair
    if shape.square != 0:
        reach = int32(-reach)
    flags, low, reach = warp_or(flag), warp_min_int32(low), warp_min_int32(reach)
    if cuda.threadIdx.x & 31 == 0:
        place = uint32(head_of(number, level))
        shape.heads[place] = int32(total | flags)
        # Behind a cost that is too large a distance may be negative, and counts for nothing.
        shape.lows[place] = paired(reach, max(low, int32(0)))


@cuda.jit(device=True)
def large(shape):
    """A flag, if the block has read a cost that is too large; a barrier stands in front."""
    return int32(TOO_LARGE if shape.widest[SEEN] != 0 else 0)


@cuda.jit(device=True)
def leave(shape):
    """From here on searches count in 64 bits; barriers stand between this and the next one."""
    if cuda.threadIdx.x == 0:
        shape.widest[ALL] = int32(TOO_WIDE)


def hold_with(strip: str) -> Any:
    """Make `hold`; as `boxes.hold_with`'s."""
    narrow, by_spot = strip == NARROW, strip == NOTED

    @cuda.jit(device=True)
    def hold(place, row, value, shape, duals):
        here = uint32(place)
        shape.rows[here] = row
        if narrow:
            value = int32(value + shape.floors[uint32(row)])
        if by_spot:
            shape.spots[here] = int64(row) * shape.m
            shape.bases[here] = paired(value, int32(0))
        else:
            shape.bases[here] = paired(value, int32(row * shape.stride))

    return hold


def rows_with(strip: str) -> Any:
    """Make `take_rows`; as `boxes.rows_with`'s, from pairs."""
    hold = hold_with(strip)

    @cuda.jit(device=True)
    def take_rows(first, beyond, share, level, shape, duals):
        """As `boxes.rows_with`'s, from pairs.

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
            ends = load_from_block(shape.lows, head, block)
            entry = load_from_block(shape.values, row_of(number, behind, level), block)
            flags, size = warp_or(int32(word & ~MOST)), int32(word & MOST)
            if not there:
                size = int32(0)
            near, far = warp_min_int32(lower_of(ends)), warp_min_int32(upper_of(ends))
            if thread & 31 == 0:
                cuda.atomic.or_(shape.sums, at + FLAGS, flags)
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
                    hold(place, lower_of(entry), upper_of(entry), shape, duals)
                behind = int32(behind + step)
                if behind < size:
                    entry = load_from_block(shape.values, row_of(number, behind, level), block)

    return take_rows


def gather_with(strip: str) -> Any:
    """Make `gather`; as `boxes.gather_with`'s."""
    take_rows = rows_with(strip)

    @cuda.jit(device=True)
    def gather(level, least, shape, matrix, duals):
        take_rows(int32(0), groups_of(shape), shape.share, level, shape, duals)
        cuda.syncthreads()
        at = uint32(NUMBERS * int32(level & 1))
        rows, flags = shape.sums[at + ROWS], shape.sums[at + FLAGS]
        near, far = shape.sums[at + NEAR], shape.sums[at + FAR]
        if cuda.threadIdx.x == 0:
            clear_numbers(int32(level + 1), shape)
        if shape.square != 0:
            far = int32(-far)
        return rows, near, far, flags

    return gather


def noted_with(loads: int) -> Any:
    """Make `look_at`: so many rows of a part, all on their way at once."""

    @cuda.jit(device=True)
    def look_at(best, source, beyond, first, last, costs, shape):
        found, most = cuda.local.array(loads, costs.dtype), int32((1 << BITS) - 1)
        for x in range(loads):
            found[x] = load_ahead(costs, shape.spots[uint32(min(int32(first + x), last))])
        cuda.syncwarp()  # see `memory_order.load_ahead`
        for x in range(loads):
            here = min(int32(first + x), last)
            cost = min(max(int32(found[x]), int32(-most)), most)
            beyond = int32(beyond | int32(cost ^ int32(found[x])))
            through = int32(upper_of(shape.bases[uint32(here)]) + cost)
            if through < best:
                best, source = through, here
        return best, source, beyond

    return look_at


def nearest_with(loads: int, strip: str) -> Any:
    """Make `nearest_row`; as `levels.nearest_with`'s, in 32 bits."""
    if strip != NOTED:
        return nearest_in_strip
    few = max(1, loads // 2)
    look_at, look_at_many = noted_with(few), noted_with(loads)

    @cuda.jit(device=True)
    def nearest_row(best, source, part, part_bits, size, lane, costs, v, shape):
        """As `levels.nearest_with`'s, in the matrix; costs that are too large count as the bound.

        Race: threads that have read such a cost all note the same.
        """
        each = int32(int32(size + int32((1 << part_bits) - 1)) >> part_bits)
        first, last, left, beyond = int32(part * each), int32(size - 1), each, int32(0)
        while left > 0:
            if left > few:
                best, source, beyond = look_at_many(best, source, beyond, first, last, costs, shape)
                first, left = int32(first + loads), int32(left - loads)
            else:
                best, source, beyond = look_at(best, source, beyond, first, last, costs, shape)
                left = int32(0)  # no more than a few were left
        if beyond != 0:
            shape.widest[SEEN] = 1
        return best, source

    return nearest_row


@cuda.jit(device=True)
def nearest_in_strip(best, source, part, part_bits, size, lane, costs, v, shape):
    """As `levels.nearest_with`'s, in the strip."""
    each = int32(int32(size + int32((1 << part_bits) - 1)) >> part_bits)
    first, last, left = int32(part * each), int32(size - 1), each
    while left > 0:
        for x in range(IN_STRIP):
            here = min(int32(first + x), last)
            pair = shape.bases[uint32(here)]
            cost = int32(shape.strip[uint32(int32(lower_of(pair) + lane))])
            through = int32(upper_of(pair) + cost)
            if through < best:
                best, source = through, here
        first, left = int32(first + IN_STRIP), int32(left - IN_STRIP)
    return best, source


@cuda.jit(device=True)
def least_of_parts(best, source, lane, part, apart, shape):
    """As `levels.least_of_parts`, in 32 bits; the source of what is nowhere reached is nothing."""
    for step in (16, 8):
        if step >= apart:
            other_best = int32(cuda.shfl_xor_sync(FULL_WARP, best, step))
            other_source = int32(cuda.shfl_xor_sync(FULL_WARP, source, step))
            if other_best < best:
                best, source = other_best, other_source
    thread, width = int32(cuda.threadIdx.x), int32(1 << shape.bits)
    if int32(thread & 31) < apart:
        row = int32(part >> int32(6 - cuda.ffs(apart)))
        shape.firsts[uint32(int32(row << shape.bits) + lane)] = paired(best, max(source, int32(0)))
    cuda.syncthreads()
    if thread < width:
        pair = shape.firsts[uint32(thread)]
        warp_columns = int32(int32(cuda.blockDim.x >> 5) * apart)
        other = int32(thread + width)
        while other < warp_columns:
            pair = min(pair, shape.firsts[uint32(other)])
            other = int32(other + width)
        best, source = upper_of(pair), lower_of(pair)
        if best == NEVER:
            source = int32(-1)
    return best, source
