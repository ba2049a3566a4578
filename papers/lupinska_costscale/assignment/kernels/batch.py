"""Thousands of small dense problems in one launch, a warp each: ours, not the paper's.

It serves what the paper is for [LU11 sec.6]: many assignments of some 30 a side in real time.

Jonker and Volgenant's method, exact without scaling: column reduction, augmenting row reduction,
then a shortest augmenting path from each row that is still free. A warp keeps a whole problem in
its registers: lane l owns the columns (and rows) l and l + 32, so that a step is two loads of a
row's costs, coalesced, a few additions, and shuffles for the minimum; no shared memory, no barrier.

==========  ================================================================================
array       dtype, shape; T is int32, int64 or float64
==========  ================================================================================
cost        T [count * n * n], entries whose range is at most an eighth of T's
columns     int32 [count * n]: the column of each row
u, v        T [count * n]: duals, u[i] + v[j] <= cost[i, j]
tally       int64 [3]: bids of row reduction, paths, columns scanned on them
==========  ================================================================================

Prediction for 10,000 of n = 30 on an H100: some 100 steps of some 100 instructions each and as much
again for reductions and duals, 2e4 instructions a problem, 76 problems a multiprocessor: 1.5e6 warp
instructions at two a cycle, 0.45 ms; the 36 MB of costs take 12 us of it.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.reductions import FULL_WARP, warp_min

LARGEST = 64
"""Rows at most: two a lane."""

BIDS = 3
"""Bids of the row reduction, in multiples of n; a tie ends a row's, so that fewer are usual."""

ELEMENT_TYPES = ("int32", "int64", "float64")


@cuda.jit(device=True)
def at(pair, j):
    """The entry of line j, from whichever lane owns it; to all lanes."""
    low = cuda.shfl_sync(FULL_WARP, pair[0], j & 31)
    high = cuda.shfl_sync(FULL_WARP, pair[1], j & 31)
    if j < 32:
        return low
    return high


@cuda.jit(device=True)
def put(pair, j, value):
    """Write the entry of line j, in the lane that owns it."""
    if cuda.threadIdx.x & 31 == j & 31:
        if j < 32:
            pair[0] = value
        else:
            pair[1] = value


@cuda.jit(device=True)
def first_of(low, high):
    """The first line that says so: of the lower 32, else of the upper; -1 if there is none."""
    votes = cuda.ballot_sync(FULL_WARP, low)
    if votes != 0:
        return int32(cuda.ffs(votes) - 1)
    votes = cuda.ballot_sync(FULL_WARP, high)
    if votes != 0:
        return int32(cuda.ffs(votes) + 31)
    return int32(-1)


@cuda.jit(device=True)
def reduced_row(n, far, base, i, cost, v, out):
    """Row i's costs minus the column duals, into the lane's pair; `far` beyond n."""
    lane = cuda.threadIdx.x & 31
    out[0] = far
    out[1] = far
    if lane < n:
        out[0] = cost[base + i * n + lane] - v[0]
    if lane + 32 < n:
        out[1] = cost[base + i * n + lane + 32] - v[1]


@cuda.jit(device=True)
def column_reduction(n, far, base, cost, v):
    """v[j] becomes the least cost of column j."""
    lane = cuda.threadIdx.x & 31
    v[0] = far
    v[1] = far
    for i in range(n):
        if lane < n:
            v[0] = min(v[0], cost[base + i * n + lane])
        if lane + 32 < n:
            v[1] = min(v[1], cost[base + i * n + lane + 32])


@cuda.jit(device=True)
def bid(n, far, base, i, cost, v, row_of, d):
    """Give row i its cheapest column, lowering the dual to the second cheapest's.

    Returns the row that has lost the column, or -1, and whether the dual fell.
    """
    lane = cuda.threadIdx.x & 31
    reduced_row(n, far, base, i, cost, v, d)
    least = warp_min(min(d[0], d[1]))
    # Of equally cheap columns a free one, if there is any.
    j = first_of(d[0] == least and row_of[0] < 0 and lane < n,
                 d[1] == least and row_of[1] < 0 and lane + 32 < n)  # fmt: skip
    if j >= 0:
        put(row_of, j, int32(i))
        return int32(-1), False
    j = first_of(d[0] == least, d[1] == least)
    put(d, j, far)
    second = warp_min(min(d[0], d[1]))
    loser = at(row_of, j)
    fell = second > least and second < far
    if fell:
        put(v, j, at(v, j) - (second - least))
    put(row_of, j, int32(i))
    return loser, fell


@cuda.jit(device=True)
def row_reduction(n, far, base, cost, v, row_of, d):
    """Each row bids once, and who loses a column at a lower dual bids again; bids made.

    The rows left without a column are those that no `row_of` names.
    """
    bids = int32(0)
    for i in range(n):
        row = int32(i)
        while row >= 0:
            row, fell = bid(n, far, base, row, cost, v, row_of, d)
            bids += int32(1)
            if not fell or bids >= BIDS * n:
                row = int32(-1)
    return bids


