"""The kernels of [L19] as printed and released, where `kernels.search` or `kernels.matrix` differ.

`papers.lopes2019.configuration` says which of the two a run takes. Notation and races are those of
`kernels.search`; a docstring here names the difference only. Everything else of the release is a
launch shape (`papers.lopes2019.launches.Geometry`) or a habit of the host's (`solver`).
"""

from __future__ import annotations

from typing import NamedTuple

from numba import cuda, int32

from papers.common.gpu.memory_order import load_relaxed, store_relaxed, store_relaxed_block
from papers.common.gpu.reductions import block_min
from papers.common.gpu.signatures import Int32
from papers.lopes2019.kernels.arguments import Covers, Marks, Order, Words, Zeros
from papers.lopes2019.kernels.matrix import MAX_BLOCK
from papers.lopes2019.kernels.search import (
    ALL_ZEROS,
    MATCHES,
    ZERO_FOUND,
    ZEROS,
    process,
    send_signals,
    uncovered,
)


class Rules(NamedTuple):
    """Rules of step 4: whether a block stops at its first path (0 or 1), checks of a zero."""

    stop: Int32
    checks: Int32


# ---------------------------------------------------------------------------------- steps 2 to 4


@cuda.jit
def step_2(
    n,
    lines,
    zeros,
    zeros_size,
    covered_row,
    covered_column,
    row_of_star_at_column,
    column_of_star_at_row,
    flags,
):
    """Star zeros greedily, a block a bin: the host repeats the launch while a row was given back.

    Paper: [L19 Alg.1] [L19 sec.4.2]; the release runs it on step 4's blocks.  Launch: one block a
    bin of columns.
    Reads/Writes: as `kernels.search.step_2`; sets ``flags[ZERO_FOUND]`` where it must be repeated.
    Race: as there; a zero that another block's give-back would free is starred by the next launch.
    """
    thread = cuda.threadIdx.x
    b = cuda.blockIdx.x
    if b == 0 and thread == 0:
        count = 0
        for other in range(zeros_size.size):
            count += zeros_size[other]
        flags[ZEROS] = count
    first = b * lines * n
    repeat = 0
    for _ in range(2 * n + 1):
        again = 0
        for k in range(thread, zeros_size[b], cuda.blockDim.x):
            position = zeros[first + k]
            column = position // n
            row = position - column * n
            if (
                load_relaxed(covered_column, column) == 0
                and load_relaxed(covered_row, row) == 0
                and cuda.atomic.exch(covered_row, row, 1) == 0
            ):
                if cuda.atomic.exch(covered_column, column, 1) == 0:
                    row_of_star_at_column[column] = row
                    column_of_star_at_row[row] = column
                else:
                    cuda.atomic.exch(covered_row, row, 0)
                    again = 1
        if cuda.syncthreads_or(int32(again)) == 0:
            break
        repeat = 1
    if repeat and thread == 0:
        store_relaxed(flags, ZERO_FOUND, 1)


@cuda.jit
def step_3_init(n, covered_row, covered_column, flags):
    """Uncover everything and forget the count of stars.

    Paper: [L19 sec.4.3]; `step_4_init` erases the marks.  Launch: one thread a line, n in all.
    Reads/Writes: writes both covers, once each; clears ``flags[MATCHES]``.
    """
    i = cuda.grid(1)
    if i == 0:
        flags[MATCHES] = 0
    if i < n:
        covered_row[i] = 0
        covered_column[i] = 0


@cuda.jit
def step_3(n, row_of_star_at_column, covered_column, flags):
    """Cover each column that has a starred zero; one atomic addition a star.

    Paper: [L19 sec.4.3].  Launch: one thread a column, n in all.
    Reads/Writes: reads stars; writes the covers of starred columns; adds to ``flags[MATCHES]``.
    """
    i = cuda.grid(1)
    if i < n and row_of_star_at_column[i] >= 0:
        covered_column[i] = 1
        cuda.atomic.add(flags, MATCHES, 1)


