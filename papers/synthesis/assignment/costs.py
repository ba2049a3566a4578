"""The caller's costs and the solver's: no padding, no square, no more rows than columns.

The solver minimizes over a matrix of ``n <= m``, with infinities where a pair is forbidden.
Integers are moved so that the least is 0; floats are never moved, so nothing is rounded.

**Which duals prove a rectangle.** Every row is assigned, a column at most once: so no column's dual
may be positive, and an unassigned column's must be 0. The solver starts such columns at 0, only
ever lowers duals, and lowers none that stays unassigned.

**Why a range below 2**52 is enough for int64.** A bid is bounded by the row's cost to a free column
and an update by a free row's distance to one, so a scale moves the duals by some five ranges; with
`papers.synthesis.assignment.settings.Settings.most_scales` a factor of 2**11 leaves room.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.model import Assignment
from papers.common.problems.assignment import INTEGER_LIMIT, as_matrix, total_cost

WIDEST = 2**52
"""Integer costs differ by less than this."""

DTYPES = ("int32", "int64", "float64")

INFEASIBLE = "cost matrix is infeasible: every complete assignment has a forbidden pair"

SHARE_OF_OPTIMUM, SHARE_OF_RANGE = 2.0**-36, 2.0**-46


@dataclass(frozen=True)
class Costs:
    """Checked costs in working form.

    Attributes
    ----------
    matrix : T[n, m]
        C-contiguous, ``n <= m``, to be minimized.
    cost : ndarray
        The caller's matrix, not copied when it was an array.
    turned : bool
        Whether the solver's rows are the caller's columns.
    shift : int or float
        ``matrix = cost - shift``, or ``shift - cost`` when maximizing.
    maximize : bool
    loose : int or float
        The largest slack of an assigned pair that needs no repair: 0 for integers.
    """

    matrix: np.ndarray
    cost: np.ndarray
    turned: bool
    shift: Any
    maximize: bool
    loose: Any

    @property
    def dual(self) -> np.dtype:
        """The type of the duals and distances: float64 beside floats, else int64."""
        return np.dtype(np.float64 if self.matrix.dtype.kind == "f" else np.int64)


def prepare(cost: Any, maximize: bool = False, dtype: Any = None) -> Costs:
    """Check costs and bring them into working form.

    Parameters
    ----------
    cost : array_like[rows, columns]
        Integers, booleans or floats; ``inf`` (``-inf`` when maximizing) forbids a pair.
    maximize : bool
    dtype : {"int32", "int64", "float64"}, optional
        The working type; by default the narrowest that holds the range.

    Returns
    -------
    Costs

    Raises
    ------
    ValueError
        For what `papers.common.problems.assignment.as_matrix` refuses, NaN, an infinity of the
        wrong sign, a range that would overflow, a type that does not hold the costs, and a line
        of the shorter side without an allowed pair (what is infeasible otherwise, a run finds).
    """
    array = as_matrix(cost)
    if array.dtype.kind == "f":
        wide = array.astype(np.float64, copy=False)
        matrix, shift, loose = _floats(wide, maximize, dtype)
    else:
        matrix, shift = _integers(array, maximize, dtype)
        loose = 0
    turned = array.shape[0] > array.shape[1]
    matrix = np.ascontiguousarray(matrix.T if turned else matrix)
    if matrix.dtype.kind == "f" and matrix.size and np.isposinf(matrix.min(axis=1)).any():
        raise ValueError(INFEASIBLE)
    return Costs(matrix, array, turned, shift, maximize, loose)


def _integers(array: np.ndarray, maximize: bool, dtype: Any) -> tuple[np.ndarray, int]:
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if max(-low, high) > INTEGER_LIMIT:
        raise ValueError(f"integer costs from {low} to {high} overflow: proofs hold up to 2**60")
    if high - low >= WIDEST:
        raise ValueError(f"integer costs with a range (max - min) of {high - low} would overflow: "
                         "the duals hold a range below 2**52")  # fmt: skip
    work = _working_type(dtype, "int32" if high - low < 2**31 else "int64")
    if work == np.int32 and high - low >= 2**31:
        raise ValueError(f"costs with a range (max - min) of {high - low} overflow int32")
    shift = high if maximize else low
    if shift == 0 and not maximize and array.dtype == work:
        return array, 0
    left, right = (shift, array) if maximize else (array, shift)
    moved = np.empty(array.shape, work)  # one pass in 64 bits, no array of 64 bits
    return np.subtract(left, right, out=moved, dtype=np.int64, casting="unsafe"), shift


def _floats(array: np.ndarray, maximize: bool, dtype: Any) -> tuple[np.ndarray, float, float]:
    if _working_type(dtype, "float64") != np.float64:
        raise ValueError(f"float costs need the float64 working type, not {dtype}")
    matrix = -array if maximize else array
    if np.isnan(array).any():
        raise ValueError("matrix contains invalid numeric entries: NaN")
    if np.isneginf(matrix).any():
        raise ValueError("matrix contains invalid numeric entries: an infinity of the wrong sign")
    finite = np.isfinite(array)
    if not finite.any():
        return matrix, 0.0, 0.0
    low, high = float(array[finite].min()), float(array[finite].max())
    if not math.isfinite((2.0 * max(array.shape) + 4.0) * max(high - low, abs(low), abs(high))):
        raise ValueError(f"costs from {low} to {high} overflow float64 when they are added")
    return matrix, 0.0, _loose(array, finite, high - low)


def _loose(array: np.ndarray, finite: np.ndarray, spread: float) -> float:
    """A slack that neither the proof nor the costs notice; see `kawtikwar_opts.near_zero`.

    If all n assigned pairs have it, the answer is 2**-36 of a sum above the optimum that no
    assignment undercuts: a seventh of the proof's tolerance of 1e-10.
    """
    rows, columns = array.shape
    sizes = np.where(finite, np.abs(array), np.inf).min(axis=1 if rows <= columns else 0)
    if not np.isfinite(sizes).all():
        return 0.0
    return min(SHARE_OF_RANGE * spread, SHARE_OF_OPTIMUM * float(sizes.sum()) / sizes.size)


def _working_type(dtype: Any, narrowest: str) -> np.dtype:
    work = np.dtype(narrowest if dtype is None else dtype)
    if work.name not in DTYPES:
        raise ValueError(f"dtype {work} is not offered; choose one of {', '.join(DTYPES)}")
    if work.kind == "f" and narrowest != "float64":
        raise ValueError("integer costs are solved as integers: float64 is not offered for them")
    return work


def finish(
    costs: Costs, column_of_row: np.ndarray, u: np.ndarray, v: np.ndarray,
    counters: Mapping[str, int],
) -> Assignment:  # fmt: skip
    """Bring the solver's matching and duals back into the caller's terms.

    Parameters
    ----------
    costs : Costs
    column_of_row : int[n]
        The column of every row of ``costs.matrix``.
    u, v : int64[n] and int64[m], or float64
        ``u[i] + v[j] <= matrix[i, j]``, equal on assigned pairs.
    counters : mapping of str to int

    Returns
    -------
    Assignment
    """
    columns = np.asarray(column_of_row, dtype=np.int64)
    rows = np.arange(columns.size)
    sign = -1 if costs.maximize else 1
    mine, other = sign * u + costs.shift, sign * v  # every row of the solver's is assigned
    if costs.turned:
        order = np.argsort(columns)
        rows, columns, mine, other = columns[order], rows[order], other, mine
    total = total_cost(costs.cost[rows, columns])
    return Assignment(rows, columns, total, mine, other, costs.maximize, dict(counters))
