"""The auction of a grid: rows bid one after the other in chains, and no barrier stands between.

A group of warps takes a free row, which bids for its nearest column; the row that it displaces bids
next, in the same group, until a free column ends the chain. Bertsekas and Castanon describe such an
asynchronous auction (Parallel Computing 17, 1991); `rounds`, where all free rows bid at once, needs
two barriers of the grid for every one of its steps.

**What everybody sees at once.** While chains run, a column's row and its dual v are a pair of
words (`held`), which is read whole and changed whole, by a compare-and-swap.

**Why an old v does no harm.** Duals only fall here, so what a group has read is too large, and
distances ``c - v`` that it computed are too small. A bid lowers v until the row's distance is that
of its second nearest column, and eps; the second nearest column is really no nearer than was
thought, so that at the end no column is nearer than the row's own by more than eps. The column
itself is no guess: the swap fails unless the pair is as it was read.

**Rows wait their turn.** With many rows for each group a chain that goes on with every row that it
displaces spends its bids where many rows want few columns, and the rows behind it bid late or not
at all. Where the auction opens, a displaced row therefore goes behind all rows that wait, and its
group takes the row in front. With 38 rows a group less than two thirds of the levels that follow
are left (`evidence/openings.csv`). With few rows the turns cost more than they save: 1.1 to 1.5
times the run's time at 8 to 16 rows a group, the same at 23, 0.7 to 1.1 at 31
(`evidence/openings_turns.csv`), so that it is done from `DEEP` rows a group on.

The rows that wait are the list and, behind it, a ring in ``lists.column``. Whoever takes a row out
of the ring leaves NO_ROW there, in one exchange, so that no two groups have one row. A row is lost
to the chains if its place is asked for before it stands there, or still holds another; it is free
then, like all that no group has come to.

**A row's dual** is stored when the row wins, and again at the end for all that are matched. Of a
row that was displaced in between any of its stored duals may stay: each was right for duals v that
have only fallen since.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import (
    load_ahead,
    load_pair,
    load_relaxed,
    load_relaxed_anywhere,
    store_pair,
    store_relaxed_anywhere,
    swap_pair,
)
from papers.common.gpu.reductions import FULL_WARP
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment.kernels.arguments import (
    BIDS,
    FREE,
    HALT,
    LAST,
    LATE,
    LEFT,
    LONGEST,
    NEXT,
    ROUNDS,
)
from papers.synthesis.assignment.kernels.grid.near import MARKED
from papers.synthesis.assignment.kernels.rows import (
    NOWHERE,
    TAKEN,
    better,
    column_at,
    first_tile,
    group_of,
    two_of_warp_with,
)
from papers.synthesis.assignment.kernels.team import meet_in_grid, thread_of, threads_of
from papers.synthesis.assignment.kernels.words import (
    CLOCK_EVERY,
    count,
    free_rows,
    is_late,
    place_for,
    prepare_turn,
)

WORDS = 4
"""Words of marks that a thread reads at a time."""

HALTED, BUSY = 0, 1
"""Words of a block (``sums``): why its chains are to end, and how many of its groups have a row."""

TRIES = 4
"""Swaps that a bid tries before its row looks at all columns again."""

ENOUGH, EXPIRED = 1, 2
"""Values of HALT: few enough rows are free, or their number stalls; the time is over."""

NO_ROW = -1

DEEP = 24
"""Rows for each group from which on displaced rows of an opening auction wait their turn."""


@cuda.jit(device=True)
def log_group(shape, loads):
    """Warps of a group as a power of two: as many as load a row at once, if there are so many."""
    power, block = int32(0), int32(cuda.blockDim.x >> 5)
    for _ in range(5):
        twice = int32(2 << power)
        if twice > shape.warps_a_row or twice > block or int32((loads << 5) << power) >= shape.m:
            break
        power = int32(power + 1)
    return power


@cuda.jit(device=True)
def place_here(tile, start, tiles, turned, owner):
    """The place of a thread's column in its row's order: `rows.column_at` turned around.

    Parameters
    ----------
    tile, start, tiles : int32
        The column's tile, the row's first one, and all tiles.
    turned : int32
        The place within a tile, the same in all tiles of a thread whose columns are one lane's.
    owner : int32
        The column's row.
    """
    tile = int32(tile - start)
    if tile < 0:
        tile = int32(tile + tiles)
    place = int32(int32(tile << 5) | turned)
    if owner >= 0:
        place = int32(place | TAKEN)
    return place


def all_with(loads: int) -> Any:
    """Make `look_at_all` with so many loads in flight a thread."""

    @cuda.jit(device=True)
    def look_at_all(shape, matrix, held, row, start, power):
        """Find the nearest of all columns that are the thread's; as `two_nearest`."""
        costs = cuda.local.array(loads, matrix.cost.dtype)
        values = cuda.local.array(loads, shape.firsts.dtype)
        owners = cuda.local.array(loads, int32)
        thread = cuda.threadIdx.x
        lane, warps = int32(thread & 31), int32(1 << power)
        m, tiles = shape.m, int32((shape.m + 31) >> 5)
        first, second, place = matrix.top, matrix.top, int32(NOWHERE)
        owner, v = int32(NO_ROW), matrix.zero
        begin, turned = int64(row) * m, int32(int32(lane - row) & 31)
        tile = int32(int32(thread >> 5) & int32(warps - 1))
        while tile < tiles:  # a range with such a step would begin with a division
            # Nothing is asked between the loads, so that all of them are on their way at once:
            # what lies beyond the end looks at the last column, and is passed over below.
            for k in range(loads):
                column = int32(int32(int32(tile + int32(k * warps)) << 5) + lane)
                column = min(column, int32(m - 1))
                costs[k] = load_ahead(matrix.cost, begin + column)
                owner_now, values[k] = load_pair(held, int32(2 * column), matrix.top)
                owners[k] = int32(owner_now)
            for k in range(loads):
                here = int32(tile + int32(k * warps))
                if int32(int32(here << 5) + lane) < m:
                    value = costs[k] - values[k]
                    where = place_here(here, start, tiles, turned, owners[k])
                    second = min(second, max(first, value))
                    if value < first or (value == first and where < place):
                        first, place, owner, v = value, where, owners[k], values[k]
            tile = int32(tile + int32(loads * warps))
        return first, second, place, owner, v

    return look_at_all


