"""The alternatives A, B and C of step 4 [L19 app.B], to be compared with `kernels.search.step_4`.

All three split the zeros by rows (bins of rows), so that the zeros of one row are checked by one
block. A and C hold the covers in shared memory: cheap to read, but another block's changes are
seen only after the kernel is restarted. B and C first pick one uncovered zero a row, then process
the picked ones.

In shared memory a block's ``fence.sc`` between the two accesses of each check and of each cover
keeps S2, S3 and, having one order in the block, S4: a row's zeros live in one block [L19 app.A].
The paper's "volatile" is ``ld.relaxed.cta`` and ``st.relaxed.cta`` here: re-read every time. Where
threads may store to one word at once (covers, primes, candidates) the stores are relaxed too.
"""

from __future__ import annotations

from numba import cuda, int32, uint8

from papers.common.gpu.memory_order import (
    load_relaxed,
    load_relaxed_block,
    store_relaxed,
    store_relaxed_block,
)
from papers.lopes2019.kernels.arguments import Covers, Marks, Order, Words, Zeros
from papers.lopes2019.kernels.search import PATH_FOUND, ZERO_FOUND, process, send_signals, uncovered


@cuda.jit(device=True)
def read_covers(n, covers, shared):
    """Copy the covers into shared memory: rows at [0, n), columns at [n, 2 n)."""
    for line in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        shared[line] = load_relaxed(covers.row, line)
        shared[n + line] = load_relaxed(covers.column, line)
    cuda.syncthreads()


@cuda.jit(device=True)
def write_covers(n, covers, shared):
    """Write back this block's changes: rows covered and columns uncovered, nothing else.

    Rows covered are the union over the blocks, columns covered the intersection [L19 app.B (A)];
    several blocks may store the same value to one word.
    """
    cuda.syncthreads()
    for line in range(cuda.threadIdx.x, n, cuda.blockDim.x):
        if shared[line] != 0:
            store_relaxed(covers.row, line, 1)
        if shared[n + line] == 0:
            store_relaxed(covers.column, line, 0)
    cuda.syncthreads()


@cuda.jit(device=True)
def process_shared(n, shared, marks, row, column, flags):
    """As `kernels.search.process`, on covers in shared memory."""
    store_relaxed(marks.prime, row, column)
    star = marks.star[row]
    if star < 0:
        store_relaxed(flags, PATH_FOUND, 1)
        return 0
    store_relaxed_block(shared, row, 1)
    cuda.threadfence_block()  # S3
    store_relaxed_block(shared, n + star, 0)
    return 1


@cuda.jit
def step_4_a(order, zeros, covers, marks, words):
    """Split by rows, all zeros in parallel, covers in shared memory.

    Paper: [L19 app.B (A)].  Launch: one block a bin of rows, 2 n bytes of dynamic shared memory.
    Reads/Writes: reads the covers at the start, writes the changed ones at the end.
    Race: as in `kernels.search.step_4` within a block; between blocks only the restart carries
    changes. Zeros of one row are checked by several threads of one block: each primes, all cover
    the same row and uncover the same column, and the prime word keeps one of them.
    """
    n, lines = order
    shared = cuda.shared.array(0, uint8)
    thread = cuda.threadIdx.x
    b = cuda.blockIdx.x
    first = b * lines * n
    size = zeros.sizes[b]
    read_covers(n, covers, shared)
    searched = 0
    for _ in range(n + 1):
        found = 0
        for k in range(thread, size, cuda.blockDim.x):
            position = zeros.positions[first + k]
            column = position // n
            row = position - column * n
            if load_relaxed_block(shared, n + column) == 0:  # S2: the column first
                cuda.threadfence_block()
                if load_relaxed_block(shared, row) == 0:
                    found |= process_shared(n, shared, marks, row, column, words.flags)
        if cuda.syncthreads_or(int32(found)) == 0:
            break
        searched = 1
    write_covers(n, covers, shared)
    if thread == 0:
        if searched:
            store_relaxed(words.flags, ZERO_FOUND, 1)
        send_signals(words)


@cuda.jit
def step_4_b(order, zeros, covers, marks, words, zero_of_row):
    """Split by rows, one zero a row, covers in global memory.

    Paper: [L19 app.B (B)].  Launch: one block a bin of rows; ``zero_of_row`` is int32 [n], -1.
    Reads/Writes: as `kernels.search.step_4`; ``zero_of_row`` is left at -1.
    Race: several threads may write one row's candidate; any of them is an uncovered zero of that
    row, and after the barrier one is left. From there a row has one thread.
    """
    n, lines = order
    thread = cuda.threadIdx.x
    b = cuda.blockIdx.x
    first = b * lines * n
    size = zeros.sizes[b]
    searched = 0
    for _ in range(n + 1):
        found = 0
        for k in range(thread, size, cuda.blockDim.x):
            position = zeros.positions[first + k]
            column = position // n
            row = position - column * n
            if uncovered(covers, row, column):
                store_relaxed(zero_of_row, row, column)
        cuda.syncthreads()
        for row in range(b * lines + thread, min((b + 1) * lines, n), cuda.blockDim.x):
            column = zero_of_row[row]
            if column >= 0:
                zero_of_row[row] = -1
                found |= process(covers, marks, row, column, words.flags)
        if cuda.syncthreads_or(int32(found)) == 0:
            break
        searched = 1
    if thread == 0:
        if searched:
            store_relaxed(words.flags, ZERO_FOUND, 1)
        send_signals(words)


@cuda.jit
def step_4_c(order, zeros, covers, marks, words, zero_of_row):
    """Split by rows, one zero a row, covers in shared memory.

    Paper: [L19 app.B (C)].  Launch: one block a bin of rows, 2 n bytes of dynamic shared memory;
    ``zero_of_row`` is int32 [n], -1.
    Reads/Writes: as `step_4_a`.
    Race: as `step_4_b`.
    """
    n, lines = order
    shared = cuda.shared.array(0, uint8)
    thread = cuda.threadIdx.x
    b = cuda.blockIdx.x
    first = b * lines * n
    size = zeros.sizes[b]
    read_covers(n, covers, shared)
    searched = 0
    for _ in range(n + 1):
        found = 0
        for k in range(thread, size, cuda.blockDim.x):
            position = zeros.positions[first + k]
            column = position // n
            row = position - column * n
            # No thread changes a cover before the barrier, so plain reads will do.
            if shared[n + column] == 0 and shared[row] == 0:
                store_relaxed(zero_of_row, row, column)
        cuda.syncthreads()
        for row in range(b * lines + thread, min((b + 1) * lines, n), cuda.blockDim.x):
            column = zero_of_row[row]
            if column >= 0:
                zero_of_row[row] = -1
                found |= process_shared(n, shared, marks, row, column, words.flags)
        if cuda.syncthreads_or(int32(found)) == 0:
            break
        searched = 1
    write_covers(n, covers, shared)
    if thread == 0:
        if searched:
            store_relaxed(words.flags, ZERO_FOUND, 1)
        send_signals(words)


_TUPLES = (Order, Zeros, Covers, Marks, Words)
ELEMENT_TYPES = ("int32",)
SIGNATURES = {
    step_4_a: _TUPLES,
    step_4_b: (*_TUPLES, "int32[::1]"),
    step_4_c: (*_TUPLES, "int32[::1]"),
}
"""As in `kernels.search`; none of these reads the slack matrix."""
