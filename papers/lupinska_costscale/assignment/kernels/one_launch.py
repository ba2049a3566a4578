"""The whole of cost scaling in one launch, for small complete graphs: ours, not the paper's.

The notation is that of `assignment.kernels.lock_free`, but for

==========  ===============================================================================
cost        int64 [n * n], row after row, times 2 n + 1
mate        int32 [n]: the y that x's unit went to, or -1; in a complete graph whose x have
            one unit each this is the flow: the arc (y, x) is residual if mate[x] = y, and
            all arcs of an active x are
==========  ===============================================================================

One block, a warp a node (in turns), lanes over its arcs; prices, excesses and mates in shared
memory, costs through the L1 cache. What one thread a node needs N loads in a row for, a warp does
in two rounds and five shuffles, and no host stands between two values of epsilon.

Prediction for n = 30, C = 100 on an H100: some 4000 operations, a third of them one after another,
at about 150 cycles each: 0.1 to 0.2 ms, next to 20 us for the launch and the first reads.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed_block, store_relaxed_block
from papers.common.gpu.reductions import FULL_WARP, warp_min

LARGEST = 64
"""Nodes a side at most."""

LACKS = 0
"""The word of ``state``: y without a unit."""

DONE, RAN_OVER = 1, 2
"""The values of ``ended``."""

NODES = 2 * LARGEST
FAR = 2**62


@cuda.jit(device=True)
def least_of_x(x, n, cost, price):
    """Lane's least partially reduced cost over the arcs of an active x, and its y."""
    least, best = int64(FAR), int32(0)
    for y in range(cuda.threadIdx.x & 31, n, 32):
        partial = cost[x * n + y] - load_relaxed_block(price, n + y)
        if partial < least:
            least, best = partial, int32(y)
    return least, best


@cuda.jit(device=True)
def least_of_y(y, n, cost, price, mate):
    """Lane's least partially reduced cost over the x whose unit is at y, and its x."""
    least, best = int64(FAR), int32(0)
    for x in range(cuda.threadIdx.x & 31, n, 32):
        if load_relaxed_block(mate, x) == y:
            partial = -cost[x * n + y] - load_relaxed_block(price, x)
            if partial < least:
                least, best = partial, int32(x)
    return least, best


@cuda.jit(device=True)
def send(v, other, n, mate, excess, state):
    """A push by one lane: the flow first, then the excesses; see `lock_free.push`."""
    if v < n:
        store_relaxed_block(mate, v, other)
        cuda.atomic.add(excess, v, -1)
        cuda.threadfence_block()
        if cuda.atomic.add(excess, n + other, 1) == -1:
            cuda.atomic.add(state, LACKS, -1)
    else:
        store_relaxed_block(mate, other, -1)
        cuda.atomic.add(excess, v, -1)
        cuda.threadfence_block()
        cuda.atomic.add(excess, other, 1)


@cuda.jit(device=True)
def operate(v, n, eps, cost, price, mate, excess, state):
    """One push or relabel by the warp of an active node; 1 for a push [LU11 Alg.5.4] 3-18."""
    if v < n:
        mine, best = least_of_x(v, n, cost, price)
    else:
        mine, best = least_of_y(v - n, n, cost, price, mate)
    least = warp_min(mine)
    winner = cuda.ffs(cuda.ballot_sync(FULL_WARP, mine == least)) - 1
    other = cuda.shfl_sync(FULL_WARP, best, winner)
    pushes = least < -price[v]
    cuda.syncwarp()
    if cuda.threadIdx.x & 31 == 0:
        if pushes:
            send(v, other, n, mate, excess, state)
        elif least < FAR:  # else: no residual arc, against Lemma 5.1; the bound tells
            store_relaxed_block(price, v, -(least + eps))
    cuda.syncwarp()
    return int32(pushes)


@cuda.jit(device=True)
def refine_block(n, eps, bound, cost, price, mate, excess, state, tally):
    """Sweeps of the block's warps over the nodes until no node is active [LU11 Alg.5.4].

    Returns what still lacks, to all threads: 0, unless a warp has made its `bound` of sweeps.
    """
    lane = cuda.threadIdx.x & 31
    first = cuda.threadIdx.x >> 5
    warps = cuda.blockDim.x >> 5
    pushes, done = int64(0), int64(0)
    for _ in range(bound):
        lacks = cuda.shfl_sync(FULL_WARP, load_relaxed_block(state, LACKS), 0)
        if lacks == 0:
            break
        before = done
        for v in range(first, 2 * n, warps):
            units = cuda.shfl_sync(FULL_WARP, load_relaxed_block(excess, v), 0)
            if units > 0:
                cuda.threadfence_block()
                pushes += operate(v, n, eps, cost, price, mate, excess, state)
                done += 1
        if done == before:
            cuda.nanosleep(0)
    if lane == 0 and done > 0:
        cuda.atomic.add(tally, 0, pushes)
        cuda.atomic.add(tally, 1, done - pushes)
    cuda.syncthreads()
    lacks = load_relaxed_block(state, LACKS)
    cuda.syncthreads()  # no thread starts the next refine before all have read
    return lacks


@cuda.jit(device=True)
def start_block(n, eps, cost, price, mate, excess, state):
    """Lines 3 to 6 of [LU11 Alg.5.2]: no flow, and new prices for the x."""
    first = cuda.threadIdx.x >> 5
    for x in range(first, n, cuda.blockDim.x >> 5):
        mine, _ = least_of_x(x, n, cost, price)
        least = warp_min(mine)
        if cuda.threadIdx.x & 31 == 0:
            price[x] = -(least + eps)
            mate[x] = -1
            excess[x] = 1
            excess[n + x] = -1
    if cuda.threadIdx.x == 0:
        state[LACKS] = n
    cuda.syncthreads()


@cuda.jit
def cost_scaling(n, alpha, eps_0, bound, cost, mates, prices, tally, ended):
    """All refines of [LU11 Alg.5.0], from the largest cost down to epsilon = 1.

    Paper: [LU11 Alg.5.2] and [LU11 Alg.5.4], without heuristics.  Launch: one block of whole
    warps.  Reads/Writes: reads ``cost``; writes ``mates``, ``prices``, ``tally`` (pushes, relabels,
    refines) and ``ended``.
    Race: among warps, as in `assignment.kernels.lock_free.refine`; the lanes of a warp act as one.
    """
    price = cuda.shared.array(NODES, int64)
    excess = cuda.shared.array(NODES, int32)
    mate = cuda.shared.array(LARGEST, int32)
    state = cuda.shared.array(1, int32)
    thread = cuda.threadIdx.x
    for v in range(thread, 2 * n, cuda.blockDim.x):
        price[v] = 0
    if thread < 3:
        tally[thread] = 0
    cuda.syncthreads()
    eps = eps_0
    lacks = int32(0)
    while eps > 1:
        eps = (eps + alpha - 1) // alpha
        start_block(n, eps, cost, price, mate, excess, state)
        lacks = refine_block(n, eps, bound, cost, price, mate, excess, state, tally)
        if thread == 0:
            tally[2] += 1
        if lacks > 0:
            break
    for v in range(thread, 2 * n, cuda.blockDim.x):
        prices[v] = price[v]
        if v < n:
            mates[v] = mate[v]
    if thread == 0:
        ended[0] = RAN_OVER if lacks > 0 else DONE


SIGNATURES = {
    cost_scaling: (
        "void(int32, int64, int64, int64, int64[::1], int32[::1], int64[::1], int64[::1], "
        "int32[::1])"
    ),
}
"""The types that each kernel is compiled for."""
