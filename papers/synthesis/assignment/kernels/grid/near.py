"""Near pairs: a bit a pair says which costs of a row are worth a look.

A search reads every cost of each row of its fronts, and a bid every cost of its row, though few of
them are small enough to matter. One pass over the costs marks the pairs whose reduced cost is at
most a threshold: a word of 32 bits for a row and a tile of 32 columns, an eighth of a byte a pair.
From then on a row's words are read, and the costs that they mark alone.

**Why nothing is overlooked.** Between two markings duals v only fall, so that ``c - v`` of a pair
that is not marked stays above the row's ``bound``, u when it was marked and the threshold.

- A bid needs the nearest column and the second nearest distance. If the marks show two that are
  no farther than the bound, no other column can be nearer; else the row looks at all columns.
- In a search, a row at distance d offers columns that are not marked at least
  ``d + bound - u``. That is the distance at which the row looks at all columns: its column stays
  open (`WAITS`) until the search has come so far. Most searches end before.

Where marks are many, as with two different costs alone, they save nothing; where they are few, as
with normal costs, whose least lie far apart, most rows soon look at all columns. In both cases none
are used (`marks_with`). Where free columns' duals rise again, in scales of eps, there are none
(`dense`).
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint32

from papers.common.gpu.reductions import FULL_WARP, warp_sum
from papers.synthesis.assignment.kernels.arguments import NEAR
from papers.synthesis.assignment.kernels.columns import fetch_with
from papers.synthesis.assignment.kernels.grid.reports import (
    ALL,
    ROW,
    UNREACHED,
    chunk_of,
    parts_with,
    row_at,
    tell,
    tell_head_with,
)
from papers.synthesis.assignment.kernels.search import (
    farther,
    farthest_with,
    known_of,
    least_with,
    lowered,
    nothing_reached,
)
from papers.synthesis.assignment.kernels.team import thread_of, threads_of
from papers.synthesis.assignment.kernels.words import place_for
from papers.synthesis.assignment.settings import LARGEST_BLOCK, SPARSE, WARP

NOTHING, BIDS, SEARCHES = range(3)
"""Parts of a kernel that go by marks; without them the others have the registers they take."""

TILE = 32
"""Columns of a word; a search's tiles have as many where pairs are marked."""

MOST_TILES = LARGEST_BLOCK // TILE
"""Tiles of a block that are looked at together, at most."""

WORDS = 4
"""Words that a thread of a search has on their way together."""

MARKED, LISTED = 0, 1
"""Places in ``marked``: whether marks are used, and how many rows a block has taken."""

CLOSED, OPEN, WAITS = 0, 1, 2
"""A column: its row has looked; has to look at what is near; will have to look at the rest."""


