"""Names for strangers: a paper by its authors, a table by its number, a machine by its maker."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.model import Experiment, Paper

KINDS = {
    "count": "counts",
    "ratio": "speed ratios",
    "shape": "curve shapes",
    "claim": "statements",
    "time": "absolute times",
}
"""The kinds of comparisons with print as a stranger reads them, the strictest first."""

_NUMBERED = (
    (re.compile(r"fig0*(\d+)"), "Figure {}"),
    (re.compile(r"table0*(\d+)"), "Table {}"),
    (re.compile(r"table_([a-z])0*(\d+)"), "Table {}.{}"),
    (re.compile(r"appendix_([a-z])"), "Appendix {}"),
)


def paper(card: Paper) -> str:
    """Return e.g. ``"Lopes et al. 2019"``; of a room of ours its title."""
    if not card.is_printed:
        return card.title
    names = [name.strip().split()[-1] for name in card.authors.split(",")]
    if len(names) > 2:
        return f"{names[0]} et al. {card.year}"
    return f"{' and '.join(names)} {card.year}"


def experiment(entry: Experiment) -> str:
    """Return e.g. ``"Table 2"``; for an experiment of our own its name in words."""
    for pattern, words in _NUMBERED:
        found = pattern.fullmatch(entry.name)
        if found:
            return words.format(*(part.upper() for part in found.groups()))
    return entry.name.replace("_", " ").capitalize()


def in_print(entry: Experiment) -> bool:
    """Whether the paper has a table or a figure of this name."""
    return any(pattern.fullmatch(entry.name) for pattern, _ in _NUMBERED)


def machine(origin: str, environment: Mapping[str, Any]) -> str:
    """Return the machine that measured, as a stranger knows it.

    Parameters
    ----------
    origin : str
        ``"this run"`` or ``"recorded <slug>"``.
    environment : mapping
        Its ``environment.json``; may be empty.
    """
    device = str(environment.get("device") or origin.removeprefix("recorded "))
    number = environment.get("gpus_used", 1)
    device = f"{number} x {device}" if number > 1 else device
    if not environment.get("gpus"):
        cpu = re.sub(r"\((R|TM)\)", "", str(environment.get("cpu") or "")).strip()
        device = " on ".join(filter(None, [device, cpu]))
    return device


def machine_of(origin: str, environment: Mapping[str, Any]) -> str:
    """Return `machine`, and whether it is this run's or a record's."""
    return (
        f"{machine(origin, environment)} ({'this run' if origin == THIS_RUN else 'recorded run'})"
    )
