"""Makes comparisons: a measured value beside a published one, with the tolerance that decides.

`papers.common.evidence.judges` makes them of the rows of a table, and
`papers.common.evidence.verdicts` says what the verdicts mean and decides them.

With print
----------
count
    No hardware changes it. On the same instances it must be equal; where the authors' instances
    are unknown, a relative tolerance says how far two random instances may lie apart.
ratio, share
    Redone wholly on our machine: within a factor of print, or within percentage points.
shape
    An exponent within a tolerance, or the same ranking.
claim
    A sentence of the text: an effect of the size that its words say.
time
    Another machine: ``not comparable``, whatever the numbers.

Of our own
----------
model, goal, correctness
    Counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from papers.common.evidence.verdicts import decide, missing
from papers.common.model import Cause, Comparison, ComparisonKind

Note = str | Callable[[Any, Any], str]
"""A remark on a difference, or a callable(published, measured) that returns one or ``""``."""

THIS_RUN = "this run"
"""The origin of what is measured now; a record's origin is ``"recorded <slug>"``."""

FACTOR = 1.5
"""The usual tolerance of a ratio of two codes that were both measured on one machine, where print
measured both on another: it may be larger or smaller by this factor."""

POINTS = 5.0
"""The usual tolerance of a share, in percentage points, and at most half of print's share."""

LEAST_POINTS = 0.2
"""The tolerance of the smallest shares: print gives them to a tenth of a per cent."""

EXPONENT = 0.25
"""The usual tolerance of an exponent."""

EFFECT = 1.1
"""The least ratio behind "faster", "better" or "less time" where the words give no number: below
ten per cent two runs of one program on one machine are not told apart by a reader."""


def _plain(value: Any) -> Any:
    """Return `value` as a Python number or text, None if it is missing."""
    if missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


# ------------------------------------------------------------------------------ notes


def explain(note: Note, published: Any, measured: Any) -> str:
    """Return the remark on this difference; a callable has none on missing values."""
    if not callable(note):
        return note
    return "" if missing(published) or missing(measured) else note(published, measured)


def if_larger(text: str) -> Callable[[Any, Any], str]:
    """Return a note on a measured value above the published one, and on no other."""
    return lambda published, measured: text if _above(measured, published) else ""


def if_smaller(text: str) -> Callable[[Any, Any], str]:
    """Return a note on a measured value below the published one, and on no other."""
    return lambda published, measured: text if _above(published, measured) else ""


def either(*notes: Note) -> Callable[[Any, Any], str]:
    """Return a note of all that apply: the texts of `notes` that are not empty, joined."""

    def joined(published: Any, measured: Any) -> str:
        return "; ".join(filter(None, (explain(note, published, measured) for note in notes)))

    return joined


def gains(first: float, second: float, what: str, other: str) -> Note:
    """Return the arithmetic of a ratio: how far either side moved from print.

    It restates the difference and says nothing about its cause.

    Parameters
    ----------
    first, second : float
        Printed time over measured time of either side.
    what, other : str
        Names of the two.
    """
    if missing(first) or missing(second):
        return ""
    return f"by arithmetic: print over ours is {first:.3g} for {what}, {second:.3g} for {other}"


def _above(first: Any, second: Any) -> bool:
    """Whether `first` is the larger of two numbers; False for rankings, which are text."""
    return not isinstance(first, str) and not isinstance(second, str) and bool(first > second)


# ------------------------------------------------------------------------------ with print


def _made(
    quantity: str,
    kind: ComparisonKind,
    published: Any,
    measured: Any,
    tolerance: str,
    note: Note = "",
    cause: Cause | None = None,
    **rule: Any,
) -> Comparison:
    return decide(
        Comparison(
            quantity, kind, _plain(published), _plain(measured), "open",
            explain(note, published, measured), tolerance=tolerance, cause=cause, **rule,
        )
    )  # fmt: skip


def _around(published: Any, low: Callable[[Any], Any], high: Callable[[Any], Any]) -> Any:
    """Return the figures that agree, None if print has none."""
    return None if missing(published) else (float(low(published)), float(high(published)))


def count(
    quantity: str,
    published: Any,
    measured: Any,
    tolerance: float = 0.0,
    note: Note = "",
    cause: Cause | None = None,
) -> Comparison:
    """Compare a count that no hardware changes.

    Parameters
    ----------
    quantity : str
        The compared quantity.
    published, measured : number or None
        The values.
    tolerance : float
        Relative difference allowed, for instances that are not the authors'.
    note : str or callable(published, measured) -> str
        A remark on a difference.
    cause : Cause, optional
        The measured cause of a difference.
    """
    words = f"within {100 * tolerance:.3g} %" if tolerance else "equal"
    accept = _around(published, lambda p: p - tolerance * abs(p), lambda p: p + tolerance * abs(p))
    return _made(quantity, "count", published, measured, words, note, cause, accept=accept)


