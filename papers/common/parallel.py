"""Compiled loops over lines: on all cores where that is much work, on one where it is little.

To wake the other cores takes longer than a small loop, much longer where they are busy. And a
process that has woken them once (by OpenMP, which Numba takes on Linux) cannot fork a child that
does so, too: whoever makes small calls alone can.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import njit

MUCH = 1 << 20
"""So many numbers to be read are much work: about a millisecond of one core."""


def parallel(work: Callable[..., int], much: int = MUCH) -> Callable[[Any], Any]:
    """Compile a function with a `prange` twice: for all cores, and for the one that calls it.

    Parameters
    ----------
    work : callable
        Takes the function's arguments and returns how many numbers it reads.
    much : int
        From so many on all cores work.

    Returns
    -------
    callable
        The decorator. What it makes is called from Python with arguments by place, not from
        compiled code; its attributes `on_all` and `on_one` are the two that are compiled, and
        ``chosen(...)`` returns the one that arguments go to.
    """

    def decorated(function: Any) -> Any:
        on_all = njit(cache=True, parallel=True)(function)
        on_one = njit(cache=True, nogil=True)(_named(function, f"{function.__name__}_on_one"))

        def chosen(*arguments: Any) -> Any:
            return on_all if work(*arguments) >= much else on_one

        @wraps(function)
        def either(*arguments: Any) -> Any:
            return chosen(*arguments)(*arguments)

        vars(either).update(on_all=on_all, on_one=on_one, chosen=chosen)
        return either

    return decorated


def _named(function: types.FunctionType, name: str) -> types.FunctionType:
    """Return the function by another name, as which Numba keeps it in a file of its own."""
    given = function.__defaults__, function.__closure__
    copy = types.FunctionType(function.__code__, function.__globals__, name, *given)
    copy.__qualname__, copy.__module__, copy.__doc__ = name, function.__module__, function.__doc__
    return copy
