"""`settle` makes the answer of a maximum flow solver: a flow, and a minimum cut.

A push-relabel solver may stop as soon as no more excess can reach the sink: what it then holds is
a maximum preflow, whose stranded excess lies at nodes behind the minimum cut. `settle` sends that
excess back where it came from, so that the answer is a flow, and reads the cut off the residual
arcs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit, prange

from papers.common.model import Flow
from papers.common.parallel import parallel
from papers.common.problems.network import FlowError, Grid, Network, image_of
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


def settle(
    instance: Network | Grid, residual: Any, counters: Mapping[str, int] | None = None
) -> Flow:
    """Make the answer from a maximum preflow: a flow and a minimum cut.

    Excess that lies at a node is returned to the source, first straight away as far as the source
    sent some there, then along the arcs that brought it. No arc across the cut changes. Takes
    time in proportion to arcs, and to the lengths of the flow's cycles.

    Parameters
    ----------
    instance : Network or Grid
    residual : int[arcs], or mapping of str to int[height, width]
        Residual capacities in the form of `Flow.residual`; excesses are found from them. Left as
        it is. An arc from the source straight to the sink counts as saturated.
    counters : mapping of str to int, optional
        Handed on.

    Returns
    -------
    Flow

    Raises
    ------
    NetworkError
        If `residual` is not of the instance's form.
    FlowError
        If it is no preflow, or one that could still bring more to the sink.
    """
    whole, left = split(instance), split(instance, residual)
    excess = excesses(whole, left)
    if excess.min(initial=0) < 0:
        raise FlowError(f"no preflow: node {int(excess.argmin())} sends out more than it gets")
    height, _ = distances(left.arcs, left.between, left.sink, left.arcs.nodes + 2)
    behind = height > left.arcs.nodes
    if (excess[~behind] > 0).any():
        raise FlowError("not maximum: excess lies where the sink can be reached")
    _straight_back(whole.source, left.source, excess)
    pairs = (whole.between, left.between, whole.source, left.source)
    if excess.any() and _back(left.arcs, *pairs, excess):
        raise FlowError("no preflow: excess lies where no flow arrives")
    value = int((whole.sink - left.sink).sum()) + whole.direct
    left = Split(left.arcs, left.between, left.source, left.sink, 0)
    return Flow(value, join(instance, left), side_in_form(instance, behind), dict(counters or {}))


def excesses(whole: Split, left: Split) -> np.ndarray:
    """Return what each node gets more than it sends out, int64[nodes]; 0 at terminals.

    Parameters
    ----------
    whole, left : Split
        Capacities and residual capacities.
    """
    excess = (whole.source - left.source) - (whole.sink - left.sink)
    _add_net(left.arcs, whole.between, left.between, excess)
    return excess


def side_in_form(instance: Network | Grid, behind: np.ndarray) -> np.ndarray:
    """Return the source's side of the cut in the instance's form.

    Parameters
    ----------
    instance : Network or Grid
    behind : bool[nodes]
        The nodes that the sink cannot be reached from; terminals are set.
    """
    image = image_of(instance)
    if image is not None:
        return behind.reshape(image.shape)
    net = instance.network()
    behind[net.source], behind[net.sink] = True, False
    return behind


@parallel(lambda arcs, whole, left, excess: left.size)
def _add_net(arcs, whole, left, excess):
    """Subtract what goes out along the arcs; what comes in is a negative part of it."""
    for x in prange(arcs.nodes):
        out = 0
        for k in range(degree(arcs, x)):
            a = arc(arcs, x, k)
            out += whole[a] - left[a]
        excess[x] -= out


@parallel(lambda source, source_left, excess: excess.size)
def _straight_back(source, source_left, excess):
    """Return to the source what it sent to the very node where it is stranded."""
    for x in prange(excess.size):
        amount = max(0, min(excess[x], source[x] - source_left[x]))
        source_left[x] += amount
        excess[x] -= amount


@njit(cache=True)
def _back(arcs, whole, left, source, source_left, excess):
    """Return all excess against the flow; say how many nodes could not.

    A depth-first search from the nodes with excess runs against the flow, cancels each cycle that
    it meets, and leaves an order in which every node comes before those it is fed by.
    """
    state = np.zeros(arcs.nodes, np.int8)  # 1: on the path, 2: left
    current = np.zeros(arcs.nodes, np.int32)
    path = np.empty(arcs.nodes, np.int32)
    order = np.empty(arcs.nodes, np.int32)
    count = 0
    for root in range(arcs.nodes):
        if excess[root] == 0 or state[root] != 0:
            continue
        path[0], state[root], depth = root, 1, 1
        while depth > 0:
            x = np.int64(path[depth - 1])
            k = np.int64(current[x])
            if k == degree(arcs, x):
                state[x] = 2
                order[count] = x
                count += 1
                depth -= 1
                continue
            a = arc(arcs, x, k)
            y = end(arcs, x, k)
            if left[a] <= whole[a] or state[y] == 2:
                current[x] += 1
            elif state[y] == 0:
                state[y] = 1
                path[depth] = y
                depth += 1
            else:
                depth = _cancel(arcs, whole, left, state, current, path, depth, y)
    stuck = 0
    for place in range(count - 1, -1, -1):
        stuck += _unload(arcs, whole, left, source, source_left, excess, np.int64(order[place]))
    return stuck


@njit(cache=True)
def _cancel(arcs, whole, left, state, current, path, depth, y):
    """Cancel the cycle that closes at `y`; return the path's length up to the first empty arc."""
    start = depth - 1
    while path[start] != y:
        start -= 1
    amount = np.int64(2**62)
    for place in range(start, depth):
        x = np.int64(path[place])
        a = arc(arcs, x, np.int64(current[x]))
        amount = min(amount, left[a] - whole[a])
    keep = depth
    for place in range(depth - 1, start - 1, -1):
        x = np.int64(path[place])
        a = arc(arcs, x, np.int64(current[x]))
        left[a] -= amount
        left[mate(arcs, x, np.int64(current[x]))] += amount
        if left[a] == whole[a]:
            keep = place + 1
    for place in range(keep, depth):
        state[path[place]] = 0
    return keep


@njit(cache=True)
def _unload(arcs, whole, left, source, source_left, excess, x):
    """Send the excess of `x` back to the source and to those that feed it; 1 if some is left."""
    amount = max(0, min(excess[x], source[x] - source_left[x]))
    source_left[x] += amount
    excess[x] -= amount
    for k in range(degree(arcs, x)):
        if excess[x] == 0:
            return 0
        a = arc(arcs, x, k)
        amount = max(0, min(excess[x], left[a] - whole[a]))
        if amount > 0:
            left[a] -= amount
            left[mate(arcs, x, k)] += amount
            excess[x] -= amount
            excess[end(arcs, x, k)] += amount
    return 1 if excess[x] > 0 else 0
