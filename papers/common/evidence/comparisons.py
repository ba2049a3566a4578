"""Sets a measured value beside a published one, and says what became of it.

`papers.common.evidence.judges` makes such comparisons of the rows of a table.

Proof rules
-------------
count
    No hardware changes it. On the same instances it must be equal. Where the authors' instances
    are unknown, a relative `tolerance` says how far two random instances may lie apart.
ratio
    Redone wholly on our machine. It ``agrees`` when measured / published lies within
    ``[1 / factor, factor]``.
shape
    A slope within `tolerance`, or the same ranking.
time
    Another machine: ``not comparable``, whatever the numbers.
missing
    Without a measured value the verdict is ``not measured``.

cross-check
    No comparison with print: two results of our own, or a goal of ours.

Whatever does not agree ``differs`` if a `note` explains it, and is ``open`` if none does. A note is
a text, or a callable(published, measured) that returns the text, ``""`` where it does not explain
this difference: a faster card explains a larger speedup, never a smaller one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from papers.common.model import Comparison

Judgement = Literal["agrees", "differs", "open", "not comparable", "not measured"]
Kind = Literal["count", "ratio", "shape", "time", "cross-check"]
Note = str | Callable[[Any, Any], str]
"""Explanation of a difference, or a callable(published, measured) that returns one or ``""``."""

THIS_RUN = "this run"
"""The origin of what is measured now; a record's origin is ``"recorded <slug>"``."""


def missing(value: Any) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def _plain(value: Any) -> Any:
    """Return `value` as a Python number or text, None if it is missing."""
    if missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


# ------------------------------------------------------------------------------ notes


def explain(note: Note, published: Any, measured: Any) -> str:
    """Return what `note` says of this difference; a callable says nothing of missing values."""
    if not callable(note):
        return note
    return "" if missing(published) or missing(measured) else note(published, measured)


def if_larger(text: str) -> Callable[[Any, Any], str]:
    """Return a note that explains a measured value above the published one, and no other."""
    return lambda published, measured: text if _above(measured, published) else ""


def if_smaller(text: str) -> Callable[[Any, Any], str]:
    """Return a note that explains a measured value below the published one, and no other."""
    return lambda published, measured: text if _above(published, measured) else ""


def either(*notes: Note) -> Callable[[Any, Any], str]:
    """Return a note of all that explain: the texts of `notes` that are not empty, joined."""

    def joined(published: Any, measured: Any) -> str:
        return "; ".join(filter(None, (explain(note, published, measured) for note in notes)))

    return joined


def gains(first: float, second: float, what: str, other: str) -> Note:
    """Return a note that splits a differing ratio into how far either side moved from print.

    It holds by arithmetic, so it is given only where both sides did get faster; anything else
    stays open.

    Parameters
    ----------
    first, second : float
        Printed time over measured time of either side. Where the first is larger, the note
        explains a measured ratio above the printed one, else one below it.
    what, other : str
        Names of the two.
    """
    if not (first > 1 and second > 1):
        return ""
    text = f"{what} fell {first:.3g} times below print, {other} {second:.3g} times"
    return if_larger(text) if first > second else if_smaller(text)


def _above(first: Any, second: Any) -> bool:
    """Whether `first` is the larger of two numbers; False for rankings, which are text."""
    return not isinstance(first, str) and not isinstance(second, str) and bool(first > second)


# ------------------------------------------------------------------------------ comparisons


def _comparison(
    quantity: str, kind: Kind, published: Any, measured: Any, agrees: bool, note: Note
) -> Comparison:
    text = explain(note, published, measured)
    verdict: Judgement = "agrees" if agrees else ("differs" if text else "open")
    if missing(measured):
        verdict = "not measured"
    elif missing(published):
        verdict = "not comparable"
    # A note explains a difference; where there is none it would only confuse.
    kept = "" if verdict == "agrees" else text
    return Comparison(quantity, kind, _plain(published), _plain(measured), verdict, kept)


def count(
    quantity: str, published: Any, measured: Any, tolerance: float = 0.0, note: Note = ""
) -> Comparison:
    """Compare a count that no hardware changes.

    Parameters
    ----------
    quantity : str
        What is compared.
    published, measured : number or None
        The values.
    tolerance : float
        Relative difference allowed, for instances that are not the authors'.
    note : str or callable(published, measured) -> str
        Explanation of a difference, if one is known; see the head of this module.
    """
    agrees = False
    if not missing(published) and not missing(measured):
        agrees = abs(measured - published) <= tolerance * abs(published)
    return _comparison(quantity, "count", published, measured, agrees, note)


def ratio(
    quantity: str, published: Any, measured: Any, factor: float = 2.0, note: Note = ""
) -> Comparison:
    """Compare a ratio that was redone on one machine: a speedup, a share, an efficiency.

    Parameters
    ----------
    quantity, published, measured, note
        As in `count`.
    factor : float
        How many times larger or smaller the measured ratio may be.
    """
    agrees = False
    if not missing(published) and not missing(measured) and published > 0:
        agrees = 1 / factor <= measured / published <= factor
    return _comparison(quantity, "ratio", published, measured, agrees, note)


def share(
    quantity: str,
    published: Any,
    measured: Any,
    points: float = 2.0,
    factor: float = 2.0,
    note: Note = "",
) -> Comparison:
    """Compare a share in percent, which the paper may print as 0.0.

    Parameters
    ----------
    quantity, published, measured, note
        As in `count`; the values are percentages.
    points : float
        Percentage points that the two may lie apart, whatever their ratio.
    factor : float
        As in `ratio`, for shares that lie further apart.
    """
    agrees = False
    if not missing(published) and not missing(measured):
        near = abs(measured - published) <= points
        agrees = near or (published > 0 and 1 / factor <= measured / published <= factor)
    return _comparison(quantity, "ratio", published, measured, bool(agrees), note)


