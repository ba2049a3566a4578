"""Independent costs on counters: each entry of a matrix has a counter of its own.

Entry (i, j) of an n x n matrix is drawn from the counter ``key + i n + j``, modulo 2**64, where
``key = mix(mix(mix(seed) + n) + cost_range)`` and ``mix`` is the output function of SplitMix64
(`papers.common.instances.counter_rng`). So any entry can be drawn without those before it, by any
number of cores, with the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from papers.common.instances.counter_rng import MASK, fraction, mix, mix_int


def stream_key(n: int, cost_range: int, seed: int) -> int:
    """Return the counter of the entry at row 0, column 0: an integer in 0 .. 2**64 - 1."""
    return mix_int(mix_int(mix_int(seed) + n) + cost_range)


def check_range(cost_range: int) -> None:
    """Refuse a range that int32 costs cannot have.

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """
    if not 1 <= cost_range <= 2**31:
        raise ValueError(f"cost_range must lie in 1 .. 2**31 for int32 costs, not {cost_range}")


@njit(cache=True, parallel=True)
def fill_integers(out: np.ndarray, counters: np.ndarray, steps: np.ndarray, wide: Any) -> None:
    """Fill ``out`` with integers in [0, wide): ``(high * wide) >> 32`` of the counter's upper half.

    ``out`` is int32[rows, columns] and ``counters`` uint64[rows], the counter of each row's
    column 0. ``steps`` says how far each entry's column is from there: uint64[1, columns] if the
    rows have the same columns, else uint64[rows, columns]. ``wide`` is uint64.
    """
    for i in prange(out.shape[0]):
        first, away = counters[i], steps[np.int64(i) if steps.shape[0] > 1 else 0]
        for j in range(out.shape[1]):
            high = mix(first + away[j]) >> np.uint64(32)
            out[i, j] = (high * wide) >> np.uint64(32)


@njit(cache=True, parallel=True)
def fill_doubles(out: np.ndarray, counters: np.ndarray, steps: np.ndarray, wide: float) -> None:
    """Fill ``out``, float64[rows, columns], with doubles in [0, wide); else as `fill_integers`."""
    for i in prange(out.shape[0]):
        first, away = counters[i], steps[np.int64(i) if steps.shape[0] > 1 else 0]
        for j in range(out.shape[1]):
            out[i, j] = fraction(first + away[j]) * wide


def integers(count: int, cost_range: int, counter: int) -> np.ndarray:
    """Draw a list of integers from the counters ``counter``, ``counter + 1`` ...

    Parameters
    ----------
    count : int
        Length of the list.
    cost_range : int
        The integers lie in [0, cost_range).
    counter : int
        Taken modulo 2**64.

    Returns
    -------
    int32[count]

    Raises
    ------
    ValueError
        If `cost_range` is outside of 1 .. 2**31.
    """
    check_range(cost_range)
    out = np.empty((1, count), np.int32)
    steps = np.arange(count, dtype=np.uint64)[None, :]
    fill_integers(out, np.array([counter & MASK], np.uint64), steps, np.uint64(cost_range))
    return out[0]
