"""Graphs, codes and numbers of threads, and the check of an answer."""

import numba
import numpy as np
import pytest
from scipy.sparse import coo_array, random_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.problems.graph import bipartite
from papers.deveci_matching.baselines import solvers

SEQUENTIAL = ("hk", "hkdw", "pfp", "pfp_packed")
MULTICORE = ("p_hk", "p_pfp", "p_dbfs", "ms_bfs_graft")
MOST = int(numba.config.NUMBA_NUM_THREADS)
CODES = [(code, None) for code in (*SEQUENTIAL, "scipy")]
CODES += [(code, threads) for code in MULTICORE for threads in range(1, min(3, MOST) + 1)]
codes = pytest.mark.parametrize(("code", "threads"), CODES)


def options_of(code, threads, **more):
    return more if threads is None else more | {"threads": threads}


def cover(graph, row_match, column_match):
    """Size of Koenig's vertex cover: columns that no search reaches, rows that one does."""
    rows, columns = set(), set(np.flatnonzero(column_match < 0).tolist())
    queue = list(columns)
    while queue:
        column = queue.pop()
        for row in graph.cadj[graph.cxadj[column] : graph.cxadj[column + 1]].tolist():
            if row not in rows:
                rows.add(row)
                assert row_match[row] >= 0, "an augmenting path is left"
                columns.add(int(row_match[row]))
                queue.append(int(row_match[row]))
    uncovered = np.isin(np.repeat(np.arange(graph.columns), np.diff(graph.cxadj)), list(columns))
    assert np.isin(graph.cadj[uncovered], list(rows)).all()
    return len(rows) + graph.columns - len(columns)


def assert_maximum(graph, answer):
    """A matching, of the size of a vertex cover and of SciPy's, and counters that add up."""
    rmatch, cmatch = answer.row_match, answer.column_match
    assert (rmatch.dtype, cmatch.dtype) == (np.int32, np.int32)
    assert (rmatch.size, cmatch.size) == graph.shape
    matched = np.flatnonzero(cmatch >= 0)
    assert np.array_equal(rmatch[cmatch[matched]], matched)
    assert answer.cardinality == matched.size == (rmatch >= 0).sum()
    column_of = np.repeat(np.arange(graph.columns), np.diff(graph.cxadj))
    assert (cmatch[column_of] == graph.cadj).sum() == matched.size
    assert cover(graph, rmatch, cmatch) == answer.cardinality
    if min(graph.shape):
        theirs = maximum_bipartite_matching(graph.matrix().tocsr(), perm_type="column")
        assert (theirs >= 0).sum() == answer.cardinality
    counters = answer.counters
    assert counters["initial_cardinality"] + counters["augmenting_paths"] == answer.cardinality
    assert all(type(count) is int and count >= 0 for count in counters.values())


def uniform(n, degree, seed, columns=None):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, n * degree), rng.integers(0, columns or n, n * degree)
    return of_edges(n, columns or n, *ends)


def skew(n, degree, seed):
    ends = (np.random.default_rng(seed).random((2, n * degree)) ** 3 * n).astype(int)
    return of_edges(n, n, *ends)


def of_edges(rows, columns, row, column):
    return bipartite(coo_array((np.ones(len(row), bool), (row, column)), shape=(rows, columns)))


def long_path(n):
    """A path through all vertices, matched so that only the whole of it augments."""
    k = np.arange(n)
    graph = of_edges(n, n, np.append(k, k[:-1]), np.append(k, k[1:]))
    return graph, (np.append(k[1:], -1), np.append(-1, k[:-1]))


GRAPHS = {
    "nothing": bipartite(np.zeros((0, 0))),
    "no rows": bipartite(np.zeros((0, 5))),
    "no columns": bipartite(np.zeros((5, 0))),
    "no edges": bipartite(np.zeros((5, 4))),
    "one edge": bipartite(np.ones((1, 1))),
    "star of a row": bipartite(np.ones((1, 300))),
    "star of a column": bipartite(np.ones((300, 1))),
    "path": long_path(700)[0],
    "complete": bipartite(np.ones((60, 60))),
    "complete, wide": bipartite(np.ones((20, 90))),
    "triangle": bipartite(np.triu(np.ones((80, 80)))[:, ::-1]),
    "wide": bipartite(random_array((40, 200), density=0.02, rng=np.random.default_rng(1))),
    "tall": bipartite(random_array((200, 40), density=0.02, rng=np.random.default_rng(2))),
    "uniform 2": uniform(800, 2, 3),
    "uniform 3": uniform(1500, 3, 4),
    "uniform 3, tall": uniform(1500, 3, 5, columns=1000),
    "uniform 8": uniform(500, 8, 6),
    "skew": skew(1500, 8, 7),
    "skew, permuted": skew(1500, 8, 7).permuted(1),
    "figure 1": bipartite(np.array([[1, 1], [0, 1], [0, 1]])),
}


def some_matching(graph, seed):
    """Half of a maximum matching, as arrays."""
    answer = solvers.solve(graph, "hk")
    rmatch, cmatch = answer.row_match.copy(), answer.column_match.copy()
    pairs = np.flatnonzero(cmatch >= 0)
    away = np.random.default_rng(seed).permutation(pairs)[: pairs.size // 2]
    rmatch[cmatch[away]] = -1
    cmatch[away] = -1
    return rmatch, cmatch
