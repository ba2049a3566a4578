"""SciPy's forms: the arguments and the results of its functions, as data and answers of ours.

===========  ====================================  ===========================================
problem      a function takes                      and returns
===========  ====================================  ===========================================
assignment   a matrix                              ``(row_ind, col_ind)``
matching     a CSR array of ones                   the row of each column, -1: none
flow         a CSR array of capacities, source,    an object with ``flow_value`` and ``flow``,
             sink                                  the net flow of each pair of nodes
===========  ====================================  ===========================================

Results come from code that nobody here has checked: what is no such result at all is an
`AnswerError`, and all the rest is left to the proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from papers.common.model import Assignment, Flow, Matching, ProblemName
from papers.common.problems.assignment import total_cost
from papers.common.problems.graph import Graph
from papers.common.problems.network import STEP, Grid, Network, inner


class AnswerError(ValueError):
    """A function has returned what is no result of its problem; the message says how."""


def arguments(problem: ProblemName, data: Any) -> tuple[Any, ...]:
    """Return the positional arguments of SciPy's function; all are copies.

    Parameters
    ----------
    problem : {"assignment", "matching", "flow"}
    data : array[n, m], Graph, Network or Grid
        In the problem's own form. Pixels of a grid are nodes row by row, then source and sink.
    """
    return _ARGUMENTS[problem](data)


def answer(problem: ProblemName, data: Any, returned: Any) -> Assignment | Matching | Flow:
    """Return a function's result as an answer, without duals.

    Parameters
    ----------
    problem : {"assignment", "matching", "flow"}
    data
        As in `arguments`.
    returned
        The function's result.

    Raises
    ------
    AnswerError
        If its type, its shape or its indices are none of a result.
    """
    return _ANSWERS[problem](data, returned)


def _line(values: Any, name: str, below: int, lowest: int = 0) -> np.ndarray:
    """Return indices as int64[k], each from `lowest` to below `below`."""
    try:
        array = np.asarray(values)
    except Exception as error:
        raise AnswerError(f"{name} is no array: {type(error).__name__}: {error}") from None
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise AnswerError(f"{name} has shape {array.shape} and type {array.dtype}, not int[k]")
    if array.size and (int(array.min()) < lowest or int(array.max()) >= below):
        raise AnswerError(f"{name} names a line outside {lowest} .. {below - 1}")
    return array.astype(np.int64)


# ------------------------------------------------------------------------------- assignment


def _costs(data: Any) -> tuple[Any, ...]:
    return (np.array(data, copy=True),)


def _assignment(data: Any, returned: Any) -> Assignment:
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise AnswerError(
            f"it returned {_described(returned)}, not (row_ind, col_ind) as "
            "scipy.optimize.linear_sum_assignment does"
        )
    costs = np.asarray(data)
    rows = _line(returned[0], "row_ind", costs.shape[0])
    columns = _line(returned[1], "col_ind", costs.shape[1])
    if rows.size != columns.size or rows.size != min(costs.shape):
        raise AnswerError(
            f"it returned {rows.size} rows and {columns.size} columns for a matrix of "
            f"{costs.shape[0]} x {costs.shape[1]}"
        )
    order = np.argsort(rows, kind="stable")
    rows, columns = rows[order], columns[order]
    return Assignment(rows, columns, total_cost(costs[rows, columns]), None, None)


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    size = len(value) if isinstance(value, (tuple, list)) else None
    more = f" of shape {shape}" if shape is not None else f" of {size}" if size is not None else ""
    return f"{type(value).__name__}{more}"


# ------------------------------------------------------------------------------- matching


def _pattern(data: Graph) -> tuple[Any, ...]:
    from scipy.sparse import csr_array

    indptr, indices = data.by_rows
    ones = np.ones(data.edges, np.int8)
    return (csr_array((ones, indices.copy(), indptr.copy()), shape=data.shape),)


def _matching(data: Graph, returned: Any) -> Matching:
    found = _line(returned, "the matching", data.rows, lowest=-1)
    if found.size != data.columns:
        raise AnswerError(
            f"it returned {found.size} rows for {data.columns} columns: one a column, as "
            "scipy.sparse.csgraph.maximum_bipartite_matching does"
        )
    row_match = np.full(data.rows, -1, np.int32)
    columns = np.flatnonzero(found >= 0)
    row_match[found[columns]] = columns
    return Matching(row_match, found.astype(np.int32), int(columns.size))


# ------------------------------------------------------------------------------- flow


def _capacities(data: Network | Grid) -> tuple[Any, ...]:
    from scipy.sparse import csr_array

    net = data.network()
    there = net.capacity > 0
    fits = int(net.capacity.max(initial=0)) < 2**31
    values = net.capacity[there].astype(np.int32 if fits else np.int64)
    shape = net.nodes, net.nodes
    graph = csr_array((values, (net.tail[there], net.head[there])), shape=shape)
    return graph, net.source, net.sink


def _flow(data: Network | Grid, returned: Any) -> Flow:
    from scipy.sparse import issparse

    matrix, value = getattr(returned, "flow", None), getattr(returned, "flow_value", None)
    if matrix is None or not issparse(matrix) or not isinstance(value, (int, np.integer)):
        raise AnswerError(
            f"it returned {_described(returned)}, not an object with flow_value and flow (sparse) "
            "as scipy.sparse.csgraph.maximum_flow does"
        )
    net = data.network()
    if matrix.shape != (net.nodes, net.nodes):
        raise AnswerError(f"its flow has shape {matrix.shape}, the network {net.nodes} nodes")
    residual = net.capacity - _by_arc(net, matrix)
    side = _source_side(net, residual)
    if isinstance(data, Grid):
        return Flow(int(value), _of_grid(data, net, residual), side[:-2].reshape(data.shape))
    return Flow(int(value), residual, side)


def _keys(net: Network) -> np.ndarray:
    """Return a number of each arc's two ends; they increase."""
    return net.tail.astype(np.int64) * net.nodes + net.head


