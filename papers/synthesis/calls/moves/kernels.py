"""The capacities of an expansion move, made where `gpu_relabel` reads them.

==================  ==========  ==================================================================
name                array       dtype, shape
==================  ==========  ==================================================================
unary terms         unary       T [pixels * count]: labels of a pixel side by side
weights of pairs    weights     T [pairs * pixels]: by forward direction; 0 where that leaves
metric              metric      T [count * count]
labels so far       labels      int32 [pixels]
flow of a label     flow        T [pairs * pixels]: of its last move, from the first pixel of each
                                pair to the second
capacities          capacity    T [2 * pairs * n]: `gpu_relabel`'s, direction by direction
terminals           source,     T [n]: from the source and to the sink
                    sink
the cut             bits        int32 [ceil(n / 32)]: see `lupinska_costscale.flow.kernels.cut`
sum of ``sink``     offered     int64 [1]
==================  ==========  ==================================================================

Pixels are numbered row by row, in the solver's arrays with the n that pad an image to whole tiles.
A pair is a pixel and its neighbour in a forward direction; there are 2 or 4 of them a pixel.

**How a flow is carried over.** With the energies ``a`` (both keep their labels), ``b`` (the second
takes the move's), ``c`` (the first does) and 0, the arc of a pair has the capacity ``b + c - a``,
and the opposite one 0 (`papers.synthesis.calls.moves.energies`). A flow of k along the pair leaves
``b + c - a - k`` and k, takes k from the first pixel's surplus, which is ``source - sink``, and
adds it to the second's: every cut weighs as before, but for a constant, whatever k is. So the next
move of the label may begin with *any* k from 0 to its own capacity, and it takes the last one, cut
off there. This is what `papers.synthesis.calls.moves.recycling` does with residual capacities: the
opposite arc's is k, cutting off is its mending, and the surplus is what is left of the two
terminals once their smaller one is taken from both. Nothing else has to be kept, and no excess that
is stranded behind the cut has to be sent back: it is its pixel's surplus.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import cuda, int32, int64

from papers.common.gpu.reductions import warp_sum
from papers.common.gpu.signatures import Elements, Int32, Int32s
from papers.lupinska_costscale.flow.kernels.lock_free import ELEMENT_TYPES as ELEMENT_TYPES
from papers.lupinska_costscale.flow.kernels.tiles import DOWN, RIGHT, inside


class Scene(NamedTuple):
    """An image's energy, and its labels so far.

    Attributes
    ----------
    height, width, count : int32
        The image's, and the number of labels.
    unary : T[pixels * count]
    weights : T[pairs * pixels]
    metric : T[count * count]
    labels : int32[pixels]
    """

    height: Int32
    width: Int32
    count: Int32
    unary: Elements
    weights: Elements
    metric: Elements
    labels: Int32s


class Padded(NamedTuple):
    """A grid as `gpu_relabel` has it.

    Attributes
    ----------
    pitch : int32
        Pixels in a row, those that pad it included.
    capacity : T[2 * pairs * n]
    source, sink : T[n]
    """

    pitch: Int32
    capacity: Elements
    source: Elements
    sink: Elements


@cuda.jit(device=True)
def pair_terms(first, second, alpha, share, scene):
    """Return the capacity of a pair's arc, and the energies `a` and `c`; pixels by their labels."""
    count, metric = int64(scene.count), scene.metric
    a = share * int64(metric[first * count + second])
    b = share * int64(metric[first * count + alpha])
    c = share * int64(metric[alpha * count + second])
    return b + c - a, a, c


