"""Graphs, starts and the eight variants, and the check of an answer."""

import itertools

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, random_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.problems.graph import bipartite
from papers.deveci_matching import launches, solver
from papers.deveci_matching.start import start

VARIANTS = [
    dict(zip(("algorithm", "bfs", "threads"), names, strict=True))
    for names in itertools.product(launches.ALGORITHMS, launches.BFS, launches.THREADS)
]
variants = pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))


def pairs_of(*edges, shape):
    row, column = np.array(edges, int).reshape(-1, 2).T
    return coo_array((np.ones(row.size, np.int8), (row, column)), shape=shape)


def cardinality(graph):
    """The size of a maximum matching, by SciPy."""
    matrix = csr_array(bipartite(graph).matrix())
    return int((maximum_bipartite_matching(matrix, perm_type="column") >= 0).sum())


def check(graph, answer):
    """A matching along edges, of SciPy's size; the counters add up."""
    checked = bipartite(graph)
    rows, columns = answer.row_match, answer.column_match
    assert rows.dtype == columns.dtype == np.int32
    assert (rows.size, columns.size) == checked.shape
    matched = np.flatnonzero(columns >= 0)
    assert np.array_equal(rows[columns[matched]], matched)
    assert np.count_nonzero(rows >= 0) == matched.size == answer.cardinality
    assert rows.min(initial=-1) >= -1
    start(checked, (rows, columns))  # refuses what is no edge
    assert answer.cardinality == cardinality(checked)
    count = answer.counters
    assert count["initial_cardinality"] + count["augmenting_paths"] == answer.cardinality
    levels = [value for name, value in count.items() if name.startswith("levels_")]
    assert len(levels) == min(count["bfs_iterations"], solver.LEVELS_KEPT)
    if count["bfs_iterations"] <= solver.LEVELS_KEPT:
        assert sum(levels) == count["bfs_launches"]
    launches = 1 + count["bfs_launches"] + 3 * count["bfs_iterations"] - 2
    assert count["kernel_launches"] == (launches if checked.edges else 0)


def path(n):
    """Row k beside columns k and k + 1."""
    edges = [(k, k) for k in range(n)] + [(k, k + 1) for k in range(n)]
    return pairs_of(*edges, shape=(n, n + 1))


def with_gaps():
    """Empty rows and columns, first, last and between."""
    graph = random_array((30, 26), density=0.1, rng=5, format="lil")
    graph[[0, 7, 29]] = 0
    graph[:, [0, 11, 12, 25]] = 0
    return graph


GRAPHS = {
    "one edge": pairs_of((0, 0), shape=(1, 1)),
    "wide": random_array((9, 40), density=0.08, rng=1),
    "tall": random_array((40, 9), density=0.08, rng=2),
    "gaps": with_gaps(),
    "star of a row": pairs_of(*((0, c) for c in range(12)), shape=(1, 12)),
    "star of a column": pairs_of(*((r, 0) for r in range(12)), shape=(12, 1)),
    "path": path(17),
    "complete": np.ones((11, 11)),
    "complete, wide": np.ones((5, 13)),
    "complete, tall": np.ones((13, 5)),
    "random": random_array((50, 50), density=0.04, rng=6),
    "sparse": random_array((60, 60), density=0.02, rng=7),
    "triangle": np.tril(np.ones((10, 10))),
    "two halves": np.kron(np.eye(2), np.ones((6, 7))),
}


def some_start(graph, seed=0):
    """Part of the cheap matching, as the caller's arrays."""
    checked = bipartite(graph)
    rmatch, cmatch = start(checked)
    for column in np.flatnonzero(np.random.default_rng(seed).random(checked.columns) < 0.5):
        if cmatch[column] >= 0:
            rmatch[cmatch[column]] = cmatch[column] = -1
    return rmatch, cmatch
