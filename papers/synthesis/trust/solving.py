"""One solve: a call, its answer, and the proof."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import papers
from papers.common.gpu import device
from papers.common.model import Assignment, Matching, Proof
from papers.common.problems import assignment_proof, flow_proof, matching_proof
from papers.common.problems.assignment import total_cost
from papers.synthesis.evidence.calling import ExecutorsMemory
from papers.synthesis.trust.drawing import Task


@dataclass(frozen=True)
class Solved:
    """The outcome of a solve: whether it was right, and why not; and the call's seconds."""

    right: bool
    reason: str
    seconds: float


def solve(task: Task) -> Solved:
    """Call and prove; every error of a call is a wrong answer, but where none is possible."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", papers.NoGpuWarning)
            returned = _CALLED[task.call.problem](task)
    except Exception as error:
        took = time.perf_counter() - began
        named = isinstance(error, ValueError) and "infeasible" in str(error)
        return Solved(named and not task.feasible, f"{type(error).__name__}: {error}", took)
    took = time.perf_counter() - began
    if not task.feasible:
        return Solved(False, "an answer to a problem that has none", took)
    try:
        proofs = _PROVED[task.call.problem](task, returned)
    except IndexError as error:
        return Solved(False, f"the answer names what is not there: {error}", took)
    for proof in proofs:
        if not proof.ok:
            return Solved(False, proof.reason, took)
    return Solved(True, "", took)


def _solver(task: Task) -> str | None:
    """The solver that the call asks for: the word of its name with a colon."""
    return next((word for word in task.call.name.split() if ":" in word), None)


# ------------------------------------------------------------------------------- the calls


def _on_device(array: np.ndarray) -> Any:
    if device.describe().is_gpu:
        return device.to_device(array)
    return ExecutorsMemory(array.copy(order="K"))


def _assign(task: Task) -> Any:
    if task.call.name.endswith(" device"):
        return _assign_there(task)
    return papers.linear_sum_assignment(
        task.data, task.maximize, return_duals=True, solver=_solver(task)
    )


def _assign_there(task: Task) -> list[tuple[np.ndarray, tuple[np.ndarray, ...]]]:
    """Four matrices of one shape, or of two, in device memory, for nothing but the pairs.

    They are the drawn one, its transposed one, and both with their rows in reverse: two forms that
    share memory, each met twice. Duals of the first, as an array of the host, prove them all; one
    that has no answer is refused four times.
    """
    u = v = np.empty(0)
    if task.feasible:
        *_, u, v = papers.linear_sum_assignment(
            task.data, task.maximize, return_duals=True, solver=_solver(task)
        )
    found, refused = [], []
    for cost, rows, columns in ((task.data, u, v), (task.data.T, v, u)):
        for step in (1, -1):
            given = np.array(cost[::step], order="K")
            try:
                pairs = papers.linear_sum_assignment(
                    _on_device(given), task.maximize, solver=_solver(task)
                )
            except ValueError as error:
                refused.append(error)
                continue
            here = (device.to_host(each) for each in pairs)
            found.append((given, (*here, rows[::step], columns)))
    if refused and (task.feasible or not found):
        raise refused[0]
    return found


def _match(task: Task) -> Any:
    return papers.maximum_bipartite_matching(task.data, "column", solver=_solver(task))


def _flow(task: Task) -> Any:
    if task.call.name.startswith("grid_cut"):
        source, sink, arcs, neighbours = task.data
        return papers.grid_cut(source, sink, arcs, neighbours, solver=_solver(task), prove=True)
    last = task.data.shape[0] - 1
    if task.call.name.startswith("minimum_cut"):
        return papers.minimum_cut(task.data, 0, last, prove=True)
    return papers.maximum_flow(task.data, 0, last)


_CALLED: dict[str, Callable[[Task], Any]] = {
    "assignment": _assign, "matching": _match, "flow": _flow,
}  # fmt: skip

# ------------------------------------------------------------------------------- the proofs


def _assignments(task: Task, returned: Any) -> list[Proof]:
    """A proof a matrix."""
    if task.call.name.endswith(" device"):
        pairs = returned
    elif isinstance(task.data, list):
        pairs = list(zip(task.data, returned, strict=True))
    elif task.data.ndim == 3:
        pairs = list(zip(task.data, zip(*returned, strict=True), strict=True))
    else:
        pairs = [(task.data, returned)]
    return [
        assignment_proof.assignment(
            cost, Assignment(rows, columns, total_cost(cost[rows, columns]), u, v, task.maximize),
            task.maximize,
        )
        for cost, (rows, columns, u, v) in pairs
    ]  # fmt: skip


def _matching(task: Task, returned: Any) -> list[Proof]:
    column_of = np.asarray(returned)
    row_of = np.full(task.data.shape[1], -1, np.int32)
    rows = np.flatnonzero(column_of >= 0)
    row_of[column_of[rows]] = rows
    answer = Matching(column_of.astype(np.int32), row_of, int(rows.size))
    return [matching_proof.matching(task.data, answer)]


def _flows(task: Task, returned: Any) -> list[Proof]:
    """The flow and the cut prove one another, and the call's own parts are those of the answer."""
    solved = returned.solved
    proof = flow_proof.flow(solved.instance, solved.flow)
    told = returned.flow_value if task.call.name.startswith("maximum") else returned.value
    if told != solved.flow.value:
        return [Proof(False, "minimum-cut", f"the call says {told}, not {solved.flow.value}")]
    return [proof]


_PROVED: dict[str, Callable[[Task, Any], list[Proof]]] = {
    "assignment": _assignments, "matching": _matching, "flow": _flows,
}  # fmt: skip
