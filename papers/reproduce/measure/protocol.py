"""Measures one cell: draws, uploads, warms up, times every scope and has every answer proved.

What is inside and outside the clocks
-------------------------------------
- Drawing the instance, compiling (a warm-up run of the same cell) and certifying are outside.
- ``run``: `Solver.run` between two device synchronisations, on a state uploaded before.
- ``end_to_end``: upload, run and download, with a new state every time. A matrix that was drawn in
  device memory (`papers.common.problems.costs_on_device`) is uploaded from there: no copy over the
  bus.
- ``steps``: `Solver.run` with a `StepClock` that synchronises at every step boundary.
- ``kernels``: device time of the kernels alone; a GPU only, no rows without one.

Proof
-----
Every repetition's answer is downloaded after its clock has stopped. Up to ``n = 2048`` each is
certified. Above that the last of each scope is, and the others must have its cost exactly (within
1e-9 of it for floats): a certificate costs a pass over the matrix. Of matchings each is certified
up to 20 million edges; above that the last is, and the others must have its cardinality. Of flows
each is.

A matrix that was drawn in device memory is certified against strips drawn anew on the host, by the
formula: independent of the device's memory, and without room for the whole.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from papers.common import instances
from papers.common.gpu import device, environment
from papers.common.gpu.clocks import StepClock, stopwatch
from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.files import MissingInstanceError
from papers.common.model import (
    GAVE_UP,
    Assignment,
    Cell,
    Flow,
    GivenUpError,
    Instance,
    Matching,
    Solver,
    Verdict,
)
from papers.common.problems import assignment_proof, flow_proof, matching_proof
from papers.common.problems.graph import Graph
from papers.common.problems.network import Grid, Network

if TYPE_CHECKING:
    from papers.common.problems.costs_on_device import ResidentCosts

CERTIFY_ALL_N = 2048
COLLECT_BYTES = 1 << 26
"""Size from which an old instance is worth a pass of the garbage collector."""

CERTIFY_ALL_EDGES = 20_000_000
Times = Mapping[str, float]
Report = Callable[[str], None]
Matrix: TypeAlias = "np.ndarray | ResidentCosts | Graph | Network | Grid"
Answer: TypeAlias = Assignment | Matching | Flow
Value = tuple[str, int, str, Any]
"""Scope, repeat, metric, value."""


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: rows of (scope, repeat, metric, value), and its status."""

    status: str
    certificate: str
    reason: str
    values: tuple[Value, ...] = ()
    device: str = ""


@dataclass
class Laboratory:
    """What stays alive between cells in one process: the last instance, and what is compiled."""

    warmed: set[tuple[Any, ...]] = field(default_factory=set)
    _instance: Instance | None = None
    _matrix: Any = None

    def draw(self, instance: Instance) -> Matrix:
        """Return the instance's matrix, graph or network; the last is kept for the next solver."""
        if instance != self._instance:
            before, old = self._instance, self._matrix
            self._matrix = self._instance = None
            if before is not None and instances.is_permuted(before, instance):
                self._matrix = old.permuted(instance.seed)
            else:
                large = old is not None and _bytes(old) > COLLECT_BYTES
                del old
                if large:
                    gc.collect()  # Free it before the new one is made; it takes 0.1 s.
                self._matrix = instances.draw(instance)
            self._instance = instance
        return self._matrix

    def needs_warm_up(self, solver: Solver, cell: Cell, matrix: Matrix) -> bool:
        """Say whether an untimed run must come first.

        On a GPU always: clocks rise, and memory is touched for the first time. On a CPU only
        until the solver is compiled for this dtype, for a large cell may take minutes. All graphs
        are of one type, and so are networks and grids.
        """
        if isinstance(matrix, (Graph, Network, Grid)):
            dtype = type(matrix).__name__
        else:
            dtype = str(matrix.dtype)
        signature = (cell.solver, cell.options, dtype)
        if signature in self.warmed and not (solver.device == "cuda" and device.describe().is_gpu):
            return False
        self.warmed.add(signature)
        return True


