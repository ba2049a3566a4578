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
from papers.synthesis.assignment.settings import Settings

WIDEST = 2**52
"""Integer costs differ by less than this."""

DTYPES = ("int32", "int64", "float64")
INT32, INT64, FLOAT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)

SUM_BITS = 62
"""The sum of reduced costs stays below two to this power."""

INFEASIBLE = "cost matrix is infeasible: every complete assignment has a forbidden pair"


class UnresolvedError(ValueError):
    """Floats whose sizes are so far apart that float64 does not resolve them, by this solver."""


class UnfinishedError(RuntimeError):
    """A search on integers has met a bound on its work, a fault that no known costs cause.

    A solver that was asked for by name ends with it. A call that chose goes on to a slower one, and
    ``explain=True`` says so.
    """


SHARE_OF_OPTIMUM, SHARE_OF_RANGE = 2.0**-36, 2.0**-46


@dataclass(frozen=True)
class Costs:
    """Checked costs in working form.

    Attributes
    ----------
    matrix : T[n, m]
        C-contiguous, ``n <= m``, to be minimized; in device memory (`resident`) T[n * m], or what
        has these as ``flat``, which is made where it is needed.
    shape : tuple of int
        ``(n, m)``.
    cost : ndarray or None
        The caller's matrix, not copied when it was an array; None if it lies on the device.
    turned : bool
        Whether the solver's rows are the caller's columns.
    shift : int or float
        ``matrix = cost - shift``, or ``shift - cost`` when maximizing.
    maximize : bool
    loose : int or float
        The largest slack of an assigned pair that needs no repair: 0 for integers.
    spread : int
        Integers: no two entries differ by more; 0 for floats.
    """

    matrix: Any
    shape: tuple[int, int]
    cost: np.ndarray | None
    turned: bool
    shift: Any
    maximize: bool
    loose: Any
    spread: int = 0

    @property
    def resident(self) -> bool:
        """Whether the matrix lies in device memory."""
        return self.cost is None

    @property
    def size(self) -> int:
        """Number of pairs."""
        return self.shape[0] * self.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The working type."""
        kind: np.dtype = self.matrix.dtype
        return kind

    @property
    def dual(self) -> np.dtype:
        """The type of the duals and distances: float64 beside floats, else int64."""
        return FLOAT64 if self.dtype.kind == "f" else INT64


def shift_for(spread: int, entries: int) -> int:
    """Bits that so many reduced costs lose, so that their sum stays below two to `SUM_BITS`.

    Reduced costs are at most twice the range of the costs.
    """
    return max(0, (2 * spread).bit_length() + entries.bit_length() - SUM_BITS)


def shift_of(costs: Costs, settings: Settings) -> int:
    """`shift_for` the sample of these costs; floats are not shifted."""
    if not costs.spread:
        return 0
    n, m = costs.shape
    step = -(-n // int(settings.sampled_rows))
    return shift_for(costs.spread, -(-n // step) * m)


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
        spread = 0
    else:
        matrix, shift, spread = _integers(array, maximize, dtype)
        loose = 0
    turned = array.shape[0] > array.shape[1]
    matrix = np.ascontiguousarray(matrix.T if turned else matrix)
    shape = (int(matrix.shape[0]), int(matrix.shape[1]))
    return Costs(matrix, shape, array, turned, shift, maximize, loose, spread)


ANY_INT32 = 2**32 - 1
"""Two integers of 32 bits differ by no more."""


def as_they_are(array: np.ndarray, maximize: bool, dtype: Any) -> Costs | None:
    """Return costs that need no pass over them, since the kernel reads them as the caller has them.

    Any int32 will do for it, and duals are int64, so that nobody looks for the extremes.

    Parameters
    ----------
    array : ndarray[rows, columns]
    maximize, dtype
        As in `prepare`.

    Returns
    -------
    Costs, or None
        None for another type or order, to maximize, for more rows than columns, for no pair, and
        where a working type is asked for.
    """
    if array.dtype != INT32 or maximize or dtype is not None or not array.flags.c_contiguous:
        return None
    rows, columns = array.shape
    if not 0 < rows <= columns:
        return None
    return Costs(array, (rows, columns), array, False, 0, False, 0, ANY_INT32)


def _integers(array: np.ndarray, maximize: bool, dtype: Any) -> tuple[np.ndarray, int, int]:
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    work = integer_type(low, high, dtype)
    shift, spread = (high if maximize else low), high - low
    if shift == 0 and not maximize and array.dtype == work:
        return array, 0, spread
    return moved(array, shift, work, maximize), shift, spread


def moved(array: np.ndarray, shift: int, work: np.dtype, maximize: bool) -> np.ndarray:
    """Return ``array - shift``, or ``shift - array`` when maximizing, in a type that holds it.

    Both passes are in that type and wrap around: the difference fits, so it is what comes out.
    """
    found = array.astype(work)
    wrapped = np.array(shift).astype(work)
    if maximize:
        return np.subtract(wrapped, found, out=found)
    return np.subtract(found, wrapped, out=found)


def integer_type(low: int, high: int, dtype: Any) -> np.dtype:
    """Return the working type of integers with these extremes.

    Raises
    ------
    ValueError
        If none holds them, or the given one does not.
    """
    if max(-low, high) > INTEGER_LIMIT:
        raise ValueError(f"integer costs from {low} to {high} overflow: proofs hold up to 2**60")
    if high - low >= WIDEST:
        raise ValueError(f"integer costs with a range (max - min) of {high - low} would overflow: "
                         "the duals hold a range below 2**52")  # fmt: skip
    work = _working_type(dtype, "int32" if high - low < 2**31 else "int64")
    if work == np.int32 and high - low >= 2**31:
        raise ValueError(f"costs with a range (max - min) of {high - low} overflow int32")
    return work


def _floats(array: np.ndarray, maximize: bool, dtype: Any) -> tuple[np.ndarray, float, float]:
    check_float_type(dtype)
    axis = 1 if array.shape[0] <= array.shape[1] else 0
    low, high = (float(array.min()), float(array.max())) if array.size else (math.inf, math.inf)
    if math.isfinite(low) and math.isfinite(high):  # two passes tell that of all entries
        sizes = (array if low >= 0 else np.abs(array)).min(axis=axis)
    else:
        finite = np.isfinite(array)
        wrong = np.isposinf if maximize else np.isneginf
        check_floats(bool(np.isnan(array).any()), bool(wrong(array).any()))
        if not finite.any():
            if array.size:
                raise ValueError(INFEASIBLE)
            return -array if maximize else array, 0.0, 0.0
        low, high = float(array[finite].min()), float(array[finite].max())
        sizes = np.where(finite, np.abs(array), np.inf).min(axis=axis)
    slack = loose_slack(low, high, sizes, max(array.shape))
    if not np.isfinite(sizes).all():
        raise ValueError(INFEASIBLE)
    return -array if maximize else array, 0.0, slack


def check_float_type(dtype: Any) -> None:
    """Refuse a working type that floats do not have.

    Raises
    ------
    ValueError
        For another one than float64.
    """
    if _working_type(dtype, "float64") != np.float64:
        raise ValueError(f"float costs need the float64 working type, not {dtype}")


def check_floats(nan: bool, wrong: bool) -> None:
    """Refuse NaN, and infinities that forbid nothing.

    Raises
    ------
    ValueError
        If there are any.
    """
    if nan:
        raise ValueError("matrix contains invalid numeric entries: NaN")
    if wrong:
        raise ValueError("matrix contains invalid numeric entries: an infinity of the wrong sign")


def loose_slack(low: float, high: float, sizes: np.ndarray, longer: int) -> float:
    """Return a slack that neither the proof nor the costs notice; see `kawtikwar_opts.near_zero`.

    If all n assigned pairs have it, the answer is 2**-36 of a sum above the optimum that no
    assignment undercuts: a seventh of the proof's tolerance of 1e-10.

    Parameters
    ----------
    low, high : float
        The extremes of the finite costs.
    sizes : float64[n]
        The least size of a finite cost in each of the solver's rows, infinity if there is none.
    longer : int
        The matrix's longer side.

    Raises
    ------
    ValueError
        If the costs overflow where they are added.
    """
    if not math.isfinite((2.0 * longer + 4.0) * max(high - low, abs(low), abs(high))):
        raise ValueError(f"costs from {low} to {high} overflow float64 when they are added")
    if not np.isfinite(sizes).all():
        return 0.0
    spread = high - low
    return min(SHARE_OF_RANGE * spread, SHARE_OF_OPTIMUM * float(sizes.sum()) / sizes.size)


def _working_type(dtype: Any, narrowest: str) -> np.dtype:
    if dtype is None:
        return np.dtype(narrowest)
    work = np.dtype(dtype)
    if work.name not in DTYPES:
        raise ValueError(f"dtype {work} is not offered; choose one of {', '.join(DTYPES)}")
    if work.kind == "f" and narrowest != "float64":
        raise ValueError("integer costs are solved as integers: float64 is not offered for them")
    return work


def finish(
    costs: Costs, column_of_row: np.ndarray, u: np.ndarray, v: np.ndarray,
    counters: Mapping[str, int], chosen: np.ndarray | None = None,
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
    chosen : T[n], optional
        The entries of ``costs.matrix`` that are assigned, where the caller's are on the device.

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
    if costs.cost is not None:
        total = total_cost(costs.cost[rows, columns])
    else:
        assert chosen is not None
        total = sign * total_cost(chosen) + costs.shift * len(chosen)
    return Assignment(rows, columns, total, mine, other, costs.maximize, dict(counters))
