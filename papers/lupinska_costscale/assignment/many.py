"""Many assignments as one measurement, and SciPy's code as a rival.

A measurement has one instance, so a batch is made of it: the matrix itself and matrices with its
entries shuffled, seeded. Of independent entries a shuffle is as good a draw as any. No caller
shuffles, so `prepare` does it before every clock.

`download` returns what a caller gets. `prove_all` and `prove_scipys` then prove every problem of a
batch by its duals, outside the clocks, and add ``total_cost``, the sum over all; the first one's
answer goes on to the runner, which proves it again.

`scipy` and `scipy_loop` are `scipy.optimize.linear_sum_assignment`; it yields no duals, and its
users pay for none, so they are derived from the optimal matching for the proof alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from papers.common.model import Assignment, Limit, Solver

Trace = Callable[[str], None] | None

EXACT = 2**53
"""The largest whole number up to which float64 holds them all."""


class ProofError(RuntimeError):
    """An answer of a batch is not optimal, or its duals do not show it."""


@dataclass
class Many:
    """A batch.

    Attributes
    ----------
    costs : int64[k, n, n]
        To be minimized; negated if `maximize`.
    maximize : bool
    columns : int64[k, n]
        Column of each row.
    state : Any
        The device solver's own state, None for SciPy.
    answers : Any
        The device solver's answers once they are downloaded, None for SciPy.
    """

    costs: np.ndarray
    maximize: bool
    columns: np.ndarray = field(init=False)
    state: Any = None
    answers: Any = None

    def __post_init__(self) -> None:
        self.columns = np.full(self.costs.shape[:2], -1, np.int64)


def problems_of(cost: Any, problems: int = 1, maximize: bool = False) -> np.ndarray:
    """Return a batch: the matrix itself, then `problems` - 1 shuffles of its entries.

    A batch is returned as it is, so that an upload takes a matrix and a prepared batch alike.

    Parameters
    ----------
    cost : array_like int[n, n] or int64[problems, n, n]
    problems : int
    maximize : bool
        Not looked at; the uploads have it.

    Returns
    -------
    int64[problems, n, n]

    Raises
    ------
    ValueError
        For a matrix that is not square or not of integers, and for fewer problems than one.
    """
    cost = np.asarray(cost)
    if cost.ndim == 3 and len(cost) == problems:
        return cost
    if cost.ndim != 2 or cost.shape[0] != cost.shape[1]:
        raise ValueError(f"a batch is made of a square matrix, not of shape {cost.shape}")
    if cost.dtype.kind not in "iu":
        raise ValueError(f"a batch is made of whole numbers, not of {cost.dtype}")
    if problems < 1:
        raise ValueError(f"{problems} problems are no batch")
    flat = np.repeat(cost.astype(np.int64).reshape(1, -1), problems, axis=0)
    flat[1:] = np.random.default_rng(cost.shape[0]).permuted(flat[1:], axis=1)
    return flat.reshape(problems, *cost.shape)


# ------------------------------------------------------------------------------- proofs


def duals_of(costs: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return duals that are tight on optimal matchings, by Bellman and Ford's relaxations.

    ``v[j] <= c[i, j] - c[i, column of i] + v[column of i]`` for all i; n rounds settle it, unless a
    cycle of negative length shows that the matching is not optimal.

    Parameters
    ----------
    costs : int64[k, n, n]
    columns : int64[k, n]

    Returns
    -------
    int64[k, n], int64[k, n]
        Row and column duals.

    Raises
    ------
    ProofError
        If a matching is not optimal.
    """
    k, n = columns.shape
    chosen = np.take_along_axis(costs, columns[:, :, None], axis=2)
    steps = costs - chosen
    v = np.zeros((k, n), np.int64)
    for _ in range(n + 1):
        at_rows = np.take_along_axis(v, columns, axis=1)
        shorter = np.minimum(v, (at_rows[:, :, None] + steps).min(axis=1, initial=2**62))
        if (shorter == v).all():
            return chosen[:, :, 0] - at_rows, v
        v = shorter
    raise ProofError("a matching of the batch is not optimal: its exchanges have a negative cycle")


def prove(costs: np.ndarray, columns: np.ndarray, u: np.ndarray, v: np.ndarray) -> None:
    """Check every problem of a batch by its duals.

    Parameters
    ----------
    costs : int64[k, n, n]
    columns, u, v : int64[k, n]
        Assignment, row duals and column duals.

    Raises
    ------
    ProofError
        Naming the first problem whose columns are no permutation, whose duals are not feasible, or
        whose sums differ.
    """
    n = costs.shape[1]
    permuted = (np.sort(columns, axis=1) == np.arange(n)).all(axis=1)
    _demand(permuted, "has an assignment that is no permutation")
    _demand((u[:, :, None] + v[:, None, :] <= costs).all(axis=(1, 2)), "has duals above a cost")
    spent = np.take_along_axis(costs, columns[:, :, None], axis=2).sum(axis=(1, 2))
    _demand(spent == u.sum(axis=1) + v.sum(axis=1), "costs more than its duals allow")


