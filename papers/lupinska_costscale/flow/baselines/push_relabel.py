"""Maximum flow on the CPU: push-relabel as [LU11 sec.4.1] and [LU11 sec.4.2] have it, and rivals.

| name | what it is |
| --- | --- |
| `push_relabel` | [LU11 Alg.4.2] with a queue; option `heuristics` |
| `pymaxflow` | PyMaxflow: Boykov and Kolmogorov's augmenting paths (an optional package) |
| `scipy_flow` | `scipy.sparse.csgraph.maximum_flow` (Dinic) |

`push_relabel` works on terminals apart from the other nodes (see
`papers.common.problems.residuals`), so one code serves networks and grids. A node at height ``|V|``
or above is left alone, as in line 3 of [LU11 Alg.4.8]: the sink cannot be reached from it.
`download` returns what is stranded there; the flow's value and the cut are known before that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from papers.common.model import Flow, Solver
from papers.common.problems.network import Grid, Network
from papers.common.problems.residuals import (
    Split,
    arc,
    degree,
    distances,
    end,
    join,
    mate,
    settle,
    split,
)
from papers.lupinska_costscale.flow.baselines import rivals

Trace = Callable[[str], None]

HEURISTICS = ("none", "global", "global+gap")
PUSHES, RELABELS, GLOBALS, LEVELS, TALLY = range(5)
"""Places in the tally, and its size."""


class OperationLimitError(RuntimeError):
    """More pushes and relabels than allowed, or than the algorithm can need."""


@dataclass
class State:
    """A problem on its way through the three stages.

    Attributes
    ----------
    instance : Network or Grid
    whole, left : Split
        Capacities; residual capacities of the last run.
    heuristics : str
        One of `HEURISTICS`.
    limit : int
        Pushes and relabels that may be made.
    tally : int64[TALLY]
    solved : bool
        Whether `run` has ended well.
    """

    instance: Network | Grid
    whole: Split
    left: Split
    heuristics: str
    limit: int
    tally: np.ndarray = field(default_factory=lambda: np.zeros(TALLY, np.int64))
    solved: bool = False


def operation_bound(nodes: int, arcs: int) -> int:
    """Return how many pushes and relabels push-relabel makes at most, at most 2**62.

    Each of ``n`` nodes is relabeled fewer than ``2 n`` times; an arc is saturated at most once in
    two relabels of each of its ends; other pushes are fewer than ``2 n`` times as many as those and
    the relabels together [LU11 sec.4.1].
    """
    relabels, saturating = 2 * nodes * nodes, 2 * nodes * arcs
    return min(relabels + saturating + 2 * nodes * (relabels + saturating), 2**62)


# --------------------------------------------------------------------------- the three stages


def upload(
    instance: Network | Grid, heuristics: str = "global+gap", max_operations: int | None = None
) -> State:
    """Check the options, take the terminals apart, and allocate.

    Parameters
    ----------
    instance : Network or Grid
    heuristics : {"none", "global", "global+gap"}
        Without heuristics all heights begin at 0. Global relabeling [LU11 Alg.4.4] comes first and
        after every ``|V|`` relabels; gap relabeling sets the nodes that it does not reach to
        ``|V|``. Without gap relabeling, stranded excess climbs there one level after the other,
        which takes ``|V|**2`` relabels on an image: for small instances only.
    max_operations : int, optional
        Pushes and relabels after which `run` raises; by default `operation_bound`.

    Raises
    ------
    NetworkError
        If `instance` is neither.
    ValueError
        For unknown heuristics or a limit below 0.
    """
    if heuristics not in HEURISTICS:
        raise ValueError(f"heuristics={heuristics!r} is none of {', '.join(HEURISTICS)}")
    if max_operations is not None and max_operations < 0:
        raise ValueError(f"max_operations must be at least 0, not {max_operations}")
    whole = split(instance)
    bound = operation_bound(instance.nodes, whole.between.size + 2 * instance.nodes)
    limit = bound if max_operations is None else int(max_operations)
    left = Split(whole.arcs, whole.between.copy(), whole.source.copy(), whole.sink.copy(), 0)
    return State(instance, whole, left, heuristics, limit)


def run(state: State, trace: Trace | None = None) -> None:
    """Saturate the source's arcs and push and relabel until no excess can reach the sink.

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable(str), optional
        Not called: there are no steps.

    Raises
    ------
    OperationLimitError
        Beyond ``state.limit`` pushes and relabels.
    """
    state.solved = False
    whole, left = state.whole, state.left
    left.between[:], left.sink[:] = whole.between, whole.sink
    left.source[:] = 0
    state.tally[:] = 0
    within = push_relabel(
        whole.arcs,
        left.between,
        left.sink,
        whole.source,
        state.instance.nodes,
        HEURISTICS.index(state.heuristics),
        state.limit,
        state.tally,
    )
    if not within:
        raise OperationLimitError(f"more than {state.limit} pushes and relabels")
    state.solved = True


def download(state: State) -> Flow:
    """Return the flow: stranded excess goes back to the source.

    Counters: ``pushes``, ``relabels``, ``host_relabels`` (global relabelings) and ``bfs_levels``
    (of all of them).

    Raises
    ------
    RuntimeError
        If the run has not ended well.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: the run has not ended")
    names = ("pushes", "relabels", "host_relabels", "bfs_levels")
    counters = {name: int(state.tally[place]) for place, name in enumerate(names)}
    return settle(state.instance, join(state.instance, state.left), counters)


