"""The exact phases: label-correcting searches, dual updates, and augmentations.

Every column belongs to one block, and there to one thread, which alone lowers its distance: so a
distance and the row before it always belong together, whatever the type, and no atomics are
needed. Only the list of rows to be relaxed goes from block to block.

**No circles.** A column's distance only falls, and only if the new one is strictly smaller; a row
hands on the distance that its column had when it was listed, which is no smaller than the present
one, plus a slack that is no smaller than 0. So along the rows before, distances never rise, and a
row that would close a circle has no smaller distance to offer. `root_of` has a bound all the same.

**Trees that stay.** A phase moves the duals so that all columns up to its reach are at distance 0
from the free row that their tree begins at. So a tree that was not augmented is not grown again:
its columns are open at distance 0 when the next search begins, with their rows before. Of floats
this is so but for rounding; what becomes loose by it is parted and matched anew at the end, as
whatever rounding has left loose is (`dense`).
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_ahead, load_relaxed_anywhere, store_relaxed_anywhere
from papers.common.gpu.reductions import warp_min, warp_min_int64, warp_sum
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
from papers.synthesis.assignment.kernels.team import meet_in_block, thread_of, threads_of
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
    if thread_of(shape) == 0:
        slot = (level + 2) % 3
        store_relaxed_anywhere(log.words, FRONT + slot, int32(0))
        store_relaxed_anywhere(log.words, UNREACHED + slot, int32(0))
        log.levels[LEAST + slot] = matrix.top
        log.levels[REACH + slot] = nothing_reached(shape, matrix)
        tell_time(log, LATE_LEVEL, level, due)


@cuda.jit(device=True)
def begin_column(column, stays, matrix, tree):
    """A column of a tree that stays is open at distance 0; any other has not been reached.

    The row before a column that has not been reached does not count.
    """
    if stays:
        tree.distance[column] = matrix.zero
        tree.opened[column] = 1
    else:
        tree.distance[column] = matrix.top
        tree.opened[column] = 0


@cuda.jit(device=True)
def forget_search(shape, matrix, tree):
    """No column has been reached.  A barrier has to follow."""
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        begin_column(j, False, matrix, tree)


@cuda.jit(device=True)
def open_front(turn, free, level, due, shape, matrix, duals, lists, front, log):
    """The free rows are the first front of one block.  A barrier has to follow."""
    half, other = int32((turn & 1) * shape.n), int32((level + 1 & 1) * shape.n)
    for k in range(thread_of(shape), free, threads_of(shape)):
        row = lists.rows[half + k]
        front.rows[other + k] = row
        front.start[other + k] = 0
        front.base[other + k] = -duals.u[row]
    if thread_of(shape) == 0:
        slot = (level + 1) % 3
        store_relaxed_anywhere(log.words, FRONT + slot, free)
        store_relaxed_anywhere(log.words, UNREACHED + slot, int32(1))
        log.levels[LEAST + slot] = 0
        log.levels[REACH + slot] = matrix.top
    clear_level(level, due, shape, matrix, log)


def front_with(floats: bool) -> Any:
    """Make `take_front`."""

    @cuda.jit(device=True)
    def take_front(first, size, ahead, mine, half, shape, front):
        """Copy a part of the front to the block's shared memory; a barrier stands on both sides.

        If `ahead` is true, the part is the first, and each thread has its own entry `mine` already.
        """
        k, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        cuda.syncthreads()
        if ahead:
            if k < size:
                shape.rows[uint32(k)], shape.bases[uint32(k)] = mine[0], mine[1]
                if floats:
                    shape.starts[uint32(k)] = mine[2]
            k = int32(k + width)
        for place in range(k, size, width):
            here = uint32(half + first + place)
            shape.rows[uint32(place)] = front.rows[here]
            shape.bases[uint32(place)] = front.base[here]
            if floats:
                shape.starts[uint32(place)] = front.start[here]
        cuda.syncthreads()

    return take_front


def batch_with(loads: int, floats: bool) -> Any:
    """Make `look_at`: so many rows of a part, all on their way at once."""

    @cuda.jit(device=True)
    def look_at(best, source, k, column, parts, last, shape, matrix, v):
        costs = cuda.local.array(loads, matrix.cost.dtype)
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

    return look_at


def nearest_with(loads: int, floats: bool) -> Any:
    """Make `nearest_row` with so many loads in flight a thread, or twice as many."""
    look_at, look_at_twice = batch_with(loads, floats), batch_with(2 * loads, floats)

    @cuda.jit(device=True)
    def nearest_row(best, source, column, part, parts, size, shape, matrix, v):
        """Lower what a part of the rows in shared memory offers a column; from which place there.

        The place is given as it is where nothing is lower.
        """
        last = int32(size - 1)
        if size <= parts:  # one row a thread, or none
            if part < size:
                row = shape.rows[uint32(part)]
                slack = matrix.cost[int64(row) * shape.m + column] - v
                through = shape.bases[uint32(part)] + slack
                if floats:
                    through = max(through, shape.starts[uint32(part)])
                if through < best:
                    best, source = through, part
            return best, source
        # A loop with a step that the compiler does not know divides; this one does not.
        k, wide = part, int32(parts * loads)
        while int32(k - part) < size:
            # All lanes of a warp have the same answer, though their parts may differ.
            if int32(size - int32(k - part)) > wide:
                best, source = look_at_twice(best, source, k, column, parts, last, shape, matrix, v)
                k = int32(k + wide)
            else:
                best, source = look_at(best, source, k, column, parts, last, shape, matrix, v)
            k = int32(k + wide)
        return best, source

    return nearest_row


@cuda.jit(device=True)
def lowered(column, row, best, source, distance, opened, tree):
    """Store a column's new distance, if it is smaller, and open it: its distance, whether open."""
    if best < distance:
        distance = best
        tree.distance[uint32(column)] = best
        tree.before[uint32(column)] = source
        if row >= 0:
            opened = int32(1)
            tree.opened[uint32(column)] = 1
    return distance, opened


