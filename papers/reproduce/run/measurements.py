"""The table of measurements: its columns, its reading, its reduction to medians."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.evidence.spread import modes
from papers.common.gpu.clocks import quartiles_of_rows
from papers.common.model import GAVE_UP, Instance
from papers.reproduce.plan import old_names
from papers.reproduce.registry import UsageError
from papers.reproduce.run import json_files, packed

COLUMNS = (
    "cell",
    "solver",
    "options",
    "device",
    "family",
    "n",
    "label",
    "seed",
    "storage",
    "permuted",
    "repeat",
    "scope",
    "metric",
    "value",
    "status",
    "certificate",
    "reason",
)
"""Columns of `measurements.csv`; one row a value. Times are in milliseconds.

``storage`` and ``permuted`` (``True`` or ``False``) are fields of `papers.common.model.Instance`.
"""

LATER = ("storage", "permuted")
"""Columns that older files lack: their families' names told it, see
`papers.reproduce.plan.old_names`."""

IDENTITY = (
    "cell", "solver", "options", "device", "family", "n", "label", "seed", "storage", "permuted",
)  # fmt: skip
"""The columns that say which cell a row belongs to."""

GROUP = ("source", *IDENTITY, "scope", "metric")
SUMMARY = (*GROUP, "median", "q1", "q3", "count", "status", "certificate", "reason")
"""Columns of `summary.csv`."""

ORDER = (
    "source", "family", "storage", "permuted", "n", "label", "seed", "solver", "options", "scope",
)  # fmt: skip
"""The columns that a summary is sorted by; metrics keep the order of the solver."""

VALUES = "values"
"""One more column of a summary in memory: the repetitions, a tuple of float in their order."""

STATUSES = ("ok", "not-certified", "failed", "timeout", "out-of-memory", "skipped")
_WHOLE = ("n", "seed", "repeat")
_AT = {name: place for place, name in enumerate(COLUMNS)}
_OLDER = [name for name in COLUMNS if name not in LATER]
_FIRST_LATER = _AT["storage"]


@dataclass
class Finished:
    """The finished cells of a `measurements.csv`.

    Attributes
    ----------
    rows : list of list of str
        Their rows, in the order of the file; each cell's last one is its ``done`` row.
    ends : dict of str to (str, str)
        Status and reason by cell.
    """

    rows: list[list[str]] = field(default_factory=list)
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def statuses(self) -> dict[str, str]:
        """The status by cell."""
        return {cell: status for cell, (status, _) in self.ends.items()}


def parse(path: Path) -> Finished:
    """Read the finished cells of a `measurements.csv` as text; a missing file holds none.

    All rows of a cell stand together and end with its ``done`` row. Lines that a kill or a failing
    disk may leave are passed over: a torn or unreadable line, and the whole cell that it belongs
    to. Rows of a file without the columns `LATER` are returned with them.

    Raises
    ------
    UsageError
        If the file's header is neither `COLUMNS` nor `COLUMNS` without `LATER`, or if a packed
        file cannot be unpacked.
    """
    found = Finished()
    data = packed.content(path) if path.is_file() else b""
    *whole, _torn = data.split(b"\n")
    header = _fields(whole[0]) if whole else list(COLUMNS)
    if header not in (list(COLUMNS), _OLDER):
        raise UsageError(
            f"{path} is damaged: its first line does not name the columns {', '.join(COLUMNS)}"
        )
    cell: list[list[str]] = []
    broken = False
    for line in whole[1:]:
        row = _row(line, is_old=header == _OLDER)
        if row is None:
            broken = True
            continue
        cell.append(row)
        if row[_AT["metric"]] == "done":
            if not broken:
                found.rows += [kept for kept in cell if kept[0] == row[0]]
                found.ends[row[0]] = row[_AT["status"]], row[_AT["reason"]]
            cell, broken = [], False
    return found


def _fields(line: bytes) -> list[str] | None:
    """Return the fields of one line, None if it is no text or no CSV."""
    try:
        return next(csv.reader([line.decode("utf-8").rstrip("\r")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return None


def _row(line: bytes, is_old: bool) -> list[str] | None:
    """Return the fields of one row of measurements, None if it is not whole."""
    row = _fields(line)
    if row is None or len(row) != len(_OLDER if is_old else COLUMNS) or not row[0]:
        return None
    if is_old:
        row[_FIRST_LATER:_FIRST_LATER] = ["host", "False"]
    try:
        for name in _WHOLE:
            int(row[_AT[name]])
    except ValueError:
        return None
    if row[_AT["permuted"]] not in ("True", "False"):
        return None
    return _modern(row) if is_old else row


def _modern(row: list[str]) -> list[str]:
    """Return a row of an older file under the names of today."""
    n, seed = int(row[_AT["n"]]), int(row[_AT["seed"]])
    old = Instance(row[_AT["family"]], n, row[_AT["label"]], seed=seed)
    meant = old_names.modern(old)
    if meant == old:
        return row
    told = {
        "cell": old_names.modern_key(row[_AT["cell"]], old),
        "family": meant.family,
        "storage": meant.storage,
        "permuted": str(meant.permuted),
    }
    return [told.get(name, text) for name, text in zip(COLUMNS, row, strict=True)]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def read(path: Path) -> pd.DataFrame:
    """Read a `measurements.csv`: whole numbers as int64, ``value`` as float64, the rest as str.

    ``permuted`` is bool. Families of older files have the names of today. Only finished cells are
    returned; see `parse`. The file is left as it is.

    Raises
    ------
    UsageError
        As in `parse`.
    """
    frame = pd.DataFrame(parse(path).rows, columns=list(COLUMNS))
    frame["value"] = [_number(text) for text in frame["value"]]
    frame["value"] = frame["value"].astype("float64")
    frame["permuted"] = frame["permuted"] == "True"
    return frame.astype(dict.fromkeys(_WHOLE, "int64"))


def summarize(measurements: pd.DataFrame, source: str = THIS_RUN) -> pd.DataFrame:
    """Reduce a long table to one row per cell, scope and metric.

    Parameters
    ----------
    measurements : DataFrame
        Columns `COLUMNS`, and ``source`` if it holds more than one run. Without the columns
        `LATER` all instances are the host's and none is permuted.
    source : str
        The source of rows in a table without that column.

    Returns
    -------
    DataFrame
        Columns `SUMMARY`: median, q1 and q3 over the repeats, count, and the cell's status,
        certificate and reason; and `VALUES`. Rows are sorted by source, size, instance, solver and
        metric.
    """
    if measurements.empty:
        return pd.DataFrame(columns=[*SUMMARY, VALUES])
    usual = {"source": source, "storage": "host", "permuted": False}
    absent = {name: value for name, value in usual.items() if name not in measurements}
    measurements = measurements.assign(**absent)
    group = measurements.groupby(list(GROUP), sort=False, dropna=False).ngroup().to_numpy()
    places = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[places], prepend=-1))
    values = measurements["value"].to_numpy(np.float64)[places]
    last = measurements.iloc[places[np.append(starts[1:], len(places)) - 1]]
    numbers = _numbers(values, starts).set_index(last.index)
    frame = pd.concat([last[list(GROUP)], numbers, last[list(SUMMARY[-3:])]], axis=1)
    # Stable, so that steps and counters keep the order in which the solver names them.
    return frame.sort_values(list(ORDER), kind="stable").reset_index(drop=True)


def _numbers(values: np.ndarray, starts: np.ndarray) -> pd.DataFrame:
    """Return median, quartiles, count and values of each group, NaN left out.

    All groups of one size at once, to the last bit as `quartiles` has them: there are tens of
    thousands of groups, of a few values each.
    """
    there = ~np.isnan(values)
    known = values[there]
    ends = np.append(np.cumsum(there), 0)[np.append(starts[1:], len(values)) - 1]
    counts = np.diff(ends, prepend=0)
    begins = ends - counts
    found = np.full((3, len(starts)), math.nan)
    for count in np.unique(counts[counts > 0]).tolist():
        mine = np.flatnonzero(counts == count)
        rows = known[begins[mine, None] + np.arange(count)]
        found[:, mine] = quartiles_of_rows(rows) if count > 1 else rows[:, 0]
    texts = known.tolist()
    each = [tuple(texts[a:b]) for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
    low, middle, high = found
    return pd.DataFrame({"median": middle, "q1": low, "q3": high, "count": counts, VALUES: each})


def usable(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that tables may show: of cells that ran and were certified, and `GAVE_UP`."""
    kept = ((summary["status"] == "ok") & (summary["metric"] != "done")) | (
        (summary["metric"] == GAVE_UP) & summary["status"].isin(STATUSES)
    )
    return summary[kept].reset_index(drop=True)


