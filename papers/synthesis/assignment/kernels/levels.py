"""The levels of a search by a grid: blocks report to each other, and meet nowhere else.

Between two levels stands no barrier of the grid. A block *reports* to all others how many rows it
has taken for the next front, which they are, its nearest open column and its farthest free one.
A report is made of pairs of 64-bit words that are stored at once (`store_pair`): a tag, whose upper
half is the number of the level that may read it, and a value. Who waits for a level looks until
the tag has its number, and has the value then; no fence is needed, and nothing is asked twice.

==========  ====================================  =======================================
pair        lower half of the tag                 value
==========  ====================================  =======================================
0           rows taken, and flags                 the nearest open column's distance
1           0                                     the farthest (a rectangle: nearest) free
                                                  column's distance that was reached
2 and on    a row that was taken                  its ``base``: distance less dual
            the same (floats alone)               its ``start``: distance
==========  ====================================  =======================================

**Two slots, by turns.** A block writes a slot anew after it has seen all reports of the level
between, and each of those was written when its author had read all of the slot.

**Who takes part.** Blocks beyond the last tile of columns have nothing to report; they wait at the
barrier behind the search, where they learn how it ended.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import (
    load_pair,
    load_relaxed_anywhere,
    pause,
    store_pair,
)
from papers.common.gpu.reductions import FULL_WARP, warp_min, warp_rank, warp_scan
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment.kernels.arguments import (
    END,
    EXPIRED,
    FOUND,
    FRONT_CHUNK,
    ITERATIONS,
    LEVEL,
    NO_WAY,
    RELAXED,
    SOLVED,
    STUCK,
    TEAM,
)
from papers.synthesis.assignment.kernels.search import (
    farther,
    forget_search,
    least_of_block,
    lowered,
    nearest_with,
    nothing_reached,
)
from papers.synthesis.assignment.kernels.team import meet_in_grid, thread_of, threads_of
from papers.synthesis.assignment.kernels.words import CLOCK_EVERY, count

HEAD = 2
"""Pairs of a report before its rows."""

AT_ONCE = 4
"""Rows of a report that its reader takes by itself; a block shares the reading of longer ones."""

MOST = (1 << 24) - 1
UNREACHED, LATE, MANY, LOST = 1 << 24, 1 << 25, 1 << 26, 1 << 27
"""Flags above the number of rows: a free column without a path, the time is over; and in a block:
a report of more than AT_ONCE rows, a report that did not come."""

PATIENCE = 1 << 24
"""Looks at a report that does not come, until the search is given up as STUCK: seconds."""


def words_for(m: int, tile: int, blocks: int, floats: bool) -> int:
    """Words that the reports of so many blocks, or of fewer, take at most; see `pairs_of`."""
    tiles = -(-m // tile)
    workers = min(blocks, tiles, TEAM)
    return 4 * (HEAD * workers + (2 if floats else 1) * tile * (tiles + workers))


@cuda.jit(device=True)
def workers_of(m, tile, blocks, threads):
    """Blocks that take part in a search of m columns."""
    tiles = int32((m + tile - 1) // tile)
    return min(min(blocks, threads), min(tiles, int32(TEAM)))


@cuda.jit(device=True)
def pairs_of(m, tile, workers, entry):
    """Pairs of a report: its head, and `entry` of them for each column that a block may have."""
    tiles = int32((m + tile - 1) // tile)
    held = int32((tiles + workers - 1) // workers)
    return int32(HEAD + int32(int32(entry) * int32(held * tile)))


@cuda.jit(device=True)
def clear_reports(shape, matrix, front):
    """No report is there.  A barrier has to follow."""
    pairs = int32(2 * int32(shape.workers * shape.stride))
    for pair in range(thread_of(shape), pairs, threads_of(shape)):
        store_pair(front.reports, int32(2 * pair), int64(-1), matrix.zero)


@cuda.jit(device=True)
def report_at(level, block, shape):
    """The place of the first word of what a block reports to a level."""
    slot = int32(int32(int32(level & 1) * shape.workers) + block)
    return int32(2 * int32(slot * shape.stride))


@cuda.jit(device=True)
def tell(place, level, word, value, front):
    """Store a pair of a report to a level; the word is not negative."""
    store_pair(front.reports, place, int64(level) << 32 | int64(word), value)


@cuda.jit(device=True)
def hear(place, level, like, front):
    """Wait for a pair: its word and its value, which is of the type of `like`."""
    tag, value = load_pair(front.reports, place, like)
    looks = int32(0)
    while tag >> 32 != level and looks < PATIENCE:
        pause()
        tag, value = load_pair(front.reports, place, like)
        looks = int32(looks + 1)
    return int32(tag & 0x7FFFFFFF), value


def hear_row_with(floats: bool) -> Any:
    """Make `hear_row`: the row in a place of a report, its base, and its start (of floats)."""
    if floats:

        @cuda.jit(device=True)
        def hear_row(place, level, like, front):
            row, base = hear(place, level, like, front)
            _, start = hear(int32(place + 2), level, like, front)
            return row, base, start
    else:

        @cuda.jit(device=True)
        def hear_row(place, level, like, front):
            row, base = hear(place, level, like, front)
            return row, base, base

    return hear_row


def hold_with(floats: bool) -> Any:
    """Make `hold`: put a row of the front into the block's shared memory."""
    if floats:

        @cuda.jit(device=True)
        def hold(place, row, base, start, shape):
            here = uint32(place)
            shape.rows[here], shape.bases[here], shape.starts[here] = row, base, start
    else:

        @cuda.jit(device=True)
        def hold(place, row, base, start, shape):
            here = uint32(place)
            shape.rows[here], shape.bases[here] = row, base

    return hold


