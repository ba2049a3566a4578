"""One child process that measures cells, and the parent's handle on it.

A cell can hang, exhaust memory or take the process down; the parent must survive all three. So
cells run in a spawned child that stays alive between cells (compiled code and the drawn instance
with it), and the parent kills and replaces it when it must. The child is asked over a pipe and
answers with messages: ``("ready", DeviceCard)`` or ``("broken", reason)`` once, then for every cell
``("device", name)``, ``("stage", text)`` several times and ``("done", Outcome)``.
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
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from papers.common.model import Cell
from papers.common.mpi import job
from papers.reproduce import registry
from papers.reproduce.measure.laboratory import Laboratory
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.protocol import device_name, measure

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


def failure(error: BaseException) -> Outcome:
    """Return the outcome of an exception: its type and message are the reason."""
    text = " ".join(str(error).split()) or "no message"
    reason = f"{type(error).__name__}: {text}"
    memory = isinstance(error, MemoryError) or "OUT_OF_MEMORY" in reason.upper().replace(" ", "_")
    return Outcome("out-of-memory" if memory else "failed", "none", reason)


def _serve(connection: Connection, choice: str, modules: dict[str, str]) -> None:
    """Run in the child: answer cells until the parent hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle.
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
        connection.send(("broken", f"{type(error).__name__}: {error}"))
        return
    laboratory = Laboratory()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            cell, budget_s = connection.recv()
            connection.send(("done", _answer(cell, budget_s, laboratory, connection)))


def _answer(cell: Cell, budget_s: float, laboratory: Laboratory, connection: Connection) -> Outcome:
    """Measure one cell; an exception becomes an outcome."""

    def report(stage: str) -> None:
        connection.send(("stage", stage))

    try:
        solver = registry.solver(cell.solver)
        connection.send(("device", device_name(solver)))
        return measure(solver, cell, laboratory, budget_s, report)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except BaseException as error:
        return failure(error)


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
        self.on_timeout: Callable[[Outcome], object] = lambda outcome: None  # see `Team`
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

    def measure(
        self,
        cell: Cell,
        budget_s: float,
        timeout_s: float | None = None,
        on_stage: Callable[[str], Any] = lambda stage: None,
    ) -> Outcome:
        """Have `cell` measured.

        Parameters
        ----------
        cell : Cell
            The cell.
        budget_s : float
            See `papers.reproduce.measure.protocol.measure`.
        timeout_s : float, optional
            Seconds after which the child is killed.
        on_stage : callable(str)
            Told what the child begins.
        """
        if not self._process.is_alive():
            self.close()
            self._start()
        outcome = self._ask(cell, budget_s, timeout_s, on_stage)
        if outcome.status not in ("ok", "not-certified", "skipped"):
            # After an error a CUDA context may be unusable and memory may be held: start afresh.
            self.close()
        return replace(outcome, device=outcome.device or self._device_of_cell)

    def _ask(
        self, cell: Cell, budget_s: float, timeout_s: float | None, on_stage: Callable[[str], Any]
    ) -> Outcome:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        stage = "start"
        self._device_of_cell = self.device.name
        try:
            self._connection.send((cell, budget_s))
            while True:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not self._connection.poll(left):
                    reason = f"over {timeout_s:g} s, in: {stage}"
                    return Outcome("timeout", "none", reason)
                kind, payload = self._connection.recv()
                if kind == "done":
                    return payload
                if kind == "device":
                    self._device_of_cell = payload
                else:
                    stage = payload
                    on_stage(stage)
        except (EOFError, ConnectionError):
            return self._lost()

    def close(self) -> None:
        """Kill the child."""
        self._process.kill()
        self._process.join(10)
        self._connection.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
