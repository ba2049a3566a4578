"""The host's side: upload, one launch, download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.deadline import check_seconds, in_words
from papers.common.gpu import device
from papers.common.gpu.signals import Mailbox
from papers.common.gpu.state import DeviceState
from papers.common.model import Assignment, GivenUpError
from papers.synthesis.assignment.costs import INFEASIBLE, Costs, finish, prepare
from papers.synthesis.assignment.kernels.arguments import TOTALS, Status
from papers.synthesis.assignment.launches import allocate, bind_assign
from papers.synthesis.assignment.settings import WARP, Settings


@dataclass
class State(DeviceState):
    """Everything `run` touches.

    Attributes
    ----------
    costs : Costs
    settings : Settings
    seconds : float or None
        Time that a run may take.
    """

    costs: Costs
    settings: Settings
    seconds: float | None = None


def default_settings(n: int, m: int) -> Settings:
    """The settings for so many rows and columns on the selected device."""
    chosen = Settings.for_shape(n, m)
    if device.describe().is_gpu:
        return chosen
    return Settings(left_free=chosen.left_free, threads=WARP, tile=8, loads=2)


def upload(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    settings: Settings | None = None,
    seconds: float | None = None,
) -> State:
    """Check the input, allocate everything, copy the costs to the device, bind the launch.

    Parameters
    ----------
    cost : array_like[rows, columns]
        See `papers.synthesis.assignment.costs.prepare`. An array is not copied: `download` reads
        the assigned costs from it, so it must not change before.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Type of the costs on the device; by default the narrowest that holds their range.
    settings : Settings, optional
        By default those for the size and the device.
    seconds : float, optional
        A run without an answer gives up after so long, by the device's own clock.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        Bad costs or a bad limit of time.
    RuntimeError
        If no block of that many threads can be resident.
    """
    check_seconds(seconds)
    costs = prepare(cost, maximize, dtype)
    state = State(costs, settings or default_settings(*costs.matrix.shape), seconds)
    if costs.matrix.size:
        state.mailbox = Mailbox()
        state.arrays = allocate(costs, state.mailbox)
        state.launches["assign"] = bind_assign(costs, state.arrays, state.settings, seconds)
    return state


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve on resident costs, in one launch.

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable, optional
        Not called: the host sees no steps.

    Raises
    ------
    ValueError
        If every complete assignment has a forbidden pair.
    GivenUpError
        If the time is over.
    RuntimeError
        If a bound on the work was met, which is a fault.
    """
    if not state.costs.matrix.size:
        return
    state.forget()
    state.launches["assign"]()
    status = state.payload()
    if status == Status.INFEASIBLE:
        raise ValueError(INFEASIBLE)
    if status == Status.LATE:
        assert state.seconds is not None
        reached = _reached(state)
        message = f"gave up after {state.seconds:.1f} s and {in_words(reached)}"
        raise GivenUpError(message, 1000 * state.seconds, reached)
    if status != Status.SOLVED:
        raise RuntimeError(f"the search has not ended within its bounds: {_reached(state)}")
    state.solved = True


def _reached(state: State) -> dict[str, int]:
    """Counts of a run that has not ended well."""
    matched = int((device.to_host(state.arrays["column"]) >= 0).sum())
    counts = dict(zip(TOTALS, map(int, device.to_host(state.arrays["totals"])), strict=True))
    return {"matched": matched, **counts}


def barriers(counts: dict[str, int], square: bool, lifts: int) -> int:
    """Barriers of the grid in a run; see `kernels.dense`.

    Parameters
    ----------
    counts : dict of str to int
        The run's counters.
    square : bool
    lifts : int
        Rescalings that were lifts: they have 4 barriers each.
    """
    return (
        2
        + 2 * counts["rounds"]
        + (3 if square else 1) * (counts["rescalings"] - lifts)
        + 4 * lifts
        + counts["iterations"]
        + 3 * counts["phases"]
    )


def download(state: State) -> Assignment:
    """Copy the answer to the host.

    Returns
    -------
    Assignment
        Its counters are the reference's (`papers.synthesis.assignment.reference.COUNTS`), with
        ``barriers`` of the grid and ``kernel_launches``.

    Raises
    ------
    RuntimeError
        If no run has ended with an answer.
    """
    n, m = state.costs.matrix.shape
    if not state.costs.matrix.size:
        dual = state.costs.dual
        return finish(state.costs, np.zeros(0, int), np.zeros(n, dual), np.zeros(m, dual), {})
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    counts = _reached(state)
    counts.pop("matched")
    floats = state.costs.dual.kind == "f"
    lifts = (counts["repairs"] + 1) * int(state.settings.lifts) if floats else 0
    counts["barriers"] = barriers(counts, n == m, lifts)
    counts["kernel_launches"] = state.launches["assign"].count
    column, u, v = (device.to_host(state.arrays[name]) for name in ("column", "u", "v"))
    return finish(state.costs, column, u, v, counts)


def solve(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    settings: Settings | None = None,
    seconds: float | None = None,
) -> Assignment:
    """Upload, run and download; see there."""
    state = upload(cost, maximize, dtype, settings, seconds)
    run(state)
    return download(state)
