"""The host's side of the maximum flows on the GPU: the loops, and the download.

=================  ==============================================================================
`blocking`         Vineet and Narayanan: push and relabel phases, on grids [LU11 sec.4.3]
`lock_free`        Hong's algorithm to its end, no heuristics [LU11 Alg.4.5]
`hybrid`           CYCLE operations a thread, then the host relabels [LU11 Alg.4.6] to
                   [LU11 Alg.4.8], with gap relabeling [LU11 sec.4.6]
`async_relabel`    the hybrid with a block that relabels meanwhile [LU11 sec.4.5]
`gpu_relabel`      all of it on the GPU, in few cooperative launches; past the paper
=================  ==============================================================================

`upload` has the first stage of each. Every loop ends: at a bound on the work (`bounds`), after
``seconds`` if they are given, or when a launch moves nothing. A launch does a bounded share of the
work: CYCLE operations a thread, a phase, or some rounds of a search and sweeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.model import Flow, Limit, Solver
from papers.lupinska_costscale.flow import global_relabeling
from papers.lupinska_costscale.flow.bounds import Stretch
from papers.lupinska_costscale.flow.kernels import lock_free, network, tiles
from papers.lupinska_costscale.flow.prepare import answer, known, settled_answer, side_of
from papers.lupinska_costscale.flow.state import State
from papers.lupinska_costscale.flow.upload import (
    upload_async,
    upload_blocking,
    upload_gpu_relabel,
    upload_lock_free,
    upload_operations,
)

STEPS = ("init", "kernel", "push", "pull", "relabel", "host_relabel")
"""Names that `run` passes to ``trace``."""

Trace = Callable[[str], None] | None


# ------------------------------------------------------------------------------- run


def run_lock_free(state: State, trace: Trace = None) -> None:
    """Hong's algorithm: launches until all that left the source is at the sink, or back.

    Paper: [LU11 Alg.4.5].

    Raises
    ------
    GivenUpError
        At a bound on the work, or after the seconds that were asked for.
    RuntimeError
        After a launch without any operation.
    """
    mark, total = trace or no_trace, state.prepared.total
    if total:
        state.begin(mark)
        while (arrived := state.at_terminals()) < total:
            state.check_time(_arrived(arrived, total))
            mark("kernel")
            state.launches["kernel"]()
            state.progress()
    state.solved = True


def _arrived(arrived: int, total: int) -> str:
    return f"{arrived} of {total} units that left the source are at the sink, or back"


def run_hybrid(state: State, trace: Trace = None) -> None:
    """The hybrid algorithm: the kernel, then the host's relabeling, until ExcessTotal has arrived.

    Paper: [LU11 Alg.4.6], push-relabel-cpu.

    Raises
    ------
    GivenUpError
        At a bound on the work, or after the seconds that were asked for.
    RuntimeError
        After a round that changes nothing.
    """
    mark, prepared = trace or no_trace, state.prepared
    total = global_relabeling.Total(prepared.total, np.zeros(prepared.n, bool))
    if prepared.total:
        state.begin(mark)
        while (arrived := state.at_terminals()) < total.excess:
            state.check_time(_arrived(arrived, total.excess))
            mark("kernel")
            state.launches["kernel"]()
            mark("host_relabel")
            before = total.excess
            relabel_on_host(state, total)
            state.progress(total.excess < before)
        if "control" in state.arrays:
            control = device.to_host(state.arrays["control"])
            state.bfs_levels += int(control[network.STEPS])
            state.more = {"waves": int(control[network.WAVES])}
    state.solved = True


def run_blocking(state: State, trace: Trace = None) -> None:
    """A relabel phase, m push phases, and so on, until the excesses stay the same.

    Paper: [LU11 sec.4.3]. That excesses stay the same for some phases does not prove that they
    will; so heights are then drawn anew on the host, and work goes on unless no excess can reach
    the sink. By default they are drawn anew every 16 turns of 8 phases as well
    (`upload_blocking`, ``redraw_every``), which the paper does not do: excess that cannot reach the
    sink goes to and fro otherwise, so that excesses never stay the same before it is at |V|.

    Raises
    ------
    GivenUpError
        At a bound on the work, or after the seconds that were asked for.
    RuntimeError
        If nothing moves although excess can.
    """
    mark, pushes, still, turn = trace or no_trace, 0, False, 0
    if state.prepared.total:
        state.begin(mark)
        while True:
            state.check_time("excess may still reach the sink")
            for _ in range(state.patience):
                _phases(state, mark)
            state.count_operations(state.patience)
            turn, was_still = turn + 1, still
            still, pushes = state.pushes == pushes, state.pushes
            if still or (state.redraw_every and turn % state.redraw_every == 0):
                mark("host_relabel")
                if not _redraw(state):
                    break
            if still and was_still:
                raise RuntimeError(f"nothing moves after {pushes} pushes, and excess is left")
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
    n = state.prepared.n
    relabel_on_host(state, global_relabeling.Total(0, np.zeros(n, bool)))
    excess, height = (device.to_host(state.arrays[name]) for name in ("excess", "height"))
    return bool(((excess[:n] > 0) & (height < state.prepared.nodes)).any())


def run_gpu_relabel(state: State, trace: Trace = None) -> None:
    """Launch until a search finds no active node that the sink can be reached from.

    Raises
    ------
    GivenUpError
        At a bound on the work, or after the seconds that were asked for.
    RuntimeError
        After a launch without any operation, or a search without end.
    """
    mark = trace or no_trace
    if state.prepared.total:
        state.begin(mark)

        def before() -> None:
            state.check_time("excess can still reach the sink")
            mark("kernel")

        control = _until_done(state, "kernel", state.arrays, before)
        state.count_operations(0)
        words = network if state.prepared.image is None else tiles
        state.bfs_levels = int(control[words.STEPS])
        state.more = {"device_relabels": int(control[words.ROUNDS])}
    state.solved = True


def _until_done(
    state: State, name: str, arrays: dict[str, Any], before: Callable[[], None]
) -> np.ndarray:
    """Launch until a search finds no active node from which its terminal can be reached.

    Returns
    -------
    int32[words]
        The kernel's control words.
    """
    words = network if state.prepared.image is None else tiles
    while True:
        before()
        state.launches[name]()
        control = device.to_host(arrays["control"])
        if control[words.STATUS] == words.RESTLESS:
            raise RuntimeError("a search for distances does not come to rest")
        if control[words.STATUS] == words.DONE:
            return control
        state.progress(rounds=state.rounds)


def settle_on_device(state: State) -> None:
    """Send stranded excess back to the source by the same kernel, the terminals exchanged.

    Its heights are then distances to the source: `read_cut` comes before it.

    Raises
    ------
    GivenUpError, RuntimeError
        As `run_gpu_relabel`, but for the time.
    """
    control, counted = state.again["control"], (state.pushes, state.relabels)
    device.clear(control)
    state.stretch = Stretch()
    _until_done(state, "settle", state.again, lambda: None)
    state.pushes, state.relabels = counted  # those of the run


def read_cut(state: State) -> tuple[int, np.ndarray]:
    """Bring the flow's value and the source's side from the device, a bit a node; uint8[bytes]."""
    arrays = state.arrays
    device.clear(arrays["told"])
    state.launches["cut"]()
    bits = device.to_host(arrays["bits"]).view(np.uint8)
    return int(device.to_host(arrays["told"])[0]), bits


def relabel_on_host(state: State, total: global_relabeling.Total) -> None:
    """Copy the pseudoflow and the heights to the host, cancel, relabel, copy back.

    Paper: [LU11 Alg.4.6], lines 2, 4 and 5.
    """
    arrays, parts = state.arrays, state.prepared.parts
    between, sink, excess, height = (
        device.to_host(arrays[name]) for name in ("residual", "to_sink", "excess", "height")
    )
    if global_relabeling.cancel(parts.arcs, between, excess, height):
        device.overwrite(arrays["residual"], between)
        device.overwrite(arrays["excess"], excess)
    height, levels = global_relabeling.global_relabel(
        parts.arcs, between, sink, excess, state.prepared.nodes, total
    )
    device.overwrite(arrays["height"], height)
    state.host_relabels += 1
    state.bfs_levels += levels


# ------------------------------------------------------------------------------- download


def download(state: State) -> Flow:
    """Copy the answer to the host; excess that cannot reach the sink is sent back.

    `gpu_relabel` sends it back on the device, the others on the host. Where the cut alone was asked
    for, nothing is sent back, and ``residual`` is None: `prove` adds it.

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
    counters = _counters(state)
    if "cut" not in state.launches:
        whole = answer(state.prepared, _arrays(state), counters)
        return replace(whole, residual=None) if state.cut_only else whole
    value, bits = _cut(state)
    if state.cut_only:
        value += state.prepared.parts.direct
        return Flow(value, None, side_of(state.prepared, bits), counters)
    return _whole(state, bits, counters)