def _bytes(matrix: Matrix) -> int:
    """Return the size of a drawn instance."""
    if isinstance(matrix, Graph):
        return 4 * (matrix.edges + matrix.columns)
    if isinstance(matrix, Network):
        return 16 * matrix.arcs + 4 * matrix.nodes
    if isinstance(matrix, Grid):
        return 8 * matrix.source.size * (2 + len(matrix.arcs))
    return int(np.prod(matrix.shape)) * int(matrix.dtype.itemsize)


@dataclass
class _Repeat:
    """One timed repetition: its values by metric, and its answer."""

    values: Times
    answer: Answer


def device_name(solver: Solver) -> str:
    """Return what the column ``device`` says: a GPU, the CPU executor, or the CPU's model."""
    return environment.cpu_model() if solver.device == "cpu" else device.describe().name


def _run(solver: Solver, state: Any) -> _Repeat:
    with stopwatch(device.synchronize) as lap:
        solver.run(state)
    return _Repeat({"time_ms": lap.ms}, solver.download(state))


def _steps(solver: Solver, state: Any) -> _Repeat:
    clock = StepClock(device.synchronize, solver.steps)
    device.synchronize()
    solver.run(state, trace=clock)
    clock.stop()
    times = {f"{step}_ms": ms for step, ms in clock.totals.items()}
    return _Repeat(times, solver.download(state))


def _kernels(solver: Solver, state: Any) -> _Repeat:
    from papers.common.gpu.launch import KernelClock  # Needs the CUDA driver.

    with KernelClock() as clock:
        solver.run(state)
    values = {"time_ms": clock.total_ms}
    for name, (launches, ms) in clock.by_kernel.items():
        values[f"{name}_ms"] = ms
        values[f"{name}_launches"] = launches
    return _Repeat(values, solver.download(state))


def _end_to_end(solver: Solver, matrix: Matrix, options: Mapping[str, Any]) -> _Repeat:
    with stopwatch(device.synchronize) as lap:
        state = solver.upload(matrix, **options)
        solver.run(state)
        answer = solver.download(state)
    return _Repeat({"time_ms": lap.ms}, answer)


def _repeated(once: Callable[[], _Repeat], repeats: int, budget_s: float) -> Iterator[_Repeat]:
    """Yield up to `repeats` repetitions, at least one, starting none after `budget_s`."""
    start = time.monotonic()
    for done in range(repeats):
        if done and time.monotonic() - start > budget_s:
            return
        yield once()


class _Judge:
    """Certifies the answers of one scope and keeps the first verdict that is not ok."""

    def __init__(self, instance: Instance, matrix: Matrix, maximize: bool) -> None:
        self._problem: Any = matrix
        self._rows = 0 if isinstance(matrix, Network) else matrix.shape[0]
        if instance.storage != "host":
            self._problem = instances.host_strips(instance)
        self._maximize = maximize
        if isinstance(matrix, Graph):
            self._each = matrix.edges <= CERTIFY_ALL_EDGES
        elif isinstance(matrix, (Network, Grid)):
            self._each = True
        else:
            self._each = max(matrix.shape, default=0) <= CERTIFY_ALL_N
        self._values: list[Any] = []
        self._last: Answer | None = None
        self.verdict: Verdict | None = None

    def _certify(self, answer: Answer) -> None:
        if self.verdict is not None and not self.verdict.ok:
            return
        if not isinstance(answer, _answer_type(self._problem)):
            self.verdict = assignment_proof.unchecked(
                f"{type(answer).__name__} answers another problem"
            )
        elif isinstance(answer, Matching):
            self.verdict = matching_proof.matching(self._problem, answer)
        elif isinstance(answer, Flow):
            self.verdict = flow_proof.flow(self._problem, answer)
        else:
            self.verdict = assignment_proof.assignment(
                self._problem, answer, maximize=self._maximize, rows=self._rows
            )

    def hear(self, answer: Answer) -> None:
        """Take one repetition's answer."""
        self._values.append(objective(answer)[1])
        self._last = answer
        if self._each:
            self._certify(answer)

    def conclude(self) -> Verdict:
        """Return the verdict on all answers heard."""
        if self._last is None:
            return Verdict(False, "none", "no answer")
        if not self._each:
            self._certify(self._last)
        assert self.verdict is not None
        if not self.verdict.ok:
            return self.verdict
        name = objective(self._last)[0]
        for repeat, value in enumerate(self._values):
            if not same_cost(value, self._values[-1]):
                what = (
                    f"repeat {repeat} has {name} {value}, the certified answer {self._values[-1]}"
                )
                return Verdict(False, "none", what)
        return self.verdict


