"""The four CPU baselines of [L19 sec.5], single thread, compiled by Numba.

========================  ===========================  ==========================================
here                      in the paper                 file
========================  ===========================  ==========================================
`hungarian_o4`            "O4"; "C" of Table 1         `papers.lopes2019.baselines.hungarian_o4`
`hungarian_o3`            "O3" of Figs. 4 and 5        `papers.lopes2019.baselines.hungarian_o3`
`shortest_path`           "SP" of Figs. 4 and 5        `papers.lopes2019.baselines.shortest_path`
`auction`                 "A" of Figs. 4 and 5         `papers.lopes2019.baselines.auction`
========================  ===========================  ==========================================

Each exists as one call on a square matrix and as three stages, ``upload_...``, ``run_...`` and
``download_...``, for the runner (`SOLVERS`). Everything of order n^2 that an algorithm writes is
allocated in the first stage; the auction also scales its costs there, and repairs its duals in the
last. `run` may be called again on the same state and starts from the costs.

Of a rectangle `hungarian_o4` searches from the shorter side's lines alone
(`papers.lopes2019.rectangle`), as the kernels do; the three others, which are rivals on squares in
the paper and nobody's default, pad it with lines of zeros and match these too.

With a limit of time a run calls the same compiled functions in slices (of a step, a search, a path
or some bids) and looks at the clock before each; without one it is a single call, as measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from papers.common.deadline import check_seconds
from papers.common.gpu.clocks import StepClock, no_trace
from papers.common.model import Assignment, Solver
from papers.common.problems.assignment import Problem, finish, prepare
from papers.common.problems.duals import row_duals
from papers.lopes2019.baselines import auction as cpu_auction
from papers.lopes2019.baselines import hungarian_o3 as cpu_hungarian_o3
from papers.lopes2019.baselines import hungarian_o4 as cpu_hungarian_o4
from papers.lopes2019.baselines import shortest_path as cpu_shortest_path
from papers.lopes2019.baselines import sliced
from papers.lopes2019.baselines.sliced import State
from papers.lopes2019.rectangle import finish_layout, lay_out_lines

Answer = tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, int]]
"""``column_of_row`` int32[n], row and column duals (int64[n] or float64[n]) and counters."""

Trace = Callable[[str], None]


# --------------------------------------------------------------------------- O(n^4)


def upload_hungarian_o4(
    cost: Any, maximize: bool = False, dtype: Any = None, seconds: float | None = None
) -> State:
    """Check the costs and allocate the slack matrix and the lists of zeros.

    Parameters
    ----------
    cost : array_like[n, m]
        See `papers.common.problems.assignment.prepare`.
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
    layout = lay_out_lines(problem)
    return State(problem, cpu_hungarian_o4.allocate(layout.matrix), seconds, layout)


def run_hungarian_o4(state: State, trace: Trace | None = None) -> None:
    """Solve; with `trace`, from Python step by step, calling ``trace(name)`` before each.

    A `papers.common.gpu.clocks.StepClock` is given the steps' times as the compiled code read them:
    a call from Python takes longer than most steps.

    Raises
    ------
    GivenUpError
        If the time is over, or a loop exceeds the algorithm's worst case.
    """
    work, mark = state.workspace, trace or no_trace
    state.solved = False
    if state.seconds is not None:
        ended = cpu_hungarian_o4.run_steps(work, mark, sliced.look_at(state))
    elif isinstance(trace, StepClock) and cpu_hungarian_o4.CAN_TIME_STEPS:
        ended = cpu_hungarian_o4.hungarian_timed(work, trace.add)
    elif trace is None:
        ended = cpu_hungarian_o4.hungarian(work)
    else:
        ended = cpu_hungarian_o4.run_steps(work, mark)
    sliced.ended_well(state, ended, "the O(n^4) Hungarian algorithm")


def download_hungarian_o4(state: State) -> Assignment:
    """Return the assignment; the duals are what steps 1 and 6 subtracted."""
    if state.layout is None or not state.layout.padding:
        return _finish(state, _answer_o4)
    if not state.solved:
        raise RuntimeError("nothing to download: the run has not ended")
    answer = _answer_o4(state.layout.matrix, state.workspace)
    answer[-1]["zeros_initial"] -= state.layout.zeros
    answer[-1]["matches_initial"] -= state.layout.padding  # which step 2 always stars
    return finish_layout(state.problem, state.layout, *answer)


def _answer_o4(matrix: np.ndarray, work: Any) -> Answer:
    # The caller's rows are the paper's columns.
    columns, u, v = work.row_of_star_at_column, work.column_dual, work.row_dual
    return columns.copy(), *_duals(matrix, u, v), sliced.named(cpu_hungarian_o4.COUNTERS, work)