def ratio(
    quantity: str,
    published: Any,
    measured: Any,
    factor: float = FACTOR,
    note: Note = "",
    cause: Cause | None = None,
    ceiling: float = math.inf,
) -> Comparison:
    """Compare a ratio that was redone on one machine: a speedup, an efficiency.

    Parameters
    ----------
    quantity, published, measured, note, cause
        As in `count`; print's ratio is positive.
    factor : float
        How many times larger or smaller the measured ratio may be.
    ceiling : float
        The largest ratio that agrees whatever print has, e.g. of an efficiency.
    """
    accept = _around(published, lambda p: p / factor, lambda p: min(p * factor, ceiling))
    words = f"within a factor of {factor:g}" + ("" if ceiling == math.inf else f", to {ceiling:g}")
    return _made(quantity, "ratio", published, measured, words, note, cause, accept=accept)


def share(
    quantity: str,
    published: Any,
    measured: Any,
    points: float = POINTS,
    note: Note = "",
    cause: Cause | None = None,
) -> Comparison:
    """Compare a share in percent by percentage points.

    Parameters
    ----------
    quantity, published, measured, note, cause
        As in `count`; the values are percentages.
    points : float
        Percentage points that the two may lie apart; less for a share below twice of it: half the
        share, and at least `LEAST_POINTS`.
    """
    if missing(published):
        return _made(quantity, "ratio", published, measured, "", note, cause)
    apart = max(LEAST_POINTS, min(points, 0.5 * published))
    return _made(
        quantity, "ratio", published, measured, f"within {apart:.3g} points", note, cause,
        accept=(published - apart, published + apart),
    )  # fmt: skip


def claim(
    quantity: str,
    printed: Any,
    found: Any,
    holds: bool,
    tolerance: str = "as the words say",
    note: Note = "",
    kind: Literal["claim", "shape", "count"] = "claim",
    cause: Cause | None = None,
) -> Comparison:
    """Set a statement of the paper beside what we found, where it is about no single number.

    Parameters
    ----------
    quantity, note, cause
        As in `count`.
    printed, found : number or str or None
        The paper's words, and the measured values.
    holds : bool
        Whether the statement holds of the measured values.
    tolerance : str
        What counts as holding, in words.
    kind : {"claim", "shape", "count"}
        What the statement is about.
    """
    return _made(quantity, kind, printed, found, tolerance, note, cause, holds=bool(holds))


def _bounds(at_least: float | None, at_most: float | None) -> tuple[str, tuple[float, float]]:
    """Return bounds in words and as the figures that agree.

    Raises
    ------
    ValueError
        If there is none: every figure would agree.
    """
    bounds = [("at least", at_least), ("at most", at_most)]
    words = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
    if not words:
        raise ValueError("an effect or a goal needs at_least or at_most")
    least = -math.inf if at_least is None else at_least
    return words, (least, math.inf if at_most is None else at_most)


def effect(
    quantity: str,
    printed: Any,
    found: Any,
    at_least: float | None = None,
    at_most: float | None = None,
    note: Note = "",
    cause: Cause | None = None,
) -> Comparison:
    """Set a statement of the paper beside the size of the effect, whose whole interval must fit.

    Parameters
    ----------
    quantity, note, cause
        As in `count`.
    printed : str
        The paper's words.
    found : float or None
        The size of the effect, e.g. a ratio of times.
    at_least, at_most : float, optional
        The effect that the words ask for; for "faster" without a number see `EFFECT`.

    Raises
    ------
    ValueError
        If neither is given.
    """
    words, accept = _bounds(at_least, at_most)
    return _made(
        quantity, "claim", printed, found, f"the whole interval {words}", note, cause,
        accept=accept, whole=True,
    )  # fmt: skip


def signs(
    quantity: str,
    printed: Any,
    wins: int,
    of: int,
    share: float,
    ties: int = 0,
    note: Note = "",
    cause: Cause | None = None,
) -> Comparison:
    """Set a statement about how often one thing beats another beside the pairs that we counted.

    Ties are left out. The statement holds where the wins are too many to have come about by chance
    if both were equally good (a sign test, one-sided, at five per cent), and where their share is
    the one that the words say. Fewer than five pairs can never be told from chance.

    Parameters
    ----------
    quantity, note, cause
        As in `count`.
    printed : str
        The paper's words.
    wins, of, ties : int
        Pairs that the statement holds of, all pairs, and pairs without a difference.
    share : float
        The share of wins among the pairs that differ which the words ask for: 1 for "always",
        0.5 for "for most".
    """
    decided = of - ties
    chance = sum(math.comb(decided, k) for k in range(wins, decided + 1)) / 2**decided
    holds = decided > 0 and wins >= share * decided and wins > decided / 2 and chance <= 0.05
    words = f"at least {100 * share:g} % of the pairs that differ, and more than by chance (5 %)"
    counted = f"{wins} of {decided}" + (f", {ties} ties" if ties else "")
    found = counted if of else None  # without a pair nothing was measured
    return _made(quantity, "claim", printed, found, words, note, cause, holds=holds)


