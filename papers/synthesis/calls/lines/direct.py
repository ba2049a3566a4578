"""Matches a graph as its caller stores it: on one core, as far as a few passes lead.

SciPy's matching reads the caller's CSR arrays and nothing else. The solvers of
`papers.deveci_matching` want both directions, checked, which alone takes longer than SciPy's whole
call where that is easy. So a call looks at the arrays as they are (`look`) before it asks a solver:

1. a pass that checks the lines and matches each with its first free partner [D13 sec.4];
2. searches from the lines that are still free (`papers.synthesis.calls.lines.searches`). They stop
   at `LOOKS` looks an edge.

What is still free then is left to the solver of the table, which goes on from there. Three in four
of the real matrices are done before that (``evidence/graphs/looks.csv``).

A GPU gets the arrays as they are and turns the graph around itself; a large graph that one core
would be slow on goes there before any pass (`papers.synthesis.calls.lines.scattered`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import njit

from papers.common.deadline import Deadline
from papers.common.problems.graph import Graph
from papers.deveci_matching.baselines.pfp import JIT
from papers.deveci_matching.beyond.lines import Lines
from papers.deveci_matching.start import Known
from papers.synthesis.calls.lines.searches import ALWAYS, enlarge

BROKEN = -1
"""The answer of `greedy` to arrays that are not strictly increasing lines within the shape."""

TURNS = "beyond"
"""The solver that takes a graph in lines, and a matching of it that is known to be one."""

LOOKS = 3
"""Looks an edge that searches are given in all. They are no fewer where a GPU waits: on graphs of
points in the plane, some of the lines that stopped searches leave are several times as far from
free partners as any that the greedy pass leaves (a test shows it), and a GPU's search takes a level
for each step of that way."""

FEW = 100
"""The greedy pass missed one possible pair in so many at most where all searches go breadth first:
their trees are small then in most graphs, and hardly meet (``evidence/graphs/broad.csv``)."""

SMALL, DEEP = 20_000, 2
"""Edges below which the searches after so many phases go breadth first. It saves most where a call
is slowest beside SciPy's, and costs little elsewhere (``evidence/graphs/broad.csv``). In larger
graphs more lines would be left for a solver."""

BRIEF = 2**24
"""Looks at most where a call has a limit of time: some tenths of a second on a large graph."""


@dataclass(frozen=True)
class Looked:
    """A matrix of compressed lines, and a matching of it.

    Attributes
    ----------
    indptr, indices : int32[lines + 1], int32[edges]
        The caller's own arrays, or copies of 32 bits.
    across : int
        The number of columns if lines are rows, else of rows.
    match, across_match : int32[lines], int32[across]
        Partner of each line and of what lies across, -1 for none.
    pairs : int
        Those that the greedy pass has matched.
    possible : int
        The lines that have an edge.
    """

    indptr: np.ndarray
    indices: np.ndarray
    across: int
    match: np.ndarray
    across_match: np.ndarray
    pairs: int
    possible: int

    @property
    def missing(self) -> int:
        """Pairs that the greedy pass may have missed at most."""
        return min(self.possible, self.across) - self.pairs

    @property
    def deep(self) -> int:
        """Phases whose searches go depth first."""
        return deep_phases(self.missing, self.possible, self.indices.size)

    def enlarge(self, briefly: bool = False) -> bool:
        """Search from the free lines; return whether the matching is maximum.

        Parameters
        ----------
        briefly : bool
            Whether the caller has little time: `BRIEF` looks at most, then.
        """
        limit = LOOKS * self.indices.size
        limit = min(limit, BRIEF) if briefly else limit
        arrays = self.indptr, self.indices, self.match, self.across_match
        left, _ = enlarge(*arrays, limit, self.deep)
        return not left

    def solved(self, solver: Any, deadline: Deadline) -> tuple[np.ndarray, np.ndarray]:
        """Return a maximum matching, by a solver that goes on from the one that is there.

        The solver's columns, from which it searches, are the shorter side: of the longer one many
        stay free in the end, and a search from these leads nowhere.

        Parameters
        ----------
        solver : solver of a registry
            With ``upload``, ``run`` and ``download``.
        deadline : Deadline
            Of the call; what brings the graph into the solver's form takes its time, too.

        Returns
        -------
        match, across_match : int32[lines], int32[across]
        """
        lines = self.match.size
        few = lines <= self.across
        mine = (self.across_match, self.match) if few else (self.match, self.across_match)
        turns = solver.name == TURNS
        graph = self._as_lines(few) if turns else self._as_graph(few)
        left = deadline.left("a greedy pass over the graph")
        limit = {} if left is None else {"seconds": left}
        state = solver.upload(graph, initial=Known(*mine) if turns else mine, **limit)
        solver.run(state)
        answer = solver.download(state)
        found = answer.column_match, answer.row_match
        return found if few else found[::-1]

    def _as_lines(self, few: bool) -> Lines:
        """Return the lines as columns if they are few, else as rows, for a device to turn."""
        sides = (self.across, self.match.size) if few else (self.match.size, self.across)
        return Lines(*sides, self.indptr, self.indices, "columns" if few else "rows")

    def _as_graph(self, few: bool) -> Graph:
        """Return the same with both directions."""
        lines, there = self.match.size, (self.indptr, self.indices)
        back = turned(*there, self.across)
        if few:
            return Graph.of_both(self.across, lines, there, back)
        return Graph.of_both(lines, self.across, back, there)


def deep_phases(missing: int, possible: int, edges: int) -> int:
    """Return how many phases of a graph's searches go depth first, by what the pass has left."""
    if FEW * missing <= possible:
        return 0
    return DEEP if edges < SMALL else ALWAYS


