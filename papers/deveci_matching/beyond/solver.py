"""Upload, the one launch, download; the algorithm is in `beyond.kernels`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numba import cuda

from papers.common.deadline import Deadline, check_seconds
from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind, registers_for, resident_blocks
from papers.common.gpu.state import DeviceState
from papers.common.model import GivenUpError, Matching, Solver
from papers.common.problems.graph import Graph, bipartite
from papers.deveci_matching import start
from papers.deveci_matching.beyond.configuration import Configuration, default_threads, find
from papers.deveci_matching.beyond.kernels import control
from papers.deveci_matching.beyond.kernels.arguments import (
    Adjacency,
    Partners,
    Queues,
    Sizes,
    Trees,
    Ways,
)
from papers.deveci_matching.beyond.kernels.grafting import maximum_matching
from papers.deveci_matching.beyond.lines import Lines
from papers.deveci_matching.beyond.memory import allocate, needed_bytes
from papers.deveci_matching.launches import check_size

SHARE = 8
"""Phases of a launch where the time is limited. A phase looks at each edge a few times."""

NO_START = np.full(1, -1, np.int32), np.full(1, -1, np.int32)
"""Bound in place of a start that the kernel makes itself: it reads none then."""

NEVER = 2**31 - 1
"""`jump_after` of a run that does not jump."""

FAILURES = {
    control.TOO_MANY_LEVELS: "a search went on for more levels than there are columns",
    control.TOO_MANY_PHASES: "more phases than columns, each of which should have added a pair",
}


@dataclass
class State(DeviceState):
    """Everything `run` touches.

    Attributes
    ----------
    graph : Graph or Lines
        The checked graph, or the lines that the device has checked.
    initial : None, str, (row_match, column_match) or Known
        The matching to start from.
    timed_start : bool
        Whether `run` computes the start anew, on the host.
    initial_cardinality : int
        Number of pairs of the start; -1 (unknown) when it is made on the device.
    seconds : float or None
        Time that a run may take.
    """

    graph: Any
    initial: Any
    timed_start: bool
    initial_cardinality: int
    seconds: float | None = None


def upload(
    graph: Any,
    initial: Any = None,
    timed_start: bool = False,
    threads: int | None = None,
    blocks: int | None = None,
    seconds: float | None = None,
    jump_after: int | None = None,
    configuration: str | Configuration = "tuned",
) -> State:
    """Check the graph, allocate everything, copy graph and start to the device.

    Parameters
    ----------
    graph : Graph, Lines, or anything that `papers.common.problems.graph.bipartite` takes
        Lines are turned around on the device, and so is SciPy's CSR or CSC matrix on a GPU, where
        the start asks for no edges; all else is turned on one core.
    initial : {None, "cheap", "empty", "device"}, (row_match, column_match) or Known
        ``"device"``: a greedy start made by the kernel, as part of `run`. For the others see
        `papers.deveci_matching.start.start`.
    timed_start : bool
        Whether `run` computes a start of the host anew, so that a clock around it includes that.
    threads : int, optional
        Threads a block: a power of two from 32 to 1024.
    blocks : int, optional
        Blocks; by default and at most as many as are resident at once.
    seconds : float, optional
        A run without an answer after so long gives up. The algorithm is then cut into launches of
        `SHARE` phases, and the clock is looked at between them.
    jump_after : int, optional
        Levels of a phase before it jumps (`beyond.kernels.jumping`); by default `jump_wait`, and
        `NEVER` for no jumps.
    configuration : str or Configuration
        The ideas that are on: ``"tuned"`` for all, ``"bare"`` for none, or a step between:
        `papers.deveci_matching.beyond.configuration.CONFIGURATIONS`.

    Returns
    -------
    State

    Raises
    ------
    GraphError
        A bad graph or start, or a graph too large for the device.
    ValueError
        For impossible threads or blocks, seconds that are none, levels below 1, or an unknown
        configuration.
    """
    check_seconds(seconds)
    ideas = find(configuration)
    checked = _prepared(graph, initial)
    machine = device.describe()
    usual = default_threads(checked.rows, checked.columns) if machine.is_gpu else 32
    width = threads if threads is not None else usual
    if width not in (32, 64, 128, 256, 512, 1024):
        raise ValueError(f"threads={threads!r} is no power of two from 32 to 1024")
    if blocks is not None and blocks < 1:
        raise ValueError(f"blocks={blocks!r} is below 1")
    if jump_after is not None and not 1 <= jump_after <= NEVER:
        raise ValueError(f"jump_after={jump_after!r} is not within 1 .. {NEVER}")
    check_size(checked, needed_bytes(checked))
    on_device = isinstance(initial, str) and initial == "device"
    rmatch, cmatch = NO_START if on_device else start.start(checked, initial)
    paired = -1 if on_device else int(np.count_nonzero(cmatch >= 0))
    state = State(checked, initial, timed_start and not on_device, paired, seconds)
    if checked.edges:
        state.arrays = allocate(checked, rmatch, cmatch)
        begins = control.FROM_GREEDY if on_device else control.FROM_START
        share = checked.columns + 2 if seconds is None else SHARE
        wait = jump_wait(checked.rows) if jump_after is None else jump_after
        wait = wait if ideas.jumps else NEVER
        shape = width, blocks
        ways = begins, share, wait
        state.launches["matching"] = _bind(checked, state.arrays, ways, ideas, shape)
        if seconds is not None:
            ways = control.GO_ON, share, wait
            state.launches["go_on"] = _bind(checked, state.arrays, ways, ideas, shape)
    return state


def _prepared(graph: Any, initial: Any) -> Any:
    """Return lines for the device to turn, where these do and the start asks for no edges."""
    blind = isinstance(initial, start.Known) or (
        isinstance(initial, str) and initial in ("device", "empty")
    )
    if isinstance(graph, Lines):
        return graph if blind and graph.edges else graph.checked()
    lines = Lines.of(graph) if blind and device.describe().is_gpu else None
    return lines if lines is not None and lines.edges else bipartite(graph)


def jump_wait(rows: int) -> int:
    """Return the levels that cost about as much as a jump: the wait before the first of a phase.

    A jump and the marks after it are some forty barriers of the grid, and forty passes over words
    of all rows; a level of one block is a barrier of its own and a chain of five loads.
    """
    return 32 + (rows >> 13)


def _bind(
    graph: Graph | Lines,
    arrays: dict[str, Any],
    ways: tuple[int, int, int],
    ideas: Configuration,
    shape: tuple[int, int | None],
) -> Launch:
    threads, blocks = shape
    kernel = for_block(threads)
    arguments = (
        Sizes(np.int32(graph.rows), np.int32(graph.columns)),
        *map(np.int32, ways),
        Ways(
            *map(
                np.int32,
                (_pull_factor(graph, ideas), ideas.grafts, ideas.cuts, ideas.lone, ideas.within),
            )
        ),
        Adjacency(arrays["cxadj"], arrays["cadj"], arrays["rxadj"], arrays["radj"]),
        Partners(arrays["rstart"], arrays["cstart"]),
        Partners(arrays["rmatch"], arrays["cmatch"]),
        Trees(arrays["parent"], arrays["root"], arrays["end_of_root"], arrays["level_of"]),
        Queues(
            arrays["queue"], arrays["ends"], arrays["renewable"], arrays["hops"],
            np.int32(ideas.spreads),
        ),
        arrays["control"],
    )  # fmt: skip
    most = resident_blocks(kernel, arguments, threads)
    wanted = blocks if blocks is not None else _default_blocks()
    return bind(kernel, min(wanted, most), threads, *arguments)


def _pull_factor(graph: Graph | Lines, ideas: Configuration) -> int:
    """Return how many edges of the frontier there must be a row that is not found; 0: never pull.

    A row that looks for its column stops at the first that fits, but where rows are long it may
    look at many. ``evidence/causes/pull_factor.csv`` has the times by factor that this rule was
    chosen from.
    """
    return max(4, graph.edges // max(1, graph.rows) // 16) if ideas.pulls else 0


def _default_blocks() -> int:
    """Return one block a multiprocessor.

    More blocks would hide more latency, but all of them would meet later at every barrier.
    """
    machine = device.describe()
    return machine.multiprocessors if machine.is_gpu else 3


@cache
def for_block(threads: int) -> Any:
    """Return the kernel with so few registers that a multiprocessor holds 1024 threads."""
    registers = registers_for(threads, max(1, 1024 // threads))
    return cuda.jit(max_registers=registers)(maximum_matching.py_func)


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Find a maximum matching of the device-resident graph, from the start; may be run again.

    It enqueues the launch and does not wait, unless the time is limited: synchronise the device for
    that. The launch has no steps, so `trace` is not called.

    Raises
    ------
    GivenUpError
        After ``state.seconds``. (`download` tells of a bound on the work: see `FAILURES`.)
    """
    deadline = Deadline(state.seconds)
    if state.timed_start and state.arrays:
        rmatch, cmatch = start.start(state.graph, state.initial)
        device.overwrite(state.arrays["rstart"], rmatch)
        device.overwrite(state.arrays["cstart"], cmatch)
    state.forget()
    if state.launches:
        state.launches["matching"]()
    if "go_on" in state.launches:
        while (words := device.to_host(state.arrays["control"]))[control.STATUS] == control.GOING:
            deadline.check(f"{words[control.PHASES]} phases", reached=_reached(words))
            state.launches["go_on"]()
    state.solved = True