# --------------------------------------------------------------------------- the algorithm


@njit(cache=True)
def push_relabel(arcs, between, sink, source, vertices, heuristics, limit, tally):
    """Push and relabel in the order of a queue; Paper: [LU11 Alg.4.2].

    Parameters
    ----------
    arcs : Arcs
    between, sink : int64[arcs], int64[nodes]
        Residual capacities; changed.
    source : int64[nodes]
        What the source sends to each node at the beginning; nothing comes back.
    vertices : int
        ``|V|``, terminals included.
    heuristics : int
        Place in `HEURISTICS`.
    limit : int
        Pushes and relabels allowed.
    tally : int64[TALLY]
        Counts are added.

    Returns
    -------
    bool
        Whether it kept to the limit.
    """
    excess = source.copy()
    current = np.zeros(arcs.nodes, np.int32)
    queued = np.zeros(arcs.nodes, np.bool_)
    queue = np.empty(arcs.nodes + 1, np.int32)
    height = np.zeros(arcs.nodes, np.int32)
    if heuristics > 0:
        global_relabel(arcs, between, sink, vertices, heuristics == 2, height, tally)
    front, tail = 0, 0
    for x in range(arcs.nodes):
        if excess[x] > 0:
            queue[tail], queued[x] = x, True
            tail += 1
    due = tally[RELABELS] + vertices
    while front != tail:
        x = np.int64(queue[front])
        front = 0 if front == arcs.nodes else front + 1
        queued[x] = False
        if height[x] < vertices:
            tail = discharge(
                arcs,
                between,
                sink,
                vertices,
                excess,
                height,
                current,
                queue,
                queued,
                tail,
                x,
                tally,
            )
        if tally[PUSHES] + tally[RELABELS] > limit:
            return False
        if heuristics > 0 and tally[RELABELS] >= due:
            global_relabel(arcs, between, sink, vertices, heuristics == 2, height, tally)
            current[:] = 0
            due = tally[RELABELS] + vertices
    return True


@njit(cache=True)
def discharge(
    arcs, between, sink, vertices, excess, height, current, queue, queued, tail, x, tally
):
    """Push from `x` what can be pushed, then relabel it once; Paper: [LU11 Alg.4.3].

    Returns
    -------
    int
        The queue's new end: nodes that became active, and `x` if it still is.
    """
    if height[x] == 1 and sink[x] > 0:
        amount = min(excess[x], sink[x])
        sink[x] -= amount
        excess[x] -= amount
        tally[PUSHES] += 1
    last = degree(arcs, x)
    while excess[x] > 0 and current[x] < last:
        k = np.int64(current[x])
        a = arc(arcs, x, k)
        if between[a] > 0:
            y = end(arcs, x, k)
            if height[x] == height[y] + 1:
                amount = min(excess[x], between[a])
                between[a] -= amount
                between[mate(arcs, x, k)] += amount
                excess[x] -= amount
                excess[y] += amount
                tally[PUSHES] += 1
                if not queued[y]:
                    queue[tail], queued[y] = y, True
                    tail = 0 if tail == arcs.nodes else tail + 1
        if excess[x] > 0:
            current[x] += 1
    if excess[x] > 0:
        height[x] = lowest(arcs, between, sink, vertices, height, x)
        current[x] = 0
        tally[RELABELS] += 1
        if height[x] < vertices:
            queue[tail], queued[x] = x, True
            tail = 0 if tail == arcs.nodes else tail + 1
    return tail


@njit(cache=True)
def lowest(arcs, between, sink, vertices, height, x):
    """Return the height that relabel gives `x`, at most ``|V|``; Paper: [LU11 Alg.4.3]."""
    if sink[x] > 0:
        return 1
    least = vertices - 1
    for k in range(degree(arcs, x)):
        if between[arc(arcs, x, k)] > 0:
            least = min(least, height[end(arcs, x, k)])
    return least + 1


@njit(cache=True)
def global_relabel(arcs, between, sink, vertices, gap, height, tally):
    """Set heights to distances from the sink; Paper: [LU11 Alg.4.4].

    Nodes that the sink cannot be reached from go to ``|V|`` (`gap`), or at least to the largest
    distance: at their old heights, arcs to them could violate the distance function.
    """
    found, levels = distances(arcs, between, sink, vertices)
    for x in range(arcs.nodes):
        if found[x] < vertices:
            height[x] = found[x]
        else:
            height[x] = vertices if gap else max(height[x], levels)
    tally[GLOBALS] += 1
    tally[LEVELS] += levels


# --------------------------------------------------------------------------- by name


SOLVERS: Mapping[str, Solver] = {
    "push_relabel": Solver(
        name="push_relabel",
        title="push-relabel (CPU)",
        device="cpu",
        problem="flow",
        upload=upload,
        run=run,
        download=download,
    ),
    "pymaxflow": Solver(
        name="pymaxflow",
        title="PyMaxflow (CPU)",
        device="cpu",
        problem="flow",
        upload=rivals.upload_pymaxflow,
        run=rivals.run_pymaxflow,
        download=rivals.download_pymaxflow,
    ),
    "scipy_flow": Solver(
        name="scipy_flow",
        title="SciPy (CPU)",
        device="cpu",
        problem="flow",
        upload=rivals.upload_scipy,
        run=rivals.run_scipy,
        download=rivals.download_scipy,
        limits={"wide capacities": "32 bits"},
    ),
}
