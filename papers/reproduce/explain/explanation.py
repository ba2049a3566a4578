"""Everything that is known about where the numbers of one experiment come from, as data."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.model import Cell, Comparison
from papers.reproduce import registry
from papers.reproduce.explain import basis as measured
from papers.reproduce.explain import makers, named, places, provenance
from papers.reproduce.explain.basis import Basis
from papers.reproduce.explain.makers import Instances, Maker
from papers.reproduce.explain.places import Place
from papers.reproduce.report.report import command
from papers.reproduce.site import words
from papers.reproduce.site.rows import worst_first

MOST_TRACED = 4
"""Rows whose cells are looked for, which takes seconds each; ``--verbose`` lifts it."""


@dataclass(frozen=True)
class Explanation:
    """The origin of an experiment's numbers.

    Attributes
    ----------
    basis : Basis
    tag : str
        The citation, e.g. ``"L19 Table 3"``; "" for an experiment of ours that print has not.
    sources : mapping of str to int
        The CSV files of printed numbers that the table has asked for, and their rows.
    rows : list of Comparison
        The rows that were asked for, the worst first.
    made_of : mapping of str to list of str
        The cells of each row that was asked for by name.
    instances : list of Instances
    makers : list of Maker
    places : list of (role, Place)
    notes : mapping of str to str
        Deviations and inconsistencies by id.
    machine, commit : str
    command : str
        Measures it anew, quoted for a shell.
    """

    basis: Basis
    tag: str
    sources: Mapping[str, int]
    rows: list[Comparison]
    made_of: Mapping[str, list[str]]
    instances: list[Instances]
    makers: list[Maker]
    places: list[tuple[str, Place]]
    notes: Mapping[str, str]
    machine: str
    commit: str
    command: str

    @property
    def title(self) -> str:
        """The caption."""
        return self.basis.experiment.title


def explain(
    target: str,
    asked: Sequence[str] = (),
    run: Path | None = None,
    card: str | None = None,
    most: int = MOST_TRACED,
) -> Explanation:
    """Explain ``PAPER:EXPERIMENT``.

    Parameters
    ----------
    target : str
    asked : sequence of str
        Rows by the words of their names; none: all.
    run : Path, optional
        The folder of a run, instead of the records.
    card : str, optional
        One of the records.
    most : int
        Of how many rows that were asked for the cells are looked for.

    Raises
    ------
    UsageError
        For a name that does not exist, or a machine that has not measured the experiment.
    """
    basis = measured.of(target, run, card, asked)
    entry, module = basis.experiment, registry.MODULES[basis.paper]
    rows = measured.rows_named(basis.comparisons, asked) if asked else basis.comparisons
    cells = [] if entry.unavailable else list(entry.cells(basis.plan))
    traced = rows[:most] if asked and not entry.unavailable else []
    made_of = {item.quantity: provenance.made_of(basis, item, cells) for item in traced}
    shown = _of_rows(cells, made_of)
    told = set(basis.seen["cell"])
    return Explanation(
        basis, _tag(basis), basis.printed.asked, _worst_first(rows), made_of,
        makers.instances_of(cell for cell in shown), makers.makers_of(shown, told),
        list(places.of_experiment(module, entry)), named.told(basis.paper, entry, rows),
        _machine(basis), _commit(basis), _command(basis),
    )  # fmt: skip


def _of_rows(cells: Sequence[Cell], made_of: Mapping[str, list[str]]) -> list[Cell]:
    """Return the cells of the rows that were looked at; all of them where none was."""
    wanted = {key for keys in made_of.values() for key in keys}
    return [cell for cell in cells if cell.key in wanted] or list(cells)


def _tag(basis: Basis) -> str:
    if not words.in_print(basis.experiment):
        return ""
    return f"{registry.card(basis.paper).tag} {words.experiment(basis.experiment)}"


def _worst_first(rows: Sequence[Comparison]) -> list[Comparison]:
    """Return the rows by verdict and distance, as the site lists them."""
    from papers.reproduce.site.rows import Row, log_ratio

    found = [Row("", c, "", "", "", "", "", "", log_ratio(c)) for c in rows]
    return [row.item for row in worst_first(found)]


def _machine(basis: Basis) -> str:
    """Return the device, and the CPU, which times the rivals."""
    device, cpu = words.machine(basis.origin, basis.environment), basis.environment.get("cpu")
    return f"{device} on {cpu}" if cpu and cpu not in device and " on " not in device else device


def _commit(basis: Basis) -> str:
    """Return the commit that was measured, with what is to be said of it."""
    commit = str(basis.environment.get("commit", ""))
    if not commit:
        return "of no commit that is known"
    clean = "" if basis.environment.get("clean", True) else ", with changes"
    return f"commit {re.sub('[+].*', '', commit)[:12]}{clean}"


def _command(basis: Basis) -> str:
    """Return the command that measures the experiment anew as this basis did."""
    if basis.meta:
        return command(basis.meta, [basis.name])
    return shlex.join(["reproduce", "run", basis.name, "--preset", "paper"])


def kind(basis: Basis) -> str:
    """Return the words for where the numbers were read."""
    return "this run" if basis.origin == THIS_RUN else f"the {basis.origin} run"


def as_data(found: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON knows it; see `papers.reproduce.explain.text.as_json`."""
    return {
        "experiment": found.basis.name,
        "title": found.title,
        "tag": found.tag or None,
        "published": dict(found.sources),
        "origin": found.basis.origin,
        "machine": found.machine,
        "commit": found.basis.environment.get("commit"),
        "clean": found.basis.environment.get("clean"),
        "preset": found.basis.plan.preset,
        "command": found.command,
        "made_of": dict(found.made_of),
        "instances": [vars(one) for one in found.instances],
        "solvers": [_maker(one) for one in found.makers],
        "code": {role: str(place) for role, place in found.places},
        "notes": dict(found.notes),
    }


def _maker(one: Maker) -> dict[str, Any]:
    return {
        **{k: v for k, v in vars(one).items() if k not in ("run", "kernels")},
        "run": str(one.run) if one.run else None,
        "kernels": {place.name: str(place) for place in one.kernels},
    }
