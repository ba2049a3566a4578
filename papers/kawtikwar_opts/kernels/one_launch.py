"""The steps that all one-launch versions share, as device functions [K21 Opt 2] [K21 sec.IV.C].

Steps 2 to 5 are one block's work as long as the zeros stand in one bin (`alone`): the other blocks
wait at the barrier of the grid, and nothing in the search needs one. With several bins every bin
has a block, and a search restarts behind a barrier of the grid where the host loop launches
step 4 anew. Steps 3 and 5, a few accesses a line, stay with block 0 either way. The matrix-wide
steps 1 and 6 are everybody's.

Barriers of the grid: 3 for step 1; a dual update 3 (the word that it is needed, the minimum, the
zeros), with several bins 2 and one for every run of step 4; an augmentation none, with several
bins one and one for every run of step 4.

The notation is that of `papers.lopes2019.kernels.search` and of `kernels.baseline`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import (
    load_relaxed,
    load_relaxed_block,
    store_relaxed,
    store_relaxed_block,
    store_release_system,
)
from papers.common.gpu.reductions import block_min, warp_min
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.kawtikwar_opts.kernels.clock import mark, start_clock
from papers.kawtikwar_opts.kernels.entries import UNROLL, advance, place, quotient
from papers.kawtikwar_opts.kernels.near_zero import near_zero
from papers.lopes2019.kernels import search as lopes
from papers.lopes2019.kernels.matrix import MAX_BLOCK


class Flag:
    """Indices into ``flags`` of the one-launch versions."""

    ZEROS = lopes.Flag.ZEROS
    """Zeros after step 1; `papers.lopes2019`'s step 2 writes it."""
    STATUS = lopes.FLAGS
    """What block 0 tells the others at the end of a search, and the host at the end."""
    MATCHES = lopes.FLAGS + 1
    """Starred zeros, counted by step 3."""
    MATCHES_INITIAL = lopes.FLAGS + 2
    """The same after step 2."""
    SIGNALS = lopes.FLAGS + 3
    """Runs whose end was told to the host."""
    AUGMENTATIONS = lopes.FLAGS + 4
    """Runs of step 5."""
    SEARCHES = lopes.FLAGS + 5
    """Runs of step 4, restarts included."""
    UPDATES = lopes.FLAGS + 6
    """Runs of step 6."""
    MOVED = lopes.FLAGS + 7
    """Three slots: some block uncovered a column in this run of step 4."""
    PATH = lopes.FLAGS + 10
    """Three slots: some block found a path in this run of step 4."""


FLAGS = lopes.FLAGS + 13
ZEROS, STATUS, MATCHES, MATCHES_INITIAL = (
    Flag.ZEROS, Flag.STATUS, Flag.MATCHES, Flag.MATCHES_INITIAL,
)  # fmt: skip
SIGNALS, AUGMENTATIONS, SEARCHES, UPDATES = (
    Flag.SIGNALS, Flag.AUGMENTATIONS, Flag.SEARCHES, Flag.UPDATES,
)  # fmt: skip
MOVED, PATH = Flag.MOVED, Flag.PATH


class Status:
    """What a search ends with, and a run."""

    DRY = 0
    """No path left: a dual update is due."""
    SOLVED = 1
    """Every column has a starred zero."""
    SEARCHES = 2
    """More augmentations than lines."""
    RESTARTS = 3
    """Step 4 does not come to rest."""
    UPDATES = 4
    """More dual updates without a path than lines."""


DRY, SOLVED = Status.DRY, Status.SOLVED
TOO_MANY_SEARCHES, TOO_MANY_RESTARTS, TOO_MANY_UPDATES = (
    Status.SEARCHES, Status.RESTARTS, Status.UPDATES,
)  # fmt: skip

# ---------------------------------------------------------------------------------- step 1


