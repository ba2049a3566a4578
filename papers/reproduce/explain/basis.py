"""The measurements that an explanation stands on: a committed record, or a run's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from papers.common.evidence import published
from papers.common.evidence.comparisons import THIS_RUN
from papers.common.evidence.intervals import Evidence
from papers.common.evidence.judges import by_origin
from papers.common.model import Comparison, Experiment, Plan
from papers.reproduce import registry
from papers.reproduce.plan.pace import SEEDS
from papers.reproduce.registry import UsageError
from papers.reproduce.run import folder as store
from papers.reproduce.run import measurements, records
from papers.reproduce.run.runner import Run, load_environment

RECORDED = "recorded "


class Remembering(published.Published):
    """A paper's loader of printed numbers that remembers which files it was asked for."""

    def __init__(self, paper: str) -> None:
        super().__init__(paper)
        self.asked: dict[str, int] = {}

    def __call__(self, name: str) -> pd.DataFrame:
        """Return the numbers of one file, and note its name and its rows."""
        found = super().__call__(name)
        self.asked[name] = len(found)
        return found


@dataclass(frozen=True)
class Basis:
    """An experiment with the measurements of one machine.

    Attributes
    ----------
    paper : str
    experiment : Experiment
    origin : str
        ``"this run"`` or ``"recorded <card>"``.
    others : mapping of str to int
        Further machines and how many comparisons of the experiment each of them has.
    meta, environment : mapping
        The run's ``meta.json`` and ``environment.json``; empty where the paper has no record.
    seen : DataFrame
        The usable rows that the experiment's table is made of, of this machine alone.
    comparisons : list of Comparison
        Of this machine, in the experiment's order.
    printed : Remembering
        The printed numbers that the table has asked for.
    """

    paper: str
    experiment: Experiment
    origin: str
    others: Mapping[str, int]
    meta: Mapping[str, Any]
    environment: Mapping[str, Any]
    seen: pd.DataFrame
    comparisons: list[Comparison]
    printed: Remembering = field(repr=False)

    @property
    def name(self) -> str:
        """``PAPER:EXPERIMENT``."""
        return f"{self.paper}:{self.experiment.name}"

    @property
    def plan(self) -> Plan:
        """The plan by which the cells of this basis were chosen."""
        options = self.meta.get("options", {"preset": "paper", "seeds": []})
        seeds = tuple(options["seeds"]) or SEEDS[options["preset"]]
        gpu = bool(self.meta.get("device", {}).get("is_gpu", True))
        return Plan(options["preset"], gpu, seeds, bool(options["seeds"]))

    def compared(self, seen: pd.DataFrame) -> list[Comparison]:
        """Return the comparisons of other rows than `seen`, by the medians alone."""
        assert self.experiment.compare is not None
        table = self.experiment.table(seen, self.printed)
        return [c for c in by_origin(self.experiment.compare, table) if c.origin == self.origin]


def of(
    target: str, run: Path | None = None, card: str | None = None, asked: Sequence[str] = ()
) -> Basis:
    """Return what ``PAPER:EXPERIMENT`` stands on.

    Parameters
    ----------
    target : str
    run : Path, optional
        The folder of a run; without one the paper's records count.
    card : str, optional
        The record of this card; without one that which judges most.
    asked : sequence of str
        Words of rows, which have to be there: that is seen before their intervals are made.

    Raises
    ------
    UsageError
        If the target is no single experiment, the run did not measure it, or there is no such
        record.
    """
    paper, experiment = _named(target)
    summary = _summary(paper, experiment, run)
    seen = measurements.usable(records.seen_by(paper, summary))
    origins = _origins(paper, experiment, seen, run is not None)
    origin = _chosen(paper, origins, run, card)
    mine = seen[seen["source"] == origin].reset_index(drop=True)
    printed = Remembering(registry.MODULES[paper])
    table = experiment.table(mine, printed)
    found = []
    if experiment.compare is not None:
        if asked:
            named = by_origin(experiment.compare, table)
            rows_named([item for item in named if item.origin == origin], asked)
        found = Evidence(mine).compare(experiment, table, printed)
    mine_alone = [item for item in found if item.origin == origin]
    others = {name: n for name, n in origins.items() if name != origin and n}
    home = run if run is not None else _home(paper, origin)
    meta = store.read_meta(home) if home is not None else {}
    environment = load_environment(home) if home is not None else {}
    return Basis(paper, experiment, origin, others, meta, environment, mine, mine_alone, printed)


