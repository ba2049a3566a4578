"""The kernel that gives a block each problem, for floats."""

from __future__ import annotations

from functools import cache
from typing import Any

from papers.common.gpu.signatures import on_demand
from papers.synthesis.assignment.kernels.floats import divide, scaled
from papers.synthesis.batch.kernels import each


@cache
def assign_each_with(width: int, loads: int) -> Any:
    """The kernel for sides up to `width`, with so many loads in flight a thread."""
    kernel = each.assign_each_with(width, loads, True, divide, scaled)
    kernel.py_func.__module__ = __name__
    return kernel


ELEMENT_TYPES = ("float64",)

__getattr__ = on_demand(
    __name__,
    {
        "assign_each": lambda: assign_each_with(512, 8),
        "assign_small": lambda: assign_each_with(128, 8),
    },
    each.SIGNATURE,
)
"""The kernels that tests compile, and ``SIGNATURES``."""
