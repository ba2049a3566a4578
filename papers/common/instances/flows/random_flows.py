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
    draws, shape = Draws(seed), (n, n)

    def drawn() -> np.ndarray:
        return (draws.fractions(n * n) * (largest + 1)).astype(np.int64).reshape(shape)

    to_source = draws.fractions(n * n).reshape(shape) < 0.5
    source, sink = np.where(to_source, drawn(), 0), np.where(to_source, 0, drawn())
    names = FOUR if directions == 4 else EIGHT
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
