"""Two prices of this card measured once more, by the record's own clocks.

The model takes wait and bandwidth from the authors' program. The record has both as well: in the
runs of small matrices of the authors' stream, which no table of print shows, and in the device's
times of step 1's kernels. Where they do not give the same prices within `BAND`, the record's clocks
are not to be trusted, and no difference from print has the card for its cause: a clock that runs
five times too slowly would otherwise look like another card.
"""

from __future__ import annotations

import pandas as pd

from papers.common.evidence.tables import joined
from papers.lopes2019.evidence import authors_stream, tables
from papers.lopes2019.evidence.card import model
from papers.lopes2019.evidence.card.model import BAND
from papers.lopes2019.evidence.tables import PRINTED, by_seed

SMALL = 256
"""Up to this n a run of the authors' stream passes so few bytes that its waits are all of it."""

PASSES = ("step_1_min_in_rows", "step_1_row_sub", "step_1_min_in_columns", "step_1_column_sub")
"""The kernels of step 1 that pass over the matrix, six times together."""


def by_device(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the bandwidth of step 1 by the device's clock: ``source clock_gb_s``."""
    parts = {name: by_seed(summary, "gpu", f"{name}_ms", "kernels", PRINTED) for name in PASSES}
    rows = joined(parts)
    megabytes = 6e-6 * model.ENTRY * rows["n"].astype(float) ** 2
    rows = rows.assign(clock_gb_s=megabytes / rows[list(PASSES)].sum(axis=1, skipna=False))
    return rows.groupby("source")["clock_gb_s"].median().reset_index()


def by_small_runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the time of a wait by the stream's small matrices: ``source small_wait_us``."""
    options = authors_stream.CODES["kernels as printed"].text
    names = (model.SEARCHES, model.LAUNCHES, model.ENDS, model.UPDATES)
    family = authors_stream.FAMILY
    parts = {"ms": by_seed(summary, "gpu", options=options, family=family)}
    for name in names:
        parts[name] = by_seed(summary, "gpu", name, "answer", options, family)
    rows = joined(parts).dropna().assign(device="")
    rows = rows[rows["n"] <= SMALL].reset_index(drop=True)
    # `work` has the rows of all runs, step by step.
    waits = model.work(rows)["waits"].to_numpy(float).reshape(len(tables.STEPS), -1).sum(axis=0)
    rows = rows.assign(small_wait_us=1e3 * rows["ms"] / waits)
    return rows.groupby("source")["small_wait_us"].median().reset_index()


def trusted(summary: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `model.step_times` whose sources have both prices again within `BAND`."""
    rows = steps.merge(by_device(summary), on="source").merge(by_small_runs(summary), on="source")
    good = True
    for again, price in (("clock_gb_s", "gb_s"), ("small_wait_us", "wait_us")):
        good &= (rows[again] / rows[price]).between(1 / BAND, BAND)
    return rows[good]
