"""Refine without locks [LU11 sec.5.3] and arc fixing [LU11 sec.5.5].

==========================  =============  =====================================================
paper                       array          dtype, shape
==========================  =============  =====================================================
|V| = 2 |X|                 nodes          int32; the x are 0 .. n - 1, the y are n .. 2 n - 1
adjacency lists             head, arc      int32 [2 M]; node v's are at first[v] .. last[v] - 1
c(x, y)                     cost           int64 [M], times |V| + 1
u_f(x, y), u_f(y, x)        flow           int32 [M]: u_f(x, y) = 1 - flow, u_f(y, x) = flow;
                                           `FIXED` for an arc that was fixed
p                           price          int64 [2 n]
e                           excess         int32 [2 n]
EXCESS(sink)                flags[LACKS]   |X| minus it: the y that lack their unit
CYCLE, epsilon              cycle, eps     int64
==========================  =============  =====================================================

Kernels take these arrays together, in the named tuples of `assignment.kernels.arguments`.

**One word an arc.** The two residual capacities of an arc add up to 1, so that one word holds both.
Only x writes it while it is 0, only y while it is 1: a push needs atomics for the excesses alone.

**When it is over.** Excesses add up to 0, and a y that once has its unit keeps one: no node is
active exactly when no y lacks. `LACKS` counts them down, once each; the paper's source and sink,
whose excesses tell the same, are not needed.

**Order.** A push stores the arc before it hands over the unit, with a fence between the two, and
an active node looks at its excess (acquire) before its arcs: it sees every arc that a unit has
come by. So an active node has a residual arc [LU11 Lemma 5.1]. Prices only fall [LU11 Lemma 5.2],
so that what a thread has read of another's price is too high, never too low; that is all that
overlapping operations can do to each other, two [LU11 Lemma 5.3] or more [LU11 Lemma 5.4].
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_acquire, load_relaxed, store_relaxed
from papers.lupinska_costscale.assignment.kernels.arguments import Arcs, Lists, Vertices, Whole

LACKS, STUCK, FLAGS = 0, 1, 2
"""Words of ``flags``: the y without a unit; whether an active node had no residual arc."""

PUSHES, RELABELS, ARCS_FIXED, TALLIES = 0, 1, 2, 3
"""Words of ``tally``."""

FIXED = -10
FAR = 2**62
"""Above every partially reduced cost (`costs.HEADROOM`)."""


@cuda.jit
def start(nodes, whole, last, head, arc, price, flow, flags, tally):
    """The whole residual graph again, prices 0, no flow.

    Paper: [LU11 Alg.5.0] 3-4.  Launch: grid-stride over the arcs of both lists.
    Reads/Writes: reads ``whole``; writes all others, but of ``flags`` only ``STUCK``.
    """
    thread = cuda.grid(1)
    stride = cuda.gridsize(1)
    for k in range(thread, head.size, stride):
        head[k] = whole.head[k]
        arc[k] = whole.arc[k]
    for a in range(thread, flow.size, stride):
        flow[a] = 0
    for v in range(thread, nodes, stride):
        last[v] = whole.first[v + 1]
        price[v] = 0
    if thread == 0:
        flags[STUCK] = 0
        for counter in range(TALLIES):
            tally[counter] = 0


@cuda.jit
def start_refine(nodes, eps, lists, arcs, vertices, flags):
    """No flow; the prices of the x make the least reduced cost -eps.

    Paper: [LU11 Alg.5.2] lines 3 to 6.  Launch: grid-stride over the nodes.
    Reads/Writes: an x reads its list, costs and the prices of the y; writes its flows, price and
    excess.  Race: none, a price that is written is an x's, one that is read a y's.
    """
    n = nodes >> 1
    first, last, head, arc = lists
    price, excess = vertices.price, vertices.excess
    for v in range(cuda.grid(1), nodes, cuda.gridsize(1)):
        if v == 0:
            flags[LACKS] = n
        if v >= n:
            excess[v] = -1
            continue
        least = int64(FAR)
        for k in range(first[v], last[v]):
            arcs.flow[arc[k]] = 0
            least = min(least, arcs.cost[arc[k]] - price[head[k]])
        price[v] = -(least + eps)
        excess[v] = 1


@cuda.jit(device=True)
def least_arc(v, wanted, lists, arcs, price):
    """Place and value of the least partially reduced cost c(v, y) - p(y); -1 if v has no arc.

    Lines 5 to 10 of [LU11 Alg.5.4]. `wanted` is the flow of a residual arc: 0 seen from an x, 1
    from a y, whose costs count negative.
    """
    best = int32(-1)
    least = int64(FAR)
    for k in range(lists.first[v], lists.last[v]):
        a = lists.arc[k]
        if load_relaxed(arcs.flow, a) == wanted:
            c = arcs.cost[a]
            if wanted == 1:
                c = -c
            c -= load_relaxed(price, lists.head[k])
            if c < least:
                least = c
                best = int32(k)
    return best, least


@cuda.jit(device=True)
def push(v, w, a, emptied, flow, excess, flags):
    """Send the unit: lines 13 to 16 of [LU11 Alg.5.4]. The fence is what w relies on."""
    store_relaxed(flow, a, 1 - emptied)
    cuda.atomic.add(excess, v, -1)
    cuda.threadfence()
    if cuda.atomic.add(excess, w, 1) == -1:
        cuda.atomic.add(flags, LACKS, -1)


@cuda.jit
def refine(nodes, cycle, eps, lists, arcs, vertices, flags, tally):
    """Pushes and relabels, one thread a node, until no node is active or CYCLE turns are over.

    Paper: [LU11 Alg.5.4] in the loop of [LU11 sec.5.5].  Launch: a thread a node at least; blocks
    of 32 x 16 threads in the paper (here the same 512 in a row).
    Reads/Writes: node v's thread alone lowers ``price[v]`` and takes from ``excess[v]``; flows and
    the excess of another node by `push`.
    Race: a price read may fall right after. The push it led to may then leave a reverse arc below
    -eps, whose owner has just got a unit and, if it is the least, sends it straight back
    ([LU11 Lemma 5.5], case 5). A relabel computed from an old price lowers too little, never too
    much.
    """
    v = int32(cuda.grid(1))
    if v >= nodes:
        return
    price, excess = vertices.price, vertices.excess
    wanted = int32(0)
    if v >= nodes >> 1:
        wanted = int32(1)
    pushes = 0
    relabels = 0
    for _ in range(cycle):
        if load_relaxed(flags, LACKS) == 0 or load_relaxed(flags, STUCK) != 0:
            break
        if load_acquire(excess, v) <= 0:
            cuda.nanosleep(0)  # the idle leave the issue slots to the active
            continue
        k, least = least_arc(v, wanted, lists, arcs, price)
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


@cuda.jit
def arc_fixing(nodes, limit, lists, arcs, price, tally):
    """Delete the empty arcs with a reduced cost above 2 n eps from both adjacency lists.

    Paper: [LU11 sec.5.2], [LU11 sec.5.5].  Launch: grid-stride over the nodes.
    Reads/Writes: reads prices; closes the gaps in v's list, shortens it, marks the flows.
    Race: both ends of an arc mark it, with the same value, and decide from prices that stand still;
    neither takes the other's mark for a unit of flow.
    """
    n = nodes >> 1
    first, last, head, arc = lists
    fixed = 0
    for v in range(cuda.grid(1), nodes, cuda.gridsize(1)):
        kept = first[v]
        for k in range(first[v], last[v]):
            a = arc[k]
            w = head[k]
            reduced = arcs.cost[a] + price[v] - price[w]
            if v >= n:
                reduced = arcs.cost[a] + price[w] - price[v]
            if load_relaxed(arcs.flow, a) == 1 or reduced <= limit:
                arc[kept] = a
                head[kept] = w
                kept += 1
            else:
                store_relaxed(arcs.flow, a, FIXED)
                if v < n:
                    fixed += 1
        last[v] = kept
    if fixed > 0:
        cuda.atomic.add(tally, ARCS_FIXED, fixed)


_LINE, _WIDE = "int32[::1]", "int64[::1]"
SIGNATURES = {
    start: ("int32", Whole, _LINE, _LINE, _LINE, _WIDE, _LINE, _LINE, _WIDE),
    start_refine: ("int32", "int64", Lists, Arcs, Vertices, _LINE),
    refine: ("int32", "int64", "int64", Lists, Arcs, Vertices, _LINE, _WIDE),
    arc_fixing: ("int32", "int64", Lists, Arcs, _WIDE, _WIDE),
}
"""The types that each kernel is compiled for."""
