"""Graphs of random points in the unit square: Delaunay triangulations, their duals, near pairs.

Both halves of a symmetric matrix are stored. The numbering of the vertices is part of each
definition: it decides how far apart in memory neighbours lie, and which matching a heuristic that
takes the first free vertex finds.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from papers.common.instances.graphs.edge_lists import Draws, Edges, both_ways, graph_of
from papers.common.problems.graph import EDGE_LIMIT, Graph, GraphError

_ORDER = 24  # bits of each coordinate along the Hilbert curve


def _triangulation(points: np.ndarray):
    from scipy.spatial import Delaunay  # Qhull is a slow import.

    return Delaunay(points)


@njit(cache=True, parallel=True)
def hilbert_index(x, y):
    """Return the place of points of the unit square along a Hilbert curve, int64[n]."""
    place = np.empty(x.size, np.int64)
    last = (1 << _ORDER) - 1
    for k in prange(x.size):
        a = min(int(x[k] * (last + 1)), last)
        b = min(int(y[k] * (last + 1)), last)
        index = 0
        for bit in range(_ORDER - 1, -1, -1):
            right, upper = (a >> bit) & 1, (b >> bit) & 1
            index = 4 * index + ((3 * right) ^ upper)
            if upper == 0:
                # The two lower quarters hold turned copies of the curve.
                if right == 1:
                    a, b = last - a, last - b
                a, b = b, a
        place[k] = index
    return place


def in_rounds(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the order in which the real delaunay_nX number their points.

    The last three quarters of the points are the last round, the last three quarters of the rest
    the one before it, and so on; each round is sorted along a Hilbert curve. For points in random
    order this gives every vertex some neighbours with near numbers and some with far ones, as in
    the real matrices.

    Returns
    -------
    int64[n]
        Point ``order[k]`` is number ``k``.
    """
    place = hilbert_index(x, y)
    order = np.empty(x.size, np.int64)
    stop = x.size
    while stop:
        start = stop // 4
        order[start:stop] = start + np.argsort(place[start:stop], kind="stable")
        stop = start
    return order


def delaunay(n: int, seed: int = 1) -> Graph:
    """Triangulate `n` uniform random points: delaunay_nX of DIMACS10 for n = 2**X.

    ``2 (3 n - 3 - h)`` entries for ``h`` points on the hull, about ``(8 / 3) ln n`` of them.
    Numbered by `in_rounds`.

    Returns
    -------
    Graph
        ``n`` rows and columns, symmetric, without loops.
    """
    if n <= 3:
        row, column = np.nonzero(~np.eye(n, dtype=bool))
        return graph_of((row, column), n, n)
    x, y = Draws(seed).fractions(2 * n).reshape(2, n)
    order = in_rounds(x, y)
    corners = _triangulation(np.column_stack([x[order], y[order]])).simplices
    a, b, c = corners.T
    sides = np.concatenate([a, b, c]), np.concatenate([b, c, a])
    return graph_of(both_ways(sides), n, n)


# ------------------------------------------------------------------------------- near pairs


def rgg(n: int, seed: int = 1) -> Graph:
    """Draw a random geometric graph: rgg_n_2_X_s0 of DIMACS10 for n = 2**X.

    Uniform random points of the unit square are adjacent if they are nearer than
    ``0.55 sqrt(ln n / n)``. The lower half of the square is numbered first; each half by ``x``.

    Returns
    -------
    Graph
        ``n`` rows and columns, symmetric, without loops.

    Raises
    ------
    GraphError
        If there are more than `EDGE_LIMIT` entries.
    """
    x, y = Draws(seed).fractions(2 * n).reshape(2, n)
    order = np.lexsort([x, y >= 0.5])
    x, y = x[order], y[order]
    radius = 0.55 * math.sqrt(math.log(n) / n) if n else 0.0
    # Cells are at least as wide as the radius, so neighbours lie in nine of them.
    side = max(1, min(int(1 / radius) if radius else 1, math.isqrt(n) + 1))
    cell = np.minimum((x * side).astype(np.int64), side - 1) * side
    cell += np.minimum((y * side).astype(np.int64), side - 1)
    members = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[members], np.arange(side * side + 1))
    cxadj = np.zeros(n + 1, np.int64)
    nothing = np.empty(0, np.int32)
    _near(x, y, radius, side, cell, members, first, cxadj, nothing)
    np.cumsum(cxadj, out=cxadj)
    if cxadj[-1] > EDGE_LIMIT:
        raise GraphError(f"{cxadj[-1]} entries are more than 32 bits count")
    cadj = np.empty(cxadj[-1], np.int32)
    _near(x, y, radius, side, cell, members, first, cxadj, cadj)
    return Graph(n, n, cxadj.astype(np.int32), cadj)


