"""The interpreter of [D13]: changes of the kernels' arrays, in the paper's words."""

from __future__ import annotations

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.story import Told, Word
from papers.common.executor.recorder import Event
from papers.deveci_matching.kernels.notation import END, FREE, L0, Flag

WORDS = {
    "launch": Word("a launch", "Algorithm 1"),
    "first_level": Word("first level", "section 3, INITBFSARRAY"),
    "insert": Word("insert a column", "Algorithm 2, lines 10 to 12"),
    "end": Word("end of a path", "Algorithm 2, lines 15 to 17"),
    "predecessor_replaced": Word("predecessor replaced", "Algorithm 2, lines 12 and 16"),
    "mark_root": Word("mark a root", "Algorithm 4, line 19"),
    "level_ends": Word("a level ends", "Algorithm 1, lines 6 to 11"),
    "walk": Word("walk", "Algorithm 3, lines 6 and 7"),
    "stopped": Word("stopped by line 8", "Algorithm 3, lines 8 and 9"),
    "take": Word("take a column", "Algorithm 3, lines 10 and 11"),
    "lost": Word("a collision", "Algorithm 3, line 10: the last writer stays"),
    "free_liar": Word("free a row that lies", "section 3, FIXMATCHING"),
    "free_end": Word("free an end", "section 3, FIXMATCHING (deviation D3)"),
}
"""Kinds of events in the order of the paper."""

LAUNCHES = {
    "restore_start": "Copy the matching to start from.",
    "init_bfs_array": "INITBFSARRAY: free columns form the first level.",
    "init_bfs_array_wr": "INITBFSARRAY: free columns form the first level, each its own root.",
    "gpubfs": "GPUBFS: one level. A thread takes columns, and looks at those of the level.",
    "gpubfs_wr": "GPUBFS-WR: one level; a column whose root has a path is passed over.",
    "alternate": "ALTERNATE: from every marked row at once, walk back and flip.",
    "alternate_from_ends": "ALTERNATE: one walk for each root that names an end.",
    "fix_matching": "FIXMATCHING: a row keeps its column only if the column keeps it.",
}
"""The purpose of each launch."""


class Words:
    """Tells one run, event by event; see `papers.common.evidence.trace.story.Teller`."""

    def __init__(self) -> None:
        self.reached: set[int] = set()  # rows that the present search has reached
        self.seen: dict[tuple[int, int], tuple[int, int]] = {}  # by thread: column, and its row

    def __call__(self, event: Event, now: Arrays) -> Told | None:
        """Tell an event, by its kernel."""
        if event.kind == "launch":
            if event.kernel.startswith("init"):
                self.reached = set()
            self.seen = {}
            size = f" {event.old} block{'s' * (event.old > 1)} of {event.new} threads."
            return Told("launch", LAUNCHES.get(event.kernel, event.kernel) + size)
        if event.site is None:
            return None
        if event.kernel.startswith("init"):
            return self._first_level(event)
        if event.kernel.startswith("gpubfs"):
            return self._search(event, now)
        if event.kernel.startswith("alternate"):
            return self._alternate(event, now)
        return self._fix(event) if event.kernel == "fix_matching" else None

    def _first_level(self, event: Event) -> Told | None:
        if event.array != "bfs_array" or event.new != L0:
            return None
        sentence = f"Free columns get level {L0}; the others are not reached yet."
        return Told("first_level", sentence, (f"g.c{event.index + 1}",), True)

    # The search.

    def _search(self, event: Event, now: Arrays) -> Told | None:
        if event.array == "flags" and event.index == Flag.LEVEL:
            return Told("level_ends", f"The last block advances the level to {event.new}.")
        if event.array == "bfs_array" and event.new < L0 - 1:
            column = c(event.index)
            return Told(
                "mark_root",
                f"The root {column} is marked: a column whose root it is has found a path.",
                (f"g.{column}",),
            )
        if event.array != "predecessor":
            return None
        return self._reached(event.index, event.new, event.old, now)

    def _reached(self, row: int, column: int, before: int, now: Arrays) -> Told:
        parts = (f"g.{r(row)}-{c(column)}", f"g.{r(row)}")
        if row in self.reached:
            return Told(
                "predecessor_replaced",
                f"Row {r(row)} was reached from {c(before)}; now {c(column)} stores itself. The "
                "last one stays, and whatever led here before has lost this row.",
                parts,
            )
        self.reached.add(row)
        mate = int(now["rmatch"][row])
        if mate == END:
            return Told(
                "end",
                f"Column {c(column)} finds the free row {r(row)}: an augmenting path ends there, "
                "and the row gets \N{MINUS SIGN}2.",
                parts,
            )
        level = int(now["bfs_array"][mate])
        return Told(
            "insert",
            f"Column {c(column)} reaches row {r(row)}, whose column {c(mate)} gets level {level}.",
            (*parts, f"g.{c(mate)}"),
        )

    # The walks.

    def _alternate(self, event: Event, now: Arrays) -> Told | None:
        lane = event.block, event.thread
        if event.kind == "load":
            column, row = event.index, event.old
            self.seen[lane] = column, row
            parts = (f"g.{c(column)}",)
            if row == FREE:
                return Told("walk", f"The walk sees column {c(column)} free: the root.", parts)
            if now["predecessor"][row] == column:
                return Told(
                    "stopped",
                    f"The walk sees row {r(row)} at column {c(column)}, and that row's predecessor "
                    "is this column: another walk was here. Line 8 stops this one.",
                    parts,
                )
            return Told(
                "walk", f"The walk sees row {r(row)} at column {c(column)} and will go on there.",
                parts,
            )  # fmt: skip
        return self._take(event, lane) if event.array == "cmatch" else None

    def _take(self, event: Event, lane: tuple[int, int]) -> Told:
        column, row = event.index, event.new
        parts = (f"g.{r(row)}-{c(column)}", f"g.{c(column)}")
        if event.old not in (self.seen[lane][1], row):
            return Told(
                "lost",
                f"Column {c(column)} gets row {r(row)}, but {r(event.old)} stood there by now: "
                f"this thread had read {who(self.seen[lane][1])} before. Two walks have passed; "
                f"row {r(event.old)} will believe in a column that is not its own.",
                parts,
            )
        return Told("take", f"Column {c(column)} gets row {r(row)}.", parts)

    def _fix(self, event: Event) -> Told | None:
        if event.array != "rmatch":
            return None
        part = (f"g.{r(event.index)}",)
        if event.old == END:
            return Told(
                "free_end", f"Row {r(event.index)} still has \N{MINUS SIGN}2, for its walk was "
                "stopped. It is free.", part,
            )  # fmt: skip
        return Told(
            "free_liar",
            f"Row {r(event.index)} believes in column {c(event.old)}, which has another row: it is "
            "free.",
            part,
        )


def c(column: int) -> str:
    """Return a column's name, counted from 1 as in Figure 1."""
    return f"c{column + 1}"


def r(row: int) -> str:
    """Return a row's name, counted from 1 as in Figure 1."""
    return f"r{row + 1}"


def who(row: int) -> str:
    """Return a column's mate in words."""
    return "no row" if row == FREE else r(row)
