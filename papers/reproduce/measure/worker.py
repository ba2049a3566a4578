"""One child process that measures cells, and the parent's handle on it.

A cell can hang, exhaust memory or take the process down; the parent must survive all three. So
cells run in a spawned child that stays alive between cells (compiled code and the drawn instance
with it), and the parent kills and replaces it when it must. The child is asked over a pipe and
answers with messages: ``("ready", DeviceCard)`` or ``("broken", reason)`` once, then for every
group of cells ``("devices", names)``, ``("stage", (place, text))`` several times and
``("done", outcomes)``.

A group of cells is measured in turn. If one of them fails, hangs or takes the child down, it has
its outcome, and the others begin anew, without it. If memory was the reason, each is measured
alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from papers.common.model import Cell, Solver
from papers.common.mpi import job
from papers.reproduce import registry
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.outcome import Outcome, failure
from papers.reproduce.measure.protocol import Report, device_name, measure_together
from papers.reproduce.plan.pace import Pace

START_LIMIT_S = 300.0
"""Seconds for the child's imports and the driver's initialisation, outside every cell's limit."""


@dataclass(frozen=True)
class DeviceCard:
    """The child's device, as far as the parent must know it."""

    name: str
    is_gpu: bool
    slug: str
    ranks: int = 1
    gpus: int = 1
    mpi: str = ""

    def extent(self) -> dict[str, Any]:
        """The facts that a run on several ranks keeps about them; none of a run in one process."""
        if self.ranks == 1:
            return {}
        return {"ranks": self.ranks, "gpus_used": self.gpus, "mpi": self.mpi}


class WorkerError(RuntimeError):
    """The child could not be started; the message says why."""


def together(
    group: Sequence[Cell], ask: Callable[[Sequence[Cell]], list[Outcome | None]]
) -> list[Outcome]:
    """Return an outcome of every cell of a group, asking again for those that are left open.

    Parameters
    ----------
    group : sequence of Cell
    ask : callable(sequence of Cell) -> list of (Outcome or None)
        Measures cells in turn. It gives all outcomes, or that of the one cell that has failed.
    """
    found: dict[int, Outcome] = {}
    left = [list(range(len(group)))]
    while left:
        part = left.pop(0)
        for place, outcome in zip(part, ask([group[place] for place in part]), strict=True):
            if outcome is not None:
                found[place] = outcome
        if len(part) > 1 and any(
            place in found and found[place].status == "out-of-memory" for place in part
        ):
            left += [[place] for place in part]  # It may have been their states together.
        elif still := [place for place in part if place not in found]:
            left.append(still)
    return [found[place] for place in range(len(group))]


def _named(group: Sequence[Cell], on_stage: Callable[[str], Any]) -> Callable[[int, str], Any]:
    """Return a listener to places and stages that names the solver where there are several."""
    if len(group) == 1:
        return lambda place, stage: on_stage(stage)
    return lambda place, stage: on_stage(f"{group[place].solver}: {stage}")


# ------------------------------------------------------------------------------ the child


def _die_with_parent() -> None:
    """End this process when the parent dies, even by SIGKILL and even inside compiled code."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _prefer_as_victim() -> None:
    """Have the kernel kill this process, not the parent, when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _serve(connection: Connection, choice: str, modules: dict[str, str]) -> None:
    """Run in the child: answer cells until the parent hangs up."""
    # These are the parent's to handle; a terminal or a batch system sends them to both.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    job.leave_job()  # under ``mpiexec -n 1`` the parent is the rank
    _die_with_parent()
    _prefer_as_victim()
    try:
        registry.MODULES.update(modules)
        from papers.common.gpu import device

        device.select(cast(Any, choice))
        found = device.describe()
        connection.send(("ready", DeviceCard(found.name, found.is_gpu, found.slug)))
    except Exception as error:
        with contextlib.suppress(OSError):  # The parent may have gone.
            connection.send(("broken", f"{type(error).__name__}: {error}"))
        return
    laboratory = Laboratory()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            group, pace = connection.recv()
            connection.send(("done", _answer(group, pace, laboratory, connection)))


def _answer(
    group: Sequence[Cell], pace: Pace, laboratory: Laboratory, connection: Connection
) -> list[Outcome | None]:
    """Measure a group; after an exception only the cell that met it has an outcome."""
    at = 0

    def report(place: int, stage: str) -> None:
        nonlocal at
        at = place
        connection.send(("stage", (place, stage)))

    try:
        solvers = [_solver(cell, place, report) for place, cell in enumerate(group)]
        connection.send(("devices", [device_name(solver) for solver in solvers]))
        pairs = list(zip(solvers, group, strict=True))
        return [*measure_together(pairs, laboratory, pace, report)]
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return only(at, len(group), failure(error))


def _solver(cell: Cell, place: int, report: Report) -> Solver:
    report(place, "start")  # An unknown solver is this cell's fault.
    return registry.solver(cell.solver)


