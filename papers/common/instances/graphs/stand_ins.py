"""Stand-ins for real matrices that cannot be had: a graph of the same kind, size and mean degree.

A stand-in is never the matrix it is named after. It shares with it the shape, the number of
nonzeros to within a percent, symmetry, and a law of its kind that decides which obstacles a
matching algorithm meets: dead ends of streets, hubs of a web, cliques of authors, a planted
perfect matching. The parameters of the laws are choices of ours, not fits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit, prange

from papers.common.instances.graphs import kron, plane
from papers.common.instances.graphs.edge_lists import (
    Draws,
    Edges,
    both_ways,
    graph_of,
    without_loops,
)
from papers.common.instances.graphs.suitesparse import REAL
from papers.common.problems.graph import Graph


def stand_in(n: int, seed: int = 1, *, name: str) -> Graph:
    """Draw a graph of `n` rows and columns of the kind of a real matrix, at its mean degree.

    Parameters
    ----------
    n : int
        Rows and columns; may be other than the real matrix's.
    seed : int
        Seed.
    name : str
        A key of `REAL`.

    Returns
    -------
    Graph
        Where `n` is some thousands or more, its mean degree is the published one to within a
        percent; smaller ones may not hold as many different edges as the law asks for.

    Raises
    ------
    ValueError
        If the name is unknown, or `n` is no size of its kind.
    """
    if name not in REAL:
        raise ValueError(f"no stand-in for {name!r}; there are {', '.join(REAL)}")
    real = REAL[name]
    if real.kind in _DEFINED:
        return _DEFINED[real.kind](n, seed)
    if n < 2:
        return graph_of((np.empty(0, np.int32), np.empty(0, np.int32)), n, n)
    wanted = real.mean_degree * n
    asked, before = wanted, (0.0, 0)
    for _ in range(_ROUNDS):
        graph = graph_of(_LAWS[real.kind](n, asked, real.symmetric, Draws(seed)), n, n)
        if abs(graph.edges - wanted) <= 0.01 * wanted or graph.edges == before[1]:
            break
        # Equal edges count once: ask for more, at the rate that the last request brought them.
        price = (asked - before[0]) / (graph.edges - before[1])
        before = asked, graph.edges
        asked = float(np.clip(asked + price * (wanted - graph.edges), 0.5 * asked, 2.0 * asked))
    return graph


_ROUNDS = 5

_DEFINED: dict[str, Callable[[int, int], Graph]] = {
    "mesh": plane.mesh_dual,
    "delaunay": plane.delaunay,
    "kron": kron.kron,
    "rgg": plane.rgg,
}
"""Kinds that a definition fixes, mean degree included."""


# ------------------------------------------------------------------------------- parts of the laws


def _popular(drawn: np.ndarray, n: int, power: float, flat: float) -> np.ndarray:
    """Return ranks in 0 .. n - 1: rank ``r`` in proportion to ``(r + flat)**(1 / power - 1)``.

    Degrees that follow such weights have a power law with exponent ``2 + 1 / (power - 1)``; the
    first `flat` ranks are about equal, which bounds the largest degree.
    """
    low, high = flat ** (1 / power), (n + flat) ** (1 / power)
    rank = (low + (high - low) * drawn) ** power - flat
    return np.clip(rank.astype(np.int64), 0, n - 1)


def _near(centre: np.ndarray, drawn: np.ndarray, n: int, reach: float) -> np.ndarray:
    """Return numbers near others: the logarithm of the distance is uniform, up to `reach`."""
    signed = 2 * drawn - 1
    apart = np.minimum(reach, max(n - 1, 1)) ** np.abs(signed)
    return (centre + np.where(signed < 0, -apart, apart).astype(np.int64)) % n


class _Weights:
    """Log-normal weights of `n` vertices, in no order: popularity, or how busy a page is.

    The degrees of Graph500's matrices are nearly log-normal; so are those of many networks but
    for the largest.

    Parameters
    ----------
    n : int
        Vertices.
    spread : float
        Standard deviation of the weights' logarithms.
    draws : Draws
        Where they come from.
    """

    def __init__(self, n: int, spread: float, draws: Draws) -> None:
        from scipy.special import ndtri

        weights = np.exp(spread * ndtri(np.clip(draws.fractions(n), 1e-12, 1 - 1e-12)))
        self._until = np.concatenate([[0.0], np.cumsum(weights)])

    def anywhere(self, drawn: np.ndarray) -> np.ndarray:
        """Return vertices by weight, one for each fraction."""
        return _picked(self._until, np.empty(0, np.int64), 0, drawn)

    def near(self, who: np.ndarray, size: int, drawn: np.ndarray) -> np.ndarray:
        """Return vertices by weight, each from the `size` numbers around one of `who`."""
        return _picked(self._until, who, size, drawn)


@njit(cache=True, parallel=True)
def _picked(until, who, size, drawn):
    """Draw vertices ``v`` in proportion to ``until[v + 1] - until[v]``, of all or an interval."""
    found = np.empty(drawn.size, np.int64)
    for k in prange(drawn.size):
        low, high = 0, until.size - 1
        if who.size:
            low = who[k] // size * size
            high = min(low + size, high)
        wanted = until[low] + drawn[k] * (until[high] - until[low])
        while high - low > 1:
            middle = (low + high) // 2
            if until[middle] <= wanted:
                low = middle
            else:
                high = middle
        found[k] = low
    return found


# ------------------------------------------------------------------------------- the laws


def _streets(n: int, pairs: float, draws: Draws) -> Edges:
    """Draw a street grid, some sides of its blocks missing: one way, sorted by the lower end."""
    width = max(1, int(np.sqrt(n)))
    ends = np.arange(n)
    right = ends[(ends % width != width - 1) & (ends + 1 < n)]
    down = ends[ends + width < n]
    first = np.concatenate([right, down])
    second = np.concatenate([right + 1, down + width])
    order = np.argsort(first, kind="stable")
    kept = order[draws.fractions(first.size) < pairs / max(first.size, 1)]
    return first[kept], second[kept]


def _road(n: int, entries: float, symmetric: bool, draws: Draws) -> Edges:
    """Draw junctions of up to four streets, dead ends included, numbered block by block."""
    return both_ways(_streets(n, entries / 2, draws))


_JUNCTION_DEGREE = 2.6


def _osm(n: int, entries: float, symmetric: bool, draws: Draws) -> Edges:
    """Draw streets as chains of points: nearly all vertices have two neighbours, numbered in a row.

    A street map has ``entries / 2 - n`` more streets than junctions; that fixes the number of
    junctions, and all other vertices are spread over the streets, their numbers geometric.
    """
    excess = max(entries / 2 - n, 1.0)
    junctions = int(np.clip(excess / (_JUNCTION_DEGREE / 2 - 1), 2, n))
    low, high = _streets(junctions, junctions * _JUNCTION_DEGREE / 2, draws)
    if not low.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    share = np.cumsum(-np.log1p(-draws.fractions(low.size)))
    last = np.floor(share / share[-1] * (n - junctions)).astype(np.int64)
    last[-1] = n - junctions
    length = np.diff(last, prepend=0)
    # A junction comes before the chains that it is the lower end of.
    before = np.concatenate([[0], last])
    number = np.arange(junctions) + before[np.searchsorted(low, np.arange(junctions))]
    start = low + 1 + before[:-1]
    point = np.repeat(start - before[:-1], length) + np.arange(n - junctions)
    previous = point - 1
    opening = before[:-1][length > 0]
    previous[opening] = number[low[length > 0]]
    end = np.where(length > 0, start + length - 1, number[low])
    return both_ways((np.concatenate([previous, end]), np.concatenate([point, number[high]])))


_HOST = 2048


def _web(n: int, entries: float, symmetric: bool, draws: Draws) -> Edges:
    """Draw links between pages, hosts being intervals of numbers.

    Every page was found through one of its host that has many links. All other links start at such
    pages, too, and lead to popular pages of the host, every tenth to pages popular anywhere.
    So many pages have no link but the one that they share their finder with, and a maximum
    matching leaves them out.
    """
    page = np.arange(n)
    busy, known = _Weights(n, 1.8, draws), _Weights(n, 1.8, draws)
    finder = busy.near(page, _HOST, draws.fractions(n))
    source = busy.anywhere(draws.fractions(max(int(entries) - n, 0)))
    target = known.near(source, _HOST, draws.fractions(source.size))
    away = draws.fractions(source.size) < 0.1
    target[away] = known.anywhere(draws.fractions(int(away.sum())))
    return np.concatenate([finder, source]), np.concatenate([page, target])


_MUTUAL = 0.6
_CIRCLE = 4096


def _social(n: int, entries: float, symmetric: bool, draws: Draws) -> Edges:
    """Draw ties between people: one of each person, all others by the popularity of both ends.

    A third of the ties stay among some thousand people with near numbers. Of a directed network's
    ties, a share of `_MUTUAL` goes both ways.
    """
    ties = max(int(entries / (2.0 if symmetric else 1.0 + _MUTUAL)), n)
    people = _Weights(n, 1.5, draws)
    one = people.anywhere(draws.fractions(ties))
    one[:n] = np.arange(n)
    other = people.anywhere(draws.fractions(ties))
    local = draws.fractions(ties) < 1 / 3
    other[local] = people.near(one[local], _CIRCLE, draws.fractions(int(local.sum())))
    one, other = without_loops((one, other))
    if symmetric:
        return both_ways((one, other))
    back = draws.fractions(one.size) < _MUTUAL
    return np.concatenate([one, other[back]]), np.concatenate([other, one[back]])


_OFFERS = 10


def _copurchase(n: int, entries: float, symmetric: bool, draws: Draws) -> Edges:
    """Draw products: each names at most ten others, three of four near in number."""
    full = np.clip((entries / n - (_OFFERS - 1) / 2) / ((_OFFERS + 1) / 2), 0.0, 1.0)
    offers = (_OFFERS * draws.fractions(n)).astype(np.int64)
    offers[draws.fractions(n) < full] = _OFFERS
    product = np.repeat(np.arange(n), offers)
    other = draws.permutation(n)[_popular(draws.fractions(product.size), n, 2.0, 100.0)]
    local = draws.fractions(product.size) < 0.75
    other[local] = _near(product[local], draws.fractions(int(local.sum())), n, 50_000)
    return without_loops((product, other))


_LARGEST_CLIQUE = 150


def _coauthor(n: int, entries: float, symmetric: bool, draws: Draws) -> Edges:
    """Draw overlapping cliques: all papers of one author are adjacent.

    Sizes follow a power law with exponent 2.5 from 3 on; members are near in number.
    """
    largest = min(_LARGEST_CLIQUE, n)
    enough = int(entries / 6) + 1  # A clique of three has six entries.
    size = np.minimum(3.0 * (1 - draws.fractions(enough)) ** (-1 / 1.5), largest).astype(np.int64)
    pairs = np.cumsum(size * (size - 1))
    size = size[: int(np.searchsorted(pairs, entries)) + 1]
    centre = (draws.fractions(size.size) * n).astype(np.int64)
    members = _near(np.repeat(centre, size), draws.fractions(int(size.sum())), n, 3_000)
    return without_loops(_cliques(size, members.astype(np.int32)))


@njit(cache=True)
def _cliques(size, members):
    """Return all ordered pairs of different members of each clique."""
    total = 0
    for clique in range(size.size):
        total += size[clique] * (size[clique] - 1)
    row, column = np.empty(total, np.int32), np.empty(total, np.int32)
    start, pair = 0, 0
    for clique in range(size.size):
        stop = start + size[clique]
        for one in range(start, stop):
            for other in range(start, stop):
                if one != other:
                    row[pair], column[pair] = members[one], members[other]
                    pair += 1
        start = stop
    return row, column


_SILENT = 0.45


def _citation(n: int, entries: float, symmetric: bool, draws: Draws) -> Edges:
    """Draw citations of earlier papers, recent or popular; the oldest part cites none on record."""
    oldest = int(_SILENT * n)
    citing = n - oldest
    source = oldest + (draws.fractions(int(entries)) * citing).astype(np.int64)
    age = _popular(draws.fractions(source.size), n, 1.5, 1.0)
    target = source - 1 - age % np.maximum(source, 1)
    noted = draws.fractions(source.size) < 0.4
    known = draws.permutation(n)[_popular(draws.fractions(int(noted.sum())), n, 1.6, 100.0)]
    target[noted] = np.minimum(known, source[noted] - 1)
    kept = target >= 0
    return source[kept], target[kept]


def _circuit(n: int, entries: float, symmetric: bool, draws: Draws) -> Edges:
    """Draw a square system that has a perfect matching, hidden among as good entries.

    The matching pairs each row with a column at most some hundred away; the others are drawn by
    the same law of distances.
    """
    jitter = np.argsort(np.arange(n) + 200 * draws.fractions(n), kind="stable")
    more = max(int(entries) - n, 0)
    row = (draws.fractions(more) * n).astype(np.int64)
    column = _near(row, draws.fractions(more), n, 2_000)
    return np.concatenate([np.arange(n), row]), np.concatenate([jitter, column])


_LAWS: dict[str, Callable[[int, float, bool, Draws], Edges]] = {
    "road": _road,
    "osm": _osm,
    "web": _web,
    "social": _social,
    "copurchase": _copurchase,
    "coauthor": _coauthor,
    "citation": _citation,
    "circuit": _circuit,
}
"""Kind -> ``law(n, entries, symmetric, draws) -> Edges``, about `entries` of them."""
