"""Shortest augmenting paths on one CPU core: "SP" of [L19 Fig.4] [L19 Fig.5].

The method of Jonker & Volgenant (Computing 38, 1987; reference [3] of [L19]): column reduction,
reduction transfer and two rounds of augmenting row reduction match most rows; each row left is
matched along a shortest path in reduced costs, found by Dijkstra's algorithm on the dense matrix.
All four parts are inside the timed run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from papers.lopes2019.baselines.sweeps import (
    JIT,
    augment,
    blocks,
    limit_of,
    locate,
    relax,
    two_least,
)

COUNTERS = ("matches_column_reduction", "row_reductions", "augmentations", "rows_scanned")
_MATCHES, _REDUCTIONS, _AUGMENTATIONS, _SCANNED = range(4)
_ROUNDS = 2  # of augmenting row reduction, as in the original


class Workspace(NamedTuple):
    """Everything the algorithm uses; T is the working type, n the order. -1 stands for "none"."""

    cost: np.ndarray  # T[n, n]; never written
    v: np.ndarray  # T[n]: column duals
    column_of_row: np.ndarray  # int32[n]
    row_of_column: np.ndarray  # int32[n]
    distance: np.ndarray  # T[n]
    parent: np.ndarray  # int32[n]
    closed: np.ndarray  # T[n]: 0 for open columns, T's largest value for closed ones
    columns: np.ndarray  # int32[n]: the closed columns
    free: np.ndarray  # int32[n]: rows to match
    block_least: np.ndarray  # T[blocks(n)]
    limit: np.ndarray  # T[1]: T's largest value
    counters: np.ndarray  # int64[4], in the order of COUNTERS


def allocate(matrix: np.ndarray) -> Workspace:
    """Allocate the workspace for a square C-contiguous int32, int64 or float64 matrix."""
    n, t = matrix.shape[0], matrix.dtype
    return Workspace(
        cost=matrix,
        v=np.empty(n, t),
        column_of_row=np.empty(n, np.int32),
        row_of_column=np.empty(n, np.int32),
        distance=np.empty(n, t),
        parent=np.empty(n, np.int32),
        closed=np.empty(n, t),
        columns=np.empty(n, np.int32),
        free=np.empty(n, np.int32),
        block_least=np.empty(blocks(n), t),
        limit=np.array([limit_of(t)], t),
        counters=np.zeros(len(COUNTERS), np.int64),
    )


@njit(**JIT)
def _lower(v: np.ndarray, row: np.ndarray, parent: np.ndarray, i: Any) -> None:
    for j in range(row.size):
        less = row[j] < v[j]
        v[j] = row[j] if less else v[j]
        parent[j] = i if less else parent[j]


@njit(**JIT)
def _column_reduction(w: Workspace) -> int:
    """Column minima, matched while their rows are free; then reduction transfer.

    Returns the number of rows left, which are listed in `free`.
    """
    n = w.v.size
    w.column_of_row[:] = -1
    w.row_of_column[:] = -1
    w.v[:] = w.limit[0]
    for i in range(n):
        _lower(w.v, w.cost[i], w.parent, np.int32(i))
    minima = w.columns  # of a row: how many columns have their minimum there
    minima[:] = 0
    for j in range(n - 1, -1, -1):
        i = w.parent[j]
        minima[i] += 1
        if w.column_of_row[i] < 0:
            w.column_of_row[i] = j
            w.row_of_column[j] = i
    left = 0
    for i in range(n):
        if minima[i] == 0:
            w.free[left] = i
            left += 1
        elif minima[i] == 1:
            # Its column is the row's least: lower the dual until the second least ties with it.
            _, _, _, second = two_least(w.cost[i], w.v, w.limit[0])
            w.v[w.column_of_row[i]] -= second
    w.counters[_MATCHES] = n - left
    return left


@njit(**JIT)
def _augmenting_row_reduction(w: Workspace, count: int) -> int:
    """One round over the rows in `free`; returns how many are left there.

    A row takes its best column and lowers its dual to the second best; the row that it displaces
    goes next. With small steps this is an auction without end, hence the budget: beyond it a
    displaced row waits for the next part.
    """
    budget = 8 * w.v.size
    left, k = 0, 0
    while k < count:
        i = w.free[k]
        k += 1
        w.counters[_REDUCTIONS] += 1
        j, least, other, second = two_least(w.cost[i], w.v, w.limit[0])
        displaced = w.row_of_column[j]
        strict = least < second
        if strict:
            w.v[j] -= second - least
        elif displaced >= 0:
            j = other
            displaced = w.row_of_column[j]
        w.column_of_row[i] = j
        w.row_of_column[j] = i
        if displaced >= 0:
            w.column_of_row[displaced] = -1
            if strict and budget > 0:
                budget -= 1
                k -= 1
                w.free[k] = displaced
            else:
                w.free[left] = displaced
                left += 1
    return left


@njit(**JIT)
def _shortest_path(w: Workspace, root: int) -> int:
    """Dijkstra from a row to the nearest unmatched column; lowers the duals; returns it."""
    w.closed[:] = 0
    w.distance[:] = w.limit[0]
    nothing = w.v.dtype.type(0)
    least = relax(
        w.cost[root], w.v, nothing, nothing, root, w.distance, w.parent, w.closed,
        w.block_least, w.limit[0],
    )  # fmt: skip
    size = 0
    while size < w.v.size:
        j = locate(w.distance, w.closed, w.block_least, least, w.row_of_column)
        if j < 0 or w.row_of_column[j] < 0:
            break
        i = w.row_of_column[j]
        w.closed[j] = w.limit[0]
        w.columns[size] = j
        size += 1
        w.counters[_SCANNED] += 1
        offset = w.v.dtype.type(w.cost[i, j] - w.v[j] - least)
        least = relax(
            w.cost[i], w.v, offset, least, i, w.distance, w.parent, w.closed,
            w.block_least, w.limit[0],
        )  # fmt: skip
    else:
        return -1
    for k in range(size):
        w.v[w.columns[k]] += w.distance[w.columns[k]] - least
    return j


@njit(**JIT)
def shortest_path(w: Workspace) -> bool:
    """Solve; False if a search or a path has not ended after its worst case."""
    n = w.v.size
    w.counters[:] = 0
    if n == 0:
        return True
    left = _column_reduction(w)
    for _ in range(_ROUNDS):
        left = _augmenting_row_reduction(w, left)
    for k in range(left):
        j = _shortest_path(w, w.free[k])
        if j < 0 or not augment(j, w.parent, w.column_of_row, w.row_of_column):
            return False
        w.counters[_AUGMENTATIONS] += 1
    return True


def shortest_path_in_slices(w: Workspace, look: Callable[[], None]) -> bool:
    """Do what `shortest_path` does, a round or a path at a time; before each, ``look()``."""
    w.counters[:] = 0
    if w.v.size == 0:
        return True
    left = _column_reduction(w)
    for _ in range(_ROUNDS):
        look()
        left = _augmenting_row_reduction(w, left)
    for k in range(left):
        look()
        j = _shortest_path(w, w.free[k])
        if j < 0 or not augment(j, w.parent, w.column_of_row, w.row_of_column):
            return False
        w.counters[_AUGMENTATIONS] += 1
    return True
