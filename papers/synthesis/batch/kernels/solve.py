"""A block solves a problem: `papers.synthesis.batch.reference`, step by step.

A thread has the columns ``thread + k * blockDim`` for k below `columns`, their distances and
duals in registers during a search. One reduction settles a column; its words are two sets that take
turns, so that it needs one barrier, and none in a block of a single warp.

==================  ===================  ======================================================
reference           array                dtype, shape
==================  ===================  ======================================================
c                   batch.cost           T[sum of n * m], problem after problem, by rows
v                   work.v, out.v        T[width] shared; T[sum of m]
column, row         work.column, row     int32[width] shared, -1 where there is none
distance, before    registers, before    T; int32[width] shared
==================  ===================  ======================================================
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import store_release_system
from papers.common.gpu.reductions import FULL_WARP, warp_least, warp_min
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.common.gpu.signatures import Element, Elements, Int32, Int32s, Int64, Int64s
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment.kernels.arguments import Status
from papers.synthesis.batch.reference import BIDS_A_ROW, COUNTS, PASSES, REPAIRS, TAKEN

MOST_WARPS = 8
"""Warps of the largest block."""

BOTH = 2 * MOST_WARPS
"""Words of a reduction: two sets that take turns."""

NOWHERE = 2**31 - 1
"""The place of no column, and the row of a column that no row has claimed."""

SOLVED, LATE, INFEASIBLE = Status.SOLVED, Status.LATE, Status.INFEASIBLE

DONE_BITS = 31
"""Problems of a launch: below two to this power. A launch's word counts the problems that have
ended in so many bits, and above them those without an answer."""

BIDS, PATHS, SCANNED, REPAIRED = range(len(COUNTS))
DONE, SEQUENCE, BEGAN = range(3)


class Batch(NamedTuple):
    """The problems: problem b has its costs from ``first[b]`` on.

    ``lines`` int32[4 * b]: rows, columns, and the places of the first row and column in the
    answer. ``loose`` T[b] is the largest slack of a pair that needs no repair; ``repairs`` says how
    often pairs may be parted, -1 for integers, which need none. ``top`` is the largest value of the
    type, ``zero`` its 0; ``limit`` a run's nanoseconds.
    """

    cost: Elements
    first: Int64s
    lines: Int32s
    loose: Elements
    repairs: Int32
    top: Element
    zero: Element
    limit: Int64


class Out(NamedTuple):
    """The answers: column of each row, duals, the end of each problem, its counts, and words."""

    column: Int32s
    u: Elements
    v: Elements
    status: Int32s
    counts: Int32s
    words: Int64s
    signal: Int64s


class Work(NamedTuple):
    """A block's shared memory, and its problem's size and place."""

    v: Elements
    u: Elements
    column: Int32s
    row: Int32s
    before: Int32s
    flags: Int32s
    values: Elements
    seconds: Elements
    places: Int32s
    n: Any
    m: Any
    begin: Any


@cuda.jit(device=True)
def nearest_of_block(value, place, turn, work):
    """The least value of all threads and its place; equal values: the least place.

    All threads of the block call it and get the result. `turn` alternates from call to call.
    """
    value, place = warp_least(value, place)
    warps = int32(cuda.blockDim.x >> 5)
    if warps > 1:
        base = int32((turn & 1) * MOST_WARPS)
        if cuda.threadIdx.x & 31 == 0:
            mine = int32(base + (cuda.threadIdx.x >> 5))
            work.values[mine], work.places[mine] = value, place
        cuda.syncthreads()
        value, place = work.values[base], work.places[base]
        for warp in range(base + 1, base + warps):
            other, where = work.values[warp], work.places[warp]
            if other < value or (other == value and where < place):
                value, place = other, where
    return value, place


@cuda.jit(device=True)
def joined(first, place, second, other, where, other_second):
    """The two least of two pairs of least values, and the place of the least."""
    # Comparisons and no `min`, with which Numba would go on with 64 bits.
    if other < first or (other == first and where < place):
        if other_second < first:
            return other, where, other_second
        return other, where, first
    if other < second:
        return first, place, other
    return first, place, second


@cuda.jit(device=True)
def two_nearest_of_block(first, place, second, turn, work):
    """As `nearest_of_block`, with the second least value."""
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(FULL_WARP, first, step)
        where = cuda.shfl_xor_sync(FULL_WARP, place, step)
        after = cuda.shfl_xor_sync(FULL_WARP, second, step)
        first, place, second = joined(first, place, second, other, where, after)
    warps = int32(cuda.blockDim.x >> 5)
    if warps > 1:
        base = int32((turn & 1) * MOST_WARPS)
        if cuda.threadIdx.x & 31 == 0:
            mine = int32(base + (cuda.threadIdx.x >> 5))
            work.values[mine], work.places[mine], work.seconds[mine] = first, place, second
        cuda.syncthreads()
        first, place, second = work.values[base], work.places[base], work.seconds[base]
        for warp in range(base + 1, base + warps):
            first, place, second = joined(
                first, place, second, work.values[warp], work.places[warp], work.seconds[warp]
            )
    return first, place, second


@cuda.jit(device=True)
def reduce_columns(batch, work):
    """The columns' first duals; nobody is matched.  A barrier has to follow."""
    n, m = work.n, work.m
    for j in range(cuda.threadIdx.x, m, cuda.blockDim.x):
        least = batch.top
        if n == m:
            for i in range(n):
                least = min(least, batch.cost[work.begin + i * m + j])
        if least == batch.top:  # a rectangle, or a column without an allowed pair
            least = batch.zero
        work.v[j] = least
        work.row[j] = NOWHERE
    for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        work.column[i] = -1


