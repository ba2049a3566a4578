"""The paper, stepped through: flows on small grids, and an assignment by prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.story import Picture, Story, Telling, Trace, square_costs
from papers.common.executor.recorder import Recorder
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.problems.network import Grid
from papers.lupinska_costscale.assignment import costs as pairs
from papers.lupinska_costscale.assignment import solver as assignments
from papers.lupinska_costscale.assignment.launches import Geometry
from papers.lupinska_costscale.evidence.trace import flows, prices
from papers.lupinska_costscale.flow import prepare, solver, upload
from papers.lupinska_costscale.flow.kernels import lock_free

MOST_NODES = 20
"""Nodes of a flow, the terminals apart, that a page can show."""

MOST = 6
"""Rows and columns of a matrix that a page can show."""


def grid(
    source: Mapping[tuple[int, int], int],
    sink: Mapping[tuple[int, int], int],
    right: Sequence[Sequence[int]],
    down: Sequence[Sequence[int]] = (),
) -> Grid:
    """Return a grid whose arcs have the same capacity both ways.

    Parameters
    ----------
    source, sink : mapping of (row, column) to int
        Capacities from the source and to the sink.
    right, down : sequences
        ``right[i][j]`` stands between (i, j) and (i, j + 1), ``down[i][j]`` between (i, j) and
        (i + 1, j).
    """
    height, width = len(right), len(right[0]) + 1
    arcs = {name: np.zeros((height, width), np.int64) for name in ("right", "left", "down", "up")}
    arcs["right"][:, :-1] = arcs["left"][:, 1:] = right
    if down:
        arcs["down"][:-1] = arcs["up"][1:] = down
    terminals = np.zeros((2, height, width), np.int64)
    for side, given in zip(terminals, (source, sink), strict=True):
        for place, capacity in given.items():
            side[place] = capacity
    return Grid(terminals[0], terminals[1], arcs)


# ------------------------------------------------------------------------------- flows


def _run_flow(instance: Any, cycle: int | None, recorder: Recorder) -> Any:
    if cycle is None:
        state = upload.upload_lock_free(instance, cycle=50)
        run = solver.run_lock_free
    else:
        state = upload.upload_operations(lock_free.hybrid, instance, cycle=cycle)
        run = solver.run_hybrid
    names = "residual", "to_source", "to_sink", "excess", "height", "tally"
    recorder.watch({name: state.arrays[name] for name in names})
    run(state)
    return solver.download(state)


def _arrived(answer: Any, now: Arrays) -> bool:
    return bool(answer.value == now["excess"][-1])


def flow_story(
    instance: Any,
    name: str = "yours",
    title: str = "Your network",
    caption: str = "",
    cycle: int | None = None,
    tellings: tuple[Telling, ...] = (),
) -> Story:
    """Return the story of a maximum flow.

    Parameters
    ----------
    instance : Network or Grid
        At most 20 nodes besides the terminals, and an arc from the source.
    name, title, caption, tellings
        As of `Story`.
    cycle : int, optional
        CYCLE of the hybrid algorithm; None: Hong's alone.

    Raises
    ------
    ValueError
        If it is too large, or nothing leaves the source.
    """
    with device.executing(Executor()):  # whatever machine there is, no GPU is asked
        ready = prepare.prepare(instance)
    if ready.n > MOST_NODES or not ready.total:
        raise ValueError(f"a page shows flows of 1 to {MOST_NODES} nodes from a source")
    network = flows.Network(ready)
    return Story(
        name, title, caption, partial(_run_flow, instance, cycle), lambda: flows.Words(network),
        flows.WORDS, flows.Pictures(network).panels(),
        ("residual", "to_source", "to_sink", "excess", "height"), _arrived, tellings,
        loads=("height",),
    )  # fmt: skip


# ------------------------------------------------------------------------------- assignments


def _run_assignment(cost: np.ndarray, maximize: bool, recorder: Recorder) -> Any:
    state = assignments.upload(
        cost, maximize=maximize, configuration="paper", price_updates="none", arc_fixing=False,
        geometry=Geometry(8),
    )  # fmt: skip
    names = "price", "excess", "flow", "flags", "cost", "head", "arc", "last", "tally"
    recorder.watch({name: state.arrays[name] for name in names})
    assignments.run(state)
    return assignments.download(state)


def _assigned(answer: Any, now: Arrays) -> bool:
    n = len(answer.row_ind)
    return bool((now["flow"].reshape(n, n).argmax(axis=1) == answer.col_ind).all())


def assignment_story(
    data: Any,
    name: str = "yours",
    title: str = "Your matrix",
    caption: str = "",
    maximize: bool = False,
    tellings: tuple[Telling, ...] = (),
) -> Story:
    """Return the story of a matrix of costs or weights, under Algorithm 5.4 without heuristics.

    Parameters
    ----------
    data : array_like[n, n]
        Integers; n is at most 6.
    name, title, caption, tellings
        As of `Story`.
    maximize : bool
        Whether the sum is to be maximized.

    Raises
    ------
    ValueError
        If it is no such matrix.
    """
    cost = square_costs(data, MOST)
    with device.executing(Executor()):
        state = assignments.upload(
            cost, maximize=maximize, configuration="paper", geometry=Geometry(8)
        )
    units = prices.Units(pairs.read(cost, maximize), cost, maximize, state.epsilons)
    return Story(
        name, title, caption, partial(_run_assignment, cost, maximize),
        lambda: prices.Words(units), prices.WORDS, prices.Pictures(units).panels(),
        ("price", "flow", "excess"), _assigned, tellings, loads=("price",), switch=0.1,
        rare=("violated",),
    )  # fmt: skip


def story_of(data: Any) -> Story:
    """Return the story of a network or grid, or of a matrix of costs.

    Raises
    ------
    ValueError
        See `flow_story` and `assignment_story`.
    """
    return flow_story(data) if hasattr(data, "nodes") else assignment_story(data)


# ------------------------------------------------------------------------------- what is told


def _operations(pushes: int, lifts: int, trace: Trace) -> bool:
    counted = len(trace.of_kind("push", "home", "uphill")), len(trace.of_kind("lift"))
    return counted == (pushes, lifts)


def _by_prices(pushes: int, relabels: int, trace: Trace) -> bool:
    counted = len(trace.of_kind("push")), len(trace.of_kind("relabel"))
    return counted == (pushes, relabels) and _calm(trace)


def _uphill(trace: Trace) -> bool:
    return bool(trace.of_kind("uphill")) and bool(trace.of_kind("cancel"))


def _violated(kinds: tuple[str, ...], trace: Trace) -> bool:
    """Whether the stores that open a violation are a relabel's, or a push's."""
    found = [step.sentence.split(" ")[1] for step in trace.of_kind("violated")]
    return tuple(dict.fromkeys(found)) == kinds


def _calm(trace: Trace) -> bool:
    return not trace.of_kind("violated")


WEIGHTS = ((7, 5, 1, 2), (6, 4, 3, 1), (5, 8, 2, 6), (1, 3, 4, 9))
STALE = ((4, 7, 1, 9), (5, 7, 2, 3), (1, 7, 5, 6), (1, 8, 2, 1))

STORIES = (
    flow_story(
        grid({(0, 0): 8, (0, 1): 2}, {(0, 1): 1, (0, 2): 3, (0, 3): 6}, [[5, 4, 3]]),
        "worked", "The page's row of four: a flow",
        "Watch a: five units go down, three stay. The height jumps from 1 to 7, over everybody, "
        "because the only arc that is left leads home.",
        None, (Telling("as on the page", None, partial(_operations, 8, 6)),),
    ),
    assignment_story(
        WEIGHTS, "assignment", "The page's 4x4 weights: an assignment",
        "Prices take the place of heights. Each x holds a unit and sends it along its cheapest "
        "arc, or lowers its price until that arc is admissible.",
        True, (Telling("as on the page", None, partial(_by_prices, 18, 7)),),
    ),
    flow_story(
        grid(
            {(1, 0): 5}, {(3, 3): 1}, [[0, 2, 1], [1, 1, 2], [2, 1, 1], [1, 0, 1]],
            [[1, 1, 1, 0], [0, 0, 1, 0], [0, 1, 1, 1]],
        ),
        "home", "A 4x4 grid: excess goes home",
        "Four of the five units cannot get through. Their nodes climb to |V| + 1, one above the "
        "source: from there only the source is below.",
        None, (Telling("four units return", None, lambda trace: bool(trace.of_kind("home"))),),
    ),
    flow_story(
        grid(
            {(0, 0): 6, (2, 0): 5}, {(0, 3): 3, (3, 2): 1},
            [[1, 3, 3], [3, 3, 0], [0, 1, 1], [0, 1, 3]],
            [[0, 2, 2, 0], [2, 3, 1, 2], [2, 2, 0, 1]],
        ),
        "uphill", "A stale height, a push uphill, and its repair (hybrid)",
        "A node reads a height; its neighbour is lifted meanwhile, and the push goes up. The host "
        "cancels exactly that arc, and draws the heights anew. Nothing is negative, nothing lost.",
        12, (Telling("a push uphill", 2, _uphill),),
    ),
    assignment_story(
        STALE, "stale", "A stale price: the transient violation",
        "For one event a residual arc lies below minus epsilon. Its owner has just got a unit, and "
        "this arc is its cheapest: the unit goes straight back along it (Lemma 5.5, case 5).",
        True,
        (
            Telling("no violation", None, _calm),
            Telling("a price falls, and the arc is open", 2461, partial(_violated, ("lowers",))),
            Telling("an arc opens, and the price is low", 16, partial(_violated, ("sends",))),
        ),
    ),
)  # fmt: skip

PICTURE = Picture("uphill", "a push uphill", "m, at 2, pushes 2 units to i")
"""The moment that `page.png` shows; ``reproduce pictures`` takes it anew."""
