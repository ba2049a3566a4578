"""The host's side of the lock-free cost scaling [LU11 sec.5.5]: upload, the loop, download.

Two loops. ``"host"`` is the paper's: for each epsilon the refine kernel runs until the pseudoflow
is a flow, CYCLE turns at a time; after its first run come the heuristics, arc fixing as a kernel
and the price update on the host, for which flows and prices travel. ``"device"`` is ours: all of it
in one launch, for complete graphs of up to 64 a side, without heuristics.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.deadline import Deadline, check_count, check_seconds
from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.gpu.launch import Launch
from papers.common.model import Assignment, GivenUpError, Solver
from papers.lupinska_costscale.assignment.baselines.cost_scaling import check_options
from papers.lupinska_costscale.assignment.baselines.refine import price_update
from papers.lupinska_costscale.assignment.costs import Costs, answer, read
from papers.lupinska_costscale.assignment.kernels import lock_free, one_launch
from papers.lupinska_costscale.assignment.kernels.arguments import Arcs, Lists, Vertices
from papers.lupinska_costscale.assignment.launches import (
    SWEEPS,
    Geometry,
    allocate,
    allocate_block,
    bind_block,
    bind_refine,
    bind_start,
    check_size,
)
from papers.lupinska_costscale.assignment.reference import ALPHA, relabel_bound

CYCLE = 500_000
"""Turns of a node's thread in one run of the kernel [LU11 sec.5.5]."""

MOST_TURNS = 2**63 - 1
"""Turns and relabels are counted in 64 bits."""

LOOPS = ("host", "device")
PRICE_UPDATES = ("first", "every", "none")
STEPS = ("start_refine", "refine", "arc_fixing", "price_update")
COUNTERS = ("refines", "pushes", "relabels", "price_updates", "arcs_fixed", "kernel_launches")


@dataclass
class State:
    """Everything `run` touches: device arrays, bound launches, counters.

    Attributes
    ----------
    costs : Costs
        The checked problem.
    loop : {"host", "device"}
    alpha, cycle : int
    price_updates : {"first", "every", "none"}
    arc_fixing : bool
    operations : int
        Relabels that a refine may take before it is given up.
    seconds : float or None
        Time that a run may take.
    epsilons : list of int
        Each refine's epsilon, falling to 1.
    launches : list of dict of str to Launch
        One dict an epsilon; of the one launch: one in all.
    count : Counter
    tally : int64[3]
        The device's counters as of the last run of the kernel.
    solved : bool
        Whether `run` has ended well.
    """

    costs: Costs
    loop: str
    alpha: int
    cycle: int
    price_updates: str
    arc_fixing: bool
    operations: int
    seconds: float | None = None
    epsilons: list[int] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    start: Launch | None = None
    launches: list[dict[str, Launch]] = field(default_factory=list)
    count: Counter = field(default_factory=Counter)
    tally: Any = None
    solved: bool = False

    @property
    def problem(self) -> Any:
        """The caller's problem."""
        return self.costs.problem


# ------------------------------------------------------------------------------- upload


def upload(
    cost: Any,
    maximize: bool = False,
    alpha: int = ALPHA,
    cycle: int = CYCLE,
    price_updates: str = "first",
    arc_fixing: bool = True,
    loop: str = "host",
    operations: int | None = None,
    seconds: float | None = None,
    geometry: Geometry | None = None,
) -> State:
    """Check the input, allocate everything, copy the graph to the device, bind the launches.

    Parameters
    ----------
    cost : array_like[n, m] or scipy.sparse[n, m]
        See `papers.lupinska_costscale.assignment.costs.read`.
    maximize : bool
        Whether the sum is to be maximized, as in the paper.
    alpha : int
        ALPHA: what epsilon is divided by; at least 2.
    cycle : int
        CYCLE: turns of each thread before the control goes back to the host.
    price_updates : {"first", "every", "none"}
        After which runs of the kernel, of each refine, the host updates prices. Where the run has
        left no node active, there is nothing to update.
    arc_fixing : bool
        Whether arcs are fixed, once a refine has its flow.
    loop : {"host", "device"}
        The paper's loop, or one launch (complete graphs, at most 64 a side, no heuristics).
    operations : int, optional
        Relabels that a refine may take (in the one launch: sweeps of a warp); by default the
        algorithm's bound.
    seconds : float, optional
        A run without an answer gives up after so long; it looks after every run of the kernel, of
        `cycle` turns, but the last. The one launch is always waited for: its sweeps are bounded.
    geometry : Geometry, optional
        Launch shapes; by default those that suit the device.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        Bad costs or options, or a problem too large for the card.
    """
    check_options(alpha, arc_fixing=arc_fixing)
    choices = ("price_updates", price_updates, PRICE_UPDATES), ("loop", loop, LOOPS)
    for name, chosen, known in choices:
        if chosen not in known:
            raise ValueError(f"{name}={chosen!r} is not one of {', '.join(known)}")
    check_count("cycle", cycle, most=MOST_TURNS)
    if operations is not None:
        check_count("operations", operations, most=MOST_TURNS)
    check_seconds(seconds)
    costs = read(cost, maximize)
    if loop == "device":
        check_block(costs)
    bound = relabel_bound(2 * costs.n, alpha) if loop == "host" else SWEEPS
    limit = bound if operations is None else int(operations)
    state = State(costs, loop, int(alpha), int(cycle), price_updates, arc_fixing, limit, seconds)
    if costs.n:
        prepare(state, geometry or Geometry.for_device(costs.n, loop))
    return state


