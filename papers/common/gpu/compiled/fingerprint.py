"""The fingerprint of a kernel: one hash over everything that its machine code is made of.

Numba's own cache looks at the file that the kernel stands in. The kernels here call device
functions of other files, and factories close over numbers and over further device functions: a
change of any of these would be missed, and an old kernel would run. So a fingerprint follows the
kernel's code: constants, closures, defaults and globals by their values, device functions and
intrinsics by their own code in the same way, classes by their simple attributes. The files of all
modules that were reached are part of it too, and so are the argument types, the options, and the
versions of all that translates.

A kernel that leads to a value of no known kind has no fingerprint. It is compiled every time.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import importlib.metadata
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

FORMAT = 1
"""Changes with the form of a fingerprint or of an entry."""

TRANSLATORS = (
    "numba", "numba-cuda", "numpy", "llvmlite", "cuda-core", "cuda-bindings", "cuda-toolkit",
    "nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
)  # fmt: skip
"""Distributions whose versions are part of every fingerprint."""

LIBRARIES = frozenset({"numba", "numba_cuda", "numpy", "llvmlite", "cuda"})
"""Packages that are known by the versions of `TRANSLATORS`; Python's own go by Python's version."""

HARMLESS = (
    "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CACHE_DIR", "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "NUMBA_CUDA_LOG_LEVEL",
)  # fmt: skip
"""Settings of Numba's that no kernel for a GPU depends on."""


class UnknownKindError(Exception):
    """A kernel leads to a value that has no description."""


def fingerprint(
    kernel: Any, argument_types: Iterable[Any], capability: tuple[Any, ...], cuda: tuple[Any, ...]
) -> str:
    """Hash everything that a kernel's machine code depends on.

    Parameters
    ----------
    kernel : numba.cuda dispatcher
    argument_types : iterable of numba types
    capability : tuple
        The compute capability that is compiled for.
    cuda : tuple
        The versions of the CUDA runtime and driver.

    Returns
    -------
    str
        64 hexadecimal digits, equal in every process on equal sources, libraries and settings.

    Raises
    ------
    UnknownKindError
        If some value behind the kernel has no description.
    RecursionError
        If values are nested without an end.
    """
    found = _Description()
    found.say("format", FORMAT, sys.version, capability, cuda, *translators(), *_settings())
    for kind in argument_types:
        found.numba_type(kind)
    found.value(kernel)
    for path in sorted(found.files):
        found.say("file", _content(path))
    return found.hash.hexdigest()


@functools.cache
def translators() -> tuple[str, ...]:
    """The versions of all libraries that have a part in the machine code."""
    return tuple(f"{name} {_version(name)}" for name in TRANSLATORS)


def toolkit_is_known() -> bool:
    """Whether the compiler and the linker of the toolkit are distributions with versions."""
    parts = ("nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvrtc")
    return not any(f"{name} none" in translators() for name in parts)


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _settings() -> Iterator[str]:
    """Variables of the environment that say how and by which toolkit is compiled."""
    for name, value in sorted(os.environ.items()):
        if (name.startswith("NUMBA_") and name not in HARMLESS) or name in (
            "CUDA_HOME",
            "CUDA_PATH",
        ):
            yield f"{name}={value}"


