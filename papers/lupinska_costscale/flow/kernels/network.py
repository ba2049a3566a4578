"""Global relabeling as kernels, for any graph: at grid barriers, and asynchronous.

`relabel_nodes` is the loop of [LU11 Alg.4.6] without the host: search, operations and violation
cancelling follow each other at barriers of the grid. `hybrid_async` is what [LU11 sec.4.5] tells of
Hong and He's asynchronous global relabeling: a distinguished block searches while the others
operate.

Arrays as in `flow.kernels.lock_free`; besides

=========  ===============  ======================================================================
name       array            dtype, shape
=========  ===============  ======================================================================
frontiers  queue            int32 [2 * n]: of two levels in turn; asynchronously one of n
levels     level            int32 [n]: asynchronously, 0 where a search has not been
counters   control          int32 [`CONTROL`]
=========  ===============  ======================================================================
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.lupinska_costscale.flow.kernels.lock_free import (
    ARCS,
    FLOW,
    PUSHED,
    RELABELED,
    arc_of,
    degree,
    end_of,
    mate_of,
    operate,
    report,
)
from papers.lupinska_costscale.flow.kernels.lock_free import ELEMENT_TYPES as ELEMENT_TYPES

ACTIVE, TAIL, LIFTED, MOVED = 3, 4, 5, 6
"""Words of ``control`` after the lengths of three frontiers: active nodes; the asynchronous
search's queue; relabels, and all operations, since the last search."""

STATUS, ROUNDS, STEPS, WAVES = 7, 8, 9, 10
CONTROL = 11

CHECK = 32
"""Sweeps after which a thread looks whether a search is due."""

GOING, DONE, RESTLESS = 0, 1, 2
"""Status, as in `flow.kernels.one_launch`."""


@cuda.jit(device=True)
def cancel(x, n, first, head, mate, offset, residual, excess, height):
    """Push along every residual arc of x with h(x) > h(y) + 1.

    Paper: [LU11 Alg.4.8], global relabeling heuristic, lines 2 to 6.
    Race: heights stand still, so of an arc and its mate at most one is violated: no one else
    touches either. Others may add to e(x) and e(y).
    """
    mine = height[x]
    for k in range(degree(x, first, offset)):
        arc = arc_of(x, k, n, first, offset)
        if residual[arc] > 0:
            end = end_of(x, k, arc, head, offset)
            if mine > height[end] + 1:
                amount = min(int64(residual[arc]), load_relaxed(excess, x))
                residual[arc] -= amount
                residual[mate_of(k, arc, end, n, mate, offset)] += amount
                cuda.atomic.sub(excess, x, amount)
                cuda.atomic.add(excess, end, amount)


@cuda.jit(device=True)
def reach(
    x, far, level, length, half, n, first, head, mate, offset, residual, distance, queue, control
):  # fmt: skip
    """Give `level` to all neighbours of x that are `far` and have a residual arc to x.

    Race: the compare-and-swap lets one thread append a node; all bring the same level.
    """
    for k in range(degree(x, first, offset)):
        arc = arc_of(x, k, n, first, offset)
        end = end_of(x, k, arc, head, offset)
        if 0 <= end < n and load_relaxed(distance, end) == far:
            back = mate_of(k, arc, end, n, mate, offset)
            if load_relaxed(residual, back) <= 0:
                continue
            if cuda.atomic.cas(distance, end, far, level) == far:
                place = cuda.atomic.add(control, length, int32(1))
                store_relaxed(queue, half + place, int32(end))


@cuda.jit(device=True)
def search(grid, n, nodes, first, head, mate, offset, residual, to_sink, height, queue, control):
    """Breadth-first search from the sink, a barrier a level; (levels, whether it ended).

    Paper: [LU11 Alg.4.4]; nodes not reached get |V| [LU11 sec.4.6].
    """
    for x in range(cuda.grid(1), n, cuda.gridsize(1)):
        if to_sink[x] > 0:
            height[x] = 1
            queue[int64(n) + cuda.atomic.add(control, 1, int32(1))] = x
        else:
            height[x] = nodes
    for level in range(1, n + 2):
        grid.sync()
        length = load_relaxed(control, level % 3)
        if length == 0:
            return int32(level - 1), True
        if cuda.grid(1) == 0:
            control[(level + 2) % 3] = 0
        front = int64(level & 1) * n
        behind = int64(n) - front
        for place in range(cuda.grid(1), length, cuda.gridsize(1)):
            reach(
                load_relaxed(queue, front + place), int32(nodes), int32(level + 1),
                (level + 1) % 3, behind, n, first, head, mate, offset, residual, height, queue,
                control,
            )  # fmt: skip
    return int32(n + 1), False


@cuda.jit(device=True)
def operate_some(
    cycle, x, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess, height,
    shared,
):  # fmt: skip
    """Up to `cycle` operations on x while it is below the source; (pushes, relabels)."""
    pushes, relabels = int32(0), int32(0)
    for _ in range(cycle):
        if load_relaxed(excess, x) <= 0 or load_relaxed(height, x) >= nodes:
            break
        done = operate(
            x, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess, height,
            shared,
        )  # fmt: skip
        if done == PUSHED:
            pushes += 1
        elif done == RELABELED:
            relabels += 1
    return pushes, relabels


