"""Callers' arrays as networks and grids: sparse matrices of capacities, images with scalars."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.common.problems.graph import GraphError, entries_of
from papers.common.problems.network import (
    EIGHT,
    FOUR,
    STEP,
    ArcList,
    Grid,
    Network,
    NetworkError,
    grid_of_whole_numbers,
    leaving,
    network,
    whole_numbers,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array  # an image needs none, and would wait for its import

# ------------------------------------------------------------------------------- networks


def arcs_of(csgraph: Any) -> ArcList:
    """Return the stored entries of a sparse matrix as arcs, in the order of its data.

    Parameters
    ----------
    csgraph : scipy.sparse array or matrix [n, n]
        Nothing is added up: two entries of one place are two parallel arcs.

    Raises
    ------
    NetworkError
        If it is not sparse or not square, or if its index arrays are broken.
    """
    from scipy.sparse import issparse

    if not issparse(csgraph):
        kind = type(csgraph).__name__
        raise NetworkError(f"expected a scipy.sparse array of capacities, got a {kind}")
    if csgraph.ndim != 2 or csgraph.shape[0] != csgraph.shape[1]:
        raise NetworkError(f"expected a square array of capacities, got shape {csgraph.shape}")
    try:
        return ArcList(*entries_of(csgraph))
    except GraphError as error:
        raise NetworkError(f"csgraph: {error}") from error


def network_of(csgraph: Any, source: Any, sink: Any) -> tuple[Network, ArcList]:
    """Check a sparse matrix of capacities and two of its nodes.

    Parameters
    ----------
    csgraph : scipy.sparse array or matrix [n, n]
    source, sink : int

    Returns
    -------
    Network
    ArcList
        The entries, in the order of the matrix's data.

    Raises
    ------
    NetworkError
        See `papers.lupinska_costscale.maximum_flow`.
    """
    arcs = arcs_of(csgraph)
    start, goal = _node(source, "source"), _node(sink, "sink")
    return network(arcs.tail, arcs.head, arcs.capacity, csgraph.shape[0], start, goal), arcs


def _node(node: Any, name: str) -> int:
    try:
        if not isinstance(node, (bool, np.bool_)):
            return operator.index(node)
    except TypeError:
        pass
    raise NetworkError(f"{name}={node!r} is no node: nodes are whole numbers")


def antisymmetric(net: Network, residual: np.ndarray) -> csr_array:
    """Return the net flow between every two nodes, as SciPy does.

    Parameters
    ----------
    net : Network
    residual : int64[arcs]

    Returns
    -------
    csr_array of int64[nodes, nodes]
        ``flow[x, y] == -flow[y, x]``; stored wherever an arc joins x and y, either way.
    """
    from scipy.sparse import csr_array

    entries = net.capacity - residual, net.head, net.first
    return csr_array(entries, shape=(net.nodes, net.nodes))


# ------------------------------------------------------------------------------- grids


def grid_of(source: Any, sink: Any, arcs: Any, connectivity: int = 4) -> Grid:
    """Check the arrays of an image and broadcast them.

    Parameters
    ----------
    source, sink : array_like of int[height, width], or int
    arcs : int, array_like of int[height, width], or mapping of str to either
    connectivity : {4, 8}

    Returns
    -------
    Grid

    Raises
    ------
    NetworkError
        See `papers.lupinska_costscale.grid_cut`.
    """
    checked = {
        name: _capacities(values, name)
        for name, values in by_name(source, sink, arcs, connectivity).items()
    }
    shape = common_shape(checked)
    whole = {name: _filled(array, shape) for name, array in checked.items()}
    for name in whole.keys() & STEP.keys():
        for part in leaving(whole[name], name):
            part[...] = 0
    return grid_of_whole_numbers(whole)


def by_name(source: Any, sink: Any, arcs: Any, connectivity: int = 4) -> dict[str, Any]:
    """Return what a caller gave, unchecked: ``source``, ``sink`` and the directions, in this order.

    Raises
    ------
    NetworkError
        For another `connectivity`, and for directions that are missing or unknown.
    """
    if isinstance(connectivity, bool) or connectivity not in (4, 8):
        raise NetworkError(f"connectivity={connectivity!r} is neither 4 nor 8")
    names = FOUR if connectivity == 4 else EIGHT
    return {"source": source, "sink": sink, **_by_direction(arcs, names)}


def _filled(array: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return a checked array, which is nobody else's, in the shape of all."""
    return array if array.shape == shape else np.array(np.broadcast_to(array, shape))


def _by_direction(arcs: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(arcs, Mapping):
        return dict.fromkeys(names, arcs)
    unknown = [name for name in arcs if name not in names]
    missing = [name for name in names if name not in arcs]
    if unknown or missing:
        wrong = f"unknown: {unknown}" if unknown else f"missing: {missing} (0 where there are none)"
        raise NetworkError(f"arcs have the directions {', '.join(names)}; {wrong}")
    return {name: arcs[name] for name in names}


def _capacities(values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError:
        raise NetworkError(f"{name} is no array: its rows differ in length") from None
    return whole_numbers(array, name)


def common_shape(arrays: Mapping[str, np.ndarray]) -> tuple[int, int]:
    """Return the height and width that all arrays broadcast to.

    Raises
    ------
    NetworkError
        If there are none.
    """
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise NetworkError(f"shapes do not go together: {shapes}") from None
    if not shape:
        raise NetworkError("source, sink and arcs are all scalars: none tells height and width")
    if len(shape) != 2 or 0 in shape:
        raise NetworkError(f"a grid has height and width of at least 1, not shape {shape}")
    return shape[0], shape[1]
