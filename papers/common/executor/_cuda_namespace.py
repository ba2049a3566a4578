"""What a kernel sees when it runs in the CPU executor: arrays, casts, and the `cuda` namespace.

Four parts, from the bottom up: `ArrayView` (checked arrays), the atomics, `SimulatedCuda` (the
stand-in for `numba.cuda`) and `Rebinder` (the copy of a kernel that uses the stand-ins). When a
thread runs or waits is decided in `papers.common.executor.scheduler`. One file, though long,
because these four are what Numba's own simulator would have brought in one piece.

Integers are Python ints: they stand for int64 and never wrap. What would wrap on a GPU (a store,
a cast or an atomic out of the range of its type) raises OverflowError here.
"""

from __future__ import annotations

import dis
import math
import operator
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda as real_cuda
from numba.core import types as numba_types

if TYPE_CHECKING:
    from papers.common.executor.scheduler import Scheduler

# Read as int32 it is -154203 (a bad index), as float32 or float64 a NaN, as a bool True.
POISON = np.frombuffer(np.uint32(0xFFFDA5A5).tobytes(), np.uint8)
POISON_INT = -154203
FULL_MASK = 0xFFFFFFFF


class Dim3(NamedTuple):
    """A position or an extent in a grid or a block."""

    x: int
    y: int
    z: int


def signed32(mask: int) -> int:
    """Bits of a warp as Numba types them: int32, so lane 31 makes the value negative."""
    return mask - (1 << 32) if mask & 0x80000000 else mask


# ------------------------------------------------------------------------------------ arrays


# What a memoryview raises for an index or a value that it does not take.
_REFUSALS = (TypeError, ValueError, IndexError, NotImplementedError)


class _Unmetered:
    """The meter of local arrays: no other thread sees them, so no access is a scheduling point."""

    left = 1 << 62
    on_access = None

    def preempt(self) -> None:
        self.left = 1 << 62