def hungarian_o4(matrix: np.ndarray) -> Answer:
    """Solve a checked matrix by the O(n^4) Hungarian algorithm.

    Parameters
    ----------
    matrix : int32[n, n], int64[n, n] or float64[n, n]
        C-contiguous, finite, entries >= 0, twice the largest within the type (see `prepare`).

    Returns
    -------
    column_of_row : int32[n]
    u, v : int64[n] or float64[n]
        ``u[i] + v[j] <= matrix[i, j]``, equal on matched pairs: exactly for integers, up to
        rounding for float64.
    counters : dict of str to int
        `papers.lopes2019.baselines.hungarian_o4.COUNTERS`.

    Raises
    ------
    GivenUpError
        If a loop exceeds the algorithm's worst case.
    """
    return _solve(matrix, cpu_hungarian_o4.allocate(matrix), run_hungarian_o4, _answer_o4)


# --------------------------------------------------------------------------- O(n^3)


def upload_hungarian_o3(
    cost: Any, maximize: bool = False, dtype: Any = None, seconds: float | None = None
) -> State:
    """Check the costs and allocate; parameters and errors as in `upload_hungarian_o4`."""
    check_seconds(seconds)
    problem = prepare(cost, maximize, dtype)
    return State(problem, cpu_hungarian_o3.allocate(problem.matrix), seconds)


def run_hungarian_o3(state: State, trace: Trace | None = None) -> None:
    """Solve. The algorithm has no steps of its own to trace.

    Raises
    ------
    GivenUpError
        If the time is over, or a loop exceeds the algorithm's worst case.
    """
    sliced.run(
        state, cpu_hungarian_o3.hungarian, cpu_hungarian_o3.hungarian_in_slices,
        "the O(n^3) Hungarian algorithm",
    )  # fmt: skip


def download_hungarian_o3(state: State) -> Assignment:
    """Return the assignment with the algorithm's duals."""
    return _finish(state, _answer_o3)


def _answer_o3(matrix: np.ndarray, work: Any) -> Answer:
    columns, counters = work.column_of_row.copy(), sliced.named(cpu_hungarian_o3.COUNTERS, work)
    return columns, *_duals(matrix, work.u, work.v), counters


def hungarian_o3(matrix: np.ndarray) -> Answer:
    """Solve a checked matrix by the O(n^3) Hungarian algorithm; see `hungarian_o4`."""
    return _solve(matrix, cpu_hungarian_o3.allocate(matrix), run_hungarian_o3, _answer_o3)


# --------------------------------------------------------------------------- shortest paths


def upload_shortest_path(
    cost: Any, maximize: bool = False, dtype: Any = None, seconds: float | None = None
) -> State:
    """Check the costs and allocate; parameters and errors as in `upload_hungarian_o4`."""
    check_seconds(seconds)
    problem = prepare(cost, maximize, dtype)
    return State(problem, cpu_shortest_path.allocate(_with_headroom(problem.matrix)), seconds)


def run_shortest_path(state: State, trace: Trace | None = None) -> None:
    """Solve. The algorithm has no steps of its own to trace.

    Raises
    ------
    GivenUpError
        If the time is over, or a loop exceeds the algorithm's worst case.
    """
    sliced.run(
        state, cpu_shortest_path.shortest_path, cpu_shortest_path.shortest_path_in_slices,
        "the shortest augmenting path algorithm",
    )  # fmt: skip


def download_shortest_path(state: State) -> Assignment:
    """Return the assignment; the row duals are what the column duals leave of the rows' least."""
    return _finish(state, _answer_shortest_path)


def _answer_shortest_path(matrix: np.ndarray, work: Any) -> Answer:
    columns, v = work.column_of_row.copy(), work.v
    u = matrix[np.arange(len(v)), columns].astype(_wide(matrix)) - v[columns]
    if matrix.dtype.kind == "f":
        tight = cpu_auction.tight_duals(matrix, columns, v)
        if tight is not None:
            return columns, *tight, sliced.named(cpu_shortest_path.COUNTERS, work)
    return columns, *_duals(matrix, u, v), sliced.named(cpu_shortest_path.COUNTERS, work)


def shortest_path(matrix: np.ndarray) -> Answer:
    """Solve a checked matrix by shortest augmenting paths; see `hungarian_o4`.

    int64 costs: three times the largest must fit.
    """
    work = cpu_shortest_path.allocate(_with_headroom(matrix))
    return _solve(matrix, work, run_shortest_path, _answer_shortest_path)


# --------------------------------------------------------------------------- auction


def upload_auction(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    theta: int = cpu_auction.THETA,
    tolerance: float | None = None,
    seconds: float | None = None,
) -> State:
    """Check the costs, scale integers by ``n + 1``, and allocate.

    Parameters
    ----------
    cost, maximize, dtype, seconds
        As in `upload_hungarian_o4`.
    theta : int
        Factor of eps-scaling, at least 2.
    tolerance : float, optional
        float64 only: how far from the optimum the answer may be. By default 1e-12 times the
        largest finite absolute cost, or what float64 resolves if that is coarser.

    Raises
    ------
    ValueError
        From `prepare` and `papers.lopes2019.baselines.auction.allocate`: the scaled costs overflow
        int64, `theta` or `tolerance` is out of range.
    """
    check_seconds(seconds)
    problem = prepare(cost, maximize, dtype)
    scale = None
    if problem.forbidden:  # the stand-in for a forbidden pair is large, and no measure of precision
        n, m = problem.cost.shape
        allowed = problem.matrix[:n, :m][np.isfinite(problem.cost)]
        scale = float(np.abs(allowed).max())
    return State(problem, cpu_auction.allocate(problem.matrix, theta, tolerance, scale), seconds)


