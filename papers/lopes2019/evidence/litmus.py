"""Theorem 1 on trial: the four zeros of Table A.5, and S2, S3 and S4 each taken away in turn.

Lemma 1 of [L19 app.A] is the heart of the proof: of zeros A and B in one row and C and D in
another, C cannot have led to A while B has led to D. Here these four are all the zeros that there
are. Each has a thread, which checks it by the device functions of `kernels.search`, again and again
for a while; the CPU executor interleaves the four. `outcome` is one such run and lists every access
to a cover; `forbidden` lists the runs that the lemmas forbid.

With the kernels' own functions there are none. With the two reads of a check reversed (S2), with
the two stores of a cover reversed (S3), or without the fence of a check on a weak memory (S4)
there are, and the primes of the two rows lead to one another: step 5a would walk in a circle.
The reversed functions stand here and never among the kernels. They have no fences, because the
memory that they are tried on shows every access at once: the order alone is on trial.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from inspect import getsourcelines
from typing import Any

import numpy as np
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory, WeakView
from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.lopes2019.kernels import search
from papers.lopes2019.kernels.arguments import Covers, Marks

ZEROS = {"C": (1, 2), "A": (0, 0), "B": (0, 1), "D": (1, 3)}
"""Row and column of each zero, in the table's order. Row 0 is the lemma's i, row 1 its j."""

STAR_AT_ROW = (3, 0)
"""Row i is starred in D's column, row j in A's: so C uncovers A, and B uncovers D."""

LOOKS = 8
"""Checks of a zero at most; it is given up when it stays covered."""

SWITCH = 0.3
"""Chance of another thread's turn before an access."""

# ------------------------------------------------------------------------------- broken orders


@cuda.jit(device=True)
def row_asked_first(covers, row, column):
    """`kernels.search.uncovered` with its reads reversed: breaks S2."""
    return load_relaxed(covers.row, row) == 0 and load_relaxed(covers.column, column) == 0


@cuda.jit(device=True)
def column_uncovered_first(covers, marks, row, column, flags):
    """`kernels.search.process` with its last two stores reversed: breaks S3."""
    store_relaxed(marks.prime, row, column)
    star = marks.star[row]
    if star < 0:
        store_relaxed(flags, search.PATH_FOUND, 1)
        return 0
    store_relaxed(covers.column, star, 0)
    store_relaxed(covers.row, row, 1)
    return 1


def kernel_of(check: Any, process: Any) -> Any:
    """Return the kernel of the trial: a thread a zero, which it checks until it was uncovered."""

    @cuda.jit
    def check_zeros(zeros, covers, marks, flags, processed):
        """Check each zero until it was uncovered, and process it then.

        Paper: [L19 Table A.5].  Launch: a block of one thread a zero, in the executor alone.
        Reads/Writes: reads ``zeros``; covers, marks and flags as `check` and `process` do; sets
        ``processed`` of the zeros that were.
        Race: the one that is on trial.
        """
        thread = cuda.blockIdx.x
        for _ in range(LOOKS):
            if check(covers, zeros[2 * thread], zeros[2 * thread + 1]):
                process(covers, marks, zeros[2 * thread], zeros[2 * thread + 1], flags)
                processed[thread] = 1
                break

    return check_zeros


TRIALS = {
    "as printed": (search.uncovered, search.process),
    "S2 reversed": (row_asked_first, search.process),
    "S3 reversed": (search.uncovered, column_uncovered_first),
    "S4 left out": (search.uncovered, search.process),
}
"""The functions that check and process a zero, by the name of the trial."""

WEAK = {"as printed on a weak memory": "as printed", "S4 left out": "S4 left out"}
"""Trials on a memory that shows stores late and loads old, and whose functions they take."""

# ------------------------------------------------------------------------------- one run


@dataclass(frozen=True)
class Event:
    """An access to a cover, or the store of a prime.

    Attributes
    ----------
    zero : str
        Whose thread it was: A, B, C or D.
    access : {"CC?", "CR?", "CR", "UC", "prime"}
        The paper's words: column read, row read, cover the row, uncover the column.
    value : int
        Read or stored.
    """

    zero: str
    access: str
    value: int


@dataclass(frozen=True)
class Outcome:
    """A run of the four threads.

    Attributes
    ----------
    seed : int
        Fixes the interleaving.
    processed : str
        The zeros that were found uncovered, in the table's order.
    prime : tuple of int
        Column of the prime at rows i and j; -1 where there is none.
    events : tuple of Event
        In the order of time.
    """

    seed: int
    processed: str
    prime: tuple[int, ...]
    events: tuple[Event, ...]

    @property
    def forbidden(self) -> bool:
        """Whether both A and D were processed.

        A was uncovered by C or by D, and D by B or by A. C to A beside B to D is what Lemma 1
        forbids, C to A to D and B to D to A is what Lemma 2 does: two zeros of a row on one way.
        """
        return "A" in self.processed and "D" in self.processed

    @property
    def checked(self) -> tuple[Event, ...]:
        """The events without those of checks that found their zero covered."""
        last = {zero: [e for e in self.events if e.zero == zero][-5:] for zero in self.processed}
        return tuple(e for e in self.events if any(e is kept for kept in last.get(e.zero, ())))

    @property
    def led(self) -> list[str]:
        """Who can have sent A and D their message: C to A is "CA".

        The sender uncovered the column before the receiver's check asked for it.
        """
        times = {(e.zero, e.access): time for time, e in enumerate(self.checked)}
        pairs = [(sender, "A") for sender in "CD"] + [(sender, "D") for sender in "BA"]
        return [
            sender + receiver
            for sender, receiver in pairs
            if sender in self.processed
            and receiver in self.processed
            and times[sender, "UC"] < times[receiver, "CC?"]
        ]

    @property
    def circle(self) -> bool:
        """Whether the primes of both rows stand in the column of the other row's star."""
        return self.prime == STAR_AT_ROW[::-1]


