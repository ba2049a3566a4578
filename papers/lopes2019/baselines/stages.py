"""An algorithm on a square matrix as a solver's three stages, and as one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.deadline import check_seconds
from papers.common.gpu.clocks import StepClock, no_trace
from papers.common.model import Assignment, Solver
from papers.common.problems.assignment import Problem, finish, prepare
from papers.common.problems.duals import row_duals
from papers.lopes2019.baselines import sliced
from papers.lopes2019.baselines.hungarian_o4 import CAN_TIME_STEPS
from papers.lopes2019.baselines.sliced import State

Answer = tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, int]]
"""``column_of_row`` int32[n], row and column duals (int64[n] or float64[n]) and counters."""

Trace = Callable[[str], None]


@dataclass(frozen=True)
class Code:
    """One algorithm, in parts.

    Attributes
    ----------
    what : str
        Its name in a sentence.
    allocate : callable(matrix) -> NamedTuple of arrays
        Makes the workspace for a checked matrix.
    whole : callable(workspace) -> bool
        Solves in one compiled call; False beyond the worst case.
    in_slices : callable(workspace, look) -> bool
        Does the same in slices, with ``look()`` before each.
    answer : callable(matrix, workspace) -> Answer
        Reads the answer off the workspace.
    """

    what: str
    allocate: Callable[[np.ndarray], Any]
    whole: Callable[[Any], bool]
    in_slices: Callable[[Any, Callable[[], None]], bool]
    answer: Callable[[np.ndarray, Any], Answer]

    def upload(
        self, cost: Any, maximize: bool = False, dtype: Any = None, seconds: float | None = None
    ) -> State:
        """Check the costs and allocate.

        Parameters
        ----------
        cost : array_like[n, m]
            See `papers.common.problems.assignment.prepare`.
        maximize : bool
            Whether the sum is to be maximized.
        dtype : {"int32", "int64", "float64"}, optional
            Working type.
        seconds : float, optional
            A run without an answer gives up after so long.

        Raises
        ------
        ValueError
            From `prepare`, or for a limit that is no time.
        """
        check_seconds(seconds)
        problem = prepare(cost, maximize, dtype)
        return State(problem, self.allocate(problem.matrix), seconds)

    def run(self, state: State, trace: Trace | None = None) -> None:
        """Solve. The algorithm has no steps of its own to trace.

        Raises
        ------
        GivenUpError
            If the time is over, or a loop exceeds the algorithm's worst case.
        """
        sliced.run(state, self.whole, self.in_slices, self.what)

    def download(self, state: State) -> Assignment:
        """Return the assignment with the algorithm's duals.

        Raises
        ------
        RuntimeError
            If the run has not ended, or the auction's duals cannot be repaired.
        """
        return finished(state, self.answer)

    def __call__(self, matrix: np.ndarray) -> Answer:
        """Solve a checked matrix.

        Parameters
        ----------
        matrix : int32[n, n], int64[n, n] or float64[n, n]
            C-contiguous, finite, entries >= 0, twice the largest within the type (see `prepare`).

        Returns
        -------
        Answer
            With ``u[i] + v[j] <= matrix[i, j]``, equal on matched pairs: exactly for integers, up
            to rounding for float64.

        Raises
        ------
        GivenUpError
            If a loop exceeds the algorithm's worst case.
        """
        return solved(matrix, self.allocate(matrix), self.run, self.answer)

    def solver(self, name: str, title: str, **fields: Any) -> Solver:
        """Return the solver of these stages; `fields` as in `papers.common.model.Solver`."""
        stages = {"upload": self.upload, "run": self.run, "download": self.download, **fields}
        return Solver(name=name, title=title, device="cpu", problem="assignment", **stages)


def run_by_steps(state: State, steps: Any, what: str, trace: Trace | None) -> None:
    """Run an algorithm with steps of its own; with `trace`, from Python, step by step.

    A `papers.common.gpu.clocks.StepClock` is given the steps' times as the compiled code read them:
    a call from Python takes longer than most steps.

    Parameters
    ----------
    state : State
    steps : module
        Has ``hungarian``, ``hungarian_timed`` and ``run_steps``, such as `hungarian_o4`.
    what : str
        The algorithm's name in a sentence.
    trace : callable, optional
        Called with the name of each step before it begins.

    Raises
    ------
    GivenUpError
        If the time is over, or a loop exceeds the algorithm's worst case.
    """
    work, mark = state.workspace, trace or no_trace
    state.solved = False
    if state.seconds is not None:
        ended = steps.run_steps(work, mark, sliced.look_at(state))
    elif isinstance(trace, StepClock) and CAN_TIME_STEPS:
        ended = steps.hungarian_timed(work, trace.add)
    elif trace is None:
        ended = steps.hungarian(work)
    else:
        ended = steps.run_steps(work, mark)
    sliced.ended_well(state, ended, what)


def solved(
    matrix: np.ndarray,
    work: Any,
    run: Callable[[State], None],
    answer: Callable[[np.ndarray, Any], Answer],
) -> Answer:
    """Run on a checked matrix and its workspace, and return the answer."""
    run(State(Problem(matrix, matrix, 0, False, False), work))
    return answer(matrix, work)


def finished(state: State, answer: Callable[[np.ndarray, Any], Answer]) -> Assignment:
    """Return the assignment of a run that has ended.

    Raises
    ------
    RuntimeError
        If it has not.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: the run has not ended")
    return finish(state.problem, *answer(state.problem.matrix, state.workspace))


def with_headroom(matrix: np.ndarray) -> np.ndarray:
    """Widen int32 costs if three times the largest, C, would overflow.

    Column duals stay within [-C, C] while a column is unmatched, so a reduced cost is at most 2 C,
    and a path to it adds at most C. int64 costs are small enough already (see `prepare`).
    """
    tight = matrix.dtype == np.int32 and matrix.size and 3 * int(matrix.max()) > 2**31 - 1
    return matrix.astype(np.int64) if tight else matrix


def wide(matrix: np.ndarray) -> Any:
    """Return the type of a matrix's duals."""
    return np.float64 if matrix.dtype.kind == "f" else np.int64


def duals(matrix: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integer duals as they are; for float64 the row duals anew, feasible in spite of rounding."""
    if matrix.dtype.kind == "f":
        return row_duals(matrix, v), v.copy()
    return u.astype(np.int64), v.astype(np.int64)
