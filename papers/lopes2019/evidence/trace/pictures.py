"""The panels of [L19]: the slack matrix with its marks, the graph of its zeros, the arrays."""

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
    '<span class="key star">\N{BLACK STAR}</span> star, '
    "<span class='key prime'>\N{PRIME}</span> prime, "
    '<span class="key green">\N{BLACK CIRCLE}</span> green; '
    'a <span class="key covered">shaded</span> line is covered'
)


class Pictures:
    """The panels for order `n`; the kernels work on costs less `shift`."""

    def __init__(self, n: int, shift: float) -> None:
        self.n, self.shift = n, shift

    def panels(self) -> Sequence[Panel]:
        """Return matrix, graph and arrays."""
        n = self.n
        places = {f"R{i}": (0.0, float(i)) for i in range(n)}
        places |= {f"C{j}": (4.0, float(j)) for j in range(n)}
        edges = [(f"R{i}", f"C{j}") for i in range(n) for j in range(n)]
        return (
            Matrix(
                "m", "Slack matrix", [f"R{i}" for i in range(n)], [f"C{j}" for j in range(n)],
                self._cell, self._row, self._column, LEGEND,
            ),
            Graph(
                "g", "The zeros as a graph", places, edges, self._vertex, self._edge,
                "The search runs from right to left, from free columns; "
                '<span class="key reached">reached</span> vertices lead it on. Walks along '
                "primes and stars run from left to right.",
            ),
            Vectors(
                "v", "Arrays",
                {
                    "covered_row": n, "covered_column": n, "column_of_star_at_row": n,
                    "row_of_star_at_column": n, "column_of_prime_at_row": n,
                    "row_of_green_at_column": n, "row_dual": n, "column_dual": n,
                    "path found, zero found": 2,
                },
                self._element,
                "\N{MIDDLE DOT} was never written; \N{MINUS SIGN}1 is none. The kernels take the "
                "least cost off all costs; here the duals of rows have it again.",
            ),
        )  # fmt: skip

    # What holds of a line or an entry.

    def _marks(self, now: Arrays, row: int, column: int) -> list[str]:
        marks = {
            "star": now["row_of_star_at_column"][column] == row,
            "prime": now["column_of_prime_at_row"][row] == column,
            "green": now["row_of_green_at_column"][column] == row,
        }
        return [mark for mark, holds in marks.items() if holds]

    def _cell(self, now: Arrays, row: int, column: int) -> Look:
        value = now["slack"][column * self.n + row]
        if unset(value):
            return NEVER
        marks = self._marks(now, row, column)
        signs = {"star": "\N{BLACK STAR}", "prime": "\N{PRIME}", "green": "\N{BLACK CIRCLE}"}
        classes = ["zero"] if value == 0 else []
        classes += marks
        if now["covered_row"][row] == 1:
            classes.append("row-covered")
        if now["covered_column"][column] == 1:
            classes.append("column-covered")
        return Look(shown(value.item()) + "".join(signs[m] for m in marks), " ".join(classes))

    def _row(self, now: Arrays, row: int) -> Look:
        covered = now["covered_row"][row] == 1
        free = now["column_of_star_at_row"][row] == -1
        return Look(f"R{row}", "covered" if covered else "free" if free else "")

    def _column(self, now: Arrays, column: int) -> Look:
        covered = now["covered_column"][column] == 1
        free = now["row_of_star_at_column"][column] == -1
        classes = "covered" if covered else "free" if free else ""
        return Look(f"C{column}", classes)

    def _vertex(self, now: Arrays, vertex: str) -> Look:
        number = int(vertex[1:])
        if vertex[0] == "R":
            free = now["column_of_star_at_row"][number] == -1
            reached = now["covered_row"][number] == 1
        else:
            free = now["row_of_star_at_column"][number] == -1
            reached = now["covered_column"][number] == 0
        return Look(vertex, f"{'free' if free else ''} {'reached' if reached else ''}".strip())

    def _edge(self, now: Arrays, row: str, column: str) -> Look:
        i, j = int(row[1:]), int(column[1:])
        if now["slack"][j * self.n + i] != 0:
            return Look("", "off")
        return Look("", " ".join(["on", *self._marks(now, i, j)]))

    def _element(self, now: Arrays, line: str, index: int) -> Look:
        if line == "path found, zero found":
            return Look(shown(int(now["flags"][1 + index])))
        value = now[line][index]
        if line == "row_dual" and not unset(value):
            return Look(shown(value.item() + self.shift))
        return NEVER if unset(value) else Look(shown(value.item()))