def cells(summary: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell: its identity, status, certificate, reason and ``run_ms``.

    ``run_ms`` is the median in the scope ``run``, or in the first scope that was timed, and
    ``timed`` names that scope, ``count`` is the number of repetitions, and ``spread`` their
    quartiles or, where they fall into two groups, both groups in words.
    """
    kept = ["source", *IDENTITY, "status", "certificate", "reason"]
    cell = ["source", "cell"]
    done = summary[summary["metric"] == "done"].drop_duplicates(cell, keep="last")
    timed = summary[summary["metric"] == "time_ms"]
    timed = timed.assign(other=timed["scope"] != "run").sort_values("other", kind="stable")
    timed = timed.drop_duplicates(cell)
    timed = timed.assign(spread=[_spread(row) for row in timed.itertuples(index=False)])
    timed = timed[[*cell, "median", "scope", "count", "spread"]]
    names = {"median": "run_ms", "scope": "timed"}
    table = done[kept].merge(timed.rename(columns=names), on=cell, how="left")
    # In the order in which the cells began.
    table = summary[cell].drop_duplicates().merge(table, on=cell)
    texts = {name: table[name].astype(object).fillna("") for name in ("timed", "spread")}
    table = table.assign(**texts, count=table["count"].fillna(0).astype("int64"))
    return table[[*kept, "run_ms", "timed", "count", "spread"]]


def _spread(row: Any) -> str:
    groups = modes(getattr(row, VALUES))
    if groups is not None:
        return groups.text()
    return f"{row.q1:.3g} to {row.q3:.3g}" if row.count > 1 else ""


def environments(results: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield (source, environment) of the runs recorded under a `results` folder."""
    for folder in packed.held(results):
        yield (
            f"recorded {folder.name}",
            json_files.read_optional(folder / "environment.json", json_files.ENVIRONMENT),
        )


def recorded_runs(results: Path) -> Iterable[tuple[str, pd.DataFrame, dict[str, Any]]]:
    """Yield (source, long table, environment) of the runs recorded under a `results` folder.

    Parameters
    ----------
    results : Path
        ``papers/<paper>/results``; each subfolder with measurements is a recorded run.
        A missing folder holds none.
    """
    for source, environment in environments(results):
        path = packed.in_folder(results / source.removeprefix("recorded "))
        yield source, read(path).assign(source=source), environment
