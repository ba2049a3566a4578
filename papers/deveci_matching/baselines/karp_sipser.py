"""The start of Karp and Sipser: vertices of one free neighbour first, and all that this leads to.

A rival's start of today, not the paper's. A vertex with one free neighbour may be matched with it
without loss: some maximum matching has that pair. Matched vertices leave the graph, which gives
others one free neighbour. Only where there is no such vertex, the next column in order takes its
first free row, as in the cheap matching.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from papers.deveci_matching.baselines.pfp import JIT


@njit(**JIT)
def _leave(vertex, xadj, adj, free_of, degree, shift, stack, top):
    """Take a vertex out of the degrees of its free neighbours; stack those left with one."""
    for at in range(xadj[vertex], xadj[vertex + 1]):
        other = adj[at]
        if free_of[other] < 0:
            degree[other] -= 1
            if degree[other] == 1:
                stack[top] = shift + other
                top += 1
    return top


@njit(**JIT)
def _first_free(vertex, xadj, adj, match):
    for at in range(xadj[vertex], xadj[vertex + 1]):
        if match[adj[at]] < 0:
            return np.int64(adj[at])
    return np.int64(-1)


@njit(**JIT)
def karp_sipser(cxadj, cadj, rxadj, radj):
    """Return a maximal matching by Karp and Sipser's rule.

    Parameters
    ----------
    cxadj, cadj : int32[columns + 1], int32[edges]
    rxadj, radj : int32[rows + 1], int32[edges]

    Returns
    -------
    rmatch, cmatch : int32[rows], int32[columns]
        Partner of each row and column, -1 for none. No edge has both ends free.
    """
    columns, rows = cxadj.size - 1, rxadj.size - 1
    rmatch, cmatch = np.full(rows, -1, np.int32), np.full(columns, -1, np.int32)
    cdegree, rdegree = cxadj[1:] - cxadj[:-1], rxadj[1:] - rxadj[:-1]
    stack = np.empty(rows + columns, np.int64)  # a vertex has one free neighbour once
    top = 0
    for column in range(columns):
        if cdegree[column] == 1:
            stack[top] = column
            top += 1
    for row in range(rows):
        if rdegree[row] == 1:
            stack[top] = columns + row
            top += 1
    turn = 0
    while turn < columns or top > 0:
        if top > 0:
            top -= 1
            vertex = stack[top]
            if vertex < columns:
                column = vertex
                row = _first_free(column, cxadj, cadj, rmatch)
            else:
                row = vertex - columns
                column = _first_free(row, rxadj, radj, cmatch)
        else:
            column = int(turn)
            row = _first_free(column, cxadj, cadj, rmatch)
            turn += 1
        if row < 0 or column < 0 or rmatch[row] >= 0 or cmatch[column] >= 0:
            continue
        rmatch[row], cmatch[column] = column, row
        top = _leave(row, rxadj, radj, cmatch, cdegree, 0, stack, top)
        top = _leave(column, cxadj, cadj, rmatch, rdegree, columns, stack, top)
    return rmatch, cmatch
