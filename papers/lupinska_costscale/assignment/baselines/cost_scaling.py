"""Sequential cost scaling on one core, compiled by Numba: `reference` at speed.

The three versions of refine, price updates and arc fixing as `reference` has them, with a stack of
active nodes, each discharged until it has no excess left. `price_update` serves the GPU's host
loop too [LU11 sec.5.5].
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit

from papers.common.model import Assignment, Solver
from papers.lupinska_costscale.assignment.costs import Costs, answer, read
from papers.lupinska_costscale.assignment.reference import ALPHA, FIXED, VERSIONS, relabel_bound

COUNTERS = ("refines", "pushes", "relabels", "price_updates", "arcs_fixed")
_REFINES, _PUSHES, _RELABELS, _UPDATES, _FIXED = range(len(COUNTERS))
_FAR = np.int64(2**62)


@dataclass
class State:
    """A problem on its way through the three stages.

    Attributes
    ----------
    costs : Costs
    version : str
    alpha : int
    price_updates, arc_fixing : bool
    flow, price, excess : int32[M], int64[2 N], int32[2 N]
    counters : int64[5]
        In the order of `COUNTERS`.
    solved : bool
    """

    costs: Costs
    version: str
    alpha: int
    price_updates: bool
    arc_fixing: bool
    flow: np.ndarray = field(init=False)
    price: np.ndarray = field(init=False)
    excess: np.ndarray = field(init=False)
    counters: np.ndarray = field(init=False)
    solved: bool = False

    def __post_init__(self) -> None:
        nodes = 2 * self.costs.n
        self.flow = np.empty(self.costs.cost.size, np.int32)
        self.price, self.excess = np.empty(nodes, np.int64), np.empty(nodes, np.int32)
        self.counters = np.zeros(len(COUNTERS), np.int64)

    @property
    def problem(self) -> Any:
        """The caller's problem."""
        return self.costs.problem


def upload(
    cost: Any,
    maximize: bool = False,
    version: str = "5.2",
    alpha: int = ALPHA,
    price_updates: bool = True,
    arc_fixing: bool = True,
) -> State:
    """Check the input and allocate.

    Parameters
    ----------
    cost : array_like[n, m] or scipy.sparse[n, m]
        See `costs.read`.
    maximize : bool
    version : {"5.0", "5.1", "5.2"}
    alpha : int
        The number, at least 2, that eps is divided by.
    price_updates : bool
        Update prices whenever |V| relabels have been made.
    arc_fixing : bool
        Fix arcs after each refine.

    Raises
    ------
    ValueError
        Bad costs or a bad option.
    """
    if version not in VERSIONS:
        raise ValueError(f"version={version!r} is not one of {', '.join(VERSIONS)}")
    check_options(alpha, price_updates=price_updates, arc_fixing=arc_fixing)
    return State(read(cost, maximize), version, int(alpha), price_updates, arc_fixing)


def check_options(alpha: Any, **switches: Any) -> None:
    """Refuse an `alpha` below 2 and switches that are not booleans.

    Raises
    ------
    ValueError
    """
    if not isinstance(alpha, (int, np.integer)) or isinstance(alpha, bool) or alpha < 2:
        raise ValueError(f"alpha={alpha!r} is no whole number from 2 on")
    for name, value in switches.items():
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name}={value!r} is neither True nor False")


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Refine until eps is below 1/n [LU11 Alg.5.0]; may be called again on the same state.

    Raises
    ------
    RuntimeError
        If a refine exceeds its bound, or an active node has no operation [LU11 Lemma 5.1].
    """
    costs = state.costs
    state.solved = False
    state.counters[:] = 0
    if costs.n:
        version = VERSIONS.index(state.version)
        bound = relabel_bound(2 * costs.n, state.alpha)
        lists = costs.n, costs.first, costs.head.copy(), costs.arc.copy()
        arcs = costs.tail, costs.tip, costs.cost
        options = version, state.alpha, state.price_updates, state.arc_fixing
        start = max(costs.largest, 2)
        arrays = state.flow, state.price, state.excess, state.counters
        wrong = _min_cost(*lists, *arcs, start, *options, bound, *arrays)
        if wrong:
            raise RuntimeError(("", f"refine exceeded {bound} relabels",
                                "an active node has no residual arc")[wrong])  # fmt: skip
    state.solved = True


def download(state: State) -> Assignment:
    """Return the assignment with exact duals.

    Raises
    ------
    RuntimeError
        If no run has ended.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    named = dict(zip(COUNTERS, state.counters.tolist(), strict=True))
    return answer(state.costs, state.flow, state.price, named)


