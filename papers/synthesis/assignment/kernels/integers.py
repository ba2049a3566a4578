"""The launch for integers: every operation is exact."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda

from papers.synthesis.assignment.kernels import dense
from papers.synthesis.assignment.kernels.grid import near


@cuda.jit(device=True)
def divide(value, divisor):
    """The quotient, rounded down."""
    return value // divisor


@cuda.jit(device=True)
def scaled(value, bits):
    """The value without its last bits."""
    return value >> bits


@cache
def assign_with(loads: int, alone: bool = False, marks: int = near.NOTHING) -> Any:
    """The kernel with so many loads in flight a thread, for a grid or for one block.

    A grid's may go by marks of near pairs (`grid.near`).
    """
    kernel = dense.assign_with(loads, False, divide, scaled, alone, marks)
    kernel.py_func.__module__ = __name__
    return kernel


assign = assign_with(8)
alone = assign_with(8, True)
marked = assign_with(8, marks=near.SEARCHES)

ELEMENT_TYPES = ("int32", "int64")
SIGNATURES = {assign: dense.SIGNATURE, alone: dense.SIGNATURE, marked: dense.SIGNATURE}
