"""R-MAT graphs: the matrices kron_g500 of DIMACS10."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from papers.common.instances.counter_rng import fraction
from papers.common.instances.graphs.edge_lists import Draws, both_ways, graph_of
from papers.common.problems.graph import Graph

QUARTERS = (0.57, 0.19, 0.19, 0.05)
"""Probabilities of the four quarters of a Graph500 matrix, row by row."""

EDGES_A_VERTEX = 48
"""Draws for each vertex of a kron_g500 matrix."""


def kron(n: int, seed: int = 1) -> Graph:
    """Draw an R-MAT graph with Graph500's parameters: kron_g500-lognX of DIMACS10 for n = 2**X.

    `EDGES_A_VERTEX` n pairs are drawn: at each of X levels, a quarter of the matrix by `QUARTERS`.
    The matrix is the pattern of their sum with its transpose, loops kept. It has about 1% fewer
    nonzeros than the published ones. Vertices are not shuffled: the published numbering is unknown.

    Chakrabarti, Zhan & Faloutsos, "R-MAT: a recursive model for graph mining", SDM 2004.

    Raises
    ------
    ValueError
        If `n` is no power of two.
    """
    levels = n.bit_length() - 1
    if n < 1 or n != 1 << levels:
        raise ValueError(f"a Graph500 matrix has 2**X rows, not {n}")
    pairs = _rmat(EDGES_A_VERTEX * n, levels, np.uint64(Draws(seed).counter()))
    return graph_of(both_ways(pairs), n, n)


@njit(cache=True, parallel=True)
def _rmat(count, levels, counter):
    """Draw row and column of each pair, int32[count]; level l of pair k is number k levels + l.

    The quarters are told apart by one fraction: left half or right half of the upper half, then of
    the lower one.
    """
    row, column = np.empty(count, np.int32), np.empty(count, np.int32)
    upper = QUARTERS[0] + QUARTERS[1]
    for k in prange(count):
        i, j = 0, 0
        for level in range(levels):
            drawn = fraction(counter + np.uint64(k * levels + level))
            lower = drawn >= upper
            right = drawn >= (upper + QUARTERS[2] if lower else QUARTERS[0])
            i, j = 2 * i + lower, 2 * j + right
        row[k], column[k] = i, j
    return row, column
