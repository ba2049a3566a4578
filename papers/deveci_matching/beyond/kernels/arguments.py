"""Arrays and numbers that travel together through the one launch, as named tuples.

A named tuple costs a kernel no more than its fields. The classes of arrays state the types that the
kernel is compiled for (`papers.common.gpu.signatures`); shapes are those of the table in
`beyond.kernels`. The classes of numbers are made within the kernel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from papers.common.gpu.signatures import Int32, Int32s

# ---------------------------------------------------------------------------------- arrays


class Sizes(NamedTuple):
    """Numbers of rows and of columns."""

    rows: Int32
    columns: Int32


class Adjacency(NamedTuple):
    """The graph by columns, ``cadj[cxadj[column] : cxadj[column + 1]]``, and likewise by rows."""

    cxadj: Int32s
    cadj: Int32s
    rxadj: Int32s
    radj: Int32s


class Ways(NamedTuple):
    """The ideas of `beyond.configuration.Configuration` that are on, 1, or off, 0.

    ``pulls`` is more than 1 where on: rows look for columns once the frontier has so many edges
    for each row that is still to be found.
    """

    pulls: Int32
    grafts: Int32
    cuts: Int32
    lone: Int32
    within: Int32


class Partners(NamedTuple):
    """The partner of each row and of each column; -1 where there is none."""

    rmatch: Int32s
    cmatch: Int32s


class Trees(NamedTuple):
    """Claims of rows, trees of columns, ends of trees, levels of columns."""

    parent: Int32s
    root: Int32s
    end_of_root: Int32s
    level_of: Int32s


class Queues(NamedTuple):
    """The frontier's two sides, ``queue``; the roots with a path; the rows to graft; hops.

    ``spreads`` is 1 if heavy columns have a place of their own in the frontier, 0 if none is heavy.
    """

    frontier: Int32s
    ends: Int32s
    renewable: Int32s
    hops: Int32s
    spreads: Int32


# ---------------------------------------------------------------------------------- numbers


class Step(NamedTuple):
    """A step of the grid: it expands a level, from one side of the frontier to the other."""

    level: int
    """The level that is expanded; its columns have it in ``level_of``."""
    odd: int
    """0 in even phases, 1 in odd ones: which word of `control.ENDS` counts."""
    into: int
    """Place in ``control`` of the slot whose counts the step adds to."""
    side: int
    """Half of the queue that holds the frontier, 0 or 1; the next one goes into the other half."""


class Room(NamedTuple):
    """A block's columns in shared memory, one a thread; `totals` belongs to a scan."""

    totals: Any
    offset: Any
    """Edges of the columns before this one."""
    shift: Any
    """From an edge's number among the block's to its place in ``cadj``."""
    member: Any
    tree_of: Any


class Front(NamedTuple):
    """Counts of a frontier: its light columns, its heavy ones, the edges of all."""

    light: int
    heavy: int
    edges: int
