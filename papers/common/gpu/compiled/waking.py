"""Wakes the GPU while Numba is being imported.

The first call of a process waits for two things that have nothing to do with each other: Python
imports Numba, and the driver makes the device's context. `begin` lets the driver do its part in a
thread, which needs no Python while it does; Numba then finds the context, as it finds that of any
other library in the process. `end` gives the context back once Numba has taken it, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading

FIRST = 0
"""The GPU that Numba takes where nobody has chosen one."""

_lock = threading.Lock()
_thread: threading.Thread | None = None
_holder: ctypes.CDLL | None = None
"""The driver, while the thread's hold on the context lasts."""


def begin() -> None:
    """Let the driver make the first GPU's context, unless Numba or a context is there already.

    Returns at once. What fails here is left to Numba, which tries again and says what is wrong.
    """
    global _thread
    with _lock:
        if _thread is not None or "numba.cuda" in sys.modules:
            return
        library = driver()
        if library is None or _has_context(library):
            return
        _thread = threading.Thread(target=_retain, args=(library,), name="waking", daemon=True)
        _thread.start()


def end() -> None:
    """Wait for the thread, and give its context back: whoever calls holds it by now."""
    global _holder
    with _lock:
        if _thread is not None:
            _thread.join()
        if _holder is not None:
            _holder.cuDevicePrimaryCtxRelease_v2(FIRST)
            _holder = None


@functools.cache
def driver() -> ctypes.CDLL | None:
    """The CUDA driver, started; None if it is not there, or does not start."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(name)
            return library if library.cuInit(0) == 0 else None
    return None


def _has_context(library: ctypes.CDLL) -> bool:
    """Whether this thread works with a GPU, which need not be the first one."""
    context = ctypes.c_void_p()
    return library.cuCtxGetCurrent(ctypes.byref(context)) != 0 or context.value is not None


def _retain(library: ctypes.CDLL) -> None:
    global _holder
    context = ctypes.c_void_p()
    if library.cuDevicePrimaryCtxRetain(ctypes.byref(context), FIRST) == 0:
        _holder = library
