"""Push-relabel on the CPU as [LU11 sec.4.1] and [LU11 sec.4.2] have it, with a queue.

It works on terminals apart from the other nodes (see `flow.residuals`), so one code
serves networks and grids. A node at height ``|V|`` or above is left alone, as in line 3 of
[LU11 Alg.4.8]: the sink cannot be reached from it.
`download` returns what is stranded there; the flow's value and the cut are known before that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numba import njit

from papers.common.deadline import Deadline, check_seconds
from papers.common.model import Flow, GivenUpError
from papers.common.problems.network import Grid, Network
from papers.lupinska_costscale.flow import bounds
from papers.lupinska_costscale.flow.residuals import (
    Split,
    arc,
    degree,
    distances,
    end,
    join,
    mate,
    split,
)
from papers.lupinska_costscale.flow.settle import settle

Trace = Callable[[str], None]

HEURISTICS = ("none", "global", "global+gap")
PUSHES, RELABELS, GLOBALS, LEVELS, TALLY = range(5)
"""Places in the tally, and its size."""


SLICE = 1 << 22
"""Pushes and relabels between two looks at the clock and the bounds: some tens of milliseconds."""


class Work(NamedTuple):
    """Arrays of the algorithm besides residual capacities.

    Attributes
    ----------
    excess : int64[nodes]
    height : int32[nodes]
    current : int32[nodes]
        The arc at which a node's search for an admissible one goes on.
    queue : int32[nodes + 1]
        A ring of active nodes.
    queued : bool[nodes]
    marks : int64[3]
        First place of the ring, the one behind its last, and the number of relabels at which the
        next global relabeling is due.
    """

    excess: np.ndarray
    height: np.ndarray
    current: np.ndarray
    queue: np.ndarray
    queued: np.ndarray
    marks: np.ndarray

    @classmethod
    def of(cls, source: np.ndarray) -> Work:
        """Allocate for what the source sends to each node."""
        n, narrow = source.size, np.int32
        queue, queued = np.empty(n + 1, narrow), np.zeros(n, np.bool_)
        height, current = np.zeros(n, narrow), np.zeros(n, narrow)
        return cls(source.copy(), height, current, queue, queued, np.zeros(3, np.int64))


FRONT, TAIL, DUE = range(3)
"""Places in ``marks``."""


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
    limit : int or None
        Pushes and relabels that may be made, by the caller's wish.
    seconds : float or None
        Time that a run may take.
    tally : int64[TALLY]
    solved : bool
        Whether `run` has ended well.
    """

    instance: Network | Grid
    whole: Split
    left: Split
    heuristics: str
    limit: int | None
    seconds: float | None = None
    tally: np.ndarray = field(default_factory=lambda: np.zeros(TALLY, np.int64))
    solved: bool = False


# --------------------------------------------------------------------------- the three stages


