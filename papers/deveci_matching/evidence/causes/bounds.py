"""Causes of differences from print, by the figures that the record lets us expect."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from papers.common.evidence import cards
from papers.common.evidence import comparisons as compare
from papers.common.evidence.cards import around, factors, figures_of, points
from papers.common.model import Cause

BAND = 1.25
"""The factor that a mean of Table 1 may lie off the one that the classes' means give."""

NEARER = 0.8
"""Print must be nearer to the figure of its own mix by a fifth."""

MIX = (
    "the mix of graphs, with each class at its own mean: print's twenty would give {theirs:.3g}, "
    "our set gives {{:.3g}}"
)
SIZE = (
    "the size of the graphs: a speedup grows with the columns of graphs of one law, and print's "
    "twenty scaled to our columns and machine give {:.3g}"
)

COPIES = (
    "a copy's fixed time and its time a byte, beside runs that are so much shorter than print's: "
    "they give {{:.3g}} % here, and print's twenty at the peak of its bus give {theirs:.3g} %"
)
OVERLAP = (
    "races: on the graphs with more, {} in number, repetitions of the two overlap, and the "
    "schedule decides"
)
CROSSED = (
    "races: no graph has more by the medians, but {} have in some pair of repetitions, and the "
    "schedule decides"
)


def of_mean(row: Any) -> Cause | None:
    """Return the cause of a variant's mean over the best one's, of a row of Table 1.

    The mix of print's twenty must explain print within the tolerance of the comparison.
    """
    names = ("published_over_best", "print_model_over_best", "expected_over_best")
    figures = figures_of(row, *names)
    return cards.cause(
        "deveci_matching:table1", figures, around(lambda printed: compare.FACTOR),
        around(lambda ours: BAND), factors, MIX.format(theirs=figures[1] or math.nan), NEARER,
        math.log(compare.FACTOR),
    )  # fmt: skip


def of_pairs(printed: float, theirs: float, ours: float) -> Cause | None:
    """Return the cause of a mean of the pairs of Table 1 that is no effect here, and is in print.

    Parameters
    ----------
    printed, theirs, ours : float
        Print's mean, that of the mix of its twenty, that of our sets' mixes.
    """
    return cards.cause_of_statement(
        "deveci_matching:table1", (printed, theirs, ours), compare.EFFECT, None, compare.EFFECT,
        MIX.format(theirs=theirs),
    )  # fmt: skip


def of_speedup(printed: Any, expected: Any) -> Cause | None:
    """Return the cause of a mean speedup over a sequential code.

    The expected one is print's, scaled: print itself is its figure for print's machine.
    """
    around_it = around(lambda figure: compare.FACTOR)
    return cards.cause(
        "deveci_matching:growth", (printed, printed, expected), around_it, around_it, factors, SIZE
    )


def of_figure_5(row: Any) -> Cause | None:
    """Return the cause of a row of Figure 5."""
    return of_speedup(row.published_speedup, getattr(row, "expected_speedup", None))


def of_claim(row: Any) -> Cause | None:
    """Return the cause of a number of the text that is a mean speedup."""
    expected = getattr(row, "expected_measured", None)
    return None if compare.missing(expected) else of_speedup(row.published, expected)


def of_share(row: Any) -> Cause | None:
    """Return the cause of a share of Figure 3, if both profiles are over the same code."""
    ours, low, high = figures_of(row, "expected_GPU", "expected_GPU_low", "expected_GPU_high")
    if row.over != row.published_over or compare.missing(ours):
        return None
    printed = 100 * row.published_GPU
    return cards.cause(
        "deveci_matching:growth", (printed, printed, 100 * ours), cards.agreeing_share,
        lambda share: (100 * low, 100 * high), points, SIZE + " %",
    )  # fmt: skip


def of_copies(row: Any) -> Cause | None:
    """Return the cause of a drop by copies that is larger than the text says."""
    theirs = getattr(row, "print_model_measured", None)
    figures = row.published, theirs, getattr(row, "expected_measured", None)
    if any(compare.missing(figure) for figure in figures):
        return None
    return cards.cause_of_statement(
        "deveci_matching:claims", figures, None, row.published, BAND, COPIES.format(theirs=theirs)
    )


def of_iterations(
    few: pd.Series, many: pd.Series, overlap: pd.Series, crossed: pd.Series, says: Any
) -> Cause | None:
    """Return the cause of graphs on which APFB has more iterations: races on every one of them.

    Where no graph has more by the medians, resamples of the repetitions can break the statement
    all the same: on the graphs that `crossed` names.

    Parameters
    ----------
    few, many : Series of float
        Medians of APFB's and of APsB's iterations.
    overlap : Series of bool
        Whether a repetition of APFB has at most as many as one of APsB.
    crossed : Series of bool
        Whether one has more.
    says : str
        The counted pairs.
    """
    more = few > many
    if not overlap[more].all() or not (more | crossed).any():
        return None
    words = OVERLAP.format(int(more.sum())) if more.any() else CROSSED.format(int(crossed.sum()))
    return Cause("deveci_matching:statements", math.nan, math.nan, words, says)


def is_known(rows: pd.DataFrame) -> bool:
    """Return whether rows of Table 1 have the figures of the mixes."""
    return {"print_model_over_best", "expected_over_best"} <= set(rows)
