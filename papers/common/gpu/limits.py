"""Limits of element types, and grids that cover a number of items."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


@functools.cache
def largest(dtype: np.dtype) -> Any:
    """Largest value of a type, as a scalar of that type; infinity for floats."""
    return dtype.type(np.inf if dtype.kind == "f" else np.iinfo(dtype).max)


@functools.cache
def smallest(dtype: np.dtype) -> Any:
    """Smallest value of a type, as a scalar of that type; minus infinity for floats."""
    return dtype.type(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min)


def blocks_for(items: int, threads: int) -> int:
    """Blocks of so many threads that have a thread for every item; at least one."""
    return max(1, -(-items // threads))


def grid_for(items: int, threads: int) -> tuple[int, int]:
    """Grid and block with a thread for every item, as `launch.bind` takes them."""
    return blocks_for(items, threads), threads
