"""Arithmetic on duals that are kept in half units, for every type of cost.

The paper adds and subtracts theta / 2. To keep integer costs exact, all duals and slacks are stored
doubled: an entry 7 of ``row_dual`` means 3.5. A slack ``2 c - u - v`` is then always even (both
duals of a pair change by the same theta / 2, up or down), theta too, and half of theta is whole.

Doubles use the same formulas (doubling is exact), with the same meaning. Two things differ by type,
halving and the test for zero, so they are intrinsics, chosen by the compiler.

**When is a double zero?** A slack computed anew is off by a few units in the last place of its
terms, so `no_slack` accepts what is at most 2**-48 of their sum (sixteen units). Nothing is
compared with a fixed epsilon: 1e-6, which is what the authors' code had, is larger than the gaps
between costs in [0, 2] at n = 10,000. An edge accepted wrongly costs at most that much each.
The tree variant needs no such test: it compares minima that it has itself stored.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.cuda.extending import intrinsic

NEGLIGIBLE = 2.0**-48
"""Slack over the sum of its terms' sizes, below which a double counts as zero."""


@intrinsic
def reduced_cost(typingctx: Any, cost: Any, row_dual: Any, column_dual: Any) -> Any:
    """``2 cost - row_dual - column_dual``: twice the slack, in the type of the three."""
    if not cost == row_dual == column_dual:
        raise TypeError("cost and duals must have one type")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _difference(builder, cost, *args)

    return cost(cost, row_dual, column_dual), codegen


@intrinsic
def no_slack(typingctx: Any, cost: Any, row_dual: Any, column_dual: Any) -> Any:
    """Whether an edge has no slack: exactly for integers, up to `NEGLIGIBLE` for doubles."""
    if not cost == row_dual == column_dual:
        raise TypeError("cost and duals must have one type")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = _difference(builder, cost, *args)
        if not isinstance(cost, types.Float):
            return builder.icmp_signed("==", value, ir.Constant(value.type, 0))
        size = _absolute(builder, builder.fadd(args[0], args[0]))
        for dual in args[1:]:
            size = builder.fadd(size, _absolute(builder, dual))
        bound = builder.fmul(size, ir.Constant(value.type, NEGLIGIBLE))
        return builder.fcmp_ordered("<=", value, bound)

    return types.boolean(cost, row_dual, column_dual), codegen


@intrinsic
def halve(typingctx: Any, theta: Any) -> Any:
    """Half of theta: a shift for integers, which are even, a product for doubles."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if isinstance(theta, types.Float):
            return builder.fmul(args[0], ir.Constant(args[0].type, 0.5))
        return builder.ashr(args[0], ir.Constant(args[0].type, 1))

    return theta(theta), codegen


def _difference(builder: Any, kind: Any, cost: Any, row_dual: Any, column_dual: Any) -> Any:
    floating = isinstance(kind, types.Float)
    plus, minus = (builder.fadd, builder.fsub) if floating else (builder.add, builder.sub)
    return minus(minus(plus(cost, cost), row_dual), column_dual)


def _absolute(builder: Any, value: Any) -> Any:
    zero = ir.Constant(value.type, 0.0)
    negative = builder.fcmp_ordered("<", value, zero)
    return builder.select(negative, builder.fsub(zero, value), value)


def _executor_no_slack(cost: Any, row_dual: Any, column_dual: Any) -> bool:
    value = 2 * cost - row_dual - column_dual
    if not isinstance(value, float):
        return value == 0
    return value <= NEGLIGIBLE * (abs(2 * cost) + abs(row_dual) + abs(column_dual))


reduced_cost.__executor__ = lambda cost, row_dual, column_dual: 2 * cost - row_dual - column_dual
no_slack.__executor__ = _executor_no_slack
halve.__executor__ = lambda theta: theta * 0.5 if isinstance(theta, float) else theta >> 1
