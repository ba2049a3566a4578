"""The sweep of a round: a tile's pixels push and are lifted in step; see `one_launch`."""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.lupinska_costscale.flow.kernels.tiles import (
    DOWN,
    MAX_TILE,
    RIGHT,
    SWEEP,
    inside,
    make_color,
    pixel_of,
    wake,
)

LINES = 4
"""Lines of flow in transit, a word a pixel: one for each of four directions, of eight by turns."""

CELLS, ITSELF = 9, 4
"""A tile and those around it, row by row, and its own place among them."""


@cuda.jit(device=True)
def cell_of(row, column, rows, width):
    """Number among `CELLS` of the tile that a place is in, which is in this tile or just beside."""
    cell = int32(ITSELF)
    if row < 0:
        cell -= 3
    elif row >= rows:
        cell += 3
    if column < 0:
        cell -= 1
    elif column >= width:
        cell += 1
    return cell


def make_discharge(directions):
    """Build `discharge` for 4 or 8 neighbours."""
    together = 4 if directions == 4 else 2  # of four all may go at once: `LINES` has room
    color_of = make_color(directions)

    @cuda.jit(device=True)
    def discharge(tile, inner, color, parity, tiling, pixels, queues, level, moved, woken):
        """Push and lift a tile's pixels, at most `inner` times; return (pushes, relabels).

        A pixel pushes to the neighbours in `together` directions and takes from those opposite,
        after a barrier; heights have two lines in `level`, so that a lift needs but the barrier
        that asks for active pixels. Beyond the edge no tile works: heights stand, and only other
        tiles of this colour may add to the excess there too. So flow crosses the edge, in one sum,
        when the visit ends. Long because a pixel's state is in registers throughout.
        """
        thread = cuda.threadIdx.x
        n, nodes, shift = tiling.n, tiling.nodes, tiling.shift
        residual, height = pixels.residual, pixels.height
        width, rows = 1 << shift, cuda.blockDim.x >> shift
        row, column = thread >> shift, thread & (width - 1)
        x, _ = pixel_of(tile, row, column, rows, width, tiling.columns)
        pitch = int64(tiling.columns) << shift
        left = cuda.local.array(directions, residual.dtype)
        beyond = cuda.local.array(directions, int32)
        for d in range(directions):
            left[d] = residual[int64(d) * n + x]
        sink = int64(pixels.to_sink[x])
        amount = pixels.excess[x]
        h = height[x]
        for d in range(directions):
            beyond[d] = nodes
            if left[d] > 0 and not inside(row + DOWN[d], column + RIGHT[d], rows, width):
                beyond[d] = height[x + DOWN[d] * pitch + RIGHT[d]]
        here = int32(0)
        level[thread] = h
        if thread == 0:
            woken[0] = 0
        pushes, relabels = int32(0), int32(0)
        going = cuda.syncthreads_or(int32(amount > 0 and h < nodes))
        for _ in range(inner):
            if going == 0:
                break
            if amount > 0 and sink > 0:  # then h = 1
                sent = min(amount, sink)
                amount -= sent
                sink -= sent
                pushes += 1
            for first in range(0, directions, together):
                for d in range(first, first + together):
                    sent = int64(0)
                    if amount > 0 and h < nodes and left[d] > 0:
                        down, right = row + DOWN[d], column + RIGHT[d]
                        other = beyond[d]
                        if inside(down, right, rows, width):
                            other = level[here + ((down << shift) | right)]
                        if h == other + 1:
                            sent = min(amount, int64(left[d]))
                            amount -= sent
                            left[d] -= sent
                            pushes += 1
                    moved[MAX_TILE * (d % LINES) + thread] = sent
                cuda.syncthreads()
                for d in range(first, first + together):
                    back, before = row - DOWN[d], column - RIGHT[d]
                    if inside(back, before, rows, width):
                        taken = moved[MAX_TILE * (d % LINES) + ((back << shift) | before)]
                        amount += taken
                        left[d ^ 1] += taken
            if amount > 0 and sink == 0 and h < nodes:
                low = int32(nodes)
                for d in range(directions):
                    if left[d] > 0:
                        down, right = row + DOWN[d], column + RIGHT[d]
                        other = beyond[d]
                        if inside(down, right, rows, width):
                            other = level[here + ((down << shift) | right)]
                        low = min(low, other)
                if low >= h:
                    h = min(int32(low + 1), int32(nodes))
                    relabels += 1
            here ^= MAX_TILE
            level[here + thread] = h
            going = cuda.syncthreads_or(int32(amount > 0 and h < nodes))
        cells = int32(0)
        for d in range(directions):
            down, right = row + DOWN[d], column + RIGHT[d]
            if not inside(down, right, rows, width):
                crossed = int64(residual[int64(d) * n + x]) - left[d]
                if crossed > 0:
                    y = x + DOWN[d] * pitch + RIGHT[d]
                    residual[int64(d ^ 1) * n + y] += crossed
                    cuda.atomic.add(pixels.excess, y, crossed)
                    cells |= int32(1 << cell_of(down, right, rows, width))
            residual[int64(d) * n + x] = left[d]
        pixels.to_sink[x] = sink
        pixels.excess[x] = amount
        height[x] = h
        if amount > 0 and h < nodes:
            cells |= int32(1 << ITSELF)
        if cells != 0:
            cuda.atomic.or_(woken, 0, cells)
        cuda.syncthreads()
        for cell in range(thread, CELLS, cuda.blockDim.x):
            if (woken[0] >> cell) & 1:
                beside = int32(tile + (cell // 3 - 1) * tiling.columns + cell % 3 - 1)
                hue = color_of(beside, tiling.columns)
                turn = parity if hue > color else parity ^ 1
                wake(beside, SWEEP + 4 * turn + hue, 2 + 4 * turn + hue, tiling.tiles, queues)
        return pushes, relabels

    return discharge
