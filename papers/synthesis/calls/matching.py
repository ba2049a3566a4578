"""`maximum_bipartite_matching` as SciPy has it, and what a maximum matching tells of a graph.

By Koenig's theorem a maximum matching gives a vertex cover of its size, its size is the matrix's
structural rank, and the vertices that alternating paths reach from free ones part the matrix into
the blocks of Dulmage and Mendelsohn (`papers.synthesis.calls.blocks`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from papers.common.deadline import Deadline, check_seconds
from papers.common.problems.graph import check_sparse
from papers.synthesis.calls.choice import (
    Choice,
    Machine,
    Question,
    choose,
    expect,
    machines,
    solver_of,
)
from papers.synthesis.calls.places import Placed, is_on_device, place

if TYPE_CHECKING:
    from papers.synthesis.calls.lines.direct import Looked

FORMATS = ("csr", "csc", "coo")

Side = Literal["rows", "columns"]

ON_GPU = "deveci_matching:beyond"
"""The solver that runs on the GPU."""

NEARLY = 0.13
"""Pairs that may be missing for each that can be, where one core searches before the GPU does.
Random graphs lack more after the greedy pass, and searches would look at every edge three times in
vain; so would they on most of the real matrices that lack more (``evidence/graphs/looks.csv``)."""

EARLY = "papers: it was not needed: a greedy pass and searches on one core were enough"
"""The line that ``explain=True`` adds where the solver is not needed."""

AT_ONCE = "papers: sent to the GPU at once: its lines are many, and their partners scattered"
"""The line that ``explain=True`` adds where no core looks at the graph."""

ON_HOST = place(np.empty(0, np.int32))
"""The place of SciPy's matrices."""

DENSE = 100
"""Edges a line from which a graph counts as dense: more than in the recorded graphs on which the
GPU wins, and fewer than in the full triangle on which it loses."""


@dataclass(frozen=True)
class VertexCover:
    """The fewest rows and columns that hold an end of every edge.

    Attributes
    ----------
    rows : bool[rows]
    columns : bool[columns]
    """

    rows: np.ndarray
    columns: np.ndarray

    @property
    def size(self) -> int:
        """The number of vertices: as many as a maximum matching has pairs."""
        return int(np.count_nonzero(self.rows)) + int(np.count_nonzero(self.columns))


@dataclass(frozen=True)
class DulmageMendelsohn:
    """A matrix in block upper triangular form: ``graph[row_order][:, column_order]``.

    The first block has more columns than rows, the last more rows than columns (either may be
    empty), those between are square, have a matched diagonal and cannot be parted further. Nothing
    is stored below the blocks.

    Attributes
    ----------
    row_order, column_order : int64[rows], int64[columns]
        Permutations.
    row_blocks, column_blocks : int64[blocks + 1]
        Block ``k`` has the rows ``row_order[row_blocks[k]:row_blocks[k + 1]]``, the columns
        likewise. Block 0 is the wide one, the last the tall one, so there are at least two.
    """

    row_order: np.ndarray
    column_order: np.ndarray
    row_blocks: np.ndarray
    column_blocks: np.ndarray


# ------------------------------------------------------------------------------- calls


def maximum_bipartite_matching(
    graph: Any,
    perm_type: Literal["row", "column"] = "row",
    *,
    seconds: float | None = None,
    device: Machine = "auto",
    solver: str | None = None,
    explain: bool = False,
) -> Any:
    """Match as many rows and columns as possible, as `scipy.sparse.csgraph` does.

    Where several matchings are maximum, it may be another one than SciPy's. Most real matrices are
    matched on one core before a solver is needed (`papers.synthesis.calls.lines.direct`); a solver
    that is named runs, and so does the GPU's if a GPU is asked for. It may return another matching
    each time, of the same size.

    Parameters
    ----------
    graph : sparse array or matrix [rows, columns] in CSR, CSC or COO format
        SciPy's, or one like it whose index arrays lie on a device (CuPy's). Every stored entry is
        an edge, whatever its value.
    perm_type : {"row", "column"}
        Whether the rows of the columns are returned, or the columns of the rows.
    seconds : float, optional
        The call gives up after so long.
    device : {"auto", "gpu", "cpu"}
    solver : str, optional
        ``PAPER:SOLVER`` or ``"scipy"`` instead of the table's choice.
    explain : bool
        Whether the choice and its reason are printed.

    Returns
    -------
    int32[columns] or int32[rows]
        The row matched to each column (or the column to each row), -1 where there is none.

    Raises
    ------
    TypeError
        If the graph is not sparse, or in another format.
    ValueError
        For a `perm_type` that is none (SciPy takes it for ``"row"``), a broken graph, `seconds`
        that are none, an unknown `solver` or `device`.
    papers.common.model.GivenUpError
        After `seconds`.
    RuntimeError
        For ``device="gpu"`` without a GPU.

    Examples
    --------
    >>> from papers import maximum_bipartite_matching
    >>> from scipy.sparse import csr_array
    >>> maximum_bipartite_matching(csr_array([[1, 1], [1, 0]]), "column").tolist()
    [1, 0]
    """
    if perm_type not in ("row", "column"):
        raise ValueError(f"perm_type={perm_type!r} is neither 'row' nor 'column'")
    searched = None
    if issparse(graph) and graph.ndim == 2:  # one core looks first, so that Numba alone is needed
        expect(device, solver, lambda: _question(graph, seconds is not None), "numba")
    if seconds is not None:
        check_seconds(seconds)
    elif solver is None and device != "gpu" and not explain and issparse(graph):
        from papers.synthesis.calls.lines import small

        machines(device)
        found = small.matched(graph, perm_type)
        if isinstance(found, np.ndarray):
            return found
        searched = found
    deadline = Deadline(seconds)
    matrix, placed = _matrix_of(graph)
    if matrix.format == "coo":
        matrix = _in_lines(matrix)
    choice = choice_for(matrix, seconds, device, solver, placed.place)
    if explain:
        print(choice.line(f"{matrix.shape[0]} x {matrix.shape[1]}, {matrix.nnz} edges"))
    if choice.solver == "scipy":
        return placed.back(_by_scipy(matrix, perm_type, seconds))
    asked = solver is not None or device == "gpu"
    side: Side = "columns" if perm_type == "row" else "rows"
    return placed.back(_by_solver(choice.solver, matrix, deadline, asked, explain, side, searched))