def at_once(
    lines: Lines, side: Literal["rows", "columns"], solver: Any, deadline: Deadline
) -> np.ndarray:
    """Return the partners of one side in a maximum matching that a GPU finds from nothing.

    It searches from the shorter side (see `Looked.solved`), with a greedy start of its own.

    Parameters
    ----------
    lines : Lines
    side : {"rows", "columns"}
    solver : solver of a registry
        The one called `TURNS`.
    deadline : Deadline
        Of the call.

    Returns
    -------
    int32[rows] or int32[columns]

    Raises
    ------
    papers.common.problems.graph.GraphError
        For a broken graph; the message names the fault.
    """
    from papers.deveci_matching.beyond.solver import partners

    over = lines.columns > lines.rows
    graph = lines.transposed() if over else lines
    left = deadline.left("a look at a sample")
    state = solver.upload(graph, "device", **({} if left is None else {"seconds": left}))
    solver.run(state)
    return partners(state, side if not over else "rows" if side == "columns" else "columns")


def look(matrix: Any) -> Looked | None:
    """Check a matrix of SciPy's and match it greedily; None where `bipartite` has to look at it.

    Parameters
    ----------
    matrix : sparse array or matrix, or Lines

    Returns
    -------
    Looked or None
        None for another format than CSR and CSC, for lines that do not increase strictly, for more
        entries than 32 bits count, and for broken arrays, whose fault `bipartite` names.
    """
    given = matrix if isinstance(matrix, Lines) else Lines.of(matrix)
    if given is None:
        return None
    match = np.empty(given.indptr.size - 1, np.int32)
    across_match = np.empty(given.across, np.int32)
    pairs, possible = greedy(given.indptr, given.indices, match, across_match)
    if pairs == BROKEN:
        return None
    return Looked(given.indptr, given.indices, given.across, match, across_match, pairs, possible)


@njit(**JIT)
def greedy(indptr, indices, match, across_match):
    """Match each line, in order, with its first free partner [D13 sec.4], and check the lines.

    Parameters
    ----------
    indptr, indices : int32[lines + 1], int32[at least indptr[-1]]
    match, across_match : int32[lines], int32[across]
        Filled.

    Returns
    -------
    pairs, possible : int
        The matching's size, `BROKEN` if a line is; lines with an edge, which are as many as can be
        matched at most.
    """
    lines, across = match.size, across_match.size
    match[:] = -1
    across_match[:] = -1
    pairs, possible = 0, 0
    if indptr[0] != 0 or indptr[lines] > indices.size:
        return BROKEN, 0
    falls = 0  # from one edge to the next, where that is none of the beginning of a line
    for at in range(1, indptr[lines]):
        falls += indices[at] <= indices[at - 1]
    for line in range(lines):
        begin, end = indptr[line], indptr[line + 1]
        if end <= begin:
            if end < begin:
                return BROKEN, 0
            continue
        if end > indptr[lines] or indices[begin] < 0 or indices[end - 1] >= across:
            return BROKEN, 0
        if begin > 0:
            falls -= indices[begin] <= indices[begin - 1]
        possible += 1
        for at in range(begin, end):
            other = indices[at]
            if not 0 <= other < across:  # in a line that falls
                return BROKEN, 0
            if across_match[other] < 0:
                across_match[other] = line
                match[line] = other
                pairs += 1
                break
    if falls:
        return BROKEN, 0
    return pairs, possible


@njit(**JIT)
def turned(indptr, indices, across):
    """Return the same edges by what lies across: int32[across + 1], int32[edges], increasing."""
    begins = np.zeros(across + 1, np.int32)
    for at in range(indices.size):
        begins[indices[at] + 1] += 1
    for other in range(across):
        begins[other + 1] += begins[other]
    filled = begins[:-1].copy()
    lines_of = np.empty(indices.size, np.int32)
    for line in range(indptr.size - 1):
        for at in range(indptr[line], indptr[line + 1]):
            other = indices[at]
            lines_of[filled[other]] = line
            filled[other] += 1
    return begins, lines_of