def _answer_type(problem: Any) -> type[Answer]:
    """Return what answers a problem: matrices and row strips ask for assignments."""
    if isinstance(problem, Graph):
        return Matching
    return Flow if isinstance(problem, (Network, Grid)) else Assignment


def objective(answer: Answer) -> tuple[str, Any]:
    """Return what an answer was optimized for: the metric's name and its value."""
    if isinstance(answer, Flow):
        return "value", answer.value
    if isinstance(answer, Matching):
        return "cardinality", answer.cardinality
    return "cost", answer.cost


def same_cost(first: Any, second: Any) -> bool:
    """Whether two costs are equal: exactly for integers, within a relative 1e-9 for floats."""
    if isinstance(first, (int, np.integer)) and isinstance(second, (int, np.integer)):
        return int(first) == int(second)
    return bool(np.isclose(float(first), float(second), rtol=1e-9, atol=0.0))


def answer_rows(answers: list[Answer]) -> list[Value]:
    """Return optimum and counters: each once, or once a repetition if it differs between them.

    Of its median and quartiles, one row says what as many equal rows would.
    """
    facts: list[dict[str, Any]] = [dict([objective(a)]) | dict(a.counters) for a in answers]
    metrics = dict.fromkeys(metric for fact in facts for metric in fact)
    differing = {m for m in metrics if any(fact.get(m) != facts[0].get(m) for fact in facts)}
    return [
        ("answer", repeat, metric, value)
        for repeat, fact in enumerate(facts)
        for metric, value in fact.items()
        if repeat == 0 or metric in differing
    ]


class _Notebook:
    """Times the scopes of one cell and collects values, answers and the verdict."""

    def __init__(self, cell: Cell, matrix: Matrix, budget_s: float, report: Report) -> None:
        self._cell = cell
        self._matrix = matrix
        self._budget_s = budget_s
        self._report = report
        self.values: list[Value] = []
        self.verdict: Verdict | None = None
        self.scope: str = next(iter(cell.scopes), "run")
        self._answers: list[Answer] = []

    @property
    def open(self) -> bool:
        """Whether nothing has been found wrong so far."""
        return self.verdict is None or self.verdict.ok

    def take(self, scope: str, once: Callable[[], _Repeat]) -> None:
        """Time `scope` by calling `once` for every repetition, and judge the answers."""
        maximize = bool(dict(self._cell.options).get("maximize", False))
        judge = _Judge(self._cell.instance, self._matrix, maximize)
        answers, values = [], []
        self.scope = scope
        repeats = self._cell.repeats or 1
        self._report(f"{scope} 1/{repeats}")
        for repeat, result in enumerate(_repeated(once, repeats, self._budget_s)):
            values += [(scope, repeat, key, value) for key, value in result.values.items()]
            judge.hear(result.answer)
            answers.append(result.answer)
            self._report(f"{scope} {min(repeat + 2, repeats)}/{repeats}")
        self.verdict = judge.conclude()
        self.values += values
        self._answers = self._answers or answers

    def outcome(self, device_name: str) -> Outcome:
        """Return what the cell came to."""
        if self.verdict is None:
            return Outcome("not-certified", "none", "no scope was timed", (), device_name)
        kind, reason = self.verdict.kind, self.verdict.reason
        values = (*self.values, *answer_rows(self._answers))
        if not self.verdict.ok:
            return Outcome("not-certified", kind, f"{self.scope}: {reason}", values, device_name)
        return Outcome("ok", kind, reason, values, device_name)


