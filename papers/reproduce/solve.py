"""``reproduce solve``: someone's own cost matrix or graph, solved, proved and written down.

Unlike a run, this happens in the command's own process, on one matrix. What its entries mean, the
solver says: costs, or the edges of a graph to be matched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from papers.common.model import Assignment, Matching, Solver, Verdict
from papers.common.problems.graph import Graph
from papers.reproduce import registry
from papers.reproduce.registry import UsageError

EXECUTOR_N = 128
"""Largest matrix given to the CPU executor unless its solver is named."""

_LONG_INTEGER = re.compile(r"(?<![\w.+-])[+-]?\d{19,}(?![\w.])")
"""A whole number that may not fit int64, and no part of a decimal number."""


@dataclass(frozen=True)
class Solved:
    """A solved matrix.

    Attributes
    ----------
    solver : str
        Full name of the solver.
    device : str
        What it ran on.
    shape : (int, int)
        Rows and columns of the matrix.
    answer : Assignment or Matching
        The assignment or matching.
    verdict : Verdict
        Its proof.
    run_ms, end_to_end_ms : float
        Times in the two scopes, milliseconds, after a warm-up.
    note : str
        Why this solver and not the kernels, or "".
    """

    solver: str
    device: str
    shape: tuple[int, ...]
    answer: Assignment | Matching
    verdict: Verdict
    run_ms: float
    end_to_end_ms: float
    note: str = ""


def read(path: Path) -> np.ndarray | Graph:
    """Read a matrix from ``.npy`` or ``.csv``, or a graph from ``.mtx``, ``.mtx.gz`` or ``.npz``.

    Parameters
    ----------
    path : Path
        A NumPy file, or text with one row a line, values separated by commas (or blanks, if there
        is no comma), ``#`` for comments. Whole numbers give int64, anything else float64. Graphs:
        see `papers.common.instances.files.read`.

    Raises
    ------
    UsageError
        If the file is missing, has another ending or cannot be read.
    """
    from papers.common.instances import files

    try:
        if path.name.lower().endswith(files.ENDINGS):
            return files.read(path)
    except files.BrokenInstanceError as error:
        raise UsageError(f"{path} cannot be read as a graph: {error}") from None
    if path.suffix.lower() not in (".npy", ".csv"):
        endings = ", ".join(files.ENDINGS)
        raise UsageError(f"{path}: a matrix is read from .npy or .csv, a graph from {endings}")
    try:
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False)
        return _read_text(path)
    except (OSError, ValueError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"{path} cannot be read as a matrix: {reason}") from None


def _read_text(path: Path) -> np.ndarray:
    text = path.read_text(encoding="utf-8-sig")
    lines = [line for line in text.splitlines() if line.partition("#")[0].strip()]
    if not lines:
        raise ValueError("it is empty")
    separator = "," if "," in lines[0] else None
    try:
        return np.loadtxt(lines, delimiter=separator, dtype=np.int64, ndmin=2)
    except ValueError:
        _refuse_long_integers(lines)
        return np.loadtxt(lines, delimiter=separator, dtype=np.float64, ndmin=2)


def _refuse_long_integers(lines: list[str]) -> None:
    """Raise `ValueError` for a whole number beyond int64; as a float it would be another number."""
    limits = np.iinfo(np.int64)
    for place, line in enumerate(lines, 1):
        for found in _LONG_INTEGER.finditer(line.partition("#")[0]):
            if not limits.min <= int(found[0]) <= limits.max:
                raise ValueError(f"row {place}: {found[0]} does not fit a 64-bit integer")


def choose(name: str, n: int, is_gpu: bool) -> tuple[str, Solver, str]:
    """Return full name and solver for ``PAPER`` or ``PAPER:SOLVER``, and a note on the choice.

    A paper alone means its first CUDA solver; without a GPU, and above `EXECUTOR_N`, its first CPU
    solver, because the executor would take too long: then the note says so.
    """
    paper, colon, _ = name.partition(":")
    if colon:
        return name, registry.solver(name), ""
    solvers = registry.card(paper).solvers()
    kernels = [key for key, solver in solvers.items() if solver.device == "cuda"]
    others = [key for key, solver in solvers.items() if solver.device == "cpu"]
    executor_fits = is_gpu or n <= EXECUTOR_N
    full = f"{paper}:{((kernels or others) if executor_fits else (others or kernels))[0]}"
    note = ""
    if kernels and others and not executor_fits:
        note = (
            f"no GPU, and n = {n} is above {EXECUTOR_N}: a CPU solver was taken; "
            f"--with {paper}:{kernels[0]} runs the kernels in the CPU executor"
        )
    return full, registry.solver(full), note


def solve(problem: np.ndarray | Graph, name: str, maximize: bool, choice: str) -> Solved:
    """Solve `problem` with the solver `name`, three times: a warm-up, and once for each clock.

    Parameters
    ----------
    problem : 2-D array or Graph
        Costs, by the contract of `papers.common.problems.assignment`, or a graph. A solver of
        matchings takes an array, too: every entry that is not zero is an edge.
    name : str
        ``PAPER`` or ``PAPER:SOLVER``.
    maximize : bool
        Maximize the cost.
    choice : {"auto", "gpu", "cpu"}
        Device.

    Raises
    ------
    UsageError
        If the solver refuses the problem; the message is the solver's.
    """
    registry.card(name.partition(":")[0])  # An unknown paper is reported before a missing GPU.
    from papers.common.gpu import device
    from papers.common.gpu.clocks import stopwatch
    from papers.reproduce.measure.protocol import device_name

    try:
        device.select(cast(Any, choice))
    except RuntimeError as error:
        raise UsageError(f"--device {choice}: {error}") from None
    full, solver, note = choose(name, max(problem.shape, default=0), device.describe().is_gpu)
    options = {"maximize": True} if maximize else {}
    state = _uploaded(full, solver, problem, options)
    solver.run(state)
    with stopwatch(device.synchronize) as run:
        solver.run(state)
    del state
    with stopwatch(device.synchronize) as whole:
        state = solver.upload(problem, **options)
        solver.run(state)
        answer = cast("Assignment | Matching", solver.download(state))  # Of a matrix or graph.
    verdict = _proof(problem, answer, maximize)
    where = device_name(solver)
    return Solved(full, where, problem.shape, answer, verdict, run.ms, whole.ms, note)


def _uploaded(
    full: str, solver: Solver, problem: np.ndarray | Graph, options: dict[str, bool]
) -> Any:
    """Upload, and turn what the solver does not take into an error of usage."""
    try:
        return solver.upload(problem, **options)
    except ValueError as error:
        what = f"{full} takes no graph: " if isinstance(problem, Graph) else ""
        raise UsageError(f"{what}{error}") from None
    except TypeError:
        if options:
            raise UsageError(f"{full} does not take --maximize") from None
        raise


def _proof(problem: np.ndarray | Graph, answer: Assignment | Matching, maximize: bool) -> Verdict:
    from papers.common.problems import assignment_proof, matching_proof

    if isinstance(answer, Matching):
        return matching_proof.matching(problem, answer)
    return assignment_proof.assignment(cast(np.ndarray, problem), answer, maximize=maximize)


def write(path: Path, problem: np.ndarray | Graph, answer: Assignment | Matching) -> None:
    """Write the answer as CSV: row, column, cost; of a matching row and column."""
    if isinstance(answer, Matching):
        rows = np.flatnonzero(answer.row_match >= 0)
        pairs = zip(rows.tolist(), answer.row_match[rows].tolist(), strict=True)
        lines = ["row,column", *(f"{i},{j}" for i, j in pairs)]
    else:
        matrix = cast(np.ndarray, problem)
        pairs = zip(answer.row_ind.tolist(), answer.col_ind.tolist(), strict=True)
        lines = ["row,column,cost", *(f"{i},{j},{matrix[i, j].item()}" for i, j in pairs)]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
