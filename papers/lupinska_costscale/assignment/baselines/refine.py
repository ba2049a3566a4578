"""The compiled loops of `cost_scaling`: refine in its three versions, price updates, arc fixing.

Arrays come in the named tuples of `assignment.kernels.arguments`, with the dtypes and shapes that
are stated there. `price_update` serves the GPU's host loop too [LU11 sec.5.5].
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numba import njit

from papers.lupinska_costscale.assignment.reference import FIXED

COUNTERS = ("refines", "pushes", "relabels", "price_updates", "arcs_fixed")
_REFINES, _PUSHES, _RELABELS, _UPDATES, _FIXED = range(len(COUNTERS))
_FAR = np.int64(2**62)


class Ends(NamedTuple):
    """The nodes of all arcs.

    Attributes
    ----------
    tail, tip : int32[M]
        Arc a leads from the x of number tail[a] to the y of number tip[a].
    """

    tail: np.ndarray
    tip: np.ndarray


class Place(NamedTuple):
    """The place that a run has reached, from which it can go on.

    Attributes
    ----------
    marks : int64[4]
        eps; 1 within a refine; the number of active nodes on the stack; relabels since the last
        price update.
    most : int64[1]
        The number of relabels at which the refine exceeds its bound.
    stack : int32[2 N]
        Active nodes.
    """

    marks: np.ndarray
    most: np.ndarray
    stack: np.ndarray

    @classmethod
    def start(cls, n: int, largest: int) -> Place:
        """Before the first refine, whose eps falls from `largest`."""
        marks = np.array([largest, 0, 0, 0], np.int64)
        return cls(marks, np.zeros(1, np.int64), np.empty(2 * n, np.int32))


_EPS, _WITHIN, _SIZE, _SINCE = range(4)

EXCEEDED, STUCK, GOING = 1, 2, 3
"""The values of `min_cost` besides 0."""


class Method(NamedTuple):
    """A version of refine, and its heuristics.

    Attributes
    ----------
    version : int
        The index into `reference.VERSIONS`.
    alpha : int
        ALPHA: the number that eps is divided by.
    updates, fixing : bool
        Whether prices are updated and arcs are fixed.
    """

    version: int
    alpha: int
    updates: bool
    fixing: bool


@njit(cache=True, nogil=True)
def min_cost(n, lists, ends, arcs, vertices, place, method, bound, stop, counters):
    """Refine until eps is below 1/n [LU11 Alg.5.0].

    Parameters
    ----------
    n : int
        Nodes a side.
    lists : Lists
        Of the whole graph; arc fixing shortens them.
    ends : Ends
    arcs : Arcs
        The flow is none before the first call.
    vertices : Vertices
        Prices are 0 before the first call; excesses are set by each refine.
    place : Place
        As an earlier call has left it.
    method : Method
    bound : int
        Relabels that a refine may take.
    stop : int
        Pushes and relabels, counted from the beginning, after which it returns.
    counters : int64[5]
        Raised, in the order of `COUNTERS`.

    Returns
    -------
    int
        0, or `GOING` behind `stop`; `EXCEEDED` where a refine exceeded its bound, `STUCK` where an
        active node had no residual arc.
    """
    marks = place.marks
    while marks[_WITHIN] == 1 or marks[_EPS] > 1:
        if marks[_WITHIN] == 0:
            marks[_EPS] = -(-marks[_EPS] // method.alpha)
            counters[_REFINES] += 1
            if method.version == 0:
                _saturate(n, ends, arcs, vertices)
            else:
                below = marks[_EPS] if method.version == 2 else 0
                _start_empty(n, lists, arcs, vertices, below)
            _begin(n, vertices.excess, place, counters[_RELABELS] + bound)
        eps = marks[_EPS]
        wrong = _refine(n, lists, arcs, vertices, eps, method, place, stop, counters)
        if wrong:
            return wrong
        marks[_WITHIN] = 0
        if method.fixing and eps > 1:
            counters[_FIXED] += fix_arcs(n, lists, arcs, vertices.price, 4 * n * eps)
    return 0


@njit(cache=True, nogil=True)
def _begin(n, excess, place, most):
    """Put the active nodes on the stack."""
    size = 0
    for v in range(2 * n):
        if excess[v] > 0:
            place.stack[size] = v
            size += 1
    place.marks[_WITHIN], place.marks[_SIZE], place.marks[_SINCE] = 1, size, 0
    place.most[0] = most


@njit(cache=True, nogil=True)
def _saturate(n, ends, arcs, vertices):
    """[LU11 Alg.5.0] 2-4: fill or empty every arc against its reduced cost."""
    tail, tip = ends
    cost, flow = arcs
    price, excess = vertices
    excess[:n] = 1
    excess[n:] = -1
    for a in range(tail.size):
        reduced = cost[a] + price[tail[a]] - price[n + tip[a]]
        if flow[a] >= 0 and reduced != 0:
            flow[a] = 1 if reduced < 0 else 0
        if flow[a] == 1:
            excess[tail[a]] -= 1
            excess[n + tip[a]] += 1


@njit(cache=True, nogil=True)
def _start_empty(n, lists, arcs, vertices, below):
    """[LU11 Alg.5.2] 3-6: no flow, and the least reduced cost of each x at -below."""
    first, last, head, arc = lists
    cost, flow = arcs
    price, excess = vertices
    excess[:n] = 1
    excess[n:] = -1
    for x in range(n):
        least = _FAR
        for k in range(first[x], last[x]):
            flow[arc[k]] = 0
            least = min(least, cost[arc[k]] - price[head[k]])
        price[x] = -least - below


@njit(cache=True, nogil=True)
def _refine(n, lists, arcs, vertices, eps, method, place, stop, counters):
    """Discharge active nodes, the last that became active first, until there is none."""
    version, flow, price, excess = method.version, arcs.flow, vertices.price, vertices.excess
    stack, most = place.stack, place.most[0]
    size, since = place.marks[_SIZE], place.marks[_SINCE]
    while size:
        size -= 1
        v = stack[size]
        while excess[v] > 0:
            k, least = _least_arc(v, n, lists, arcs, price)
            if k < 0:
                return STUCK
            reduced = least + price[v]
            # [LU11 Alg.5.1]: twice the reduced cost against eps, in whole numbers
            limit = 0 if version != 1 else (eps if v < n else -eps)
            if 2 * reduced < limit:
                w = lists.head[k]
                flow[lists.arc[k]] = 1 if v < n else 0
                excess[v] -= 1
                excess[w] += 1
                counters[_PUSHES] += 1
                if excess[w] == 1:
                    stack[size] = w
                    size += 1
            else:
                price[v] = -least if version == 1 and v < n else -least - eps
                counters[_RELABELS] += 1
                since += 1
        if counters[_RELABELS] > most:
            return EXCEEDED
        if method.updates and since >= 2 * n:
            if not price_update(n, lists, arcs, vertices, eps):
                return STUCK
            counters[_UPDATES] += 1
            since = 0
        if counters[_PUSHES] + counters[_RELABELS] > stop:
            place.marks[_SIZE], place.marks[_SINCE] = size, since
            return GOING
    return 0


@njit(cache=True, nogil=True)
def _least_arc(v, n, lists, arcs, price):
    """Place and partially reduced cost of v's cheapest residual arc; -1 if there is none."""
    first, last, head, arc = lists
    cost, flow = arcs
    best, least = -1, _FAR
    wanted = 0 if v < n else 1
    for k in range(first[v], last[v]):
        a = arc[k]
        if flow[a] == wanted:
            partial = (cost[a] if v < n else -cost[a]) - price[head[k]]
            if partial < least:
                best, least = k, partial
    return best, least


