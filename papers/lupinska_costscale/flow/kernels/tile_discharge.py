"""The sweep of a round: a tile's pixels push and are lifted in step; see `one_launch`."""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.lupinska_costscale.flow.kernels.tiles import (
    DOWN,
    MAX_TILE,
    RIGHT,
    SWEEP,
    inside,
    make_colors,
    pixel_of,
    tile_beside,
    wake,
)


def make_discharge(directions):
    """Build `discharge` for 4 or 8 neighbours."""
    _, color_beside = make_colors(directions)

    @cuda.jit(device=True)
    def discharge(
        tile, inner, color, parity, n, nodes, tile_columns, tiles, shift, residual, to_sink,
        excess, height, waiting, queue, control, level, moved,
    ):  # fmt: skip
        """Push and lift a tile's pixels, at most `inner` times; return (pushes, relabels).

        Direction after direction, a pixel pushes to the one neighbour there and takes from the one
        opposite. Flow in transit is double-buffered in `moved`, so one barrier per direction is
        enough. Beyond the edge no tile works: heights stand, and only other tiles of this colour
        may add to the excess there too. Long because a pixel's state is in registers throughout.
        """
        thread = cuda.threadIdx.x
        width, rows = 1 << shift, cuda.blockDim.x >> shift
        row, column = thread >> shift, thread & (width - 1)
        x, _ = pixel_of(tile, row, column, rows, width, tile_columns)
        pitch = int64(tile_columns) << shift
        left = cuda.local.array(directions, residual.dtype)
        for d in range(directions):
            left[d] = residual[int64(d) * n + x]
        sink = int64(to_sink[x])
        amount = excess[x]
        h = height[x]
        level[thread] = h
        pushes, relabels = int32(0), int32(0)
        for _ in range(inner):
            if cuda.syncthreads_or(int32(amount > 0 and h < nodes)) == 0:
                break
            if amount > 0 and sink > 0:  # then h = 1
                sent = min(amount, sink)
                amount -= sent
                sink -= sent
                pushes += 1
            for d in range(directions):
                down, right = row + DOWN[d], column + RIGHT[d]
                within = inside(down, right, rows, width)
                line = MAX_TILE * (d & 1)
                sent = int64(0)
                if amount > 0 and h < nodes and left[d] > 0:
                    y = int64(0)
                    if within:
                        other = level[(down << shift) | right]
                    else:
                        y = x + DOWN[d] * pitch + RIGHT[d]
                        other = height[y]
                    if h == other + 1:
                        sent = min(amount, int64(left[d]))
                        amount -= sent
                        left[d] -= sent
                        pushes += 1
                        if not within:
                            residual[int64(d ^ 1) * n + y] += sent
                            cuda.atomic.add(excess, y, sent)
                            beside = tile_beside(tile, down, right, rows, width, tile_columns)
                            hue = color_beside(color, down, right, rows, width)
                            turn = parity if hue > color else parity ^ 1
                            wake(
                                beside, SWEEP + 4 * turn + hue, 2 + 4 * turn + hue, tiles,
                                waiting, queue, control,
                            )  # fmt: skip
                            sent = int64(0)
                moved[line + thread] = sent
                cuda.syncthreads()
                back, before = row - DOWN[d], column - RIGHT[d]
                if inside(back, before, rows, width):
                    taken = moved[line + ((back << shift) | before)]
                    amount += taken
                    left[d ^ 1] += taken
            if amount > 0 and sink == 0 and h < nodes:
                low = int32(nodes)
                for d in range(directions):
                    if left[d] > 0:
                        down, right = row + DOWN[d], column + RIGHT[d]
                        if inside(down, right, rows, width):
                            low = min(low, level[(down << shift) | right])
                        else:
                            y = x + DOWN[d] * pitch + RIGHT[d]
                            low = min(low, height[y])
                if low >= h:
                    h = min(int32(low + 1), int32(nodes))
                    relabels += 1
            cuda.syncthreads()
            level[thread] = h
        for d in range(directions):
            residual[int64(d) * n + x] = left[d]
        to_sink[x] = sink
        excess[x] = amount
        height[x] = h
        if cuda.syncthreads_or(int32(amount > 0 and h < nodes)) != 0 and thread == 0:
            turn = parity ^ 1
            wake(
                tile, SWEEP + 4 * turn + color, 2 + 4 * turn + color, tiles, waiting, queue,
                control,
            )  # fmt: skip
        return pushes, relabels

    return discharge
