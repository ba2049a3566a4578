"""Proves a flow maximum by a cut of equal value, outside every clock.

No flow can be worth more than the capacity of a set of arcs that every path from source to sink
must use. So a flow that keeps to all capacities and loses nothing on its way, and a set of nodes
around the source whose outgoing arcs have its value as capacity, prove each other optimal.

The proof does not rest on how the cut was found. All of it is in whole numbers, exactly; `Network`
and `Grid` keep the sum of capacities below 2**62, so nothing overflows once every residual
capacity is known to lie within its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit, prange

from papers.common.certify import Refuted
from papers.common.model import Flow, Verdict
from papers.common.network import STEP, Grid, Network, NetworkError

_NONE = 2**62
"""No fault, where the place of the first one is asked for."""

_OPPOSITE = {name: next(o for o in STEP if STEP[o] == (-d, -r)) for name, (d, r) in STEP.items()}


def flow(instance: Network | Grid, answer: Flow) -> Verdict:
    """Prove a flow maximum, or say what is wrong with it.

    Takes time and memory in proportion to nodes and arcs; of a grid no `Network` is made.

    Parameters
    ----------
    instance : Network or Grid
    answer : Flow
        Its parts in the instance's own form.

    Returns
    -------
    Verdict
        ``kind="minimum-cut"``.

    Raises
    ------
    NetworkError
        If `instance` is neither.
    """
    if not isinstance(instance, (Network, Grid)):
        raise NetworkError(f"a flow of a Network or a Grid, not of a {type(instance).__name__}")
    try:
        prove = _prove_grid if isinstance(instance, Grid) else _prove_network
        value, capacity, inside = prove(instance, answer)  # type: ignore[arg-type]
        if value != answer.value:
            raise Refuted(f"{value} arrives at the sink, the answer says {answer.value}")
        if capacity != value:
            raise Refuted(f"not proved maximum: the flow is {value}, the cut {capacity}")
    except Refuted as refuted:
        return Verdict(False, "minimum-cut", str(refuted))
    reason = f"a flow of {value}, and {inside} nodes on the source's side of a cut of {capacity}"
    return Verdict(True, "minimum-cut", reason)


def _whole(values: Any, shape: tuple[int, ...], name: str, kinds: str = "iu") -> np.ndarray:
    """An array of the answer, in its type and shape."""
    array = np.asarray(values)
    if array.shape != shape:
        raise Refuted(f"{name} has shape {array.shape}, not {shape}")
    if array.dtype.kind not in kinds:
        raise Refuted(f"{name} is of type {array.dtype}")
    if kinds == "iu" and array.dtype != np.int64:
        if array.dtype.kind == "u" and array.size and int(array.max()) >= _NONE:
            raise Refuted(f"{name} exceeds all capacities")
        array = array.astype(np.int64)
    return np.ascontiguousarray(array)


# ------------------------------------------------------------------------------- networks


def _prove_network(net: Network, answer: Flow) -> tuple[int, int, int]:
    """Return value, capacity of the cut, and nodes on the source's side."""
    left = _whole(answer.residual, (net.arcs,), "residual")
    side = _whole(answer.source_side, (net.nodes,), "source_side", "b")
    if not side[net.source] or side[net.sink]:
        raise Refuted("the cut does not part source and sink")
    bad = _out_of_bounds(net.mate, net.capacity, left)
    if bad < _NONE:
        raise Refuted(
            f"arc {bad} from {net.tail[bad]} to {net.head[bad]} and its mate have capacities "
            f"{net.capacity[bad]} and {net.capacity[net.mate[bad]]}, of which {left[bad]} and "
            f"{left[net.mate[bad]]} are said to be left"
        )
    out, capacity = _weigh(net.first, net.head, net.capacity, left, side)
    value = -int(out[net.sink])
    if int(out[net.source]) != value:
        raise Refuted(f"{out[net.source]} leaves the source, {value} arrives at the sink")
    out[net.source] = out[net.sink] = 0
    _check_conservation(out)
    return value, int(capacity), int(side.sum())


