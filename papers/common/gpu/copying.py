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
"""Chunks of a thread at least, as long as they are not too small: so all threads end together."""

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
    """
    with _turn:
        _overwrite(flat, source)


def _overwrite(flat: Any, source: np.ndarray) -> None:
    share = max(LEAST_CHUNK_BYTES, -(-source.nbytes // (THREADS * TURNS)))
    step = max(1, min(CHUNK_BYTES, share) // source.itemsize)
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
    gpu = device.number()
    streams = _streams(gpu, device.describe().is_gpu)

    def carry(worker: int) -> None:
        device.attach(gpu)
        buffer, stream = buffers[worker], streams[worker]
        for start in starts[worker::workers]:
            part = source[start : start + step]
            room = buffer[: part.size]
            stream.synchronize()  # the chunk before has left the buffer
            np.copyto(room, part)
            there = device.part(flat, start * source.itemsize, part.size, source.dtype)
            device.overwrite(there, room, stream)
        stream.synchronize()

    carried = [_crew().submit(carry, worker) for worker in range(workers)]
    wait(carried)  # all of them, also if one fails: the source is the caller's again
    for done in carried:
        done.result()


@functools.cache
def _crew() -> ThreadPoolExecutor:
    """The threads."""
    return ThreadPoolExecutor(THREADS, thread_name_prefix="papers-copying")


os.register_at_fork(after_in_child=_crew.cache_clear)  # a child has none of its parent's threads


@functools.cache
def _streams(gpu: int, is_gpu: bool) -> list[Any]:
    """The streams of the threads on a GPU, or the executor's."""
    return [device.stream() for _ in range(THREADS)]
