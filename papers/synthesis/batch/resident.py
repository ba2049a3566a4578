"""Matrices of one shape that are on the device: checked there, brought into working form there.

The counterpart of `papers.synthesis.batch.costs.stack_of`, for stacks that a caller has on the
device and for those that go there as they are (`papers.synthesis.assignment.sending`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.synthesis.assignment.resident import (
    SOURCES,
    DeviceMatrix,
    Plan,
    extremes,
    lines_of,
    mover,
)
from papers.synthesis.batch.costs import WIDTHS, Stack, check_sums, loose_of, working_integers

MOST_ENTRIES = 2**31 - 1
"""The kernel that moves costs counts them in 32 bits."""


@dataclass(frozen=True, eq=False)
class DeviceStack:
    """Matrices of one shape in device memory (in the executor: a NumPy array).

    Attributes
    ----------
    array : device T[k, n, m]
        `takes` says yes to it. It is kept alive, and must not change before the answers are
        downloaded; nothing on another stream than the default one may still write it.
    """

    array: Any


def takes(array: Any) -> bool:
    """Whether a stack is looked at on the device: by its type, its order and its sides.

    Of one with more rows than columns, or of other types, a copy on the host is solved.
    """
    if len(array.shape) != 3 or not array.flags["C_CONTIGUOUS"]:
        return False
    dtype, (k, n, m) = np.dtype(array.dtype), array.shape
    return (
        dtype.name in SOURCES and dtype.isnative and n <= m <= WIDTHS[-1]
        and 0 < k * n * m <= MOST_ENTRIES
    )  # fmt: skip


def stack_on_device(flat: Any, shape: tuple[int, int, int], maximize: bool) -> Stack | None:
    """Check matrices on the device and bring them into working form there.

    Parameters
    ----------
    flat : device T[k * n * m]
        Of one of `papers.synthesis.assignment.resident.SOURCES`.
    shape : tuple of int
        ``(k, n, m)``, ``n <= m``.
    maximize : bool

    Returns
    -------
    Stack or None
        None for integers of 32 bits that need more in working form.

    Raises
    ------
    ValueError
        As `papers.synthesis.batch.costs.stack_of`.
    """
    k, n, m = shape
    if np.dtype(flat.dtype).kind == "f":
        moves = maximize or flat.dtype != np.float64
        work = np.dtype(np.float64)
        way = Plan(work, -1.0 if maximize else 1.0, 0.0, 0, moves)
    else:
        low, high = extremes(flat)
        work, shift, spread = working_integers(flat.dtype, low, high, maximize)
        if work.itemsize > np.dtype(flat.dtype).itemsize:
            return None
        sign = -1 if maximize else 1
        way = Plan(work, sign, -sign * shift, spread, maximize or bool(shift) or work != flat.dtype)
    if way.moves:
        target = device.empty(k * n * m, work)
        mover(DeviceMatrix(flat, (1, k * n * m), False), way, target)()
        flat = target
    loose = np.zeros(k, work)
    if work.kind == "f":
        sizes, lows, highs = (line.reshape(k, n) for line in lines_of((k * n, m), flat))
        check_sums(max(-float(lows.min()), float(highs.max())), m)
        loose = loose_of(lows.min(axis=1), highs.max(axis=1), sizes)
    matrices = flat.reshape(shape)
    return Stack(matrices, False, way.cost_shift, loose, way.spread, resident=True)