def _check_conservation(out: np.ndarray) -> None:
    wrong = np.flatnonzero(out)
    if wrong.size:
        x = int(wrong[0])
        raise Refuted(f"not conserved at {wrong.size} nodes: node {x} sends {out[x]} on its own")


@njit(cache=True, parallel=True)
def _out_of_bounds(mate, capacity, left):
    """First arc whose residual capacity is negative, or does not add up with its mate's."""
    bad = 2**62
    for a in prange(left.size):
        b = mate[a]
        most = capacity[a] + capacity[b]
        if not (0 <= left[a] <= most and left[b] == most - left[a]):
            bad = min(bad, a)
    return bad


@njit(cache=True, parallel=True)
def _weigh(first, head, capacity, left, side):
    """Net flow out of each node, and the capacity from one side to the other."""
    nodes = first.size - 1
    out = np.empty(nodes, np.int64)
    crossing = 0
    for x in prange(nodes):
        net = 0
        over = 0
        for a in range(first[x], first[x + 1]):
            net += capacity[a] - left[a]
            if side[x] and not side[head[a]]:
                over += capacity[a]
        out[x] = net
        crossing += over
    return out, crossing


# ------------------------------------------------------------------------------- grids


def _prove_grid(grid: Grid, answer: Flow) -> tuple[int, int, int]:
    """Return value, capacity of the cut, and pixels on the source's side."""
    shape = grid.shape
    names = ("source", "sink", *grid.arcs)
    if not isinstance(answer.residual, Mapping) or set(answer.residual) != set(names):
        raise Refuted(f"the residual capacities are not those of {', '.join(names)}")
    left = {name: _whole(answer.residual[name], shape, name) for name in names}
    side = _whole(answer.source_side, shape, "source_side", "b")
    bad, value, capacity, out = _terminals(
        grid.source, grid.sink, left["source"], left["sink"], side
    )
    if bad < _NONE:
        raise Refuted(f"a terminal arc of pixel {divmod(bad, shape[1])} is out of its bounds")
    for name, arcs in grid.arcs.items():
        back = _OPPOSITE[name]
        bad, over = _direction(
            arcs, grid.arcs[back], left[name], left[back], side, *STEP[name], out
        )
        if bad < _NONE:
            raise Refuted(f"the arc {name} of pixel {divmod(bad, shape[1])} is out of its bounds")
        capacity += over
    _check_conservation(out.ravel())
    return int(value), int(capacity), int(side.sum())


@njit(cache=True, parallel=True)
def _terminals(source, sink, source_left, sink_left, side):
    """First pixel out of bounds; what arrives; what the cut takes; each pixel's net flow out."""
    height, width = side.shape
    out = np.empty((height, width), np.int64)
    bad, value, capacity = 2**62, 0, 0
    for y in prange(height):
        for x in range(width):
            come, go = source[y, x] - source_left[y, x], sink[y, x] - sink_left[y, x]
            if not (0 <= source_left[y, x] <= source[y, x] and 0 <= sink_left[y, x] <= sink[y, x]):
                bad = min(bad, y * width + x)
            value += go
            capacity += sink[y, x] if side[y, x] else source[y, x]
            out[y, x] = go - come
    return bad, value, capacity, out


@njit(cache=True, parallel=True)
def _direction(arcs, arcs_back, left, left_back, side, down, right, out):
    """First pixel out of bounds, and what the cut takes; adds the net flow to `out`."""
    height, width = side.shape
    bad, capacity = 2**62, 0
    for y in prange(height):
        for x in range(width):
            v, u = y + down, x + right
            if 0 <= v < height and 0 <= u < width:
                most = arcs[y, x] + arcs_back[v, u]
                here = left[y, x]
                if not (0 <= here <= most and left_back[v, u] == most - here):
                    bad = min(bad, y * width + x)
                out[y, x] += arcs[y, x] - here
                if side[y, x] and not side[v, u]:
                    capacity += arcs[y, x]
            elif left[y, x] != 0:
                bad = min(bad, y * width + x)
    return bad, capacity
