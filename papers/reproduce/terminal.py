"""The terminal's side: the plan, the live bar, a line a cell, the comparison tables."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.gpu.clocks import median
from papers.reproduce.report.tally import SORTS, listed, tallies

if TYPE_CHECKING:  # `reproduce list` must not wait for Numba, pandas and Matplotlib.
    import pandas as pd

    from papers.common.model import Instance
    from papers.reproduce.measure.outcome import Outcome
    from papers.reproduce.plan.cells import Job
    from papers.reproduce.plan.estimate import Estimator
    from papers.reproduce.plan.pace import Pace
    from papers.reproduce.report.report import Section

WIDTH = 120
COLOURS = {
    "ok": "green",
    "agrees": "green",
    "skipped": "dim",
    "not measured": "dim",
    "not comparable": "dim",
    "differs": "yellow",
    "open": "yellow",
    "holds": "green",
    "fails": "red",
}
_MAX_ROWS = 30
_MAX_COLUMNS = 9


def console() -> Console:
    """Return the console for results; at most 120 columns wide, plain when it is no terminal."""
    found = Console(highlight=False, soft_wrap=False)
    wide = found.width if found.is_terminal else WIDTH
    return Console(highlight=False, width=min(wide, WIDTH))


def duration(seconds: float) -> str:
    """Return a length of time as ``8 s``, ``3 min`` or ``2.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def estimate(guess: Estimator, jobs: Sequence[Job], pace: Pace) -> str:
    """Return how long `jobs` may take, and for how many of them nothing is known."""
    seconds, unknown = guess.total(jobs, pace)
    if unknown == len(jobs):
        return "unknown" if jobs else "nothing to do"
    known = f"about {duration(seconds)}"
    return f"{known}, and {unknown} cells of unknown time" if unknown else known


def milliseconds(ms: float) -> str:
    """Return a time in milliseconds with three significant digits."""
    if math.isnan(ms):
        return ""
    return f"{ms:.3g} ms" if ms < 1000 else f"{ms / 1000:.3g} s"


# ------------------------------------------------------------------------------ plan


_PLANNED = ("solver", "options", "family", "n", "range", "seed", "clocks", "repeats", "time")
_TO_THE_RIGHT = ("n", "seed", "repeats")


