"""The tree variant's forward pass on strips of columns, all ranks in step without a host.

Past the paper, which goes back to the host for every level [DN16 sec.5] (4b): one cooperative
launch a rank makes the whole pass, and the ranks' kernels write into each other's memory
(`papers.common.mpi.windows`). Notation in `kernels.shared` and `several_gpus.kernels.strips`; the
window's layout is in `several_gpus.kernels.window`.

Every word but a theta says which exchange it belongs to, so that words may come in any order: who
reads one looks at it until it is the exchange's. Nothing between the ranks is fenced in a search.

An exchange is counted on all ranks alike (``flags[EXCHANGES]``, from 0 in every run, below 2^29:
the host clears the window before); its turn is its last bit. Nobody writes a turn anew
before all have read it: a rank writes exchange e + 2 only after it has seen the word of e + 1 of
all others, which they send when they are done with the lists of e. (To the letter of the memory
model two GPUs are ordered there by control alone: the word read has decided a branch.)

Every wait ends after ``patience`` looks at a word that does not come. It then sets
``flags[GAVE_UP]``, at which the rank's other waits end, too: a pass comes to its end on whatever
stands in the lists, rows all of them, and tells the host that its result is none.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import (
    load_acquire_system,
    load_relaxed,
    load_relaxed_system,
    pause,
    release_at,
    store_at,
)
from papers.common.gpu.reductions import FULL_WARP, warp_rank
from papers.common.mpi.windows import MOST as MOST_RANKS
from papers.datenagi2016.kernels.arguments import (
    Assignments,
    Forest,
    Limits,
    Matrix,
    Share,
    Window,
)
from papers.datenagi2016.kernels.shared import ACTIVE, LEVELS, MAX_BLOCK, REVERSE
from papers.datenagi2016.kernels.tree import append, least_of_rows, least_of_shares, shares_of
from papers.datenagi2016.several_gpus.kernels.strips import (
    ARRIVED,
    EXCHANGES,
    GAVE_UP,
    OUT,
    ROWS,
    tell_host,
    unless_given_up,
)
from papers.datenagi2016.several_gpus.kernels.tree import arrive, lower_slack, rows_and_path
from papers.datenagi2016.several_gpus.kernels.window import lists_at, thetas_at

ROWS_MASK = (1 << 33) - 1


@cuda.jit(device=True)
def awaited(words, place, shift, tag, patience, flags):
    """The word at a place, once its upper bits are the tag, or when the wait was given up.

    A thread that gives up sets ``flags[GAVE_UP]``; one that has waited for a while looks there.
    """
    word = load_relaxed_system(words, place)
    looks = int32(0)
    while word >> shift != tag:
        looks = int32(looks + 1)
        late = looks & 1023 == 0 and load_relaxed(flags, GAVE_UP) != 0
        if looks >= patience or late:
            flags[GAVE_UP] = 1
            break
        pause()
        word = load_relaxed_system(words, place)
    return word


@cuda.jit(device=True)
def append_at_all(flag, row, epoch, rank, parts, stride, addresses, flags):
    """Append the rows of a warp's flagged lanes to this rank's list in every rank's memory."""
    before, total = warp_rank(flag)
    if total > 0:
        base = int32(0)
        if cuda.threadIdx.x & 31 == 0:
            base = cuda.atomic.add(flags, OUT + (epoch & 1), total)
        base = cuda.shfl_sync(FULL_WARP, base, 0)
        if flag:
            place = lists_at(parts) + ((epoch & 1) * parts + rank) * stride + base + before
            for other in range(parts):
                store_at(addresses[other], place, (epoch << 32) | row)


@cuda.jit(device=True)
def send_word(epoch, rank, parts, addresses, flags):
    """End this block's part of an exchange; the last block tells all ranks how many rows came.

    Half a barrier of the grid: no block waits here, because `await_words` waits for this rank,
    too.
    The counter of the rows is cleared two exchanges before it is used again; that of the blocks
    goes on through a pass.
    """
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        if (cuda.atomic.add(flags, ARRIVED, 1) + 1) % cuda.gridDim.x == 0:
            cuda.threadfence()
            word = (epoch << 34) | cuda.atomic.exch(flags, OUT + (epoch & 1), 0)
            if load_relaxed(flags, REVERSE) > 0:
                word |= int64(1) << 33
            for other in range(parts):
                store_at(addresses[other], (epoch & 1) * parts + rank, word)


