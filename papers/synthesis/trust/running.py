"""Many solves one after the other, in a process that may be stopped, and the table of classes.

Solves of a seed are made in the order of their numbers, so that the sum of a file's counts says
where to go on. A solve without an answer in time is ``hung``: its process is stopped, and the next
solve has a new one. So is one whose process has died.
"""

from __future__ import annotations

import csv
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from papers.common.gpu import environment
from papers.synthesis.trust.drawing import Class, class_of, task_of
from papers.synthesis.trust.solving import Solved

Kind = Literal["auto", "gpu", "cpu"]

COLUMNS = (
    "family", "dtype", "shape", "call", "solved", "wrong", "hung", "seconds", "seed", "largest",
    "device", "sources",
)  # fmt: skip
"""Columns of the file; ``seconds`` are those of the calls, without drawing and proving;
``sources`` is the beginning of `papers.common.gpu.environment.sources`."""

DIGITS = 12
"""Digits of the sources' hash that a row keeps."""

EVERY_S = 5.0
"""The file is written this often, and at the end."""


class TableError(ValueError):
    """A file is no table of this script."""


@dataclass(frozen=True)
class Run:
    """The run that a row of the file belongs to, and that is gone on with.

    A run of other sources is another run: it begins with the first solve.
    """

    seed: int
    largest: int
    device: str
    sources: str


@dataclass
class Counts:
    """The counts of a class."""

    solved: int = 0
    wrong: int = 0
    hung: int = 0
    seconds: float = 0.0


@dataclass
class Table:
    """The counts by run and class, kept in a file.

    Attributes
    ----------
    path : Path
    counts : dict of (Run, Class) to Counts
    """

    path: Path
    counts: dict[tuple[Run, Class], Counts] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Table:
        """Read the file, if it is there.

        Raises
        ------
        TableError
            If it is something else.
        """
        table = cls(path)
        if not path.exists():
            return table
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                older = set(reader.fieldnames or ()) < set(COLUMNS)
                why = "an earlier version wrote it" if older else "it has other columns"
                raise TableError(f"{path} is no table of solves: {why}")
            for row in reader:
                of = Class(row["family"], row["dtype"], row["shape"], row["call"])
                run = Run(int(row["seed"]), int(row["largest"]), row["device"], row["sources"])
                solved, wrong, hung = (int(row[name]) for name in ("solved", "wrong", "hung"))
                table.counts[run, of] = Counts(solved, wrong, hung, float(row["seconds"]))
        return table

    def done(self, run: Run) -> int:
        """Return how many solves of a run are counted: the number of the next one."""
        counted = [c for (of, _), c in self.counts.items() if of == run]
        return sum(c.solved + c.wrong + c.hung for c in counted)

    def not_right(self, run: Run) -> str:
        """Return how many solves of a run were wrong, and how many hung, in words."""
        counted = [c for (of, _), c in self.counts.items() if of == run]
        return f"{sum(c.wrong for c in counted)} wrong, {sum(c.hung for c in counted)} hung"

    def add(self, run: Run, of: Class, outcome: Solved | None, waited: float) -> None:
        """Count an outcome; None: there was no answer in time."""
        counts = self.counts.setdefault((run, of), Counts())
        if outcome is None:
            counts.hung += 1
            counts.seconds += waited
            return
        counts.solved += outcome.right
        counts.wrong += not outcome.right
        counts.seconds += outcome.seconds

    def write(self) -> None:
        """Write the file anew; whoever reads it meanwhile sees the old one or the new one."""
        rows = [
            {**asdict(of), **asdict(counts), **asdict(run), "seconds": f"{counts.seconds:.6f}"}
            for (run, of), counts in self.counts.items()
        ]
        rows.sort(key=lambda row: [str(row[name]) for name in (*COLUMNS[-4:], *COLUMNS[:4])])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        with beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        beside.replace(self.path)


# ------------------------------------------------------------------------------- the worker


def _serve(connection: Connection, device: Kind, seed: int, largest: int) -> None:
    """The worker's loop: say which device it has; then a number in, an outcome out."""
    from papers.common.gpu import device as machine
    from papers.synthesis.trust.solving import solve

    described = machine.select(device)
    connection.send((described.name, described.is_gpu))
    while (number := connection.recv()) is not None:
        connection.send(solve(task_of(seed, number, largest, described.is_gpu)))


class Worker:
    """A process that solves, and that is replaced when it has to be stopped.

    Parameters
    ----------
    device : {"auto", "gpu", "cpu"}
    seed, largest : int
    patience : float
        Seconds that a solve may take, its drawing, compilation and proof included.
    """

    def __init__(self, device: Kind, seed: int, largest: int, patience: float) -> None:
        self.patience = patience
        self._arguments = device, seed, largest
        self._process: Any = None
        self._connection: Any = None
        self.device = self._start()

    def _start(self) -> str:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()
        if not self._connection.poll(self.patience):
            self.stop()
            raise RuntimeError(f"the process that solves has not begun in {self.patience:g} s")
        try:
            name, _ = self._connection.recv()
        except EOFError:
            raise RuntimeError("the process that solves has ended before it began") from None
        return name

    def solve(self, number: int) -> Solved | None:
        """Solve by number; None if there was no answer in time, or the process has died."""
        if self._process is None:
            self._start()
        try:
            self._connection.send(number)
            if self._connection.poll(self.patience):
                return self._connection.recv()
        except (EOFError, OSError):
            pass
        self.stop()
        return None

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None


def run_of(seed: int, largest: int, device: str) -> Run:
    """Return the run of the sources that are here."""
    return Run(seed, largest, device, environment.sources()[:DIGITS])


def run(
    table: Table, solves: int, seed: int, largest: int, device: Kind, patience: float,
    say: Callable[[str], None], limit_s: float | None = None,
) -> bool:  # fmt: skip
    """Solve until so many solves of the seed are counted.

    Parameters
    ----------
    table : Table
        It is gone on with, and written every few seconds and at the end.
    solves : int
        How many in all, those of the file included.
    seed, largest, device, patience
        As in `Worker`.
    say : callable(str)
        Told of every wrong and every hung solve.
    limit_s : float, optional
        Stop after so long; the same command goes on.

    Returns
    -------
    bool
        Whether nothing of this run, and of what the file had of it, was wrong or hung.
    """
    worker = Worker(device, seed, largest, patience)
    of_run = run_of(seed, largest, worker.device)
    began = written = time.perf_counter()
    try:
        for number in range(table.done(of_run), solves):
            if limit_s is not None and time.perf_counter() - began > limit_s:
                break
            of, _ = class_of(seed, number)
            outcome = worker.solve(number)
            table.add(of_run, of, outcome, patience)
            if outcome is None:
                say(f"solve {number} hung: {of}")
            elif not outcome.right:
                say(f"solve {number} is wrong: {of}: {outcome.reason}")
            if time.perf_counter() - written > EVERY_S:
                table.write()
                written = time.perf_counter()
    finally:
        table.write()
        worker.stop()
    mine = [counts for (one, _), counts in table.counts.items() if one == of_run]
    return not any(counts.wrong or counts.hung for counts in mine)
