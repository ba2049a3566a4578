"""The whole solve in one cooperative launch [K21 Opt 2] [K21 sec.IV.C]; `opt2` to `opt4` share it.

The three versions differ in one device function, `add_sub_compress_matrix`, which stands in their
modules; `hungarian_with` makes a version's kernel from it. Steps 1 and 6, which pass over the
matrix, are everybody's work, steps 2 to 5 (`search`) that of block 0, or of a block a bin.

Barriers of the grid: 3 for step 1; a dual update 3 (the word that it is needed, the minimum, the
zeros), with several bins 2 and one for every run of step 4; an augmentation none, with several
bins one and one for every run of step 4.

With a limit of time the host has to look at the clock in between: `begin` once, then a version's
``go_on`` (`go_on_with`), again and again, do the same in shares. Not in the report. A share is at
most `SHARE` dual updates; before each of them at most `SHARE` augmentations, and for each of these
at most `SHARE` runs of step 4. Between two shares covers, primes, stars and slacks stay in device
memory as they are, and the counts in ``flags``: a share that begins in the middle of a search goes
on with it.

The notation of `opt2` to `opt4` and of this module is that of `papers.lopes2019.kernels.search`,
but for

==================  ====================  =====================================================
report              array                 dtype, shape
==================  ====================  =====================================================
zeros_size_b        zeros.sizes           int32 [bins], zeros of each bin (lopes2019: zeros_size)
data_block_size     lines * n             int32, a bin's entries; bins of `lines` columns
d_min_in_mat        least                 as slack, a scalar
near_zero           eps                   as slack; see `near_zero`
==================  ====================  =====================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed, store_release_system
from papers.common.gpu.reductions import warp_min
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.kawtikwar_opts.kernels.arguments import (
    DRY,
    MATCHES,
    SEARCHES,
    SIGNALS,
    STATUS,
    UPDATES,
    Duals,
    Log,
    Matrix,
    Search,
    Shape,
)
from papers.kawtikwar_opts.kernels.clock import mark
from papers.kawtikwar_opts.kernels.entries import UNROLL, advance, place
from papers.kawtikwar_opts.kernels.search import search_until_dry, steps_2_and_3
from papers.kawtikwar_opts.kernels.step_1 import step_1

# ---------------------------------------------------------------------------------- step 6


@cuda.jit(device=True)
def step_6_reduction(n, matrix, covers, sizes):
    """Each block's minimum of the uncovered slacks [K21 app. step 6]; clears the bins' sizes.

    As [L19 Alg.5], in the tiles of `entries`, with shuffles instead of halvings.
    """
    slack, top = matrix.slack, matrix.top
    shared = cuda.shared.array(32, slack.dtype)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    stride = UNROLL * width * cuda.gridDim.x
    # The last call's reads of `shared` lie behind a barrier of the grid already; a race checker
    # that knows barriers of a block only wants this one, where a block has no tile.
    cuda.syncthreads()
    for b in range(cuda.grid(1), sizes.size, cuda.gridsize(1)):
        sizes[b] = 0
    first = int64(UNROLL * width * cuda.blockIdx.x)
    row, column = place(first + thread, n)
    rows, columns = place(width, n)
    tile_rows, tile_columns = place(stride, n)
    least = top
    while first < n * n:
        value = cuda.local.array(UNROLL, slack.dtype)
        r, c = row, column
        for k in range(UNROLL):
            i = first + k * width + thread
            value[k] = top
            if i < n * n and covers.column[c] == 0 and covers.row[r] == 0:
                value[k] = slack[i]
            r, c = advance(r, c, rows, columns, n)
        for k in range(UNROLL):
            least = min(least, value[k])
        row, column = advance(row, column, tile_rows, tile_columns, n)
        first += stride
    least = warp_min(least)
    if thread & 31 == 0:
        shared[thread >> 5] = least
    cuda.syncthreads()
    if thread < 32:
        least = top
        if thread < width >> 5:
            least = shared[thread]
        least = warp_min(least)
        if thread == 0:
            matrix.partial[cuda.blockIdx.x] = least


@cuda.jit(device=True)
def least_of(partial, top):
    """Minimum of the blocks' minima: every warp finds it by itself, no barrier is needed."""
    least = top
    for b in range(cuda.threadIdx.x & 31, cuda.gridDim.x, 32):
        least = min(least, partial[b])
    return warp_min(least)


