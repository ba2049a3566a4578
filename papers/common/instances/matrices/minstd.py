"""The stream that g++ makes of the C++ program of [L19]'s authors: ``minstd_rand0``.

An entry depends on those before it, so this family has no blocks.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_MODULUS = 2**31 - 1  # minstd_rand0: x <- 16807 x mod (2**31 - 1), outputs 1 .. 2**31 - 2
_URNG_RANGE = _MODULUS - 2  # libstdc++'s name for largest minus smallest output


@njit(cache=True, nogil=True)
def _fill_minstd(out: np.ndarray, state: int, low: int, scaling: int, past: int) -> None:
    for k in range(out.size):
        while True:
            state = (16807 * state) % _MODULUS
            if state - 1 < past:
                break
        out[k] = low + (state - 1) // scaling


def lopes_cpp(n: int, seed: int = 45345, *, low: int = 0, high: int) -> np.ndarray:
    """Draw the first matrix of the authors' program under g++: integers from `low` to `high`.

    ``std::default_random_engine`` of g++ is ``minstd_rand0``, ``x <- 16807 x mod 2**31 - 1``,
    seeded with ``seed mod 2**31 - 1`` (1 where that is 0). Its ``uniform_int_distribution`` takes
    ``y = x - 1`` in [0, 2**31 - 2), rejects it if ``y >= scaling * (high - low + 1)``, with
    ``scaling = (2**31 - 3) // (high - low + 1)``, and returns ``low + y // scaling`` (libstdc++'s
    ``bits/uniform_int_dist.h``; a range of 2**31 - 2 values takes every ``y``).

    The matrix is filled row by row. In the authors' published source (paclopes/HungarianGPU; read,
    not run) the seed is 45345, ``low`` is 0, ``high`` is the range minus 1, and memory holds
    column after column, so row ``i`` here is their column ``i``. Their first release maximizes
    these numbers, the last one minimizes them. The totals that the first one states are of another
    compiler's stream: `papers.common.instances.matrices.mersenne.lopes_authors`.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        Unsigned seed of the engine.
    low, high : int
        Smallest and largest value, in the range of int32.

    Returns
    -------
    int32[n, n]

    Raises
    ------
    ValueError
        If the bounds are not ordered, not int32, or more than 2**31 - 3 apart.
    """
    if not -(2**31) <= low <= high < 2**31:
        raise ValueError(f"low = {low} and high = {high} must be ordered int32 values")
    span = high - low
    if span > _URNG_RANGE:
        raise ValueError(f"high - low = {span} is more than the engine's {_URNG_RANGE}")
    # The engine's own range is taken as it is; any smaller one is scaled down.
    scaling, past = 1, _URNG_RANGE + 1
    if span < _URNG_RANGE:
        scaling = _URNG_RANGE // (span + 1)
        past = scaling * (span + 1)
    out = np.empty(n * n, dtype=np.int32)
    _fill_minstd(out, seed % _MODULUS or 1, low, scaling, past)
    return out.reshape(n, n)
