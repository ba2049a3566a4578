"""Proves a matching maximum by a vertex cover of equal size, outside every clock.

Every edge of a graph has an end in every vertex cover, and no vertex is an end of two matched
pairs. So no matching is larger than any cover, and a cover as small as a matching proves both
optimal. Koenig's theorem says that a bipartite graph has one: of all vertices that alternating
paths reach from the free columns, it holds the rows, and of all others, the columns.

The proof does not rest on how the cover was found: every edge is checked against it, and its
vertices are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from papers.common.model import Matching, Proof
from papers.common.parallel import parallel
from papers.common.problems.assignment_proof import Refuted
from papers.common.problems.graph import Graph, bipartite


def matching(graph: Any, answer: Matching) -> Proof:
    """Prove a matching maximum by a Koenig vertex cover, or name its fault.

    The proof takes time and memory in proportion to vertices and edges.

    Parameters
    ----------
    graph : Graph or anything that `papers.common.problems.graph.bipartite` takes
    answer : Matching
        ``row_match`` int[rows] and ``column_match`` int[columns] with -1 for free vertices, and
        ``cardinality``.

    Returns
    -------
    Proof
        ``kind="koenig-cover"``.
    """
    checked = bipartite(graph)
    try:
        return Proof(True, "koenig-cover", _prove(checked, answer))
    except Refuted as refuted:
        return Proof(False, "koenig-cover", str(refuted))


def _prove(graph: Graph, answer: Matching) -> str:
    """Return the proof in words."""
    row_match = _line(answer.row_match, graph.rows, graph.columns, "row_match")
    column_match = _line(answer.column_match, graph.columns, graph.rows, "column_match")
    matched = _count_pairs(graph, row_match, column_match)
    if matched != answer.cardinality:
        raise Refuted(f"{matched} pairs are matched, the answer says {answer.cardinality}")
    row_reached, column_reached, end = _reach(graph.cxadj, graph.cadj, row_match, column_match)
    if end >= 0:
        raise Refuted(f"not maximum: an augmenting path ends in the free row {end}")
    check_cover(graph, row_reached, ~column_reached, matched)
    return (
        f"{matched} pairs, and {int(row_reached.sum())} rows and "
        f"{int((~column_reached).sum())} columns cover all {graph.edges} edges"
    )


def _line(values: Any, size: int, across: int, name: str) -> np.ndarray:
    """Return one side of the matching as int32."""
    array = np.asarray(values)
    if array.shape != (size,):
        raise Refuted(f"{name} has shape {array.shape}, not ({size},)")
    if array.dtype.kind not in "iu":
        raise Refuted(f"{name} holds {array.dtype}, not integers")
    if size and (int(array.min()) < -1 or int(array.max()) >= across):
        raise Refuted(f"{name} names a vertex outside -1 .. {across - 1}")
    return np.ascontiguousarray(array, dtype=np.int32)


def _count_pairs(graph: Graph, row_match: np.ndarray, column_match: np.ndarray) -> int:
    """Return the number of matched pairs; both sides must name the same pairs, all edges."""
    columns = np.flatnonzero(column_match >= 0)
    rows = column_match[columns]
    wrong = np.flatnonzero(row_match[rows] != columns)
    if wrong.size:
        row, column = rows[wrong[0]], columns[wrong[0]]
        raise Refuted(
            f"column {column} is matched with row {row}, that row with column {row_match[row]}"
        )
    claimed = int(np.count_nonzero(row_match >= 0))
    if claimed != columns.size:
        raise Refuted(f"{claimed} rows and {columns.size} columns are matched")
    strange = np.flatnonzero(_strangers(graph.cxadj, graph.cadj, column_match))
    if strange.size:
        column, row = strange[0], column_match[strange[0]]
        raise Refuted(f"column {column} is matched with row {row}, which is no neighbour of it")
    return int(columns.size)


def check_cover(graph: Graph, row_in: np.ndarray, column_in: np.ndarray, cardinality: int) -> None:
    """Check that the vertices cover every edge, and that there are as many as matched pairs.

    Parameters
    ----------
    graph : Graph
    row_in, column_in : bool[rows], bool[columns]
        The vertices of the cover.
    cardinality : int
        The number of matched pairs.

    Raises
    ------
    Refuted
        If an edge has no end among them, or if there are fewer or more of them.
    """
    left_out = np.flatnonzero(_uncovered(graph.cxadj, graph.cadj, row_in, column_in))
    if left_out.size:
        raise Refuted(f"the cover leaves out an edge of column {left_out[0]}")
    size = int(np.count_nonzero(row_in)) + int(np.count_nonzero(column_in))
    if size != cardinality:
        raise Refuted(f"a cover of {size} vertices proves nothing of {cardinality} pairs")


# The two loops over all columns write one flag a column: Numba 0.68 loses a reduction that stands
# in a loop inside a prange, and a lost finding would be a false proof.


@parallel(lambda cxadj, cadj, column_match: cadj.size)
def _strangers(cxadj, cadj, column_match):
    """Return for each column whether its match is no neighbour of it."""
    strange = np.empty(column_match.size, np.bool_)
    for column in prange(column_match.size):
        row = column_match[column]
        found = row < 0
        edge = cxadj[column]
        while not found and edge < cxadj[column + 1]:
            found = cadj[edge] == row
            edge += 1
        strange[column] = not found
    return strange


@njit(cache=True)
def _reach(cxadj, cadj, row_match, column_match):
    """Find the vertices that alternating paths reach from the free columns, breadth first.

    Returns
    -------
    row_reached, column_reached : bool[rows], bool[columns]
    end : int
        A free row that was reached, the end of an augmenting path; -1 if there is none.
    """
    row_reached = np.zeros(row_match.size, np.bool_)
    column_reached = column_match < 0
    queue = np.empty(column_match.size, np.int32)
    filled = 0
    for column in range(column_match.size):
        if column_reached[column]:
            queue[filled] = column
            filled += 1
    taken = 0
    while taken < filled:
        column = queue[taken]
        taken += 1
        for edge in range(cxadj[column], cxadj[column + 1]):
            row = cadj[edge]
            if row_reached[row]:
                continue
            row_reached[row] = True
            partner = row_match[row]
            if partner < 0:
                return row_reached, column_reached, row
            # The partner's only row is reached once, so the partner enters the queue once.
            column_reached[partner] = True
            queue[filled] = partner
            filled += 1
    return row_reached, column_reached, np.int32(-1)


@parallel(lambda cxadj, cadj, row_in, column_in: cadj.size)
def _uncovered(cxadj, cadj, row_in, column_in):
    """Return for each column whether one of its edges has no end in the cover."""
    left_out = np.empty(column_in.size, np.bool_)
    for column in prange(column_in.size):
        covered = True
        if not column_in[column]:
            for edge in range(cxadj[column], cxadj[column + 1]):
                covered = covered and row_in[cadj[edge]]
        left_out[column] = not covered
    return left_out
