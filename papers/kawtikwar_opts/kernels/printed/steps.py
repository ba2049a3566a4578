"""Steps 1 to 6 of the host loop inside one launch, as Opt 2 is printed [K21 sec.IV.C].

"There was no significant change to the code body" [K21 sec.IV.D]: each kernel of the host loop
becomes a phase of all blocks, and a barrier of the grid stands where the next launch stood. Thread
i of the launch is thread i of every phase, a block searches its own bin, and where the host would
clear or read a flag all blocks meet. Thus an augmentation has eight barriers and a dual update six,
where `kernels.search` has none or two and three.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed
from papers.common.gpu.reductions import block_min
from papers.kawtikwar_opts.kernels.arguments import (
    AUGMENTATIONS,
    DRY,
    MATCHES_INITIAL,
    MOVED,
    PATH,
    SEARCHES,
    SOLVED,
    STATUS,
    TOO_MANY_RESTARTS,
    TOO_MANY_SEARCHES,
    TOO_MANY_UPDATES,
    UPDATES,
)
from papers.kawtikwar_opts.kernels.clock import mark, start_clock
from papers.kawtikwar_opts.kernels.entries import place
from papers.kawtikwar_opts.kernels.near_zero import near_zero
from papers.kawtikwar_opts.kernels.printed.listings import collect
from papers.kawtikwar_opts.kernels.search import backward, forward
from papers.kawtikwar_opts.kernels.step_1 import least_in_rows
from papers.lopes2019.configuration import CHECKS
from papers.lopes2019.kernels import printed as lopes
from papers.lopes2019.kernels.arguments import Marks, Words
from papers.lopes2019.kernels.matrix import MAX_BLOCK
from papers.lopes2019.kernels.printed import Rules
from papers.lopes2019.kernels.search import MATCHES, PATH_FOUND, ZERO_FOUND

step_2 = cuda.jit(device=True)(lopes.step_2.py_func)
"""`papers.lopes2019.kernels.printed.step_2`, a block a bin [K21 app. step 2]."""

step_4 = cuda.jit(device=True)(lopes.step_4.py_func)
"""`papers.lopes2019.kernels.printed.step_4`: three barriers a sweep, ten checks, a stop at the
first path [K21 app. step 4]."""

# ---------------------------------------------------------------------------------- step 1


@cuda.jit(device=True)
def least_in_columns(n, columns_a_block, slack, top, min_in_column):
    """Minimum of every column, neighbouring threads in different columns; blocks take turns."""
    shared = cuda.shared.array(MAX_BLOCK, slack.dtype)
    thread = cuda.threadIdx.x
    slice_rows = cuda.blockDim.x // columns_a_block
    for start in range(cuda.blockIdx.x * columns_a_block, n, cuda.gridDim.x * columns_a_block):
        column = start + thread % columns_a_block
        least = top
        if column < n:
            for row in range(thread // columns_a_block, n, slice_rows):
                least = min(least, slack[column * n + row])
        shared[thread] = least
        block_min(shared, thread, columns_a_block)
        if thread < columns_a_block and column < n:
            min_in_column[column] = shared[thread]
        cuda.syncthreads()


@cuda.jit(device=True)
def clear(shape, search, log):
    """Clear stars, covers, sizes and flags, as the host loop's first launches do."""
    n, flags = shape.order.n, log.flags
    for line in range(cuda.grid(1), n, cuda.gridsize(1)):
        padding = int32(line >= shape.searched)
        search.stars.row_of_star_at_column[line] = padding - 1
        search.stars.column_of_star_at_row[line] = -1
        search.covers.row[line] = 0
        search.covers.column[line] = padding
    for b in range(cuda.grid(1), search.zeros.sizes.size, cuda.gridsize(1)):
        search.zeros.sizes[b] = 0
    if cuda.grid(1) == 0:
        flags[AUGMENTATIONS] = 0
        flags[SEARCHES] = 0
        flags[UPDATES] = 0
        for slot in range(3):  # of `kernels.step_4.agree`
            flags[MOVED + slot] = 0
            flags[PATH + slot] = 0


