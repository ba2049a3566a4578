"""Comparisons as rows of the site, and as cells of its heat map, the worst first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from papers.common.evidence import published
from papers.common.evidence.verdicts import is_with_print, missing
from papers.common.model import Comparison
from papers.reproduce.report.numbers import (
    show_interval,
    show_number,
    show_published,
    show_reason,
)

RANK = {"fails": 0, "open": 1, "differs": 2, "agrees": 3, "holds": 3, "not comparable": 4,
        "not measured": 5}  # fmt: skip
"""The order of verdicts in a list that begins with what matters."""

STEPS = ((math.log(1.25), 0), (math.log(2), 1), (math.log(4), 2), (math.inf, 3))
"""The shades of a heat map: the largest absolute logarithm of the ratio of each."""


REACH = 2.0
"""Doublings that a forest plot shows on either side of print; what is beyond stands at its end."""


@dataclass(frozen=True)
class Forest:
    """One row of a forest plot: ours over print on a logarithmic axis, in per cent of its width.

    Print is at 50.

    Attributes
    ----------
    point : float
        Our figure.
    low, high : float
        The ends of its interval; those of the point where there is none.
    least, most : float
        The figures that agree.
    words : str
        The same for those who see no picture.
    """

    point: float
    low: float
    high: float
    least: float
    most: float
    words: str


def forest(item: Comparison) -> Forest | None:
    """Return the row of a forest plot; None without two positive numbers and a tolerance."""
    if log_ratio(item) is None or item.accept is None:
        return None
    printed, ours = float(item.published or 0), float(item.measured or 0)
    least, most = item.accept
    ends = (ours if item.low is None else item.low, ours if item.high is None else item.high)
    told = (
        "" if item.low is None else f", interval {ends[0] / printed:.3g} to {ends[1] / printed:.3g}"
    )
    at = [_place(value / printed) for value in (ours, *ends, least, most)]
    return Forest(
        at[0],
        at[1],
        at[2],
        at[3],
        at[4],
        f"ours over print {ours / printed:.3g}{told}; "
        f"agrees from {least / printed:.3g} to {most / printed:.3g}",
    )


def _place(ratio: float) -> float:
    doublings = math.log2(ratio) if ratio > 0 else -REACH
    return round(50 + 50 * min(max(doublings / REACH, -1.0), 1.0), 1)


@dataclass(frozen=True)
class Row:
    """One comparison as shown.

    Attributes
    ----------
    anchor : str
        Its id, unique in the site.
    item : Comparison
    published, measured, tuned : str
        Print's figure, ours of the configuration that is compared, and that of our tuned one ("" if
        there is no other or if it is the same).
    ratio, interval, reason : str
    log_ratio : float or None
        The logarithm of ours over print's; None where these are no positive numbers.
    forest : Forest or None
        Its row of the forest plot.
    """

    anchor: str
    item: Comparison
    published: str
    measured: str
    tuned: str
    ratio: str
    interval: str
    reason: str
    log_ratio: float | None
    forest: Forest | None = None

    @property
    def shade(self) -> str:
        """The name of its colour: ``above-2``, ``below-0``, or the verdict of what has no ratio."""
        if self.log_ratio is None:
            return "holds" if self.item.verdict in ("agrees", "holds") else "fails"
        step = next(shade for most, shade in STEPS if abs(self.log_ratio) <= most)
        return f"{'above' if self.log_ratio > 0 else 'below'}-{step}" if step else "near"

    @property
    def distance(self) -> float:
        """The distance from print: a statement that does not hold counts as a factor of two."""
        if self.log_ratio is not None:
            return abs(self.log_ratio)
        return 0.0 if self.item.verdict in ("agrees", "holds") else math.log(2)

    @property
    def told(self) -> str:
        """The comparison as one line."""
        values = f"print {self.published}, measured {self.measured}"
        return f"{self.item.quantity}: {values}, {self.item.verdict}"


@dataclass
class Strip:
    """The heat map's row of one experiment by one machine.

    Attributes
    ----------
    page, anchor, name : str
        Where the experiment stands, and its name.
    origin : str
    rows : list of Row
        The worst first.
    """

    page: str
    anchor: str
    name: str
    origin: str
    rows: list[Row] = field(default_factory=list)

    def count(self, verdict: str) -> int:
        """Return the number of its comparisons with this verdict."""
        return sum(row.item.verdict == verdict for row in self.rows)

    @property
    def weight(self) -> tuple[float, float]:
        """The sort key: the farthest of what does not agree, then the farthest of all."""
        away = [row.distance for row in self.rows if row.item.verdict != "agrees"]
        return (max(away, default=0.0), max(row.distance for row in self.rows))


def log_ratio(item: Comparison) -> float | None:
    """Return the logarithm of the measured figure over the published one, if both are positive."""
    pair = item.published, item.measured
    if any(isinstance(value, str) or missing(value) for value in pair):
        return None
    first, second = (float(value) for value in pair)  # type: ignore[arg-type]
    return math.log(second / first) if first > 0 and second > 0 else None


def rows(
    experiment: str,
    items: Sequence[Comparison],
    tuned: Mapping[int, float | str | None],
    printed: published.Published,
) -> list[Row]:
    """Return the comparisons of one experiment as rows, in their order.

    Parameters
    ----------
    experiment : str
        The name of its section.
    items : sequence of Comparison
    tuned : mapping of int to figure
        The figures of the tuned configuration by the comparison's place.
    printed : Published
        Knows how print writes a number.
    """
    found = []
    for place, item in enumerate(items):
        away = log_ratio(item)
        found.append(
            Row(
                f"{experiment}-{place + 1}", item, show_published(item.published, printed),
                show_number(item.measured), show_number(tuned.get(place)),
                "" if away is None else f"{math.exp(away):.3g}", show_interval(item),
                show_reason(item), away, forest(item),
            )
        )  # fmt: skip
    return found


def worst_first(found: Iterable[Row]) -> list[Row]:
    """Return rows by verdict, then by distance."""
    return sorted(found, key=lambda row: (RANK[row.item.verdict], -row.distance))


def is_in_heat_map(row: Row) -> bool:
    """Whether a comparison is with print and was judged."""
    return is_with_print(row.item) and row.item.verdict in ("agrees", "differs", "open")
