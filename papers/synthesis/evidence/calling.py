"""The call itself as a solver, so that what it adds to a solver's own time can be measured.

`run` is ``linear_sum_assignment(cost, ...)`` from the caller's matrix to the caller's arrays; there
is nothing to upload and nothing to download. A matrix in device memory stays there, and so do the
arrays that the call returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from papers.common.gpu import device as machine
from papers.common.model import Assignment, Solver
from papers.common.problems.assignment import as_matrix, total_cost
from papers.common.problems.costs_on_device import ResidentCosts
from papers.synthesis.calls.assignment import linear_sum_assignment

Trace = Callable[[str], None] | None


@dataclass
class State:
    """A caller's matrix, on the host or on the device, and wishes, and the last answer.

    Attributes
    ----------
    cost : ndarray or device array
        The entries, for the harness.
    given : Any
        The same memory, as the call is given it.
    """

    cost: Any
    given: Any
    wishes: dict[str, Any]
    found: tuple[Any, ...] | None = None


class ExecutorsMemory:
    """An array of the executor's as a caller's library would show one of a device."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            **{key: array.__array_interface__[key] for key in ("shape", "typestr", "data")},
            "strides": array.__array_interface__["strides"], "stream": None, "version": 3,
        }  # fmt: skip


def upload(cost: Any, maximize: bool = False, *, solver: str | None, device: str) -> State:
    """Keep the caller's matrix.

    Parameters
    ----------
    cost : array_like[n, m] or ResidentCosts
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
    wishes = {"maximize": maximize, "solver": solver, "device": device}
    if not isinstance(cost, ResidentCosts):
        matrix = as_matrix(cost)
        return State(matrix, matrix, wishes)
    array = cost.array
    return State(array, ExecutorsMemory(array) if isinstance(array, np.ndarray) else array, wishes)


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
    rows, columns = map(machine.to_host, state.found)
    cost = total_cost(machine.to_host(state.cost)[rows, columns])
    return Assignment(rows, columns, cost, None, None, state.wishes["maximize"])


def with_duals(state: State, answer: Assignment) -> Assignment:
    """Ask the same call for the duals, too, outside every clock: they prove the timed answer."""
    *_, u, v = linear_sum_assignment(state.given, **state.wishes, return_duals=True)
    return replace(answer, row_duals=machine.to_host(u), column_duals=machine.to_host(v))


CALLED: dict[str, tuple[str, str | None, str]] = {
    "call_scipy": ("the call, solver='scipy'", "scipy", "cpu"),
    "call_cpu": ("the call, device='cpu'", None, "cpu"),
    "call_dense": ("the call, solver='synthesis:dense'", "synthesis:dense", "auto"),
    "call_dense_device": ("the call on costs in device memory", "synthesis:dense", "auto"),
    "call_device": ("the call on costs in device memory, by its own choice", None, "auto"),
}
"""Title, solver and device of each form of the call."""

SOLVERS: Mapping[str, Solver] = {
    name: Solver(
        name=name, title=title, device="cuda" if solver == "synthesis:dense" else "cpu",
        problem="assignment", run=run, download=download, proof=with_duals,
        upload=partial(upload, solver=solver, device=device),
    )
    for name, (title, solver, device) in CALLED.items()
}  # fmt: skip
"""Not in the contract of solvers: the call takes and refuses what its chosen solver does."""
