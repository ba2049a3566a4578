"""The host's side of the maximum flows on the GPU: upload, the loops, download.

=================  ==============================================================================
`blocking`         Vineet and Narayanan: push and relabel phases, on grids [LU11 sec.4.3]
`lock_free`        Hong's algorithm to its end, no heuristics [LU11 Alg.4.5]
`hybrid`           CYCLE operations a thread, then the host relabels [LU11 Alg.4.6] to
                   [LU11 Alg.4.8], with gap relabeling [LU11 sec.4.6]
`async_relabel`    the hybrid with a block that relabels meanwhile [LU11 sec.4.5]
`gpu_relabel`      all of it on the GPU, in few cooperative launches; past the paper
=================  ==============================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.common.model import Flow, GivenUpError, Limit, Solver
from papers.common.problems.network import Grid, Network, NetworkError
from papers.lupinska_costscale.flow import host
from papers.lupinska_costscale.flow import launches as binding
from papers.lupinska_costscale.flow.kernels import lock_free as k
from papers.lupinska_costscale.flow.kernels import network as net
from papers.lupinska_costscale.flow.kernels import one_launch as r
from papers.lupinska_costscale.flow.launches import ONE, Problem, Tile

CYCLE = 7000
"""Operations of a thread in one launch: the author's best value [LU11 sec.4.6]."""

SWEEPS = 100_000
"""Sweeps of `gpu_relabel` after a search of a network, if |V| relabels do not end them before."""

STEPS = ("init", "kernel", "push", "pull", "relabel", "host_relabel")
"""What `run` passes to ``trace``."""


@dataclass
class State:
    """Everything `run` touches: device arrays, bound launches, counters.

    Attributes
    ----------
    problem : Problem
    arrays : dict of str to device array
    launches : dict of str to Launch
    host_relabels, bfs_levels : int
        How often heights were drawn anew on the host; levels of all breadth-first searches.
    more : dict of str to int
        What else a solver counts.
    seconds : float or None
        After how long `lock_free` gives up.
    m, patience, redraw_every : int
        Of the blocking version.
    solved : bool
        Whether `run` has ended well.
    """

    problem: Problem
    arrays: dict[str, Any] = field(default_factory=dict)
    launches: dict[str, Launch] = field(default_factory=dict)
    host_relabels: int = 0
    bfs_levels: int = 0
    more: dict[str, int] = field(default_factory=dict)
    seconds: float | None = None
    m: int = 1
    patience: int = 1
    redraw_every: int = 0
    solved: bool = False

    def begin(self, mark: Callable[[str], None]) -> None:
        """Restore the start, on the device and of the counters."""
        mark("init")
        self.solved, self.host_relabels, self.bfs_levels = False, 0, 0
        for launch in self.launches.values():
            launch.reset()
        self.launches["restore"]()
        if "control" in self.arrays:
            size = self.arrays["control"].size
            device.overwrite(self.arrays["control"], np.zeros(size, np.int32))

    def operations(self) -> int:
        """Pushes and relabels so far.

        Raises
        ------
        RuntimeError
            If they are more than the bound.
        """
        done = int(device.to_host(self.arrays["tally"]).sum())
        if done > self.problem.operations:
            raise RuntimeError(f"{done} operations, the bound is {self.problem.operations}")
        return done

    def at_terminals(self) -> int:
        """e(s) + e(t)."""
        return int(device.to_host(self.arrays["excess"][self.problem.n :]).sum())


def _no_trace(step: str) -> None:
    pass


def _count(name: str, value: Any, least: int = 1, most: int = 2**31 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name}={value!r} is no whole number from {least} to {most}")
    return value


# ------------------------------------------------------------------------------- upload


def upload_operations(
    kernel: Any, instance: Any, cycle: int = CYCLE, operations: int | None = None
) -> State:
    """Check the input, allocate everything, copy the capacities, bind the launches.

    Parameters
    ----------
    kernel : dispatcher
        `flow.kernels.lock_free.lock_free` (see `upload_lock_free`) or
        `flow.kernels.lock_free.hybrid`.
    instance : Network or Grid
    cycle : int
        Operations of a thread in one launch: CYCLE.
    operations : int, optional
        Pushes and relabels of a run after which it raises; ``4 |V|**2 |E|`` otherwise.

    Raises
    ------
    NetworkError
        No instance, or too large.
    ValueError
        A bad option.
    """
    _count("cycle", cycle)
    state = _begin_upload(instance, ONE, operations)
    if state.problem.total:
        state.launches["kernel"] = binding.bind_operations(
            state.problem, state.arrays, kernel, cycle
        )
    return state


