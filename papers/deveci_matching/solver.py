"""The host's part of [D13 Alg.1]: upload, the loop over the phases, download.

There are eight variants: APsB or APFB, GPUBFS or GPUBFS-WR, CT or MT threads [D13 sec.4].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from papers.common.deadline import Deadline, check_seconds
from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.gpu.signals import Mailbox
from papers.common.gpu.state import DeviceState
from papers.common.gpu.words import CopiedWords
from papers.common.model import GivenUpError, Matching, Solver
from papers.common.problems.graph import Graph, bipartite
from papers.deveci_matching import start
from papers.deveci_matching.configuration import TUNED, Configuration, find
from papers.deveci_matching.kernels.notation import FLAGS, L0, Flag, Signal
from papers.deveci_matching.launches import (
    ALGORITHMS,
    BFS,
    WIDTHS,
    Geometry,
    allocate,
    bind_launches,
    check_size,
    needed_bytes,
)

STEPS = ("init", "bfs", "alternate", "fix")
"""The names that `run` passes to ``trace``."""

LEVELS_KEPT = 400
"""Iterations whose levels are reported one by one, as ``levels_001`` ... [D13 Fig.2]."""


class Report(NamedTuple):
    """The signal of a launch of the BFS kernel, which `kernels.bfs.report` packs or sets."""

    vertex_inserted: bool
    augmenting_path_found: bool
    stuck: bool


def decode_report(payload: int) -> Report:
    """Unpack the payload of a signal."""
    return Report(*(bool(payload & b) for b in (Signal.INSERTED, Signal.FOUND, Signal.STUCK)))


@dataclass
class State(DeviceState):
    """Everything `run` touches: device arrays, bound launches, counters.

    Attributes
    ----------
    graph : Graph
        The checked graph.
    algorithm, bfs, threads : str
        The variant.
    initial : None, str or (row_match, column_match)
        The matching to start from, for `papers.deveci_matching.start.start`.
    timed_start : bool
        Whether `run` computes the start anew.
    initial_cardinality : int
        Number of pairs of the start.
    levels_kept : int
        The number of iterations whose levels `download` reports one by one.
    levels : list of int
        Launches of the BFS kernel in each iteration of line 2 of [D13 Alg.1].
    seconds : float or None
        Time that a run may take.
    deadline : Deadline
        The time limit of the run that goes on.
    configuration : Configuration
        As printed, as tuned, or between.
    given : tuple of arrays or None
        The start, if `run` copies graph, start and answer, too.
    words : CopiedWords or None
        The flags where the host reads them itself; `mailbox` is unused then.
    """

    graph: Graph
    algorithm: str
    bfs: str
    threads: str
    initial: Any
    timed_start: bool
    initial_cardinality: int
    levels_kept: int = LEVELS_KEPT
    levels: list[int] = field(default_factory=list)
    seconds: float | None = None
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    configuration: Configuration = TUNED
    words: CopiedWords | None = None
    given: tuple[np.ndarray, np.ndarray] | None = None

    def forget(self) -> None:
        """Start counting anew, also after a run that was interrupted between two signals."""
        super().forget()
        self.levels.clear()
        self.deadline = Deadline(self.seconds)

    def check_time(self, level: int) -> None:
        """Give up if the time is over, after a level that is not the last.

        Raises
        ------
        GivenUpError
        """
        if self.seconds is not None:
            reached = self.reached(level)
            text = f"{reached['iterations']} iterations and {reached['levels']} levels"
            self.deadline.check(text, reached=reached)

    def reached(self, level: int = 0) -> dict[str, int]:
        """Return the whole iterations and the levels in all that a run has reached."""
        return {"iterations": len(self.levels), "levels": sum(self.levels) + level}

    def clear(self, level: int) -> None:
        """Begin a launch of the BFS kernel, the `level`-th: as printed the host clears two flags.

        It sends bfs_level along with them; else the last launch has advanced that.
        """
        if self.words is not None:
            self.words.write(Flag.LEVEL, L0 + level - 1, 0, 0)

    def wait(self) -> Report:
        """Wait for the signal of the latest launch of the BFS kernel, or copy its flags."""
        if self.words is not None:
            return Report(*map(bool, self.words.read(Flag.INSERTED, 3)))
        return decode_report(self.payload())


# ------------------------------------------------------------------------------- upload


def upload(
    graph: Any,
    algorithm: str = "apfb",
    bfs: str = "wr",
    threads: str = "ct",
    initial: Any = None,
    timed_start: bool = False,
    geometry: Geometry | None = None,
    levels_kept: int = LEVELS_KEPT,
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
    timed_copies: bool = False,
) -> State:
    """Check the input, compute the start, allocate everything, copy the graph, bind the launches.

    Parameters
    ----------
    graph : Graph, scipy sparse array or matrix, array_like[rows, columns], or tuple
        See `papers.common.problems.graph.bipartite`.
    algorithm : {"apfb", "apsb"}
        Search to the end in each phase (as HKDW), or to the first level with a path (as HK).
    bfs : {"wr", "plain"}
        [D13 Alg.4], which leaves trees that have a path, or [D13 Alg.2].
    threads : {"ct", "mt", "resident"}
        256 x 256 threads, or one a column, or that as far as the device holds them at once.
    initial : {None, "cheap", "empty", "karp_sipser"} or (row_match, column_match)
        The matching to start from; None is the paper's, ``"cheap"``. See
        `papers.deveci_matching.start.start`.
    timed_start : bool
        Whether `run` computes the start anew, so that a clock around it includes that.
    geometry : Geometry, optional
        The grid, instead of the one that `threads` names.
    levels_kept : int
        The number of iterations whose levels are counters of the answer.
    seconds : float, optional
        A run without an answer after so long gives up; it looks after every level.
    configuration : str or Configuration
        ``"paper"``, as printed, ``"tuned"``, or a step between:
        `papers.deveci_matching.configuration.CONFIGURATIONS`.
    timed_copies : bool
        Whether `run` copies graph and start to the device and the answer back, so that a clock
        around it includes the copies [D13 sec.4].

    Returns
    -------
    State

    Raises
    ------
    GraphError
        A bad graph (see `bipartite`), a bad start, or a graph too large for the device's memory.
    ValueError
        An unknown variant or configuration.
    """
    for name, value, known in (
        ("algorithm", algorithm, ALGORITHMS), ("bfs", bfs, BFS), ("threads", threads, WIDTHS),
    ):  # fmt: skip
        if value not in known:
            raise ValueError(f"{name}={value!r} is not one of {', '.join(known)}")
    check_seconds(seconds)
    configured = find(configuration)
    graph = bipartite(graph)
    rmatch, cmatch = start.start(graph, initial)
    state = State(graph, algorithm, bfs, threads, initial, timed_start, _pairs(cmatch))
    state.levels_kept, state.seconds, state.configuration = levels_kept, seconds, configured
    state.given = (rmatch, cmatch) if timed_copies else None
    if graph.edges:
        check_size(graph, needed_bytes(graph, bfs))
        state.mailbox = Mailbox()
        state.arrays = allocate(graph, rmatch, cmatch, bfs)
        shapes = geometry or Geometry.for_device(graph.columns, threads)
        if configured.flags == "copied":
            state.words = CopiedWords(FLAGS)
            state.arrays["flags"] = state.words.device_words
        state.launches = bind_launches(
            graph, state.arrays, state.mailbox, algorithm, bfs, shapes, configured
        )
    return state


# ------------------------------------------------------------------------------- run


def run(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Run the algorithm on a device-resident graph [D13 Alg.1].

    Each iteration that finds a path makes the matching larger
    (`kernels.fix_matching.alternate_path`), so the number of iterations exceeds the growth of the
    matching by one at most. This is the only bound on the iterations, of APsB too: shortest paths
    that meet are alternated in part, so that Hopcroft and Karp's square root does not hold, and the
    paper has none. A level but the last inserts a column.

    The last iteration finds no free row in a search from all free columns, which proves the
    matching maximum: no row holds a stale -2 then (`kernels.fix_matching.fix_matching`), and no
    tree was left early (`kernels.bfs.gpubfs_wr`).

    Parameters
    ----------
    state : State
        From `upload`; each run starts anew.
    trace : callable, optional
        Called with the name of each step as it begins: ``"init"``, ``"bfs"``, ``"alternate"``,
        ``"fix"``. The first ``"init"`` of a run is the copy of the start.

    Raises
    ------
    GivenUpError
        After ``state.seconds``; or at a bound on the work, which no right kernel exceeds: if a
        search has more levels than there are columns, a walk of ALTERNATE more steps, or the
        matching has not grown in some iteration that found a path.
    """
    if not state.graph.edges:
        return
    mark, launches = trace or no_trace, state.launches
    state.forget()
    mark("init")
    if state.timed_start:
        _start_anew(state)
    if state.given is not None:
        _copy_anew(state, state.given)
    launches["restore_start"]()
    limit = min(state.graph.shape) - state.initial_cardinality + 1
    for _ in range(limit):
        mark("init")
        launches["init_bfs_array"]()
        mark("bfs")
        found = _search(state)
        if found or not state.configuration.last_skipped:
            mark("alternate")
            launches["alternate"]()
            mark("fix")
            launches["fix_matching"]()
        if not found:
            if state.given is not None:
                _answer(state)
            state.solved = True
            return
        state.check_time(0)
    message = f"the matching did not grow in each of {limit} iterations that found paths"
    raise GivenUpError(message, reached=state.reached())


