"""Refine without locks, several threads a node: ours, past [LU11 Alg.5.4].

The algorithm, its arrays and its races are those of `assignment.kernels.lock_free`, and so is the
host's loop; any graph is taken. There a thread looks through the arcs of its node one after the
other: two dependent loads an arc, N arcs an operation. Here the threads of a group, a warp or a
part of one, look through them together, and the first of them does what was found.

The group acts as one node [LU11 sec.5.3]: its first thread alone asks for the excess and pushes or
relabels. A barrier of the group stands between its look at the excess (acquire) and the others'
looks at the arcs: all see what the unit's sender has stored before, and what the group's own last
operation has.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_acquire, load_relaxed, store_relaxed
from papers.lupinska_costscale.assignment.kernels.arguments import Arcs, Lists, Vertices
from papers.lupinska_costscale.assignment.kernels.lock_free import (
    FAR,
    LACKS,
    PUSHES,
    RELABELS,
    STUCK,
    push,
)

OVER, IDLE, BUSY = -1, 0, 1
"""The answers of a group's first thread: no node is active, this node is not, it is."""


@cuda.jit(device=True)
def group_of(lanes):
    """The first lane of this thread's group in its warp, and the group's mask."""
    first = cuda.threadIdx.x & 31 & ~(lanes - 1)
    return int32(first), int64(((int64(1) << lanes) - 1) << first)


@cuda.jit(device=True)
def least_of_lane(v, wanted, lane, lookers, lists, arcs, price):
    """As `lock_free.least_arc`, over every `lookers`-th arc; both loads are under way at once."""
    best = int32(-1)
    least = int64(FAR)
    if lane >= lookers:
        return best, least
    for k in range(lists.first[v] + lane, lists.last[v], lookers):
        a = lists.arc[k]
        flow = load_relaxed(arcs.flow, a)
        other = load_relaxed(price, lists.head[k])
        c = arcs.cost[a]
        if wanted == 1:
            c = -c
        c -= other
        if flow == wanted and c < least:
            least = c
            best = int32(k)
    return best, least


@cuda.jit(device=True)
def least_of_group(best, least, lookers, mask):
    """The least of a group's values and its place: lines 5 to 10 of [LU11 Alg.5.4]."""
    distance = lookers >> 1
    while distance > 0:
        other = cuda.shfl_xor_sync(mask, least, distance)
        place = cuda.shfl_xor_sync(mask, best, distance)
        if other < least:
            least = other
            best = place
        distance >>= 1
    return best, least


@cuda.jit(device=True)
def look(v, excess, flags):
    """Return whether there is work, as a group's first thread tells the others before a turn."""
    if load_relaxed(flags, LACKS) == 0 or load_relaxed(flags, STUCK) != 0:
        return int32(OVER)
    if load_acquire(excess, v) > 0:
        return int32(BUSY)
    return int32(IDLE)


@cuda.jit
def refine_wide(nodes, lanes, lookers, cycle, eps, lists, arcs, vertices, flags, tally):
    """Pushes and relabels, a group of threads a node, until none is active or CYCLE turns are over.

    Paper: [LU11 Alg.5.4] in the loop of [LU11 sec.5.5].  Launch: `lanes` threads a node at least,
    a power of two up to 32, of which the first `lookers` look; whole groups a block.
    Reads/Writes: as `lock_free.refine`; the group's first thread writes.
    Race: as there, between groups. Lanes that read a price at different times are one thread that
    reads its arcs in some order.
    """
    thread = cuda.grid(1)
    v = int32(thread // lanes)
    if v >= nodes:
        return
    leader, mask = group_of(lanes)
    lane = int32((cuda.threadIdx.x & 31) - leader)
    price, excess = vertices.price, vertices.excess
    wanted = int32(0)
    if v >= nodes >> 1:
        wanted = int32(1)
    pushes, relabels = 0, 0
    for _ in range(cycle):
        told = int32(IDLE)
        if lane == 0:
            told = look(v, excess, flags)
        told = cuda.shfl_sync(mask, told, leader)
        if told == OVER:
            break
        if told == IDLE:
            cuda.nanosleep(0)
            continue
        cuda.syncwarp(mask)  # behind the excess, and behind what the first thread has stored
        mine, value = least_of_lane(v, wanted, lane, lookers, lists, arcs, price)
        k, least = least_of_group(mine, value, lookers, mask)
        if lane == 0:
            if k < 0:
                store_relaxed(flags, STUCK, 1)
            elif least < -price[v]:
                push(v, lists.head[k], lists.arc[k], wanted, arcs.flow, excess, flags)
                pushes += 1
            else:
                store_relaxed(price, v, -(least + eps))
                relabels += 1
    if pushes > 0:
        cuda.atomic.add(tally, PUSHES, pushes)
    if relabels > 0:
        cuda.atomic.add(tally, RELABELS, relabels)


SIGNATURES = {
    refine_wide: (
        "int32", "int32", "int32", "int64", "int64", Lists, Arcs, Vertices, "int32[::1]",
        "int64[::1]",
    ),
}  # fmt: skip
"""The types that each kernel is compiled for."""