@cuda.jit(device=True)
def list_row(taken, row, distance, dual, other, slot, front, log):
    """Append a row to the next front, if it is taken: all lanes of a warp."""
    place = place_for(taken, log.words, FRONT + slot)
    if taken:
        front.rows[other + place] = row
        front.start[other + place] = distance
        front.base[other + place] = distance - dual


@cuda.jit(device=True)
def farther(reach, distance, shape):
    """The reach, when a free column at this distance has been seen."""
    if shape.square != 0:
        return max(reach, distance)
    return min(reach, distance)


def least_with(floats: bool) -> Any:
    """The minimum over the lanes of a warp, of a kernel for integers or for floats."""
    return warp_min if floats else warp_min_int64


def farthest_with(floats: bool) -> Any:
    """Make `farthest_of_warp`."""
    least_of_warp = least_with(floats)

    @cuda.jit(device=True)
    def farthest_of_warp(reach, shape):
        """`farther` over the lanes of a warp; every lane gets it."""
        if shape.square == 0:
            return least_of_warp(reach)
        return -least_of_warp(-reach)

    return farthest_of_warp


@cuda.jit(device=True)
def judged(row, distance, opened, near, low, reach, top, shape):
    """Decide about a column after its distance was lowered.

    Parameters
    ----------
    near : bool
        Whether it is in the bucket of the nearest open column, and nearer than the goal.

    Returns
    -------
    low, reach : D
        The nearest open and the farthest free column so far.
    unreached : bool
        Whether it is free and no path leads to it.
    taken : bool
        Whether its row comes into the next front; the column has to be closed then.
    """
    unreached, taken = False, False
    if row < 0:
        if distance == top:
            unreached = True
        else:
            reach = farther(reach, distance, shape)
    elif opened != 0:
        low = min(low, distance)
        taken = near
    return low, reach, unreached, taken


