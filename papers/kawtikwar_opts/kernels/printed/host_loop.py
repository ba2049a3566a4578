"""Step 6 of the baseline, of Opt 0 and of Opt 1 as printed: an entry a thread.

All other kernels of these versions are those of Lopes's release, `papers.lopes2019.kernels.printed`
among them. The notation is that of `papers.kawtikwar_opts.kernels.baseline`.
"""

from __future__ import annotations

from numba import cuda

from papers.kawtikwar_opts.kernels.arguments import Duals
from papers.kawtikwar_opts.kernels.entries import update_duals
from papers.kawtikwar_opts.kernels.near_zero import near_zero
from papers.kawtikwar_opts.kernels.printed.listings import add_sub, add_sub_compress, collect
from papers.lopes2019.kernels.arguments import Covers, Order, Zeros

NOT, EACH, BY_WARP = 0, 1, 2
"""Choices of `compress_matrix`: no count of all zeros (Opt 0), an addition a zero, one a warp."""


@cuda.jit
def step_6_add_sub(n, slack, covers, minimum, zeros_size, zeros_size_b, duals):
    """Add the minimum where both lines are covered, subtract it where neither is; clear the sizes.

    Paper: [K21 Listing 2]; the clearing is the release's.  Launch: one thread an entry.
    Reads/Writes: reads the covers, reads and writes the slacks that change; moves the duals; writes
    both sizes.
    """
    i = cuda.grid(1)
    least = minimum[0]
    if i == 0:
        zeros_size[0] = 0
    if i < zeros_size_b.size:
        zeros_size_b[i] = 0
    update_duals(n, least, covers, duals)
    if i < n * n:
        add_sub(i, n, slack, covers, least)


@cuda.jit
def compress_matrix(order, eps, slack, zeros, zeros_size, count):
    """Collect the positions of all zeros of the slack matrix in bins, and count them as asked.

    Paper: [K21 Listing 1].  ``count``: `NOT`, `EACH` or `BY_WARP`.  Launch: one thread an entry,
    whole warps.
    Reads/Writes: reads ``slack`` once; appends to ``zeros``; counts all zeros and each bin's, which
    must be 0 at the start.
    Race: the atomics decide the order inside a bin, which the algorithm leaves open.
    """
    i = cuda.grid(1)
    found = i < order.n * order.n and near_zero(slack[i], eps)
    if count == BY_WARP:
        lanes = cuda.ballot_sync(0xFFFFFFFF, found)
        if cuda.laneid == 0 and lanes != 0:
            cuda.atomic.add(zeros_size, 0, cuda.popc(lanes))
    if found:
        if count == EACH:
            cuda.atomic.add(zeros_size, 0, 1)
        collect(i, order, zeros)


@cuda.jit
def add_sub_compress_matrix(order, eps, slack, covers, minimum, zeros, duals):
    """Step 6's additions and subtractions, and the compression, in one pass.

    Paper: [K21 Listing 3].  Launch: one thread an entry.
    Reads/Writes: reads all slacks, and those of the test again; writes those that change; moves the
    duals; appends to ``zeros``; its sizes must be 0 at the start.
    Race: as `compress_matrix`; a thread tests the entry that it wrote itself.
    """
    i = cuda.grid(1)
    least = minimum[0]
    update_duals(order.n, least, covers, duals)
    if i < order.n * order.n:
        add_sub_compress(i, order, eps, slack, covers, least, zeros)


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
SIGNATURES = {
    step_6_add_sub: ("int32", "T[::1]", Covers, "T[::1]", _LINES, _LINES, Duals),
    compress_matrix: (Order, "T", "T[::1]", Zeros, _LINES, "int32"),
    add_sub_compress_matrix: (Order, "T", "T[::1]", Covers, "T[::1]", Zeros, Duals),
}
"""As in `kernels.baseline`."""
