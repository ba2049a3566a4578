"""Counts verdicts: this run and each record apart, cross-checks apart from print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.model import Comparison

VERDICTS = ("agrees", "differs", "open", "not comparable", "not measured")


@dataclass
class Tally:
    """The verdicts of one origin.

    Attributes
    ----------
    origin : str
        ``"this run"`` or ``"recorded <slug>"``.
    with_print : Counter
        Number of comparisons with print by verdict.
    cross_checks : Counter
        Number of cross-checks by verdict.
    """

    origin: str
    with_print: Counter[str] = field(default_factory=Counter)
    cross_checks: Counter[str] = field(default_factory=Counter)

    def text(self) -> str:
        """Return e.g. ``"12 agrees, 3 differs; cross-checks: 4 agrees"``."""
        checks = f"; cross-checks: {listed(self.cross_checks)}" if self.cross_checks else ""
        return listed(self.with_print) + checks


def is_cross_check(item: Comparison) -> bool:
    """Whether a comparison is ours against ours, not against print."""
    return item.kind == "cross-check"


def tallies(comparisons: Iterable[Comparison]) -> list[Tally]:
    """Return one `Tally` an origin: this run first, always, then the records by name.

    Raises
    ------
    ValueError
        For a comparison that does not say its origin.
    """
    found = {THIS_RUN: Tally(THIS_RUN)}
    for item in comparisons:
        if not item.origin:
            raise ValueError(f"the comparison {item.quantity!r} does not say its origin")
        tally = found.setdefault(item.origin, Tally(item.origin))
        (tally.cross_checks if is_cross_check(item) else tally.with_print)[item.verdict] += 1
    return sorted(found.values(), key=lambda tally: (tally.origin != THIS_RUN, tally.origin))


def listed(counts: Counter[str]) -> str:
    """Return ``"12 agrees, 3 differs"``, best verdict first, or ``"none"``."""
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name]) or "none"
