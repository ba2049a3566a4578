"""Prefix sum on the device.

Why not a library's: `cuda.compute` (CCCL) has a device scan for Numba arrays, but it cannot run in
the CPU executor, so the kernels around it could not be tested without a GPU; it compiles for
seconds at its first call; and it is launched through its own Python layer, not through
`papers.common.gpu.launch`, which costs more than the scan of one entry a row takes. The numbers are
in the README of `papers/datenagi2016`, which scans a few ten thousand counts at most.
"""

from __future__ import annotations

from numba import cuda, int32

from papers.common.gpu.reductions import block_scan

ITEMS = 4
"""Entries a thread takes at a time."""


@cuda.jit(device=True)
def scan_share(first, last, carry, values, sums, totals):
    """Scan entries ``first .. last - 1``, before which the sum is ``carry``, with one block.

    All threads of the block, which is of whole warps, call it; ``sums`` may be ``values``. The
    block walks over the entries in tiles of ``ITEMS`` a thread and carries the sum from tile to
    tile; ``totals`` is shared int32[32]. Returns the sum of all, with ``carry``.
    """
    for start in range(first, last, ITEMS * cuda.blockDim.x):
        begin = start + ITEMS * cuda.threadIdx.x
        end = min(begin + ITEMS, last)
        own = int32(0)
        for k in range(begin, end):
            own = int32(own + values[k])
        before, total = block_scan(own, totals)
        running = int32(carry + before)
        for k in range(begin, end):
            value = values[k]
            sums[k] = running
            running = int32(running + value)
        carry = int32(carry + total)
    return carry


@cuda.jit(device=True)
def scan_by_block(n, values, sums, totals):
    """Scan the first ``n`` entries with one block; see `scan_share`. Returns their sum."""
    return scan_share(int32(0), n, int32(0), values, sums, totals)


@cuda.jit
def exclusive_scan(n, values, sums):
    """``sums[k] = values[0] + ... + values[k - 1]`` for k = 0 .. n; the total must fit int32.

    Paper: none; in place of a library's scan, see the module.  Launch: one block of whole warps;
    see `scan_by_block`.
    Reads/Writes: reads ``values``, writes ``sums[0 .. n]``, once each.
    """
    totals = cuda.shared.array(32, int32)
    total = scan_by_block(n, values, sums, totals)
    if cuda.threadIdx.x == 0:
        sums[n] = total


ELEMENT_TYPES = ("int32",)
SIGNATURES = {exclusive_scan: "void(int32, int32[::1], int32[::1])"}
"""Types that the kernel is compiled for."""