def check_block(costs: Costs) -> None:
    """Refuse what the one launch does not take.

    Raises
    ------
    ValueError
        For more than 64 nodes a side, or absent pairs.
    """
    if costs.n > one_launch.LARGEST:
        raise ValueError(
            f"loop='device' takes at most {one_launch.LARGEST} nodes a side, not {costs.n}"
        )
    if not costs.complete:
        raise ValueError("loop='device' takes complete graphs: no forbidden or absent pairs")


def prepare(state: State, shapes: Geometry) -> None:
    """Allocate, and bind the launches of every epsilon."""
    costs = state.costs
    state.epsilons = epsilons(costs.largest, state.alpha)
    check_size(costs)
    if state.loop == "device":
        state.arrays = allocate_block(costs)
        start = max(costs.largest, 2)
        launch = bind_block(costs, state.arrays, shapes, state.alpha, start, state.operations)
        state.launches = [{"cost_scaling": launch}]
        return
    state.arrays = allocate(costs)
    state.start = bind_start(costs, state.arrays, shapes)
    state.launches = [
        bind_refine(costs, state.arrays, shapes, eps, state.cycle) for eps in state.epsilons
    ]


def epsilons(largest: int, alpha: int) -> list[int]:
    """Each refine's epsilon: C / alpha, and so on, rounded up, to 1 [LU11 Alg.5.0]."""
    values = [max(largest, 2)]
    while values[-1] > 1:
        values.append(-(-values[-1] // alpha))
    return values[1:]


# ------------------------------------------------------------------------------- run


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Refine until epsilon is below 1/n [LU11 Alg.5.0].

    Parameters
    ----------
    state : State
        From `upload`; may be run again.
    trace : callable, optional
        Called with the name of each step as it begins.

    Raises
    ------
    GivenUpError
        If a refine exceeds its bound of operations, or the time is over.
    RuntimeError
        If an active node finds no operation.
    """
    state.solved = False
    state.count.clear()
    mark, deadline = trace or no_trace, Deadline(state.seconds)
    if state.costs.n and state.loop == "device":
        mark("refine")
        _launch(state, state.launches[0]["cost_scaling"])
        ended = int(device.to_host(state.arrays["ended"])[0])
        if ended != one_launch.DONE:
            tally = device.to_host(state.arrays["tally"])
            reached = _reached(tally) | {"refines": int(tally[2])}
            raise GivenUpError(f"a refine exceeded {state.operations} sweeps", reached=reached)
    elif state.costs.n:
        _launch(state, state.start)
        state.tally = np.zeros(lock_free.TALLIES, np.int64)
        for eps, launches in zip(state.epsilons, state.launches, strict=True):
            if state.count["refines"]:
                text = f"{state.count['refines']} refines of {len(state.epsilons)}"
                deadline.check(text, reached=_reached(state.tally))
            refine(state, eps, launches, mark, deadline)
    state.solved = True


def refine(
    state: State,
    eps: int,
    launches: dict[str, Launch],
    mark: Callable[[str], None],
    deadline: Deadline,
) -> None:
    """The kernel, again and again, until the pseudoflow is a flow; heuristics after its first run.

    Paper: [LU11 Alg.5.2] with the loop of [LU11 sec.5.5].
    """
    state.count["refines"] += 1
    mark("start_refine")
    _launch(state, launches["start_refine"])
    before = done = state.tally
    flat = 0
    for number in itertools.count():
        mark("refine")
        _launch(state, launches["refine"])
        lacks, stuck = device.to_host(state.arrays["flags"]).tolist()
        if stuck:
            raise RuntimeError("an active node has no residual arc")
        last, done = done, device.to_host(state.arrays["tally"])
        pushes, relabels = (done - last)[: lock_free.ARCS_FIXED].tolist()
        if lacks and not (pushes or relabels):
            raise RuntimeError(f"a run of {state.cycle} turns did nothing, {lacks} y lack a unit")
        flat = 0 if relabels else flat + pushes
        _check_work(state, (done - before)[lock_free.RELABELS], flat, done)
        if state.price_updates == "every" or (state.price_updates == "first" and number == 0):
            mark("price_update")
            if lacks:  # where no node is active, [LU11 Alg.5.3] ends before it begins
                global_price_update(state, eps)
                flat = 0
        if lacks == 0:
            break
        operations = done[lock_free.PUSHES] + done[lock_free.RELABELS]
        deadline.check(f"{operations} operations: {lacks} y lack a unit", reached=_reached(done))
    state.tally = done
    if state.arc_fixing and eps > 1:
        mark("arc_fixing")
        _launch(state, launches["arc_fixing"])


def _check_work(state: State, relabels: int, flat: int, done: np.ndarray) -> None:
    """Give up at a bound on the work of a refine.

    Two bounds, of which a wrong kernel meets one soon. A node is relabeled at most so often
    (`reference.relabel_bound`). And as long as no price changes, a push is along an arc of negative
    reduced cost, and back it is positive: so in runs of the kernel without a relabel there are at
    most as many pushes as arcs. A run without either is refused; so the runs end as well.

    Parameters
    ----------
    state : State
    relabels : int
        In this refine.
    flat : int
        Pushes in the last runs in a row that had no relabel.
    done : int64[3]
        The device's counters.

    Raises
    ------
    GivenUpError
    """
    arcs = state.costs.cost.size
    if relabels > state.operations:
        message = f"a refine exceeded {state.operations} relabels"
        raise GivenUpError(message, reached=_reached(done))
    if flat > arcs:
        message = f"{flat} pushes along {arcs} arcs and no relabel in a row"
        raise GivenUpError(message, reached=_reached(done))


def _reached(done: np.ndarray) -> dict[str, int]:
    """Return the counts that a run has reached when it gives up."""
    return {"pushes": int(done[lock_free.PUSHES]), "relabels": int(done[lock_free.RELABELS])}


def global_price_update(state: State, eps: int) -> None:
    """Prices, excesses and flows to the host, [LU11 Alg.5.3] there, prices back.

    Fixed arcs are told by their flow, and have left the lists that travel along.

    Raises
    ------
    RuntimeError
        If there is no residual path from an active node to a lack.
    """
    names = ("first", "last", "head", "arc", "flow", "price", "excess")
    host = {name: device.to_host(state.arrays[name]) for name in names}
    lists = Lists(*(host[name] for name in Lists._fields))
    arcs = Arcs(state.costs.cost, host["flow"])
    vertices = Vertices(host["price"], host["excess"])
    if not price_update(state.costs.n, lists, arcs, vertices, np.int64(eps)):
        raise RuntimeError("an active node has no residual path to a lack")
    device.overwrite(state.arrays["price"], vertices.price)
    state.count["price_updates"] += 1


def _launch(state: State, launch: Any) -> None:
    launch()
    state.count["kernel_launches"] += 1


# ------------------------------------------------------------------------------- download


def download(state: State) -> Assignment:
    """Copy the answer to the host: the assignment, exact duals, the counters.

    Raises
    ------
    RuntimeError
        If no run has ended, or the answer turns out not to be optimal.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    costs, arrays = state.costs, state.arrays
    if costs.n == 0:
        return answer(costs, np.zeros(0), np.zeros(0, np.int64), _counters(state, (0, 0, 0)))
    tally = device.to_host(arrays["tally"]).tolist()
    if state.loop == "host":
        flow, price = device.to_host(arrays["flow"]), device.to_host(arrays["price"])
        return answer(costs, flow, price, _counters(state, tally))
    flow = (costs.tip == device.to_host(arrays["mates"])[costs.tail]).astype(np.int32)
    state.count["refines"] = tally[2]
    tally[2] = 0
    return answer(costs, flow, device.to_host(arrays["prices"]), _counters(state, tally))


def _counters(state: State, tally: Any) -> dict[str, int]:
    state.count["pushes"], state.count["relabels"], state.count["arcs_fixed"] = map(int, tally)
    return {name: state.count[name] for name in COUNTERS}


def solve(
    cost: Any,
    maximize: bool = False,
    alpha: int = ALPHA,
    cycle: int = CYCLE,
    price_updates: str = "first",
    arc_fixing: bool = True,
    loop: str = "host",
    operations: int | None = None,
    seconds: float | None = None,
    geometry: Geometry | None = None,
) -> Assignment:
    """Solve an assignment problem: see `papers.lupinska_costscale.solve`."""
    state = upload(
        cost, maximize, alpha, cycle, price_updates, arc_fixing, loop, operations, seconds, geometry
    )  # fmt: skip
    run(state)
    return download(state)


SOLVERS = {
    "refine": Solver(
        name="refine",
        title="cost scaling, lock-free refine [LU11 Alg.5.4]",
        device="cuda",
        problem="assignment",
        upload=upload,
        run=run,
        download=download,
        steps=STEPS,
        limits=dict.fromkeys(("wide integers", "wide floats"), "overflow|orders of magnitude"),
    )
}