class ArrayView:
    """A NumPy array as a kernel sees it: Python numbers out, checked indices and values in.

    Every access to a global or shared array counts down `meter.left`; at zero the scheduler may
    let another thread run first. The elements are read through a memoryview, which gives Python
    numbers at a third of the cost of NumPy scalars and refuses values out of range.

    Parameters
    ----------
    array : ndarray
        The memory; stores go to it.
    name : str
        For messages.
    scheduler : Scheduler
        Names the running thread in messages.
    meter : Scheduler or _Unmetered
        What counts the accesses.

    Raises
    ------
    TypeError
        The element type is not a bool, an integer or a 32- or 64-bit float in native byte order.
    """

    __slots__ = ("array", "data", "dtype", "meter", "name", "ndim", "scheduler", "shape", "size")

    def __init__(self, array: np.ndarray, name: str, scheduler: Scheduler, meter: Any) -> None:
        if array.dtype.kind not in "biuf" or array.dtype.char == "e" or not array.dtype.isnative:
            raise TypeError(f"array {name!r}: the executor has no element type {array.dtype}")
        self.array, self.data, self.name = array, array.data, name
        self.scheduler, self.meter = scheduler, meter
        self.dtype, self.ndim = array.dtype, array.ndim
        self.shape, self.size = array.shape, array.size

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        meter = self.meter
        meter.left -= 1
        if meter.left < 0:
            meter.preempt()
        try:
            if index >= 0:
                return self.data[index]
        except _REFUSALS:
            pass  # a tuple, a slice or a bad index: the slow path tells them apart
        return self._read(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        meter = self.meter
        meter.left -= 1
        if meter.left < 0:
            meter.preempt()
        if index.__class__ is int and index >= 0 and meter.on_access is None:
            try:
                self.data[index] = value
                return
            except _REFUSALS:
                pass  # the slow path names what is wrong
        self._write("store", index, value)

    def view(self, dtype: Any) -> ArrayView:
        """The same bytes read as another type."""
        return self._part(self.array.view(as_dtype(dtype)), self.name)

    def _part(self, array: np.ndarray, name: str) -> ArrayView:
        kind = ArrayView if array.ndim == 1 else GridView
        return kind(array, name, self.scheduler, self.meter)

    def _read(self, index: Any) -> Any:
        """One element, or a view of a row or slice; IndexError as `_check` says."""
        self._check(index)
        part = self.array[index]
        if isinstance(part, np.ndarray):
            return self._part(part, f"{self.name}[{index}]")
        return part.item()

    def _write(self, kind: str, index: Any, value: Any) -> None:
        self._check(index)
        try:
            self.data[index] = value
        except ValueError:
            raise OverflowError(
                f"{self.scheduler.where()}: {value!r} does not fit {self.dtype} array "
                f"{self.name!r}, index {index}"
            ) from None
        except (TypeError, NotImplementedError) as error:
            raise TypeError(
                f"{self.scheduler.where()}: {value!r} cannot be stored in {self.dtype} array "
                f"{self.name!r}, index {index} ({error})"
            ) from None
        if self.meter.on_access is not None:
            self.meter.on_access(kind, self.name, index, value)

    def _check(self, index: Any) -> None:
        """Raise IndexError unless every index is in [0, extent): no wrap from the end."""
        if index.__class__ is int and self.ndim == 1 and 0 <= index < self.size:
            return
        keys = index if isinstance(index, tuple) else (index,)
        inside = len(keys) <= self.ndim and all(
            isinstance(key, slice) or 0 <= operator.index(key) < extent
            for key, extent in zip(keys, self.shape, strict=False)
        )
        if not inside:
            raise IndexError(
                f"{self.scheduler.where()}: index {index} of array {self.name!r} "
                f"with shape {self.shape}"
            )


class GridView(ArrayView):
    """An array of any other dimension than one, indexed by tuples."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        meter = self.meter
        meter.left -= 1
        if meter.left < 0:
            meter.preempt()
        try:
            if min(index) >= 0:
                return self.data[index]
        except _REFUSALS:
            pass
        return self._read(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        meter = self.meter
        meter.left -= 1
        if meter.left < 0:
            meter.preempt()
        if meter.on_access is None:
            try:
                if min(index) >= 0:
                    self.data[index] = value
                    return
            except _REFUSALS:
                pass
        self._write("store", index, value)


def view(array: np.ndarray, name: str, scheduler: Scheduler, meter: Any = None) -> ArrayView:
    """`array` wrapped for a kernel; without a `meter` its accesses are scheduling points."""
    kind = ArrayView if array.ndim == 1 else GridView
    return kind(array, name, scheduler, scheduler if meter is None else meter)


def as_dtype(spec: Any) -> np.dtype:
    """The NumPy dtype of a Numba type, a NumPy dtype or scalar type, or a cast of this module."""
    return np.dtype(str(spec)) if isinstance(spec, numba_types.Type) else np.dtype(spec)


def poisoned(shape: Any, dtype: np.dtype) -> np.ndarray:
    """Uninitialised memory: every four bytes hold `POISON`."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    wanted = math.prod(shape) * dtype.itemsize
    return np.tile(POISON, -(-wanted // 4))[:wanted].view(dtype).reshape(shape)


@cache
def variable_at(code: CodeType, offset: int) -> str:
    """The variable that takes the result of the call at a bytecode offset, else its line."""
    following = (op for op in dis.get_instructions(code) if op.offset > offset)
    store = next((op for op in following if op.opname != "CACHE"), None)
    if store is not None and store.opname.startswith("STORE_"):
        names = store.argval  # from Python 3.13 on a pair, if a load follows the store
        return names[0] if isinstance(names, tuple) else str(names)
    return f"{code.co_name}:{list(code.co_positions())[offset // 2][0]}"


class _SharedMemory:
    """`cuda.shared`: one array for each call site in each block."""

    def __init__(self, scheduler: Scheduler) -> None:
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

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._meter = scheduler, _Unmetered()

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

    def __init__(self, scheduler: Scheduler) -> None:
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
        old = array[index]  # the scheduling point; nothing runs between this and the store
        array._write("atomic", index, rule(old, *operands))
        return old

    def compare_and_swap(self, array: ArrayView, old: int, value: int) -> int:
        return self._update(*_ATOMICS["cas"], array, 0, old, value)


# ---------------------------------------------------------------------------- the namespace


class _GridGroup:
    """What `cuda.cg.this_grid()` returns."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def sync(self) -> None:
        self._scheduler.grid_barrier(sys._getframe(1))


class _CooperativeGroups:
    """`cuda.cg`."""

    def __init__(self, scheduler: Scheduler) -> None:
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

    The scheduler sets `threadIdx` and `blockIdx` whenever a thread takes its turn. Memory fences
    and cache hints are plain accesses, because memory is sequentially consistent here.
    """

    threadIdx: Dim3
    blockIdx: Dim3
    blockDim: Dim3
    gridDim: Dim3

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.warpsize = scheduler.warp_size
        self.shared, self.local = _SharedMemory(scheduler), _LocalMemory(scheduler)
        self.atomic, self.cg = _Atomics(scheduler), _CooperativeGroups(scheduler)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the CPU executor has no cuda.{name}")

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
        values = self._scheduler.block_barrier("syncthreads_count", sys._getframe(1), predicate)
        return sum(map(bool, values))

    def syncthreads_and(self, predicate: Any) -> int:
        values = self._scheduler.block_barrier("syncthreads_and", sys._getframe(1), predicate)
        return int(all(values))

    def syncthreads_or(self, predicate: Any) -> int:
        values = self._scheduler.block_barrier("syncthreads_or", sys._getframe(1), predicate)
        return int(any(values))

    def threadfence(self) -> None:
        pass

    threadfence_block = threadfence_system = threadfence

    def nanosleep(self, nanoseconds: int) -> None:
        self._scheduler.preempt()

    # Warp intrinsics: the lanes of the mask meet and see each other's values.
    def _meet(self, name: str, mask: int, value: Any = None) -> dict[int, Any]:
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
        return self._shuffle("shfl_up_sync", mask, value, self.laneid - delta)

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> Any:
        return self._shuffle("shfl_down_sync", mask, value, self.laneid + delta)

    def shfl_xor_sync(self, mask: int, value: Any, lane_mask: int) -> Any:
        return self._shuffle("shfl_xor_sync", mask, value, self.laneid ^ lane_mask)

    def ballot_sync(self, mask: int, predicate: Any) -> int:
        values = self._meet("ballot_sync", mask, predicate)
        return signed32(sum(1 << lane for lane, value in values.items() if value))

    def all_sync(self, mask: int, predicate: Any) -> bool:
        return all(self._meet("all_sync", mask, predicate).values())

    def any_sync(self, mask: int, predicate: Any) -> bool:
        return any(self._meet("any_sync", mask, predicate).values())

    def eq_sync(self, mask: int, predicate: Any) -> bool:
        return len(set(map(bool, self._meet("eq_sync", mask, predicate).values()))) == 1

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


# ---------------------------------------------------------------------------------- rebinding


def make_cast(dtype: np.dtype, scheduler: Scheduler) -> Callable:
    """The stand-in for `np.int32(x)` or `numba.int32(x)`; also serves as a dtype (`.dtype`)."""

    def to_integer(value: Any = 0) -> int:
        number = int(value)
        if low <= number <= high:
            return number
        raise OverflowError(f"{scheduler.where()}: {value!r} does not fit {dtype}")

    def to_float(value: Any = 0.0) -> float:
        return float(dtype.type(value))  # through NumPy, so that float32 rounds

    def to_bool(value: Any = False) -> bool:
        return bool(value)

    low = high = 0
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    cast: Any = {"i": to_integer, "u": to_integer, "f": to_float, "b": to_bool}[dtype.kind]
    cast.dtype = dtype
    return cast


class _ModuleView:
    """A module whose attributes are rebound when a kernel first asks for them."""

    def __init__(self, module: ModuleType, rebinder: Rebinder) -> None:
        self._module, self._rebinder = module, rebinder

    def __getattr__(self, name: str) -> Any:
        value = self._rebinder.value(getattr(self._module, name))
        setattr(self, name, value)  # the next look-up is an ordinary one
        return value


class Rebinder:
    """Copies kernels so that they run on a `SimulatedCuda`.

    A copy shares the code object of the original; only what its names refer to changes. As in
    Numba, globals and closure variables are frozen when the kernel is first seen.
    """

    def __init__(self, cuda: SimulatedCuda, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._functions: dict[Any, FunctionType] = {}
        self._casts = {np.dtype(c): make_cast(np.dtype(c), scheduler) for c in "?bBhHiIlLqQfd"}
        self._modules: dict[ModuleType, Any] = {real_cuda: cuda, real_cuda.cg: cuda.cg}

    def kernel(self, kernel: Any) -> FunctionType:
        """The rebound copy of a Dispatcher or a plain function."""
        kernel = getattr(kernel, "__executor__", kernel)
        return self.function(getattr(kernel, "py_func", kernel))

    def function(self, function: FunctionType) -> FunctionType:
        """The rebound copy of `function`, with everything that it calls."""
        if function in self._functions:
            return self._functions[function]
        namespace: dict[str, Any] = {
            "__builtins__": function.__globals__["__builtins__"],
            "__name__": function.__module__,
        }
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(
            function.__code__, namespace, function.__name__, function.__defaults__, cells
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        self._functions[function] = copy  # before looking at the names: functions may recurse
        for name in _names(function.__code__) & function.__globals__.keys():
            namespace[name] = self.value(function.__globals__[name])
        for new, old in zip(cells, function.__closure__ or (), strict=True):
            new.cell_contents = self.value(old.cell_contents)
        return copy

    def value(self, value: Any) -> Any:
        """What a global, a closure variable or a module attribute becomes inside a kernel."""
        if isinstance(value, ModuleType):
            return self._modules.setdefault(value, _ModuleView(value, self))
        if hasattr(value, "__executor__"):
            return self._substitute(value.__executor__)
        if hasattr(value, "py_func"):
            return self.function(value.py_func)
        if isinstance(value, numba_types.Number | numba_types.Boolean):
            return self._casts.get(as_dtype(value), value)
        if isinstance(value, type) and issubclass(value, np.generic):
            return self._casts.get(np.dtype(value), value)
        if isinstance(value, tuple):
            return _like(value, map(self.value, value))
        return value.item() if isinstance(value, np.generic) else self._constant(value)

    def _substitute(self, substitute: Any) -> Any:
        if isinstance(substitute, FunctionType):
            return self.function(substitute)
        return self.value(substitute)

    def _constant(self, value: Any) -> Any:
        """Global arrays are constants in a kernel: readable, not writable, as in Numba."""
        if not isinstance(value, np.ndarray):
            return value
        frozen = value.copy()
        frozen.flags.writeable = False
        return view(frozen, "<constant>", self._scheduler, _Unmetered())

    def argument(self, value: Any, name: str) -> Any:
        """A launch argument as the kernel receives it.

        Raises
        ------
        TypeError
            It is neither an array, a number, nor a tuple (named or not) of these.
        """
        if isinstance(value, np.ndarray):
            return view(value, name, self._scheduler)
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, tuple):
            fields = getattr(value, "_fields", None)
            names = (
                [f"{name}.{f}" for f in fields]
                if fields
                else [f"{name}[{k}]" for k in range(len(value))]
            )
            return _like(value, map(self.argument, value, names))
        if isinstance(value, int | float):
            return value
        raise TypeError(f"argument {name!r}: expected an array or a number, not {type(value)}")


def _like(value: tuple, parts: Iterable[Any]) -> tuple:
    """A tuple of the same class as `value`: a named tuple keeps its names in a kernel."""
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _names(code: CodeType) -> set[str]:
    """All names that a code object, or one nested in it, may look up as globals."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(_names, inner))
