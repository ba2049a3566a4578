"""The auction algorithm on one CPU core: "A" of [L19 Fig.4] [L19 Fig.5].

Bertsekas's forward auction (Annals of Operations Research 14, 1988; Interfaces 20, 1990, reference
[2] of [L19]), in Gauss-Seidel's form: one row bids at a time, for the column of least
``cost + price``, and raises its price by the gap to the second least plus eps. Eps-scaling: the
auction is repeated with eps divided by `theta`, prices kept, all rows unmatched again. A complete
matching costs at most ``n * eps`` more than the optimum. The other form is in
`papers.lopes2019.baselines.auction_jacobi`.

- Integers: costs are multiplied by ``n + 1`` in int64, as they are read, and the last eps is 1, so
  ``n * eps < n + 1`` and the answer is optimal.
- float64: the last eps is ``tolerance / n``, so the answer is within `tolerance` of the optimum
  (by default 1e-10 times the largest cost).

Prices are held negated, as column duals ``v`` (scaled like the costs). The auction ends with
slacks up to eps on matched pairs; `exact_duals` repairs them, outside of the timed run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from papers.lopes2019.baselines.sweeps import JIT, limit_of

COUNTERS = ("phases", "bids")
_PHASES, _BIDS = range(2)
THETA = 7
FIRST = 4  # the first eps is the largest scaled cost over this
FLOAT_TOLERANCE = 1e-12
# One phase raises prices by less than 4 largest costs, and there are fewer than 60 phases: this
# many times the largest scaled cost must fit into int64.
_HEADROOM = 256


class Workspace(NamedTuple):
    """Everything the algorithm uses; T is int64 or float64, n the order. -1 stands for "none"."""

    cost: np.ndarray  # int32, int64 or float64[n, n]; never written
    scale: np.ndarray  # T[1]: what a cost is multiplied by: n + 1 for integers, else 1
    v: np.ndarray  # T[n]: negated prices
    column_of_row: np.ndarray  # int32[n]
    row_of_column: np.ndarray  # int32[n]
    waiting: np.ndarray  # int32[n]: unmatched rows, last in, first out
    contested: np.ndarray  # int32[n]: columns with bids (the Jacobi form alone uses these three)
    bidder: np.ndarray  # int32[n]: the highest bidder for a column
    offer: np.ndarray  # T[n]: its bid, over the price
    eps: np.ndarray  # T[phases], falling
    limit: np.ndarray  # T[1]: T's largest value
    counters: np.ndarray  # int64[2], in the order of COUNTERS


def allocate(
    matrix: np.ndarray,
    theta: int = THETA,
    tolerance: float | None = None,
    scale: float | None = None,
) -> Workspace:
    """Allocate the workspace.

    Parameters
    ----------
    matrix : int32[n, n], int64[n, n] or float64[n, n]
        Costs >= 0.
    theta : int
        Factor of eps-scaling, at least 2.
    tolerance : float, optional
        float64 only: how far from the optimum the answer may be, in the units of the costs.
    scale : float, optional
        float64 only: the default tolerance is relative to it; by default the largest cost.

    Raises
    ------
    ValueError
        If the scaled costs would overflow int64, float costs span too many orders of magnitude,
        `theta` is below 2, or `tolerance` is finer than float64 resolves.
    """
    if theta < 2:
        raise ValueError(f"theta must be at least 2, not {theta}")
    n, floating = matrix.shape[0], matrix.dtype.kind == "f"
    eps: Sequence[float]
    largest = matrix.max().item() if n else 0
    if floating:
        _check_resolution(matrix)
        eps = _float_schedule(n, largest, theta, tolerance, scale or largest)
    else:
        if largest * (n + 1) * _HEADROOM >= 2**63:
            raise ValueError(
                f"costs up to {largest} times n + 1 = {n + 1} overflow the auction's int64 prices: "
                f"costs up to {(2**63 - 1) // _HEADROOM // (n + 1)} fit at this n"
            )
        eps = _integer_schedule(n, largest, theta)
    t = np.dtype(np.float64 if floating else np.int64)
    return Workspace(
        cost=matrix,
        scale=np.array([1 if floating else n + 1], t),
        v=np.empty(n, t),
        column_of_row=np.empty(n, np.int32),
        row_of_column=np.empty(n, np.int32),
        waiting=np.empty(n, np.int32),
        contested=np.empty(n, np.int32),
        bidder=np.empty(n, np.int32),
        offer=np.empty(n, t),
        eps=np.array(eps, t),
        limit=np.array([limit_of(t)], t),
        counters=np.zeros(len(COUNTERS), np.int64),
    )


def _integer_schedule(n: int, largest: int, theta: int) -> list[int]:
    eps = [max(1, largest * (n + 1) // FIRST)]
    while eps[-1] > 1:
        eps.append(max(1, eps[-1] // theta))
    return eps


def _resolved(n: int, largest: float) -> float:
    """Resolution of an assignment's cost in float64: prices reach a few times the largest cost."""
    return 8 * float(np.spacing(8 * largest)) * max(n, 1)


