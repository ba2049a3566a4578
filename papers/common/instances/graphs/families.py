"""Families of bipartite graphs: seeded, given by formula, the same edges on every machine.

`GRAPHS` maps a name to ``callable(n, seed=1, **params) -> Graph``, and `draw` turns a
`papers.common.model.Instance` into a graph. Every family also exists as ``NAME_rcp``, with rows
and columns in random order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit, prange

from papers.common.instances import cache as drawn
from papers.common.instances.counter_rng import GOLDEN, fraction, mix_int
from papers.common.instances.graphs import plane
from papers.common.instances.graphs.edge_lists import Draws, both_ways, fractions_from, graph_of
from papers.common.model import Instance
from papers.common.problems.graph import Graph

QUARTERS = (0.57, 0.19, 0.19, 0.05)
"""Probabilities of the four quarters of a Graph500 matrix, row by row."""

EDGES_A_VERTEX = 48
"""Draws for each vertex of a kron_g500 matrix."""


# ------------------------------------------------------------------------------- both ends random


def uniform_graph(n: int, seed: int = 1, *, degree: float) -> Graph:
    """``int(n degree)`` edges between uniform random rows and columns, less what occurs twice.

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
    """`uniform_graph` with ``u**3`` in place of ``u``: few vertices have most of the edges."""
    return _two_ends(n, seed, degree, 3)


def _two_ends(n: int, seed: int, degree: float, power: int) -> Graph:
    if degree < 0:
        raise ValueError(f"degree={degree} is negative")
    drawn = fractions_from(mix_int(seed) + int(GOLDEN), int(GOLDEN), 2 * int(n * degree))
    if power == 3:
        drawn = drawn * drawn * drawn  # Not drawn**3: it may round otherwise.
    ends = np.minimum((drawn * n).astype(np.int32), n - 1)
    return graph_of((ends[0::2], ends[1::2]), n, n)


def kron(n: int, seed: int = 1) -> Graph:
    """R-MAT graph with Graph500's parameters: kron_g500-lognX of DIMACS10 for n = 2**X.

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
    """Row and column of each pair, int32[count]; level ``l`` of pair ``k`` is number k levels + l.

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


# ------------------------------------------------------------------------------- by name


def _matrix(n: int, seed: int = 1, *, name: str) -> Graph:
    """The matrix called `name`, from a file; `seed` has no effect."""
    from papers.common.instances import files

    graph = files.load(name)
    if graph.rows != n:
        raise files.BrokenInstanceError(f"{name} has {graph.rows} rows, not {n}")
    return graph


def _stand_in(n: int, seed: int = 1, *, name: str) -> Graph:
    from papers.common.instances.graphs import stand_ins

    return stand_ins.stand_in(n, seed, name=name)


def _permuted(generator: Callable[..., Graph]) -> Callable[..., Graph]:
    """The same graphs, rows and columns permuted by the same seed."""

    def permuted(n: int, seed: int = 1, **params: Any) -> Graph:
        return generator(n, seed, **params).permuted(seed)

    return permuted


_FAMILIES: dict[str, Callable[..., Graph]] = {
    "uniform_graph": uniform_graph,
    "skew_graph": skew_graph,
    "delaunay": plane.delaunay,
    "rgg": plane.rgg,
    "kron": kron,
    "mesh_dual": plane.mesh_dual,
    "matrix": _matrix,
    "stand_in": _stand_in,
}

GRAPHS: dict[str, Callable[..., Graph]] = {
    **_FAMILIES,
    **{f"{name}_rcp": _permuted(generator) for name, generator in _FAMILIES.items()},
}
"""Name -> ``callable(n, seed=1, **params) -> Graph``."""


def is_permuted(first: Instance, second: Instance) -> bool:
    """Whether the second graph is the first with its rows and columns permuted."""
    return replace(first, family=f"{first.family}_rcp") == second and second.family in GRAPHS


_SIZES = {"delaunay": r"n(\d+)", "rgg": r"n_2_(\d+)_s\d+", "kron": r"logn(\d+)"}
"""How a family's labels tell the exponent of its size."""


def parameters(instance: Instance) -> dict[str, Any]:
    """Return the keyword arguments of a graph instance's generator besides ``n`` and ``seed``.

    Where `Instance.params` leaves them out, the label gives them: ``"d3"`` the degree of
    `uniform_graph` and `skew_graph`, a matrix's name that of ``matrix`` and ``stand_in``. A label
    of the families that are named after their size (``"n20"``, ``"n_2_20_s0"``, ``"logn18"``) must
    tell the right one.

    Raises
    ------
    ValueError
        If the family is none of `GRAPHS`, or its label says nothing or another size.
    """
    if instance.family not in GRAPHS:
        raise ValueError(f"unknown family {instance.family!r}; there are {', '.join(GRAPHS)}")
    family, label = instance.family.removesuffix("_rcp"), instance.label
    params = dict(instance.params)
    if family in ("uniform_graph", "skew_graph") and "degree" not in params:
        if not re.fullmatch(r"d\d+(\.\d+)?", label):
            raise ValueError(f'the degree of {instance.key} is not in its label, such as "d3"')
        params["degree"] = float(label[1:])
    elif family in ("matrix", "stand_in"):
        params.setdefault("name", label)
    elif family in _SIZES:
        found = re.fullmatch(_SIZES[family], label)
        if not found or 1 << int(found[1]) != instance.n:
            raise ValueError(f"{label!r} does not name a {family} graph of {instance.n} rows")
    return params


def draw(instance: Instance) -> Graph:
    """Draw an instance's graph, or read it where a large one is kept
    (`papers.common.instances.cache`).

    Raises
    ------
    ValueError
        As `parameters`, or if a parameter is outside of its range.
    papers.common.instances.files.InstanceError
        If a matrix's file is missing or broken.
    """
    params = parameters(instance)
    base = replace(instance, family=instance.family.removesuffix("_rcp"))
    kept = drawn.load(base)
    if kept is None:
        return GRAPHS[instance.family](instance.n, seed=instance.seed, **params)
    return kept if base == instance else kept.permuted(instance.seed)
