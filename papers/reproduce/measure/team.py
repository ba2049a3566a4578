"""Cells measured by several MPI ranks in step: what `Worker` is for one process.

Under ``mpiexec -n P reproduce run ...`` rank 0 gives the command, as ever, with a `Team` in the
worker's place; the other ranks `serve`. For every cell rank 0 gives one order to all. A cell for
fewer ranks than there are is measured by the first of them, while the others sleep; one for more
is skipped.

Clocks: a barrier before and one behind, so that a time is the slowest rank's; ``end_to_end`` holds
the drawing where an instance is drawn in device memory, see `_Book.end_to_end`. Whether to repeat
is rank 0's decision. Answers are certified strip by strip
(`papers.common.problems.assignment_proof_by_strips`).

Ranks cannot be replaced: what one rank alone meets, and a cell that takes too long, end the job.
Finished cells are kept, and ``--resume`` goes on behind them; a cell that has ended the job twice
has failed (`papers.reproduce.run.runner.TRIES`).
"""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from papers.common import instances
from papers.common.gpu import device
from papers.common.gpu.clocks import StepClock, stopwatch
from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.matrices import sources
from papers.common.model import Assignment, Cell, Solver, Verdict
from papers.common.mpi import ranks
from papers.common.problems import assignment_proof_by_strips
from papers.reproduce import registry
from papers.reproduce.measure.protocol import (
    CERTIFY_ALL_N,
    Outcome,
    Report,
    Value,
    answer_rows,
    device_name,
    same_cost,
)
from papers.reproduce.measure.worker import DeviceCard, WorkerError, failure

_STOP = ("stop",)


def wanted_ranks(cell: Cell) -> int:
    """How many ranks a cell is for."""
    return int(dict(cell.options).get("ranks", 1))


class Team:
    """Rank 0's handle on all ranks; `measure` is collective with `serve`.

    Parameters
    ----------
    choice : {"auto", "gpu", "cpu"}
        Passed to `papers.common.gpu.device.select` on every rank.

    Raises
    ------
    WorkerError
        If MPI is not there or not the launcher's, or the ranks' devices are not alike.
    """

    def __init__(self, choice: str = "auto") -> None:
        try:
            self._world = ranks.world()
        except MissingPackageError as error:
            raise WorkerError(str(error)) from None
        self._crew = _Crew(self._world)
        self.on_timeout: Callable[[Outcome], object] = lambda outcome: None
        ranks.give_order(self._world, ("start", choice, dict(registry.MODULES)))
        try:
            self.device: DeviceCard = self._crew.start(choice)
        except (RuntimeError, ValueError) as error:
            raise WorkerError(str(error)) from None

    def measure(
        self,
        cell: Cell,
        budget_s: float,
        timeout_s: float | None = None,
        on_stage: Callable[[str], Any] = lambda stage: None,
    ) -> Outcome:
        """Have `cell` measured by as many ranks as it wants; as `Worker.measure`.

        After `timeout_s` the outcome goes to `on_timeout`, and the job ends.
        """
        wanted = wanted_ranks(cell)
        if wanted > self._world.size:
            reason = f"it is for {wanted} ranks, {self._world.size} are here"
            return Outcome("skipped", "none", reason, device=self.device.name)
        stage = ["start"]

        def report(text: str) -> None:
            stage[0] = text
            on_stage(text)

        alarm = None
        if timeout_s is not None:
            alarm = threading.Timer(timeout_s, self._too_late, (cell, timeout_s, stage))
            alarm.daemon = True
            alarm.start()
        ranks.give_order(self._world, ("cell", cell, budget_s))
        outcome = self._crew.measure(cell, budget_s, report)
        if alarm is not None:
            alarm.cancel()
        assert outcome is not None
        return replace(outcome, device=outcome.device or self.device.name)

    def _too_late(self, cell: Cell, timeout_s: float, stage: list[str]) -> None:
        reason = f"over {timeout_s:g} s, in: {stage[0]}"
        self.on_timeout(Outcome("timeout", "none", reason, device=self.device.name))
        ranks.end_job(f"{cell.key} took {reason}; finished cells are kept, --resume goes on")

    def close(self) -> None:
        """Let the other ranks go."""
        dismiss()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_dismissed = False


