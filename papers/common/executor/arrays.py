"""Arrays as a kernel sees them in the CPU executor: checked indices, checked values, poison.

Integers are Python ints: they stand for int64 and never wrap. A store, a cast or an atomic out of
the range of its type, which would wrap on a GPU, raises OverflowError here.
"""

from __future__ import annotations

import dis
import math
import operator
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType
from typing import Any, Protocol

import numpy as np
from numba.core import types as numba_types

# Read as int32 it is -154203 (a bad index), as float32 or float64 a NaN, as a bool True.
POISON_WORD = 0xFFFDA5A5
POISON_INT = -154203


class Meter(Protocol):
    """The count of accesses until another thread may run.

    Attributes
    ----------
    left : int
        Accesses until `preempt` is called.
    on_access : callable(kind, name, index, value) or None
        The executor's hook.
    """

    left: int
    on_access: Callable | None

    def preempt(self) -> None:
        """Let another thread run, if one can."""


class Turns(Meter, Protocol):
    """The scheduler, as the stand-ins for arrays and for `numba.cuda` see it.

    Attributes
    ----------
    current : Thread
        The running thread.
    blocks : list of Block
        The launch's, by number.
    warp_size : int
        Lanes to a warp.
    memory : WeakMemory or None
        The versions of all words; None: every access takes effect at once.
    recorder : Recorder or None
        Wraps the arrays that it watches.
    elsewhere : callable()
        Lets other ranks of the process run.
    """

    current: Any
    blocks: Any
    warp_size: int
    memory: Any
    recorder: Any
    elsewhere: Callable[[], None]

    def where(self) -> str:
        """Name the running thread, for messages."""

    def block_barrier(self, name: str, frame: FrameType, value: Any = None) -> Any:
        """Wait for all live threads of the block; return the barrier's result, if it has one."""

    def grid_barrier(self, frame: FrameType) -> None:
        """Wait for all threads of the grid."""

    def warp_meeting(self, name: str, mask: int, value: Any, frame: FrameType) -> Any:
        """Wait for the live lanes of `mask`; return a vote's result, else the values by lane."""


# Errors of a memoryview for an index or a value that it does not take.
_REFUSALS = (TypeError, ValueError, IndexError, NotImplementedError)


class Unmetered:
    """The meter of local arrays: no other thread sees them, so no access is a scheduling point."""

    left = 1 << 62
    on_access: Callable | None = None

    def preempt(self) -> None:
        """Count anew."""
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
    scheduler : Turns
        Names the running thread in messages.
    meter : Meter
        Counts the accesses.

    Raises
    ------
    TypeError
        The element type is not a bool, an integer or a 32- or 64-bit float in native byte order.
    """

    __slots__ = ("array", "data", "dtype", "meter", "name", "ndim", "scheduler", "shape", "size")

    def __init__(self, array: np.ndarray, name: str, scheduler: Turns, meter: Meter) -> None:
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

    def update(self, rule: Callable, index: Any, operands: tuple) -> Any:
        """Change an element in one step, by an atomic's rule; return the old value."""
        old = self[index]  # the scheduling point; nothing runs between this and the store
        self._write("atomic", index, rule(old, *operands))
        return old

    def load_pair(self, index: int) -> tuple[Any, Any]:
        """Elements `index` and the next in one access."""
        first = self[index]  # the scheduling point; nothing runs between this and the second
        return first, self._read(index + 1)

    def store_pair(self, index: int, first: Any, second: Any) -> None:
        """Set elements `index` and the next in one access."""
        self[index] = first
        self._write("store", index + 1, second)

    def swap_pair(self, index: int, old: tuple, new: tuple) -> tuple[Any, Any]:
        """Set both elements to `new` if they are `old`, in one access; what was there."""
        found = self.load_pair(index)
        if found == old:
            for place, value in enumerate(new):
                self._write("atomic", index + place, value)
        return found

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


def view(array: np.ndarray, name: str, scheduler: Turns, meter: Meter | None = None) -> ArrayView:
    """`array` wrapped for a kernel; without a `meter` its accesses are scheduling points."""
    if meter is None and scheduler.memory is not None:
        return scheduler.memory.view(array, name, scheduler)
    if meter is None and scheduler.recorder is not None:
        recorded = scheduler.recorder.view(array, name)
        if recorded is not None:
            return recorded
    kind = ArrayView if array.ndim == 1 else GridView
    return kind(array, name, scheduler, scheduler if meter is None else meter)


def as_dtype(spec: Any) -> np.dtype:
    """The NumPy dtype of a Numba type, a NumPy dtype or scalar type, or a cast of this module."""
    return np.dtype(str(spec)) if isinstance(spec, numba_types.Type) else np.dtype(spec)


def poisoned(shape: Any, dtype: np.dtype) -> np.ndarray:
    """Uninitialised memory: every four bytes hold `POISON_WORD`."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    wanted = math.prod(shape) * dtype.itemsize
    words = np.empty(-(-wanted // 4), np.uint32)
    words.fill(POISON_WORD)
    return np.ndarray(shape, dtype, words)


@cache
def variable_at(code: CodeType, offset: int) -> str:
    """The variable that takes the result of the call at a bytecode offset, else its line."""
    following = (op for op in dis.get_instructions(code) if op.offset > offset)
    store = next((op for op in following if op.opname != "CACHE"), None)
    if store is not None and store.opname.startswith("STORE_"):
        names = store.argval  # from Python 3.13 on a pair, if a load follows the store
        return names[0] if isinstance(names, tuple) else str(names)
    return f"{code.co_name}:{list(code.co_positions())[offset // 2][0]}"
