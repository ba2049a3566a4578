"""The steps of the solver for one core, compiled by Numba.

All work on ``matrix`` T[n, m] with ``n <= m`` and on column duals ``v``; the *distance* of a row
and a column is ``matrix[i, j] - v[j]``. A matching is tight if each row is matched at its least
distance. Where all matched columns are the row's nearest and free columns have the dual they began
with, shortest paths from the free rows end at an optimum.

A forbidden pair is infinite; `top` is what no distance reaches: infinity beside floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from papers.common.problems.assignment_proof import FLOAT_TOLERANCE
from papers.common.problems.duals import EPS
from papers.synthesis.one_core.order import number_of, ordered

JIT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

SETTLED_SAMPLE = 16
"""Rows, evenly spread, that say whether costs are nearly settled."""


@njit(**JIT)
def nearest(row, v, top):
    """Return a row's least and second least distance, and the first column of the least.

    A row that has but one column tells its distance twice: nobody bids an infinity for it. The
    compiler makes vectors of two passes without a branch, and not of one pass with two.
    """
    m, away = v.size, ordered(top)
    first = away
    for j in range(m):
        first = min(first, ordered(row[j] - v[j]))
    if first >= away:
        return top, top, -1
    second, column, as_near = away, m, 0
    for j in range(m):
        distance = ordered(row[j] - v[j])
        second = min(second, distance if distance > first else away)
        column = min(column, j if distance == first else m)
        as_near += distance == first
    if as_near > 1 or second >= away:
        second = first
    return number_of(first, top), number_of(second, top), column


@njit(**JIT)
def column_minima(matrix, v, top):
    """Set the duals to the columns' least costs; a column without an allowed pair gets 0."""
    v[:] = top
    for i in range(matrix.shape[0]):
        row = matrix[i]
        for j in range(v.size):
            v[j] = min(v[j], row[j])
    for j in range(v.size):
        if v[j] >= top:
            v[j] = 0


@njit(**JIT)
def looks_settled(matrix):
    """Whether each sampled row of a square matrix and its nearest column have nobody nearer.

    No two of the rows may share a column. Then most rows keep the first column that they take, as
    in distances of points to themselves or to points that have hardly moved.

    Returns
    -------
    bool
        False for orders below `SETTLED_SAMPLE`.
    """
    n = matrix.shape[0]
    if n < SETTLED_SAMPLE:
        return False
    taken = np.zeros(n, np.bool_)
    for a in range(SETTLED_SAMPLE):
        i, j = a * n // SETTLED_SAMPLE, 0
        for k in range(n):
            if matrix[i, k] < matrix[i, j]:
                j = k
        if taken[j]:
            return False
        taken[j] = True
        for k in range(n):
            if matrix[k, j] < matrix[i, j]:
                return False
    return True


@njit(**JIT)
def take_in_turn(matrix, v, column, row, free, count, most, top):
    """Let free rows take their nearest columns, without an eps: Jonker and Volgenant's reduction.

    A row lowers its column's dual until another column is as near. Who is displaced goes on at
    once, or waits for the next turn if the dual did not fall; two turns at most.

    Parameters
    ----------
    matrix : T[n, m]
    v : dual[m]
    column, row : int64[n], int64[m]
        The matching, -1 for none.
    free : int64[n]
        Begins with the `count` free rows; then with those that stay free.
    count : int
    most : int
        Rows that may be displaced in a turn before all of them wait.

    Returns
    -------
    left, bids : int
    """
    bids = 0
    for _ in range(2):
        at, end, count, displaced = 0, count, 0, 0
        while at < end:
            i = free[at]
            at += 1
            first, second, j = nearest(matrix[i], v, top)
            bids += 1
            if j < 0:  # it has no column at all
                free[count] = i
                count += 1
                continue
            before = row[j]
            if before >= 0 and not first < second:  # is another one as near, and free?
                line = matrix[i]
                for k in range(v.size):
                    if row[k] < 0 and line[k] - v[k] == first:
                        j, before = k, -1
                        break
            v[j] -= second - first
            row[j] = i
            column[i] = j
            if before >= 0:
                column[before] = -1
                displaced += 1
                if first < second and displaced <= most:
                    at -= 1
                    free[at] = before
                else:
                    free[count] = before
                    count += 1
        if count == 0:
            break
    return count, bids


@njit(**JIT)
def auction(matrix, v, column, row, free, count, eps, stop, limit, top):
    """Auction the columns by an eps: who is displaced waits behind all others.

    Parameters
    ----------
    matrix, v, column, row, free, count
        As in `take_in_turn`.
    eps : dual
    stop : int
        Free rows at which it ends.
    limit : int
        Bids at most.

    Returns
    -------
    left, bids : int
    """
    size = count + 1
    ring = np.empty(size, np.int64)
    ring[:count] = free[:count]
    head, tail, bids = 0, count, 0
    while count > stop and bids < limit:
        i = ring[head]
        head = head + 1 if head + 1 < size else 0
        first, second, j = nearest(matrix[i], v, top)
        bids += 1
        if j < 0:
            ring[tail] = i
            tail = tail + 1 if tail + 1 < size else 0
            continue
        v[j] -= second - first + eps
        before = row[j]
        row[j] = i
        column[i] = j
        if before < 0:
            count -= 1
        else:
            column[before] = -1
            ring[tail] = before
            tail = tail + 1 if tail + 1 < size else 0
    for k in range(count):
        free[k] = ring[head]
        head = head + 1 if head + 1 < size else 0
    return count, bids


