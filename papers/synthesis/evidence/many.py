"""Batches as one measurement: the instances of seeds 1, 2, ... in one launch, or one by one.

A measurement has one instance, the batch's first; `batch_of` draws the others before every clock,
which no caller does. What a caller gets is downloaded inside the clock ``end_to_end``; every
problem of the batch is proved outside the clocks, and ``total_cost`` is the sum over all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.environment import MissingPackageError, install_command
from papers.common.model import Assignment, Solver
from papers.common.problems import assignment_proof
from papers.common.problems.assignment import total_cost
from papers.synthesis.batch import solver
from papers.synthesis.calls.assignment_duals import duals_of

Trace = Callable[[str], None] | None

EXACT_FLOAT32 = 2**24
"""Whole numbers up to this are exact in float32."""


class ProofError(RuntimeError):
    """An answer of a batch is not optimal, or its duals do not show it."""


def batch_of(cost: Any, problems: int, cost_range: int) -> np.ndarray:
    """Draw the instances of the family `uniform` with the seeds 1 to `problems`.

    Parameters
    ----------
    cost : int32[n, n], or int32[problems, n, n]
        The first one; a batch is returned as it is.
    problems, cost_range : int

    Returns
    -------
    int32[problems, n, n]

    Raises
    ------
    ValueError
        If the matrix is not the instance of seed 1.
    """
    from papers.common.instances.matrices import uniform

    given = np.asarray(cost)
    if given.ndim == 3:
        return given
    n = len(given)
    batch = np.stack([uniform(n, seed, cost_range=cost_range) for seed in range(1, problems + 1)])
    if not np.array_equal(batch[0], given):
        raise ValueError("a batch begins with the instance of seed 1 and of its range")
    return batch


@dataclass
class State:
    """A batch: its matrices, the solver's own state or call, and the columns that others found."""

    costs: np.ndarray
    inner: Any = None
    found: Any = None
    columns: list[np.ndarray] = field(default_factory=list)


def upload(cost: Any, problems: int, cost_range: int) -> State:
    """Upload a batch to the device; see `papers.synthesis.batch.solver.upload`."""
    costs = batch_of(cost, problems, cost_range)
    return State(costs, solver.upload(costs))


def run(state: State, trace: Trace = None) -> None:
    """Solve all in one launch."""
    solver.run(state.inner)


def download(state: State) -> Assignment:
    """Download all answers, duals among them; return the first."""
    answers: Any = solver.download(state.inner)
    return cast(Assignment, answers[0])  # one answer brings the duals of all into form


def prove_all(state: State, answer: Assignment) -> Assignment:
    """Prove every answer by its duals; return the first with the sum of all costs.

    Raises
    ------
    ProofError
        Naming the first problem that is not proved.
    """
    answers: Any = solver.download(state.inner)
    return _proved(state.costs, list(answers), answer)


def upload_scipy(cost: Any, problems: int, cost_range: int) -> State:
    """Keep a batch in host memory."""
    return State(batch_of(cost, problems, cost_range))


def run_scipy(state: State, trace: Trace = None) -> None:
    """Solve one after another with SciPy."""
    from scipy.optimize import linear_sum_assignment

    state.columns = [linear_sum_assignment(cost)[1] for cost in state.costs]


def download_scipy(state: State) -> Assignment:
    """Return the first answer, without duals: SciPy yields none.

    Raises
    ------
    RuntimeError
        If no run has ended.
    """
    if not state.columns:
        raise RuntimeError("nothing to download: no run has ended")
    return _scipys(state.costs[0], state.columns[0])


def _scipys(cost: np.ndarray, columns: np.ndarray) -> Assignment:
    rows = np.arange(len(columns))
    return Assignment(rows, columns.astype(np.int64), total_cost(cost[rows, columns]), None, None)


def prove_scipys(state: State, answer: Assignment) -> Assignment:
    """Derive the duals of every answer and prove it; return the first with the sum of all.

    Raises
    ------
    ProofError
        Naming the first problem that is not proved.
    """
    answers = []
    for cost, columns in zip(state.costs, state.columns, strict=True):
        found = _scipys(cost, columns)
        duals = duals_of(cost, found.row_ind, found.col_ind) or (None, None)
        answers.append(replace(found, row_duals=duals[0], column_duals=duals[1]))
    return _proved(state.costs, answers, answers[0])


def upload_torch(cost: Any, problems: int, cost_range: int) -> State:
    """Bring a batch to the GPU as torch-linear-assignment takes it, as float32.

    Raises
    ------
    MissingPackageError
        If torch-linear-assignment is not installed.
    ValueError
        For costs that float32 rounds.
    """
    try:
        import torch
        from torch_linear_assignment import batch_linear_assignment
    except ImportError:
        raise MissingPackageError(
            "this solver needs torch-linear-assignment, which is not installed: "
            f"{install_command('torch')}"
        ) from None
    costs = batch_of(cost, problems, cost_range)
    if costs.size and int(np.abs(costs).max()) > EXACT_FLOAT32:
        raise ValueError("costs beyond 2**24: the code's float32 would round them")
    place = "cuda" if device.describe().is_gpu else "cpu"
    given = torch.as_tensor(costs.astype(np.float32), device=place)
    return State(costs, partial(batch_linear_assignment, given))


def run_torch(state: State, trace: Trace = None) -> None:
    """Call the code; on a GPU the clock waits for its kernels."""
    state.found = state.inner()


def download_torch(state: State) -> Assignment:
    """Copy the columns to the host; return the first answer, without duals.

    Raises
    ------
    RuntimeError
        If no run has ended.
    """
    if state.found is not None:
        state.columns = list(state.found.cpu().numpy())
    return download_scipy(state)


def _proved(costs: np.ndarray, answers: list[Assignment], first: Assignment) -> Assignment:
    for number, (cost, answer) in enumerate(zip(costs, answers, strict=True)):
        proof = assignment_proof.assignment(cost, answer)
        if not proof.ok:
            raise ProofError(f"problem {number} of {len(costs)}: {proof.reason}")
    total = sum(int(answer.cost) for answer in answers)
    counters = {**first.counters, "problems": len(costs), "total_cost": total}
    return replace(first, counters=counters)


SOLVERS: Mapping[str, Solver] = {
    "batch_of_seeds": Solver(
        name="batch_of_seeds", title="synthesis: a batch in one launch", device="cuda",
        problem="assignment", upload=upload, run=run, download=download, prepare=batch_of,
        proof=prove_all,
    ),
    "scipy_loop": Solver(
        name="scipy_loop", title="SciPy, one after another (CPU)", device="cpu",
        problem="assignment", upload=upload_scipy, run=run_scipy, download=download_scipy,
        prepare=batch_of, proof=prove_scipys,
    ),
    "torch_batch": Solver(
        name="torch_batch", title="torch-linear-assignment, a batch by Triton", device="cuda",
        problem="assignment", upload=upload_torch, run=run_torch, download=download_torch,
        prepare=batch_of, proof=prove_scipys,
    ),
}  # fmt: skip
