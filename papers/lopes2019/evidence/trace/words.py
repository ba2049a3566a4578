"""The interpreter of [L19]: changes of the kernels' arrays, in the paper's words."""

from __future__ import annotations

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.story import Told, Word
from papers.common.executor.recorder import Event
from papers.lopes2019.kernels.search import Flag

WORDS = {
    "launch": Word("a launch", "Figure 1, the flow chart"),
    "restart": Word("restart", "Figure 1, repeat the kernel; condition S5"),
    "first_duals": Word("first duals", "Algorithms 8 and 9: minima of rows, then of columns"),
    "list": Word("list the zeros", "Algorithm 7"),
    "star": Word("star", "Algorithm 1: star the zero"),
    "give_back": Word("give a row back", "Algorithm 1: uncover the row of the zero and repeat"),
    "lose_column": Word("lose a column", "Algorithm 1: the column is covered already", minor=True),
    "cover_starred": Word("cover starred columns", "section 4.3"),
    "check": Word("check a zero", "Algorithm 2: first the column, then the row; S2", minor=True),
    "prime": Word("prime", "Algorithm 2: prime the zero; condition S1"),
    "prime_again": Word("prime anew", "Algorithm 2: prime the zero; condition S1"),
    "cover_row": Word("cover a row", "Algorithm 2: before the device fence; condition S3"),
    "uncover_column": Word("uncover a column", "Algorithm 2: after the device fence; condition S3"),
    "path": Word("a path", "Algorithm 2: signal to go to step 5"),
    "block_ends": Word("a block ends", "Algorithm 2: end of the loop"),
    "green": Word("green", "Algorithm 3"),
    "green_replaced": Word("green replaced", "Algorithm 3: where paths join"),
    "flip": Word("flip", "Algorithm 4"),
    "least": Word("least uncovered slack", "Algorithm 5"),
    "shift": Word("dual change", "Algorithm 6"),
}
"""Kinds of events in the order of the paper."""

LAUNCHES = {
    "init": "Clear stars and covers.",
    "step_1_min_in_rows": "Step 1: take the minimum of each row.",
    "step_1_row_sub": "Step 1: subtract it.",
    "step_1_min_in_columns": "Step 1: take the minimum of each column.",
    "step_1_column_sub": "Step 1: subtract it.",
    "compress_matrix": "List the zeros, by bins of columns: a bin for each block of step 4.",
    "step_2": "Step 2: star zeros greedily. One block, one thread a zero.",
    "step_3_init": "Step 3 begins: uncover everything, erase primes and greens.",
    "step_3": "Step 3: cover the columns that have a star; are all starred?",
    "step_4": "Step 4: search from the uncovered columns. A block has the zeros of its bin.",
    "step_5a": "Step 5a: from each free row with a prime, walk forward and mark the way green.",
    "step_5b": "Step 5b: from each free column with a green, walk back and star the greens.",
    "step_6_reduction_1": "Step 6: each block looks for its least uncovered slack.",
    "step_6_reduction_2": "Step 6: take the least of the blocks' results.",
    "step_6_add_sub": "Step 6: shift the duals, and the slacks with them.",
}
"""The purpose of each launch."""

FIRST = ("step_1_min_in_rows", "step_1_row_sub", "step_1_min_in_columns", "step_1_column_sub")