@cuda.jit(device=True)
def step_1(shape, matrix, search, duals, log):
    """Clear everything, then four passes and the compression [K21 app. step 1].

    The slacks are written twice and read twice, as in the host loop.
    """
    grid = cuda.cg.this_grid()
    n, slack, stride = shape.order.n, matrix.slack, cuda.gridsize(1)
    start_clock(log.clocks)
    clear(shape, search, log)
    least_in_rows(n, shape.lines_a_turn, matrix.cost, matrix.top, matrix.min_in_row)
    grid.sync()
    for line in range(cuda.grid(1), n, stride):
        duals.row[line] = matrix.min_in_row[line]
    for i in range(int64(cuda.grid(1)), int64(n) * n, stride):
        row, _ = place(i, n)
        slack[i] = matrix.cost[i] - matrix.min_in_row[row]
    grid.sync()
    least_in_columns(n, shape.lines_a_turn, slack, matrix.top, matrix.min_in_column)
    grid.sync()
    for line in range(cuda.grid(1), n, stride):
        duals.column[line] = matrix.min_in_column[line]
    for i in range(int64(cuda.grid(1)), int64(n) * n, stride):
        _, column = place(i, n)
        slack[i] = slack[i] - matrix.min_in_column[column]
    grid.sync()
    for i in range(int64(cuda.grid(1)), int64(n) * n, stride):
        if near_zero(slack[i], matrix.eps):
            collect(i, shape.order, search.zeros)
    grid.sync()
    mark(log.clocks, 1)


# ---------------------------------------------------------------------------------- flags


@cuda.jit(device=True)
def clear_flags(flags):
    """Clear "go to 5" and "repeat", where the host would; all blocks wait for it."""
    if cuda.grid(1) == 0:
        store_relaxed(flags, PATH_FOUND, 0)
        store_relaxed(flags, ZERO_FOUND, 0)
    cuda.cg.this_grid().sync()


@cuda.jit(device=True)
def read_flags(flags):
    """Read both where the host would, and wait until every block has.

    Returns
    -------
    moved, path : bool
        Whether a block of step 2 or 4 asks for a repetition, and whether one found a path.
    """
    grid = cuda.cg.this_grid()
    grid.sync()
    moved, path = load_relaxed(flags, ZERO_FOUND) != 0, load_relaxed(flags, PATH_FOUND) != 0
    grid.sync()
    return moved, path


# ---------------------------------------------------------------------------- steps 2, 3, 5


@cuda.jit(device=True)
def step_3(n, covers, stars, flags):
    """Cover the columns with a star, one atomic addition a star; erase primes and greens.

    Returns the number of stars [K21 app. step 3].
    """
    grid = cuda.cg.this_grid()
    if cuda.grid(1) == 0:
        flags[MATCHES] = 0
    for line in range(cuda.grid(1), n, cuda.gridsize(1)):
        covers.row[line] = 0
        covers.column[line] = 0
    grid.sync()
    for line in range(cuda.grid(1), n, cuda.gridsize(1)):
        stars.column_of_prime_at_row[line] = -1
        stars.row_of_green_at_column[line] = -1
        if stars.row_of_star_at_column[line] >= 0:
            covers.column[line] = 1
            cuda.atomic.add(flags, MATCHES, 1)
    grid.sync()
    return load_relaxed(flags, MATCHES)


@cuda.jit(device=True)
def steps_2_and_3(alone, order, search, log):
    """The greedy stars, a block a bin, repeated while a row was given back; then step 3."""
    n, lines = order
    covers, stars, zeros, flags = search.covers, search.stars, search.zeros, log.flags
    for _ in range(n + 1):
        clear_flags(flags)
        if cuda.blockIdx.x < zeros.sizes.size:
            step_2(
                n, lines, zeros.positions, zeros.sizes, covers.row, covers.column,
                stars.row_of_star_at_column, stars.column_of_star_at_row, flags,
            )  # fmt: skip
        repeat, _ = read_flags(flags)
        if not repeat:
            break
    mark(log.clocks, 2)
    matches = step_3(n, covers, stars, flags)
    if cuda.grid(1) == 0:
        flags[MATCHES_INITIAL] = matches
    mark(log.clocks, 3)
    return matches


