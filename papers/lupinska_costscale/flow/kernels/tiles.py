"""Tiles of a grid: where their pixels lie, which tile is beside, and the queues they wait in.

A tile is a block's pixels, a thread each; its shape is ``blockDim.x >> shift`` rows of
``1 << shift`` columns. The step functions are built for 4 or 8 neighbours by `make_` functions:
the number of directions is then a constant, so that loops over them unroll.

==========  ==============  ====================================================================
name        array           dtype, shape
==========  ==============  ====================================================================
flow        as `flow.kernels.lock_free`, pixels row by row, padded to whole tiles
waiting     waiting         int32 [tiles]: 1 while a tile stands in a queue
queues      queue           int32 [10 * tiles]: two of the search, then by parity and colour
counters    control         int32 [`CONTROL`]
==========  ==============  ====================================================================

Kernels take them as a `Tiling`, the `Pixels` and the `Queues` of `flow.kernels.arguments`.
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_relaxed, store_relaxed

MAX_TILE = 1024
"""Threads a block at most; sizes the shared arrays."""

DOWN = (0, 0, 1, -1, 1, -1, 1, -1)
RIGHT = (1, -1, 0, 0, 1, -1, -1, 1)
"""Row and column step of each direction, in the order of `papers.common.problems.network.EIGHT`."""

SEARCH, SWEEP = 0, 3
"""Words of ``control``: lengths of the queues, three of the search in turn, 2 x 4 of the sweeps."""

QUEUES = 10
STATUS, ROUNDS, VISITS, STEPS = 11, 12, 13, 14
CONTROL = 15

GOING, DONE, RESTLESS = 0, 1, 2
"""Status: more rounds needed; no active pixel; a search that did not come to rest."""


@cuda.jit(device=True)
def inside(row, column, rows, width):
    """Whether a place is in the block's own tile."""
    return 0 <= row < rows and 0 <= column < width


@cuda.jit(device=True)
def tile_beside(tile, row, column, rows, width, tile_columns):
    """Return the tile of a place just outside the tile's edge, whether or not there is one."""
    beside = tile
    if row < 0:
        beside -= tile_columns
    elif row >= rows:
        beside += tile_columns
    if column < 0:
        beside -= 1
    elif column >= width:
        beside += 1
    return int32(beside)


@cuda.jit(device=True)
def pixel_of(tile, row, column, rows, width, tile_columns):
    """Index of a pixel of a tile, and the tile's column among tiles."""
    tile_row = int32(uint32(tile) // uint32(tile_columns))
    tile_column = int32(tile - tile_row * tile_columns)
    pitch = int64(tile_columns) * width
    x = (int64(tile_row) * rows + row) * pitch + int64(tile_column) * width + column
    return x, tile_column


@cuda.jit(device=True)
def wake(tile, length, line, tiles, queues):
    """Put a tile into queue number `line`, whose length is ``control[length]``, once.

    Race: a tile that waits already is not put again: it is looked at later, and what was stored
    before this call is seen then (`take` clears the mark, with a fence, before the tile is read).
    """
    waiting = queues.waiting
    if load_relaxed(waiting, tile) == 0 and cuda.atomic.exch(waiting, tile, int32(1)) == 0:
        place = cuda.atomic.add(queues.control, length, int32(1))
        store_relaxed(queues.queue, int64(line) * tiles + place, tile)


@cuda.jit(device=True)
def take(line, place, tiles, queues):
    """Return a tile of a queue, for the whole block, no longer marked as waiting."""
    tile = load_relaxed(queues.queue, int64(line) * tiles + place)
    if cuda.threadIdx.x == 0:
        store_relaxed(queues.waiting, tile, int32(0))
        cuda.threadfence()
    cuda.syncthreads()
    return tile


def colors_of(directions):
    """Return the number of colours: two tiles of one colour have no neighbouring pixels."""
    return 2 if directions == 4 else 4


def make_color(directions):
    """Build the function that colours tiles, for 4 or 8 neighbours of a pixel."""

    @cuda.jit(device=True)
    def color_of(tile, tile_columns):
        row = int32(uint32(tile) // uint32(tile_columns))
        column = int32(tile - row * tile_columns)
        if directions == 4:
            return int32((row + column) & 1)
        return int32((row & 1) * 2 + (column & 1))

    return color_of
