"""Random grids and networks."""

from __future__ import annotations

import numpy as np

from papers.common.instances.graphs.edge_lists import Draws
from papers.common.problems.network import EIGHT, FOUR, Grid, Network, grid, inner, network


def random_grid(n: int, seed: int = 1, *, largest: int, directions: int = 4) -> Grid:
    """Draw a square grid whose capacities are uniform in 0 .. `largest`, each drawn by itself.

    A pixel has an arc to one terminal only, to either with equal chance.

    Raises
    ------
    ValueError
        For directions other than 4 or 8, or a side or `largest` below 1.
    """
    if directions not in (4, 8) or n < 1 or largest < 1:
        raise ValueError(
            f"a grid of side {n}, with {directions} directions and capacities up to {largest}"
        )
    return _everywhere((n, n), seed, largest, FOUR if directions == 4 else EIGHT)


def oblong_grid(n: int, seed: int = 1, *, columns: int, largest: int = 20) -> Grid:
    """Draw a grid of n rows as `random_grid` draws a square one, with 4 directions.

    Raises
    ------
    ValueError
        For rows, columns or `largest` below 1.
    """
    _check_oblong(n, columns, largest)
    return _everywhere((n, columns), seed, largest, FOUR)


def channel_grid(n: int, seed: int = 1, *, columns: int, largest: int = 20) -> Grid:
    """Draw a grid of n rows whose flow runs through all columns, with 4 directions.

    The arcs from the source lead to the first column and those to the sink leave the last one, each
    of capacity ``n largest``. Capacities between pixels are uniform in 1 .. `largest`, so that some
    flow gets through, and every path of it has as many arcs as there are columns, or more.

    Raises
    ------
    ValueError
        For rows, columns or `largest` below 1.
    """
    _check_oblong(n, columns, largest)
    draws, shape = Draws(seed), (n, columns)
    source, sink = (np.zeros(shape, np.int64) for _ in range(2))
    source[:, 0] = sink[:, -1] = n * largest
    arcs = {
        name: np.where(inner(shape, name), 1 + _uniform(draws, shape, largest - 1), 0)
        for name in FOUR
    }
    return grid(source, sink, arcs)


def _check_oblong(n: int, columns: int, largest: int) -> None:
    if min(n, columns, largest) < 1:
        raise ValueError(f"a grid of {n} x {columns} pixels, with capacities up to {largest}")


def _uniform(draws: Draws, shape: tuple[int, int], largest: int) -> np.ndarray:
    """Draw int64[shape], uniform in 0 .. `largest`."""
    fractions = draws.fractions(shape[0] * shape[1])
    return (fractions * (largest + 1)).astype(np.int64).reshape(shape)


def _everywhere(shape: tuple[int, int], seed: int, largest: int, names: tuple[str, ...]) -> Grid:
    """Draw a grid of any shape, each of whose pixels has an arc to one terminal."""
    draws = Draws(seed)

    def drawn() -> np.ndarray:
        return _uniform(draws, shape, largest)

    to_source = draws.fractions(shape[0] * shape[1]).reshape(shape) < 0.5
    source, sink = np.where(to_source, drawn(), 0), np.where(to_source, 0, drawn())
    return grid(source, sink, {name: np.where(inner(shape, name), drawn(), 0) for name in names})


def random_network(n: int, seed: int = 1, *, largest: int, degree: float = 4.0) -> Network:
    """Draw ``degree * n`` arcs between random nodes, capacities uniform in 1 .. `largest`.

    Node 0 is the source, node ``n - 1`` the sink. Loops are dropped, parallel arcs added.

    Raises
    ------
    ValueError
        For fewer than 2 nodes, `largest` below 1 or a negative degree.
    """
    if n < 2 or largest < 1 or degree < 0:
        raise ValueError(f"{n} nodes, degree {degree} and capacities up to {largest}")
    draws, count = Draws(seed), round(degree * n)
    tail, head = ((draws.fractions(count) * n).astype(np.int64) for _ in range(2))
    capacity = 1 + (draws.fractions(count) * largest).astype(np.int64)
    return network(tail, head, capacity, n, 0, n - 1)
