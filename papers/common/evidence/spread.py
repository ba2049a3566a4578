"""The spread of repeated measurements: whether they fall into two groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHARE = 0.75
"""The share of the whole range, from least to greatest value, that the gap between two groups takes
at least. Five values that are spread evenly by chance leave such a gap with two values or more on
each side in 3 of 100 cases: each of the two gaps in question takes a share s or more with
probability ``(1 - s)**3``. A cell's scatter of a few per cent is excluded by `GAP` besides."""

GAP = 0.1
"""The part of the median that the gap takes at least: a smaller one changes no result."""


@dataclass(frozen=True)
class Modes:
    """Two groups of repetitions.

    Attributes
    ----------
    low, high : float
        Their medians.
    low_count, high_count : int
        Their sizes.
    """

    low: float
    high: float
    low_count: int
    high_count: int

    def text(self, unit: str = "ms") -> str:
        """Return both groups in words, for a table or a note."""
        low, high = f"{self.low_count} at {self.low:.3g}", f"{self.high_count} at {self.high:.3g}"
        return f"bimodal: {low}, {high} {unit}"


def modes(values: Sequence[float]) -> Modes | None:
    """Return the two groups that repeated measurements fall into, or None if they do not.

    The values are cut at their widest gap. They are bimodal if two or more lie on each side, and
    the gap takes `SHARE` of the range and `GAP` of the median. One value apart from all others is
    an outlier, which a median does not feel.

    Parameters
    ----------
    values : sequence of float
        Repetitions of one cell under one clock; NaN are passed over.

    Returns
    -------
    Modes or None
        None also for fewer than four values.
    """
    known = np.sort([value for value in values if value == value])
    if len(known) < 4:
        return None
    gaps = np.diff(known)[1:-1]  # With two values or more on each side.
    cut = int(np.argmax(gaps)) + 2
    gap, median = float(gaps[cut - 2]), float(np.median(known))
    if gap <= 0 or gap < SHARE * float(known[-1] - known[0]) or gap < GAP * abs(median):
        return None
    low, high = known[:cut], known[cut:]
    return Modes(float(np.median(low)), float(np.median(high)), len(low), len(high))
