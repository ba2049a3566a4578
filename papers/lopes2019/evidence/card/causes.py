"""Causes of differences from print that the model of the card bounds.

A row has one where three things hold:

- the figure that the model expects on this card does not agree with print;
- print's figure is nearer to the one that the model gives print's card than to that one, so that
  the model tells the two cards apart;
- the record's clocks give two of the prices again, and C's step 1 takes what it should (`clocks`).

The band around the expected figure is narrow: a factor of `BAND` up and down for ratios, at most
`POINTS` for shares, `SLOPE` for exponents. It ends where the figures that agree begin. Step 4's own
rows have no cause: the price of its search is its own time by another clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence import comparisons as compare
from papers.common.evidence.verdicts import decide
from papers.common.model import Cause, Comparison, Experiment
from papers.lopes2019.evidence.card.model import BAND

EXPERIMENT = "lopes2019:card"
POINTS = 5.0
SLOPE = 0.125

OWN_PRICE = "step_4"
"""The step whose own time is a price."""

WORDS = (
    "a wait, a byte and a search of step 4 differ from print's card by other factors each; their "
    "prices here let us expect {:.3g}"
)
C_WORDS = f"{WORDS}, with steps 1 and 6 of the C code at the price that they have inside the caches"


def _cause(
    figures: cards.Figures,
    band: cards.Band,
    agrees: cards.Band,
    distance: Callable[[float, float], float],
    words: str,
) -> Cause | None:
    """Return the cause of a figure: print's, the model's for print's card, that for this card."""
    return cards.cause(EXPERIMENT, figures, agrees, band, distance, words)


def _figures(row: Any, printed: str) -> cards.Figures:
    """Return a row's printed figure and those that are expected; None where it has none."""
    if getattr(row, "step", "") == OWN_PRICE:
        return None, None, None
    return cards.figures_of(row, printed, "expected_print", "expected")


def of_share(row: Any) -> Cause | None:
    """Return the cause of a step's share."""
    return _cause(
        _figures(row, "published_share_pct"),
        lambda ours: (max(ours / BAND, ours - POINTS), min(ours * BAND, ours + POINTS)),
        cards.agreeing_share, cards.points, WORDS + " %",
    )  # fmt: skip


def of_speedup(row: Any) -> Cause | None:
    """Return the cause of a speedup over C, of a step or of the whole."""
    return _cause(
        _figures(row, "published_speedup"),
        cards.around(lambda ours: BAND),
        cards.around(lambda printed: compare.FACTOR),
        cards.factors, C_WORDS,
    )  # fmt: skip


def of_slope(rows: pd.DataFrame, column: str, measured: str, words: str) -> Cause | None:
    """Return the cause of a curve's growth with n; `rows` are its points."""
    known = rows.dropna(subset=[column, measured])
    columns = [column, "expected_print", "expected"]
    if known.empty or known[columns].isna().any(axis=None):
        return None
    theirs, by_print, by_ours = (
        compare.slope(known["n"].tolist(), known[name].tolist()) for name in columns
    )
    return _cause(
        (theirs, by_print, by_ours),
        lambda ours: (ours - SLOPE, ours + SLOPE),
        lambda printed: (printed - compare.EXPONENT, printed + compare.EXPONENT),
        cards.points, words,
    )  # fmt: skip


def of_curves(experiment: Experiment, printed: str, measured: str, words: str) -> Experiment:
    """Return an experiment whose growths with n, range by range, have their causes.

    Parameters
    ----------
    experiment : Experiment
        Its table has `card.expected.FIGURES` and a ``cost_range``, which ends the growths' names.
    printed, measured : str
        The columns of the curves.
    words : str
        The cause, with a place for the exponent.
    """
    plain = experiment.compare
    assert plain is not None, "an experiment that compares"

    def explained(item: Comparison, table: pd.DataFrame) -> Comparison:
        name, _, label = item.quantity.rpartition(": slope over n, range ")
        rows = table[table["cost_range"] == label] if name else table.iloc[:0]
        if rows.empty or rows["source"].nunique() != 1:
            return item
        return decide(replace(item, cause=of_slope(rows, printed, measured, words)))

    return replace(
        experiment, compare=lambda table: [explained(item, table) for item in plain(table)]
    )
