"""The CPU baselines of [L19 sec.5], single thread, compiled by Numba.

=========================  ===========================  =========================================
solver                     in the paper                 file in `papers.lopes2019.baselines`
=========================  ===========================  =========================================
`cpu_c`                    "C" of Tables 1 to 3         `hungarian_c`, as printed
`cpu_o4`                   "O4" of Figs. 4 and 5        `hungarian_o4`, ours
`cpu_o3`                   "O3" of Figs. 4 and 5        `hungarian_o3`, the forest
`cpu_o3_tree`              O3's other published form    `hungarian_o3`, the tree
`cpu_sp_lists`             "SP" of Figs. 4 and 5        `scan_lists`, initialised
`cpu_sp_plain`             SP's other published form    `scan_lists`, plain
`cpu_auction_jacobi`       "A" of Figs. 4 and 5         `auction_jacobi`
`cpu_auction`              A's other published form     `auction`
`cpu_sp`                   nowhere: the fastest         `shortest_path`
=========================  ===========================  =========================================

The paper names no code of O3, SP and A. The experiment `rivals` measures which published form of
each lies nearer to print's curves, and fails if that is not the one in Figures 4 and 5.

Each exists as one call on a square matrix and as three stages (`papers.lopes2019.baselines.stages`)
for the runner (`SOLVERS`). Everything of order n^2 that an algorithm writes is allocated in the
first stage; the auction repairs its duals in the last. `run` may be called again on the same state
and starts from the costs.

Of a rectangle `hungarian_o4` searches from the shorter side's lines alone
(`papers.lopes2019.rectangle`), as the kernels do; the others, which are rivals on squares in the
paper and nobody's default, pad it with lines of zeros and match these too.

With a limit of time a run calls the same compiled functions in slices (of a step, a search, a path
or some bids) and looks at the clock before each; without one it is a single call, as measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.deadline import check_seconds
from papers.common.gpu.clocks import no_trace
from papers.common.model import Assignment, Solver
from papers.common.problems.assignment import prepare
from papers.lopes2019.baselines import auction as cpu_auction
from papers.lopes2019.baselines import auction_jacobi as cpu_auction_jacobi
from papers.lopes2019.baselines import hungarian_c, sliced
from papers.lopes2019.baselines import hungarian_o3 as cpu_hungarian_o3
from papers.lopes2019.baselines import hungarian_o4 as cpu_hungarian_o4
from papers.lopes2019.baselines import scan_lists as cpu_scan_lists
from papers.lopes2019.baselines import shortest_path as cpu_shortest_path
from papers.lopes2019.baselines.sliced import State
from papers.lopes2019.baselines.stages import (
    Answer,
    Code,
    Trace,
    duals,
    finished,
    run_by_steps,
    solved,
    wide,
    with_headroom,
)
from papers.lopes2019.rectangle import finish_layout, lay_out_lines

# --------------------------------------------------------------------------- as printed


def _answer_of_stars(matrix: np.ndarray, work: Any) -> Answer:
    # The caller's rows are the paper's columns.
    columns, u, v = work.row_of_star_at_column, work.column_dual, work.row_dual
    return columns.copy(), *duals(matrix, u, v), sliced.named(cpu_hungarian_o4.COUNTERS, work)


printed = Code(
    "the O(n^4) Hungarian algorithm as printed",
    hungarian_c.allocate,
    hungarian_c.hungarian,
    lambda work, look: hungarian_c.run_steps(work, no_trace, look),
    _answer_of_stars,
)


def run_printed(state: State, trace: Trace | None = None) -> None:
    """Solve; `trace` and errors as in `papers.lopes2019.baselines.stages.run_by_steps`."""
    run_by_steps(state, hungarian_c, printed.what, trace)


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
    """Solve; `trace` and errors as in `papers.lopes2019.baselines.stages.run_by_steps`."""
    run_by_steps(state, cpu_hungarian_o4, "the O(n^4) Hungarian algorithm", trace)


def download_hungarian_o4(state: State) -> Assignment:
    """Return the assignment; the duals are what steps 1 and 6 subtracted."""
    if state.layout is None or not state.layout.padding:
        return finished(state, _answer_of_stars)
    if not state.solved:
        raise RuntimeError("nothing to download: the run has not ended")
    answer = _answer_of_stars(state.layout.matrix, state.workspace)
    answer[-1]["zeros_initial"] -= state.layout.zeros
    answer[-1]["matches_initial"] -= state.layout.padding  # which step 2 always stars
    return finish_layout(state.problem, state.layout, *answer)


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
    return solved(matrix, cpu_hungarian_o4.allocate(matrix), run_hungarian_o4, _answer_of_stars)


# --------------------------------------------------------------------------- O(n^3)


def _answer_o3(matrix: np.ndarray, work: Any) -> Answer:
    columns, counters = work.column_of_row.copy(), sliced.named(cpu_hungarian_o3.COUNTERS, work)
    return columns, *duals(matrix, work.u, work.v), counters


hungarian_o3, hungarian_o3_tree = (
    Code(
        f"the O(n^3) Hungarian algorithm{how}", allocate, cpu_hungarian_o3.hungarian,
        cpu_hungarian_o3.hungarian_in_slices, _answer_o3,
    )
    for how, allocate in (
        ("", cpu_hungarian_o3.allocate), (" with a single tree", cpu_hungarian_o3.allocate_tree),
    )
)  # fmt: skip
upload_hungarian_o3 = hungarian_o3.upload
run_hungarian_o3 = hungarian_o3.run
download_hungarian_o3 = hungarian_o3.download

# --------------------------------------------------------------------------- shortest paths


def _answer_shortest_path(matrix: np.ndarray, work: Any) -> Answer:
    """Return the answer; the row duals are what the column duals leave of the rows' least."""
    counters = sliced.named(sliced.REACHED[type(work)][0], work)
    columns, v = work.column_of_row.copy(), work.v
    u = matrix[np.arange(len(v)), columns].astype(wide(matrix)) - v[columns]
    if matrix.dtype.kind == "f":
        tight = cpu_auction.tight_duals(matrix, columns, v)
        if tight is not None:
            return columns, *tight, counters
    return columns, *duals(matrix, u, v), counters


