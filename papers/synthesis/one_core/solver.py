"""Solves assignment on one core, exactly: the schedule of the GPU's solver, without a GPU.

| step | what it is for |
| --- | --- |
| lines are sorted, if a sample says so (`monge`) | products, and distances on a line |
| rows take their nearest columns in turn | matches nine rows in ten of uniform costs |
| an auction by scales of eps, each ended while rows are free | structured costs |
| loose pairs are parted, rows take columns in turn again | an optimum needs eps 0 |
| shortest augmenting paths from the rows that are left | exact |
| floats: the same paths alone, from the beginning | duals that have outgrown the costs |

The scales are of D. Bertsekas, the turns and the paths Jonker and Volgenant's; to end each scale
while rows are free is what `papers.synthesis.assignment` does, too (its `Settings.left_free`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.gpu.limits import largest
from papers.common.model import Assignment, Solver
from papers.common.problems import assignment_proof
from papers.synthesis.assignment.costs import (
    INFEASIBLE,
    SHARE_OF_OPTIMUM,
    Costs,
    UnresolvedError,
    finish,
    prepare,
)
from papers.synthesis.one_core import monge, steps
from papers.synthesis.one_core.sortable import SORTED_BELOW

SCALE_ABOVE = 0.1
"""The costs are scaled if more of the rows are free after the first turns."""

LEFT_FREE = 0.01
"""Rows that a scale leaves free, of all."""

FIRST_EPS = 0.25
"""The first eps, of the mean distance above a row's nearest column."""

DIVISOR = 4
"""The quotient of an eps and the next one."""

MOST_SCALES = 8

MOST_BIDS = 40
"""Bids of a scale for each row, at most."""

SAMPLED_ROWS = 32
"""Rows, evenly spread, whose distances the mean is taken over."""

REPAIRS = 4
"""Floats: how often pairs that rounding has left loose are parted and matched anew."""

AWAY = 2**60
"""No distance of integers comes here: see `papers.synthesis.assignment.costs`."""

LOOKED_AT = 2**27
"""Entries of the matrix that are read before the clock is looked at: about a tenth of a second."""


@dataclass
class State:
    """Costs in working form, and the answer.

    Attributes
    ----------
    costs : Costs
    seconds : float or None
        Time that a run may take.
    column, row : int64[n], int64[m]
        The matching, -1 for none.
    u, v : int64 or float64, [n] and [m]
    counters : dict of str to int
    solved : bool
        Whether the last run has ended well.
    """

    costs: Costs
    seconds: float | None
    column: np.ndarray
    row: np.ndarray
    u: np.ndarray
    v: np.ndarray
    counters: dict[str, int] = field(default_factory=dict)
    solved: bool = False


