"""Causes of differences from print that the prices of both machines bound.

A row has one where four things hold: the expected figure does not agree with print; print's figure
does agree with the one that the model gives print's machine, and is nearer to it by a fifth at
least; and the prices that the record has twice are alike (`expected.is_trusted`). The band is a
factor of `BAND` for a ratio, at most `POINTS` for a share.

The shares of the tree variant have no cause: in print the least of the slacks costs its dual update
600 times what it costs ours, a price that is that step's own time, and nobody knows why.
An entry and a strided entry are paid by one step each, too: there a cause says that the price holds
at all orders and ranges, not why it is what it is.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence import comparisons as compare
from papers.common.evidence.cards import figures_of
from papers.common.model import Cause
from papers.datenagi2016.evidence.card.prices import BAND, FIGURES

EXPERIMENT = "datenagi2016:card"
POINTS = 5.0
NEARER = 0.8
OWN_PRICE = "CU-TREE"
"""The code whose dual update is a price by itself."""

WORDS = (
    "waits, serial turns, entries of the matrix and a core's searched entries became cheaper by "
    "other factors each; their prices here, without this order's own times, let us expect {:.3g}"
)

ORDER = WORDS.replace("{:.3g}", "the order {}")

STEPS_SLACK = 0.25
"""The gap below which two steps are not ranked."""


def of_ratio(row: Any) -> Cause | None:
    """Return the cause of a code's time over another's."""
    band = cards.around(lambda figure: BAND)
    return cards.cause(
        EXPERIMENT, figures_of(row, "published_over", *FIGURES),
        cards.around(lambda printed: compare.FACTOR), band, cards.factors, WORDS, NEARER,
        math.log(BAND),
    )  # fmt: skip


def of_share(row: Any) -> Cause | None:
    """Return the cause of a step's share in the three steps."""
    if row.solver == OWN_PRICE:
        return None

    def band(share: float) -> tuple[float, float]:
        apart = min(POINTS, (BAND - 1) * share)
        return share - apart, share + apart

    return cards.cause(
        EXPERIMENT, figures_of(row, "published_share_of_three_pct", *FIGURES),
        cards.agreeing_share, band, cards.points, WORDS + " %", NEARER, POINTS,
    )  # fmt: skip


def of_bound(
    figures: cards.Figures, at_least: float | None = None, at_most: float | None = None
) -> Cause | None:
    """Return the cause of a broken sentence; print and the model of its machine must keep it."""
    return cards.cause_of_statement(EXPERIMENT, figures, at_least, at_most, BAND, WORDS)


def of_order(
    rows: pd.DataFrame, items: str, printed: str, figures: tuple[str, str], slack: float
) -> Cause | None:
    """Return the cause of another order of the rows; `items` names them, the others are columns."""
    if not {items, printed, *figures} <= set(rows):
        return None
    first, second, third = (
        dict(zip(rows[items], rows[name], strict=True)) for name in (printed, *figures)
    )
    return cards.cause_of_order(EXPERIMENT, first, second, third, slack, ORDER)


def of_steps(rows: pd.DataFrame) -> Cause | None:
    """Return the cause of another order of the steps of one code."""
    if (rows["solver"] == OWN_PRICE).any():
        return None
    return of_order(rows, "step", "published_share_of_three_pct", FIGURES, STEPS_SLACK)


def of_size(figures: cards.Figures, tolerance: float) -> Cause | None:
    """Return the cause of the size at which one code overtakes another; it agrees by a factor."""
    return cards.cause(
        EXPERIMENT, figures, cards.around(lambda printed: tolerance),
        cards.around(lambda figure: BAND), cards.factors, WORDS, NEARER, math.log(BAND),
    )  # fmt: skip
