"""The kernels of [L19 sec.4] that search and match, one a step, named after it: steps 2 to 5.

Steps 1 and 6, which pass over the whole matrix, are in `kernels.matrix`, Appendix B's alternatives
of step 4 in `kernels.step_4`. The notation of all three modules:

========================  ==========================  =======================================
paper                     array                       dtype, shape
========================  ==========================  =======================================
slack                     slack                       int32/int64/float64/uint8 [n * n]
cost matrix A             cost                        as slack; not changed
zeros                     zeros                       int32 [n * n], in bins (see below)
size of zeros             zeros_size                  int32 [bins]
covered_row               covered_row                 int32 [n], 0 or 1
covered_column            covered_column              int32 [n], 0 or 1
row_of_star_at_column     row_of_star_at_column       int32 [n], -1: none
column_of_star_at_row     column_of_star_at_row       int32 [n], -1: none
column_of_prime_at_row    column_of_prime_at_row      int32 [n], -1: none
row_of_green_at_column    row_of_green_at_column      int32 [n], -1: none
minimum                   minimum                     as slack [1]
dual variables u, v       row_dual, column_dual       int64 or float64 [n]
"go to 5", "repeat"       flags                       int32 [FLAGS], see `Flag`
========================  ==========================  =======================================

``slack`` is stored column by column: entry (row, column) stands at ``column * n + row``. The
zeros of columns ``b * lines .. (b + 1) * lines - 1`` stand in bin ``b``, at
``zeros[b * lines * n ...]``, so that block ``b`` of step 4 reads its part of the graph in one
piece [L19 sec.4.4.1]; the alternatives A to C split by rows instead.

A thread is a line in `init` and step 3, a row in `step_5a` and a column in `step_5b`. In `step_2`
and `step_4` it takes zeros: of the whole list, and of its block's bin. `reference_parallel` has
the same steps as plain NumPy, thread by thread.

Step 4 and its alternatives take arrays together, in the named tuples of `kernels.arguments`.

Index arithmetic: Numba makes ``int32 * int32`` an int64, which positions in the matrix need.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.memory_order import load_relaxed, store_relaxed, store_release_system
from papers.lopes2019.kernels.arguments import Covers, Marks, Order, Words, Zeros


class Flag:
    """Indices into ``flags``."""

    MATCHES = 0
    """Starred zeros, counted by step 3."""
    PATH_FOUND = 1
    """Step 4 signals to go to step 5."""
    ZERO_FOUND = 2
    """Some block of this launch of step 4 uncovered a column: repeat the kernel."""
    BLOCKS_DONE = 3
    """Blocks of this launch of step 4 that have finished."""
    SIGNALS = 4
    """Launches of step 4 whose signals were sent to the host."""
    ZEROS = 5
    """Zeros after step 1."""
    ALL_ZEROS = 6
    """Zeros of the latest compression, where they are counted on one word (`kernels.printed`)."""
    READ_BY_HOST = 7
    """Not 0: the host reads these flags itself, and no word is sent."""


FLAGS = 8
MATCHES, PATH_FOUND, ZERO_FOUND = Flag.MATCHES, Flag.PATH_FOUND, Flag.ZERO_FOUND
BLOCKS_DONE, SIGNALS, ZEROS = Flag.BLOCKS_DONE, Flag.SIGNALS, Flag.ZEROS
ALL_ZEROS, READ_BY_HOST = Flag.ALL_ZEROS, Flag.READ_BY_HOST

# ---------------------------------------------------------------------------------- start


@cuda.jit
def init(n, zeros_size, row_of_star_at_column, column_of_star_at_row, covered_row, covered_column):
    """Clear the stars, the covers and the number of zeros.

    Paper: [L19 sec.4.1], the sentinel -1.  Launch: one thread a line, n in all.
    Reads/Writes: writes the five arrays, once each.
    """
    i = cuda.grid(1)
    if i < zeros_size.size:  # at most n bins
        zeros_size[i] = 0
    if i < n:
        row_of_star_at_column[i] = -1
        column_of_star_at_row[i] = -1
        covered_row[i] = 0
        covered_column[i] = 0


@cuda.jit
def star_padding(n, searched, row_of_star_at_column, covered_column):
    """Count the columns from `searched` on as starred: the padding of a rectangle.

    Paper: none; after `init`, where the costs are no square: see `papers.lopes2019.rectangle`.
    Launch: one thread a line, n in all.
    Reads/Writes: writes the two arrays. No row has its star there, so that nothing follows it.
    """
    i = cuda.grid(1)
    if searched <= i and i < n:
        row_of_star_at_column[i] = 0
        covered_column[i] = 1


# ---------------------------------------------------------------------------------- step 2


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
    """Star zeros greedily: a maximal set, no two in one line.

    Paper: [L19 Alg.1] [L19 sec.4.2].  Launch: one block, so that its barrier is the only
    synchronisation needed; a thread takes every blockDim-th zero.
    Reads/Writes: covers (cleared by `init`, left covered: step 3 resets them), stars.
    Race: ``atomic.exch`` makes one thread the owner of a row, then of a column. A thread that
    has the row but not the column gives the row back and asks for another round, because a
    third zero of that row may have been turned away meanwhile. Only owners star, so no line
    gets two stars; a round without a return leaves no star-able zero.  Each round covers a
    line for good, hence at most 2 n rounds.
    """
    thread = cuda.threadIdx.x
    if thread == 0:
        count = 0
        for b in range(zeros_size.size):
            count += zeros_size[b]
        flags[ZEROS] = count
    for _ in range(2 * n + 1):
        again = 0
        for b in range(zeros_size.size):
            first = b * lines * n
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


# ---------------------------------------------------------------------------------- step 3


@cuda.jit
def step_3_init(
    n, covered_row, covered_column, column_of_prime_at_row, row_of_green_at_column, flags
):
    """Uncover everything, erase primes and greens, forget the last search.

    Paper: [L19 sec.4.3], the initialization kernel; erasing the primes is step 5's last sentence
    [L19 sec.2.1].  Launch: one thread a line, n in all.
    Reads/Writes: writes the four arrays, once each, and two flags.
    """
    i = cuda.grid(1)
    if i == 0:
        flags[MATCHES] = 0
        flags[PATH_FOUND] = 0
    if i < n:
        covered_row[i] = 0
        covered_column[i] = 0
        column_of_prime_at_row[i] = -1
        row_of_green_at_column[i] = -1


@cuda.jit
def step_3(n, row_of_star_at_column, covered_column, flags):
    """Cover each column that has a starred zero, and count the starred zeros.

    Paper: [L19 sec.4.3].  Launch: one thread a column, n in all.
    Reads/Writes: reads the stars; writes ``covered_column``; adds to ``flags[MATCHES]``, one
    atomic a block instead of one a star.
    """
    i = cuda.grid(1)
    starred = 0
    if i < n and row_of_star_at_column[i] >= 0:
        covered_column[i] = 1
        starred = 1
    count = cuda.syncthreads_count(int32(starred))
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(flags, MATCHES, count)


# ---------------------------------------------------------------------------------- step 4


@cuda.jit(device=True)
def send_signals(words):
    """One thread of each block calls this last; the last block of the launch tells the host.

    It is no part of the search: skip it at a first reading and go on at `fence`.
    Everything the host must know is packed into one 64-bit store (`decode_signal` in host.py),
    so that it can watch a single word of mapped memory instead of synchronising and copying.
    A host that reads the flags itself, after the kernel, is sent nothing.
    """
    flags, signal = words.flags, words.signal
    if flags[READ_BY_HOST] != 0:
        return
    cuda.threadfence()  # this block's signals before its tick
    if cuda.atomic.add(flags, BLOCKS_DONE, 1) == cuda.gridDim.x - 1:
        cuda.threadfence()  # every block's tick before its signals are read
        sequence = flags[SIGNALS] + 1
        flags[SIGNALS] = sequence
        word = (sequence << 34) | (load_relaxed(flags, PATH_FOUND) << 33)
        word |= (load_relaxed(flags, ZERO_FOUND) << 32) | flags[MATCHES]
        flags[BLOCKS_DONE] = 0
        flags[ZERO_FOUND] = 0
        store_release_system(signal, 0, word)


@cuda.jit(device=True)
def fence():
    """``fence.sc`` over all threads of the launch: a lone block needs only its own scope."""
    if cuda.gridDim.x == 1:
        cuda.threadfence_block()
    else:
        cuda.threadfence()


@cuda.jit(device=True)
def uncovered(covers, row, column):
    """Whether a zero is uncovered: the column is asked first, then the row [L19 Thm.1 S2].

    An uncovered column was reached by the search, a covered row as well: the zero leads on if its
    column was reached and its row was not. Who sees the column uncovered must also see the row
    covered that uncovered it (S3), and the zeros of a row must see such changes in one order (S4).
    The fence between the two reads keeps S2 and, as all of a launch's fences have one order that
    every thread agrees on, S4: it is the moment at which this zero is checked. A row once covered
    stays so until step 3, so that only a yes needs the fence.
    """
    if load_relaxed(covers.column, column) != 0:
        return False
    if load_relaxed(covers.row, row) != 0:
        return False
    fence()
    return load_relaxed(covers.row, row) == 0


@cuda.jit(device=True)
def process(covers, marks, row, column, flags):
    """Prime a zero and follow its row's star, or signal a path [L19 Def.2].

    S1: the prime is one 32-bit word a row, so the last writer's whole value stays. S3: the row is
    covered, a fence, then the star's column is uncovered. Returns 1 if a column was uncovered,
    so that there may be new zeros to check, 0 at the end of a path. A row without a star is
    never covered, so later sweeps prime it again, which changes nothing but the path's beginning.
    """
    store_relaxed(marks.prime, row, column)
    star = marks.star[row]
    if star < 0:
        store_relaxed(flags, PATH_FOUND, 1)
        return 0
    store_relaxed(covers.row, row, 1)
    fence()
    store_relaxed(covers.column, star, 0)
    return 1


@cuda.jit
def step_4(order, zeros, covers, marks, words, checks, most):
    """Search alternating paths: prime uncovered zeros until the block can uncover no more columns.

    Paper: [L19 Alg.2] [L19 sec.4.4.1].  Launch: one block a bin of columns; restarted by the host
    while some block uncovered a column and none found a path (the paper's global
    synchronisation, S5).  A thread that ends a path signals and goes on, so one search finds many.
    A zero is looked at `checks` times between two barriers: meanwhile another block may have
    uncovered it, which saves a restart ("looping the outer if" [L19 app.B]). A block with more than
    `most` zeros, or alone, looks once: it has no time to wait, or nobody to wait for.
    Reads/Writes: covers both ways, primes, flags.
    Race: blocks and threads read covers that others change. [L19 Thm.1] shows that every such run
    equals a serial one as long as S1 to S5 hold: S1 and S3 are kept in `process`, S2 and S4 in
    `uncovered`, S5 by the loop here and the restart. On today's memory model: S1, one relaxed
    32-bit store; S2, S3 and S4, ``fence.sc`` (`fence`; scope gpu, or cta when the block is alone):
    each check and each cover has one such fence between its two accesses, these fences have a
    single order, and a check that saw a column uncovered stands after the cover that uncovered it
    in that order. So a later check sees the row covered, as the proof's step 3 asks. The loads are
    ``ld.relaxed.gpu``: never moved, never from a stale L1 line.
    """
    n, lines = order
    thread = cuda.threadIdx.x
    b = cuda.blockIdx.x
    first = b * lines * n
    size = zeros.sizes[b]
    searched = 0
    if size > most or cuda.gridDim.x == 1:
        checks = int32(1)
    for _ in range(n + 1):  # every sweep but the last covers a row for good
        found = 0
        for k in range(thread, size, cuda.blockDim.x):
            position = zeros.positions[first + k]
            column = position // n
            row = position - column * n
            for _ in range(checks):
                if uncovered(covers, row, column):
                    found |= process(covers, marks, row, column, words.flags)
                    break
        if cuda.syncthreads_or(int32(found)) == 0:
            break
        searched = 1
    if thread == 0:
        if searched:
            store_relaxed(words.flags, ZERO_FOUND, 1)
        send_signals(words)


# ---------------------------------------------------------------------------------- step 5


@cuda.jit
def step_5a(
    n,
    row_of_star_at_column,
    column_of_star_at_row,
    column_of_prime_at_row,
    row_of_green_at_column,
):
    """Mark the paths green from their free row on, forward along primes and stars.

    Paper: [L19 Alg.3] [L19 sec.4.5].  Launch: one thread a row, n in all.
    Reads/Writes: reads stars and primes, writes greens.
    Race: where two paths join, both threads store a green for the same column and then walk the
    same way on. One word a column: the last store wins, and either row is a valid predecessor.
    """
    row = cuda.grid(1)
    if row >= n:
        return
    column = column_of_prime_at_row[row]
    if column < 0 or column_of_star_at_row[row] >= 0:
        return
    store_relaxed(row_of_green_at_column, column, row)
    for _ in range(n):  # a path visits a column once
        row = row_of_star_at_column[column]
        if row < 0:
            break
        column = column_of_prime_at_row[row]
        store_relaxed(row_of_green_at_column, column, row)


@cuda.jit
def step_5b(
    n,
    row_of_star_at_column,
    column_of_star_at_row,
    row_of_green_at_column,
):
    """Apply the green paths backward, from their free column: star greens, drop old stars.

    Paper: [L19 Alg.4] [L19 sec.4.5].  Launch: one thread a column, n in all.
    `evidence.photos.fig_2` draws greens beside primes that got none.
    Reads/Writes: reads greens, moves stars.
    Race: none that matters. A row has one prime and a column one green, so two paths traced back
    from two free columns share no line; a thread that asks whether *its* column is starred sees
    only its own path's change, since a starred column stays starred.
    """
    column = cuda.grid(1)
    if column >= n:
        return
    row = row_of_green_at_column[column]
    if row < 0 or row_of_star_at_column[column] >= 0:
        return
    for _ in range(n):  # a path visits a column once
        next_column = column_of_star_at_row[row]
        column_of_star_at_row[row] = column
        row_of_star_at_column[column] = row
        if next_column < 0:
            break
        column = next_column
        row = row_of_green_at_column[column]


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32",)

_LINES = "int32[::1]"
SIGNATURES = {
    init: f"void(int32, {', '.join([_LINES] * 5)})",
    star_padding: f"void(int32, int32, {_LINES}, {_LINES})",
    step_2: f"void(int32, int32, {', '.join([_LINES] * 7)})",
    step_3_init: f"void(int32, {', '.join([_LINES] * 5)})",
    step_3: f"void(int32, {', '.join([_LINES] * 3)})",
    step_4: (Order, Zeros, Covers, Marks, Words, "int32", "int32"),
    step_5a: f"void(int32, {', '.join([_LINES] * 4)})",
    step_5b: f"void(int32, {', '.join([_LINES] * 3)})",
}
"""Types that each kernel is compiled for; none of these reads the slack matrix."""
