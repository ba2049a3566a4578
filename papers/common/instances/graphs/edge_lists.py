"""Random edge lists, and how they become graphs: the material of the graph families.

Random numbers are counter-based (`papers.common.instances.counter_rng`): the same bits on every
machine and for every number of cores. So are the graphs: their edges are sorted, so no order of
threads shows.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import njit, prange

from papers.common.instances.counter_rng import MASK, fraction, mix_int
from papers.common.problems.graph import EDGE_LIMIT, Graph, GraphError

Edges = tuple[np.ndarray, np.ndarray]
"""Row and column of each edge, int32 or int64, of equal length; an edge may occur twice."""

_CHUNK = 1 << 16
_SHORT = 32


class Draws:
    """Independent streams of random numbers of one seed; each call begins a new one.

    Parameters
    ----------
    seed : int
        Seed.
    """

    def __init__(self, seed: int) -> None:
        self._key = mix_int(seed)
        self._stream = 0

    def counter(self) -> int:
        """Return the first counter of a new stream."""
        self._stream += 1
        return mix_int((self._key + self._stream) & MASK)

    def fractions(self, count: int) -> np.ndarray:
        """Return float64[count], uniform in [0, 1)."""
        out = np.empty(count)
        _fill_fractions(out, np.uint64(self.counter()), np.uint64(1))
        return out

    def permutation(self, count: int) -> np.ndarray:
        """Return 0 .. count - 1 in random order, int64[count]."""
        return np.argsort(self.fractions(count), kind="stable")


@njit(cache=True, parallel=True)
def _fill_fractions(out: np.ndarray, counter: Any, step: Any) -> None:
    """Draw ``out[k]`` from ``counter + k * step``, modulo 2**64."""
    for chunk in prange(-(-out.size // _CHUNK)):
        first = chunk * _CHUNK
        for k in range(first, min(first + _CHUNK, out.size)):
            out[k] = fraction(counter + np.uint64(k) * step)


def fractions_from(counter: int, step: int, count: int) -> np.ndarray:
    """Return float64[count] in [0, 1): number ``k`` is drawn from ``counter + k * step``."""
    out = np.empty(count)
    _fill_fractions(out, np.uint64(counter & MASK), np.uint64(step & MASK))
    return out


# ------------------------------------------------------------------------------- to a graph


def both_ways(edges: Edges) -> Edges:
    """Return the edges and their mirror images: the pattern of a symmetric matrix."""
    row, column = edges
    return np.concatenate([row, column]), np.concatenate([column, row])


def without_loops(edges: Edges) -> Edges:
    """Return the edges whose two ends have different numbers."""
    row, column = edges
    kept = row != column
    return row[kept], column[kept]


def graph_of(edges: Edges, rows: int, columns: int) -> Graph:
    """Return the graph of an edge list; an edge that occurs twice is one.

    Takes time in proportion to edges and vertices, but for sorting each column's rows.

    Parameters
    ----------
    edges : Edges
        Rows in 0 .. `rows` - 1, columns in 0 .. `columns` - 1.
    rows, columns : int
        Vertices of each side.

    Raises
    ------
    GraphError
        If an end lies outside, or if there are more edges or vertices than `EDGE_LIMIT`.
    """
    row, column = (np.ascontiguousarray(end) for end in edges)
    for end, size in ((row, rows), (column, columns)):
        if end.size and (int(end.min()) < 0 or int(end.max()) >= size):
            raise GraphError(f"an end of an edge lies outside 0 .. {size - 1}")
    row, column = row.astype(np.int32, copy=False), column.astype(np.int32, copy=False)
    start, adjacent = _bucket(row, column, columns, numba.get_num_threads())
    kept = _sort_and_count(start, adjacent)
    cxadj = np.zeros(columns + 1, np.int64)
    np.cumsum(kept, out=cxadj[1:])
    if max(rows, columns, int(cxadj[-1])) > EDGE_LIMIT:
        raise GraphError(f"{cxadj[-1]} edges are more than 32 bits count")
    if int(cxadj[-1]) != adjacent.size:
        adjacent = _compacted(start, adjacent, cxadj)
    return Graph(rows, columns, cxadj.astype(np.int32), adjacent)


@njit(cache=True, parallel=True)
def _bucket(row, column, columns, parts):
    """Gather each column's rows.

    Every part of the columns belongs to one thread, which reads the whole list: no two threads
    write to one place, and a column's rows stay in the order of the list.

    Returns
    -------
    start : int64[columns + 1]
    adjacent : int32[edges]
        Rows of column ``c`` are ``adjacent[start[c]:start[c + 1]]``.
    """
    start = np.zeros(columns + 1, np.int64)
    for part in prange(parts):
        low, high = part * columns // parts, (part + 1) * columns // parts
        for edge in range(column.size):
            if low <= column[edge] < high:
                start[column[edge] + 1] += 1
    for c in range(columns):
        start[c + 1] += start[c]
    place = start[:-1].copy()
    adjacent = np.empty(row.size, np.int32)
    for part in prange(parts):
        low, high = part * columns // parts, (part + 1) * columns // parts
        for edge in range(column.size):
            if low <= column[edge] < high:
                adjacent[place[column[edge]]] = row[edge]
                place[column[edge]] += 1
    return start, adjacent


@njit(cache=True)
def _sort(line):
    """Sort in place; most lines are short, and calling a general sort for them costs more."""
    if line.size > _SHORT:
        line.sort()
        return
    for k in range(1, line.size):
        value, place = line[k], k
        while place > 0 and line[place - 1] > value:
            line[place] = line[place - 1]
            place -= 1
        line[place] = value


@njit(cache=True, parallel=True)
def _sort_and_count(start, adjacent):
    """Sort each column's rows, move the different ones to its front, and return their number."""
    kept = np.empty(start.size - 1, np.int64)
    for c in prange(start.size - 1):
        line = adjacent[start[c] : start[c + 1]]
        _sort(line)
        different = 0
        for k in range(line.size):
            if k == 0 or line[k] != line[different - 1]:
                line[different] = line[k]
                different += 1
        kept[c] = different
    return kept


@njit(cache=True, parallel=True)
def _compacted(start, adjacent, cxadj):
    """Return the fronts of the columns, without the gaps between them."""
    packed = np.empty(cxadj[-1], np.int32)
    for c in prange(start.size - 1):
        for k in range(cxadj[c + 1] - cxadj[c]):
            packed[cxadj[c] + k] = adjacent[start[c] + k]
    return packed