def _demand(holds: np.ndarray, otherwise: str) -> None:
    if not holds.all():
        raise ProofError(f"problem {int(np.argmin(holds))} of {holds.size} {otherwise}")


def _first(many: Many) -> Assignment:
    """Return the first problem's answer, without duals."""
    n = many.columns.shape[1]
    if n and many.columns[0, 0] < 0:
        raise RuntimeError("nothing to download: no run has ended")
    columns = many.columns[0].copy()
    cost = int(many.costs[0][np.arange(n), columns].sum())
    sign = -1 if many.maximize else 1
    counters = {"problems": len(many.columns)}
    return Assignment(np.arange(n), columns, sign * cost, None, None, many.maximize, counters)


def _proved(many: Many, first: Assignment, u: np.ndarray, v: np.ndarray) -> Assignment:
    """Prove all of a batch and return the first with its duals, and with the sum over all."""
    prove(many.costs, many.columns, u, v)
    sign = -1 if many.maximize else 1
    chosen = np.take_along_axis(many.costs, many.columns[:, :, None], axis=2)
    counters = {**first.counters, "total_cost": sign * int(chosen.sum())}
    return replace(first, row_duals=sign * u[0], column_duals=sign * v[0], counters=counters)


# ------------------------------------------------------------------------------- SciPy


def _many(cost: Any, problems: int, maximize: bool) -> Many:
    costs = problems_of(cost, problems)
    return Many(-costs if maximize else costs, maximize)


def upload(cost: Any, problems: int = 1, maximize: bool = False) -> Many:
    """Make a batch of a matrix; see `problems_of`.

    Raises
    ------
    ValueError
        As `problems_of`, and for costs that SciPy's float64 would round.
    """
    many = _many(cost, problems, maximize)
    first = many.costs[0]  # The others have the same entries.
    if first.size and max(first.max(), -first.min()) > EXACT:
        raise ValueError("SciPy works in float64: a cost beyond 2**53 would be rounded")
    return many


def run(many: Many, trace: Trace = None) -> None:
    """Solve one after another with SciPy, on one core."""
    from scipy.optimize import linear_sum_assignment

    for cost, columns in zip(many.costs, many.columns, strict=True):
        columns[:] = linear_sum_assignment(cost)[1]


def download(many: Many) -> Assignment:
    """Return the first answer, as SciPy gives it: without duals.

    Raises
    ------
    RuntimeError
        If no run has ended.
    """
    return _first(many)


def prove_scipys(many: Many, answer: Assignment) -> Assignment:
    """Derive duals of all problems and prove them; return the first answer with its own.

    Raises
    ------
    ProofError
        If one is not optimal.
    """
    return _proved(many, answer, *duals_of(many.costs, many.columns))


# ------------------------------------------------------------------------------- the batch


def upload_batch(cost: Any, problems: int = 1, maximize: bool = False) -> Many:
    """Make a batch of a matrix and copy it to the device."""
    from papers.lupinska_costscale.assignment import batch  # Loads kernels.

    many = _many(cost, problems, maximize)
    many.state = batch.upload(many.costs)
    return many


def run_batch(many: Many, trace: Trace = None) -> None:
    """Solve all in one launch."""
    from papers.lupinska_costscale.assignment import batch

    batch.run(many.state)


def download_batch(many: Many) -> Assignment:
    """Copy all assignments, costs and duals to the host, as a caller gets them; return the first.

    Raises
    ------
    RuntimeError
        If a problem was not solved; see `papers.lupinska_costscale.assignment.batch.download`.
    """
    from papers.lupinska_costscale.assignment import batch

    many.answers = batch.download(many.state)
    assert isinstance(many.answers, batch.BatchAnswer)
    many.columns[:] = many.answers.col_ind
    return _first(many)


def prove_all(many: Many, answer: Assignment) -> Assignment:
    """Prove all problems by the duals that the kernel found; return the first with its own.

    Raises
    ------
    ProofError
        If one is not optimal, or its duals do not show it.
    """
    u, v = many.answers.row_duals, many.answers.column_duals
    return _proved(many, answer, u.astype(np.int64), v.astype(np.int64))


_LIMITS: Mapping[Limit, str] = {
    "floats": "whole numbers",
    "booleans": "whole numbers",
    "rectangles": "square matrix",
}


SCIPY = {"upload": upload, "run": run, "download": download, "proof": prove_scipys}
ON_DEVICE = {
    "upload": upload_batch, "run": run_batch, "download": download_batch, "proof": prove_all,
}  # fmt: skip


def _solver(
    name: str, title: str, device: Literal["cuda", "cpu"], stages: Mapping[str, Any]
) -> Solver:
    return Solver(
        name=name,
        title=title,
        device=device,
        problem="assignment",
        variants={"3 problems": {"problems": 3}},
        limits=_LIMITS if device == "cuda" else {**_LIMITS, "large integers": "rounded"},
        prepare=problems_of,
        **stages,
    )


SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        _solver("scipy", "SciPy (CPU)", "cpu", SCIPY),
        _solver("scipy_loop", "SciPy in a loop (CPU)", "cpu", SCIPY),
        _solver("batch_of_many", "Many small assignments in one launch", "cuda", ON_DEVICE),
    )
}
