"""Atomic operations on array elements, for code that several CPU threads run at once.

Numba has atomics for its GPU target only. These are the same few instructions for njit code, as
LLVM has them: `atomic_add`, `exchange` and `compare_and_swap` are sequentially consistent
(``atomicrmw`` and ``cmpxchg``); `load` and `store` are relaxed (``monotonic``). On common
processors a relaxed access costs no more than a plain one, but it may race with the others: the
compiler neither tears nor invents nor hoists it.

All take a one-dimensional array of integers and an index that is not negative and within bounds:
nothing is checked.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

PLACE = ir.IntType(8).as_pointer()

_STRONG = "seq_cst"
_RELAXED = "monotonic"


def _signature(array: Any, index: Any, *values: Any) -> Any:
    """Type a call: an element of the array in, an element out."""
    if not (isinstance(array, types.Array) and array.ndim == 1 and array.mutable):
        raise TypingError(f"an atomic operation needs a one-dimensional array, not {array}")
    for kind in (array.dtype, index, *values):
        if not isinstance(kind, (types.Integer, types.IntegerLiteral)):
            raise TypingError(f"an atomic operation needs integers, not {kind}")
    return array.dtype(array, types.intp, *[array.dtype] * len(values))


def _element(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Address of the element that the first two arguments name."""
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, kind, array, [args[1]], wraparound=False)


def _bytes(signature: Any) -> int:
    """Size of an element, the alignment of an atomic access."""
    return signature.return_type.bitwidth // 8


@intrinsic
def atomic_add(typing_context, array, index, value):
    """``array[index] += value``; return the value before."""

    def code(context, builder, signature, args):
        where = _element(context, builder, signature, args)
        return builder.atomic_rmw("add", where, args[2], _STRONG)

    return _signature(array, index, value), code


@intrinsic
def exchange(typing_context, array, index, value):
    """``array[index] = value``; return the value before."""

    def code(context, builder, signature, args):
        where = _element(context, builder, signature, args)
        return builder.atomic_rmw("xchg", where, args[2], _STRONG)

    return _signature(array, index, value), code


@intrinsic
def compare_and_swap(typing_context, array, index, expected, value):
    """``array[index] = value`` if `expected` is there; return the value before."""

    def code(context, builder, signature, args):
        where = _element(context, builder, signature, args)
        pair = builder.cmpxchg(where, args[2], args[3], _STRONG, _STRONG)
        return builder.extract_value(pair, 0)

    return _signature(array, index, expected, value), code


@intrinsic
def load(typing_context, array, index):
    """Return ``array[index]``, which other threads may be writing."""

    def code(context, builder, signature, args):
        where = _element(context, builder, signature, args)
        return builder.load_atomic(where, _RELAXED, _bytes(signature))

    return _signature(array, index), code


@intrinsic
def store(typing_context, array, index, value):
    """``array[index] = value``, which other threads may be reading; return the value."""

    def code(context, builder, signature, args):
        where = _element(context, builder, signature, args)
        builder.store_atomic(args[2], where, _RELAXED, _bytes(signature))
        return args[2]

    return _signature(array, index, value), code


@intrinsic
def prefetch(typing_context, array, index):
    """Ask for an element that will be read soon, without waiting for it; the index is not checked.

    It is no atomic operation, but as these a single instruction that Numba has no name for.
    """

    def code(context, builder, signature, args):
        where = builder.bitcast(_element(context, builder, signature, args), PLACE)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [PLACE, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [PLACE], kind)
        builder.call(ask, [where, *(number(value) for value in (0, 3, 1))])  # read, keep, data
        return context.get_dummy_value()

    return types.none(array, types.intp), code
