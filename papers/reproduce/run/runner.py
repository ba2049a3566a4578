"""A run from start to end: its folder, its cells, its artifacts.

A run's folder is made of `meta.json` (what was asked, the plan), `environment.json`,
`measurements.csv` (see `papers.reproduce.run.measurements`) and, after the last cell, the files
that `papers.reproduce.report.report` derives from these.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pandas as pd

import papers
from papers.common.gpu import environment
from papers.common.model import Experiment, Plan
from papers.reproduce import registry
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.worker import Worker
from papers.reproduce.plan import cells, shipped
from papers.reproduce.plan.cells import Job
from papers.reproduce.plan.estimate import EXECUTOR, Estimator
from papers.reproduce.plan.pace import PACE, SEEDS, Pace
from papers.reproduce.plan.seeds import SeedRule
from papers.reproduce.registry import UsageError
from papers.reproduce.run import code, json_files, measurements
from papers.reproduce.run import folder as store
from papers.reproduce.run.folder import Journal, Lock, RunStore
from papers.reproduce.run.identities import Identities
from papers.reproduce.run.measurements import recorded_runs, summarize

if TYPE_CHECKING:
    from papers.reproduce.measure.squad import Squad
    from papers.reproduce.measure.team import Team

Measurer: TypeAlias = "Worker | Squad | Team"
"""Who measures cells: a child process, with a job for cells of several ranks, or an MPI job."""

__all__ = ["Choice", "Listener", "Run", "create", "estimator", "recorded_runs", "summarize"]


@dataclass(frozen=True)
class Choice:
    """The choices of the command line.

    Attributes
    ----------
    targets : tuple of str
        Papers and experiments; empty for all.
    preset : str
        ``smoke``, ``quick`` or ``paper``.
    only : tuple of str
        ``key=value`` filters.
    repeats : int or None
        Repetitions; None for the preset's.
    seeds : tuple of int
        Instance seeds, which win over the preset's; empty for those.
    timeout_s : float or None
        Limit of a cell; None for the preset's.
    device : str
        ``auto``, ``gpu`` or ``cpu``.
    """

    targets: tuple[str, ...] = ()
    preset: str = "quick"
    only: tuple[str, ...] = ()
    repeats: int | None = None
    seeds: tuple[int, ...] = ()
    timeout_s: float | None = None
    device: str = "auto"

    def plan(self, gpu: bool) -> Plan:
        """Return the `Plan` that experiments receive."""
        seeds = self.seeds or SEEDS[self.preset]
        return Plan(self.preset, gpu, seeds, bool(self.seeds))  # type: ignore[arg-type]


class Listener(Protocol):
    """Who watches a run; see `papers.reproduce.screen.live.Live`."""

    def begins(self, job: Job) -> None:
        """A cell begins."""

    def stage(self, text: str) -> None:
        """The cell reached a stage."""

    def ended(self, job: Job, outcome: Outcome) -> None:
        """A cell ended and is on the disk."""


TRIES = 2
"""The times a cell may end a job of several ranks: the first one may have been the user's doing."""

RETRIED = ("failed", "timeout", "out-of-memory", "not-certified")
"""Statuses that ``--retry`` measures again."""


