"""The host's side: upload, one launch, download."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from papers.common.deadline import check_seconds, in_words
from papers.common.gpu import device
from papers.common.gpu.state import DeviceState
from papers.common.model import Assignment, GivenUpError, Solver
from papers.common.problems.assignment import as_matrix
from papers.common.problems.costs_on_device import ResidentCosts
from papers.synthesis.assignment import sending
from papers.synthesis.assignment.costs import (
    INFEASIBLE,
    Costs,
    UnfinishedError,
    UnresolvedError,
    as_they_are,
    finish,
    prepare,
)
from papers.synthesis.assignment.kernels.arguments import CONCLUDED, TOTALS, Status
from papers.synthesis.assignment.launches import Workspace, has_clusters, marks_for, workspace
from papers.synthesis.assignment.resident import DeviceMatrix, adopt, judged, plan
from papers.synthesis.assignment.settings import WARP, Settings, have_short_range


@dataclass
class State(DeviceState):
    """Everything `run` touches.

    Attributes
    ----------
    costs : Costs
    settings : Settings
    seconds : float or None
        Time that a run may take.
    workspace : Workspace or None
        The memory and the launches, this state's own as long as it lives; then they go back to the
        pool. None for an empty problem.
    """

    costs: Costs
    settings: Settings
    seconds: float | None = None
    workspace: Workspace | None = None


def default_settings(n: int, m: int, kind: Any = np.int32, short: bool = False) -> Settings:
    """`Settings.for_shape` on the selected device."""
    chosen = Settings.for_shape(n, m, np.dtype(kind), short, has_clusters())
    if device.describe().is_gpu:
        return chosen
    return replace(chosen, blocks=0, threads=WARP, tile=8, loads=2)


def upload(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    settings: Settings | None = None,
    seconds: float | None = None,
) -> State:
    """Check the input, take memory and a bound launch from the pool, copy the costs there.

    Parameters
    ----------
    cost : array_like[rows, columns], DeviceMatrix or ResidentCosts
        See `papers.synthesis.assignment.costs.prepare`. An array is not copied: `download` reads
        the assigned costs from it, so it must not change before. One of the device
        (`papers.synthesis.assignment.resident.adopt`) stays there.
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
    state = enqueued(cost, maximize, dtype, settings, seconds, awaited=True)
    if state.workspace is not None:
        weakref.finalize(state, state.workspace.release).atexit = False
    return state


def enqueued(
    cost: Any, maximize: bool, dtype: Any, settings: Settings | None, seconds: float | None,
    awaited: bool,
) -> State:  # fmt: skip
    """`upload`, but whoever calls has to release the workspace, and may not wait for the copy."""
    check_seconds(seconds)
    if isinstance(cost, ResidentCosts):
        cost = adopt(cost.array)
    if isinstance(cost, DeviceMatrix):
        if all(cost.shape):
            return _of_resident(cost, maximize, dtype, settings, seconds)
        cost = np.zeros(cost.shape, cost.dtype)
    array = as_matrix(cost)
    if dtype is None and sending.goes(array):
        return _of_sent(array, maximize, settings, seconds)
    costs = as_they_are(array, maximize, dtype) or prepare(array, maximize, dtype)
    if settings is None:
        short = have_short_range(costs.matrix)
        settings = default_settings(*costs.shape, costs.dtype, short)
    state = State(costs, settings, seconds)
    if costs.size:
        room = workspace(costs, state.settings)
        use(state, room)
        room.fill(costs.matrix, awaited)
        room.set(costs, seconds)
    return state


def _of_sent(
    array: np.ndarray, maximize: bool, settings: Settings | None, seconds: float | None
) -> State:
    """Copy costs of the host to the device as they are, and go on there."""
    given, room = sending.send(array)
    short = settings is None and have_short_range(array)
    state = _of_resident(given, maximize, None, settings, seconds, short)
    state.costs = replace(state.costs, cost=array)  # the answer's costs are the host's
    sending.keep(room, state, state.workspace)
    return state


def _of_resident(
    given: DeviceMatrix, maximize: bool, dtype: Any, settings: Settings | None,
    seconds: float | None, short: bool = False,
) -> State:  # fmt: skip
    """Check costs of the device there, and bring them into working form there.

    Whether they have a `short` range is known only of costs that were on the host.
    """
    way, shape = plan(given, maximize, dtype), given.working_shape
    matrix: Any = np.empty(0, way.work) if way.moves else given
    costs = Costs(matrix, shape, None, given.turned, way.cost_shift, maximize, 0, way.spread)
    state = State(costs, settings or default_settings(*shape, way.work, short), seconds)
    room = workspace(costs, state.settings, owns=way.moves, stream=given.stream)
    use(state, room)
    try:
        if way.moves:
            room.move(given, way)
            state.costs = replace(costs, matrix=room.arrays["cost"])
        if way.work.kind == "f":
            flat = room.arrays["cost"] if way.moves else given.flat
            loose = judged(shape, flat, maximize, given.stream)
            state.costs = replace(state.costs, loose=loose)
    except ValueError:
        room.release()  # nobody has seen it
        raise
    room.set(state.costs, seconds)
    return state