def dismiss() -> None:
    """Rank 0: let the other ranks go, once; nothing without other ranks."""
    global _dismissed
    if _dismissed or ranks.size_of_job() == 1:
        return
    _dismissed = True
    try:
        world = ranks.world()
    except MissingPackageError:
        return  # then the others have gone by themselves
    ranks.give_order(world, _STOP)


def serve() -> None:
    """The other ranks: obey rank 0 until it says stop."""
    try:
        world = ranks.world()
    except MissingPackageError:
        return  # rank 0 says so
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is rank 0's to handle.
    crew = _Crew(world)
    while True:
        order = ranks.wait_for_order(world)
        if order[0] == "start":
            registry.MODULES.clear()
            registry.MODULES.update(order[2])
            try:
                crew.start(order[1])
            except (RuntimeError, ValueError):
                continue  # all ranks have met it, rank 0 says it
        elif order[0] == "cell":
            crew.measure(order[1], order[2], lambda stage: None)
        else:
            return


class _Crew:
    """What rank 0 and the others do alike."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._teams: dict[int, Any] = {}
        self._warmed: set[tuple[Any, ...]] = set()

    def start(self, choice: str) -> DeviceCard:
        """Select every rank's device; collective."""
        found = ranks.take_device(self._world, cast(Any, choice))
        names = ranks.collect(self._world, found.name)
        if len(set(names)) > 1:
            raise ranks.agreed(ValueError(f"the ranks run on {' and '.join(sorted(set(names)))}"))
        gpus = ranks.gpus_of(self._world)
        library = ranks.mpi().Get_library_version().split("\n")[0].replace("\t", " ").strip()
        return DeviceCard(
            found.name, found.is_gpu, found.slug, self._world.size, gpus, library.strip("\0")
        )

    def measure(self, cell: Cell, budget_s: float, report: Report) -> Outcome | None:
        """Measure a cell if this rank is among those it is for, else None."""
        comm = self._team(wanted_ranks(cell))
        if comm is None:
            return None
        solver = None
        try:
            with ranks.guarded(comm):
                with ranks.agreeing(comm):
                    solver = registry.solver(cell.solver)
                    if not solver.ranks:
                        raise ValueError(f"{cell.solver} runs in one process")
                return _measure(solver, cell, comm, budget_s, report, self._warmed)  # type: ignore[arg-type]
        except MissingPackageError as error:
            return Outcome("skipped", "none", str(error))
        except Exception as error:  # all ranks have met it: the next cell may go well
            return failure(error)

    def _team(self, size: int) -> Any:
        """The communicator of the first ranks, None on the others; collective when new."""
        if size not in self._teams:
            color = 0 if self._world.rank < size else ranks.mpi().UNDEFINED
            made = self._world.Split(color, self._world.rank)
            self._teams[size] = made if self._world.rank < size else None
        return self._teams[size]


# ------------------------------------------------------------------------------- one cell


def _measure(
    solver: Solver,
    cell: Cell,
    comm: Any,
    budget_s: float,
    report: Report,
    warmed: set[tuple[Any, ...]],
) -> Outcome:
    """As `papers.reproduce.measure.protocol.measure`, in step on all ranks of `comm`."""
    name = device_name(solver)
    report("upload and warm-up")
    source: Any = None
    with ranks.agreeing(comm):
        unknown = set(cell.scopes) - {*_ON_STATE, "end_to_end"}
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: not measured on several ranks")
        source = sources.as_source(instances.draw(cell.instance))
    book = _Book(solver, cell, comm, source, budget_s, report)
    signature = (cell.solver, cell.options, str(source.dtype))
    cold = device.describe().is_gpu or signature not in warmed
    warmed.add(signature)
    on_state = [scope for scope in cell.scopes if scope != "end_to_end"]
    if on_state or cold:
        state = book.upload()
        book.note = str(getattr(state, "reason", ""))
        if cold:
            solver.run(state)
            solver.download(state)
        for scope in on_state:
            book.take(scope, partial(_ON_STATE[scope], book, state))
        del state
    if "end_to_end" in cell.scopes:
        gc.collect()  # so that memory holds one state at a time
        book.take("end_to_end", book.end_to_end)
    return book.outcome(name)


