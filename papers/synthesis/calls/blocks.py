"""Koenig's cover and the blocks of Dulmage and Mendelsohn, of a graph and a maximum matching.

Vertices that alternating paths reach from free columns make the wide block; those that they reach
from free rows the tall one; of the rest, the strongly connected components of the graph in which
matched pairs are one vertex make the square blocks, in the order that Tarjan's algorithm finishes
them, backwards. Source: A. Dulmage, N. Mendelsohn, Canadian Journal of Mathematics 10, 1958;
R. Tarjan, SIAM Journal on Computing 1, 1972.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from papers.common.model import Matching
from papers.common.problems import matching_proof
from papers.common.problems.graph import Graph


def cover_of(
    graph: Graph, row_match: np.ndarray, column_match: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices of Koenig's cover; it proves the matching maximum on the way.

    Parameters
    ----------
    graph : Graph
    row_match, column_match : int32[rows], int32[columns]

    Returns
    -------
    bool[rows], bool[columns]

    Raises
    ------
    ValueError
        If this is no matching of the graph, or not maximum.
    """
    pairs = int(np.count_nonzero(column_match >= 0))
    proof = matching_proof.matching(graph, Matching(row_match, column_match, pairs))
    if not proof.ok:
        raise ValueError(f"the matching is no maximum matching of this graph: {proof.reason}")
    rows, columns = _reach(graph.cxadj, graph.cadj, row_match, column_match)
    return rows, ~columns


def blocks_of(
    graph: Graph, row_match: np.ndarray, column_match: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the parts of `papers.synthesis.calls.matching.DulmageMendelsohn`.

    Parameters
    ----------
    graph : Graph
    row_match, column_match : int32[rows], int32[columns]

    Raises
    ------
    ValueError
        As `cover_of`.
    """
    wide_rows, _ = cover_of(graph, row_match, column_match)
    _, tall_rows = _reach(*graph.by_rows, column_match, row_match)
    block_of_row = _components(*graph.by_rows, column_match, wide_rows | tall_rows)
    blocks = int(block_of_row.max(initial=-1)) + 1
    rows = np.where(wide_rows, 0, np.where(tall_rows, blocks + 1, blocks - block_of_row))
    columns = np.zeros(graph.columns, np.int64)  # free ones are in the wide block
    matched = np.flatnonzero(column_match >= 0)
    columns[matched] = rows[column_match[matched]]
    row_order = np.argsort(rows, kind="stable")
    place = np.empty(graph.rows, np.int64)
    place[row_order] = np.arange(graph.rows)
    behind = np.full(graph.columns, -1)  # matched columns follow their rows, free ones stand first
    behind[matched] = place[column_match[matched]]
    return (
        row_order, np.lexsort((behind, columns)),
        _ends(rows, blocks + 2), _ends(columns, blocks + 2),
    )  # fmt: skip


def _ends(block: np.ndarray, blocks: int) -> np.ndarray:
    ends = np.zeros(blocks + 1, np.int64)
    np.cumsum(np.bincount(block, minlength=blocks), out=ends[1:])
    return ends


@njit(cache=True)
def _reach(starts, across, partner, mine):
    """Find what alternating paths reach from the free vertices of one side, breadth first.

    `starts` and `across` are that side's lists of neighbours, `mine` its partners, `partner` the
    other side's. Returns bool of the other side and of this one.
    """
    there = np.zeros(partner.size, np.bool_)
    here = mine < 0
    queue = np.flatnonzero(here)
    waiting = np.empty(mine.size, np.int64)
    waiting[: queue.size] = queue
    filled, taken = queue.size, 0
    while taken < filled:
        x = waiting[taken]
        taken += 1
        for edge in range(starts[x], starts[x + 1]):
            y = across[edge]
            if not there[y]:
                there[y] = True
                here[partner[y]] = True  # a free one would end an augmenting path
                waiting[filled] = partner[y]
                filled += 1
    return there, here


@njit(cache=True)
def _components(starts, across, row_of_column, left_out):
    """Number the strong components of matched pairs, each before those that lead to it.

    A row leads to the rows that its other columns are matched to. Tarjan's algorithm with a stack
    of its own: graphs may be deeper than Python's.

    Returns
    -------
    int64[rows]
        The component of each row, -1 for those left out.
    """
    n = left_out.size
    number, low = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    component = np.full(n, -1, np.int64)
    edge = np.zeros(n, np.int64)
    path, open_rows = np.empty(n, np.int64), np.empty(n, np.int64)
    count, components, opened = 0, 0, 0
    for root in range(n):
        if left_out[root] or number[root] >= 0:
            continue
        path[0], depth = root, 1
        while depth > 0:
            x = path[depth - 1]
            if number[x] < 0:
                number[x] = low[x] = count
                count += 1
                edge[x] = starts[x]
                open_rows[opened] = x
                opened += 1
            if edge[x] < starts[x + 1]:
                y = row_of_column[across[edge[x]]]
                edge[x] += 1
                if y < 0 or left_out[y]:
                    continue
                if number[y] < 0:
                    path[depth] = y
                    depth += 1
                elif component[y] < 0:
                    low[x] = min(low[x], number[y])
                continue
            depth -= 1
            if depth > 0:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[x])
            if low[x] == number[x]:
                while True:
                    opened -= 1
                    component[open_rows[opened]] = components
                    if open_rows[opened] == x:
                        break
                components += 1
    return component