def use(state: State, room: Workspace) -> None:
    """Let a state have a workspace for its own, until somebody releases it."""
    state.workspace, state.mailbox, state.arrays = room, room.mailbox, room.arrays
    for launch in room.solver():
        state.launches[launch.name] = launch


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve on resident costs, in one launch, or in two (`launches.cluster_for`).

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
    papers.synthesis.assignment.costs.UnresolvedError
        If a bound on the work was met because floats are rounded. The calls then go on to SciPy.
    papers.synthesis.assignment.costs.UnfinishedError
        If one was met with integers, which is a fault. So do the calls then.
    """
    if state.workspace is not None:
        start(state)
        end(state)


def start(state: State) -> None:
    """Enqueue a run; `end` has to follow, and whatever else uses the device may before."""
    room = state.workspace
    assert room is not None
    if room.running:  # a run was interrupted
        state.forget()
    else:  # without waiting: the stream may have much to do before
        state.begin()
    room.whole, room.running = False, True
    for launch in room.solver():
        launch()


def end(state: State) -> None:
    """Wait for a run that was started; its errors are those of `run`."""
    room = state.workspace
    assert room is not None
    payload = state.payload()
    room.concluded, status = payload & CONCLUDED != 0, payload & ~CONCLUDED
    room.running = False
    if status != Status.SOLVED:
        room.settle()  # nobody will copy an answer, which waits for the stream
    if status == Status.INFEASIBLE:
        raise ValueError(INFEASIBLE)
    if status == Status.LATE:
        assert state.seconds is not None
        reached = _reached(state)
        message = f"gave up after {state.seconds:.1f} s and {in_words(reached)}"
        raise GivenUpError(message, 1000 * state.seconds, reached)
    if status != Status.SOLVED:
        message = f"the search has not ended within its bounds: {_reached(state)}"
        if state.costs.dual.kind == "f":
            raise UnresolvedError(f"{message}: float64 does not resolve these costs")
        raise UnfinishedError(message)
    state.solved = True


def _reached(state: State) -> dict[str, int]:
    """Counts of a run that has not ended well."""
    matched = int((device.to_host(state.arrays["column"]) >= 0).sum())
    counts = dict(zip(TOTALS, map(int, device.to_host(state.arrays["totals"])), strict=True))
    return {"matched": matched, **counts}


def barriers(
    counts: dict[str, int], square: bool, lifts: int, alone: bool = False, marks: bool = False,
    ended: bool = False, opens: bool = True,
) -> int:  # fmt: skip
    """Barriers in a run, and exchanges of reports; see `kernels.dense`.

    Parameters
    ----------
    counts : dict of str to int
        The run's counters.
    square : bool
    lifts : int
        Rescalings that were lifts: they have 4 barriers each.
    alone : bool
        Whether one block was the team: it has two barriers for each round of an auction, not four
        for all of them.
    marks : bool
        Whether near pairs were marked: at the start, and behind the scales, if there were any.
    ended : bool
        Whether a cluster ended the run.
    opens : bool
        Whether the start has an auction, whose first barrier in a grid is the start's own.
    """
    shared = opens and counts["auctions"] > 0
    return (
        (1 + 2 * counts["rounds"] if alone else 1 - shared + 4 * counts["auctions"])
        + (3 if square else 1) * (counts["rescalings"] - lifts)
        + (1 + (counts["rescalings"] > lifts + 1) if marks else 0)
        + 4 * counts["sorts"]
        + counts["sorted"]
        + barriers_of_phases(counts, lifts, ended)
    )


def barriers_of_phases(counts: dict[str, int], lifts: int, ended: bool) -> int:
    """Those of `barriers` behind the scales, which are a cluster's if there is one."""
    a_phase = 3 if ended else 4
    return 4 * lifts + counts["iterations"] + a_phase * counts["phases"] + counts["repairs"] + 1


def download(state: State) -> Assignment:
    """Copy the answer to the host.

    Returns
    -------
    Assignment
        Its counters are the reference's (`papers.synthesis.assignment.reference.COUNTS`), with
        ``barriers``, those of them that were a cluster's, ``cluster_barriers``, and
        ``kernel_launches``. The barrier at which a cluster ends is not counted.

    Raises
    ------
    RuntimeError
        If no run has ended with an answer.
    """
    n, m = state.costs.shape
    if state.workspace is None:
        dual = state.costs.dual
        return finish(state.costs, np.zeros(0, int), np.zeros(n, dual), np.zeros(m, dual), {})
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    answer = state.workspace.answer(state.costs)
    counts = dict(zip(TOTALS, answer["totals"].tolist(), strict=True))
    floats = state.costs.dual.kind == "f"
    lifts = (counts["repairs"] + 1) * int(state.settings.lifts) if floats else 0
    alone, marks = state.settings.blocks == 1, marks_for(max(n, m), state.settings) > 0
    ended = state.workspace.concluded
    counts["barriers"] = barriers(
        counts, n == m, lifts, alone, marks, ended, bool(state.settings.start_rounds)
    )
    counts["cluster_barriers"] = barriers_of_phases(counts, lifts, ended) if ended else 0
    counts["kernel_launches"] = sum(launch.count for launch in state.launches.values())
    return finish(state.costs, answer["column"], answer["u"], answer["v"], counts, answer["chosen"])


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


SOLVER = Solver(
    name="dense",
    title="synthesis: dense costs, one launch",
    device="cuda",
    problem="assignment",
    upload=upload,
    run=run,
    download=download,
    limits={"wide integers": "overflow"},
)