@dataclass
class Run:
    """A run's folder and plan; as a context it gives its lock back on leaving.

    Attributes
    ----------
    folder : Path
        The run folder.
    meta : dict
        The content of `meta.json`.
    jobs : list of Job
        The whole plan.
    lock : Lock or None
        Held by whoever measures or reports; None for a run that is only read.
    """

    folder: Path
    meta: dict[str, Any]
    jobs: list[Job] = field(default_factory=list)
    lock: Lock | None = None

    @classmethod
    def load(cls, folder: Path) -> Run:
        """Read the run in `folder`, to look at it; raise `UsageError` if there is none."""
        meta = store.read_meta(folder)
        return cls(folder, meta, cells.from_json(meta["plan"]))

    @classmethod
    def take(cls, folder: Path) -> Run:
        """Read the run in `folder` and lock it, to change it.

        Raises
        ------
        UsageError
            If there is none, or if it is in use.
        """
        store.read_meta(folder)  # No lock file in what is no run folder.
        lock = Lock(folder)
        try:
            run = cls.load(folder)
        except BaseException:
            lock.release()
            raise
        run.lock = lock
        return run

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        if self.lock is not None:
            self.lock.release()

    @property
    def preset(self) -> str:
        """The preset."""
        return self.meta["options"]["preset"]

    @property
    def timeout_s(self) -> float:
        """The limit of a cell in seconds."""
        return self.meta["options"]["timeout_s"]

    def experiments(self) -> list[tuple[str, Experiment]]:
        """Return the (paper, experiment) pairs of the run; the code may know more by now.

        Raises
        ------
        UsageError
            For a run of ``reproduce bench``, and for experiments that have gone.
        """
        if "bench" in self.meta:
            raise UsageError(
                f"{self.folder} is a run of reproduce bench, which has no report: reproduce bench "
                "--resume goes on with it and shows it again"
            )
        pairs = []
        for name in self.meta["experiments"]:
            paper, _, experiment = name.partition(":")
            known = registry.experiments(paper)
            if experiment not in known:
                raise UsageError(f"the run holds {name}, which {paper} does not have any more")
            pairs.append((paper, known[experiment]))
        return pairs

    def measured(self) -> pd.DataFrame:
        """Return the rows of all finished cells."""
        return measurements.read(self.folder / "measurements.csv")

    def check(self, worker: Measurer, force: bool = False, retry: Collection[str] = ()) -> None:
        """Refuse to go on under another code, on another device or with other packages.

        Parameters
        ----------
        worker : Worker or Team
        force : bool
            Go on all the same: ``parts`` of `meta.json` then tells which cells are measured here.
        retry : collection of str
            Statuses that are measured again.

        Raises
        ------
        UsageError
            Names what differs. Another number of ranks is refused always: the cells are for it.
        """
        began = self.meta["device"].get("ranks", 1)
        if began != worker.device.ranks:
            raise UsageError(
                f"this run began with {began} ranks, here are {worker.device.ranks}: "
                "start a new run"
            )
        record, now = load_environment(self.folder), code.here(worker.device.name)
        found = code.differences(code.of_run(self.meta, record), now)
        if not found:
            return
        if not force:
            raise UsageError(
                f"this run would be mixed: {'; '.join(found)}; start a new run, or go on with "
                "--force, which marks the cells"
            )
        first = code.circumstances(record, self.meta["version"], self.meta["device"]["name"])
        cells_left = [job.key for job in self.left(retry)]
        part = {**now, "differs": code.differences(first, now), "cells": cells_left}
        self.meta.setdefault("parts", []).append(part)
        store.write_meta(self.folder, self.meta)

    def mixed(self) -> list[str]:
        """Return a sentence for each part that measured cells under other code, or elsewhere."""
        found = measurements.parse(self.folder / "measurements.csv").statuses
        return code.mixed(self.meta, found)

    def set_timeout(self, seconds: float) -> None:
        """Change the limit of a cell, here and in `meta.json`."""
        self.meta["options"]["timeout_s"] = seconds
        store.write_meta(self.folder, self.meta)

    def left(self, retry: Collection[str] = ()) -> list[Job]:
        """Return the jobs to measure, after dropping finished cells of the statuses `retry`."""
        results = RunStore(self.folder, retry)
        results.close()
        return [job for job in self.jobs if job.key not in results.finished]

    def execute(self, worker: Measurer, listener: Listener) -> None:
        """Measure what is not finished yet; every finished cell is on the disk at once.

        A cell in which a job of several ranks has ended `TRIES` times is not measured again: it
        has failed.
        """
        results = RunStore(self.folder)
        identities = Identities(self.folder)
        journal = Journal(self.folder) if worker.device.ranks > 1 else None
        seeds = self._seed_rule()
        try:
            for group in cells.groups(self.jobs):
                left = [job for job in group if job.key not in results.finished]
                for job in [job for job in left if seeds.reason(job)]:
                    left.remove(job)
                    listener.begins(job)
                    outcome = Outcome("skipped", "none", seeds.reason(job))
                    results.append(rows(job, outcome))
                    listener.ended(job, outcome)
                for job, measured in self._measured(worker, left, listener, results, journal):
                    outcome = identities.checked(job.cell.instance, measured)
                    results.append(rows(job, outcome))
                    seeds.learn(job.key, [(scope, name, v) for scope, _, name, v in outcome.values])
                    listener.ended(job, outcome)
        finally:
            results.close()

    @property
    def pace(self) -> Pace:
        """The rule of repetitions, by the preset and the command line."""
        return PACE[self.preset].exactly(self.meta["options"]["repeats"])

    def _seed_rule(self) -> SeedRule:
        """Return the rule of further seeds, which knows what has been measured before."""
        given = bool(self.meta["options"]["seeds"])
        rule = SeedRule(self.jobs, math.inf if given else self.pace.long_s)
        for cell, rows in self.measured().groupby("cell"):
            columns = (rows[name] for name in ("scope", "metric", "value"))
            rule.learn(str(cell), zip(*columns, strict=True))
        return rule

    def _measured(
        self,
        worker: Measurer,
        group: list[Job],
        listener: Listener,
        results: RunStore,
        journal: Journal | None,
    ) -> Iterator[tuple[Job, Outcome]]:
        """Have the cells of a group measured in turn; they are finished together."""
        if not group:
            return
        first = group[0]
        listener.begins(first)
        tries = journal.begins(first.key) if journal else 0
        if tries >= TRIES:
            reason = f"the job has ended {tries} times while it was measured"
            yield first, Outcome("failed", "none", reason, device=worker.device.name)
            group = group[1:]
        if group:
            worker.on_timeout = partial(_keep, results, journal, group)  # By places in this list.
            wanted = [job.cell for job in group]
            found = worker.measure_together(wanted, self.pace, self.timeout_s, listener.stage)
            yield from zip(group, found, strict=True)
        if journal:
            journal.ended()

    def make_artifacts(self) -> list[str]:
        """Have the experiments write their own pictures; return what went wrong, a line each.

        The pictures' captions and names are kept in `artifacts.json` for the report.
        """
        made: dict[str, list[list[str]]] = {}
        problems = []
        wanted = Choice(preset=self.preset, seeds=tuple(self.meta["options"]["seeds"]))
        for paper, experiment in self.experiments():
            if experiment.artifacts is None or experiment.unavailable:
                continue
            # A folder a paper: two papers may both have a Figure 1.
            folder = self.folder / "artifacts" / paper
            folder.mkdir(parents=True, exist_ok=True)
            try:
                pictures = experiment.artifacts(folder, wanted.plan(self.meta["device"]["is_gpu"]))
            except Exception as error:
                problems.append(f"{paper}:{experiment.name}: {type(error).__name__}: {error}")
                continue
            made[f"{paper}:{experiment.name}"] = [
                [caption, f"{paper}/{Path(path).name}"] for caption, path in pictures
            ]
        if made:
            store.write_atomically(self.folder / "artifacts.json", store.dump_json(made))
        return problems