@cuda.jit(device=True)
def least_uncovered(order, matrix, covers, sizes):
    """Minimum of all uncovered slacks, behind one barrier of the grid; clears the bins' sizes."""
    step_6_reduction(order.n, matrix, covers, sizes)
    cuda.cg.this_grid().sync()
    return least_of(matrix.partial, matrix.top)


class Parts(NamedTuple):
    """The phases of a kernel, device functions, besides the second half of step 6.

    ``step_1``, ``steps_2_and_3``, ``search_until_dry``, ``least_uncovered`` are those of this
    module and its neighbours, or the printed ones (`kernels.printed.steps`).
    """

    step_1: Any
    steps_2_and_3: Any
    search_until_dry: Any
    least_uncovered: Any


PARTS = Parts(step_1, steps_2_and_3, search_until_dry, least_uncovered)
"""Ours."""

# ---------------------------------------------------------------------------------- the end


@cuda.jit(device=True)
def finish(status, updates, log):
    """One thread tells the host how the run ended."""
    flags = log.flags
    if cuda.grid(1) == 0:
        flags[UPDATES] = updates
        flags[STATUS] = status
        sequence = flags[SIGNALS] + 1
        flags[SIGNALS] = sequence
        store_release_system(log.signal, 0, (int64(sequence) << PAYLOAD_BITS) | status)


# ---------------------------------------------------------------------------------- the kernel


def searches_and_updates_with(add_sub_compress_matrix: Any, parts: Parts) -> Any:
    """Make a version's loop of searches and dual updates from its `add_sub_compress_matrix`.

    Parameters
    ----------
    add_sub_compress_matrix : device function
        The version's second half of step 6, as in `opt2`.
    parts : Parts
        The other phases.

    Returns
    -------
    device function
        The loop; `hungarian_with` and `go_on_with` make kernels around it.
    """
    search_until_dry, least_uncovered = parts.search_until_dry, parts.least_uncovered

    @cuda.jit(device=True)
    def searches_and_updates(most, matches, run, updates, shape, matrix, search, duals, log):
        """Search and update the duals in turn, until all is matched or `most` updates are done.

        Returns
        -------
        status, matches, updates : int32
            See `Status`; the number of stars; dual updates, with those given.
        """
        grid = cuda.cg.this_grid()
        order, covers, zeros = shape.order, search.covers, search.zeros
        alone = zeros.sizes.size == 1
        status, barren = int32(DRY), int32(0)
        for _ in range(most):
            status, matches, run, barren = search_until_dry(
                alone, shape, matches, run, barren, search, log
            )
            if status != DRY:
                break
            least = least_uncovered(order, matrix, covers, zeros.sizes)
            add_sub_compress_matrix(order, matrix.eps, matrix.slack, covers, least, zeros, duals)
            grid.sync()
            mark(log.clocks, 6)
            updates = int32(updates + 1)
        return status, matches, updates

    return searches_and_updates


