"""Numbers in sentences that come from a record, by marks like those of the tables.

A page has ``<!-- value: EXPERIMENT NUMBER KEY=VALUE ... -->1.23<!-- /value -->``, and ``reproduce
readme`` writes what stands between the marks. NUMBER is a column of the experiment's table (its
recorded rows), or ``median``, ``geomean``, ``min``, ``max``, ``sum`` or ``rows`` of one, as in
``max(speedup)``; each KEY=VALUE keeps the rows whose column shows that value, ``A;B`` those that
show either; ``digits=2`` rounds to two significant digits, ``scale=0.001`` multiplies before that.
A space of a column's name or value is written ``_``. ``evidence/FILE`` in the experiment's place
is the paper's file ``evidence/FILE.csv``, for what was measured once and is in no record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pandas as pd

from papers.reproduce.registry import UsageError
from papers.reproduce.report.numbers import show_number

MARK = re.compile(r"(<!-- value: ([^>]*?) -->)[^<]*(<!-- /value -->)")
_OPENING = re.compile(r"<!-- value:")
_NUMBER = re.compile(r"(?:(\w+)\()?([^()]+)\)?")

AGGREGATES: dict[str, Callable[[np.ndarray], float]] = {
    "median": lambda values: float(np.median(values)),
    "geomean": lambda values: float(np.exp(np.log(values).mean())),
    "min": lambda values: float(values.min()),
    "max": lambda values: float(values.max()),
    "sum": lambda values: float(values.sum()),
    "rows": lambda values: float(values.size),
}

Tables = Callable[[str], pd.DataFrame]
"""Returns the recorded rows of an experiment by its name."""


def filled(text: str, tables: Tables) -> str:
    """Return a page with the number of every mark made anew.

    Raises
    ------
    UsageError
        For a mark without its end, an unknown experiment, column or aggregate, a filter that no
        row passes, or a column with several values where no aggregate is named.
    """
    if len(_OPENING.findall(text)) != len(MARK.findall(text)):
        raise UsageError("a value's mark lacks its <!-- /value -->")
    return MARK.sub(lambda found: found[1] + value(found[2], tables) + found[3], text)


def value(words: str, tables: Tables) -> str:
    """Return the number that the words of a mark ask for, as a page shows it."""
    try:
        experiment, number, *filters = words.split()
        return _shown(tables(experiment), number, dict(f.split("=", 1) for f in filters))
    except ValueError as error:  # A UsageError, too.
        raise UsageError(f"value: {words}: {error}") from None


def _shown(table: pd.DataFrame, number: str, filters: dict[str, str]) -> str:
    digits, scale = filters.pop("digits", ""), filters.pop("scale", "")
    for key, wanted in filters.items():
        shown = _column(table, key).map(show_number).str.replace(" ", "_")
        table = table[shown.isin(wanted.split(";")).to_numpy()]
    if table.empty:
        raise ValueError("no recorded row is left")
    asked = _NUMBER.fullmatch(number)
    if asked is None or asked[1] not in (None, *AGGREGATES):
        raise ValueError(f"{number} is no column and no {', '.join(AGGREGATES)} of one")
    column = _column(table, asked[2]).dropna()
    if asked[1] is None and column.nunique() != 1:
        raise ValueError(f"{asked[2]} has {column.nunique()} values there; name an aggregate")
    if column.empty:
        raise ValueError(f"{asked[2]} has no value there")
    found = column.iloc[0] if asked[1] is None else AGGREGATES[asked[1]](column.to_numpy(float))
    found = float(found) * float(scale) if scale else found
    return show_number(_rounded(float(found), int(digits)) if digits else found)


def _column(table: pd.DataFrame, name: str) -> pd.Series:
    names = {str(column).replace(" ", "_"): column for column in table}
    if name not in names:
        raise ValueError(f"there is no column {name}; there are: {', '.join(names)}")
    return table[names[name]]


def _rounded(number: float, digits: int) -> float:
    if number == 0 or not math.isfinite(number):
        return number
    return round(number, digits - 1 - math.floor(math.log10(abs(number))))