@cuda.jit(device=True)
def weighed(column, row, distance, opened, least, goal, delta, low, reach, shape, matrix, tree):
    """As `judged`; a column whose row is taken is closed."""
    near = distance - least <= delta and distance < goal
    low, reach, unreached, taken = judged(
        row, distance, opened, near, low, reach, matrix.top, shape
    )
    if taken:
        tree.opened[uint32(column)] = 0
    return low, reach, unreached, taken


@cuda.jit(device=True)
def known_of(inside, duals, matching, tree):
    """A column's dual, row and distance, and whether it is open."""
    return duals.v[inside], matching.row[inside], tree.distance[inside], tree.opened[inside]


@cuda.jit(device=True)
def ahead_of_level(level, column, shape, duals, matching, tree, front):
    """Load what a level needs in any case, before its size is known: so the loads run beside.

    Parameters
    ----------
    column : int32
        The first of the thread's columns.

    Returns
    -------
    mine : (int32, D, D)
        The entry of the front in the thread's place; it counts if the front is so long.
    known : (D, int32, D, int32)
        `known_of` the column.
    """
    here = uint32((level & 1) * shape.n + min(int32(cuda.threadIdx.x), int32(shape.n - 1)))
    inside = uint32(min(column, int32(shape.m - 1)))
    mine = front.rows[here], front.base[here], front.start[here]
    return mine, known_of(inside, duals, matching, tree)


def relax_alone_with(loads: int, floats: bool) -> Any:
    """Make `relax` for one block: a thread has whole columns, and looks at all rows itself."""
    take_front, nearest_row = front_with(floats), nearest_with(loads, floats)
    publish = publish_with(floats)

    @cuda.jit(device=True)
    def relax(
        level, rows, least, goal, delta, mine, known, shape, matrix, duals, matching, tree, front,
        log,
    ):  # fmt: skip
        """One level: lower the columns' distances, then list the open ones that are near.

        Race: threads beyond the last column read what is known of that one, while its own thread
        changes it, and do nothing with it.
        """
        width = int32(cuda.blockDim.x)
        half, other = int32((level & 1) * shape.n), int32((level + 1 & 1) * shape.n)
        slot = int32((level + 1) % 3)
        low, unreached = matrix.top, int32(0)
        reach = nothing_reached(shape, matrix)
        v, row, distance, opened = known
        for first in range(int32(0), shape.m, width):
            column = int32(first + int32(cuda.threadIdx.x))
            inside = uint32(min(column, int32(shape.m - 1)))
            if first != 0:
                v, row, distance, opened = known_of(inside, duals, matching, tree)
            dual = duals.u[uint32(max(row, int32(0)))]
            best, source = matrix.top, int32(-1)
            for chunk in range(int32(0), rows, int32(FRONT_CHUNK)):
                size = min(int32(FRONT_CHUNK), int32(rows - chunk))
                if first == 0 or rows > FRONT_CHUNK:
                    ahead = first == 0 and chunk == 0
                    take_front(chunk, size, ahead, mine, half, shape, front)
                best, place = nearest_row(
                    best, int32(-1), int32(inside), int32(0), int32(1), size, shape, matrix, v
                )
                if place >= 0:
                    source = shape.rows[uint32(place)]
            taken = False
            if column < shape.m:
                distance, opened = lowered(column, row, best, source, distance, opened, tree)
                low, reach, missed, taken = weighed(
                    column, row, distance, opened, least, goal, delta, low, reach, shape, matrix,
                    tree,
                )  # fmt: skip
                if missed:
                    unreached = int32(unreached + 1)
            list_row(taken, row, distance, dual, other, slot, front, log)
        publish(slot, low, reach, unreached, shape, matrix, log)

    return relax


