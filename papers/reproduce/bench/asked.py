"""The plan of a bench: which instances, and which cells of the papers' codes beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.common import instances
from papers.common.evidence.tables import nothing
from papers.common.instances import own_files
from papers.common.model import Cell, Experiment, Instance, ProblemName
from papers.common.problems import kinds
from papers.reproduce import registry, solve
from papers.reproduce.plan import cells
from papers.reproduce.plan.cells import Job
from papers.reproduce.registry import UsageError
from papers.reproduce.run.runner import Choice

NAME = ("yours", "bench")
"""The pair of paper and experiment under which a bench's cells stand."""

CLOCK = "end_to_end"
"""The clock of a bench: what a caller waits for."""


@dataclass(frozen=True)
class Asked:
    """The wishes of a command line.

    Attributes
    ----------
    function : str
        ``MODULE:FUNCTION``.
    choice : Choice
        Its targets are those of ``--on``.
    file : Path or None
    problem : {"assignment", "matching", "flow"} or None
        None: that of the instances.
    against : tuple of str
        Full names of solvers.
    """

    function: str
    choice: Choice
    file: Path | None = None
    problem: ProblemName | None = None
    against: tuple[str, ...] = ()


def planned(asked: Asked, gpu: bool) -> tuple[ProblemName, list[Job], list[str]]:
    """Return the problem, the jobs of a bench, smallest first, and remarks on what was left out.

    Parameters
    ----------
    asked : Asked
    gpu : bool
        Whether kernels run on a GPU.

    Raises
    ------
    UsageError
        If no instance is left, the instances are of several problems, or a solver of ``--against``
        cannot be timed here.
    """
    measured = [] if asked.file is not None else _measured(asked.choice, gpu)
    found, problem, remarks = _instances(asked, measured)
    yours = f"yours:{problem}/{asked.function}"
    wanted = [Cell(yours, one, (CLOCK,)) for one in found]  # type: ignore[arg-type]
    for name in asked.against:
        wanted += _against(name, problem, found, measured, gpu)
    entry = Experiment(NAME[1], "", "table", lambda plan: wanted, nothing, interleaved=True)
    plan = asked.choice.plan(gpu)
    return problem, cells.jobs([(NAME[0], entry)], plan, asked.choice.repeats), remarks


def _measured(choice: Choice, gpu: bool) -> list[Job]:
    """Return the cells of the experiments of ``--on`` that ``--only`` keeps."""
    pairs = registry.resolve(list(choice.targets))
    jobs = cells.jobs(pairs, choice.plan(gpu), choice.repeats)
    if not jobs:
        names = ", ".join(f"{paper}:{entry.name}" for paper, entry in pairs)
        raise UsageError(f"--on {names}: no cell is planned with preset {choice.preset} here")
    return cells.select(jobs, cells.parse_only(choice.only))


def _instances(
    asked: Asked, measured: Sequence[Job]
) -> tuple[list[Instance], ProblemName, list[str]]:
    if asked.file is not None:
        data = solve.read(asked.file)
        problem = asked.problem or kinds.stated_by(data).name
        try:
            data = kinds.PROBLEMS[problem].adopt(data)
        except ValueError as error:
            raise UsageError(f"--problem {problem}: {error}") from None
        rows = kinds.PROBLEMS[problem].shape(data)[0]
        return [own_files.instance_of(problem, asked.file, rows)], problem, []
    every = list(dict.fromkeys(job.cell.instance for job in measured))
    problems = list(dict.fromkeys(instances.problem_of(one) for one in every))
    if asked.problem is None and len(problems) > 1:
        listed = ", ".join(problems)
        raise UsageError(f"the instances are of several problems ({listed}): give --problem")
    problem = asked.problem or problems[0]
    right = [one for one in every if instances.problem_of(one) == problem]
    kept = [one for one in right if one.storage == "host"]
    if not kept:
        what = f"of the problem {problem}" if not right else "in the host's memory"
        raise UsageError(f"--on {' '.join(asked.choice.targets)}: no instance is {what}")
    away = len(every) - len(kept)
    told = [f"{away} instances are left out: of another problem, or not in the host's memory"]
    return kept, problem, told if away else []


def _against(
    name: str,
    problem: ProblemName,
    found: Iterable[Instance],
    measured: Sequence[Job],
    gpu: bool,
) -> list[Cell]:
    """Return the cells of one of the papers' solvers.

    It has the options with which the experiments of ``--on`` measure it; where they do not, its
    usual ones, on every instance. Functions minimize, and so does it.
    """
    solver = registry.solver(name)
    if solver.problem != problem:
        raise UsageError(f"--against {name}: it is for {solver.problem}, not for {problem}")
    if solver.device == "cuda" and not gpu:
        raise UsageError(f"--against {name}: the time of its kernels needs a GPU")
    if solver.ranks:
        raise UsageError(f"--against {name}: it is for several ranks")
    options: dict[Instance, dict[tuple[tuple[str, Any], ...], None]] = {}
    for job in measured:
        if job.cell.solver == name:
            kept = tuple(pair for pair in job.cell.options if pair[0] != "maximize")
            options.setdefault(job.cell.instance, {})[kept] = None
    usual: dict[tuple[tuple[str, Any], ...], None] = {(): None}
    return [
        Cell(name, one, (CLOCK,), given)  # type: ignore[arg-type]
        for one in found
        for given in options.get(one, usual if not options else {})
    ]
