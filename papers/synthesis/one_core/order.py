"""Minima as the compiler can make vectors of them: floats by integers of the same order.

Of two floats without a NaN the smaller one is not simply the smaller in its bits: the bits of a
negative float increase with its size. With all of them but the sign turned around they are a whole
number with the order of the floats. A minimum of whole numbers is taken several at a time, one of
floats is not: the compiler would have to know that there is no NaN.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

BUT_THE_SIGN = 2**63 - 1


@intrinsic
def _bits(typingctx: Any, number: Any) -> Any:
    """The bits of a float64, as an int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def _float(typingctx: Any, bits: Any) -> Any:
    """The float64 with these bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


def ordered(number: Any) -> Any:
    """Return a whole number that compares as this one does; in compiled code alone.

    Parameters
    ----------
    number : int64 or float64
        Not NaN.

    Returns
    -------
    int64
        The same of an integer. Minus zero comes before zero.
    """
    raise NotImplementedError("in compiled code alone")


def number_of(order: Any, like: Any) -> Any:
    """Return the number of the type of `like` that is `ordered` so; in compiled code alone."""
    raise NotImplementedError("in compiled code alone")


@overload(ordered, inline="always")
def _ordered(number):  # Numba compares these names and those of what is returned
    if isinstance(number, types.Float):
        return _ordered_float
    return lambda number: number


def _ordered_float(number):
    bits = _bits(number)
    return bits ^ ((bits >> 63) & BUT_THE_SIGN)


@overload(number_of, inline="always")
def _number_of(order, like):
    if isinstance(like, types.Float):
        return lambda order, like: _float(order ^ ((order >> 63) & BUT_THE_SIGN))
    return lambda order, like: order