def structural_rank(graph: Any, **options: Any) -> int:
    """Return the size of a maximum matching: the largest rank that values at these places allow.

    Parameters
    ----------
    graph, options
        As of `maximum_bipartite_matching`, without `perm_type`; SciPy's other formats, too, of
        which BSR and DIA fill blocks and diagonals up with zeros that are no edges.

    Returns
    -------
    int

    Examples
    --------
    >>> from papers import structural_rank
    >>> from scipy.sparse import csr_array
    >>> structural_rank(csr_array([[1, 1, 1], [0, 0, 1], [0, 0, 1]]))
    2
    """
    if issparse(graph) and graph.format not in FORMATS:
        from papers.common.problems.graph import bipartite

        graph = bipartite(graph).matrix()
    row_of_column = _on_host(maximum_bipartite_matching(graph, "row", **options))
    return int(np.count_nonzero(row_of_column >= 0))


def koenig_cover(graph: Any, matching: Any = None, **options: Any) -> VertexCover:
    """Return a smallest vertex cover: as many vertices as a maximum matching has pairs.

    Parameters
    ----------
    graph, options
        As of `maximum_bipartite_matching`, without `perm_type`.
        ``seconds`` bounds the matching alone.
    matching : int[columns], optional
        The value of ``maximum_bipartite_matching(graph)``; by default it is found here.

    Returns
    -------
    VertexCover

    Raises
    ------
    ValueError
        If `matching` is no matching of this graph, or not maximum.

    Examples
    --------
    >>> from papers import koenig_cover
    >>> from scipy.sparse import csr_array
    >>> koenig_cover(csr_array([[1, 1, 1], [0, 0, 1], [0, 0, 1]])).rows.tolist()
    [True, False, False]
    """
    from papers.synthesis.calls.blocks import cover_of

    return VertexCover(*cover_of(*_matched(graph, matching, options)))


def dulmage_mendelsohn(graph: Any, matching: Any = None, **options: Any) -> DulmageMendelsohn:
    """Return the blocks of Dulmage and Mendelsohn: a block upper triangular form.

    Parameters
    ----------
    graph, matching, options
        As of `koenig_cover`.

    Returns
    -------
    DulmageMendelsohn

    Raises
    ------
    ValueError
        As `koenig_cover`.

    Examples
    --------
    >>> from papers import dulmage_mendelsohn
    >>> from scipy.sparse import csr_array
    >>> blocks = dulmage_mendelsohn(csr_array([[1, 0], [1, 1]]))
    >>> blocks.row_order.tolist(), blocks.row_blocks.tolist()
    ([1, 0], [0, 0, 1, 2, 2])
    """
    from papers.synthesis.calls.blocks import blocks_of

    return DulmageMendelsohn(*blocks_of(*_matched(graph, matching, options)))


# ------------------------------------------------------------------------------- the work


def choice_for(
    matrix: Any,
    seconds: float | None = None,
    device: Machine = "auto",
    solver: str | None = None,
    lies: str = "host",
) -> Choice:
    """Return the solver of SciPy's matrix; see `papers.synthesis.calls.choice`."""
    return choose(_question(matrix, seconds is not None, lies), device, solver)


def _question(matrix: Any, limited: bool, lies: str = "host") -> Question:
    """State all that the rules ask about a graph."""
    traits = {"limited"} if limited else set()
    if matrix.nnz > DENSE * max(matrix.shape):
        traits.add("dense")
    return Question("matching", "graph", int(matrix.nnz), "any", lies, frozenset(traits))