@njit(cache=True, nogil=True)
def price_update(n, lists, arcs, vertices, eps):
    """Lower prices by eps times the distance to a lack [LU11 Alg.5.3]; False: no way to one.

    A heap takes the place of Dial's buckets: early on, distances are as long as costs over eps. It
    ends: a node's arcs are pushed on it once, and each turn takes one off.

    Parameters
    ----------
    n : int
        Nodes a side.
    lists : Lists
    arcs : Arcs
    vertices : Vertices
        Prices are changed, unless no node is active.
    eps : int
    """
    first, last, head, arc = lists
    cost, flow = arcs
    price, excess = vertices
    label = np.full(2 * n, _FAR)
    done = np.zeros(2 * n, np.bool_)
    waiting = 0
    heap = [(np.int64(0), np.int64(v)) for v in range(2 * n) if excess[v] < 0]
    for v in range(2 * n):
        if excess[v] < 0:
            label[v] = 0
        elif excess[v] > 0:
            waiting += 1
    if waiting == 0:
        return True
    far = np.int64(0)
    while waiting or (heap and heap[0][0] == far):
        if not heap:
            return False
        i, x = heapq.heappop(heap)
        if done[x]:
            continue
        done[x] = True
        far = i
        waiting -= excess[x] > 0
        entering = 1 if x < n else 0
        for k in range(first[x], last[x]):
            a, y = arc[k], head[k]
            if flow[a] != entering or done[y]:
                continue
            reduced = (-cost[a] if x < n else cost[a]) + price[y] - price[x]
            new = i + max(reduced // eps + 1, 0)
            if new < label[y]:
                label[y] = new
                heapq.heappush(heap, (new, np.int64(y)))
    for v in range(2 * n):
        price[v] -= eps * (label[v] if done[v] else far + 1)
    return True


@njit(cache=True, nogil=True)
def fix_arcs(n, lists, arcs, price, limit):
    """Drop the empty arcs with a reduced cost above `limit` from both lists [LU11 sec.5.2]."""
    first, last, head, arc = lists
    cost, flow = arcs
    fixed = 0
    for v in range(2 * n):
        kept = first[v]
        for k in range(first[v], last[v]):
            a, w = arc[k], head[k]
            x, y = (v, w) if v < n else (w, v)
            if flow[a] == 1 or cost[a] + price[x] - price[y] <= limit:
                arc[kept], head[kept] = a, w
                kept += 1
            else:
                flow[a] = FIXED
                fixed += v < n
        last[v] = kept
    return fixed
