"""The plan of a run: the union of the cells of the chosen experiments.

Two experiments that need the same cell share one measurement, so a run is a list of `Job`s
without duplicates, smallest instances first: the first results come early, an instance is drawn
once for all its solvers, and the times of small cells predict those of large ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from papers.common.model import Cell, Experiment, Instance, Plan, Scope
from papers.reproduce.plan.old_names import modern
from papers.reproduce.registry import UsageError, meant

SCOPES: tuple[str, ...] = get_args(Scope)
TIMEOUT_S = {"smoke": 60.0, "quick": 120.0, "paper": 1800.0}
"""Seconds a cell may take in all, unless the command line says otherwise."""

_ONLY = ("n", "range", "seed", "solver", "family", "storage", "permuted")
_NEXT_KEY = re.compile(rf",(?=(?:{'|'.join(_ONLY)}|label)=)")


@dataclass(frozen=True)
class Job:
    """A cell to measure, its scopes merged, and the experiments that read it.

    Attributes
    ----------
    cell : Cell
    experiments : tuple of str
        ``paper:experiment``.
    interleaved : tuple of str
        Those of them whose cells are measured in turn; see `groups`.
    """

    cell: Cell
    experiments: tuple[str, ...]
    interleaved: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The cell's key."""
        return self.cell.key

    @property
    def options(self) -> str:
        """The cell's options as the column ``options`` has them."""
        return ",".join(f"{name}={value}" for name, value in self.cell.options)


def _merge(old: Job, new: Job) -> Job:
    """Return `old` with the scopes and the experiments of `new` added."""
    if old.cell.instance != new.cell.instance:
        raise ValueError(
            f"two instances share the key {new.key!r}: "
            f"{old.cell.instance.params} and {new.cell.instance.params}"
        )
    wanted = {*old.cell.scopes, *new.cell.scopes}
    scopes = cast(tuple[Scope, ...], tuple(scope for scope in SCOPES if scope in wanted))
    repeats = max(old.cell.repeats or 0, new.cell.repeats or 0) or None
    return Job(
        replace(old.cell, scopes=scopes, repeats=repeats),
        tuple(dict.fromkeys((*old.experiments, *new.experiments))),
        tuple(dict.fromkeys((*old.interleaved, *new.interleaved))),
    )


def jobs(
    experiments: Iterable[tuple[str, Experiment]], plan: Plan, repeats: int | None = None
) -> list[Job]:
    """Return the cells of `experiments`, each once, smallest instance first.

    Parameters
    ----------
    experiments : iterable of (paper, Experiment)
        Those that are unavailable are left out.
    plan : Plan
        Preset, device and seeds.
    repeats : int, optional
        Repetitions of the command line, which win: no cell then asks for a number of its own.

    Raises
    ------
    ValueError
        If two cells with one key ask for different instances, or a cell has an option twice.
    """
    found: dict[str, Job] = {}
    for paper, experiment in experiments:
        name = f"{paper}:{experiment.name}"
        for cell in () if experiment.unavailable else experiment.cells(plan):
            if len(dict(cell.options)) < len(cell.options):
                raise ValueError(f"{cell.key} has an option twice")
            asked = replace(cell, repeats=None) if repeats else cell
            new = Job(asked, (name,), (name,) if experiment.interleaved else ())
            # A new job goes through `_merge` too: it puts the scopes in their order.
            found[cell.key] = _merge(found.get(cell.key, new), new)
    return sorted(found.values(), key=_smallest_first)


def groups(planned: Sequence[Job]) -> list[list[Job]]:
    """Return the jobs in the groups that are measured together, in the order of the plan.

    Two jobs of one instance and one number of ranks are in the same group if an interleaved
    experiment reads both, or if a chain of such pairs leads from one to the other. All others are
    alone.
    """
    members: dict[str, list[Job]] = {job.key: [job] for job in planned}
    seen: dict[tuple[str, str, Any], str] = {}
    for job in planned:
        ranks = dict(job.cell.options).get("ranks", 1)
        for name in job.interleaved:
            other = seen.setdefault((name, job.cell.instance.key, ranks), job.key)
            if members[other] is members[job.key]:
                continue
            joined = members[other] + members[job.key]
            members.update((one.key, joined) for one in joined)
    place = {job.key: at for at, job in enumerate(planned)}
    whole = {id(group): group for group in members.values()}.values()
    return [sorted(group, key=lambda job: place[job.key]) for group in whole]


