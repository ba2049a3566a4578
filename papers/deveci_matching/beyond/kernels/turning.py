"""The other direction of a graph, made on the device from the one that its caller stores.

One launch checks the caller's arrays and turns them around: it counts the edges of all that lies
across, adds the counts up to where each part begins, and puts every edge into its part. Nothing is
stored by an index before all of them are checked.

======================  ===============  ========================================================
name                    array            dtype, shape
======================  ===============  ========================================================
as it is stored         indptr, indices  int32 [lines + 1], [edges]
turned around           begins, line_of  int32 [across + 1], [edges]
counts, then places     filled           int32 [across]
fault, sums of blocks   tally            int32 [`TALLY`]
======================  ===============  ========================================================
"""

from __future__ import annotations

from typing import NamedTuple

from numba import cuda, int32

from papers.common.gpu.kernels_scan import scan_share
from papers.common.gpu.memory_order import load_relaxed
from papers.common.gpu.reductions import block_scan
from papers.common.gpu.signatures import Int32, Int32s

MOST_BLOCKS = 1024
FAULT = 0
"""The word of ``tally`` that is 1 if an index lies outside or ``indptr`` decreases."""

SUMS = 1
TALLY = SUMS + MOST_BLOCKS


class Given(NamedTuple):
    """A graph by lines. ``indptr`` begins with 0 and ends with ``edges``; the rest is checked."""

    lines: Int32
    across: Int32
    edges: Int32
    indptr: Int32s
    indices: Int32s


class Turned(NamedTuple):
    """The same edges by what lies across: ``line_of[begins[k] : begins[k + 1]]``."""

    begins: Int32s
    line_of: Int32s


@cuda.jit(device=True)
def check_and_count(given, filled, tally):
    """Count the edges of each place across; note a fault."""
    for at in range(cuda.grid(1), given.edges, cuda.gridsize(1)):
        other = given.indices[at]
        if 0 <= other < given.across:
            cuda.atomic.add(filled, other, 1)
        else:
            cuda.atomic.max(tally, FAULT, 1)
    for line in range(cuda.grid(1), given.lines, cuda.gridsize(1)):
        if given.indptr[line + 1] < given.indptr[line]:
            cuda.atomic.max(tally, FAULT, 1)


@cuda.jit(device=True)
def sum_of(first, last, values, totals):
    """Add entries up, a block together; each of its threads gets the sum."""
    own = int32(0)
    for k in range(first + cuda.threadIdx.x, last, cuda.blockDim.x):
        own = int32(own + values[k])
    return block_scan(own, totals)[1]


@cuda.jit(device=True)
def line_with(edge, lines, indptr):
    """Return the line of an edge, by bisection: the last one that begins no later.

    Lines without edges begin where the next one does, so the last is never one of them. The threads
    of a warp have neighbouring edges and read the same words of ``indptr`` but for the last few.
    """
    low, high = int32(0), lines
    while high - low > 1:
        middle = int32(low + (high - low) // 2)
        if indptr[middle] <= edge:
            low = middle
        else:
            high = middle
    return low


@cuda.jit(device=True)
def scatter(given, line_of, filled):
    """Put every edge into the next free place of its part.

    A thread takes an edge and not a line, so that a long line is no thread's alone.
    """
    for at in range(cuda.grid(1), given.edges, cuda.gridsize(1)):
        place = cuda.atomic.add(filled, given.indices[at], 1)
        line_of[place] = line_with(int32(at), given.lines, given.indptr)


@cuda.jit
def turn(given, turned, filled, tally):
    """Check a graph by lines, and turn it around.

    Paper: none; see the module.
    Launch: cooperative; whole warps, at most `MOST_BLOCKS` blocks.
    Reads/Writes: reads ``given``, writes everything else; after a fault only ``filled`` and
    ``tally``, and ``tally[FAULT]`` is 1.
    Race: edges of one part race for its places, so their order within it is another one each time.
    Any is right: a search may try the edges of a vertex in any order, and its claims are atomics,
    whatever the order. `greedy` lets columns ask in the order of their edges, and for every such
    order it ends with a matching that leaves no edge with two free ends.
    """
    grid, totals = cuda.cg.this_grid(), cuda.shared.array(32, int32)
    for other in range(cuda.grid(1), given.across, cuda.gridsize(1)):
        filled[other] = 0
    if cuda.grid(1) == 0:
        tally[FAULT] = 0
    grid.sync()
    check_and_count(given, filled, tally)
    grid.sync()
    if load_relaxed(tally, FAULT) != 0:
        return  # all threads do: no index has been used
    block, blocks = int32(cuda.blockIdx.x), int32(cuda.gridDim.x)
    share = given.across // blocks + 1
    first = min(block * share, given.across)
    last = min(first + share, given.across)
    total = sum_of(first, last, filled, totals)
    if cuda.threadIdx.x == 0:
        tally[SUMS + block] = total
    grid.sync()
    before = sum_of(SUMS, SUMS + block, tally, totals)
    scan_share(first, last, before, filled, filled, totals)
    cuda.syncthreads()
    for other in range(first + cuda.threadIdx.x, last, cuda.blockDim.x):
        turned.begins[other] = filled[other]
    if cuda.grid(1) == 0:
        turned.begins[given.across] = given.edges
    grid.sync()
    scatter(given, turned.line_of, filled)


SIGNATURES = {turn: (Given, Turned, "int32[::1]", "int32[::1]")}
"""The types that the kernel is compiled for."""
