"""The end of a run on one screen: do these papers hold, in which sense, and on which machine.

At most `MOST` lines, on a terminal of 80 columns and more: a line a paper, the meaning of the
words, everything that differs or is open by name (folded to counts where there is more than fits),
the place of the report, the exit code in words. `as_json` says the same to programs, unfolded.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from papers.common.evidence.comparisons import THIS_RUN
from papers.common.model import Comparison
from papers.reproduce.report.numbers import show_number
from papers.reproduce.report.report import Section
from papers.reproduce.report.tally import VERDICTS, Tally, tallies
from papers.reproduce.screen.console import COLOURS
from papers.reproduce.screen.tables import aligned

MOST = 40
"""Lines of the answer."""

JSON_FORMAT = "reproduce run, format 1"
"""The value of the key ``format`` of the file for programs."""

LEGEND = (
    "agrees: the interval of our figure meets the tolerance that its row states.",
    "differs: it does not, and a recorded experiment bounds the cause.",
    "open: it does not (a claim in words: not with its whole interval), and nobody knows why yet.",
)
_TOLD = ("fails", "open", "differs")
"""Verdicts that are told by name, the worst first."""

_JUDGED = ("agrees", "differs", "open")
_REASONS = 4
"""Lines for cells that are not ok, and for problems."""


@dataclass(frozen=True)
class End:
    """The end of one cell.

    Attributes
    ----------
    cell : str
        Its key.
    papers : tuple of str
        The papers whose experiments read it.
    status, reason : str
    """

    cell: str
    papers: tuple[str, ...]
    status: str
    reason: str = ""


@dataclass(frozen=True)
class Answer:
    """The result of a run that has ended.

    Attributes
    ----------
    folder : Path
        The run folder.
    device : str
        The machine that measured.
    preset : str
    ends : list of End
        One a planned cell.
    sections : list of Section
        The report's.
    problems : list of str
        What could not be made.
    code : int
        The exit code.
    why : str
        The exit code in words.
    """

    folder: Path
    device: str
    preset: str
    ends: list[End]
    sections: list[Section]
    problems: list[str] = field(default_factory=list)
    code: int = 0
    why: str = ""

    def papers(self) -> list[str]:
        """Return the names of the papers, in the order of the report."""
        return list(dict.fromkeys(part.paper.name for part in self.sections))

    def statuses(self, paper: str | None = None) -> Counter[str]:
        """Return the number of cells by status, of one paper or of all."""
        return Counter(end.status for end in self.ends if paper is None or paper in end.papers)

    def comparisons(self, paper: str | None = None) -> list[tuple[str, Comparison]]:
        """Return (``PAPER:EXPERIMENT``, comparison) of one paper or of all."""
        return [
            (f"{part.paper.name}:{part.experiment.name}", item)
            for part in self.sections
            for item in part.comparisons
            if paper in (None, part.paper.name)
        ]


# ------------------------------------------------------------------------------ lines


def show(out: Console, answer: Answer) -> None:
    """Print the answer."""
    for line in lines(answer, out.width):
        out.print(line, soft_wrap=True)


def lines(answer: Answer, width: int, most: int = MOST) -> list[Text]:
    """Return the answer's lines; together they take at most `most` lines of a terminal.

    Parameters
    ----------
    answer : Answer
    width : int
        Columns of the terminal: a longer line counts as several.
    most : int
        Lines that there are. A terminal under 80 columns may need more.
    """
    head = [*_table(answer, width), "", *LEGEND, ""]
    tail = [*_not_ok(answer.ends), *_problems(answer.problems), _place(answer), _exit(answer)]
    room = most - sum(_height(line, width) for line in [*head, *tail])
    told = [_coloured(line) for line in _told(answer.comparisons(), room, width)]
    return [*map(Text, head), *told, *map(_coloured, tail)]


def _height(line: str, width: int) -> int:
    return max(1, math.ceil(len(line) / max(1, width)))


def _coloured(line: str) -> Text:
    text = Text(line)
    word = line.partition(" ")[0]
    if word in COLOURS:
        text.stylize(COLOURS[word], 0, len(word))
    return text


def _table(answer: Answer, width: int) -> list[str]:
    """Return a line a paper: its cells, and the verdicts of this run and of each record."""
    by_paper = {name: tallies(c for _, c in answer.comparisons(name)) for name in answer.papers()}
    origins = dict.fromkeys(t.origin for found in by_paper.values() for t in found)
    names = sorted(origins, key=lambda origin: (origin != THIS_RUN, origin))
    header = ["paper", "cells", *(name.replace("recorded ", "on ") for name in names)]
    body = []
    for paper, found in by_paper.items():
        known = {tally.origin: tally for tally in found}
        judged = [_judged(known.get(name), name == THIS_RUN) for name in names]
        body.append([paper, _counted(answer.statuses(paper)), *judged])
    first = (
        f"{len(answer.ends)} cells on {answer.device}, preset {answer.preset}; comparisons with "
        "print, here and in the records: agrees / differs / open"
    )
    return [first, "", *aligned([header, *body], width).split("\n")]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items()) or "none"


def _judged(tally: Tally | None, here: bool) -> str:
    counts = tally.with_print if tally is not None else Counter()
    if any(counts[name] for name in _JUDGED):
        return " / ".join(str(counts[name]) for name in _JUDGED)
    return "nothing to judge here" if here else "-"


def worst_first(items: Iterable[tuple[str, Comparison]]) -> list[tuple[str, Comparison]]:
    """Return what is told by name: failures, then open, then differing ones, farthest first."""
    told = [pair for pair in items if pair[1].verdict in _TOLD]
    return sorted(told, key=lambda pair: (_TOLD.index(pair[1].verdict), -_distance(pair[1])))


def _distance(item: Comparison) -> float:
    """Return by how much two numbers differ, as the absolute logarithm of their ratio."""
    pair = item.published, item.measured
    if any(isinstance(value, str) or value is None or not value > 0 for value in pair):
        return 0.0
    return abs(math.log(float(item.measured or 1) / float(item.published or 1)))


def _told(items: Sequence[tuple[str, Comparison]], room: int, width: int) -> list[str]:
    """Return what differs or is open here: lines by name, the largest groups folded to counts."""
    mine = worst_first(pair for pair in items if pair[1].origin == THIS_RUN)
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, item in mine:
        groups[item.verdict, name].append(_named(name, item))
    if not groups:
        judged = sum(c.verdict == "agrees" and c.origin == THIS_RUN for _, c in items)
        return [f"Nothing differs, and nothing is open, of what was compared here ({judged})."]

    def height(group: Sequence[str]) -> int:
        return sum(_height(line, width) for line in group)

    # A count says less than its lines: the largest groups are folded first.
    for (verdict, name), group in sorted(groups.items(), key=lambda entry: -len(entry[1])):
        if sum(map(height, groups.values())) <= room or len(group) < 2:
            break
        groups[verdict, name] = [f"{verdict:<8} {name}: {len(group)} rows, see the report"]
    found = [line for group in groups.values() for line in group]
    if height(found) <= room:
        return found
    kept: list[str] = []
    while found and height([*kept, found[0]]) < room:
        kept.append(found.pop(0))
    verdicts = Counter(line.partition(" ")[0] for line in found)
    return [*kept, f"... and {_counted(verdicts)} more (experiments or lines), see the report"]


def _named(name: str, item: Comparison) -> str:
    """Return a comparison as one line: verdict, experiment, quantity, both values, tolerance."""
    other, quantity = "print", item.quantity
    if item.verdict == "fails":
        other, quantity = "expected", f"{item.quantity} ({item.kind})"
    values = f"{show_number(item.measured)}, {other} {show_number(item.published)}"
    tolerance = f" ({item.tolerance})" if item.tolerance else ""
    return f"{item.verdict:<8} {name}  {quantity}: {values}{tolerance}"


def _not_ok(ends: Sequence[End]) -> list[str]:
    """Return the cells that are not ok by status and reason, a line a group."""
    groups: dict[tuple[str, str], list[str]] = {}
    for end in ends:
        if end.status != "ok":
            groups.setdefault((end.status, _kind(end.reason)), []).append(end.reason)
    found = [
        f"{len(reasons)} {status}: {_reason(kind, reasons) or 'no reason is known'}"
        for (status, kind), reasons in sorted(groups.items(), key=_skipped_last)
    ]
    return _at_most(found, _REASONS, "other reasons of cells, see the report")


def _skipped_last(entry: tuple[tuple[str, str], list[str]]) -> tuple[bool, int, str]:
    (status, kind), reasons = entry
    return status == "skipped", -len(reasons), status + kind


def _kind(reason: str) -> str:
    """Return a reason without its numbers, so that alike ones are one; and cut to one line."""
    return _cut(
        " ".join("..." if word.replace(".", "").isdigit() else word for word in reason.split())
    )


def _reason(kind: str, reasons: Sequence[str]) -> str:
    """Return the reason of a group, with its numbers if they are the same in all of it."""
    return _cut(" ".join(reasons[0].split())) if len(set(reasons)) == 1 else kind


def _cut(line: str) -> str:
    return line if len(line) <= 100 else f"{line[:97]}..."


def _problems(problems: Sequence[str]) -> list[str]:
    found = [f"problem: {' '.join(problem.split())}"[:200] for problem in problems]
    return _at_most(found, _REASONS, "more problems")


def _at_most(found: list[str], most: int, rest: str) -> list[str]:
    if len(found) <= most:
        return found
    return [*found[: most - 1], f"... and {len(found) - most + 1} {rest}"]


def _place(answer: Answer) -> str:
    return f"report: {answer.folder / 'site' / 'index.html'}"


def _exit(answer: Answer) -> str:
    return f"exit code {answer.code}: {answer.why}"


# ------------------------------------------------------------------------------ for programs


def as_json(answer: Answer) -> str:
    """Return the answer as JSON; a number that is not finite is null."""
    value = {
        "format": JSON_FORMAT,
        "folder": str(answer.folder),
        "report": str(answer.folder / "site" / "index.html"),
        "device": answer.device,
        "preset": answer.preset,
        "exit_code": answer.code,
        "why": answer.why,
        "problems": answer.problems,
        "papers": {name: _of_paper(answer, name) for name in answer.papers()},
        "cells": [
            {"cell": end.cell, "status": end.status, "reason": end.reason} for end in answer.ends
        ],
        "comparisons": [as_dict(name, item) for name, item in answer.comparisons()],
    }
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _of_paper(answer: Answer, name: str) -> dict[str, Any]:
    found = tallies(item for _, item in answer.comparisons(name))
    return {
        "cells": dict(answer.statuses(name)),
        "verdicts": {
            tally.origin: {
                sort or "print": {word: counts[word] for word in VERDICTS if counts[word]}
                for sort, counts in tally.by_sort.items()
                if counts
            }
            for tally in found
        },
    }


def as_dict(name: str, item: Comparison) -> dict[str, Any]:
    """Return a comparison of an experiment, ``PAPER:EXPERIMENT``, as JSON knows it."""
    fields = ("quantity", "kind", "origin", "tolerance", "verdict", "note", "remark")
    numbers = ("published", "measured", "low", "high", "steady")
    return {
        "experiment": name,
        **{key: getattr(item, key) for key in fields},
        **{key: _plain(getattr(item, key)) for key in numbers},
        "cause": item.cause.experiment if item.cause is not None else None,
    }


def _plain(value: Any) -> Any:
    """Return a value that JSON knows."""
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number
