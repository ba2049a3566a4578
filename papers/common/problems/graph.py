"""Bipartite graphs, the instances of the matching problem, checked once.

The vertices are the rows and columns of a sparse matrix, the edges its stored entries. Structure
counts and values do not: a stored zero is an edge, as for SciPy's matching, except in BSR and DIA
(see `FILLED`). Two entries at one place are one edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

EDGE_LIMIT = 2**31 - 1
"""Edges are counted in 32 bits, as in the papers."""

FEW = 64
"""Lines, and entries, up to which a matrix is looked through faster as lists of Python."""

FILLED = ("dia", "bsr")
"""Sparse formats that fill diagonals or blocks up with zeros. A stored zero cannot be told from
these, so that zeros are no edges there; SciPy's matching takes neither format."""


class GraphError(ValueError):
    """A graph, or a matching to start from, is wrong; the message says where."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A bipartite graph by columns; `bipartite` makes one of any input and checks it.

    Attributes
    ----------
    rows, columns : int
        Number of vertices of each side; either may be 0.
    cxadj : int32[columns + 1]
        Column ``c`` has the neighbours ``cadj[cxadj[c]:cxadj[c + 1]]``.
    cadj : int32[edges]
        Row indices, which increase within a column.
    """

    rows: int
    columns: int
    cxadj: np.ndarray
    cadj: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns of the matrix."""
        return self.rows, self.columns

    @property
    def edges(self) -> int:
        """The number of edges."""
        return int(self.cadj.size)

    @cached_property
    def by_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The same edges by rows: ``rxadj`` int32[rows + 1] and ``radj`` int32[edges]."""
        matrix = self.matrix().tocsr()
        return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)

    @classmethod
    def of_both(
        cls,
        rows: int,
        columns: int,
        by_columns: tuple[np.ndarray, np.ndarray],
        by_rows: tuple[np.ndarray, np.ndarray],
    ) -> Graph:
        """Return a graph of which both directions are known; nothing is checked.

        Parameters
        ----------
        rows, columns : int
        by_columns : (int32[columns + 1], int32[edges])
        by_rows : (int32[rows + 1], int32[edges])
            The same edges; both increase within a line.
        """
        graph = cls(rows, columns, *by_columns)
        vars(graph)["by_rows"] = by_rows  # where `cached_property` looks
        return graph

    def matrix(self) -> Any:
        """Return a `scipy.sparse.csc_array` of ones, int8; index arrays are shared."""
        from scipy.sparse import csc_array

        ones = np.ones(self.edges, np.int8)
        return csc_array((ones, self.cadj, self.cxadj), shape=self.shape)

    def permuted(self, seed: int) -> Graph:
        """Return the graph with rows and columns in random order (the papers' RCP).

        Parameters
        ----------
        seed : int
            Seed of `numpy.random.default_rng`, which shuffles the rows first, then the columns.
        """
        random = np.random.default_rng(seed)
        row_to = random.permutation(self.rows).astype(np.int32)
        column_from = random.permutation(self.columns)
        degrees = np.diff(self.cxadj)[column_from]
        cxadj = np.zeros(self.columns + 1, np.int64)
        np.cumsum(degrees, out=cxadj[1:])
        starts = np.repeat(self.cxadj[:-1][column_from].astype(np.int64) - cxadj[:-1], degrees)
        cadj = row_to[self.cadj[starts + np.arange(self.edges)]]
        return bipartite((cxadj, cadj, self.shape), by="columns")


def bipartite(graph: Any, by: str = "rows") -> Graph:
    """Check a graph and store it by columns.

    Parameters
    ----------
    graph : Graph, scipy sparse array or matrix, array_like[rows, columns], or tuple
        Sparse: any format and any integer index type; every stored entry is an edge, zeros too,
        except in BSR and DIA (see `FILLED`). Dense: every entry that is not zero. A tuple holds
        ``(indptr, indices, shape)``.
    by : {"rows", "columns"}
        Whether a tuple's ``indptr`` runs over the rows (CSR) or the columns (CSC).

    Raises
    ------
    GraphError
        If the graph is not two-dimensional or holds objects, if it is one of networkx, if
        ``indptr`` does not start at 0, decreases or does not end at the number of indices, if a row
        of a LIL matrix has more indices than values or fewer, if an index lies outside the shape,
        or if there are more than `EDGE_LIMIT` edges or vertices of a side.
    """
    from scipy import sparse

    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, tuple):
        matrix = _of_arrays(graph, by)
    elif sparse.issparse(graph):
        matrix = _of_sparse(graph)
    else:
        matrix = _of_dense(graph)
    if max(*matrix.shape, matrix.nnz) > EDGE_LIMIT:
        raise GraphError(
            f"{matrix.shape[0]} x {matrix.shape[1]} with {matrix.nnz} entries: edges and vertices "
            f"are counted in 32 bits, {EDGE_LIMIT} at most"
        )
    compressed = matrix.tocsc()
    if compressed is graph or not compressed.has_canonical_format:
        compressed = compressed.copy()
        compressed.sum_duplicates()
    rows, columns = (int(size) for size in compressed.shape)
    return Graph(
        rows, columns, compressed.indptr.astype(np.int32), compressed.indices.astype(np.int32)
    )


