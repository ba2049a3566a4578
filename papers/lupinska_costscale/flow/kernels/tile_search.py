"""The search of a round: a tile's distances to the sink are brought to rest; see `one_launch`."""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.lupinska_costscale.flow.kernels.tiles import (
    DOWN,
    RIGHT,
    inside,
    pixel_of,
    tile_beside,
    wake,
)

PASSES = 4
"""Looks at its neighbours that a warp takes between two barriers of its block."""


def make_relax(directions):
    """Build `relax` for 4 or 8 neighbours."""

    @cuda.jit(device=True)
    def relax(tile, fresh, length, line, tiling, pixels, queues, level):
        """Bring a tile's distances to rest, and wake the tiles that they improve.

        With `fresh` distances begin anew: 1 beside the sink, elsewhere |V|, and what is beyond the
        edge is not looked at. Long because the loops over directions share the pixel's place.
        Race: passes go on in place, and a warp may be ahead of others: what it reads has fallen
        already or not. Distances only fall; a tile rests when no thread's has since a barrier.
        """
        thread = cuda.threadIdx.x
        n, nodes, shift = tiling.n, tiling.nodes, tiling.shift
        residual, height = pixels.residual, pixels.height
        width, rows = 1 << shift, cuda.blockDim.x >> shift
        row, column = thread >> shift, thread & (width - 1)
        x, tile_column = pixel_of(tile, row, column, rows, width, tiling.columns)
        pitch = int64(tiling.columns) << shift
        arcs = int32(0)
        for d in range(directions):
            if residual[int64(d) * n + x] > 0:
                arcs |= int32(1 << d)
        start = int32(nodes)
        h = int32(nodes)
        if fresh:
            if pixels.to_sink[x] > 0:
                h = int32(1)
        else:
            start = load_relaxed(height, x)
            h = start
            for d in range(directions):
                beside = not inside(row + DOWN[d], column + RIGHT[d], rows, width)
                if beside and (arcs >> d) & 1:
                    y = x + DOWN[d] * pitch + RIGHT[d]
                    h = min(h, int32(load_relaxed(height, y) + 1))
        if cuda.syncthreads_or(int32(h < start)) != 0:
            level[thread] = h
            cuda.syncthreads()
            for _ in range(cuda.blockDim.x + 1):
                before = h
                for _ in range(PASSES):
                    low = h
                    for d in range(directions):
                        down, right = row + DOWN[d], column + RIGHT[d]
                        if (arcs >> d) & 1 and inside(down, right, rows, width):
                            low = min(low, int32(level[(down << shift) | right] + 1))
                    if low < h:
                        h = low
                        level[thread] = h
                    cuda.syncwarp()
                if cuda.syncthreads_or(int32(h < before)) == 0:
                    break
        if fresh or h < start:
            store_relaxed(height, x, h)
        if h < start:
            cuda.threadfence()
            for d in range(directions):
                down, right = row + DOWN[d], column + RIGHT[d]
                if not inside(down, right, rows, width):
                    y = x + DOWN[d] * pitch + RIGHT[d]
                    across = tile_column * width + right
                    if 0 <= y < n and 0 <= across < pitch:
                        open_arc = residual[int64(d ^ 1) * n + y] > 0
                        if open_arc and (fresh or load_relaxed(height, y) > h + 1):
                            wake(
                                tile_beside(tile, down, right, rows, width, tiling.columns),
                                length, line, tiling.tiles, queues,
                            )  # fmt: skip

    return relax
