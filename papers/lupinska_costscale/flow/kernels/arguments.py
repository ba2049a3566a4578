"""Arrays that the flow kernels take together: named tuples, a field an array or a number.

A named tuple costs a kernel no more than its fields. Its class states the types that the kernels
are compiled for (`papers.common.gpu.signatures`); T is int32 where the two capacities of every pair
of arcs fit together, else int64. Symbols are those of the table in `flow.kernels.lock_free`.
"""

from __future__ import annotations

from typing import NamedTuple

from papers.common.gpu.signatures import Elements, Int32, Int32s, Int64s


class Graph(NamedTuple):
    """The arcs between nodes that are no terminals: a network's rows, or a grid's steps.

    An array that the other form has is one of a single 0 here.

    Attributes
    ----------
    n : int32
        V without s and t: the nodes that threads operate.
    nodes : int32
        |V|, the height of the source.
    first : int32[n + 1]
        Node x of a network has the arcs first[x] .. first[x + 1] - 1.
    head, mate : int32[arcs]
        E of a network: y of the arc (x, y), and the index of the arc (y, x).
    offset : int64[4] or int64[8]
        E of a grid: the step from a pixel to its neighbour, by direction.
    """

    n: Int32
    nodes: Int32
    first: Int32s
    head: Int32s
    mate: Int32s
    offset: Int64s


class Preflow(NamedTuple):
    """Everything that operations change.

    Attributes
    ----------
    residual : T[arcs]
        u_f between nodes that are no terminals; of a grid direction by direction.
    to_source, to_sink : T[n]
        u_f(x, s) and u_f(x, t).
    excess : int64[n + 2]
        e; e(s) and e(t) are the last two.
    height : int32[n]
        h; h(s) = |V| and h(t) = 0 are not stored.
    """

    residual: Elements
    to_source: Elements
    to_sink: Elements
    excess: Int64s
    height: Int32s


class Pixels(NamedTuple):
    """A preflow on a grid by kernels that send nothing back to the source.

    Attributes
    ----------
    residual : T[4 n] or T[8 n]
        u_f between pixels, direction by direction.
    to_sink : T[n]
        u_f(x, t).
    excess : int64[n + 2]
        e, without e(t).
    height : int32[n]
        h.
    """

    residual: Elements
    to_sink: Elements
    excess: Int64s
    height: Int32s


class Tiling(NamedTuple):
    """A grid in tiles.

    Attributes
    ----------
    n : int32
        Pixels, those included that pad the last tiles.
    nodes : int32
        |V|, the height of the source.
    columns : int32
        Tiles beside each other.
    tiles : int32
        Tiles in all.
    shift : int32
        A tile is 2**shift pixels wide.
    """

    n: Int32
    nodes: Int32
    columns: Int32
    tiles: Int32
    shift: Int32


class Queues(NamedTuple):
    """Tiles that wait for a visit; see `flow.kernels.tiles`.

    Attributes
    ----------
    waiting : int32[tiles]
        1 while a tile stands in a queue.
    queue : int32[10 * tiles]
        Two queues of the search, then those of the sweeps by parity and colour.
    control : int32[15]
        Lengths of the queues, and counters.
    """

    waiting: Int32s
    queue: Int32s
    control: Int32s