@cuda.jit(device=True)
def least_in_rows(n, rows_a_block, cost, top, min_in_row):
    """Minimum of every row, `rows_a_block` rows (a power of two) to a block's turn.

    As `papers.lopes2019.kernels.matrix.step_1_min_in_rows`, but that blocks take turns.
    """
    shared = cuda.shared.array(MAX_BLOCK, cost.dtype)
    thread = cuda.threadIdx.x
    slice_columns = cuda.blockDim.x // rows_a_block
    for start in range(cuda.blockIdx.x * rows_a_block, n, cuda.gridDim.x * rows_a_block):
        row = start + thread % rows_a_block
        least = top
        if row < n:
            for column in range(thread // rows_a_block, n, slice_columns):
                least = min(least, cost[column * n + row])
        shared[thread] = least
        block_min(shared, thread, rows_a_block)
        if thread < rows_a_block and row < n:
            min_in_row[row] = shared[thread]
        cuda.syncthreads()


@cuda.jit(device=True)
def least_in_columns(n, columns_a_block, cost, top, min_in_row, min_in_column):
    """Minimum of every column once the rows' minima are subtracted.

    As `papers.lopes2019.kernels.matrix.step_1_min_in_columns`, but that nothing has been written
    yet, and that blocks take turns.
    """
    shared = cuda.shared.array(MAX_BLOCK, cost.dtype)
    thread = cuda.threadIdx.x
    slice_rows = cuda.blockDim.x // columns_a_block
    mine = thread // slice_rows
    for start in range(cuda.blockIdx.x * columns_a_block, n, cuda.gridDim.x * columns_a_block):
        column = start + mine
        least = top
        if column < n:
            for row in range(thread % slice_rows, n, slice_rows):
                least = min(least, cost[column * n + row] - min_in_row[row])
        shared[(thread % slice_rows) * columns_a_block + mine] = least
        block_min(shared, thread, columns_a_block)
        if thread < columns_a_block and start + thread < n:
            min_in_column[start + thread] = shared[thread]
        cuda.syncthreads()


@cuda.jit(device=True)
def subtract_and_compress(
    n, lines, eps, cost, min_in_row, min_in_column, slack, zeros, zeros_size_b
):
    """The first slacks, written once, and their zeros, in tiles as step 6 takes them."""
    data_block_size = int32(lines * n)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    stride = UNROLL * width * cuda.gridDim.x
    first = int64(UNROLL * width * cuda.blockIdx.x)
    row, column = place(first + thread, n)
    rows, columns = place(width, n)
    tile_rows, tile_columns = place(stride, n)
    while first < n * n:
        reg = cuda.local.array(UNROLL, slack.dtype)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                reg[k] = cost[i]
        r, c = row, column
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n:
                reg[k] = (reg[k] - min_in_row[r]) - min_in_column[c]
                slack[i] = reg[k]
            r, c = advance(r, c, rows, columns, n)
        for k in range(UNROLL):
            i = first + k * width + thread
            if i < n * n and near_zero(reg[k], eps):
                b = quotient(i, data_block_size)
                j = cuda.atomic.add(zeros_size_b, b, 1)
                zeros[b * data_block_size + j] = i
        row, column = advance(row, column, tile_rows, tile_columns, n)
        first += stride


@cuda.jit(device=True)
def step_1(
    n,
    lines,
    lines_a_turn,
    eps,
    top,
    cost,
    min_in_row,
    min_in_column,
    slack,
    zeros,
    zeros_size_b,
    covered_row,
    covered_column,
    row_of_star_at_column,
    column_of_star_at_row,
    row_dual,
    column_dual,
    flags,
    clocks,
):
    """Clear everything, make the first slacks and list their zeros [K21 app. step 1].

    Three passes over the costs and three barriers: row minima, column minima, slacks with zeros.
    """
    grid = cuda.cg.this_grid()
    start_clock(clocks)
    for line in range(cuda.grid(1), n, cuda.gridsize(1)):
        row_of_star_at_column[line] = -1
        column_of_star_at_row[line] = -1
        covered_row[line] = 0
        covered_column[line] = 0
    for b in range(cuda.grid(1), zeros_size_b.size, cuda.gridsize(1)):
        zeros_size_b[b] = 0
    if cuda.grid(1) == 0:
        flags[AUGMENTATIONS] = 0
        flags[SEARCHES] = 0
        flags[UPDATES] = 0
        for slot in range(3):
            flags[MOVED + slot] = 0
            flags[PATH + slot] = 0
    least_in_rows(n, lines_a_turn, cost, top, min_in_row)
    grid.sync()
    least_in_columns(n, lines_a_turn, cost, top, min_in_row, min_in_column)
    grid.sync()
    for line in range(cuda.grid(1), n, cuda.gridsize(1)):
        row_dual[line] = min_in_row[line]
        column_dual[line] = min_in_column[line]
    subtract_and_compress(
        n, lines, eps, cost, min_in_row, min_in_column, slack, zeros, zeros_size_b
    )
    grid.sync()
    mark(clocks, 1)


# ---------------------------------------------------------------------------------- step 2

step_2 = cuda.jit(device=True)(lopes.step_2.py_func)
"""`papers.lopes2019.kernels.search.step_2`, called by one block [K21 app. step 2]."""

# ---------------------------------------------------------------------------------- step 3


@cuda.jit(device=True)
def step_3(
    n,
    covered_row,
    covered_column,
    row_of_star_at_column,
    column_of_prime_at_row,
    row_of_green_at_column,
):
    """Cover the columns with a star, forget the last search; the number of stars.

    [K21 app. step 3]; erasing primes and uncovering rows is step 5's last sentence.  One block.
    """
    matches = int32(0)
    for start in range(0, n, cuda.blockDim.x):
        line = start + cuda.threadIdx.x
        starred = int32(0)
        if line < n:
            if row_of_star_at_column[line] >= 0:
                starred = int32(1)
            covered_row[line] = 0
            covered_column[line] = starred
            column_of_prime_at_row[line] = -1
            row_of_green_at_column[line] = -1
        matches = int32(matches + cuda.syncthreads_count(starred))
    return matches


# ---------------------------------------------------------------------------------- step 4

# What became of a zero that step 4 looked at.
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
def visit(
    alone,
    n,
    multiplier,
    shift,
    position,
    covered_row,
    covered_column,
    column_of_star_at_row,
    column_of_prime_at_row,
):
    """Look at one zero; prime it if it is uncovered, and follow its row's star.

    The order of the accesses is [L19 Thm.1]'s, as in `papers.lopes2019.kernels.search.uncovered`
    and
    `process`: column, fence, row; cover the row, fence, uncover the column. The row is read once
    more before: a row stays covered until step 3, so its zeros are out of the search for good.
    """
    column = int32((int64(position) * multiplier) >> shift)
    row = int32(position - column * n)
    row_is_covered = load(alone, covered_row, row)
    column_is_covered = load(alone, covered_column, column)
    if row_is_covered != 0:
        return GONE
    if column_is_covered != 0:
        return WAITS
    fence(alone)
    if load(alone, covered_row, row) != 0:
        return GONE
    store(alone, column_of_prime_at_row, row, column)
    star = column_of_star_at_row[row]
    if star < 0:
        return ENDS_PATH
    store(alone, covered_row, row, 1)
    fence(alone)
    store(alone, covered_column, star, 0)
    return UNCOVERS


@cuda.jit(device=True)
def step_4(
    alone,
    n,
    lines,
    multiplier,
    shift,
    zeros,
    zeros_size_b,
    covered_row,
    covered_column,
    column_of_star_at_row,
    column_of_prime_at_row,
):
    """Search the block's bin until it can uncover no more columns [K21 app. step 4] [L19 Alg.2].

    A sweep looks at all zeros that may still matter: the first `MEMORY` of a thread have a bit
    each, which falls when the zero's row is covered.

    Returns
    -------
    moved, path : bool
        Whether the block uncovered a column, and whether it found a path.
    """
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    size = int32(0)
    base = int64(0)
    if cuda.blockIdx.x < zeros_size_b.size:
        size = zeros_size_b[cuda.blockIdx.x]
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
            fate = visit(
                alone, n, multiplier, shift, zeros[base + thread + turn * width],
                covered_row, covered_column, column_of_star_at_row, column_of_prime_at_row,
            )  # fmt: skip
            if fate != WAITS:
                alive &= ~(int64(1) << turn)
            if fate == UNCOVERS:
                found = int32(1)
            path = path or fate == ENDS_PATH
        for k in range(thread + MEMORY * width, size, width):
            fate = visit(
                alone, n, multiplier, shift, zeros[base + k],
                covered_row, covered_column, column_of_star_at_row, column_of_prime_at_row,
            )  # fmt: skip
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


# ---------------------------------------------------------------------------------- step 5


@cuda.jit(device=True)
def step_5(
    n,
    row_of_star_at_column,
    column_of_star_at_row,
    column_of_prime_at_row,
    row_of_green_at_column,
):
    """Apply the paths that step 4 found [K21 app. step 5], as [L19 Alg.3] and [L19 Alg.4].

    Forward from the free rows, marking columns green, where paths may join; then backward from the
    free columns, where they cannot.  One block.  The races are those of
    `papers.lopes2019.kernels.search.step_5a` and `step_5b`.
    """
    for start in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        row = int32(start)
        column = column_of_prime_at_row[row]
        if column >= 0 and column_of_star_at_row[row] < 0:
            store_relaxed_block(row_of_green_at_column, column, row)
            for _ in range(n):  # a path visits a column once
                row = row_of_star_at_column[column]
                if row < 0:
                    break
                column = column_of_prime_at_row[row]
                store_relaxed_block(row_of_green_at_column, column, row)
    cuda.syncthreads()
    for start in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        column = int32(start)
        row = row_of_green_at_column[column]
        if row >= 0 and row_of_star_at_column[column] < 0:
            for _ in range(n):  # a path visits a column once
                next_column = column_of_star_at_row[row]
                column_of_star_at_row[row] = column
                row_of_star_at_column[column] = row
                if next_column < 0:
                    break
                column = next_column
                row = row_of_green_at_column[column]
    cuda.syncthreads()


# ---------------------------------------------------------------------------- steps 3 to 5


@cuda.jit(device=True)
def search(
    alone,
    n,
    lines,
    multiplier,
    shift,
    patience,
    matches,
    run,
    zeros,
    zeros_size_b,
    covered_row,
    covered_column,
    row_of_star_at_column,
    column_of_star_at_row,
    column_of_prime_at_row,
    row_of_green_at_column,
    flags,
    clocks,
):
    """Steps 4, 5 and 3 in turn until step 4 runs dry or everything is matched [K21 Fig.7].

    Called by block 0 alone, or by all blocks when there are several bins.

    Returns
    -------
    status, matches, run, augmentations : int32
        See `Status`; the number of stars; runs of step 4 so far; augmentations of this call.
    """
    augmentations = int32(0)
    for _ in range(patience):
        if matches == n:
            return SOLVED, matches, run, augmentations
        moved, path = True, False
        for _ in range(patience):
            if path or not moved:
                break
            moved, path = step_4(
                alone, n, lines, multiplier, shift, zeros, zeros_size_b, covered_row,
                covered_column, column_of_star_at_row, column_of_prime_at_row,
            )  # fmt: skip
            if alone:
                moved = False
            else:
                moved, path = agree(moved, path, run, flags)
            run = int32(run + 1)
        mark(clocks, 4)
        if not path:
            return TOO_MANY_RESTARTS if moved else DRY, matches, run, augmentations
        if cuda.blockIdx.x == 0:
            step_5(
                n, row_of_star_at_column, column_of_star_at_row, column_of_prime_at_row,
                row_of_green_at_column,
            )  # fmt: skip
            mark(clocks, 5)
            matches = step_3(
                n, covered_row, covered_column, row_of_star_at_column, column_of_prime_at_row,
                row_of_green_at_column,
            )  # fmt: skip
            mark(clocks, 3)
        if not alone:
            matches = tell(matches, flags)
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
def steps_2_and_3(
    alone,
    n,
    lines,
    zeros,
    zeros_size_b,
    covered_row,
    covered_column,
    row_of_star_at_column,
    column_of_star_at_row,
    column_of_prime_at_row,
    row_of_green_at_column,
    flags,
    clocks,
):
    """The greedy stars and the first covers, by block 0; the number of stars."""
    matches = int32(0)
    if cuda.blockIdx.x == 0:
        step_2(
            n, lines, zeros, zeros_size_b, covered_row, covered_column, row_of_star_at_column,
            column_of_star_at_row, flags,
        )  # fmt: skip
        cuda.syncthreads()
        mark(clocks, 2)
        matches = step_3(
            n, covered_row, covered_column, row_of_star_at_column, column_of_prime_at_row,
            row_of_green_at_column,
        )  # fmt: skip
        if cuda.threadIdx.x == 0:
            flags[MATCHES_INITIAL] = matches
        mark(clocks, 3)
    if not alone:
        matches = tell(matches, flags)
    return matches


@cuda.jit(device=True)
def search_until_dry(
    alone,
    n,
    lines,
    multiplier,
    shift,
    patience,
    matches,
    run,
    barren,
    zeros,
    zeros_size_b,
    covered_row,
    covered_column,
    row_of_star_at_column,
    column_of_star_at_row,
    column_of_prime_at_row,
    row_of_green_at_column,
    flags,
    clocks,
):
    """`search`, and its status for the blocks that took no part in it.

    Returns
    -------
    status, matches, run, barren : int32
        As `search`; `barren` counts dual updates since the last augmentation.
    """
    status = int32(DRY)
    if not alone or cuda.blockIdx.x == 0:
        status, matches, run_now, augmentations = search(
            alone, n, lines, multiplier, shift, patience, matches, run, zeros, zeros_size_b,
            covered_row, covered_column, row_of_star_at_column, column_of_star_at_row,
            column_of_prime_at_row, row_of_green_at_column, flags, clocks,
        )  # fmt: skip
        barren = int32(1) if augmentations > 0 else int32(barren + 1)
        if status == DRY and barren > patience:
            status = int32(TOO_MANY_UPDATES)
        if cuda.grid(1) == 0:
            cuda.atomic.add(flags, AUGMENTATIONS, augmentations)
            cuda.atomic.add(flags, SEARCHES, int32(run_now - run))
            store_relaxed(flags, STATUS, status)
        run = run_now
    if alone:
        cuda.cg.this_grid().sync()
        status = load_relaxed(flags, STATUS)
    return status, matches, run, barren


# ---------------------------------------------------------------------------------- step 6


@cuda.jit(device=True)
def step_6_reduction(n, slack, covered_row, covered_column, top, partial, zeros_size_b):
    """Each block's minimum of the uncovered slacks [K21 app. step 6]; clears the bins' sizes.

    As [L19 Alg.5], in the tiles of `entries`, with shuffles instead of halvings.
    """
    shared = cuda.shared.array(32, slack.dtype)
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    stride = UNROLL * width * cuda.gridDim.x
    # The last call's reads of `shared` lie behind a barrier of the grid already; a race checker
    # that knows barriers of a block only wants this one, where a block has no tile.
    cuda.syncthreads()
    for b in range(cuda.grid(1), zeros_size_b.size, cuda.gridsize(1)):
        zeros_size_b[b] = 0
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
            if i < n * n and covered_column[c] == 0 and covered_row[r] == 0:
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
            partial[cuda.blockIdx.x] = least


@cuda.jit(device=True)
def least_of(partial, top):
    """Minimum of the blocks' minima: every warp finds it by itself, no barrier is needed."""
    least = top
    for b in range(cuda.threadIdx.x & 31, cuda.gridDim.x, 32):
        least = min(least, partial[b])
    return warp_min(least)


# ---------------------------------------------------------------------------------- the end


@cuda.jit(device=True)
def finish(status, updates, flags, signal):
    """One thread tells the host how the run ended."""
    if cuda.grid(1) == 0:
        flags[UPDATES] = updates
        flags[STATUS] = status
        sequence = flags[SIGNALS] + 1
        flags[SIGNALS] = sequence
        store_release_system(signal, 0, (int64(sequence) << PAYLOAD_BITS) | status)