def _check_resolution(matrix: np.ndarray) -> None:
    """Prices rise to the largest cost, and lose the digits that the small ones need."""
    if not matrix.size:
        return
    typical = max(matrix.min(axis=1).max(), matrix.min(axis=0).max())
    lost = _resolved(len(matrix), matrix.max())
    if not typical:  # a zero in every line: the smallest cost above tells the optimum from others
        typical = matrix.min(initial=np.inf, where=matrix > 0)
    if lost > 1e-5 * typical:
        raise ValueError(
            f"costs up to {matrix.max():.3g} beside ones of {typical:.3g} span too many orders of "
            f"magnitude: an auction in float64 resolves {lost:.3g}"
        )


def _float_schedule(
    n: int, largest: float, theta: int, tolerance: float | None, scale: float
) -> list[float]:
    largest = largest or 1.0
    resolved = _resolved(n, largest)  # eps must move prices
    if tolerance is None:
        tolerance = max(FLOAT_TOLERANCE * scale, resolved)
    elif not tolerance >= resolved:
        raise ValueError(f"float64 resolves a tolerance of {resolved:.3g} at best, not {tolerance}")
    last = tolerance / max(n, 1)
    eps = [max(last, largest / FIRST)]
    while eps[-1] > last:
        eps.append(max(last, eps[-1] / theta))
    return eps


@njit(**JIT)
def best_offer(w: Workspace, i: int, eps: Any) -> tuple[int, Any]:
    """Return the column of least ``cost + price`` for row `i`, and by how much to raise its price.

    Most columns fail the first comparison, and a processor foresees that.
    """
    row, v, scale = w.cost[i], w.v, w.scale[0]
    best, least, second = 0, w.limit[0], w.limit[0]
    for j in range(v.size):
        entry = row[j] * scale - v[j]
        if entry < second:
            if entry < least:
                best, second, least = j, least, entry
            else:
                second = entry
    return best, eps if v.size == 1 else second - least + eps


@njit(**JIT)
def _begin_phase(w: Workspace, eps: Any) -> float:
    """Empty the matching; returns the worst case of bids."""
    n = w.v.size
    # While a column is without a bid no price can rise by more than the largest cost, the spread
    # of the prices and eps; the last bid may double that. Each bid raises one price by eps.
    rise = 2.0 * (w.cost.max() * w.scale[0] + w.v.max() - w.v.min() + eps)
    w.column_of_row[:] = -1
    w.row_of_column[:] = -1
    for i in range(n):
        w.waiting[i] = n - 1 - i
    return float(n * (rise / eps + 2.0))