@cuda.jit(device=True)
def await_words(epoch, parts, patience, words, counts, flags):
    """Wait for every rank's word of an exchange; (rows of all, whether a free column is known).

    The first threads of every block wait, each for one rank; ``counts`` is shared int64[32]. No
    rows are there for a block that gives up its wait.
    """
    if cuda.threadIdx.x < parts:
        word = awaited(words, (epoch & 1) * parts + cuda.threadIdx.x, 34, epoch, patience, flags)
        came = word >> 34 == epoch
        counts[cuda.threadIdx.x] = word & ((int64(1) << 34) - 1) if came else int64(-1)
        cuda.threadfence()  # with that of `send_word`: this rank's blocks have written
    cuda.syncthreads()
    total, path = int64(0), False
    for part in range(parts):
        if counts[part] < 0:
            return int64(0), False
        total += counts[part] & ROWS_MASK
        path = path or counts[part] > ROWS_MASK
    return total, path


@cuda.jit(device=True)
def row_at(k, epoch, parts, stride, patience, counts, lists, flags):
    """Row k of the ranks' lists, one behind the other, once it has come."""
    part = 0
    many = counts[0] & ROWS_MASK
    while k >= many:
        k -= many
        part += 1
        many = counts[part] & ROWS_MASK
    place = ((epoch & 1) * parts + part) * stride + k
    word = awaited(lists, place, 32, epoch, patience, flags)
    return int32(word & 0x7FFFFFFF)


@cuda.jit(max_registers=64)
def forward_pass(
    share, limits, patience, matrix, assignments, forest, window, frontier_reverse, flags, signal
):
    """The search of `kernels.tree.forward_pass`, shared between the ranks by columns.

    Paper: [DN16 Alg.4] [DN16 sec.5] (4b); the frontier is sent by the kernel that finds it.
    Launch: cooperative, on all ranks; blocks of a power of two of warps and of at least
    ``parts`` threads, as many as are resident at once at most.
    Ends: a level that brings no row is the last; `awaited` bounds every wait.
    Reads/Writes: as `kernels.tree.forward_pass` on this rank's columns. The first frontier are
    the active rows in ``first_row .. last_row``: each rank sends its share. Rows that arrive
    become visited and uncovered, and their own column precedes them, on every rank.
    Race: none on columns (one warp each); rows arrive once, but for those that a dual update
    woke on several ranks, which are written alike. What a rank's blocks have written is carried
    by their fences and atomics to the last of them, and with its word to all of them: no barrier
    stands between two levels but the words.
    """
    grid = cuda.cg.this_grid()
    shared_least = cuda.shared.array(MAX_BLOCK, matrix.cost.dtype)
    shared_best = cuda.shared.array(MAX_BLOCK, int32)
    shared_rows = cuda.shared.array(MAX_BLOCK, int32)
    counts = cuda.shared.array(MOST_RANKS, int64)
    rank, parts, stride, columns = share.rank, share.parts, share.stride, share.columns
    lists, addresses = window.lists, window.addresses
    thread, warps = cuda.threadIdx.x, cuda.blockDim.x >> 5
    lane, warp = thread & 31, thread >> 5
    leader = cuda.grid(1) == 0
    groups = (columns + 31) >> 5
    epoch = int64(flags[EXCHANGES]) + 1
    if leader:
        flags[ARRIVED] = 0
    grid.sync()  # which makes the launch cooperative, too
    reached, expanded = int64(0), int64(0)
    for start in range(share.first_row, share.last_row, cuda.gridsize(1)):
        i = start + cuda.grid(1)
        active = False
        if i < share.last_row:
            active = forest.marks.row[i] == ACTIVE
        append_at_all(active, i, epoch, rank, parts, stride, addresses, flags)
    level, path = 0, False
    most = parts * stride + 2  # every level but the first and the last covers a column for good
    while level < most:
        send_word(epoch, rank, parts, addresses, flags)
        size, path = await_words(epoch, parts, patience, window.words, counts, flags)
        if size == 0:
            break
        reached += size if level > 0 else 0
        expanded += size
        # The last blocks have the fewest columns.
        for k in range(cuda.gridsize(1) - 1 - cuda.grid(1), size, cuda.gridsize(1)):
            row = row_at(k, epoch, parts, stride, patience, counts, lists, flags)
            arrive(row, assignments.row, forest)
        shares = shares_of(size, groups, warps)
        here = warps // shares
        for start in range(cuda.blockIdx.x * here, groups, cuda.gridDim.x * here):
            group = start + warp // shares
            part = warp % shares
            j = group * 32 + lane
            uncovered = group < groups and j < columns
            if uncovered:
                uncovered = forest.covers.column[j] == 0
            least, best = limits.top, int32(-1)
            for base in range(0, size, cuda.blockDim.x):
                some = int32(min(size - base, int64(cuda.blockDim.x)))
                if thread < some:
                    shared_rows[thread] = row_at(
                        base + thread, epoch, parts, stride, patience, counts, lists, flags
                    )
                cuda.syncthreads()
                if uncovered:
                    value, row = least_of_rows(
                        part, shares, some, columns, j, matrix.duals.column[j], limits.top,
                        matrix, shared_rows, 0,
                    )  # fmt: skip
                    if value < least:
                        least, best = value, row
                cuda.syncthreads()
            least, best = least_of_shares(part, shares, least, best, shared_least, shared_best)
            if part == 0:
                grows, ends, found = False, False, int32(-1)
                if uncovered:
                    grows, ends, found = lower_slack(
                        j, least, best, limits.zero, assignments.column, forest
                    )
                append_at_all(grows, found, epoch + 1, rank, parts, stride, addresses, flags)
                append(ends, j, frontier_reverse, 0, flags, REVERSE)
        epoch += 1
        level += 1
    if leader:
        flags[EXCHANGES] = epoch
        flags[LEVELS] += level
        flags[ROWS] += expanded
        if level == most:
            flags[GAVE_UP] = 1
        tell_host(unless_given_up(rows_and_path(reached, path), flags), flags, signal)


