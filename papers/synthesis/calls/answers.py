"""Device memory for small answers, which are parts of one array instead of an allocation each.

Numba's copy to the device, with its allocation, takes as long as the run of a problem with n = 64
(`evidence/device_call.csv`). So small answers stand on a shelf, one after the other, and a full
shelf is left to those who have parts of it: its memory goes with the last part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.synthesis.assignment import pool

WORDS = 1 << 17
"""Words of 64 bits on a shelf."""

MOST_WORDS = WORDS // 8
"""Answers of more words have memory of their own."""

ALIGNED = 32
"""Words after which a part may begin: 256 bytes, as an allocation does."""


class Shelf(pool.Pooled):
    """An int64 array on the device that is filled from its beginning; pinned memory like it."""

    def __init__(self, key: Any) -> None:
        self.key = key
        self.there = device.empty(WORDS, np.int64)
        self.host = device.staging(WORDS, np.int64)
        self.nbytes = self.there.nbytes
        self.used = 0

    def put(self, parts: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
        """Copy parts to the device, in one copy that the host waits for; return them there."""
        begin = at = self.used
        found = []
        for part in parts:
            self.host[at : at + part.size] = part
            found.append(device.part(self.there, at * part.itemsize, part.size, part.dtype))
            at += aligned(part.size)
        self.used = at
        device.copy_words(self.host, self.there, begin, at - begin, down=False)
        return tuple(found)


def aligned(words: int) -> int:
    """Words that a part takes."""
    return -(-words // ALIGNED) * ALIGNED


def on_device(*parts: np.ndarray) -> tuple[Any, ...]:
    """Copy int64 vectors of an answer to the present device.

    Parameters
    ----------
    parts : int64[k]

    Returns
    -------
    tuple of device int64[k]
        Of Numba's (in the executor: NumPy arrays), no two of which share memory.
    """
    words = sum(aligned(part.size) for part in parts)
    if words > MOST_WORDS:
        return tuple(device.to_device(part) for part in parts)
    key = ("answers", *pool.machine())
    shelf = pool.take(key, lambda: Shelf(key))
    if shelf.used + words > WORDS:
        shelf = Shelf(key)
    found = shelf.put(parts)
    pool.give(shelf)
    return found
