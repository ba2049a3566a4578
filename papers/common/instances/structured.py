"""Costs with a structure, floats and rectangles: what solvers of uniform costs stumble over.

The matrices come from `numpy.random.default_rng`, whose entries depend on those before, so these
families have no blocks. Those of `structured` with seed `PEERS_SEED` are the instances that the
recorded times of others' programs were taken on (`papers/synthesis/published`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

PEERS_SEED = 77
"""The seed of the instances that others' programs were timed on."""

CLUSTERS = 10
SPREAD = 0.01
"""The standard deviation of a point of a cluster, in sides of the unit square."""

UNIT = 1e5
"""Distances of the unit square are rounded to whole multiples of one part of so many."""

STRUCTURED = ("euclid", "clustered", "lowrank", "hidden", "two", "product")
FLOATS = ("normal", "lognormal", "distances", "ties", "two_values", "few_pairs")

DECADES_DEVIATION = 4.6
"""Six standard deviations of the logarithm, 27.6, are twelve decades."""

FINITE_SHARE = 0.01


def _known(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise ValueError(f"{name!r} is none of {', '.join(names)}")


def _distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the distances of two sets of points of the plane: float64[n, m]."""
    across = left[:, None, 0] - right[None, :, 0]
    along = left[:, None, 1] - right[None, :, 1]
    return np.sqrt(across**2 + along**2)


def structured(n: int, seed: int = PEERS_SEED, *, name: str) -> np.ndarray:
    """Draw a structured matrix: one stream makes all of an order and a seed, in one order.

    ============  ==============================================================================
    name          costs
    ============  ==============================================================================
    ``euclid``    distances of uniform points of the unit square from others, times 1e5, rounded
    ``clustered`` the same, one side's points around ten centres
    ``lowrank``   the product of an n x 3 and a 3 x n matrix of integers below 100
    ``hidden``    integers below 1000, with zeros along a hidden permutation
    ``two``       zeros and ones
    ``product``   ``(i + 1) (j + 1)``; it needs no stream
    ============  ==============================================================================

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Seed of the stream.
    name : str
        One of `STRUCTURED`.

    Returns
    -------
    int32[n, n]

    Raises
    ------
    ValueError
        If `name` is none of them.
    """
    _known(name, STRUCTURED)
    if name == "product":
        lines = np.arange(1, n + 1)
        return np.multiply.outer(lines, lines).astype(np.int32)
    stream = np.random.default_rng(seed)
    spots, goals, centres = (stream.random((rows, 2)) for rows in (n, n, CLUSTERS))
    around = centres[stream.integers(0, CLUSTERS, n)] + SPREAD * stream.normal(size=(n, 2))
    if name in ("euclid", "clustered"):
        rounded = np.rint(UNIT * _distances(spots if name == "euclid" else around, goals))
        return rounded.astype(np.int32)
    zero_of_row = stream.permutation(n)
    noise = stream.integers(0, 1000, (n, n))
    if name == "hidden":
        noise[np.arange(n), zero_of_row] = 0
        return noise.astype(np.int32)
    left, right = stream.integers(0, 100, (n, 3)), stream.integers(0, 100, (3, n))
    if name == "lowrank":
        return (left @ right).astype(np.int32)
    return stream.integers(0, 2, (n, n)).astype(np.int32)


def floats(n: int, seed: int = 1, *, name: str) -> np.ndarray:
    """Draw a matrix of floats.

    ==============  ===========================================================================
    name            costs
    ==============  ===========================================================================
    ``normal``      normally distributed, of both signs
    ``lognormal``   log-normally distributed, over some twelve decades
    ``distances``   Euclidean distances of uniform points of the unit square
    ``ties``        one of n / 10 values (at least two), so that most costs are equal to others
    ``two_values``  0.25 or 0.75
    ``few_pairs``   uniform in [0, 1) for one pair in a hundred and for a hidden permutation; all
                    others are ``inf``: forbidden
    ==============  ===========================================================================

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Seed of `numpy.random.default_rng`, beside the name's place.
    name : str
        One of `FLOATS`.

    Returns
    -------
    float64[n, n]

    Raises
    ------
    ValueError
        If `name` is none of them.
    """
    _known(name, FLOATS)
    return _MAKERS[name](np.random.default_rng([seed, FLOATS.index(name)]), n)


def _ties(stream: np.random.Generator, n: int) -> np.ndarray:
    values = max(2, n // 10)
    return stream.integers(0, values, (n, n)) / values


def _few_pairs(stream: np.random.Generator, n: int) -> np.ndarray:
    cost = stream.random((n, n))
    allowed = stream.random((n, n)) < FINITE_SHARE
    allowed[np.arange(n), stream.permutation(n)] = True
    return np.where(allowed, cost, np.inf)


_MAKERS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda stream, n: stream.normal(size=(n, n)),
    "lognormal": lambda stream, n: np.exp(DECADES_DEVIATION * stream.normal(size=(n, n))),
    "distances": lambda stream, n: _distances(stream.random((n, 2)), stream.random((n, 2))),
    "ties": _ties,
    "two_values": lambda stream, n: 0.25 + 0.5 * stream.integers(0, 2, (n, n)),
    "few_pairs": _few_pairs,
}


def rectangle(n: int, seed: int = 1, *, columns: int) -> np.ndarray:
    """Draw a rectangle of integers, uniform below ten times its longer side.

    Parameters
    ----------
    n, columns : int
        Rows and columns.
    seed : int
        Seed of `numpy.random.default_rng`, beside the shape.

    Returns
    -------
    int32[n, columns]
    """
    stream = np.random.default_rng([seed, n, columns])
    return stream.integers(0, max(1, 10 * max(n, columns)), (n, columns), dtype=np.int32)
