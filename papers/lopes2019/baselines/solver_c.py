"""The solver `cpu_c`: `papers.lopes2019.baselines.hungarian_c` in the runner's three stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from papers.common.deadline import check_seconds
from papers.common.gpu.clocks import StepClock, no_trace
from papers.common.model import Assignment, Solver
from papers.common.problems.assignment import finish, prepare
from papers.common.problems.duals import row_duals
from papers.lopes2019.baselines import hungarian_c, sliced
from papers.lopes2019.baselines.hungarian_o4 import CAN_TIME_STEPS, COUNTERS, STEPS
from papers.lopes2019.baselines.sliced import State


def upload(
    cost: Any, maximize: bool = False, dtype: Any = None, seconds: float | None = None
) -> State:
    """Check the costs and allocate the arrays of [L19 sec.4.1].

    Parameters
    ----------
    cost : array_like[n, m]
        See `papers.common.problems.assignment.prepare`; a rectangle is padded with lines of zeros,
        which are matched too.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : {"int32", "int64", "float64"}, optional
        Working type.
    seconds : float, optional
        A run without an answer gives up after so long.

    Raises
    ------
    ValueError
        From `prepare`, or for a limit that is no time.
    """
    check_seconds(seconds)
    problem = prepare(cost, maximize, dtype)
    return State(problem, hungarian_c.allocate(problem.matrix), seconds)


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve; with `trace`, as `papers.lopes2019.baselines.solvers.run_hungarian_o4`.

    Raises
    ------
    GivenUpError
        If the time is over, or a loop exceeds the algorithm's worst case.
    """
    work = state.workspace
    state.solved = False
    if state.seconds is not None:
        ended = hungarian_c.run_steps(work, trace or no_trace, sliced.look_at(state))
    elif isinstance(trace, StepClock) and CAN_TIME_STEPS:
        ended = hungarian_c.hungarian_timed(work, trace.add)
    elif trace is None:
        ended = hungarian_c.hungarian(work)
    else:
        ended = hungarian_c.run_steps(work, trace)
    sliced.ended_well(state, ended, "the O(n^4) Hungarian algorithm as printed")


def download(state: State) -> Assignment:
    """Return the assignment; the duals are what steps 1 and 6 subtracted."""
    if not state.solved:
        raise RuntimeError("nothing to download: the run has not ended")
    work = state.workspace
    # The caller's rows are the paper's columns.
    u, v, matrix = work.column_dual.copy(), work.row_dual.copy(), state.problem.matrix
    if matrix.dtype.kind == "f":  # the largest that are feasible in spite of rounding
        u = row_duals(matrix, v)
    columns = work.row_of_star_at_column.copy()
    return finish(state.problem, columns, u, v, sliced.named(COUNTERS, work))


SOLVER = Solver(
    name="cpu_c",
    title="Algorithms 1 to 9 in turn, CPU",
    device="cpu",
    problem="assignment",
    upload=upload,
    run=run,
    download=download,
    steps=STEPS,
)
