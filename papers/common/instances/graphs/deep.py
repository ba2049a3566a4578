"""Graphs that are hard for searches by levels: long paths, full triangles, grids. No randomness."""

from __future__ import annotations

import numpy as np

from papers.common.instances.graphs.edge_lists import both_ways, graph_of
from papers.common.problems.graph import Graph


def path(n: int, seed: int = 1) -> Graph:
    """Return a path through all rows and columns: column ``c`` sees rows n - 1 - c and n - 2 - c.

    Columns that come in order and take their first free row each leave row n - 1 free and the last
    column, which are the two ends of the path.

    Parameters
    ----------
    n : int
        Rows and columns.
    seed : int
        Not used: there is one such graph.
    """
    column = np.arange(n)
    rows = np.concatenate([n - 1 - column, n - 2 - column[: n - 1]])
    return graph_of((rows, np.concatenate([column, column[: n - 1]])), n, n)


def triangle(n: int, seed: int = 1) -> Graph:
    """Return a full triangle: column ``c`` sees rows 0 to c, so that one matching is perfect.

    Parameters
    ----------
    n : int
        Rows and columns.
    seed : int
        Not used: there is one such graph.
    """
    rows, columns = np.nonzero(np.tri(n, dtype=bool).T)
    return graph_of((rows, columns), n, n)


def grid(n: int, seed: int = 1) -> Graph:
    """Return the adjacency of a grid of n vertices, ``floor(sqrt(n))`` a line.

    Parameters
    ----------
    n : int
        Vertices, which are the rows and the columns.
    seed : int
        Not used: there is one such graph.
    """
    width, vertex = max(1, int(np.sqrt(n))), np.arange(n)
    right = vertex[(vertex % width != width - 1) & (vertex + 1 < n)]
    down = vertex[vertex + width < n]
    ends = np.concatenate([right, down]), np.concatenate([right + 1, down + width])
    return graph_of(both_ways(ends), n, n)
