"""The recorded runs that a paper's tables are made of: its own, and others' where it has none.

Two papers may have measured one cell on one card. The two values never pool: an experiment sees
its own paper's record, and another paper's only for solvers that its own record of that card does
not hold. So a cell has one value in the paper's RESULTS.md, in its report and in a combined one.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.model import Plan
from papers.reproduce import registry
from papers.reproduce.run import measurements

RECORD = "record"
"""A column of `summaries`: the paper whose record a row is of, or ""."""


def owners(name: str) -> list[str]:
    """Return the paper and those whose solvers its experiments measure."""
    plan = Plan("paper", gpu=True)
    open_ones = [each for each in registry.experiments(name).values() if not each.unavailable]
    cells = (cell for each in open_ones for cell in each.cells(plan))
    found = dict.fromkeys([name, *(registry.owner(cell.solver) for cell in cells)])
    return [paper for paper in found if paper in registry.MODULES]


def summaries(names: Iterable[str]) -> pd.DataFrame:
    """Return the summary of every recorded run of some papers, each reduced by itself.

    Returns
    -------
    DataFrame
        Columns `papers.reproduce.run.measurements.SUMMARY` and `RECORD`; empty without records.
    """
    found = [
        measurements.summarize(table).assign(**{RECORD: name})
        for name in names
        for _, table, _ in measurements.recorded_runs(registry.folder(name) / "results")
        if not table.empty
    ]
    return pd.concat(found, ignore_index=True) if found else nothing()


def nothing() -> pd.DataFrame:
    """Return `summaries` of no record."""
    return measurements.summarize(pd.DataFrame()).assign(**{RECORD: ""})


def seen_by(name: str, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that a paper's experiments see: one value a source and cell.

    Parameters
    ----------
    name : str
        The paper.
    summary : DataFrame
        As `summaries`; rows of this run have an empty `RECORD`.

    Returns
    -------
    DataFrame
        Without the column `RECORD`, in the order of `papers.reproduce.run.measurements.summarize`.
    """
    kept = [summary[summary["source"] == THIS_RUN]]
    held: set[tuple[str, str]] = set()
    for paper in owners(name):
        rows = summary[(summary[RECORD] == paper) & (summary["source"] != THIS_RUN)]
        pairs = pd.Series(list(zip(rows["source"], rows["solver"], strict=True)), rows.index)
        rows = rows[~pairs.isin(held)]
        held |= set(pairs)
        kept.append(rows)
    frame = pd.concat(kept).drop(columns=RECORD)
    return frame.sort_values(list(measurements.ORDER), kind="stable").reset_index(drop=True)