class _Book:
    """Times the scopes of one cell and collects values, answers and the verdict."""

    def __init__(
        self, solver: Solver, cell: Cell, comm: Any, source: Any, budget_s: float, report: Report
    ) -> None:
        self.solver, self.cell, self.comm, self.source = solver, cell, comm, source
        self._budget_s, self._report = budget_s, report
        self._values: list[Value] = []
        self._answers: list[Assignment] = []
        self._verdict: Verdict | None = None
        self._scope = ""
        self.note = ""
        """Why the solver did not choose the fastest way to exchange, in its own words."""

    def synchronize(self) -> None:
        """Wait for this rank's device, then for all ranks."""
        device.synchronize()
        ranks.barrier(self.comm)

    def upload(self) -> Any:
        """A new state."""
        return self.solver.upload(self.source, comm=self.comm, **dict(self.cell.options))

    def end_to_end(self) -> tuple[Mapping[str, float], Any]:
        """One repetition: from a source to the answer on the host.

        Where the storage is strips, the upload is the drawing: each rank draws its own strip on its
        GPU, and nothing is copied from the host.
        """
        with stopwatch(self.synchronize) as lap:
            state = self.upload()
            self.solver.run(state)
            answer = self.solver.download(state)
        return {"time_ms": lap.ms}, answer

    def take(self, scope: str, once: Callable[[], tuple[Mapping[str, float], Any]]) -> None:
        """Time `scope` as often as rank 0 says, and judge the answers; nothing after a failure."""
        if self._verdict is not None and not self._verdict.ok:
            return
        repeats, start = self.cell.repeats or 1, time.monotonic()
        answers: list[Assignment] = []
        for repeat in range(repeats):
            self._report(f"{scope} {repeat + 1}/{repeats}")
            if repeat and not self._goes_on(start):
                break
            times, answer = once()
            self._values += [(scope, repeat, key, value) for key, value in times.items()]
            answers.append(answer)
        self._scope = scope
        self._answers = self._answers or answers
        self._report(f"certifying {scope}")
        self._verdict = self._judged(answers)

    def _goes_on(self, start: float) -> bool:
        """Whether rank 0's budget lasts for one more repetition."""
        return bool(ranks.share(self.comm, time.monotonic() - start <= self._budget_s))

    def _judged(self, answers: list[Assignment]) -> Verdict:
        each = self.source.shape[0] <= CERTIFY_ALL_N
        maximize = bool(dict(self.cell.options).get("maximize", False))
        found = Verdict(False, "none", "no answer")
        for answer in answers if each else answers[-1:]:
            found = assignment_proof_by_strips.assignment(
                self.comm, self.source, answer, self.solver.ranks == "rows", maximize
            )
            if not found.ok:
                return found
        for repeat, answer in enumerate(answers):
            if not same_cost(answer.cost, answers[-1].cost):
                what = f"repeat {repeat} costs {answer.cost}, the proved one {answers[-1].cost}"
                return Verdict(False, "none", what)
        return found

    def outcome(self, name: str) -> Outcome:
        """What the cell came to."""
        verdict = self._verdict or Verdict(False, "none", "no scope was timed")
        values = (*self._values, *answer_rows(list(self._answers)))
        if not verdict.ok:
            reason = f"{self._scope}: {verdict.reason}"
            return Outcome("not-certified", verdict.kind, reason, values, name)
        note = f"; without NCCL: {self.note}" if self.note else ""
        return Outcome("ok", verdict.kind, verdict.reason + note, values, name)


def _run(book: _Book, state: Any) -> tuple[Mapping[str, float], Any]:
    with stopwatch(book.synchronize) as lap:
        book.solver.run(state)
    return {"time_ms": lap.ms}, book.solver.download(state)


def _steps(book: _Book, state: Any) -> tuple[Mapping[str, float], Any]:
    """A barrier at every step's boundary: each step's time is that of its slowest rank."""
    clock = StepClock(book.synchronize, book.solver.steps)
    book.synchronize()
    book.solver.run(state, trace=clock)
    clock.stop()
    times = {f"{step}_ms": ms for step, ms in clock.totals.items()}
    return times, book.solver.download(state)


_ON_STATE: dict[str, Callable[[_Book, Any], tuple[Mapping[str, float], Any]]] = {
    "run": _run,
    "steps": _steps,
}