def _keep(
    results: RunStore, journal: Journal | None, group: Sequence[Job], place: int, outcome: Outcome
) -> None:
    """Keep the outcome of the cell that ends the job, so that no other one is held to have done."""
    results.append(rows(group[place], outcome))
    if journal:
        journal.ended()


def rows(job: Job, outcome: Outcome) -> list[dict[str, Any]]:
    """Return the lines of `measurements.csv` for one cell, its ``done`` row last."""
    instance = job.cell.instance
    common = {
        "cell": job.key,
        "solver": job.cell.solver,
        "options": job.options,
        "device": outcome.device,
        "family": instance.family,
        "n": instance.n,
        "label": instance.label,
        "seed": instance.seed,
        "storage": instance.storage,
        "permuted": instance.permuted,
        "status": outcome.status,
        "certificate": outcome.certificate,
        "reason": outcome.reason,
    }
    values = [*outcome.values, ("answer", 0, "done", 1)]
    names = ("scope", "repeat", "metric", "value")
    return [{**common, **dict(zip(names, value, strict=True))} for value in values]


def demand_ranks(jobs: Sequence[Job]) -> None:
    """Refuse experiments that are measured in one process; for runs on several ranks.

    Raises
    ------
    UsageError
        Names them.
    """
    alone = [job for job in jobs if not registry.solver(job.cell.solver).ranks]
    names = dict.fromkeys(name for job in alone for name in job.experiments)
    if names:
        raise UsageError(
            f"{', '.join(names)}: measured in one process, start the command without mpiexec"
        )


