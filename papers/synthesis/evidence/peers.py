"""Times of others' programs on the same instances and the same card: data with a provenance.

The README of the synthesis says which program each is, and how it was timed. Times of two cards
never stand in one comparison: tables are put together by card.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from papers.common.evidence.tables import Published
from papers.common.gpu.device import EXECUTOR_NAME

RIVAL = "hylac-classical"
"""The fastest of others' GPU codes on uniform costs."""

UNIFORM, FAMILIES, BATCHES, PRICES = "lap_peers", "families_peers", "batch_peers", "prices"
"""Names of the CSV files; each says in its column ``device`` on which card a peer ran."""


def on_gpu(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that were measured on some GPU."""
    if table.empty:
        return table
    known = table["device"].notna() & (table["device"].astype(str) != EXECUTOR_NAME)
    return table[known]


def best(times: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the fastest peer of each instance on each card: its name, its median over the seeds.

    Parameters
    ----------
    times : DataFrame
        ``peer``, ``device``, ``solve_ms`` and the columns `by`; a peer without a time (it was
        stopped) counts for nothing.
    by : list of str
        The columns that tell instances apart.

    Returns
    -------
    DataFrame
        `by`, ``device``, ``best_peer`` and ``best_peer_ms``.
    """
    by = [*by, "device"]
    medians = times.dropna(subset=["solve_ms"]).groupby([*by, "peer"])["solve_ms"].median()
    rows = medians.reset_index().sort_values([*by, "solve_ms"], kind="stable")
    rows = rows.drop_duplicates(by)
    return rows.rename(columns={"peer": "best_peer", "solve_ms": "best_peer_ms"})


def prices(published: Published) -> dict[str, dict[str, float]]:
    """Return what a barrier of the grid, one of a cluster and a byte cost (ms), by card.

    A byte that is read is ``byte``; one that is copied to the device from pinned memory is ``up``,
    NaN where that has not been measured.
    """
    found = {}
    for card, rows in published(PRICES).groupby("device"):
        of = {row.what: float(row.price) for row in rows.itertuples(index=False)}
        found[str(card)] = {
            "barrier": of["barrier"] / 1e3,
            "cluster_barrier": of["cluster barrier"] / 1e3,
            "byte": 1e3 / (of["reading"] * 1e12),
            "up": 1e3 / (of.get("copying up", math.nan) * 1e9),
        }
    return found


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean; NaN of nothing."""
    logs = np.log(np.asarray(list(values), np.float64))
    return float(np.exp(logs.mean())) if logs.size else math.nan
