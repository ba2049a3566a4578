"""The launch of one cluster that ends what a grid has begun: phases, and the repair of floats.

A grid has the many costs of the start to read, and waits long for its blocks to meet; searches
of short sides have few costs to read, and meet at every level. So the grid makes the start and the
scales (`dense`), and this launch, enqueued behind it, all that follows.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64, uint16

from papers.synthesis.assignment.kernels import columns, dense, rounds, rows, search
from papers.synthesis.assignment.kernels.arguments import (
    CONCLUDED,
    CREW_THREADS,
    FRONT_CHUNK,
    MARKS,
    NUMBERS,
    Crew,
)
from papers.synthesis.assignment.kernels.cluster import boxes, levels, short, strips
from papers.synthesis.assignment.kernels.cluster.distributed import meet_in_cluster
from papers.synthesis.assignment.kernels.words import taken_over

HEADS, BOXES = 2 * boxes.GROUPS, 2 * CREW_THREADS
"""Places of heads, and of rows, in a box of two halves."""

SHARING_BITS = 3
"""Eight threads read the rows of a group at most: with more the loads take longer to issue, and
with fewer the rows take longer to read (`evidence/level_parts.csv`)."""

SUMS = 2 * NUMBERS
"""Words in which the heads of two levels meet."""


@cuda.jit(device=True)
def sharing_bits(m):
    """Threads that read the rows of a group, as a power of two: at most `SHARING_BITS`."""
    bits, groups = int32(0), int32((m + 31) >> boxes.GROUP_BITS)
    while bits < SHARING_BITS and int32(groups << int32(bits + 1)) <= int32(cuda.blockDim.x):
        bits = int32(bits + 1)
    return bits


def conclude_with(loads: int, floats: bool, strip: str = strips.NOWHERE) -> Any:
    """Make the kernel ``conclude``; `loads` and `floats` as for `dense.solve_with`.

    Parameters
    ----------
    strip : str
        Where searches read costs (`strips`).

    Returns
    -------
    numba.cuda dispatcher
    """
    brief = not floats and strip != strips.NOWHERE
    agree = short.agree if brief else search.agree_on_nothing
    match_and_repair = dense.repair_with(
        search.phases_with(levels.searches_with(loads, floats, strip), meet_in_cluster, agree),
        rounds.row_duals_with(rows.least_with(2 * loads, floats), 2 * loads),
        columns.least_with(2 * loads),
        meet_in_cluster,
        floats,
    )
    started = FRONT_CHUNK if floats else 1
    floors = strips.NARROW_ROWS if strip == strips.NARROW else 1
    narrow, fill_strip = strip == strips.NARROW, strips.fill_with(strip, floats)

    @cuda.jit
    def conclude(schedule, shape, matrix, duals, matching, lists, tree, front, log):
        """End an assignment problem that a grid has begun.

        Paper: none; as `papers.synthesis.assignment.reference`.
        Launch: one cluster, behind `dense`'s kernel; blocks of a power of two threads, two warps
        at least, and together no fewer threads than columns; dynamic shared memory of
        `strips.bytes_of`.
        Reads/Writes: reads ``cost``, writes everything else.
        Race: those of the stages; barriers of the cluster stand between them.
        """
        turn, delta, due = taken_over(log)
        if turn < 0:
            return  # the grid has ended the run
        blocks = int32(cuda.gridDim.x)
        bits = boxes.column_bits(shape.m, blocks)
        if narrow:  # noqa: SIM108 - the two have no type in common
            costs = cuda.shared.array(0, uint16)
        else:
            costs = cuda.shared.array(0, matrix.cost.dtype)
        crew = Crew(
            shape.n, shape.m, shape.square, shape.warps_a_row, shape.tile, shape.sample_step,
            shape.shift, int32(cuda.blockIdx.x), blocks, bits, sharing_bits(shape.m),
            cuda.shared.array(CREW_THREADS, duals.v.dtype), cuda.shared.array(CREW_THREADS, int32),
            cuda.shared.array(FRONT_CHUNK, int32), cuda.shared.array(FRONT_CHUNK, duals.v.dtype),
            cuda.shared.array(started, duals.v.dtype), cuda.shared.array(FRONT_CHUNK, int64),
            cuda.shared.array(SUMS, int32), cuda.shared.array(2, duals.v.dtype),
            cuda.shared.array(HEADS, int32), cuda.shared.array(HEADS, int32),
            cuda.shared.array(HEADS, int32), cuda.shared.array(HEADS, duals.v.dtype),
            cuda.shared.array(HEADS, duals.v.dtype),
            cuda.shared.array(BOXES, int32), cuda.shared.array(BOXES, duals.v.dtype),
            cuda.shared.array(MARKS, int32), int32(int32(1 << bits) + strips.PAD),
            costs, cuda.shared.array(floors, int32), cuda.shared.array(1, int32),
            cuda.shared.array(3, int32),
        )  # fmt: skip
        if cuda.threadIdx.x == 0:
            crew.widest[short.MINE], crew.widest[short.ALL] = 0, strips.TOO_WIDE
            crew.widest[short.SEEN] = 0
        filled, size = fill_strip(matrix.cost, crew)  # the first search is behind other barriers
        if cuda.threadIdx.x == 0:
            crew.in_strip[0] = int32(filled)
        if brief:
            cuda.syncthreads()
            short.note(size, crew, duals)
        status = match_and_repair(
            turn, delta, due, schedule, crew, matrix, duals, matching, lists, tree, front, log
        )
        dense.finish(status | CONCLUDED, log)
        meet_in_cluster()  # nobody leaves while another may read its memory

    return conclude
