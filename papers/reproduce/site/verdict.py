"""The verdict on a paper in a sentence and a strip, made of its comparisons with print alone.

Nobody writes these sentences by hand: they change with the numbers. A share of comparisons that
agree becomes a word by `WORDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.evidence.verdicts import is_with_print
from papers.common.model import Comparison
from papers.reproduce.site.words import KINDS

JUDGED = ("agrees", "differs", "open")

WORDS = (
    (0.95, "Holds", "holds in"),
    (0.75, "Holds for the most part", "for the most part in"),
    (0.5, "Holds in part", "in part in"),
    (0.0, "Does not hold for the most part", "for the most part not in"),
)
"""The least share of comparisons that agree: the verdict on all, and on one kind."""

FEW = 5
"""Fewer judged comparisons than these get no verdict, only their numbers."""


@dataclass(frozen=True)
class Part:
    """A stretch of a strip.

    Attributes
    ----------
    look : str
        The name of its style: a kind for what agrees, else a verdict, or ``not-run``.
    words : str
        Its meaning, e.g. ``"counts of work agree"``.
    number : int
    """

    look: str
    words: str
    number: int


@dataclass(frozen=True)
class Ruling:
    """The verdict on one paper by one machine.

    Attributes
    ----------
    origin : str
        Whose measurements these are.
    head : str
        The verdict in a few words, ``"Holds in part"``.
    senses : str
        In which sense: the kinds by how well they hold.
    numbers : str
        How many comparisons agree, differ and are open.
    parts : tuple of Part
        The strip, without empty parts.
    judged : int
        Comparisons with a verdict.
    """

    origin: str
    head: str
    senses: str
    numbers: str
    parts: tuple[Part, ...]
    judged: int


def rulings(items: Iterable[tuple[str, Comparison]]) -> list[Ruling]:
    """Return the verdict on a paper by each machine, the machine that judges most first.

    Parameters
    ----------
    items : iterable of (experiment, Comparison)
        All of one paper. Those that are not with print are passed over.
    """
    kept = [(name, item) for name, item in items if is_with_print(item)]
    known = {(name, item.quantity) for name, item in kept if item.kind != "time"}
    by_origin: dict[str, list[tuple[str, Comparison]]] = {THIS_RUN: []}
    for name, item in kept:
        by_origin.setdefault(item.origin, []).append((name, item))
    found = [_ruling(origin, mine, known) for origin, mine in by_origin.items()]
    return sorted(found, key=lambda one: (-one.judged, one.origin != THIS_RUN, one.origin))


def _ruling(
    origin: str, items: Sequence[tuple[str, Comparison]], known: set[tuple[str, str]]
) -> Ruling:
    judged = [item for _, item in items if item.verdict in JUDGED]
    run = {(name, item.quantity) for name, item in items if item.verdict in JUDGED}
    agree = Counter(item.kind for item in judged if item.verdict == "agrees")
    all_of = Counter(item.kind for item in judged)
    verdicts = Counter(item.verdict for item in judged)
    parts = [Part(kind, f"{words} agree", agree[kind]) for kind, words in KINDS.items()]
    parts += [
        Part("differs", "differ, and the cause is measured", verdicts["differs"]),
        Part("open", "differ, and nobody knows why yet", verdicts["open"]),
        Part("not-run", "not run on this machine", len(known - run)),
    ]
    return Ruling(
        origin, _head(sum(agree.values()), len(judged)), _senses(agree, all_of),
        _numbers(verdicts), tuple(part for part in parts if part.number), len(judged),
    )  # fmt: skip


def _share(number: int, of: int) -> int:
    """Return the place in `WORDS` of a share."""
    return next(i for i, (least, *_) in enumerate(WORDS) if number >= least * of)


def _head(agree: int, judged: int) -> str:
    if judged == 0:
        return "Not judged"
    return WORDS[_share(agree, judged)][1] if judged >= FEW else "Too little to judge"


def _senses(agree: Mapping[Any, int], all_of: Mapping[Any, int]) -> str:
    """Return e.g. ``"holds in counts of work; in part in ratios of times (20 of 35)"``."""
    groups: dict[int, list[str]] = {}
    for kind, words in KINDS.items():
        if all_of.get(kind):
            place = _share(agree.get(kind, 0), all_of[kind])
            told = f"{words} ({agree.get(kind, 0)} of {all_of[kind]})"
            groups.setdefault(place, []).append(told)
    told = [f"{WORDS[place][2]} {_listed(groups[place])}" for place in sorted(groups)]
    return _capital("; ".join(told)) + "." if told else ""


def _numbers(verdicts: Mapping[str, int]) -> str:
    judged = sum(verdicts[name] for name in JUDGED)
    if not judged:
        return "No printed number can be judged by it."
    return (
        f"{verdicts['agrees']} of {judged} comparisons agree, {verdicts['differs']} differ for a "
        f"cause that was measured, {verdicts['open']} are open."
    )


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
