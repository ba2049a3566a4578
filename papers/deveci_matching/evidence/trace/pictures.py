"""The panels of [D13]: the graph with its levels, matching and predecessors; the arrays."""

from __future__ import annotations

from collections.abc import Sequence

from papers.common.evidence.trace.panels import (
    NEVER,
    Arrays,
    Graph,
    Look,
    Panel,
    Vectors,
    shown,
    unset,
)
from papers.common.problems.graph import Graph as Bipartite
from papers.deveci_matching.evidence.trace.words import c, r
from papers.deveci_matching.kernels.notation import END, FREE, L0


class Pictures:
    """The panels of a graph; `rooted` says whether there is an array of roots."""

    def __init__(self, graph: Bipartite, rooted: bool) -> None:
        self.graph, self.rooted = graph, rooted

    def panels(self) -> Sequence[Panel]:
        """Return graph and arrays."""
        graph = self.graph
        high = max(graph.shape) - 1
        places = {r(i): (0.0, i * high / max(1, graph.rows - 1)) for i in range(graph.rows)}
        places |= {c(j): (4.0, j * high / max(1, graph.columns - 1)) for j in range(graph.columns)}
        edges = [
            (r(int(i)), c(j))
            for j in range(graph.columns)
            for i in graph.cadj[graph.cxadj[j] : graph.cxadj[j + 1]]
        ]
        lines = {"bfs_array": graph.columns, "cmatch": graph.columns}
        if self.rooted:
            lines["root"] = graph.columns
        lines |= {"rmatch": graph.rows, "predecessor": graph.rows}
        return (
            Graph(
                "g", "Rows and columns", places, edges, self._vertex, self._edge,
                "A column's level stands behind its name, and is its colour. "
                '<span class="key star">Thick</span>: the column\'s row; '
                '<span class="key prime">dashed</span>: a predecessor; '
                '<span class="key lost">dotted</span>: a row that believes in a column which has '
                "another. Dashed circles are free.",
            ),
            Vectors(
                "v", "Arrays", lines, self._element,
                "Counted from 1, as in Figure 1. A marked row has \N{MINUS SIGN}2.", 1,
            ),
        )  # fmt: skip

    def _vertex(self, now: Arrays, vertex: str) -> Look:
        number = int(vertex[1:]) - 1
        if vertex[0] == "r":
            mate = now["rmatch"][number]
            if mate == END:
                return Look(vertex, "hot free")
            lies = mate >= 0 and now["cmatch"][mate] != number
            return Look(vertex, "lost" if lies else "free" if mate == FREE else "")
        level = now["bfs_array"][number]
        free = "free" if now["cmatch"][number] == FREE else ""
        if unset(level) or level == L0 - 1:
            return Look(vertex, free)
        if level < L0 - 1:
            return Look(vertex, f"green {free}".strip())
        return Look(f"{vertex}\N{MIDDLE DOT}{level}", f"k{(level - 1) % 6} {free}".strip())

    def _edge(self, now: Arrays, first: str, second: str) -> Look:
        row, column = int(first[1:]) - 1, int(second[1:]) - 1
        classes = ["on"]
        if now["cmatch"][column] == row:
            classes.append("star")
        elif now["rmatch"][row] == column:
            classes.append("lost")
        elif now["predecessor"][row] == column:
            classes.append("prime")
        return Look("", " ".join(classes))

    def _element(self, now: Arrays, line: str, index: int) -> Look:
        value = now[line][index]
        if unset(value):
            return NEVER
        if line == "bfs_array":
            return Look(shown(value.item()), "reached" if value >= L0 else "")
        if value == END:
            return Look("\N{MINUS SIGN}2", "hot")
        if value == FREE:
            return Look("free")
        lies = line == "rmatch" and now["cmatch"][value] != index
        name = r(int(value)) if line == "cmatch" else c(int(value))
        return Look(name, "lost" if lies else "")
