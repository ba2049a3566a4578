"""The paper's algorithms one after the other, in plain NumPy: the oracle for the kernels.

Read it beside [D13 sec.3]: the functions are the paper's (`gpubfs` is Algorithm 2, `gpubfs_wr`
Algorithm 4, `alternate` Algorithm 3), and so are the names of the arrays. A kernel's threads become
a loop over vertices, whose order is a parameter: with one thread a vertex the hardware may take
them in any order, and every order must end with a maximum matching. Interleavings within a loop
body are not shown here.

Every round that finds a path gains. The first path to be alternated meets nothing that another has
changed, and adds an edge to the matching. A later one does so, too, or runs into an earlier one and
stops: it has then matched its free row and leaves another row free, or has changed nothing. So such
a round ends with a larger matching, and there are at most as many of them as columns.

The printed listings leave three things open:

- Algorithm 1 sets both flags but never clears them. Here `bfs` clears them: ``vertex_inserted``
  before each level, ``augmenting_path_found`` before each search.
- A path ends if ``matched_row`` is -1, and line 8 of Algorithm 3 would then read
  ``predecessor[-1]``. Here that line is skipped for -1.
- `fix_matching` is told to compare ``cmatch[rmatch[r]]``, but ``rmatch[r]`` may be -2 still (the
  path was not alternated). Such a row becomes -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.model import Matching
from papers.common.problems.graph import Graph
from papers.deveci_matching.start import start

UNMATCHED = -1
FOUND = -2
"""``rmatch`` of a free row that ends an augmenting path."""

L0 = 2
"""The level of free columns. The paper chooses 2 for APsB with GPUBFS-WR: see `gpubfs_wr`."""

LEVELS_COUNTED = 400


def init_bfs_array(cmatch: np.ndarray) -> np.ndarray:
    """Return ``bfs_array``: L0 for free columns, L0 - 1, "not visited", for others [D13 sec.3]."""
    return np.where(cmatch > UNMATCHED, L0 - 1, L0)


def init_root(cmatch: np.ndarray) -> np.ndarray:
    """Return ``root``: a free column is its own root; the others have 0 for now [D13 sec.3]."""
    return np.where(cmatch > UNMATCHED, 0, np.arange(cmatch.size))


def gpubfs(
    bfs_level: int,
    bfs_array: np.ndarray,
    cxadj: np.ndarray,
    cadj: np.ndarray,
    rmatch: np.ndarray,
    predecessor: np.ndarray,
    order: np.ndarray,
) -> tuple[bool, bool]:
    """Expand one level of columns [D13 Alg.2].

    Parameters
    ----------
    bfs_level : int
    bfs_array : int[columns]
        Level of each column.
    cxadj, cadj : int[columns + 1], int[edges]
    rmatch : int[rows]
        Becomes -2 for the free rows that are reached.
    predecessor : int[rows]
        The column from which each row was reached.
    order : int[columns]
        The columns in the order in which their threads run.

    Returns
    -------
    vertex_inserted, augmenting_path_found : bool
        Whether there is a next level; whether a free row was reached.
    """
    vertex_inserted = augmenting_path_found = False
    for col_vertex in order:
        if bfs_array[col_vertex] != bfs_level:
            continue
        for neighbor_row in cadj[cxadj[col_vertex] : cxadj[col_vertex + 1]]:
            col_match = rmatch[neighbor_row]
            if col_match > UNMATCHED:
                if bfs_array[col_match] == L0 - 1:
                    vertex_inserted = True
                    bfs_array[col_match] = bfs_level + 1
                    predecessor[neighbor_row] = col_vertex
            elif col_match == UNMATCHED:
                rmatch[neighbor_row] = FOUND
                predecessor[neighbor_row] = col_vertex
                augmenting_path_found = True
    return vertex_inserted, augmenting_path_found


def gpubfs_wr(
    bfs_level: int,
    bfs_array: np.ndarray,
    cxadj: np.ndarray,
    cadj: np.ndarray,
    rmatch: np.ndarray,
    predecessor: np.ndarray,
    root: np.ndarray,
    order: np.ndarray,
    improved: bool = False,
) -> tuple[bool, bool]:
    """Expand one level of columns, none of a root that has its path already [D13 Alg.4].

    With `improved` [D13 sec.3] the root's entry of ``bfs_array`` becomes not L0 - 2 but minus the
    row at the end of its path. Since L0 is 2, levels and "not visited" are 1 or more, so that 0
    can only be row 0. With L0 = 1 it could not be told apart.

    Parameters
    ----------
    bfs_level, bfs_array, cxadj, cadj, rmatch, predecessor, order
        See `gpubfs`.
    root : int[columns]
        The free column from which each column was reached.
    improved : bool
        Whether `alternate_wr` follows.

    Returns
    -------
    vertex_inserted, augmenting_path_found : bool
    """
    vertex_inserted = augmenting_path_found = False
    for col_vertex in order:
        if bfs_array[col_vertex] != bfs_level:
            continue
        my_root = root[col_vertex]
        if bfs_array[my_root] < L0 - 1:
            continue
        for neighbor_row in cadj[cxadj[col_vertex] : cxadj[col_vertex + 1]]:
            col_match = rmatch[neighbor_row]
            if col_match > UNMATCHED:
                if bfs_array[col_match] == L0 - 1:
                    vertex_inserted = True
                    bfs_array[col_match] = bfs_level + 1
                    root[col_match] = my_root
                    predecessor[neighbor_row] = col_vertex
            elif col_match == UNMATCHED:
                bfs_array[my_root] = -neighbor_row if improved else L0 - 2
                rmatch[neighbor_row] = FOUND
                predecessor[neighbor_row] = col_vertex
                augmenting_path_found = True
    return vertex_inserted, augmenting_path_found


def _walk(row_vertex: int, rmatch: Any, cmatch: Any, predecessor: Any) -> None:
    """Swap the edges from one free row back towards its root: the inner loop of [D13 Alg.3].

    Line 8 asks whether the column's match is a row that was reached from this very column. That is
    so only if a walk has been here, this one or another: earlier matches were reached from other
    columns, since a search visits a column's own row on the way to the column. So no walk takes a
    column twice, and each one ends.
    """
    while row_vertex != UNMATCHED:
        matched_col = predecessor[row_vertex]
        matched_row = cmatch[matched_col]
        if matched_row != UNMATCHED and predecessor[matched_row] == matched_col:
            break
        cmatch[matched_col] = row_vertex
        rmatch[row_vertex] = matched_col
        row_vertex = matched_row


def alternate(
    rmatch: np.ndarray, cmatch: np.ndarray, predecessor: np.ndarray, order: np.ndarray
) -> None:
    """Alternate from every free row that was reached, wholly or in part [D13 Alg.3].

    Parameters
    ----------
    rmatch, cmatch : int[rows], int[columns]
    predecessor : int[rows]
        Entries of earlier rounds do no harm: the rows on a path have entries of this round.
    order : int[rows]
        The rows in the order in which their threads run.
    """
    for row_vertex in order:
        if rmatch[row_vertex] == FOUND:
            _walk(row_vertex, rmatch, cmatch, predecessor)


def alternate_wr(
    rmatch: np.ndarray,
    cmatch: np.ndarray,
    predecessor: np.ndarray,
    bfs_array: np.ndarray,
    root: np.ndarray,
    order: np.ndarray,
) -> None:
    """Alternate one path a root, the one whose end its ``bfs_array`` names [D13 sec.3].

    No column has two roots, so these paths do not meet. The ends are looked up from the rows, as
    the paper's text reads; the kernel (`papers.deveci_matching.kernels.fix_matching`) looks from
    the roots, because with racing trees no row need be the end that its own root names. In sequence
    both find the same ends.

    Parameters
    ----------
    rmatch, cmatch, predecessor, order
        See `alternate`.
    bfs_array, root : int[columns]
        From the improved `gpubfs_wr`.
    """
    for row_vertex in order:
        if rmatch[row_vertex] == FOUND:
            my_root = root[predecessor[row_vertex]]
            if bfs_array[my_root] == -row_vertex:
                _walk(row_vertex, rmatch, cmatch, predecessor)


def fix_matching(rmatch: np.ndarray, cmatch: np.ndarray) -> None:
    """Free the rows whose column is matched with another row, or that are still -2 [D13 sec.3]."""
    for row in range(rmatch.size):
        column = rmatch[row]
        if column == FOUND or (column != UNMATCHED and cmatch[column] != row):
            rmatch[row] = UNMATCHED


def bfs(
    graph: Graph,
    rmatch: np.ndarray,
    cmatch: np.ndarray,
    predecessor: np.ndarray,
    order: np.ndarray,
    shortest: bool,
    variant: str,
) -> tuple[bool, int, np.ndarray, np.ndarray]:
    """Search from all free columns, as lines 3 to 11 of [D13 Alg.1] do.

    Parameters
    ----------
    graph, rmatch, cmatch, predecessor, order
        See `gpubfs`.
    shortest : bool
        Whether to stop after the first level that reaches a free row, as lines 9 and 10 of APsB do.
    variant : {"plain", "wr"}

    Returns
    -------
    augmenting_path_found : bool
    levels : int
        The number of levels that were expanded.
    bfs_array, root : int[columns]
    """
    bfs_level, levels = L0, 0
    bfs_array, root = init_bfs_array(cmatch), init_root(cmatch)
    vertex_inserted, augmenting_path_found = True, False
    while vertex_inserted:
        fixed = (bfs_level, bfs_array, graph.cxadj, graph.cadj, rmatch, predecessor)
        if variant == "wr":
            vertex_inserted, found = gpubfs_wr(*fixed, root, order, improved=shortest)
        else:
            vertex_inserted, found = gpubfs(*fixed, order)
        levels += 1
        augmenting_path_found |= found
        if shortest and augmenting_path_found:
            break
        bfs_level += 1
    return augmenting_path_found, levels, bfs_array, root


def _match(graph: Graph, shortest: bool, initial: Any, variant: str, *orders: Any) -> Matching:
    """Run [D13 Alg.1] with its lines 9 and 10 (APsB) or without them (APFB)."""
    if variant not in ("plain", "wr"):
        raise ValueError(f"variant={variant!r} is neither plain nor wr")
    sizes = (graph.columns, graph.rows)
    columns, rows = (
        np.arange(n) if o is None else np.asarray(o) for n, o in zip(sizes, orders, strict=True)
    )
    rmatch, cmatch = (side.astype(np.int64) for side in start(graph, initial))
    predecessor = np.full(graph.rows, UNMATCHED)
    before = int((cmatch >= 0).sum())
    counters = {"initial_cardinality": before, "bfs_iterations": 0, "bfs_launches": 0}
    for iteration in range(graph.columns + 1):
        found, levels, bfs_array, root = bfs(
            graph, rmatch, cmatch, predecessor, columns, shortest, variant
        )
        counters["bfs_iterations"] += 1
        counters["bfs_launches"] += levels
        if iteration < LEVELS_COUNTED:
            counters[f"levels_{iteration:03d}"] = levels
        if not found:
            size = int((cmatch >= 0).sum())
            counters["augmenting_paths"] = size - before
            return Matching(rmatch.astype(np.int32), cmatch.astype(np.int32), size, counters)
        if shortest and variant == "wr":
            alternate_wr(rmatch, cmatch, predecessor, bfs_array, root, rows)
        else:
            alternate(rmatch, cmatch, predecessor, rows)
        fix_matching(rmatch, cmatch)
    raise RuntimeError(f"paths were found in each of {graph.columns + 1} rounds")


def apsb(
    graph: Graph,
    initial: Any = None,
    variant: str = "wr",
    column_order: Any = None,
    row_order: Any = None,
) -> Matching:
    """Return a maximum matching by shortest augmenting paths, the GPU's HK [D13 Alg.1].

    Parameters
    ----------
    graph : Graph
    initial : {None, "cheap", "empty"} or (row_match, column_match)
        See `papers.deveci_matching.start.start`.
    variant : {"plain", "wr"}
        `gpubfs` and `alternate`; or the improved `gpubfs_wr` and `alternate_wr`.
    column_order, row_order : int[columns], int[rows], optional
        Permutations, the orders of the threads; by default 0, 1, 2 ...

    Returns
    -------
    Matching
        Counters: ``initial_cardinality``, ``augmenting_paths``, ``bfs_iterations`` (searches),
        ``bfs_launches`` (levels of all of them), ``levels_000`` and so on (of the first 400).

    Raises
    ------
    GraphError
        For a bad start.
    ValueError
        For an unknown variant.
    RuntimeError
        If the algorithm does not end.
    """
    return _match(graph, True, initial, variant, column_order, row_order)


def apfb(
    graph: Graph,
    initial: Any = None,
    variant: str = "wr",
    column_order: Any = None,
    row_order: Any = None,
) -> Matching:
    """Return a maximum matching by searches to the end, the GPU's HKDW [D13 sec.3].

    It is `apsb` without lines 9 and 10 of [D13 Alg.1], and without the improvement: parameters,
    result and errors are the same.
    """
    return _match(graph, False, initial, variant, column_order, row_order)
