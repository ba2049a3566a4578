"""One form for networks and grids: the two terminals apart, and the arcs between all other nodes.

`split` takes the terminals out of an instance. The arcs that remain are those of a network in
compressed rows, or those of a grid direction by direction; every node has two more capacities, from
the source and to the sink. `join` goes the way back. The functions "along arcs" hide which of the
two forms the arcs have, so that a compiled loop is written once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from papers.common.problems.network import STEP, Grid, Network, NetworkError, image_of


class Arcs(NamedTuple):
    """The ends of all arcs: a network's lists, or a grid's offsets.

    Arc ``k`` of node ``x`` is ``first[x] + k`` of a network and ``k * nodes + x`` of a grid, where
    it leads to ``x + offset[k]`` and its mate is the neighbour's arc ``k ^ 1``. Arcs of a grid that
    would leave the image have no capacity, and no other arc's mate is one of them.

    Attributes
    ----------
    nodes : int
        All nodes of a network, the terminals without arcs in use; the pixels of a grid.
    first, head, mate : int32 arrays
        As in `Network`; empty for a grid.
    offset : int64[4] or int64[8]
        By direction; empty for a network.
    """

    nodes: int
    first: np.ndarray
    head: np.ndarray
    mate: np.ndarray
    offset: np.ndarray


@dataclass(frozen=True, eq=False)
class Split:
    """A problem, or what is left of it, with its terminals apart.

    Attributes
    ----------
    arcs : Arcs
    between : int64[arcs]
        Capacities between nodes that are no terminals; 0 elsewhere. (`flow.prepare` makes a grid's
        arrays, of the type that the device takes.)
    source, sink : int64[nodes]
        Capacities from the source and to the sink. What leads to the source or away from the sink
        is left out: no maximum flow needs it.
    direct : int
        Capacity from the source straight to the sink.
    """

    arcs: Arcs
    between: np.ndarray
    source: np.ndarray
    sink: np.ndarray
    direct: int


# ------------------------------------------------------------------------------- both forms


def split(instance: Network | Grid, values: Any = None) -> Split:
    """Take the terminals out of a problem, or out of residual capacities in its form.

    Parameters
    ----------
    instance : Network or Grid
    values : array_like int[arcs], or mapping of str to array_like int[height, width], optional
        Values to split instead of the capacities, in the form of `Flow.residual`.

    Returns
    -------
    Split
        New arrays.

    Raises
    ------
    NetworkError
        If `instance` is neither, or `values` are not of its form.
    """
    image = image_of(instance)
    if image is None:
        return _split_network(instance.network(), values)
    return _split_grid(image, values)


def checked(grid: Grid, values: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """Return a grid's arrays by name, or values in its form instead.

    Raises
    ------
    NetworkError
        If they have other names, shapes or types.
    """
    given = {"source": grid.source, "sink": grid.sink, **grid.arcs} if values is None else values
    names = ("source", "sink", *grid.arcs)
    if not isinstance(given, Mapping) or set(given) != set(names):
        raise NetworkError(f"residual capacities must be arrays called {', '.join(names)}")
    for name in names:
        _check(given[name], grid.shape, name)
    return given


def _split_grid(grid: Grid, values: Mapping[str, Any] | None) -> Split:
    given = checked(grid, values)
    source, sink = (np.array(given[name], np.int64).ravel() for name in ("source", "sink"))
    between = np.concatenate([np.asarray(given[name]).ravel() for name in grid.arcs])
    return Split(arcs_of_grid(grid), between.astype(np.int64, copy=False), source, sink, 0)


def arcs_of_grid(grid: Grid) -> Arcs:
    """Return the ends of a grid's arcs, whatever their capacities."""
    width, none = grid.shape[1], np.empty(0, np.int32)
    offset = np.array([STEP[name][0] * width + STEP[name][1] for name in grid.arcs])
    return Arcs(grid.source.size, none, none, none, offset.astype(np.int64))


def _split_network(net: Network, values: Any) -> Split:
    if values is not None:
        _check(values, (net.arcs,), "residual")
    given = np.array(net.capacity if values is None else values, np.int64)
    source, sink, whole = _apart(net.first, net.head, net.mate, net.source, net.sink, given)
    none = np.empty(0, np.int64)
    arcs = Arcs(net.nodes, net.first, net.head, net.mate, none)
    return Split(arcs, given, source, sink, int(whole))


