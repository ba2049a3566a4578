"""The interpreter of [DN16]: changes of the kernels' arrays, in the paper's words."""

from __future__ import annotations

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.story import Told, Word
from papers.common.executor.recorder import Event
from papers.datenagi2016.evidence.trace.pictures import half
from papers.datenagi2016.kernels.shared import Flag, Mark

WORDS = {
    "launch": Word("a launch", "section 4"),
    "first_duals": Word("first duals", "Algorithm 1"),
    "edges": Word("list the edges", "section 3.3, Figure 1"),
    "count": Word("count the assigned rows", "Algorithm 2"),
    "frontier": Word("frontier", "section 4.3.1, item 1"),
    "reach_free": Word("reach a free column", "Algorithms 3 and 4: go to the reverse pass"),
    "win_column": Word("win a column", "Algorithm 3; Proposition 1"),
    "lose_column": Word("lose a column", "Algorithm 3; Proposition 1"),
    "gather": Word("gather a row", "Algorithm 3: into F_out"),
    "contract": Word("contraction", "section 4.3.1, item 3"),
    "lower_slack": Word("lower a slack", "Algorithm 4"),
    "take_column": Word("take a column", "Algorithm 4"),
    "back": Word("walk back", "Algorithm 5"),
    "successor_replaced": Word("successor replaced", "Algorithm 5; Proposition 2"),
    "root_reached": Word("root reached", "Algorithm 5: into F_aug"),
    "swap": Word("swap", "Algorithm 6"),
    "least_of_row": Word("least slack of a row", "Algorithm 7"),
    "theta": Word("theta", "Algorithm 7, section 4.4"),
    "shift": Word("dual change", "Algorithms 8 and 9"),
    "wake": Word("wake a row", "Algorithm 9"),
}
"""Kinds of events in the order of the paper."""

LAUNCHES = {
    "init": "Nothing is assigned; the column minima begin at infinity.",
    "row_reduction": "Initial reduction: the minimum of each row. A warp has a row.",
    "column_reduction": "Initial reduction: the minimum of each column of what is left.",
    "compression_predicate": "Matrix compression: count the edges without slack of each row.",
    "exclusive_scan": "Matrix compression: add the counts up, to where each row's edges begin.",
    "compression_scatter": "Matrix compression: write the list Z of the edges without slack.",
    "optimality_check": "Count the assigned rows, and forget the last search.",
    "forward_pass": "Forward pass: search from all active rows at once.",
    "reverse_pass": "Reverse pass: a thread for each free column walks back to its root.",
    "augmentation": "Augmentation: a thread for each root walks forward and swaps edges.",
    "dual_update_stage_1": "Dual update: the least slack of each uncovered row.",
    "minimum": "Dual update: theta is the least of them.",
    "dual_update_stage_2": "Dual update: uncovered lines gain theta / 2, covered ones lose it.",
    "dual_update": "Dual update: duals by theta / 2, slacks by theta.",
}
"""The purpose of each launch."""


