"""Copies of kernels that call the stand-ins of the CPU executor instead of `numba.cuda`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import cuda as real_cuda
from numba.core import types as numba_types

from papers.common.executor._cuda_namespace import SimulatedCuda
from papers.common.executor.arrays import Turns, Unmetered, as_dtype, view


def make_cast(dtype: np.dtype, scheduler: Turns) -> Callable:
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


def _module_view(module: ModuleType, rebinder: Rebinder) -> ModuleType:
    """A module whose attributes are rebound when a kernel first asks for them."""

    def rebound(name: str) -> Any:
        value = rebinder.value(getattr(module, name))
        setattr(stand_in, name, value)  # the next look-up is an ordinary one
        return value

    stand_in: Any = ModuleType(module.__name__)  # a module, because look-ups in one are the fastest
    stand_in.__getattr__ = rebound
    return stand_in


class Rebinder:
    """Copies kernels so that they run on a `SimulatedCuda`.

    A copy shares the code object of the original; its names refer to the stand-ins. As in Numba,
    globals and closure variables are frozen when the kernel is first seen.
    """

    def __init__(self, cuda: SimulatedCuda, scheduler: Turns) -> None:
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
        """The stand-in for a global, a closure variable or a module attribute inside a kernel."""
        if isinstance(value, ModuleType):
            return self._modules.setdefault(value, _module_view(value, self))
        if hasattr(value, "__executor__"):
            if self._scheduler.memory is not None:
                return self._substitute(getattr(value, "__weak__", value.__executor__))
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
        return view(frozen, "<constant>", self._scheduler, Unmetered())

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
