"""The input contract of every assignment solver, and how an answer is put back together.

The contract is SciPy's: an ``n x m`` matrix of any integer, boolean or float type, ``maximize``,
rectangular shapes, negative costs, ``inf`` for a forbidden pair. `prepare` turns such a matrix
into a square one of a working type that the kernels cannot overflow; `finish` turns a solver's
column-to-row list and duals back into the caller's terms.

**Why twice the range is enough.** Let ``C = max - min``. The Hungarian method keeps the duals of
the side it starts from within ``[0, C]``: an unmatched vertex of the other side is never covered,
so its dual stays where step 1 put it, and every slack of its line is non-negative. The duals of
the other side are then within ``[-C, 0]``, and no slack ever exceeds ``2 C``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.model import Assignment

INTEGER_LIMIT = 2**60
"""Largest absolute integer cost: the int64 certificate adds a cost and two duals."""


@dataclass(frozen=True)
class Problem:
    """A checked assignment problem in working form.

    Attributes
    ----------
    matrix : ndarray[N, N]
        C-contiguous, ``N = max(n, m)``, of the working type, entries >= 0, to be minimized (if
        `prepare` was told not to reflect: to be maximized if asked).
        Cells outside the caller's ``n x m`` hold 0: any constant gives the same optimum. Floats
        are not shifted where `prepare` was told not to reflect, or that the solver takes either
        sign, and may then be negative.
    cost : ndarray[n, m]
        The caller's matrix, as an array (not copied when it was one).
    shift : int or float
        ``matrix = cost - shift`` when minimizing, ``shift - cost`` when maximizing (or
        ``cost - shift`` if `prepare` was told not to reflect).
    forbidden : bool
        Whether some entries of `cost` are infinite. They hold a value in `matrix` that no
        optimal assignment uses while a finite one exists.
    maximize : bool
        As asked.
    """

    matrix: np.ndarray
    cost: np.ndarray
    shift: Any
    forbidden: bool
    maximize: bool

    @property
    def size(self) -> int:
        """Order ``N`` of the square working matrix."""
        return int(self.matrix.shape[0])


def prepare(
    cost: Any,
    maximize: bool = False,
    dtype: Any = None,
    dtypes: Sequence[str] = ("int32", "int64", "float64"),
    reflect: bool = True,
    factor: int = 2,
    signed: bool = False,
) -> Problem:
    """Check a cost matrix and bring it into working form.

    Parameters
    ----------
    cost : array_like[n, m]
        Integers, booleans or floats. ``inf`` (``-inf`` when maximizing) forbids a pair.
    maximize : bool
        Whether the sum is to be maximized.
    dtype : str or dtype, optional
        The working type; by default the narrowest of `dtypes` that cannot overflow.
    dtypes : sequence of str
        The working types that the solver has kernels for.
    reflect : bool
        Whether maximizing is turned into minimizing. A solver that maximizes by itself passes
        False and gets ``matrix = cost - shift``, to be maximized.
    factor : int
        The multiple of the range (max - min) of integer costs that a solver's intermediate values
        may reach: 2 for slacks, 4 for slacks that are kept doubled.
    signed : bool
        Whether the solver takes floats of either sign. Then they are never shifted, and maximizing
        minimizes ``-cost``: nothing is rounded, and costs of all orders of magnitude are taken.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        For NaN or an infinity of the wrong sign, a wrong dimension, a non-numeric type, a sparse or
        masked matrix, a matrix without a finite complete assignment, or costs that would overflow
        the working type.
    """
    array = as_matrix(cost)
    floating = array.dtype.kind == "f"
    if floating:
        array = array.astype(np.float64, copy=False)  # what is narrower is exact in it
    if array.size == 0:
        empty = np.zeros((0, 0), _working_type(0, floating, dtype, dtypes, factor))
        return Problem(empty, array, 0, False, maximize)
    finite = finite_entries(array, maximize) if floating else None
    low, high = _bounds(array, finite)
    spread = high - low
    n = max(array.shape)
    # Room for sums over an assignment, and for what stands in for forbidden pairs (below).
    if floating and not math.isfinite((2.0 * n + 4.0) * max(spread, abs(low), abs(high))):
        raise ValueError(f"costs from {low} to {high} overflow float64 when {n} are added")
    work = _working_type(spread, floating, dtype, dtypes, factor)
    mirrored = maximize and reflect
    # Floats are moved only if they must be made non-negative: each subtraction rounds.
    keep = floating and (signed or not reflect or (low >= 0 and not maximize))
    shift = 0.0 if keep else high if mirrored else low
    if floating and shift:
        _check_digits(array, finite, shift)
    body = _shifted(array, shift, mirrored, work)
    if finite is not None:
        # The stand-in is worse than any assignment of allowed pairs can be, so it is used only if
        # there is none.
        inside = body[finite]
        penalty = n * spread if spread > 0 else max(abs(high), 1.0)
        worst = inside.min() - penalty if maximize and not reflect else inside.max() + penalty
        body = np.where(finite, body, worst)
    matrix = body
    if array.shape != (n, n):
        matrix = np.zeros((n, n), work)
        matrix[: array.shape[0], : array.shape[1]] = body
    matrix = np.ascontiguousarray(matrix, dtype=work)
    return Problem(matrix, array, shift, finite is not None, maximize)


def block_bounds(block: np.ndarray) -> tuple[Any, Any] | None:
    """Smallest and largest cost of a block of a matrix, None of an empty one.

    Raises
    ------
    ValueError
        For what `prepare` refuses, and for infinities: whether forbidden pairs leave a complete
        assignment cannot be seen from a block.
    """
    array = as_matrix(block)
    if array.size == 0:
        return None
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(
            f"matrix contains invalid numeric entries: {array[i, j]} in row {i}, column {j} of a "
            "part (forbidden pairs need the whole matrix on every rank)"
        )
    return _bounds(array, None)


def prepare_block(
    block: np.ndarray,
    bounds: tuple[Any, Any],
    n: int,
    maximize: bool,
    dtype: Any,
    dtypes: Sequence[str],
    factor: int,
) -> tuple[np.ndarray, Any]:
    """Bring a block of a square matrix into working form, as `prepare` does with ``signed=True``.

    Parameters
    ----------
    block : array[k, m]
    bounds : (low, high)
        Smallest and largest cost of the whole matrix.
    n : int
        Its order.
    maximize, dtype, dtypes, factor
        As in `prepare`.

    Returns
    -------
    matrix : ndarray[k, m]
        C-contiguous, of the working type.
    shift : int or float
        See `Problem`.
    """
    array = as_matrix(block)
    floating = array.dtype.kind == "f"
    low, high = bounds
    spread = high - low
    if floating:
        array = array.astype(np.float64, copy=False)
        if not math.isfinite((2.0 * n + 4.0) * max(spread, abs(low), abs(high))):
            raise ValueError(f"costs from {low} to {high} overflow float64 when {n} are added")
    work = _working_type(spread, floating, dtype, dtypes, factor)
    shift = 0.0 if floating else high if maximize else low
    return np.ascontiguousarray(_shifted(array, shift, maximize, work), dtype=work), shift


def finish(
    problem: Problem,
    column_of_row: np.ndarray,
    row_duals: np.ndarray | None = None,
    column_duals: np.ndarray | None = None,
    counters: Mapping[str, int] | None = None,
) -> Assignment:
    """Bring a perfect matching of the working matrix back into the caller's terms.

    Parameters
    ----------
    problem : Problem
        The value that `prepare` returned.
    column_of_row : int[N]
        The column matched to each row of ``problem.matrix``.
    row_duals, column_duals : int64[N] or float64[N], optional
        Duals of the working matrix: ``u[i] + v[j] <= matrix[i, j]``, equal on matched pairs
        (``<= -matrix[i, j]`` for an unreflected maximization).
    counters : mapping, optional
        Passed through.

    Returns
    -------
    Assignment

    Raises
    ------
    ValueError
        If the matching uses a forbidden pair: the matrix is infeasible.
    """
    n, m = problem.cost.shape
    if problem.size == 0:
        kind = np.float64 if problem.cost.dtype.kind == "f" else np.int64
        none = np.zeros(0, np.int64)
        duals = np.zeros(n, kind), np.zeros(m, kind)
        return Assignment(none, none, 0, *duals, problem.maximize, dict(counters or {}))
    columns = np.asarray(column_of_row, dtype=np.int64)[:n]
    rows = np.flatnonzero(columns < m)
    columns = columns[rows]
    chosen = problem.cost[rows, columns]
    if problem.forbidden and not np.all(np.isfinite(chosen)):
        raise ValueError("cost matrix is infeasible: every complete assignment is forbidden")
    u, v = _caller_duals(problem, row_duals, column_duals)
    total = total_cost(chosen)
    return Assignment(rows, columns, total, u, v, problem.maximize, dict(counters or {}))


def total_cost(chosen: np.ndarray) -> int | float:
    """Sum of the assigned entries: exact (a Python int) for integers, correctly rounded else."""
    if chosen.dtype.kind in "iub":
        return sum(chosen.tolist())
    return math.fsum(chosen.tolist())


# ------------------------------------------------------------------------------- checking


def refuse_sparse(cost: Any) -> None:
    """Refuse a sparse array or matrix of SciPy's.

    Raises
    ------
    ValueError
        If it is one.
    """
    if type(cost) is np.ndarray:
        return
    sparse = sys.modules.get("scipy.sparse")  # what is not loaded has made nothing
    if sparse is not None and sparse.issparse(cost):
        raise ValueError("sparse costs are not taken: make them dense, with inf for absent pairs")


def as_matrix(cost: Any) -> np.ndarray:
    """Return the costs as an array (booleans as int8), not copied when it was one.

    Parameters
    ----------
    cost : array_like[n, m]

    Raises
    ------
    ValueError
        For masked or sparse costs, another dimension than two, and types that are neither integers
        nor floats of up to 64 bits.
    """
    masked = sys.modules.get("numpy.ma")  # what is not loaded has made nothing
    if type(cost) is not np.ndarray and masked and isinstance(cost, masked.MaskedArray):
        raise ValueError(
            "masked costs are not taken: fill them, with inf where a pair is forbidden"
        )
    refuse_sparse(cost)
    array = np.asarray(cost)
    if array.ndim != 2:
        raise ValueError(f"expected a cost matrix (2-D array), got a {array.ndim}-D array")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"expected a matrix of integers or floats, got dtype {array.dtype}")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise ValueError(f"{array.dtype} costs are wider than the float64 working type")
    return array.astype(np.int8) if array.dtype.kind == "b" else array


def finite_entries(array: np.ndarray, maximize: bool) -> np.ndarray | None:
    """Mask of the allowed pairs, or None when all are; checks NaN, signs and feasibility.

    Raises
    ------
    ValueError
        For NaN or an infinity of the wrong sign, with its place, and for too few allowed pairs,
        with their number; in both cases behind SciPy's words.
    """
    finite = np.isfinite(array)
    if finite.all():
        return None
    where = np.argwhere(np.isnan(array))
    if where.size:
        i, j = where[0]
        raise ValueError(f"matrix contains invalid numeric entries: NaN at row {i}, column {j}")
    wrong = np.argwhere(array == (np.inf if maximize else -np.inf))
    if wrong.size:
        i, j = wrong[0]
        raise ValueError(
            f"matrix contains invalid numeric entries: {array[i, j]} at row {i}, column {j} "
            f"when {'maximizing' if maximize else 'minimizing'}"
        )
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    size = int((maximum_bipartite_matching(csr_array(finite), perm_type="column") >= 0).sum())
    if size < min(array.shape):
        raise ValueError(
            f"cost matrix is infeasible: at most {size} of {min(array.shape)} pairs can be "
            "assigned without a forbidden one"
        )
    return finite


def _bounds(array: np.ndarray, finite: np.ndarray | None) -> tuple[Any, Any]:
    if finite is not None:
        return float(array[finite].min()), float(array[finite].max())
    if array.dtype.kind == "f":
        return float(array.min()), float(array.max())
    low, high = int(array.min()), int(array.max())
    if max(-low, high) > INTEGER_LIMIT:
        raise ValueError(
            f"integer costs from {low} to {high} overflow: the proofs hold up to 2**60"
        )
    return low, high


def _check_digits(array: np.ndarray, finite: np.ndarray | None, shift: float) -> None:
    """Refuse costs that would lose their digits when the shift is subtracted."""
    sizes = np.abs(array if finite is None else array[finite])
    typical = float(np.median(sizes[sizes > 0])) if sizes.any() else 0.0
    if typical and abs(shift) * np.finfo(float).eps > 1e-9 * typical:
        raise ValueError(
            f"costs span too many orders of magnitude: {shift:.3g} beside {typical:.3g} leaves too "
            "few digits"
        )


def _working_type(
    spread: Any, floating: bool, dtype: Any, dtypes: Sequence[str], factor: int
) -> np.dtype:
    """The first offered type that holds ``factor * spread``, or `dtype` if it is one and does."""
    if dtype is not None:
        try:
            asked = np.dtype(dtype).name
        except TypeError:
            asked = str(dtype)
        if asked not in dtypes:
            raise ValueError(f"dtype {asked} is not offered; choose one of {', '.join(dtypes)}")
        dtypes = (asked,)
    if floating:
        if "float64" in dtypes:
            return np.dtype("float64")
        raise ValueError(f"float costs need the float64 working type, not {dtypes[0]}")
    # float64 holds integers too, exactly up to 2**53.
    holds = {name: 2**53 if name == "float64" else int(np.iinfo(name).max) for name in dtypes}
    for name in dtypes:
        if factor * spread <= holds[name]:
            return np.dtype(name)
    widest = max(dtypes, key=lambda name: holds[name])
    raise ValueError(
        f"costs with a range (max - min) of {spread} would overflow the working type {widest}: "
        f"it holds a range of at most {holds[widest] // factor}"
    )


def _shifted(array: np.ndarray, shift: Any, maximize: bool, work: np.dtype) -> np.ndarray:
    """``array - shift`` or ``shift - array`` in the working type, without a wrong wrap."""
    if array.dtype.kind == "f":
        body = shift - array if maximize else (array - shift if shift else array)
        return np.where(np.isfinite(body), body, 0.0) if not np.isfinite(body).all() else body
    if shift == 0 and not maximize and array.dtype == work:
        return array
    left, right = (shift, array) if maximize else (array, shift)
    moved = np.empty(array.shape, work)  # one pass in 64 bits, no array of 64 bits
    return np.subtract(left, right, out=moved, dtype=np.int64, casting="unsafe")


# ------------------------------------------------------------------------------- duals


def _caller_duals(
    problem: Problem, row_duals: np.ndarray | None, column_duals: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Drop the padding's duals and undo the shift, so that the duals fit the caller's matrix.

    All padding lines of one side share one dual (each is tight against some line of the other
    side and feasible against all), so moving that constant across makes it zero: then the longer
    side's duals have the sign that the inequality ``at most one`` asks for.
    """
    if row_duals is None or column_duals is None:
        return None, None
    n, m = problem.cost.shape
    wide = np.float64 if problem.cost.dtype.kind == "f" else np.int64
    # Duals of integers are whole numbers in a float64 run too, and below 2**53 there.
    u: np.ndarray = row_duals.astype(wide)
    v: np.ndarray = column_duals.astype(wide)
    if n < m:
        u, v = u - u[n], v + u[n]
    elif m < n:
        u, v = u + v[m], v - v[m]
    u, v = u[:n], v[:m]
    if problem.maximize:
        u, v = -u, -v
    # The shift goes to the side whose every line is assigned.
    return (u + problem.shift, v) if n <= m else (u, v + problem.shift)