def cross_check(
    quantity: str, expected: Any, found: Any, agrees: bool, note: Note = ""
) -> Comparison:
    """Record a check that is no comparison with print: ours against ours, or a goal of ours.

    Parameters
    ----------
    quantity : str
        What is checked.
    expected, found : number or str or None
        What should be, and what is.
    agrees : bool
        Whether the check holds.
    note : str or callable(expected, found) -> str
        As in `count`.
    """
    return _comparison(quantity, "cross-check", expected, found, bool(agrees), note)


def claim(
    quantity: str, printed: Any, found: Any, holds: bool, kind: Kind = "shape", note: Note = ""
) -> Comparison:
    """Set a statement of the paper beside what we found.

    Parameters
    ----------
    quantity, note
        As in `count`.
    printed, found : number or str or None
        What the paper says, and what is.
    holds : bool
        Whether its statement holds of what we found.
    kind : {"shape", "count", "ratio"}
        What the statement is about.
    """
    return _comparison(quantity, kind, printed, found, bool(holds), note)


def slope(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return the exponent b of the least-squares fit ``y = a x**b``; None below two points.

    Points that are missing or not positive are left out.
    """
    pairs = [(u, v) for u, v in zip(x, y, strict=True) if not missing(v) and u > 0 and v > 0]
    if len({u for u, _ in pairs}) < 2:
        return None
    logs = np.log(np.asarray(pairs, dtype=float))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def shape_slope(
    quantity: str,
    x: Sequence[float],
    published: Sequence[float],
    measured: Sequence[float],
    tolerance: float = 0.5,
    note: Note = "",
) -> Comparison:
    """Compare the slopes of two curves on doubly logarithmic axes, over the x both have.

    Parameters
    ----------
    quantity, note
        As in `count`; a callable note is given the two exponents.
    x : sequence of float
        Shared abscissa.
    published, measured : sequence of float
        Ordinates, NaN where missing.
    tolerance : float
        Difference allowed between the two exponents.
    """
    both = [
        (u, p, m)
        for u, p, m in zip(x, published, measured, strict=True)
        if not missing(p) and not missing(m)
    ]
    ours = slope([u for u, _, _ in both], [m for _, _, m in both])
    theirs = slope([u for u, _, _ in both], [p for _, p, _ in both])
    agrees = ours is not None and theirs is not None and abs(ours - theirs) <= tolerance
    published_slope = None if theirs is None else round(theirs, 2)
    measured_slope = None if ours is None else round(ours, 2)
    return _comparison(quantity, "shape", published_slope, measured_slope, agrees, note)


def same_order(first: dict[str, float], second: dict[str, float], slack: float = 0.0) -> bool:
    """Whether two sets of values rank their common keys alike.

    Pairs that lie within a relative `slack` of one another in either set do not count.
    """
    common = [k for k in first if k in second and not (missing(first[k]) or missing(second[k]))]
    for place, a in enumerate(common):
        for b in common[place + 1 :]:
            gaps = [values[a] - values[b] for values in (first, second)]
            widths = [slack * max(abs(v[a]), abs(v[b])) for v in (first, second)]
            clear = all(abs(gap) > width for gap, width in zip(gaps, widths, strict=True))
            if clear and (gaps[0] > 0) != (gaps[1] > 0):
                return False
    return True


def _ranked(values: dict[str, float], keys: Iterable[str]) -> str:
    return " < ".join(sorted(keys, key=lambda key: values[key]))


def ranking(
    quantity: str,
    published: dict[str, float],
    measured: dict[str, float],
    slack: float = 0.05,
    note: Note = "",
) -> Comparison:
    """Compare who beats whom.

    Parameters
    ----------
    quantity, note
        As in `count`; a callable note is given the two rankings as text, ``"A < B"``.
    published, measured : dict of str to float
        Value (smaller first) by name; only names that have both are ranked.
    slack : float
        Relative gap below which two values count as equal.
    """
    common = [k for k in published if k in measured]
    common = [k for k in common if not (missing(published[k]) or missing(measured[k]))]
    if len(common) < 2:
        return _comparison(quantity, "shape", _ranked(published, published), None, False, note)
    theirs, ours = _ranked(published, common), _ranked(measured, common)
    agrees = same_order(published, measured, slack)
    return _comparison(quantity, "shape", theirs, ours, agrees, note)


def absolute_time(quantity: str, published: Any, measured: Any, note: str = "") -> Comparison:
    """Set two times of different machines beside one another, without judging them."""
    verdict: Judgement = "not measured" if missing(measured) else "not comparable"
    return Comparison(quantity, "time", _plain(published), _plain(measured), verdict, note)


def not_measured(what: str, kind: Kind = "ratio") -> list[Comparison]:
    """Return the one comparison that stands for all where there is nothing to compare."""
    return [Comparison(what, kind, None, None, "not measured", "no cell has both values")]


def goal(what: str, source: str, ratios: pd.Series, mean: float, worst: float) -> list[Comparison]:
    """Compare our times over another code's with a goal of ours, over all cells at once.

    Parameters
    ----------
    what, source : str
        What is compared, and whose measurements they are.
    ratios : Series of float
        Our time over the other code's, one a cell.
    mean, worst : float
        Bounds of the geometric mean and of the largest ratio.
    """
    found = (
        ("geometric mean", float(np.exp(np.log(ratios).mean())), mean),
        ("worst", float(ratios.max()), worst),
    )
    return [
        cross_check(
            f"{what}, {kind} of {len(ratios)} cells ({source})", f"at most {bound}",
            round(value, 4), value <= bound,
        )
        for kind, value, bound in found
    ]  # fmt: skip