class Words:
    """Tells one run, event by event; see `papers.common.evidence.trace.story.Teller`."""

    def __init__(self, n: int, lines_a_bin: int) -> None:
        self.n, self.lines = n, lines_a_bin
        self.before = ""  # the kernel of the launch before
        self.found: dict[int, int] = {}  # by block: columns uncovered in this launch

    def __call__(self, event: Event, now: Arrays) -> Told | None:
        """Tell an event, by its kernel."""
        if event.kind == "launch":
            return self._launch(event)
        if event.kind == "block_ends":
            return self._block_ends(event)
        if event.kind == "barrier":
            return None
        if event.kernel in FIRST:
            return self._first_duals(event, now)
        tell = getattr(self, f"_{event.kernel}", None)
        return tell(event, now) if tell else None

    def _launch(self, event: Event) -> Told:
        before, self.before, self.found = self.before, event.kernel, {}
        blocks = f" {event.old} block{'s' * (event.old > 1)} of {event.new} threads."
        if event.kernel == before == "step_4":
            return Told(
                "restart",
                "The launch before has uncovered a column and has found no path: somebody's zeros "
                "may be uncovered now. The host launches step 4 again." + blocks,
            )
        return Told("launch", LAUNCHES.get(event.kernel, event.kernel) + blocks)

    def _block_ends(self, event: Event) -> Told | None:
        if event.kernel != "step_4":
            return None
        number = self.found.get(event.block, 0)
        has = f"has uncovered {number} column{'s' * (number > 1)}" if number else "had no work"
        return Told("block_ends", f"Block {event.block} has run dry and ends; it {has}.")

    # Steps 1, 2 and 3.

    def _at(self, position: int) -> tuple[int, int]:
        """Row and column of a place in the matrix, which is stored column by column."""
        return position % self.n, position // self.n

    def _first_duals(self, event: Event, now: Arrays) -> Told | None:
        if event.array == "slack":
            row, column = self._at(event.index)
            sentence = "Every entry of the matrix loses the minimum of its " + (
                "row; what is left is the slack."
                if event.kernel == "step_1_row_sub"
                else "column: the slacks after step 1."
            )
            return Told("first_duals", sentence, (f"m.{row}.{column}",), together=True)
        if event.array in ("row_extreme", "min_in_column"):
            head = "r" if event.array == "row_extreme" else "c"
            side = "row" if head == "r" else "column"
            sentence = f"Each {side}'s minimum becomes its first dual."
            return Told("first_duals", sentence, (f"m.{head}{event.index}",), together=True)
        return None

    def _compress_matrix(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "zeros":
            return None
        row, column = self._at(event.new)
        count = int(now["zeros_size"].sum())
        sentence = f"{count} zeros are listed, in the order in which threads come."
        return Told("list", sentence, (f"m.{row}.{column}",), together=True)

    def _step_2(self, event: Event, now: Arrays) -> Told | None:
        if event.array == "row_of_star_at_column":
            row, column = event.new, event.index
            return Told(
                "star",
                f"Thread {event.thread} owns row {row} and column {column}, and stars the zero.",
                (f"m.{row}.{column}", f"g.R{row}-C{column}"),
            )
        if event.array == "covered_column" and event.old == 1:
            return Told(
                "lose_column",
                f"Thread {event.thread} has a row, but column {event.index} was taken meanwhile.",
                (f"m.c{event.index}",),
            )
        if event.array == "covered_row" and event.new == 0:
            return Told(
                "give_back",
                f"Thread {event.thread} gives row {event.index} back and asks for another round: "
                "a third zero of that row may have been turned away meanwhile.",
                (f"m.r{event.index}",),
            )
        return None

    def _step_3(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "covered_column":
            return None
        columns = [str(c) for c in range(self.n) if now["covered_column"][c]]
        return Told(
            "cover_starred",
            f"Columns with a star are covered: {', '.join(columns)}. The others are where the "
            "search starts.",
            (f"m.c{event.index}",),
            together=True,
        )

    # Step 4.

    def _step_4(self, event: Event, now: Arrays) -> Told | None:
        if event.kind == "load":
            return self._check(event)
        tell = {
            "column_of_prime_at_row": self._prime,
            "covered_row": self._cover_row,
            "covered_column": self._uncover_column,
            "flags": self._flag,
        }.get(event.array)
        return tell(event, now) if tell else None

    def _check(self, event: Event) -> Told | None:
        if event.site is None or event.site.function != "uncovered" or event.old == 1:
            if event.array == "covered_row" and event.old == 1:
                return Told(
                    "check",
                    f"Row {event.index} is covered: it was reached before, so its zero leads "
                    "nowhere new.",
                    (f"m.r{event.index}",),
                )
            return None
        if event.array == "covered_column":
            return Told(
                "check",
                f"Column {event.index} is uncovered, so it was reached. Its row is asked next.",
                (f"m.c{event.index}",),
            )
        return Told(
            "check", f"Row {event.index} is not covered: it is new.", (f"m.r{event.index}",)
        )

    def _prime(self, event: Event, now: Arrays) -> Told:
        row, column = event.index, event.new
        parts = (f"m.{row}.{column}", f"g.R{row}-C{column}", f"g.R{row}")
        free = now["column_of_star_at_row"][row] == -1
        if event.old == -1:
            what = f"An uncovered zero: row {row} gets its prime, at column {column}. "
            more = (
                "The row is free: here a path ends."
                if free
                else f"Its star, at column {now['column_of_star_at_row'][row]}, leads on."
            )
            return Told("prime", what + more, parts)
        if event.old == column:
            why = f"Row {row} is free and never covered: it is primed once more, as it was."
        else:
            why = (
                f"Row {row} had its prime at column {event.old}; the last store stays, now at "
                f"column {column}. A row has one word for its prime, so no row has two."
            )
        return Told("prime_again", why, parts)

    def _cover_row(self, event: Event, now: Arrays) -> Told:
        return Told(
            "cover_row",
            f"Row {event.index} is covered: it was reached. This comes before its star's column "
            "is opened.",
            (f"m.r{event.index}", f"g.R{event.index}"),
        )

    def _uncover_column(self, event: Event, now: Arrays) -> Told:
        self.found[event.block] = self.found.get(event.block, 0) + 1
        owner = event.index // self.lines
        whose = "this block's own" if owner == event.block else f"block {owner}'s"
        return Told(
            "uncover_column",
            f"Column {event.index}, where that row's star stands, is uncovered: it was reached, "
            f"and its zeros lead on. They are {whose}.",
            (f"m.c{event.index}", f"g.C{event.index}"),
        )

    def _flag(self, event: Event, now: Arrays) -> Told | None:
        if event.index != Flag.PATH_FOUND:
            return None
        return Told(
            "path",
            "The row has no star: a path was found. The thread signals it and goes on, since "
            "there may be more.",
        )

    # Steps 5 and 6.

    def _step_5a(self, event: Event, now: Arrays) -> Told | None:
        row, column = event.new, event.index
        parts = (f"m.{row}.{column}", f"g.R{row}-C{column}", f"g.C{column}")
        if event.old == -1:
            end = now["row_of_star_at_column"][column]
            more = f"Its star leads to row {end}." if end >= 0 else "It is free: the walk ends."
            return Told(
                "green",
                f"The walk comes to column {column} and leaves row {row}'s green. {more}",
                parts,
            )
        if event.old == row:
            return None
        return Told(
            "green_replaced",
            f"A join: column {column} had row {event.old}'s green, and thread {event.thread} "
            f"stores row {row}'s over it. One word a column: the last store stays, and either row "
            "would do.",
            parts,
        )

    def _step_5b(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "row_of_star_at_column":
            return None
        row, column = event.new, event.index
        gone = f"; the star of row {event.old} moves on" if event.old >= 0 else ""
        return Told(
            "flip",
            f"Walking back, the green at row {row}, column {column} becomes a star{gone}.",
            (f"m.{row}.{column}", f"g.R{row}-C{column}"),
        )

    def _step_6_reduction_2(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "minimum":
            return None
        least, n = event.new, self.n
        where = [
            (row, column)
            for row in range(n)
            for column in range(n)
            if not now["covered_row"][row]
            and not now["covered_column"][column]
            and now["slack"][column * n + row] == least
        ]
        return Told(
            "least",
            f"No zero is uncovered. The least uncovered slack is {least}.",
            tuple(f"m.{row}.{column}" for row, column in where),
        )

    def _step_6_add_sub(self, event: Event, now: Arrays) -> Told | None:
        if event.array != "slack":
            return None
        row, column = self._at(event.index)
        return Told(
            "shift",
            f"{now['minimum'][0]} is taken from every slack that no line covers and added where "
            "two lines do; the duals of covered rows and uncovered columns change by as much.",
            (f"m.{row}.{column}",),
            together=True,
        )
