"""Cost matrices: families given by formula, as blocks and whole, on the host and on a device."""

from papers.common.instances.matrices.mersenne import lopes_authors
from papers.common.instances.matrices.minstd import lopes_cpp
from papers.common.instances.matrices.whole import (
    adversarial,
    constant,
    geometric,
    planted,
    uniform,
    uniform_double,
)

__all__ = [
    "adversarial",
    "constant",
    "geometric",
    "lopes_authors",
    "lopes_cpp",
    "planted",
    "uniform",
    "uniform_double",
]
