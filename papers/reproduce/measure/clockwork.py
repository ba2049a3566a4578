"""The clocks, and what differs between one process and the ranks of a communicator."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from papers.common import instances
from papers.common.gpu import device, environment
from papers.common.gpu.clocks import StepClock, Stopwatch
from papers.common.model import Instance, Proof, Solver
from papers.common.problems import kinds
from papers.common.problems.assignment_proof import Strips

Times = Mapping[str, float]


@dataclass(frozen=True)
class Clockwork:
    """The parts of the protocol that differ between one process and the ranks of a communicator.

    Attributes
    ----------
    synchronize : callable()
        Waits for everything enqueued, on all ranks.
    share : callable(value) -> value
        Returns the first rank's value on every rank.
    together : callable() -> context manager
        A block without collective calls: an error of any rank is raised on every rank.
    upload : callable(Solver, data, options) -> state
    prove : callable(Solver, Instance, data, answer, maximize) -> Proof
    remark : callable(state) -> str
        Returns the words that a good cell's reason adds about this state, or "".
    agreed : callable(error) -> bool
        Whether every rank has met this error at the same place, so that the next cell may follow.
    ranks : int
        The number of ranks that measure together.
    times_kernels : bool
        Whether device time can be read by kernel.
    room : callable() -> int
        Bytes of memory that are free for states, the least of all places that hold them.
    """

    synchronize: Callable[[], object]
    share: Callable[[Any], Any]
    together: Callable[[], AbstractContextManager[None]]
    upload: Callable[[Solver, Any, Mapping[str, Any]], Any]
    prove: Callable[[Solver, Instance, Any, Any, bool], Proof]
    remark: Callable[[Any], str]
    agreed: Callable[[Exception], bool]
    ranks: int
    times_kernels: bool
    room: Callable[[], int]


def _prove_alone(
    solver: Solver, instance: Instance, data: Any, answer: Any, maximize: bool
) -> Proof:
    """Prove an answer against the drawn data.

    Costs in device memory, or in strips that ranks draw, are drawn anew on the host, strip by
    strip: the proof neither reads memory that a solver could have changed nor needs room for the
    whole matrix.
    """
    problem = kinds.stated_by(data)
    if instance.storage != "host":
        data = Strips(problem.shape(data)[0], instances.host_strips(instance))
    return kinds.prove(problem, data, answer, maximize)


def alone() -> Clockwork:
    """Return the clockwork of one process."""
    return Clockwork(
        synchronize=device.synchronize,
        share=lambda value: value,
        together=nullcontext,
        upload=lambda solver, data, options: solver.upload(data, **options),
        prove=_prove_alone,
        remark=lambda state: "",
        agreed=lambda error: True,
        ranks=1,
        times_kernels=device.describe().is_gpu,
        room=free_memory,
    )


def free_memory() -> int:
    """Return the bytes that are free now, on the host or on the device, whichever has fewer."""
    host = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(host, device.free_bytes()) if device.describe().is_gpu else host


def device_name(solver: Solver) -> str:
    """Return what the column ``device`` says: a GPU, the CPU executor, or the CPU's model."""
    return environment.cpu_model() if solver.device == "cpu" else device.describe().name


# ------------------------------------------------------------------------------- the clocks


def _run(clockwork: Clockwork, solver: Solver, state: Any) -> Times:
    with Stopwatch(clockwork.synchronize) as lap:
        solver.run(state)
    return {"time_ms": lap.ms}


def _steps(clockwork: Clockwork, solver: Solver, state: Any) -> Times:
    clock = StepClock(clockwork.synchronize, solver.steps)
    clockwork.synchronize()
    solver.run(state, trace=clock)
    clock.stop()
    return {f"{step}_ms": ms for step, ms in clock.totals.items()}


def _kernels(clockwork: Clockwork, solver: Solver, state: Any) -> Times:
    from papers.common.gpu.clocks import KernelClock  # Needs the CUDA driver.

    with KernelClock() as clock:
        solver.run(state)
    values = {"time_ms": clock.total_ms}
    for name, (launches, ms) in clock.by_kernel.items():
        values[f"{name}_ms"] = ms
        values[f"{name}_launches"] = launches
    return values


ON_STATE: dict[str, Callable[[Clockwork, Solver, Any], Times]] = {
    "run": _run,
    "kernels": _kernels,
    "steps": _steps,
}
"""The clocks that share one uploaded state."""