@cuda.jit
def offer(alpha, begun, scene, flow, grid, offered):
    """Write the capacities of a label's move, into which its last flow was put, if it has `begun`.

    Paper: none; see the module.  Launch: any grid of whole warps, grid-stride over padded pixels.
    Reads/Writes: reads ``flow``, if `begun`, and all of ``scene``; writes all of ``capacity``,
    ``source`` and ``sink``; adds to ``offered``. No race: a pixel writes the arcs that leave it,
    and both ends of a pair work out its flow from words that nobody writes. Longer than a kernel's
    30 lines because a pixel is the first of some pairs and the second of others.
    """
    height, width, labels = scene.height, scene.width, scene.labels
    n, pixels = grid.source.size, labels.size
    total = int64(0)
    for x in range(cuda.grid(1), n, cuda.gridsize(1)):
        row = x // grid.pitch
        column = x - row * grid.pitch
        i = int64(row) * width + column
        own = inside(row, column, height, width)
        mine, surplus = int64(0), int64(0)
        if own:
            mine = int64(labels[i])
            place = i * scene.count
            surplus = int64(scene.unary[place + alpha]) - int64(scene.unary[place + mine])
        for d in range(scene.weights.size // pixels):
            step = int64(DOWN[2 * d]) * width + RIGHT[2 * d]
            left, back = int64(0), int64(0)
            if own and inside(row + DOWN[2 * d], column + RIGHT[2 * d], height, width):
                pair = d * pixels + i
                share = int64(scene.weights[pair])
                left, a, c = pair_terms(mine, int64(labels[i + step]), alpha, share, scene)
                surplus += c - a
                if begun:
                    sent = min(int64(flow[pair]), left)
                    left -= sent
                    surplus -= sent
            if own and inside(row - DOWN[2 * d], column - RIGHT[2 * d], height, width):
                pair = d * pixels + i - step
                share = int64(scene.weights[pair])
                most, _, c = pair_terms(int64(labels[i - step]), mine, alpha, share, scene)
                surplus -= c
                if begun:
                    back = min(int64(flow[pair]), most)
                    surplus += back
            grid.capacity[int64(2 * d) * n + x] = left
            grid.capacity[int64(2 * d + 1) * n + x] = back
        grid.source[x] = max(surplus, int64(0))
        grid.sink[x] = max(-surplus, int64(0))
        total += max(-surplus, int64(0))
    total = warp_sum(total)
    if cuda.threadIdx.x & 31 == 0 and total > 0:
        cuda.atomic.add(offered, 0, total)


@cuda.jit
def keep(scene, pitch, residual, flow):
    """Keep the flow of a move: what the second pixel of each pair could send back.

    Paper: none; see the module.  Launch: any grid, grid-stride over pairs.
    Reads/Writes: reads ``residual``, writes all of ``flow``, once each. No race.
    """
    height, width, pixels = scene.height, scene.width, scene.labels.size
    n = residual.size // (2 * (flow.size // pixels))
    for pair in range(cuda.grid(1), flow.size, cuda.gridsize(1)):
        d = pair // pixels
        i = pair - d * pixels
        row = i // width
        down, right = row + DOWN[2 * d], i - row * width + RIGHT[2 * d]
        sent = int64(0)
        if inside(down, right, height, width):
            sent = int64(residual[int64(2 * d + 1) * n + int64(down) * pitch + right])
        flow[pair] = sent


@cuda.jit
def give(alpha, scene, pitch, bits):
    """Give the move's label to the pixels on the sink's side.

    Paper: none; see the module.  Launch: any grid, grid-stride over pixels.
    Reads/Writes: reads ``bits``, writes ``labels``. No race: a pixel writes its own.
    """
    for i in range(cuda.grid(1), scene.labels.size, cuda.gridsize(1)):
        row = i // scene.width
        x = int64(row) * pitch + i - row * scene.width
        if (bits[x >> 5] >> int32(x & 31)) & 1 == 0:
            scene.labels[i] = alpha


SIGNATURES = {
    offer: ("int32", "int32", Scene, "T[::1]", Padded, "int64[::1]"),
    keep: (Scene, "int32", "T[::1]", "T[::1]"),
    give: ("int32", Scene, "int32", "int32[::1]"),
}
"""The types that each kernel is compiled for."""
