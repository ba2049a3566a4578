"""The host's side of the maximum flows on the GPU: upload, the loops, download.

=================  ==============================================================================
`lock_free`        Hong's algorithm to its end, no heuristics [LU11 Alg.4.5]
`hybrid`           CYCLE operations a thread, then the host relabels [LU11 Alg.4.6] to
                   [LU11 Alg.4.8], with gap relabeling [LU11 sec.4.6]
`gpu_relabel`      all of it on the GPU, in few cooperative launches; past the paper
=================  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from papers.common import device
from papers.common.launch import Launch
from papers.common.model import Flow, Solver
from papers.lupinska_costscale import flow_binding as binding
from papers.lupinska_costscale import flow_host as host
from papers.lupinska_costscale import flow_kernels as k
from papers.lupinska_costscale import flow_kernels_relabel as r
from papers.lupinska_costscale.flow_binding import Problem, Tile

CYCLE = 7000
"""Operations of a thread in one launch: the author's best value [LU11 sec.4.6]."""

STEPS = ("init", "kernel", "host_relabel")
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
    solved : bool
        Whether `run` has ended well.
    """

    problem: Problem
    arrays: dict[str, Any] = field(default_factory=dict)
    launches: dict[str, Launch] = field(default_factory=dict)
    host_relabels: int = 0
    bfs_levels: int = 0
    more: dict[str, int] = field(default_factory=dict)
    solved: bool = False

    def begin(self, mark: Callable[[str], None]) -> None:
        """Restore the start, on the device and of the counters."""
        mark("init")
        self.solved, self.host_relabels, self.bfs_levels = False, 0, 0
        for launch in self.launches.values():
            launch.reset()
        self.launches["restore"]()

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
        `flow_kernels.lock_free` or `flow_kernels.hybrid`.
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
    state = State(binding.prepare(instance, operations=operations))
    if state.problem.total:
        state.arrays = binding.allocate(state.problem)
        state.launches = {
            "restore": binding.bind_restore(state.problem, state.arrays),
            "kernel": binding.bind_operations(state.problem, state.arrays, kernel, cycle),
        }
    return state


def upload_gpu_relabel(
    instance: Any,
    rounds: int = 64,
    sweeps: int = 16,
    inner: int = 8,
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
    sweeps : int
        Sweeps after each search.
    inner : int
        Pushes and lifts of a tile's visit (grids), operations of a node in a sweep (networks).
    tile : Tile, optional
        32 x 32 pixels by default; for grids.
    blocks : int, optional
        At most so many blocks.
    operations : int, optional
        As in `upload_operations`.

    Raises
    ------
    NetworkError, ValueError
        As `upload_operations`.
    """
    for name, value in (("rounds", rounds), ("sweeps", sweeps), ("inner", inner)):
        _count(name, value, most=10**6)
    if blocks is not None:
        _count("blocks", blocks)
    tile = tile or Tile(32, 32)
    state = State(binding.prepare(instance, tile, operations))
    if state.problem.total:
        limits = (rounds, sweeps, inner)
        state.arrays = binding.allocate(state.problem)
        state.launches["restore"] = binding.bind_restore(state.problem, state.arrays)
        state.launches["kernel"] = binding.bind_tiles(
            state.problem, state.arrays, tile, limits, blocks
        )
    return state


# ------------------------------------------------------------------------------- run


def run_lock_free(state: State, trace: Callable[[str], None] | None = None) -> None:
    """Hong's algorithm: launches until all that left the source is at the sink, or back.

    Paper: [LU11 Alg.4.5].

    Raises
    ------
    RuntimeError
        After more operations than the bound, or a launch without any.
    """
    mark, done = trace or _no_trace, 0
    if state.problem.total:
        state.begin(mark)
        while state.at_terminals() < state.problem.total:
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
    state.solved = True


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
        device.overwrite(state.arrays["control"], np.zeros(r.CONTROL, np.int32))
        while True:
            mark("kernel")
            state.launches["kernel"]()
            control = device.to_host(state.arrays["control"])
            if control[r.STATUS] == r.RESTLESS:
                raise RuntimeError("a search for distances does not come to rest")
            if control[r.STATUS] == r.DONE:
                state.operations()
                break
            done = _progress(state, done)
        state.bfs_levels = int(control[r.STEPS])
        state.more = {"device_relabels": int(control[r.ROUNDS])}
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


def _solver(name: str, title: str, upload: Any, run: Any) -> Solver:
    return Solver(name, title, "cuda", upload, run, download, STEPS)


SOLVERS = {
    solver.name: solver
    for solver in (
        _solver(
            "lock_free", "Hong, lock-free", partial(upload_operations, k.lock_free), run_lock_free
        ),
        _solver("hybrid", "Hong and He, hybrid", partial(upload_operations, k.hybrid), run_hybrid),
        _solver(
            "gpu_relabel", "Relabeling on the GPU", upload_gpu_relabel, run_gpu_relabel
        ),
    )
}
"""By name; each takes a `Network` or a `Grid`."""
