"""Step 4 of the one-launch versions: a block's search in its bin of zeros [K21 app. step 4].

A block that searches alone reads and writes covers and primes in its own multiprocessor's cache
(`alone`); several blocks meet behind a barrier of the grid, in `agree`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import (
    load_relaxed,
    load_relaxed_block,
    store_relaxed,
    store_relaxed_block,
)
from papers.kawtikwar_opts.kernels.arguments import MOVED, PATH

# The fate of a zero that step 4 looked at.
WAITS, GONE, UNCOVERS, ENDS_PATH = 0, 1, 2, 3

MEMORY = 62
"""Zeros of a thread that it can leave out of its next sweeps: bits of a word."""


@cuda.jit(device=True)
def load(alone, array, index):
    """Read a cover anew: from the multiprocessor's own cache when no other block writes it."""
    if alone:
        return load_relaxed_block(array, index)
    return load_relaxed(array, index)


@cuda.jit(device=True)
def store(alone, array, index, value):
    """Write a cover or a prime now."""
    if alone:
        store_relaxed_block(array, index, value)
    else:
        store_relaxed(array, index, value)


@cuda.jit(device=True)
def fence(alone):
    """``fence.sc`` over the threads that search."""
    if alone:
        cuda.threadfence_block()
    else:
        cuda.threadfence()


@cuda.jit(device=True)
def visit(alone, shape, position, covers, stars):
    """Look at one zero; prime it if it is uncovered, and follow its row's star.

    The order of the accesses is [L19 Thm.1]'s, as in `papers.lopes2019.kernels.search.uncovered`
    and `process`: column, fence, row; cover the row, fence, uncover the column. The row is read
    once more before: a row stays covered until step 3, so its zeros are out of the search for good.
    """
    column = int32((int64(position) * shape.multiplier) >> shape.shift)
    row = int32(position - column * shape.order.n)
    row_is_covered = load(alone, covers.row, row)
    column_is_covered = load(alone, covers.column, column)
    if row_is_covered != 0:
        return GONE
    if column_is_covered != 0:
        return WAITS
    fence(alone)
    if load(alone, covers.row, row) != 0:
        return GONE
    store(alone, stars.column_of_prime_at_row, row, column)
    star = stars.column_of_star_at_row[row]
    if star < 0:
        return ENDS_PATH
    store(alone, covers.row, row, 1)
    fence(alone)
    store(alone, covers.column, star, 0)
    return UNCOVERS


@cuda.jit(device=True)
def step_4(alone, shape, search):
    """Search the block's bin until it can uncover no more columns [K21 app. step 4] [L19 Alg.2].

    A sweep looks at all zeros that may still matter: the first `MEMORY` of a thread have a bit
    each, which falls when the zero's row is covered.

    Returns
    -------
    moved, path : bool
        Whether the block uncovered a column, and whether it found a path.
    """
    n, lines = shape.order
    zeros, covers, stars = search.zeros, search.covers, search.stars
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    size = int32(0)
    base = int64(0)
    if cuda.blockIdx.x < zeros.sizes.size:
        size = zeros.sizes[cuda.blockIdx.x]
        base = int64(cuda.blockIdx.x) * lines * n
    turns = int64(0)
    if thread < size:
        turns = min(int64(MEMORY), int64((size - thread + width - 1) // width))
    alive = (int64(1) << turns) - 1
    moved, path = False, False
    for _ in range(n + 1):  # every sweep but the last covers a row for good
        found = int32(0)
        todo = alive
        while todo != 0:
            turn = cuda.ffs(todo) - 1
            todo &= todo - 1
            position = zeros.positions[base + thread + turn * width]
            fate = visit(alone, shape, position, covers, stars)
            if fate != WAITS:
                alive &= ~(int64(1) << turn)
            if fate == UNCOVERS:
                found = int32(1)
            path = path or fate == ENDS_PATH
        for k in range(thread + MEMORY * width, size, width):
            fate = visit(alone, shape, zeros.positions[base + k], covers, stars)
            if fate == UNCOVERS:
                found = int32(1)
            path = path or fate == ENDS_PATH
        if cuda.syncthreads_or(found) == 0:
            break
        moved = True
    return moved, cuda.syncthreads_or(int32(path)) != 0


@cuda.jit(device=True)
def agree(moved, path, run, flags):
    """Tell the other blocks how this run of step 4 went, and hear how theirs did.

    One barrier: a run has one of three slots, read after the barrier and cleared by block 0 a run
    later, when everyone has read it and nobody yet writes it again.
    """
    slot = run % 3
    if cuda.threadIdx.x == 0:
        if moved:
            store_relaxed(flags, MOVED + slot, 1)
        if path:
            store_relaxed(flags, PATH + slot, 1)
        if cuda.blockIdx.x == 0:
            flags[MOVED + (run + 1) % 3] = 0
            flags[PATH + (run + 1) % 3] = 0
    cuda.cg.this_grid().sync()
    return load_relaxed(flags, MOVED + slot) != 0, load_relaxed(flags, PATH + slot) != 0
