"""Optimality proofs, checked outside every clock.

An assignment is optimal if duals exist that no pair undercuts and that add up to its cost (linear
programming duality). Checking that takes one pass over the costs and no solver. The matrix may
come in row strips, so that an instance of n = 20000 never needs a second copy.

**Integers** are checked exactly. **Floats**: whatever the duals, no assignment costs less than
their sum minus the largest violation of each row, so

    gap = |cost - (sum of duals)| + (sum over rows of the largest violation)

(plus the duals that have the wrong sign, where one side is longer, see `assignment`)
bounds how far the assigned pairs, added exactly, are from the optimum. The gap is computed, not
assumed, and its own rounding is counted: costs and duals are added in one exactly rounded sum, a
slack that float64 does not find positive is computed anew without loss
(`papers.common.problems.duals.violations`), and what is rounded after that is rounded upward. So
the gap is a bound whoever wrote the duals, and however large they are.

A gap is accepted if it is at most `FLOAT_TOLERANCE` times the sum of the assigned costs' sizes:
neither large costs that take no part (a big-M) nor large duals widen it. Where that is finer than
the duals' last digits, since the assigned costs vanish beside them, the gap may be 2**-49 of the
sum of the duals' sizes, if that is at most a thousandth of the smallest cost that is not zero.

Both proofs stand in this one file, since a matrix may change from integers to floats on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from typing import Any

import numpy as np
from numba import prange

from papers.common.model import Assignment, Proof
from papers.common.parallel import parallel
from papers.common.problems.assignment import INTEGER_LIMIT, total_cost
from papers.common.problems.duals import EPS, sum_to_nearest, sum_upward, violations

STRIP_ROWS = 256
FLOAT_TOLERANCE = 1e-10
"""Every dual update of a float run rounds once, at half an ulp, and a run makes at most some ten
thousand of them: 1e4 * 1.1e-16, with a factor of a hundred to spare."""

WHOLE_LIMIT = 2**53
"""Whole numbers up to this are exact in float64."""

_TOO_LARGE = "a cost exceeds 2**60: the exact check would overflow"

RowStrips = Callable[[int, int], np.ndarray]


@dataclass(frozen=True)
class Strips:
    """A matrix in row strips that says how many rows it has.

    Attributes
    ----------
    rows : int
    draw : callable(start, stop) -> array[stop - start, m]
    """

    rows: int
    draw: RowStrips

    def __call__(self, start: int, stop: int) -> np.ndarray:
        """Return rows `start` to `stop` (excluded)."""
        return self.draw(start, stop)


class Refuted(Exception):
    """An answer is wrong; the message says where."""


@dataclass
class Audit:
    """The findings of one pass over the costs.

    Attributes
    ----------
    exact, whole : bool
        Whether everything so far was integers, of costs and duals, and of costs.
    smallest, violation : float
        Of floats: the smallest positive size of a cost; a bound from above on what the duals
        violate.
    chosen : list of array
        The assigned costs.
    """

    exact: bool
    whole: bool = True  # every strip so far holds integers
    smallest: float = math.inf  # positive absolute cost
    violation: float = 0.0
    chosen: list[np.ndarray] = field(default_factory=list)


def unchecked(reason: str) -> Proof:
    """The verdict on an answer that nothing has checked: never ok."""
    return Proof(ok=False, kind="none", reason=reason)


def assignment(
    cost: np.ndarray | RowStrips,
    answer: Assignment,
    maximize: bool | None = None,
    tolerance: float = FLOAT_TOLERANCE,
    rows: int | None = None,
) -> Proof:
    """Prove an assignment optimal by its LP duals, or say what is wrong with it.

    Parameters
    ----------
    cost : array[n, m] or callable(start, stop) -> array[stop - start, m]
        The costs, whole or in row strips. ``inf`` (``-inf`` if maximizing) is a forbidden pair.
    answer : Assignment
        With duals.
    maximize : bool, optional
        The choice of the caller; by default the answer's own.
    tolerance : float
        For float costs, see above. Integers are exact.
    rows : int, optional
        ``n``; needed when `cost` is a callable.

    Returns
    -------
    Proof
        ``kind="lp-duals"``; ``kind="none"`` when the answer has no duals to check.

    Raises
    ------
    ValueError
        If `cost` is a callable and `rows` is missing.

    Notes
    -----
    For ``n < m`` the program says "at most one" for columns, so an unassigned column's dual must
    be zero and every column's of one sign (likewise rows for ``n > m``).
    """
    if answer.row_duals is None or answer.column_duals is None:
        return unchecked("the answer carries no duals")
    if isinstance(cost, Strips):
        rows = cost.rows
    if callable(cost) and rows is None:
        raise ValueError("a matrix in strips does not say how many rows it has: pass rows=")
    n = len(np.asarray(cost)) if not callable(cost) else int(rows or 0)
    try:
        if rows is not None and rows != n:
            raise Refuted(f"the matrix has {n} rows, not {rows}")
        if maximize is not None and bool(maximize) != answer.maximize:
            raise Refuted(f"maximize={maximize} was asked, the answer says {answer.maximize}")
        return Proof(True, "lp-duals", _prove(cost, answer, n, tolerance))
    except Refuted as refuted:
        return Proof(False, "lp-duals", str(refuted))
    except OverflowError as error:
        return Proof(False, "lp-duals", f"the sums overflow float64 ({error})")


def _prove(cost: np.ndarray | RowStrips, answer: Assignment, n: int, tolerance: float) -> str:
    """The proof in words."""
    u, v = np.asarray(answer.row_duals), np.asarray(answer.column_duals)
    if len(u) != n:
        raise Refuted(f"the matrix has {n} rows, the answer {len(u)} row duals")
    check_structure(answer, (n, len(v)))
    exact = u.dtype.kind == "i" and v.dtype.kind == "i"
    check_size(exact, u, v, answer.cost)
    assigned = np.full(n, -1, np.int64)
    assigned[answer.row_ind] = answer.col_ind
    audit = Audit(exact)
    for start, strip in _strips(cost, n):
        if strip.shape != (min(STRIP_ROWS, n - start), len(v)):
            raise Refuted(f"the rows from {start} on have shape {strip.shape}, not that of {n} x "
                          f"{len(v)}")  # fmt: skip
        _check_strip(strip, start, answer, assigned, audit)
    return balance(answer, audit, tolerance)


def _strips(cost: np.ndarray | RowStrips, rows: int) -> Iterator[tuple[int, np.ndarray]]:
    whole = None if callable(cost) else np.asarray(cost)
    if whole is not None and whole.ndim != 2:
        raise Refuted(f"the costs are {whole.ndim}-D")
    for start in range(0, rows, STRIP_ROWS):
        stop = min(start + STRIP_ROWS, rows)
        strip = whole[start:stop] if whole is not None else cost(start, stop)  # type: ignore[operator]
        yield start, np.asarray(strip)


def check_structure(answer: Assignment, shape: tuple[int, int]) -> None:
    """Pairs are as many as the shorter side, in order, inside, and of different columns."""
    rows, columns = np.asarray(answer.row_ind), np.asarray(answer.col_ind)
    wanted = min(shape)
    for name, lines in (("row_ind", rows), ("col_ind", columns)):
        if lines.size and lines.dtype.kind not in "iu":
            raise Refuted(f"{name} holds {lines.dtype}, not integers")
    if rows.shape != (wanted,) or columns.shape != (wanted,):
        raise Refuted(
            f"{rows.size} rows and {columns.size} columns are assigned, {wanted} pairs expected"
        )
    if wanted and (rows.min() < 0 or rows.max() >= shape[0] or np.any(rows[1:] <= rows[:-1])):
        raise Refuted("row_ind is not an increasing list of rows")
    if wanted and (columns.min() < 0 or columns.max() >= shape[1]):
        raise Refuted("col_ind names a column that does not exist")
    if np.unique(columns).size != wanted:
        raise Refuted("a column is assigned twice")


def check_size(exact: bool, u: np.ndarray, v: np.ndarray, cost: Any) -> None:
    """No infinities, and no integer so large that a cost and two duals could wrap."""
    if exact:
        if any(len(d) and max(int(d.max()), -int(d.min())) > 2 * INTEGER_LIMIT for d in (u, v)):
            raise Refuted("a dual exceeds 2**61: the exact check would overflow")
    elif not (np.isfinite(u).all() and np.isfinite(v).all()):
        raise Refuted("a dual is not finite")
    if not math.isfinite(cost):
        raise Refuted(f"the answer says that it costs {cost}")


def _check_strip(
    strip: np.ndarray, start: int, answer: Assignment, assigned: np.ndarray, audit: Audit
) -> None:
    """Feasibility of the duals on these rows, and tightness of their assigned pairs."""
    mine = assigned[start : start + len(strip)]
    rows = np.flatnonzero(mine >= 0)
    check_block(strip, start, answer, (rows, mine[rows]), audit)


def check_block(
    strip: np.ndarray,
    start: int,
    answer: Assignment,
    pairs: tuple[np.ndarray, np.ndarray],
    audit: Audit,
) -> None:
    """Feasibility on a block, of integers tightness too; collects what `balance` needs.

    Parameters
    ----------
    strip : array[k, m]
        Rows from ``start`` on; its columns are those of ``answer.column_duals``.
    answer : Assignment
        Of it the duals and ``maximize`` count.
    pairs : (rows, columns)
        The assigned pairs inside, counted from the block's corner.

    Raises
    ------
    Refuted
    """
    if strip.dtype.kind not in "biuf" or isinstance(strip, np.ma.MaskedArray):
        raise Refuted(f"costs of dtype {strip.dtype} cannot be checked")
    if strip.dtype.kind == "f":
        audit.exact = audit.whole = False
    elif audit.exact:
        audit.smallest = min(audit.smallest, 1.0)  # for the floats of a later strip
    check = _check_exactly if audit.exact else _check_nearly
    check(strip, start, answer, pairs, audit)
    audit.chosen.append(strip[pairs])


def _check_exactly(
    strip: np.ndarray,
    start: int,
    answer: Assignment,
    pairs: tuple[np.ndarray, np.ndarray],
    audit: Audit,
) -> None:
    """Integers: one pass finds the rows that are wrong, the first of them says where."""
    if not strip.size:
        return
    costs = _scannable(strip)
    u = np.asarray(answer.row_duals)[start : start + len(strip)].astype(np.int64)
    v = np.asarray(answer.column_duals).astype(np.int64)
    low, high, least, most = _scan(costs, v)
    if max(int(high.max()), -int(low.min())) > INTEGER_LIMIT:
        raise Refuted(_TOO_LARGE)  # and the rest of the scan may have wrapped
    sign = -1 if answer.maximize else 1
    bad = np.flatnonzero(u > least if sign > 0 else u < most)
    if bad.size:
        i = bad[0]
        slack = sign * (costs[i].astype(np.int64) - u[i] - v)
        j = np.flatnonzero(slack < 0)[0]
        raise Refuted(f"reduced cost {slack[j]} at row {start + i}, column {j}")
    rows, columns = pairs
    loose = np.flatnonzero(costs[pairs].astype(np.int64) - u[rows] - v[columns])
    if loose.size:
        i, j = rows[loose[0]], columns[loose[0]]
        raise Refuted(f"row {start + i}, column {j} is assigned but not tight")


def _scannable(strip: np.ndarray) -> np.ndarray:
    """The same integers, C-contiguous, as one of the two types that `_scan` is compiled for."""
    if strip.dtype in (np.int32, np.int64):
        return np.ascontiguousarray(strip)
    if int(strip.max()) > INTEGER_LIMIT:  # uint64: it would wrap on the way
        raise Refuted(_TOO_LARGE)
    return np.ascontiguousarray(strip, dtype=np.int64)


@parallel(lambda costs, v: costs.size, much=STRIP_ROWS * 1024)
def _scan(
    costs: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For each row the extremes of its costs and of ``cost - v``, in int64, in one pass.

    Parameters
    ----------
    costs : int32[k, m] or int64[k, m]
        C-contiguous, ``m >= 1``.
    v : int64[m]
        The columns' duals.

    Returns
    -------
    low, high, least, most : int64[k]
        Smallest and largest cost, smallest and largest ``cost - v``. The latter two are exact as
        long as no cost exceeds 2**60 and no dual 2**61 in size.
    """
    low = np.empty(len(costs), np.int64)
    high, least, most = np.empty_like(low), np.empty_like(low), np.empty_like(low)
    for i in prange(len(costs)):
        row = costs[i]
        lowest = highest = np.int64(row[0])
        nearest = farthest = np.int64(row[0]) - v[0]
        for j in range(len(v)):
            cost = np.int64(row[j])
            lowest, highest = min(lowest, cost), max(highest, cost)
            rest = cost - v[j]
            nearest, farthest = min(nearest, rest), max(farthest, rest)
        low[i], high[i], least[i], most[i] = lowest, highest, nearest, farthest
    return low, high, least, most


