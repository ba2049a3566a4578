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
from papers.synthesis.assignment.pairs import Room

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

    def reserve(self, *sizes: int) -> list[int]:
        """Return the place of each of the next parts."""
        found = []
        for size in sizes:
            found.append(self.used)
            self.used += aligned(size)
        return found

    def part(self, place: int, size: int) -> Any:
        """A part as an array."""
        return device.part(self.there, place * 8, size, np.int64)

    def put(self, parts: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
        """Copy parts to the device, in one copy that the host waits for; return them there."""
        begin = self.used
        places = self.reserve(*(part.size for part in parts))
        for at, part in zip(places, parts, strict=True):
            self.host[at : at + part.size] = part
        device.copy_words(self.host, self.there, begin, self.used - begin, down=False)
        return tuple(self.part(at, part.size) for at, part in zip(places, parts, strict=True))


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
    shelf = _shelf_with(words)
    found = shelf.put(parts)
    pool.give(shelf)
    return found


def room_for(n: int) -> Room | None:
    """Room for the rows and the columns of n pairs, which the device writes; None for too many."""
    words = 2 * aligned(n)
    if words > MOST_WORDS:
        return None
    shelf = _shelf_with(words)
    first, second = shelf.reserve(n, n)
    return Room(
        shelf.there, first, second, lambda: (shelf.part(first, n), shelf.part(second, n)),
        lambda: pool.give(shelf),
    )  # fmt: skip


def _shelf_with(words: int) -> Shelf:
    """Take a shelf with so much room, which nobody else has meanwhile."""
    key = ("answers", *pool.machine())
    shelf = pool.take(key, lambda: Shelf(key))
    return shelf if shelf.used + words <= WORDS else Shelf(key)