def solve(cost: Any, maximize: bool = False, **options: Any) -> Assignment:
    """Solve an assignment problem on one core; options as `upload`'s.

    Raises
    ------
    ValueError, RuntimeError
        From the three stages.
    """
    state = upload(cost, maximize, **options)
    run(state)
    return download(state)


# ------------------------------------------------------------------------------- the algorithm


@njit(cache=True, nogil=True)
def _min_cost(
    n, first, head, arc, tail, tip, cost, start, version, alpha, updates, fixing, bound, flow,
    price, excess, counters,
):  # fmt: skip
    """[LU11 Alg.5.0]: 0, or what went wrong (1: bound, 2: no residual arc)."""
    flow[:] = 0
    price[:] = 0
    last = first[1:].copy()  # the ends of the lists, which arc fixing shortens
    eps = start
    while eps > 1:
        eps = -(-eps // alpha)
        counters[_REFINES] += 1
        if version == 0:
            _saturate(n, tail, tip, cost, flow, price, excess)
        else:
            below = eps if version == 2 else 0
            _start_empty(n, first, last, head, arc, cost, below, flow, price, excess)
        wrong = _refine(
            n, first, last, head, arc, cost, eps, version, updates, bound, flow, price, excess,
            counters,
        )  # fmt: skip
        if wrong:
            return wrong
        if fixing and eps > 1:
            counters[_FIXED] += fix_arcs(n, first, last, head, arc, cost, 4 * n * eps, flow, price)
    return 0


@njit(cache=True, nogil=True)
def _saturate(n, tail, tip, cost, flow, price, excess):
    """[LU11 Alg.5.0] 2-4: fill or empty every arc against its reduced cost."""
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
def _start_empty(n, first, last, head, arc, cost, below, flow, price, excess):
    """[LU11 Alg.5.2] 3-6: no flow, and the least reduced cost of each x at -below."""
    excess[:n] = 1
    excess[n:] = -1
    for x in range(n):
        least = _FAR
        for k in range(first[x], last[x]):
            flow[arc[k]] = 0
            least = min(least, cost[arc[k]] - price[head[k]])
        price[x] = -least - below


@njit(cache=True, nogil=True)
def _refine(
    n, first, last, head, arc, cost, eps, version, updates, bound, flow, price, excess, counters
):
    """Discharge active nodes, the last that became active first, until there is none."""
    stack = np.empty(2 * n, np.int32)
    size = 0
    for v in range(2 * n):
        if excess[v] > 0:
            stack[size] = v
            size += 1
    most = counters[_RELABELS] + bound
    since = 0
    while size:
        size -= 1
        v = stack[size]
        while excess[v] > 0:
            k, least = _least_arc(v, n, first, last, head, arc, cost, flow, price)
            if k < 0:
                return 2
            reduced = least + price[v]
            # [LU11 Alg.5.1]: twice the reduced cost against eps, in whole numbers
            limit = 0 if version != 1 else (eps if v < n else -eps)
            if 2 * reduced < limit:
                w = head[k]
                flow[arc[k]] = 1 if v < n else 0
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
            return 1
        if updates and since >= 2 * n:
            if not price_update(n, first, last, head, arc, cost, eps, flow, price, excess):
                return 2
            counters[_UPDATES] += 1
            since = 0
    return 0


@njit(cache=True, nogil=True)
def _least_arc(v, n, first, last, head, arc, cost, flow, price):
    """Place and partially reduced cost of v's cheapest residual arc; -1 if there is none."""
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
def price_update(n, first, last, head, arc, cost, eps, flow, price, excess):
    """Lower prices by eps times the distance to a lack [LU11 Alg.5.3]; False: no way to one.

    A heap takes the place of Dial's buckets: early on, distances are as long as costs over eps.

    Parameters
    ----------
    n, first, last, head, arc, cost
        The network; node v's arcs are at ``first[v] .. last[v] - 1``.
    eps : int
    flow : int32[M]
    price : int64[2 N]
        Changed, unless no node is active.
    excess : int32[2 N]
    """
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
def fix_arcs(n, first, last, head, arc, cost, limit, flow, price):
    """Drop the empty arcs with a reduced cost above `limit` from both lists [LU11 sec.5.2]."""
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


SOLVERS = {
    "cost_scaling": Solver(
        name="cost_scaling",
        title="cost scaling, one core [LU11 Alg.5.2]",
        device="cpu",
        problem="assignment",
        upload=upload,
        run=run,
        download=download,
        limits=dict.fromkeys(("wide integers", "wide floats"), "overflow|orders of magnitude"),
    )
}
