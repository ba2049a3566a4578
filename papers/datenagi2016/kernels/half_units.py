"""Arithmetic on duals that are kept in half units, for every type of cost.

The paper adds and subtracts theta / 2. To keep integer costs exact, all duals and slacks are stored
doubled: an entry 7 of ``row_dual`` means 3.5. A slack ``2 c - u - v`` is then always even (both
duals of a pair change by the same theta / 2, up or down), theta too, and half of theta is whole.

Doubles use the same formulas (doubling is exact), with the same meaning. Two things differ by type,
halving and the test for zero, so they are intrinsics, chosen by the compiler.

**When is a double zero?** A slack computed anew is off by a few units in the last place of its
terms, so `no_slack` accepts at most 2**-48 of their sum (sixteen units). Nothing is
compared with a fixed epsilon: 1e-6, which the authors' code had, is larger than the gaps
between costs in [0, 2] at n = 10,000. An edge accepted wrongly costs at most that much each. An
edge whose terms cancel may be rejected although theta was its slack: its residue is then
the next theta (`papers.datenagi2016.solver.PATIENCE`). Whole numbers in doubles are exact below
2**53, and are tested with a tolerance of nothing.
The tree variant needs no such test: it compares minima that it has itself stored, and takes
whatever is not positive, as a slack computed anew may fall a few units below zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.cuda.extending import intrinsic

NEGLIGIBLE = 2.0**-48
"""Slack over the sum of its terms' sizes, below which a double counts as zero."""


def halves(duals: np.ndarray, towards: int) -> np.ndarray:
    """Return float duals in whole units, on the host: the half of each.

    All floats are halved exactly, but for odd multiples of the smallest denormal. Among those, all
    duals are odd at the same time, as with integers: a unit goes from one side to the other before.

    Parameters
    ----------
    duals : float64[n]
        In half units.
    towards : {1, -1}
        Whether an odd one goes up or down: one for the rows, the other for the columns.

    Returns
    -------
    float64[n]
    """
    odd = 2 * (duals * 0.5) != duals
    return np.where(odd, duals + towards * np.finfo(np.float64).smallest_subnormal, duals) * 0.5


@intrinsic
def reduced_cost(typingctx: Any, cost: Any, row_dual: Any, column_dual: Any) -> Any:
    """``2 cost - row_dual - column_dual``: twice the slack, in the type of the three."""
    if not cost == row_dual == column_dual:
        raise TypeError("cost and duals must have one type")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _difference(builder, cost, *args)

    return cost(cost, row_dual, column_dual), codegen


@intrinsic
def no_slack(typingctx: Any, cost: Any, row_dual: Any, column_dual: Any, negligible: Any) -> Any:
    """Return whether an edge has no slack: exactly for integers, up to `negligible` for doubles.

    `negligible` is `NEGLIGIBLE`, or 0 for whole numbers; integer types ignore it.
    """
    if not cost == row_dual == column_dual == negligible:
        raise TypeError("cost and duals must have one type")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        *terms, share = args
        value = _difference(builder, cost, *terms)
        if not isinstance(cost, types.Float):
            return builder.icmp_signed("==", value, ir.Constant(value.type, 0))
        bound = builder.fmul(share, _absolute(builder, builder.fadd(terms[0], terms[0])))
        for dual in terms[1:]:  # each scaled before they are added: their sum may overflow
            bound = builder.fadd(bound, builder.fmul(share, _absolute(builder, dual)))
        finite = builder.fcmp_ordered("<", value, ir.Constant(value.type, math.inf))
        return builder.and_(finite, builder.fcmp_ordered("<=", value, bound))

    return types.boolean(cost, row_dual, column_dual, negligible), codegen


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


def _executor_no_slack(cost: Any, row_dual: Any, column_dual: Any, negligible: Any) -> bool:
    value = 2 * cost - row_dual - column_dual
    if not isinstance(value, float):
        return value == 0
    bound = sum(negligible * abs(term) for term in (2 * cost, row_dual, column_dual))
    return value < math.inf and value <= bound


reduced_cost.__executor__ = lambda cost, row_dual, column_dual: 2 * cost - row_dual - column_dual
no_slack.__executor__ = _executor_no_slack
halve.__executor__ = lambda theta: theta * 0.5 if isinstance(theta, float) else theta >> 1
