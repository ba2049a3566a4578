"""The least that a run can take, from the work that it has counted.

The dense solver reads the costs in passes whose numbers it counts: the row minima of the start and
of every rescaling, the column minima of the start, one row for a bid, one row for a row that a
search relaxes, and the sample for the mean. Where near pairs are marked
(`papers.synthesis.assignment.kernels.grid.near`), one pass more, and in place of a row its words
and the costs that they mark. It meets at the barriers that it counts. Neither can be had for less
than its price on the card, so that their sum is a floor: waits for memory between barriers, the
duals' traffic and the threads' unequal shares come on top. The exchange of reports between two
levels of a search is counted as a barrier and priced as one; its own price has not been measured.
Barriers of a cluster (`papers.synthesis.assignment.kernels.cluster`) have a price of their own.

Floors of batches, matchings and cuts are of less: of bytes that have to move once, and of the
barriers that are counted. They take the barrier's price from a launch of another shape than theirs,
and the bus' rate from one host, so that they are estimates of a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from papers.synthesis.assignment.settings import SPARSE, WARP, Settings

COUNTERS = (
    "rounds", "iterations", "barriers", "cluster_barriers", "bids", "relaxed", "rescalings", "near",
)  # fmt: skip
"""The counters that the floor is made of; the first four are shown."""

USUAL = Settings()
"""No rule for a shape changes the two settings that are asked for here."""

BLOCKS = 132
"""Blocks of the card whose prices are known; a search goes by marks if it has more tiles."""

KEPT_BYTES = 32 * 2**20
"""A matrix up to this size stays in the card's second-level cache: only its first pass is read
from memory, the others cost barriers alone."""


WORD = 4
"""Bytes of a cost in 32 bits, of a vertex' number, of a capacity."""

LEAST_BARRIERS = 3
"""Barriers of a round of `lupinska_costscale:gpu_relabel` on an image, at least, beside one for
each step of its search: its sweeps, whose number is not counted, have more."""


def floors(
    rows: pd.DataFrame,
    prices: Mapping[str, Mapping[str, float]],
    floor: Callable[[Any, Mapping[str, float]], float],
) -> np.ndarray:
    """Return a floor in ms for each row of a table, NaN on a card whose prices are not known.

    Parameters
    ----------
    rows : DataFrame
        With ``device``.
    prices : mapping
        By card (`papers.synthesis.evidence.peers.prices`).
    floor : callable(row, prices) -> float
        Gets a row as a named tuple, and its card's prices.
    """
    every = rows.itertuples(index=False)
    found = [floor(row, prices[row.device]) if row.device in prices else np.nan for row in every]
    return np.array(found, np.float64)


def batch_floor_ms(problems: float, n: float, prices: Mapping[str, float]) -> float:
    """Return the floor of a batch of square 32-bit costs in ms: each is read once."""
    return problems * n * n * WORD * prices["byte"]


def matching_floor_ms(n: float, barriers: float, prices: Mapping[str, float]) -> float:
    """Return the floor in ms of a matching of n rows and n columns, whose launch meets so often.

    Both sides' partners are written once. Not every neighbour is read: a search may end before.
    """
    return barriers * prices["barrier"] + WORD * 2 * n * prices["byte"]


def cut_floor_ms(
    pixels: float, neighbours: float, rounds: float, steps: float, prices: Mapping[str, float]
) -> float:
    """Return the floor in ms of a call of `grid_cut` that a GPU solves.

    Two capacities of a pixel to the terminals and those to its neighbours travel to the device. It
    has them in its second-level cache then.

    Parameters
    ----------
    pixels, neighbours : float
        Of the image, and of a pixel: 4 or 8.
    rounds, steps : float
        Counts of the answer, ``device_relabels`` and ``bfs_levels``.
    """
    barriers = LEAST_BARRIERS * rounds + steps
    return WORD * pixels * (2 + neighbours) * prices["up"] + barriers * prices["barrier"]


def bytes_read(n: int, m: int, size: int, counts: Mapping[str, float]) -> float:
    """Return the bytes of costs that a run reads at least.

    Parameters
    ----------
    n, m : int
        Rows and columns, ``n <= m``.
    size : int
        Bytes a cost.
    counts : mapping of str to float
        ``rescalings``, ``bids``, ``relaxed`` and ``near`` of the answer.
    """
    sampled = min(n, USUAL.sampled_rows)
    columns = n if n == m else 0
    rows = float(n * counts["rescalings"] + columns + sampled)
    of_bid = of_relaxed = float(m * size)
    marked = counts["near"]
    if n * USUAL.near_least <= marked <= n * m / SPARSE:
        rows += n
        of_bid = m / 8 + size * marked / n
        if m > BLOCKS * WARP:
            of_relaxed = of_bid
    return float(rows * m * size + counts["bids"] * of_bid + counts["relaxed"] * of_relaxed)


def floor_ms(
    n: int, m: int, size: int, counts: Mapping[str, float], prices: Mapping[str, float]
) -> float:
    """Return the floor of a run in ms; see `bytes_read`, and `peers.prices` for the prices."""
    read = bytes_read(n, m, size, counts)
    if n * m * size <= KEPT_BYTES:
        read = n * m * size
    near = counts["cluster_barriers"]
    waits = (counts["barriers"] - near) * prices["barrier"] + near * prices["cluster_barrier"]
    return waits + read * prices["byte"]
