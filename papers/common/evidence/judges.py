"""Makes comparisons of the rows of a table: the parts of which the papers build their verdicts.

A judge looks at the rows of one origin, this run or a record; `judged` turns judges into the
function that an experiment wants, and `by_origin` calls that function. The origin is a field of the
comparison and no part of a quantity's name: `papers.common.evidence.intervals` finds the same
quantity in resamples by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from papers.common.evidence.comparisons import (
    EXPONENT,
    THIS_RUN,
    Note,
    absolute_time,
    not_measured,
    ranking,
    ratio,
    shape_slope,
)
from papers.common.evidence.tables import NOT_MEASURED
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cause, Comparison

Judge = Callable[[pd.DataFrame, str], Iterable[Comparison]]
"""Compares the rows of one origin, which is its second argument; all of them have both values."""

Verdicts = Callable[[pd.DataFrame], list[Comparison]]
"""Compares a table, origin by origin; the type of `papers.common.model.Experiment.compare`."""


def by_origin(
    verdicts: Callable[[pd.DataFrame], Sequence[Comparison]], table: pd.DataFrame
) -> list[Comparison]:
    """Compare a table, the rows of each origin by themselves, and set the origin of the result.

    Parameters
    ----------
    verdicts : callable(table) -> sequence of Comparison
        An experiment's `compare`. A comparison that names its origin keeps it.
    table : DataFrame
        The experiment's table. Its column ``source`` holds the origin; a table without that column
        is of this run, and so is what print has and nobody measured.

    Returns
    -------
    list of Comparison
        Where no origin has anything to compare, the one comparison that says so.
    """
    if table.empty or "source" not in table:
        return [_of(THIS_RUN, item) for item in verdicts(table)]
    found: list[Comparison] = []
    nothing: list[Comparison] = []
    for source, rows in table.groupby("source", sort=False):
        origin = THIS_RUN if source == NOT_MEASURED else str(source)
        for item in verdicts(rows):
            blank = (item.verdict, item.published, item.measured) == ("not measured", None, None)
            (nothing if blank else found).append(_of(THIS_RUN if blank else origin, item))
    return found or nothing[:1]


def _of(origin: str, item: Comparison) -> Comparison:
    return replace(item, origin=item.origin or origin)


def judged(what: str, published: str, measured: str, *judges: Judge) -> Verdicts:
    """Apply judges to every origin's rows that have both values; say so where there are none.

    Times of the CPU executor are never judged: rows whose ``device`` it is are left out.

    Parameters
    ----------
    what : str
        What is compared, for a table without rows to judge.
    published, measured : str
        The columns of which both must have a value.
    *judges : Judge
        Each is given the rows of one origin at a time.
    """

    def verdicts(table: pd.DataFrame) -> list[Comparison]:
        if table.empty:
            return not_measured(what)
        both = table.dropna(subset=[published, measured])
        if "device" in both:
            both = both[both["device"] != EXECUTOR_NAME]
        found = [
            comparison
            for source, rows in both.groupby("source", sort=False)
            for judge in judges
            for comparison in judge(rows, str(source))
        ]
        return found or not_measured(what)

    return verdicts


def each(
    name: str,
    published: str,
    measured: str,
    verdict: Callable[..., Comparison] = ratio,
    note: Callable[[Any], Note] = lambda row: "",
    cause: Callable[[Any], Cause | None] = lambda row: None,
) -> Judge:
    """Return a judge that makes one comparison a row.

    Parameters
    ----------
    name : str
        Format string over the row's columns: what is compared.
    published, measured : str
        Columns of the two values.
    verdict : callable(quantity, published, measured, note=, cause=) -> Comparison
        One of `papers.common.evidence.comparisons`.
    note : callable(row) -> Note
        A remark on a difference in this row, a named tuple.
    cause : callable(row) -> Cause or None
        The measured cause of a difference in this row.
    """

    def judge(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
        for row in rows.itertuples(index=False):
            values = getattr(row, published), getattr(row, measured)
            quantity = name.format(**row._asdict())
            yield verdict(quantity, *values, note=note(row), cause=cause(row))

    return judge


def each_time(name: str, published: str, measured: str) -> Judge:
    """Return a judge that sets times beside one another, which proves nothing; as `each`."""

    def judge(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
        for row in rows.itertuples(index=False):
            values = getattr(row, published), getattr(row, measured)
            yield absolute_time(name.format(**row._asdict()), *values)

    return judge


def rankings(
    name: str,
    published: str,
    measured: str,
    items: str,
    group: str | list[str],
    slack: float,
    label: Callable[[Any], str] = str,
    cause: Callable[[pd.DataFrame], Cause | None] = lambda rows: None,
) -> Judge:
    """Return a judge that compares who beats whom, in every group that has several.

    Parameters
    ----------
    name : str
        Format string with a place ``{}`` for each column of `group`.
    published, measured : str
        Columns of the two values, smaller first.
    items : str
        Column that names what is ranked.
    group : str or list of str
        Columns that tell the groups apart.
    slack : float
        As in `ranking`.
    label : callable(value) -> str
        How a group's values are written.
    cause : callable(rows) -> Cause or None
        The measured cause of another order in a group's rows.
    """
    columns = [group] if isinstance(group, str) else group

    def judge(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
        for key, column in rows.groupby(columns):
            yield ranking(
                name.format(*map(label, key)),
                dict(zip(column[items], column[published], strict=True)),
                dict(zip(column[items], column[measured], strict=True)), slack,
                cause=cause(column),
            )  # fmt: skip

    return judge


def curves(
    name: str,
    published: str,
    measured: str,
    series: str,
    x: str = "n",
    note: Note = "",
    tolerance: float = EXPONENT,
) -> Judge:
    """Return a judge that compares the growth of every curve on doubly logarithmic axes.

    Parameters
    ----------
    name : str
        Format string with a place ``{}`` for the curve's name.
    published, measured : str
        Columns of the two values.
    series, x : str
        Columns of the curves' names and of the abscissa.
    note, tolerance
        As in `papers.common.evidence.comparisons.shape_slope`.
    """

    def judge(rows: pd.DataFrame, source: str) -> Iterable[Comparison]:
        for label, curve in rows.groupby(series, sort=False):
            yield shape_slope(
                name.format(label), curve[x], curve[published], curve[measured], tolerance,
                note,
            )  # fmt: skip

    return judge


def without(judge: Judge, column: str, value: str) -> Judge:
    """Return a judge that does not see the rows whose `column` is `value`."""
    return lambda rows, source: judge(rows[rows[column] != value], source)
