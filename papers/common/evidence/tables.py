"""From measurements to tables: what the papers' `tables.py` share.

A summary holds one row a cell, scope and metric (see `papers.reproduce.run.measurements`). Tables
set what print says beside it: rows of the present run and of every recorded run stand below each
other, told apart by ``source``; what print has and nobody measured has the source ``"not
measured"``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.model import Storage

Published = Callable[[str], pd.DataFrame]
"""Loads one CSV of published numbers by its name (`papers.common.evidence.published.loader`)."""

Printed = Callable[[Published], pd.DataFrame]
"""Loads printed numbers: the columns that rows are told apart by, and ``published_...`` ones."""

KEY = ["source", "n", "cost_range"]
"""The columns that tell one row of a table from another, the seeds put together."""

NOT_MEASURED = "not measured"

# ------------------------------------------------------------------------------- from a summary


def by_seed(
    summary: pd.DataFrame,
    solver: str,
    metric: str = "time_ms",
    scope: str = "run",
    options: str | re.Pattern[str] = "",
    family: str = "uniform",
    storage: Storage = "host",
) -> pd.DataFrame:
    """Return one metric of one solver on instances of one storage, a row a seed.

    Parameters
    ----------
    summary : DataFrame
        Columns `papers.reproduce.run.measurements.SUMMARY`.
    solver : str
        Full name, ``paper:solver``.
    metric, scope, family, storage : str
        What the rows must have. A matrix that was drawn in device memory has other clocks.
    options : str or Pattern
        The cell's options, or what they must match as a whole.

    Returns
    -------
    DataFrame
        ``source``, ``device``, ``n``, ``cost_range`` (the instance's label), ``seed``, ``value``.
    """
    wanted = {"metric": metric, "scope": scope, "family": family, "storage": storage}
    # One condition after the other, as arrays: a resampled summary has hundreds of thousands of
    # rows, of which a solver has a few.
    places = np.flatnonzero(summary["solver"].array == solver)
    for name, value in wanted.items():
        places = places[_texts(summary, name, places) == value]
    texts = _texts(summary, "options", places)
    if isinstance(options, re.Pattern):
        good = np.array([options.fullmatch(str(text)) is not None for text in texts], bool)
    else:
        good = texts == options
    places = places[good]
    columns = {name: summary[old].array.take(places) for name, old in _BY_SEED.items()}
    return pd.DataFrame(columns, summary.index.take(places))


_BY_SEED = {
    "source": "source", "device": "device", "n": "n", "cost_range": "label", "seed": "seed",
    "value": "median",
}  # fmt: skip
"""Columns of `by_seed`, by their names in a summary."""


def _texts(summary: pd.DataFrame, name: str, places: np.ndarray) -> np.ndarray:
    """Return a column's texts at some places: to make all of them takes longer than the rest."""
    return np.asarray(summary[name].array.take(places), object)


def median(
    rows: pd.DataFrame, value: str, keep: Sequence[str] = (), scale: float = 1
) -> pd.DataFrame:
    """Return the median over the seeds of `by_seed`'s rows, times `scale`.

    Parameters
    ----------
    rows : DataFrame
        Columns `KEY`, `keep` and ``value``.
    value : str
        Name of the median's column.
    keep : sequence of str
        More columns to keep, such as ``device``; their values are never put together.
    scale : float
        What turns the unit into the paper's, ``1e-3`` for seconds.

    Returns
    -------
    DataFrame
        Columns `KEY`, `keep`, `value`; rows in the order of their first seed.
    """
    grouped = rows.groupby([*KEY, *keep], sort=False)["value"]
    return (grouped.median() * scale).rename(value).reset_index()


def named(frame: pd.DataFrame, value: str, device: str | None = None) -> pd.DataFrame:
    """Rename ``value`` (and keep the device under a name, or drop it), to merge tables."""
    frame = frame.rename(columns={"value": value})
    return frame.rename(columns={"device": device}) if device else frame.drop(columns="device")


def joined(columns: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Set several metrics of one solver side by side, a row a seed.

    Parameters
    ----------
    columns : mapping of str to DataFrame
        `by_seed`'s rows by the name of their column. The first says which rows there are.

    Returns
    -------
    DataFrame
        `KEY`, ``seed`` and a column for each name, NaN where a metric has no such row.
    """
    (first, rows), *others = columns.items()
    table = named(rows, first)
    for name, more in others:
        table = table.merge(named(more, name), on=[*KEY, "seed"], how="left")
    return table


def over(first: pd.DataFrame, second: pd.DataFrame, name: str) -> pd.DataFrame:
    """Divide two codes' rows seed by seed, then take the median over the seeds that both have.

    Parameters
    ----------
    first, second : DataFrame
        `by_seed`'s rows: numerator and denominator.
    name : str
        The ratio's column.

    Returns
    -------
    DataFrame
        `KEY` and `name`.
    """
    both = named(first, "_first").merge(named(second, "_second"), on=[*KEY, "seed"])
    both = both.assign(value=both["_first"] / both["_second"])
    return median(both, name)


# ------------------------------------------------------------------------------- beside print


def printed_values(name: str, by: Sequence[str], columns: Mapping[str, str]) -> Printed:
    """Return a loader of some columns of a CSV.

    Parameters
    ----------
    name : str
        The CSV in the paper's `published/`, without its ending.
    by : sequence of str
        The columns that tell its rows apart.
    columns : mapping of str to str
        Column of the CSV to column of the table.
    """
    return lambda published: published(name)[[*by, *columns]].rename(columns=dict(columns))


def printed_times(
    name: str, by: Sequence[str], who: str, labels: Mapping[str, str], value: str = "time_ms"
) -> Printed:
    """Return a loader of a CSV with a row for each code, as columns ``published_<label>_ms``.

    Parameters
    ----------
    name, by
        As in `printed_values`.
    who : str
        The column that names the code.
    labels : mapping of str to str
        A code's name in that column to its `Code.label`; other codes are left out.
    value : str
        The column of the times, in milliseconds.
    """

    def load(published: Published) -> pd.DataFrame:
        rows = published(name)
        rows = rows[rows[who].isin(list(labels))]
        wide = rows.pivot_table(index=list(by), columns=who, values=value)
        columns = {code: f"published_{label}_ms" for code, label in labels.items()}
        return wide.rename(columns=columns).reset_index()[[*by, *columns.values()]]

    return load


def beside(published: pd.DataFrame, measured: pd.DataFrame, on: Sequence[str]) -> pd.DataFrame:
    """Return every measured row with its published one, then published rows that nobody measured.

    Parameters
    ----------
    published, measured : DataFrame
        Share the columns `on` and no others; `measured` has ``source``.
    on : sequence of str
        What says which row belongs to which.

    Returns
    -------
    DataFrame
        Columns of `measured`, then those of `published`; NaN where a side has no value.
    """
    table = measured.merge(published, on=list(on), how="left")
    known = set(map(tuple, measured[list(on)].itertuples(index=False)))
    missing = published[
        [tuple(row) not in known for row in published[list(on)].itertuples(index=False)]
    ]
    if not missing.empty:
        table = pd.concat([table, missing.assign(source=NOT_MEASURED)], ignore_index=True)
    return table


def beside_authors(measured: pd.DataFrame, authors: pd.DataFrame) -> pd.DataFrame:
    """Set our times beside those of the authors' program, seed by seed, then take medians.

    Parameters
    ----------
    measured : DataFrame
        `by_seed`'s rows, in milliseconds.
    authors : DataFrame
        ``n``, ``cost_range``, ``seed`` and ``solve_ms`` of the instances that their program solved.

    Returns
    -------
    DataFrame
        `KEY`, ``device``, ``published_authors_ms``, ``measured_ms``, ``authors_over_ours``,
        ``ours_over_authors`` and ``seeds``: the number of instances that both have solved.
    """
    keys = ["n", "cost_range", "seed"]
    theirs = authors.rename(columns={"solve_ms": "published_authors_ms"})
    ours = measured.rename(columns={"value": "measured_ms"})
    both = ours.merge(theirs[[*keys, "published_authors_ms"]], on=keys)
    ratio = both["published_authors_ms"] / both["measured_ms"]
    inverse = both["measured_ms"] / both["published_authors_ms"]
    both = both.assign(authors_over_ours=ratio, ours_over_authors=inverse, seeds=1)
    grouped = both.groupby([*KEY, "device"], sort=False)
    values = ["published_authors_ms", "measured_ms", "authors_over_ours", "ours_over_authors"]
    return grouped[values].median().join(grouped[["seeds"]].sum()).reset_index()


def nothing(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the table of a figure that has no numbers."""
    return pd.DataFrame()


# ------------------------------------------------------------------------------- what is shown


def order(
    table: pd.DataFrame,
    by: Sequence[str] = ("n", "cost_range"),
    *,
    ranked: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    """Sort as a paper does; among equal rows the present run comes first.

    Parameters
    ----------
    table : DataFrame
        Has the columns `by` and ``source``.
    by : sequence of str
        Columns to sort by, most significant first.
    ranked : mapping of str to sequence of str
        Columns that are sorted by a list and not by their values, such as cost ranges ``0.1n``,
        ``n``, ``10n``. What a list does not name comes after all that it does.

    Returns
    -------
    DataFrame
        The same rows, numbered from 0.
    """
    ranks = {name: {v: rank for rank, v in enumerate(row)} for name, row in ranked.items()}

    def key(column: pd.Series) -> pd.Series:
        of = ranks.get(str(column.name))
        if of is not None:
            return column.map(lambda value: of.get(value, len(of)))
        if column.name == "source":
            return column.fillna("").map(lambda source: (source != THIS_RUN, source))
        return column

    return table.sort_values([*by, "source"], key=key, kind="stable").reset_index(drop=True)


def best_source(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the rows of the source that fills the most of `columns` (ties: the present run)."""
    if table.empty:
        return table
    filled = table.dropna(subset=list(columns))
    counts = filled.groupby("source").size()
    if counts.empty:
        return table[table["source"] == table["source"].iloc[0]]
    best = max(counts.index, key=lambda source: (counts[source], source == THIS_RUN))
    return table[table["source"] == best]


def measured_by(table: pd.DataFrame) -> str:
    """Return ``"measured: ..."``: whose measurements a table shows, for a figure's title."""
    sources = [str(s) for s in table["source"].unique() if s != NOT_MEASURED]
    return f"measured: {', '.join(sources) or 'nothing'}"