def _named(target: str) -> tuple[str, Experiment]:
    paper, colon, name = target.partition(":")
    if not colon or not name or "," in name:
        known = ", ".join(registry.experiments(paper))
        raise UsageError(f"{target!r} is no PAPER:EXPERIMENT; {paper} has: {known}")
    ((_, experiment),) = registry.resolve([target])
    return paper, experiment


def _summary(paper: str, experiment: Experiment, run: Path | None) -> pd.DataFrame:
    if run is None:
        return records.summaries(records.owners(paper))
    current = Run.load(run)
    name = f"{paper}:{experiment.name}"
    if name not in current.meta["experiments"]:
        listed = ", ".join(current.meta["experiments"])
        raise UsageError(f"{run} has not measured {name}; it has: {listed}")
    return measurements.summarize(current.measured()).assign(**{records.RECORD: ""})


def _origins(
    paper: str, experiment: Experiment, seen: pd.DataFrame, is_run: bool
) -> dict[str, int]:
    """Return how many judged comparisons each machine has; the paper's own cards come first."""
    if is_run:
        return {THIS_RUN: 0}
    own = [name for name, _ in measurements.environments(registry.folder(paper) / "results")]
    counts = dict.fromkeys([*own, *seen["source"].unique()], 0)
    if experiment.compare is None or seen.empty:
        return counts
    table = experiment.table(seen, published.loader(registry.MODULES[paper]))
    found = Counter(
        item.origin for item in by_origin(experiment.compare, table) if item.measured is not None
    )
    return {name: found[name] for name in counts}


def _chosen(paper: str, origins: Mapping[str, int], run: Path | None, card: str | None) -> str:
    if run is not None:
        return THIS_RUN
    if card is not None:
        known = [name.removeprefix(RECORDED) for name in origins]
        if card not in known:
            hint = registry.meant(card, known)
            listed = ", ".join(known) or "none"
            raise UsageError(f"{paper} has no record of {card!r}; there are: {listed}{hint}")
        return f"{RECORDED}{card}"
    if not origins:
        raise UsageError(f"{paper} has no recorded run; explain a run of yours by --run FOLDER")
    return max(origins, key=lambda name: origins[name])  # The first one of several.


def _home(paper: str, origin: str) -> Path | None:
    """Return the record's folder: the paper's own, or that of a paper whose solvers it measures."""
    for owner in records.owners(paper):
        found = registry.folder(owner) / "results" / origin.removeprefix(RECORDED)
        if (found / "meta.json").is_file():
            return found
    return None


def rows_named(items: Sequence[Comparison], words: Sequence[str]) -> list[Comparison]:
    """Return the comparisons whose quantity holds all of the words of one ``--row``.

    Parameters
    ----------
    items : sequence of Comparison
    words : sequence of str
        One text a ``--row``: its words, in any order, each a part of the quantity's name.

    Raises
    ------
    UsageError
        If a text is of no row; the message names a row that is like it.
    """
    kept: dict[int, Comparison] = {}
    names = [item.quantity for item in items]
    for text in words:
        asked = text.lower().split()
        found = [
            place
            for place, name in enumerate(names)
            if text == name or set(asked) <= set(name.lower().replace(",", " ").split())
        ] or [p for p, name in enumerate(names) if all(word in name.lower() for word in asked)]
        if not asked or not found:
            hint = registry.meant(text, names)
            raise UsageError(f"--row {text!r} is no row of this table{hint or _first(names)}")
        kept |= {place: items[place] for place in found}
    return [kept[place] for place in sorted(kept)]


def _first(names: Sequence[str]) -> str:
    return f"; the first is {names[0]!r}" if names else "; it compares nothing"
