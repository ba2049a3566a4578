"""Large host arrays on their way to the device: in chunks, through pinned memory, by threads.

A copy from ordinary host memory goes through a small pinned buffer of the driver's, which one
thread fills while the bus waits. Here several threads fill buffers of their own, each with its
stream, so that the bus carries one chunk while others are filled. The buffers stay for the next
array: pinning them takes longer than a chunk.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from papers.common.gpu import device

CHUNK_BYTES = 8 << 20
"""Bytes of a chunk: far more than a transfer's fixed cost takes at the bus's speed."""

THREADS = 4
"""Threads that fill chunks, each with one buffer."""

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
    step = max(1, CHUNK_BYTES // source.itemsize)
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
    streams, gpu = [device.stream() for _ in range(workers)], device.number()

    def carry(worker: int) -> None:
        device.attach(gpu)
        buffer, stream = buffers[worker], streams[worker]
        for start in starts[worker::workers]:
            part = source[start : start + step]
            room = buffer[: part.size]
            stream.synchronize()  # the chunk before has left the buffer
            np.copyto(room, part)
            device.overwrite(flat[start : start + part.size], room, stream)
        stream.synchronize()

    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(carry, worker) for worker in range(workers)]:
            done.result()
