"""Arrays that the kernels of [DN16] take together: named tuples, a field an array or a number.

A named tuple costs a kernel no more than its fields. Its class states the types that the kernels
are compiled for (`papers.common.gpu.signatures`); the symbols are those of the table in
`kernels.shared`. Where the ranks split the matrix, arrays over the split lines hold the rank's own
(`several_gpus.kernels.strips`). `TUPLES` says which arrays and numbers a host puts into each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from papers.common.gpu.signatures import Element, Elements, Int32, Int32s, Int64, Int64s

# ---------------------------------------------------------------------------------- numbers


class Lines(NamedTuple):
    """Lines that a rank has arrays for: all ``n`` rows, and its ``columns``."""

    n: Int32
    columns: Int32


class Shape(NamedTuple):
    """Rows and columns of a strip, and the ``first`` of its rows in the whole matrix."""

    rows: Int32
    columns: Int32
    first: Int32


class Scope(NamedTuple):
    """Rows whose assignment a rank counts: the ``first`` of them, and how many."""

    first: Int32
    rows: Int32


class Limits(NamedTuple):
    """Infinity and zero in the type of the costs."""

    top: Element
    zero: Element


# ---------------------------------------------------------------------------------- pairs of lines


class Duals(NamedTuple):
    """D_r and D_c: ``row_dual`` [n] and ``column_dual`` [n], as cost, in half units."""

    row: Elements
    column: Elements


class Assignments(NamedTuple):
    """A_r and A_c: ``row_assignment`` and ``column_assignment``, int32 [n]; -1: none."""

    row: Int32s
    column: Int32s


class Covers(NamedTuple):
    """V_r and V_c: ``row_cover`` and ``column_cover``, int32 [n], 0 or 1."""

    row: Int32s
    column: Int32s


class Predecessors(NamedTuple):
    """P_r and P_c: ``row_predecessor`` and ``column_predecessor``, int32 [n]; -1: none."""

    row: Int32s
    column: Int32s


class Successors(NamedTuple):
    """S_r and S_c: ``row_successor`` and ``column_successor``, int32 [n]; -1: none."""

    row: Int32s
    column: Int32s


class Marks(NamedTuple):
    """``row_mark`` and ``column_mark``, int32 [n]: "active" and the paper's other words."""

    row: Int32s
    column: Int32s


# ---------------------------------------------------------------------------------- a search


class Matrix(NamedTuple):
    """C and D: the slack of an edge is ``2 cost - row dual - column dual`` in half units.

    ``cost`` is int32, int64 or float64 [rows * columns], row after row; no kernel changes it.
    """

    cost: Elements
    duals: Duals


class Edges(NamedTuple):
    """Z, the edges without slack, in CSR: ``pointers`` int32 [n + 1], ``adjacency`` int32 [edges].

    The columns of row i's edges are ``adjacency[pointers[i]] ... adjacency[pointers[i + 1] - 1]``.
    """

    pointers: Int32s
    adjacency: Int32s


class Frontiers(NamedTuple):
    """F_in and F_out, rows, and F_rev, free columns: int32 [n] (classical)."""

    f_in: Int32s
    f_out: Int32s
    f_rev: Int32s


class Forest(NamedTuple):
    """The alternating trees: V, P, ``slack`` (as cost [n], in half units), and the marks."""

    covers: Covers
    predecessors: Predecessors
    slack: Elements
    marks: Marks


class Queue(NamedTuple):
    """A list that warps append to: its array, its first place there, its counter in ``flags``.

    Kernels make it; it is no argument of a launch.
    """

    rows: Int32s
    offset: Int64
    counter: Int64


# ---------------------------------------------------------------------------------- several GPUs


class Split(NamedTuple):
    """The messages of a level: ``parts`` of them, ``stride`` words apart; this rank's columns."""

    parts: Int32
    stride: Int32
    columns: Int32


class Share(NamedTuple):
    """A rank's share of a search: the rows that it looks at first, its number, its columns.

    ``parts`` is the number of ranks, ``stride`` the columns of a rank at most.
    """

    first_row: Int32
    last_row: Int32
    rank: Int32
    parts: Int32
    stride: Int32
    columns: Int32


class Messages(NamedTuple):
    """Rows that came, int32 [parts * stride], and this rank's message, int32 [2 + rows]."""

    came: Int32s
    goes: Int32s


class Window(NamedTuple):
    """A rank's window as the search sees it (`several_gpus.kernels.window`), in words of int64.

    ``words`` [2 parts] and ``lists`` [2 parts stride] are in this rank's memory; ``addresses``
    [parts] says where every rank's window begins.
    """

    words: Int64s
    lists: Int64s
    addresses: Int64s


# ---------------------------------------------------------------------------------- by name

TUPLES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "lines": (Lines, ("n", "columns")),
    "shape": (Shape, ("rows", "columns", "first")),
    "limits": (Limits, ("top", "zero")),
    "duals": (Duals, ("row_dual", "column_dual")),
    "assignments": (Assignments, ("row_assignment", "column_assignment")),
    "covers": (Covers, ("row_cover", "column_cover")),
    "predecessors": (Predecessors, ("row_predecessor", "column_predecessor")),
    "successors": (Successors, ("row_successor", "column_successor")),
    "marks": (Marks, ("row_mark", "column_mark")),
    "matrix": (Matrix, ("cost", "duals")),
    "edges": (Edges, ("pointers", "adjacency")),
    "frontiers": (Frontiers, ("frontier_in", "frontier_out", "frontier_reverse")),
    "forest": (Forest, ("covers", "predecessors", "slack", "marks")),
    "split": (Split, ("parts", "stride", "columns")),
    "share": (Share, ("first_row", "last_row", "rank", "parts", "stride", "columns")),
    "window": (Window, ("words", "lists", "addresses")),
}
"""By a kernel's parameter: the class of the tuple, and the names of the arrays, numbers and tuples
in it. `Scope` and `Messages` are missing, as their fields have no names of their own."""
