"""Pictures of the arrays of a run: a table, a graph, bars. A page changes them and knows no more.

A panel has a skeleton, which is HTML, and looks: for each of its parts, by a key, the text, the
classes (the words of `page.css`) and the style that it has for given arrays. Moving forward or
back is setting looks; everything that has a meaning happens here and in the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np

Arrays = Mapping[str, np.ndarray]


class Look(NamedTuple):
    """The look of a part of a panel."""

    text: str = ""
    classes: str = ""
    style: str = ""


NEVER = Look("\N{MIDDLE DOT}", "unset")
"""An element that nobody has written."""


class Panel(Protocol):
    """A picture of the arrays."""

    @property
    def name(self) -> str:
        """Beginning of its keys."""

    @property
    def title(self) -> str:
        """Its heading."""

    def skeleton(self) -> str:
        """Return its HTML; a part has its key as ``data-key``."""

    def looks(self, now: Arrays) -> dict[str, Look]:
        """Return the look of each part, by key."""


@dataclass(frozen=True)
class Matrix:
    """A table with a head for each row and column.

    Attributes
    ----------
    name, title : str
        As of `Panel`. Keys are ``name.row.column``, ``name.r<row>`` and ``name.c<column>``.
    rows, columns : sequence of str
        The heads.
    cell : callable(arrays, row, column) -> Look
    row, column : callable(arrays, number) -> Look
        The looks of heads.
    note : str
        A line below: the legend.
    """

    name: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cell: Callable[[Arrays, int, int], Look]
    row: Callable[[Arrays, int], Look]
    column: Callable[[Arrays, int], Look]
    note: str = ""

    def skeleton(self) -> str:
        """Return a table."""
        head = "".join(
            f'<th scope="col" data-key="{self.name}.c{c}">{escape(label)}</th>'
            for c, label in enumerate(self.columns)
        )
        body = "".join(
            f'<tr><th scope="row" data-key="{self.name}.r{r}">{escape(label)}</th>'
            + "".join(f'<td data-key="{self.name}.{r}.{c}"></td>' for c in range(len(self.columns)))
            + "</tr>"
            for r, label in enumerate(self.rows)
        )
        return f'<table class="matrix"><tr><td></td>{head}</tr>{body}</table>{_note(self.note)}'

    def looks(self, now: Arrays) -> dict[str, Look]:
        """Return the look of each cell and head."""
        rows, columns = range(len(self.rows)), range(len(self.columns))
        found = {f"{self.name}.{r}.{c}": self.cell(now, r, c) for r in rows for c in columns}
        found |= {f"{self.name}.r{r}": self.row(now, r) for r in rows}
        return found | {f"{self.name}.c{c}": self.column(now, c) for c in columns}


@dataclass(frozen=True)
class Graph:
    """Vertices at fixed places and edges between them, drawn as SVG.

    Attributes
    ----------
    name, title : str
        As of `Panel`. Keys are ``name.<vertex>`` and ``name.<vertex>-<vertex>``.
    places : mapping of str to (float, float)
        Each vertex's place, in steps of about one vertex and its surroundings.
    edges : sequence of (str, str)
        All that may be seen.
    vertex : callable(arrays, vertex) -> Look
    edge : callable(arrays, first, second) -> Look
        An edge's text stands at its middle.
    note : str
        The legend.
    directed : bool
        Whether edges have a head.
    """

    name: str
    title: str
    places: Mapping[str, tuple[float, float]]
    edges: Sequence[tuple[str, str]]
    vertex: Callable[[Arrays, str], Look]
    edge: Callable[[Arrays, str, str], Look]
    note: str = ""
    directed: bool = False
    scale: float = field(default=64.0)

    def skeleton(self) -> str:
        """Return an SVG."""
        wide = max(x for x, _ in self.places.values()) + 1
        high = max(y for _, y in self.places.values()) + 1
        lines = "".join(self._line(*edge) for edge in self.edges)
        discs = "".join(self._disc(*place) for place in self.places.items())
        box = f"0 0 {wide * self.scale:.0f} {high * self.scale:.0f}"
        label = escape(self.title, quote=True)
        return (
            f'<svg class="graph" viewBox="{box}" style="max-width:{wide * self.scale * 1.15:.0f}px"'
            f' role="img" aria-label="{label}">{lines}{discs}</svg>{_note(self.note)}'
        )

    def _at(self, vertex: str) -> tuple[float, float]:
        x, y = self.places[vertex]
        return (x + 0.5) * self.scale, (y + 0.5) * self.scale

    def _line(self, first: str, second: str) -> str:
        (x1, y1), (x2, y2) = self._at(first), self._at(second)
        long = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1.0)
        aside = 5.0 if self.directed and (second, first) in self.edges else 0.0
        dx, dy = (y1 - y2) / long * aside, (x2 - x1) / long * aside  # to the side of its reverse
        cut = 19.0 / long if self.directed else 0.0
        ends = (
            f'x1="{x1 + dx:.1f}" y1="{y1 + dy:.1f}" '
            f'x2="{x2 + dx - (x2 - x1) * cut:.1f}" y2="{y2 + dy - (y2 - y1) * cut:.1f}"'
        )
        head = ' marker-end="url(#head)"' if self.directed else ""
        x, y = x1 + 0.5 * (x2 - x1) + dx * 2.4, y1 + 0.5 * (y2 - y1) + dy * 2.4
        return (
            f'<g data-key="{self.name}.{first}-{second}" class="edge"><line {ends}{head}/>'
            f'<text x="{x:.1f}" y="{y:.1f}"></text></g>'
        )

    def _disc(self, vertex: str, place: tuple[float, float]) -> str:
        x, y = self._at(vertex)
        return (
            f'<g data-key="{self.name}.{vertex}" class="vertex"><circle cx="{x:.1f}" cy="{y:.1f}" '
            f'r="15"/><text x="{x:.1f}" y="{y:.1f}"></text></g>'
        )

    def looks(self, now: Arrays) -> dict[str, Look]:
        """Return the look of each vertex and edge."""
        found = {f"{self.name}.{v}": self.vertex(now, v) for v in self.places}
        return found | {f"{self.name}.{a}-{b}": self.edge(now, a, b) for a, b in self.edges}


@dataclass(frozen=True)
class Vectors:
    """Arrays as they lie in memory, a line each.

    Attributes
    ----------
    name, title : str
        As of `Panel`. Keys are ``name.<line>.<index>``.
    lines : mapping of str to int
        Labels, and how many elements each shows.
    element : callable(arrays, line, index) -> Look
    note : str
        The legend.
    first : int
        Number of the first element in the head.
    """

    name: str
    title: str
    lines: Mapping[str, int]
    element: Callable[[Arrays, str, int], Look]
    note: str = ""
    first: int = 0

    def skeleton(self) -> str:
        """Return a table."""
        rows = "".join(
            f'<tr><th scope="row">{escape(line)}</th>'
            + "".join(f'<td data-key="{self.name}.{line}.{i}"></td>' for i in range(size))
            + "</tr>"
            for line, size in self.lines.items()
        )
        numbers = range(self.first, self.first + max(self.lines.values()))
        heads = "".join(f'<th scope="col">{i}</th>' for i in numbers)
        return f'<table class="vectors"><tr><td></td>{heads}</tr>{rows}</table>{_note(self.note)}'

    def looks(self, now: Arrays) -> dict[str, Look]:
        """Return the look of each element."""
        return {
            f"{self.name}.{line}.{i}": self.element(now, line, i)
            for line, size in self.lines.items()
            for i in range(size)
        }


@dataclass(frozen=True)
class Bars:
    """Numbers as bars from a common line, for heights and prices.

    Attributes
    ----------
    name, title : str
        As of `Panel`. Keys are ``name.<bar>``.
    bars : sequence of str
        Their labels.
    bar : callable(arrays, bar) -> (float, Look)
        Its height, from 0 (none) to 1 (the panel's), and its look.
    note : str
        The legend.
    """

    name: str
    title: str
    bars: Sequence[str]
    bar: Callable[[Arrays, str], tuple[float, Look]]
    note: str = ""

    def skeleton(self) -> str:
        """Return columns of equal width."""
        columns = "".join(
            f'<div class="column"><div class="bar" data-key="{self.name}.{bar}"></div>'
            f"<span>{escape(bar)}</span></div>"
            for bar in self.bars
        )
        return f'<div class="bars">{columns}</div>{_note(self.note)}'

    def looks(self, now: Arrays) -> dict[str, Look]:
        """Return the look of each bar, its height as a style."""
        found = {}
        for bar in self.bars:
            high, look = self.bar(now, bar)
            found[f"{self.name}.{bar}"] = look._replace(style=f"--high:{min(max(high, 0), 1):.3f}")
        return found


def _note(text: str) -> str:
    return f'<p class="note">{text}</p>' if text else ""


def shown(value: Any) -> str:
    """Return a number as a page writes it, with a real minus."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text.replace("-", "\N{MINUS SIGN}")


def unset(value: np.generic) -> bool:
    """Whether an element is one of memory that nobody has written yet."""
    return value.tobytes() == b"\xa5" * value.itemsize