def planned(choice: Choice, gpu: bool) -> tuple[list[tuple[str, Experiment]], list[Job]]:
    """Return the experiments and the jobs that `choice` asks for.

    Raises
    ------
    UsageError
        For unknown names or filters, or when nothing is left to measure.
    """
    pairs = registry.resolve(list(choice.targets))
    filters = cells.parse_only(choice.only)
    all_jobs = cells.jobs(pairs, choice.plan(gpu), choice.repeats)
    if not all_jobs:
        _demand_pictures(pairs, choice, gpu)
    kept = cells.select(all_jobs, filters)
    if choice.only:
        wanted = {name for job in kept for name in job.experiments}
        pairs = [(paper, e) for paper, e in pairs if f"{paper}:{e.name}" in wanted]
    return pairs, kept


def _demand_pictures(pairs: list[tuple[str, Experiment]], choice: Choice, gpu: bool) -> None:
    """Refuse a plan without a cell, unless an experiment makes pictures."""
    closed = [f"{paper}:{e.name}: {e.unavailable}" for paper, e in pairs if e.unavailable]
    if any(e.artifacts and not e.unavailable for _, e in pairs):
        return
    if closed:
        raise UsageError(f"nothing can be measured: {'; '.join(closed)}")
    names = ", ".join(f"{paper}:{e.name}" for paper, e in pairs)
    where = "" if gpu else " without a GPU"
    raise UsageError(f"nothing can be measured{where} with preset {choice.preset}: {names}")


def create(choice: Choice, worker: Measurer, folder: Path | None = None) -> Run:
    """Make the folder of a new run, locked.

    Parameters
    ----------
    choice : Choice
        The choices of the command line.
    worker : Worker
        Whose device the run will use.
    folder : Path, optional
        The run folder, which must be new or empty; default
        ``runs/<paper>-<preset>-<time>``, with a number behind it where that is taken.

    Raises
    ------
    UsageError
        For an impossible choice, or a folder that holds something or is in use.
    """
    pairs, jobs = planned(choice, worker.device.is_gpu)
    if worker.device.ranks > 1:
        demand_ranks(jobs)
    return begin(choice, worker, folder, [f"{paper}:{e.name}" for paper, e in pairs], jobs)


def begin(
    choice: Choice,
    worker: Measurer,
    folder: Path | None,
    names: Sequence[str],
    jobs: list[Job],
    more: Mapping[str, Any] | None = None,
) -> Run:
    """Make the folder of a new run of these jobs, locked; see `create`.

    Parameters
    ----------
    choice : Choice
    worker : Worker
    folder : Path or None
    names : sequence of str
        The experiments, ``PAPER:EXPERIMENT``.
    jobs : list of Job
    more : mapping, optional
        Further keys of `meta.json`. With the key ``bench`` the folder's default name says so.

    Raises
    ------
    UsageError
        For a folder that holds something or is in use.
    """
    more = more or {}
    if folder is None:
        papers_of_it = ["bench"] if "bench" in more else [name.partition(":")[0] for name in names]
        folder = _new_folder(choice, list(dict.fromkeys(papers_of_it)))
    lock = claim(folder)
    try:
        meta = {**_meta(choice, worker, names, jobs), **more}
        card = worker.device
        record = {"device": card.name, **card.extent(), **environment.record()}
        store.write_atomically(folder / "environment.json", store.dump_json(record))
        store.write_meta(folder, meta)
    except BaseException:
        lock.release()
        raise
    return Run(folder, meta, jobs, lock)


def _new_folder(choice: Choice, names: list[str]) -> Path:
    """Make the default folder; of two runs of one second the later one's name ends in ``-2``."""
    which = names[0] if len(names) == 1 else "all"
    stem = f"{which}-{choice.preset}-{time.strftime('%Y%m%d-%H%M%S')}"
    for ending in itertools.chain([""], (f"-{number}" for number in itertools.count(2))):
        folder = Path("runs") / f"{stem}{ending}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        break
    return folder


