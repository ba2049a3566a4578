"""The kernel for floats."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import float64

from papers.synthesis.batch.kernels import solve


@cache
def assign_with(width: int, columns: int) -> Any:
    """The kernel for sides up to `width`, with so many columns a thread."""
    kernel = solve.assign_with(width, columns, float64)
    kernel.py_func.__module__ = __name__
    return kernel


assign = assign_with(128, 4)

ELEMENT_TYPES = ("float64",)
SIGNATURES = {assign: solve.SIGNATURE}
