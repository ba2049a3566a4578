"""The verdict on a paper in a sentence and a strip, made of its comparisons with print alone.

Nobody writes these sentences by hand: they change with the numbers. The share of a kind's
comparisons that agree becomes words by `WORDS`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.evidence.verdicts import is_with_print
from papers.common.model import Comparison, MainClaim
from papers.reproduce.report.numbers import show_number
from papers.reproduce.site.words import KINDS

JUDGED = ("agrees", "differs", "open")

WORDS = (
    (0.95, "hold"),
    (0.75, "mostly hold"),
    (0.4, "hold in part"),
    (0.1, "are mostly not confirmed"),
    (0.0, "are not confirmed"),
)
"""The least share of the comparisons of one kind that agree, and what is then said of the kind."""

FEW = 3
"""Kinds with fewer judged comparisons are left to the numbers, where there is another kind."""


@dataclass(frozen=True)
class Part:
    """A stretch of a strip.

    Attributes
    ----------
    look : str
        The name of its style: a kind for what agrees, else a verdict, or ``not-run``.
    words : str
        Its meaning, e.g. ``"20 of 35 counts agree"``.
    short : str
        The same for a key, e.g. ``"counts 20 of 35"``.
    number : int
    """

    look: str
    words: str
    short: str
    number: int


@dataclass(frozen=True)
class Ruling:
    """The verdict on one paper by one machine.

    Attributes
    ----------
    origin : str
        Whose measurements these are.
    head : str
        The verdict, kind by kind: in which sense the paper holds.
    numbers : str
        How many comparisons agree, differ and are open.
    parts : tuple of Part
        The strip, without empty parts.
    judged : int
        Comparisons with a verdict.
    """

    origin: str
    head: str
    numbers: str
    parts: tuple[Part, ...]
    judged: int


@dataclass(frozen=True)
class Claimed:
    """A main claim of a paper with its verdict.

    Attributes
    ----------
    words : str
        The claim, and print's figure beside ours where it has figures.
    verdict : str
        Of several comparisons the worst one's; ``"not measured"`` if none was judged.
    origin : str
        Whose measurements decide; "" where none do.
    """

    words: str
    verdict: str
    origin: str


def main_claims(
    claims: Sequence[MainClaim], items: Iterable[tuple[str, Comparison]]
) -> list[Claimed]:
    """Return the verdict on each main claim by the first machine of `rulings` that judges it.

    Parameters
    ----------
    claims : sequence of MainClaim
        The paper's own, in its order.
    items : iterable of (experiment, Comparison)
        All of the paper.
    """
    known = list(items)
    origins = [ruling.origin for ruling in rulings(known)]
    return [_claimed(claim, known, origins) for claim in claims]


def _claimed(
    claim: MainClaim, known: Sequence[tuple[str, Comparison]], origins: Sequence[str]
) -> Claimed:
    meant = [
        item
        for name, item in known
        if name == claim.experiment and item.quantity.startswith(claim.quantity)
    ]
    for origin in origins:
        judged = [i for i in meant if i.origin == origin and i.verdict in JUDGED]
        if judged:
            worst = max(judged, key=lambda item: JUDGED.index(item.verdict))
            return Claimed(claim.words + _figures(judged), worst.verdict, origin)
    return Claimed(claim.words, "not measured", "")


def altogether(ruling: Ruling) -> str:
    """Return the verdict on all comparisons of a paper as the sentence after its main claims."""
    return f"All in all: {ruling.head[:1].lower()}{ruling.head[1:]}."


def _figures(judged: Sequence[Comparison]) -> str:
    """Return e.g. ``" (print 3.9, ours 3.6, 3.1 to 4; within 10 %)"`` of a single figure."""
    pair = (judged[0].published, judged[0].measured)
    if len(judged) > 1 or any(isinstance(value, str) for value in pair):
        return ""
    low, high = judged[0].low, judged[0].high
    spread = "" if low is None or low == high else f", {low:.3g} to {high:.3g}"
    told = f"print {show_number(pair[0])}, ours {show_number(pair[1])}{spread}"
    tolerance = judged[0].tolerance
    return f" ({told}; {tolerance})" if tolerance else f" ({told})"


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
    agree = Counter[str](item.kind for item in judged if item.verdict == "agrees")
    all_of = Counter[str](item.kind for item in judged)
    verdicts = Counter[str](item.verdict for item in judged)
    parts = [
        Part(kind, f"{agree[kind]} of {all_of[kind]} {words} agree",
             f"{words} {agree[kind]} of {all_of[kind]}", agree[kind])
        for kind, words in KINDS.items()
        if all_of[kind]
    ]  # fmt: skip
    for look, number, meaning, short in (
        ("differs", verdicts["differs"], "differ for a cause that was measured", "differ"),
        ("open", verdicts["open"], "do not agree, and nobody knows why yet", "open"),
        ("not-run", len(known - run), "were not run on this machine", "not run"),
    ):
        if number:
            parts.append(Part(look, f"{number} {meaning}", f"{number} {short}", number))
    return Ruling(origin, _head(agree, all_of), _numbers(verdicts), tuple(parts), len(judged))


def _head(agree: Mapping[Any, int], all_of: Mapping[Any, int]) -> str:
    """Return e.g. ``"Counts hold; speed ratios hold in part"``."""
    told = [kind for kind in KINDS if all_of.get(kind, 0) >= FEW]
    told = told or [kind for kind in KINDS if all_of.get(kind)]
    groups: dict[str, list[str]] = {word: [] for _, word in WORDS}
    for kind in told:
        share = agree.get(kind, 0) / all_of[kind]
        groups[next(word for least, word in WORDS if share >= least)].append(KINDS[kind])
    found = [f"{_listed(names)} {word}" for word, names in groups.items() if names]
    text = "; ".join(found) or "nothing printed can be judged by it"
    return text[:1].upper() + text[1:]


def _numbers(verdicts: Mapping[str, int]) -> str:
    """Return e.g. ``"20 of 35 agree, 15 open"``."""
    judged = sum(verdicts[name] for name in JUDGED)
    if not judged:
        return "nothing printed can be judged by it"
    told = [f"{verdicts['agrees']} of {judged} agree"]
    differ = "differs" if verdicts["differs"] == 1 else "differ"
    told += [f"{verdicts[name]} {word}" for name, word in (("differs", differ), ("open", "open"))
             if verdicts[name]]  # fmt: skip
    return ", ".join(told)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
