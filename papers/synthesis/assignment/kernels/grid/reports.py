"""Reports: what a block of a grid tells the others at the end of a search's level.

A report is made of pairs of 64-bit words that are stored at once (`store_pair`): a tag, whose upper
half is the number of the level that may read it, and a value. Who waits for a level looks until
the tag has its number, and has the value then; no fence is needed, and nothing is asked twice.

==========  ====================================  =======================================
pair        lower half of the tag                 value
==========  ====================================  =======================================
0           rows taken, and flags                 the nearest open column's distance
1           0                                     the farthest (a rectangle: nearest) free
                                                  column's distance that was reached
2 and on    a row that was taken, or with `ALL`   its ``base``, distance less dual; of floats
                                                  its ``start``, the distance
==========  ====================================  =======================================

**Heads side by side.** All blocks wait for all reports, so that what a look costs decides what a
level costs. The first `HEAD` pairs of all blocks lie together by kind, and a warp that looks at 32
reports asks for 24 lines of memory; each report by itself would be a line or two for every lane,
and the profile of a level then was mostly waiting. The head has the first `AT_ONCE` rows, so
that nobody asks twice where no block tells more. Later rows lie by block.

**Two slots, by turns.** A block writes a slot anew after it has seen all reports of the level
between, and each of those was written when its author had read all of the slot.

**A report that does not come** is a fault; all looks have a bound, and the search ends as STUCK.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_pair, pause, store_pair
from papers.common.gpu.reductions import FULL_WARP, warp_rank, warp_scan
from papers.synthesis.assignment.kernels.arguments import (
    GRID_CHUNK,
    GRID_CHUNK_FLOATS,
    READERS,
    TEAM,
)
from papers.synthesis.assignment.kernels.search import (
    farther,
    farthest_with,
    least_with,
    nothing_reached,
)
from papers.synthesis.assignment.kernels.team import thread_of, threads_of

AT_ONCE = 4
"""Rows of a report that its reader takes by itself, `a` to `d` of `read_report`; a block shares the
reading of longer ones."""

FLAGS, FARTHEST, FIRST_ROW = range(3)
"""Kinds of pairs of a head; rows are the last."""

HEAD = FIRST_ROW + AT_ONCE
"""Pairs that a reader always looks at: the flags, the farthest column, and the first rows."""

MOST = (1 << 24) - 1
UNREACHED, LATE, MANY, LOST = 1 << 24, 1 << 25, 1 << 26, 1 << 27
"""Flags above the number of rows: a free column without a path, the time is over; and in a block:
a report of more than AT_ONCE rows, a report or a row that did not come."""

ALL = 2**30
"""Set beside a row that looks at all columns, where pairs are marked (`near`)."""

ROW = ALL - 1
"""The bits of a row's word that are its number."""

LOST_ROW = 2 * READERS
"""The place in ``sums`` that says whether a row did not come."""

PATIENCE = 1 << 24
"""Looks at a report that does not come. Even at 0.1 us each they take over a second; the longest
level, which relaxes 100,000 rows, reads its costs in some 10 ms."""


def chunk_of(floats: bool) -> int:
    """Rows of the front that a block holds in its shared memory at a time."""
    return GRID_CHUNK_FLOATS if floats else GRID_CHUNK


