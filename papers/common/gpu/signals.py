"""A few words of host memory that kernels write and the host watches.

Reading a flag from device memory costs a synchronisation and a copy, some 20 us. A word in mapped
memory, stored by the last thread of a kernel, reaches the host in a few: the host watches it.

A word is ``sequence << 34 | payload``: the sequence number tells one launch's word from the
last one's. The mailbox is a ring: launch ``s`` writes word ``s % size``, so at most `size`
words may be unread.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from papers.common.gpu import device

PAYLOAD_BITS = 34

PATIENCE_S = 2.0
"""Seconds that the host watches before it waits for the kernel in the driver."""


class Mailbox:
    """The host's end of the words.

    Parameters
    ----------
    size : int
        How many words.

    Attributes
    ----------
    device_word : int64[size]
        The same words as kernels reach them; they store with
        `papers.common.gpu.memory_order.store_release_system`.
    stream : int or None
        Handle of the stream whose kernels write; None: of any.
    """

    def __init__(self, size: int = 1) -> None:
        self.stream: int | None = None
        host, self.device_word = device.mapped(size, np.int64)
        # A memoryview yields plain Python integers, several times faster than NumPy scalars.
        self._word: Any = memoryview(host)  # type: ignore[arg-type]
        self._size = size
        self._seen = 0

    def wait(self) -> int:
        """Wait for the next word and return its payload.

        Raises
        ------
        RuntimeError
            If everything enqueued has ended without one (or the driver's own error).
        """
        self._seen += 1
        word, expected = self._word, self._seen
        place = expected % self._size
        deadline = 0.0
        while True:
            for _ in range(100_000):  # some ten milliseconds
                value = word[place]
                if value >> PAYLOAD_BITS == expected:
                    return value & ((1 << PAYLOAD_BITS) - 1)
            deadline = deadline or time.monotonic() + PATIENCE_S
            if time.monotonic() > deadline:
                self._finish()  # waits for a slow kernel; raises if it failed
                if word[place] >> PAYLOAD_BITS == expected:
                    return word[place] & ((1 << PAYLOAD_BITS) - 1)
                raise RuntimeError(f"no signal {expected} came (the word is {word[place]:#x})")

    def expected(self) -> int:
        """The word, of payload 0, that `wait` waits for next; for kernels that are told theirs."""
        return (self._seen + 1) << PAYLOAD_BITS

    def forget(self) -> None:
        """Wait for the device and count from its last word: also after an interrupted run."""
        self._finish()
        self._seen = max(word >> PAYLOAD_BITS for word in self._word)

    def _finish(self) -> None:
        """Wait for the kernels that write."""
        if self.stream is None:
            device.synchronize()
        else:
            device.synchronize(self.stream)


def unpack(payload: int) -> tuple[int, bool, bool]:
    """Split the payload ``count | first << 32 | second << 33`` into (count, first, second)."""
    return payload & 0xFFFFFFFF, bool(payload >> 32 & 1), bool(payload >> 33 & 1)