def slope(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return the exponent b of the least-squares fit ``y = a x**b``; None below two points.

    Points that are missing or not positive are left out.
    """
    pairs = [(u, v) for u, v in zip(x, y, strict=True) if not missing(v) and u > 0 and v > 0]
    if len({u for u, _ in pairs}) < 2:
        return None
    logs = np.log(np.asarray(pairs, dtype=float))
    across = logs[:, 0] - logs[:, 0].mean()
    return float(across @ logs[:, 1] / (across @ across))


def shape_slope(
    quantity: str,
    x: Sequence[float],
    published: Sequence[float],
    measured: Sequence[float],
    tolerance: float = EXPONENT,
    note: Note = "",
    cause: Cause | None = None,
) -> Comparison:
    """Compare the slopes of two curves on doubly logarithmic axes, over the x both have.

    Parameters
    ----------
    quantity, note, cause
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
    return _made(
        quantity, "shape", None if theirs is None else round(theirs, 3),
        None if ours is None else round(ours, 3), f"exponents within {tolerance:g}", note, cause,
        accept=_around(theirs, lambda t: t - tolerance, lambda t: t + tolerance),
    )  # fmt: skip


def same_order(first: dict[str, float], second: dict[str, float], slack: float = 0.0) -> bool:
    """Whether two sets of values rank their common keys alike.

    A pair that lies within a relative `slack` in the first set does not count. A pair that the
    first set tells apart and that lies within `slack` in the second counts as ranked alike.
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
    cause: Cause | None = None,
) -> Comparison:
    """Compare who beats whom.

    Parameters
    ----------
    quantity, note, cause
        As in `count`; a callable note is given the two rankings as text, ``"A < B"``.
    published, measured : dict of str to float
        Value (smaller first) by name; only names that have both are ranked.
    slack : float
        Relative gap below which two values count as equal.
    """
    words = f"the same order, gaps under {100 * slack:g} % left out"
    common = [k for k in published if k in measured]
    common = [k for k in common if not (missing(published[k]) or missing(measured[k]))]
    if len(common) < 2:
        theirs = _ranked(published, published)
        return _made(quantity, "shape", theirs, None, words, note, cause)
    holds = same_order(published, measured, slack)
    return _made(
        quantity, "shape", _ranked(published, common), _ranked(measured, common), words, note,
        cause, holds=holds,
    )  # fmt: skip


def absolute_time(quantity: str, published: Any, measured: Any, note: str = "") -> Comparison:
    """Set two times of different machines beside one another, without judging them."""
    return _made(quantity, "time", published, measured, "none: another machine", note)


def not_measured(what: str, kind: ComparisonKind = "ratio") -> list[Comparison]:
    """Return the one comparison that stands for all where there is nothing to compare."""
    return [Comparison(what, kind, None, None, "not measured", "no cell has both values")]


# ------------------------------------------------------------------------------ of our own


def correct(quantity: str, expected: Any, found: Any, holds: bool, note: Note = "") -> Comparison:
    """Record a check of correctness: ours against ours, or a proof.

    Parameters
    ----------
    quantity : str
        The checked quantity.
    expected, found : number or str or None
        What should be, and what is.
    holds : bool
        Whether the check holds.
    note : str or callable(expected, found) -> str
        A remark.
    """
    return _made(quantity, "correctness", expected, found, "equal", note, holds=bool(holds))


def predicted(
    quantity: str, low: float, high: float, found: Any, note: Note = "", words: str = ""
) -> Comparison:
    """Set a measured figure beside the band that a model of ours predicts.

    Parameters
    ----------
    quantity, note
        As in `correct`.
    low, high : float
        The band.
    found : float or None
        The measured figure.
    words : str
        The prediction in words; default the band.
    """
    shown = words or f"{low:.4g} to {high:.4g}"
    return _made(
        quantity, "model", shown, found, "inside the band", note, accept=(float(low), float(high))
    )


def goal(
    quantity: str,
    found: Any,
    at_least: float | None = None,
    at_most: float | None = None,
    note: Note = "",
) -> Comparison:
    """Set a measured figure beside a goal of ours; its whole interval must reach the goal.

    Parameters
    ----------
    quantity, found, note
        As in `correct`.
    at_least, at_most : float, optional
        The goal.

    Raises
    ------
    ValueError
        If neither is given.
    """
    words, accept = _bounds(at_least, at_most)
    return _made(
        quantity, "goal", words, found, f"the whole interval {words}", note, accept=accept,
        whole=True,
    )  # fmt: skip


def goal_of_cells(what: str, ratios: pd.Series, mean: float, worst: float) -> list[Comparison]:
    """Compare our times over another code's with a goal of ours, over all cells at once.

    Parameters
    ----------
    what : str
        What is compared.
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
        goal(f"{what}, {kind} of {len(ratios)} cells", value, at_most=bound)
        for kind, value, bound in found
    ]
