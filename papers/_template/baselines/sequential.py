"""The algorithm of [T00] on one CPU thread, compiled by Numba: the rival of its kernels.

A rival deserves what a good C programmer would do: it is compiled, it reads rows consecutively, and
it is warmed up and repeated exactly as the kernels are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from papers.common.deadline import Deadline, check_seconds
from papers.common.model import Assignment
from papers.common.problems.assignment import Problem, finish, prepare


@njit(cache=True, nogil=True)
def shortest_paths(
    matrix: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    row_of_column: np.ndarray,
    distance: np.ndarray,
    before: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Assign the rows from `first` to before `last`, one after another [T00 Alg.1] [T00 Alg.2].

    Parameters
    ----------
    matrix : int64[n, n] or float64[n, n]
        Entries >= 0; never written.
    u, v, distance : same type[n]
        Duals, and lengths of paths; start values do not matter.
    row_of_column, before : int32[n]
        The answer, and the columns before others on their paths.
    first, last : int
        All rows in one call, or under a limit of time a row a call.
    """
    n = matrix.shape[0]
    if first == 0:
        u[:], v[:], row_of_column[:] = 0, 0, -1
    tree = np.empty(n, np.uint8)
    for root in range(first, last):
        tree[:], before[:] = 0, -1
        for column in range(n):
            distance[column] = matrix[root, column] - u[root] - v[column]
        nearest = 0
        for _ in range(n):
            nearest = -1
            for column in range(n):
                if not tree[column] and (nearest < 0 or distance[column] < distance[nearest]):
                    nearest = column
            row = row_of_column[nearest]
            if row < 0:
                break
            tree[nearest] = 1
            for column in range(n):
                through = distance[nearest] + (matrix[row, column] - u[row] - v[column])
                if not tree[column] and through < distance[column]:
                    distance[column], before[column] = through, nearest
        for column in range(n):
            if tree[column]:
                u[row_of_column[column]] += distance[nearest] - distance[column]
                v[column] -= distance[nearest] - distance[column]
        u[root] += distance[nearest]
        column = nearest
        while before[column] >= 0:
            row_of_column[column] = row_of_column[before[column]]
            column = before[column]
        row_of_column[column] = root


@dataclass
class State:
    """A problem on its way through the three stages.

    Attributes
    ----------
    problem : Problem
        The checked costs.
    u, v, distance : working type[n]
    row_of_column, before : int32[n]
    seconds : float or None
        Time that a run may take.
    solved : bool
        Whether a run has ended.
    """

    problem: Problem
    u: np.ndarray
    v: np.ndarray
    distance: np.ndarray
    row_of_column: np.ndarray
    before: np.ndarray
    seconds: float | None = None
    solved: bool = False


def upload(cost: Any, maximize: bool = False, seconds: float | None = None) -> State:
    """Check the costs and allocate; parameters and errors as in `solver.upload`."""
    check_seconds(seconds)
    problem = prepare(cost, maximize, dtypes=("int64", "float64"), factor=4, signed=True)
    n, kind = problem.size, problem.matrix.dtype
    u, v, distance = (np.empty(n, kind) for _ in range(3))
    row_of_column, before = (np.empty(n, np.int32) for _ in range(2))
    return State(problem, u, v, distance, row_of_column, before, seconds)


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve. Compiled code has no steps to trace.

    Raises
    ------
    GivenUpError
        If the time is over.
    """
    s, deadline = state, Deadline(state.seconds)
    s.solved, n = False, s.problem.size
    rows = n if s.seconds is None else 1  # without a limit one call, as it is measured
    for first in range(0, n, max(1, rows)):
        deadline.check(f"{first} matched", reached={"matched": first})
        arrays = s.problem.matrix, s.u, s.v, s.row_of_column, s.distance, s.before
        shortest_paths(*arrays, first, first + rows)
    s.solved = True


def download(state: State) -> Assignment:
    """Return the assignment with the duals that prove it.

    Raises
    ------
    RuntimeError
        If no run has ended.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    n = state.problem.size
    if n == 0:
        return finish(state.problem, np.zeros(0, np.int64))
    column_of_row = np.empty(n, np.int64)
    column_of_row[state.row_of_column] = np.arange(n)
    u = (state.problem.matrix - state.v).min(axis=1)
    return finish(state.problem, column_of_row, u, state.v.copy(), {"stages": n})
