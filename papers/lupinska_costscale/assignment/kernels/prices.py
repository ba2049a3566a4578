"""Price updates on the device: ours, instead of the host's [LU11 Alg.5.3].

The arrays are those of `assignment.kernels.lock_free`, and

==========================  =============  =====================================================
paper                       array          dtype, shape
==========================  =============  =====================================================
l(v)                        label          int64 [2 n]; `FAR` where no lack was reached yet
last, and its counters      control        int64 [`CONTROL`]
==========================  =============  =====================================================

The paper's buckets give every node its distance to a lack, in units of epsilon, in the order of the
distances. Here all nodes lower their labels at once, sweep after sweep, until a sweep lowers none:
the distances are the same numbers, whatever the order. The paper stops once the last active node
is scanned, at the distance `last`, and gives ``last + 1`` to all that are further; here they are
known, and are cut off there. So the prices are those of the host's update, exactly
(`assignment.baselines.refine.price_update`), and prices, excesses and flows stay on the device.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.lupinska_costscale.assignment.kernels.arguments import Arcs, Lists, Vertices
from papers.lupinska_costscale.assignment.kernels.lock_free import FAR, LACKS, STUCK
from papers.lupinska_costscale.assignment.kernels.wide import group_of

LOWERED, LAST, SWEEPS = 0, 3, 4
"""Words of ``control``: labels lowered in a sweep, by the sweep's number modulo 3; the largest
distance of an active node; sweeps so far."""

CONTROL = 5


@cuda.jit(device=True)
def nearest(v, n, eps, lane, lanes, mask, lists, arcs, price, label):
    """The least distance that v's residual arcs offer, over the group's lanes.

    Paper: [LU11 Alg.5.3], the test of a residual arc. An arc that a transient case has left below
    -eps counts as 0.
    """
    wanted = int32(0) if v < n else int32(1)
    found = int64(FAR)
    for k in range(lists.first[v] + lane, lists.last[v], lanes):
        a = lists.arc[k]
        w = lists.head[k]
        beyond = load_relaxed(label, w)
        if arcs.flow[a] == wanted and beyond < FAR:
            cost = arcs.cost[a]
            if v >= n:
                cost = -cost
            reduced = cost + price[v] - price[w]
            found = min(found, beyond + max(reduced // eps + 1, int64(0)))
    distance = lanes >> 1
    while distance > 0:
        found = min(found, cuda.shfl_xor_sync(mask, found, distance))
        distance >>= 1
    return found


@cuda.jit
def update_prices(nodes, lanes, eps, lists, arcs, vertices, flags, label, control):
    """Lower every price by eps times the distance to a lack, unless no node is active.

    Paper: [LU11 Alg.5.3].  Launch: cooperative, whole warps; groups of `lanes` threads stride over
    the nodes.
    Reads/Writes: reads lists, flows, costs, excesses; lowers prices; writes ``label`` and
    ``control``. If no residual path leads from an active node to a lack it raises ``flags[STUCK]``
    and leaves the prices.
    Race: a label is read before or after its node lowers it. Both are lengths of paths; in the
    second case the node that has read it too early reads it again, because a sweep that lowered a
    label is followed by another.
    """
    grid = cuda.cg.this_grid()
    n = nodes >> 1
    leader, mask = group_of(lanes)
    lane = int32((cuda.threadIdx.x & 31) - leader)
    group, groups = int32(cuda.grid(1) // lanes), int32(cuda.gridsize(1) // lanes)
    price, excess = vertices.price, vertices.excess
    if flags[LACKS] == 0 or flags[STUCK] != 0:
        return  # all threads: no launch writes these words meanwhile
    for v in range(cuda.grid(1), nodes, cuda.gridsize(1)):
        label[v] = 0 if excess[v] < 0 else FAR
    if cuda.grid(1) == 0:
        for word in range(SWEEPS):
            control[word] = 0
    grid.sync()
    for sweep in range(nodes + 1):
        if cuda.grid(1) == 0:
            control[LOWERED + (sweep + 1) % 3] = 0
            control[SWEEPS] += 1
        lowered = int64(0)
        for v in range(group, nodes, groups):
            found = nearest(v, n, eps, lane, lanes, mask, lists, arcs, price, label)
            if lane == 0 and found < label[v]:
                store_relaxed(label, v, found)
                lowered += 1
        if lowered > 0:
            cuda.atomic.add(control, LOWERED + sweep % 3, lowered)
        grid.sync()
        if load_relaxed(control, LOWERED + sweep % 3) == 0:
            break
    for v in range(cuda.grid(1), nodes, cuda.gridsize(1)):
        if excess[v] > 0:
            cuda.atomic.max(control, LAST, label[v])
    grid.sync()
    last = load_relaxed(control, LAST)
    if last >= FAR:
        if cuda.grid(1) == 0:
            store_relaxed(flags, STUCK, 1)
        return
    for v in range(cuda.grid(1), nodes, cuda.gridsize(1)):
        price[v] -= eps * min(label[v], last + 1)


SIGNATURES = {
    update_prices: (
        "int32", "int32", "int64", Lists, Arcs, Vertices, "int32[::1]", "int64[::1]",
        "int64[::1]",
    ),
}  # fmt: skip
"""The types that each kernel is compiled for."""