@cuda.jit(device=True)
def look_at_marked(shape, matrix, held, row, start, power):
    """As `look_at_all`, of marked pairs (`near`): a thread has words of the row.

    Of each of `WORDS` words a marked pair is on its way while the others are.
    """
    words = cuda.local.array(WORDS, int64)
    costs = cuda.local.array(WORDS, matrix.cost.dtype)
    values = cuda.local.array(WORDS, shape.firsts.dtype)
    owners = cuda.local.array(WORDS, int32)
    lanes = cuda.local.array(WORDS, int32)
    m, tiles = shape.m, int32((shape.m + 31) >> 5)
    width = int32(32 << power)
    first, second, place = matrix.top, matrix.top, int32(NOWHERE)
    owner, v = int32(NO_ROW), matrix.zero
    begin = int64(row) * m
    marks, last = int64(row) * tiles, int32(tiles - 1)
    tile = int32(int32(cuda.threadIdx.x) & int32(width - 1))
    while tile < tiles:
        for k in range(WORDS):
            here = min(int32(tile + int32(k * width)), last)
            words[k] = load_relaxed(matrix.near, marks + here)  # written in this launch
        left = int64(0)
        for k in range(WORDS):
            if int32(tile + int32(k * width)) >= tiles:
                words[k] = 0
            words[k] &= FULL_WARP
            left |= words[k]
        while left != 0:
            left = int64(0)
            for k in range(WORDS):
                lanes[k] = -1
                if words[k] != 0:
                    lanes[k] = int32(cuda.ffs(words[k]) - 1)
                    words[k] &= words[k] - 1
                    left |= words[k]
                    column = int32(int32(int32(tile + int32(k * width)) << 5) + lanes[k])
                    costs[k] = matrix.cost[begin + column]
                    owner_now, values[k] = load_pair(held, int32(2 * column), matrix.top)
                    owners[k] = int32(owner_now)
            for k in range(WORDS):
                if lanes[k] >= 0:
                    value = costs[k] - values[k]
                    turned = int32(int32(lanes[k] - row) & 31)
                    where = place_here(
                        int32(tile + int32(k * width)), start, tiles, turned, owners[k]
                    )
                    second = min(second, max(first, value))
                    if value < first or (value == first and where < place):
                        first, place, owner, v = value, where, owners[k], values[k]
        tile = int32(tile + int32(WORDS * width))
    return first, second, place, owner, v