def _content(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:  # typed at a prompt, or packed: the code itself is described anyway
        return "no file"


def _is_library(module: str | None) -> bool:
    root = (module or "builtins").partition(".")[0]
    return root in LIBRARIES or root in sys.stdlib_module_names


class _Description:
    """The walk through a kernel's code; `hash` takes in what `say` is told."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.files: set[str] = set()
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []  # an address is a name only as long as the object lives

    def say(self, *words: Any) -> None:
        """Take in words, each with its length, so that no two sequences of them look alike."""
        for word in words:
            text = word if isinstance(word, bytes) else str(word).encode()
            self.hash.update(b"%d:" % len(text) + text)

    def value(self, value: Any, names: Iterable[str] = ()) -> None:
        """Describe a value; of a module only the attributes of the given names."""
        if value is None or value is ... or isinstance(value, bool | int | float | complex | str):
            self.say(type(value).__qualname__, repr(value))
        elif isinstance(value, bytes):
            self.say("bytes", value)
        elif isinstance(value, np.dtype | np.generic):
            self.say("numpy", value.dtype.str if isinstance(value, np.generic) else "", repr(value))
        elif isinstance(value, np.ndarray):
            self.say("array", value.dtype.str, value.shape, value.tobytes())
        elif isinstance(value, tuple | list):
            self.say(type(value).__qualname__, len(value))
            for part in value:
                self.value(part)
        elif isinstance(value, frozenset | set):
            self.say("set", *sorted(map(repr, value)))
        elif isinstance(value, dict):
            self.say("dict", len(value))
            for key, part in value.items():
                self.value(key)
                self.value(part)
        elif isinstance(value, CodeType):
            self._code(value)
        elif isinstance(value, ModuleType):
            self._module(value, names)
        else:
            self._object(value)

    def _object(self, value: Any) -> None:
        """Describe what may be met again, or lead back to itself."""
        if id(value) in self.seen:
            self.say("again", self.seen[id(value)])
            return
        self.seen[id(value)] = len(self.seen)
        self.alive.append(value)
        if isinstance(value, type):
            self._class(value)
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, BuiltinFunctionType | np.ufunc):
            self.say("builtin", getattr(value, "__module__", None), value.__name__)
        elif hasattr(value, "py_func") and hasattr(value, "targetoptions"):
            self.say("dispatcher")
            self.value(dict(sorted(value.targetoptions.items())))
            self.value(value.py_func)
        elif type(value).__name__ == "_Intrinsic" and _is_library(type(value).__module__):
            self.say("intrinsic", repr(sorted(value._ctor_kwargs.items())), value._prefer_literal)
            self.value(value._defn)
        elif _is_numba_type(value):
            self.numba_type(value)
        else:
            raise UnknownKindError(f"{value!r} of {type(value)}")

    def _class(self, value: type) -> None:
        self.say("class", value.__module__, value.__qualname__)
        if _is_library(value.__module__):
            return
        self._file_of(value.__module__)
        for base in value.__bases__:
            self.value(base)
        for name, held in vars(value).items():
            if isinstance(held, enum.Enum):
                self.say(name, repr(held))
            elif name != "__doc__" and isinstance(held, bool | int | float | str | tuple):
                self.say(name)
                self.value(held)

    def _function(self, function: FunctionType) -> None:
        self.say("function", function.__module__, function.__qualname__)
        if _is_library(function.__module__):
            return
        self._file_of(function.__module__)
        self.value(function.__code__)
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # still empty
                self.say("empty")
            else:
                self.value(held)
        names = tuple(_names(function.__code__))
        for name in names:
            if name in function.__globals__:
                self.say(name)
                self.value(function.__globals__[name], names)

    def _code(self, code: CodeType) -> None:
        self.say(
            "code", code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars,
            code.co_cellvars, code.co_flags, code.co_argcount, code.co_kwonlyargcount,
        )  # fmt: skip
        self.value(code.co_consts)

    def _module(self, module: ModuleType, names: Iterable[str]) -> None:
        self.say("module", module.__name__)
        if _is_library(module.__name__):
            return
        self._file_of(module.__name__)
        for name in names:
            if name in vars(module):
                self.say(name)
                self.value(vars(module)[name], names)

    def numba_type(self, kind: Any) -> None:
        """Describe a type of Numba's; named tuples by their classes and their fields' types."""
        self.say("type", type(kind).__qualname__, kind)
        if hasattr(kind, "instance_class"):
            self.value(kind.instance_class)
        for part in getattr(kind, "types", ()):
            self.numba_type(part)

    def _file_of(self, module: str) -> None:
        path = getattr(sys.modules.get(module), "__file__", None)
        self.say("file of", module, path is not None)
        if path is not None:
            self.files.add(path)


def _names(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in a function's code, and in that of functions within."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_numba_type(value: Any) -> bool:
    return any(base.__name__ == "Type" and _is_library(base.__module__)
               for base in type(value).__mro__)  # fmt: skip