@njit(cache=True, parallel=True)
def _near(x, y, radius, side, cell, members, first, cxadj, cadj):
    """Count (`cadj` empty: into ``cxadj[1:]``) or list each point's neighbours, in order."""
    listing = cadj.size > 0
    for point in prange(x.size):
        found = cxadj[point] if listing else 0
        i, j = cell[point] // side, cell[point] % side
        for near_i in range(max(i - 1, 0), min(i + 2, side)):
            low = first[near_i * side + max(j - 1, 0)]
            high = first[near_i * side + min(j + 1, side - 1) + 1]
            for k in range(low, high):
                other = members[k]
                apart = (x[other] - x[point]) ** 2 + (y[other] - y[point]) ** 2
                if apart < radius * radius and other != point:
                    if listing:
                        cadj[found] = other
                    found += 1
        if listing:
            cadj[cxadj[point] : found].sort()
        else:
            cxadj[point + 1] = found


# ------------------------------------------------------------------------------- meshes


def _crowded_points(count: int, draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Draw points of the unit square, half of them evenly, half crowded at four circles."""
    x, y = draws.fractions(2 * count).reshape(2, count)
    middle = draws.fractions(12).reshape(3, 4)
    pick, turn, away = draws.fractions(3 * count).reshape(3, count)
    circle = (pick * 8).astype(np.int64)
    near = np.flatnonzero(circle < 4)
    mine = circle[near]
    radius = 0.05 + 0.2 * middle[2, mine] + 0.1 * (2 * away[near] - 1) ** 5
    for line, centre, part in ((x, middle[0], np.cos), (y, middle[1], np.sin)):
        line[near] = (0.25 + 0.5 * centre[mine] + radius * part(2 * np.pi * turn[near])) % 1.0
    return x, y


def mesh_dual(n: int, seed: int = 1) -> Graph:
    """Draw the dual of a triangle mesh: the kind of DIMACS10's hugetrace and hugebubbles.

    The triangles of a Delaunay triangulation are the vertices, and adjacent if they share a side:
    three neighbours for all but a few. The mesh is fine at a few closed curves and coarse
    elsewhere, as an adaptively refined one. Triangles are numbered along a Hilbert curve; those
    beyond `n` are left out. Of the real meshes only that much is known: this is a stand-in.

    Returns
    -------
    Graph
        ``n`` rows and columns, symmetric, without loops.

    Raises
    ------
    GraphError
        If no triangulation with `n` triangles was found.
    """
    more = 4 + 2 * max(n, 1).bit_length()
    for _ in range(8):
        x, y = _crowded_points(n // 2 + more, Draws(seed))
        mesh = _triangulation(np.column_stack([x, y]))
        if len(mesh.simplices) >= n:
            return graph_of(_shared_sides(mesh, x, y, n), n, n)
        more *= 2  # More of the points than expected are on the hull.
    raise GraphError(f"no triangulation with {n} triangles was found")


def _shared_sides(mesh, x: np.ndarray, y: np.ndarray, n: int) -> Edges:
    """Return the pairs of the first `n` triangles that share a side, each both ways."""
    corners = mesh.simplices
    order = np.argsort(
        hilbert_index(x[corners].mean(axis=1), y[corners].mean(axis=1)), kind="stable"
    )
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    row = np.repeat(number, 3)
    neighbour = mesh.neighbors.reshape(-1)  # -1 beyond the hull
    column = number[neighbour]
    kept = (neighbour >= 0) & (row < n) & (column < n)
    return row[kept], column[kept]
