"""Sets one run beside another, cell by cell."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from papers.common.evidence.comparisons import missing
from papers.reproduce.registry import UsageError
from papers.reproduce.run import measurements, packed
from papers.reproduce.run.measurements import cells, summarize

_STATUSES = ("status_a", "status_b")
_OBJECTIVES = ("cost", "cardinality", "value")
"""Metrics that are optima: the same for every solver of an instance. Both are called cost here."""


def read(folder: Path) -> pd.DataFrame:
    """Return the summary of a run folder, or of a recorded run, which has no `meta.json`.

    Raises
    ------
    UsageError
        If the folder holds no measurements.
    """
    path = packed.in_folder(folder)
    if not path.is_file():
        raise UsageError(f"{folder} is no run folder: it has no measurements.csv")
    return summarize(measurements.read(path))


def compare_runs(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Set two runs beside one another, cell by cell.

    Parameters
    ----------
    first, second : DataFrame
        Summaries of the two runs (`papers.reproduce.run.measurements.summarize`).

    Returns
    -------
    DataFrame
        Columns cell, status_a, status_b, scope, ms_a, ms_b, ratio (b over a), cost_a, cost_b and
        cost: ``equal``, ``DIFFERENT``, or ``-`` where one run has no cost; of a matching the cost
        is its cardinality. One row for every cell and scope that either run has.
    """
    sides = [_side(summary) for summary in (first, second)]
    table = sides[0].merge(sides[1], on=["cell", "scope"], how="outer", suffixes=("_a", "_b"))
    table["ratio"] = table["ms_b"] / table["ms_a"]
    table["cost"] = [
        _verdict_on_costs(a, b) for a, b in zip(table["cost_a"], table["cost_b"], strict=True)
    ]
    # A cell may be timed under a clock in one run only; its status is known all the same.
    for name, side in zip(_STATUSES, sides, strict=True):
        state = side.drop_duplicates("cell").set_index("cell")["status"]
        table[name] = table["cell"].map(state).astype(object).fillna("absent")
    columns = ("cell", "scope", "status_a", "status_b", "ms_a", "ms_b", "ratio")
    return table[[*columns, "cost_a", "cost_b", "cost"]]


def matched(table: pd.DataFrame) -> tuple[pd.DataFrame, tuple[int, int]]:
    """Return the rows of cells that both runs have, and how many cells each has alone."""
    alone = [table.loc[table[side] == "absent", "cell"].nunique() for side in _STATUSES]
    both = table[(table[list(_STATUSES)] != "absent").all(axis=1)]
    return both, (alone[1], alone[0])


def _verdict_on_costs(first: float, second: float) -> str:
    if missing(first) or missing(second):
        return "-"
    return "equal" if np.isclose(first, second, rtol=1e-9, atol=0.0) else "DIFFERENT"


def different_costs(*summaries: pd.DataFrame) -> list[str]:
    """Return the instances, a line each, whose optimum is not the same everywhere in these runs.

    All certified costs of one instance must agree, whichever solver and run they come from.
    """
    rows = pd.concat(summaries)
    costs = rows[rows["metric"].isin(_OBJECTIVES) & (rows["status"] == "ok")]
    costs = costs.assign(maximize=costs["options"].str.contains("maximize=True"))
    found = []
    for key, group in costs.groupby(["family", "n", "label", "seed", "maximize"], sort=True):
        values = sorted(set(group["median"]))
        if not np.allclose(values, values[0], rtol=1e-9, atol=0):
            family, n, label, seed, _ = key
            listed = ", ".join(f"{value:.17g}" for value in values)
            found.append(f"{family}/n={n}/range={label}/seed={seed}: costs {listed}")
    return found


def _side(summary: pd.DataFrame) -> pd.DataFrame:
    """Return cell, scope, ms, status and cost of one run; an untimed cell has the scope ``-``."""
    state = cells(summary).set_index("cell")
    costs = summary[summary["metric"].isin(_OBJECTIVES)].set_index("cell")["median"]
    timed = summary[summary["metric"] == "time_ms"]
    rows = [(row.cell, row.scope, row.median) for row in timed.itertuples()]
    rows += [(cell, "-", math.nan) for cell in state.index if cell not in set(timed["cell"])]
    side = pd.DataFrame(rows, columns=["cell", "scope", "ms"])
    side["status"] = side["cell"].map(state["status"])
    side["cost"] = side["cell"].map(costs)
    return side
