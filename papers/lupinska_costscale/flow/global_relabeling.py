"""The host's part of the hybrid algorithm: the heuristic of [LU11 Alg.4.8], as printed.

Compiled with Numba, as the paper compiles C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from papers.lupinska_costscale.flow.residuals import Arcs, arc, degree, distances, end, mate


@dataclass
class Total:
    """ExcessTotal, and the nodes whose excess has been taken from it.

    Attributes
    ----------
    excess : int
        Units that can still reach the sink, and units that have reached it.
    marked : bool[n]
    """

    excess: int
    marked: np.ndarray


@njit(cache=True)
def cancel(arcs, between, excess, height):
    """Push along every residual arc with h(x) > h(y) + 1; return how many there were.

    Paper: [LU11 Alg.4.8], global relabeling heuristic, lines 1 to 6. Printed is the arc's whole
    residual capacity; such an arc was opened by a push whose excess still lies at x, so that this
    is what e(x) has. Should it not be, what e(x) has is pushed: heights are drawn anew from the
    residual arcs, whatever they are.
    """
    count = 0
    for x in range(arcs.nodes):
        for k in range(degree(arcs, x)):
            a = arc(arcs, x, k)
            if between[a] > 0:
                y = end(arcs, x, k)
                if height[x] > height[y] + 1:
                    amount = min(np.int64(between[a]), excess[x])
                    between[a] -= amount
                    between[mate(arcs, x, k)] += amount
                    excess[x] -= amount
                    excess[y] += amount
                    count += 1
    return count


def global_relabel(
    arcs: Arcs, between: np.ndarray, sink: np.ndarray, excess: np.ndarray, nodes: int, total: Total
) -> tuple[np.ndarray, int]:
    """Give every node its distance to the sink, |V| where there is none, and correct ExcessTotal.

    Paper: [LU11 Alg.4.8], lines 7 to 13, with the gap relabeling of [LU11 sec.4.6]. Line 11 is
    printed without its "not": a node is marked, and its excess subtracted, once.

    Returns
    -------
    height : int32[n]
    levels : int
        Levels of the breadth-first search [LU11 Alg.4.4].
    """
    height, levels = distances(arcs, between, sink, nodes)
    lost = (height == nodes) & ~total.marked
    total.marked |= lost
    total.excess -= int(excess[: height.size][lost].sum())
    return height, int(levels)