def parts_with(floats: bool) -> Any:
    """Make `take_part`, for a front that has to be taken a part at a time, or that is crowded."""
    hear_row, hold = hear_row_with(floats), hold_with(floats)
    entry = 4 if floats else 2

    @cuda.jit(device=True)
    def take_part(opens, level, first, size, half, shape, matrix, duals, lists, front):
        """Copy a part of the front to shared memory; the block's barrier stands on both sides.

        The first front (`opens`) are the free rows, the others are in the reports.
        """
        for place in range(int32(cuda.threadIdx.x), size, int32(cuda.blockDim.x)):
            wanted = int32(first + place)
            if opens:
                row = lists.rows[half + wanted]
                hold(place, row, -duals.u[row], matrix.zero, shape)
            else:
                block, beyond = int32(0), shape.workers
                while beyond - block > 1:  # the last block whose rows begin here or before
                    middle = int32(int32(block + beyond) >> 1)
                    if shape.offsets[uint32(middle)] <= wanted:
                        block = middle
                    else:
                        beyond = middle
                behind = int32(wanted - shape.offsets[uint32(block)])
                at = int32(report_at(level, block, shape) + int32(2 * HEAD))
                at = int32(at + int32(behind * int32(entry)))
                row, base, start = hear_row(at, level, matrix.top, front)
                hold(place, row, base, start, shape)

    return take_part


@cuda.jit(device=True)
def farthest_of_warp(reach, shape):
    """`farther` over the lanes of a warp."""
    if shape.square == 0:
        return warp_min(reach)
    return -warp_min(-reach)


def gather_with(floats: bool) -> Any:
    """Make `gather`."""
    hear_row, hold, take_part = hear_row_with(floats), hold_with(floats), parts_with(floats)
    entry = 4 if floats else 2

    @cuda.jit(device=True)
    def read_report(block, level, shape, matrix, front):
        """Wait for a block's report: its word, nearest, farthest, and first row."""
        at = report_at(level, block, shape)
        word, near, far = int32(LOST), matrix.top, matrix.top
        row, base, start = int32(-1), matrix.zero, matrix.zero
        looks = int32(0)
        while looks < PATIENCE:
            # All are on their way together, as no answer is looked at between.
            head, near = load_pair(front.reports, at, matrix.top)
            second, far = load_pair(front.reports, int32(at + 2), matrix.top)
            third, base = load_pair(front.reports, int32(at + 4), matrix.top)
            fourth = third
            if floats:
                fourth, start = load_pair(front.reports, int32(at + 6), matrix.top)
            if head >> 32 == level and second >> 32 == level:
                has_row = third >> 32 == level and fourth >> 32 == level
                if head & MOST == 0 or has_row:
                    word, row = int32(head & 0x7FFFFFFF), int32(third & 0x7FFFFFFF)
                    looks = int32(PATIENCE)
            looks = int32(looks + 1)
            pause()
        return word, near, far, row, base, start

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
        mine, inclusive, row = int32(0), int32(0), int32(-1)
        base, start = matrix.zero, matrix.zero
        if int32(warp << 5) < shape.workers:
            word, near, far = int32(0), matrix.top, nothing_reached(shape, matrix)
            if thread < shape.workers:
                word, near, far, row, base, start = read_report(thread, level, shape, matrix, front)
            mine = int32(word & MOST)
            inclusive = warp_scan(mine)
            near, far = warp_min(near), farthest_of_warp(far, shape)
            flags = int32(0)
            if cuda.any_sync(FULL_WARP, word & UNREACHED != 0):
                flags = int32(UNREACHED)
            if cuda.any_sync(FULL_WARP, word & LATE != 0):
                flags = int32(flags | LATE)
            if cuda.any_sync(FULL_WARP, word & LOST != 0):
                flags = int32(flags | LOST)
            if cuda.any_sync(FULL_WARP, mine > AT_ONCE):
                flags = int32(flags | MANY)
            if lane == 31:
                shape.nears[warp], shape.fars[warp] = near, far
                shape.sums[warp], shape.sums[32 + warp] = inclusive, flags
        cuda.syncthreads()
        rows, before, flags = int32(0), int32(0), int32(0)
        least, reach = matrix.top, nothing_reached(shape, matrix)
        for w in range(int32(int32(shape.workers + 31) >> 5)):
            if w == warp:
                before = rows
            rows = int32(rows + shape.sums[w])
            flags = int32(flags | shape.sums[32 + w])
            least = min(least, shape.nears[w])
            reach = farther(reach, shape.fars[w], shape)
        if thread < shape.workers:
            offset = int32(int32(before + inclusive) - mine)
            shape.offsets[thread] = offset
            if mine > 0 and offset < FRONT_CHUNK:
                hold(offset, row, base, start, shape)
            at = int32(report_at(level, thread, shape) + int32(2 * HEAD))
            for k in range(1, AT_ONCE):
                if k < mine and offset + k < FRONT_CHUNK:
                    row, base, start = hear_row(int32(at + k * entry), level, matrix.top, front)
                    hold(int32(offset + k), row, base, start, shape)
        cuda.syncthreads()
        if flags & MANY != 0:
            size = min(rows, int32(FRONT_CHUNK))
            take_part(False, level, int32(0), size, half, shape, matrix, duals, lists, front)
            cuda.syncthreads()
        return rows, least, reach, flags

    return gather