def words_for(n: int, m: int) -> int:
    """Words that the marks of n rows and m columns take."""
    return n * -(-m // TILE)


@cuda.jit(device=True)
def tiles_of(m):
    """Words of a row."""
    return int32((m + 31) >> 5)


def mark_with(loads: int) -> Any:
    """Make `mark` with so many loads in flight a thread, and as many behind them."""
    loads = min(loads, WARP)  # a row's word is in the lane of its number
    fetch = fetch_with(loads)

    @cuda.jit(device=True)
    def words_of(costs, begin, end, column, v, held, shape, matrix):
        """The words of fetched costs, a row's in the lane of its number; how many they mark.

        Parameters
        ----------
        held : D
            A row's dual and the threshold, in the lane of its number.
        """
        lane, mine = int32(cuda.threadIdx.x & 31), int32(0)
        for k in range(loads):
            most = cuda.shfl_sync(FULL_WARP, held, k)
            word = int32(cuda.ballot_sync(FULL_WARP, column < shape.m and costs[k] - v <= most))
            if lane == k:
                mine = word
        tile = int32(int32(column - lane) >> 5)
        if lane < min(loads, int32(end - begin)) and tile < tiles_of(shape.m):
            matrix.near[int64(int32(begin + lane)) * tiles_of(shape.m) + tile] = mine
            return int64(cuda.popc(mine))
        return int64(0)

    @cuda.jit(device=True)
    def mark(threshold, shape, matrix, duals, log):
        """Mark the near pairs, and count them; a barrier has to follow.

        A thread has a column of a strip of rows; a warp's votes about a row are a word.
        """
        costs = cuda.local.array(loads, matrix.cost.dtype)
        ahead = cuda.local.array(loads, matrix.cost.dtype)
        n, m = shape.n, shape.m
        thread, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        lane, chunks = int32(thread & 31), int32((m + width - 1) // width)
        strips = int32(max(1, min(n, shape.blocks // chunks)))
        deep = int32((n + strips - 1) // strips)
        marks = int64(0)
        for item in range(shape.block, int32(chunks * strips), shape.blocks):
            column = int32((item % chunks) * width + thread)
            begin = int32(item // chunks * deep)
            end = min(n, int32(begin + deep))
            inside = min(column, int32(m - 1))
            v = duals.v[uint32(inside)]
            fetch(costs, begin, end, inside, m, matrix.cost)
            # By turns: one set of costs is on its way while the other is looked at.
            for i in range(begin, end, 2 * loads):
                middle = int32(i + loads)
                held = duals.u[uint32(min(int32(i + lane), int32(n - 1)))] + threshold
                beside = duals.u[uint32(min(int32(middle + lane), int32(n - 1)))] + threshold
                fetch(ahead, middle, end, inside, m, matrix.cost)
                marks += words_of(costs, int32(i), end, column, v, held, shape, matrix)
                fetch(costs, int32(middle + loads), end, inside, m, matrix.cost)
                marks += words_of(ahead, middle, end, column, v, beside, shape, matrix)
        marks = warp_sum(marks)
        if lane == 0 and marks > 0:
            cuda.atomic.add(log.totals, NEAR, marks)
        for i in range(thread_of(shape), n, threads_of(shape)):
            matrix.bound[i] = duals.u[i] + threshold

    return mark


def marks_with(loads: int, divide: Any, meet: Any) -> Any:
    """Make `marks` from `mark`, a device function that divides, and the grid's barrier."""
    mark = mark_with(loads)

    @cuda.jit(device=True)
    def marks(wanted, mean, schedule, shape, matrix, duals, log):
        """Mark near pairs, if it is wanted, and decide for the block whether they are used."""
        if wanted:
            mark(divide(mean * schedule.near, shape.n), shape, matrix, duals, log)
            meet()
        if cuda.threadIdx.x == 0:
            use, marked = int32(0), log.totals[NEAR]
            if (
                wanted
                and SPARSE * marked <= int64(shape.n) * shape.m
                and marked >= int64(shape.n) * schedule.near_least
            ):
                use = int32(1)
            shape.marked[MARKED] = use
        cuda.syncthreads()

    return marks


@cuda.jit(device=True)
def by_marks(shape):
    """Whether a search goes by the marks: of one tile a block reads all costs as soon."""
    return shape.marked[MARKED] != 0 and shape.workers < tiles_of(shape.m)


@cuda.jit(device=True)
def column_of(which, lane, shape):
    """The column of a lane in one of the block's tiles; it may lie beyond m."""
    return int32(int32(int32(shape.block + int32(which * shape.workers)) << 5) + lane)


@cuda.jit(device=True)
def row_and_tile(t, begin, bits):
    """Pair `t` of a row in shared memory and a tile of the block: the row's place, and the tile.

    Each row has ``2 ** bits`` pairs, so that nobody has to divide. Some of them may lie beyond the
    last tile; `word_of` passes them over.
    """
    return int32(t >> bits), int32(begin + int32(t & int32(int32(1 << bits) - 1)))


@cuda.jit(device=True)
def word_of(t, size, begin, count, bits, shape, matrix):
    """The marks of pair `t`, none beyond the last; and whether the row looks at all columns."""
    k, which = row_and_tile(t, begin, bits)
    if k >= size or which >= int32(begin + count):
        return int32(0), False
    row = shape.rows[uint32(k)]
    if row & ALL != 0:
        return int32(0), True
    tile = int32(shape.block + int32(which * shape.workers))
    return matrix.near[int64(row) * tiles_of(shape.m) + tile], False


@cuda.jit(device=True)
def first_mark(near):
    """The place of the first mark that is set, and the others."""
    return int32(cuda.ffs(near) - 1), near & (near - 1)


@cuda.jit(device=True)
def cost_of(k, which, lane, shape, matrix):
    """The cost of the row in place k of shared memory in a lane's column of a tile."""
    row = int32(shape.rows[uint32(k)] & ROW)
    column = min(column_of(which, lane, shape), int32(shape.m - 1))
    return matrix.cost[int64(row) * shape.m + column]


def offer_with(floats: bool) -> Any:
    """Make `offer`."""

    @cuda.jit(device=True)
    def offer(k, which, lane, cost, begin, claims, held, shape):
        """Lower a column's distance by what a row offers it, or claim it for the row.

        Parameters
        ----------
        claims : bool
            Whether the column goes to the row if its distance is what the row offers.
        held : (int32, int32, D, bool)
            What the thread remembers of one column whose distance it has lowered: the column's
            place (-1: of none), the row's, and the distance; and whether it lowered others, too.

        Returns
        -------
        (int32, int32, D, bool)
            As `held`, behind this offer.
        """
        place = int32(int32(int32(which - begin) << 5) + lane)
        through = shape.bases[uint32(k)] + (cost - shape.seconds[uint32(place)])
        if floats:
            through = max(through, shape.starts[uint32(k)])
        if claims:
            if through == shape.firsts[uint32(place)]:
                cuda.atomic.exch(shape.places, place, int32(shape.rows[uint32(k)] & ROW))
        elif through < shape.firsts[uint32(place)]:
            cuda.atomic.min(shape.firsts, place, through)
            if held[0] < 0 or held[0] == place:  # of one column the last is the least
                return place, k, through, held[3]
            return held[0], held[1], held[2], True
        return held

    return offer


def look_with(floats: bool) -> Any:
    """Make `look`."""
    offer = offer_with(floats)

    @cuda.jit(device=True)
    def look_whole(start, begin, bits, whole, claims, held, shape, matrix):
        """Rows that look at all columns are taken by the warp: as `offer`.

        Parameters
        ----------
        whole : int32
            A bit for each of the thread's pairs, from `start` on a block's width apart.
        """
        lane, width = int32(cuda.threadIdx.x & 31), int32(cuda.blockDim.x)
        for x in range(WORDS):
            waiting = int64(cuda.ballot_sync(FULL_WARP, (whole >> x) & 1 != 0)) & FULL_WARP
            while waiting != 0:
                at = int32(cuda.ffs(waiting) - 1)
                waiting &= waiting - 1
                t = int32(int32(start + at) + int32(x * width))
                k, which = row_and_tile(t, begin, bits)
                cost = cost_of(k, which, lane, shape, matrix)
                held = offer(k, which, lane, cost, begin, claims, held, shape)
        return held

    @cuda.jit(device=True)
    def look_once(claims, size, begin, count, shape, matrix):
        """One pass of `look`: of the distances, or of the rows that they come from.

        A thread has a row and a tile, `WORDS` of them, so that their words, and then the costs
        that these mark first, are on their way together.

        Returns
        -------
        (int32, int32, D, bool)
            See `offer_with`.
        """
        words = cuda.local.array(WORDS, int32)
        costs = cuda.local.array(WORDS, matrix.cost.dtype)
        thread, width = int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        lane, bits = int32(thread & 31), int32(0)
        while int32(1 << bits) < count:
            bits = int32(bits + 1)
        held = (int32(-1), int32(0), matrix.top, False)
        for start in range(int32(thread - lane), int32(size << bits), int32(WORDS * width)):
            mine, whole = int32(start + lane), int32(0)
            for x in range(WORDS):
                t = int32(mine + int32(x * width))
                words[x], looks = word_of(t, size, begin, count, bits, shape, matrix)
                if looks:
                    whole = int32(whole | int32(1 << x))
            cuda.syncwarp()
            for x in range(WORDS):
                if words[x] != 0:
                    k, which = row_and_tile(int32(mine + int32(x * width)), begin, bits)
                    at, _ = first_mark(int64(words[x]) & FULL_WARP)
                    costs[x] = cost_of(k, which, at, shape, matrix)
            cuda.syncwarp()
            for x in range(WORDS):
                near = int64(words[x]) & FULL_WARP
                if near != 0:
                    k, which = row_and_tile(int32(mine + int32(x * width)), begin, bits)
                    at, near = first_mark(near)
                    held = offer(k, which, at, costs[x], begin, claims, held, shape)
                    while near != 0:
                        at, near = first_mark(near)
                        cost = cost_of(k, which, at, shape, matrix)
                        held = offer(k, which, at, cost, begin, claims, held, shape)
            if cuda.any_sync(FULL_WARP, whole != 0):
                held = look_whole(int32(start), begin, bits, whole, claims, held, shape, matrix)
        return held

    @cuda.jit(device=True)
    def look(size, begin, count, shape, matrix):
        """Lower the distances of so many of the block's tiles by the rows in shared memory.

        ``firsts`` has the tiles' distances before and behind, ``seconds`` their duals v, and
        ``places`` gets the rows. Barriers of the block stand on both sides. A thread remembers
        one column that it has lowered, and claims it; if a thread has lowered several, its warp
        looks a second time.

        Race: threads lower a distance by an atomic minimum, and read it before without one, to
        see whether that is worth it; what they read is too large at most. Of several rows that
        offer the same distance any may claim the column.
        """
        place, k, through, others = look_once(False, size, begin, count, shape, matrix)
        cuda.syncthreads()
        if cuda.any_sync(FULL_WARP, others):
            look_once(True, size, begin, count, shape, matrix)
        elif place >= 0 and through == shape.firsts[uint32(place)]:
            cuda.atomic.exch(shape.places, place, int32(shape.rows[uint32(k)] & ROW))

    return look


@cuda.jit(device=True)
def weighed_by_bound(
    column, row, distance, gap, opened, least, goal, delta, low, reach, shape, matrix, tree
):
    """As `search.weighed`, where a row first looks at what is near, and later at the rest.

    Parameters
    ----------
    gap : D
        What the row's bound is above its dual.

    Returns
    -------
    low, reach : D
    unreached, taken : bool
    row : int32
        With ALL set if it looks at all columns.
    """
    unreached, taken = False, False
    if row < 0:
        if distance == matrix.top:
            unreached = True
        else:
            reach = farther(reach, distance, shape)
    elif opened != CLOSED:
        beyond = distance + gap
        key = beyond
        if opened == OPEN:
            key = distance
        low = min(low, key)
        if key - least <= delta and key < goal:
            taken = True
            left = int32(WAITS)
            if beyond - least <= delta and beyond < goal:
                left = int32(CLOSED)
                row = int32(row | ALL)
            tree.opened[uint32(column)] = left
    return low, reach, unreached, taken, row


def relax_near_with(floats: bool) -> Any:
    """Make `relax_near`."""
    look, take_part, tell_head = look_with(floats), parts_with(floats), tell_head_with(floats)
    least_of_warp, farthest_of_warp = least_with(floats), farthest_with(floats)
    chunk = chunk_of(floats)

    @cuda.jit(device=True)
    def relax_near(
        level, rows, least, goal, delta, flag, known, half, shape, matrix, duals, matching, lists,
        tree, front,
    ):  # fmt: skip
        """As `levels.relax` of a front of matched rows, by marked pairs.

        All tiles of the block are looked at together: a warp has a tile's columns before and
        behind, and threads have rows of tiles between.

        Parameters
        ----------
        known : (D, int32, D, int32)
            `search.known_of` the lane's column in the tile of the warp's number.
        """
        thread = int32(cuda.threadIdx.x)
        lane, warp, warps = int32(thread & 31), int32(thread >> 5), int32(cuda.blockDim.x >> 5)
        tiles, following = tiles_of(shape.m), int32(level + 1)
        own = int32(int32(int32(tiles - shape.block) + int32(shape.workers - 1)) // shape.workers)
        low, reach = matrix.top, nothing_reached(shape, matrix)
        if thread == 0:
            shape.marked[LISTED] = 0
        for begin in range(int32(0), own, int32(MOST_TILES)):
            count = min(int32(MOST_TILES), int32(own - begin))
            v, row, distance, opened = known
            dual, gap = matrix.zero, matrix.zero
            for which in range(warp, count, warps):
                column = column_of(int32(begin + which), lane, shape)
                inside = uint32(min(column, int32(shape.m - 1)))
                v_here, distance_here = v, distance
                if begin + which != warp:
                    v_here, distance_here = duals.v[inside], tree.distance[inside]
                place = uint32(int32(which << 5) + lane)
                shape.firsts[place], shape.seconds[place] = distance_here, v_here
                shape.places[place] = int32(-1)
            if begin == 0:
                dual = duals.u[uint32(max(row, int32(0)))]
                gap = matrix.bound[uint32(max(row, int32(0)))] - dual
            cuda.syncthreads()
            for start in range(int32(0), rows, int32(chunk)):
                size = min(int32(chunk), int32(rows - start))
                if rows > chunk and begin + start > 0:  # the first part was gathered
                    cuda.syncthreads()
                    take_part(False, level, start, size, half, shape, matrix, duals, lists, front)
                    cuda.syncthreads()
                look(size, begin, count, shape, matrix)
            cuda.syncthreads()
            for which in range(warp, count, warps):
                column = column_of(int32(begin + which), lane, shape)
                inside = uint32(min(column, int32(shape.m - 1)))
                if begin + which != warp:
                    v, row, distance, opened = known_of(inside, duals, matching, tree)
                    dual = duals.u[uint32(max(row, int32(0)))]
                    gap = matrix.bound[uint32(max(row, int32(0)))] - dual
                place = uint32(int32(which << 5) + lane)
                best, source = shape.firsts[place], shape.places[place]
                taken = False
                if column < shape.m:
                    distance, opened = lowered(column, row, best, source, distance, opened, tree)
                    low, reach, unreached, taken, row = weighed_by_bound(
                        column, row, distance, gap, opened, least, goal, delta, low, reach, shape,
                        matrix, tree,
                    )  # fmt: skip
                    if unreached:
                        flag = int32(flag | UNREACHED)
                rank = place_for(taken, shape.marked, LISTED)
                if taken:
                    value = distance
                    if not floats:
                        value = distance - dual
                    tell(row_at(rank, following, shape.block, shape), following, row, value, front)
            cuda.syncthreads()  # the next tiles go to the same words
        if cuda.any_sync(FULL_WARP, flag & UNREACHED != 0):
            flag = int32(flag | UNREACHED)
        low, reach = least_of_warp(low), farthest_of_warp(reach, shape)
        if lane == 0:
            shape.firsts[warp], shape.seconds[warp], shape.places[warp] = low, reach, flag
        cuda.syncthreads()
        if warp == 0:
            other = min(lane, int32(warps - 1))
            low, reach = shape.firsts[uint32(other)], shape.seconds[uint32(other)]
            flag = shape.places[uint32(other)]
            tell_head(following, shape.marked[LISTED], flag, low, reach, shape, front)

    return relax_near
