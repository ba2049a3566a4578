"""Reductions and prefix sums over a warp and over a block."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import cuda, int32, int64, types
from numba.cuda.extending import intrinsic

FULL_WARP = 0xFFFFFFFF


def _make_reduction(operation: str) -> Any:
    @intrinsic
    def reduction(typingctx: Any, value: Any) -> Any:
        if value != types.int32:
            raise TypeError("an int32 is needed")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word = ir.IntType(32)
            text = f"redux.sync.{operation} $0, $1, 0xffffffff;"
            kind = ir.FunctionType(word, [word])
            asm = ir.InlineAsm(kind, text, "=r,r,~{memory}", side_effect=True)
            # All lanes meet in it: the optimizer may not copy it into the branches before it.
            return builder.call(asm, args, attrs=("convergent",))

        return types.int32(value), codegen

    return reduction


def _min_by_shuffles(value: Any) -> Any:
    for distance in (16, 8, 4, 2, 1):
        value = min(value, cuda.shfl_xor_sync(FULL_WARP, value, distance))
    return value


def _or_by_shuffles(value: Any) -> Any:
    for distance in (16, 8, 4, 2, 1):
        value = value | cuda.shfl_xor_sync(FULL_WARP, value, distance)
    return value


warp_min_int32 = _make_reduction("min.s32")
"""Minimum of an int32 over the 32 lanes of a full warp, in one instruction; all get it."""

warp_or = _make_reduction("or.b32")
"""All bits that are set in an int32 of some lane of a full warp, in one instruction."""

warp_min_int32.__executor__, warp_or.__executor__ = _min_by_shuffles, _or_by_shuffles


@cuda.jit(device=True)
def warp_min(value):
    """Minimum over the 32 lanes of a full warp; every lane gets it."""
    for distance in (16, 8, 4, 2, 1):
        value = min(value, cuda.shfl_xor_sync(FULL_WARP, value, distance))
    return value


@cuda.jit(device=True)
def warp_min_int64(value):
    """As `warp_min`, of an int64, by two instructions: first the upper halves, then the lower."""
    high = int32(value >> 32)
    least_high = warp_min_int32(high)
    low = int32((value & 0xFFFFFFFF) - 0x80000000)  # in the order of unsigned words
    if high != least_high:
        low = int32(0x7FFFFFFF)
    least_low = warp_min_int32(low)
    return (int64(least_high) << 32) + (int64(least_low) + 0x80000000)


@cuda.jit(device=True)
def warp_least(value, place):
    """A warp's least value and its place, of equal ones the least; every lane gets them."""
    for distance in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(FULL_WARP, value, distance)
        there = cuda.shfl_xor_sync(FULL_WARP, place, distance)
        if other < value or (other == value and there < place):
            value, place = other, there
    return value, place


@cuda.jit(device=True)
def warp_sum(value):
    """Sum over the 32 lanes of a full warp; every lane gets it."""
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL_WARP, value, distance)
    return value


@cuda.jit(device=True)
def warp_rank(flag):
    """Exclusive prefix sum of a predicate over a full warp: (rank of the lane, total)."""
    votes = cuda.ballot_sync(FULL_WARP, flag)
    return int32(cuda.popc(votes & cuda.lanemask_lt())), int32(cuda.popc(votes))


def _scans_of(kind: Any) -> tuple[Any, Any]:
    """Make the prefix sums of a warp and of a block, for numbers of a type of Numba's."""

    @cuda.jit(device=True)
    def warp_scan(value):
        """Inclusive prefix sum over a full warp [Blelloch 1990]: five shuffles."""
        lane = cuda.threadIdx.x & 31
        for distance in (1, 2, 4, 8, 16):
            below = cuda.shfl_up_sync(FULL_WARP, value, distance)
            if lane >= distance:
                value = kind(value + below)
        return value

    @cuda.jit(device=True)
    def block_scan(value, totals):
        """Exclusive prefix sum over a block: (sum of the threads before, sum of all).

        Every thread of the block calls it; the block is a whole number of warps.

        Parameters
        ----------
        value : T
            The thread's own.
        totals : shared T[32]
            Scratch; free again on return.
        """
        lane = cuda.threadIdx.x & 31
        warp = cuda.threadIdx.x >> 5
        inclusive = warp_scan(kind(value))
        if lane == 31:
            totals[warp] = inclusive
        cuda.syncthreads()
        mine = kind(0)
        if lane < cuda.blockDim.x >> 5:
            mine = totals[lane]
        sums = warp_scan(mine)
        before = cuda.shfl_sync(FULL_WARP, kind(sums - mine), warp)
        total = cuda.shfl_sync(FULL_WARP, sums, 31)
        cuda.syncthreads()
        return kind(before + inclusive - value), total

    return warp_scan, block_scan


warp_scan, block_scan = _scans_of(int32)
block_scan_int64 = _scans_of(int64)[1]


@cuda.jit(device=True)
def block_max(shared, thread, stop):
    """As `block_min`, for maxima."""
    half = cuda.blockDim.x >> 1
    while half >= stop:
        cuda.syncthreads()
        if thread < half:
            shared[thread] = max(shared[thread], shared[thread + half])
        half >>= 1
    cuda.syncthreads()


@cuda.jit(device=True)
def block_min(shared, thread, stop):
    """Tree reduction in shared memory: `shared`'s minima over residues modulo `stop`.

    Afterwards ``shared[k]`` for ``k < stop`` is the minimum of all ``shared[k + j * stop]``. The
    block size and `stop` are powers of two. Every halving ends in a barrier, the last five too:
    since Volta the lanes of a warp do not run in step.

    Parameters
    ----------
    shared : shared array[block size]
    thread : int
        The thread's index in the block.
    stop : int
        Where the halving ends; 1 for one minimum.
    """
    half = cuda.blockDim.x >> 1
    while half >= stop:
        cuda.syncthreads()
        if thread < half:
            shared[thread] = min(shared[thread], shared[thread + half])
        half >>= 1
    cuda.syncthreads()