_ON_STATE: dict[str, Callable[[Solver, Any], _Repeat]] = {
    "run": _run,
    "kernels": _kernels,
    "steps": _steps,
}


def _measure_on_state(
    solver: Solver, cell: Cell, matrix: Matrix, notebook: _Notebook, warm_up: bool
) -> None:
    """Time the scopes that share one uploaded state, which is freed on return."""
    scopes = [scope for scope in cell.scopes if scope in _ON_STATE]
    if not scopes and not warm_up:
        return
    state = solver.upload(matrix, **dict(cell.options))
    if warm_up:
        solver.run(state)
        solver.download(state)  # It may have kernels of its own, and `end_to_end` times it.
        device.synchronize()
    for scope in scopes:
        if notebook.open:
            notebook.take(scope, partial(_ON_STATE[scope], solver, state))


def measure(
    solver: Solver, cell: Cell, laboratory: Laboratory, budget_s: float, report: Report
) -> Outcome:
    """Measure `cell` with `solver` in this process.

    Parameters
    ----------
    solver : Solver
        The solver that the cell names.
    cell : Cell
        What to measure; ``repeats`` is set.
    laboratory : Laboratory
        The process's memory of earlier cells.
    budget_s : float
        Seconds after which a scope starts no further repetition.
    report : callable(str)
        Told what begins, outside the clocks.

    Returns
    -------
    Outcome
        Status ``ok``, ``not-certified`` or ``skipped`` (also where the instance's file is missing,
        or an optional package that the solver needs, or where the solver stopped at a limit that
        the cell sets: one of time is the metric `GAVE_UP`; scopes that were timed before stand).
        Whatever else a solver raises passes through.
    """
    name = device_name(solver)
    if "kernels" in cell.scopes and not device.describe().is_gpu:
        cell = replace(cell, scopes=tuple(s for s in cell.scopes if s != "kernels"))
    if not cell.scopes:
        return Outcome("skipped", "none", "device time needs a GPU", device=name)
    wanted = dict(cell.options).get("ranks", 1)
    if wanted > 1:
        reason = f"it is for {wanted} ranks: mpiexec -n {wanted} reproduce run ..."
        return Outcome("skipped", "none", reason, device=name)
    report("drawing the instance")
    try:
        matrix = laboratory.draw(cell.instance)
    except MissingInstanceError as error:
        return Outcome("skipped", "none", str(error), device=name)
    notebook = _Notebook(cell, matrix, budget_s, report)
    report("upload and warm-up")
    warm_up = laboratory.needs_warm_up(solver, cell, matrix)
    try:
        _measure_on_state(solver, cell, matrix, notebook, warm_up)
        if "end_to_end" in cell.scopes and notebook.open:
            gc.collect()  # The other state is gone by now, so that memory holds one at a time.
            notebook.take("end_to_end", partial(_end_to_end, solver, matrix, dict(cell.options)))
    except MissingPackageError as error:
        return Outcome("skipped", "none", str(error), device=name)
    except GivenUpError as error:
        after = () if error.after_ms is None else ((notebook.scope, 0, GAVE_UP, error.after_ms),)
        if notebook.verdict is None:
            return Outcome("skipped", "none", str(error), after, name)
        found = notebook.outcome(name)
        return replace(found, values=(*found.values, *after))
    return notebook.outcome(name)
