"""Shortest augmenting paths with lists of columns: "SP" of [L19 Fig.4] [L19 Fig.5], as published.

Each unmatched row is matched along a shortest path in reduced costs, found by Dijkstra's algorithm.
The columns stand in one list, in three parts: scanned, at the least distance, farther away; a sweep
visits those farther away, one by one, in the order of the list. Two published forms:

initialised
    Jonker and Volgenant (Computing 38, 1987; reference [3] of [L19]): column reduction, reduction
    transfer and two rounds of augmenting row reduction match most rows beforehand.
plain
    All rows are matched by paths (Tomizawa, Networks 1, 1971; with these lists and without an
    initialisation also Crouse, IEEE Transactions on Aerospace and Electronic Systems 52, 2016).

Everything is inside the timed run. `papers.lopes2019.baselines.shortest_path` is the initialised
form with sweeps over all columns, which a processor's vectors make faster at large n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from papers.lopes2019.baselines.sweeps import JIT, augment, limit_of, two_least

COUNTERS = ("matches_initial", "row_reductions", "augmentations", "rows_scanned")
_MATCHES, _REDUCTIONS, _AUGMENTATIONS, _SCANNED = range(4)
_ROUNDS = 2  # of augmenting row reduction, as published
_BUDGET = 8  # displacements a round, times n: with small steps a round would not end


class Workspace(NamedTuple):
    """Everything the algorithm uses; T is the working type, n the order. -1 stands for "none"."""

    cost: np.ndarray  # T[n, n]; never written
    v: np.ndarray  # T[n]: column duals
    column_of_row: np.ndarray  # int32[n]
    row_of_column: np.ndarray  # int32[n]
    distance: np.ndarray  # T[n]
    parent: np.ndarray  # int32[n]: the row from which a column is reached
    columns: np.ndarray  # int32[n]: all columns: scanned, at the least distance, farther away
    free: np.ndarray  # int32[n]: rows to match
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
        columns=np.empty(n, np.int32),
        free=np.empty(n, np.int32),
        limit=np.array([limit_of(t)], t),
        counters=np.zeros(len(COUNTERS), np.int64),
    )


# --------------------------------------------------------------------------- before the paths


@njit(**JIT)
def _begin(w: Workspace) -> int:
    """Empty the matching, the duals zero; returns the number of rows in `free`, which is all."""
    w.counters[:] = 0
    w.v[:] = 0
    w.column_of_row[:] = -1
    w.row_of_column[:] = -1
    for i in range(w.v.size):
        w.free[i] = i
    return w.v.size


@njit(**JIT)
def _column_reduction(w: Workspace) -> None:
    """Column minima, from the last column to the first, matched while their rows are free."""
    n = w.v.size
    w.v[:] = w.limit[0]
    for i in range(n):
        for j in range(n):
            if w.cost[i, j] < w.v[j]:
                w.v[j] = w.cost[i, j]
                w.parent[j] = i
    minima = w.columns  # of a row: how many columns have their minimum there
    minima[:] = 0
    for j in range(n - 1, -1, -1):
        i = w.parent[j]
        minima[i] += 1
        if minima[i] == 1:
            w.column_of_row[i] = j
            w.row_of_column[j] = i


@njit(**JIT)
def _reduction_transfer(w: Workspace) -> int:
    """Lower the duals of the columns whose row has only them; returns the rows left in `free`."""
    left = 0
    for i in range(w.v.size):
        if w.columns[i] == 0:
            w.free[left] = i
            left += 1
        elif w.columns[i] == 1:
            # Its column is the row's least, at zero: the second least is by how much.
            _, _, _, second = two_least(w.cost[i], w.v, w.limit[0])
            w.v[w.column_of_row[i]] -= second
    w.counters[_MATCHES] = w.v.size - left
    return left


@njit(**JIT)
def _augmenting_row_reduction(w: Workspace, count: int) -> int:
    """One round over the rows in `free`; returns how many are left there.

    A row takes its best column and lowers its dual to the second best; the row that it displaces
    goes next.
    """
    budget = _BUDGET * w.v.size
    left, k = 0, 0
    while k < count:
        i = w.free[k]
        k += 1
        w.counters[_REDUCTIONS] += 1
        j, least, other, second = two_least(w.cost[i], w.v, w.limit[0])
        strict = least < second
        if strict:
            w.v[j] -= second - least
        elif w.row_of_column[j] >= 0:
            j = other
        displaced = w.row_of_column[j]
        w.column_of_row[i] = j
        w.row_of_column[j] = i
        if displaced < 0:
            continue
        w.column_of_row[displaced] = -1
        if strict and budget > 0:
            budget -= 1
            k -= 1
            w.free[k] = displaced
        else:
            w.free[left] = displaced
            left += 1
    return left


# --------------------------------------------------------------------------- the paths


@njit(**JIT)
def _nearest(w: Workspace, first: int) -> int:
    """Move the columns at the least distance to the front of ``columns[first:]``.

    Returns the end of their part.
    """
    end = first
    least = w.distance[w.columns[first]]
    for k in range(first, w.columns.size):
        j = w.columns[k]
        if w.distance[j] > least:
            continue
        if w.distance[j] < least:
            least, end = w.distance[j], first
        w.columns[k] = w.columns[end]
        w.columns[end] = j
        end += 1
    return end


@njit(**JIT)
def _scan(w: Workspace, j: int, least: Any, end: int) -> tuple[int, int]:
    """Shorten the ways through column `j` to those farther away, ``columns[end:]``.

    Returns the new end of the part at the least distance, and an unmatched column there or -1.
    """
    i = w.row_of_column[j]
    offset = w.v.dtype.type(w.cost[i, j] - w.v[j] - least)
    w.counters[_SCANNED] += 1
    for k in range(end, w.columns.size):
        other = w.columns[k]
        # No nearer than the column that is scanned: it could only be by rounding.
        way = max(w.v.dtype.type(w.cost[i, other] - w.v[other] - offset), least)
        if way >= w.distance[other]:
            continue
        w.distance[other] = way
        w.parent[other] = i
        if way == least:
            if w.row_of_column[other] < 0:
                return end, other
            w.columns[k] = w.columns[end]
            w.columns[end] = other
            end += 1
    return end, -1


@njit(**JIT)
def _path(w: Workspace, root: int) -> int:
    """Find the unmatched column nearest to a row; lowers the duals; returns it (-1: none)."""
    for j in range(w.v.size):
        w.columns[j] = j
        w.distance[j] = w.cost[root, j] - w.v[j]
        w.parent[j] = root
    done, end, found = 0, 0, -1
    nearer, least = 0, w.distance[0]  # how many scanned columns are nearer than `least`
    while found < 0:
        if done == end:
            if done == w.v.size:
                return -1
            nearer, end = done, _nearest(w, done)
            least = w.distance[w.columns[done]]
            for k in range(done, end):
                if w.row_of_column[w.columns[k]] < 0:
                    found = w.columns[k]
                    break
        if found < 0:
            end, found = _scan(w, w.columns[done], least, end)
            done += 1
    for k in range(nearer):
        w.v[w.columns[k]] += w.distance[w.columns[k]] - least
    return found


@njit(**JIT)
def _match(w: Workspace, root: int) -> bool:
    j = _path(w, root)
    w.counters[_AUGMENTATIONS] += 1
    return j >= 0 and augment(j, w.parent, w.column_of_row, w.row_of_column)


@njit(**JIT)
def _match_all(w: Workspace, left: int) -> bool:
    k = 0
    while k < left and _match(w, w.free[k]):
        k += 1
    return k == left


@njit(**JIT)
def plain(w: Workspace) -> bool:
    """Solve by paths alone; False if a search or a path has not ended after its worst case."""
    return _match_all(w, _begin(w))


@njit(**JIT)
def initialised(w: Workspace) -> bool:
    """Solve after the initialisation; False as `plain`."""
    if _begin(w) == 0:
        return True
    _column_reduction(w)
    left = _reduction_transfer(w)
    for _ in range(_ROUNDS):
        left = _augmenting_row_reduction(w, left)
    return _match_all(w, left)


# --------------------------------------------------------------------------- in slices


def plain_in_slices(w: Workspace, look: Callable[[], None]) -> bool:
    """Do what `plain` does, a path at a time; before each, ``look()``."""
    return _match_in_slices(w, _begin(w), look)


def initialised_in_slices(w: Workspace, look: Callable[[], None]) -> bool:
    """Do what `initialised` does, a round or a path at a time; before each, ``look()``."""
    if _begin(w) == 0:
        return True
    _column_reduction(w)
    left = _reduction_transfer(w)
    for _ in range(_ROUNDS):
        look()
        left = _augmenting_row_reduction(w, left)
    return _match_in_slices(w, left, look)


def _match_in_slices(w: Workspace, left: int, look: Callable[[], None]) -> bool:
    for k in range(left):
        look()
        if not _match(w, w.free[k]):
            return False
    return True