@cuda.jit
def step_4_init(n, column_of_prime_at_row, row_of_green_at_column):
    """Erase primes and greens.

    Paper: [L19 sec.2.1], step 5's last sentence; a kernel in the release.  Launch: one thread a
    line, n in all.
    Reads/Writes: writes both arrays, once each.
    """
    i = cuda.grid(1)
    if i < n:
        column_of_prime_at_row[i] = -1
        row_of_green_at_column[i] = -1


@cuda.jit
def step_4(order, zeros, covers, marks, words, rules):
    """Search alternating paths with three barriers a sweep, and stop as `rules` say.

    Paper: [L19 Alg.2], with the release's loop of checks ("looping the outer if" [L19 app.B]).
    Launch: one block a bin of columns.
    Reads/Writes: as `kernels.search.step_4`.
    Race: as there. The block's own two flags are in shared memory: every store is of a 1, and
    a barrier stands between each store, each clearing and each read of them.
    """
    n, lines = order
    found = cuda.shared.array(1, int32)
    path = cuda.shared.array(1, int32)
    thread = cuda.threadIdx.x
    b = cuda.blockIdx.x
    first = b * lines * n
    size = zeros.sizes[b]
    if thread == 0:
        path[0] = 0
    searched = 0
    for _ in range(n + 1):  # every sweep but the last covers a row for good
        cuda.syncthreads()
        if thread == 0:
            found[0] = 0
        cuda.syncthreads()
        for k in range(thread, size, cuda.blockDim.x):
            position = zeros.positions[first + k]
            column = position // n
            row = position - column * n
            for _ in range(rules.checks):
                if uncovered(covers, row, column):
                    if process(covers, marks, row, column, words.flags):
                        store_relaxed_block(found, 0, 1)
                    else:
                        store_relaxed_block(path, 0, 1)
        cuda.syncthreads()
        if found[0] == 0:
            break
        searched = 1
        if rules.stop and path[0] != 0:
            break
    if thread == 0:
        if searched:
            store_relaxed(words.flags, ZERO_FOUND, 1)
        send_signals(words)


# ---------------------------------------------------------------------------------- the matrix


@cuda.jit
def step_1_row_sub(n, cost, min_in_row, slack, row_dual):
    """Slack = cost minus the minimum of its row.

    Paper: [L19 Alg.9] for a minimization.  Launch: one thread an entry.
    Reads/Writes: reads ``cost`` once, and ``min_in_row``; writes ``slack`` and ``row_dual``.
    """
    i = cuda.grid(1)
    if i < n:
        row_dual[i] = min_in_row[i]
    if i < n * n:
        slack[i] = cost[i] - min_in_row[i % n]


@cuda.jit
def step_1_max_slack(n, cost, max_in_row, slack, row_dual):
    """Slack = the maximum of its row minus cost.

    Paper: [L19 Alg.9].  Launch: one thread an entry.
    Reads/Writes: reads ``cost`` once, and ``max_in_row``; writes ``slack`` and ``row_dual``.
    """
    i = cuda.grid(1)
    if i < n:
        row_dual[i] = max_in_row[i]
        row_dual[i] = -row_dual[i]
    if i < n * n:
        slack[i] = max_in_row[i % n] - cost[i]


