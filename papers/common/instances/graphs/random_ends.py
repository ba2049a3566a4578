"""Graphs whose edges have random ends: anywhere, mostly at few vertices, or one layer further."""

from __future__ import annotations

import math

import numpy as np

from papers.common.instances.counter_rng import GOLDEN, mix_int
from papers.common.instances.graphs.edge_lists import fractions_from, graph_of
from papers.common.problems.graph import Graph


def uniform_graph(n: int, seed: int = 1, *, degree: float) -> Graph:
    """Draw ``int(n degree)`` edges between random rows and columns, less those that occur twice.

    The ends of edge ``k`` are ``min(floor(n u), n - 1)`` for ``u = (mix(s) >> 11) / 2**53``, the
    row's with ``s = key + (2 k + 1) golden`` and the column's with ``s = key + (2 k + 2) golden``,
    where ``key = mix(seed)`` and ``golden`` is the constant that ``mix`` adds.

    Parameters
    ----------
    n : int
        Rows and columns.
    seed : int
        Seed.
    degree : float
        Draws for each row.
    """
    return _two_ends(n, seed, degree, 1)


def skew_graph(n: int, seed: int = 1, *, degree: float) -> Graph:
    """Draw `uniform_graph` with ``u**3`` in place of ``u``: few vertices have most of the edges."""
    return _two_ends(n, seed, degree, 3)


def layered_graph(n: int, seed: int = 1, *, degree: float) -> Graph:
    """Draw layers of ``floor(sqrt(n))`` columns, whose rows lie in their own layer and the next.

    Each column draws ``degree`` rows, rounded down, of its own layer, and as many of the next one,
    if there is one; a layer's rows have the numbers of its columns. Searches go from layer to
    layer, and one by depth may come upon a layer's rows by very many ways.

    Parameters
    ----------
    n : int
        Rows and columns; the last layer has what is left over.
    seed : int
        Seed.
    degree : float
        Draws for each column in each of the two layers.

    Returns
    -------
    Graph

    Raises
    ------
    ValueError
        If `degree` is negative.
    """
    if degree < 0:
        raise ValueError(f"degree={degree} is negative")
    width, draws = max(1, math.isqrt(n)), int(degree)
    columns = np.repeat(np.arange(n), 2 * draws)
    first = (columns // width + np.arange(columns.size) // draws % 2) * width if draws else columns
    inside = first < n
    columns, first = columns[inside], first[inside]
    drawn = fractions_from(mix_int(seed) + int(GOLDEN), int(GOLDEN), inside.size)[inside]
    rows = first + (drawn * np.minimum(width, n - first)).astype(np.int64)
    return graph_of((rows, columns), n, n)


def _two_ends(n: int, seed: int, degree: float, power: int) -> Graph:
    if degree < 0:
        raise ValueError(f"degree={degree} is negative")
    drawn = fractions_from(mix_int(seed) + int(GOLDEN), int(GOLDEN), 2 * int(n * degree))
    if power == 3:
        drawn = drawn * drawn * drawn  # Not drawn**3: it may round otherwise.
    ends = np.minimum((drawn * n).astype(np.int32), n - 1)
    return graph_of((ends[0::2], ends[1::2]), n, n)
