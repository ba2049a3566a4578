"""Graphs whose edges have random ends: uniform ones, and few vertices with most of the edges."""

from __future__ import annotations

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


def _two_ends(n: int, seed: int, degree: float, power: int) -> Graph:
    if degree < 0:
        raise ValueError(f"degree={degree} is negative")
    drawn = fractions_from(mix_int(seed) + int(GOLDEN), int(GOLDEN), 2 * int(n * degree))
    if power == 3:
        drawn = drawn * drawn * drawn  # Not drawn**3: it may round otherwise.
    ends = np.minimum((drawn * n).astype(np.int32), n - 1)
    return graph_of((ends[0::2], ends[1::2]), n, n)