def words_for(m: int, tile: int, blocks: int) -> int:
    """Words that the reports of so many blocks, or of fewer, take at most; see `pairs_of`."""
    tiles = -(-m // tile)
    workers = min(blocks, tiles, TEAM)
    return 4 * (HEAD * workers + tile * (tiles + workers))


@cuda.jit(device=True)
def workers_of(m, tile, blocks, threads):
    """Blocks that take part in a search of m columns."""
    tiles = int32((m + tile - 1) // tile)
    return min(min(blocks, threads), min(tiles, int32(TEAM)))


@cuda.jit(device=True)
def pairs_of(m, tile, workers):
    """Pairs for a block's rows: one for each column that it may have (the head has the first)."""
    tiles = int32((m + tile - 1) // tile)
    held = int32((tiles + workers - 1) // workers)
    return int32(held * tile)


@cuda.jit(device=True)
def clear_reports(shape, matrix, front):
    """No report is there, and none is lost: at the start of a launch.  A barrier has to follow."""
    if cuda.threadIdx.x == 0:
        shape.sums[LOST_ROW] = 0
    pairs = int32(2 * int32(shape.workers * int32(HEAD + shape.stride)))
    for pair in range(thread_of(shape), pairs, threads_of(shape)):
        store_pair(front.reports, int32(2 * pair), int64(-1), matrix.zero)


@cuda.jit(device=True)
def head_at(kind, level, block, shape):
    """The place of the first word of a pair of the head of what a block reports to a level."""
    line = int32(int32(HEAD * int32(level & 1)) + kind)
    return int32(2 * int32(int32(line * shape.workers) + block))


@cuda.jit(device=True)
def row_at(behind, level, block, shape):
    """The place of the first word of a row of a report; the first ones belong to the head."""
    if behind < AT_ONCE:
        return head_at(int32(FIRST_ROW + behind), level, block, shape)
    slot = int32(int32(int32(level & 1) * shape.workers) + block)
    heads = int32(2 * int32(HEAD * shape.workers))
    return int32(2 * int32(int32(heads + int32(slot * shape.stride)) + behind))


@cuda.jit(device=True)
def tell(place, level, word, value, front):
    """Store a pair of a report to a level; the word is not negative."""
    store_pair(front.reports, place, int64(level) << 32 | int64(word), value)


@cuda.jit(device=True)
def hear_row(behind, level, block, shape, matrix, front):
    """Wait for a row of a report: the row and its value; row 0 if it does not come."""
    place = row_at(behind, level, block, shape)
    tag, value = load_pair(front.reports, place, matrix.top)
    looks = int32(0)
    while tag >> 32 != level and looks < PATIENCE:
        pause()
        tag, value = load_pair(front.reports, place, matrix.top)
        looks = int32(looks + 1)
    row = int32(tag & 0x7FFFFFFF)
    if tag >> 32 != level:
        shape.sums[LOST_ROW] = 1
        row = int32(0)
    return row, value


def hold_with(floats: bool) -> Any:
    """Make `hold`: put a row of the front, with its value, into the block's shared memory."""
    if floats:

        @cuda.jit(device=True)
        def hold(place, row, value, shape, duals):
            here = uint32(place)
            shape.rows[here], shape.starts[here] = row, value
            shape.bases[here] = value - duals.u[uint32(row & ROW)]
    else:

        @cuda.jit(device=True)
        def hold(place, row, value, shape, duals):
            here = uint32(place)
            shape.rows[here], shape.bases[here] = row, value

    return hold


def parts_with(floats: bool) -> Any:
    """Make `take_part`, for a front that has to be taken a part at a time, or that is crowded."""
    hold = hold_with(floats)

    @cuda.jit(device=True)
    def take_part(opens, level, first, size, half, shape, matrix, duals, lists, front):
        """Copy a part of the front to shared memory; the block's barrier stands on both sides.

        The first front (`opens`) are the free rows, the others are in the reports.
        """
        for place in range(int32(cuda.threadIdx.x), size, int32(cuda.blockDim.x)):
            wanted = int32(first + place)
            if opens:
                row, value = lists.rows[half + wanted], matrix.zero
                if not floats:
                    value = -duals.u[row]
            else:
                block, beyond = int32(0), shape.workers
                while beyond - block > 1:  # the last block whose rows begin here or before
                    middle = int32(int32(block + beyond) >> 1)
                    if shape.offsets[uint32(middle)] <= wanted:
                        block = middle
                    else:
                        beyond = middle
                behind = int32(wanted - shape.offsets[uint32(block)])
                row, value = hear_row(behind, level, block, shape, matrix, front)
            hold(place, row, value, shape, duals)

    return take_part


@cuda.jit(device=True)
def there(listed, behind, tag, level):
    """Whether a row of a report is there, or there is no such row."""
    return listed <= behind or tag >> 32 == level


@cuda.jit(device=True)
def read_report(block, level, shape, matrix, front):
    """Wait for a block's report: its word, nearest, farthest, and first rows with their values."""
    at, beside = head_at(FLAGS, level, block, shape), int32(2 * shape.workers)
    word, near, far, looks = int32(LOST), matrix.top, matrix.top, int32(0)
    a, b, c, d = int64(0), int64(0), int64(0), int64(0)
    at_a, at_b, at_c, at_d = matrix.zero, matrix.zero, matrix.zero, matrix.zero
    while looks < PATIENCE:
        # All are on their way together, as no answer is looked at between.
        head, near = load_pair(front.reports, at, matrix.top)
        second, far = load_pair(front.reports, int32(at + beside), matrix.top)
        place = int32(at + int32(2 * beside))
        a, at_a = load_pair(front.reports, place, matrix.top)
        b, at_b = load_pair(front.reports, int32(place + beside), matrix.top)
        c, at_c = load_pair(front.reports, int32(place + int32(2 * beside)), matrix.top)
        d, at_d = load_pair(front.reports, int32(place + int32(3 * beside)), matrix.top)
        listed = int32(head & MOST)
        complete = there(listed, 0, a, level) and there(listed, 1, b, level)
        complete = complete and there(listed, 2, c, level) and there(listed, 3, d, level)
        if head >> 32 == level and second >> 32 == level and complete:
            word = int32(head & 0x7FFFFFFF)
            looks = int32(PATIENCE)
        looks = int32(looks + 1)
        pause()
    return word, near, far, a, at_a, b, at_b, c, at_c, d, at_d


@cuda.jit(device=True)
def flags_of(word, mine):
    """Flags of the reports that a warp has read; each lane's word, and its number of rows."""
    flags = int32(0)
    if cuda.any_sync(FULL_WARP, word & UNREACHED != 0):
        flags = int32(UNREACHED)
    if cuda.any_sync(FULL_WARP, word & LATE != 0):
        flags = int32(flags | LATE)
    if cuda.any_sync(FULL_WARP, word & LOST != 0):
        flags = int32(flags | LOST)
    if cuda.any_sync(FULL_WARP, mine > AT_ONCE):
        flags = int32(flags | MANY)
    return flags


def gather_with(floats: bool) -> Any:
    """Make `gather`."""
    chunk = chunk_of(floats)
    hold, take_part = hold_with(floats), parts_with(floats)
    least_of_warp, farthest_of_warp = least_with(floats), farthest_with(floats)

    @cuda.jit(device=True)
    def gather(level, half, shape, matrix, duals, lists, front):
        """Wait for all reports to a level; as much of the front as fits goes to shared memory.

        It is longer than most kernels' parts because what a thread has read stays in registers.

        Returns
        -------
        rows : int32
            In the front.
        least, reach : D
        flags : int32
        """
        thread = int32(cuda.threadIdx.x)
        lane, warp = int32(thread & 31), int32(thread >> 5)
        mine, inclusive = int32(0), int32(0)
        a, b, c, d = int64(0), int64(0), int64(0), int64(0)
        at_a, at_b, at_c, at_d = matrix.zero, matrix.zero, matrix.zero, matrix.zero
        if int32(warp << 5) < shape.workers:
            word, near, far = int32(0), matrix.top, nothing_reached(shape, matrix)
            if thread < shape.workers:
                word, near, far, a, at_a, b, at_b, c, at_c, d, at_d = read_report(
                    thread, level, shape, matrix, front
                )
            mine = int32(word & MOST)
            inclusive, flags = warp_scan(mine), flags_of(word, mine)
            near, far = least_of_warp(near), farthest_of_warp(far, shape)
            if lane == 31:
                shape.nears[warp], shape.fars[warp] = near, far
                shape.sums[warp], shape.sums[READERS + warp] = inclusive, flags
        cuda.syncthreads()
        rows, before, flags = int32(0), int32(0), int32(0)
        least, reach = matrix.top, nothing_reached(shape, matrix)
        for w in range(int32(int32(shape.workers + 31) >> 5)):
            if w == warp:
                before = rows
            rows = int32(rows + shape.sums[w])
            flags = int32(flags | shape.sums[READERS + w])
            least = min(least, shape.nears[w])
            reach = farther(reach, shape.fars[w], shape)
        if thread < shape.workers:
            offset = int32(int32(before + inclusive) - mine)
            shape.offsets[thread] = offset
            known = min(mine, int32(chunk - offset))
            if known > 0:
                hold(offset, int32(a & 0x7FFFFFFF), at_a, shape, duals)
            if known > 1:
                hold(int32(offset + 1), int32(b & 0x7FFFFFFF), at_b, shape, duals)
            if known > 2:
                hold(int32(offset + 2), int32(c & 0x7FFFFFFF), at_c, shape, duals)
            if known > 3:
                hold(int32(offset + 3), int32(d & 0x7FFFFFFF), at_d, shape, duals)
        cuda.syncthreads()
        if flags & MANY != 0:
            size = min(rows, int32(chunk))
            take_part(False, level, int32(0), size, half, shape, matrix, duals, lists, front)
            cuda.syncthreads()
        if shape.sums[LOST_ROW] != 0:
            flags = int32(flags | LOST)
        return rows, least, reach, flags

    return gather


def take_rows_with(floats: bool) -> Any:
    """Make `take_rows`."""

    @cuda.jit(device=True)
    def take_rows(taken, row, distance, dual, listed, level, shape, front):
        """Add the rows that the lanes of the first warp have taken to the block's report.

        Returns
        -------
        int32
            Rows in the report.
        """
        rank, total = warp_rank(taken)
        if taken:
            value = distance
            if not floats:
                value = distance - dual
            place = row_at(int32(listed + rank), level, shape.block, shape)
            tell(place, level, row, value, front)
        return int32(listed + total)

    return take_rows


def tell_head_with(floats: bool) -> Any:
    """Make `tell_head`."""
    least_of_warp, farthest_of_warp = least_with(floats), farthest_with(floats)

    @cuda.jit(device=True)
    def tell_head(level, listed, flag, low, reach, shape, front):
        """Tell the head of a block's report, behind its rows: all lanes of the first warp."""
        low, reach = least_of_warp(low), farthest_of_warp(reach, shape)
        if cuda.any_sync(FULL_WARP, flag & UNREACHED != 0):
            flag = int32(flag | UNREACHED)
        if cuda.threadIdx.x == 0:
            here, word = shape.block, int32(listed | flag)
            tell(head_at(FLAGS, level, here, shape), level, word, low, front)
            tell(head_at(FARTHEST, level, here, shape), level, int32(0), reach, front)

    return tell_head
