"""The matching that all algorithms start from [D13 sec.4].

The paper starts every algorithm from the same cheap matching and times the rest. Here the caller
chooses the start: that heuristic, the empty matching, or any other matching.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from papers.common.problems.graph import Graph, GraphError
from papers.deveci_matching.baselines.karp_sipser import karp_sipser

FREE = -1
STARTS = ("cheap", "empty", "karp_sipser")


@dataclass(frozen=True, eq=False)
class Known:
    """A matching by code that has made it from the graph's own edges: it is not checked.

    Attributes
    ----------
    row_match, column_match : int32[rows], int32[columns]
        Inverse to each other, -1 for unmatched; every pair is an edge.
    """

    row_match: np.ndarray
    column_match: np.ndarray


@njit(cache=True, nogil=True)
def cheap_matching(cxadj, cadj, rows):
    """Match each column, in order, with its first row that is still free [D13 sec.4].

    Parameters
    ----------
    cxadj, cadj : int32[columns + 1], int32[edges]
    rows : int

    Returns
    -------
    rmatch, cmatch : int32[rows], int32[columns]
        Partner of each row and column, -1 for none. No edge has both ends free.
    """
    columns = cxadj.size - 1
    rmatch = np.full(rows, FREE, np.int32)
    cmatch = np.full(columns, FREE, np.int32)
    for column in range(columns):
        for edge in range(cxadj[column], cxadj[column + 1]):
            row = cadj[edge]
            if rmatch[row] == FREE:
                rmatch[row] = column
                cmatch[column] = row
                break
    return rmatch, cmatch


def start(graph: Graph, initial: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the matching to start from, as new arrays, or those of a `Known` one.

    Parameters
    ----------
    graph : Graph
    initial : {None, "cheap", "empty", "karp_sipser"}, (row_match, column_match) or Known
        None is the paper's choice, ``"cheap"``; for Karp and Sipser's see
        `papers.deveci_matching.baselines.karp_sipser`. Arrays hold int[rows] and int[columns] with
        -1 for unmatched.

    Returns
    -------
    rmatch, cmatch : int32[rows], int32[columns]

    Raises
    ------
    GraphError
        If the arrays have other lengths, hold no integers, name vertices that do not exist, are not
        inverse to each other, or match a pair that is no edge.
    """
    if isinstance(initial, Known):
        return initial.row_match, initial.column_match
    if initial is None or (isinstance(initial, str) and initial == "cheap"):
        return cheap_matching(graph.cxadj, graph.cadj, graph.rows)
    if isinstance(initial, str) and initial == "karp_sipser":
        return karp_sipser(graph.cxadj, graph.cadj, *graph.by_rows)
    if isinstance(initial, str):
        if initial != "empty":
            raise GraphError(f"initial={initial!r} is none of {', '.join(STARTS)}")
        return np.full(graph.rows, FREE, np.int32), np.full(graph.columns, FREE, np.int32)
    if not isinstance(initial, (tuple, list)) or len(initial) != 2:
        raise GraphError("initial must be a name or a pair (row_match, column_match)")
    rmatch = _line(initial[0], graph.rows, graph.columns, "row_match")
    cmatch = _line(initial[1], graph.columns, graph.rows, "column_match")
    matched = np.flatnonzero(cmatch >= 0)
    if matched.size != np.count_nonzero(rmatch >= 0) or not np.array_equal(
        rmatch[cmatch[matched]], matched
    ):
        raise GraphError("row_match and column_match are not inverse to each other")
    strange = _first_stranger(graph.cxadj, graph.cadj, cmatch)
    if strange >= 0:
        raise GraphError(f"column {strange} is matched with row {cmatch[strange]}: no such edge")
    return rmatch, cmatch


def _line(values: Any, size: int, across: int, name: str) -> np.ndarray:
    """Return one side of a matching as int32."""
    array = np.asarray(values)
    if array.shape != (size,):
        raise GraphError(f"{name} has shape {array.shape}, not ({size},)")
    if size and array.dtype.kind not in "iu":
        raise GraphError(f"{name} holds {array.dtype}, not integers")
    if size and (array.min() < FREE or array.max() >= across):
        raise GraphError(f"{name} names a vertex outside -1 .. {across - 1}")
    return array.astype(np.int32)


@njit(cache=True)
def _first_stranger(cxadj, cadj, cmatch):
    """Return the first column whose match is no neighbour of it, or -1."""
    for column in range(cmatch.size):
        if cmatch[column] >= 0:
            found = False
            for edge in range(cxadj[column], cxadj[column + 1]):
                found = found or cadj[edge] == cmatch[column]
            if not found:
                return column
    return -1