def upload_lock_free(
    instance: Any,
    cycle: int = CYCLE,
    operations: int | None = None,
    seconds: float | None = None,
) -> State:
    """As `upload_operations`, for Hong's algorithm.

    Parameters
    ----------
    instance : Network or Grid
    cycle, operations : int
        As in `upload_operations`.
    seconds : float, optional
        A run that has no answer by the end of the first launch after so long raises
        `GivenUpError`: without relabeling from the sink, its operations grow with the square of the
        nodes. None: it may take as long as it takes.

    Raises
    ------
    NetworkError, ValueError
        As `upload_operations`.
    """
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (number and seconds > 0):
        raise ValueError(f"seconds={seconds!r} is no positive number")
    state = upload_operations(k.lock_free, instance, cycle, operations)
    state.seconds = seconds
    return state


def upload_gpu_relabel(
    instance: Any,
    rounds: int = 64,
    sweeps: int | None = None,
    inner: int = 16,
    tile: Tile | None = None,
    blocks: int | None = None,
    operations: int | None = None,
) -> State:
    """As `upload_operations`, for push-relabel with its global relabeling on the GPU.

    Parameters
    ----------
    instance : Network or Grid
    rounds : int
        Searches of one launch; the host launches until all is done.
    sweeps : int, optional
        Sweeps after each search, at most; by default 4 on a grid and `SWEEPS` on a network, where
        they need no barrier.
    inner : int
        Pushes and lifts of a tile's visit (grids), operations of a node in a sweep (networks).
    tile : Tile, optional
        16 x 32 pixels by default; for grids.
    blocks : int, optional
        At most so many blocks.
    operations : int, optional
        As in `upload_operations`.

    Raises
    ------
    NetworkError, ValueError
        As `upload_operations`.
    """
    if sweeps is None:
        sweeps = 4 if isinstance(instance, Grid) else SWEEPS
    for name, value in (("rounds", rounds), ("sweeps", sweeps), ("inner", inner)):
        _count(name, value, most=10**6)
    if blocks is not None:
        _count("blocks", blocks)
    tile = tile or Tile(16, 32)
    state = _begin_upload(instance, tile, operations)
    problem, limits = state.problem, (rounds, sweeps, inner)
    if problem.total and isinstance(instance, Grid):
        kernel = binding.bind_tiles(problem, state.arrays, tile, limits, blocks)
        state.launches["kernel"] = kernel
    elif problem.total:
        state.launches["kernel"] = binding.bind_nodes(problem, state.arrays, limits, blocks)
    return state


def upload_async(
    instance: Any, cycle: int = CYCLE, waves: int = 8, operations: int | None = None
) -> State:
    """As `upload_operations`, for the hybrid with asynchronous global relabeling.

    Parameters
    ----------
    instance : Network or Grid
    cycle : int
        Operations of a thread in one launch.
    waves : int
        Searches of the distinguished block in one launch.
    operations : int, optional
        As in `upload_operations`.

    Raises
    ------
    NetworkError, ValueError
        As `upload_operations`.
    """
    _count("cycle", cycle)
    _count("waves", waves)
    state = _begin_upload(instance, ONE, operations)
    if state.problem.total:
        state.launches["kernel"] = binding.bind_async(state.problem, state.arrays, waves, cycle)
    return state


def upload_blocking(
    instance: Any,
    m: int = 1,
    pull: bool = False,
    patience: int = 8,
    redraw_every: int = 0,
    tile: Tile | None = None,
    operations: int | None = None,
) -> State:
    """As `upload_operations`, for Vineet and Narayanan's phases.

    Parameters
    ----------
    instance : Grid
    m : int
        Push phases to a relabel phase.
    pull : bool
        The non-atomic version: a pull phase after each push phase.
    patience : int
        Relabel phases without a push after which the heights are checked.
    redraw_every : int
        After so many times `patience` phases the host draws the heights anew in any case; 0, as in
        the paper: never. Without it pixels that the sink cannot be reached from push to and fro
        until they are as high as |V|.
    tile : Tile, optional
        The author's 32 x 8 threads (8 rows) by default.
    operations : int, optional
        As in `upload_operations`.

    Raises
    ------
    NetworkError
        As `upload_operations`, and for a `Network`.
    ValueError
        A bad option.
    """
    _count("m", m)
    _count("patience", patience)
    _count("redraw_every", redraw_every, least=0)
    if isinstance(instance, Network):
        raise NetworkError("the blocking version takes grids only [LU11 sec.4.3]")
    tile = tile or Tile(8, 32)
    state = _begin_upload(instance, tile, operations)
    state.m, state.patience, state.redraw_every = m, patience, redraw_every
    if state.problem.total:
        state.launches |= binding.bind_blocking(state.problem, state.arrays, tile, bool(pull))
    return state


