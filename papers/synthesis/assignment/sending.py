"""Large costs of the host, which go to the device as they are, and are looked at there.

The host would pass over them three to five times to check them and to bring them into working form,
and each of its passes takes longer than the way over the bus. So it copies them once, in the order
of their addresses, and from then on they are costs that were on the device already
(`papers.synthesis.assignment.resident`).
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.copying import overwrite_by_chunks
from papers.synthesis.assignment import pool
from papers.synthesis.assignment.resident import SOURCES, DeviceMatrix

LEAST_BYTES = 3 << 19
"""Fewer bytes are checked and brought into form by the host, whose passes are short then."""

TIMES = {"int32": 2.0, "float64": 2 / 3}
"""By a matrix' type, how many times `LEAST_BYTES` is its bound: integers of 32 bits need fewest
passes, floats of 64 most (`evidence/carrying/looked_at.csv`). Stacks were not."""

WIDEST_ENTRY = 8
"""Bytes that an entry has in working form at most."""


class Room(pool.Pooled):
    """Device memory for a caller's costs, row after row or column after column."""

    def __init__(self, key: Any, size: int, kind: np.dtype) -> None:
        self.key = key
        self.flat = device.empty(size, kind)
        self.nbytes = size * kind.itemsize


def goes(array: np.ndarray, stack: bool = False) -> bool:
    """Whether an array of the host goes as it is: large, of a type that kernels read, no gaps."""
    times = 1.0 if stack else TIMES.get(array.dtype.name, 1.0)
    return (
        array.nbytes > times * LEAST_BYTES
        and array.dtype.name in SOURCES
        and array.dtype.isnative
        and bool(array.flags.c_contiguous or array.flags.f_contiguous)
        and _fits(array)
    )


def _fits(array: np.ndarray) -> bool:
    """Whether there is room for it and for another one in working form, as far as that matters."""
    if array.nbytes <= pool.MOST_BYTES:
        return True
    return array.nbytes + array.size * WIDEST_ENTRY <= device.free_bytes()


def send(array: np.ndarray) -> tuple[DeviceMatrix, Room]:
    """Copy a matrix to the device, as it is.

    Parameters
    ----------
    array : ndarray[rows, columns]
        `goes` says yes to it. It may change on return.

    Returns
    -------
    DeviceMatrix
    Room
        Its memory: for `keep`.
    """
    by_columns = not array.flags.c_contiguous
    key = ("sent", array.size, array.dtype.name, *pool.machine())
    room = pool.take(key, lambda: Room(key, array.size, array.dtype))
    overwrite_by_chunks(room.flat, (array.T if by_columns else array).reshape(-1))
    rows, columns = array.shape
    return DeviceMatrix(room.flat, (rows, columns), by_columns), room


def keep(room: Room, owner: Any, work: pool.Pooled | None = None) -> None:
    """Keep memory as long as its owner lives; then it goes back to the pool.

    Parameters
    ----------
    room : Room
    owner : Any
    work : Pooled, optional
        What is not whole while work on the memory may be under way; else the memory itself is not.
    """
    weakref.finalize(owner, _let_go, room, work).atexit = False


def _let_go(room: Room, work: pool.Pooled | None) -> None:
    if work is not None:
        room.whole = work.whole
    pool.give(room)