def _matrix_of(graph: Any) -> tuple[Any, Placed]:
    """Return the graph as SciPy's matrix, and the place of its index array, for the way back."""
    if issparse(graph):
        if graph.format not in FORMATS:
            raise TypeError("graph must be in CSC, CSR, or COO format.")
        if graph.ndim != 2:
            raise ValueError(f"expected a graph of two dimensions, got {graph.ndim}")
        return graph, ON_HOST
    if getattr(graph, "format", None) not in FORMATS or not is_on_device(graph.data):
        raise TypeError("graph must be sparse: scipy.sparse.csr_array makes it so")
    if graph.format != "csr":
        graph = graph.tocsr()
    indices, indptr = (place(part).on_host() for part in (graph.indices, graph.indptr))
    ones = np.ones(indices.size, np.int8)
    return csr_array((ones, indices, indptr), shape=graph.shape), place(graph.indices)


def _in_lines(matrix: Any) -> csr_array:
    """Return the places of a COO matrix by rows, each once: one core looks at lines alone."""
    check_sparse(matrix)
    ones = np.ones(matrix.row.size, np.int8)
    return coo_array((ones, (matrix.row, matrix.col)), shape=matrix.shape).tocsr()


def _by_scipy(matrix: Any, perm_type: str, seconds: float | None) -> np.ndarray:
    from scipy.sparse.csgraph import maximum_bipartite_matching as scipys

    _refuse_seconds(seconds)
    check_sparse(matrix)
    return scipys(matrix, perm_type)


def _by_solver(
    name: str, matrix: Any, deadline: Deadline, asked: bool, explain: bool, side: Side,
    searched: Looked | None,
) -> np.ndarray:  # fmt: skip
    """Return the partners of the rows or of the columns; the solver runs if it was asked for.

    It goes on from what one core has `searched` already, if there is anything.
    """
    from papers.deveci_matching.beyond.lines import Lines
    from papers.synthesis.calls.lines import direct, scattered

    of_lines = (side == "rows") == (matrix.format == "csr")
    if searched is not None:
        return searched.solved(solver_of(name), deadline)[0 if of_lines else 1]
    lines = Lines.of(matrix)
    if name == ON_GPU and lines is not None and scattered.at_once(lines):
        if explain:
            print(AT_ONCE)
        return direct.at_once(lines, side, solver_of(name), deadline)
    looked = None if lines is None else direct.look(lines)
    if looked is None:
        solver = solver_of(name)
        left = deadline.left("the graph was not looked at yet")
        state = solver.upload(matrix, **({} if left is None else {"seconds": left}))
        solver.run(state)
        answer = solver.download(state)
        return answer.row_match if side == "rows" else answer.column_match
    deadline.check("a greedy pass over the graph")
    if not asked and _enlarged(looked, name, deadline.seconds is not None):
        if explain:
            print(EARLY)
        matches = looked.match, looked.across_match
    else:
        matches = looked.solved(solver_of(name), deadline)
    return matches[0] if of_lines else matches[1]


def _enlarged(looked: Looked, name: str, briefly: bool) -> bool:
    """Search on one core where that pays, and return whether the matching is maximum."""
    missing = looked.missing
    if name == ON_GPU and missing > NEARLY * min(looked.possible, looked.across):
        return False
    return not missing or looked.enlarge(briefly)


def _on_host(array: Any) -> np.ndarray:
    return place(array).on_host()


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that `maximum_bipartite_matching` would, where nothing is solved."""
    inspect.signature(maximum_bipartite_matching).bind(None, "row", **options)
    check_seconds(options.get("seconds"))
    device, solver = options.get("device", "auto"), options.get("solver")
    if device != "auto":
        machines(device)
    if solver is not None:
        choose(Question("matching", "graph", 1), "cpu", solver)
        if solver == "scipy":
            _refuse_seconds(options.get("seconds"))


def _refuse_seconds(seconds: float | None) -> None:
    if seconds is not None:
        raise ValueError("solver='scipy' takes no seconds: its code cannot be stopped")


def _matched(graph: Any, matching: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the graph by columns, and the partners of its rows and of its columns."""
    from papers.common.problems.graph import bipartite

    if matching is None:
        matching = maximum_bipartite_matching(graph, "row", **options)
    else:
        _check_options(options)
    checked = bipartite(_matrix_of(graph)[0])
    column_match = _on_host(matching)
    if column_match.shape != (checked.columns,) or column_match.dtype.kind not in "iu":
        raise ValueError(f"matching must be the row of each of the {checked.columns} columns")
    if column_match.size and not -1 <= column_match.min() <= column_match.max() < checked.rows:
        raise ValueError(f"matching names a row outside -1 .. {checked.rows - 1}")
    row_match = np.full(checked.rows, -1, np.int32)
    columns = np.flatnonzero(column_match >= 0)
    row_match[column_match[columns]] = columns
    return checked, row_match, column_match.astype(np.int32)