def hungarian_with(add_sub_compress_matrix: Any, parts: Parts = PARTS) -> Any:
    """Make a version's kernel ``hungarian`` from its `add_sub_compress_matrix`.

    Parameters
    ----------
    add_sub_compress_matrix : device function
        The version's second half of step 6, as in `opt2`.
    parts : Parts
        The other phases.

    Returns
    -------
    numba.cuda dispatcher
        It counts as a kernel of the version's module.
    """
    searches_and_updates = searches_and_updates_with(add_sub_compress_matrix, parts)
    step_1, steps_2_and_3 = parts.step_1, parts.steps_2_and_3

    @cuda.jit
    def hungarian(shape, matrix, search, duals, log):
        """The whole solve [K21 Fig.7]: steps 1 to 3, then searches and dual updates in turn.

        It wants more registers than a large block has: `launches.for_block` sets the limit.

        Paper: [K21 Opt 2].  Launch: cooperative; blocks of a power of two threads, at least a warp,
        as many as are resident at once at most and at least one a bin of zeros.
        Reads/Writes: reads ``cost``, writes everything else.
        Race: those of the steps; barriers of the grid stand between the phases.
        """
        step_1(shape, matrix, search, duals, log)
        matches = steps_2_and_3(search.zeros.sizes.size == 1, shape.order, search, log)
        # A search has at most n dual updates, and there are at most n: DRY at the end is a fault.
        most = int64(shape.patience) * shape.patience + 1
        status, _, updates = searches_and_updates(
            most, matches, int32(0), int32(0), shape, matrix, search, duals, log
        )
        finish(status, updates, log)

    hungarian.py_func.__module__ = add_sub_compress_matrix.py_func.__module__
    return hungarian


# ------------------------------------------------------------------------- the same in shares

SHARE = 16
"""The patience of a share: its dual updates, and what it may do before each."""


def begin_with(parts: Parts) -> Any:
    """Make the kernel ``begin`` of some phases."""
    step_1, steps_2_and_3 = parts.step_1, parts.steps_2_and_3

    @cuda.jit
    def begin(shape, matrix, search, duals, log):
        """Steps 1 to 3, and the number of stars for the first share.

        Paper: [K21 Fig.7].  Launch: as the one launch.
        Reads/Writes: reads ``cost``, writes everything else.
        Race: those of the steps; barriers of the grid stand between the phases.
        """
        step_1(shape, matrix, search, duals, log)
        matches = steps_2_and_3(search.zeros.sizes.size == 1, shape.order, search, log)
        if cuda.grid(1) == 0:
            store_relaxed(log.flags, MATCHES, matches)

    return begin


begin = begin_with(PARTS)


def go_on_with(add_sub_compress_matrix: Any, parts: Parts = PARTS) -> Any:
    """Make a version's kernel ``go_on`` from its `add_sub_compress_matrix`.

    Parameters
    ----------
    add_sub_compress_matrix : device function
        The version's second half of step 6, as in `opt2`.
    parts : Parts
        The other phases.

    Returns
    -------
    numba.cuda dispatcher
        It counts as a kernel of the version's module.
    """
    searches_and_updates = searches_and_updates_with(add_sub_compress_matrix, parts)

    @cuda.jit
    def go_on(shape, matrix, search, duals, log):
        """A share of searches and dual updates in turn; the host asks whether it was the last.

        Paper: [K21 Opt 2].  Launch: as the one launch, with `SHARE` for the patience.
        Reads/Writes: as there, but for ``cost``.
        Race: as there. All threads read the counts of the last share before any writes its own:
        a barrier of the grid stands between, or there was nothing to do and the counts stay.
        """
        flags = log.flags
        matches, run = load_relaxed(flags, MATCHES), load_relaxed(flags, SEARCHES)
        updates = load_relaxed(flags, UPDATES)
        status, matches, updates = searches_and_updates(
            int64(shape.patience), matches, run, updates, shape, matrix, search, duals, log
        )
        if cuda.grid(1) == 0:
            store_relaxed(flags, MATCHES, matches)
        finish(status, updates, log)

    go_on.py_func.__module__ = add_sub_compress_matrix.py_func.__module__
    return go_on


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

SIGNATURE = (Shape, Matrix, Search, Duals, Log)
"""Types that a version's kernel is compiled for, an entry an argument (`arguments`)."""

SIGNATURES = {begin: SIGNATURE}
"""The kernel of this module; ``hungarian`` and ``go_on`` are the versions'."""