@cuda.jit(device=True)
def shortest_path(n, far, base, free, cost, v, row_of, d, e, before):
    """Dijkstra from a free row to the nearest free column; (column, columns scanned).

    Leaves the tree in `before` and has already moved the duals of the scanned columns.
    """
    lane = cuda.threadIdx.x & 31
    reduced_row(n, far, base, free, cost, v, d)
    before[0] = free
    before[1] = free
    open_0, open_1 = lane < n, lane + 32 < n
    end = int32(-1)
    scanned = int32(0)
    least = far
    while scanned < n:
        least = nearest(open_0, open_1, far, d, e)
        tight_0, tight_1 = open_0 and d[0] == least, open_1 and d[1] == least
        end = first_of(tight_0 and row_of[0] < 0, tight_1 and row_of[1] < 0)
        if end >= 0:
            break
        j = first_of(tight_0, tight_1)
        open_0 = open_0 and lane != j
        open_1 = open_1 and lane + 32 != j
        i = at(row_of, j)
        reduced_row(n, far, base, i, cost, v, e)
        known = at(e, j) - least
        if open_0 and e[0] - known < d[0]:
            d[0] = e[0] - known
            before[0] = i
        if open_1 and e[1] - known < d[1]:
            d[1] = e[1] - known
            before[1] = i
        scanned += int32(1)
    if lane < n and not open_0:
        v[0] += d[0] - least
    if lane + 32 < n and not open_1:
        v[1] += d[1] - least
    return end, scanned


@cuda.jit(device=True)
def nearest(open_0, open_1, far, d, e):
    """The least distance of a column that is not scanned yet; `e` is scratch."""
    e[0] = far
    if open_0:
        e[0] = d[0]
    if open_1 and d[1] < e[0]:
        e[0] = d[1]
    return warp_min(e[0])


@cuda.jit(device=True)
def turn(n, free, end, before, row_of, column_of):
    """Turn the path from a free row to column `end` around; it visits a row once."""
    j = end
    for _ in range(n):
        i = at(before, j)
        put(row_of, j, i)
        last = at(column_of, i)
        put(column_of, i, j)
        j = last
        if i == free:
            break


@cuda.jit(device=True)
def augment(n, far, base, cost, v, row_of, column_of, d, e, before):
    """A shortest augmenting path from each free row; (paths, columns scanned)."""
    column_of[0] = int32(-1)
    column_of[1] = int32(-1)
    for j in range(n):
        i = at(row_of, j)
        if i >= 0:
            put(column_of, i, int32(j))
    paths = int32(0)
    total = int32(0)
    for i in range(n):
        if at(column_of, i) < 0:
            end, scanned = shortest_path(n, far, base, int32(i), cost, v, row_of, d, e, before)
            if end < 0:
                return int32(-1), total
            turn(n, int32(i), end, before, row_of, column_of)
            paths += int32(1)
            total += scanned
    return paths, total


@cuda.jit(device=True)
def store_answer(n, far, problem, cost, v, column_of, d, columns, us, vs):
    """The assignment, the column duals, and the largest row duals that these allow."""
    lane = cuda.threadIdx.x & 31
    for i in range(n):
        reduced_row(n, far, problem * n * n, i, cost, v, d)
        least = warp_min(min(d[0], d[1]))
        if lane == 0:
            us[problem * n + i] = least
    if lane < n:
        columns[problem * n + lane] = column_of[0]
        vs[problem * n + lane] = v[0]
    if lane + 32 < n:
        columns[problem * n + lane + 32] = column_of[1]
        vs[problem * n + lane + 32] = v[1]


@cuda.jit
def solve_batch(count, n, far, cost, columns, us, vs, tally):
    """Solve `count` problems of order n, a warp each.

    Paper: none; for the use of [LU11 sec.6].  Launch: whole warps, warp-stride over the problems.
    Reads/Writes: reads ``cost``; writes the answers; adds to ``tally`` once a warp.
    Race: none, warps share nothing but the counters. A problem without an end (never: costs are
    finite) leaves -1 in ``columns``.
    """
    v = cuda.local.array(2, cost.dtype)
    d = cuda.local.array(2, cost.dtype)
    e = cuda.local.array(2, cost.dtype)
    row_of = cuda.local.array(2, int32)
    column_of = cuda.local.array(2, int32)
    before = cuda.local.array(2, int32)
    bids, paths, scans = int64(0), int64(0), int64(0)
    warps = cuda.gridsize(1) >> 5
    problem = cuda.grid(1) >> 5
    while problem < count:
        base = problem * n * n
        row_of[0] = int32(-1)
        row_of[1] = int32(-1)
        column_reduction(n, far, base, cost, v)
        bids += row_reduction(n, far, base, cost, v, row_of, d)
        found, scanned = augment(n, far, base, cost, v, row_of, column_of, d, e, before)
        store_answer(n, far, problem, cost, v, column_of, d, columns, us, vs)
        paths += found
        scans += scanned
        problem += warps
    if cuda.threadIdx.x & 31 == 0:
        cuda.atomic.add(tally, 0, bids)
        cuda.atomic.add(tally, 1, paths)
        cuda.atomic.add(tally, 2, scans)


SIGNATURES = {
    solve_batch: "void(int32, int32, T, T[::1], int32[::1], T[::1], T[::1], int64[::1])",
}
"""The types that each kernel is compiled for."""