@cuda.jit(device=True)
def step_5(n, stars):
    """Apply the paths that step 4 found, a thread a line [K21 app. step 5]."""
    grid = cuda.cg.this_grid()
    for row in range(cuda.grid(1), n, cuda.gridsize(1)):
        forward(int32(row), n, stars)
    grid.sync()
    for column in range(cuda.grid(1), n, cuda.gridsize(1)):
        backward(int32(column), n, stars)
    grid.sync()


# ---------------------------------------------------------------------------------- the search


@cuda.jit(device=True)
def run_of_step_4(shape, search, log):
    """One launch of step 4 of the host loop, its flags cleared before and read after.

    Returns
    -------
    moved, path : bool
        As `read_flags`.
    """
    clear_flags(log.flags)
    if cuda.blockIdx.x < search.zeros.sizes.size:
        step_4(
            shape.order, search.zeros, search.covers,
            Marks(search.stars.column_of_star_at_row, search.stars.column_of_prime_at_row),
            Words(log.flags, log.signal), Rules(int32(1), int32(CHECKS)),
        )  # fmt: skip
    return read_flags(log.flags)


@cuda.jit(device=True)
def search_until_dry(alone, shape, matches, run, barren, search, log):
    """Steps 4, 5 and 3 in turn, by all blocks, until step 4 runs dry or all is matched.

    Returns
    -------
    status, matches, run, barren : int32
        As `papers.kawtikwar_opts.kernels.search.search_until_dry`.
    """
    n, first = shape.order.n, run
    augmentations, status = int32(0), int32(TOO_MANY_SEARCHES)
    for _ in range(shape.patience):
        if matches == n:
            status = int32(SOLVED)
            break
        moved, path = True, False
        for _ in range(shape.patience):
            if path or not moved:
                break
            moved, path = run_of_step_4(shape, search, log)
            run = int32(run + 1)
        mark(log.clocks, 4)
        if not path:
            status = int32(TOO_MANY_RESTARTS if moved else DRY)
            break
        step_5(n, search.stars)
        mark(log.clocks, 5)
        matches = step_3(n, search.covers, search.stars, log.flags)
        mark(log.clocks, 3)
        augmentations = int32(augmentations + 1)
    barren = int32(1) if augmentations > 0 else int32(barren + 1)
    if status == DRY and barren > shape.patience:
        status = int32(TOO_MANY_UPDATES)
    if cuda.grid(1) == 0:
        log.flags[AUGMENTATIONS] += augmentations
        log.flags[SEARCHES] += int32(run - first)
        store_relaxed(log.flags, STATUS, status)
    return status, matches, run, barren


# ---------------------------------------------------------------------------------- step 6


@cuda.jit(device=True)
def least_uncovered(order, matrix, covers, sizes):
    """Minimum of the uncovered slacks in two kernels' work, an entry a turn [L19 Alg.5].

    Clears the bins' sizes on the way, as a launch of its own does in Opt 1.
    """
    n, slack, partial = order.n, matrix.slack, matrix.partial
    grid = cuda.cg.this_grid()
    shared = cuda.shared.array(MAX_BLOCK, slack.dtype)
    thread = cuda.threadIdx.x
    for b in range(cuda.grid(1), sizes.size, cuda.gridsize(1)):
        sizes[b] = 0
    least = matrix.top
    for i in range(int64(cuda.grid(1)), int64(n) * n, cuda.gridsize(1)):
        row, column = place(i, n)
        if covers.row[row] == 0 and covers.column[column] == 0:
            least = min(least, slack[i])
    shared[thread] = least
    block_min(shared, thread, 1)
    if thread == 0:
        partial[cuda.blockIdx.x] = shared[0]
    grid.sync()
    if cuda.blockIdx.x == 0:
        least = matrix.top
        for b in range(thread, cuda.gridDim.x, cuda.blockDim.x):
            least = min(least, partial[b])
        shared[thread] = least
        block_min(shared, thread, 1)
        if thread == 0:  # nobody reads a block's minimum any more
            partial[0] = shared[0]
    grid.sync()
    return partial[0]
