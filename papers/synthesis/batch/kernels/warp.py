"""A warp solves a problem of 32-bit integers: `papers.synthesis.batch.reference`, step by step.

The steps of `kernels.solve`, whose counts it has, for sides up to 128. A lane has the columns
``lane + 32 * k`` for k below `columns`, their distances in registers during a search. A step is a
read of a row from shared memory and two or three minima of the warp, each one instruction: so a
chain of some thousand steps, each of which hangs on the one before, is as short as the card allows.

==================  ===================  ======================================================
reference           array                dtype, shape
==================  ===================  ======================================================
c                   work.cost            int32[n * pitch] shared, by rows; or batch.cost
v                   work.v, out.v        int32[width] shared; int32[sum of m]
column, row         work.column, row     int32[width] shared, -1 where there is none
distance, before    registers, before    int32; int32[width] shared
==================  ===================  ======================================================

Costs lie in shared memory where those of the largest problem fit (`shared_bytes`), else they are
read where they are. A shared row's length is even, so that 32 lanes that read 32 rows, each from
its own diagonal on, meet no bank twice.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, int32, int64, uint32

from papers.common.gpu.reductions import FULL_WARP, warp_min_int32
from papers.common.gpu.signatures import Int32s, on_demand
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.batch.kernels import solve
from papers.synthesis.batch.kernels.solve import (
    BIDS,
    LATE,
    NOWHERE,
    PATHS,
    REPAIRED,
    SCANNED,
    SOLVED,
    began,
    shift,
    tell,
)
from papers.synthesis.batch.reference import BIDS_A_ROW, COUNTS, PASSES, TAKEN

WIDEST_SIDE = 128
"""The longest side that the kernel is made for."""

SHARED_BYTES = 44 * 1024
"""Bytes of costs at most in shared memory: a block has 48 KiB, and the lines need some."""

TOP = 2**31 - 1
"""The distance of a column that is none; sums of costs stay below (`costs.NARROW`)."""

AHEAD, AHEAD_OF_WIDE = 20, 10
"""Rows that are on their way from device memory at the same time, up to 64 columns and beyond."""

PATHS_A_LOOK = 8
"""Paths from one look at the clock to the next: they take microseconds."""


class Work(NamedTuple):
    """A warp's memory, and its problem's size: entry (i, j) is ``cost[begin + i * pitch + j]``."""

    cost: Int32s
    v: Int32s
    column: Int32s
    row: Int32s
    before: Int32s
    n: Any
    m: Any
    pitch: Any
    begin: Any


@cuda.jit(device=True)
def next_free(start, work):
    """The first free row from `start` on, or ``n``: all lanes get it."""
    found, base = work.n, int32(start & ~31)
    while base < work.n:
        i = int32(base + (cuda.threadIdx.x & 31))
        votes = cuda.ballot_sync(FULL_WARP, start <= i < work.n and work.column[uint32(i)] < 0)
        if votes != 0:
            found = int32(base + cuda.ffs(votes) - 1)
            break
        base = int32(base + 32)
    return found


def load_with(columns: int, inside: bool) -> Any:
    """Make `load` for so many columns a lane, and costs in shared memory or not."""
    ahead = AHEAD if columns <= 2 else AHEAD_OF_WIDE
    slots = ahead * columns

    @cuda.jit(device=True)
    def load(first, batch, work):
        """Bring the costs to the warp, with the columns' first duals: their minima in a square.

        Some rows (`AHEAD`) are read before the first is looked at. What is beyond an edge is read
        as the edge, which changes no minimum.
        """
        n, m, lane = work.n, work.m, int32(cuda.threadIdx.x)
        least = cuda.local.array(columns, int32)
        got = cuda.local.array(slots, int32)
        for k in range(columns):
            least[k] = TOP
        if inside or n == m:
            start = int32(0)
            while start < n:
                for r in range(ahead):
                    line = first + int32(min(int32(start + r), int32(n - 1)) * m)
                    for k in range(columns):
                        got[r * columns + k] = batch.cost[
                            line + min(int32(lane + 32 * k), int32(m - 1))
                        ]
                for r in range(ahead):
                    i = int32(start + r)
                    for k in range(columns):
                        j = int32(lane + 32 * k)
                        cost = got[r * columns + k]
                        least[k] = min(least[k], cost)
                        if inside and i < n and j < m:
                            work.cost[uint32(i * work.pitch + j)] = cost
                start = int32(start + ahead)
        for k in range(columns):
            j = int32(lane + 32 * k)
            if j < m:
                work.v[uint32(j)] = least[k] if n == m else int32(0)
                work.row[uint32(j)] = NOWHERE

    return load


def choose_with(columns: int, index: Any) -> Any:
    """Make `choose` for so many columns a lane and an index of costs."""

    @cuda.jit(device=True)
    def choose(work):
        """Each row's nearest column, a lane a row; the lane's columns that are taken, as bits.

        Race: rows that choose one column meet in an atomic minimum; the first row gets it.
        """
        n, m, lane = work.n, work.m, int32(cuda.threadIdx.x)
        i = lane
        while i < n:
            value, chosen, j = int32(TOP), int32(0), i
            begin = index(work.begin + i * work.pitch)
            for _ in range(m):
                here = int32(work.cost[index(begin + j)] - work.v[uint32(j)])
                if here < value:
                    value, chosen = here, j
                j = int32(j + 1)
                if j == m:
                    j = int32(0)
            work.before[uint32(i)] = chosen
            cuda.atomic.min(work.row, uint32(chosen), i)
            i = int32(i + 32)
        cuda.syncwarp()  # all rows have chosen
        i = lane
        while i < n:
            chosen = work.before[uint32(i)]
            work.column[uint32(i)] = chosen if work.row[uint32(chosen)] == i else int32(-1)
            i = int32(i + 32)
        cuda.syncwarp()  # all rows have read whose a column is
        taken = int32(0)
        for k in range(columns):
            j = int32(lane + 32 * k)
            if j < m:
                if work.row[uint32(j)] == NOWHERE:
                    work.row[uint32(j)] = -1
                else:
                    taken = int32(taken | (1 << k))
        cuda.syncwarp()
        return taken

    return choose


def bids_with(columns: int, index: Any) -> Any:
    """Make `bids` for so many columns a lane and an index of costs."""

    @cuda.jit(device=True)
    def bids(taken, work):
        """Free rows bid, each with the chain of rows that it drives out.

        Returns
        -------
        taken, made : int32
            The lane's columns that are taken, as bits, and the rows that looked for a bid.
        """
        n, m, lane = work.n, work.m, int32(cuda.threadIdx.x)
        made, most, passes, start = int32(0), int32(BIDS_A_ROW * n), int32(0), int32(0)
        while passes < PASSES:
            row = next_free(start, work)
            start = int32(row + 1)
            if row == n:
                passes, start, row = int32(passes + 1), int32(0), int32(-1)
            while row >= 0 and made < most:
                made = int32(made + 1)
                first, second, place = int32(TOP), int32(TOP), int32(NOWHERE)
                begin = index(work.begin + row * work.pitch)
                for k in range(columns):
                    j = int32(lane + 32 * k)
                    if j < m:
                        value = int32(work.cost[index(begin + j)] - work.v[uint32(j)])
                        here = int32(j | (TAKEN if taken >> k & 1 else 0))
                        if value < first or (value == first and here < place):
                            first, place, second = value, here, first
                        elif value < second:
                            second = value
                least = warp_min_int32(first)
                best = warp_min_int32(place if first == least else int32(NOWHERE))
                # The lane of the nearest column offers its second one.
                after = warp_min_int32(second if place == best else first)
                if best >= TAKEN and (after == least or after >= TOP):
                    break
                j = int32(best & (TAKEN - 1))
                driven = work.row[uint32(j)]
                cuda.syncwarp()  # all have read the matching and the duals
                if j & 31 == lane:
                    taken = int32(taken | (1 << (j >> 5)))
                    if driven >= 0:
                        work.column[uint32(driven)] = -1
                    work.row[uint32(j)] = row
                    work.column[uint32(row)] = j
                    if after < TOP:
                        work.v[uint32(j)] = int32(work.v[uint32(j)] - int32(after - least))
                cuda.syncwarp()
                row = driven
        return taken, made

    return bids


def path_with(columns: int, index: Any) -> Any:
    """Make `path` for so many columns a lane and an index of costs."""

    @cuda.jit(device=True)
    def path(free, taken, work):
        """The shortest path from a free row; the duals move, and the rows shift along it.

        There is one: integers forbid no pair. A settled column's distance is at most every later
        one, so that none falls: they need no test.

        Returns
        -------
        taken, scanned : int32
            The lane's columns that are taken, as bits; the columns that were settled.
        """
        n, m, lane = work.n, work.m, int32(cuda.threadIdx.x)
        distance = cuda.local.array(columns, int32)
        dual = cuda.local.array(columns, int32)
        before = cuda.local.array(columns, int32)
        settled, scanned, least, end = int32(0), int32(0), int32(0), int32(0)
        begin = index(work.begin + free * work.pitch)
        for k in range(columns):
            j = int32(lane + 32 * k)
            distance[k], dual[k], before[k] = TOP, 0, free
            if j < m:
                dual[k] = work.v[uint32(j)]
                distance[k] = int32(work.cost[index(begin + j)] - dual[k])
        while scanned <= n:
            nearest, place = int32(TOP), int32(NOWHERE)
            for k in range(columns):
                if settled >> k & 1 == 0:
                    here = int32((lane + 32 * k) | (TAKEN if taken >> k & 1 else 0))
                    if distance[k] < nearest or (distance[k] == nearest and here < place):
                        nearest, place = distance[k], here
            least = warp_min_int32(nearest)
            best = warp_min_int32(place if nearest == least else int32(NOWHERE))
            end = int32(best & (TAKEN - 1))
            if best < TAKEN:
                break
            scanned = int32(scanned + 1)
            if end & 31 == lane:
                settled = int32(settled | (1 << (end >> 5)))
            row = work.row[uint32(end)]
            begin = index(work.begin + row * work.pitch)
            base = int32(int32(work.cost[index(begin + end)] - work.v[uint32(end)]) - least)
            for k in range(columns):
                j = int32(lane + 32 * k)
                if j < m:
                    through = int32(int32(work.cost[index(begin + j)] - dual[k]) - base)
                    if through < distance[k]:
                        distance[k], before[k] = through, row
        cuda.syncwarp()  # all have read the duals and the matching
        for k in range(columns):
            j = int32(lane + 32 * k)
            if j < m:
                work.before[uint32(j)] = before[k]
                if settled >> k & 1 != 0:
                    work.v[uint32(j)] = int32(int32(dual[k] + distance[k]) - least)
        if end & 31 == lane:
            taken = int32(taken | (1 << (end >> 5)))
        cuda.syncwarp()  # all columns' rows before are stored
        if lane == 0:
            shift(end, free, work)
        cuda.syncwarp()
        return taken, scanned

    return path


def augment_with(path: Any) -> Any:
    """Make `augment` from `path`."""

    @cuda.jit(device=True)
    def augment(taken, problem, batch, work, out):
        """Match all free rows, one after the other; returns the end, and the counts."""
        status, paths, scanned, due = int32(SOLVED), int32(0), int32(0), int64(0)
        row = next_free(int32(0), work)
        while row < work.n:
            if paths & (PATHS_A_LOOK - 1) == 0:
                late = int32(0)
                if cuda.threadIdx.x == 0:
                    if paths == 0:
                        due = began(out) + batch.limit
                    late = int32(globaltimer() > due)
                if cuda.shfl_sync(FULL_WARP, late, 0) != 0:
                    status = int32(LATE)
                    break
            taken, more = path(row, taken, work)
            paths, scanned = int32(paths + 1), int32(scanned + more)
            row = next_free(int32(row + 1), work)
        return status, paths, scanned

    return augment


def write_with(index: Any) -> Any:
    """Make `write` for an index of costs."""

    @cuda.jit(device=True)
    def write(problem, batch, work, out):
        """Write an answer; a row's dual makes its pair tight."""
        rows, lines = batch.lines[4 * problem + 2], batch.lines[4 * problem + 3]
        i = int32(cuda.threadIdx.x)
        while i < work.n:
            j = work.column[uint32(i)]
            out.column[rows + i] = j
            cost = work.cost[index(index(work.begin + i * work.pitch) + j)]
            out.u[rows + i] = int32(cost - work.v[uint32(j)])
            i = int32(i + 32)
        j = int32(cuda.threadIdx.x)
        while j < work.m:
            out.v[lines + j] = work.v[uint32(j)]
            j = int32(j + 32)

    return write