def publish_with(floats: bool) -> Any:
    """Make `publish`."""
    least_of_warp, farthest_of_warp = least_with(floats), farthest_with(floats)

    @cuda.jit(device=True)
    def publish(slot, low, reach, unreached, shape, matrix, log):
        """A warp adds what it found to the next level's slots."""
        low, unreached = least_of_warp(low), warp_sum(unreached)
        farthest = farthest_of_warp(reach, shape)
        if cuda.threadIdx.x & 31 == 0:
            if low < matrix.top:
                cuda.atomic.min(log.levels, LEAST + slot, low)
            if unreached > 0:
                cuda.atomic.add(log.words, UNREACHED + slot, unreached)
            if shape.square != 0:
                cuda.atomic.max(log.levels, REACH + slot, farthest)
            else:
                cuda.atomic.min(log.levels, REACH + slot, farthest)

    return publish


def search_alone_with(relax: Any) -> Any:
    """Make `search` from `relax`, for a team of one block."""

    @cuda.jit(device=True)
    def search(
        level, turn, free, due, delta, shape, matrix, duals, matching, lists, tree, front, log
    ):
        """Levels until no open column is nearer than the goal; as `levels.search_with`'s."""
        open_front(turn, free, int32(level - 1), due, shape, matrix, duals, lists, front, log)
        meet_in_block()
        # Every second level at least settles the nearest open column for good.
        for _ in range(2 * shape.m + 8):
            slot = level % 3
            mine, known = ahead_of_level(
                level, int32(cuda.threadIdx.x), shape, duals, matching, tree, front
            )
            # One after the other without a question between: they are on their way together.
            rows = load_relaxed_anywhere(log.words, FRONT + slot)
            unreached = load_relaxed_anywhere(log.words, UNREACHED + slot)
            late = load_relaxed_anywhere(log.words, LATE_LEVEL + slot)
            least, reach = log.levels[LEAST + slot], log.levels[REACH + slot]
            goal = reach
            if shape.square != 0 and unreached > 0:
                goal = matrix.top
            if least >= goal or least == matrix.top:
                if reach < 0 or reach == matrix.top:
                    return level, reach, int32(NO_WAY)
                note_steps(shape, matrix, matching, tree)
                meet_in_block()
                return level, reach, int32(SOLVED)
            if late != 0:
                return level, reach, int32(EXPIRED)
            relax(
                level, rows, least, goal, delta, mine, known, shape, matrix, duals, matching, tree,
                front, log,
            )  # fmt: skip
            clear_level(level, due, shape, matrix, log)
            count(shape, log, ITERATIONS, 1)
            count(shape, log, RELAXED, rows)
            meet_in_block()
            level = int32(level + 1)
        return level, matrix.top, int32(STUCK)

    return search


@cuda.jit(device=True)
def note_step(column, before, row, matching, tree):
    """Note how a tree came to a column, when its search has ended: by whoever has the column.

    What is noted stays, while paths are turned and the matching changes.

    Parameters
    ----------
    before : int32
        The row before it; -1 if it was not reached.
    row : int32
        The column's own row, or -1.
    """
    link = int32(-1)
    if before >= 0:
        link = matching.column[uint32(before)]
    tree.link[uint32(column)] = link
    tree.owner[uint32(column)] = row


@cuda.jit(device=True)
def note_steps(shape, matrix, matching, tree):
    """`note_step` of all columns, where searches leave rows before in memory.

    It has a barrier of its own behind it: whoever has a column at the end of a search could note it
    there, but the levels would then lack the registers that this takes.
    """
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        before = tree.before[j]
        if tree.distance[j] == matrix.top:
            before = int32(-1)  # it counts if the column was reached
        note_step(j, before, matching.row[j], matching, tree)


@cuda.jit(device=True)
def root_of(column, shape, tree):
    """The free row that a column's path begins at; -1 if there is a circle: a fault."""
    for _ in range(shape.n):
        link = tree.link[uint32(column)]
        if link < 0:
            return tree.before[uint32(column)]
        column = link
    return int32(-1)


@cuda.jit(device=True)
def turn_path(column, shape, matching, tree):
    """Match a free column along its path, up to the free row that this begins at."""
    for _ in range(shape.n):
        row, link = tree.before[uint32(column)], tree.link[uint32(column)]
        matching.column[uint32(row)] = column
        matching.row[uint32(column)] = row
        if link < 0:
            break
        column = link


