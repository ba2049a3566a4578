"""Matrices drawn in device memory: the family `uniform`, with the bits of the host's.

A matrix of n = 70000 is 19.6 GB: a card draws it in milliseconds, while the way over the bus takes
seconds and the host may not have the room. Without a GPU the kernels run in the executor, and NumPy
arrays stand in for device memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import bind
from papers.common.instances.counter_rng import MASK
from papers.common.instances.matrices import kernels_uniform as k
from papers.common.instances.matrices.formulas import Formula, Lines, Uniform
from papers.common.problems.costs_on_device import (
    ResidentCosts,
    bounds,
    grid_stride,
    release_freed_memory,
)


def draw(formula: Formula) -> ResidentCosts:
    """Draw a whole matrix in device memory.

    Parameters
    ----------
    formula : Formula
        One with counters: `Uniform`. ``n * n`` may exceed 2**31.

    Raises
    ------
    ValueError
        If the formula has no counters, or its order is negative.
    """
    n, (key, wide) = formula.n, _counters(formula)
    if n < 0:
        raise ValueError(f"the order of a matrix cannot be {n}")
    release_freed_memory()
    array = device.empty((n, n), np.int32)
    if n:
        counter, flat = np.uint64(key), array.reshape(n * n)
        bind(
            k.draw_uniform, *grid_stride(n * n), np.int64(n * n), counter, np.uint64(wide), flat
        )()  # fmt: skip
    return ResidentCosts(array, *bounds(array))


def draw_block(formula: Formula, rows: Lines, columns: Lines) -> tuple[Any, int, int]:
    """Draw a block of a matrix in device memory.

    Parameters
    ----------
    formula : Formula
        One with counters: `Uniform`.
    rows, columns : (int, int)
        First line and the one behind the last; the block may have more than 2**31 entries.

    Returns
    -------
    array : device int32[rows * columns]
        It has at least one entry, even if the block has none.
    low, high : int
        Smallest and largest cost; 0 and 0 of none.

    Raises
    ------
    ValueError
        If the formula has no counters.
    """
    n, (key, wide) = formula.n, _counters(formula)
    down, across = rows[1] - rows[0], columns[1] - columns[0]
    release_freed_memory()
    array = device.empty(max(1, down * across), np.int32)
    if not down * across:
        return array, 0, 0
    blocks, threads = grid_stride(down * across)
    first = np.uint64((key + rows[0] * n + columns[0]) & MASK)
    bind(
        k.draw_uniform_block, min(blocks, down), threads, np.int32(down), np.int32(across),
        first, np.uint64(n), np.uint64(wide), array,
    )()  # fmt: skip
    return array, *bounds(array.reshape((down, across)))


def _counters(formula: Formula) -> tuple[int, int]:
    counters = formula.counters
    if counters is None:
        raise ValueError(f"{type(formula).__name__} has no counters to be drawn from on a device")
    return counters


def draw_uniform(n: int, cost_range: int, seed: int) -> ResidentCosts:
    """Draw a matrix of the family `uniform` in device memory.

    Parameters
    ----------
    n : int
        Order; n * n may exceed 2**31.
    cost_range : int
        Number of different costs, 1 to 2**31.
    seed : int
        Seed.

    Raises
    ------
    ValueError
        If `n` is negative, or `cost_range` outside of 1 .. 2**31.
    """
    return draw(Uniform(n, seed, cost_range=cost_range))
