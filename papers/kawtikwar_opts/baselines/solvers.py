"""The CPU code of [K21 Fig.1]: the assignment problem as a linear program.

The report solves it with Gurobi; here it is HiGHS, through SciPy. The program is the textbook's:
``n * n`` variables ``x >= 0``, every row and every column adds up to 1. Its basic solutions are
assignments, so that nothing has to be rounded.

**Proof.** HiGHS works in float64 and to a tolerance, a certificate does not. `proof` therefore
takes HiGHS's column duals as a start, keeps the pairs that are the least of their rows under
them, and matches the others along shortest paths (`papers.lopes2019.baselines.shortest_path`),
exactly for integers. The counter ``repaired_rows`` says how many rows that were: 0 where HiGHS's
own answer is proved. A user of HiGHS pays for none of it, so it is outside the clocks; `download`
gives HiGHS's own assignment.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.model import Assignment, Solver
from papers.common.problems.assignment import Problem, finish, prepare
from papers.lopes2019.baselines import auction, shortest_path
from papers.lopes2019.baselines.sweeps import augment

CLOSE = 1e-12
"""Share of the assigned costs that the gap of a float answer may be before it is solved anew."""

ULPS = 64.0
"""Floats: how many roundings of the largest cost a pair may miss its row's least by."""


@dataclass
class State:
    """A problem on its way through the three stages.

    Attributes
    ----------
    problem : Problem
        The checked costs.
    constraints : csr_array[2 n, n * n]
        A row of ones a row and a column of the costs.
    scale : float
        The costs are divided by it for HiGHS, whose tolerances are absolute.
    chosen : int32[n]
        Column of each row in HiGHS's answer, -1 where it has none.
    start : float64[n]
        HiGHS's column duals, times `scale`.
    iterations : int
        HiGHS's.
    solved : bool
        Whether `run` has ended well.
    """

    problem: Problem
    constraints: Any
    scale: float
    chosen: np.ndarray
    start: np.ndarray
    iterations: int = 0
    solved: bool = False


