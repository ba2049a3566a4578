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
from numba import prange

from papers.common.model import Flow, Proof
from papers.common.parallel import parallel
from papers.common.problems.assignment_proof import Refuted
from papers.common.problems.network import STEP, Grid, Network, NetworkError

_LIMIT = 2**62
"""Above all capacities."""

_OPPOSITE = {name: next(o for o in STEP if STEP[o] == (-d, -r)) for name, (d, r) in STEP.items()}


def flow(instance: Network | Grid, answer: Flow) -> Proof:
    """Prove a flow maximum, or say what is wrong with it.

    Takes time and memory in proportion to nodes and arcs; of a grid no `Network` is made.

    Parameters
    ----------
    instance : Network or Grid
    answer : Flow
        Its parts in the instance's own form.

    Returns
    -------
    Proof
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
        return Proof(False, "minimum-cut", str(refuted))
    reason = f"a flow of {value}, and {inside} nodes on the source's side of a cut of {capacity}"
    return Proof(True, "minimum-cut", reason)


def _whole(values: Any, shape: tuple[int, ...], name: str, kinds: str = "iu") -> np.ndarray:
    """An array of the answer, in its type and shape."""
    array = np.asarray(values)
    if array.shape != shape:
        raise Refuted(f"{name} has shape {array.shape}, not {shape}")
    if array.dtype.kind not in kinds:
        raise Refuted(f"{name} is of type {array.dtype}")
    if kinds == "iu" and array.dtype != np.int64:
        if array.dtype.kind == "u" and array.size and int(array.max()) >= _LIMIT:
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
    most = net.capacity + net.capacity[net.mate]
    wrong = np.flatnonzero((left < 0) | (left > most) | (left[net.mate] != most - left))
    if wrong.size:
        bad = int(wrong[0])
        raise Refuted(
            f"arc {bad} from {net.tail[bad]} to {net.head[bad]} and its mate have capacities "
            f"{net.capacity[bad]} and {net.capacity[net.mate[bad]]}, of which {left[bad]} and "
            f"{left[net.mate[bad]]} are said to be left"
        )
    out, crossing = _weigh(net.first, net.head, net.capacity, left, side)
    value = -int(out[net.sink])
    if int(out[net.source]) != value:
        raise Refuted(f"{out[net.source]} leaves the source, {value} arrives at the sink")
    out[net.source] = out[net.sink] = 0
    _check_conservation(out)
    return value, int(crossing.sum()), int(side.sum())


def _check_conservation(out: np.ndarray) -> None:
    wrong = np.flatnonzero(out)
    if wrong.size:
        x = int(wrong[0])
        raise Refuted(f"not conserved at {wrong.size} nodes: node {x} sends {out[x]} on its own")


# The parallel loops write what each line found, and nothing is reduced across threads: Numba (0.68)
# may lose a reduction that stands in a loop inside of a prange, and a lost finding would be a false
# proof.


@parallel(lambda first, head, capacity, left, side: head.size)
def _weigh(first, head, capacity, left, side):
    """Net flow out of each node, and the capacity of its arcs from one side to the other."""
    nodes = first.size - 1
    out, crossing = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    for x in prange(nodes):
        net, over = np.int64(0), np.int64(0)
        for a in range(first[x], first[x + 1]):
            net += capacity[a] - left[a]
            if side[x] and not side[head[a]]:
                over += capacity[a]
        out[x], crossing[x] = net, over
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
    bad, values, capacities, out = _terminals(
        grid.source, grid.sink, left["source"], left["sink"], side
    )
    _check_bounds(bad, "a terminal arc")
    value, capacity = values.sum(), capacities.sum()
    for name, arcs in grid.arcs.items():
        back = _OPPOSITE[name]
        bad, crossing = _direction(
            arcs, grid.arcs[back], left[name], left[back], side, *STEP[name], out
        )
        _check_bounds(bad, f"the arc {name}")
        capacity += crossing.sum()
    _check_conservation(out.ravel())
    return int(value), int(capacity), int(side.sum())


def _check_bounds(bad: np.ndarray, what: str) -> None:
    """Refute if a row has a first pixel that is out of bounds; -1: it has none."""
    rows = np.flatnonzero(bad >= 0)
    if rows.size:
        pixel = int(rows[0]), int(bad[rows[0]])
        raise Refuted(f"{what} of pixel {pixel} is out of its bounds")


@parallel(lambda source, *others: source.size)
def _terminals(source, sink, source_left, sink_left, side):
    """Return for each row its first invalid pixel, the arriving units, the cut, the net flow."""
    height, width = side.shape
    out = np.empty((height, width), np.int64)
    bad, values = np.empty(height, np.int64), np.empty(height, np.int64)
    crossing = np.empty(height, np.int64)
    for y in prange(height):
        wrong, value, over = np.int64(-1), np.int64(0), np.int64(0)
        for x in range(width):
            come, go = source[y, x] - source_left[y, x], sink[y, x] - sink_left[y, x]
            fits = 0 <= source_left[y, x] <= source[y, x] and 0 <= sink_left[y, x] <= sink[y, x]
            if wrong < 0 and not fits:
                wrong = np.int64(x)
            value += go
            over += sink[y, x] if side[y, x] else source[y, x]
            out[y, x] = go - come
        bad[y], values[y], crossing[y] = wrong, value, over
    return bad, values, crossing, out


@parallel(lambda arcs, *others: arcs.size)
def _direction(arcs, arcs_back, left, left_back, side, down, right, out):
    """Return for each row its first invalid pixel and the cut's capacity; add net flow to `out`."""
    height, width = side.shape
    bad, crossing = np.empty(height, np.int64), np.empty(height, np.int64)
    for y in prange(height):
        wrong, over = np.int64(-1), np.int64(0)
        for x in range(width):
            v, u = y + down, x + right
            if 0 <= v < height and 0 <= u < width:
                most = arcs[y, x] + arcs_back[v, u]
                here = left[y, x]
                fits = 0 <= here <= most and left_back[v, u] == most - here
                out[y, x] += arcs[y, x] - here
                if side[y, x] and not side[v, u]:
                    over += arcs[y, x]
            else:
                fits = left[y, x] == 0
            if wrong < 0 and not fits:
                wrong = np.int64(x)
        bad[y], crossing[y] = wrong, over
    return bad, crossing
