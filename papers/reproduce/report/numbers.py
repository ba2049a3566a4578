"""Numbers as text: measured with four significant digits, published as printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import published
from papers.common.model import Comparison


def show_number(value: Any) -> str:
    """Return `value` as shown: four significant digits for floats, "" for a missing value."""
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if not isinstance(value, (float, np.floating)):
        return str(value)
    number = float(value)
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    digits = 3 - math.floor(math.log10(abs(number)))
    if digits >= 9:
        return f"{number:.3e}"
    text = f"{number:.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown(table: pd.DataFrame, printed: published.Published) -> list[list[str]]:
    """Return a table as text, header first; published columns keep the printed decimals."""
    columns = [str(column) for column in table.columns]
    body = [
        [
            show_published(value, printed) if "published" in column else show_number(value)
            for column, value in zip(columns, record, strict=True)
        ]
        for record in table.itertuples(index=False, name=None)
    ]
    return [columns, *body]


def show_published(value: Any, printed: published.Published) -> str:
    """Return a published value as the paper prints it, or as `show_number` does."""
    exact = printed.printed(float(value)) if isinstance(value, (float, np.floating)) else None
    return show_number(value) if exact is None else exact


def numeric_columns(rows: list[list[str]]) -> list[bool]:
    """Say for each column of `shown` rows whether it holds numbers only."""

    def is_number(text: str) -> bool:
        try:
            float(text or "nan")
        except ValueError:
            return False
        return True

    return [all(is_number(row[i]) for row in rows[1:]) for i in range(len(rows[0]))]


COMPARED = (
    "quantity", "kind", "origin", "published", "measured", "interval", "tolerance", "verdict",
    "note",
)  # fmt: skip
"""The columns of a comparison as shown."""


def compared(comparisons: Sequence[Comparison], printed: published.Published) -> list[list[str]]:
    """Return comparisons as text, in the columns `COMPARED`."""
    return [
        [
            item.quantity,
            item.kind,
            item.origin,
            show_published(item.published, printed),
            show_number(item.measured),
            show_interval(item),
            item.tolerance,
            item.verdict,
            show_reason(item),
        ]
        for item in comparisons
    ]


def show_interval(item: Comparison) -> str:
    """Return the interval of the measured figure, or how often a statement holds in resamples."""
    if item.steady is not None:
        return f"in {100 * item.steady:.0f} % of resamples"
    if item.low is None or item.high is None:
        return ""
    return f"{show_number(item.low)} to {show_number(item.high)}"


def show_reason(item: Comparison) -> str:
    """Return the measured cause of a difference, else the remarks on it; "" where it agrees."""
    if item.verdict in ("agrees", "holds"):
        return ""
    cause = item.cause if item.verdict == "differs" else None
    named = f"{cause.words} ({cause.experiment})" if cause is not None else ""
    return "; ".join(filter(None, [named, item.remark, item.note]))
