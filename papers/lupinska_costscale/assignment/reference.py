"""The paper's sequential cost scaling, step by step in plain Python [LU11 sec.5].

Three versions of refine share one loop. They differ in what is residual at the start, in what is
admissible and in how far a relabel goes:

==========  ==========================  ===========================  ============================
version     at the start                admissible                   new price of v
==========  ==========================  ===========================  ============================
``"5.0"``   flow kept, arcs with        c_p < 0                      max p(w) - c(v, w) - eps
            c_p < 0 saturated
``"5.1"``   flow 0, p(x) so that the    c_p < eps/2 from an x,       x: max p(w) - c(v, w);
            least c_p is 0              c_p < -eps/2 from a y        y: max p(w) - c(v, w) - eps
``"5.2"``   flow 0, p(x) so that the    c_p < 0                      max p(w) - c(v, w) - eps
            least c_p is -eps
==========  ==========================  ===========================  ============================

Everything is a whole number: `papers.lupinska_costscale.assignment.costs` multiplies costs by n +
1, so that the last eps, below 1/n of the paper, is 1. Two misprints are mended: an arc of flow 1
with a reduced cost above 0 is emptied in 5.0 (its reverse is what is below 0), and labels add up
along a path in 5.3.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.model import Assignment
from papers.lupinska_costscale.assignment.costs import Costs, answer, read

VERSIONS = ("5.0", "5.1", "5.2")
ALPHA = 10
"""[LU11 sec.5.5]: the value that was found best."""

FIXED = -10
"""Flow of an arc that was fixed: "any negative constant would do" [LU11 sec.5.5]."""

INFINITY = math.inf


@dataclass
class Run:
    """A run's variables, as the paper names them.

    Attributes
    ----------
    costs : Costs
    version : {"5.0", "5.1", "5.2"}
    f : list of int
        Flow of each arc, 0 or 1, or `FIXED`.
    p, e : list of int
        Price and excess of each node: the x first, then the y.
    eps : int
        Scaled by n + 1.
    count : Counter
        ``refines``, ``pushes``, ``relabels``, ``price_updates``, ``arcs_fixed``.
    watch : callable(Run, str, int) or None
        Called after each operation with its name and its node.
    """

    costs: Costs
    version: str
    f: list[int] = field(default_factory=list)
    p: list[int] = field(default_factory=list)
    e: list[int] = field(default_factory=list)
    eps: int = 0
    count: Counter = field(default_factory=Counter)
    watch: Callable[[Run, str, int], None] | None = None

    @property
    def nodes(self) -> int:
        """|V| = 2 N."""
        return 2 * self.costs.n

    def residual(self, v: int) -> Iterator[tuple[int, int, int]]:
        """The residual arcs (number, other end, cost) that leave node v."""
        c = self.costs
        forward = v < c.n
        for k in range(c.first[v], c.first[v + 1]):
            a = int(c.arc[k])
            if self.f[a] == (0 if forward else 1):
                yield a, int(c.head[k]), int(c.cost[a]) if forward else -int(c.cost[a])

    def entering(self, v: int) -> Iterator[tuple[int, int]]:
        """The other end and the reduced cost of each residual arc that enters node v."""
        c = self.costs
        for k in range(c.first[v], c.first[v + 1]):
            a, w = int(c.arc[k]), int(c.head[k])
            if self.f[a] == (1 if v < c.n else 0):
                cost = -int(c.cost[a]) if v < c.n else int(c.cost[a])
                yield w, cost + self.p[w] - self.p[v]


def min_cost(run: Run, alpha: int = ALPHA, price_updates: bool = False, arc_fixing: bool = False):
    """Refine until eps is below 1/n [LU11 Alg.5.0].

    The first eps is C, or 2 if that is less: one refine there must be.
    """
    costs = run.costs
    run.f, run.p = [0] * costs.cost.size, [0] * run.nodes
    run.eps = max(costs.largest, 2)
    while run.eps > 1:
        refine(run, alpha, price_updates)
        if arc_fixing and run.eps > 1:
            fix_arcs(run)


def refine(run: Run, alpha: int, price_updates: bool = False) -> None:
    """Make a run's pseudoflow an eps-optimal flow, eps divided by alpha [LU11 Alg.5.2].

    Raises
    ------
    RuntimeError
        If the operations exceed their bound.
    """
    run.eps = -(-run.eps // alpha)
    run.count["refines"] += 1
    {"5.0": saturate, "5.1": start_5_1, "5.2": start_5_2}[run.version](run)
    bound = relabel_bound(run.nodes, alpha) + run.count["relabels"]
    since = 0
    while active := [v for v in range(run.nodes) if run.e[v] > 0]:
        for v in active:
            relabeled = discharge(run, v)
            since += relabeled
        if run.count["relabels"] > bound:
            raise RuntimeError(f"refine exceeded {bound} relabels")
        if price_updates and since >= run.nodes:
            update_prices(run)
            since = 0


def relabel_bound(nodes: int, alpha: int) -> int:
    """Relabels that a refine cannot exceed: 4 n (alpha + 2) a node.

    Along a residual path from an active node to one that lacks a unit, the old flow reversed, at
    most n - 1 arcs each allow the price to fall by the old eps and the new one; a relabel lowers
    it by half a new eps at least. The rest is slack for the prices that the start has raised.
    """
    return 4 * nodes * nodes * (alpha + 2)


def _balance(run: Run) -> None:
    """Excesses of the flow: e(x) = 1 and e(y) = -1 where it is 0 [LU11 sec.5]."""
    costs = run.costs
    run.e = [1] * costs.n + [-1] * costs.n
    for a in np.flatnonzero(np.asarray(run.f) == 1):
        run.e[costs.tail[a]] -= 1
        run.e[costs.n + costs.tip[a]] += 1


def saturate(run: Run) -> None:
    """Empty or fill every arc against its reduced cost [LU11 Alg.5.0] 2-4."""
    costs = run.costs
    for a, (x, y) in enumerate(zip(costs.tail, costs.tip, strict=True)):
        reduced = int(costs.cost[a]) + run.p[x] - run.p[costs.n + y]
        if run.f[a] != FIXED and reduced:
            run.f[a] = int(reduced < 0)
    _balance(run)


def start_5_1(run: Run) -> None:
    """No flow, and prices of the x that make the least reduced cost 0 [LU11 Alg.5.1]."""
    _start_empty(run, 0)


def start_5_2(run: Run) -> None:
    """No flow, and prices of the x that make the least reduced cost -eps [LU11 Alg.5.2]."""
    _start_empty(run, run.eps)


def _start_empty(run: Run, below: int) -> None:
    run.f = [FIXED if flow == FIXED else 0 for flow in run.f]
    _balance(run)
    for x in range(run.costs.n):
        run.p[x] = -min(c - run.p[w] for _, w, c in run.residual(x)) - below


def discharge(run: Run, v: int) -> int:
    """One push or one relabel at an active node; 1 for a relabel [LU11 Alg.5.0].

    Raises
    ------
    RuntimeError
        If neither applies, against [LU11 Lemma 5.1].
    """
    arcs = list(run.residual(v))
    if not arcs:
        raise RuntimeError(f"active node {v} has no residual arc")
    a, w, c = min(arcs, key=lambda arc: arc[2] - run.p[arc[1]])
    if admissible(run, v, c + run.p[v] - run.p[w]):
        push(run, v, w, a)
        return 0
    relabel(run, v, c - run.p[w])
    return 1


def admissible(run: Run, v: int, reduced: int) -> bool:
    """Whether flow may leave v along an arc of this reduced cost."""
    if run.version != "5.1":
        return reduced < 0
    return 2 * reduced < (run.eps if v < run.costs.n else -run.eps)


def push(run: Run, v: int, w: int, a: int) -> None:
    """Send a unit from v to w along arc a [LU11 Alg.5.0]."""
    run.f[a] = 1 - run.f[a]
    run.e[v] -= 1
    run.e[w] += 1
    run.count["pushes"] += 1
    if run.watch:
        run.watch(run, "push", v)


def relabel(run: Run, v: int, least: int) -> None:
    """Lower v's price; `least` is the least c(v, w) - p(w) [LU11 Alg.5.1] [LU11 Alg.5.2]."""
    run.p[v] = -least - (0 if run.version == "5.1" and v < run.costs.n else run.eps)
    run.count["relabels"] += 1
    if run.watch:
        run.watch(run, "relabel", v)


