"""Flow networks: what a maximum flow solver takes, checked once.

`Network` is any directed graph with paired residual arcs in compressed rows; `Grid` is the graph of
an image, whose arcs are arrays of its shape. Capacities are whole numbers; sums of them must fit
63 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

CAPACITY_LIMIT = 2**62
"""The sum of all capacities stays below it, so that no excess overflows 64 bits."""

LARGEST_INDEX = 2**31 - 1
"""Nodes and arcs, mates included, are numbered in 32 bits."""

FOUR = ("right", "left", "down", "up")
EIGHT = (*FOUR, "down_right", "up_left", "down_left", "up_right")
"""Directions of a grid's arcs; each even one is followed by its opposite."""

STEP = {
    "right": (0, 1), "left": (0, -1), "down": (1, 0), "up": (-1, 0),
    "down_right": (1, 1), "up_left": (-1, -1), "down_left": (1, -1), "up_right": (-1, 1),
}  # fmt: skip
"""Row and column step of each direction."""


class NetworkError(ValueError):
    """A network is wrong; the message says where."""


class FlowError(RuntimeError):
    """A solver's outcome is no maximum preflow, or its flow is refuted."""


class ArcList(NamedTuple):
    """Arcs one by one, as a caller gave them; parallel arcs and loops are kept apart.

    Attributes
    ----------
    tail, head : int[k]
        Ends of each arc.
    capacity : int[k]
    """

    tail: np.ndarray
    head: np.ndarray
    capacity: np.ndarray


@dataclass(frozen=True, eq=False)
class Network:
    """A flow network in compressed rows; `network` makes one and checks it.

    Attributes
    ----------
    nodes : int
    source, sink : int
        Two different nodes.
    first : int32[nodes + 1]
        Node ``x`` has the arcs ``first[x] .. first[x + 1] - 1``.
    head : int32[arcs]
        Node that each arc leads to.
    mate : int32[arcs]
        The arc back: ``head[mate[a]]`` is where ``a`` starts, ``mate[mate[a]] == a``.
    capacity : int64[arcs]
        Not negative; 0 for an arc that exists only as another's mate.
    given : ArcList or None
        The arcs before parallel ones were added up, where somebody wants the flow on each: see
        `flow_on_arcs`.
    """

    nodes: int
    source: int
    sink: int
    first: np.ndarray
    head: np.ndarray
    mate: np.ndarray
    capacity: np.ndarray
    given: ArcList | None = None

    @property
    def arcs(self) -> int:
        """Number of arcs, mates included."""
        return int(self.head.size)

    def network(self) -> Network:
        """Return the network itself, as `Grid.network` returns that of a grid."""
        return self

    @cached_property
    def tail(self) -> np.ndarray:
        """Node that each arc starts from, int32[arcs]."""
        return np.repeat(np.arange(self.nodes, dtype=np.int32), np.diff(self.first))


@dataclass(frozen=True, eq=False)
class Grid:
    """The network of an image: a node a pixel, arcs to 4 or 8 neighbours and both terminals.

    Attributes
    ----------
    source, sink : int64[height, width]
        Capacities from the source to a pixel and from a pixel to the sink.
    arcs : mapping of str to int64[height, width]
        By direction (`FOUR` or `EIGHT`): capacity from a pixel to its neighbour there; 0 where that
        would leave the image.
    """

    source: np.ndarray
    sink: np.ndarray
    arcs: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.source.shape[0], self.source.shape[1]

    @property
    def nodes(self) -> int:
        """Pixels, and the two terminals."""
        return self.source.size + 2

    def network(self) -> Network:
        """The same network in compressed rows: pixels row by row, then source, then sink."""
        height, width = self.shape
        pixel = np.arange(height * width).reshape(height, width)
        source, sink = height * width, height * width + 1
        tails = [np.full(pixel.size, source), pixel.ravel()]
        heads = [pixel.ravel(), np.full(pixel.size, sink)]
        capacities = [self.source.ravel(), self.sink.ravel()]
        for name, capacity in self.arcs.items():
            down, right = STEP[name]
            there = np.roll(pixel, (-down, -right), (0, 1))
            inside = inner(self.shape, name)
            tails.append(pixel[inside])
            heads.append(there[inside])
            capacities.append(capacity[inside])
        return network(
            np.concatenate(tails), np.concatenate(heads), np.concatenate(capacities),
            height * width + 2, source, sink,
        )  # fmt: skip