@cuda.jit
def share_theta(rank, parts, patience, words, thetas, addresses, theta, flags):
    """Make theta the smallest of the ranks' thetas, on every rank.

    Paper: [DN16 sec.5] (5), "the minimum ... is broadcast", without a root.
    Launch: one block of at least ``parts`` threads, on all ranks.
    Reads/Writes: ``theta`` as an integer: the bits of a positive double compare as it does.
    """
    found = cuda.shared.array(MOST_RANKS, int64)
    thread = cuda.threadIdx.x
    epoch = int64(flags[EXCHANGES]) + 1
    place = (epoch & 1) * parts
    if thread < parts:
        store_at(addresses[thread], thetas_at(parts) + place + rank, theta[0])
        release_at(addresses[thread], place + rank, epoch << 34)
        awaited(words, place + thread, 34, epoch, patience, flags)
        load_acquire_system(words, place + thread)  # the theta was written before the word
        found[thread] = thetas[place + thread]
    cuda.syncthreads()
    if thread == 0:
        least = found[0]
        for other in range(1, parts):
            least = min(least, found[other])
        theta[0] = least
        flags[EXCHANGES] = epoch


# ---------------------------------------------------------------------------------- types

ELEMENT_TYPES = ("int32", "int64", "float64")

_LINES = "int32[::1]"
_WORDS = "int64[::1]"
SIGNATURES = {
    forward_pass: (
        Share, Limits, "int32", Matrix, Assignments, Forest, Window, _LINES, _LINES, _WORDS,
    ),
    share_theta: f"void(int32, int32, int32, {_WORDS}, {_WORDS}, {_WORDS}, {_LINES}, {_LINES})",
}  # fmt: skip
"""The types that each kernel is compiled for; ``T`` stands for each of `ELEMENT_TYPES`.
`share_theta` takes a theta of 64 bits, too."""
