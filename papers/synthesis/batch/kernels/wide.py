"""The kernel for all other integers."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import int64

from papers.common.gpu.signatures import on_demand
from papers.synthesis.batch.kernels import solve


@cache
def assign_with(width: int, columns: int) -> Any:
    """The kernel for sides up to `width`, with so many columns a thread."""
    kernel = solve.assign_with(width, columns, int64)
    kernel.py_func.__module__ = __name__
    return kernel


ELEMENT_TYPES = ("int64",)

__getattr__ = on_demand(
    __name__,
    {
        "assign": lambda: assign_with(128, 4),
    },
    solve.SIGNATURE,
)
"""The kernels that tests compile, and ``SIGNATURES``."""