def _by_arc(net: Network, matrix: Any) -> np.ndarray:
    """Return the net flow of each arc, int64[arcs]."""
    given = matrix.tocoo()
    kept = np.flatnonzero(np.asarray(given.data) != 0)
    values = np.asarray(given.data)[kept]
    if values.dtype.kind not in "iu":
        raise AnswerError(f"its flow is of type {values.dtype}, not of integers")
    tail, head = given.row[kept].astype(np.int64), given.col[kept].astype(np.int64)
    keys, wanted = _keys(net), tail * net.nodes + head
    place = np.minimum(np.searchsorted(keys, wanted), max(0, keys.size - 1))
    strange = np.flatnonzero(keys[place] != wanted) if keys.size else np.arange(wanted.size)
    if strange.size:
        raise AnswerError(
            f"its flow goes from node {tail[strange[0]]} to node {head[strange[0]]}, between which "
            "there is no arc"
        )
    flow = np.zeros(net.arcs, np.int64)
    np.add.at(flow, place, values.astype(np.int64))
    return flow


def _source_side(net: Network, residual: np.ndarray) -> np.ndarray:
    """Return the nodes that cannot reach the sink, bool[nodes]; the source is one of them always.

    So the proof of a flow that is not maximum finds a cut larger than the flow.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    left = residual > 0
    ones = np.ones(int(left.sum()), np.int8)
    back = csr_array((ones, (net.head[left], net.tail[left])), shape=(net.nodes, net.nodes))
    side = np.ones(net.nodes, bool)
    side[breadth_first_order(back, net.sink, return_predecessors=False)] = False
    side[net.source] = True
    return side


def _of_grid(grid: Grid, net: Network, residual: np.ndarray) -> dict[str, np.ndarray]:
    """Return the residual capacities of a grid's network in the grid's own arrays."""
    shape = grid.shape
    pixel = np.arange(grid.source.size, dtype=np.int64).reshape(shape)
    keys = _keys(net)

    def left(tail: np.ndarray, head: np.ndarray) -> np.ndarray:
        return residual[np.searchsorted(keys, tail * net.nodes + head)]

    source, sink = np.full(shape, net.source), np.full(shape, net.sink)
    found = {"source": left(source, pixel), "sink": left(pixel, sink)}
    for name, capacity in grid.arcs.items():
        down, right = STEP[name]
        inside = inner(shape, name)
        found[name] = np.zeros_like(capacity)
        found[name][inside] = left(pixel[inside], np.roll(pixel, (-down, -right), (0, 1))[inside])
    return found


_ARGUMENTS: dict[ProblemName, Callable[[Any], tuple[Any, ...]]] = {
    "assignment": _costs,
    "matching": _pattern,
    "flow": _capacities,
}
_ANSWERS: dict[ProblemName, Callable[[Any, Any], Assignment | Matching | Flow]] = {
    "assignment": _assignment,
    "matching": _matching,
    "flow": _flow,
}
