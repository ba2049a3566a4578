"""Finds papers, experiments and solvers by name. Imports a paper only when it is asked for."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path

import papers
from papers.common.model import Experiment, Paper, Solver

MODULES: dict[str, str] = {name: f"papers.{name}" for name in (*papers.PAPERS, *papers.ROOMS)}
"""Module of each paper by name, in the order of the reading tour, then our own rooms."""


GUESTS: dict[str, str] = {"yours": "papers.reproduce.bench.yours"}
"""Modules with solvers that are of no paper, by the name before the colon; nothing lists them."""


class UsageError(ValueError):
    """The user asked for something that does not exist; the message names what is allowed."""


def meant(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"``, or "" if no known name is like `name`."""
    names = list(known)
    close = [one for one in names if name and one.lower().startswith(name.lower())]
    close = close or difflib.get_close_matches(name, names, 1, 0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def card(name: str) -> Paper:
    """Return the card of paper `name`; raise `UsageError` for an unknown one."""
    if name not in MODULES:
        hint = meant(name, MODULES)
        raise UsageError(f"unknown paper {name!r}; there are: {', '.join(MODULES)}{hint}")
    return importlib.import_module(MODULES[name]).PAPER


def experiments(name: str) -> dict[str, Experiment]:
    """Return the experiments of paper `name` by name, in the paper's order."""
    return {experiment.name: experiment for experiment in card(name).experiments()}


def solver(full_name: str) -> Solver:
    """Return the solver called e.g. ``"lopes2019:gpu"``; raise `UsageError` for an unknown one."""
    paper, _, name = full_name.partition(":")
    if paper in GUESTS:
        solvers: Mapping[str, Solver] = importlib.import_module(GUESTS[paper]).SOLVERS
    else:
        solvers = card(paper).solvers()
    if name not in solvers:
        listed = ", ".join(f"{paper}:{known}" for known in solvers)
        hint = meant(name, solvers)
        raise UsageError(f"unknown solver {full_name!r}; there are: {listed}{hint}")
    return solvers[name]


def owner(full_name: str) -> str:
    """Return the paper of a solver called e.g. ``"lopes2019:gpu"``."""
    return full_name.partition(":")[0]


def resolve(targets: list[str]) -> list[tuple[str, Experiment]]:
    """Return the (paper, experiment) pairs that command-line `targets` name.

    Parameters
    ----------
    targets : list of str
        ``PAPER``, ``PAPER:EXPERIMENT`` or ``PAPER:EXPERIMENT,EXPERIMENT``; a word that is no
        paper is an experiment of the paper before it. Empty: every paper.

    Raises
    ------
    UsageError
        For a name that does not exist.
    """
    chosen: dict[tuple[str, str], Experiment] = {}
    paper = ""
    for target in targets or list(MODULES):
        head, colon, tail = target.partition(":")
        if not head or (colon and not tail):
            raise UsageError(f"{target!r} is no target: PAPER, or PAPER:EXPERIMENT")
        if not colon and head not in MODULES and paper:
            tail = head
        else:
            paper = head
        known = experiments(paper)
        for name in tail.split(",") if tail else known:
            if name not in known:
                listed, hint = ", ".join(known), meant(name, known)
                raise UsageError(f"{paper} has no experiment {name!r}; it has: {listed}{hint}")
            chosen[paper, name] = known[name]
    return [(key[0], experiment) for key, experiment in chosen.items()]


def demand_checkout(command: str) -> None:
    """Refuse a maintainer's command in an installed package, whose files are not to be written.

    Raises
    ------
    UsageError
        If the package does not lie beside its `pyproject.toml`.
    """
    root = Path(papers.__file__).resolve().parents[1]
    if not (root / "pyproject.toml").is_file():
        raise UsageError(f"reproduce {command} writes into the sources: it needs a checkout")


def folder(name: str) -> Path:
    """Return the folder of paper `name`, which holds `published` and `results`."""
    card(name)  # An unknown name is an error of usage here too.
    spec = importlib.util.find_spec(MODULES[name])
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(f"the paper {name!r} has no folder")
    return Path(next(iter(spec.submodule_search_locations)))