@njit(**JIT)
def _bid(w: Workspace, eps: Any, size: int, bids: float) -> int:
    """Up to so many bids of the `size` rows that wait; returns how many rows still do."""
    while size > 0:
        bids -= 1.0
        if bids < 0.0:
            return size
        i = w.waiting[size - 1]
        j, offer = best_offer(w, i, eps)
        w.v[j] -= offer
        w.counters[_BIDS] += 1
        displaced = w.row_of_column[j]
        w.row_of_column[j] = i
        w.column_of_row[i] = j
        if displaced < 0:
            size -= 1
        else:
            w.column_of_row[displaced] = -1
            w.waiting[size - 1] = displaced
    return 0


@njit(**JIT)
def _phase(w: Workspace, eps: Any) -> bool:
    """One auction from an empty matching; False if it exceeds its worst case of bids."""
    worst = _begin_phase(w, eps)
    return _bid(w, eps, w.v.size, worst) == 0


@njit(**JIT)
def auction(w: Workspace) -> bool:
    """Solve; False if a phase has not ended after its worst case."""
    w.counters[:] = 0
    w.v[:] = 0
    if w.v.size == 0:
        return True
    for eps in w.eps:
        w.counters[_PHASES] += 1
        if not _phase(w, eps):
            return False
    return True


SLICE = 1 << 22
"""Costs that the bids of a slice read: some milliseconds."""


def auction_in_slices(w: Workspace, look: Callable[[], None]) -> bool:
    """Do what `auction` does in slices of bids; ``look()`` is called before each."""
    w.counters[:] = 0
    w.v[:] = 0
    n = w.v.size
    for eps in w.eps if n else ():
        w.counters[_PHASES] += 1
        left, size = _begin_phase(w, eps), n
        while size > 0:  # `left` falls
            look()
            if left < 1.0:
                return False
            bids = min(left, float(max(1, SLICE // n)))
            size, left = _bid(w, eps, size, bids), left - bids
    return True


# --------------------------------------------------------------------------- duals


def exact_duals(
    matrix: np.ndarray, column_of_row: np.ndarray, scaled_v: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Duals of an optimal integer matching, feasible and tight without a tolerance.

    Bellman-Ford on the columns: a matched pair ties ``u[i]`` to ``v``, and ``v[j]`` must not exceed
    ``c[i, j] - u[i]``. The auction's prices, scaled back, are nearly right, so few columns change.

    Parameters
    ----------
    matrix : int32[n, n] or int64[n, n]
        The costs, not scaled.
    column_of_row : int32[n]
        The matching.
    scaled_v : int64[n]
        The auction's column duals.

    Returns
    -------
    u, v : int64[n]
        Or None if the matching is not optimal (a cycle of negative slack).
    """
    v = scaled_v // (len(scaled_v) + 1)
    u = np.empty_like(v)
    return (u, v) if _bellman_ford(matrix, column_of_row, u, v, len(v) + 1) else None


FLOAT_PASSES = 64  # rounding can keep a float run of Bellman-Ford going for ever


def tight_duals(
    matrix: np.ndarray, column_of_row: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """As `exact_duals` for float64, up to rounding; None if the matching does not allow it.

    Parameters
    ----------
    matrix : float64[n, n]
    column_of_row : int32[n]
    v : float64[n]
        The auction's column duals.
    """
    v = v.copy()
    u = np.empty_like(v)
    return (u, v) if _bellman_ford(matrix, column_of_row, u, v, FLOAT_PASSES) else None


@njit(**JIT)
def _bellman_ford(
    matrix: np.ndarray, column_of_row: np.ndarray, u: Any, v: Any, passes: int
) -> bool:
    n = v.size
    done = np.zeros(n, np.bool_)  # rows whose constraints hold for the present v
    row_of_column = np.empty(n, np.int64)
    for i in range(n):
        row_of_column[column_of_row[i]] = i
    for _ in range(passes):
        changed = False
        for i in range(n):
            if done[i]:
                continue
            done[i] = True
            u[i] = matrix[i, column_of_row[i]] - v[column_of_row[i]]
            for j in range(n):
                bound = matrix[i, j] - u[i]
                if bound < v[j]:
                    v[j] = bound
                    done[row_of_column[j]] = False
                    changed = True
        if not changed:
            return True
    return False
