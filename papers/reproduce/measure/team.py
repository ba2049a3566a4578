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
from collections.abc import Callable, Sequence
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
from papers.reproduce.measure.clockwork import Clockwork, free_memory
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.outcome import Outcome, failure
from papers.reproduce.measure.protocol import Report, measure_together, too_many_ranks
from papers.reproduce.measure.worker import DeviceCard, WorkerError, only, together
from papers.reproduce.plan.pace import Pace

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
        self.on_timeout: Callable[[int, Outcome], object] = lambda *_: None
        ranks.give_order(self._world, ("start", choice, dict(registry.MODULES)))
        try:
            self.device: DeviceCard = self._crew.start(choice)
        except (RuntimeError, ValueError) as error:
            raise WorkerError(str(error)) from None

    def measure_together(
        self,
        group: Sequence[Cell],
        pace: Pace,
        timeout_s: float | None = None,
        on_stage: Callable[[str], Any] = lambda stage: None,
    ) -> list[Outcome]:
        """Have cells measured in turn, by as many ranks as they want; see `Worker`.

        They want equally many. After `timeout_s` for each cell the outcome of the one whose turn it
        is goes to `on_timeout` with its place, and the job ends.
        """
        reason = too_many_ranks(group[0], self._world.size)
        if reason:
            return [Outcome("skipped", "none", reason, device=self.device.name) for _ in group]

        def ask(part: Sequence[Cell]) -> list[Outcome | None]:
            return self._outcomes(part, [group.index(cell) for cell in part], pace, timeout_s,
                                  on_stage)  # fmt: skip

        return [replace(one, device=one.device or self.device.name) for one in together(group, ask)]

    def _outcomes(
        self,
        part: Sequence[Cell],
        places: Sequence[int],
        pace: Pace,
        timeout_s: float | None,
        on_stage: Callable[[str], Any],
    ) -> list[Outcome | None]:
        """Give one order to all ranks; `places` are those of the cells in their group."""
        at = [0, "start"]

        def report(place: int, text: str) -> None:
            at[:] = place, text
            on_stage(text if len(part) == 1 else f"{part[place].solver}: {text}")

        def too_late() -> None:
            place, stage = cast(tuple[int, str], tuple(at))
            reason = f"over {limit_s:g} s, in: {stage}"
            outcome = Outcome("timeout", "none", reason, device=self.device.name)
            self.on_timeout(places[place], outcome)
            key = part[place].key
            ranks.end_job(f"{key} took {reason}; finished cells are kept, --resume goes on")

        limit_s = (timeout_s or 0.0) * len(part)
        alarm = threading.Timer(limit_s, too_late) if timeout_s is not None else None
        if alarm is not None:
            alarm.daemon = True
            alarm.start()
        ranks.give_order(self._world, ("cells", tuple(part), pace))
        found = self._crew.measure(part, pace, report)
        if alarm is not None:
            alarm.cancel()
        assert found is not None
        return found

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
        elif order[0] == "cells":
            crew.measure(order[1], order[2], lambda place, stage: None)
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

    def measure(
        self, group: Sequence[Cell], pace: Pace, report: Report
    ) -> list[Outcome | None] | None:
        """Measure cells in turn if this rank is among those they are for, else return None."""
        comm = self._team(wanted_ranks(group[0]))
        if comm is None:
            return None
        at = 0

        def told(place: int, stage: str) -> None:
            nonlocal at
            at = place
            report(place, stage)

        try:
            with ranks.guarded(comm):
                pairs = []
                for place, cell in enumerate(group):
                    told(place, "start")
                    with ranks.agreeing(comm):
                        pairs.append((_of_ranks(cell), cell))
                found = measure_together(pairs, self._laboratory, pace, told, clockwork(comm))
                return [*found]
        except Exception as error:  # all ranks have met it: the next cell may go well
            return only(at, len(group), failure(error))

    def _team(self, size: int) -> Any:
        """The communicator of the first ranks, None on the others; collective when new."""
        if size not in self._teams:
            color = 0 if self._world.rank < size else ranks.mpi().UNDEFINED
            made = self._world.Split(color, self._world.rank)
            self._teams[size] = made if self._world.rank < size else None
        return self._teams[size]


# ------------------------------------------------------------------------------- the clockwork


def _of_ranks(cell: Cell) -> Solver:
    solver = registry.solver(cell.solver)
    if not solver.ranks:
        raise ValueError(f"{cell.solver} runs in one process")
    return solver


def _source_of(instance: Instance) -> Any:
    """Return an instance's costs as blocks, of which each rank takes its own strip."""
    return sources.as_source(instances.draw(instance))


def clockwork(comm: Any) -> Clockwork:
    """Return the clockwork of the ranks of a communicator.

    A barrier stands before and behind every clock, so that a time is that of the slowest rank, and
    at every step's boundary. Rank 0 decides whether to repeat. Answers are proved strip by strip.

    Parameters
    ----------
    comm : mpi4py communicator
    """

    def synchronize() -> None:
        device.synchronize()
        ranks.barrier(comm)

    def prove(solver: Solver, instance: Instance, data: Any, answer: Any, maximize: bool) -> Proof:
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
        room=free_memory,
    )