def nearest_with(loads: int, floats: bool, marks: bool) -> Any:
    """Make `two_nearest` with so many loads in flight a thread, by marks or without."""
    two_of_warp = two_of_warp_with(floats)
    look_at_all = all_with(loads)

    @cuda.jit(device=True)
    def two_of_group(first, place, second, shape, power):
        """The two least of a group; a barrier of the block is within, and one has to follow."""
        firsts, seconds, places = shape.firsts, shape.seconds, shape.places
        thread = cuda.threadIdx.x
        warp = int32(thread >> 5)
        first, place, second = two_of_warp(first, place, second)
        if thread & 31 == 0:
            firsts[warp], places[warp], seconds[warp] = first, place, second
        cuda.syncthreads()
        for k in range(1, int32(1 << power)):
            other = uint32(warp ^ k)
            first, place, second = better(
                first, place, second, firsts[other], places[other], seconds[other]
            )
        return first, place, second

    @cuda.jit(device=True)
    def two_nearest(shape, matrix, held, row, start, power):
        """As `rows.two_least`, of columns that change meanwhile.

        All threads of a block call it, those of a group with one row, or with NO_ROW; a barrier of
        the block is within, where pairs are marked up to three.

        Returns
        -------
        first, second : D
            Distances ``c - v`` of the nearest column and the second nearest: of the whole group.
        place : int32
            Of the nearest column; NOWHERE if no pair is allowed.
        mine : bool
            Whether this thread has seen that column, as it was: its row `owner`, its dual `v`.
        owner : int32
        v : D
        """
        first, second, place = matrix.top, matrix.top, int32(NOWHERE)
        owner, v, own, looks = int32(NO_ROW), matrix.zero, int32(NOWHERE), row >= 0
        if marks and shape.marked[MARKED] != 0:
            bound = matrix.bound[uint32(max(row, int32(0)))]  # on its way beside the words
            if looks:
                first, second, own, owner, v = look_at_marked(
                    shape, matrix, held, row, start, power
                )
            first, place, second = two_of_group(first, own, second, shape, power)
            looks = looks and second > bound
            if cuda.syncthreads_or(int32(looks)) == 0:
                return first, second, place, own == place and place != NOWHERE, owner, v
        least, at, beside = first, place, second
        if looks:
            least, beside, own, owner, v = look_at_all(shape, matrix, held, row, start, power)
        least, at, beside = two_of_group(least, own, beside, shape, power)
        if looks:
            first, place, second = least, at, beside
        return first, second, place, own == place and place != NOWHERE, owner, v

    return two_nearest


@cuda.jit(device=True)
def bid(row, column, lowered, owner, v, opening, held):
    """Lower a column's dual and take it, unless another row has bid as much meanwhile.

    Parameters
    ----------
    lowered : D
        The dual that is bid.
    owner, v : int32, D
        The pair as it was read.
    opening : bool
        Whether a column may be taken from a row for the dual that it has: rows of equal costs
        take turns then, and one of them may find a free column.

    Returns
    -------
    won : bool
    owner : int32
        The column's row before.
    v : D
        The dual that the bid has met.
    """
    for _ in range(TRIES):
        if lowered > v or (lowered == v and owner >= 0 and not opening):
            return False, owner, v
        tag, value = swap_pair(held, int32(2 * column), int64(owner), v, int64(row), lowered)
        found = int32(tag)
        if found == owner and value == v:
            return True, owner, v
        owner, v = found, value
    return False, owner, v


@cuda.jit(device=True)
def next_row(free, half, groups, waits, lists, log):
    """Take the row that has waited longest; NO_ROW if none waits, or its place is empty yet.

    Each of the `groups` has begun with a row of its own.
    """
    if waits:  # rows come behind the list, and nobody may ask for one before it has come
        waiting = load_relaxed_anywhere(log.words, LAST)
        if int32(groups + load_relaxed_anywhere(log.words, NEXT)) >= waiting:
            return int32(NO_ROW)
    place = int32(groups + int32(cuda.atomic.add(log.words, NEXT, 1)))
    if place < free:
        return lists.rows[half + place]
    if not waits:
        return int32(NO_ROW)
    ring = int32(lists.column.size)
    return int32(cuda.atomic.exch(lists.column, int32((place - free) % ring), NO_ROW))


@cuda.jit(device=True)
def turn_of(row, free, half, groups, lists, log):
    """Let a row wait behind all others and take the one in front; the row itself if none waits."""
    other = next_row(free, half, groups, True, lists, log)
    if other < 0:
        return row
    ring = int32(lists.column.size)
    place = int32((cuda.atomic.add(log.words, LAST, 1) - free) % ring)
    cuda.atomic.cas(lists.column, place, NO_ROW, row)
    return other