@cuda.jit
def step_1_min_in_columns(n, columns_a_block, slack, top, min_in_column):
    """Minimum of every column: neighbouring threads read different columns.

    Paper: [L19 sec.4.7], "exchange rows and columns" of [L19 Alg.8].  Launch:
    ceil(n / columns_a_block) blocks of a power of two threads.
    Reads/Writes: reads ``slack`` once; writes ``min_in_column``.
    """
    shared = cuda.shared.array(MAX_BLOCK, slack.dtype)
    thread = cuda.threadIdx.x
    column = cuda.blockIdx.x * columns_a_block + thread % columns_a_block
    slice_rows = cuda.blockDim.x // columns_a_block
    least = top
    if column < n:
        for row in range(thread // columns_a_block, n, slice_rows):
            least = min(least, slack[column * n + row])
    shared[thread] = least
    block_min(shared, thread, columns_a_block)
    if thread < columns_a_block and column < n:
        min_in_column[column] = shared[thread]


@cuda.jit
def step_1_column_sub(n, slack, min_in_column, column_dual):
    """Subtract the minimum of its column from every slack.

    Paper: [L19 sec.4.7], last sentence.  Launch: one thread an entry.
    Reads/Writes: reads ``min_in_column``; ``slack`` in place, every entry; writes ``column_dual``.
    """
    i = cuda.grid(1)
    if i < n:
        column_dual[i] = min_in_column[i]
    if i < n * n:
        slack[i] = slack[i] - min_in_column[i // n]


@cuda.jit
def compress_matrix(n, lines, by_row, slack, zeros, zeros_size, flags, one_counter):
    """Collect the positions of all zeros, an entry a thread.

    Paper: [L19 Alg.7] [L19 sec.4.6].  ``one_counter``: count them on one word, too, as the paper's
    "zero_vector_size" and the release do.  Launch: one thread an entry.
    Reads/Writes: reads ``slack`` once; appends to ``zeros`` by an atomic increment of the bin's
    size, which must be 0 at the start; adds to ``flags[ALL_ZEROS]`` where it counts there, too.
    """
    i = cuda.grid(1)
    if i < n * n and slack[i] == 0:
        if one_counter:
            cuda.atomic.add(flags, ALL_ZEROS, 1)
        line = i % n if by_row else i // n
        bin_ = line // lines
        slot = cuda.atomic.add(zeros_size, bin_, 1)
        zeros[bin_ * lines * n + slot] = i


@cuda.jit
def step_6_add_sub(
    n, slack, covered_row, covered_column, minimum, zeros_size, row_dual, column_dual, flags
):
    """Add the minimum where both lines are covered, subtract it where neither is.

    Paper: [L19 Alg.6].  Launch: one thread an entry.
    Reads/Writes: reads the covers and ``minimum``; ``slack`` in place, only where it changes; moves
    the duals; clears ``zeros_size`` and ``flags[ALL_ZEROS]`` for the compression that follows.
    """
    i = cuda.grid(1)
    least = minimum[0]
    if i == 0:
        flags[ALL_ZEROS] = 0
    if i < n:
        if i < zeros_size.size:
            zeros_size[i] = 0
        if covered_row[i] != 0:
            row_dual[i] -= least
        if covered_column[i] == 0:
            column_dual[i] += least
    if i < n * n:
        column = i // n
        row = i - column * n
        if covered_row[row] != 0 and covered_column[column] != 0:
            slack[i] = slack[i] + least
        if covered_row[row] == 0 and covered_column[column] == 0:
            slack[i] = slack[i] - least


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64", "uint8")

_LINES = "int32[::1]"
SIGNATURES = {
    step_2: f"void(int32, int32, {', '.join([_LINES] * 7)})",
    step_3_init: f"void(int32, {', '.join([_LINES] * 3)})",
    step_3: f"void(int32, {', '.join([_LINES] * 3)})",
    step_4_init: f"void(int32, {', '.join([_LINES] * 2)})",
    step_4: (Order, Zeros, Covers, Marks, Words, Rules),
    step_1_row_sub: "void(int32, T[::1], T[::1], T[::1], D[::1])",
    step_1_max_slack: "void(int32, T[::1], T[::1], T[::1], D[::1])",
    step_1_min_in_columns: "void(int32, int32, T[::1], T, T[::1])",
    step_1_column_sub: "void(int32, T[::1], T[::1], D[::1])",
    compress_matrix: f"void(int32, int32, int32, T[::1], {', '.join([_LINES] * 3)}, int32)",
    step_6_add_sub: (
        f"void(int32, T[::1], {_LINES}, {_LINES}, T[::1], {_LINES}, D[::1], D[::1], {_LINES})"
    ),
}
"""As in `kernels.matrix`."""
