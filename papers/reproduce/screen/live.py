"""The watch of a run that goes on: one bar with the time left, or a line at each tenth."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from papers.common.gpu.clocks import median
from papers.reproduce.screen.console import COLOURS, Volume, duration, milliseconds

if TYPE_CHECKING:
    from papers.reproduce.measure.outcome import Outcome
    from papers.reproduce.plan.cells import Job

FINE = ("ok", "skipped")
"""Statuses that are not told while a run goes on; the answer at its end counts them."""


class Remaining:
    """The time that is left, from predictions and from how true they were so far.

    Parameters
    ----------
    predicted : mapping of str to (float or None)
        Seconds of each cell that is left, by its key; None where nothing is known.
    """

    def __init__(self, predicted: Mapping[str, float | None]) -> None:
        self._left = dict(predicted)
        self._foretold = self._took = 0.0
        self._unknown_took, self._unknown = 0.0, 0

    def ended(self, key: str, seconds: float) -> None:
        """Take in that a cell took so long."""
        guess = self._left.pop(key, None)
        if guess is None:
            self._unknown_took += seconds
            self._unknown += 1
        else:
            self._foretold += guess
            self._took += seconds

    def seconds(self) -> float | None:
        """Return the seconds left, None while nothing can be said.

        Predictions are stretched as the finished cells' were; a cell without one is taken to last
        as those without one did, or as all did.
        """
        known = [guess for guess in self._left.values() if guess is not None]
        stretch = self._took / self._foretold if self._foretold > 0 else 1.0
        unknown = len(self._left) - len(known)
        if not unknown:
            return stretch * sum(known)
        if self._unknown:
            each = self._unknown_took / self._unknown
        elif known:
            each = stretch * sum(known) / len(known)
        else:
            return None
        return stretch * sum(known) + unknown * each

    def text(self) -> str:
        """Return e.g. ``"about 3 min left"``, or "" while nothing can be said."""
        left = self.seconds()
        return "" if left is None else f"about {duration(left)} left" if self._left else "done"


class Live:
    """Watches a run: a bar on a terminal, a line at each tenth of the plan elsewhere.

    Cells that failed have a line each in both; with `Volume.verbose` all cells have one.

    Parameters
    ----------
    out : Console
        Where to print.
    jobs : sequence of Job
        The cells that are left.
    remaining : Remaining
        Their times.
    total : int
        Cells of the whole plan.
    volume : Volume
    """

    def __init__(
        self,
        out: Console,
        jobs: Sequence[Job],
        remaining: Remaining,
        total: int,
        volume: Volume = Volume.answer,
    ) -> None:
        self._out, self._total, self._volume = out, total, volume
        self._finished = total - len(jobs)
        self._done = self._finished
        self._remaining = remaining
        self.counts: Counter[str] = Counter()
        self._begun = self._since = time.monotonic()
        self._tenth = 0
        self._bar = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            TextColumn("{task.description}", markup=False),
            console=out,
            transient=True,
            disable=not out.is_terminal,
        )
        self._task = self._bar.add_task(
            "starting", total=total, completed=self._done, left=remaining.text()
        )

    def __enter__(self) -> Live:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begins(self, job: Job) -> None:
        """Show which cell is being measured."""
        self._bar.update(self._task, description=job.key)

    def stage(self, text: str) -> None:
        """Show what the cell is at."""
        head = str(self._bar.tasks[0].description).partition(" | ")[0]
        self._bar.update(self._task, description=f"{head} | {text}")

    def ended(self, job: Job, outcome: Outcome) -> None:
        """Move the bar; print the cell's line if it is not ok, or if all are asked for."""
        now = time.monotonic()
        self._remaining.ended(job.key, now - self._since)
        self._since = now
        self._done += 1
        self.counts[outcome.status] += 1
        if self._volume is Volume.verbose or outcome.status not in FINE:
            self._out.print(self._line(job, outcome), soft_wrap=True)
        left = self._remaining.text()
        self._bar.update(self._task, completed=self._done, left=left)
        if self._bar.disable and self._volume is Volume.answer:
            self._tell_tenth(left)

    def _tell_tenth(self, left: str) -> None:
        """Print a line at each tenth of what is measured here."""
        tenth = 10 * (self._done - self._finished) // max(1, self._total - self._finished)
        if tenth > self._tenth:
            self._tenth = tenth
            took = duration(time.monotonic() - self._begun)
            self._out.print(f"{self._done} of {self._total} cells, {took} so far, {left}")

    def _line(self, job: Job, outcome: Outcome) -> Text:
        """Return a cell's line: status, time, certificate, and the reason if it is not ok."""
        place = f"{self._done:>{len(str(self._total))}}/{self._total}"
        line = Text(f"{place} ")
        line.append(f"{outcome.status:<13} ", style=COLOURS.get(outcome.status, "bold red"))
        line.append(f"{_median(outcome):>9}  {outcome.certificate:<12} {job.key}")
        if outcome.status != "ok":
            line.append(f"  {outcome.reason}", style="red")
        return line


def _median(outcome: Outcome) -> str:
    """Return the median time of the scope ``run``, or of the first scope timed."""
    times: dict[str, list[float]] = {}
    for scope, _, metric, value in outcome.values:
        if metric == "time_ms":
            times.setdefault(scope, []).append(float(value))
    values = times.get("run") or next(iter(times.values()), [])
    return milliseconds(median(values)) if values else ""
