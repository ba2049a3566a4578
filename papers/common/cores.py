"""The number of cores that a process may use, and as whose a plan is made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TAKEN: ContextVar[int | None] = ContextVar("cores", default=None)


def allowed() -> int:
    """Return the cores that this process may use, which a container may have cut down."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def planned() -> int:
    """Return the cores that codes of several threads are planned for.

    They are those that Numba takes here, or those of another machine within `taken_as`.
    """
    return _TAKEN.get() or int(os.environ.get("NUMBA_NUM_THREADS") or allowed())


def threads(wanted: int) -> int:
    """Return `wanted`, or `planned` if there are fewer cores."""
    return min(wanted, planned())


@contextmanager
def taken_as(count: int) -> Iterator[None]:
    """Plan as on a machine with so many cores: what was measured there is not planned by ours."""
    token = _TAKEN.set(count)
    try:
        yield
    finally:
        _TAKEN.reset(token)
