"""The call itself as a solver, so that what it adds to a solver's own time can be measured.

`run` is ``linear_sum_assignment(cost, ...)`` from the caller's matrix to the caller's arrays; there
is nothing to upload and nothing to download, unless the caller has the matrix on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from papers.common.gpu import device as gpu
from papers.common.model import Assignment, Solver
from papers.common.problems.assignment import as_matrix, total_cost
from papers.synthesis.calls.assignment import linear_sum_assignment

Trace = Callable[[str], None] | None


@dataclass
class State:
    """A caller's matrix, what the call is given of it, wishes, and the last answer."""

    cost: np.ndarray
    given: Any
    wishes: dict[str, Any]
    found: tuple[Any, ...] | None = None


def upload(
    cost: Any, maximize: bool = False, *, solver: str | None, device: str, resident: bool
) -> State:
    """Keep the caller's matrix; on the device, if the caller has it there (`resident`).

    Parameters
    ----------
    cost : array_like[n, m]
    maximize : bool
    solver : str or None
        The call's.
    device : {"auto", "gpu", "cpu"}
        The call's.

    Raises
    ------
    ValueError
        If it is no matrix of numbers.
    """
    matrix = as_matrix(cost)
    given = gpu.to_device(matrix) if resident else matrix
    return State(matrix, given, {"maximize": maximize, "solver": solver, "device": device})


def run(state: State, trace: Trace = None) -> None:
    """Call `papers.linear_sum_assignment`; its errors are the call's."""
    state.found = linear_sum_assignment(state.given, **state.wishes)


def download(state: State) -> Assignment:
    """Return what the call returned, without duals.

    Raises
    ------
    RuntimeError
        If no call has ended.
    """
    if state.found is None:
        raise RuntimeError("nothing to download: no run has ended")
    rows, columns = (gpu.to_host(line) for line in state.found)
    cost = total_cost(state.cost[rows, columns])
    return Assignment(rows, columns, cost, None, None, state.wishes["maximize"])


def with_duals(state: State, answer: Assignment) -> Assignment:
    """Ask the same call for the duals, too, outside every clock."""
    rows, columns, u, v = linear_sum_assignment(state.cost, **state.wishes, return_duals=True)
    cost = total_cost(state.cost[rows, columns])
    return Assignment(rows, columns, cost, u, v, state.wishes["maximize"], answer.counters)


RESIDENT = "call_there"

CALLED: dict[str, tuple[str, str | None, str]] = {
    "call_scipy": ("the call, solver='scipy'", "scipy", "cpu"),
    "call_cpu": ("the call, device='cpu'", None, "cpu"),
    "call_dense": ("the call, solver='synthesis:dense'", "synthesis:dense", "auto"),
    RESIDENT: ("the call on costs in device memory", "synthesis:dense", "auto"),
}
"""Title, solver and device of each form of the call."""

SOLVERS: Mapping[str, Solver] = {
    name: Solver(
        name=name, title=title, device="cuda" if solver == "synthesis:dense" else "cpu",
        problem="assignment", run=run, download=download, proof=with_duals,
        upload=partial(upload, solver=solver, device=device, resident=name == RESIDENT),
    )
    for name, (title, solver, device) in CALLED.items()
}  # fmt: skip
"""Not in the contract of solvers: the call takes and refuses what its chosen solver does."""
