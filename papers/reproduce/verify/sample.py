"""Draws some of a record's instances again, solves them here and compares the optima.

The smallest come first, one cell an instance, and the solvers that were taken least so far: within
the same seconds more codes are asked. A recorded CPU solver is asked itself, and its counters must
be the recorded ones where the costs are integers; where kernels alone were recorded, the paper's
CPU solver is asked.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from papers.common import instances
from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.files import MissingInstanceError
from papers.common.model import GivenUpError, Instance, Problem
from papers.common.problems import kinds
from papers.reproduce import registry
from papers.reproduce.plan.cells import Job
from papers.reproduce.verify.checks import Check, Record

ENTRIES = 2**24
"""The most entries of a matrix, or nodes, that are drawn here: 128 MiB of integers."""


@dataclass
class _Tally:
    """The instances that were solved, those that could not be, and the faults that were found."""

    solved: Counter[str] = field(default_factory=Counter)
    counters: int = 0
    seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def predicted(self, solver: str, job: Job) -> float:
        """Return the seconds a cell may take: 0 for a solver that was not asked yet."""
        size, seconds = self.seconds.get(solver, (1.0, 0.0))
        growth = kinds.PROBLEMS[registry.solver(solver).problem].growth
        return seconds * (_size(job.cell.instance) / size) ** growth


def check_sample(
    record: Record, seconds: float, clock: Callable[[], float] = time.monotonic
) -> Check:
    """Solve a sample of a record's instances anew.

    Parameters
    ----------
    record : Record
    seconds : float
        No further instance is begun after so long, or if it is predicted to take longer.
    clock : callable() -> float
        The time in seconds.
    """
    end, tally = clock() + seconds, _Tally()
    answers = record.table[(record.table["scope"] == "answer") & (record.table["status"] == "ok")]
    known = {cell: rows for cell, rows in answers.groupby("cell", sort=False)}
    groups = [list(g) for _, g in itertools.groupby(record.jobs, lambda job: job.cell.instance)]
    groups = [kept for g in groups if (kept := [j for j in g if j.key in known])]
    for group in groups:
        left = end - clock()
        if left <= 0:
            break
        job, solver = _chosen(group, tally)
        if not solver or _is_large(job.cell.instance) or tally.predicted(solver, job) > left:
            continue
        _solve_anew(job, solver, known[job.key], tally, clock)
    return _concluded(tally, len(groups))


def _concluded(tally: _Tally, total: int) -> Check:
    number = tally.solved.total()
    if tally.faults:
        return Check("sample", "failed", "; ".join(tally.faults[:3]))
    if not number:
        return Check("sample", "cannot be said", f"none of {total} instances could be solved here")
    return Check(
        "sample",
        "ok",
        f"{number} of {total} instances were drawn and solved anew by {len(tally.solved)} codes: "
        f"the recorded optima, proved; {tally.counters} counters are the recorded ones",
    )


def _size(instance: Instance) -> float:
    return instances.size_of(instance.family, instance.n)


def _is_large(instance: Instance) -> bool:
    sides = 2 if instances.problem_of(instance) == "assignment" else 1
    return _size(instance) ** sides > ENTRIES


def _chosen(group: list[Job], tally: _Tally) -> tuple[Job, str]:
    """Return the cell of an instance to be checked, and the full name of the solver to ask.

    A code on many threads is left out: this machine may have fewer, and its counters vary.
    """
    on_cpu = [job for job in group if registry.solver(job.cell.solver).device == "cpu"]
    on_cpu = [job for job in on_cpu if "threads" not in dict(job.cell.options)]
    if on_cpu:
        job = min(on_cpu, key=lambda job: tally.solved[job.cell.solver])
        return job, job.cell.solver
    job = group[0]
    owner = registry.owner(job.cell.solver)
    defaults = registry.card(owner).defaults.get(registry.solver(job.cell.solver).problem)
    return job, f"{owner}:{defaults.cpu}" if defaults else ""


def _drawn(instance: Instance) -> Any:
    """Return an instance's data in the host's memory, wherever the record had them."""
    if instance.storage == "host":
        return instances.draw(instance)
    return np.array(instances.host_strips(instance)(0, instance.n))


def _solve_anew(
    job: Job, full: str, rows: pd.DataFrame, tally: _Tally, clock: Callable[[], float]
) -> None:
    """Draw and solve one cell's instance, and tell `tally`; what cannot be had here is left out."""
    solver = registry.solver(full)
    problem = kinds.PROBLEMS[solver.problem]
    options = dict(job.cell.options)
    maximize = bool(options.get("maximize", False))
    if full != job.cell.solver:
        options = {"maximize": True} if maximize else {}
    card = registry.card(registry.owner(full))
    try:
        begin = clock()
        data = problem.adopt(_drawn(job.cell.instance))
        answer = kinds.solve_with(card, problem, data, solver.name, options)
        if full not in tally.seconds:
            begin = clock()  # The first call has compiled the solver; the second tells its time.
            answer = kinds.solve_with(card, problem, data, solver.name, options)
        proof = kinds.prove(problem, data, answer, maximize)
    except (MissingInstanceError, MissingPackageError, GivenUpError):
        return
    except Exception as error:
        tally.faults.append(f"{job.key}: {full} raised {type(error).__name__}: {error}")
        return
    tally.solved[full] += 1
    tally.seconds[full] = _size(job.cell.instance), clock() - begin
    if not proof.ok:
        tally.faults.append(f"{job.key}: the answer of {full} is not proved: {proof.reason}")
    # Floats may be summed otherwise by another processor, and the search then goes another way.
    counts = full == job.cell.solver and not _has_floats(problem, data)
    _compare(job, full, rows, answer, counts, tally)


def _compare(
    job: Job, full: str, rows: pd.DataFrame, answer: Any, counts: bool, tally: _Tally
) -> None:
    """Set an answer's objective, and its counters if they count, beside the recorded ones.

    A cell without a recorded objective is a fault: nothing would be compared.
    """
    name, value = kinds.objective(answer)
    objectives = _recorded(rows, name)
    if not objectives:
        tally.faults.append(f"{job.key}: no {name} is recorded")
    beside = [(name, each, float(value)) for each in objectives]
    if counts:
        counters = list(_beside(rows, answer.counters))
        tally.counters += len(counters)
        beside += counters
    for metric, recorded, found in beside:
        if not np.isclose(recorded, found, rtol=1e-9, atol=0.0):
            tally.faults.append(
                f"{job.key}: {metric} is recorded as {recorded:.17g}, and {full} has {found:.17g}"
            )


def _has_floats(problem: Problem, data: Any) -> bool:
    return problem.name == "assignment" and data.dtype.kind == "f"


def _recorded(rows: pd.DataFrame, metric: str) -> list[float]:
    """Return the values of a metric that differ; equal repetitions give one."""
    return [float(value) for value in rows.loc[rows["metric"] == metric, "value"].unique()]


def _beside(rows: pd.DataFrame, counters: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield metric, recorded and found value of counters that were equal in all repetitions."""
    for metric, found in counters.items():
        recorded = _recorded(rows, metric)
        if len(recorded) == 1 and not metric.endswith("_ms"):
            yield metric, recorded[0], float(found)