@cuda.jit(device=True)
def begin_chains(free, shape, matrix, duals, matching, lists, front, log):
    """Pair up rows and duals of the columns; the words of the chains.  A barrier has to follow."""
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        # The sum makes a negative zero a positive one: a swap compares bits.
        store_pair(front.held, int32(2 * j), int64(matching.row[j]), duals.v[j] + matrix.zero)
    for i in range(thread_of(shape), shape.n, threads_of(shape)):
        matching.column[i] = -1
        lists.column[i] = NO_ROW
    if thread_of(shape) == 0:
        store_relaxed_anywhere(log.words, NEXT, int32(0))
        store_relaxed_anywhere(log.words, LAST, free)
        store_relaxed_anywhere(log.words, LEFT, free)
        store_relaxed_anywhere(log.words, HALT, int32(0))
        store_relaxed_anywhere(log.words, LONGEST, int32(0))


@cuda.jit(device=True)
def end_chains(shape, matrix, duals, matching, front):
    """The matching and the duals out of the pairs.  A barrier has to follow."""
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        owner, v = load_pair(front.held, int32(2 * j), matrix.top)
        row = int32(owner)
        matching.row[j], duals.v[j], duals.bid[j] = row, v, v
        if row >= 0:
            matching.column[row] = j
            duals.u[row] = matrix.cost[int64(row) * shape.m + j] - v


@cuda.jit(device=True)
def list_free(turn, shape, matching, lists, log):
    """The list of the next turn: rows without a column."""
    other = int32((turn + 1 & 1) * shape.n)
    width = int32(cuda.blockDim.x)
    for start in range(int32(shape.block * width), shape.n, threads_of(shape)):
        row = int32(start + cuda.threadIdx.x)
        stays = row < shape.n and matching.column[uint32(min(row, int32(shape.n - 1)))] < 0
        place = place_for(stays, log.words, FREE + (turn + 1) % 3)
        if stays:
            lists.rows[other + place] = row


@cuda.jit(device=True)
def halt_in_time(done, period, before, left, due, schedule, log):
    """End all chains if the time is over or their progress is: the first thread of a block.

    Returns
    -------
    int32
        The free rows at the last comparison.
    """
    if done % period == 0:
        if int64(1000) * (before - left) < int64(schedule.stall_share) * before:
            store_relaxed_anywhere(log.words, HALT, int32(ENOUGH))
        before = left
    if done % CLOCK_EVERY == 0 and globaltimer() > due:
        store_relaxed_anywhere(log.words, HALT, int32(EXPIRED))
    return before


@cuda.jit(device=True)
def follow(row, won, owner, unchanged, stop, waits, free, half, groups, lists, log):
    """The row that a group goes on with, after a bid for a row."""
    if won and owner >= 0:
        return turn_of(owner, free, half, groups, lists, log) if waits else owner
    left = int32(stop + 1)
    if won:
        left = int32(cuda.atomic.add(log.words, LEFT, -1) - 1)
    elif not unchanged:
        return int32(row)  # the column's dual has fallen meanwhile: look again
    other = next_row(free, half, groups, waits, lists, log)  # asked for while `left` is on its way
    if left <= stop:
        store_relaxed_anywhere(log.words, HALT, int32(ENOUGH))
    return other


