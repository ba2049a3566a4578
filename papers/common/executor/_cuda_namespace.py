"""The stand-in for `numba.cuda` inside a kernel: memory, atomics, positions, barriers, warps.

The scheduler (`papers.common.executor.scheduler`) decides when a thread runs or waits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from papers.common.executor.arrays import (
    POISON_INT,
    ArrayView,
    Turns,
    Unmetered,
    as_dtype,
    poisoned,
    variable_at,
    view,
)
from papers.common.executor.knowledge import BLOCK, GPU, SYSTEM
from papers.common.executor.threads import Dim3
from papers.common.executor.weak_memory import store_at

FULL_MASK = 0xFFFFFFFF


def signed32(mask: int) -> int:
    """Bits of a warp as Numba types them: int32, so lane 31 makes the value negative."""
    return mask - (1 << 32) if mask & 0x80000000 else mask


def _votes_for(values: dict[int, Any]) -> int:
    """The mask of the lanes whose value is true."""
    mask = 0
    for lane, value in values.items():
        if value:
            mask |= 1 << lane
    return signed32(mask)


VOTES: dict[str, Callable[[dict[int, Any]], Any]] = {
    "ballot_sync": _votes_for,
    "all_sync": lambda values: all(values.values()),
    "any_sync": lambda values: any(values.values()),
    "eq_sync": lambda values: len(set(map(bool, values.values()))) == 1,
}
"""Results of intrinsics that are the same in all lanes, from the values by lane."""

BLOCK_VOTES: dict[str, Callable[[int, int], int]] = {
    "syncthreads_count": lambda votes, threads: votes,
    "syncthreads_and": lambda votes, threads: int(votes == threads),
    "syncthreads_or": lambda votes, threads: int(votes > 0),
}
"""Results of barriers, from the number of true predicates and that of the threads."""


# ------------------------------------------------------------------------------------- memory


class _SharedMemory:
    """`cuda.shared`: one array for each call site in each block."""

    def __init__(self, scheduler: Turns) -> None:
        self._scheduler = scheduler

    def array(self, shape: Any, dtype: Any) -> ArrayView:
        caller = sys._getframe(1)
        block = self._scheduler.current.block
        site = (caller.f_code, caller.f_lasti)
        if site not in block.shared:
            dtype = as_dtype(dtype)
            if shape in (0, (0,)):  # all dynamic arrays of a block are the same bytes
                whole = block.dynamic.size // dtype.itemsize * dtype.itemsize
                memory = block.dynamic[:whole].view(dtype)
            else:
                memory = poisoned(shape, dtype)
            block.shared[site] = view(memory, variable_at(*site), self._scheduler)
        return block.shared[site]


class _LocalMemory:
    """`cuda.local`: a fresh poisoned array at every call."""

    def __init__(self, scheduler: Turns) -> None:
        self._scheduler, self._meter = scheduler, Unmetered()

    def array(self, shape: Any, dtype: Any) -> ArrayView:
        caller = sys._getframe(1)
        name = variable_at(caller.f_code, caller.f_lasti)
        return view(poisoned(shape, as_dtype(dtype)), name, self._scheduler, self._meter)


# ----------------------------------------------------------------------------------- atomics

_INTEGERS = frozenset(map(np.dtype, ("int32", "int64", "uint32", "uint64")))
_UNSIGNED = frozenset(map(np.dtype, ("uint32", "uint64")))
_NUMBERS = _INTEGERS | frozenset(map(np.dtype, ("float32", "float64")))


# name: (element types that Numba takes, new value from the old one and the operands).
# min and max leave the element alone if either side is NaN; nanmin and nanmax prefer a number.
_ATOMICS: dict[str, tuple[frozenset, Callable]] = {
    "add": (_NUMBERS, lambda old, value: old + value),
    "sub": (_NUMBERS, lambda old, value: old - value),
    "min": (_NUMBERS, lambda old, value: value if value < old else old),
    "max": (_NUMBERS, lambda old, value: value if value > old else old),
    "nanmin": (_NUMBERS, lambda old, value: value if value < old or old != old else old),
    "nanmax": (_NUMBERS, lambda old, value: value if value > old or old != old else old),
    "and_": (_INTEGERS, lambda old, value: old & value),
    "or_": (_INTEGERS, lambda old, value: old | value),
    "xor": (_INTEGERS, lambda old, value: old ^ value),
    "exch": (_INTEGERS, lambda old, value: value),
    "cas": (_INTEGERS, lambda old, expected, value: value if old == expected else old),
    "inc": (_UNSIGNED, lambda old, value: 0 if old >= value else old + 1),
    "dec": (_UNSIGNED, lambda old, value: value if old == 0 or old > value else old - 1),
}


class _Atomics:
    """`cuda.atomic`: ``name(array, index, *operands)`` returns the old value."""

    def __init__(self, scheduler: Turns) -> None:
        self._scheduler = scheduler
        for name, (types, rule) in _ATOMICS.items():
            setattr(self, name, partial(self._update, types, rule))

    def _update(
        self, types: frozenset, rule: Callable, array: ArrayView, index: Any, *operands: Any
    ) -> Any:
        if array.dtype not in types:
            raise TypeError(
                f"{self._scheduler.where()}: no such atomic on {array.dtype} array {array.name!r}"
            )
        return array.update(rule, index, operands)

    def compare_and_swap(self, array: ArrayView, old: int, value: int) -> int:
        return self._update(*_ATOMICS["cas"], array, 0, old, value)


# ---------------------------------------------------------------------------- the namespace


class _GridGroup:
    """The group that `cuda.cg.this_grid()` returns."""

    def __init__(self, scheduler: Turns) -> None:
        self._scheduler = scheduler

    def sync(self) -> None:
        self._scheduler.grid_barrier(sys._getframe(1))


class _CooperativeGroups:
    """`cuda.cg`."""

    def __init__(self, scheduler: Turns) -> None:
        self._grid = _GridGroup(scheduler)

    def this_grid(self) -> _GridGroup:
        return self._grid


def _word(value: int, wide: bool = False) -> int:
    """The bits of a 32-bit operand, or with `wide` of a 64-bit one that is not negative."""
    if not -(1 << 31) <= value < (1 << (64 if wide else 32)):
        raise OverflowError(f"bit operations in the executor take 32-bit operands, not {value}")
    return value & FULL_MASK if value < 0 else value


class SimulatedCuda:
    """The stand-in for `numba.cuda`: names, argument orders and results are Numba's.

    The scheduler sets `threadIdx` and `blockIdx` whenever a thread takes its turn. Cache hints are
    plain accesses. Fences matter in a weak memory only (`papers.common.executor.weak_memory`);
    without one, memory is sequentially consistent.
    """

    threadIdx: Dim3
    blockIdx: Dim3
    blockDim: Dim3
    gridDim: Dim3

    def __init__(self, scheduler: Turns) -> None:
        self._scheduler = scheduler
        self.warpsize = scheduler.warp_size
        self.shared, self.local = _SharedMemory(scheduler), _LocalMemory(scheduler)
        self.atomic, self.cg = _Atomics(scheduler), _CooperativeGroups(scheduler)

    # Positions.
    def grid(self, ndim: int) -> Any:
        thread, block, extent = self.threadIdx, self.blockIdx, self.blockDim
        if ndim == 1:
            return block.x * extent.x + thread.x
        return tuple(block[d] * extent[d] + thread[d] for d in range(ndim))

    def gridsize(self, ndim: int) -> Any:
        sizes = tuple(self.gridDim[d] * self.blockDim[d] for d in range(ndim))
        return sizes[0] if ndim == 1 else sizes

    @property
    def laneid(self) -> int:
        return self._scheduler.current.lane

    # Barriers of the block, and fences.
    def syncthreads(self) -> None:
        self._scheduler.block_barrier("syncthreads", sys._getframe(1))

    def syncthreads_count(self, predicate: Any) -> int:
        return self._scheduler.block_barrier("syncthreads_count", sys._getframe(1), predicate)

    def syncthreads_and(self, predicate: Any) -> int:
        return self._scheduler.block_barrier("syncthreads_and", sys._getframe(1), predicate)

    def syncthreads_or(self, predicate: Any) -> int:
        return self._scheduler.block_barrier("syncthreads_or", sys._getframe(1), predicate)

    def _fence(self, scope: int) -> None:
        scheduler = self._scheduler
        memory = scheduler.memory
        if memory is not None and not memory.left_out(sys._getframe(2)):
            memory.fence(scheduler.current.knows, scope)

    def threadfence_block(self) -> None:
        self._fence(BLOCK)

    def threadfence(self) -> None:
        self._fence(GPU)

    def threadfence_system(self) -> None:
        self._fence(SYSTEM)

    # Accesses of `papers.common.gpu.memory_order`, which calls these in a weak memory only; its
    # own functions stand between them and the kernel.
    def ordered_load(self, array: Any, index: Any, scope: int, acquire: bool) -> Any:
        acquire = acquire and not self._scheduler.memory.left_out(sys._getframe(2))
        return array.load(index, scope, acquire)

    def ordered_store(self, array: Any, index: Any, value: Any, scope: int, release: bool) -> None:
        release = release and not self._scheduler.memory.left_out(sys._getframe(2))
        array.store(index, value, scope, release)

    def shared_of(self, array: Any, block: int) -> ArrayView:
        """The array that a block of the grid has, where the running one has this."""
        own = self._scheduler.current.block.shared
        site = next(site for site, one in own.items() if one is array)
        return self._scheduler.blocks[block].shared[site]

    # In a strong memory as well: two words that are one access.
    def load_pair(self, array: Any, index: Any) -> tuple[int, int]:
        return array.load_pair(index)

    def store_pair(self, array: Any, index: Any, first: int, second: int) -> None:
        array.store_pair(index, first, second)

    def swap_pair(
        self, array: Any, index: Any, old: tuple[int, int], new: tuple[int, int]
    ) -> tuple[int, int]:
        return array.swap_pair(index, old, new)

    def ordered_store_at(self, address: int, value: int, release: bool) -> None:
        release = release and not self._scheduler.memory.left_out(sys._getframe(2))
        store_at(self._scheduler, address, value, release)
        self._scheduler.elsewhere()

    def let_ranks_run(self) -> None:
        self._scheduler.preempt()
        self._scheduler.elsewhere()

    def nanosleep(self, nanoseconds: int) -> None:
        self._scheduler.preempt()

    # Warp intrinsics: the lanes of the mask meet and see each other's values.
    def _meet(self, name: str, mask: int, value: Any = None) -> Any:
        return self._scheduler.warp_meeting(name, mask & FULL_MASK, value, sys._getframe(2))

    def syncwarp(self, mask: int = FULL_MASK) -> None:
        self._meet("syncwarp", mask)

    def _shuffle(self, name: str, mask: int, value: Any, source: int) -> Any:
        values = self._scheduler.warp_meeting(name, mask & FULL_MASK, value, sys._getframe(2))
        if not 0 <= source < self.warpsize:
            return value
        # A lane that takes no part has an undefined value: poison shows if it is used.
        return values.get(source, math.nan if isinstance(value, float) else POISON_INT)

    def shfl_sync(self, mask: int, value: Any, lane: int) -> Any:
        return self._shuffle("shfl_sync", mask, value, lane % self.warpsize)

    def shfl_up_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._shuffle("shfl_up_sync", mask, value, self._scheduler.current.lane - delta)

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._shuffle("shfl_down_sync", mask, value, self._scheduler.current.lane + delta)

    def shfl_xor_sync(self, mask: int, value: Any, lane_mask: int) -> Any:
        return self._shuffle("shfl_xor_sync", mask, value, self._scheduler.current.lane ^ lane_mask)

    def ballot_sync(self, mask: int, predicate: Any) -> int:
        return self._meet("ballot_sync", mask, predicate)

    def all_sync(self, mask: int, predicate: Any) -> bool:
        return self._meet("all_sync", mask, predicate)

    def any_sync(self, mask: int, predicate: Any) -> bool:
        return self._meet("any_sync", mask, predicate)

    def eq_sync(self, mask: int, predicate: Any) -> bool:
        return self._meet("eq_sync", mask, predicate)

    def match_any_sync(self, mask: int, value: Any) -> int:
        values = self._meet("match_any_sync", mask, value)
        return signed32(sum(1 << lane for lane, other in values.items() if other == value))

    def match_all_sync(self, mask: int, value: Any) -> tuple[int, bool]:
        values = self._meet("match_all_sync", mask, value)
        same = all(other == value for other in values.values())
        return (signed32(sum(1 << lane for lane in values)), True) if same else (0, False)

    def activemask(self) -> int:
        """The calling lane alone: always a legal answer, since nothing promises convergence."""
        return 1 << self.laneid

    def lanemask_lt(self) -> int:
        return (1 << self.laneid) - 1

    # Bits and arithmetic.
    def popc(self, value: int) -> int:
        return _word(value, wide=True).bit_count()

    def ffs(self, value: int) -> int:
        word = _word(value, wide=True)
        return (word & -word).bit_length()

    def clz(self, value: int) -> int:
        return 32 - _word(value).bit_length()

    def brev(self, value: int) -> int:
        return int(f"{_word(value):032b}"[::-1], 2)

    def selp(self, condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    def fma(self, a: float, b: float, c: float) -> float:
        if all(map(math.isfinite, (a, b, c))):
            return float(Fraction(a) * Fraction(b) + Fraction(c))  # rounded once
        return a * b + c

    # Cache hints.
    def ldcg(self, array: ArrayView, index: Any) -> Any:
        return array[index]

    ldca = ldcs = ldcv = ldlu = ldcg

    def stcg(self, array: ArrayView, index: Any, value: Any) -> None:
        array[index] = value

    stcs = stwb = stwt = stcg