def _search(state: State) -> bool:
    """Search level by level; return whether there are augmenting paths.

    These are lines 5 to 11 of [D13 Alg.1]. APFB is APsB without lines 9 and 10.
    """
    columns, launches = state.graph.columns, state.launches
    augmenting_path_found = False
    for level in range(1, columns + 2):  # each but the last inserts a column
        state.clear(level)
        launches["bfs"]()
        report = state.wait()
        if report.stuck:
            message = f"a path has more than {columns} columns"
            raise GivenUpError(message, reached=state.reached(level))
        augmenting_path_found |= report.augmenting_path_found
        shortest_found = augmenting_path_found and state.algorithm == "apsb"
        if shortest_found or not report.vertex_inserted:
            state.levels.append(level)
            return augmenting_path_found
        state.check_time(level)
    message = f"a search has more than {columns + 1} levels"
    raise GivenUpError(message, reached=state.reached(columns + 1))


def _start_anew(state: State) -> None:
    """Compute the start and copy it to the device."""
    rmatch, cmatch = start.start(state.graph, state.initial)
    device.overwrite(state.arrays["rmatch_start"], rmatch)
    device.overwrite(state.arrays["cmatch_start"], cmatch)


def _copy_anew(state: State, given: tuple[np.ndarray, np.ndarray]) -> None:
    """Copy the graph and the start to the device."""
    host = {"cxadj": state.graph.cxadj, "cadj": state.graph.cadj}
    host |= dict(zip(("rmatch_start", "cmatch_start"), given, strict=True))
    for name, array in host.items():
        device.overwrite(state.arrays[name], array)