class Witness(WeakMemory):
    """A memory that lists the accesses to covers and primes; by default it shows all at once."""

    def __init__(self, seed: int = 0, weak: bool = False, without: Iterable[Any] = ()) -> None:
        super().__init__(seed, *((0.5, 0.25) if weak else (0.0, 0.0)), tuple(without))
        self.events: list[Event] = []

    def note(self, event: Event) -> None:
        """Append an access; of a row that a check reads twice the second read decides."""
        if event.access == "CR?":
            mine = next((e for e in reversed(self.events) if e.zero == event.zero), None)
            if mine is not None and mine.access == "CR?":
                self.events.remove(mine)
        self.events.append(event)

    def view(self, array: Any, name: str, scheduler: Any) -> WeakView:
        """Return an array whose accesses are listed under its name."""
        return _Listed(array, name, scheduler, scheduler)


class _Listed(WeakView):
    """An array of a `Witness`."""

    __slots__ = ()

    def load(self, index: Any, scope: int, acquire: bool) -> Any:
        value = super().load(index, scope, acquire)
        self._note({"covers.column": "CC?", "covers.row": "CR?"}, value)
        return value

    def store(self, index: Any, value: Any, scope: int, release: bool) -> None:
        super().store(index, value, scope, release)
        self._note({"covers.column": "UC", "covers.row": "CR", "marks.prime": "prime"}, value)

    def _note(self, names: dict[str, str], value: int) -> None:
        if self.name in names:
            thread = self.scheduler.current.block.number
            event = Event(tuple(ZEROS)[thread], names[self.name], int(value))
            self.scheduler.memory.note(event)


def fence_of_a_check() -> tuple[str, int]:
    """Return the file and the line of the fence between the two reads of `search.uncovered`.

    Raises
    ------
    LookupError
        It has none.
    """
    lines, first = getsourcelines(search.uncovered.py_func)
    place = next((k for k, line in enumerate(lines) if line.strip() == "fence()"), None)
    if place is None:
        raise LookupError("a check has no fence that could be left out")
    return search.uncovered.py_func.__code__.co_filename, first + place


def outcome(trial: str, seed: int) -> Outcome:
    """Run the four threads of Table A.5 under one interleaving [L19 Table A.5].

    Parameters
    ----------
    trial : str
        One of `TRIALS` or `WEAK`.
    seed : int
        Fixes the interleaving, and on a weak memory its choices.
    """
    covers = Covers(np.zeros(2, np.int32), np.array([1, 0, 0, 1], np.int32))
    marks = Marks(np.array(STAR_AT_ROW, np.int32), np.full(2, -1, np.int32))
    zeros, flags = np.array([*ZEROS.values()], np.int32).reshape(-1), np.zeros(8, np.int32)
    processed = np.zeros(len(ZEROS), np.int32)
    without = [fence_of_a_check()] if trial == "S4 left out" else []
    memory = Witness(seed, trial in WEAK, without)
    Executor(seed, SWITCH, memory=memory).launch(
        _KERNELS[WEAK.get(trial, trial)], len(ZEROS), 1, (zeros, covers, marks, flags, processed)
    )
    found = "".join(zero for zero, done in zip(ZEROS, processed, strict=True) if done)
    return Outcome(seed, found, tuple(marks.prime.tolist()), tuple(memory.events))


_KERNELS = {trial: kernel_of(*functions) for trial, functions in TRIALS.items()}


def forbidden(trial: str, seeds: Iterable[int]) -> list[Outcome]:
    """Return the runs in which both A and D were processed."""
    return [run for run in (outcome(trial, seed) for seed in seeds) if run.forbidden]


def shown(trial: str, seeds: Iterable[int] = range(2000)) -> Outcome:
    """Return the first run in which C led to A and B to D, and whose primes run in a circle.

    Raises
    ------
    LookupError
        None of the seeds has one.
    """
    for run in (outcome(trial, seed) for seed in seeds):
        if run.forbidden and run.circle and {"CA", "BD"} <= set(run.led):
            return run
    raise LookupError(f"{trial}: no seed has a circle")


def table(run: Outcome) -> str:
    """Return a run as Table A.5 is set: a column a zero, a line an access, time downward."""
    lines = ["time " + "".join(f"{f'{zero}_{row_name(zero)}':<8}" for zero in ZEROS).rstrip()]
    for time, event in enumerate(run.checked, 1):
        place = 8 * tuple(ZEROS).index(event.zero)
        word = f"{event.access} {event.value}" if event.access.endswith("?") else event.access
        lines.append(f"{time:>4} {' ' * place}{word}")
    return "\n".join(lines)


def row_name(zero: str) -> str:
    """Return the lemma's name of a zero's row."""
    return "ij"[ZEROS[zero][0]]


def counted(seeds: int = 400) -> str:
    """Return a table in Markdown: in how many runs of each trial both A and D were processed."""
    lines = [
        f"| trial | memory | runs of {seeds} in which A and D were processed |",
        "| --- | --- | --- |",
    ]
    for trial in ("as printed", "S2 reversed", "S3 reversed", *WEAK):
        memory = "weak" if trial in WEAK else "shows every store at once"
        found = len(forbidden(trial, range(seeds)))
        lines.append(f"| {WEAK.get(trial, trial)} | {memory} | {found} |")
    return "\n".join(lines)
