"""Push-relabel on grids in one cooperative launch, its global relabeling a search on the GPU.

Past the paper: [LU11 sec.4.5] leaves the global relabeling to the host, to which residual
capacities, heights and excesses travel after every kernel run. Here nothing travels.

A tile is a block's pixels, a thread each, in registers and shared memory. A round is

1. **search**: distances to the sink. Tiles that can still improve stand in a queue; a visit relaxes
   a tile until it rests, whatever that takes, and wakes those beyond its edges that it improves.
   A distance of 1000 costs about 1000 / 32 grid barriers, not 1000. Distances only fall, so the
   order of visits does not matter: at rest they are those of [LU11 Alg.4.4]; pixels that are not
   reached keep the source's height, which is the gap relabeling of [LU11 sec.4.6];
2. **sweeps**: tiles with active pixels, colour after colour, so that a tile's neighbours rest while
   it works: 2 colours where pixels have 4 neighbours, 4 where they have 8. A visit pushes and lifts
   `inner` times, all pixels in step. What crosses the edge is added to the neighbour's memory.

Heights are a distance function throughout: pixels are lifted in step, from heights that only grow
afterwards, and no neighbour moves meanwhile. So no arc is ever violated, heights never fall from
one search to the next, and no residual capacity needs an atomic. e(t) is not kept: it is what
``to_sink`` has lost.

**Prediction** (H100, not measured when written). A pixel is 4 bytes each of height, sink and every
direction, and 8 of excess: 32 with 4 neighbours. A sweep over everything moves twice that: for
2048 x 2048 pixels 270 MB, 80 us at 3.3 TB/s. A visit has two such trips to memory, 1 us each, and
`inner` turns of six block barriers, about 0.3 us a turn. 64 registers a thread let two blocks of
16 x 32 pixels reside on a multiprocessor, 264 in all; of 4096 tiles of a colour each gets 16 in
sequence, 4 us each at 8 turns: 130 us for all of both colours, so barriers count as much as bytes.
A search begins with one visit of everything (24 bytes a pixel: 30 us of memory, as much again of
barriers) and goes on with few tiles at a time, a grid barrier (2 us) and a visit (3 to 5 us) each;
at a distance of 1000 that is some 60 steps, 0.4 ms. Most sweeps touch few tiles: two barriers and
two visits, 15 us; 8 of them after each search are then 0.1 ms. Some 50 rounds: 20 to 40 ms.

==========  ==============  ====================================================================
name        array           dtype, shape
==========  ==============  ====================================================================
flow        as `flow.kernels.lock_free`, pixels row by row, padded to whole tiles
waiting     waiting         int32 [tiles]: 1 while a tile stands in a queue
queues      queue           int32 [10 * tiles]: two of the search, then by parity and colour
counters    control         int32 [`CONTROL`]
==========  ==============  ====================================================================
"""

from __future__ import annotations

from numba import cuda, int32, int64, uint32

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.lupinska_costscale.flow.kernels.lock_free import report_block

MAX_TILE = 1024
"""Threads a block at most; sizes the shared arrays."""

REGISTERS = 64
"""A thread's, at most: of 1024 threads to a multiprocessor (without a limit it takes 170)."""

MOVED = 2 * MAX_TILE

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
def wake(tile, length, line, tiles, waiting, queue, control):
    """Put a tile into queue number `line`, whose length is ``control[length]``, once.

    Race: a tile that waits already is not put again: it is looked at later, and what was stored
    before this call is seen then (`take` clears the mark, with a fence, before the tile is read).
    """
    if load_relaxed(waiting, tile) == 0 and cuda.atomic.exch(waiting, tile, int32(1)) == 0:
        place = cuda.atomic.add(control, length, int32(1))
        store_relaxed(queue, int64(line) * tiles + place, tile)


@cuda.jit(device=True)
def take(line, place, tiles, waiting, queue):
    """Return a tile of a queue, for the whole block, no longer marked as waiting."""
    tile = load_relaxed(queue, int64(line) * tiles + place)
    if cuda.threadIdx.x == 0:
        store_relaxed(waiting, tile, int32(0))
        cuda.threadfence()
    cuda.syncthreads()
    return tile


