"""The panels of [K21]: six time lines, the slack matrix, the counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from papers.common.evidence.trace.panels import (
    NEVER,
    Arrays,
    Look,
    Matrix,
    Panel,
    Vectors,
    shown,
    unset,
)
from papers.common.executor.recorder import Recording
from papers.kawtikwar_opts.evidence.trace.words import TALLY

SMALL = "".join(chr(0x2080 + digit) for digit in range(10))
"""Digits below the line."""

NOTE = (
    "A lane is a version, from left to right its launches and barriers: "
    '<i class="launch"></i> a launch, <i class="grid"></i> a barrier of the grid, '
    '<i class="block"></i> a barrier of a block. The filled ones are done, in the version that '
    "plays. Lengths are no times."
)


def marks_of(recording: Recording) -> list[str]:
    """Return the launches and barriers of a run in order, ``"launch step_4"``, ``"grid"``."""
    marks = []
    for event in recording.events:
        if event.kind == "launch":
            marks.append(f"launch {event.kernel}")
        elif event.kind == "barrier":
            marks.append("grid" if event.block < 0 else "block")
    return marks


@dataclass(frozen=True)
class TimeLines:
    """The launches and barriers of all versions, a lane each.

    Attributes
    ----------
    name, title : str
        As of `Panel`. Keys are ``name.<version>.<place>``.
    lanes : callable() -> mapping of str to list of str
        The marks of each version, as of `marks_of`.
    """

    name: str
    title: str
    lanes: Callable[[], Mapping[str, list[str]]]

    def skeleton(self) -> str:
        """Return a row of boxes a lane, with its counts."""
        rows = []
        for version, marks in self.lanes().items():
            boxes = "".join(
                f'<i data-key="{self.name}.{version}.{k}" title="{escape(mark, quote=True)}"></i>'
                for k, mark in enumerate(marks)
            )
            count = sum(mark.startswith("launch") for mark in marks)
            words = f"{count} launch{'es' * (count != 1)}, {len(marks) - count} barriers"
            rows.append(
                f'<div class="lane"><b>{version}</b><small>{words}</small></div>'
                f'<div class="lane">{boxes}</div>'
            )
        return f'<div class="lanes">{"".join(rows)}</div><p class="note">{NOTE}</p>'

    @cached_property
    def _none_done(self) -> dict[str, Look]:
        return {
            f"{self.name}.{version}.{k}": Look("", mark.partition(" ")[0])
            for version, marks in self.lanes().items()
            for k, mark in enumerate(marks)
        }

    def looks(self, now: Arrays) -> dict[str, Look]:
        """Return the look of each box: done or not."""
        own, found = list(self.lanes())[int(now["version"][0])], dict(self._none_done)
        for k in range(int(now["tally"][0])):
            key = f"{self.name}.{own}.{k}"
            found[key] = Look("", f"{found[key].classes} done")
        return found


class Pictures:
    """The panels for order `n` and so many columns a bin."""

    def __init__(
        self, n: int, lines_a_bin: int, lanes: Callable[[], Mapping[str, list[str]]]
    ) -> None:
        self.n, self.bins, self.lanes = n, -(-n // lines_a_bin), lanes

    def panels(self) -> Sequence[Panel]:
        """Return time lines, matrix and counters."""
        n = self.n
        lines = {"zeros in all": 1, "zeros by bin": self.bins} | dict.fromkeys(TALLY[1:], 1)
        return (
            TimeLines("t", "Six versions on one time line", self.lanes),
            Matrix(
                "m", "Slack matrix", [f"R{i}" for i in range(n)], [f"C{j}" for j in range(n)],
                self._cell, self._row, self._column,
                "The small number is how often dual updates have loaded the entry. "
                '<span class="key star">\N{BLACK STAR}</span> star, '
                '<span class="key prime">\N{PRIME}</span> prime; a '
                '<span class="key covered">shaded</span> line is covered.',
            ),
            Vectors(
                "c", "Counters", lines, self._element,
                "Loads, stores and additions are those of the dual updates, the minimum left out.",
            ),
        )  # fmt: skip

    def _cell(self, now: Arrays, row: int, column: int) -> Look:
        value = now["slack"][column * self.n + row]
        classes: list[str] = []
        if unset(value):
            return NEVER
        text = shown(value.item())
        if now["row_of_star_at_column"][column] == row:
            classes, text = [*classes, "star"], text + "\N{BLACK STAR}"
        if now["column_of_prime_at_row"][row] == column:
            classes, text = [*classes, "prime"], text + "\N{PRIME}"
        if value == 0:
            classes.append("zero")
        if now["covered_row"][row] == 1:
            classes.append("row-covered")
        if now["covered_column"][column] == 1:
            classes.append("column-covered")
        loaded = int(now["loaded"][column * self.n + row])
        return Look(text + (SMALL[loaded % 10] if loaded else ""), " ".join(classes))

    def _row(self, now: Arrays, row: int) -> Look:
        return Look(f"R{row}", "covered" if now["covered_row"][row] == 1 else "")

    def _column(self, now: Arrays, column: int) -> Look:
        return Look(f"C{column}", "covered" if now["covered_column"][column] == 1 else "")

    def _element(self, now: Arrays, line: str, index: int) -> Look:
        if line in TALLY:
            return Look(str(now["tally"][TALLY.index(line)]))
        array = {"zeros in all": "zeros_size", "zeros by bin": "zeros_size_b"}[line]
        if array not in now:
            return Look("\N{EM DASH}")
        value = now[array][index]
        return NEVER if unset(value) else Look(shown(value.item()))
