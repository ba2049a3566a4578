"""Dense assignment by others' codes on one core: SciPy, and lapx's two Jonker-Volgenant codes.

| solver | call |
| --- | --- |
| `scipy` | `scipy.optimize.linear_sum_assignment` |
| `lapjv` | ``lap.lapjv(cost, extend_cost=True, return_cost=False)`` on float64 |
| `lapjvs` | ``lap.lapjvs(cost, return_cost=False)`` on float64 |

They yield no duals, and their users pay for none: what a proof needs is derived outside the clocks
(`papers.synthesis.calls.assignment_duals`). `run` is the call alone; lapx's costs are brought into
its own type, float64, by `upload`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from papers.common.gpu.environment import MissingPackageError, install_command
from papers.common.model import Assignment, Limit, Solver
from papers.common.problems.assignment import as_matrix, total_cost
from papers.synthesis.calls.assignment_duals import duals_of

Trace = Callable[[str], None] | None

EXACT = 2**50
"""Whole numbers up to this leave float64 room for exact sums of some of them."""


@dataclass
class State:
    """A matrix as one of the codes takes it, and what it returned.

    Attributes
    ----------
    cost : ndarray[n, m]
        The caller's.
    given : ndarray[n, m]
        As the code takes it.
    maximize : bool
    call : callable(ndarray) -> (row_ind, col_ind)
    found : (row_ind, col_ind) or None
    """

    cost: np.ndarray
    given: np.ndarray
    maximize: bool
    call: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    found: tuple[np.ndarray, np.ndarray] | None = None


def _checked(cost: Any) -> np.ndarray:
    array = as_matrix(cost)
    if array.dtype.kind == "f":
        if np.isnan(array).any():
            raise ValueError("matrix contains invalid numeric entries: NaN")
    elif array.size and max(-int(array.min()), int(array.max())) > EXACT:
        raise ValueError("integer costs beyond 2**50: the code's float64 would round their sums")
    return array


def upload_scipy(cost: Any, maximize: bool = False) -> State:
    """Check the costs.

    Parameters
    ----------
    cost : array_like[n, m]
        Integers up to 2**50 in size, or floats.
    maximize : bool

    Raises
    ------
    ValueError
        For bad costs and for larger integers, which SciPy would round.
    """
    from scipy.optimize import linear_sum_assignment

    array = _checked(cost)
    return State(array, array, maximize, partial(linear_sum_assignment, maximize=maximize))


def upload_lapx(cost: Any, maximize: bool = False, *, code: str = "lapjv") -> State:
    """Check the costs and bring them into lapx's type.

    Parameters
    ----------
    cost : array_like[n, m]
        Integers up to 2**50 in size, or finite floats.
    maximize : bool
        The costs are negated then, outside of what `run` is timed for.
    code : {"lapjv", "lapjvs"}

    Raises
    ------
    MissingPackageError
        If lapx is not installed.
    ValueError
        For bad costs, larger integers and infinities.
    """
    try:
        import lap
    except ImportError:
        raise MissingPackageError(
            f"this solver needs lapx, which is not installed: {install_command('peers')}"
        ) from None
    array = _checked(cost)
    wide = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(wide).all():
        raise ValueError("lapx takes finite costs only: no pair can be forbidden")
    given = -wide if maximize else wide
    return State(array, given, maximize, partial(_CALLS[code], getattr(lap, code)))


def _lapjv(function: Any, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    column, _ = function(cost, extend_cost=True, return_cost=False)
    rows = np.flatnonzero(column >= 0)
    return rows, column[rows]


def _lapjvs(function: Any, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return function(cost, return_cost=False)


_CALLS = {"lapjv": _lapjv, "lapjvs": _lapjvs}


def run(state: State, trace: Trace = None) -> None:
    """Call the code; it tells no steps.

    Raises
    ------
    ValueError
        SciPy: if the matrix is infeasible.
    """
    if min(state.given.shape, default=0) == 0:
        state.found = np.zeros(0, np.int64), np.zeros(0, np.int64)
        return
    state.found = state.call(state.given)


def download(state: State) -> Assignment:
    """Return the assignment, without duals: the codes yield none.

    Raises
    ------
    RuntimeError
        If no run has ended.
    """
    if state.found is None:
        raise RuntimeError("nothing to download: no run has ended")
    rows, columns = (np.asarray(line, np.int64) for line in state.found)
    order = np.argsort(rows, kind="stable")
    rows, columns = rows[order], columns[order]
    return Assignment(
        rows, columns, total_cost(state.cost[rows, columns]), None, None, state.maximize
    )


def with_duals(state: State, answer: Assignment) -> Assignment:
    """Add the duals that prove an answer, if there are any: of one that is not optimal are none."""
    found = duals_of(state.cost, answer.row_ind, answer.col_ind, state.maximize)
    if found is None:
        return answer
    return replace(answer, row_duals=found[0], column_duals=found[1])


LIMITS: dict[Limit, str] = {
    "large integers": r"2\*\*50", "wide integers": r"2\*\*50", "time limits": "seconds",
}  # fmt: skip

SOLVERS: Mapping[str, Solver] = {
    "scipy": Solver(
        name="scipy", title="SciPy (CPU)", device="cpu", problem="assignment",
        upload=upload_scipy, run=run, download=download, proof=with_duals, limits=LIMITS,
    ),
    **{
        name: Solver(
            name=name, title=f"lapx {name} (CPU)", device="cpu", problem="assignment",
            upload=partial(upload_lapx, code=name), run=run, download=download, proof=with_duals,
            limits=LIMITS,
        )
        for name in _CALLS
    },
}  # fmt: skip
