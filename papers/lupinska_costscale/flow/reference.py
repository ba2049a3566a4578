"""Push-relabel as [LU11 sec.4.1] and [LU11 sec.4.2] print it, in plain Python: the oracle.

Functions are named after the paper's operations and do one of them at a time, on a network with its
terminals among the nodes. The paper's symbols: ``e`` is `Preflow.excess`, ``h`` is
`Preflow.height`, ``u_f`` is `Preflow.residual`, by arc of the network.

Three lines are not as printed. The source starts with its arcs saturated, as in [LU11 Alg.4.5],
and never enters the set: at height ``|V|`` it could push nowhere. Other nodes start at height 0, as
the text has it. And global relabeling lifts what it does not reach (see `global_relabel`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from papers.common.model import Flow
from papers.common.problems.network import Network
from papers.lupinska_costscale.flow.settle import settle

Step = Callable[[str, "Preflow", int], None]
"""Told after each operation: ``"push"``, ``"relabel"``, ``"global"`` or ``"gap"``, and the node."""


@dataclass
class Preflow:
    """The preflow that the operations work on.

    Attributes
    ----------
    net : Network
    residual : list of int
        Residual capacity of each arc.
    excess, height : list of int
        By node. The source's excess is what came back less what it sent.
    pushes, relabels : int
    """

    net: Network
    residual: list[int]
    excess: list[int]
    height: list[int]
    pushes: int = 0
    relabels: int = 0

    def arcs(self, x: int) -> list[int]:
        """Return the residual arcs that leave `x`."""
        first, last = int(self.net.first[x]), int(self.net.first[x + 1])
        return [a for a in range(first, last) if self.residual[a] > 0]

    def is_active(self, x: int) -> bool:
        """Whether `x` is no terminal and has excess."""
        return x not in (self.net.source, self.net.sink) and self.excess[x] > 0


def init(net: Network) -> Preflow:
    """Saturate the arcs that leave the source; Paper: [LU11 Alg.4.1]."""
    state = Preflow(net, net.capacity.tolist(), [0] * net.nodes, [0] * net.nodes)
    state.height[net.source] = net.nodes
    for a in state.arcs(net.source):
        _send(state, a, state.residual[a])
    return state


def _send(state: Preflow, a: int, amount: int) -> None:
    net = state.net
    state.residual[a] -= amount
    state.residual[net.mate[a]] += amount
    state.excess[net.head[net.mate[a]]] -= amount
    state.excess[net.head[a]] += amount


def push(state: Preflow, a: int) -> None:
    """Send along an admissible arc what its tail has and it can take; Paper: [LU11 Alg.4.3]."""
    x = int(state.net.head[state.net.mate[a]])
    _send(state, a, min(state.residual[a], state.excess[x]))
    state.pushes += 1


def relabel(state: Preflow, x: int) -> None:
    """Lift `x` to one above its lowest residual neighbour; Paper: [LU11 Alg.4.3]."""
    state.height[x] = 1 + min(state.height[state.net.head[a]] for a in state.arcs(x))
    state.relabels += 1


def discharge(state: Preflow, x: int) -> str:
    """Push from `x` or relabel it; return which; Paper: [LU11 Alg.4.3]."""
    for a in state.arcs(x):
        if state.height[x] == state.height[state.net.head[a]] + 1:
            push(state, a)
            return "push"
    relabel(state, x)
    return "relabel"


def global_relabel(state: Preflow) -> list[int]:
    """Set heights to distances from the sink; return the unreached nodes; Paper: [LU11 Alg.4.4].

    As printed, what the search does not reach keeps its height. Then a reached node that has risen
    could lie more than one above an unreached neighbour, against [LU11 Def.4.1]; so those are
    lifted to the largest distance, the least that prevents it.
    """
    net = state.net
    scanned = {net.sink: 0}
    queue = deque([net.sink])
    while queue:
        x = queue.popleft()
        for a in range(net.first[x], net.first[x + 1]):
            y = int(net.head[a])
            if state.residual[net.mate[a]] > 0 and y not in scanned and y != net.source:
                scanned[y] = scanned[x] + 1
                queue.append(y)
    for x, distance in scanned.items():
        state.height[x] = distance
    unreached = [x for x in range(net.nodes) if x not in scanned and x != net.source]
    for x in unreached:
        state.height[x] = max(state.height[x], max(scanned.values()))
    return unreached


def gap(state: Preflow, unreached: list[int]) -> None:
    """Lift what the sink cannot be reached from to ``|V|``; Paper: [LU11 sec.4.2]."""
    for x in unreached:
        state.height[x] = max(state.height[x], state.net.nodes)


def push_relabel(net: Network, heuristics: str = "none", step: Step | None = None) -> Flow:
    """Return a maximum flow; Paper: [LU11 Alg.4.2].

    Parameters
    ----------
    net : Network
    heuristics : {"none", "global", "global+gap"}
        Global relabeling comes after every ``|V|`` relabels.
    step : callable, optional
        See `Step`.

    Raises
    ------
    ValueError
        For unknown heuristics.
    RuntimeError
        If a node rises to ``2 |V|``, which it never needs.
    """
    if heuristics not in ("none", "global", "global+gap"):
        raise ValueError(f"heuristics={heuristics!r} is none of none, global, global+gap")
    tell = step or (lambda operation, state, x: None)
    state, due = init(net), net.nodes
    active = deque(x for x in range(net.nodes) if state.is_active(x))
    while active:
        x = active.popleft()
        if state.is_active(x):
            tell(discharge(state, x), state, x)
            if state.height[x] >= 2 * net.nodes:
                raise RuntimeError(f"node {x} rises to {state.height[x]}")
            reached = [x, *(int(y) for y in net.head[net.first[x] : net.first[x + 1]])]
            active.extend(y for y in reached if state.is_active(y) and y not in active)
        if heuristics != "none" and state.relabels >= due:
            due = state.relabels + net.nodes
            unreached = global_relabel(state)
            tell("global", state, net.sink)
            if heuristics == "global+gap":
                gap(state, unreached)
                tell("gap", state, net.sink)
    counters = {"pushes": state.pushes, "relabels": state.relabels}
    return settle(net, np.array(state.residual, np.int64), counters)
