"""Large host arrays on their way to the device: in chunks, through pinned memory, by threads.

A copy from ordinary host memory goes through a small pinned buffer of the driver's, which one
thread fills while the bus waits. Here several threads fill buffers of their own, each with its
stream, so that the bus carries one chunk while others are filled. Buffers, threads and streams stay
for the next array: pinning a buffer takes longer than its chunk.
"""

from __future__ import annotations

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from papers.common.gpu import device

CHUNK_BYTES = 8 << 20
"""Bytes of a chunk at most: far more than a transfer's fixed cost takes at the bus's speed."""

LEAST_CHUNK_BYTES = 1 << 20
"""Bytes of a chunk at least, unless there are fewer in all."""

THREADS = 4
"""Threads that fill chunks, each with one buffer."""

TURNS = 2
"""Chunks of a thread at least, and as many for each, as long as they are not too small."""

_buffers: dict[int, np.ndarray] = {}
_turn = threading.Lock()


def _buffer(number: int) -> np.ndarray:
    """Return one thread's pinned chunk, made at its first use."""
    if number not in _buffers or _buffers[number].size < CHUNK_BYTES:
        _buffers[number] = device.staging(CHUNK_BYTES, np.uint8)
    return _buffers[number]


def to_device_by_chunks(array: np.ndarray) -> Any:
    """Copy a host array to the device; the result never aliases `array`.

    Parameters
    ----------
    array : ndarray
        C-contiguous.

    Returns
    -------
    device array
        Of its shape and type. All of it has arrived.

    Raises
    ------
    ValueError
        If `array` is not C-contiguous.
    """
    if not array.flags.c_contiguous:
        raise ValueError("only C-contiguous arrays are copied in chunks")
    target = device.empty(array.shape, array.dtype)
    overwrite_by_chunks(target.reshape(array.size), array.reshape(-1))
    return target


def overwrite_by_chunks(flat: Any, source: np.ndarray) -> None:
    """Copy a host array over a device array of its size and type, both of one dimension.

    All of it has arrived on return. Two threads that call this take turns: the buffers are shared.

    Raises
    ------
    ValueError
        For a device array of another size or type.
    """
    if (flat.size, np.dtype(flat.dtype)) != (source.size, source.dtype):
        raise ValueError(
            f"{source.size} entries of {source.dtype} do not go over {flat.size} of {flat.dtype}"
        )
    with _turn:
        try:
            _overwrite(flat, source)
        except BaseException:
            _buffers.clear()  # after two interruptions a thread may still be filling one
            raise


def _overwrite(flat: Any, source: np.ndarray) -> None:
    turns = max(TURNS, -(-source.nbytes // (THREADS * CHUNK_BYTES)))
    least, most = (max(1, size // source.itemsize) for size in (LEAST_CHUNK_BYTES, CHUNK_BYTES))
    step = min(most, max(least, -(-source.size // (THREADS * turns))))
    starts = range(0, source.size, step)
    workers = min(THREADS, len(starts))
    if not workers:
        return
    # Pinned memory and streams are made here; only the copies are the threads'.
    if workers == 1:
        room = _buffer(0)[: source.nbytes].view(source.dtype)
        np.copyto(room, source)
        device.overwrite(flat, room)  # a transfer on the default stream is awaited
        return
    buffers = [_buffer(k)[: step * source.itemsize].view(source.dtype) for k in range(workers)]
    gpu = device.number(), device.describe().is_gpu
    streams = _streams(*gpu)

    def carry(worker: int) -> None:
        if getattr(_here, "gpu", None) != gpu:
            device.attach(gpu[0])
            _here.gpu = gpu
        buffer, stream = buffers[worker], streams[worker]
        for start in starts[worker::workers]:
            part = source[start : start + step]
            room = buffer[: part.size]
            stream.synchronize()  # the chunk before has left the buffer
            np.copyto(room, part)
            there = device.part(flat, start * source.itemsize, part.size, source.dtype)
            device.overwrite(there, room, stream)
        stream.synchronize()

    carried: list[Any] = []
    try:
        for worker in range(workers):
            carried.append(_crew().submit(carry, worker))
        wait(carried)
    finally:
        wait(carried)  # also after an interruption: then the source is the caller's again
    for done in carried:
        done.result()


_here = threading.local()
"""A thread's own knowledge: the GPU that it is attached to."""


@functools.cache
def _crew() -> ThreadPoolExecutor:
    """The threads."""
    return ThreadPoolExecutor(THREADS, thread_name_prefix="papers-copying")


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