@cuda.jit
def relabel_nodes(
    rounds, sweeps, cycle, n, nodes, first, head, mate, offset, residual, to_source, to_sink,
    excess, height, queue, control, tally,
):  # fmt: skip
    """At most `rounds` rounds of cancelling, search and operations, until no node is active.

    Paper: [LU11 Alg.4.6] and [LU11 Alg.4.8] without the host.  Launch: cooperative, any grid.
    Reads/Writes: everything of the module's table but ``level``.
    Race: operations as in `flow.kernels.lock_free`; the other steps stand apart by barriers of the
    grid. A thread's sweeps end at |V| relabels of all since the search, as often as in [LU11
    sec.4.2], or when no thread has done anything since it looked last. Others may just be late: the
    next round does what it leaves.
    """
    grid = cuda.cg.this_grid()
    pushes, relabels = int32(0), int32(0)
    status, steps = int32(GOING), int32(0)
    for _ in range(rounds):
        for x in range(cuda.grid(1), n, cuda.gridsize(1)):
            cancel(x, n, first, head, mate, offset, residual, excess, height)
        if cuda.grid(1) == 0:
            for word in range(STATUS):
                control[word] = 0
            control[ROUNDS] += 1
        grid.sync()
        levels, ended = search(
            grid, n, nodes, first, head, mate, offset, residual, to_sink, height, queue, control
        )
        steps += levels
        if not ended:
            status = int32(RESTLESS)
            break
        for x in range(cuda.grid(1), n, cuda.gridsize(1)):
            if excess[x] > 0 and load_relaxed(height, x) < nodes:
                store_relaxed(control, ACTIVE, int32(1))
        grid.sync()
        if load_relaxed(control, ACTIVE) == 0:
            status = int32(DONE)
            break
        operations, lifted, last = pushes + relabels, relabels, int32(-1)
        for sweep in range(sweeps):
            if sweep % CHECK == CHECK - 1:
                if pushes + relabels != operations:
                    cuda.atomic.add(control, MOVED, int32(pushes + relabels - operations))
                    cuda.atomic.add(control, LIFTED, int32(relabels - lifted))
                    operations, lifted = pushes + relabels, relabels
                moved = int32(load_relaxed(control, MOVED))
                if load_relaxed(control, LIFTED) >= nodes or moved == last:
                    break
                last = moved
            for x in range(cuda.grid(1), n, cuda.gridsize(1)):
                p, r = operate_some(
                    cycle, x, n, nodes, first, head, mate, offset, residual, to_source, to_sink,
                    excess, height, False,
                )  # fmt: skip
                pushes += p
                relabels += r
        grid.sync()
    if cuda.grid(1) == 0:
        control[STATUS] = status
        control[STEPS] += steps
    report(pushes, relabels, tally)


# ---------------------------------------------------------------------------------- asynchronous


@cuda.jit(device=True)
def wave(n, first, head, mate, offset, residual, to_sink, height, level, queue, control):
    """One search by one block, which lifts what lies below its distance; returns the levels.

    Race: pushes go on meanwhile, so what is found is the distance in no residual graph that ever
    was. A node may be lifted too high; arcs are then violated until the host cancels them. Heights
    are maxima, so that neither the search nor a relabel undoes the other's.
    """
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    if thread == 0:
        store_relaxed(control, TAIL, int32(0))
    cuda.syncthreads()
    for x in range(thread, n, threads):
        beside = load_relaxed(to_sink, x) > 0
        level[x] = int32(1) if beside else int32(0)
        if beside:
            cuda.atomic.max(height, x, int32(1))
            queue[cuda.atomic.add(control, TAIL, int32(1))] = x
    cuda.threadfence()
    cuda.syncthreads()
    front = int32(0)
    for depth in range(2, n + 2):
        tail = load_relaxed(control, TAIL)
        cuda.syncthreads()
        if front == tail:
            return int32(depth - 2)
        for place in range(front + thread, tail, threads):
            reach(
                load_relaxed(queue, place), int32(0), int32(depth), TAIL, int64(0), n, first,
                head, mate, offset, residual, level, queue, control,
            )  # fmt: skip
        cuda.threadfence()
        cuda.syncthreads()
        for place in range(tail + thread, load_relaxed(control, TAIL), threads):
            cuda.atomic.max(height, load_relaxed(queue, place), int32(depth))
        front = tail
    return int32(n)


@cuda.jit
def hybrid_async(
    waves, cycle, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess,
    height, level, queue, control, tally,
):  # fmt: skip
    """As `flow.kernels.lock_free.hybrid`, while block 0 searches from the sink, `waves` times.

    Paper: [LU11 sec.4.5], its end, and the first sentence of [LU11 sec.4.6]; how the search and the
    relabels share a height is not said.
    Launch: a thread a node, and a block more.  Reads/Writes: everything of the module's table.
    Race: see `wave`.
    """
    if cuda.blockIdx.x == 0:
        for _ in range(waves):
            levels = wave(
                n, first, head, mate, offset, residual, to_sink, height, level, queue, control
            )
            if cuda.threadIdx.x == 0:
                control[STEPS] += levels
                control[WAVES] += 1
            cuda.syncthreads()
        return
    x = cuda.grid(1) - cuda.blockDim.x
    if x >= n:
        return
    pushes, relabels = int32(0), int32(0)
    for _ in range(cycle):
        p, r = operate_some(
            1, x, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess,
            height, True,
        )  # fmt: skip
        pushes += p
        relabels += r
    report(pushes, relabels, tally)


_CALL = f"int32, int32, {ARCS}, {FLOW}"
SIGNATURES = {
    relabel_nodes: f"void(int32, int32, int32, {_CALL}, int32[::1], int32[::1], int64[::1])",
    hybrid_async: (f"void(int32, int32, {_CALL}, int32[::1], int32[::1], int32[::1], int64[::1])"),
}
"""The types that each kernel is compiled for."""
