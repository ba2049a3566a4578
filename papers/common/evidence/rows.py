"""From a file to rows of text: what the tables of measured files share.

A paper's ``evidence.measured.TABLES`` makes its rows by these; `papers.reproduce.report.readme`
writes them into the paper's pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

Rows = list[list[str]]
"""A table as text, its header first."""

Form = str | Callable[[Any], str]
"""A number's format, as `format` takes it, or a function that makes text of a number."""

Column = tuple[str, str, Form]
"""The heading of a column on the page, its name in the data, and the form of its numbers."""


def shown(value: Any, form: Form) -> str:
    """Return a value as text; "" for one that is missing."""
    if pd.isna(value):
        return ""
    return form(value) if callable(form) else format(value, form)


def rows(found: pd.DataFrame, columns: Sequence[Column]) -> Rows:
    """Return the header and a row of text for each row of `found`.

    Parameters
    ----------
    found : DataFrame
        It has every column that `columns` names, and may have more.
    columns : sequence of (heading, name, form)
        The columns to show, from left to right; several may have one heading.
    """
    names = [name for _, name, _ in columns]
    forms = [form for _, _, form in columns]
    body = [
        [shown(value, form) for value, form in zip(record, forms, strict=True)]
        for record in found[names].itertuples(index=False, name=None)
    ]
    return [[heading for heading, _, _ in columns], *body]


def beside(found: pd.DataFrame, key: Sequence[str], by: str, values: Sequence[str]) -> pd.DataFrame:
    """Return one row for each `key`, with the values of all its rows beside each other.

    Parameters
    ----------
    found : DataFrame
        Each value of `by` stands at most once beside each `key`.
    key : sequence of str
        Columns that tell the new rows apart; these are in the order of the keys' first rows.
    by : str
        The column that tells apart the rows of a key.
    values : sequence of str
        The columns to set beside each other.

    Returns
    -------
    DataFrame
        The columns of `key`, and ``"VALUE BY"`` for each of `values` and each value of `by`, NaN
        where a key has no such row.
    """
    order = found[list(key)].drop_duplicates()
    wide = found.pivot(index=list(key), columns=by, values=list(values))
    wide.columns = pd.Index([f"{value} {which}" for value, which in wide.columns])
    return order.merge(wide.reset_index(), on=list(key), how="left")
