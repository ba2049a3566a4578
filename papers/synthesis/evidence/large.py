"""Uniform costs that no host has to hold: drawn, solved and certified on the device.

At n = 100,000 the costs are 40 GB of int32. The proof goes over the matrix where it lies, a strip
of rows at a time (`papers.common.problems.costs_on_device`).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.tables import KEY, Published, by_seed, named
from papers.common.model import Cell, Instance, Plan, Storage
from papers.synthesis.evidence import peers, work
from papers.synthesis.evidence.uniform import DENSE, LABELS

STORAGE: Storage = "device"

SIZES = {"smoke": 256, "quick": 2000, "paper": 100_000}
EXECUTOR = {"smoke": 8, "quick": 12, "paper": 12}


def cells(plan: Plan) -> list[Cell]:
    """Return a cell a range, one seed."""
    n = (SIZES if plan.gpu else EXECUTOR)[plan.preset]
    seed = min(plan.seeds)
    return [
        Cell(DENSE, Instance("uniform", n, label, seed=seed, storage=STORAGE)) for label in LABELS
    ]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return time, counts, bytes and the floor by size and range."""
    rows = by_seed(summary, DENSE, storage=STORAGE).rename(columns={"value": "dense_ms"})
    # Small costs in device memory are those of the experiment `calls`.
    rows = rows[rows["n"] == rows.groupby("source")["n"].transform("max")]
    for name in work.COUNTERS:
        more = by_seed(summary, DENSE, name, "answer", storage=STORAGE)
        rows = rows.merge(named(more, name), on=[*KEY, "seed"], how="left")
    prices = peers.prices(published)
    counted = [
        (int(row["n"]), prices.get(row["device"]), {k: float(row[k]) for k in work.COUNTERS})
        for row in rows[["n", "device", *work.COUNTERS]].to_dict("records")
    ]
    floor = [work.floor_ms(n, n, 4, counts, of) if of else np.nan for n, of, counts in counted]
    rows = rows.assign(
        gib=[4 * float(n) ** 2 / 2**30 for n, _, _ in counted],
        gib_read=[work.bytes_read(n, n, 4, counts) / 2**30 for n, _, counts in counted],
    )
    rows = rows.assign(
        gib_a_second=1e3 * rows["gib_read"] / rows["dense_ms"],
        floor_ms=np.array(floor, np.float64),
    )
    rows = rows.assign(dense_over_floor=rows["dense_ms"] / rows["floor_ms"])
    rows = tables.order(rows, ranked={"cost_range": LABELS})
    return rows[
        ["n", "cost_range", "source", "device", "gib", "dense_ms", "rounds", "iterations",
         "barriers", "gib_read", "gib_a_second", "floor_ms", "dense_over_floor"]
    ]  # fmt: skip