def image_of(instance: Any) -> Grid | None:
    """Return an instance of a maximum flow if it is a grid, None if it is a network.

    Raises
    ------
    NetworkError
        If it is neither.
    """
    if isinstance(instance, (Network, Grid)):
        return instance if isinstance(instance, Grid) else None
    raise NetworkError(
        f"a flow is asked of a Network or a Grid, not of a {type(instance).__name__}"
    )


def inner(shape: tuple[int, int], name: str) -> np.ndarray:
    """Pixels that have a neighbour in a direction, bool[height, width]."""
    found = np.ones(shape, bool)
    for part in leaving(found, name):
        part[...] = False
    return found


def leaving(array: np.ndarray, name: str) -> list[np.ndarray]:
    """Return views of an array's pixels that have no neighbour in a direction."""
    down, right = STEP[name]
    rows = [array[-1:] if down > 0 else array[:1]] if down else []
    columns = [array[:, -1:] if right > 0 else array[:, :1]] if right else []
    return rows + columns


def network(
    tail: Any,
    head: Any,
    capacity: Any,
    nodes: int,
    source: int,
    sink: int,
    keep: bool = False,
) -> Network:
    """Check arcs given one by one and pair them.

    Parameters
    ----------
    tail, head : array_like int[k]
        Ends of each arc. Loops are dropped; parallel arcs are one arc of their sum.
    capacity : array_like int[k]
    nodes, source, sink : int
    keep : bool
        Whether `Network.given` holds the arcs as they are given here.

    Raises
    ------
    NetworkError
        For lengths that differ, nodes outside, equal terminals, capacities that are negative, no
        whole numbers, or too large together, and for more arcs than 32 bits number.
    """
    tail, head, capacity = (np.asarray(x) for x in (tail, head, capacity))
    nodes, source, sink = int(nodes), int(source), int(sink)
    _check_arcs(tail, head, capacity, nodes)
    if nodes < 1:
        raise NetworkError("the network has no nodes")
    if not (0 <= source < nodes and 0 <= sink < nodes):
        raise NetworkError(f"source {source} or sink {sink} lies outside 0 .. {nodes - 1}")
    if source == sink:
        raise NetworkError(f"source and sink are one node, {source}")
    from papers.common.problems.passes.arcs import paired  # loads Numba

    given = ArcList(tail, head, whole_numbers(capacity, "capacity"))
    first, end, mate, both = paired(*_narrow(given), nodes)
    return Network(nodes, source, sink, first, end, mate, both, given if keep else None)


def _check_arcs(tail: np.ndarray, head: np.ndarray, capacity: np.ndarray, nodes: int) -> None:
    if not (tail.ndim == head.ndim == capacity.ndim == 1 and tail.size == head.size):
        raise NetworkError("tail, head and capacity must be lines of one length")
    if capacity.size != tail.size:
        raise NetworkError(f"{capacity.size} capacities for {tail.size} arcs")
    if max(nodes, 2 * tail.size) > LARGEST_INDEX:
        raise NetworkError(f"{nodes} nodes and {tail.size} arcs: too many to number in 32 bits")
    for name, ends in (("tail", tail), ("head", head)):
        if ends.size and (ends.dtype.kind not in "iu" or ends.min() < 0 or ends.max() >= nodes):
            raise NetworkError(f"a {name} is no node of 0 .. {nodes - 1}")


def flow_on_arcs(net: Network, residual: np.ndarray, arcs: ArcList) -> np.ndarray:
    """Lay the flow of a network on the arcs that it was made of.

    A pair of nodes carries flow one way only; parallel arcs that way are filled in their order,
    arcs the other way and loops carry nothing.

    Parameters
    ----------
    net : Network
        Made of `arcs` by `network`.
    residual : int64[net.arcs]
        Residual capacities of a flow, as in `papers.common.model.Flow`.
    arcs : ArcList

    Returns
    -------
    int64[k]
        Flow on each arc, from 0 to its capacity.
    """
    from papers.common.problems.passes.arcs import spread  # loads Numba

    return spread(net.first, net.head, net.capacity - residual, *_narrow(arcs))