def _answer(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Copy both match arrays to the host."""
    rmatch, cmatch = (device.to_host(state.arrays[name]) for name in ("rmatch", "cmatch"))
    return rmatch, cmatch


def _pairs(matches: np.ndarray) -> int:
    return int(np.count_nonzero(matches >= 0))


# ------------------------------------------------------------------------------- download


def download(state: State) -> Matching:
    """Copy the answer to the host: both match arrays and the counters.

    Returns
    -------
    Matching
        Counters: ``initial_cardinality``; ``augmenting_paths``, by which the matching grew;
        ``bfs_iterations``, of line 2 of [D13 Alg.1]; ``bfs_launches``, of line 6 in all;
        ``levels_001`` ..., of line 6 in each of the first `State.levels_kept` iterations;
        ``kernel_launches``.

    Raises
    ------
    RuntimeError
        If no run has ended well.
    """
    if state.graph.edges and not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    if state.graph.edges:
        rmatch, cmatch = _answer(state)
    else:
        rmatch, cmatch = start.start(state.graph, "empty")
    cardinality = _pairs(cmatch)
    counters = {
        "initial_cardinality": state.initial_cardinality,
        "augmenting_paths": cardinality - state.initial_cardinality,
        "bfs_iterations": len(state.levels),
        "bfs_launches": sum(state.levels),
        "kernel_launches": sum(launch.count for launch in state.launches.values()),
    }
    for iteration, levels in enumerate(state.levels[: state.levels_kept], 1):
        counters[f"levels_{iteration:03d}"] = levels
    return Matching(rmatch, cmatch, cardinality, counters)


def solve(
    graph: Any,
    initial: Any = None,
    algorithm: str = "apfb",
    bfs: str = "wr",
    threads: str = "ct",
    seconds: float | None = None,
    configuration: str | Configuration = "tuned",
) -> Matching:
    """Upload, run, download; `papers.deveci_matching.solve` names parameters and errors."""
    state = upload(
        graph, algorithm, bfs, threads, initial, seconds=seconds, configuration=configuration
    )
    run(state)
    return download(state)


SOLVERS = {
    "gpu": Solver(
        name="gpu",
        title="APFB and APsB, CUDA",
        device="cuda",
        problem="matching",
        upload=upload,
        run=run,
        download=download,
        steps=STEPS,
        variants={
            f"{algorithm}-{bfs}-{threads}": dict(algorithm=algorithm, bfs=bfs, threads=threads)
            for algorithm in ("apfb", "apsb")
            for bfs in ("wr", "plain")
            for threads in ("ct", "mt")
        },
    )
}
"""The paper's solver; options of `upload` choose its variant."""
