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
from typing import Any, NamedTuple

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.gpu.limits import largest
from papers.common.model import Assignment, Solver
from papers.common.problems import assignment_proof
from papers.synthesis.assignment.costs import (
    INFEASIBLE,
    SHARE_OF_OPTIMUM,
    Costs,
    UnfinishedError,
    UnresolvedError,
    finish,
    prepare,
)
from papers.synthesis.one_core import monge, steps
from papers.synthesis.one_core.short import short_way

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


class Bounds(NamedTuple):
    """Values that the shape, the type and the range of the costs decide.

    Attributes
    ----------
    top, away : dual
        What no distance is, and what none reaches; see `steps.shortest_paths`.
    whole, square : bool
        Whether costs are whole numbers, and as many rows as columns.
    scaled_above : float
        Free rows behind the first turns above which costs are scaled.
    share : int
        Rows that paths are made for between two looks at the clock.
    sorts : bool
        Whether lines may be sorted: their duals do not overflow.
    """

    top: Any
    away: Any
    whole: bool
    square: bool
    scaled_above: float
    share: int
    sorts: bool


def bounds_of(costs: Costs) -> Bounds:
    """The bounds for costs in working form."""
    (n, m), whole, top = costs.shape, costs.dual.kind == "i", largest(costs.dual)
    return Bounds(
        top, costs.dual.type(AWAY) if whole else top, whole, n == m,
        SCALE_ABOVE * n if n == m else float(n), max(1, LOOKED_AT // max(1, costs.size)),
        not whole or n * costs.spread < monge.SORTED_BELOW,
    )  # fmt: skip


COUNTS = ("sorted", "bids", "scales", "left_free", "repairs", "scans", "restarts")
"""The counters; see `download`."""


@dataclass
class State:
    """Costs in working form, and the answer.

    Attributes
    ----------
    costs : Costs
    bounds : Bounds
    free : int64[n]
        Rows: the free ones come first.
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
    bounds: Bounds
    seconds: float | None
    free: np.ndarray
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
    lines = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(m, np.int64)
    return State(
        costs, bounds_of(costs), seconds, *lines, np.zeros(n, costs.dual), np.zeros(m, costs.dual)
    )


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
    papers.synthesis.assignment.costs.UnfinishedError
        If pairs of integers are loose, which is a fault. The calls then go on to SciPy, too.
    """
    state.solved = False
    deadline = Deadline(state.seconds)
    state.counters = dict.fromkeys(COUNTS, 0)
    left, slack = _begin(state, deadline)
    if not _end(state, left, deadline, slack):
        if state.bounds.whole:
            raise UnfinishedError(
                f"pairs are still loose after {state.counters['repairs']} repairs"
            )
        # A bid of a large cost lowers a dual by as much, and small costs are lost beside it.
        state.counters["restarts"] = 1
        _forget(state)
        state.v[:] = 0
        if not _end(state, len(state.free), deadline):
            raise UnresolvedError(
                "float64 does not resolve these costs: the duals prove too little"
            )
    state.solved = True


Slack = tuple[Any, Any]
"""A complete matching's pairs above their rows' least distances, added up, and the pairs' sum."""


def _begin(state: State, deadline: Deadline) -> tuple[int, Slack | None]:
    """Match most rows from the beginning; all, where the turns leave few.

    Returns
    -------
    left : int
        Rows that the turns have left, with which ``state.free`` begins.
    slack : (dual, dual) or None
        None if paths have not matched these yet.
    """
    matrix, counts, free, bounds = state.costs.matrix, state.counters, state.free, state.bounds
    pairs, n, top = (state.column, state.row, free), len(free), bounds.top
    most = min(bounds.scaled_above, float(bounds.share))
    given = matrix, state.v, state.u, *pairs, most
    left, bids, scans, *slack = short_way(*given, bounds.sorts, top, bounds.away)
    if left < 0:
        left = _sort(state)
        deadline.check(f"{n - left} rows of {n}", reached=counts)
        if counts["sorted"]:
            left, bids = steps.take_in_turn(matrix, state.v, *pairs, left, 4 * n, top)
            most = -1.0
        else:
            left, bids, scans, *slack = short_way(*given, False, top, bounds.away)
    counts["bids"] = bids
    deadline.check(f"{n - left} rows of {n}", reached=counts)
    if left > bounds.scaled_above:
        _scale(state, deadline)
        left = steps.keep_tight(matrix, state.v, state.u, *pairs, state.costs.loose, top)
        left, bids = steps.take_in_turn(matrix, state.v, *pairs, left, 4 * n, top)
        counts["bids"] += bids
        most = -1.0
    counts["left_free"] = left
    if left > most:
        return left, None
    if scans < 0:
        raise ValueError(INFEASIBLE)
    counts["scans"] = scans
    return left, (slack[0], slack[1])


def _forget(state: State) -> None:
    """Free all rows."""
    state.free[:] = np.arange(len(state.free))
    state.column[:], state.row[:] = -1, -1


def _sort(state: State) -> int:
    """Match by sorting; the number of rows that this leaves free, all if they are not few."""
    matrix, n = state.costs.matrix, len(state.free)
    monge.match_sorted(matrix, state.v, state.column, state.row)
    pairs = state.u, state.column, state.row, state.free
    left = int(steps.keep_tight(matrix, state.v, *pairs, state.costs.loose, state.bounds.top))
    if left <= SCALE_ABOVE * n:
        state.counters["sorted"] = 1
        return left
    return n


def _end(state: State, left: int, deadline: Deadline, slack: Slack | None = None) -> bool:
    """Match the rows that are left by shortest paths; whether the duals prove the answer.

    Pairs of a square that rounding has left loose are parted and matched anew. A rectangle's are
    not: a column without a row has to keep the dual that it began with. With `slack` there were
    paths already.
    """
    costs, counts, bounds = state.costs, state.counters, state.bounds
    matrix, v, column, row, free = costs.matrix, state.v, state.column, state.row, state.free
    n, top, share = len(free), bounds.top, bounds.share
    for counts["repairs"] in range((REPAIRS if bounds.square else 0) + 1):
        if slack is None:
            for begin in range(0, left, share):
                deadline.check(f"{n - left + begin} rows of {n}", reached=counts)
                part = begin, min(left, begin + share)
                scans = steps.shortest_paths(matrix, v, column, row, free, *part, top, bounds.away)
                if scans < 0:
                    raise ValueError(INFEASIBLE)
                counts["scans"] += scans
            slack = steps.slack_of(matrix, v, state.u, column, top)
        if _is_little(state, *slack):
            return bounds.whole or _is_proved(state)
        slack = None
        left = steps.keep_tight(matrix, v, state.u, column, row, free, costs.loose, top)
    return False


def _is_little(state: State, slack: Any, total: Any) -> bool:
    """Whether the pairs lie above their rows' least distances by no more than a proof allows.

    Integers leave nothing. Floats may leave each pair `Costs.loose`, or all of them a share of
    their sum, which is a seventh of what proofs accept (`costs.loose_slack`). This is their
    distance as float64 computes it: `_is_proved` says what it is worth.
    """
    if state.bounds.whole:
        return bool(slack == 0)
    most = max(state.costs.loose * len(state.free), SHARE_OF_OPTIMUM * abs(total))
    return bool(slack <= most)


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


def _scale(state: State, deadline: Deadline) -> None:
    """Auction by one eps after the other, each from the empty matching and the duals so far."""
    costs, counts, bounds = state.costs, state.counters, state.bounds
    matrix, n, top = costs.matrix, len(state.free), bounds.top
    eps = FIRST_EPS * steps.mean_slack(matrix, state.v, SAMPLED_ROWS, top)
    for _ in range(MOST_SCALES):
        step = costs.dual.type(eps)
        if not step > 0:
            break
        deadline.check(f"{counts['scales']} scales", reached=counts)
        _forget(state)
        left, stop, most = n, int(LEFT_FREE * n), MOST_BIDS * n
        while left > stop and most > 0:
            given = matrix, state.v, state.column, state.row, state.free, left
            limit = min(most, max(1, LOOKED_AT // matrix.shape[1]))
            left, bids = steps.auction(*given, step, stop, limit, top)
            most -= bids
            counts["bids"] += bids
            deadline.check(f"{counts['bids']} bids", reached=counts)
        counts["scales"] += 1
        eps = step // DIVISOR if bounds.whole else step / DIVISOR


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
