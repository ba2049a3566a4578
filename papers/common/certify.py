"""Optimality proofs, checked outside every clock.

An assignment is optimal if duals exist that no pair undercuts and that add up to its cost
(linear programming duality). Checking that takes one pass over the costs and no solver: integers
are checked exactly, floats within a stated tolerance. The matrix may come in row strips, so that
an instance of n = 20000 never needs a second copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from papers.common.assignment import total_cost
from papers.common.model import Assignment, Verdict

STRIP_ROWS = 256
FLOAT_TOLERANCE = 1e-10
"""Slack may fall short of zero by this much times the largest absolute cost: every dual update of
a float run rounds once, at half an ulp, and a run makes at most some ten thousand of them."""

RowStrips = Callable[[int, int], np.ndarray]


def unchecked(reason: str) -> Verdict:
    """The verdict on an answer that nothing has checked: never ok."""
    return Verdict(ok=False, kind="none", reason=reason)


def assignment(
    cost: np.ndarray | RowStrips,
    answer: Assignment,
    maximize: bool | None = None,
    tolerance: float = FLOAT_TOLERANCE,
) -> Verdict:
    """Prove an assignment optimal by its LP duals, or say what is wrong with it.

    Parameters
    ----------
    cost : array[n, m] or callable(start, stop) -> array[stop - start, m]
        The costs, whole or in row strips. ``inf`` (``-inf`` if maximizing) is a forbidden pair.
    answer : Assignment
        With duals.
    maximize : bool, optional
        What was asked for; by default what the answer says of itself.
    tolerance : float
        For float costs, relative to the largest absolute cost. Integers are exact.

    Returns
    -------
    Verdict
        ``kind="lp-duals"``; ``kind="none"`` when the answer has no duals to check.

    Notes
    -----
    For ``n < m`` the program says "at most one" for columns, so an unassigned column's dual must
    be zero and every column's of one sign (likewise rows for ``n > m``).
    """
    u, v = answer.row_duals, answer.column_duals
    if u is None or v is None:
        return unchecked("the answer carries no duals")
    if maximize is not None and bool(maximize) != answer.maximize:
        return _no(f"maximize={maximize} was asked, the answer says {answer.maximize}")
    shape = (len(u), len(v))
    problem = _structure(answer, shape)
    if problem:
        return _no(problem)
    sign = -1 if answer.maximize else 1
    exact = u.dtype.kind == "i" and v.dtype.kind == "i"
    assigned = np.full(shape[0], -1, np.int64)
    assigned[answer.row_ind] = answer.col_ind
    scale, chosen = 0.0, []
    for start, strip in _strips(cost, shape[0]):
        if strip.shape[1] != shape[1]:
            return _no(f"the matrix has {strip.shape[1]} columns, the answer {shape[1]}")
        if strip.dtype.kind == "f":
            exact = False
        problem, size, entries = _check_strip(strip, start, u, v, assigned, sign, exact, tolerance)
        if problem:
            return _no(problem)
        scale = max(scale, size)
        chosen.append(entries)
    problem = _longer_side(answer, u, v, 0 if exact else tolerance * scale)
    if problem:
        return _no(problem)
    return _balance(answer, u, v, chosen, exact, tolerance * scale)


def _strips(cost: np.ndarray | RowStrips, rows: int) -> Iterator[tuple[int, np.ndarray]]:
    if not callable(cost):
        cost = np.asarray(cost)
        if cost.ndim != 2 or cost.shape[0] != rows:
            # A strip without columns makes the caller report the mismatch.
            yield 0, np.empty((0, 0), np.int64)
            return
    for start in range(0, rows, STRIP_ROWS):
        stop = min(start + STRIP_ROWS, rows)
        yield start, np.asarray(cost(start, stop) if callable(cost) else cost[start:stop])


def _structure(answer: Assignment, shape: tuple[int, int]) -> str:
    rows, columns = np.asarray(answer.row_ind), np.asarray(answer.col_ind)
    wanted = min(shape)
    if rows.shape != (wanted,) or columns.shape != (wanted,):
        return f"{rows.size} rows and {columns.size} columns are assigned, {wanted} pairs expected"
    if wanted and (rows.min() < 0 or rows.max() >= shape[0] or np.any(np.diff(rows) <= 0)):
        return "row_ind is not an increasing list of rows"
    if wanted and (columns.min() < 0 or columns.max() >= shape[1]):
        return "col_ind names a column that does not exist"
    if np.unique(columns).size != wanted:
        return "a column is assigned twice"
    return ""


def _longer_side(answer: Assignment, u: np.ndarray, v: np.ndarray, slack: float) -> str:
    """Sign and zero conditions on the side that may stay unassigned."""
    if len(u) == len(v):
        return ""
    name, duals, used = ("column", v, answer.col_ind) if len(u) < len(v) else (
        "row", u, answer.row_ind)  # fmt: skip
    signed = -duals if answer.maximize else duals
    if np.any(signed > slack):
        return f"a {name} dual has the wrong sign for 'assigned at most once'"
    free = np.ones(len(duals), bool)
    free[used] = False
    if np.any(np.abs(duals[free]) > slack):
        return f"an unassigned {name} has a dual other than zero"
    return ""


def _check_strip(
    strip: np.ndarray,
    start: int,
    u: np.ndarray,
    v: np.ndarray,
    assigned: np.ndarray,
    sign: int,
    exact: bool,
    tolerance: float,
) -> tuple[str, float, np.ndarray]:
    """Feasibility of the duals on these rows, and tightness of their assigned pairs."""
    rows = np.arange(len(strip))
    allowed = np.isfinite(strip) if strip.dtype.kind == "f" else np.ones(strip.shape, bool)
    wide = strip.astype(np.int64 if exact else np.float64)
    size = float(np.abs(wide[allowed]).max(initial=0))
    if not exact:  # a strip of zeros must not be held to a tolerance of zero
        size = max(size, float(np.abs(u).max(initial=0)), float(np.abs(v).max(initial=0)))
    slack = sign * (np.where(allowed, wide, 0) - u[start : start + len(strip), None] - v[None, :])
    bound = 0 if exact else tolerance * size
    bad = np.argwhere(allowed & (slack < -bound))
    if bad.size:
        i, j = bad[0]
        return f"reduced cost {slack[i, j]} at row {start + i}, column {j}", size, strip[:0, 0]
    mine = assigned[start : start + len(strip)]
    rows = rows[mine >= 0]
    columns = mine[mine >= 0]
    if not allowed[rows, columns].all():
        return f"a forbidden pair is assigned near row {start}", size, strip[:0, 0]
    loose = np.flatnonzero(np.abs(slack[rows, columns]) > bound)
    if loose.size:
        i, j = rows[loose[0]], columns[loose[0]]
        return f"row {start + i}, column {j} is assigned but not tight", size, strip[:0, 0]
    return "", size, strip[rows, columns]


def _balance(
    answer: Assignment,
    u: np.ndarray,
    v: np.ndarray,
    chosen: list[np.ndarray],
    exact: bool,
    tolerance: float,
) -> Verdict:
    """The claimed cost is the sum of the assigned entries and equals the dual value."""
    primal: Any = total_cost(np.concatenate(chosen)) if chosen else 0
    allowance = 0 if exact else tolerance * max(len(answer.row_ind), 1)
    if not abs(primal - answer.cost) <= allowance:
        return _no(f"the assigned entries add up to {primal}, the answer says {answer.cost}")
    if exact:
        dual: Any = sum(map(int, u)) + sum(map(int, v))
    else:
        dual = math.fsum(u.tolist()) + math.fsum(v.tolist())
    if not abs(primal - dual) <= allowance:
        return _no(f"primal {primal} and dual {dual} differ")
    how = "exactly" if exact else f"within {allowance:.3g}"
    return Verdict(True, "lp-duals", f"primal = dual = {primal} {how}, no negative reduced cost")


def _no(reason: str) -> Verdict:
    return Verdict(False, "lp-duals", reason)