def _narrow(arcs: ArcList) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays as the compiled passes take them, copied where they are of another kind."""
    kinds = (np.int32, np.int32, np.int64)
    tail, head, capacity = (
        np.require(part, kind, ["C", "W"]) for part, kind in zip(arcs, kinds, strict=True)
    )
    return tail, head, capacity


def grid(source: Any, sink: Any, arcs: Mapping[str, Any]) -> Grid:
    """Check a grid's arrays.

    Parameters
    ----------
    source, sink : array_like int[height, width]
    arcs : mapping of str to array_like int[height, width]
        All of `FOUR` or all of `EIGHT`.

    Raises
    ------
    NetworkError
        For shapes that differ, directions that are missing or unknown, capacities that leave the
        image, are negative, no whole numbers, or too large together.
    """
    if set(arcs) not in (set(FOUR), set(EIGHT)):
        raise NetworkError(f"directions must be {', '.join(FOUR)}, or those and the diagonals")
    names = EIGHT if len(arcs) == len(EIGHT) else FOUR
    shape = np.shape(source)
    if len(shape) != 2 or 0 in shape:
        raise NetworkError(f"a grid has height and width of at least 1, not shape {shape}")
    arrays = {"source": source, "sink": sink, **{name: arcs[name] for name in names}}
    checked = {}
    for name, array in arrays.items():
        if np.shape(array) != shape:
            raise NetworkError(f"{name} has shape {np.shape(array)}, source {shape}")
        checked[name] = whole_numbers(np.asarray(array), name)
        if name in STEP and any(part.any() for part in leaving(checked[name], name)):
            raise NetworkError(f"an arc {name} leaves the image")
    return grid_of_whole_numbers(checked)


def grid_of_whole_numbers(arrays: Mapping[str, np.ndarray]) -> Grid:
    """Return the grid of arrays that are checked but for the sum of all capacities.

    Parameters
    ----------
    arrays : mapping of str to int64[height, width]
        ``source``, ``sink`` and the directions; not copied.

    Raises
    ------
    NetworkError
        If the capacities add up to 2**62 or more.
    """
    # The largest ones say in one fast pass that a sum cannot be too large; few callers need it.
    most = sum(float(array.max()) * array.size for array in arrays.values())
    if most >= CAPACITY_LIMIT:
        about = sum(float(array.sum(dtype=np.float64)) for array in arrays.values())
        exact = sum(int(array.sum()) for array in arrays.values())
        if about >= 2 * CAPACITY_LIMIT or exact >= CAPACITY_LIMIT:
            raise NetworkError("the capacities add up to 2**62 or more")
    arcs = {name: array for name, array in arrays.items() if name in STEP}
    return Grid(arrays["source"], arrays["sink"], arcs)


def whole_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Check capacities and return them as int64.

    Parameters
    ----------
    values : ndarray
        Booleans, integers, or floats that are whole numbers.
    name : str
        Their name in the message.

    Raises
    ------
    NetworkError
        For values that are negative, no whole numbers, or too large together.
    """
    if values.size and values.dtype.kind not in "biuf":
        raise NetworkError(
            f"{name} has values of type {values.dtype}, which are no numbers of 64 bits"
        )
    parts = values.dtype.kind == "f" and (values != np.floor(values)).any()
    if parts or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise NetworkError(
            f"{name} holds a value that is no whole number: scale and round the capacities"
        )
    if values.size and values.min() < 0:
        at = np.unravel_index(int(values.argmin()), values.shape)
        where = {1: " at place {}", 2: " at row {}, column {}"}.get(values.ndim, "").format(*at)
        raise NetworkError(f"{name} is negative{where}: {values[at]}")
    # The largest one says in a fast pass that a sum cannot be too large.
    suspect = values.size and float(values.max()) * values.size >= CAPACITY_LIMIT
    if suspect and float(values.astype(np.float64).sum()) >= CAPACITY_LIMIT:
        raise NetworkError("the capacities add up to 2**62 or more")
    return values.astype(np.int64)