def _reached(words: np.ndarray) -> dict[str, int]:
    """Return the counts that a run has reached when it gives up."""
    names = {"phases": control.PHASES, "paths": control.PATHS, "levels": control.LEVELS}
    return {name: int(words[place]) for name, place in names.items()}


def download(state: State) -> Matching:
    """Copy the matching to the host.

    Returns
    -------
    Matching
        Counters: ``initial_cardinality`` (of a start made on the host), ``augmenting_paths``,
        ``bfs_iterations`` (phases, the last one without a path included), ``bfs_launches`` (levels
        in all, what blocks go on within one not counted), ``levels_alone`` (by one block),
        ``levels_pulled``, ``levels_within`` (that block 0 made by itself beyond a level's first),
        ``phases_grafted``, ``phases_cut`` (short), ``jumps``, ``doubling_rounds`` (of jumps and of
        long paths), ``grid_barriers``, ``kernel_launches``.

    Raises
    ------
    RuntimeError
        If nothing has been run.
    GivenUpError
        If a bound on the kernel's work was passed, which no right one does: see `FAILURES`.
    """
    graph = state.graph
    words = _ended(state)
    if words is None:
        empty = np.full(graph.rows, -1, np.int32), np.full(graph.columns, -1, np.int32)
        return Matching(*empty, 0, {"initial_cardinality": 0, "augmenting_paths": 0})
    rmatch, cmatch = (device.to_host(state.arrays[name]) for name in ("rmatch", "cmatch"))
    cardinality = int(np.count_nonzero(cmatch >= 0))
    paths = int(words[control.PATHS])
    counters = {
        "initial_cardinality": cardinality - paths,
        "augmenting_paths": paths,
        "bfs_iterations": int(words[control.PHASES]) + 1,
        "bfs_launches": int(words[control.LEVELS]),
        "levels_alone": int(words[control.LONE]),
        "levels_pulled": int(words[control.PULLED]),
        "levels_within": int(words[control.WITHIN]),
        "phases_grafted": int(words[control.GRAFTED]),
        "phases_cut": int(words[control.CUT]),
        "jumps": int(words[control.JUMPS]),
        "doubling_rounds": int(words[control.ROUNDS]),
        "grid_barriers": int(words[control.BARRIERS]),
        "kernel_launches": sum(launch.count for launch in state.launches.values()),
    }
    return Matching(rmatch, cmatch, cardinality, counters)


