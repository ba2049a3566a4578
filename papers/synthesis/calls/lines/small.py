"""A small graph, matched without a choice and without the objects of the usual way.

SciPy's matching of a graph of some hundred edges takes a few microseconds, fewer than the choice of
a solver and the objects of `papers.synthesis.calls.lines.direct`. No rule sends a graph below
`SMALL` edges to a GPU unless it is asked for, and on all recorded matrices of that size the
searches of `direct` end before a solver is needed (``evidence/graphs/looks.csv``). So the same pass
and the same searches come first here. Where they do not end, a solver goes on from what they found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.synthesis.calls.lines.direct import (
    BROKEN,
    LOOKS,
    SMALL,
    Looked,
    deep_phases,
    enlarge,
    greedy,
)

INT32 = np.dtype(np.int32)


def matched(matrix: Any, perm_type: str) -> np.ndarray | Looked | None:
    """Match a small graph.

    Parameters
    ----------
    matrix : sparse array or matrix
        SciPy's.
    perm_type : {"row", "column"}
        As of `papers.maximum_bipartite_matching`.

    Returns
    -------
    int32[columns] or int32[rows]
        The call's answer.
    Looked
        A matching that may not be maximum, where the searches have stopped.
    None
        For another format than CSR and CSC, for indices that are no contiguous int32, for `SMALL`
        edges or more, and for a broken graph, whose fault the usual way names.
    """
    by_rows = matrix.format == "csr"
    if not by_rows and matrix.format != "csc":
        return None
    indptr, indices, shape = matrix.indptr, matrix.indices, matrix.shape
    if not (_fits(indptr) and _fits(indices)) or indices.size >= SMALL or len(shape) != 2:
        return None
    lines, across = shape if by_rows else shape[::-1]
    if indptr.size != lines + 1:
        return None
    match, across_match = np.empty(lines, np.int32), np.empty(across, np.int32)
    pairs, possible = greedy(indptr, indices, match, across_match)
    if pairs == BROKEN:
        return None
    missing = min(possible, across) - pairs
    if missing:
        edges = int(indptr[-1])
        deep = deep_phases(missing, possible, edges)
        left, _ = enlarge(indptr, indices, match, across_match, LOOKS * edges, deep)
        if left:
            sides = match, across_match
            return Looked(indptr, indices[:edges], across, *sides, pairs, possible)
    return across_match if by_rows == (perm_type == "row") else match


def _fits(part: Any) -> bool:
    """Whether an array is one for which the pass was compiled; another would be compiled anew."""
    return (
        type(part) is np.ndarray
        and part.dtype is INT32
        and part.ndim == 1
        and bool(part.flags.carray)
    )
