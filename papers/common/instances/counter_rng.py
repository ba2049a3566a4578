"""The output function of SplitMix64, on which every counter-based instance family stands.

Steele, Lea & Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. Entry ``k`` of
a family is ``mix(key + k)``: it can be drawn without the ones before it. All arithmetic is modulo
2**64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MASK = (1 << 64) - 1
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)


# Numba turns uint64 with a signed integer into float64: every operand below is uint64.
@njit(inline="always")
def mix(x: Any) -> Any:
    """Return the mixed uint64 of a uint64."""
    x = x + GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _MULTIPLIER_1
    x = (x ^ (x >> np.uint64(27))) * _MULTIPLIER_2
    return x ^ (x >> np.uint64(31))


@njit(inline="always")
def fraction(x: Any) -> Any:
    """Return the float64 in [0, 1) that the upper 53 bits of ``mix(x)`` make."""
    return np.float64(mix(x) >> np.uint64(11)) * 2.0**-53


def mix_int(x: int) -> int:
    """Return ``mix`` of a Python int, modulo 2**64."""
    x = (x + int(GOLDEN)) & MASK
    x = ((x ^ (x >> 30)) * int(_MULTIPLIER_1)) & MASK
    x = ((x ^ (x >> 27)) * int(_MULTIPLIER_2)) & MASK
    return x ^ (x >> 31)
