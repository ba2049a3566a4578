"""The interpreter of [K21]: accesses to the slacks, counters, launches and barriers."""

from __future__ import annotations

import numpy as np

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.story import Told, Word
from papers.common.executor.recorder import Event

WORDS = {
    "launch": Word("a launch", "Figure 5, and section IV.C: the host's share"),
    "barrier_grid": Word("barrier of the grid", "Opt 2: in place of a launch"),
    "barrier_block": Word("barrier of a block", "Opt 4, and reductions", minor=True),
    "load": Word("load a slack", "Listings 1 to 5"),
    "store": Word("store a slack", "Listings 2 to 5"),
    "count_all": Word("add to the one counter", "Listing 1; gone in Opt 0"),
    "count_bin": Word("add to a bin's counter", "Listings 1 and 3 to 5"),
    "least": Word("least uncovered slack", "step 6"),
    "star": Word("star", "steps 2 and 5"),
    "prime": Word("prime", "step 4"),
}
"""Kinds of events in the order of the report."""

PASSES = ("step_6_add_sub", "compress_matrix", "add_sub_compress_matrix")
"""A dual update's functions that pass over the slacks; the minimum's, alike in all, is left out."""

TALLY = (
    "marks", "launches", "barriers of a block", "barriers of the grid", "loads of slack",
    "stores of slack", "additions to the one counter", "additions to the bins' counters",
)  # fmt: skip
"""The counts beside the arrays; the last four are of the dual updates alone."""


class Words:
    """Tells one run, event by event; see `papers.common.evidence.trace.story.Teller`.

    Attributes
    ----------
    tallies : dict of str to ndarray
        ``tally``: the counts of `TALLY`; ``loaded``: how often dual updates have loaded each slack;
        ``version``: its number.
    """

    def __init__(self, n: int, lines_a_bin: int, version: int) -> None:
        self.n, self.lines = n, lines_a_bin
        self.updating = False
        self.tallies = {
            "tally": np.zeros(len(TALLY), np.int64),
            "version": np.array([version]),
            "loaded": np.zeros(n * n, np.int64),
        }

    def __call__(self, event: Event, now: Arrays) -> Told | None:
        """Tell an event, and count it."""
        if event.kind == "launch":
            self._count("marks", "launches")
            blocks = f"{event.old} block{'s' * (event.old > 1)} of {event.new} threads"
            return Told("launch", f"The host launches {event.kernel}: {blocks}.")
        if event.kind == "barrier":
            return self._barrier(event)
        if event.site is None:
            return None
        if event.array == "slack" and event.site.function in PASSES:
            return self._load(event) if event.kind == "load" else self._store(event)
        if event.kind == "atomic" and event.array in ("zeros_size", "zeros_size_b"):
            return self._zero(event, now)
        return self._mark(event) if event.changes else None

    def _count(self, *names: str) -> None:
        for name in names:
            self.tallies["tally"][TALLY.index(name)] += 1

    def _barrier(self, event: Event) -> Told:
        if event.block < 0:
            self._count("marks", "barriers of the grid")
            return Told(
                "barrier_grid",
                "All blocks wait for each other, where the host loop would end a launch and begin "
                "the next.",
            )
        self._count("marks", "barriers of a block")
        return Told("barrier_block", f"The threads of block {event.block} wait for each other.")

    def _at(self, index: int) -> tuple[int, int]:
        return index % self.n, index // self.n

    def _load(self, event: Event) -> Told | None:
        assert event.site is not None
        self.updating |= event.site.function != "compress_matrix"
        row, column = self._at(event.index)
        again = ""
        if self.updating:
            self._count("loads of slack")
            self.tallies["loaded"][event.index] += 1
            times = int(self.tallies["loaded"][event.index])
            again = f", for the {times}. time in dual updates" if times > 1 else ""
        return Told("load", f"Slack ({row}, {column}) is loaded{again}.", (f"m.{row}.{column}",))

    def _store(self, event: Event) -> Told:
        self.updating = True
        self._count("stores of slack")
        row, column = self._at(event.index)
        why = "covered twice" if event.new > event.old else "not covered"
        sentence = f"Slack ({row}, {column}) is {why}: {event.old} becomes {event.new}."
        return Told("store", sentence, (f"m.{row}.{column}",))

    def _zero(self, event: Event, now: Arrays) -> Told | None:
        one = event.array == "zeros_size"
        if self.updating:
            self._count(TALLY[6] if one else TALLY[7])
        if one:
            return Told(
                "count_all",
                f"A zero: the one counter becomes {event.new}. Every thread with a zero wants "
                "this word.",
                ("c.zeros in all.0",),
            )
        first = event.index * self.lines
        return Told(
            "count_bin",
            f"A zero of columns {first} to {min(first + self.lines, self.n) - 1}: their bin's "
            f"counter becomes {event.new}.",
            (f"c.zeros by bin.{event.index}",),
        )

    def _mark(self, event: Event) -> Told | None:
        if event.array == "row_of_star_at_column" and event.new >= 0:
            part = f"m.{event.new}.{event.index}"
            return Told("star", f"Row {event.new} and column {event.index} get a star.", (part,))
        if event.array == "column_of_prime_at_row" and event.new >= 0:
            part = f"m.{event.index}.{event.new}"
            sentence = f"Row {event.index} gets its prime, at column {event.new}."
            return Told("prime", sentence, (part,))
        if event.array == "minimum" or (event.array == "partial" and event.kernel == "hungarian"):
            return Told("least", f"The least uncovered slack: {event.new}.")
        return None
