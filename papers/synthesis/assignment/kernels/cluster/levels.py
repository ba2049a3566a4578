"""The levels of a search by a cluster: a thread has one column, and all that is known of it.

A block has two to the power ``bits`` columns, and all its threads share the front's rows for them:
each looks at a part of the rows for one column. Then the first threads, a column each, decide; such
a thread has its column's distance, the row before it, and whether it is open in registers until the
search ends. Between two levels stands one barrier of the cluster (`boxes`).
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_ahead
from papers.common.gpu.reductions import FULL_WARP
from papers.synthesis.assignment.kernels.arguments import (
    EXPIRED,
    FRONT_CHUNK,
    ITERATIONS,
    NO_WAY,
    RELAXED,
    SOLVED,
    STUCK,
    UNDER_WAY,
)
from papers.synthesis.assignment.kernels.cluster import short
from papers.synthesis.assignment.kernels.cluster.boxes import (
    HAS_FOUND,
    HAS_OPEN,
    NEVER,
    clear_numbers,
    gather_with,
    groups_of,
    hold_with,
    parts_with,
    rows_with,
    tell_with,
)
from papers.synthesis.assignment.kernels.cluster.distributed import meet_in_cluster
from papers.synthesis.assignment.kernels.cluster.strips import (
    NARROW,
    NOTED,
    NOWHERE,
    TOO_WIDE,
    WHOLE,
)
from papers.synthesis.assignment.kernels.grid.levels import late_flag
from papers.synthesis.assignment.kernels.grid.reports import LATE, UNREACHED
from papers.synthesis.assignment.kernels.search import judged, note_step, nothing_reached
from papers.synthesis.assignment.kernels.words import count

IN_STRIP = 4
"""Rows that a thread looks up in its strip together."""


def opening_with(floats: bool, strip: str, brief: bool) -> Any:
    """Make `open_part`."""
    hold = short.hold_with(strip) if brief else hold_with(floats, strip)

    @cuda.jit(device=True)
    def open_part(first, size, half, shape, matrix, duals, lists):
        """Copy a part of the free rows, the first front; barriers of the block stand around it."""
        for place in range(int32(cuda.threadIdx.x), size, int32(cuda.blockDim.x)):
            row = lists.rows[half + int32(first + place)]
            if brief:
                hold(int32(place), row, int32(-duals.u[row]), shape, duals)
            else:
                hold(int32(place), row, matrix.zero if floats else -duals.u[row], shape, duals)

    return open_part


def batch_with(loads: int, floats: bool) -> Any:
    """Make `look_at`: so many rows of a part, all on their way at once."""

    @cuda.jit(device=True)
    def look_at(best, source, first, last, costs, v, shape):
        found = cuda.local.array(loads, costs.dtype)
        # The last row may be looked at again. The warp's barrier keeps all loads in front of their
        # uses (`memory_order.load_ahead`).
        for x in range(loads):
            found[x] = load_ahead(costs, shape.spots[uint32(min(int32(first + x), last))])
        cuda.syncwarp()
        for x in range(loads):
            here = min(int32(first + x), last)
            if floats:
                # A slack that rounding has made negative counts as none.
                through = max(
                    shape.bases[uint32(here)] + (found[x] - v), shape.starts[uint32(here)]
                )
            else:
                through = shape.bases[uint32(here)] + found[x]
            if through < best:
                best, source = through, here
        return best, source

    return look_at


def in_strip_with(floats: bool) -> Any:
    """Make `look_in_strip`: so many rows of a part, whose costs are in the block's strip."""

    @cuda.jit(device=True)
    def look_in_strip(best, source, first, last, lane, v, shape):
        for x in range(IN_STRIP):
            here = min(int32(first + x), last)
            row = shape.rows[uint32(here)]
            cost = shape.strip[uint32(int32(row * shape.stride) + lane)]
            if floats:
                through = max(shape.bases[uint32(here)] + (cost - v), shape.starts[uint32(here)])
            else:
                through = shape.bases[uint32(here)] + int64(cost)
            if through < best:
                best, source = through, here
        return best, source

    return look_in_strip