def unused_seeds(planned: Sequence[Job], seeds: Iterable[int]) -> list[int]:
    """Return the seeds that no cell of a plan has, though the command line asked for them."""
    used = {job.cell.instance.seed for job in planned}
    return [seed for seed in seeds if seed not in used]


def _smallest_first(job: Job) -> tuple[int, str, str, int, str, bool]:
    one = job.cell.instance
    # A permuted graph comes right behind the one that it permutes, which need not be drawn anew.
    return one.n, one.family, one.label, one.seed, one.storage, one.permuted


# ------------------------------------------------------------------------------ --only


def parse_only(words: Sequence[str]) -> dict[str, set[str]]:
    """Return the ``key=value,value`` filters of the command line as sets of values by key.

    Raises
    ------
    UsageError
        For a word without ``=``, an unknown key or an empty value.
    """
    filters: dict[str, set[str]] = {}
    # A word may hold several filters: in n=512,range=n the second key begins one of its own.
    for word in [part for given in words for part in _NEXT_KEY.split(given)]:
        key, equals, value = word.partition("=")
        key = "range" if key == "label" else key
        if not equals or key not in _ONLY:
            hint = meant(key, _ONLY) if equals else ""
            listed = ", ".join(_ONLY)
            raise UsageError(f"--only {word!r}: it takes KEY=VALUE with KEY of {listed}{hint}")
        values = [part.strip() for part in value.split(",")]
        if not all(values):
            raise UsageError(f"--only {word!r}: a value is empty")
        filters.setdefault(key, set()).update(values)
    return filters


def _values(job: Job) -> dict[str, set[str]]:
    """Return the values of `job` by key; a solver answers to its full and its short name."""
    instance = job.cell.instance
    solver = job.cell.solver
    return {
        "n": {str(instance.n)},
        "range": {instance.label},
        "seed": {str(instance.seed)},
        "solver": {solver, solver.partition(":")[2]},
        "family": {instance.family},
        "storage": {instance.storage},
        "permuted": {"yes" if instance.permuted else "no"},
    }


def select(planned: Sequence[Job], filters: dict[str, set[str]]) -> list[Job]:
    """Return the jobs that match: any value of a key, all keys.

    Raises
    ------
    UsageError
        If a value matches no planned cell at all (the message lists those that do), or if no
        cell matches all keys.
    """
    for key, wanted in filters.items():
        known = {value for job in planned for value in _values(job)[key]}
        if missing := sorted(wanted - known):
            listed = ", ".join(sorted(known, key=_numbers_first)) or "none"
            raise UsageError(f"--only {key}={missing[0]}: the plan has {key} {listed}")
    kept = [
        job for job in planned if all(_values(job)[key] & wanted for key, wanted in filters.items())
    ]
    if planned and not kept:
        raise UsageError("--only: each value occurs in the plan, but no cell has all of them")
    return kept


def _numbers_first(text: str) -> tuple[float, str]:
    return (float(text), "") if text.isdigit() else (math.inf, text)


# ------------------------------------------------------------------------------ JSON


def to_json(planned: Sequence[Job]) -> list[dict[str, Any]]:
    """Return the jobs as dicts for `meta.json`."""
    return [
        {
            "solver": job.cell.solver,
            "family": job.cell.instance.family,
            "n": job.cell.instance.n,
            "label": job.cell.instance.label,
            "seed": job.cell.instance.seed,
            "storage": job.cell.instance.storage,
            "permuted": job.cell.instance.permuted,
            "params": job.cell.instance.params,
            "options": job.cell.options,
            "scopes": job.cell.scopes,
            "repeats": job.cell.repeats,
            "experiments": job.experiments,
            "interleaved": job.interleaved,
        }
        for job in planned
    ]


def _tuples(value: Any) -> Any:
    """Return `value` with every list turned back into a tuple."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def from_json(rows: Sequence[dict[str, Any]]) -> list[Job]:
    """Return the jobs that `to_json` wrote, those of older versions included."""
    planned = []
    for row in rows:
        data = {key: _tuples(value) for key, value in row.items()}
        names = ("family", "n", "label", "params", "seed", "storage", "permuted")
        instance = modern(Instance(**{name: data[name] for name in names if name in data}))
        cell = Cell(data["solver"], instance, data["scopes"], data["options"], data["repeats"])
        planned.append(Job(cell, data["experiments"], data.get("interleaved", ())))
    return planned