def _begin_upload(instance: Any, tile: Tile, operations: int | None) -> State:
    """Check, allocate, bind what begins a run; if the source sends nothing, only check."""
    state = State(binding.prepare(instance, tile, operations))
    if state.problem.total:
        state.arrays = binding.allocate(state.problem)
        state.launches["restore"] = binding.bind_restore(state.problem, state.arrays)
    return state


# ------------------------------------------------------------------------------- run


def run_lock_free(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Hong's algorithm: launches until all that left the source is at the sink, or back.

    Paper: [LU11 Alg.4.5].

    Raises
    ------
    GivenUpError
        After more than the seconds that were asked for.
    RuntimeError
        After more operations than the bound, or a launch without any.
    """
    mark, done, began = trace or _no_trace, 0, time.perf_counter()
    total = state.problem.total
    if total:
        state.begin(mark)
        while (arrived := state.at_terminals()) < total:
            passed = time.perf_counter() - began
            if done and state.seconds is not None and passed > state.seconds:
                raise GivenUpError(
                    f"gave up after {passed:.1f} s and {done} operations: {arrived} of {total} "
                    "units that left the source are at the sink, or back",
                    1000 * passed,
                )
            mark("kernel")
            state.launches["kernel"]()
            done = _progress(state, done)
    state.solved = True


def run_hybrid(state: State, trace: Callable[[str], None] | None = None) -> None:
    """The hybrid algorithm: the kernel, then the host's relabeling, until ExcessTotal has arrived.

    Paper: [LU11 Alg.4.6], push-relabel-cpu.

    Raises
    ------
    RuntimeError
        After more operations than the bound, or a round that changes nothing.
    """
    mark, problem, done = trace or _no_trace, state.problem, 0
    total = host.Total(problem.total, np.zeros(problem.n, bool))
    if problem.total:
        state.begin(mark)
        while state.at_terminals() < total.excess:
            mark("kernel")
            state.launches["kernel"]()
            mark("host_relabel")
            before = total.excess
            relabel_on_host(state, total)
            done = _progress(state, done, total.excess < before)
        if "control" in state.arrays:
            control = device.to_host(state.arrays["control"])
            state.bfs_levels += int(control[net.STEPS])
            state.more = {"waves": int(control[net.WAVES])}
    state.solved = True


def run_blocking(state: State, trace: Callable[[str], None] | None = None) -> None:
    """A relabel phase, m push phases, and so on, until the excesses stay the same.

    Paper: [LU11 sec.4.3]. That excesses stay the same for some phases does not prove that they
    will; so heights are then drawn anew on the host, and work goes on unless no excess can reach
    the sink.

    Raises
    ------
    RuntimeError
        After more operations than the bound, or if nothing moves although excess can.
    """
    mark, pushes, still, turn = trace or _no_trace, 0, False, 0
    if state.problem.total:
        state.begin(mark)
        while True:
            for _ in range(state.patience):
                _phases(state, mark)
            state.operations()
            turn, was_still = turn + 1, still
            now = int(device.to_host(state.arrays["tally"])[k.PUSHES])
            still, pushes = now == pushes, now
            if still or (state.redraw_every and turn % state.redraw_every == 0):
                mark("host_relabel")
                if not _redraw(state):
                    break
            if still and was_still:
                raise RuntimeError(f"nothing moves after {now} pushes, and excess is left")
    state.solved = True


def _phases(state: State, mark: Callable[[str], None]) -> None:
    mark("relabel")
    state.launches["relabel"]()
    for _ in range(state.m):
        mark("push")
        state.launches["push"]()
        if "pull" in state.launches:
            mark("pull")
            state.launches["pull"]()


def _redraw(state: State) -> bool:
    """Draw heights anew on the host; whether excess is left that can reach the sink."""
    n = state.problem.n
    relabel_on_host(state, host.Total(0, np.zeros(n, bool)))
    excess, height = (device.to_host(state.arrays[name]) for name in ("excess", "height"))
    return bool(((excess[:n] > 0) & (height < state.problem.nodes)).any())


def run_gpu_relabel(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Launch until a search finds no active node that the sink can be reached from.

    Raises
    ------
    RuntimeError
        After more operations than the bound, a launch without any, or a search without end.
    """
    mark, done = trace or _no_trace, 0
    if state.problem.total:
        state.begin(mark)
        words = r if isinstance(state.problem.instance, Grid) else net
        while True:
            mark("kernel")
            state.launches["kernel"]()
            control = device.to_host(state.arrays["control"])
            if control[words.STATUS] == words.RESTLESS:
                raise RuntimeError("a search for distances does not come to rest")
            if control[words.STATUS] == words.DONE:
                state.operations()
                break
            done = _progress(state, done)
        state.bfs_levels = int(control[words.STEPS])
        state.more = {"device_relabels": int(control[words.ROUNDS])}
    state.solved = True


def _progress(state: State, before: int, otherwise: bool = False) -> int:
    """Operations so far; RuntimeError if they are no more than before, and nothing else is."""
    done = state.operations()
    if done == before and not otherwise:
        raise RuntimeError(f"nothing moves after {done} operations, and excess is left")
    return done


def relabel_on_host(state: State, total: host.Total) -> None:
    """Copy the pseudoflow and the heights to the host, cancel, relabel, copy back.

    Paper: [LU11 Alg.4.6], lines 2, 4 and 5.
    """
    a, parts = state.arrays, state.problem.parts
    between, sink, excess, height = (
        device.to_host(a[name]) for name in ("residual", "to_sink", "excess", "height")
    )
    if host.cancel(parts.arcs, between, excess, height):
        device.overwrite(a["residual"], between)
        device.overwrite(a["excess"], excess)
    height, levels = host.global_relabel(
        parts.arcs, between, sink, excess, state.problem.nodes, total
    )
    device.overwrite(a["height"], height)
    state.host_relabels += 1
    state.bfs_levels += levels


# ------------------------------------------------------------------------------- download


def download(state: State) -> Flow:
    """Copy the answer to the host; excess that cannot reach the sink is sent back there.

    Returns
    -------
    Flow
        Counters: ``pushes``, ``relabels``, ``kernel_launches``, ``host_relabels``, ``bfs_levels``.

    Raises
    ------
    RuntimeError
        If no run has ended well.
    """
    if not state.solved:
        raise RuntimeError("nothing to download: no run has ended")
    problem, empty = state.problem, not state.problem.total
    arrays = state.arrays
    if empty:
        arrays = {"residual": problem.parts.between, "to_source": problem.parts.source,
                  "to_sink": problem.parts.sink, "tally": np.zeros(2, np.int64)}  # fmt: skip
    pushes, relabels = (int(x) for x in device.to_host(arrays["tally"])[:2])
    counters = {
        "pushes": pushes,
        "relabels": relabels,
        "kernel_launches": sum(launch.count for launch in state.launches.values()),
        "host_relabels": state.host_relabels,
        "bfs_levels": state.bfs_levels,
        **state.more,
    }
    return binding.answer(problem, arrays, counters)


def _solver(
    name: str, title: str, upload: Any, run: Any, limits: Mapping[Limit, str] | None = None
) -> Solver:
    return Solver(name, title, "cuda", "flow", upload, run, download, STEPS, limits=limits or {})


SOLVERS = {
    solver.name: solver
    for solver in (
        _solver("lock_free", "Hong, lock-free", upload_lock_free, run_lock_free),
        _solver("hybrid", "Hong and He, hybrid", partial(upload_operations, k.hybrid), run_hybrid),
        _solver(
            "blocking",
            "Vineet and Narayanan, blocking",
            upload_blocking,
            run_blocking,
            {"networks": "grids only"},
        ),
        _solver("async_relabel", "Asynchronous relabeling", upload_async, run_hybrid),
        _solver("gpu_relabel", "Relabeling on the GPU", upload_gpu_relabel, run_gpu_relabel),
    )
}
"""By name; each takes a `Network` or a `Grid`."""