def chains_with(loads: int, floats: bool, marks: bool) -> Any:
    """Make `auction`, which stands where one block has `rounds`; by marks of near pairs or not."""
    two_nearest = nearest_with(loads, floats, marks)

    @cuda.jit(device=True)
    def chains(
        eps, mean, stop, bids, period, opening, waits, power, turn, free, due, schedule, shape,
        matrix, duals, lists, front, log,
    ):  # fmt: skip
        """Chains of all groups, a step of each group of a block at a time.

        Parameters
        ----------
        stop : int32
            Free rows that may be left.
        bids : int32
            Of a group, at most.
        period : int32
            Bids of a group from one look at the number of free rows to the next: if it has fallen
            too little, the chains end.
        opening : bool
            See `bid`.
        waits : bool
            Whether displaced rows wait their turn.
        power : int32
            A group has two to this power warps.
        """
        thread = int32(cuda.threadIdx.x)
        mine, here = int32((thread >> 5) >> power), int32((cuda.blockDim.x >> 5) >> power)
        half, groups = int32((turn & 1) * shape.n), int32(here * shape.blocks)
        current, block = shape.offsets, shape.sums
        if thread < here:  # the rows of the block's groups
            first_place = int32(shape.block * here + thread)
            current[uint32(thread)] = NO_ROW
            if first_place < free:
                current[uint32(thread)] = lists.rows[half + first_place]
        before, made = free, int64(0)
        if thread == 0:
            block[HALTED] = 0
            block[BUSY] = max(int32(0), min(here, int32(free - shape.block * here)))
        cuda.syncthreads()
        done = int32(0)
        while done < bids:
            busy = block[BUSY]
            if busy == 0 or block[HALTED] != 0:
                break
            row = current[uint32(mine)]
            start = first_tile(max(row, int32(0)), int32(turn + done), shape.m)
            word, left = int32(0), int32(0)
            if thread == 0:  # on their way together with the costs
                word = load_relaxed_anywhere(log.words, HALT)
                left = load_relaxed_anywhere(log.words, LEFT)
            first, second, place, has_seen, owner, v = two_nearest(
                shape, matrix, front.held, row, start, power
            )
            if row >= 0:
                following = row
                if has_seen:
                    column = column_at(place, row, start, shape.m)
                    fall = mean
                    if second < matrix.top:
                        fall = second - first
                    lowered = v - fall - eps
                    won, last, met = bid(row, column, lowered, owner, v, opening, front.held)
                    if won:
                        duals.u[row] = first + fall + eps
                    # Where nothing has changed, another row has the column for the same dual.
                    following = follow(
                        row, won, last, last == owner and met == v, stop, waits, free, half,
                        groups, lists, log,
                    )  # fmt: skip
                elif place == NOWHERE and thread & int32((32 << power) - 1) == 0:
                    following = next_row(free, half, groups, waits, lists, log)  # none is allowed
                if following != row:
                    current[uint32(mine)] = following
                    if following < 0:
                        cuda.atomic.add(block, BUSY, -1)
            done = int32(done + 1)
            if thread == 0:
                made += busy
                before = halt_in_time(done, period, before, left, due, schedule, log)
                block[HALTED] = word
            cuda.syncthreads()
        if thread == 0:
            cuda.atomic.add(log.totals, BIDS, made)
            cuda.atomic.max(log.words, LONGEST, done)

    @cuda.jit(device=True)
    def auction(
        eps, mean, stop, most, opening, turn, due, schedule, shape, matrix, duals, matching, lists,
        tree, front, log,
    ):  # fmt: skip
        """Chains until at most `stop` rows are free, their number stalls, or there were `most`.

        `most` are the bids of a group for each row that it starts with. Where the auction opens
        they are bids beside three for each row: rounds make fewer, but with fewer groups than rows
        the last rows bid late, and two for each leave too many of them free from n = 8192 on.

        Returns
        -------
        int32
            The turn whose list of free rows is the present one.
        """
        free, late = free_rows(log, turn), is_late(log, turn)
        if free <= stop or late or most == 0:
            return turn
        power = log_group(shape, loads)
        if opening and marks and shape.marked[MARKED] != 0:
            power = min(power, int32(cuda.ffs(schedule.warps_marked) - 1))
        _, groups = group_of(power, shape)
        each = int32((free + groups - 1) // groups)
        bids, period = int32(most * each), int32(schedule.stall_rounds * each)
        if opening:
            bids = int32(most + 3 * each)
        waits = opening and each >= DEEP
        if not opening:  # else they were begun with the start
            begin_chains(free, shape, matrix, duals, matching, lists, front, log)
            meet_in_grid()
        chains(
            eps, mean, stop, bids, period, opening, waits, power, turn, free, due, schedule, shape,
            matrix, duals, lists, front, log,
        )  # fmt: skip
        meet_in_grid()
        end_chains(shape, matrix, duals, matching, front)
        meet_in_grid()
        list_free(turn, shape, matching, lists, log)
        prepare_turn(shape, log, turn, due)
        if thread_of(shape) == 0:
            count(shape, log, ROUNDS, load_relaxed_anywhere(log.words, LONGEST))
            if load_relaxed_anywhere(log.words, HALT) == EXPIRED:
                store_relaxed_anywhere(log.words, LATE + (turn + 1) % 3, int32(1))
        meet_in_grid()
        return int32(turn + 1)

    return auction
