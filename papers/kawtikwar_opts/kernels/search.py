"""Steps 2 to 5 of the one-launch versions, and their loop [K21 Fig.7] [K21 sec.IV.C].

They are one block's work as long as the zeros stand in one bin (`alone`): the other blocks wait at
the barrier of the grid, and nothing in the search needs one. With several bins every bin has a
block, and a search restarts behind a barrier of the grid where the host loop launches step 4 anew.
Steps 3 and 5, a few accesses a line, stay with block 0 either way.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.kawtikwar_opts.kernels.arguments import (
    AUGMENTATIONS,
    DRY,
    MATCHES,
    MATCHES_INITIAL,
    SEARCHES,
    SOLVED,
    STATUS,
    TOO_MANY_RESTARTS,
    TOO_MANY_SEARCHES,
    TOO_MANY_UPDATES,
)
from papers.kawtikwar_opts.kernels.clock import mark
from papers.kawtikwar_opts.kernels.step_4 import agree, step_4
from papers.lopes2019.kernels import search as lopes

# ---------------------------------------------------------------------------------- step 2

step_2 = cuda.jit(device=True)(lopes.step_2.py_func)
"""`papers.lopes2019.kernels.search.step_2`, called by one block [K21 app. step 2]."""

# ---------------------------------------------------------------------------------- step 3


@cuda.jit(device=True)
def step_3(n, covers, stars):
    """Cover the columns with a star, forget the last search; the number of stars.

    [K21 app. step 3]; erasing primes and uncovering rows is step 5's last sentence.  One block.
    """
    matches = int32(0)
    for start in range(0, n, cuda.blockDim.x):
        line = start + cuda.threadIdx.x
        starred = int32(0)
        if line < n:
            if stars.row_of_star_at_column[line] >= 0:
                starred = int32(1)
            covers.row[line] = 0
            covers.column[line] = starred
            stars.column_of_prime_at_row[line] = -1
            stars.row_of_green_at_column[line] = -1
        matches = int32(matches + cuda.syncthreads_count(starred))
    return matches


# ---------------------------------------------------------------------------------- step 5


@cuda.jit(device=True)
def forward(row, n, stars):
    """Mark the path of a free row that has a prime green, as [L19 Alg.3]."""
    column = stars.column_of_prime_at_row[row]
    if column < 0 or stars.column_of_star_at_row[row] >= 0:
        return
    store_relaxed(stars.row_of_green_at_column, column, row)
    for _ in range(n):  # a path visits a column once
        row = stars.row_of_star_at_column[column]
        if row < 0:
            break
        column = stars.column_of_prime_at_row[row]
        store_relaxed(stars.row_of_green_at_column, column, row)


@cuda.jit(device=True)
def backward(column, n, stars):
    """Apply the path that ends in a free green column, as [L19 Alg.4]."""
    row = stars.row_of_green_at_column[column]
    if row < 0 or stars.row_of_star_at_column[column] >= 0:
        return
    for _ in range(n):  # a path visits a column once
        next_column = stars.column_of_star_at_row[row]
        stars.column_of_star_at_row[row] = column
        stars.row_of_star_at_column[column] = row
        if next_column < 0:
            break
        column = next_column
        row = stars.row_of_green_at_column[column]


@cuda.jit(device=True)
def step_5(n, stars):
    """Apply the paths that step 4 found [K21 app. step 5].

    Forward from the free rows, marking columns green, where paths may join; then backward from the
    free columns, where they cannot.  One block.  The races are those of
    `papers.lopes2019.kernels.search.step_5a` and `step_5b`.
    """
    for row in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        forward(int32(row), n, stars)
    cuda.syncthreads()
    for column in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        backward(int32(column), n, stars)
    cuda.syncthreads()


# ---------------------------------------------------------------------------- steps 3 to 5


@cuda.jit(device=True)
def steps_4_5_and_3(alone, shape, matches, run, search, log):
    """Steps 4, 5 and 3 in turn until step 4 runs dry or everything is matched [K21 Fig.7].

    Called by block 0 alone, or by all blocks when there are several bins.

    Returns
    -------
    status, matches, run, augmentations : int32
        See `Status`; the number of stars; runs of step 4 so far; augmentations of this call.
    """
    n, covers, stars = shape.order.n, search.covers, search.stars
    augmentations = int32(0)
    for _ in range(shape.patience):
        if matches == n:
            return SOLVED, matches, run, augmentations
        moved, path = True, False
        for _ in range(shape.patience):
            if path or not moved:
                break
            moved, path = step_4(alone, shape, search)
            if alone:
                moved = False
            else:
                moved, path = agree(moved, path, run, log.flags)
            run = int32(run + 1)
        mark(log.clocks, 4)
        if not path:
            return TOO_MANY_RESTARTS if moved else DRY, matches, run, augmentations
        if cuda.blockIdx.x == 0:
            step_5(n, stars)
            mark(log.clocks, 5)
            matches = step_3(n, covers, stars)
            mark(log.clocks, 3)
        if not alone:
            matches = tell(matches, log.flags)
        augmentations = int32(augmentations + 1)
    return TOO_MANY_SEARCHES, matches, run, augmentations


@cuda.jit(device=True)
def tell(matches, flags):
    """Block 0's count of the stars, for all blocks, behind a barrier of the grid."""
    if cuda.grid(1) == 0:
        store_relaxed(flags, MATCHES, matches)
    cuda.cg.this_grid().sync()
    return load_relaxed(flags, MATCHES)


@cuda.jit(device=True)
def steps_2_and_3(alone, order, search, log):
    """The greedy stars and the first covers, by block 0; the number of stars."""
    n, lines = order
    covers, stars, zeros = search.covers, search.stars, search.zeros
    matches = int32(0)
    if cuda.blockIdx.x == 0:
        step_2(
            n, lines, zeros.positions, zeros.sizes, covers.row, covers.column,
            stars.row_of_star_at_column, stars.column_of_star_at_row, log.flags,
        )  # fmt: skip
        cuda.syncthreads()
        mark(log.clocks, 2)
        matches = step_3(n, covers, stars)
        if cuda.threadIdx.x == 0:
            log.flags[MATCHES_INITIAL] = matches
        mark(log.clocks, 3)
    if not alone:
        matches = tell(matches, log.flags)
    return matches


@cuda.jit(device=True)
def search_until_dry(alone, shape, matches, run, barren, search, log):
    """`steps_4_5_and_3`, and the status for the blocks that took no part in them.

    Returns
    -------
    status, matches, run, barren : int32
        As `steps_4_5_and_3`; `barren` counts dual updates since the last augmentation.
    """
    status = int32(DRY)
    if not alone or cuda.blockIdx.x == 0:
        status, matches, run_now, augmentations = steps_4_5_and_3(
            alone, shape, matches, run, search, log
        )
        barren = int32(1) if augmentations > 0 else int32(barren + 1)
        if status == DRY and barren > shape.patience:
            status = int32(TOO_MANY_UPDATES)
        if cuda.grid(1) == 0:
            cuda.atomic.add(log.flags, AUGMENTATIONS, augmentations)
            cuda.atomic.add(log.flags, SEARCHES, int32(run_now - run))
            store_relaxed(log.flags, STATUS, status)
        run = run_now
    if alone:
        cuda.cg.this_grid().sync()
        status = load_relaxed(log.flags, STATUS)
    return status, matches, run, barren