class Words:
    """Tells one run, event by event; see `papers.common.evidence.trace.story.Teller`."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, event: Event, now: Arrays) -> Told | None:
        """Tell an event, by the function that it comes from."""
        if event.kind == "launch":
            size = f" {event.old} block{'s' * (event.old > 1)} of {event.new} threads."
            return Told("launch", LAUNCHES.get(event.kernel, event.kernel) + size)
        if not event.changes or event.site is None:
            return None
        tell = getattr(self, f"_{event.site.function}", None)
        return tell(event, now) if tell else None

    # Reduction, compression, check.

    def _row_reduction(self, event: Event, now: Arrays) -> Told:
        return Told(
            "first_duals", "Each row's minimum becomes its dual.", (f"m.r{event.index}",), True
        )

    def _column_reduction(self, event: Event, now: Arrays) -> Told:
        sentence = "The least slack of each column becomes its dual."
        return Told("first_duals", sentence, (f"m.c{event.index}",), True)

    def _compression_scatter(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "adjacency":
            return None
        row = int((now["pointers"][: self.n] <= event.index).nonzero()[0][-1])
        total = int(now["pointers"][self.n])
        sentence = f"Z lists the {total} edges without slack, row after row."
        return Told("edges", sentence, (f"m.{row}.{event.new}", f"g.R{row}-C{event.new}"), True)

    def _count_and_forget(self, event: Event, now: Arrays) -> Told | None:
        if (event.array, event.index) != ("flags", Flag.MATCHES):
            return None
        return Told("count", f"{event.new} of {self.n} rows are assigned.")

    # Forward pass.

    def _first_frontier(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "row_mark":
            return None
        active = Mark.VISITED if "frontier" in now else Mark.ACTIVE
        if event.new != active:
            return None
        parts = (f"m.r{event.index}", f"g.R{event.index}")
        return Told("frontier", "The frontier is all rows that are active.", parts, True)

    def _expansion(self, event: Event, now: Arrays) -> Told | None:
        row = int(now["frontier_in"][event.thread])
        if event.array == "column_predecessor":
            return self._reached(event.new, event.index, now)
        if event.array == "column_cover" and event.old == 1:
            column = event.index
            return Told(
                "lose_column",
                f"Row {row} asks for column {column}, too late: the exchange gives 1 back. So no "
                "two trees share a vertex.",
                (f"m.{row}.{column}", f"m.c{column}", f"g.R{row}-C{column}"),
            )
        if event.array == "frontier_out":
            sentence = f"Row {event.new} is gathered: it is searched from in the next level."
            return Told("gather", sentence, (f"m.r{event.new}", f"g.R{event.new}"))
        return None

    def _reached(self, row: int, column: int, now: Arrays) -> Told:
        parts = (f"m.{row}.{column}", f"g.R{row}-C{column}", f"g.C{column}")
        assigned = int(now["column_assignment"][column])
        if assigned == -1:
            return Told(
                "reach_free",
                f"Row {row} reaches the free column {column}: a way ends here. Any row that "
                "reaches it may precede it.",
                parts,
            )
        return Told(
            "win_column",
            f"Row {row} wins column {column}, covers it, and goes on to row {assigned}, which it "
            "is assigned to.",
            parts,
        )

    def _contraction(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "frontier_in":
            return None
        return Told(
            "contract", "F_out becomes the next F_in, without rows that cannot lead on.",
            (f"m.r{event.new}",), True,
        )  # fmt: skip

    def _settle(self, event: Event, now: Arrays) -> Told | None:
        column, cell = event.index, f"m.c{event.index}"
        before = int(now["column_predecessor"][column]) if event.array != "row_mark" else -1
        if event.array == "column_predecessor":
            least = half(int(now["slack"][column]))
            return Told(
                "lower_slack",
                f"Column {column}'s least slack is lowered to {least}, by row {event.new}.",
                (f"m.{event.new}.{column}", f"v.slack.{column}"),
            )
        if event.array == "column_cover":
            row = int(now["column_assignment"][column])
            return Told(
                "take_column",
                f"Column {column} has no slack left: row {before}'s tree takes it, and goes on to "
                f"row {row}.",
                (cell, f"g.C{column}", f"g.R{row}"),
            )
        if event.array == "column_mark":
            return self._reached(before, column, now)
        return None

    # Reverse pass and augmentation.

    def _reverse_pass(self, event: Event, now: Arrays) -> Told | None:
        if event.array == "frontier_augment":
            row = event.new
            return Told(
                "root_reached", f"Row {row} is a root: from here a path can be walked forward.",
                (f"m.r{row}", f"g.R{row}"),
            )  # fmt: skip
        if event.array != "row_successor":
            return None
        row, column = event.index, event.new
        parts = (f"m.{row}.{column}", f"g.R{row}-C{column}")
        if event.old not in (-1, column):
            return Told(
                "successor_replaced",
                f"Two ways meet at row {row}: column {column} is stored over column {event.old}. "
                "One word, the last store stands, so one path a tree.",
                parts,
            )
        return Told("back", f"Walking back from column {column} to row {row}.", parts)

    def _augmentation(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "row_assignment":
            return None
        row, column = event.index, event.new
        had = f", and leaves column {event.old}" if event.old >= 0 else ""
        return Told(
            "swap", f"Row {row} takes column {column}{had}.",
            (f"m.{row}.{column}", f"g.R{row}-C{column}"),
        )  # fmt: skip

    # Dual update.

    def _dual_update_stage_1(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "slack" or now["row_cover"][event.index] == 1:
            return None
        sentence = f"The least slack of row {event.index} is {half(event.new)}."
        return Told("least_of_row", sentence, (f"m.r{event.index}",))

    def _minimum(self, event: Event, now: Arrays) -> Told:
        sentence = f"No free column was reached. Theta is the least slack: {half(event.new)}."
        return Told("theta", sentence, ("v.theta.0",))

    def _shift_dual(self, event: Event, now: Arrays) -> Told:
        head = "r" if event.array == "row_dual" else "c"
        by = half(int(now["theta"][0]) // 2)
        sentence = f"Duals of uncovered lines rise by {by}, those of covered lines fall by it."
        if event.kernel == "dual_update":
            sentence = self._moved(now)
        return Told("shift", sentence, (f"m.{head}{event.index}",), True)

    @staticmethod
    def _moved(now: Arrays) -> str:
        theta = int(now["theta"][0])
        return (
            f"Duals of uncovered lines rise by {half(theta // 2)}, those of covered lines fall by "
            f"it, and the columns' least slacks fall by {half(theta)}: no matrix is read."
        )

    def _dual_update(self, event: Event, now: Arrays) -> Told | None:
        if event.array == "row_mark":
            row = event.index
            return Told(
                "wake", f"A column of row {row}'s has no slack left: the row is active again.",
                (f"m.r{row}", f"g.R{row}"),
            )  # fmt: skip
        if event.array == "slack":
            return Told("shift", self._moved(now), (f"v.slack.{event.index}",), True)
        return None