def _cut(state: State) -> tuple[int, np.ndarray]:
    """The value and the side's bits, as they were before excess was sent back."""
    if state.bits is None:
        state.value, state.bits = read_cut(state)
    return state.value, state.bits


def _whole(state: State, bits: np.ndarray, counters: dict[str, int]) -> Flow:
    """The answer with residual capacities, its excess sent back."""
    if not state.settled:
        settle_on_device(state)
        state.settled = True
    return settled_answer(known(state.prepared, state.arrays), state.arrays, bits, counters)


def prove(state: State, found: Flow) -> Flow:
    """Add the residual capacities that a proof needs to a cut that was asked for alone."""
    if found.residual is not None:
        return found
    if "cut" not in state.launches:
        return answer(state.prepared, _arrays(state), dict(found.counters))
    _, bits = _cut(state)
    return replace(found, residual=_whole(state, bits, {}).residual)


def _arrays(state: State) -> dict[str, Any]:
    """The device's arrays, or, where the source sends nothing, the capacities."""
    parts = state.prepared.parts
    if state.prepared.total:
        return state.arrays
    return {"residual": parts.between, "to_source": parts.source, "to_sink": parts.sink}


def _counters(state: State) -> dict[str, int]:
    return {
        "pushes": state.pushes,
        "relabels": state.relabels,
        "kernel_launches": sum(
            launch.count for name, launch in state.launches.items() if name not in AFTER
        ),
        "host_relabels": state.host_relabels,
        "bfs_levels": state.bfs_levels,
        **state.more,
    }


AFTER = ("settle", "cut")
"""Launches of a download, which are no part of a run."""


def _solver(
    name: str,
    title: str,
    upload: Any,
    run: Any,
    limits: Mapping[Limit, str] | None = None,
    proof: Any = None,
) -> Solver:
    return Solver(
        name, title, "cuda", "flow", upload, run, download, STEPS, limits=limits or {}, proof=proof
    )


SOLVERS = {
    solver.name: solver
    for solver in (
        _solver("lock_free", "Hong, lock-free", upload_lock_free, run_lock_free),
        _solver(
            "hybrid",
            "Hong and He, hybrid",
            partial(upload_operations, lock_free.hybrid),
            run_hybrid,
        ),
        _solver(
            "blocking",
            "Vineet and Narayanan, blocking",
            upload_blocking,
            run_blocking,
            {"networks": "grids only"},
        ),
        _solver("async_relabel", "Asynchronous relabeling", upload_async, run_hybrid),
        _solver(
            "gpu_relabel",
            "Relabeling on the GPU",
            upload_gpu_relabel,
            run_gpu_relabel,
            proof=prove,
        ),
    )
}
"""By name; each takes a `Network` or a `Grid`."""
