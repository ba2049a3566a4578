"""Counts verdicts: this run and each record apart, checks of our own apart from print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.evidence.verdicts import OF_OUR_OWN, is_with_print
from papers.common.model import Comparison

VERDICTS = ("agrees", "differs", "open", "not comparable", "not measured", "holds", "fails")

SORTS = {"": "comparisons with print", "correctness": "correctness", "goal": "our goals",
         "model": "our models"}  # fmt: skip
"""The sorts of comparisons, which are never counted together, and how they are called."""


def sort_of(item: Comparison) -> str:
    """Return a key of `SORTS`: ``""`` for a comparison with print."""
    return "" if is_with_print(item) else item.kind


@dataclass
class Tally:
    """The verdicts of one origin.

    Attributes
    ----------
    origin : str
        ``"this run"`` or ``"recorded <slug>"``.
    by_sort : dict of str to Counter
        Number of comparisons by verdict, for each of `SORTS`.
    """

    origin: str
    by_sort: dict[str, Counter[str]] = field(
        default_factory=lambda: {sort: Counter() for sort in SORTS}
    )

    @property
    def with_print(self) -> Counter[str]:
        """The comparisons with print."""
        return self.by_sort[""]

    @property
    def own(self) -> dict[str, Counter[str]]:
        """The checks of our own by their name, those that there are."""
        return {SORTS[sort]: self.by_sort[sort] for sort in OF_OUR_OWN if self.by_sort[sort]}

    def text(self) -> str:
        """Return e.g. ``"12 agrees, 3 differs; correctness: 4 holds"``."""
        parts = [f"{name}: {listed(counts)}" for name, counts in self.own.items()]
        return "; ".join([listed(self.with_print), *parts])


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
        tally.by_sort[sort_of(item)][item.verdict] += 1
    return sorted(found.values(), key=lambda tally: (tally.origin != THIS_RUN, tally.origin))


def listed(counts: Counter[str]) -> str:
    """Return ``"12 agrees, 3 differs"``, best verdict first, or ``"none"``."""
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name]) or "none"
