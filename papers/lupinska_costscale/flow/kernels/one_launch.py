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
`inner` turns of two block barriers with 4 neighbours (`tile_discharge`), predicted at half the time
of the six that they had before. 128 registers a thread let two blocks of 8 x 32 pixels reside on a
multiprocessor, 264 in all, so barriers count as much as bytes.
A search begins with one visit of everything (24 bytes a pixel: 30 us of memory, as much again of
barriers) and goes on with few tiles at a time, a grid barrier (2 us) and a visit (3 to 5 us) each;
at a distance of 1000 that is some 60 steps, 0.4 ms. Most sweeps touch few tiles: two barriers and
two visits, 15 us; 8 of them after each search are then 0.1 ms. Some 50 rounds: 20 to 40 ms.

The arrays are those of `flow.kernels.tiles`; `tile_search` and `tile_discharge` have the two steps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, int32

from papers.common.gpu.memory_order import load_relaxed
from papers.lupinska_costscale.flow.kernels.arguments import Pixels, Queues, Tiling
from papers.lupinska_costscale.flow.kernels.lock_free import ELEMENT_TYPES as ELEMENT_TYPES
from papers.lupinska_costscale.flow.kernels.lock_free import report_block
from papers.lupinska_costscale.flow.kernels.tile_discharge import LINES, make_discharge
from papers.lupinska_costscale.flow.kernels.tile_search import make_relax
from papers.lupinska_costscale.flow.kernels.tiles import (
    DONE,
    GOING,
    MAX_TILE,
    RESTLESS,
    ROUNDS,
    SEARCH,
    STATUS,
    STEPS,
    SWEEP,
    VISITS,
    colors_of,
    make_color,
    pixel_of,
    take,
    wake,
)

WIDE, REGISTERS = 512, 128
"""The most threads of a block that have so many registers each; those of a larger block have half,
so that it starts (without a limit a thread takes 170)."""

LEVELS, MOVED = 2 * MAX_TILE, LINES * MAX_TILE
"""Words of shared memory for heights, in two lines, and for flow in transit."""


def make_relabel_tiles(directions, registers=REGISTERS):
    """Build the kernel for 4 or 8 neighbours and so many registers a thread."""
    colors = colors_of(directions)
    color_of = make_color(directions)
    relax, discharge = make_relax(directions), make_discharge(directions)

    def relabel_tiles(rounds, sweeps, inner, tiling, pixels, queues, tally):
        """At most `rounds` rounds of search and sweeps, until no pixel is active.

        Paper: none; instead of [LU11 Alg.4.6] on grids.  Launch: cooperative, a tile a block.
        Reads/Writes: everything of the module's table.
        Race: visits of one search meet at edges: a distance is read before or after it falls; in
        the second case whoever lowered it wakes the reader. Lengths of queues are read where they
        stand still: a queue grows only in phases before its own. Longer than a kernel's 60 lines
        because it is the whole loop.
        """
        grid = cuda.cg.this_grid()
        level = cuda.shared.array(LEVELS, int32)
        moved = cuda.shared.array(MOVED, pixels.residual.dtype)
        woken = cuda.shared.array(1, int32)
        thread = cuda.threadIdx.x
        tiles, shift, control = tiling.tiles, tiling.shift, queues.control
        width, tile_rows = 1 << shift, cuda.blockDim.x >> shift
        pushes, relabels = int32(0), int32(0)
        status, steps = int32(GOING), int32(0)
        for _ in range(rounds):
            for tile in range(cuda.grid(1), tiles, cuda.gridsize(1)):
                queues.waiting[tile] = 0
            if cuda.grid(1) == 0:
                for word in range(STATUS):
                    control[word] = 0
                control[ROUNDS] += 1
            grid.sync()
            for tile in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
                relax(int32(tile), True, SEARCH + 1, 1, tiling, pixels, queues, level)
            status = int32(RESTLESS)
            for step in range(1, tiling.n + 2):
                grid.sync()
                length = load_relaxed(control, SEARCH + step % 3)
                if length == 0:
                    status = int32(GOING)
                    break
                if cuda.grid(1) == 0:
                    control[SEARCH + (step + 2) % 3] = 0
                steps += 1
                for place in range(cuda.blockIdx.x, length, cuda.gridDim.x):
                    tile = take(step & 1, place, tiles, queues)
                    relax(
                        tile, False, SEARCH + (step + 1) % 3, (step + 1) & 1, tiling, pixels,
                        queues, level,
                    )  # fmt: skip
            if status == RESTLESS:
                break
            for tile in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
                x, _ = pixel_of(
                    tile, thread >> shift, thread & (width - 1), tile_rows, width, tiling.columns
                )  # fmt: skip
                active = pixels.excess[x] > 0 and load_relaxed(pixels.height, x) < tiling.nodes
                if cuda.syncthreads_or(int32(active)) != 0 and thread == 0:
                    hue = color_of(int32(tile), tiling.columns)
                    wake(int32(tile), SWEEP + hue, 2 + hue, tiles, queues)
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
                        tile = take(2 + 4 * parity + color, place, tiles, queues)
                        p, r = discharge(
                            tile, inner, int32(color), int32(parity), tiling, pixels, queues,
                            level, moved, woken,
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
    return cuda.jit(max_registers=registers)(relabel_tiles)


relabel_tiles_4 = make_relabel_tiles(4)
relabel_tiles_8 = make_relabel_tiles(8)


@cache
def relabel_tiles_for(directions: int, threads: int) -> Any:
    """The kernel for so many neighbours, with the registers that a block's threads may have."""
    if threads > WIDE:
        return make_relabel_tiles(directions, REGISTERS // 2)
    return {4: relabel_tiles_4, 8: relabel_tiles_8}[directions]


_TILES = ("int32", "int32", "int32", Tiling, Pixels, Queues, "int64[::1]")
SIGNATURES = {relabel_tiles_4: _TILES, relabel_tiles_8: _TILES}
"""The types that each kernel is compiled for."""