@njit(cache=True)
def _apart(first, head, mate, start, goal, given):
    """Return what leads from the source and to the sink; the terminals' arcs are set to 0."""
    nodes = first.size - 1
    source, sink, direct = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.int64(0)
    for a in range(first[goal], first[goal + 1]):
        sink[head[a]] = given[mate[a]]
    sink[start] = 0
    for a in range(first[start], first[start + 1]):
        if head[a] == goal:
            direct = given[a]
        else:
            source[head[a]] = given[a]
    for x in (start, goal):
        for a in range(first[x], first[x + 1]):
            given[a] = given[mate[a]] = 0
    return source, sink, direct


def _check(values: Any, shape: tuple[int, ...], name: str) -> None:
    array = np.asarray(values)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise NetworkError(f"{name} must be whole numbers of shape {shape}, not {array.shape}")


def join(instance: Network | Grid, left: Split) -> Any:
    """Return residual capacities in the instance's own form; the inverse of `split`.

    Parameters
    ----------
    instance : Network or Grid
    left : Split
        Residual capacities. Arcs to the source and from the sink get what their mates left.

    Returns
    -------
    int64[arcs], or dict of str to int64[height, width]
    """
    image = image_of(instance)
    if image is not None:
        parts = left.between.reshape(-1, *image.shape)
        residual = {"source": left.source, "sink": left.sink}
        shaped = {name: array.reshape(image.shape) for name, array in residual.items()}
        return {**shaped, **dict(zip(image.arcs, parts, strict=True))}
    net, flat = instance.network(), left.between.copy()
    ends = left.source, left.sink, left.direct
    _together(net.first, net.head, net.mate, net.source, net.sink, net.capacity, *ends, flat)
    return flat


@njit(cache=True)
def _together(first, head, mate, start, goal, capacity, source, sink, direct, flat):
    """Write the terminals' arcs and their mates; the inverse of `_apart`.

    The arc between the terminals is among both's, and the source's part has the last word.
    """
    for a in range(first[goal], first[goal + 1]):
        back = mate[a]
        flat[back] = sink[head[a]]
        flat[a] = capacity[a] + capacity[back] - flat[back]
    for a in range(first[start], first[start + 1]):
        back = mate[a]
        flat[a] = direct if head[a] == goal else source[head[a]]
        flat[back] = capacity[a] + capacity[back] - flat[a]


# ------------------------------------------------------------------------------- along arcs


@njit(cache=True, inline="always")
def degree(arcs, x):
    """Return how many arcs node `x` has."""
    if arcs.offset.size:
        return arcs.offset.size
    return np.int64(arcs.first[x + 1] - arcs.first[x])


@njit(cache=True, inline="always")
def arc(arcs, x, k):
    """Return the index of arc `k` of node `x`."""
    if arcs.offset.size:
        return k * arcs.nodes + x
    return np.int64(arcs.first[x]) + k


@njit(cache=True, inline="always")
def end(arcs, x, k):
    """Return where arc `k` of node `x` leads; outside 0 .. nodes - 1 if out of the image."""
    if arcs.offset.size:
        return x + arcs.offset[k]
    return np.int64(arcs.head[arcs.first[x] + k])


@njit(cache=True, inline="always")
def mate(arcs, x, k):
    """Return the index of the arc back."""
    if arcs.offset.size:
        return (k ^ 1) * arcs.nodes + x + arcs.offset[k]
    return np.int64(arcs.mate[arcs.first[x] + k])


@njit(cache=True)
def distances(arcs, between, sink, far):
    """Return each node's distance to the sink along residual arcs [LU11 Alg.4.4].

    Parameters
    ----------
    arcs : Arcs
    between : int64[arcs]
        Residual capacities.
    sink : int64[nodes]
        Residual capacities to the sink.
    far : int
        For nodes that the sink cannot be reached from.

    Returns
    -------
    height : int32[nodes]
        1 beside the sink.
    levels : int
        The largest distance.
    """
    height = np.full(arcs.nodes, far, np.int32)
    queue = np.empty(arcs.nodes, np.int32)
    tail = 0
    for start in range(arcs.nodes):
        if sink[start] > 0:
            height[start] = 1
            queue[tail] = start
            tail += 1
    front, levels = 0, 0
    while front < tail:
        x = np.int64(queue[front])
        front += 1
        levels = max(levels, height[x])
        for k in range(degree(arcs, x)):
            y = end(arcs, x, k)
            if 0 <= y < arcs.nodes and height[y] == far and between[mate(arcs, x, k)] > 0:
                height[y] = height[x] + 1
                queue[tail] = y
                tail += 1
    return height, levels