# ---------------------------------------------------------------------------------- both steps


def make(directions):
    """Build the kernel for 4 or 8 neighbours: their number is a constant, so loops unroll."""
    colors = 2 if directions == 4 else 4

    @cuda.jit(device=True)
    def color_of(tile, tile_columns):
        row = int32(uint32(tile) // uint32(tile_columns))
        column = int32(tile - row * tile_columns)
        if directions == 4:
            return int32((row + column) & 1)
        return int32((row & 1) * 2 + (column & 1))

    @cuda.jit(device=True)
    def color_beside(color, row, column, rows, width):
        """Colour of the tile of a place just outside a tile of this colour."""
        if directions == 4:
            return int32(color ^ 1)
        if not 0 <= row < rows:
            color ^= 2
        if not 0 <= column < width:
            color ^= 1
        return int32(color)

    @cuda.jit(device=True)
    def relax(
        tile, fresh, length, line, n, nodes, tile_columns, tiles, shift, residual, to_sink, height,
        waiting, queue, control, level,
    ):  # fmt: skip
        """Bring a tile's distances to rest, and wake the tiles that they improve.

        With `fresh` distances begin anew: 1 beside the sink, elsewhere |V|, and what is beyond the
        edge is not looked at. Long because the loops over directions share the pixel's place.
        """
        thread = cuda.threadIdx.x
        width, rows = 1 << shift, cuda.blockDim.x >> shift
        row, column = thread >> shift, thread & (width - 1)
        x, tile_column = pixel_of(tile, row, column, rows, width, tile_columns)
        pitch = int64(tile_columns) << shift
        arcs = int32(0)
        for d in range(directions):
            if residual[int64(d) * n + x] > 0:
                arcs |= int32(1 << d)
        start = int32(nodes)
        h = int32(nodes)
        if fresh:
            if to_sink[x] > 0:
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
            for _ in range(cuda.blockDim.x + 1):
                level[thread] = h
                cuda.syncthreads()
                low = h
                for d in range(directions):
                    down, right = row + DOWN[d], column + RIGHT[d]
                    if (arcs >> d) & 1 and inside(down, right, rows, width):
                        low = min(low, int32(level[(down << shift) | right] + 1))
                changed = low < h
                h = low
                if cuda.syncthreads_or(int32(changed)) == 0:
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
                                tile_beside(tile, down, right, rows, width, tile_columns),
                                length, line, tiles, waiting, queue, control,
                            )  # fmt: skip

    @cuda.jit(device=True)
    def discharge(
        tile, inner, color, parity, n, nodes, tile_columns, tiles, shift, residual, to_sink,
        excess, height, waiting, queue, control, level, moved,
    ):  # fmt: skip
        """Push and lift a tile's pixels, at most `inner` times; return (pushes, relabels).

        Direction after direction, a pixel pushes to the one neighbour there and takes from the one
        opposite: what is on its way lies in `moved`, two lines in turn, so a barrier a direction
        does. Beyond the edge nobody works: heights stand, and only other tiles of this colour may
        add to the excess there too. Long because a pixel's state is in registers throughout.
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

    def relabel_tiles(
        rounds, sweeps, inner, n, nodes, tile_columns, tiles, shift, residual, to_sink, excess,
        height, waiting, queue, control, tally,
    ):  # fmt: skip
        """At most `rounds` rounds of search and sweeps, until no pixel is active.

        Paper: none; instead of [LU11 Alg.4.6] on grids.  Launch: cooperative, a tile a block.
        Reads/Writes: everything of the module's table.
        Race: visits of one search meet at edges: a distance is read before or after it falls; in
        the second case whoever lowered it wakes the reader. Lengths of queues are read where they
        stand still: a queue grows only in phases before its own. Longer than a kernel's 60 lines
        because it is the whole loop.
        """
        grid = cuda.cg.this_grid()
        level = cuda.shared.array(MAX_TILE, int32)
        moved = cuda.shared.array(MOVED, int64)
        thread = cuda.threadIdx.x
        width, tile_rows = 1 << shift, cuda.blockDim.x >> shift
        pushes, relabels = int32(0), int32(0)
        status, steps = int32(GOING), int32(0)
        for _ in range(rounds):
            for tile in range(cuda.grid(1), tiles, cuda.gridsize(1)):
                waiting[tile] = 0
            if cuda.grid(1) == 0:
                for word in range(STATUS):
                    control[word] = 0
                control[ROUNDS] += 1
            grid.sync()
            for tile in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
                relax(
                    int32(tile), True, SEARCH + 1, 1, n, nodes, tile_columns, tiles, shift,
                    residual, to_sink, height, waiting, queue, control, level,
                )  # fmt: skip
            status = int32(RESTLESS)
            for step in range(1, n + 2):
                grid.sync()
                length = load_relaxed(control, SEARCH + step % 3)
                if length == 0:
                    status = int32(GOING)
                    break
                if cuda.grid(1) == 0:
                    control[SEARCH + (step + 2) % 3] = 0
                steps += 1
                for place in range(cuda.blockIdx.x, length, cuda.gridDim.x):
                    tile = take(step & 1, place, tiles, waiting, queue)
                    relax(
                        tile, False, SEARCH + (step + 1) % 3, (step + 1) & 1, n, nodes,
                        tile_columns, tiles, shift, residual, to_sink, height, waiting, queue,
                        control, level,
                    )  # fmt: skip
            if status == RESTLESS:
                break
            for tile in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
                x, _ = pixel_of(
                    tile, thread >> shift, thread & (width - 1), tile_rows, width, tile_columns
                )  # fmt: skip
                active = excess[x] > 0 and load_relaxed(height, x) < nodes
                if cuda.syncthreads_or(int32(active)) != 0 and thread == 0:
                    hue = color_of(int32(tile), tile_columns)
                    wake(int32(tile), SWEEP + hue, 2 + hue, tiles, waiting, queue, control)
            grid.sync()
            for sweep in range(sweeps):
                parity = sweep & 1
                work = int32(0)
                for color in range(colors):
                    work += load_relaxed(control, SWEEP + 4 * parity + color)
                if work == 0:
                    if sweep == 0:
                        status = int32(DONE)
                    break
                for color in range(colors):
                    length = load_relaxed(control, SWEEP + 4 * parity + color)
                    if cuda.grid(1) == 0:
                        last = 4 * parity + color - 1
                        if color == 0:
                            last = 4 * (parity ^ 1) + colors - 1
                        control[SWEEP + last] = 0
                        control[VISITS] += length
                    for place in range(cuda.blockIdx.x, length, cuda.gridDim.x):
                        tile = take(2 + 4 * parity + color, place, tiles, waiting, queue)
                        p, r = discharge(
                            tile, inner, int32(color), int32(parity), n, nodes, tile_columns,
                            tiles, shift, residual, to_sink, excess, height, waiting, queue,
                            control, level, moved,
                        )  # fmt: skip
                        pushes += p
                        relabels += r
                    grid.sync()
            if status == DONE:
                break
            grid.sync()
        if cuda.grid(1) == 0:
            control[STATUS] = status
            control[STEPS] += steps
        report_block(pushes, relabels, level, tally)

    relabel_tiles.__name__ = relabel_tiles.__qualname__ = f"relabel_tiles_{directions}"
    return cuda.jit(max_registers=REGISTERS)(relabel_tiles)


relabel_tiles_4 = make(4)
relabel_tiles_8 = make(8)
RELABEL_TILES = {4: relabel_tiles_4, 8: relabel_tiles_8}
"""The kernel by the number of a pixel's neighbours."""

# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64")

_TILES = (
    "void(" + "int32, " * 8 + "T[::1], T[::1], int64[::1]" + ", int32[::1]" * 4 + ", int64[::1])"
)
SIGNATURES = {relabel_tiles_4: _TILES, relabel_tiles_8: _TILES}
"""What each kernel is compiled for."""