def take_rows_with(floats: bool) -> Any:
    """Make `take_rows`."""
    entry = 4 if floats else 2

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
            place = int32(HEAD * 2 + int32(int32(listed + rank) * int32(entry)))
            place = int32(report_at(level, shape.block, shape) + place)
            tell(place, level, row, distance - dual, front)
            if floats:
                tell(int32(place + 2), level, row, distance, front)
        return int32(listed + total)

    return take_rows


def relax_with(loads: int, floats: bool) -> Any:
    """Make `relax`: some threads share a column, and all blocks a front.

    A block has tiles of columns, and the parts of a column meet in its shared memory.
    """
    take_part, take_rows = parts_with(floats), take_rows_with(floats)
    nearest_row = nearest_with(loads, floats)

    @cuda.jit(device=True)
    def relax(
        opens, level, rows, least, goal, delta, flag, known, half, shape, matrix, duals, matching,
        lists, tree, front,
    ):  # fmt: skip
        """One level: lower the columns' distances, and report the open ones that are near.

        It is longer than most kernels' parts because the tile's thread keeps what it finds.

        Parameters
        ----------
        opens : bool
            Whether the front are the free rows.
        flag : int32
            What else the block reports.
        known : (D, int32, D, int32)
            `known_of` the thread's first column.
        """
        thread, tile, bits = int32(cuda.threadIdx.x), shape.tile, shape.tile_bits
        lane, part = int32(thread & int32(tile - 1)), int32(thread >> bits)
        parts = int32(int32(cuda.blockDim.x) >> bits)
        following, listed = int32(level + 1), int32(0)
        low, reach = matrix.top, nothing_reached(shape, matrix)
        begin, step = int32(shape.block * tile), int32(shape.workers * tile)
        v, row, distance, opened = known
        first = begin
        while first < shape.m:
            column = int32(first + lane)
            inside = uint32(min(column, int32(shape.m - 1)))
            if first != begin:
                v, row, distance, opened = known_of(inside, duals, matching, tree)
            dual = duals.u[uint32(max(row, int32(0)))]
            best, source = matrix.top, int32(-1)
            for chunk in range(int32(0), rows, int32(FRONT_CHUNK)):
                size = min(int32(FRONT_CHUNK), int32(rows - chunk))
                if (opens and first == begin) or rows > FRONT_CHUNK:
                    cuda.syncthreads()
                    take_part(opens, level, chunk, size, half, shape, matrix, duals, lists, front)
                    cuda.syncthreads()
                best, place = nearest_row(
                    best, int32(-1), int32(inside), part, parts, size, shape, matrix, v
                )
                if place >= 0:
                    source = shape.rows[uint32(place)]
            best, source = least_of_block(best, source, lane, shape)
            if thread < 32:
                taken = False
                if thread < tile and column < shape.m:
                    distance, opened = lowered(column, row, best, source, distance, opened, tree)
                    if row < 0:
                        if distance == matrix.top:
                            flag = int32(flag | UNREACHED)
                        else:
                            reach = farther(reach, distance, shape)
                    elif opened != 0:
                        low = min(low, distance)
                        if distance - least <= delta and distance < goal:
                            taken = True
                            tree.opened[uint32(column)] = 0
                listed = take_rows(taken, row, distance, dual, listed, following, shape, front)
            first = int32(first + step)
            if first < shape.m:
                cuda.syncthreads()  # the next tile goes to the same words
        if thread < 32:
            low, reach = warp_min(low), farthest_of_warp(reach, shape)
            if cuda.any_sync(FULL_WARP, flag & UNREACHED != 0):
                flag = int32(flag | UNREACHED)
            if thread == 0:
                place = report_at(following, shape.block, shape)
                tell(place, following, int32(listed | flag), low, front)
                tell(int32(place + 2), following, int32(0), reach, front)

    return relax


