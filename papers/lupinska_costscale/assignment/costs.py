"""Costs of an assignment problem as integers on which cost scaling is exact, and the way back.

**Why 2 N + 1.** A flow is optimal once it is eps-optimal for eps < 1/n [LU11 sec.5.1], n = 2 N
being the number of nodes: a residual cycle has at most n arcs, so it costs more than -1, and costs
are integers. Costs times n + 1 turn this into whole numbers: the last eps is 1.

**Duals.** At the end every residual arc has a reduced cost >= -1. Divide the prices by n + 1: what
is then lost of a reduced cost makes it negative only on an arc from a remainder n to a remainder 0.
There are n nodes and n + 1 remainders, so that some constant, added to all prices, leaves no node
at remainder n: the quotients are exact LP duals.

**Floats** are counted in steps of a power of two, as fine as the prices' range leaves room for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numba import njit
from scipy.sparse import csr_array, issparse

from papers.common.model import Assignment
from papers.common.problems import assignment_proof
from papers.common.problems.assignment import INTEGER_LIMIT, Problem, finish, prepare
from papers.common.problems.duals import EPS, gap_by_sums, row_duals

HEADROOM = 8
"""Prices stay within this many times n * largest scaled cost C (see `price_limit`).

A refine lowers none by more than n (alpha + 1) eps, and the eps fall from C / alpha in a geometric
series: 3 n C in all for alpha = 2, less for a larger one. The rest is room for a reduced cost."""

COARSEST = 1e-12
"""Largest step of float costs, relative to the typical cost."""


@dataclass(frozen=True, eq=False)
class Costs:
    """A checked problem as a residual network: N nodes x, then N nodes y; arcs from x to y.

    Attributes
    ----------
    problem : Problem
        The caller's matrix, and what `papers.common.problems.assignment.finish` needs.
    n : int
        N, nodes of a side.
    first : int32[2 N + 1]
        Node v's arcs are ``first[v] .. first[v + 1] - 1`` of the next two.
    head, arc : int32[2 M]
        The node at the other end; the arc's number, the same seen from both ends.
    cost : int64[M]
        Costs >= 0, to be minimized, times `factor`.
    tail, tip : int32[M]
        The arcs' two ends: row x, and column y counted from 0.
    step : float or None
        The cost of one unit; None for integers: one.
    complete : bool
        Whether every x has an arc to every y, in order.
    """

    problem: Problem
    n: int
    first: np.ndarray
    head: np.ndarray
    arc: np.ndarray
    cost: np.ndarray
    tail: np.ndarray
    tip: np.ndarray
    step: float | None
    complete: bool

    @property
    def factor(self) -> int:
        """The factor of all costs, n + 1 = 2 N + 1."""
        return 2 * self.n + 1

    @property
    def largest(self) -> int:
        """C: the largest scaled cost."""
        return int(self.cost.max(initial=0))


class _Stored:
    """A sparse matrix that is indexed like a dense one: absent pairs are infinite."""

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype

    def __getitem__(self, pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        rows, columns = pair
        return np.array(
            [_entry(self.matrix, i, j) for i, j in zip(rows, columns, strict=True)], self.dtype
        )


def _entry(matrix: Any, i: int, j: int) -> Any:
    """The stored entry (i, j); an explicit zero counts as stored."""
    start, stop = matrix.indptr[i], matrix.indptr[i + 1]
    return matrix.data[start + np.searchsorted(matrix.indices[start:stop], j)]


def price_limit(n: int) -> int:
    """Largest scaled cost whose prices are sure to fit into int64."""
    return 2**62 // (HEADROOM * 2 * n)


# ------------------------------------------------------------------------------- reading


def read(cost: Any, maximize: bool = False) -> Costs:
    """Check a matrix and bring it into the form of `Costs`.

    Parameters
    ----------
    cost : array_like[n, m] or scipy.sparse[n, m]
        Integers, booleans or floats. ``inf`` (``-inf`` when maximizing) forbids a pair, and so
        does absence from a sparse matrix; a stored zero is a pair that costs nothing.
    maximize : bool
        Whether the sum is to be maximized: weights w become costs max(w) - w.

    Raises
    ------
    ValueError
        NaN, a wrong dimension or type, no complete assignment, costs that would overflow int64,
        or floats of too many orders of magnitude.
    """
    if issparse(cost):
        problem, tail, tip, value = _read_sparse(cost, maximize)
    else:
        problem, tail, tip, value = _read_dense(cost, maximize)
    n = max(problem.cost.shape)
    if min(problem.cost.shape) == 0:
        n, tail, tip, value = 0, tail[:0], tip[:0], value[:0]
    units, step = _units(value, n)
    units *= 2 * n + 1
    first, head, arc = _adjacency(n, tail, tip)
    complete = tail.size == n * n
    return Costs(problem, n, first, head, arc, units, tail, tip, step, complete)


def _read_dense(cost: Any, maximize: bool) -> tuple[Problem, np.ndarray, np.ndarray, np.ndarray]:
    problem = prepare(cost, maximize, dtypes=("int64", "float64"))
    n, m = problem.cost.shape
    allowed = np.ones(problem.matrix.shape, bool)
    if problem.forbidden:
        allowed[:n, :m] = np.isfinite(problem.cost)
    tail, tip = np.nonzero(allowed)
    return problem, tail.astype(np.int32), tip.astype(np.int32), problem.matrix[tail, tip]


def _read_sparse(cost: Any, maximize: bool) -> tuple[Problem, np.ndarray, np.ndarray, np.ndarray]:
    if cost.ndim != 2:
        raise ValueError(f"expected a cost matrix (2-D array), got a {cost.ndim}-D array")
    stored = csr_array(cost, copy=True)
    stored.sum_duplicates()
    if stored.dtype.kind not in "biuf":
        raise ValueError(f"expected a matrix of integers or floats, got dtype {stored.dtype}")
    if stored.dtype.kind == "b":
        stored = stored.astype(np.int8)
    value = stored.data
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ValueError("matrix contains invalid numeric entries: leave forbidden pairs out")
    shape = stored.shape
    from scipy.sparse.csgraph import maximum_bipartite_matching  # it loads SciPy's linear algebra

    pairs = csr_array((np.ones(value.size, np.int8), stored.indices, stored.indptr), shape=shape)
    size = int((maximum_bipartite_matching(pairs, perm_type="column") >= 0).sum()) if value.size \
        else 0  # fmt: skip
    if size < min(shape):
        raise ValueError(
            f"cost matrix is infeasible: at most {size} of {min(shape)} pairs can be assigned"
        )
    low, high = (value.min(), value.max()) if value.size else (0, 0)
    if value.dtype.kind != "f":
        low, high = int(low), int(high)
        if max(-low, high) > INTEGER_LIMIT:
            raise ValueError(
                f"integer costs from {low} to {high} overflow: the proofs hold up to 2**60"
            )
        value = value.astype(np.int64)
    shift = high if maximize else low
    value = shift - value if maximize else value - shift
    tail = np.repeat(np.arange(shape[0]), np.diff(stored.indptr))
    tail, tip, value = _padded(shape, tail, stored.indices, value)
    entries = cast(Any, _Stored(stored))  # indexed as the array that `Problem` wants
    problem = Problem(np.zeros((0, 0), value.dtype), entries, shift, False, maximize)
    return problem, tail, tip, value


def _padded(shape: tuple[int, int], tail: Any, tip: Any, value: np.ndarray) -> tuple[Any, Any, Any]:
    """Add lines of zeros to the shorter side of a sparse matrix, and sort the arcs by rows."""
    n, m = shape
    if n < m:
        rows, columns = np.divmod(np.arange((m - n) * m), m)
        rows += n
    else:
        rows, columns = np.divmod(np.arange(n * (n - m)), max(n - m, 1))
        columns += m
    tail, tip = np.concatenate([tail, rows]), np.concatenate([tip, columns])
    value = np.concatenate([value, np.zeros(rows.size, value.dtype)])
    order = np.lexsort((tip, tail))
    return tail[order].astype(np.int32), tip[order].astype(np.int32), value[order]


def _adjacency(n: int, tail: np.ndarray, tip: np.ndarray) -> tuple[np.ndarray, ...]:
    """Lists of arcs of the nodes x and y, as `Costs` has them."""
    if 2 * tail.size >= 2**31:
        raise ValueError(f"{tail.size} pairs are too many: int32 numbers of arcs allow 2**30")
    degrees = np.bincount(np.concatenate([tail, tip + n]), minlength=2 * n)
    first = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int32)
    back = np.argsort(tip, kind="stable")
    head = np.concatenate([tip + n, tail[back]]).astype(np.int32)
    arc = np.concatenate([np.arange(tail.size), back]).astype(np.int32)
    return first, head, arc


def _units(value: np.ndarray, n: int) -> tuple[np.ndarray, float | None]:
    """Costs as whole numbers of a step, small enough for `price_limit`."""
    most = price_limit(max(n, 1)) // (2 * n + 1)
    if value.dtype.kind != "f":
        if value.size and int(value.max()) > most:
            raise ValueError(
                f"costs with a range (max - min) of {int(value.max())} would overflow the prices: "
                f"at this size int64 holds a range of at most {most}"
            )
        return value.astype(np.int64), None
    if not value.size:
        return np.zeros(0, np.int64), 1.0
    sizes = np.abs(value[value != 0])
    typical = float(np.median(sizes)) if sizes.size else 0.0
    value = value - value.min()
    largest = float(value.max())
    power = 0 if largest == 0 else math.floor(math.log2(most)) - math.frexp(largest)[1] - 1
    power = max(min(power, 1000), -1000)
    counted = np.ldexp(value, power)
    units = np.rint(counted)
    step = math.ldexp(1.0, -power)
    if step > COARSEST * typical and not np.array_equal(units, counted):
        raise ValueError(
            f"costs span too many orders of magnitude: {largest:.3g} beside {typical:.3g} leaves "
            "too few digits for int64 prices"
        )
    return units.astype(np.int64), step


# ------------------------------------------------------------------------------- back


def exact_duals(n: int, price: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """LP duals of the unscaled costs from 1-optimal prices of the scaled ones.

    Parameters
    ----------
    n : int
        N.
    price : int64[2 N]

    Returns
    -------
    u, v : int64[N]
        ``u[x] + v[y] <= c(x, y)``, equal where the flow is 1 (but for arcs that were fixed).
    """
    factor = 2 * n + 1
    free = int(np.argmin(np.bincount(price % factor, minlength=factor)))
    quotient = (price + (factor - 1 - free)) // factor
    return -quotient[:n], quotient[n:].copy()


@njit(cache=True, nogil=True)
def settle_duals(n, tail, tip, cost, cost_of_row, column_of_row, u, v):
    """Lower column duals until no arc undercuts them; rounds, or -1: the matching is not optimal.

    Needed for fixed arcs, which no price has minded since, and after transient cases. A round is
    one of Bellman and Ford's: there is no negative cycle exactly if n rounds are enough.
    """
    row_of_column = np.empty(n, np.int32)
    for x in range(n):
        row_of_column[column_of_row[x]] = x
        u[x] = cost_of_row[x] - v[column_of_row[x]]
    for done in range(n + 1):
        moved = False
        for a in range(tail.size):
            slack = cost[a] - u[tail[a]] - v[tip[a]]
            if slack < 0:
                y = tip[a]
                v[y] += slack
                u[row_of_column[y]] -= slack
                moved = True
        if not moved:
            return done
    return -1


def answer(
    costs: Costs, flow: np.ndarray, price: np.ndarray, counters: Mapping[str, int]
) -> Assignment:
    """The caller's assignment, proved optimal on the way.

    Parameters
    ----------
    costs : Costs
    flow : int[M]
        1 on the N arcs of the matching.
    price : int64[2 N]
        1-optimal prices.
    counters : mapping of str to int

    Raises
    ------
    ValueError
        If floats are so far apart that the steps they are counted in leave the answer unproved.
    RuntimeError
        If `flow` is no perfect matching, or not an optimal one.
    """
    if costs.n == 0:
        return finish(costs.problem, np.zeros(0, np.int64), counters=counters) if (
            not isinstance(costs.problem.cost, _Stored)) else _empty(costs, counters)  # fmt: skip
    chosen = np.flatnonzero(flow == 1)
    columns = costs.tip[chosen].astype(np.int64)
    rows_right = np.array_equal(costs.tail[chosen], np.arange(costs.n))
    if not rows_right or np.unique(columns).size != costs.n:
        raise RuntimeError("the run did not end with a perfect matching")
    whole = costs.cost // costs.factor
    u, v = exact_duals(costs.n, price)
    done = settle_duals(costs.n, costs.tail, costs.tip, whole, whole[chosen], columns, u, v)
    if done < 0:
        raise RuntimeError("the matching is not optimal: a residual cycle has negative cost")
    if costs.step is None:
        return finish(_sized(costs), columns, u, v, counters)
    u, v = _float_duals(costs, v * costs.step)
    found = finish(_sized(costs), columns, u, v, counters)
    if not _is_proved(costs, chosen, found, u, v):
        raise ValueError(
            "costs span too many orders of magnitude: counted in steps of "
            f"{costs.step:.3g}, the answer's duals prove too little"
        )
    return found


def _is_proved(
    costs: Costs, chosen: np.ndarray, found: Assignment, u: np.ndarray, v: np.ndarray
) -> bool:
    """Whether the duals of floats prove an answer, in spite of the steps that costs are counted in.

    By sums alone where their bounds suffice, else by the proof, and of a sparse matrix, of which
    that would want all pairs, by the proof's measure for the last digits of large duals. Costs that
    are whole numbers of steps are exact.
    """
    values = _values(costs)
    value, proof = values[chosen], assignment_proof
    gap = gap_by_sums(value, u, v)
    if gap <= proof.FLOAT_TOLERANCE * abs(found.cost):
        return True
    if np.array_equal((costs.cost // costs.factor) * costs.step, values - values.min()):
        return True
    if not isinstance(costs.problem.cost, _Stored):
        return proof.assignment(costs.problem.cost, found).ok
    digits = 8 * EPS * (np.abs(u).sum() + np.abs(v).sum())
    smallest = np.abs(values[values != 0]).min(initial=np.inf)
    allowed = max(
        proof.FLOAT_TOLERANCE * np.abs(value).sum(), digits if digits <= 1e-3 * smallest else 0.0
    )
    return bool(gap <= allowed)


def _empty(costs: Costs, counters: Mapping[str, int]) -> Assignment:
    stored = costs.problem.cost
    dense = np.zeros(stored.shape, stored.dtype)
    empty = Problem(costs.problem.matrix, dense, 0, False, costs.problem.maximize)
    return finish(empty, np.zeros(0, np.int64), counters=counters)


def _sized(costs: Costs) -> Problem:
    """The problem with a working matrix of the right order (a sparse one has none)."""
    p = costs.problem
    if p.size == costs.n:
        return p
    flat = np.broadcast_to(np.zeros((), p.matrix.dtype), (costs.n, costs.n))
    return Problem(flat, p.cost, p.shift, p.forbidden, p.maximize)


def _float_duals(costs: Costs, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest row duals that the columns' allow, from the unrounded costs."""
    p = costs.problem
    if costs.complete and p.matrix.shape[0] == costs.n:
        return row_duals(p.matrix, v), v
    value = _values(costs)
    u = np.full(costs.n, np.inf)
    np.minimum.at(u, costs.tail, value - v[costs.tip])
    return u, v


def _values(costs: Costs) -> np.ndarray:
    """The working costs of all arcs, as floats, before they were rounded to steps."""
    p = costs.problem
    if not isinstance(p.cost, _Stored):
        return p.matrix[costs.tail, costs.tip]
    n, m = p.cost.shape
    inside = (costs.tail < n) & (costs.tip < m)
    value = np.zeros(costs.tail.size)
    data = p.cost.matrix.data
    value[inside] = p.shift - data if p.maximize else data - p.shift
    return value
