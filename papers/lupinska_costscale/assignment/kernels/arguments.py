"""Arrays that the refine kernels take together: named tuples, a field an array.

A named tuple costs a kernel no more than its fields. Its class states the types that the kernels
are compiled for (`papers.common.gpu.signatures`). Symbols are those of the table in
`assignment.kernels.lock_free`; N is the nodes a side, M the arcs. The sequential cost scaling
(`assignment.baselines.cost_scaling`) takes the same tuples.
"""

from __future__ import annotations

from typing import NamedTuple

from papers.common.gpu.signatures import Int32s, Int64s


class Whole(NamedTuple):
    """The adjacency lists of the whole graph, before any arc was fixed.

    Attributes
    ----------
    first : int32[2 N + 1]
        Node v's arcs are at first[v] .. first[v + 1] - 1.
    head, arc : int32[2 M]
        The node that the arc leads to or comes from, and the arc.
    """

    first: Int32s
    head: Int32s
    arc: Int32s


class Lists(NamedTuple):
    """The adjacency lists, which arc fixing shortens.

    Attributes
    ----------
    first : int32[2 N + 1]
        As in `Whole`.
    last : int32[2 N]
        Node v's arcs are at first[v] .. last[v] - 1.
    head, arc : int32[2 M]
        As in `Whole`.
    """

    first: Int32s
    last: Int32s
    head: Int32s
    arc: Int32s


class Arcs(NamedTuple):
    """Values of the arcs, each of which leads from an x to a y.

    Attributes
    ----------
    cost : int64[M]
        c(x, y), times |V| + 1.
    flow : int32[M]
        u_f(y, x), and 1 - u_f(x, y); -10 for an arc that was fixed.
    """

    cost: Int64s
    flow: Int32s


class Vertices(NamedTuple):
    """Values of the nodes, first of the x, then of the y.

    Attributes
    ----------
    price : int64[2 N]
        p.
    excess : int32[2 N]
        e.
    """

    price: Int64s
    excess: Int32s