shortest_path = Code(
    "the shortest augmenting path algorithm",
    lambda matrix: cpu_shortest_path.allocate(with_headroom(matrix)),
    cpu_shortest_path.shortest_path, cpu_shortest_path.shortest_path_in_slices,
    _answer_shortest_path,
)  # fmt: skip
"""The fastest of all; int64 costs: three times the largest must fit."""
upload_shortest_path = shortest_path.upload
run_shortest_path = shortest_path.run
download_shortest_path = shortest_path.download

scan_lists, scan_lists_plain = (
    Code(
        f"the shortest augmenting path algorithm {how}",
        lambda matrix: cpu_scan_lists.allocate(with_headroom(matrix)), whole, in_slices,
        _answer_shortest_path,
    )
    for how, whole, in_slices in (
        ("with lists", cpu_scan_lists.initialised, cpu_scan_lists.initialised_in_slices),
        ("from nothing", cpu_scan_lists.plain, cpu_scan_lists.plain_in_slices),
    )
)  # fmt: skip
"""The published forms; costs as of `shortest_path`."""

# --------------------------------------------------------------------------- auction


def upload_auction(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    theta: int = cpu_auction.THETA,
    tolerance: float | None = None,
    seconds: float | None = None,
) -> State:
    """Check the costs and allocate.

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


def _answer_auction(matrix: np.ndarray, work: Any) -> Answer:
    """Return the answer; integer duals are repaired to be exact.

    Raises
    ------
    RuntimeError
        If they cannot be repaired, which would mean that the answer is not optimal.
    """
    columns = work.column_of_row.copy()
    counters = sliced.named(cpu_auction.COUNTERS, work)
    if matrix.dtype.kind == "f":
        tight = cpu_auction.tight_duals(matrix, columns, work.v)
        # Without tight duals the proof will say by how much the answer may miss the optimum.
        return columns, *(tight or duals(matrix, work.v, work.v)), counters
    found = cpu_auction.exact_duals(matrix, columns, work.v)
    if found is None:
        raise RuntimeError("the auction's matching is not optimal: no duals fit it")
    return columns, *found, counters


_SEIDEL, _JACOBI = (
    Code(f"the {how}auction algorithm", cpu_auction.allocate, module.auction,
         module.auction_in_slices, _answer_auction)
    for how, module in (("", cpu_auction), ("Jacobi ", cpu_auction_jacobi))
)  # fmt: skip
run_auction = _SEIDEL.run
download_auction = _SEIDEL.download


def auction(
    matrix: np.ndarray, theta: int = cpu_auction.THETA, tolerance: float | None = None
) -> Answer:
    """Solve a checked matrix by the auction algorithm; see `hungarian_o4` and `upload_auction`.

    For float64 the duals are feasible up to rounding, and tight up to ``tolerance / n``.
    """
    return solved(
        matrix, cpu_auction.allocate(matrix, theta, tolerance), _SEIDEL.run, _answer_auction
    )


auction_jacobi = _JACOBI
"""The same by the Jacobi form, with the usual parameters."""


# --------------------------------------------------------------------------- by name

_OVERFLOW = dict.fromkeys(("wide integers", "wide floats"), "overflow|orders of magnitude")

SOLVERS: dict[str, Solver] = {
    "cpu_c": printed.solver(
        "cpu_c", "Algorithms 1 to 9 in turn, CPU", run=run_printed, steps=cpu_hungarian_o4.STEPS
    ),
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
    "cpu_o3": hungarian_o3.solver("cpu_o3", "Hungarian O(n^3), CPU"),
    "cpu_o3_tree": hungarian_o3_tree.solver("cpu_o3_tree", "Hungarian O(n^3) by one tree, CPU"),
    "cpu_sp": shortest_path.solver("cpu_sp", "Shortest augmenting paths, CPU"),
    "cpu_sp_lists": scan_lists.solver("cpu_sp_lists", "Shortest paths with lists, CPU"),
    "cpu_sp_plain": scan_lists_plain.solver("cpu_sp_plain", "Shortest paths alone, CPU"),
    "cpu_auction": _SEIDEL.solver(
        "cpu_auction", "Auction, CPU", upload=upload_auction, limits=_OVERFLOW
    ),
    "cpu_auction_jacobi": _JACOBI.solver(
        "cpu_auction_jacobi", "Jacobi auction, CPU", upload=upload_auction, limits=_OVERFLOW
    ),
}