def _check_nearly(
    strip: np.ndarray,
    start: int,
    answer: Assignment,
    pairs: tuple[np.ndarray, np.ndarray],
    audit: Audit,
) -> None:
    """Floats: bounds on what the duals violate are added up; loose pairs show in the sums."""
    sign = -1 if answer.maximize else 1
    wide, allowed = _allowed(strip, start, sign)
    if allowed is not None and not allowed[pairs].all():
        raise Refuted(f"a forbidden pair is assigned in rows {start} to {start + len(strip) - 1}")
    sizes = np.abs(wide)
    smallest = float(sizes.min(initial=np.inf, where=sizes > 0))
    audit.smallest = min(audit.smallest, smallest)
    u = as_floats(answer.row_duals, "dual")[start : start + len(strip)]
    v = as_floats(answer.column_duals, "dual")
    worst = violations(wide, allowed, u, v, answer.maximize)
    audit.violation = sum_upward([audit.violation, *worst.tolist()])


def _allowed(strip: np.ndarray, start: int, sign: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The costs as float64, 0 for forbidden ones, and which are allowed (None: all are)."""
    wide = as_floats(strip, "cost")
    finite = np.isfinite(wide)
    if finite.all():
        return wide, None
    allowed = wide != sign * np.inf
    bad = np.argwhere(allowed & ~finite)
    if bad.size:
        i, j = bad[0]
        raise Refuted(f"the cost at row {start + i}, column {j} is {wide[i, j]}")
    return np.where(allowed, wide, 0.0), allowed


def as_floats(values: Any, name: str) -> np.ndarray:
    """Return costs or duals as float64, none of them changed.

    Raises
    ------
    Refuted
        If float64 does not hold them exactly; `name` says in the message who they are.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        raise Refuted(f"{name}s of dtype {array.dtype} cannot be checked")
    wide = array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size
    if wide and max(int(array.max()), -int(array.min())) > WHOLE_LIMIT:
        raise Refuted(f"a whole {name} exceeds 2**53, beside floats: it would be rounded")
    return array.astype(np.float64, copy=False)


def balance(answer: Assignment, audit: Audit, tolerance: float) -> str:
    """The claimed cost is the sum of the assigned entries, and the duals leave it no room."""
    if audit.exact:
        return _balance_exactly(answer, audit)
    parts = [as_floats(part, "cost").tolist() for part in audit.chosen]
    chosen = [cost for part in parts for cost in part]
    u, v = (as_floats(duals, "dual") for duals in (answer.row_duals, answer.column_duals))
    both = [*u.tolist(), *v.tolist()]
    primal, dual = math.fsum(chosen), sum_to_nearest(both)
    share = tolerance * math.fsum(map(abs, chosen))
    off = abs(math.fsum([*chosen, -float(answer.cost)]))
    if off > (0 if audit.whole else share):
        raise Refuted(f"the assigned entries add up to {primal}, the answer says {answer.cost}")
    # In one sum: those of the costs and of the duals have rounded already.
    terms = [*chosen, *(-each for each in both)]
    apart = max(sum_upward(terms), sum_upward([-term for term in terms]))
    gap = sum_upward([apart, audit.violation, *_wrong_signs(answer, u, v)])
    allowance = _allowance(share, both, audit)
    if not (gap <= allowance and math.isfinite(allowance)):
        raise Refuted(
            f"primal {primal}, dual {dual}, violations {audit.violation:.3g}: a gap of {gap:.3g}, "
            f"{allowance:.3g} allowed"
        )
    return f"primal {primal:.17g}, dual {dual:.17g}: optimal to within {_upward(gap)}"


def _allowance(share: float, both: list[float], audit: Audit) -> float:
    """The largest gap that is accepted: a share of the costs, or the last digits of the duals."""
    digits = math.fsum(8 * EPS * abs(each) for each in both)
    if digits <= 1e-3 * audit.smallest:
        share = max(share, digits)
    return min(share, 0.5) if audit.whole else share  # two whole costs that differ, differ by one


def _upward(gap: float) -> str:
    """A gap in two digits, rounded upward: the text is a bound, too."""
    digits = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(gap)
    return f"{float(digits):.2g}"


def _balance_exactly(answer: Assignment, audit: Audit) -> str:
    """Integers: the claimed cost, the assigned entries' sum and the duals' are one number."""
    u, v = np.asarray(answer.row_duals), np.asarray(answer.column_duals)
    primal = total_cost(np.concatenate(audit.chosen) if audit.chosen else np.zeros(0, np.int64))
    if primal != answer.cost:
        raise Refuted(f"the assigned entries add up to {primal}, the answer says {answer.cost}")
    _check_longer_side(answer)
    dual = sum(map(int, u)) + sum(map(int, v))
    if primal != dual:
        raise Refuted(f"primal {primal} and dual {dual} differ")
    return f"primal = dual = {primal} exactly, no negative reduced cost"


def _wrong_signs(answer: Assignment, u: np.ndarray, v: np.ndarray) -> list[float]:
    """The duals' sizes that have the wrong sign for 'assigned at most once', on the longer side."""
    if len(u) == len(v):
        return []
    duals = v if len(u) < len(v) else u
    return np.maximum(-duals if answer.maximize else duals, 0).tolist()


def _check_longer_side(answer: Assignment) -> None:
    """Sign and zero conditions on the side that may stay unassigned, exactly."""
    u, v = np.asarray(answer.row_duals), np.asarray(answer.column_duals)
    if len(u) == len(v):
        return
    name, duals, used = (
        ("column", v, answer.col_ind) if len(u) < len(v) else ("row", u, answer.row_ind)
    )
    if np.any((-duals if answer.maximize else duals) > 0):
        raise Refuted(f"a {name} dual has the wrong sign for 'assigned at most once'")
    free = np.ones(len(duals), bool)
    free[used] = False
    if np.any(duals[free]):
        raise Refuted(f"an unassigned {name} has a dual other than zero")
