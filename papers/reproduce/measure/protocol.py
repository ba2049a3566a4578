"""The measuring protocol: draw, upload, warm up, time under every clock, have every answer proved.

What is inside and outside the clocks
-------------------------------------
- Drawing the instance, compiling (a warm-up run of the same cell) and proving are outside.
- ``run``: `Solver.run` between two synchronisations, on a state uploaded before.
- ``end_to_end``: upload, run and download, with a new state every time. A matrix that was drawn in
  device memory is uploaded from there, without a copy over the bus; a matrix in strips is drawn by
  each rank on its own device, and that drawing is its upload.
- ``steps``: `Solver.run` with a `StepClock` that synchronises at every step's boundary.
- ``kernels``: device time of the kernels alone; one process with a GPU only, else no rows.

Proof
-----
Every repetition's answer is downloaded after its clock has stopped. Where a proof is cheap each is
proved (`papers.common.model.Problem.each_is_proved`). Elsewhere the last one of each clock is, and
the others must have its objective exactly (within 1e-9 of it for floats).

One process or several ranks
----------------------------
There is one protocol. `Clockwork` holds what differs: how to wait for all devices, whose decisions
count, how to upload and how to prove. `alone` makes it for one process, and
`papers.reproduce.measure.team` for the ranks of a communicator, which then all call `measure`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from papers.common import instances
from papers.common.gpu import device, environment
from papers.common.gpu.clocks import StepClock, stopwatch
from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.files import MissingInstanceError
from papers.common.model import GAVE_UP, Cell, GivenUpError, Instance, Proof, Solver
from papers.common.problems import kinds
from papers.common.problems.assignment_proof import Strips
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.outcome import Answer, Outcome, Value, answer_rows, same_cost

Times = Mapping[str, float]
Report = Callable[[str], None]


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
    prove : callable(Instance, data, answer, maximize) -> Proof
    remark : callable(state) -> str
        Returns the words that a good cell's reason adds about this state, or "".
    agreed : callable(error) -> bool
        Whether every rank has met this error at the same place, so that the next cell may follow.
    ranks : int
        The number of ranks that measure together.
    times_kernels : bool
        Whether device time can be read by kernel.
    """

    synchronize: Callable[[], object]
    share: Callable[[Any], Any]
    together: Callable[[], AbstractContextManager[None]]
    upload: Callable[[Solver, Any, Mapping[str, Any]], Any]
    prove: Callable[[Instance, Any, Any, bool], Proof]
    remark: Callable[[Any], str]
    agreed: Callable[[Exception], bool]
    ranks: int
    times_kernels: bool


def _prove_alone(instance: Instance, data: Any, answer: Any, maximize: bool) -> Proof:
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
    )


def device_name(solver: Solver) -> str:
    """Return what the column ``device`` says: a GPU, the CPU executor, or the CPU's model."""
    return environment.cpu_model() if solver.device == "cpu" else device.describe().name


# ------------------------------------------------------------------------------- the clocks


def _run(clockwork: Clockwork, solver: Solver, state: Any) -> Times:
    with stopwatch(clockwork.synchronize) as lap:
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


_ON_STATE: dict[str, Callable[[Clockwork, Solver, Any], Times]] = {
    "run": _run,
    "kernels": _kernels,
    "steps": _steps,
}
"""The clocks that share one uploaded state."""


# ------------------------------------------------------------------------------- the proof


class _Prover:
    """Has the answers of one clock proved, and keeps the first proof that fails."""

    def __init__(self, clockwork: Clockwork, instance: Instance, data: Any, maximize: bool) -> None:
        self._prove = lambda answer: clockwork.prove(instance, data, answer, maximize)
        self._each = kinds.stated_by(data).each_is_proved(data)
        self._values: list[Any] = []
        self._last: Answer | None = None
        self._proof: Proof | None = None

    def hear(self, answer: Answer) -> None:
        """Take one repetition's answer."""
        self._values.append(kinds.objective(answer)[1])
        self._last = answer
        if self._each and (self._proof is None or self._proof.ok):
            self._proof = self._prove(answer)

    def conclude(self) -> Proof:
        """Return the proof of all answers heard."""
        if self._last is None:
            return Proof(False, "none", "no answer")
        if not self._each:
            self._proof = self._prove(self._last)
        assert self._proof is not None
        if not self._proof.ok:
            return self._proof
        name, proved = kinds.objective(self._last)
        for repeat, value in enumerate(self._values):
            if not same_cost(value, proved):
                what = f"repeat {repeat} has {name} {value}, the certified answer {proved}"
                return Proof(False, "none", what)
        return self._proof


# ------------------------------------------------------------------------------- one cell


