"""The prices of print's machine, fitted to print alone.

The kernels of Figures 2 to 4 give launch, byte and turn; Table II gives the zero, a search in one
launch (Opt 2's times), and the barrier of a block (Opts 3 and 4 at n = `HELD_N`). The work is that
of our runs, which no hardware changes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from papers.common.evidence.tables import Published
from papers.kawtikwar_opts.evidence import counter
from papers.kawtikwar_opts.evidence.card import work as w
from papers.kawtikwar_opts.evidence.card.prices import HELD_N, PROFILED_N, Prices
from papers.kawtikwar_opts.evidence.card.work import Record
from papers.kawtikwar_opts.evidence.codes import HOST_LOOP, VERSIONS

MULTIPROCESSORS = 68
"""Those of the RTX 2080 Ti."""


def _mean(values: list[float]) -> float:
    """Return the geometric mean of those that are known; NaN without one, or with one below 0."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.exp(np.mean(np.log(known)))) if known and min(known) > 0 else np.nan


FIGURES = {"baseline": "fig02", "opt0": "fig03", "opt1": "fig04"}


def kernels(published: Published) -> dict[tuple[str, str], float]:
    """Load the times of Figures 2 to 4 in ms, by version and kernel."""
    return {
        (version, row.kernel): float(row.total_time_ms)
        for version, figure in FIGURES.items()
        for row in published(figure).itertuples(index=False)
    }


def of_print(record: Record, published: Published) -> Prices | None:
    """Return the prices of print's card; None without the counts at Figures 2 to 4's size.

    The figures do not tell a search from its launch: print's launch holds its share of a search.
    """
    known = {v: found for v in HOST_LOOP if (found := record.work(v, PROFILED_N))}
    if set(known) != set(HOST_LOOP):
        return None
    ms = kernels(published)
    updates = {n: record("opt0", n, "iterations_step_6", "answer") for n in record.sizes}
    zero = counter.of_print(published, pd.Series(updates).dropna()).to_dict()
    launches = []
    for version in ("opt0", "opt1"):
        counted = known[version]
        us = 1e3 * ms[version, "others"] - w.stars(counted) * zero[PROFILED_N]
        launches.append(us / w.others(counted, version))
    launch = _mean(launches)
    turns, megabytes = [], []
    for (version, kernel), time in ms.items():
        each = 1e3 * time / known[version].updates - launch
        if kernel == w.MINIMUM:
            turns.append(each / w.turns(PROFILED_N, w.REDUCTION))
        elif kernel != "others" and (version, kernel) != ("baseline", "compress_matrix"):
            megabytes.append(each / w.megabytes(PROFILED_N, kernel))
    prices = Prices(
        MULTIPROCESSORS, launch, launch, 0.0, 0.0, _mean(turns), 0.0,
        _hold(record, published), dict.fromkeys(VERSIONS, _mean(megabytes)), zero,
    )  # fmt: skip
    return replace(prices, sweep=_sweep(prices, record, published))


def _hold(record: Record, published: Published) -> float:
    """Return the barrier of a block a turn, by Opts 3 and 4 of Table II at n = `HELD_N`."""
    ms = published("table2").set_index(["version", "n"])["time_ms"]
    turns = w.turns(HELD_N, MULTIPROCESSORS * w.THREADS)
    updates = record("opt4", HELD_N, "iterations_step_6", "answer")
    return 1e3 * float(ms["opt4", HELD_N] - ms["opt3", HELD_N]) / updates / turns


def _sweep(prices: Prices, record: Record, published: Published) -> float:
    """Return the time of a run of step 4 in one launch: what Opt 2's times leave for it."""
    times, found = published("table2"), []
    for row in times[times["version"] == "opt2"].itertuples(index=False):
        counted = record.work("opt2", row.n)
        if counted is not None:
            rest = 1e3 * row.time_ms - counted.updates * prices.update_us(counted.n, "opt2")
            found.append(rest / counted.searches)
    return _mean(found)
