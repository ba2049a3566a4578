"""``reproduce solve``: someone's own matrix, graph or network, solved, proved and written down.

Unlike a run, this happens in the command's own process, on one file. The file states the problem
(`papers.common.problems.kinds.of_file`); the paper's default solver, or the one that is named,
solves it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import papers
from papers.common.deadline import check_seconds
from papers.common.model import GivenUpError, Problem, Proof, Solver
from papers.common.problems import kinds
from papers.common.problems.formats.matrices import MARKET_ENDINGS, FileFormatError
from papers.reproduce import registry, targets
from papers.reproduce.plan.pace import PACE
from papers.reproduce.registry import UsageError

AUTO = "auto"
"""In place of a name: the solver that the calls of `papers` would take."""

SCIPYS = {"assignment": "synthesis:scipy", "matching": "deveci_matching:scipy"}
"""The solvers that are SciPy's, which the calls' table names ``scipy``, by problem."""


@dataclass(frozen=True)
class Solved:
    """A solved problem.

    Attributes
    ----------
    solver : str
        Full name of the solver.
    device : str
        The name of the machine that it ran on.
    problem : Problem
        The problem that was solved.
    data
        The data that were solved, in the problem's own form.
    answer : Assignment, Matching or Flow
    proof : Proof
    run_ms, end_to_end_ms : float
        Times under the two clocks, milliseconds: medians, after a warm-up.
    repeats : tuple of int
        Repetitions under each of them.
    note : str
        Why this solver and not the kernels, or the calls' reason for it, or "".
    """

    solver: str
    device: str
    problem: Problem
    data: Any
    answer: Any
    proof: Proof
    run_ms: float
    end_to_end_ms: float
    note: str = ""
    repeats: tuple[int, int] = (1, 1)


def read(path: Path, name: str | None = None) -> Any:
    """Read a cost matrix, a graph, a network or a grid; see `papers.common.problems.kinds.read`.

    Parameters
    ----------
    path : Path
    name : str or None
        ``PAPER`` or ``PAPER:SOLVER`` that is to solve it: Matrix Market is costs to one that
        solves assignments alone, else a graph.

    Raises
    ------
    UsageError
        If the file is missing, has another ending, cannot be read or exceeds the memory.
    """
    try:
        if path.name.lower().endswith(MARKET_ENDINGS) and _of_assignments(name):
            return kinds.ASSIGNMENT.read(path)
        return kinds.read(path)
    except FileFormatError as error:
        raise UsageError(str(error)) from None
    except MemoryError:
        raise UsageError(f"{path.name}: this machine's memory does not hold it") from None


def _named(name: str | None) -> str:
    """Return the paper or solver that is named, or "" where it is left to a rule or a table."""
    return "" if name is None or name == AUTO else name


def _of_assignments(name: str | None) -> bool:
    """Whether a paper or a solver that is named solves assignments, and no matchings."""
    if not (name := _named(name)):
        return False
    if ":" in name:
        return registry.solver(name).problem == kinds.ASSIGNMENT.name
    solved = registry.card(name).defaults
    return kinds.ASSIGNMENT.name in solved and kinds.MATCHING.name not in solved


def choose(name: str | None, data: Any) -> tuple[str, Problem, str]:
    """Return the full name of a solver for ``PAPER``, ``PAPER:SOLVER`` or None, and why.

    Parameters
    ----------
    name : str or None
        None: the paper that `papers.DEFAULT_PAPERS` has for the problem that the data state.
    data
        The value that `read` returned. A matrix can be matched, too: every entry that is not zero
        is an edge.

    Returns
    -------
    full : str
        ``PAPER:SOLVER``.
    problem : Problem
        The solver's.
    note : str
        Why it is not the kernels, or "".

    Raises
    ------
    UsageError
        If the name is unknown, or no such solver takes these data.
    """
    stated = kinds.stated_by(data)
    if name is None:
        name = papers.DEFAULT_PAPERS[stated.name]
    paper, colon, _ = name.partition(":")
    if colon:
        return name, kinds.PROBLEMS[registry.solver(name).problem], ""
    card = registry.card(paper)
    problem = _problem(name, data)
    try:
        solver, note = kinds.default_solver(card, problem, problem.adopt(data))
    except ValueError as error:
        raise UsageError(f"--with {paper}: {error}") from None
    return f"{paper}:{solver}", problem, note


def choose_as_the_calls(
    data: Any, maximize: bool, choice: str, seconds: float | None
) -> tuple[str, Problem, str]:
    """Return what the calls' table names for these data, as `choose` does; why is its reason.

    A call does two things beside: it looks at a graph on one core before it asks for a solver
    (`papers.synthesis.calls.lines.direct`), and gives costs that its solver refuses to another one.

    Raises
    ------
    UsageError
        If the data are of no problem's form.
    """
    from papers.common.problems.assignment import as_matrix
    from papers.synthesis.calls import matching, one_matrix, places
    from papers.synthesis.calls.choice import choose as by_the_rules
    from papers.synthesis.calls.cuts import choosing

    problem, on = kinds.stated_by(data), cast(Any, choice)
    try:
        owned = problem.adopt(data)
        costs = places.place(as_matrix(owned)) if problem is kinds.ASSIGNMENT else None
    except (kinds.ProblemError, ValueError) as error:
        raise UsageError(f"--with {AUTO}: {error}") from None
    if costs is not None:
        question = one_matrix.question_of(costs, maximize, seconds is not None)
        found = by_the_rules(question, on)
    elif problem is kinds.MATCHING:
        found = matching.choice_for(owned.matrix(), seconds, on)
    else:
        flow = problem.written(owned) == "flow"
        found = choosing.choice_for(owned, choosing.Wishes(seconds, on, flow=flow))
    solver = SCIPYS[problem.name] if found.solver == "scipy" else found.solver
    return solver, problem, f"the calls' table names it: {found.reason}"


def solve(
    data: Any, name: str | None, maximize: bool, choice: str, seconds: float | None = None
) -> Solved:
    """Solve `data`: a warm-up, then as often for each clock as preset quick repeats a cell.

    Parameters
    ----------
    data
        The value that `read` returned.
    name : str or None
        ``PAPER`` or ``PAPER:SOLVER``; None for the problem's default paper; `AUTO`.
    maximize : bool
        Maximize the cost.
    choice : {"auto", "gpu", "cpu"}
        Device.
    seconds : float, optional
        Seconds that each of the three may take.

    Raises
    ------
    UsageError
        If the solver refuses the data, or gives up; the message is the solver's.
    """
    if named := _named(name):
        registry.card(named.partition(":")[0])  # An unknown paper is reported before a missing GPU.
    from papers.common.gpu import device
    from papers.common.gpu.clocks import median
    from papers.reproduce.measure.protocol import device_name

    try:
        device.select(cast(Any, choice))
    except RuntimeError as error:
        raise UsageError(f"--device {choice}: {error}") from None
    if name == AUTO:
        full, problem, note = choose_as_the_calls(data, maximize, choice, seconds)
    else:
        full, problem, note = choose(name, data)
    solver = registry.solver(full)
    options = _options(maximize, seconds)
    owned, state = _uploaded(full, solver, problem, data, options)

    def whole() -> tuple[Any, Any]:
        fresh = solver.upload(owned, **options)
        solver.run(fresh)
        return fresh, solver.download(fresh)

    try:
        solver.run(state)
        kinds.answer_of(solver, state)
        runs, _ = _laps(partial(solver.run, state), partial(_answer_of, solver, state))
        del state  # Memory holds one state at a time.
        wholes, answer = _laps(whole, lambda pair: kinds.with_proof(solver, *pair))
    except (GivenUpError, ValueError) as error:  # too long, or infeasible
        raise UsageError(f"{full}: {error}") from None
    return Solved(
        full, device_name(solver), problem, owned, answer,
        kinds.prove(problem, owned, answer, maximize),
        median(runs), median(wholes), note, (len(runs), len(wholes)),
    )  # fmt: skip


def _answer_of(solver: Solver, state: Any, _: None) -> Any:
    return kinds.answer_of(solver, state)


def _laps(once: Callable[[], Any], after: Callable[[Any], Any]) -> tuple[list[float], Any]:
    """Time repetitions of `once`, none of which begins after the budget of preset quick.

    Returns
    -------
    list of float
        Milliseconds.
    Any
        The value of `after`, which is called outside the clock, for the last repetition.
    """
    from papers.common.gpu import device
    from papers.common.gpu.clocks import Stopwatch

    pace = PACE["quick"]
    laps: list[float] = []
    last = None
    while not laps or (len(laps) < pace.repeats and sum(laps) <= 1e3 * pace.budget_s):
        with Stopwatch(device.synchronize) as lap:
            found = once()
        laps.append(lap.ms)
        last = after(found)
    return laps, last


def _options(maximize: bool, seconds: float | None) -> dict[str, Any]:
    """Return the options of ``upload`` that the command's own ask for."""
    try:
        check_seconds(seconds)
    except ValueError:
        raise UsageError(f"--seconds {seconds} is no positive number") from None
    options: dict[str, Any] = {"maximize": True} if maximize else {}
    return options if seconds is None else options | {"seconds": seconds}


