"""The table of measurements: its columns, its reading, its reduction to medians."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from papers.common.timing import quartiles

COLUMNS = (
    "cell",
    "solver",
    "options",
    "device",
    "family",
    "n",
    "label",
    "seed",
    "repeat",
    "scope",
    "metric",
    "value",
    "status",
    "certificate",
    "reason",
)
"""Columns of `measurements.csv`; one row a value. Times are in milliseconds."""

IDENTITY = ("cell", "solver", "options", "device", "family", "n", "label", "seed")
"""The columns that say which cell a row belongs to."""

GROUP = ("source", *IDENTITY, "scope", "metric")
SUMMARY = (*GROUP, "median", "q1", "q3", "count", "status", "certificate", "reason")
"""Columns of `summary.csv`."""

THIS_RUN = "this run"
STATUSES = ("ok", "not-certified", "failed", "timeout", "out-of-memory", "skipped")
_TEXT = ("cell", "solver", "options", "device", "family", "label", "scope", "metric")
_TEXT_TYPES = dict.fromkeys((*_TEXT, "status", "certificate", "reason"), str)


def read(path: Path) -> pd.DataFrame:
    """Read a `measurements.csv`: text columns as str, ``value`` as float64.

    Only finished cells are returned: those that have their ``done`` row.
    """
    types: dict[str, Any] = {**_TEXT_TYPES, "n": "int64", "seed": "int64", "repeat": "int64"}
    frame = pd.read_csv(path, dtype=types, keep_default_na=False)
    frame["value"] = pd.to_numeric(frame["value"], errors="coerce")
    done = frame.loc[frame["metric"] == "done", "cell"]
    return frame[frame["cell"].isin(set(done))].reset_index(drop=True)


def summarize(measurements: pd.DataFrame, source: str = THIS_RUN) -> pd.DataFrame:
    """Reduce a long table to one row per cell, scope and metric.

    Parameters
    ----------
    measurements : DataFrame
        Columns `COLUMNS`, and ``source`` if it holds more than one run.
    source : str
        The source of rows in a table without that column.

    Returns
    -------
    DataFrame
        Columns `SUMMARY`: median, q1 and q3 over the repeats, count, and the cell's status,
        certificate and reason. Rows are sorted by source, size, instance, solver and metric.
    """
    if measurements.empty:
        return pd.DataFrame(columns=list(SUMMARY))
    if "source" not in measurements:
        measurements = measurements.assign(source=source)
    rows = []
    for key, group in measurements.groupby(list(GROUP), sort=False, dropna=False):
        values = [value for value in group["value"] if not math.isnan(value)]
        low, middle, high = quartiles(values) if values else (math.nan,) * 3
        last = group.iloc[-1]
        rows.append(
            (*key, middle, low, high, len(values), last.status, last.certificate, last.reason)
        )
    frame = pd.DataFrame(rows, columns=list(SUMMARY))
    order = ["source", "family", "n", "label", "seed", "solver", "options", "scope", "metric"]
    # Stable, so that steps and counters keep the order in which the solver names them.
    return frame.sort_values(order[:-1], kind="stable").reset_index(drop=True)


def usable(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that tables may show: those whose cell ran and was certified."""
    return summary[(summary["status"] == "ok") & (summary["metric"] != "done")].reset_index(
        drop=True
    )


def cells(summary: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell: its identity, status, certificate, reason and ``run_ms``.

    ``run_ms`` is the median in the scope ``run``, or in the first scope that was timed, and
    ``timed`` names that scope and the number of repetitions.
    """
    rows: list[dict[str, Any]] = []
    for _, group in summary.groupby(["source", "cell"], sort=False):
        done = group[group["metric"] == "done"].iloc[-1]
        row = {str(k): done[k] for k in ("source", *IDENTITY, "status", "certificate", "reason")}
        timed = group[group["metric"] == "time_ms"]
        preferred = timed[timed["scope"] == "run"] if (timed["scope"] == "run").any() else timed
        if preferred.empty:
            rows.append({**row, "run_ms": math.nan, "timed": "", "count": 0})
            continue
        first = preferred.iloc[0]
        rows.append(
            {**row, "run_ms": first["median"], "timed": first["scope"], "count": first["count"]}
        )
    return pd.DataFrame(rows)


def recorded_runs(results: Path) -> Iterable[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Yield (source, long table, environment) of the runs recorded under a `results` folder.

    Parameters
    ----------
    results : Path
        ``papers/<paper>/results``; each subfolder with a `measurements.csv` is a recorded run.
        A missing folder holds none.
    """
    for path in sorted(results.glob("*/measurements.csv")):
        record = path.with_name("environment.json")
        environment = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
        source = f"recorded {path.parent.name}"
        yield source, read(path).assign(source=source), environment
