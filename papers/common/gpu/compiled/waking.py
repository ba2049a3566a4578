"""Wakes the GPU while Numba is being imported.

The first call of a process waits for two things that have nothing to do with each other: Python
imports Numba, and the driver starts and makes the device's context. `begin` lets the driver do its
part in a thread, which needs no Python while it does; Numba then finds the context, as it finds
that of any other library in the process. `end` gives the context back once Numba has taken it, too.
`hasten` begins, and imports Numba, when somebody is about to ask whether there is a GPU: the answer
has to wait until the driver has started.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import os
import re
import sys
import threading
from collections.abc import Iterator

FIRST = 0
"""The GPU that Numba takes where nobody has chosen one."""

_NVIDIAS = re.compile(r"nvidia\d+|nvhost.*|nvgpu.*")
"""Files of GPUs, Tegra's among them; ``dxg`` is that of Windows' subsystem for Linux."""

NOT_STARTED = 3
"""``CUDA_ERROR_NOT_INITIALIZED``: nobody in this process has started the driver."""

_lock = threading.Lock()
_thread: threading.Thread | None = None
_holder: ctypes.CDLL | None = None
"""The driver, while the thread's hold on the context lasts."""

_asleep = True
"""Whether nobody has called `hasten` or waited for the driver yet."""


def begin() -> bool:
    """Let the driver start and make the first GPU's context, unless Numba or a context is there.

    Returns at once. What fails here is left to Numba, which tries again and says what is wrong.

    Returns
    -------
    bool
        Whether a thread is at work on it, or was.
    """
    global _thread
    with _lock:
        if _thread is not None:
            return True
        if "numba.cuda" in sys.modules:
            return False
        library = _opened()
        if library is None or _has_context(library):
            return False
        _thread = threading.Thread(target=_retain, args=(library,), name="waking", daemon=True)
        _thread.start()
        return True


def end() -> None:
    """Wait for the thread, and give its context back: whoever calls holds it by now."""
    global _holder
    with _lock:
        if _thread is not None:
            _thread.join()
        if _holder is not None:
            _holder.cuDevicePrimaryCtxRelease_v2(FIRST)
            _holder = None


def is_asleep() -> bool:
    """Whether `hasten` could be worth its while: nobody has waited for the driver or for Numba."""
    return _asleep and "numba.cuda" not in sys.modules


def hasten(modules: str = "numba.cuda") -> None:
    """Import Numba while the driver starts in a thread; once a process, and only with a GPU.

    Whether there is one is known for sure when the driver has started; here it is judged by its
    file (`_is_likely`).

    Parameters
    ----------
    modules : str
        What is imported of it.
    """
    global _asleep
    _asleep = False
    if _is_likely() and begin():
        with uncollected():
            importlib.import_module(modules)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep Python's collector from looking at what is being imported, of which nothing goes."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _is_likely() -> bool:
    """Whether a GPU could be there: none is hidden, and on Linux its file is there."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1"):
        return False
    if not sys.platform.startswith("linux"):
        return True
    with contextlib.suppress(OSError):
        return any(name == "dxg" or _NVIDIAS.fullmatch(name) for name in os.listdir("/dev"))
    return False


@functools.cache
def driver() -> ctypes.CDLL | None:
    """The CUDA driver, started; None if it is not there, or does not start."""
    global _asleep
    _asleep = False
    library = _opened()
    return library if library is not None and library.cuInit(0) == 0 else None


@functools.cache
def _opened() -> ctypes.CDLL | None:
    """The CUDA driver, as it is; None if it is not there."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None


def _has_context(library: ctypes.CDLL) -> bool:
    """Whether this thread works with a GPU, which need not be the first one."""
    context = ctypes.c_void_p()
    error = library.cuCtxGetCurrent(ctypes.byref(context))
    return error not in (0, NOT_STARTED) or context.value is not None


def _retain(library: ctypes.CDLL) -> None:
    global _holder
    context = ctypes.c_void_p()
    if library.cuInit(0) != 0:
        return
    if library.cuDevicePrimaryCtxRetain(ctypes.byref(context), FIRST) == 0:
        _holder = library