def upload(cost: Any, maximize: bool = False, dtype: Any = None) -> State:
    """Check the costs and write the program down.

    Parameters
    ----------
    cost : array_like[n, m]
        See `papers.common.problems.assignment.prepare`.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Working type of the certificate; HiGHS has float64 alone.

    Raises
    ------
    ValueError
        From `prepare`.
    """
    from scipy.sparse import csr_array

    problem = prepare(cost, maximize, dtype)
    n = problem.size
    k = np.arange(n * n)
    rows = np.concatenate([k // max(n, 1), n + k % max(n, 1)])
    ones = np.ones(2 * n * n)
    constraints = csr_array((ones, (rows, np.concatenate([k, k]))), shape=(2 * n, n * n))
    scale = float(problem.matrix.max(initial=0)) or 1.0
    return State(problem, constraints, scale, np.full(n, -1, np.int32), np.zeros(n))


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve the program with HiGHS; it has no steps to trace.

    Raises
    ------
    RuntimeError
        If HiGHS gives up.
    """
    from scipy.optimize import linprog

    n = state.problem.size
    state.solved = False
    if n:
        found = linprog(
            state.problem.matrix.ravel() / state.scale, A_eq=state.constraints,
            b_eq=np.ones(2 * n), bounds=(0, None), method="highs",
        )  # fmt: skip
        if found.status != 0:
            raise RuntimeError(f"HiGHS: {found.message}")
        chosen = found.x.reshape(n, n)
        columns = chosen.argmax(axis=1)
        state.chosen[:] = np.where(chosen[np.arange(n), columns] > 0.5, columns, -1)
        state.start[:] = found.eqlin.marginals[n:] * state.scale
        state.iterations = int(found.nit)
    state.solved = True


def download(state: State) -> Assignment:
    """Return HiGHS's assignment without duals, its rows without a column on the columns left over.

    Returns
    -------
    Assignment
        Counter ``simplex_iterations``.

    Raises
    ------
    RuntimeError
        If no run has ended.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    columns = _each_once(state.chosen)
    counters = {"simplex_iterations": state.iterations}
    try:
        return finish(state.problem, columns, counters=counters)
    except ValueError:
        # HiGHS's tolerance let a forbidden pair pass; whether there is an answer `proof` finds out.
        none = np.zeros(0, np.int64)
        return Assignment(none, none, math.inf, None, None, state.problem.maximize, counters)


def _each_once(chosen: np.ndarray) -> np.ndarray:
    """Return the columns of rows, each column once; a whole answer of HiGHS stays as it is."""
    columns = chosen.astype(np.int64)
    first = np.unique(columns, return_index=True)[1]
    keeps = np.zeros(len(columns), bool)
    keeps[first] = True
    keeps &= columns >= 0
    columns[~keeps] = np.setdiff1d(np.arange(len(columns)), columns[keeps])
    return columns


def proof(state: State, answer: Assignment) -> Assignment:
    """Return HiGHS's assignment with duals that prove it, repaired where it must be.

    Returns
    -------
    Assignment
        Counters ``simplex_iterations`` and ``repaired_rows``.

    Raises
    ------
    RuntimeError
        If a shortest path has no end.
    """
    matrix = state.problem.matrix
    if matrix.dtype.kind == "i":
        matrix = matrix.astype(np.int64)
    repaired, found = 0, None
    if len(matrix):
        work = shortest_path.allocate(matrix)
        repaired = _repair(work, state)
        found = _duals(work)
        if not _proved(matrix, work.column_of_row, found):
            # Costs of too many magnitudes for the tolerances of HiGHS: nothing of it is kept.
            repaired = len(matrix)
            if not shortest_path.shortest_path(work):
                raise RuntimeError("the shortest augmenting path algorithm did not end")
            found = _duals(work)
        columns = work.column_of_row.astype(np.int64)
    else:
        columns = np.zeros(0, np.int64)
    counters = {**answer.counters, "repaired_rows": repaired}
    u, v = found or (None, None)
    return finish(state.problem, columns, u, v, counters)


def _repair(work: Any, state: State) -> int:
    """Match HiGHS's pairs that are the least of their rows, then the others; count these."""
    matrix, n = work.cost, len(work.cost)
    largest = matrix.max()
    whole = matrix.dtype.kind == "i"
    start = np.clip(state.start - state.start.max(), -float(largest), 0.0)
    work.v[:] = np.rint(start) if whole else start
    if whole:
        np.maximum(work.v, -largest, out=work.v)
    slack = 0 if whole else ULPS * np.finfo(np.float64).eps * float(largest)
    work.column_of_row[:] = -1
    work.row_of_column[:] = -1
    free = []
    for i in range(n):
        j = state.chosen[i]
        reduced = matrix[i] - work.v
        if j >= 0 and work.row_of_column[j] < 0 and reduced[j] <= reduced.min() + slack:
            work.column_of_row[i], work.row_of_column[j] = j, i
        else:
            free.append(i)
    for i in free:
        j = shortest_path._shortest_path(work, i)
        if j < 0 or not augment(j, work.parent, work.column_of_row, work.row_of_column):
            raise RuntimeError("a shortest augmenting path has no end")
    return len(free)


def _duals(work: Any) -> tuple[np.ndarray, np.ndarray]:
    """Row and column duals of the matching in a workspace."""
    matrix, columns = work.cost, work.column_of_row
    if matrix.dtype.kind == "f":
        tight = auction.tight_duals(matrix, columns, work.v)
        if tight is not None:
            return tight
    v = work.v.copy()
    return matrix[np.arange(len(v)), columns] - v[columns], v


def _proved(matrix: np.ndarray, columns: np.ndarray, found: tuple[np.ndarray, np.ndarray]) -> bool:
    """True if the duals prove the matching: integers as they are, floats within `CLOSE`."""
    if matrix.dtype.kind == "i":
        return True
    u, v = found
    chosen = matrix[np.arange(len(u)), columns]
    gap = np.abs(chosen - u - v[columns]).sum()
    gap += sum(max(0.0, float((u[i] + v - matrix[i]).max())) for i in range(len(u)))
    return bool(gap <= CLOSE * np.abs(chosen).sum())


SOLVERS: dict[str, Solver] = {
    "cpu_lp": Solver(
        name="cpu_lp",
        title="LP, HiGHS (CPU)",
        device="cpu",
        problem="assignment",
        upload=upload,
        run=run,
        download=download,
        proof=proof,
    ),
}
