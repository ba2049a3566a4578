"""Decides what became of a comparison: the three verdicts, and the rules behind each word.

With print
----------
agrees
    The interval of our figure meets the tolerance around print. A claim in words asks for more:
    the whole interval lies where the words say.
differs
    It does not, and the cause is measured: a `Cause` names the recorded experiment that bounds it,
    and our interval meets the figures that this experiment lets us expect.
open
    It does not, and no recorded experiment says why. Also: the interval is wider than the
    tolerance, so that our own measurements do not settle it.
not comparable, not measured
    Absolute times of two machines, or a figure that print lacks; a figure that we lack.

Not with print
--------------
holds, fails
    A prediction of a model, a goal that we have set, a check of correctness.

A note is shown and decides nothing. Arithmetic that restates a difference, and a sentence without
an experiment, are notes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from papers.common.model import Comparison, ComparisonKind, Verdict

OF_OUR_OWN: tuple[ComparisonKind, ...] = ("model", "goal", "correctness")
"""The kinds that are no comparisons with print; they are counted apart."""

STEADY = 0.95
"""A statement holds if it holds of our figures and in this share of the resamples."""

UNSETTLED = "our interval is wider than the tolerance: more repetitions or instances are needed"
ASTRIDE = "our interval has figures on both sides of the bound: it settles nothing"
UNSTEADY = "it holds of our medians, but not in enough resamples of instances and repetitions"


def missing(value: Any) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def is_with_print(item: Comparison) -> bool:
    """Whether a comparison sets a measured value beside print."""
    return item.kind not in OF_OUR_OWN


def decide(item: Comparison) -> Comparison:
    """Return the comparison with its verdict, by its values, its tolerance and its interval."""
    if missing(item.measured):
        return replace(item, verdict="not measured")
    if missing(item.published) or item.kind == "time":
        return replace(item, verdict="not comparable")
    fits, remark = _fits(item)
    if not is_with_print(item):
        return replace(item, verdict="holds" if fits else "fails", remark=remark)
    explained = is_explained(item) and remark != UNSETTLED
    verdict: Verdict = "agrees" if fits else "differs" if explained else "open"
    return replace(item, verdict=verdict, remark=remark)


def interval(item: Comparison) -> tuple[float, float]:
    """Return the interval of the measured figure; without resamples it is the figure itself."""
    measured = float(item.measured or 0)
    low = measured if item.low is None else item.low
    return low, measured if item.high is None else item.high


def _fits(item: Comparison) -> tuple[bool, str]:
    """Whether the measured value is what print (or we) ask for, and a remark if not."""
    if item.accept is None:
        steady = item.steady is None or item.steady >= STEADY
        return bool(item.holds) and steady, "" if steady or not item.holds else UNSTEADY
    least, most = item.accept
    low, high = interval(item)
    inside = least <= low and high <= most
    if inside or item.whole:
        straddles = item.whole and not inside and high >= least and low <= most
        return inside, ASTRIDE if straddles and low < high else ""
    if high < least or low > most:
        return False, ""
    too_wide = high - low > most - least
    return not too_wide, UNSETTLED if too_wide else ""


def is_explained(item: Comparison) -> bool:
    """Whether the measured figure is the one that its cause lets us expect."""
    if item.cause is None:
        return False
    if isinstance(item.measured, str):
        return item.measured == item.cause.says
    low, high = interval(item)
    return high >= item.cause.low and low <= item.cause.high
