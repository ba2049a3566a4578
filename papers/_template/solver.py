"""The host's side of [T00]: upload, the loop over the rows, download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers._template.launches import allocate, bind_launches
from papers.common.deadline import Deadline, check_seconds
from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.gpu.state import DeviceState
from papers.common.model import Assignment
from papers.common.problems.assignment import Problem, finish, prepare

STEPS = ("search", "augment")
"""The names that `run` passes to ``trace``."""

DTYPES = ("int64", "float64")


@dataclass
class State(DeviceState):
    """Everything `run` touches: device arrays, bound launches, counters.

    Attributes
    ----------
    problem : Problem
        The checked costs.
    seconds : float or None
        Time that a run may take.
    """

    problem: Problem
    seconds: float | None = None


def upload(cost: Any, maximize: bool = False, seconds: float | None = None) -> State:
    """Check the input, allocate everything, copy the costs to the device, bind the launches.

    Parameters
    ----------
    cost : array_like[n, m]
        See `papers.common.problems.assignment.prepare`.
    maximize : bool
        Whether the sum is to be maximized.
    seconds : float, optional
        A run without an answer gives up after so long.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        Bad costs (see `prepare`), a limit that is no time, or a matrix too large for the card.
    """
    check_seconds(seconds)
    # A path's length is at most the range, and one more entry with its duals thrice that.
    problem = prepare(cost, maximize, dtypes=DTYPES, factor=4, signed=True)
    n, entry = problem.size, problem.matrix.dtype.itemsize
    device.check_memory(n, entry * n * n + 64 * n, lambda free: int((free / entry) ** 0.5))
    state = State(problem, seconds)
    if n:
        state.arrays = allocate(problem)
        state.launches = bind_launches(problem, state.arrays)
    return state


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Assign one row after another [T00 Alg.1] [T00 Alg.2]; the host waits once, at the end.

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable, optional
        Called with the name of each step as it begins.

    Raises
    ------
    GivenUpError
        If the time is over.
    """
    if state.problem.size == 0:
        return
    mark, launches = trace or no_trace, state.launches
    state.forget()
    deadline = Deadline(state.seconds)
    for stage in range(state.problem.size):
        if state.seconds is not None:  # without a limit the host waits once, at the end
            device.synchronize()
            deadline.check(f"{stage} matched", reached={"matched": stage})
        mark("search")
        if stage == 0:
            launches["init"]()
        launches["search"]()
        mark("augment")
        launches["augment"]()
    device.synchronize()
    state.solved = True


def download(state: State) -> Assignment:
    """Copy the answer to the host: the assignment, the duals that prove it, the counters.

    Raises
    ------
    RuntimeError
        If no run has ended, or the last one did not assign every row.
    """
    n = state.problem.size
    if n == 0:
        return finish(state.problem, np.zeros(0, np.int64))
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    row_of_column = device.to_host(state.arrays["row_of_column"])
    stages = int(device.to_host(state.arrays["stage"])[0])
    if stages != n or row_of_column.min() < 0:
        raise RuntimeError(f"the run assigned {stages} of {n} rows")
    column_of_row = np.empty(n, np.int64)
    column_of_row[row_of_column] = np.arange(n)
    v = device.to_host(state.arrays["v"])
    # The rows' own duals hold up to rounding; the largest that the columns' allow prove the answer.
    u = (state.problem.matrix - v).min(axis=1)
    launched = sum(launch.count for launch in state.launches.values())
    counters = {"stages": stages, "kernel_launches": launched}
    return finish(state.problem, column_of_row, u, v, counters)


def solve(cost: Any, maximize: bool = False, seconds: float | None = None) -> Assignment:
    """Solve a linear assignment problem by shortest augmenting paths [T00].

    Runs on the selected device (`papers.common.gpu.device.select`): a CUDA GPU, or the CPU
    executor, which is meant for n up to a hundred.

    Parameters
    ----------
    cost : array_like[n, m]
        Costs: any integer, boolean or float type. ``inf`` (``-inf`` when maximizing) forbids a
        pair. Rectangular matrices assign ``min(n, m)`` pairs.
    maximize : bool
        Whether the sum is to be maximized.
    seconds : float, optional
        A run without an answer gives up after so long.

    Returns
    -------
    Assignment
        ``row_ind`` and ``col_ind`` as from `scipy.optimize.linear_sum_assignment`, the cost, the
        duals that prove it, and the counters ``stages`` and ``kernel_launches``.

    Raises
    ------
    ValueError
        Bad costs (see `papers.common.problems.assignment.prepare`), or too large a matrix.
    papers.common.model.GivenUpError
        If `seconds` are over.

    Examples
    --------
    >>> from papers._template import solve
    >>> solve([[4, 1, 3], [2, 0, 5], [3, 2, 2]]).cost
    5
    """
    state = upload(cost, maximize, seconds)
    run(state)
    return download(state)
