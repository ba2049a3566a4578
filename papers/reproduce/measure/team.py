"""Cells measured by several MPI ranks in step: what `Worker` is for one process.

Under ``mpiexec -n P reproduce run ...`` rank 0 gives the command, as ever, with a `Team` in the
worker's place; the other ranks `serve`. For every cell rank 0 gives one order to all. A cell for
fewer ranks than there are is measured by the first of them, while the others sleep; one for more
is skipped.

The protocol is that of one process (`papers.reproduce.measure.protocol`), with the clockwork of a
communicator.

An error on one rank, or a timeout, ends the whole job, because a lost rank cannot be replaced.
Finished cells are kept, and ``--resume`` goes on behind them; a cell that has ended the job twice
has failed (`papers.reproduce.run.runner.TRIES`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from papers.common import instances
from papers.common.gpu import device
from papers.common.gpu.environment import MissingPackageError
from papers.common.instances.matrices import sources
from papers.common.model import Cell, Instance, Proof, Solver
from papers.common.mpi import ranks
from papers.common.problems import assignment_proof_by_strips
from papers.reproduce import registry
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.protocol import Clockwork, Report, measure
from papers.reproduce.measure.worker import DeviceCard, WorkerError, failure

_STOP = ("stop",)


def wanted_ranks(cell: Cell) -> int:
    """Return the number of ranks that a cell is for."""
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
    """The part of the job that rank 0 and the others do alike."""

    def __init__(self, world: Any) -> None:
        self._world = world
        self._teams: dict[int, Any] = {}
        self._laboratory = Laboratory(draw_anew=_source_of)

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
                assert solver is not None
                how = clockwork(comm, solver)
                return measure(solver, cell, self._laboratory, budget_s, report, how)
        except Exception as error:  # all ranks have met it: the next cell may go well
            return failure(error)

    def _team(self, size: int) -> Any:
        """The communicator of the first ranks, None on the others; collective when new."""
        if size not in self._teams:
            color = 0 if self._world.rank < size else ranks.mpi().UNDEFINED
            made = self._world.Split(color, self._world.rank)
            self._teams[size] = made if self._world.rank < size else None
        return self._teams[size]


# ------------------------------------------------------------------------------- the clockwork


def _source_of(instance: Instance) -> Any:
    """Return an instance's costs as blocks, of which each rank takes its own strip."""
    return sources.as_source(instances.draw(instance))


def clockwork(comm: Any, solver: Solver) -> Clockwork:
    """Return the clockwork of the ranks of a communicator.

    A barrier stands before and behind every clock, so that a time is that of the slowest rank, and
    at every step's boundary. Rank 0 decides whether to repeat. Answers are proved strip by strip.

    Parameters
    ----------
    comm : mpi4py communicator
    solver : Solver
        Whose ``ranks`` says what is split among them.
    """

    def synchronize() -> None:
        device.synchronize()
        ranks.barrier(comm)

    def prove(instance: Instance, data: Any, answer: Any, maximize: bool) -> Proof:
        by_rows = solver.ranks == "rows"
        return assignment_proof_by_strips.assignment(comm, data, answer, by_rows, maximize)

    return Clockwork(
        synchronize=synchronize,
        share=lambda value: ranks.share(comm, value),
        together=lambda: ranks.agreeing(comm),
        upload=lambda solver, data, options: solver.upload(data, comm=comm, **options),
        prove=prove,
        remark=lambda state: str(getattr(state, "reason", "")),
        agreed=lambda error: comm.size == 1 or getattr(error, "agreed_by_all_ranks", False),
        ranks=comm.size,
        times_kernels=False,
    )
