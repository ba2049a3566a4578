"""Hong's lock-free push-relabel [LU11 sec.4.4] and its hybrid form with CYCLE [LU11 sec.4.5].

======================  ==================  =====================================================
paper                   array               dtype, shape
======================  ==================  =====================================================
V without s and t       n                   int32: nodes that threads operate
number of nodes V       nodes               int32: height of the source
E                       first, head, mate   int32 [n + 1], [arcs], [arcs]: a network's rows
E of a grid             offset              int64 [4 or 8]: steps to the neighbours; [1]: a network
u_f between nodes       residual            T [arcs]; of a grid direction by direction
u_f(x, s)               to_source           T [n]
u_f(x, t)               to_sink             T [n]
e                       excess              int64 [n + 2]; e(s) and e(t) are the last two
h                       height              int32 [n]; h(s) = nodes, h(t) = 0 are not stored
pushes, relabels        tally               int64 [2]
======================  ==================  =====================================================

Arc k of node x is ``first[x] + k`` of a network and ``k * n + x`` of a grid, where its mate is the
neighbour's arc ``k ^ 1``. T is int32 where the two capacities of every pair fit together, else
int64. Arcs to the terminals stand apart from the others, as the paper's ``toSourceOrSink``
[LU11 sec.4.6].

**What the races cannot spoil.** Only thread x lowers e(x) and u_f(x, .), and only it writes h(x):
others add. So what x has read of them is there to take when it takes it; no excess and no residual
capacity is ever negative, and h(x) never falls. A push adds to u_f(y, x) first and to e(y) then,
with a fence between; y reads e(y) with acquire order first: with the excess it sees the arc that
brought it, so an active node has a residual arc.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_acquire, load_relaxed, store_relaxed

NOWHERE = 2**31 - 1
"""Above all heights."""

IDLE, PUSHED, RELABELED = 0, 1, 2
"""The outcome of one operation."""

TO_SINK, TO_SOURCE = -1, -2
"""Instead of the number of an arc."""

PUSHES, RELABELS = 0, 1
"""Indices into ``tally``."""


# ---------------------------------------------------------------------------------- arcs


@cuda.jit(device=True)
def degree(x, first, offset):
    """Number of arcs of node x, those to the terminals not counted."""
    if offset.size > 1:
        return int32(offset.size)
    return int32(first[x + 1] - first[x])


@cuda.jit(device=True)
def arc_of(x, k, n, first, offset):
    """Index of arc k of node x."""
    if offset.size > 1:
        return int64(k) * n + x
    return int64(first[x]) + k


@cuda.jit(device=True)
def end_of(x, k, arc, head, offset):
    """Node that arc k of node x, whose index is `arc`, leads to."""
    if offset.size > 1:
        return int64(x) + offset[k]
    return int64(head[arc])


@cuda.jit(device=True)
def mate_of(k, arc, end, n, mate, offset):
    """Index of the arc back from `end`."""
    if offset.size > 1:
        return int64(k ^ 1) * n + end
    return int64(mate[arc])


# ---------------------------------------------------------------------------------- operations


@cuda.jit(device=True)
def push(
    x, k, amount, n, first, head, mate, offset, residual, to_source, to_sink, excess
):  # fmt: skip
    """Push what fits of `amount` along arc k of x.

    Paper: [LU11 Alg.4.5], lines 11 to 15.
    """
    if k == TO_SINK:
        amount = min(amount, int64(load_relaxed(to_sink, x)))
        cuda.atomic.sub(to_sink, x, amount)
        end = int64(n) + 1
    elif k == TO_SOURCE:
        amount = min(amount, int64(load_relaxed(to_source, x)))
        cuda.atomic.sub(to_source, x, amount)
        end = int64(n)
    else:
        arc = arc_of(x, k, n, first, offset)
        end = end_of(x, k, arc, head, offset)
        amount = min(amount, int64(load_relaxed(residual, arc)))
        cuda.atomic.sub(residual, arc, amount)
        cuda.atomic.add(residual, mate_of(k, arc, end, n, mate, offset), amount)
    cuda.atomic.sub(excess, x, amount)
    cuda.threadfence()
    cuda.atomic.add(excess, end, amount)


@cuda.jit(device=True)
def operate(
    x, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess, height, shared
):  # fmt: skip
    """Push from x to its lowest neighbour, or lift x just above it.

    Paper: [LU11 Alg.4.5], lines 3 to 17, the same as [LU11 Alg.4.8], lines 4 to 18. The search for
    the lowest neighbour starts from h~ = infinity, which the paper does not say.
    Race: see the module. Heights may be lifted while they are read: the flow then goes to a
    neighbour that is no longer the lowest, or h(x) becomes less than it could. Where others lift x
    too (`shared`), the higher of both heights stays.

    Returns
    -------
    int32
        `PUSHED`, `RELABELED`, or `IDLE` if x is not active or has no residual arc.
    """
    amount = load_acquire(excess, x)
    if amount <= 0:
        return int32(IDLE)
    lowest = int32(NOWHERE)
    chosen = int32(0)
    if load_relaxed(to_sink, x) > 0:
        lowest = int32(0)
        chosen = int32(TO_SINK)
    if lowest > 0:
        for k in range(degree(x, first, offset)):
            arc = arc_of(x, k, n, first, offset)
            if load_relaxed(residual, arc) > 0:
                other = load_relaxed(height, end_of(x, k, arc, head, offset))
                if lowest > other:
                    lowest = other
                    chosen = int32(k)
    if lowest > nodes and load_relaxed(to_source, x) > 0:
        lowest = int32(nodes)
        chosen = int32(TO_SOURCE)
    if lowest == NOWHERE:
        return int32(IDLE)
    if load_relaxed(height, x) > lowest:
        push(
            x, chosen, amount, n, first, head, mate, offset, residual, to_source, to_sink, excess
        )  # fmt: skip
        return int32(PUSHED)
    if shared:
        cuda.atomic.max(height, x, int32(lowest + 1))
    else:
        store_relaxed(height, x, int32(lowest + 1))
    return int32(RELABELED)


@cuda.jit(device=True)
def report(pushes, relabels, tally):
    """Add what a thread has done to the totals."""
    if pushes > 0:
        cuda.atomic.add(tally, PUSHES, int64(pushes))
    if relabels > 0:
        cuda.atomic.add(tally, RELABELS, int64(relabels))


@cuda.jit(device=True)
def report_block(pushes, relabels, counts, tally):
    """As `report`, one atomic a block; all its threads call it.

    Parameters
    ----------
    counts : shared int32[2 or more]
        Scratch.
    """
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        counts[PUSHES] = 0
        counts[RELABELS] = 0
    cuda.syncthreads()
    if pushes > 0:
        cuda.atomic.add(counts, PUSHES, int32(pushes))
    if relabels > 0:
        cuda.atomic.add(counts, RELABELS, int32(relabels))
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        report(counts[PUSHES], counts[RELABELS], tally)


# ---------------------------------------------------------------------------------- kernels


@cuda.jit
def restore(
    n, capacity, source, sink, residual, to_source, to_sink, excess, height, tally
):  # fmt: skip
    """Begin a run: every arc from the source is saturated, all heights are 0.

    Paper: [LU11 Alg.4.1] [LU11 Alg.4.7]; 4.1 prints ``f(x, y) <- 1`` and ``h(x) <- 1``, which are
    no preflow and no distance: meant are the 0 of 4.5 and 4.7.
    Launch: any grid, grid-stride over arcs and nodes.  Reads/Writes: copies the capacities, once
    each. No race.
    """
    for arc in range(cuda.grid(1), capacity.size, cuda.gridsize(1)):
        residual[arc] = capacity[arc]
    for x in range(cuda.grid(1), n, cuda.gridsize(1)):
        to_source[x] = source[x]
        to_sink[x] = sink[x]
        excess[x] = source[x]
        height[x] = 0
    if cuda.grid(1) == 0:
        for word in range(2):
            excess[int64(n) + word] = 0
            tally[word] = 0


@cuda.jit
def lock_free(
    budget, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess, height, tally
):  # fmt: skip
    """Every thread operates its node as long as it is active.

    Paper: [LU11 Alg.4.5].  Launch: one thread a node.
    Reads/Writes: everything of the module's table; `budget` bounds a thread's operations, so that
    a launch ends. A node that becomes active after its thread has gone is the next launch's.
    Race: see the module.
    """
    x = cuda.grid(1)
    if x >= n:
        return
    pushes = int32(0)
    relabels = int32(0)
    for _ in range(budget):
        if load_relaxed(excess, x) <= 0:
            break
        done = operate(
            x, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess, height,
            False,
        )  # fmt: skip
        if done == PUSHED:
            pushes += 1
        elif done == RELABELED:
            relabels += 1
    report(pushes, relabels, tally)


@cuda.jit
def hybrid(
    cycle, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess, height, tally
):  # fmt: skip
    """Every thread operates its node CYCLE times, whenever it is active and below the source.

    Paper: [LU11 Alg.4.8], the kernel of [LU11 Alg.4.6], line 3.  Launch: one thread a node.
    Reads/Writes: everything of the module's table. The print lowers CYCLE in the branch of RELABEL
    or in every turn; here it is every turn, or a thread whose node is idle would stay for ever.
    Race: see the module. A thread may stop with h(x) > h(y) + 1 on a residual arc: the host
    cancels such arcs before it relabels.
    """
    x = cuda.grid(1)
    if x >= n:
        return
    pushes = int32(0)
    relabels = int32(0)
    for _ in range(cycle):
        if load_relaxed(excess, x) > 0 and load_relaxed(height, x) < nodes:
            done = operate(
                x, n, nodes, first, head, mate, offset, residual, to_source, to_sink, excess,
                height, False,
            )  # fmt: skip
            if done == PUSHED:
                pushes += 1
            elif done == RELABELED:
                relabels += 1
    report(pushes, relabels, tally)


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64")
"""The types of residual capacities."""

ARCS = ", ".join(["int32[::1]"] * 3 + ["int64[::1]"])
FLOW = "T[::1], T[::1], T[::1], int64[::1], int32[::1]"
SIGNATURES = {
    restore: f"void(int32, T[::1], T[::1], T[::1], {FLOW}, int64[::1])",
    lock_free: f"void(int32, int32, int32, {ARCS}, {FLOW}, int64[::1])",
    hybrid: f"void(int32, int32, int32, {ARCS}, {FLOW}, int64[::1])",
}
"""The types that each kernel is compiled for."""
