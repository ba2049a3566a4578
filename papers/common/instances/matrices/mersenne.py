"""The stream of the program of [L19]'s authors as they ran it: ``mt19937`` of Visual C++.

An entry depends on those before it, so this family has no blocks.
"""

from __future__ import annotations

import numpy as np

ENGINE_SEED = 45345
"""The seed that the program is compiled with."""

_MASK = 2**32 - 1
_DRAWN_AT_ONCE = 2**22


def lopes_authors(n: int, seed: int = 1, *, high: int) -> np.ndarray:
    """Draw one of the matrices of the authors' program: uniform integers from 0 to `high`.

    ``std::default_random_engine`` of Visual C++ is ``mt19937``, 32 bits a number. Its
    ``uniform_int_distribution`` over ``r = high + 1`` values takes ``x mod r``, and rejects an
    ``x`` of the last, incomplete run of `r` values. The program fills memory, which holds column
    after column, in order: row ``i`` here is its column ``i``, as row ``i`` of any matrix is column
    ``i`` of our kernels. Its first release (2016) says in a comment the largest totals for
    n = 128 to 8192 and three ranges, and this stream has them all; `lopes_cpp` is the stream of the
    same text under g++, which has none of those but the trivial ones.

    Parameters
    ----------
    n : int
        Order.
    seed : int
        The number of the matrix, from 1: the program makes one after the other from one stream. The
        seed of the engine is always `ENGINE_SEED`.
    high : int
        Largest value, from 0, in the range of int32.

    Returns
    -------
    int32[n, n]

    Raises
    ------
    ValueError
        If `high` is negative or not int32, or `seed` is less than 1.
    """
    if not 0 <= high < 2**31:
        raise ValueError(f"high = {high} is no int32 value from 0 on")
    if seed < 1:
        raise ValueError(f"seed = {seed}: the matrices are counted from 1")
    engine = np.random.RandomState(ENGINE_SEED)
    size = n * n
    out = np.empty(size, np.int32)
    place = -(seed - 1) * size  # of the next number; those before 0 belong to earlier matrices
    while place < size:
        raw = engine.randint(0, 2**32, min(_DRAWN_AT_ONCE, size - place), np.uint32)
        numbers = _accepted(raw, high + 1)
        after = place + numbers.size
        if after > 0:
            out[max(place, 0) : after] = numbers[max(-place, 0) :]
        place = after
    return out.reshape(n, n)


def _accepted(raw: np.ndarray, values: int) -> np.ndarray:
    """Return the numbers modulo `values` of those that the distribution does not reject."""
    if _MASK % values == values - 1:  # the last run of values is complete
        return raw % values
    return raw[raw // values < _MASK // values] % values
