"""Two prices of this card measured once more, by the record's own clocks.

The model takes wait and bandwidth from the authors' program. The record has both as well: in the
runs of small matrices of the authors' stream, which no table of print shows, and in the device's
times of step 1's kernels. Where they do not give the same prices within `BAND`, the record's clocks
are not to be trusted, and no difference from print has the card for its cause: a clock that runs
five times too slowly would otherwise look like another card. The C code's clock is checked by its
step 1, size by size.
"""

from __future__ import annotations

import pandas as pd

from papers.common.evidence.tables import KEY, joined
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


def stream_runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the runs on the authors' matrices: `KEY`, ``seed``, ``ms``, ``stream_waits``."""
    options, family = authors_stream.CODES["kernels as printed"].text, authors_stream.FAMILY
    parts = {"ms": by_seed(summary, "gpu", options=options, family=family)}
    for name in (model.SEARCHES, model.LAUNCHES, model.ENDS, model.UPDATES):
        parts[name] = by_seed(summary, "gpu", name, "answer", options, family)
    rows = joined(parts).dropna().reset_index(drop=True)
    # `work` has the rows of all runs, step by step.
    waits = model.work(rows.assign(device=""))["waits"].to_numpy(float)
    rows = rows.assign(stream_waits=waits.reshape(len(tables.STEPS), -1).sum(axis=0))
    return rows[[*KEY, "seed", "ms", "stream_waits"]]


def by_small_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the time of a wait by the small ones of `stream_runs`: ``source small_wait_us``."""
    rows = runs[runs["n"] <= SMALL]
    rows = rows.assign(small_wait_us=1e3 * rows["ms"] / rows["stream_waits"])
    return rows.groupby("source")["small_wait_us"].median().reset_index()


def trusted(summary: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `model.step_times` whose sources have both prices again within `BAND`."""
    small = by_small_runs(stream_runs(summary))
    rows = steps.merge(by_device(summary), on="source").merge(small, on="source")
    good = True
    for again, price in (("clock_gb_s", "gb_s"), ("small_wait_us", "wait_us")):
        good &= (rows[again] / rows[price]).between(1 / BAND, BAND)
    return rows[good]


def trusted_c(summary: pd.DataFrame, c: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `model.c_times` of those n at which step 1 takes what is expected.

    Step 1 passes over the matrix and does the same in every instance: where it takes another time
    than print's price, costs 0 to n, it is not the CPU of the model.
    """
    names = {"step_1_ms": by_seed(summary, "cpu_c", "step_1_ms", "steps")}
    ours = joined(names).groupby(KEY, sort=False)["step_1_ms"].median().reset_index()
    first = c[(c["step"] == "step_1") & (c["cost_range"] == "n")].merge(ours, on=KEY)
    good = (first["step_1_ms"] / first["expected_c_ms"]).between(1 / BAND, BAND)
    return c.merge(first.loc[good, ["source", "n"]], on=["source", "n"])
