"""Memory and bound launches of recent runs, for the next run of the same shape.

Allocating two dozen arrays, pinning memory and binding a launch take longer than a small problem
is solved in. So they are not thrown away: whoever needs some `take`s them out, nobody else has them
meanwhile, and they are `give`n back. Little is kept, and `clear` frees it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from papers.common.gpu import device

MOST_BYTES = 256 << 20
"""Device memory that lies idle at most."""

MOST_THINGS = 16
"""Things of one class that lie idle at most; those that were given back first go first."""


class Pooled:
    """A thing that can lie in the pool.

    Attributes
    ----------
    key : hashable
        Equal for things that can stand in for one another.
    nbytes : int
        Its device memory.
    whole : bool
        Whether it may be used again; False while work may be under way that nobody waits for.
    """

    key: Hashable
    nbytes: int
    whole: bool = True


T = TypeVar("T", bound=Pooled)

_idle: list[Any] = []
_count: dict[type, int] = {}
_bytes = 0
"""Counts of the idle by their class, and the device memory of all: to add them up at each call
would touch them all."""

remembered: dict[Any, Any] = {}
"""Facts about things that may lie idle, by names of their users; `clear` forgets them."""

MOST_REMEMBERED = 64

_lock = threading.RLock()  # a state that is collected while the lock is held gives things back


def machine() -> tuple[Any, ...]:
    """The part of a key that tells GPUs, and executors, apart."""
    return (device.number(),) if device.describe().is_gpu else (device.executor(),)


def find(key: Hashable) -> Any:
    """Take a thing out of the pool; None if there is none."""
    with _lock:
        for thing in reversed(_idle.copy()):
            if thing.key == key and _out(thing):
                return thing
    return None


def _out(thing: Any) -> bool:
    """Take a thing out of `_idle`, with the lock held; False if it is not there.

    Whatever is collected in a step of the caller's may give things back, and so put others out. An
    interrupted step may have left the counts wrong: where nothing lies idle, they begin anew.
    """
    global _bytes
    for place, each in enumerate(_idle):
        if each is thing:
            del _idle[place]
            _count[type(thing)] = _count.get(type(thing), 0) - 1
            _bytes = _bytes - thing.nbytes if _idle else 0
            return True
    return False


def remember(name: Hashable, known: Any) -> None:
    """Put something into `remembered`, which is forgotten all at once when it is full."""
    if name not in remembered and len(remembered) >= MOST_REMEMBERED:
        remembered.clear()
    remembered[name] = known


def take(key: Hashable, make: Callable[[], T]) -> T:
    """Take a thing out of the pool, or make one.

    If one cannot be made, all idle things are freed, and it is tried again (`made`).
    """
    found = find(key)
    if found is not None:
        thing: T = found
        return thing
    return made(make)


def made(make: Callable[[], T]) -> T:
    """Make a thing; where that fails, all idle things are freed, and it is tried again."""
    nothing = not _idle
    try:
        return make()
    except Exception:
        if nothing:
            raise
    clear()  # they may hold the memory
    return make()


def give(thing: Pooled) -> None:
    """Put a thing into the pool, unless it is too large or not whole."""
    if not thing.whole or thing.nbytes > MOST_BYTES:
        return
    global _bytes
    kind = type(thing)
    with _lock:
        _idle.append(thing)
        _bytes += thing.nbytes
        _count[kind] = _count.get(kind, 0) + 1
        if _count.get(kind, 0) > MOST_THINGS:
            _out(next((each for each in _idle if type(each) is kind), None))
        while _idle and _bytes > MOST_BYTES:
            _out(_idle[0])


@contextlib.contextmanager
def borrowed(key: Hashable, make: Callable[[], T]) -> Iterator[T]:
    """Take a thing for the length of a block; after an error it is not given back."""
    thing = take(key, make)
    yield thing
    give(thing)


def clear() -> int:
    """Free all that lies idle: device memory, pinned memory, launches.

    Returns
    -------
    int
        Bytes of device memory that were idle.
    """
    global _bytes
    with _lock:
        idle = _idle.copy()  # kept until the counts are right: what is freed may give things back
        freed, _bytes = _bytes, 0
        _idle.clear()
        _count.clear()
        remembered.clear()
        idle.clear()
    if freed and device.describe().is_gpu:
        from numba import cuda

        cuda.current_context().deallocations.clear()  # Numba returns freed memory in batches
    return freed
