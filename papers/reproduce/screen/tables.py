"""Tables as aligned text. No number is ever cut: what is too wide goes on below.

A column of text is folded at words; where that is not enough, the columns that do not fit stand in
a second table below the first, each row with its first column again.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from papers.common.evidence.comparisons import THIS_RUN
from papers.reproduce.report.tally import SORTS, tallies
from papers.reproduce.screen.console import WIDTH, duration, warn

if TYPE_CHECKING:
    import pandas as pd

    from papers.common.model import Instance
    from papers.reproduce.plan.cells import Job
    from papers.reproduce.plan.estimate import Estimator
    from papers.reproduce.plan.pace import Pace
    from papers.reproduce.report.report import Section

_MAX_ROWS = 30
_GAP = 2
_TEXT = 28
"""Columns that a folded text may take where the table is too wide."""


# ------------------------------------------------------------------------------ aligned text


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True


def aligned(lines: Sequence[Sequence[str]], width: int = WIDTH) -> str:
    """Return rows of text, header first, as aligned columns of at most `width` where they can be.

    Numbers and single words are never cut or folded, so a very narrow `width` is exceeded.

    Parameters
    ----------
    lines : sequence of rows
        All of one length.
    width : int
        Columns of the terminal.
    """
    if not lines or not lines[0]:
        return ""
    columns = [[str(value) for value in column] for column in zip(*lines, strict=True)]
    right = [all(map(_is_number, column[1:])) for column in columns]
    if _wide(columns) > width:
        columns = [
            column if number else [_folded(text) for text in column]
            for column, number in zip(columns, right, strict=True)
        ]
    return "\n\n".join(_panel(columns, right, part) for part in _parts(columns, width))


def _width(column: Sequence[str]) -> int:
    return max(len(line) for text in column for line in text.split("\n"))


def _wide(columns: Sequence[Sequence[str]]) -> int:
    return sum(_width(column) + _GAP for column in columns) - _GAP


def _folded(text: str) -> str:
    return textwrap.fill(text, _TEXT, break_long_words=False, break_on_hyphens=False)


def _parts(columns: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Return the places of the columns of each panel: all begin with the first column."""
    parts = [[0]]
    for place in range(1, len(columns)):
        wide = _wide([columns[other] for other in [*parts[-1], place]])
        if wide > width and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(place)
    return parts


def _panel(columns: Sequence[Sequence[str]], right: Sequence[bool], part: Sequence[int]) -> str:
    """Return the columns of one panel, side by side."""
    widths = {place: _width(columns[place]) for place in part}
    lines = []
    for row in zip(*(columns[place] for place in part), strict=True):
        fields = [text.split("\n") for text in row]
        for at in range(max(map(len, fields))):
            words = [field[at] if at < len(field) else "" for field in fields]
            lines.append(
                (" " * _GAP)
                .join(
                    word.rjust(widths[place]) if right[place] else word.ljust(widths[place])
                    for word, place in zip(words, part, strict=True)
                )
                .rstrip()
            )
    return "\n".join(lines)


def rows(out: Console, lines: Sequence[Sequence[str]], most: int | None = None) -> None:
    """Print rows of text, header first; at most `most` of them, if that is given."""
    if len(lines) < 2:
        return
    header = [name.replace("_", " ") for name in lines[0]]
    body = list(lines[1:]) if most is None else list(lines[1 : most + 1])
    # Not `print`: nothing may cut or fold what is aligned.
    out.out(aligned([header, *body], out.width), highlight=False)
    if len(lines) - 1 > len(body):
        out.print(Text(f"{len(lines) - 1 - len(body)} more rows in the CSV", style="dim"))


# ------------------------------------------------------------------------------ plan


_PLANNED = ("solver", "options", "family", "n", "range", "seed", "clocks", "repeats", "time")


def plan(out: Console, jobs: Sequence[Job], guess: Estimator, pace: Pace) -> None:
    """Print the cells of a plan with their estimated times, a line a cell."""
    lines = [list(_PLANNED), *(_planned(job, guess, pace) for job in jobs)]
    out.out(aligned(lines, 10**6), highlight=False)


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
        "unknown" if seconds is None else "< 1 s" if seconds < 0.5 else duration(seconds),
    ]


def unused_seeds(jobs: Sequence[Job], seeds: Sequence[int]) -> None:
    """Warn of seeds of the command line that no cell of a plan has."""
    from papers.reproduce.plan import cells

    unused = cells.unused_seeds(jobs, seeds)
    if unused:
        listed = ", ".join(map(str, unused))
        why = "its instances are drawn with the first seed, or without one"
        warn(f"no cell of this plan has seed {listed}: {why}")


def _family(instance: Instance) -> str:
    """Return the family, and storage and permutation where they are not the usual."""
    stored = [instance.storage] if instance.storage != "host" else []
    return ", ".join([instance.family, *stored, *(["permuted"] if instance.permuted else [])])


# ------------------------------------------------------------------------------ results


def section(out: Console, part: Section) -> None:
    """Print one experiment: its table and its comparison with print."""
    out.print()
    out.print(Text(f"{part.paper.name}:{part.experiment.name}  ", style="bold"), end="")
    out.print(Text(part.experiment.title), soft_wrap=True)
    if part.experiment.unavailable:
        out.print(Text(f"not measured: {part.experiment.unavailable}", style="dim"))
    if part.problem:
        out.print(Text(f"could not be made: {part.problem}", style="bold red"))
    rows(out, part.rows, _MAX_ROWS)
    for sort in SORTS:
        _comparisons(out, sort, part.lines(sort, THIS_RUN))
    for tally in tallies(part.comparisons)[1:]:
        out.print(Text(f"{tally.origin}: {tally.text()}", style="dim"), soft_wrap=True)


def _comparisons(out: Console, sort: str, lines: list[list[str]]) -> None:
    """Print comparisons of one sort."""
    if not lines:
        return
    headings = ("expected", "found") if sort else ("published", "measured")
    names = ["quantity", *headings, "interval", "tolerance", "verdict", "note"]
    out.print(Text(SORTS[sort], style="italic"))
    rows(out, [names, *([line[0], *line[3:]] for line in lines)])


def frame(out: Console, table: pd.DataFrame) -> None:
    """Print a data frame of few columns whole."""
    from papers.reproduce.report.numbers import show_number

    text = [[show_number(value) for value in record] for record in table.itertuples(index=False)]
    rows(out, [[str(name) for name in table.columns], *text])
