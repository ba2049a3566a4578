"""Two runs beside one another by solver: the ratio of their times, with an interval."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import pandas as pd

COLUMNS = ("solver", "clock", "device", "cells", "ratio", "low", "high", "cost")
"""Columns of `grouped`; ``ratio`` is the second run's time over the first's."""


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return an interval of the median, by the ranks that a sign test does not refute.

    The median lies in it in 95 % of samples at least, whatever the distribution; of fewer than six
    values no interval can say that, and it is from the least to the largest.

    Parameters
    ----------
    values : sequence of float
        At least one.
    """
    ordered = sorted(values)
    count, place, below = len(ordered), 0, 0.5 ** len(ordered)
    # P(at most k of n fair coins) grows with k; the largest k that keeps it under 2.5 %.
    while 2 * (place + 1) < count:
        step = below + math.comb(count, place + 1) * 0.5**count
        if step > 0.025:
            break
        below, place = step, place + 1
    if below > 0.025:
        return ordered[0], ordered[-1]
    return ordered[place], ordered[count - 1 - place]


def grouped(table: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each solver, clock and device of matched cells.

    Parameters
    ----------
    table : DataFrame
        As `papers.reproduce.report.two_runs.matched` returns it.
    summary : DataFrame
        The first run's summary, which says whose and where a cell is.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`, the slowest group first; ``cost`` is ``DIFFERENT`` where one cell's is.
    """
    known = summary.drop_duplicates("cell").set_index("cell")
    where = {name: table["cell"].map(known[name]) for name in ("solver", "device")}
    rows = []
    for key, part in table.assign(**where).groupby(["solver", "scope", "device"], sort=True):
        ratios = [float(value) for value in part["ratio"].dropna()]
        middle = pd.Series(ratios, dtype=float).median()
        low, high = interval(ratios) if ratios else (math.nan, math.nan)
        costs = set(part["cost"])
        cost = next((word for word in ("DIFFERENT", "equal") if word in costs), "-")
        rows.append((*key, part["cell"].nunique(), middle, low, high, cost))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.sort_values("ratio", ascending=False, kind="stable", ignore_index=True)


def slower(groups: pd.DataFrame, limit: float) -> list[str]:
    """Return a line for each group whose whole interval lies above a limit."""
    above = groups[groups["low"] > limit]
    return [
        f"{row.solver}, {row.clock}: {row.ratio:.3g} times the time ({row.low:.3g} to "
        f"{row.high:.3g}), above {limit:g}"
        for row in above.itertuples()
    ]


def as_json(groups: pd.DataFrame, cells: pd.DataFrame) -> str:
    """Return groups and cells as JSON; what is no number is null."""
    tables = {"groups": groups, "cells": cells}
    value = {name: json.loads(table.to_json(orient="records")) for name, table in tables.items()}
    return json.dumps(value, indent=1) + "\n"