def run_auction(state: State, trace: Trace | None = None) -> None:
    """Solve. The algorithm has no steps of its own to trace.

    Raises
    ------
    GivenUpError
        If the time is over, or a phase exceeds its worst case of bids.
    """
    sliced.run(state, cpu_auction.auction, cpu_auction.auction_in_slices, "the auction algorithm")


def download_auction(state: State) -> Assignment:
    """Return the assignment; integer duals are repaired to be exact.

    Raises
    ------
    RuntimeError
        If integer duals cannot be repaired, which would mean that the answer is not optimal.
    """
    return _finish(state, _answer_auction)


def _answer_auction(matrix: np.ndarray, work: Any) -> Answer:
    columns = work.column_of_row.copy()
    counters = sliced.named(cpu_auction.COUNTERS, work)
    if matrix.dtype.kind == "f":
        tight = cpu_auction.tight_duals(matrix, columns, work.v)
        # Without tight duals the proof will say by how much the answer may miss the optimum.
        return columns, *(tight or _duals(matrix, work.v, work.v)), counters
    duals = cpu_auction.exact_duals(matrix, columns, work.v)
    if duals is None:
        raise RuntimeError("the auction's matching is not optimal: no duals fit it")
    return columns, *duals, counters


def auction(
    matrix: np.ndarray, theta: int = cpu_auction.THETA, tolerance: float | None = None
) -> Answer:
    """Solve a checked matrix by the auction algorithm; see `hungarian_o4` and `upload_auction`.

    For float64 the duals are feasible up to rounding, and tight up to ``tolerance / n``.
    """
    work = cpu_auction.allocate(matrix, theta, tolerance)
    return _solve(matrix, work, run_auction, _answer_auction)


# --------------------------------------------------------------------------- shared


def _solve(
    matrix: np.ndarray,
    work: Any,
    run: Callable[[State], None],
    answer: Callable[[np.ndarray, Any], Answer],
) -> Answer:
    run(State(Problem(matrix, matrix, 0, False, False), work))
    return answer(matrix, work)


def _finish(state: State, answer: Callable[[np.ndarray, Any], Answer]) -> Assignment:
    if not state.solved:
        raise RuntimeError("nothing to download: the run has not ended")
    return finish(state.problem, *answer(state.problem.matrix, state.workspace))


def _with_headroom(matrix: np.ndarray) -> np.ndarray:
    """Widen int32 costs if three times the largest, C, would overflow.

    Column duals stay within [-C, C] while a column is unmatched, so a reduced cost is at most 2 C,
    and a path to it adds at most C. int64 costs are small enough already (see `prepare`).
    """
    tight = matrix.dtype == np.int32 and matrix.size and 3 * int(matrix.max()) > 2**31 - 1
    return matrix.astype(np.int64) if tight else matrix


def _wide(matrix: np.ndarray) -> Any:
    return np.float64 if matrix.dtype.kind == "f" else np.int64


def _duals(matrix: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integer duals as they are; for float64 the row duals anew, feasible in spite of rounding."""
    if matrix.dtype.kind == "f":
        return row_duals(matrix, v), v.copy()
    return u.astype(np.int64), v.astype(np.int64)


SOLVERS: dict[str, Solver] = {
    "cpu_o4": Solver(
        name="cpu_o4",
        title="Hungarian O(n^4), CPU",
        device="cpu",
        problem="assignment",
        upload=upload_hungarian_o4,
        run=run_hungarian_o4,
        download=download_hungarian_o4,
        steps=cpu_hungarian_o4.STEPS,
    ),
    "cpu_o3": Solver(
        name="cpu_o3",
        title="Hungarian O(n^3), CPU",
        device="cpu",
        problem="assignment",
        upload=upload_hungarian_o3,
        run=run_hungarian_o3,
        download=download_hungarian_o3,
    ),
    "cpu_sp": Solver(
        name="cpu_sp",
        title="Shortest augmenting paths, CPU",
        device="cpu",
        problem="assignment",
        upload=upload_shortest_path,
        run=run_shortest_path,
        download=download_shortest_path,
    ),
    "cpu_auction": Solver(
        name="cpu_auction",
        title="Auction, CPU",
        device="cpu",
        problem="assignment",
        upload=upload_auction,
        run=run_auction,
        download=download_auction,
        limits=dict.fromkeys(("wide integers", "wide floats"), "overflow|orders of magnitude"),
    ),
}