def partners(state: State, of: Literal["rows", "columns"]) -> np.ndarray:
    """Copy the partners of one side to the host, for a caller who asks for no more.

    Returns
    -------
    int32[rows] or int32[columns]
        -1 for unmatched.

    Raises
    ------
    RuntimeError, GivenUpError
        As `download`.
    """
    if _ended(state) is None:
        size = state.graph.rows if of == "rows" else state.graph.columns
        return np.full(size, -1, np.int32)
    return device.to_host(state.arrays["rmatch" if of == "rows" else "cmatch"])


def _ended(state: State) -> np.ndarray | None:
    """Return the words of a run that has ended well, None where there was nothing to do."""
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    if not state.launches:
        return None
    words = device.to_host(state.arrays["control"])
    if words[control.STATUS] != control.SOLVED:
        failure = FAILURES.get(int(words[control.STATUS]), "the run did not end")
        raise GivenUpError(failure, reached=_reached(words))
    return words


def solve(
    graph: Any,
    initial: Any = None,
    timed_start: bool = False,
    threads: int | None = None,
    blocks: int | None = None,
    seconds: float | None = None,
    jump_after: int | None = None,
    configuration: str | Configuration = "tuned",
) -> Matching:
    """Upload, run, download; `papers.deveci_matching.beyond.solve` names parameters and errors."""
    state = upload(graph, initial, timed_start, threads, blocks, seconds, jump_after, configuration)
    run(state)
    return download(state)


SOLVERS: dict[str, Solver] = {
    "beyond": Solver(
        name="beyond",
        title="One launch: frontiers, claims, grafting, CUDA",
        device="cuda",
        problem="matching",
        upload=upload,
        run=run,
        download=download,
    ),
}