def choose_with(kind: Any) -> Any:
    """Make `choose` for a type of costs."""

    @cuda.jit(device=True)
    def choose(batch, work):
        """Each row's nearest column: a warp a row.  Barriers stand before and have to follow.

        Race: rows that choose one column meet in an atomic minimum; the first row gets it.
        """
        n, m = work.n, work.m
        lane = int32(cuda.threadIdx.x & 31)
        for i in range(cuda.threadIdx.x >> 5, n, cuda.blockDim.x >> 5):
            begin, start = work.begin + i * m, int32(i % m)
            value, place = batch.top, int32(NOWHERE)
            for j in range(lane, m, 32):
                here = kind(batch.cost[begin + j] - work.v[j])
                where = int32(j - start)
                if where < 0:
                    where = int32(where + m)
                if here < value or (here == value and where < place):
                    value, place = here, where
            for step in (16, 8, 4, 2, 1):
                other = cuda.shfl_xor_sync(FULL_WARP, value, step)
                where = cuda.shfl_xor_sync(FULL_WARP, place, step)
                if other < value or (other == value and where < place):
                    value, place = other, where
            if lane == 0:
                chosen = int32(-1)
                if value < batch.top:
                    chosen = int32(place + start)
                    if chosen >= m:
                        chosen = int32(chosen - m)
                    cuda.atomic.min(work.row, chosen, int32(i))
                work.before[i] = chosen
        cuda.syncthreads()
        for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
            chosen = work.before[i]
            if chosen >= 0 and work.row[chosen] == i:
                work.column[i] = chosen
        for j in range(cuda.threadIdx.x, m, cuda.blockDim.x):
            if work.row[j] == NOWHERE:
                work.row[j] = -1

    return choose


def bids_with(columns: int, kind: Any) -> Any:
    """Make `bids` for so many columns a thread and a type of costs."""

    @cuda.jit(device=True)
    def bids(turn, batch, work):
        """Free rows bid, each with the chain of rows that it drives out.

        Returns
        -------
        turn, made : int32
            The next turn of the reductions, and the rows that looked for a bid.
        """
        n, m, thread = work.n, work.m, int32(cuda.threadIdx.x)
        made, most = int32(0), int32(BIDS_A_ROW * n)
        for start in range(PASSES * n):
            row = int32(start % n)
            if work.column[row] >= 0:
                row = int32(-1)
            while row >= 0 and made < most:
                made = int32(made + 1)
                first, second, place = batch.top, batch.top, int32(NOWHERE)
                begin = work.begin + row * m
                for k in range(columns):
                    j = int32(thread + k * cuda.blockDim.x)
                    if j < m:
                        value, here = kind(batch.cost[begin + j] - work.v[j]), j
                        if work.row[j] >= 0:
                            here = int32(j | TAKEN)
                        first, place, second = joined(first, place, second, value, here, batch.top)
                first, place, second = two_nearest_of_block(first, place, second, turn, work)
                turn = int32(turn + 1)
                if first == batch.top or (
                    place >= TAKEN and (second == first or second == batch.top)
                ):
                    break
                j = int32(place & (TAKEN - 1))
                driven = work.row[j]
                cuda.syncthreads()  # all have read the matching and the duals
                if thread == 0:
                    if driven >= 0:
                        work.column[driven] = -1
                    work.row[j], work.column[row] = row, j
                    if second < batch.top:
                        work.v[j] -= second - first
                cuda.syncthreads()
                row = driven
        return turn, made

    return bids


