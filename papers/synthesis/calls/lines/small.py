"""A small graph's whole matching in one compiled function, where nothing has to be chosen.

SciPy's matching of a graph of some hundred edges takes a few microseconds, fewer than the choice of
a solver and the objects of `papers.synthesis.calls.lines.direct`. No rule sends a graph below
`SMALL` edges to a GPU unless it is asked for, and the searches of `direct` end on all 34 recorded
matrices of that size before a solver is needed (``evidence/graphs/looks.csv``). So the same pass
and the same searches come first here, and where they do not end, the call goes its usual way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from papers.deveci_matching.baselines.pfp import JIT
from papers.synthesis.calls.lines.direct import BROKEN, DEEP, FEW, LOOKS, SMALL, greedy
from papers.synthesis.calls.lines.searches import enlarge

INT32 = np.dtype(np.int32)


def matched(matrix: Any, perm_type: str) -> np.ndarray | None:
    """Match a small graph; None where `direct` has to look at it.

    Parameters
    ----------
    matrix : sparse array or matrix
        SciPy's.
    perm_type : {"row", "column"}
        As of `papers.maximum_bipartite_matching`.

    Returns
    -------
    int32[columns] or int32[rows] or None
        None for another format than CSR and CSC, indices that are not contiguous int32, `SMALL`
        edges or more, a broken graph, and one on which the searches stop.
    """
    by_rows = matrix.format == "csr"
    if not by_rows and matrix.format != "csc":
        return None
    indptr, indices = matrix.indptr, matrix.indices
    if indices.size >= SMALL or indices.dtype is not INT32 or indptr.dtype is not INT32:
        return None
    if not (indices.flags.carray and indptr.flags.carray):
        return None
    rows, columns = matrix.shape
    lines, across = (rows, columns) if by_rows else (columns, rows)
    if indptr.size != lines + 1:
        return None
    match, across_match = np.empty(lines, np.int32), np.empty(across, np.int32)
    if not maximum(indptr, indices, match, across_match):
        return None
    return across_match if by_rows == (perm_type == "row") else match


@njit(**JIT)
def maximum(indptr, indices, match, across_match):
    """Match a graph in lines, as `direct.look` and `direct.Looked.enlarge` do.

    Parameters
    ----------
    indptr, indices : int32[lines + 1], int32[at least indptr[-1]]
    match, across_match : int32[lines], int32[across]
        Filled.

    Returns
    -------
    bool
        Whether the matching is maximum: False for a broken graph, too.
    """
    pairs, possible = greedy(indptr, indices, match, across_match)
    if pairs == BROKEN:
        return False
    missing = min(possible, across_match.size) - pairs
    if missing == 0:
        return True
    deep = 0 if FEW * missing <= possible else DEEP
    left, _ = enlarge(indptr, indices, match, across_match, LOOKS * indptr[match.size], deep)
    return left == 0
