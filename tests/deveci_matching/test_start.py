"""The matching that everything starts from: the cheap one, none, or the caller's."""

import numpy as np
import pytest
from scipy.sparse import random_array

from papers.common.problems.graph import GraphError, bipartite
from papers.deveci_matching.start import cheap_matching, start


def assert_is_matching(graph, rmatch, cmatch):
    assert rmatch.shape == (graph.rows,)
    assert cmatch.shape == (graph.columns,)
    assert rmatch.dtype == cmatch.dtype == np.int32
    edges = set(zip(*graph.matrix().nonzero(), strict=True))
    pairs = {(row, column) for column, row in enumerate(cmatch) if row >= 0}
    assert pairs == {(row, column) for row, column in enumerate(rmatch) if column >= 0}
    assert pairs <= edges
    return edges


@pytest.mark.parametrize("seed", range(10))
def test_the_cheap_matching_leaves_no_edge_with_two_free_ends(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 60, 2))
    graph = bipartite(random_array(shape, density=0.05, rng=rng))
    rmatch, cmatch = cheap_matching(graph.cxadj, graph.cadj, graph.rows)
    edges = assert_is_matching(graph, rmatch, cmatch)
    assert not [1 for row, column in edges if rmatch[row] < 0 and cmatch[column] < 0]


def test_the_cheap_matching_goes_by_columns_and_takes_the_first_free_row():
    graph = bipartite(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]]))
    rmatch, cmatch = cheap_matching(graph.cxadj, graph.cadj, graph.rows)
    assert cmatch.tolist() == [0, 1, 2]
    assert rmatch.tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 2)])
@pytest.mark.parametrize("initial", [None, "cheap", "empty"])
def test_no_edges(shape, initial):
    graph = bipartite(np.zeros(shape))
    rmatch, cmatch = start(graph, initial)
    assert_is_matching(graph, rmatch, cmatch)
    assert (rmatch == -1).all()
    assert (cmatch == -1).all()


def test_names():
    graph = bipartite(np.ones((3, 4)))
    for initial in (None, "cheap"):
        rmatch, cmatch = start(graph, initial)
        assert cmatch.tolist() == [0, 1, 2, -1]
    rmatch, cmatch = start(graph, "empty")
    assert (rmatch == -1).all()
    assert (cmatch == -1).all()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_arrays_are_taken_over_as_copies(dtype):
    graph = bipartite(np.ones((3, 2)))
    given = (np.array([-1, 1, 0], dtype), np.array([2, 1], dtype))
    rmatch, cmatch = start(graph, given)
    assert_is_matching(graph, rmatch, cmatch)
    assert (rmatch.tolist(), cmatch.tolist()) == ([-1, 1, 0], [2, 1])
    rmatch[:] = cmatch[:] = -1
    assert (given[0].tolist(), given[1].tolist()) == ([-1, 1, 0], [2, 1])


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ("greedy", "none of cheap, empty"),
        (7, "a name or a pair"),
        (([-1, -1],), "a name or a pair"),
        (([-1, -1], [-1, -1]), "row_match has shape"),
        (([-1, -1, -1], [[-1, -1]]), "column_match has shape"),
        (([-1.0, -1.0, -1.0], [-1, -1]), "not integers"),
        (([-1, -1, 2], [-1, -1]), "row_match names a vertex outside -1 .. 1"),
        (([-1, -1, -1], [3, -1]), "column_match names a vertex outside -1 .. 2"),
        (([-1, -1, -2], [-1, -1]), "outside"),
        (([0, -1, -1], [-1, -1]), "not inverse"),
        (([-1, -1, -1], [0, -1]), "not inverse"),
        (([0, 0, -1], [0, -1]), "not inverse"),
        (([0, 1, -1], [1, 0]), "not inverse"),
        (([-1, 0, -1], [1, -1]), "no such edge"),
    ],
)
def test_bad_starts_have_names(initial, message):
    graph = bipartite(np.array([[1, 1], [0, 1], [1, 1]]))
    with pytest.raises(GraphError, match=message):
        start(graph, initial)


@pytest.mark.parametrize("seed", range(6))
def test_karp_sipser_leaves_no_edge_free_and_is_perfect_where_degrees_of_one_lead_on(seed):
    rng = np.random.default_rng(seed)
    graph = bipartite(random_array(tuple(rng.integers(1, 60, 2)), density=0.05, rng=rng))
    edges = assert_is_matching(graph, *(pair := start(graph, "karp_sipser")))
    assert not [1 for row, column in edges if pair[0][row] < 0 and pair[1][column] < 0]
    shuffled = bipartite(np.tri(20)).permuted(seed)
    assert (start(shuffled, "karp_sipser")[1] >= 0).all()
    assert seed == 0 or (start(shuffled)[1] < 0).any(), "the cheap matching would do as well"
