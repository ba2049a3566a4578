"""The levels of a search by a grid: blocks report to each other, and meet nowhere else.

Between two levels stands no barrier of the grid. A block reports to all others how many rows it
has taken for the next front, which they are, its nearest open column and its farthest free one
(`reports`). Blocks beyond the last tile of columns have nothing to report; they wait at the barrier
behind the search, where they learn how it ended.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_relaxed_anywhere
from papers.common.gpu.reductions import FULL_WARP
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment.kernels.arguments import (
    END,
    EXPIRED,
    FOUND,
    ITERATIONS,
    LEVEL,
    NO_WAY,
    RELAXED,
    SOLVED,
    STUCK,
)
from papers.synthesis.assignment.kernels.grid.near import (
    by_marks,
    column_of,
    relax_near_with,
    weighed_by_bound,
)
from papers.synthesis.assignment.kernels.grid.reports import (
    LATE,
    LOST,
    UNREACHED,
    chunk_of,
    gather_with,
    parts_with,
    take_rows_with,
    tell_head_with,
)
from papers.synthesis.assignment.kernels.search import (
    known_of,
    lowered,
    nearest_with,
    note_steps,
    nothing_reached,
    weighed,
)
from papers.synthesis.assignment.kernels.team import meet_in_grid, thread_of
from papers.synthesis.assignment.kernels.words import CLOCK_EVERY, count


@cuda.jit(device=True)
def least_of_block(best, source, mine, shape):
    """The least of a column's parts, for the first threads of the block, a column each."""
    nearest, sources = shape.firsts, shape.places
    thread, tile = int32(cuda.threadIdx.x), shape.tile
    for step in (16, 8, 4, 2, 1):
        if step >= tile:  # the lanes that differ by it have the same column
            other_best = cuda.shfl_xor_sync(FULL_WARP, best, step)
            other_source = cuda.shfl_xor_sync(FULL_WARP, source, step)
            if other_best < best:
                best, source = other_best, other_source
    if thread & 31 < tile:
        place = uint32((thread >> 5) * tile + mine)
        nearest[place], sources[place] = best, source
    cuda.syncthreads()
    if thread < tile:
        last = int32((cuda.blockDim.x >> 5) - 1)
        for w in range(int32(1), int32(last + 1), int32(4)):
            for x in range(4):
                place = uint32(min(int32(w + x), last) * tile + mine)
                if nearest[place] < best:
                    best, source = nearest[place], sources[place]
    return best, source


def relax_with(loads: int, floats: bool, marks: bool) -> Any:
    """Make `relax`: some threads share a column, and all blocks a front.

    A block has tiles of columns, and the parts of a column meet in its shared memory.
    """
    take_part, take_rows = parts_with(floats), take_rows_with(floats)
    nearest_row, tell_head = nearest_with(loads, floats), tell_head_with(floats)
    chunk = chunk_of(floats)

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
        marked = marks and by_marks(shape)
        first = begin
        while first < shape.m:
            column = int32(first + lane)
            inside = uint32(min(column, int32(shape.m - 1)))
            if first != begin:
                v, row, distance, opened = known_of(inside, duals, matching, tree)
            dual = duals.u[uint32(max(row, int32(0)))]
            gap = matrix.zero
            if marked:
                gap = matrix.bound[uint32(max(row, int32(0)))] - dual
            best, source = matrix.top, int32(-1)
            for start in range(int32(0), rows, int32(chunk)):
                size = min(int32(chunk), int32(rows - start))
                # What has just been gathered is there.
                if (opens and first == begin) or (rows > chunk and first + start > begin):
                    cuda.syncthreads()
                    take_part(opens, level, start, size, half, shape, matrix, duals, lists, front)
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
                    if marked:
                        low, reach, unreached, taken, row = weighed_by_bound(
                            column, row, distance, gap, opened, least, goal, delta, low, reach,
                            shape, matrix, tree,
                        )  # fmt: skip
                    else:
                        low, reach, unreached, taken = weighed(
                            column, row, distance, opened, least, goal, delta, low, reach, shape,
                            matrix, tree,
                        )  # fmt: skip
                    if unreached:
                        flag = int32(flag | UNREACHED)
                listed = take_rows(taken, row, distance, dual, listed, following, shape, front)
            first = int32(first + step)
            if first < shape.m:
                cuda.syncthreads()  # the next tile goes to the same words
        if thread < 32:
            tell_head(following, listed, flag, low, reach, shape, front)

    return relax


@cuda.jit(device=True)
def late_flag(level, due, shape):
    """LATE if the time is over: the first block looks, and not at every level."""
    if thread_of(shape) == 0 and level % CLOCK_EVERY == 0 and globaltimer() > due:
        return int32(LATE)
    return int32(0)


def search_with(relax: Any, floats: bool, marks: bool) -> Any:
    """Make `search` for a grid; it ends behind a barrier of all blocks."""
    gather, relax_near = gather_with(floats), relax_near_with(floats)

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
        marked = marks and by_marks(shape)
        if marked:  # a warp has a tile
            warp = int32(cuda.threadIdx.x >> 5)
            column = column_of(warp, int32(cuda.threadIdx.x & 31), shape)
        its_tile = uint32(min(column, int32(shape.m - 1)))
        # Every second level at least settles the nearest open column for good, or what is near it.
        for _ in range(4 * shape.m + 8):
            if marked and done == 1:
                cuda.syncthreads()  # the first warp had all tiles; from here on each has its own
            known = known_of(inside if done == 0 else its_tile, duals, matching, tree)
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
            if marked and done > 0:
                relax_near(
                    level, rows, least, goal, delta, late_flag(level, due, shape), known, half,
                    shape, matrix, duals, matching, lists, tree, front,
                )  # fmt: skip
            else:
                relax(
                    done == 0, level, rows, least, goal, delta, late_flag(level, due, shape),
                    known, half, shape, matrix, duals, matching, lists, tree, front,
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
        note_steps(shape, matrix, matching, tree)
        meet_in_grid()
        return (
            load_relaxed_anywhere(log.words, LEVEL),
            load_relaxed_anywhere(log.levels, FOUND),
            load_relaxed_anywhere(log.words, END),
        )

    return search