def nearest_with(loads: int, floats: bool, strip: str) -> Any:
    """Make `nearest_row`, with so many costs in flight a thread, or half as many."""
    few = max(1, loads // 2)
    look_at, look_at_many = batch_with(few, floats), batch_with(loads, floats)
    look_in_strip = in_strip_with(floats)
    whole, narrow = strip == WHOLE, strip == NARROW

    @cuda.jit(device=True)
    def nearest_row(best, source, part, part_bits, size, lane, costs, v, shape):
        """Lower what a part of the rows in shared memory offers a column; from which place there.

        Of integers v is not taken off yet, which is the same for all. A part may look at some rows
        of the next one, so that all take as many steps.
        """
        each = int32(int32(size + int32((1 << part_bits) - 1)) >> part_bits)
        first, last, left = int32(part * each), int32(size - 1), each
        if whole or (narrow and shape.in_strip[0] != 0):
            while left > 0:
                best, source = look_in_strip(best, source, first, last, lane, v, shape)
                first, left = int32(first + IN_STRIP), int32(left - IN_STRIP)
        while not whole and left > 0:
            if left > few:
                best, source = look_at_many(best, source, first, last, costs, v, shape)
                first, left = int32(first + loads), int32(left - loads)
            else:
                best, source = look_at(best, source, first, last, costs, v, shape)
                left = int32(0)  # no more than a few were left
        return best, source

    return nearest_row


@cuda.jit(device=True)
def place_of(shape):
    """Where a thread looks: its column among the block's, and its part of the rows.

    A warp has up to four parts of at least eight columns.

    Returns
    -------
    lane, part : int32
    part_bits : int32
        The parts, as a power of two.
    apart : int32
        The lanes of a warp that differ by this, or by a multiple below 32, have the same column.
    """
    thread = int32(cuda.threadIdx.x)
    part_bits = int32(int32(cuda.ffs(int32(cuda.blockDim.x)) - 1) - shape.bits)
    within = min(part_bits, int32(2))
    column_bits = int32(5 - within)  # of a warp
    lane, warp = int32(thread & 31), int32(thread >> 5)
    teams = int32(shape.bits - column_bits)  # warps side by side, as a power of two
    column = int32(int32(warp & int32((1 << teams) - 1)) << column_bits)
    column = int32(column + int32(lane & int32((1 << column_bits) - 1)))
    part = int32(int32(int32(warp >> teams) << within) + int32(lane >> column_bits))
    return column, part, part_bits, int32(1 << column_bits)


@cuda.jit(device=True)
def least_of_parts(best, source, lane, part, apart, shape):
    """The least of a column's parts, for the first threads of the block, a column each."""
    for step in (16, 8):
        if step >= apart:
            other_best = cuda.shfl_xor_sync(FULL_WARP, best, step)
            other_source = cuda.shfl_xor_sync(FULL_WARP, source, step)
            if other_best < best:
                best, source = other_best, other_source
    thread, width = int32(cuda.threadIdx.x), int32(1 << shape.bits)
    if int32(thread & 31) < apart:
        row = int32(part >> int32(6 - cuda.ffs(apart)))
        place = uint32(int32(row << shape.bits) + lane)
        shape.firsts[place], shape.places[place] = best, source
    cuda.syncthreads()
    if thread < width:
        best, source = shape.firsts[uint32(thread)], shape.places[uint32(thread)]
        warp_columns = int32(int32(cuda.blockDim.x >> 5) * apart)
        other = int32(thread + width)
        while other < warp_columns:
            if shape.firsts[uint32(other)] < best:
                best, source = shape.firsts[uint32(other)], shape.places[uint32(other)]
            other = int32(other + width)
    return best, source


def fronts_with(loads: int, floats: bool, strip: str, brief: bool) -> Any:
    """Make `look_at_front`."""
    take_part = parts_with(short.rows_with(strip) if brief else rows_with(floats, strip))
    open_part = opening_with(floats, strip, brief)
    nearest_row = nearest_with(loads, floats, strip)
    if brief:
        nearest_row = short.nearest_with(loads, strip)

    @cuda.jit(device=True)
    def look_at_front(
        opens, level, rows, part, part_bits, half, lane, top, costs, v, shape, matrix, duals, lists
    ):
        """Look at all costs of the front for a column: the least offer, and the row it is from.

        Of integers v has not been taken off.
        """
        best, source, first, more = top, int32(-1), int32(0), True
        while more:
            size, more = rows, False
            if opens:
                size = min(int32(FRONT_CHUNK), int32(rows - first))
                cuda.syncthreads()
                open_part(first, size, half, shape, matrix, duals, lists)
                cuda.syncthreads()
                first = int32(first + FRONT_CHUNK)
                more = first < rows
            elif rows > FRONT_CHUNK:
                size = take_part(level, first, shape, duals)
                first = int32(first + FRONT_CHUNK // 32)
                more = first < groups_of(shape)
            best, place = nearest_row(best, int32(-1), part, part_bits, size, lane, costs, v, shape)
            if place >= 0:
                source = shape.rows[uint32(place)]
        return best, source

    return look_at_front


def search_with(loads: int, floats: bool, strip: str, brief: bool = False) -> Any:
    """Make `search` for a cluster; it ends behind a barrier of all its blocks.

    Parameters
    ----------
    loads, floats, strip
        As for `conclusion.conclude_with`.
    brief : bool
        Whether it counts in 32 bits (`short`).
    """
    gather, tell, least_of = gather_with(floats, strip), tell_with(floats), least_of_parts
    if brief:
        gather, tell, least_of = short.gather_with(strip), short.tell, short.least_of_parts
    look_at_front = fronts_with(loads, floats, strip, brief)
    notes = brief and strip == NOTED

    @cuda.jit(device=True)
    def search(
        level, turn, free, due, delta, shape, matrix, duals, matching, lists, tree, front, log
    ):
        """Levels until no open column is nearer than the goal; as `grid.levels`' search.

        It is longer than most kernels' parts because a thread keeps what it knows of its column.
        """
        thread, begin = int32(cuda.threadIdx.x), int32(shape.block << shape.bits)
        half, end = int32(int32(turn & 1) * shape.n), int32(shape.m - 1)
        lane, part, part_bits, apart = place_of(shape)
        looks_at = min(int32(begin + lane), end)
        v, costs = duals.v[uint32(looks_at)], matrix.cost[looks_at:]
        column = int32(begin + thread)
        decides = thread < int32(1 << shape.bits)  # whole warps do
        inside = uint32(min(column, end))
        row = matching.row[inside]
        if brief:
            its_v, dual = int32(duals.v[inside]), int32(duals.u[uint32(max(row, int32(0)))])
            zero, top, none = int32(0), int32(NEVER), int32(NEVER)
            delta = int32(min(delta, int64(TOO_WIDE)))
            if shape.square != 0:
                none = int32(-1)
        else:
            its_v, dual = duals.v[inside], duals.u[uint32(max(row, int32(0)))]
            zero, top, none = matrix.zero, matrix.top, nothing_reached(shape, matrix)
        distance, before, opened = top, int32(-1), tree.opened[inside]
        if opened != 0:  # of a tree that stays
            distance, before = zero, tree.before[inside]
        rows, least, reach, flags = free, zero, top, int32(UNREACHED)
        done, relaxed, status = int32(0), int64(0), int32(STUCK)
        if thread == 0:
            clear_numbers(int32(level + 1), shape)
        # Every second level at least settles the nearest open column for good.
        for _ in range(2 * shape.m + 8):
            if done > 0:
                rows, least, reach, flags = gather(level, least, shape, matrix, duals)
            if notes and flags & short.TOO_LARGE != 0:
                status = int32(UNDER_WAY)
                break
            goal = reach
            if shape.square != 0 and flags & UNREACHED != 0:
                goal = top
            if least >= goal or least == top:
                status = int32(SOLVED)
                if reach < 0 or reach == top:
                    status = int32(NO_WAY)
                break
            if flags & LATE != 0:
                status = int32(EXPIRED)
                break
            best, source = look_at_front(
                done == 0, level, rows, part, part_bits, half, lane, top, costs, v, shape, matrix,
                duals, lists,
            )  # fmt: skip
            best, source = least_of(best, source, lane, part, apart, shape)
            flag = late_flag(level, due, shape)
            if notes:
                flag = int32(flag | short.large(shape))
            done, level = int32(done + 1), int32(level + 1)
            relaxed += rows
            if decides:
                taken, low, far = False, top, none
                if column <= end:
                    if source >= 0:
                        if brief:
                            best = int32(best - its_v)
                        elif not floats:  # v has not been taken off
                            best -= its_v
                        if best < distance:
                            distance, before = best, source
                            if row >= 0:
                                opened = int32(1)
                    if brief:
                        near = int32(distance - least) <= delta and distance < goal
                    else:
                        near = distance - least <= delta and distance < goal
                    low, far, unreached, taken = judged(
                        row, distance, opened, near, low, far, top, shape
                    )
                    if taken:
                        opened = int32(0)
                    if not brief and low < top:
                        flag = int32(flag | HAS_OPEN)
                    if unreached:
                        flag = int32(flag | UNREACHED)
                    elif not brief and row < 0:
                        flag = int32(flag | HAS_FOUND)
                tell(level, taken, row, distance, dual, flag, least, low, far, shape)
            meet_in_cluster()
        if decides and column <= end and status != UNDER_WAY:
            # A search that was left stores nothing: trees that stay need their rows before.
            tree.distance[inside] = distance if distance < top else matrix.top
            if before >= 0:
                tree.before[inside] = before
            note_step(inside, before, row, matching, tree)
        count(shape, log, ITERATIONS, done)
        count(shape, log, RELAXED, relaxed)
        meet_in_cluster()
        return level, matrix.zero + reach, status

    return search


def searches_with(loads: int, floats: bool, strip: str) -> Any:
    """Make `search`, in 32 bits where it can be: integers, `NOWHERE` alone excepted."""
    search_long, notes = search_with(loads, floats, strip), strip == NOTED
    if floats or strip == NOWHERE:
        return search_long
    search_short = search_with(loads, floats, strip, brief=True)

    @cuda.jit(device=True)
    def search(
        level, turn, free, due, delta, shape, matrix, duals, matching, lists, tree, front, log
    ):
        reach, status, fits = matrix.zero, int32(UNDER_WAY), short.fits(shape)
        if fits:
            level, reach, status = search_short(
                level, turn, free, due, delta, shape, matrix, duals, matching, lists, tree, front,
                log,
            )  # fmt: skip
            if notes and status == UNDER_WAY:
                short.leave(shape)
                fits, level = False, int32(level + 1)
        if not fits:
            level, reach, status = search_long(
                level, turn, free, due, delta, shape, matrix, duals, matching, lists, tree, front,
                log,
            )  # fmt: skip
        short.risen(reach, status, shape)
        return level, reach, status

    return search