class _Notebook:
    """Times one cell under its clocks and collects values, answers and the proof."""

    def __init__(
        self,
        solver: Solver,
        cell: Cell,
        data: Any,
        clockwork: Clockwork,
        budget_s: float,
        report: Report,
    ) -> None:
        self._solver, self._cell, self._data = solver, cell, data
        self._clockwork, self._budget_s, self._report = clockwork, budget_s, report
        self._options = dict(cell.options)
        self._answers: list[Answer] = []
        self.values: list[Value] = []
        self.proof: Proof | None = None
        self.remark = ""
        self.clock: str = next(iter(cell.scopes), "run")

    @property
    def open(self) -> bool:
        """Whether nothing has been found wrong so far."""
        return self.proof is None or self.proof.ok

    def upload(self) -> Any:
        """Return a new state."""
        return self._clockwork.upload(self._solver, self._data, self._options)

    def on_one_state(self, warm_up: bool) -> None:
        """Read the clocks that share one uploaded state, which is freed on return."""
        clocks = [clock for clock in self._cell.scopes if clock in _ON_STATE]
        if not clocks and not warm_up:
            return
        state = self.upload()
        self.remark = self._clockwork.remark(state)
        if warm_up:
            self._solver.run(state)
            self._solver.download(state)  # It may have kernels of its own; `end_to_end` times it.
            self._clockwork.synchronize()
        for clock in clocks:
            self._take(clock, partial(self._once, _ON_STATE[clock], state))

    def _once(
        self, read: Callable[[Clockwork, Solver, Any], Times], state: Any
    ) -> tuple[Times, Answer]:
        return read(self._clockwork, self._solver, state), self._solver.download(state)

    def end_to_end(self) -> None:
        """Read the clock of a caller: from data on the host to the answer on the host."""
        gc.collect()  # The other state is gone by now, so that memory holds one at a time.
        self._take("end_to_end", self._whole)

    def _whole(self) -> tuple[Times, Answer]:
        with stopwatch(self._clockwork.synchronize) as lap:
            state = self.upload()
            self._solver.run(state)
            answer = self._solver.download(state)
        return {"time_ms": lap.ms}, answer

    def _take(self, clock: str, once: Callable[[], tuple[Times, Answer]]) -> None:
        """Call `once` for every repetition, and have the answers proved; nothing after a failure.

        At least one repetition is made, and none begins after the budget.
        """
        if not self.open:
            return
        self.clock = clock
        maximize = bool(self._options.get("maximize", False))
        prover = _Prover(self._clockwork, self._cell.instance, self._data, maximize)
        answers: list[Answer] = []
        values: list[Value] = []
        repeats, start = self._cell.repeats or 1, time.monotonic()
        for repeat in range(repeats):
            self._report(f"{clock} {repeat + 1}/{repeats}")
            in_time = time.monotonic() - start <= self._budget_s
            if repeat and not self._clockwork.share(in_time):
                break
            times, answer = once()
            values += [(clock, repeat, metric, value) for metric, value in times.items()]
            prover.hear(answer)
            answers.append(answer)
        self.proof = prover.conclude()
        self.values += values
        self._answers = self._answers or answers

    def outcome(self, name: str) -> Outcome:
        """Return the cell's outcome on the device called `name`."""
        if self.proof is None:
            return Outcome("not-certified", "none", "no scope was timed", (), name)
        kind, reason = self.proof.kind, self.proof.reason
        values = (*self.values, *answer_rows(self._answers))
        if not self.proof.ok:
            return Outcome("not-certified", kind, f"{self.clock}: {reason}", values, name)
        return Outcome(
            "ok", kind, f"{reason}; {self.remark}" if self.remark else reason, values, name
        )


def measure(
    solver: Solver,
    cell: Cell,
    laboratory: Laboratory,
    budget_s: float,
    report: Report,
    clockwork: Clockwork | None = None,
) -> Outcome:
    """Measure `cell` with `solver`.

    Parameters
    ----------
    solver : Solver
        The solver that the cell names.
    cell : Cell
        The cell; ``repeats`` is set.
    laboratory : Laboratory
        The process's memory of earlier cells.
    budget_s : float
        Seconds after which a clock starts no further repetition.
    report : callable(str)
        Told what begins, outside the clocks.
    clockwork : Clockwork, optional
        By default that of one process. With the clockwork of ranks, all of them call this in step.

    Returns
    -------
    Outcome
        Status ``ok``, ``not-certified`` or ``skipped`` (also where the instance's file is missing,
        or an optional package that the solver needs, or where the solver stopped at a limit that
        the cell sets: one of time is the metric `GAVE_UP`; clocks that were read before stand).
        Every other error of a solver passes through.
    """
    clockwork = clockwork or alone()
    name = device_name(solver)
    if not clockwork.times_kernels:
        cell = replace(cell, scopes=tuple(s for s in cell.scopes if s != "kernels"))
        if not cell.scopes:
            return Outcome("skipped", "none", "device time needs a GPU", device=name)
    wanted = dict(cell.options).get("ranks", 1)
    if wanted > clockwork.ranks:
        reason = f"it is for {wanted} ranks: mpiexec -n {wanted} reproduce run ..."
        return Outcome("skipped", "none", reason, device=name)
    report("drawing the instance")
    try:
        with clockwork.together():
            data = laboratory.draw(cell.instance)
    except MissingInstanceError as error:
        return Outcome("skipped", "none", str(error), device=name)
    notebook = _Notebook(solver, cell, data, clockwork, budget_s, report)
    report("upload and warm-up")
    try:
        notebook.on_one_state(laboratory.needs_warm_up(solver, cell, data))
        if "end_to_end" in cell.scopes and notebook.open:
            notebook.end_to_end()
    except (MissingPackageError, GivenUpError) as error:
        if not clockwork.agreed(error):
            raise
        if isinstance(error, GivenUpError):
            return _given_up(notebook, error, name)
        return Outcome("skipped", "none", str(error), device=name)
    return notebook.outcome(name)


def _given_up(notebook: _Notebook, error: GivenUpError, name: str) -> Outcome:
    """Return the outcome of a cell whose solver has stopped at its limit of time or of work."""
    after = () if error.after_ms is None else ((notebook.clock, 0, GAVE_UP, error.after_ms),)
    if notebook.proof is None:
        return Outcome("skipped", "none", str(error), after, name)
    found = notebook.outcome(name)
    return replace(found, values=(*found.values, *after))