@cuda.jit(device=True)
def known_of(inside, duals, matching, tree):
    """A column's dual, row and distance, and whether it is open."""
    return duals.v[inside], matching.row[inside], tree.distance[inside], tree.opened[inside]


@cuda.jit(device=True)
def late_flag(level, due, shape):
    """LATE if the time is over: the first block looks, and not at every level."""
    if thread_of(shape) == 0 and level % CLOCK_EVERY == 0 and globaltimer() > due:
        return int32(LATE)
    return int32(0)


@cuda.jit(device=True)
def begin_search(turn, free, level, due, shape, matrix, duals, lists, tree, front, log):
    """Forget the last search.  A barrier has to follow."""
    forget_search(shape, matrix, tree)


def search_with(relax: Any, floats: bool) -> Any:
    """Make `search` for a grid; it ends behind a barrier of all blocks."""
    gather = gather_with(floats)

    @cuda.jit(device=True)
    def levels_of(
        level, turn, free, due, delta, shape, matrix, duals, matching, lists, tree, front, log
    ):
        """Levels of a block that takes part, until no open column is nearer than the goal.

        Returns
        -------
        level, status : int32
        reach : D
        """
        half = int32(int32(turn & 1) * shape.n)
        lane = int32(int32(cuda.threadIdx.x) & int32(shape.tile - 1))
        column = int32(int32(shape.block * shape.tile) + lane)
        inside = uint32(min(column, int32(shape.m - 1)))
        rows, least, reach, flags = free, matrix.zero, matrix.top, int32(UNREACHED)
        done, relaxed, status = int32(0), int64(0), int32(STUCK)
        # Every second level at least settles the nearest open column for good.
        for _ in range(2 * shape.m + 8):
            known = known_of(inside, duals, matching, tree)
            if done > 0:
                rows, least, reach, flags = gather(level, half, shape, matrix, duals, lists, front)
            goal = reach
            if shape.square != 0 and flags & UNREACHED != 0:
                goal = matrix.top
            if flags & LOST != 0:
                break
            if least >= goal or least == matrix.top:
                status = int32(SOLVED)
                if reach < 0 or reach == matrix.top:
                    status = int32(NO_WAY)
                break
            if flags & LATE != 0:
                status = int32(EXPIRED)
                break
            relax(
                done == 0, level, rows, least, goal, delta, late_flag(level, due, shape), known,
                half, shape, matrix, duals, matching, lists, tree, front,
            )  # fmt: skip
            done, level = int32(done + 1), int32(level + 1)
            relaxed += rows
        count(shape, log, ITERATIONS, done)
        count(shape, log, RELAXED, relaxed)
        return level, status, reach

    @cuda.jit(device=True)
    def search(
        level, turn, free, due, delta, shape, matrix, duals, matching, lists, tree, front, log
    ):
        """Levels until no open column is nearer than the goal.

        Returns
        -------
        level : int32
        reach : D
            By how much the free rows' duals may rise.
        status : int32
            SOLVED if a free column was reached.
        """
        if shape.block < shape.workers:
            level, status, reach = levels_of(
                level, turn, free, due, delta, shape, matrix, duals, matching, lists, tree, front,
                log,
            )  # fmt: skip
            if thread_of(shape) == 0:
                log.words[LEVEL], log.words[END], log.levels[FOUND] = level, status, reach
        meet_in_grid()
        return (
            load_relaxed_anywhere(log.words, LEVEL),
            load_relaxed_anywhere(log.levels, FOUND),
            load_relaxed_anywhere(log.words, END),
        )

    return search
