"""One cell while it is measured: its state, its turns under each clock, its answers, its proof."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from papers.common.gpu import device
from papers.common.gpu.clocks import Stopwatch
from papers.common.model import GAVE_UP, Cell, GivenUpError, Proof, Solver
from papers.common.problems import kinds
from papers.reproduce.measure.clockwork import ON_STATE, Clockwork, Times
from papers.reproduce.measure.outcome import Answer, Outcome, Value, answer_rows
from papers.reproduce.measure.proving import Prover
from papers.reproduce.plan.pace import COLD, Pace

CLOCKS = (*ON_STATE, "end_to_end")
"""The clocks in the order in which they are read: first those that share one uploaded state."""

LIMITS = {"seconds", "operations", "work_limit"}
"""Options with which a cell limits its solver."""

FIRST_IS_COLD = "the first repetition is cold"
"""The remark of a cell whose first run is long and stands as a repetition."""

SHORT_S = 0.1
"""Seconds of a run below which a proof, or another cell's turn, cools a cell down: its caches are
lost, and a GPU's clock falls within some milliseconds. A run right before the timed one, whose
answer nobody proves, warms it up again."""


@dataclass
class _Page:
    """The repetitions of one clock.

    Attributes
    ----------
    values : list of Value
    answers : list of Answer
    spent_s : float
        Seconds that they took, with their proofs; the budget of a long cell.
    proof : Proof or None
        Of all of them; None until the clock is done.
    """

    prover: Prover
    values: list[Value] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    spent_s: float = 0.0
    proof: Proof | None = None


class Notebook:
    """Times one cell, turn by turn, and collects values, answers and proofs.

    Parameters
    ----------
    solver : Solver
    cell : Cell
    data
        The drawn instance, against which answers are proved.
    clockwork : Clockwork
    pace : Pace
    compiled : bool
        Whether this process has run the solver on such data before, so that a run compiles nothing.

    Attributes
    ----------
    holds : bool
        Whether the state stays in memory between turns. Otherwise each turn uploads a new one,
        outside the clock, and warms it up.
    """

    def __init__(
        self,
        solver: Solver,
        cell: Cell,
        data: Any,
        clockwork: Clockwork,
        pace: Pace,
        compiled: bool,
    ) -> None:
        self.solver, self.cell = solver, cell
        self._data, self._clockwork, self._pace, self._compiled = data, clockwork, pace, compiled
        self._options = dict(cell.options)
        prepare = solver.prepare
        self._given = data if prepare is None else prepare(data, **self._options)
        self._pages: dict[str, _Page] = {}
        self._state: Any = None
        self._is_fresh = False  # Whether no run has been made on the state.
        self._last_s: float | None = None  # Seconds of the last run; None before the first.
        self._remarks: dict[str, None] = {}  # In the order in which they come up.
        self._end: Outcome | None = None
        self.clock = next((clock for clock in CLOCKS if clock in cell.scopes), "run")
        self.holds = True

    # ------------------------------------------------------------------------- turns

    @property
    def repeats(self) -> int:
        """The repetitions of a clock, unless the cell is long and the budget ends before."""
        in_executor = self.solver.device == "cuda" and not device.describe().is_gpu
        usual = self._pace.in_executor if in_executor else self._pace.repeats
        return max(usual, self.cell.repeats or 0)

    def wants(self, clock: str) -> bool:
        """Whether a further repetition is to be made under a clock; collective on ranks."""
        if clock not in self.cell.scopes or self._end is not None:
            return False
        page = self._pages.get(clock)
        if page is None:
            return all(one.proof is None or one.proof.ok for one in self._pages.values())
        if page.proof is not None:
            return False
        is_long = (self._last_s or 0.0) >= self._pace.long_s
        in_time = not is_long or page.spent_s <= self._pace.budget_s
        if len(page.answers) < self.repeats and (
            not page.answers or self._clockwork.share(in_time)
        ):
            return True
        page.proof = page.prover.conclude()
        return False

    def stage(self, clock: str) -> str:
        """Return the words for the turn that comes next."""
        if self._last_s is None and self._is_warmed_up:
            return "upload and warm-up"
        page = self._pages.get(clock)
        return f"{clock} {len(page.answers) + 1 if page else 1}/{self.repeats}"

    def turn(self, clock: str) -> None:
        """Make one repetition under a clock."""
        self.clock = clock
        if clock not in self._pages:
            self._pages[clock] = self._new_page()
        try:
            if clock in ON_STATE:
                self._have_state()
            if not self._first_run_stands(clock):
                found = self._warm(clock)
                if self._first_has_compiled(clock):
                    self._take_back(clock)
                    found = self._warm(clock)
                start = time.monotonic() - (self._last_s or 0.0)  # of the run that counts
                self._enter(*self._with_proof(*found))
                self._pages[clock].spent_s += time.monotonic() - start
        finally:
            if not self.holds:
                self.release()
                gc.collect()

    def release(self) -> None:
        """Let the state go."""
        self._state = None

    @property
    def _is_warmed_up(self) -> bool:
        """Whether a run comes before the counted ones; in the executor there is nothing to warm."""
        return self.solver.device == "cpu" or device.describe().is_gpu or self.repeats > 1

    def _first_run_stands(self, clock: str) -> bool:
        """Make a cell's first run; return whether it is long and stands as a repetition."""
        if self._last_s is not None or not self._is_warmed_up:
            return False
        start = time.monotonic()
        found = self._with_proof(*self._timed(clock))
        is_long = self._compiled and (self._last_s or 0.0) >= self._pace.long_s
        if not self._clockwork.share(is_long):
            return False
        self._enter(*found)
        self._pages[clock].values.append((clock, 0, COLD, 1))
        self._pages[clock].spent_s += time.monotonic() - start
        self._remarks[FIRST_IS_COLD] = None
        return True

    def _first_has_compiled(self, clock: str) -> bool:
        """Whether the second run is short, so that the long first one was no repetition.

        A call chooses its code by the instance: what it ran before need not be what it runs now.
        """
        page = self._pages[clock]
        if len(page.answers) != 1 or all(metric != COLD for _, _, metric, _ in page.values):
            return False
        return bool(self._clockwork.share((self._last_s or 0.0) < self._pace.long_s))

    def _take_back(self, clock: str) -> None:
        """Forget a clock's only repetition, and that it was cold."""
        page = self._pages[clock]
        page.values.clear()
        page.answers.clear()
        page.spent_s = 0.0
        del self._remarks[FIRST_IS_COLD]

    def _must_warm_up(self) -> bool:
        """Whether an uncounted run comes right before the timed one; collective on ranks."""
        if self._last_s is None or not self._is_warmed_up:
            return False
        bound_s = self._pace.long_s if self._is_fresh else SHORT_S
        return bool(self._clockwork.share(self._last_s < bound_s))

    def _warm(self, clock: str) -> tuple[Times, Any, Any]:
        """Make the run that counts, a short one right behind another; return what `_timed` does.

        The run before may have compiled, so that its time did not say how short this one is. If it
        is short, it was the warm-up, and the next one counts.
        """
        was_warmed = self._must_warm_up()
        if was_warmed:
            self._timed(clock)
        found = self._timed(clock)
        return self._timed(clock) if not was_warmed and self._must_warm_up() else found

    def _have_state(self) -> None:
        if self._state is not None:
            return
        self._state = self._upload()
        self._is_fresh = True
        if remark := self._clockwork.remark(self._state):
            self._remarks[remark] = None
        if not self.holds:
            self._remarks["each repetition has a new state, uploaded before its clock"] = None

    def _upload(self) -> Any:
        return self._clockwork.upload(self.solver, self._given, self._options)

    def _with_proof(self, times: Times, state: Any, answer: Any) -> tuple[Times, Answer]:
        """Return a run's times, and its answer with what proves it; takes what `_timed` returns."""
        if answer is None:
            return times, kinds.answer_of(self.solver, state)
        return times, kinds.with_proof(self.solver, state, answer)

    def _timed(self, clock: str) -> tuple[Times, Any, Any]:
        """Make one run under a clock; return its values, its state, and what it has downloaded.

        Nothing is downloaded under the clocks of `ON_STATE`: None. The clock of a caller is read
        from data on the host to the answer on the host.
        """
        start = time.monotonic()
        if clock == "end_to_end":
            with Stopwatch(self._clockwork.synchronize) as lap:
                state = self._upload()
                self.solver.run(state)
                answer = self.solver.download(state)
            self._last_s = time.monotonic() - start
            return {"time_ms": lap.ms}, state, answer
        times = ON_STATE[clock](self._clockwork, self.solver, self._state)
        self._last_s = time.monotonic() - start
        self._is_fresh = False
        return times, self._state, None

    # ------------------------------------------------------------------------- results

    def _new_page(self) -> _Page:
        maximize = bool(self._options.get("maximize", False))
        return _Page(Prover(self._clockwork, self.solver, self.cell.instance, self._data, maximize))

    def _enter(self, times: Times, answer: Answer) -> None:
        """Write a repetition down and have its answer proved."""
        page = self._pages[self.clock]
        repeat = len(page.answers)
        page.values += [(self.clock, repeat, metric, value) for metric, value in times.items()]
        page.prover.hear(answer)
        page.answers.append(answer)

    def give_up(self, error: GivenUpError) -> None:
        """End the cell at a limit of time or of work; clocks that were read before stand.

        A bound on the work that the cell did not set is one that no right solver meets: the cell
        has then failed.
        """
        after: tuple[Value, ...] = ()
        if error.after_ms is None and not LIMITS & self._options.keys():
            self._end = Outcome("failed", "none", str(error))
            return
        if error.after_ms is not None:
            after = ((self.clock, 0, GAVE_UP, error.after_ms),)
        self._pages.pop(self.clock, None)
        if not self._pages:
            self._end = Outcome("skipped", "none", str(error), after)
            return
        found = self._found()
        self._end = Outcome(found.status, found.certificate, found.reason, (*found.values, *after))

    def skip(self, reason: str) -> None:
        """End the cell without a measurement."""
        self._end = Outcome("skipped", "none", reason)

    def outcome(self) -> Outcome:
        """Return how the cell ended; its device is left open."""
        return self._end or self._found()

    def _found(self) -> Outcome:
        values: list[Value] = []
        answers: list[Answer] = []
        last, where = Proof(False, "none", "no scope was timed"), ""
        for clock, page in self._pages.items():
            last, where = page.proof or page.prover.conclude(), f"{clock}: "
            values += page.values
            answers = answers or page.answers
            if not last.ok:
                break
        every = (*values, *answer_rows(answers))
        if not last.ok:
            return Outcome("not-certified", last.kind, where + last.reason, every)
        return Outcome("ok", last.kind, "; ".join((last.reason, *self._remarks)), every)


Report = Callable[[int, str], None]
"""Told the place of a cell in its group and what begins there, outside the clocks."""