@cache
def assign_with(width: int, inside: bool) -> Any:
    """Make the kernel for sides up to `width`.

    Parameters
    ----------
    width : int
        A multiple of 32, at most `WIDEST_SIDE`.
    inside : bool
        Whether the costs are brought to shared memory, of `shared_bytes` bytes.

    Returns
    -------
    numba.cuda dispatcher
        The kernel ``assign``, to be launched with a block of 32 threads a problem.
    """
    columns, index = width // 32, uint32 if inside else int64
    load, choose = load_with(columns, inside), choose_with(columns, index)
    bids, augment = bids_with(columns, index), augment_with(path_with(columns, index))
    write = write_with(index)

    # Told that a block is one warp, the compiler keeps addresses in registers across the steps.
    @cuda.jit(launch_bounds=32)
    def assign(batch, out):
        """Solve many assignment problems whose costs lie in device memory.

        Paper: none; as `papers.synthesis.batch.reference`.
        Launch: a block of one warp a problem.
        Reads/Writes: reads ``batch``, writes ``out``; it parts no pairs.
        Race: within a warp that of `choose`; blocks share two counters alone.
        """
        problem = int32(cuda.blockIdx.x)
        n, m = batch.lines[4 * problem], batch.lines[4 * problem + 1]
        first = batch.first[problem]
        v, column = cuda.shared.array(width, int32), cuda.shared.array(width, int32)
        row, before = cuda.shared.array(width, int32), cuda.shared.array(width, int32)
        if inside:
            its = cuda.shared.array(0, int32)
            work = Work(its, v, column, row, before, n, m, int32((m + 1) & ~1), uint32(0))
        else:
            work = Work(batch.cost, v, column, row, before, n, m, m, first)
        load(first, batch, work)
        cuda.syncwarp()
        taken = choose(work)
        taken, made = bids(taken, work)
        status, paths, scanned = augment(taken, problem, batch, work, out)
        if status == SOLVED:
            write(problem, batch, work, out)
        if cuda.threadIdx.x == 0:
            counts = int32(len(COUNTS) * problem)
            out.counts[counts + BIDS], out.counts[counts + PATHS] = made, paths
            out.counts[counts + SCANNED], out.counts[counts + REPAIRED] = scanned, 0
            tell(status, problem, cuda.gridDim.x, out)

    return assign


def shared_bytes(rows: int, columns: int) -> int:
    """Bytes of shared memory for the costs of a problem; 0 if they are more than there are."""
    size = 4 * rows * (columns + columns % 2)
    return size if size <= SHARED_BYTES else 0


ELEMENT_TYPES = ("int32",)

__getattr__ = on_demand(
    __name__,
    {
        "assign": lambda: assign_with(WIDEST_SIDE, True),
        "assign_from_memory": lambda: assign_with(WIDEST_SIDE, False),
    },
    solve.SIGNATURE,
)
"""The kernels that tests compile, and ``SIGNATURES``."""
