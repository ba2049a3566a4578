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
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from papers.common.deadline import Deadline, check_count, check_seconds
from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.gpu.launch import Launch
from papers.common.model import Assignment, GivenUpError, Solver
from papers.lupinska_costscale.assignment.baselines.cost_scaling import check_options
from papers.lupinska_costscale.assignment.baselines.refine import price_update
from papers.lupinska_costscale.assignment.configuration import MOST_TURNS, Configuration, find
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

LOOPS = ("host", "device")
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
    alpha : int
    chosen : Configuration
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
    chosen: Configuration
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
    cycle: int | None = None,
    price_updates: str | None = None,
    arc_fixing: bool = True,
    loop: str = "host",
    operations: int | None = None,
    seconds: float | None = None,
    geometry: Geometry | None = None,
    configuration: str | Configuration = "tuned",
    threads: int | None = None,
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
    cycle : int, optional
        CYCLE: turns of each node before the control goes back to the host; by default the
        configuration's.
    price_updates : {"first", "every", "none"}, optional
        After which runs of the kernel, of each refine, prices are updated; by default the
        configuration's. Where the run has left no node active, there is nothing to update.
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
        Launch shapes; by default those that suit the device and the configuration.
    configuration : str or Configuration
        A name of `assignment.configuration.CONFIGURATIONS`: ``"paper"`` is as printed.
    threads : int, optional
        Threads a block on a GPU; by default the configuration's.

    Returns
    -------
    State

    Raises
    ------
    ValueError
        Bad costs or options, or a problem too large for the card.
    """
    check_options(alpha, arc_fixing=arc_fixing)
    if loop not in LOOPS:
        raise ValueError(f"loop={loop!r} is not one of {', '.join(LOOPS)}")
    asked: dict[str, Any] = {"cycle": cycle, "price_updates": price_updates, "threads": threads}
    chosen = replace(
        find(configuration), **{name: value for name, value in asked.items() if value is not None}
    )
    if operations is not None:
        check_count("operations", operations, most=MOST_TURNS)
    check_seconds(seconds)
    costs = read(cost, maximize)
    if loop == "device":
        check_block(costs)
    bound = relabel_bound(2 * costs.n, alpha) if loop == "host" else SWEEPS
    limit = bound if operations is None else int(operations)
    state = State(costs, loop, int(alpha), chosen, arc_fixing, limit, seconds)
    if costs.n:
        prepare(state, geometry or Geometry.for_device(costs.n, loop, chosen))
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
        bind_refine(costs, state.arrays, shapes, eps, state.chosen) for eps in state.epsilons
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
    updates, on_device = state.chosen.price_updates, state.chosen.updates_on == "device"
    for number in itertools.count():
        mark("refine")
        _launch(state, launches["refine"])
        due = updates == "every" or (updates == "first" and number == 0)
        if due and on_device:
            mark("price_update")
            _launch(state, launches["update_prices"])  # which does nothing where no node is active
        lacks, stuck = device.to_host(state.arrays["flags"]).tolist()
        if stuck:
            raise RuntimeError("an active node has no residual arc, or no residual path to a lack")
        last, done = done, device.to_host(state.arrays["tally"])
        pushes, relabels = (done - last)[: lock_free.ARCS_FIXED].tolist()
        if lacks and not (pushes or relabels):
            turns = state.chosen.cycle
            raise RuntimeError(f"a run of {turns} turns did nothing, {lacks} y lack a unit")
        flat = 0 if relabels else flat + pushes
        _check_work(state, (done - before)[lock_free.RELABELS], flat, done)
        if due and lacks:  # where no node is active, [LU11 Alg.5.3] ends before it begins
            if not on_device:
                mark("price_update")
                global_price_update(state, eps)
            state.count["price_updates"] += 1
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
    cycle: int | None = None,
    price_updates: str | None = None,
    arc_fixing: bool = True,
    loop: str = "host",
    operations: int | None = None,
    seconds: float | None = None,
    geometry: Geometry | None = None,
    configuration: str | Configuration = "tuned",
) -> Assignment:
    """Solve an assignment problem: see `papers.lupinska_costscale.solve`."""
    state = upload(
        cost, maximize, alpha, cycle, price_updates, arc_fixing, loop, operations, seconds,
        geometry, configuration,
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