@njit(**JIT)
def keep_tight(matrix, v, u, column, row, free, loose, top):
    """Part all pairs that are not tight, but for `loose`; set u to the least distances.

    Returns
    -------
    int
        Free rows, with which `free` begins.
    """
    count = 0
    for i in range(u.size):
        u[i], _, _ = nearest(matrix[i], v, top)
        j = column[i]
        if j >= 0 and matrix[i, j] - v[j] <= u[i] + loose:
            continue
        if j >= 0:
            row[j] = -1
            column[i] = -1
        free[count] = i
        count += 1
    return count


@njit(**JIT)
def slack_of(matrix, v, u, column, top):
    """Set u to the rows' least distances; add up what the pairs lie above them, and the pairs.

    Returns
    -------
    slack, total : dual
        Of a complete matching; the total is the sum of the pairs' costs.
    """
    slack, total = v[0] - v[0], v[0] - v[0]
    for i in range(u.size):
        line, first = matrix[i], ordered(top)
        for j in range(v.size):
            first = min(first, ordered(line[j] - v[j]))
        u[i] = number_of(first, top)
        slack += matrix[i, column[i]] - v[column[i]] - u[i]
        total += matrix[i, column[i]]
    return slack, total


@njit(**JIT)
def are_proved(matrix, v, u, column, row):
    """Whether duals prove the pairs of floats, whatever was rounded on the way to them.

    By sums, as `papers.common.problems.duals.gap_by_sums`; or since no row has a smaller cost than
    its own, with the duals that say so.

    Parameters
    ----------
    matrix, v, column, row
        As in `take_in_turn`, of a complete matching.
    u : float64[n]
        The rows' least distances. Both duals are written where the rows' costs prove the answer.
    """
    chosen, sizes, apart, loose = 0.0, 0.0, 0.0, 0.0
    n, m = u.size, v.size
    for i in range(n):
        cost = matrix[i, column[i]]
        chosen += abs(cost)
        sizes += abs(cost) + abs(u[i])
        apart += cost - u[i]
    for j in range(m):
        sizes += abs(v[j])
        apart -= v[j]
        if n < m and (row[j] < 0 or v[j] > 0):  # no dual may be positive, and 0 without a row
            loose += abs(v[j])
    gap = abs(apart) + (2 * n + m) * EPS * sizes + loose
    if gap <= FLOAT_TOLERANCE * chosen:
        return True
    for i in range(n):
        cost = matrix[i, column[i]]
        for j in range(m):
            if matrix[i, j] < cost:
                return False
    for i in range(n):
        u[i] = matrix[i, column[i]]
    v[:] = 0
    return True


@njit(**JIT)
def mean_slack(matrix, v, rows, top):
    """Return the mean of what finite distances of some rows lie above the least of their row."""
    total, number = 0.0, 0
    for i in range(0, matrix.shape[0], max(1, matrix.shape[0] // rows)):
        line = matrix[i]
        first, _, _ = nearest(line, v, top)
        for j in range(v.size):
            distance = line[j] - v[j]
            if distance < top:
                total += distance - first
                number += 1
    return total / number if number else 0.0


@njit(**JIT)
def shortest_paths(matrix, v, column, row, free, begin, end, top, away):
    """Match free rows one after the other along a shortest augmenting path (Dijkstra).

    Parameters
    ----------
    matrix, v, column, row
        As in `take_in_turn`; the matching is tight.
    free : int64[n]
    begin, end : int
        The part of `free` that is matched.
    top, away : dual
        No distance reaches `away`; twice of it below a dual takes a column out of all later passes,
        so that these are plain minima, which the compiler turns into vectors.

    Returns
    -------
    scans : int
        Rows that were looked at; -1 if a row has no path: the matrix is infeasible.
    """
    m = v.size
    distance = np.empty(m, v.dtype)  # `away` once a column is settled
    reach = np.empty(m, v.dtype)  # the duals; far below them for a settled column
    parent = np.empty(m, np.int64)
    settled = np.empty(m, np.int64)
    far = np.empty(m, v.dtype)  # how far the settled ones are
    scans = 0
    for place in range(begin, end):
        root = free[place]
        line = matrix[root]
        for j in range(m):
            reach[j] = v[j]
            distance[j] = line[j] - v[j]
            parent[j] = root
        count, near, found, least = 0, 0, -1, top
        while True:
            if count == near:
                order = ordered(top)
                for j in range(m):
                    order = min(order, ordered(distance[j]))
                least = number_of(order, top)
                if least >= away:
                    return -1
                for j in range(m):
                    if distance[j] == least:
                        if row[j] < 0:
                            found = j
                            break
                        settled[near] = j
                        near += 1
                if found >= 0:
                    break
                for k in range(count, near):
                    j = settled[k]
                    far[k], distance[j], reach[j] = least, away, -away - away
            by = settled[count]
            count += 1
            i = row[by]
            line = matrix[i]
            base = line[by] - v[by] - least
            scans += 1
            for j in range(m):
                other = line[j] - reach[j] - base
                if other < distance[j]:
                    # Rounding may bring it below what is settled, but nothing can be nearer.
                    distance[j] = max(other, least)
                    parent[j] = i
        for k in range(count):
            v[settled[k]] += far[k] - least
        j = found
        while True:
            i = parent[j]
            row[j] = i
            column[i], j = j, column[i]
            if i == root:
                break
    return scans