def path_with(columns: int, kind: Any) -> Any:
    """Make `path` for so many columns a thread and a type of costs."""

    @cuda.jit(device=True)
    def path(free, turn, batch, work):
        """The shortest path from a free row; the duals move, and the rows shift along it.

        It is longer than most because what a thread knows of its columns is in registers.

        Returns
        -------
        turn, scanned : int32
            The next turn of the reductions; the columns that were settled, -1: there is no path.
        """
        m, thread, width = work.m, int32(cuda.threadIdx.x), int32(cuda.blockDim.x)
        distance = cuda.local.array(columns, kind)
        dual = cuda.local.array(columns, kind)
        taken, settled = int32(0), int32(0)
        begin = work.begin + free * m
        for k in range(columns):
            j = int32(thread + k * width)
            distance[k] = batch.top
            dual[k] = batch.top
            if j < m:
                dual[k] = work.v[j]
                distance[k] = batch.cost[begin + j] - dual[k]
                work.before[j] = free
                if work.row[j] >= 0:
                    taken = int32(taken | (1 << k))
        scanned, end, least = int32(0), int32(-1), batch.top
        for _ in range(work.n + 1):
            least, place = batch.top, int32(NOWHERE)
            for k in range(columns):
                if settled >> k & 1 == 0:
                    here = int32(thread + k * width)
                    if taken >> k & 1 != 0:
                        here = int32(here | TAKEN)
                    if distance[k] < least or (distance[k] == least and here < place):
                        least, place = distance[k], here
            least, place = nearest_of_block(least, place, turn, work)
            turn = int32(turn + 1)
            if least == batch.top:
                return turn, int32(-1)
            j = int32(place & (TAKEN - 1))
            if place < TAKEN:
                end = j
                break
            scanned = int32(scanned + 1)
            if j % width == thread:
                settled = int32(settled | (1 << (j // width)))
            row = work.row[j]
            begin = work.begin + row * m
            base = kind(batch.cost[begin + j] - work.v[j] - least)
            for k in range(columns):
                j = int32(thread + k * width)
                if j < m and settled >> k & 1 == 0:
                    cost = batch.cost[begin + j]
                    # A slack that rounding has made negative counts as none.
                    through = max(kind(cost - dual[k] - base), least)
                    if cost < batch.top and through < distance[k]:
                        distance[k] = through
                        work.before[j] = row
        cuda.syncthreads()  # all have read the duals, and all rows before are stored
        for k in range(columns):
            if settled >> k & 1 != 0:
                work.v[int32(thread + k * width)] += distance[k] - least
        if thread == 0:
            shift(end, free, work)
        cuda.syncthreads()
        return turn, scanned

    return path


@cuda.jit(device=True)
def shift(end, free, work):
    """Give every column of a path the row before it: one thread."""
    column = end
    for _ in range(work.n):
        row = work.before[column]
        work.row[column] = row
        following = work.column[row]
        work.column[row] = column
        if row == free:
            break
        column = following


@cuda.jit(device=True)
def mend(may_part, loose, batch, work):
    """Let negative duals rise, find the rows' anew, and part loose pairs; how many.

    Barriers stand before it, between its passes, and behind it.
    """
    n, m, thread = work.n, work.m, int32(cuda.threadIdx.x)
    for i in range(thread, n, cuda.blockDim.x):
        j = work.column[i]
        work.u[i] = batch.cost[work.begin + i * m + j] - work.v[j]
    if thread == 0:
        work.flags[1] = 0
    cuda.syncthreads()
    for j in range(thread, m, cuda.blockDim.x):
        own, limit = work.row[j], batch.zero
        for i in range(n):
            if i != own:
                limit = min(limit, batch.cost[work.begin + i * m + j] - work.u[i])
        if work.v[j] < limit:
            work.v[j] = limit
    cuda.syncthreads()
    for i in range(thread >> 5, n, cuda.blockDim.x >> 5):
        begin, least = work.begin + i * m, batch.top
        for j in range(thread & 31, m, 32):
            least = min(least, batch.cost[begin + j] - work.v[j])
        least = warp_min(least)
        if thread & 31 == 0:
            work.u[i] = least
            j = work.column[i]
            if may_part and batch.cost[begin + j] - work.v[j] - least > loose:
                work.column[i] = -1
                work.row[j] = -1
                cuda.atomic.add(work.flags, 1, 1)
    cuda.syncthreads()
    return work.flags[1]


def augment_with(path: Any) -> Any:
    """Make `augment` from `path`."""

    @cuda.jit(device=True)
    def augment(turn, due, batch, work):
        """Match all free rows, one after the other.

        Returns
        -------
        turn, status, paths, scanned : int32
            The next turn of the reductions, the end, and the counts.
        """
        thread = int32(cuda.threadIdx.x)
        status, paths, scanned = int32(SOLVED), int32(0), int32(0)
        for row in range(work.n):
            if work.column[row] < 0 and status == SOLVED:
                if thread == 0:
                    work.flags[0] = int32(globaltimer() > due)
                cuda.syncthreads()
                if work.flags[0] != 0:
                    status = int32(LATE)
                else:
                    turn, more = path(int32(row), turn, batch, work)
                    paths = int32(paths + 1)
                    scanned = int32(scanned + max(more, int32(0)))
                    if more < 0:
                        status = int32(INFEASIBLE)
        return turn, status, paths, scanned

    return augment


@cuda.jit(device=True)
def write(problem, batch, work, out):
    """Write an answer; of integers a row's dual makes its pair tight."""
    n, m = work.n, work.m
    row_place, column_place = batch.lines[4 * problem + 2], batch.lines[4 * problem + 3]
    for i in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        j = work.column[i]
        out.column[row_place + i] = j
        if batch.repairs < 0:
            out.u[row_place + i] = batch.cost[work.begin + i * m + j] - work.v[j]
        else:
            out.u[row_place + i] = work.u[i]
    for j in range(cuda.threadIdx.x, m, cuda.blockDim.x):
        out.v[column_place + j] = work.v[j]


@cuda.jit(device=True)
def began(out):
    """The time at which the launch's first block began: one thread of a block."""
    now = globaltimer()
    first = cuda.atomic.cas(out.words, BEGAN, 0, now)
    if first == 0:
        first = now
    return first


@cuda.jit(device=True)
def tell(status, problem, problems, out):
    """Count the problem among those that have ended; the last one tells the host: one thread.

    The host hears 0, or that some problem has no answer; ``status`` says which.
    """
    out.status[problem] = status
    mine = int64(1)
    if status != SOLVED:
        mine = int64(1) + (int64(1) << DONE_BITS)
    before = cuda.atomic.add(out.words, DONE, mine)
    if before & ((1 << DONE_BITS) - 1) == problems - 1:
        payload = int64(0)
        if (before + mine) >> DONE_BITS != 0:
            payload = int64(1)
        out.words[DONE] = 0
        out.words[BEGAN] = 0
        sequence = out.words[SEQUENCE] + 1
        out.words[SEQUENCE] = sequence
        store_release_system(out.signal, 0, (sequence << PAYLOAD_BITS) | payload)


@cache
def assign_with(width: int, columns: int, kind: Any) -> Any:
    """Make the kernel for sides up to `width`, with so many columns a thread.

    Parameters
    ----------
    width, columns : int
    kind : Numba type
        The type of the costs; the differences of two are cast to it, since Numba would go on with
        64 bits.

    Returns
    -------
    numba.cuda dispatcher
        The kernel ``assign``, to be launched with a block of ``width / columns`` threads a problem.
    """
    choose, bids = choose_with(kind), bids_with(columns, kind)
    augment = augment_with(path_with(columns, kind))

    @cuda.jit
    def assign(batch, out):
        """Solve many assignment problems whose costs lie in device memory.

        Paper: none; as `papers.synthesis.batch.reference`.
        Launch: a block a problem, a whole number of warps.
        Reads/Writes: reads ``batch``, writes ``out``.
        Race: within a block that of `choose`; blocks share two counters alone.
        """
        problem, thread = int32(cuda.blockIdx.x), int32(cuda.threadIdx.x)
        due = int64(0)
        if thread == 0:
            due = began(out) + batch.limit
        n, m = batch.lines[4 * problem], batch.lines[4 * problem + 1]
        work = Work(
            cuda.shared.array(width, kind), cuda.shared.array(width, kind),
            cuda.shared.array(width, int32), cuda.shared.array(width, int32),
            cuda.shared.array(width, int32), cuda.shared.array(2, int32),
            cuda.shared.array(BOTH, kind), cuda.shared.array(BOTH, kind),
            cuda.shared.array(BOTH, int32), n, m, batch.first[problem],
        )  # fmt: skip
        reduce_columns(batch, work)
        cuda.syncthreads()
        choose(batch, work)
        cuda.syncthreads()
        turn, made = bids(int32(0), batch, work)
        status, repairs, paths, scanned = int32(SOLVED), int32(0), int32(0), int32(0)
        for attempt in range(REPAIRS + 1):
            turn, status, more, settled = augment(turn, due, batch, work)
            paths, scanned = int32(paths + more), int32(scanned + settled)
            if batch.repairs < 0 or status != SOLVED:
                break
            may_part = n == m and attempt < batch.repairs
            if mend(may_part, batch.loose[problem], batch, work) == 0:
                break
            repairs = int32(repairs + 1)
        if status == SOLVED:
            write(problem, batch, work, out)
        if thread == 0:
            counts = int32(len(COUNTS) * problem)
            out.counts[counts + BIDS], out.counts[counts + PATHS] = made, paths
            out.counts[counts + SCANNED], out.counts[counts + REPAIRED] = scanned, repairs
            tell(status, problem, cuda.gridDim.x, out)

    return assign


SIGNATURE = (Batch, Out)
"""Types that the kernels are compiled for, an entry an argument."""
