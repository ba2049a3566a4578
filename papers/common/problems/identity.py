"""The identity of data: their size, and a checksum that any machine and any order of reading gives.

================  ==========================================================================
data              the checksum is SHA-256 of these numbers, little-endian, one after another
================  ==========================================================================
graph             ``indptr``, ``indices`` of its pattern by rows (CSR), int64: the columns of
                  each row increase, and none occurs twice
cost matrix       the costs row by row, int64 or float64
network           source, sink; then tail, head, capacity of all arcs of capacity above 0, int64:
                  sorted by tail and head, parallel ones added up, no loops
grid              the arrays ``source``, ``sink`` and the directions in their order, int64
================  ==========================================================================

The type in which a file stores its numbers has no part in it, nor have the stored values of a
graph. For a graph, `degrees` is a second checksum, which does not depend on how its vertices are
numbered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from papers.common.problems.graph import Graph
from papers.common.problems.network import Grid, Network

_BLOCK = 1 << 20
"""Numbers that are converted at a time, so that a large instance is not copied whole."""


@dataclass(frozen=True)
class Identity:
    """The size and the checksum of an instance's data.

    Attributes
    ----------
    rows, columns : int
        Rows and columns of a matrix or a graph, height and width of a grid, nodes of a network
        twice.
    entries : int
        Edges of a graph, costs of a matrix; of a network or a grid the arcs between two nodes
        (pixels) whose capacity is above 0.
    sha256 : str
        64 hexadecimal digits; see the table of the module.
    """

    rows: int
    columns: int
    entries: int
    sha256: str

    def row(self) -> dict[str, int | str]:
        """Return the four fields by name, as a record keeps them."""
        return asdict(self)


def checksum(arrays: Iterable[Any]) -> str:
    """Return SHA-256 of numbers, one array after another, each converted to 64 bits.

    Parameters
    ----------
    arrays : iterable of array_like
        Integers and booleans count as little-endian int64, floats as little-endian float64.
    """
    found = hashlib.sha256()
    for array in arrays:
        flat = np.asarray(array).reshape(-1)
        wide = "<f8" if flat.dtype.kind == "f" else "<i8"
        for first in range(0, flat.size, _BLOCK):
            found.update(flat[first : first + _BLOCK].astype(wide).tobytes())
    return found.hexdigest()


def degrees(graph: Graph) -> str:
    """Return SHA-256 of the sorted degrees of the rows, then of the columns, as `checksum`.

    Two graphs that differ in the numbers of their vertices alone have the same.
    """
    of_rows = np.bincount(graph.cadj, minlength=graph.rows)
    return checksum((np.sort(of_rows), np.sort(np.diff(graph.cxadj))))


def size(data: Any) -> tuple[int, int, int]:
    """Return rows, columns and entries of an instance's data, as `Identity` counts them.

    Parameters
    ----------
    data : Graph, Network, Grid or array[n, m]

    Raises
    ------
    TypeError
        If the data are none of these.
    """
    if isinstance(data, Graph):
        return data.rows, data.columns, data.edges
    if isinstance(data, Grid):
        height, width = data.shape
        return height, width, sum(int(np.count_nonzero(arcs)) for arcs in data.arcs.values())
    if isinstance(data, Network):
        return data.nodes, data.nodes, int(np.count_nonzero(data.capacity))
    if isinstance(data, np.ndarray) and data.ndim == 2:
        rows, columns = data.shape
        return rows, columns, data.size
    raise TypeError(f"{type(data).__name__} is no data of an instance")


def of_data(data: Any) -> Identity:
    """Return the identity of an instance's data, as `size` takes them."""
    return Identity(*size(data), checksum(_numbers(data)))


def _numbers(data: Any) -> tuple[Any, ...]:
    """Return the arrays that the checksum is about; see the module."""
    if isinstance(data, Graph):
        matrix = data.matrix().tocsr()
        return matrix.indptr, matrix.indices
    if isinstance(data, Grid):
        return data.source, data.sink, *data.arcs.values()
    if isinstance(data, Network):
        used = data.capacity > 0
        ends = (data.source, data.sink)
        return ends, data.tail[used], data.head[used], data.capacity[used]
    return (data,)