def only(place: int, of: int, outcome: Outcome) -> list[Outcome | None]:
    """Return the outcomes of a group in which one cell has failed and the others are open."""
    return [outcome if other == place else None for other in range(of)]


# ------------------------------------------------------------------------------ the parent


class Worker:
    """The parent's handle: `measure` returns an `Outcome` whatever happens to the child.

    Parameters
    ----------
    device : {"auto", "gpu", "cpu"}
        Passed to `papers.common.gpu.device.select` in every child.

    Raises
    ------
    WorkerError
        If the child cannot start, for instance because ``"gpu"`` finds none.
    """

    def __init__(self, device: str = "auto") -> None:
        self._choice = device
        self.on_timeout: Callable[[int, Outcome], object] = lambda *_: None  # see `Team`
        self._devices: list[str] = []
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self._connection, childs_end = self._context.Pipe()
        self._process = self._context.Process(
            target=_serve, args=(childs_end, self._choice, registry.MODULES), daemon=True
        )
        self._process.start()
        childs_end.close()  # So that the child's death is an end of file here.
        try:
            answered = self._connection.poll(START_LIMIT_S)
            message: tuple[str, Any] = ("broken", "no answer")
            if answered:
                message = self._connection.recv()
        except EOFError:
            message = "broken", f"the process ended at once ({self._ending()})"
        except BaseException:  # A signal: the child does not listen to any.
            self.close()
            raise
        kind, payload = message
        if kind != "ready":
            self.close()
            raise WorkerError(str(payload))
        self.device: DeviceCard = payload

    def _ending(self) -> str:
        """Say how the child ended."""
        self._process.join(10)
        code = self._process.exitcode
        return f"killed by signal {-code}" if code is not None and code < 0 else f"exit {code}"

    def _lost(self) -> Outcome:
        """Return the outcome of a cell whose child died by itself."""
        ending = self._ending()
        if self._process.exitcode == -signal.SIGKILL:
            reason = f"the process was {ending}, as the kernel does when memory runs out"
            return Outcome("out-of-memory", "none", reason)
        return Outcome("failed", "none", f"the process died: {ending}")

    def measure_together(
        self,
        group: Sequence[Cell],
        pace: Pace,
        timeout_s: float | None = None,
        on_stage: Callable[[str], Any] = lambda stage: None,
    ) -> list[Outcome]:
        """Have the cells of a group measured in turn; a group may be one cell.

        Parameters
        ----------
        group : sequence of Cell
            Cells of one instance.
        pace : Pace
            See `papers.reproduce.measure.protocol.measure_together`.
        timeout_s : float, optional
            Seconds that a cell may take, of which its own turns count, and after which the child
            is killed.
        on_stage : callable(str)
            Told what the child begins.
        """
        return together(
            group, lambda part: self._outcomes(part, pace, timeout_s, _named(part, on_stage))
        )

    def _outcomes(
        self,
        group: Sequence[Cell],
        pace: Pace,
        timeout_s: float | None,
        on_stage: Callable[[int, str], Any],
    ) -> list[Outcome | None]:
        """Ask a child that is alive; close it if it is not to be used again."""
        if not self._process.is_alive():
            self.close()
            self._start()
        self._devices = [self.device.name] * len(group)
        found = self._ask(group, pace, timeout_s, on_stage)
        for outcome in found:
            if outcome is None or outcome.status not in ("ok", "not-certified", "skipped"):
                # After an error a CUDA context may be unusable and memory may be held: start
                # afresh.
                self.close()
                break
        return [
            outcome and replace(outcome, device=outcome.device or name)
            for outcome, name in zip(found, self._devices, strict=True)
        ]

    def _ask(
        self,
        group: Sequence[Cell],
        pace: Pace,
        timeout_s: float | None,
        on_stage: Callable[[int, str], Any],
    ) -> list[Outcome | None]:
        place, stage, size = 0, "start", len(group)
        spent, since = [0.0] * size, time.monotonic()
        try:
            self._connection.send((tuple(group), pace))
            while True:
                left = None
                if timeout_s is not None:
                    left = max(0.0, timeout_s - spent[place] - (time.monotonic() - since))
                if not self._connection.poll(left):
                    reason = f"over {timeout_s:g} s, in: {stage}"
                    return only(place, size, Outcome("timeout", "none", reason))
                kind, payload = self._connection.recv()
                if kind == "done":
                    return payload
                if kind == "devices":
                    self._devices = payload
                    continue
                now = time.monotonic()
                spent[place] += now - since
                since = now
                place, stage = payload
                on_stage(place, stage)
        except (EOFError, ConnectionError):
            return only(place, size, self._lost())

    def close(self) -> None:
        """Kill the child."""
        self._process.kill()
        self._process.join(10)
        self._connection.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
