"""The O(n^3) Hungarian algorithm on one CPU core: "O3" of [L19 Fig.4] [L19 Fig.5].

The slack matrix is never written: each column keeps its least slack to the rows that the search has
reached and the row that attains it, so a dual update costs O(n) instead of step 6's O(n^2). It
starts like the O(n^4) algorithm: row minima, then column minima, then a greedy matching of the
zeros (steps 1 and 2). A search is rebuilt after each augmentation. Two published forms differ in
where it grows from:

forest
    From *all* unmatched rows (Lawler, Combinatorial Optimization, 1976; reference [4] of [L19]), as
    the O(n^4) algorithm of [L19 sec.2.1] grows its search from all unmatched columns.
tree
    From one unmatched row, which this search will match (Burkard, Dell'Amico and Martello,
    Assignment Problems, 2009, section 4.2): fewer rows share a dual update.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from papers.lopes2019.baselines.sweeps import JIT, augment, blocks, limit_of, locate, relax

COUNTERS = ("matches_initial", "augmentations", "dual_updates", "rows_planted", "rows_scanned")
_MATCHES, _AUGMENTATIONS, _UPDATES, _PLANTED, _SCANNED = range(5)


class Workspace(NamedTuple):
    """Everything the algorithm uses; T is the working type, n the order. -1 stands for "none"."""

    cost: np.ndarray  # T[n, n]; never written
    u: np.ndarray  # T[n]: row duals
    v: np.ndarray  # T[n]: column duals
    column_of_row: np.ndarray  # int32[n]
    row_of_column: np.ndarray  # int32[n]
    slack: np.ndarray  # T[n]: least slack of column j to a row of the forest
    parent: np.ndarray  # int32[n]: the row that attains it
    closed: np.ndarray  # T[n]: 0 outside of the forest, T's largest value inside
    rows: np.ndarray  # int32[n]: rows of the forest
    first: np.ndarray  # int32[1]: the row to plant first
    roots: np.ndarray  # int32[1]: how many rows a search may plant, 1 (a tree) or n (a forest)
    block_least: np.ndarray  # T[blocks(n)]
    limit: np.ndarray  # T[1]: T's largest value
    counters: np.ndarray  # int64[5], in the order of COUNTERS


def allocate(matrix: np.ndarray) -> Workspace:
    """Allocate the forest's workspace for a square C-contiguous int32, int64 or float64 matrix."""
    n, t = matrix.shape[0], matrix.dtype
    return Workspace(
        cost=matrix,
        u=np.empty(n, t),
        v=np.empty(n, t),
        column_of_row=np.empty(n, np.int32),
        row_of_column=np.empty(n, np.int32),
        slack=np.empty(n, t),
        parent=np.empty(n, np.int32),
        closed=np.empty(n, t),
        rows=np.empty(n, np.int32),
        first=np.zeros(1, np.int32),
        roots=np.array([n], np.int32),
        block_least=np.empty(blocks(n), t),
        limit=np.array([limit_of(t)], t),
        counters=np.zeros(len(COUNTERS), np.int64),
    )


def allocate_tree(matrix: np.ndarray) -> Workspace:
    """Allocate the tree's workspace, as `allocate` does the forest's."""
    return allocate(matrix)._replace(roots=np.ones(1, np.int32))


@njit(**JIT)
def _row_min(row: np.ndarray, least: Any) -> Any:
    for j in range(row.size):
        least = row[j] if row[j] < least else least
    return least


@njit(**JIT)
def _lower(v: np.ndarray, row: np.ndarray, row_min: Any) -> None:
    for j in range(row.size):
        entry = row.dtype.type(row[j] - row_min)
        v[j] = entry if entry < v[j] else v[j]


@njit(**JIT)
def _initialize(w: Workspace) -> None:
    """Row minima, column minima, and a greedy matching of the zeros."""
    n = w.u.size
    w.counters[:] = 0
    w.first[0] = 0
    w.column_of_row[:] = -1
    w.row_of_column[:] = -1
    w.v[:] = w.limit[0]
    for i in range(n):
        w.u[i] = _row_min(w.cost[i], w.limit[0])
        _lower(w.v, w.cost[i], w.u[i])
    for i in range(n):
        for j in range(n):
            if w.row_of_column[j] < 0 and w.cost[i, j] - w.u[i] == w.v[j]:
                w.column_of_row[i] = j
                w.row_of_column[j] = i
                w.counters[_MATCHES] += 1
                break


@njit(**JIT)
def _update_duals(w: Workspace, size: int, delta: Any) -> None:
    """Make the least slack zero: rows of the forest gain `delta`, its columns lose it."""
    w.counters[_UPDATES] += 1
    for k in range(size):
        w.u[w.rows[k]] += delta
    for j in range(w.v.size):
        inside = w.closed[j] != 0
        w.v[j] -= delta if inside else 0
        w.slack[j] -= 0 if inside else delta
    w.block_least[:] -= delta


@njit(**JIT)
def _search(w: Workspace) -> int:
    """Grow the forest until it reaches an unmatched column; returns it (-1: never).

    A zero to a column outside is followed first, then the next unmatched row is planted; only a
    forest with all of them (a tree with its one) and without such a zero gets a dual update. Rows
    are planted in turn, starting after the last one that the search before needed: those before it
    led nowhere.
    """
    n, nothing = w.u.size, w.u.dtype.type(0)
    w.closed[:] = 0
    w.slack[:] = w.limit[0]
    size, planted, roots, least = 0, 0, 0, w.limit[0]
    for _ in range(3 * n + 3):  # at most n rows, n columns, a dual update before each, the end
        if least == 0:
            j = locate(w.slack, w.closed, w.block_least, nothing, w.row_of_column)
            if j < 0:
                return -1
            if w.row_of_column[j] < 0:
                w.first[0] = (w.first[0] + planted) % n
                return j
            i = w.row_of_column[j]
            w.closed[j] = w.limit[0]
            w.counters[_SCANNED] += 1
        elif planted < n and roots < w.roots[0]:
            i = (w.first[0] + planted) % n
            planted += 1
            if w.column_of_row[i] >= 0:
                continue
            w.counters[_PLANTED] += 1
            roots += 1
        else:
            _update_duals(w, size, least)
            least = nothing
            continue
        w.rows[size] = i
        size += 1
        least = relax(
            w.cost[i], w.v, w.u[i], nothing, i, w.slack, w.parent, w.closed,
            w.block_least, w.limit[0],
        )  # fmt: skip
    return -1


@njit(**JIT)
def hungarian(w: Workspace) -> bool:
    """Solve; False if a search or a path has not ended after its worst case."""
    n = w.u.size
    if n == 0:
        return True
    _initialize(w)
    while w.counters[_MATCHES] + w.counters[_AUGMENTATIONS] < n:
        j = _search(w)
        if j < 0 or not augment(j, w.parent, w.column_of_row, w.row_of_column):
            return False
        w.counters[_AUGMENTATIONS] += 1
    return True


def hungarian_in_slices(w: Workspace, look: Callable[[], None]) -> bool:
    """Do what `hungarian` does, a search at a time; ``look()`` is called before each."""
    n = w.u.size
    if n == 0:
        return True
    _initialize(w)
    while w.counters[_MATCHES] + w.counters[_AUGMENTATIONS] < n:
        look()
        j = _search(w)
        if j < 0 or not augment(j, w.parent, w.column_of_row, w.row_of_column):
            return False
        w.counters[_AUGMENTATIONS] += 1
    return True
