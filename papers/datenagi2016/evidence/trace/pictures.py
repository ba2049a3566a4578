"""The panels of [DN16]: the matrix of slacks, the alternating forest, the arrays."""

from __future__ import annotations

from collections.abc import Sequence

from papers.common.evidence.trace.panels import (
    NEVER,
    Arrays,
    Graph,
    Look,
    Matrix,
    Panel,
    Vectors,
    shown,
    unset,
)

LEGEND = (
    '<span class="key star">\N{BLACK STAR}</span> assigned, '
    '<span class="key prime">\N{LEFTWARDS ARROW}</span> predecessor, '
    '<span class="key green">\N{RIGHTWARDS ARROW}</span> successor; a '
    '<span class="key covered">shaded</span> line is covered. Here a reached row is '
    "<em>un</em>covered and a reached column covered."
)


class Pictures:
    """The panels for order `n` and a variant; the kernels work on costs less `shift`."""

    def __init__(self, n: int, variant: str, shift: int) -> None:
        self.n, self.tree, self.shift = n, variant == "tree", shift

    def panels(self) -> Sequence[Panel]:
        """Return matrix, forest and arrays."""
        n = self.n
        rows, columns = [f"R{i}" for i in range(n)], [f"C{j}" for j in range(n)]
        places = {row: (0.0, float(i)) for i, row in enumerate(rows)}
        places |= {column: (4.0, float(j)) for j, column in enumerate(columns)}
        names = [
            "row_dual", "column_dual", "row_cover", "column_cover", "row_assignment",
            "column_predecessor", "row_predecessor", "row_successor", "column_successor",
            *(["slack", "frontier"] if self.tree else ["frontier_in", "frontier_out"]),
            "frontier_reverse", "frontier_augment",
        ]  # fmt: skip
        lines = {name: 2 * n if name == "frontier" else n for name in names}
        lines["theta"] = 1
        return (
            Matrix("m", "Slacks", rows, columns, self._cell, self._row, self._column, LEGEND),
            Graph(
                "g", "The alternating forest", places, [(r, c) for r in rows for c in columns],
                self._vertex, self._edge,
                "A colour is a tree, and belongs to its root. Dashed circles are unassigned. "
                "Grey lines are edges without slack, thick brown ones are assigned.",
            ),
            Vectors(
                "v", "Arrays", lines, self._element,
                "\N{MIDDLE DOT} was never written, \N{INFINITY} is the largest number of the "
                "type. The device keeps duals and slacks doubled and costs less their least: here "
                "they are as on paper.",
            ),
        )  # fmt: skip

    def _slack(self, now: Arrays, row: int, column: int) -> int | None:
        """Twice the slack; None before the duals are there."""
        u, v = now["row_dual"][row], now["column_dual"][column]
        if unset(u) or unset(v) or v > 1 << 29:
            return None
        return int(2 * now["cost"][row * self.n + column] - u - v)

    def root_of_row(self, now: Arrays, row: int) -> int:
        """Return the root of the tree that a row is in; -1 if it is in none."""
        if now["row_cover"][row] != 0:
            return -1
        for _ in range(self.n):
            column = int(now["row_predecessor"][row])
            if column == -1:
                return row if now["row_assignment"][row] == -1 else -1
            row = int(now["column_predecessor"][column])
            if not 0 <= row < self.n:
                return -1
        return -1

    def root_of_column(self, now: Arrays, column: int) -> int:
        """Return the root of the tree that a column is in; -1 if it is in none."""
        row = int(now["column_predecessor"][column])
        reached = now["column_cover"][column] == 1 or now["column_mark"][column] == 3
        return self.root_of_row(now, row) if reached and 0 <= row < self.n else -1

    def _cell(self, now: Arrays, row: int, column: int) -> Look:
        slack = self._slack(now, row, column)
        if slack is None:
            return Look(shown(int(now["cost"][row * self.n + column]) + self.shift), "unset")
        marks: list[str] = []
        text = half(slack)
        if now["row_assignment"][row] == column:
            marks, text = [*marks, "star"], text + "\N{BLACK STAR}"
        if now["column_predecessor"][column] == row:
            marks, text = [*marks, "prime"], text + "\N{LEFTWARDS ARROW}"
        if now["row_successor"][row] == column:
            marks, text = [*marks, "green"], text + "\N{RIGHTWARDS ARROW}"
        if slack == 0:
            marks.append("zero")
        if now["row_cover"][row] == 1:
            marks.append("row-covered")
        if now["column_cover"][column] == 1:
            marks.append("column-covered")
        return Look(text, " ".join(marks))

    def _row(self, now: Arrays, row: int) -> Look:
        if now["row_assignment"][row] == -1:
            return Look(f"R{row}", "free")
        return Look(f"R{row}", "covered" if now["row_cover"][row] == 1 else "reached")

    def _column(self, now: Arrays, column: int) -> Look:
        if now["column_assignment"][column] == -1:
            return Look(f"C{column}", "free")
        return Look(f"C{column}", "covered" if now["column_cover"][column] == 1 else "")

    def _vertex(self, now: Arrays, vertex: str) -> Look:
        number = int(vertex[1:])
        side = "row" if vertex[0] == "R" else "column"
        of = self.root_of_row if side == "row" else self.root_of_column
        root = of(now, number)
        colour = f"k{root % 6}" if root >= 0 else ""
        free = "free" if now[f"{side}_assignment"][number] == -1 else ""
        return Look(vertex, f"{colour} {free}".strip())

    def _edge(self, now: Arrays, first: str, second: str) -> Look:
        row, column = int(first[1:]), int(second[1:])
        if self._slack(now, row, column) != 0:
            return Look("", "off")
        classes = ["on"]
        if now["row_assignment"][row] == column:
            classes.append("star")
        grown = now["column_predecessor"][column] == row
        root = self.root_of_column(now, column) if grown else -1
        if root >= 0:
            classes.append(f"k{root % 6}")
        if now["row_successor"][row] == column:
            classes.append("green")
        return Look("", " ".join(classes))

    def _element(self, now: Arrays, line: str, index: int) -> Look:
        value = now[line][index]
        if unset(value):
            return NEVER
        if line not in ("row_dual", "column_dual", "slack", "theta"):
            return Look(shown(value.item()))
        if value >= 1 << 29:
            return Look("\N{INFINITY}")
        return Look(half(int(value) + 2 * self.shift * (line == "row_dual")))


def half(doubled: int) -> str:
    """Return half of a whole number, as one writes it."""
    whole = shown(abs(doubled) // 2) if abs(doubled) != 1 else ""
    sign = "\N{MINUS SIGN}" if doubled < 0 else ""
    return sign + whole + ("\N{VULGAR FRACTION ONE HALF}" if doubled % 2 else "")
