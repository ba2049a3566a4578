"""Cells for several ranks, in a run of one process: the run starts an MPI job of its own for them.

Without a GPU the ranks run in the CPU executor, and nothing has to be asked of the user: where
``mpiexec`` and `mpi4py` are installed, `Squad` measures single cells as `Worker` does and hands
those for several ranks to a job of `MOST` ranks. Rank 0 of that job is a
`papers.reproduce.measure.team.Team`, and is told over a socket what to measure. On GPUs the user
starts the job (``mpiexec -n P reproduce run``), because only the user knows which GPUs are free.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from papers.common.model import Cell
from papers.reproduce import registry
from papers.reproduce.measure.outcome import Outcome
from papers.reproduce.measure.worker import DeviceCard, Worker
from papers.reproduce.plan.pace import Pace

MOST = 4
"""Ranks of the job; a cell for fewer is measured by the first of them."""

START_LIMIT_S = 120.0
"""Seconds that the job may take to answer: its imports, on busy cores."""

KEY = "REPRODUCE_SQUAD_KEY"
"""Environment variable of the job: the word by which the two ends know one another."""


def launcher() -> str | None:
    """Return the path of ``mpiexec`` if a job can be started here: beside Python, or anywhere."""
    if importlib.util.find_spec("mpi4py") is None:
        return None
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.is_file() else shutil.which("mpiexec")


def ranks_of(cell: Cell) -> int:
    """Return the number of ranks that a cell is for."""
    return int(dict(cell.options).get("ranks", 1))


# ------------------------------------------------------------------------------- the run's side


class Squad:
    """A `Worker` that has cells for several ranks measured by an MPI job of its own.

    Parameters
    ----------
    worker : Worker
        Measures all other cells; closed with this.
    mpiexec : str
        The launcher.
    """

    def __init__(self, worker: Worker, mpiexec: str) -> None:
        self._worker, self._mpiexec = worker, mpiexec
        self._job: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self.on_timeout: Callable[[int, Outcome], object] = lambda *_: None  # see `Team`

    @property
    def device(self) -> DeviceCard:
        """The worker's device: one process, whatever single cells ask for."""
        return self._worker.device

    def measure_together(
        self,
        group: Sequence[Cell],
        pace: Pace,
        timeout_s: float | None = None,
        on_stage: Callable[[str], Any] = lambda stage: None,
    ) -> list[Outcome]:
        """Have the cells of a group measured in turn; see `Worker`."""
        if not 1 < ranks_of(group[0]) <= MOST:
            return self._worker.measure_together(group, pace, timeout_s, on_stage)
        try:
            return self._ask(group, pace, timeout_s, on_stage)
        except (EOFError, OSError) as error:
            reason = f"the job of {MOST} ranks has ended: {error or 'no reason is known'}"
            self._end_job()
            return [Outcome("failed", "none", reason, device=self.device.name) for _ in group]

    def _ask(
        self,
        group: Sequence[Cell],
        pace: Pace,
        timeout_s: float | None,
        on_stage: Callable[[str], Any],
    ) -> list[Outcome]:
        connection = self._connection or self._start()
        connection.send((tuple(group), pace, timeout_s))
        while True:
            kind, payload = connection.recv()
            if kind == "done":
                return payload
            if kind == "stage":
                on_stage(payload)
                continue
            # The job ends after this: the cell whose turn it was is the one that took too long.
            place, outcome = payload
            self._end_job()
            other = Outcome("failed", "none", "its group's turn ended", device=self.device.name)
            return [outcome if at == place else other for at in range(len(group))]

    def _start(self) -> Connection:
        """Start the job and wait until its rank 0 has called."""
        self._end_job()
        key = secrets.token_hex(16)
        with tempfile.TemporaryDirectory() as folder:
            address = str(Path(folder) / "squad")
            with Listener(address, "AF_UNIX", authkey=key.encode()) as listener:
                command = [self._mpiexec, "-n", str(MOST), sys.executable, "-m", __name__, address]
                self._job = subprocess.Popen(
                    command,
                    env={**os.environ, KEY: key},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is this process's to handle.
                )
                self._connection = _accepted(listener, self._job)
        self._connection.send(dict(registry.MODULES))
        return self._connection

    def _end_job(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._job is not None:
            self._job.terminate()
            try:
                self._job.wait(10)
            except subprocess.TimeoutExpired:
                self._job.kill()
                self._job.wait(10)
            self._job = None

    def close(self) -> None:
        """End the job and the worker."""
        self._end_job()
        self._worker.close()

    def __enter__(self) -> Squad:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _accepted(listener: Listener, started: subprocess.Popen[bytes]) -> Connection:
    """Wait for the job's call; raise `ConnectionError` if it ends or says nothing."""
    calls: list[Any] = []

    def accept() -> None:
        with contextlib.suppress(Exception):
            calls.append(listener.accept())

    waiting = threading.Thread(target=accept, daemon=True)
    waiting.start()
    left = START_LIMIT_S
    while waiting.is_alive() and left > 0 and started.poll() is None:
        waiting.join(0.1)
        left -= 0.1
    if not calls:
        code = started.poll()
        ending = "it did not answer" if code is None else f"it ended at once, exit {code}"
        raise ConnectionError(f"{ending}: {' '.join(map(str, started.args[:3]))}")  # type: ignore[index]
    return calls[0]


# ------------------------------------------------------------------------------- the job's side


def main(address: str) -> None:
    """Run on every rank of the job: rank 0 obeys the socket, the others obey rank 0."""
    from papers.common.mpi import job
    from papers.reproduce.measure import team

    if job.rank_of_job() > 0:
        team.serve()
        return
    with Client(address, "AF_UNIX", authkey=os.environ[KEY].encode()) as connection:
        registry.MODULES.clear()
        registry.MODULES.update(connection.recv())
        with team.Team("cpu") as ranks, contextlib.suppress(EOFError, BrokenPipeError):
            ranks.on_timeout = lambda place, outcome: connection.send(("timeout", (place, outcome)))
            while True:
                group, pace, timeout_s = connection.recv()
                found = ranks.measure_together(
                    group, pace, timeout_s, lambda text: connection.send(("stage", text))
                )
                connection.send(("done", found))


if __name__ == "__main__":
    main(sys.argv[1])
