"""The launch for floats: the same, and a repair of what rounding has left."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda

from papers.synthesis.assignment.kernels import dense


@cuda.jit(device=True)
def divide(value, divisor):
    """The quotient."""
    return value / divisor


@cuda.jit(device=True)
def scaled(value, bits):
    """The value: sums of floats do not overflow where single costs are far from it."""
    return value


@cache
def assign_with(loads: int, alone: bool = False) -> Any:
    """The kernel with so many loads in flight a thread, for a grid or for one block."""
    kernel = dense.assign_with(loads, True, divide, scaled, alone)
    kernel.py_func.__module__ = __name__
    return kernel


assign = assign_with(8)
alone = assign_with(8, True)

ELEMENT_TYPES = ("float64",)
SIGNATURES = {assign: dense.SIGNATURE, alone: dense.SIGNATURE}