def _of_dense(graph: Any) -> Any:
    from scipy.sparse import coo_array

    if any(base.__module__.split(".")[0] == "networkx" for base in type(graph).__mro__):
        raise GraphError(
            "a networkx graph does not say which of its nodes are the rows: pass the sparse matrix "
            "networkx.bipartite.biadjacency_matrix(graph, row_order=...)"
        )
    array = _array(graph, "the matrix")
    if array.ndim != 2:
        raise GraphError(f"a graph is a matrix of two dimensions, not {array.ndim}")
    if array.dtype.kind not in "biufc":
        raise GraphError(f"entries of type {array.dtype} are no numbers")
    row, column = np.nonzero(array)
    return coo_array((np.ones(row.size, np.int8), (row, column)), shape=array.shape)


def _of_sparse(graph: Any) -> Any:
    from scipy.sparse import coo_array, csc_array, csr_array

    if graph.ndim != 2:
        raise GraphError(f"a graph is a matrix of two dimensions, not {graph.ndim}")
    if graph.format in ("csr", "csc"):
        indices = check_sparse(graph)
        make = csr_array if graph.format == "csr" else csc_array
        return make((np.ones(indices.size, np.int8), indices, graph.indptr), shape=graph.shape)
    other = _in_coordinates(graph)
    if graph.format in FILLED:
        other.eliminate_zeros()
    return coo_array((np.ones(other.row.size, np.int8), (other.row, other.col)), shape=other.shape)


def _in_coordinates(graph: Any) -> Any:
    """Return a matrix of any format but CSR and CSC as COO, its indices checked."""
    if graph.format == "lil":
        _check_lists(graph)
    try:
        other = graph.tocoo()
    except (ValueError, IndexError) as error:
        raise GraphError(f"a broken {graph.format} matrix: {error}") from error
    check_sparse(other)
    return other


def check_sparse(graph: Any) -> np.ndarray:
    """Check the index arrays of SciPy's matrix, which SciPy's own codes follow unseen.

    Parameters
    ----------
    graph : sparse array or matrix [rows, columns] in CSR, CSC or COO format

    Returns
    -------
    int[nnz]
        Its column indices (CSC: row indices), without the room that SciPy allows behind the last.

    Raises
    ------
    GraphError
    """
    if graph.format == "coo":
        if graph.row.size != graph.col.size:
            raise GraphError(f"{graph.row.size} row indices and {graph.col.size} column indices")
        for name, places, size in zip(
            ("row", "column"), (graph.row, graph.col), graph.shape, strict=True
        ):
            if places.size and (places.min() < 0 or places.max() >= size):
                raise GraphError(f"a {name} index lies outside 0 .. {size - 1}")
        return np.asarray(graph.col)
    if _is_right_and_small(graph):
        return np.asarray(graph.indices[: graph.indptr[-1]])
    indices = graph.indices[: max(0, int(graph.indptr[-1]))] if graph.indptr.size else []
    indices = np.asarray(indices)
    by = "rows" if graph.format == "csr" else "columns"
    _check(graph.indptr, indices, graph.shape, by)
    return indices


