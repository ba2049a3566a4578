"""Compiled passes over the arcs of a flow network: pairs of arcs, and the flow on each given one.

No keys are sorted: two passes put the arcs into buckets, by their ends and then by their starts, so
that each node's arcs come in the order of their ends.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def paired(tail, head, capacity, nodes):
    """Add up parallel arcs, leave loops out, and give each arc its mate.

    Parameters
    ----------
    tail, head : int32[k]
        Nodes of ``0 .. nodes - 1``.
    capacity : int64[k]
    nodes : int

    Returns
    -------
    first, head, mate, capacity : int32[nodes + 1], int32[arcs], int32[arcs], int64[arcs]
        As of `papers.common.problems.network.Network`.
    """
    first = np.zeros(nodes + 1, np.int32)
    for a in range(tail.size):
        if tail[a] != head[a]:  # an arc, and its mate
            first[tail[a] + 1] += 1
            first[head[a] + 1] += 1
    for x in range(nodes):
        first[x + 1] += first[x]
    twice = first[nodes]
    begin = np.empty(twice, np.int32)
    amount = np.empty(twice, np.int64)
    filled = first[:-1].copy()
    for a in range(tail.size):
        x, y = tail[a], head[a]
        if x != y:
            begin[filled[y]], amount[filled[y]] = x, capacity[a]
            filled[y] += 1
            begin[filled[x]], amount[filled[x]] = y, 0
            filled[x] += 1
    end = np.empty(twice, np.int32)
    carried = np.empty(twice, np.int64)
    filled[:] = first[:-1]
    for y in range(nodes):
        for place in range(first[y], first[y + 1]):
            x = begin[place]
            end[filled[x]], carried[filled[x]] = y, amount[place]
            filled[x] += 1
    arcs = np.int32(0)
    for x in range(nodes):
        place, last = first[x], first[x + 1]
        first[x] = arcs
        while place < last:
            y = end[place]
            total = np.int64(0)
            while place < last and end[place] == y:
                total += carried[place]
                place += 1
            end[arcs], carried[arcs] = y, total
            arcs += np.int32(1)
    first[nodes] = arcs
    mate = np.empty(arcs, np.int32)
    filled[:] = first[:-1]
    for a in range(arcs):  # to one node the arcs come in the order in which it has their mates
        y = end[a]
        mate[a] = filled[y]
        filled[y] += 1
    return first, end[:arcs].copy(), mate, carried[:arcs].copy()


@njit(cache=True, nogil=True)
def spread(first, head, sent, tails, heads, capacity):
    """Lay the flow between two nodes on the given arcs between them, in their order.

    Parameters
    ----------
    first, head : int32[nodes + 1], int32[arcs]
        Of the network.
    sent : int64[arcs]
        What each of its arcs carries; negative where its mate carries something.
    tails, heads, capacity : int32[k], int32[k], int64[k]
        The given arcs, each of them a loop or among the network's.

    Returns
    -------
    int64[k]
        From 0 to each one's capacity.
    """
    left = sent.copy()
    flow = np.zeros(tails.size, np.int64)
    for a in range(tails.size):
        x, y = tails[a], heads[a]
        if x == y:
            continue
        place = first[x] + np.searchsorted(head[first[x] : first[x + 1]], y)
        flow[a] = min(max(left[place], 0), capacity[a])
        left[place] -= flow[a]
    return flow
