"""The launch for floats: the same, and a repair of what rounding has left."""

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
    """The quotient."""
    return value / divisor


@cuda.jit(device=True)
def scaled(value, bits):
    """The value: sums of floats do not overflow where single costs are far from it."""
    return value


@cache
def assign_with(loads: int, alone: bool = False, marks: int = near.NOTHING) -> Any:
    """The kernel with so many loads in flight a thread, for a grid or for one block.

    A grid's may go by marks of near pairs (`grid.near`).
    """
    kernel = dense.assign_with(loads, True, divide, scaled, alone, marks)
    kernel.py_func.__module__ = __name__
    return kernel


@cache
def conclude_with(loads: int, strip: str = strips.NOWHERE) -> Any:
    """The kernel by which a cluster ends what a grid has begun (`cluster.conclusion`)."""
    kernel = conclusion.conclude_with(loads, True, strip)
    kernel.py_func.__module__ = __name__
    return kernel


ELEMENT_TYPES = ("float64",)

__getattr__ = on_demand(
    __name__,
    dense.ways(assign_with, conclude_with),
    dense.SIGNATURE,
)
"""The kernels that tests compile, and ``SIGNATURES``."""