def entries_of(graph: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, columns and values of a sparse matrix as it stores them, once they are checked.

    SciPy's own conversions follow them unseen, and read beyond what a broken one has.

    Parameters
    ----------
    graph : sparse array or matrix [rows, columns] in any format

    Returns
    -------
    rows, columns : int[entries]
        In the order of storage, which of DIA, BSR, DOK and LIL is that of ``tocoo()``.
    values : array[entries]

    Raises
    ------
    GraphError
        As from `bipartite`, or if there are more indices than values.
    """
    if graph.format in ("csr", "csc"):
        indices = check_sparse(graph)
    else:
        graph = _in_coordinates(graph)
        indices = graph.col
    values = np.asarray(graph.data)[: indices.size]
    if values.size < indices.size:
        raise GraphError(f"{indices.size} indices have {values.size} values")
    if graph.format == "coo":
        return graph.row, indices, values
    counts = np.diff(graph.indptr).astype(np.int64)
    lines = np.repeat(np.arange(counts.size, dtype=indices.dtype), counts)
    return (lines, indices, values) if graph.format == "csr" else (indices, lines, values)


def _is_right_and_small(graph: Any) -> bool:
    """Whether a CSR or CSC matrix has few entries, and index arrays that form one.

    A matrix that fails goes on to `_check`, which looks at every matrix and names the fault.
    """
    lines, across = graph.shape if graph.format == "csr" else graph.shape[::-1]
    if graph.indptr.size != lines + 1 or max(lines, graph.indices.size) > FEW:
        return False
    if graph.indices.ndim != 1 or graph.indices.dtype.kind not in "iu":
        return False
    starts, indices = graph.indptr.tolist(), graph.indices.tolist()
    ordered = starts[0] == 0 and starts == sorted(starts) and starts[-1] <= len(indices)
    return ordered and (not indices or (min(indices) >= 0 and max(indices) < across))


def _check_lists(graph: Any) -> None:
    """Check that each row of a LIL matrix has as many values as indices; SciPy counts one list."""
    for name, lists in (("rows", graph.rows), ("data", graph.data)):
        if len(lists) != graph.shape[0]:
            raise GraphError(
                f"a broken lil matrix: {name} has {len(lists)} lists for {graph.shape[0]} rows"
            )
    for row, (places, values) in enumerate(zip(graph.rows, graph.data, strict=True)):
        if len(places) != len(values):
            raise GraphError(
                f"a broken lil matrix: row {row} has {len(places)} indices and {len(values)} values"
            )


def _of_arrays(graph: tuple[Any, ...], by: str) -> Any:
    from scipy.sparse import csc_array, csr_array

    if by not in ("rows", "columns"):
        raise GraphError(f"by={by!r} is neither rows nor columns")
    if len(graph) != 3:
        raise GraphError("a tuple must hold indptr, indices and shape")
    indptr, indices = _array(graph[0], "indptr"), _array(graph[1], "indices")
    try:
        shape = tuple(index(size) for size in graph[2])
    except TypeError:
        shape = ()
    if len(shape) != 2 or min(shape) < 0:
        raise GraphError(f"shape={graph[2]!r} is no pair of sizes")
    if max(shape) > EDGE_LIMIT:
        raise GraphError(f"shape={shape}: vertices are counted in 32 bits, {EDGE_LIMIT} at most")
    _check(indptr, indices, shape, by)
    make = csr_array if by == "rows" else csc_array
    return make((np.ones(indices.size, np.int8), indices, indptr), shape=shape)


def _array(values: Any, name: str) -> np.ndarray:
    """Return the values as a NumPy array; masked entries have no meaning here."""
    if isinstance(values, np.ma.MaskedArray):
        raise GraphError(f"{name} is masked: say which entries are edges")
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        raise GraphError(f"{name} is no array: {error}") from error


def _check(indptr: np.ndarray, indices: np.ndarray, shape: Any, by: str) -> None:
    """Check that the arrays form a compressed matrix; SciPy looks at their ends only."""
    lines, across = shape if by == "rows" else shape[::-1]
    for name, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise GraphError(f"{name} is no line of integers")
    if indptr.size != lines + 1:
        raise GraphError(f"indptr has {indptr.size} entries for {lines} {by}, not {lines + 1}")
    if indptr[0] != 0:
        raise GraphError(f"indptr starts at {indptr[0]}, not at 0")
    if np.any(indptr[1:] < indptr[:-1]):
        raise GraphError(f"indptr decreases at {int(np.argmax(indptr[1:] < indptr[:-1]))}")
    if indptr[-1] != indices.size:
        raise GraphError(f"indptr ends at {indptr[-1]}, there are {indices.size} indices")
    if indices.size and (indices.min() < 0 or indices.max() >= across):
        raise GraphError(f"an index lies outside 0 .. {across - 1}")