def upload(
    instance: Network | Grid,
    heuristics: str = "global+gap",
    operations: int | None = None,
    seconds: float | None = None,
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
    operations : int, optional
        Pushes and relabels after which `run` gives up. Besides, every run is held to `flow.bounds`.
    seconds : float, optional
        Time after which `run` gives up; it looks every `SLICE` operations.

    Raises
    ------
    NetworkError
        If `instance` is neither.
    ValueError
        For unknown heuristics or a limit that is none.
    """
    if heuristics not in HEURISTICS:
        raise ValueError(f"heuristics={heuristics!r} is none of {', '.join(HEURISTICS)}")
    if operations is not None and operations < 0:
        raise ValueError(f"operations must be at least 0, not {operations}")
    check_seconds(seconds)
    whole = split(instance)
    limit = None if operations is None else int(operations)
    left = Split(whole.arcs, whole.between.copy(), whole.source.copy(), whole.sink.copy(), 0)
    return State(instance, whole, left, heuristics, limit, seconds)


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
    GivenUpError
        At ``state.limit``, at a bound of `flow.bounds`, or after ``state.seconds``.
    """
    state.solved, deadline = False, Deadline(state.seconds)
    whole, left, tally = state.whole, state.left, state.tally
    left.between[:], left.sink[:] = whole.between, whole.sink
    left.source[:] = 0
    tally[:] = 0
    work, stretch = Work.of(whole.source), bounds.Stretch()
    given = whole.arcs, left.between, left.sink, state.instance.nodes
    heuristics = HEURISTICS.index(state.heuristics)
    begin(*given, heuristics, work, tally)
    relabels = 0
    while not push_relabel(*given, heuristics, _next_stop(state), work, tally):
        _check(state, work, stretch, relabels)
        relabels = int(tally[RELABELS])
        deadline.check(f"{_done(state)} operations", reached=_reached(state))
    state.solved = True


def _done(state: State) -> int:
    return int(state.tally[PUSHES] + state.tally[RELABELS])


def _reached(state: State) -> dict[str, int]:
    return {"pushes": int(state.tally[PUSHES]), "relabels": int(state.tally[RELABELS])}


def _next_stop(state: State) -> int:
    """Return the number of operations after which the clock and the bounds are looked at."""
    stop = _done(state) + SLICE
    return stop if state.limit is None else min(state.limit, stop)


def _check(state: State, work: Work, stretch: bounds.Stretch, relabels: int) -> None:
    """Give up at a bound on the work; `relabels` is their number one slice before.

    Raises
    ------
    GivenUpError
    """
    done, reached, nodes = _done(state), _reached(state), state.instance.nodes
    if state.limit is not None and done > state.limit:
        raise GivenUpError(f"more than {state.limit} pushes and relabels", reached=reached)
    if reached["relabels"] > bounds.most_relabels(nodes):
        raise GivenUpError(f"more than {bounds.most_relabels(nodes)} relabels", reached=reached)
    if reached["relabels"] > relabels:
        stretch.ends()
        return
    arcs, height = state.whole.arcs, work.height
    passes = SLICE / (state.whole.between.size + 2 * arcs.nodes)  # at least so many
    highest = int(height[height < nodes].max(initial=0))
    degree = bounds.largest_degree(arcs)
    if stretch.goes_on(passes) and stretch.too_long(height, highest, degree, bounds.ALL):
        raise GivenUpError(f"{stretch.rounds:.0f} passes and no relabel in a row", reached=reached)


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
def begin(arcs, between, sink, vertices, heuristics, work, tally):
    """Draw the first heights and put all active nodes into the queue; see `push_relabel`."""
    if heuristics > 0:
        global_relabel(arcs, between, sink, vertices, heuristics == 2, work.height, tally)
    for x in range(arcs.nodes):
        if work.excess[x] > 0:
            work.queue[work.marks[TAIL]], work.queued[x] = x, True
            work.marks[TAIL] += 1
    work.marks[DUE] = tally[RELABELS] + vertices


@njit(cache=True)
def push_relabel(arcs, between, sink, vertices, heuristics, limit, work, tally):
    """Push and relabel in the order of a queue; Paper: [LU11 Alg.4.2].

    Parameters
    ----------
    arcs : Arcs
    between, sink : int64[arcs], int64[nodes]
        Residual capacities; changed.
    vertices : int
        ``|V|``, terminals included.
    heuristics : int
        Place in `HEURISTICS`.
    limit : int
        Pushes and relabels, counted from the beginning, after which it stops; it may go on then.
    work : Work
        As `begin` or an earlier call has left it.
    tally : int64[TALLY]
        Counts are added.

    Returns
    -------
    bool
        Whether it has ended.
    """
    marks = work.marks
    while marks[FRONT] != marks[TAIL]:
        x = np.int64(work.queue[marks[FRONT]])
        marks[FRONT] = 0 if marks[FRONT] == arcs.nodes else marks[FRONT] + 1
        work.queued[x] = False
        if work.height[x] < vertices:
            discharge(arcs, between, sink, vertices, work, x, tally)
        if heuristics > 0 and tally[RELABELS] >= marks[DUE]:
            global_relabel(arcs, between, sink, vertices, heuristics == 2, work.height, tally)
            work.current[:] = 0
            marks[DUE] = tally[RELABELS] + vertices
        if tally[PUSHES] + tally[RELABELS] > limit:
            return False
    return True


@njit(cache=True)
def discharge(arcs, between, sink, vertices, work, x, tally):
    """Push from `x` what can be pushed, then relabel it once; Paper: [LU11 Alg.4.3].

    Nodes that become active, and `x` if it still is, join the queue.
    """
    excess, height, current = work.excess, work.height, work.current
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
                enqueue(arcs, work, y)
        if excess[x] > 0:
            current[x] += 1
    if excess[x] > 0:
        height[x] = lowest(arcs, between, sink, vertices, height, x)
        current[x] = 0
        tally[RELABELS] += 1
        if height[x] < vertices:
            enqueue(arcs, work, x)


@njit(cache=True)
def enqueue(arcs, work, x):
    """Put a node at the end of the queue unless it is in it."""
    if not work.queued[x]:
        tail = work.marks[TAIL]
        work.queue[tail], work.queued[x] = x, True
        work.marks[TAIL] = 0 if tail == arcs.nodes else tail + 1


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