def upload(
    cost: Any, maximize: bool = False, dtype: Any = None, seconds: float | None = None
) -> State:
    """Check the costs and bring them into working form.

    Parameters
    ----------
    cost : array_like[rows, columns]
        See `papers.synthesis.assignment.costs.prepare`, which names the errors, too.
    maximize : bool
    dtype : {"int32", "int64", "float64"}, optional
        The working type; by default the narrowest that holds the range.
    seconds : float, optional
        A run without an answer gives up after so long.

    Returns
    -------
    State
    """
    check_seconds(seconds)
    costs = prepare(cost, maximize, dtype)
    n, m = costs.shape
    lines = np.empty(n, np.int64), np.empty(m, np.int64)
    return State(costs, seconds, *lines, np.zeros(n, costs.dual), np.zeros(m, costs.dual))


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Solve, from the beginning.

    Parameters
    ----------
    state : State
    trace : callable, optional
        Not called.

    Raises
    ------
    ValueError
        If every complete assignment has a forbidden pair.
    papers.synthesis.assignment.costs.UnresolvedError
        If the duals prove less than `papers.common.problems.assignment_proof` asks for. The calls
        then go on to SciPy.
    GivenUpError
        After ``state.seconds``.
    RuntimeError
        If pairs of integers are loose, which is a fault.
    """
    state.solved = False
    costs, deadline = state.costs, Deadline(state.seconds)
    n = costs.shape[0]
    free = np.arange(n, dtype=np.int64)
    state.column[:], state.row[:], state.v[:] = -1, -1, 0
    counts = ("sorted", "bids", "scales", "left_free", "repairs", "scans", "restarts")
    state.counters = dict.fromkeys(counts, 0)
    left = _begin(state, free, deadline)
    if not _end(state, free, left, deadline):
        if costs.dual.kind == "i":
            raise RuntimeError(f"pairs are still loose after {state.counters['repairs']} repairs")
        # A bid of a large cost lowers a dual by as much, and small costs are lost beside it.
        state.counters["restarts"] = 1
        state.column[:], state.row[:], state.v[:] = -1, -1, 0
        free[:] = np.arange(n)
        if not _end(state, free, n, deadline):
            raise UnresolvedError(
                "float64 does not resolve these costs: the duals prove too little"
            )
    state.solved = True


def _begin(state: State, free: np.ndarray, deadline: Deadline) -> int:
    """Match most rows; `free` begins with the others, whose number is returned."""
    costs, counts = state.costs, state.counters
    n, m = costs.shape
    matrix, v, column, row = costs.matrix, state.v, state.column, state.row
    top = largest(costs.dual)
    left = _sort(state, free) if n and n == m and not steps.looks_settled(matrix) else n
    deadline.check(f"{n - left} rows of {n}", reached=counts)
    if n and n == m and not counts["sorted"]:
        steps.column_minima(matrix, v, top)
    left, counts["bids"] = steps.take_in_turn(matrix, v, column, row, free, left, 4 * n, top)
    if n == m and left > SCALE_ABOVE * n:
        _scale(state, free, deadline)
        left = steps.keep_tight(matrix, v, state.u, column, row, free, costs.loose, top)
        left, bids = steps.take_in_turn(matrix, v, column, row, free, left, 4 * n, top)
        counts["bids"] += bids
    counts["left_free"] = left
    return left


def _sort(state: State, free: np.ndarray) -> int:
    """Match by sorting where that leaves few rows free; the number of those, else all."""
    costs, n = state.costs, state.costs.shape[0]
    whole = costs.dual.kind == "i"
    if (whole and n * costs.spread >= SORTED_BELOW) or not monge.looks_sortable(costs.matrix):
        return n
    monge.match_sorted(costs.matrix, state.v, state.column, state.row)
    pairs = state.u, state.column, state.row, free
    left = int(steps.keep_tight(costs.matrix, state.v, *pairs, costs.loose, largest(costs.dual)))
    if left <= SCALE_ABOVE * n:
        state.counters["sorted"] = 1
        return left
    free[:] = np.arange(n)
    state.column[:], state.row[:], state.v[:] = -1, -1, 0
    return n


def _end(state: State, free: np.ndarray, left: int, deadline: Deadline) -> bool:
    """Match the rows that are left by shortest paths; whether the duals prove the answer.

    Pairs of a square that rounding has left loose are parted and matched anew. A rectangle's are
    not: a column without a row has to keep the dual that it began with.
    """
    costs, counts = state.costs, state.counters
    n, m = costs.shape
    matrix, v, column, row = costs.matrix, state.v, state.column, state.row
    whole = costs.dual.kind == "i"
    top = largest(costs.dual)
    away = costs.dual.type(AWAY) if whole else top
    share = max(1, LOOKED_AT // max(1, costs.size))
    for counts["repairs"] in range((REPAIRS if n == m else 0) + 1):
        for begin in range(0, left, share):
            deadline.check(f"{n - left + begin} rows of {n}", reached=counts)
            end = min(left, begin + share)
            scans = steps.shortest_paths(matrix, v, column, row, free, begin, end, top, away)
            if scans < 0:
                raise ValueError(INFEASIBLE)
            counts["scans"] += scans
        if _is_tight(state, top):
            return whole or _is_proved(state)
        left = steps.keep_tight(matrix, v, state.u, column, row, free, costs.loose, top)
    return False


def _is_tight(state: State, top: Any) -> bool:
    """Set the rows' duals; whether the pairs lie above them by no more than a proof allows.

    Integers leave nothing. Floats may leave each pair `Costs.loose`, or all of them a share of
    their sum, which is a seventh of what proofs accept (`costs.loose_slack`). This is their
    distance as float64 computes it: `_is_proved` says what it is worth.
    """
    costs = state.costs
    if not costs.size:
        return True
    slack, total = steps.slack_of(costs.matrix, state.v, state.u, state.column, top)
    return bool(slack <= max(costs.loose * costs.shape[0], SHARE_OF_OPTIMUM * abs(total))
                if costs.dual.kind == "f" else slack == 0)  # fmt: skip


def _is_proved(state: State) -> bool:
    """Whether the duals of floats prove the answer, whatever was rounded on the way to them.

    By sums; or since no row has a smaller cost than its own, with the duals that say so; or, where
    neither suffices, by the proof, which looks at all costs beside both duals.
    """
    costs, u, v = state.costs, state.u, state.v
    if not costs.size or steps.are_proved(costs.matrix, v, u, state.column, state.row):
        return True
    assert costs.cost is not None  # on this side costs are the caller's
    answer = finish(costs, state.column, u, v, {})
    return assignment_proof.assignment(costs.cost, answer).ok


def _scale(state: State, free: np.ndarray, deadline: Deadline) -> None:
    """Auction by one eps after the other, each from the empty matching and the duals so far."""
    costs, counts = state.costs, state.counters
    matrix, n, top = costs.matrix, costs.shape[0], largest(costs.dual)
    eps = FIRST_EPS * steps.mean_slack(matrix, state.v, SAMPLED_ROWS, top)
    whole = costs.dual.kind == "i"
    for _ in range(MOST_SCALES):
        step = costs.dual.type(eps)
        if not step > 0:
            break
        deadline.check(f"{counts['scales']} scales", reached=counts)
        free[:] = np.arange(n)
        state.column[:], state.row[:] = -1, -1
        left, stop, most = n, int(LEFT_FREE * n), MOST_BIDS * n
        while left > stop and most > 0:
            given = matrix, state.v, state.column, state.row, free, left
            limit = min(most, max(1, LOOKED_AT // matrix.shape[1]))
            left, bids = steps.auction(*given, step, stop, limit, top)
            most -= bids
            counts["bids"] += bids
            deadline.check(f"{counts['bids']} bids", reached=counts)
        counts["scales"] += 1
        eps = step // DIVISOR if whole else step / DIVISOR


def download(state: State) -> Assignment:
    """Return the assignment with its duals.

    Its counters: ``sorted`` (1 if sorted lines were the start), ``bids``, ``scales``,
    ``left_free`` (rows that the paths began with),
    ``repairs``, ``scans`` (rows that paths have looked at), ``restarts`` (1 if paths alone have
    matched all rows in the end).

    Raises
    ------
    RuntimeError
        If no run has ended with an answer.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    return finish(state.costs, state.column, state.u, state.v, state.counters)


def solve(
    cost: Any, maximize: bool = False, dtype: Any = None, seconds: float | None = None
) -> Assignment:
    """Upload, run, download; `upload` and `run` name parameters and errors."""
    state = upload(cost, maximize, dtype, seconds)
    run(state)
    return download(state)


SOLVER = Solver(
    name="one_core",
    title="synthesis: dense costs, one core",
    device="cpu",
    problem="assignment",
    upload=upload,
    run=run,
    download=download,
    limits={"wide integers": "overflow"},
)
