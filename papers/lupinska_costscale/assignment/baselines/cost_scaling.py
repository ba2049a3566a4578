"""Sequential cost scaling on one core, compiled by Numba: `reference` at speed.

The three versions of refine, price updates and arc fixing as `reference` has them, with a stack of
active nodes, each discharged until it has no excess left. `refine` has the compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.model import Assignment, GivenUpError, Solver
from papers.lupinska_costscale.assignment.baselines.refine import (
    COUNTERS,
    EXCEEDED,
    GOING,
    STUCK,
    Ends,
    Method,
    Place,
    min_cost,
)
from papers.lupinska_costscale.assignment.costs import Costs, answer, read
from papers.lupinska_costscale.assignment.kernels.arguments import Arcs, Lists, Vertices
from papers.lupinska_costscale.assignment.reference import ALPHA, VERSIONS, relabel_bound

SLICE = 1 << 22
"""Pushes and relabels between two looks at the clock and the bounds."""


@dataclass
class State:
    """A problem on its way through the three stages.

    Attributes
    ----------
    costs : Costs
    version : str
    alpha : int
    price_updates, arc_fixing : bool
    seconds : float or None
        Time that a run may take.
    flow, price, excess : int32[M], int64[2 N], int32[2 N]
    counters : int64[5]
        In the order of `COUNTERS`.
    solved : bool
    """

    costs: Costs
    version: str
    alpha: int
    price_updates: bool
    arc_fixing: bool
    seconds: float | None = None
    flow: np.ndarray = field(init=False)
    price: np.ndarray = field(init=False)
    excess: np.ndarray = field(init=False)
    counters: np.ndarray = field(init=False)
    solved: bool = False

    def __post_init__(self) -> None:
        nodes = 2 * self.costs.n
        self.flow = np.empty(self.costs.cost.size, np.int32)
        self.price, self.excess = np.empty(nodes, np.int64), np.empty(nodes, np.int32)
        self.counters = np.zeros(len(COUNTERS), np.int64)

    @property
    def problem(self) -> Any:
        """The caller's problem."""
        return self.costs.problem


def upload(
    cost: Any,
    maximize: bool = False,
    version: str = "5.2",
    alpha: int = ALPHA,
    price_updates: bool = True,
    arc_fixing: bool = True,
    seconds: float | None = None,
) -> State:
    """Check the input and allocate.

    Parameters
    ----------
    cost : array_like[n, m] or scipy.sparse[n, m]
        See `costs.read`.
    maximize : bool
    version : {"5.0", "5.1", "5.2"}
    alpha : int
        The number, at least 2, that eps is divided by.
    price_updates : bool
        Update prices whenever |V| relabels have been made.
    arc_fixing : bool
        Fix arcs after each refine.
    seconds : float, optional
        Time after which `run` gives up; it looks every `SLICE` pushes and relabels.

    Raises
    ------
    ValueError
        Bad costs or a bad option.
    """
    if version not in VERSIONS:
        raise ValueError(f"version={version!r} is not one of {', '.join(VERSIONS)}")
    check_options(alpha, price_updates=price_updates, arc_fixing=arc_fixing)
    check_seconds(seconds)
    costs = read(cost, maximize)
    return State(costs, version, int(alpha), price_updates, arc_fixing, seconds)


def check_options(alpha: Any, **switches: Any) -> None:
    """Refuse an `alpha` below 2 and switches that are not booleans.

    Raises
    ------
    ValueError
    """
    if not isinstance(alpha, (int, np.integer)) or isinstance(alpha, bool) or alpha < 2:
        raise ValueError(f"alpha={alpha!r} is no whole number from 2 on")
    for name, value in switches.items():
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name}={value!r} is neither True nor False")


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Refine until eps is below 1/n [LU11 Alg.5.0]; may be called again on the same state.

    A refine is held to two bounds: on relabels (`reference.relabel_bound`), and on pushes without
    one, of which there are at most as many as arcs in a row: no price changes in between, so that
    an arc that was pushed along has a positive reduced cost on the way back.

    Raises
    ------
    GivenUpError
        At one of the bounds, or after ``state.seconds``.
    RuntimeError
        If an active node has no operation [LU11 Lemma 5.1].
    """
    costs, counters = state.costs, state.counters
    state.solved, deadline = False, Deadline(state.seconds)
    state.flow[:], state.price[:], counters[:] = 0, 0, 0
    if costs.n:
        bound = relabel_bound(2 * costs.n, state.alpha)
        lists = Lists(costs.first, costs.first[1:].copy(), costs.head.copy(), costs.arc.copy())
        place = Place.start(costs.n, max(costs.largest, 2))
        method = Method(
            VERSIONS.index(state.version), state.alpha, state.price_updates, state.arc_fixing
        )
        given = (
            costs.n, lists, Ends(costs.tail, costs.tip), Arcs(costs.cost, state.flow),
            Vertices(state.price, state.excess), place, method, bound,
        )  # fmt: skip
        last = 0, 0
        while wrong := min_cost(*given, SLICE + sum(_operations(state)), counters):
            last = _check(state, wrong, bound, last)
            deadline.check(f"{sum(_operations(state))} operations", reached=_reached(state))
    state.solved = True


def _operations(state: State) -> tuple[int, int]:
    """Pushes and relabels so far."""
    reached = _reached(state)
    return reached["pushes"], reached["relabels"]


def _reached(state: State) -> dict[str, int]:
    """Return the counts that a run has reached when it gives up."""
    return dict(zip(COUNTERS, state.counters.tolist(), strict=True))


def _check(state: State, wrong: int, bound: int, last: tuple[int, int]) -> tuple[int, int]:
    """Give up at a bound on the work; return pushes and relabels when one was last relabeled.

    Parameters
    ----------
    state : State
    wrong : int
        What `min_cost` has returned, not 0.
    bound : int
        Relabels that a refine may take.
    last : (int, int)
        What this function has returned one slice before.

    Raises
    ------
    GivenUpError
        At a bound.
    RuntimeError
        If an active node has no operation.
    """
    (pushes, relabels), arcs = _operations(state), state.costs.cost.size
    if wrong == EXCEEDED:
        raise GivenUpError(f"refine exceeded {bound} relabels", reached=_reached(state))
    if wrong == STUCK:
        raise RuntimeError("an active node has no residual arc")
    assert wrong == GOING
    if relabels > last[1]:
        return pushes, relabels
    if pushes - last[0] > arcs * _reached(state)["refines"]:
        message = f"{pushes - last[0]} pushes along {arcs} arcs and no relabel in a row"
        raise GivenUpError(message, reached=_reached(state))
    return last


def download(state: State) -> Assignment:
    """Return the assignment with exact duals.

    Raises
    ------
    RuntimeError
        If no run has ended.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    named = dict(zip(COUNTERS, state.counters.tolist(), strict=True))
    return answer(state.costs, state.flow, state.price, named)


def solve(cost: Any, maximize: bool = False, **options: Any) -> Assignment:
    """Solve an assignment problem on one core; options as `upload`'s.

    Raises
    ------
    ValueError, RuntimeError
        From the three stages.
    """
    state = upload(cost, maximize, **options)
    run(state)
    return download(state)


SOLVERS = {
    "cost_scaling": Solver(
        name="cost_scaling",
        title="cost scaling, one core [LU11 Alg.5.2]",
        device="cpu",
        problem="assignment",
        upload=upload,
        run=run,
        download=download,
        limits=dict.fromkeys(("wide integers", "wide floats"), "overflow|orders of magnitude"),
    )
}
