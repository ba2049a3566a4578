"""The numbers of the report's text beside ours, and the tolerance of a gain.

Each number that follows from the prices of the two machines has its cause there; the counts of
loads have theirs in a launch of Opt 1's fused kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.cards import figures_of
from papers.common.evidence.comparisons import not_measured
from papers.common.model import Cause, Comparison
from papers.kawtikwar_opts.evidence.card import causes
from papers.kawtikwar_opts.evidence.card.expected import FIGURES
from papers.kawtikwar_opts.evidence.tables import PROFILED_SIZE


def of_gain(printed: float) -> float:
    """Return the tolerance of a printed gain, a factor: half of the gain, at least three per cent.

    The last two optimizations gain some per cent in print, which the usual factor would not see.
    """
    return min(comparisons.FACTOR, 1 + max(0.03, 0.5 * abs(printed - 1)))


def gain(
    quantity: str, printed: Any, ours: Any, note: comparisons.Note = "", cause: Cause | None = None
) -> Comparison:
    """Compare the gain of one optimization with print's."""
    factor = comparisons.FACTOR if comparisons.missing(printed) else of_gain(printed)
    return comparisons.ratio(quantity, printed, ours, factor, note, cause)


COVERS = 2
"""Loads of an entry's covers, a row's and a column's."""


def slip(fused: float, unit: float = 1.0) -> Cause | None:
    """Return the measured cause of KA2: what one launch of the fused kernel loads here."""
    if comparisons.missing(fused):
        return None
    words = f"KA2: a launch of Opt 1's fused kernel loads {fused * 1e-6 / unit:.2f} million here"
    factor = comparisons.FACTOR
    return Cause("kawtikwar_opts:table1", fused / factor, fused * factor, words)


def whole_pass(printed: float, fused: float) -> Cause | None:
    """Return why a pass of one launch loads more than a launch of print's fused kernel (KA-l).

    ncu counts one launch as a whole, and a dual update in it begins with the minimum, which reads
    both covers of an entry; Opt 3 has taken one load out.
    """
    if comparisons.missing(fused):
        return None
    expected = fused + (COVERS - 1) * PROFILED_SIZE**2 / 32
    words = (
        "the minimum's two loads of covers are in a pass of one launch, and the load that Opt 3 "
        f"takes out is not: by Opt 1's fused kernel {expected / 1e6:.2f} million are to be expected"
    )
    low = max(expected / comparisons.FACTOR, printed * comparisons.FACTOR)
    return Cause("kawtikwar_opts:table1", low, expected * comparisons.FACTOR, words)


SIZES_OF_PRINT = 5
"""Sizes in Tables II and III."""

KNOWN = {
    "KA-k": "KA2: print's own cut of 16 % asks for 2.31 million",
    "KA-q": "KA3: the same section says 1.03, and Table II -0.1 to -0.9 % below n = 4096",
}
"""Print's own contradictions."""
POINTS = ("KA-c", "KA-d", "KA-i", "KA-m", "KA-p", "KA-q", "KA-s")
"""The claims in percent."""


def claims(table: pd.DataFrame) -> list[Comparison]:
    """Set each number of the text beside ours; a number that cannot be redone is not measured."""
    found = []
    for row in table.itertuples(index=False) if not table.empty else ():
        what, measured = f"{row.id}, {row.quantity}", None
        if not np.isnan(row.measured):
            measured = round(row.measured, 4)
        note = KNOWN.get(row.id, "")
        cause = _claim_cause(row)
        if row.id in POINTS:
            found.append(comparisons.share(what, row.published, measured, note=note, cause=cause))
            continue
        judge = gain if row.unit == "x" else comparisons.ratio
        found.append(judge(what, row.published, measured, note=note, cause=cause))
    return found or not_measured("claims of the text")


def _claim_cause(row: Any) -> Cause | None:
    """Return the measured cause of a number of the text."""
    if row.id == "KA-k":
        return slip(row.fused_loads)
    if row.id == "KA-l":
        return whole_pass(row.published, row.fused_loads)
    figures = figures_of(row, "published", *FIGURES)
    if row.id in ("KA-c", "KA-d", "KA-i"):
        return causes.of_points(figures, causes.HOST if row.id == "KA-i" else causes.WORDS)
    if row.id == "KA-q":
        return causes.of_loss(figures, of_gain)
    if row.unit != "x":
        return None
    if row.id in ("KA-e", "KA-f", "KA-t"):
        return causes.of_total(figures)
    if row.id in ("KA-a", "KA-b"):
        return causes.of_total(figures, SIZES_OF_PRINT)
    return causes.of_gain(figures, of_gain, causes.HELD if row.id == "KA-r" else causes.WORDS)
