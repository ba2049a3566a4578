"""Vineet and Narayanan's push and relabel phases on grids [LU11 sec.4.3].

The paper's eight arrays: heights (in shared memory while a phase works), excesses, relabel masks,
residual capacities upwards, downwards, to the left, to the right (here one array, direction by
direction, as in `flow.kernels.lock_free`; with diagonals four more) and towards the sink.

=============  ==========  =======================================================================
paper          array       dtype, shape
=============  ==========  =======================================================================
relabel mask   mask        int32 [n]: `PASSIVE`, `ACTIVE`, `INACTIVE`
(non-atomic)   sent        T [arcs]: what each arc carries from a push phase to its pull phase
others         as in `flow.kernels.lock_free`; pixels row by row, padded to whole tiles
=============  ==========  =======================================================================
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.lupinska_costscale.flow.kernels.lock_free import ELEMENT_TYPES as ELEMENT_TYPES
from papers.lupinska_costscale.flow.kernels.lock_free import report_block
from papers.lupinska_costscale.flow.kernels.tiles import DOWN, MAX_TILE, RIGHT, inside, pixel_of

PASSIVE, ACTIVE, INACTIVE = 0, 1, 2
"""Relabel masks: excess but no lower neighbour; both; no excess (or none that can still go)."""


@cuda.jit(device=True)
def height_beside(x, row, column, d, rows, width, pitch, level, height):
    """Height of the neighbour in direction d: of the tile in shared memory, else of the grid."""
    down, right = row + DOWN[d], column + RIGHT[d]
    if inside(down, right, rows, width):
        return int32(level[down * width + right])
    return int32(load_relaxed(height, x + DOWN[d] * pitch + RIGHT[d]))


@cuda.jit
def push_phase(
    pull, n, tile_columns, shift, offset, residual, to_sink, excess, height, mask, sent, tally
):  # fmt: skip
    """PUSH: every active pixel pushes to its neighbours that are one lower.

    Paper: [LU11 sec.4.3].  Launch: a tile a block, a pixel a thread; the author's is 32 x 8.
    Reads/Writes: heights and masks; lowers own excess and residual capacities. Without `pull` it
    adds to the neighbours' at once, by atomics; with it they are left in ``sent``.
    Race: heights stand still, so of an arc and its mate only one carries flow; a pixel's own excess
    and capacities are lowered by its thread alone, others only add: what was read is there.
    """
    level = cuda.shared.array(MAX_TILE, int32)
    counts = cuda.shared.array(2, int32)
    thread = cuda.threadIdx.x
    width, rows = 1 << shift, cuda.blockDim.x >> shift
    row, column = thread >> shift, thread & (width - 1)
    x, _ = pixel_of(int32(cuda.blockIdx.x), row, column, rows, width, tile_columns)
    pitch = int64(tile_columns) << shift
    mine = height[x]
    level[thread] = mine
    cuda.syncthreads()
    pushes = int32(0)
    start = load_relaxed(excess, x)
    amount = start
    pushing = mask[x] == ACTIVE and amount > 0
    if pushing and mine == 1 and to_sink[x] > 0:
        flow = min(amount, int64(to_sink[x]))
        to_sink[x] -= flow
        amount -= flow
        pushes += 1
    for d in range(offset.size):
        arc = int64(d) * n + x
        flow = int64(0)
        left = int64(load_relaxed(residual, arc)) if pushing and amount > 0 else int64(0)
        if left > 0 and mine == 1 + height_beside(
            x, row, column, d, rows, width, pitch, level, height
        ):
            flow = min(amount, left)
            amount -= flow
            pushes += 1
        if pull:
            sent[arc] = flow
            if flow > 0:
                residual[arc] -= flow
        elif flow > 0:
            end = x + offset[d]
            cuda.atomic.sub(residual, arc, flow)
            cuda.atomic.add(residual, int64(d ^ 1) * n + end, flow)
            cuda.atomic.add(excess, end, flow)
    if amount < start:
        cuda.atomic.sub(excess, x, start - amount)
    report_block(pushes, int32(0), counts, tally)


@cuda.jit
def pull_phase(n, height_of_grid, width_of_grid, offset, residual, excess, sent):
    """PULL, of the non-atomic version: every pixel takes what its neighbours have sent it.

    Paper: [LU11 sec.4.3].  Launch: a thread a pixel.
    Reads/Writes: reads ``sent`` of the neighbours; raises own excess and residual capacities. No
    race: each is written by its own thread, and no thread writes ``sent``.
    """
    x = cuda.grid(1)
    if x >= n:
        return
    row = x // width_of_grid
    column = x - row * width_of_grid
    taken = int64(0)
    for d in range(offset.size):
        if inside(row + DOWN[d], column + RIGHT[d], height_of_grid, width_of_grid):
            flow = sent[int64(d ^ 1) * n + x + offset[d]]
            if flow > 0:
                residual[int64(d) * n + x] += flow
                taken += flow
    if taken > 0:
        excess[x] += taken


@cuda.jit
def relabel_phase(
    n, nodes, tile_columns, shift, offset, residual, to_sink, excess, height, mask, tally
):  # fmt: skip
    """RELABEL: set the masks anew, lift the passive pixels just above their lowest neighbour.

    Paper: [LU11 sec.4.3]. It says that an inactive pixel is so for ever; it is until flow comes to
    it, so masks are set anew each time. Pixels as high as the source are inactive.
    Launch: as `push_phase`.  Reads/Writes: reads excess and residual capacities; writes masks and
    own heights.
    Race: heights beyond the tile are read before or after they are lifted; both are at least what a
    distance function allows, since heights only grow.
    """
    level = cuda.shared.array(MAX_TILE, int32)
    counts = cuda.shared.array(2, int32)
    thread = cuda.threadIdx.x
    width, rows = 1 << shift, cuda.blockDim.x >> shift
    row, column = thread >> shift, thread & (width - 1)
    x, _ = pixel_of(int32(cuda.blockIdx.x), row, column, rows, width, tile_columns)
    pitch = int64(tile_columns) << shift
    mine = height[x]
    level[thread] = mine
    cuda.syncthreads()
    state = int32(INACTIVE)
    if excess[x] > 0 and mine < nodes:
        low = int32(nodes)
        if to_sink[x] > 0:
            low = int32(0)
        for d in range(offset.size):
            if residual[int64(d) * n + x] > 0:
                low = min(low, height_beside(x, row, column, d, rows, width, pitch, level, height))
        state = int32(ACTIVE)
        if low >= mine:
            state = int32(PASSIVE)
            store_relaxed(height, x, min(int32(low + 1), int32(nodes)))
    mask[x] = state
    report_block(int32(0), int32(state == PASSIVE), counts, tally)


_FLOW = "int64[::1], T[::1], T[::1], int64[::1], int32[::1], int32[::1]"
SIGNATURES = {
    push_phase: f"void(int32, int32, int32, int32, {_FLOW}, T[::1], int64[::1])",
    pull_phase: "void(int32, int32, int32, int64[::1], T[::1], int64[::1], T[::1])",
    relabel_phase: f"void(int32, int32, int32, int32, {_FLOW}, int64[::1])",
}
"""The types that each kernel is compiled for."""