def plan(out: Console, jobs: Sequence[Job], guess: Estimator, pace: Pace) -> None:
    """Print the cells of a plan with their estimated times: aligned text, which nothing cuts."""
    lines = [list(_PLANNED), *(_planned(job, guess, pace) for job in jobs)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    right = [name in _TO_THE_RIGHT for name in _PLANNED]
    text = "\n".join(
        "  ".join(
            word.rjust(width) if number else word.ljust(width)
            for word, width, number in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )
    out.out(text, highlight=False)


def _planned(job: Job, guess: Estimator, pace: Pace) -> list[str]:
    cell, instance = job.cell, job.cell.instance
    seconds = guess.seconds(job, pace)
    return [
        cell.solver,
        job.options,
        _family(instance),
        str(instance.n),
        instance.label,
        str(instance.seed),
        " ".join(cell.scopes),
        str(max(pace.repeats, cell.repeats or 0)),
        "unknown" if seconds is None else duration(seconds),
    ]


def unused_seeds(jobs: Sequence[Job], seeds: Sequence[int]) -> None:
    """Warn of seeds of the command line that no cell of a plan has."""
    from papers.reproduce.plan import cells

    unused = cells.unused_seeds(jobs, seeds)
    if unused:
        listed = ", ".join(map(str, unused))
        warn(f"no cell of this plan has seed {listed}: its instances are not drawn by seed")


def _family(instance: Instance) -> str:
    """Return the family, and storage and permutation where they are not the usual."""
    stored = [instance.storage] if instance.storage != "host" else []
    return ", ".join([instance.family, *stored, *(["permuted"] if instance.permuted else [])])


# ------------------------------------------------------------------------------ live


class Live:
    """Watches a run: a bar and a line a cell on a terminal, plain lines elsewhere.

    Parameters
    ----------
    out : Console
        Where to print.
    total, finished : int
        Cells of the plan, and those finished before.
    """

    def __init__(self, out: Console, total: int, finished: int = 0) -> None:
        self._out = out
        self._total = total
        self._done = finished
        self.counts: Counter[str] = Counter()
        self._since = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=out,
            transient=True,
            disable=not out.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=total, completed=finished)

    def __enter__(self) -> Live:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begins(self, job: Job) -> None:
        """Show which cell is being measured."""
        self._since = time.monotonic()
        self._bar.update(self._task, description=_short(job))

    def stage(self, text: str) -> None:
        """Show what the cell is at."""
        head = str(self._bar.tasks[0].description).partition(" | ")[0]
        self._bar.update(self._task, description=f"{head} | {text}")

    def ended(self, job: Job, outcome: Outcome) -> None:
        """Print the cell's line: status, time, certificate, and the reason if it is not ok."""
        self._done += 1
        self.counts[outcome.status] += 1
        place = f"{self._done:>{len(str(self._total))}}/{self._total}"
        line = Text(f"{place} ")
        line.append(f"{outcome.status:<13} ", style=COLOURS.get(outcome.status, "bold red"))
        line.append(f"{_median(outcome):>9}  {outcome.certificate:<9} {_short(job)}")
        if outcome.status != "ok":
            line.append(f"  {outcome.reason}", style="red")
        self._out.print(line, soft_wrap=True)
        self._bar.update(self._task, completed=self._done)


def _short(job: Job) -> str:
    return job.key


def _median(outcome: Outcome) -> str:
    """Return the median time of the scope ``run``, or of the first scope timed."""
    times: dict[str, list[float]] = {}
    for scope, _, metric, value in outcome.values:
        if metric == "time_ms":
            times.setdefault(scope, []).append(float(value))
    values = times.get("run") or next(iter(times.values()), [])
    return milliseconds(median(values)) if values else ""


# ------------------------------------------------------------------------------ results


def rows(out: Console, lines: Sequence[Sequence[str]], title: str = "") -> None:
    """Print rows of text, header first, cut to 9 columns and 30 rows; the CSV has all."""
    if len(lines) < 2:
        return
    columns = len(lines[0])
    kept = [line[:_MAX_COLUMNS] for line in lines]
    table = Table(box=SIMPLE_HEAD, show_edge=False, title=title or None, title_justify="left")
    for place, name in enumerate(kept[0]):
        numeric = all(_is_number(line[place]) for line in kept[1:])
        table.add_column(name.replace("_", " "), justify="right" if numeric else "left")
    for line in kept[1 : _MAX_ROWS + 1]:
        table.add_row(*line)
    out.print(table)
    hidden = max(0, len(kept) - 1 - _MAX_ROWS), max(0, columns - _MAX_COLUMNS)
    if any(hidden):
        out.print(f"[dim]{hidden[0]} more rows and {hidden[1]} more columns in the CSV[/]")


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True


def section(out: Console, part: Section) -> None:
    """Print one experiment: its table and its comparison with print."""
    out.print()
    out.print(Text(f"{part.paper.name}:{part.experiment.name}  ", style="bold"), end="")
    out.print(Text(part.experiment.title))
    if part.experiment.unavailable:
        out.print(Text(f"not measured: {part.experiment.unavailable}", style="dim"))
    if part.problem:
        out.print(Text(f"could not be made: {part.problem}", style="bold red"))
    rows(out, part.rows)
    for sort in SORTS:
        _comparisons(out, sort, part.lines(sort, THIS_RUN))
    for tally in tallies(part.comparisons)[1:]:
        out.print(Text(f"{tally.origin}: {tally.text()}", style="dim"), soft_wrap=True)


def _comparisons(out: Console, sort: str, lines: list[list[str]]) -> None:
    """Print comparisons of one sort."""
    if not lines:
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, title=SORTS[sort], title_justify="left")
    headings = ("expected", "found") if sort else ("published", "measured")
    for name in ("quantity", *headings, "interval", "tolerance", "verdict", "note"):
        table.add_column(name, overflow="fold", justify="left")
    for quantity, _, _, *values, verdict, note in lines[:_MAX_ROWS]:
        table.add_row(quantity, *values, Text(verdict, style=COLOURS[verdict]), note)
    out.print(table)
    if len(lines) > _MAX_ROWS:
        out.print(f"[dim]{len(lines) - _MAX_ROWS} more in the report[/]")


def closing(out: Console, found: Sequence[str], sections: Sequence[Section]) -> None:
    """Print the number of cells by status, and of comparisons by verdict, a line an origin."""
    cells = ", ".join(f"{number} {name}" for name, number in Counter(found).items()) or "none"
    mine, *recorded = tallies(c for part in sections for c in part.comparisons)
    out.print()
    line = f"cells: {cells}; comparisons with print: {listed(mine.with_print)}"
    out.print(Text(line, style="bold"), soft_wrap=True)
    for name, counts in mine.own.items():
        out.print(Text(f"{name}: {listed(counts)}", style="bold"), soft_wrap=True)
    for tally in recorded:
        out.print(Text(f"{tally.origin}: {tally.text()}"), soft_wrap=True)


def frame(out: Console, table: pd.DataFrame) -> None:
    """Print a data frame of few columns whole."""
    from papers.reproduce.report.numbers import show_number

    text = [[show_number(value) for value in record] for record in table.itertuples(index=False)]
    shown = Table(box=SIMPLE_HEAD, show_edge=False)
    for name in table.columns:
        shown.add_column(str(name).replace("_", " "), overflow="fold")
    for line in text:
        shown.add_row(*line)
    out.print(shown)


def warn(text: str) -> None:
    """Print a line to standard error."""
    print(text, file=sys.stderr, flush=True)
