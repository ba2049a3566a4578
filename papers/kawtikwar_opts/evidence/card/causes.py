"""Causes of differences from print that the two sets of prices bound.

A row has one where three things hold:

- the figure that this card and host let us expect does not agree with print;
- print's figure is nearer, by a fifth at least, to the one that the model gives print's card and
  host: the model tells the two apart;
- the record's prices were measured twice, alike (`measured`).

The band around the expected figure is a factor of `BAND` for a speedup, at most `POINTS` for a
share, `SLOPE` for an exponent, and half of the gain for the gain of one optimization. It ends where
the figures that agree begin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence import comparisons as compare
from papers.common.evidence.cards import Figures, around, factors, figures_of, points
from papers.common.model import Cause
from papers.kawtikwar_opts.evidence.card.prices import BAND, HELD_N

EXPERIMENT = "kawtikwar_opts:card"
POINTS = 5.0
SLOPE = 0.125
NEARER = 0.8

WORDS = (
    "a zero and a launch with its wait are dearer here than in print, a byte is cheaper, and a "
    "turn of the minimum costs what it did: these prices let us expect {:.3g}"
)
HELD = (
    "Opt 4 adds a barrier of the block to each turn of each dual update, at a price that is far "
    "higher here than in print: that at n = 1024 lets us expect a gain of {:.3g}"
)
HOST = (
    "from Python a launch takes the host as long as an empty kernel takes by the clock of the "
    "kernels, and what stands between two launches the rest of a small run: they let us expect "
    "{:.3g} %"
)


def _cause(
    figures: Figures,
    agrees: cards.Band,
    band: cards.Band,
    distance: Callable[[float, float], float],
    words: str = WORDS,
) -> Cause | None:
    """Return the cause of a figure; None where the three do not tell the cards apart."""
    return cards.cause(EXPERIMENT, figures, agrees, band, distance, words, NEARER)


def of_total(figures: Figures, sizes: int = 1) -> Cause | None:
    """Return the cause of a speedup over the baseline, or of a mean of several sizes' speedups.

    The band is the narrower the more sizes there are: their errors are not all alike.
    """
    factor = BAND ** (1 / math.sqrt(sizes))
    band = around(lambda figure: factor)
    return _cause(figures, around(lambda printed: compare.FACTOR), band, factors)


def of_gain(
    figures: Figures, tolerance: Callable[[float], float], words: str = WORDS
) -> Cause | None:
    """Return the cause of one optimization's gain; `tolerance` is that of a printed gain."""
    band = around(tolerance)
    return _cause(figures, band, band, factors, words)


def of_loss(figures: Figures, tolerance: Callable[[float], float]) -> Cause | None:
    """Return the cause of a gain of Opt 4 in per cent: that of the factor, in per cent."""
    if any(compare.missing(figure) for figure in figures):
        return None
    printed, theirs, ours = (1 + figure / 100 for figure in figures)
    found = of_gain((printed, theirs, ours), tolerance, HELD)
    if found is None:
        return None
    low, high = (100 * (factor - 1) for factor in (found.low, found.high))
    return replace(found, low=low, high=high)


def of_incremental(row: Any, tolerance: Callable[[float], float]) -> Cause | None:
    """Return the cause of a row of Table III; Opt 4's price is that of its own row at `HELD_N`."""
    if row.version == "opt4" and row.n <= HELD_N:
        return None
    names = ("published_incremental", "print_model_incremental", "expected_incremental")
    words = HELD if row.version == "opt4" else WORDS
    return of_gain(figures_of(row, *names), tolerance, words)


def of_statement(
    figures: Figures, at_least: float | None = None, at_most: float | None = None
) -> Cause | None:
    """Return the cause of a broken sentence that print and the model of its card keep.

    Its figure is a ratio of speedups, in which a part of the model's error cancels: the band is
    narrower than a speedup's.

    Parameters
    ----------
    figures : tuple
        As of `figures_of`.
    at_least, at_most : float, optional
        The sentence's bound; one of them.
    """
    return cards.cause_of_statement(
        EXPERIMENT, figures, at_least, at_most, math.sqrt(BAND), WORDS
    )  # fmt: skip


def of_points(figures: Figures, words: str = WORDS) -> Cause | None:
    """Return the cause of a share in per cent."""

    def band(share: float) -> tuple[float, float]:
        apart = min(POINTS, (BAND - 1) * abs(share))
        return share - apart, share + apart

    return _cause(figures, cards.agreeing_share, band, points, words)


SHARES = ("published_share_pct", "print_model", "expected")


def of_share(row: Any) -> Cause | None:
    """Return the cause of a kernel's share."""
    return of_points(figures_of(row, *SHARES))


def of_call(row: Any) -> Cause | None:
    """Return the cause of a share in the host's calls."""
    return of_points(figures_of(row, *SHARES), HOST)


def of_slope(rows: pd.DataFrame) -> Cause | None:
    """Return the cause of a curve's growth with n; `rows` are its points."""
    columns = ["published_ms", "print_model", "expected"]
    if not set(columns) <= set(rows) or rows[columns].isna().any(axis=None):
        return None
    printed, theirs, ours = (
        compare.slope(rows["n"].tolist(), rows[name].tolist()) for name in columns
    )
    return _cause(
        (printed, theirs, ours),
        lambda printed: (printed - compare.EXPONENT, printed + compare.EXPONENT),
        lambda ours: (ours - SLOPE, ours + SLOPE),
        points, WORDS + " as the exponent",
    )  # fmt: skip