@cuda.jit(device=True)
def augment(reach, turn, free, shape, matrix, duals, matching, lists, tree):
    """Move the duals by one search, and turn a path of each tree that has reached a free column.

    ``opened`` gets the free row that each column's tree begins at, -1 beyond the reach.

    Race: columns of one tree claim its root by an exchange, the first wins; any path would do.
    Trees are disjoint, so every column and row on a path belongs to one thread, and all else that
    is read here was noted before (`note_step`). A barrier has to follow.
    """
    half = int32((turn & 1) * shape.n)
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        distance, row = tree.distance[j], tree.owner[j]
        if distance < reach:
            dual = duals.v[j] - (reach - distance)
            duals.v[j] = dual
            duals.bid[j] = dual
            if row >= 0:
                duals.u[row] = matrix.cost[int64(row) * shape.m + j] - dual
        root = int32(-1)
        if distance <= reach and distance < matrix.top:
            root = root_of(int32(j), shape, tree)
        tree.opened[j] = root
        ends = row < 0 and root >= 0
        if ends and cuda.atomic.exch(tree.row_claim, root, turn + 1) != turn + 1:
            turn_path(int32(j), shape, matching, tree)
    for k in range(thread_of(shape), free, threads_of(shape)):
        duals.u[lists.rows[half + k]] += reach


@cuda.jit(device=True)
def forget_and_list(turn, free, shape, matrix, duals, matching, lists, tree, log):
    """Give new pairs their rows' duals, forget trees that were augmented, list rows that stay free.

    A barrier has to follow.
    """
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        row, owner, root = matching.row[j], tree.owner[j], tree.opened[j]
        if row != owner:
            duals.u[row] = matrix.cost[int64(row) * shape.m + j] - duals.v[j]
        stays = root >= 0 and tree.row_claim[max(root, 0)] != turn + 1
        begin_column(j, stays, matrix, tree)
    half, other = int32((turn & 1) * shape.n), int32((turn + 1 & 1) * shape.n)
    for start in range(int32(shape.block * int32(cuda.blockDim.x)), free, threads_of(shape)):
        k = int32(start + cuda.threadIdx.x)
        row, stays = int32(-1), False
        if k < free:
            row = lists.rows[half + k]
            stays = tree.row_claim[row] != turn + 1
        place = place_for(stays, log.words, FREE + (turn + 1) % 3)
        if stays:
            lists.rows[other + place] = row


@cuda.jit(device=True)
def agree_on_nothing(shape):
    """Where searches have nothing to agree on."""


def phases_with(search: Any, meet: Any, agree: Any = agree_on_nothing) -> Any:
    """Make `phases` from the search and the team's barrier; `agree` stands behind the first."""

    @cuda.jit(device=True)
    def phases(turn, level, due, delta, shape, matrix, duals, matching, lists, tree, front, log):
        """Phases until no row is free: each matches one at least.

        Returns
        -------
        turn, level, status : int32
        """
        forget_search(shape, matrix, tree)
        meet()
        agree(shape)
        for _ in range(shape.n + 1):
            free, late = free_rows(log, turn), is_late(log, turn)
            if free == 0:
                return turn, level, int32(SOLVED)
            if late:
                return turn, level, int32(EXPIRED)
            level, reach, status = search(
                int32(level + 1), turn, free, due, delta, shape, matrix, duals, matching, lists,
                tree, front, log,
            )  # fmt: skip
            if status != SOLVED:
                return turn, level, status
            augment(reach, turn, free, shape, matrix, duals, matching, lists, tree)
            meet()
            forget_and_list(turn, free, shape, matrix, duals, matching, lists, tree, log)
            prepare_turn(shape, log, turn, due)
            count(shape, log, PHASES, 1)
            meet()
            turn = int32(turn + 1)
        return turn, level, int32(STUCK)

    return phases
