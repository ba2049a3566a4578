"""The launch for integers: every operation is exact."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda

from papers.common.gpu.signatures import on_demand
from papers.synthesis.assignment.kernels import dense
from papers.synthesis.assignment.kernels.cluster import conclusion, strips
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


@cache
def conclude_with(loads: int, strip: str = strips.NOWHERE) -> Any:
    """The kernel by which a cluster ends what a grid has begun (`cluster.conclusion`)."""
    kernel = conclusion.conclude_with(loads, False, strip)
    kernel.py_func.__module__ = __name__
    return kernel


ELEMENT_TYPES = ("int32", "int64")

__getattr__ = on_demand(
    __name__,
    dense.ways(assign_with, conclude_with)
    | {
        "narrow": lambda: conclude_with(8, strips.NARROW),
        "noted": lambda: conclude_with(8, strips.NOTED),
    },
    dense.SIGNATURE,
)
"""The kernels that tests compile, and ``SIGNATURES``."""