def update_prices(run: Run) -> None:
    """Lower every price by eps times the node's distance from a lack [LU11 Alg.5.3].

    Dial's buckets: B[i] holds the unscanned nodes at distance i, an arc being as long as its
    reduced cost, in units of eps, allows (``floor(c_p / eps) + 1``, at least 0).
    """
    run.count["price_updates"] += 1
    buckets: dict[int, set[int]] = {0: {v for v in range(run.nodes) if run.e[v] < 0}}
    bucket: list[float] = [0 if e < 0 else INFINITY for e in run.e]
    label: list[float] = [INFINITY] * run.nodes
    waiting = {v for v in range(run.nodes) if run.e[v] > 0}
    i = last = 0
    while waiting:
        if not buckets:
            raise RuntimeError("an active node has no residual path to a lack")
        i = min(buckets)
        while buckets.get(i):
            x = buckets[i].pop()
            label[x] = last = i
            waiting.discard(x)
            for y, reduced in run.entering(x):
                new = i + max(reduced // run.eps + 1, 0)
                if label[y] == INFINITY and new < bucket[y]:
                    buckets.get(bucket[y], set()).discard(y)  # type: ignore[call-overload]
                    buckets.setdefault(new, set()).add(y)
                    bucket[y] = new
        del buckets[i]
    if any(e > 0 for e in run.e):
        for v in range(run.nodes):
            run.p[v] -= run.eps * int(min(label[v], last + 1))


def fix_arcs(run: Run) -> int:
    """Delete the empty arcs with c_p > 2 n eps; return how many [LU11 sec.5.2].

    Their flow is the same in every eps-optimal flow, of this eps and of smaller ones. The run's
    flow must be an eps-optimal flow, no pseudoflow.
    """
    costs, fixed = run.costs, 0
    for a, (x, y) in enumerate(zip(costs.tail, costs.tip, strict=True)):
        reduced = int(costs.cost[a]) + run.p[x] - run.p[costs.n + y]
        if run.f[a] == 0 and reduced > 2 * run.nodes * run.eps:
            run.f[a] = FIXED
            fixed += 1
    run.count["arcs_fixed"] += fixed
    return fixed


def solve(
    cost: Any,
    maximize: bool = False,
    version: str = "5.2",
    alpha: int = ALPHA,
    price_updates: bool = False,
    arc_fixing: bool = False,
    watch: Callable[[Run, str, int], None] | None = None,
) -> Assignment:
    """Solve an assignment problem by sequential cost scaling, for reading and as the oracle.

    Parameters
    ----------
    cost : array_like[n, m] or scipy.sparse[n, m]
    maximize : bool
    version : {"5.0", "5.1", "5.2"}
    alpha : int
        At least 2.
    price_updates : bool
        Update prices whenever |V| relabels have been made.
    arc_fixing : bool
        Fix arcs after each refine.
    watch : callable, optional
        See `Run`.

    Returns
    -------
    Assignment

    Raises
    ------
    ValueError
        From `costs.read`, or a bad option.
    """
    if version not in VERSIONS:
        raise ValueError(f"version={version!r} is not one of {', '.join(VERSIONS)}")
    if not isinstance(alpha, int) or alpha < 2:
        raise ValueError(f"alpha={alpha!r} is no whole number from 2 on")
    run = Run(read(cost, maximize), version, watch=watch)
    if run.costs.n:
        min_cost(run, alpha, price_updates, arc_fixing)
    names = ("refines", "pushes", "relabels", "price_updates", "arcs_fixed")
    flow, price = np.array(run.f, np.int64), np.array(run.p, np.int64)
    return answer(run.costs, flow, price, {name: run.count[name] for name in names})
