"""``reproduce solve``: someone's own cost matrix, solved, proved and written down.

Unlike a run, this happens in the command's own process, on one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from papers.common.model import Assignment, Solver, Verdict
from papers.reproduce import registry
from papers.reproduce.registry import UsageError

EXECUTOR_N = 64
"""Largest matrix given to the CPU executor unless its solver is named."""


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
    answer : Assignment
        The assignment.
    verdict : Verdict
        Its proof.
    run_ms, end_to_end_ms : float
        Times in the two scopes, milliseconds, after a warm-up.
    """

    solver: str
    device: str
    shape: tuple[int, ...]
    answer: Assignment
    verdict: Verdict
    run_ms: float
    end_to_end_ms: float


def read(path: Path) -> np.ndarray:
    """Read a matrix from ``.npy`` or ``.csv``.

    Parameters
    ----------
    path : Path
        A NumPy file, or text with one row a line, values separated by commas (or blanks, if there
        is no comma), ``#`` for comments. Whole numbers give int64, anything else float64.

    Raises
    ------
    UsageError
        If the file is missing, has another ending or cannot be read.
    """
    if path.suffix.lower() not in (".npy", ".csv"):
        raise UsageError(f"{path}: a matrix is read from .npy or .csv")
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
        return np.loadtxt(lines, delimiter=separator, dtype=np.float64, ndmin=2)


def choose(name: str, n: int, is_gpu: bool) -> tuple[str, Solver]:
    """Return the solver for ``PAPER`` or ``PAPER:SOLVER``.

    A paper alone means its first CUDA solver; without a GPU, and above `EXECUTOR_N`, its first CPU
    solver, because the executor would take too long.
    """
    paper, colon, _ = name.partition(":")
    if colon:
        return name, registry.solver(name)
    solvers = registry.card(paper).solvers()
    wanted = "cuda" if is_gpu or n <= EXECUTOR_N else "cpu"
    fitting = [key for key, solver in solvers.items() if solver.device == wanted] or list(solvers)
    full = f"{paper}:{fitting[0]}"
    return full, registry.solver(full)


def solve(matrix: np.ndarray, name: str, maximize: bool, choice: str) -> Solved:
    """Solve `matrix` with the solver `name`, three times: a warm-up, and once for each clock.

    Parameters
    ----------
    matrix : 2-D array
        Costs, by the contract of `papers.common.assignment`.
    name : str
        ``PAPER`` or ``PAPER:SOLVER``.
    maximize : bool
        Maximize the cost.
    choice : {"auto", "gpu", "cpu"}
        Device.

    Raises
    ------
    UsageError
        If the solver refuses the matrix; the message is the solver's.
    """
    registry.card(name.partition(":")[0])  # An unknown paper is reported before a missing GPU.
    from papers.common import certify, device
    from papers.common.timing import stopwatch
    from papers.reproduce.cell import device_name

    try:
        device.select(cast(Any, choice))
    except RuntimeError as error:
        raise UsageError(f"--device {choice}: {error}") from None
    full, solver = choose(name, max(matrix.shape, default=0), device.describe().is_gpu)
    try:
        state = solver.upload(matrix, maximize=maximize)
    except ValueError as error:
        raise UsageError(str(error)) from None
    solver.run(state)
    with stopwatch(device.synchronize) as run:
        solver.run(state)
    del state
    with stopwatch(device.synchronize) as whole:
        state = solver.upload(matrix, maximize=maximize)
        solver.run(state)
        answer = solver.download(state)
    verdict = certify.assignment(matrix, answer, maximize=maximize)
    return Solved(full, device_name(solver), matrix.shape, answer, verdict, run.ms, whole.ms)


def write(path: Path, matrix: np.ndarray, answer: Assignment) -> None:
    """Write the assignment as CSV: row, column, cost."""
    pairs = zip(answer.row_ind.tolist(), answer.col_ind.tolist(), strict=True)
    lines = ["row,column,cost", *(f"{i},{j},{matrix[i, j].item()}" for i, j in pairs)]
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
