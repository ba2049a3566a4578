"""Matches a graph as its caller stores it: on one core, as far as a few passes lead.

SciPy's matching reads the caller's CSR arrays and nothing else. The solvers of
`papers.deveci_matching` want both directions, checked, which alone takes longer than SciPy's whole
call where that is easy. So a call looks at the arrays as they are (`look`) before it asks a solver:

1. a pass that checks the lines and matches each with its first free partner [D13 sec.4];
2. searches from the lines that are still free, depth first with a look ahead for free partners and
   in turning directions, as in PFP (`papers.deveci_matching.baselines.pfp`), and with a proof:
   what a search in vain has seen is closed, and no later search goes there (`search`). They stop
   at `LOOKS` looks an edge.

What is still free then is left to the solver of the table, which goes on from there. Three in four
of the real matrices are done before that (``evidence/graphs/looks.csv``).

A GPU gets the arrays as they are and turns the graph around itself; a large graph that one core
would be slow on goes there before any pass (`papers.synthesis.calls.scattered`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numba import njit

from papers.common.deadline import Deadline
from papers.common.problems.graph import Graph
from papers.deveci_matching.baselines.pfp import JIT, augment
from papers.deveci_matching.beyond.lines import Lines
from papers.deveci_matching.start import Known

BROKEN = -1
"""The answer of `greedy` to arrays that are not strictly increasing lines within the shape."""

TURNS = "beyond"
"""The solver that takes a graph in lines, and a matching of it that is known to be one."""

CLOSED = np.int32(2**31 - 1)
"""The mark of a partner that no augmenting path can reach any more."""

LOOKS = 3
"""Looks an edge that `search` is given in all. They are no fewer where a GPU waits: on graphs of
points in the plane, some of the lines that stopped searches leave are several times as far from
free partners as any that the greedy pass leaves (a test shows it), and a GPU's search takes a level
for each step of that way."""

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

    def enlarge(self, briefly: bool = False) -> bool:
        """Search from the free lines; return whether the matching is maximum.

        Parameters
        ----------
        briefly : bool
            Whether the caller has little time: `BRIEF` looks at most, then.
        """
        limit = LOOKS * self.indices.size
        limit = min(limit, BRIEF) if briefly else limit
        left, _ = enlarge(self.indptr, self.indices, self.match, self.across_match, limit)
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
def search(
    root, indptr, indices, match, across_match, look_at, marks, seen, path, first, own, forward
):
    """Search depth first from a free line, and augment where a free partner is met.

    A search passes by what others have marked in this phase: an augmentation may have changed what
    lies behind. A search in vain that has passed by nothing but its own and what is closed has seen
    all that its lines reach: every partner in there is matched within, so that no augmenting path
    can lead in and out again, now or later.

    Parameters
    ----------
    root : int
    indptr, indices, match, across_match
        As in `greedy`; the matching is enlarged.
    look_at : int32[lines]
        Where the look ahead of each line goes on: a matched partner stays matched.
    marks : int32[across]
        The search that marked it last, or `CLOSED`.
    seen : int32[across]
        Receives what this search marks.
    path : (int32[lines + 1], int32[lines + 1])
        The lines from the root on, and the edge each of them tries next.
    first, own : int
        The phase's first search, and this one.
    forward : bool
        Whether lines try their edges from the first on.

    Returns
    -------
    found, whole : bool
        Whether a path was found; whether a search in vain has seen all that it reaches.
    met, looks : int
        Marks in `seen`; edges looked at.
    """
    stack, edge_at = path
    depth, met, looks = 0, 0, 0
    whole, new = True, True
    stack[0] = root
    while depth >= 0:
        line = np.uint32(stack[depth])
        begin, end = indptr[line], indptr[np.uint32(line + np.uint32(1))]
        if new:
            at = look_at[line]
            looks -= at
            while at < end and across_match[np.uint32(indices[np.uint32(at)])] >= 0:
                at += 1
            looks += at
            look_at[line] = at
            if at < end:
                augment(indices[np.uint32(at)], depth, stack, match, across_match)
                return True, False, met, looks + 1
            edge_at[depth] = begin if forward else end - 1
            new = False
        at = edge_at[depth]
        other = np.int32(-1)
        while begin <= at < end and other < 0:
            there = indices[np.uint32(at)]
            mark = marks[np.uint32(there)]
            if mark < first:
                other = there
            else:
                whole &= (mark == own) | (mark == CLOSED)
            at += 1 if forward else -1
            looks += 1
        edge_at[depth] = at
        if other < 0:
            depth -= 1
        else:
            marks[np.uint32(other)] = own
            seen[met] = other
            met += 1
            depth += 1
            stack[depth] = across_match[np.uint32(other)]
            new = True
    return False, whole, met, looks


@njit(**JIT)
def enlarge(indptr, indices, match, across_match, limit):
    """Search from all free lines, phase by phase; stop after so many looks.

    Parameters
    ----------
    indptr, indices, match, across_match
        As in `greedy`; the matching is enlarged.
    limit : int
        Looks at edges, which one search may exceed.

    Returns
    -------
    left, looks : int
        Free lines from which a search may still find a path, 0 if the matching is maximum; looks at
        edges. A phase in which nothing is found closes all it sees, so no turn lacks an end.
    """
    lines = match.size
    free = np.empty(lines, np.int32)
    count = 0
    for line in range(lines):
        if match[line] < 0 and indptr[line + 1] > indptr[line]:
            free[count] = line
            count += 1
    look_at = indptr[:-1].copy()
    marks = np.zeros(across_match.size, np.int32)
    seen = np.empty(across_match.size, np.int32)
    path = np.empty(lines + 1, np.int32), np.empty(lines + 1, np.int32)
    own, looks, forward = np.int32(1), 0, False
    while count > 0:
        first, left = own, 0
        forward = not forward
        for k in range(count):
            if looks > limit or own >= CLOSED - 2:
                free[left] = free[k]
                left += 1
                continue
            found, whole, met, edges = search(
                free[k], indptr, indices, match, across_match, look_at, marks, seen, path, first,
                own, forward,
            )  # fmt: skip
            own += np.int32(1)
            looks += edges
            if whole:
                for place in range(met):
                    marks[np.uint32(seen[place])] = CLOSED
            elif not found:
                free[left] = free[k]
                left += 1
        count = left
        if looks > limit or own >= CLOSED - 2:
            break
    return count, looks


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