def claim(folder: Path) -> Lock:
    """Make an empty folder and lock it; of two commands that ask for the same one, one gets it."""

    def demand_empty() -> None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"--out {folder} is no folder")
        if folder.is_dir() and any(path.name != store.LOCK for path in folder.iterdir()):
            raise UsageError(
                f"--out {folder} is not empty; to go on with a run use --resume {folder}"
            )

    demand_empty()  # Before a lock file is left in what is somebody's folder.
    folder.mkdir(parents=True, exist_ok=True)
    lock = Lock(folder)
    try:
        demand_empty()
    except UsageError:
        lock.release()
        raise
    return lock


def _meta(
    choice: Choice, worker: Measurer, names: Sequence[str], jobs: list[Job]
) -> dict[str, Any]:
    """Return the content of `meta.json`."""
    card = worker.device
    options = {
        "preset": choice.preset,
        "only": list(choice.only),
        "repeats": choice.repeats,
        "seeds": list(choice.seeds),
        "timeout_s": choice.timeout_s or cells.TIMEOUT_S[choice.preset],
        "device": choice.device,
    }
    return {
        "format": store.FORMAT,
        "version": papers.__version__,
        "experiments": list(names),
        "options": options,
        "device": {"name": card.name, "is_gpu": card.is_gpu, "slug": card.slug, **card.extent()},
        "plan": cells.to_json(jobs),
    }


def estimator(names: Sequence[str], device_name: str) -> Estimator:
    """Return an estimator that knows the recorded runs of the named papers.

    A recorded time counts if it was taken on this device, or on a CPU: CPUs differ by small
    factors, a GPU and the CPU executor by large ones. Without a GPU the shipped times count, too.
    """
    guess = Estimator()
    if device_name == EXECUTOR:
        shipped.learn(guess)
    for name in names:
        for _, table, record in recorded_runs(registry.folder(name) / "results"):
            devices = {device_name, str(record.get("cpu"))}
            # Only these rows say anything, and a record has tens of thousands of others.
            timed = (table["scope"] == "run") & (table["metric"] == "time_ms")
            guess.learn(summarize(table[timed & table["device"].isin(devices)]), devices)
    return guess


MISSING = "missing"
"""The status of a planned cell that is not finished."""


def ends(run: Run) -> list[tuple[Job, str, str]]:
    """Return every planned job with its status and its reason.

    The status is `MISSING` for those that are not finished.
    """
    found = measurements.parse(run.folder / "measurements.csv").ends
    return [(job, *found.get(job.key, (MISSING, "not reached"))) for job in run.jobs]


def statuses(run: Run) -> list[str]:
    """Return the status of every planned cell."""
    return [status for _, status, _ in ends(run)]


def exit_code(
    found: Sequence[str],
    problems: Sequence[str] = (),
    pictures: bool = False,
    doubts: Sequence[str] = (),
) -> tuple[int, str]:
    """Return the exit code and its meaning.

    Parameters
    ----------
    found : sequence of str
        The status of every cell. One that nobody knows is a failure, too.
    problems : sequence of str
        What could not be made.
    pictures : bool
        Whether an experiment made pictures, which are a result without a cell.
    doubts : sequence of str
        Proved answers of this run that contradict one another, or an experiment's check.

    Returns
    -------
    int
        1 if a status is ``not-certified`` or there are doubts, else 3 for any failure or gap, or if
        nothing was measured, else 0.
    str
    """
    if "not-certified" in found:
        return 1, "an answer was not proved"
    if doubts:
        return 1, f"checks of the answers failed: {len(doubts)}"
    if bad := [status for status in found if status not in ("ok", "skipped")]:
        return 3, f"{len(bad)} of {len(found)} cells failed or are missing"
    if problems:
        return 3, "a table or a picture could not be made"
    if "ok" not in found and not pictures:
        return 3, "nothing was measured"
    return 0, "every cell that can run here ran, and its answers are proved"


def load_environment(folder: Path) -> dict[str, Any]:
    """Return a run's `environment.json`, or {} if it is missing."""
    return json_files.read_optional(folder / "environment.json", json_files.ENVIRONMENT)