def _uploaded(
    full: str, solver: Solver, problem: Problem, data: Any, options: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the data in the problem's own form and a state; a refusal is an error of usage."""
    try:
        owned = problem.adopt(data)
        for name, value in options.items():
            _check_option(full, solver, name, value)
        return owned, solver.upload(owned, **options)
    except kinds.ProblemError as error:
        raise UsageError(f"{full}: {error}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check_option(full: str, solver: Solver, name: str, value: Any) -> None:
    """Refuse an option of the command that this solver does not take."""
    try:
        kinds.check_options(solver, {name: value})
    except kinds.OptionError:
        raise UsageError(f"{full} does not take --{name}") from None


FORMS = {"flow": (".npz", ".csv")}
"""The forms that an answer can be written in, where it is not CSV whatever the ending."""


def target_for(file: Path, data: Any, name: str | None, output: Path | None, force: bool) -> Path:
    """Return where the answer will be written; nothing is solved for a place that cannot be had.

    Parameters
    ----------
    file : Path
        The input.
    data
        The value that `read` returned.
    name : str or None
        The solver's name, which may decide the problem.
    output : Path or None
        The place of the command line; None: beside the input.
    force : bool
        Write over a file that is there, the input included.

    Raises
    ------
    UsageError
        If no file can be written there, or one is there.
    """
    problem = _problem(name, data)
    target = output or target_of(file, problem, data)
    if problem.name in FORMS and target.suffix not in FORMS[problem.name]:
        endings = ", ".join(FORMS[problem.name])
        raise UsageError(f"--output {target}: a {problem.name} is written to {endings}")
    targets.probe(target, "--output")
    if target.exists() and not force:
        what = "is the input" if os.path.samefile(target, file) else "exists"
        raise UsageError(f"{target} {what}: give another --output, or --force to write over it")
    return target


def _problem(name: str | None, data: Any) -> Problem:
    """Return the problem that will be solved; which solver it is, the device decides later."""
    paper, colon, _ = _named(name).partition(":")
    if colon:
        return kinds.PROBLEMS[registry.solver(f"{name}").problem]
    stated = kinds.stated_by(data)
    card = registry.card(paper) if paper else None
    if card is not None and stated.name not in card.defaults and len(card.defaults) == 1:
        return kinds.PROBLEMS[next(iter(card.defaults))]
    return stated


def target_of(path: Path, problem: Problem, data: Any) -> Path:
    """Return where the answer is written if nobody says so: beside the file."""
    stem = path.name.removesuffix(".gz").rpartition(".")[0]
    return path.with_name(f"{stem}_{problem.written(data)}.csv")


def write(path: Path, solved: Solved) -> None:
    """Write the answer, whole or not at all; see `papers.common.model.Problem.write`.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    scratch = path.with_name(f".{os.getpid()}.{path.name}")  # The ending decides the form.
    try:
        solved.problem.write(scratch, solved.data, solved.answer)
        scratch.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    finally:
        scratch.unlink(missing_ok=True)
