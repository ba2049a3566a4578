"""The exact phases: label-correcting searches, dual updates, and augmentations.

Every column belongs to one block, and there to one thread, which alone lowers its distance: so a
distance and the row before it always belong together, whatever the type, and no atomics are
needed. Only the list of rows to be relaxed goes from block to block.

**No circles.** A column's distance only falls, and only if the new one is strictly smaller; a row
hands on the distance that its column had when it was listed, which is no smaller than the present
one, plus a slack that is no smaller than 0. So along the rows before, distances never rise, and a
row that would close a circle has no smaller distance to offer. `trace` has a bound all the same.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_ahead, load_relaxed, store_relaxed
from papers.common.gpu.reductions import FULL_WARP, warp_min, warp_sum
from papers.synthesis.assignment.kernels.arguments import (
    EXPIRED,
    FREE,
    FRONT,
    FRONT_CHUNK,
    ITERATIONS,
    LATE_LEVEL,
    LEAST,
    NO_WAY,
    PHASES,
    REACH,
    RELAXED,
    SOLVED,
    STUCK,
    UNREACHED,
)
from papers.synthesis.assignment.kernels.words import (
    count,
    free_rows,
    is_late,
    place_for,
    prepare_turn,
    tell_time,
)


@cuda.jit(device=True)
def nothing_reached(shape, matrix):
    """The neutral value of REACH: it is a maximum in a square, else a minimum."""
    if shape.square != 0:
        return matrix.none
    return matrix.top


@cuda.jit(device=True)
def clear_level(level, due, shape, matrix, log):
    """Clear the slots of the level after the next, by the first thread; look at the clock."""
    if cuda.grid(1) == 0:
        slot = (level + 2) % 3
        store_relaxed(log.words, FRONT + slot, int32(0))
        store_relaxed(log.words, UNREACHED + slot, int32(0))
        log.levels[LEAST + slot] = matrix.top
        log.levels[REACH + slot] = nothing_reached(shape, matrix)
        tell_time(log, LATE_LEVEL + (level + 1) % 3, due)


@cuda.jit(device=True)
def begin_search(turn, free, level, due, shape, matrix, duals, lists, tree, front, log):
    """Forget the last search; the free rows are the first front.  A barrier has to follow."""
    half, other = int32((turn & 1) * shape.n), int32((level + 1 & 1) * shape.n)
    for j in range(cuda.grid(1), shape.m, cuda.gridsize(1)):
        tree.distance[j] = matrix.top
        tree.before[j] = -1
        tree.opened[j] = 0
    for k in range(cuda.grid(1), free, cuda.gridsize(1)):
        row = lists.rows[half + k]
        front.rows[other + k] = row
        front.start[other + k] = 0
        front.base[other + k] = -duals.u[row]
    if cuda.grid(1) == 0:
        slot = (level + 1) % 3
        store_relaxed(log.words, FRONT + slot, free)
        store_relaxed(log.words, UNREACHED + slot, int32(1))
        log.levels[LEAST + slot] = 0
        log.levels[REACH + slot] = matrix.top
    clear_level(level, due, shape, matrix, log)


def relax_with(loads: int, floats: bool) -> Any:
    """Make `relax` with so many loads in flight a thread."""

    @cuda.jit(device=True)
    def take_front(first, size, half, shape, front):
        """Copy a part of the front to the block's shared memory; a barrier stands on both sides."""
        cuda.syncthreads()
        for k in range(int32(cuda.threadIdx.x), size, int32(cuda.blockDim.x)):
            here = uint32(half + first + k)
            shape.rows[uint32(k)] = front.rows[here]
            shape.bases[uint32(k)] = front.base[here]
            if floats:
                shape.starts[uint32(k)] = front.start[here]
        cuda.syncthreads()

    @cuda.jit(device=True)
    def nearest_row(best, source, column, part, parts, size, shape, matrix, v):
        """Lower what a part of the rows in shared memory offers a column; from which place there.

        The place is given as it is where nothing is lower.
        """
        costs = cuda.local.array(loads, matrix.cost.dtype)
        last = int32(size - 1)
        for first in range(int32(0), size, int32(parts * loads)):
            k = int32(first + part)
            # Nothing is asked between the loads, so that all of them are on their way at once: the
            # last row may be looked at again. Without the warp's barrier behind them the assembler
            # puts each load beside its use, and a thread waits for one after the other.
            for x in range(loads):
                row = shape.rows[uint32(min(int32(k + int32(x * parts)), last))]
                costs[x] = load_ahead(matrix.cost, int64(row) * shape.m + column)
            cuda.syncwarp()
            for x in range(loads):
                here = uint32(min(int32(k + int32(x * parts)), last))
                through = shape.bases[here] + (costs[x] - v)
                if floats:
                    # A slack that rounding has made negative counts as none.
                    through = max(through, shape.starts[here])
                if through < best:
                    best, source = through, int32(here)
        return best, source

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

    @cuda.jit(device=True)
    def relax(level, rows, least, goal, delta, shape, matrix, duals, matching, tree, front, log):
        """One level: lower the columns' distances, then list the open ones that are near.

        It is longer than most kernels' parts because the tile's thread keeps what it finds.
        """
        thread, tile = int32(cuda.threadIdx.x), shape.tile
        mine, part = int32(thread & (tile - 1)), int32(thread // tile)
        parts = int32(int32(cuda.blockDim.x) // tile)
        half, other = int32((level & 1) * shape.n), int32((level + 1 & 1) * shape.n)
        slot = int32((level + 1) % 3)
        low, unreached = matrix.top, int32(0)
        reach = nothing_reached(shape, matrix)
        begin = int32(cuda.blockIdx.x * tile)
        for first in range(begin, shape.m, int32(int32(cuda.gridDim.x) * tile)):
            column = int32(first + mine)
            inside = min(column, int32(shape.m - 1))
            v = duals.v[uint32(inside)]
            row, distance, opened, dual = int32(-1), matrix.top, int32(0), matrix.zero
            if thread < tile and column < shape.m:
                # Known before the front is: these loads run beside it.
                at = uint32(column)
                row, distance, opened = matching.row[at], tree.distance[at], tree.opened[at]
                dual = duals.u[uint32(max(row, int32(0)))]
            best, source = matrix.top, int32(-1)
            for chunk in range(int32(0), rows, int32(FRONT_CHUNK)):
                size = min(int32(FRONT_CHUNK), int32(rows - chunk))
                if first == begin or rows > FRONT_CHUNK:
                    take_front(chunk, size, half, shape, front)
                best, place = nearest_row(
                    best, int32(-1), inside, part, parts, size, shape, matrix, v
                )
                if place >= 0:
                    source = shape.rows[uint32(place)]
            best, source = least_of_block(best, source, mine, shape)
            if thread < 32:
                taken = False
                if thread < tile and column < shape.m:
                    if best < distance:
                        distance = best
                        tree.distance[uint32(column)] = best
                        tree.before[uint32(column)] = source
                        if row >= 0:
                            opened = int32(1)
                            tree.opened[uint32(column)] = 1
                    if row < 0:
                        if distance == matrix.top:
                            unreached = int32(1)
                        elif shape.square != 0:
                            reach = max(reach, distance)
                        else:
                            reach = min(reach, distance)
                    elif opened != 0:
                        low = min(low, distance)
                        if distance - least <= delta and distance < goal:
                            taken = True
                            tree.opened[uint32(column)] = 0
                place = place_for(taken, log.words, FRONT + slot)
                if taken:
                    front.rows[other + place] = row
                    front.start[other + place] = distance
                    front.base[other + place] = distance - dual
            cuda.syncthreads()  # the next tile goes to the same words
        if thread < 32:
            publish(slot, low, reach, unreached, shape, matrix, log)

    return relax


@cuda.jit(device=True)
def publish(slot, low, reach, unreached, shape, matrix, log):
    """A block's first warp adds what it found to the next level's slots."""
    low, unreached = warp_min(low), warp_sum(unreached)
    sign = int32(-1)
    if shape.square != 0:
        sign = int32(1)
    farthest = -sign * warp_min(-sign * reach)
    if cuda.threadIdx.x == 0:
        if low < matrix.top:
            cuda.atomic.min(log.levels, LEAST + slot, low)
        if unreached > 0:
            cuda.atomic.add(log.words, UNREACHED + slot, unreached)
        if shape.square != 0:
            cuda.atomic.max(log.levels, REACH + slot, farthest)
        else:
            cuda.atomic.min(log.levels, REACH + slot, farthest)


def search_with(relax: Any) -> Any:
    """Make `search` from `relax`."""

    @cuda.jit(device=True)
    def search(level, due, delta, shape, matrix, duals, matching, tree, front, log):
        """Levels until no open column is nearer than the goal.

        Returns
        -------
        level : int32
        reach : D
            By how much the free rows' duals may rise.
        status : int32
            SOLVED if a free column was reached.
        """
        grid = cuda.cg.this_grid()
        # Every second level at least settles the nearest open column for good.
        for _ in range(2 * shape.m + 8):
            slot = level % 3
            rows = load_relaxed(log.words, FRONT + slot)
            least, reach = log.levels[LEAST + slot], log.levels[REACH + slot]
            goal = reach
            if shape.square != 0 and load_relaxed(log.words, UNREACHED + slot) > 0:
                goal = matrix.top
            if least >= goal or least == matrix.top:
                if reach < 0 or reach == matrix.top:
                    return level, reach, int32(NO_WAY)
                return level, reach, int32(SOLVED)
            if load_relaxed(log.words, LATE_LEVEL + slot) != 0:
                return level, reach, int32(EXPIRED)
            relax(level, rows, least, goal, delta, shape, matrix, duals, matching, tree, front, log)
            clear_level(level, due, shape, matrix, log)
            count(log, ITERATIONS, 1)
            count(log, RELAXED, rows)
            grid.sync()
            level = int32(level + 1)
        return level, matrix.top, int32(STUCK)

    return search


@cuda.jit(device=True)
def trace(column, shape, matching, tree):
    """The free row that a free column's path begins at; -1 if there is a circle: a fault."""
    for _ in range(shape.n):
        row = tree.before[column]
        column = matching.column[row]
        if column < 0:
            return row
    return int32(-1)


@cuda.jit(device=True)
def update_duals(reach, turn, free, shape, matrix, duals, matching, lists, tree):
    """Move the duals by one search, and let one free column of each tree claim its root.

    Race: columns of one tree claim by an exchange, the first wins; any path would do. Of the
    matching nothing changes here, so that the traces see whole paths; a barrier has to follow.
    """
    half = int32((turn & 1) * shape.n)
    for j in range(cuda.grid(1), shape.m, cuda.gridsize(1)):
        distance, row = tree.distance[j], matching.row[j]
        if distance < reach:
            dual = duals.v[j] - (reach - distance)
            duals.v[j] = dual
            duals.bid[j] = dual
            if row >= 0:
                duals.u[row] = matrix.cost[int64(row) * shape.m + j] - dual
        won = int32(0)
        if row < 0 and distance <= reach and distance < matrix.top:
            root = trace(int32(j), shape, matching, tree)
            if root >= 0 and cuda.atomic.exch(tree.row_claim, root, turn + 1) != turn + 1:
                won = int32(1)
        tree.won[j] = won
    for k in range(cuda.grid(1), free, cuda.gridsize(1)):
        duals.u[lists.rows[half + k]] += reach


@cuda.jit(device=True)
def augment(turn, free, shape, matrix, duals, matching, lists, tree, log):
    """Walk the claimed paths, one a tree; list the rows that stay free.  A barrier has to follow.

    Trees are disjoint, so every column and row belongs to one thread.
    """
    for j in range(cuda.grid(1), shape.m, cuda.gridsize(1)):
        if tree.won[j] != 0:
            column = int32(j)
            for _ in range(shape.n):
                row = tree.before[column]
                following = matching.column[row]
                matching.column[row] = column
                matching.row[column] = row
                duals.u[row] = matrix.cost[int64(row) * shape.m + column] - duals.v[column]
                if following < 0:
                    break
                column = following
    half, other = int32((turn & 1) * shape.n), int32((turn + 1 & 1) * shape.n)
    for start in range(cuda.blockIdx.x * cuda.blockDim.x, free, cuda.gridsize(1)):
        k = int32(start + cuda.threadIdx.x)
        row, stays = int32(-1), False
        if k < free:
            row = lists.rows[half + k]
            stays = tree.row_claim[row] != turn + 1
        place = place_for(stays, log.words, FREE + (turn + 1) % 3)
        if stays:
            lists.rows[other + place] = row


def phases_with(search: Any) -> Any:
    """Make `phases` from `search`."""

    @cuda.jit(device=True)
    def phases(turn, level, due, delta, shape, matrix, duals, matching, lists, tree, front, log):
        """Phases until no row is free: each matches one at least.

        Returns
        -------
        turn, level, status : int32
        """
        grid = cuda.cg.this_grid()
        for _ in range(shape.n + 1):
            free = free_rows(log, turn)
            if free == 0:
                return turn, level, int32(SOLVED)
            if is_late(log, turn):
                return turn, level, int32(EXPIRED)
            begin_search(turn, free, level, due, shape, matrix, duals, lists, tree, front, log)
            grid.sync()
            level, reach, status = search(
                int32(level + 1), due, delta, shape, matrix, duals, matching, tree, front, log
            )
            if status != SOLVED:
                return turn, level, status
            update_duals(reach, turn, free, shape, matrix, duals, matching, lists, tree)
            grid.sync()
            augment(turn, free, shape, matrix, duals, matching, lists, tree, log)
            prepare_turn(log, turn, due)
            count(log, PHASES, 1)
            grid.sync()
            turn = int32(turn + 1)
        return turn, level, int32(STUCK)

    return phases
