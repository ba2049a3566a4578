"""Host arrays on their way to the device: small ones by one call, large ones by several threads.

A copy from ordinary host memory goes through small pinned buffers of the driver's, which one thread
fills while the bus waits. A large array is worth more threads, which fill buffers of their own,
each with its stream, so that the bus carries one chunk while others are filled. The caller's thread
is one of them, and each takes the next chunk when it is done with its last: nobody waits for a
thread that has not begun. Buffers, threads and streams stay for the next array: pinning a buffer
takes longer than its chunk.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from papers.common.gpu import device

DIRECT_BYTES = 8 << 20
"""Bytes of an array up to which the driver's own copy takes less time than several threads, by
`papers/synthesis/evidence/carrying/copies.csv`."""

CHUNK_BYTES = 4 << 20
"""Bytes of a chunk at most: far more than a transfer's fixed cost takes at the bus's speed."""

THREADS = 4
"""Threads that fill chunks, each with one buffer: the caller's, and others that help it."""

TURNS = 2
"""Chunks for each thread at least: whoever is early takes those of one that wakes late."""

TRIES = 10
"""Times that a wait for threads begins: an interruption ends one of them, a broken GPU each."""

_buffers: dict[int, np.ndarray] = {}
_turn = threading.Lock()


def _buffer(number: int) -> np.ndarray:
    """Return one pinned buffer, made at its first use."""
    if number not in _buffers or _buffers[number].size < CHUNK_BYTES:
        _buffers[number] = device.staging(CHUNK_BYTES, np.uint8)
    return _buffers[number]


def to_device_by_chunks(array: np.ndarray) -> Any:
    """Copy a host array to the device, in chunks if it is a large one, never aliasing it.

    Parameters
    ----------
    array : ndarray
        C-contiguous.

    Returns
    -------
    device array
        Of its shape and type. What is enqueued on the default stream from now on finds all of it.

    Raises
    ------
    ValueError
        If `array` is not C-contiguous.
    """
    _check_order(array)
    target = device.empty(array.shape, array.dtype)
    overwrite_by_chunks(target.reshape(array.size), array.reshape(-1))
    return target


def overwrite_by_chunks(flat: Any, source: np.ndarray) -> None:
    """Copy a host array over a device array of its size and type, both of one dimension.

    It goes in chunks if it is a large one; two threads with large ones take turns, since the
    buffers are shared. On return `source` may change, and what is enqueued on the default stream
    from then on finds all of it.

    Raises
    ------
    ValueError
        For a device array of another size or type, and a `source` with gaps.
    """
    if (flat.size, np.dtype(flat.dtype)) != (source.size, source.dtype):
        raise ValueError(
            f"{source.size} entries of {source.dtype} do not go over {flat.size} of {flat.dtype}"
        )
    _check_order(source)
    gpu = device.number(), device.describe().is_gpu  # a new thread gets its GPU by asking
    if source.nbytes <= DIRECT_BYTES:
        device.send(source, flat)
        return
    with _turn:
        _overwrite(flat, source, gpu)


def _check_order(array: np.ndarray) -> None:
    if not array.flags.c_contiguous:
        raise ValueError("only C-contiguous arrays are copied in chunks")


def _overwrite(flat: Any, source: np.ndarray, gpu: tuple[int, bool]) -> None:
    turns = max(TURNS, -(-source.nbytes // (THREADS * CHUNK_BYTES)))
    step = min(max(1, CHUNK_BYTES // source.itemsize), -(-source.size // (THREADS * turns)))
    starts = deque(range(0, source.size, step))
    carriers = min(THREADS, len(starts))
    # Pinned memory and streams are made here; only the copies are the threads'.
    rooms = [_buffer(k)[: step * source.itemsize].view(source.dtype) for k in range(carriers)]
    streams = _streams(*gpu)
    busy = [threading.RLock() for _ in range(carriers)]
    faults: list[BaseException] = []

    def carry(carrier: int) -> None:
        stream = streams[carrier]
        while (start := _next(starts)) is not None:
            part = source[start : start + step]
            room = rooms[carrier][: part.size]
            stream.synchronize()  # the chunk before has left the buffer
            np.copyto(room, part)
            device.send(room, flat, start * source.itemsize, stream)

    def help_to_carry(carrier: int) -> None:
        if not busy[carrier].acquire(blocking=False):
            return  # the caller is leaving, or has left
        try:
            if getattr(_here, "gpu", None) != gpu:
                device.attach(gpu[0])
                _here.gpu = gpu
            try:
                carry(carrier)
            finally:
                streams[carrier].synchronize()
        except BaseException as fault:
            starts.clear()  # nobody begins another chunk
            faults.append(fault)
        finally:
            busy[carrier].release()

    try:
        with contextlib.suppress(RuntimeError):  # no threads at the interpreter's end: all alone
            for carrier in range(1, carriers):
                _crew().submit(help_to_carry, carrier)
        carry(0)
    finally:
        _leave(starts, busy[1:], streams[0])
    if faults:
        raise faults[0]


def _leave(starts: deque[int], busy: list[Any], stream: Any) -> None:
    """Wait until nobody reads the source, fills a buffer or writes the target any more.

    Less than `TRIES` interruptions do not end the wait; the last is raised behind it. A thread that
    begins afterwards finds its lock taken and does nothing.
    """
    interruption = None
    for _ in range(TRIES):
        try:
            starts.clear()
            for lock in busy:
                lock.acquire()  # never released; a thread may take an RLock of its own again
            stream.synchronize()
            break
        except BaseException as again:
            interruption = again
    else:
        _buffers.clear()  # a thread may still be filling one
    if interruption is not None:
        raise interruption


def _next(starts: deque[int]) -> int | None:
    """Take the next chunk; each is taken by one thread."""
    try:
        return starts.popleft()
    except IndexError:
        return None


_here = threading.local()
"""A thread's own knowledge: the GPU that it is attached to."""


@functools.cache
def _crew() -> ThreadPoolExecutor:
    """The threads."""
    return ThreadPoolExecutor(THREADS - 1, thread_name_prefix="papers-copying")


def _after_fork() -> None:
    """Begin anew in a child, which has none of the threads that may hold the lock."""
    global _turn
    _turn = threading.Lock()
    _crew.cache_clear()


os.register_at_fork(after_in_child=_after_fork)


@functools.cache
def _streams(gpu: int, is_gpu: bool) -> list[Any]:
    """The streams of the threads on a GPU, or the executor's."""
    return [device.stream() for _ in range(THREADS)]
