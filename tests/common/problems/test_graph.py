"""The graph contract: any matrix becomes the same graph, or a named error."""

import numpy as np
import pytest
from scipy.sparse import (
    bsr_array,
    coo_array,
    csc_array,
    csr_array,
    csr_matrix,
    dia_array,
    lil_array,
)
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.problems import graph as graphs
from papers.common.problems.graph import Graph, GraphError, bipartite

random = np.random.default_rng(4)


def equal(first, second):
    return (
        first.shape == second.shape
        and np.array_equal(first.cxadj, second.cxadj)
        and np.array_equal(first.cadj, second.cadj)
    )


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (7, 4), (4, 7), (30, 30)])
def test_every_form_is_one_graph(shape):
    dense = random.random(shape) < 0.3
    graph = bipartite(dense)
    assert np.array_equal(graph.matrix().toarray(), dense)
    assert graph.edges == dense.sum()
    assert graph.cxadj.dtype == graph.cadj.dtype == np.int32
    csr = csr_array(dense.astype(float))
    wide = csr_array((csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), shape)
    for same in (
        csr,
        wide,
        csc_array(dense.astype(int)),
        csr_matrix(csr),
        csr.tolil(),
        csr.todok(),
    ):
        assert equal(bipartite(same), graph)
    assert equal(bipartite((csr.indptr, csr.indices, shape)), graph)
    assert equal(bipartite((graph.cxadj, graph.cadj, shape), by="columns"), graph)
    assert bipartite(graph) is graph


def test_structure_counts():
    """Stored zeros are edges, and so is what adds up to zero; repeated entries are one edge."""
    entries = np.array([1.0, -1.0, 0.0]), (np.array([0, 0, 1]), np.array([1, 1, 0]))
    assert bipartite(coo_array(entries, shape=(2, 2))).matrix().toarray().tolist() == [
        [0, 1],
        [1, 0],
    ]
    assert bipartite(np.array([[0.0, np.nan], [-0.0, 2.0]])).edges == 2


ZEROS = np.array([5.0, 0.0, 0.0, 7.0]), (np.arange(4), np.arange(4))


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok"])
def test_a_stored_zero_is_an_edge_in_the_formats_that_fill_nothing_up(form):
    matrix = coo_array(ZEROS, shape=(4, 4)).asformat(form)
    assert matrix.nnz == bipartite(matrix).edges == 4


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_scipys_matching_takes_a_stored_zero_for_an_edge_as_well(form):
    matched = maximum_bipartite_matching(coo_array(ZEROS, shape=(4, 4)).asformat(form))
    assert np.count_nonzero(matched >= 0) == 4


def test_in_bsr_and_dia_a_stored_zero_is_no_edge_and_scipys_matching_takes_neither():
    blocks = bsr_array(csr_array(ZEROS, shape=(4, 4)), blocksize=(2, 2))
    diagonals = dia_array((ZEROS[0][np.newaxis], [0]), shape=(4, 4))
    assert blocks.nnz == 8  # Four entries, and the zeros that fill two blocks up.
    for matrix in (blocks, diagonals):
        assert equal(bipartite(matrix), bipartite(np.diag(ZEROS[0])))
        with pytest.raises(TypeError, match="CSC, CSR, or COO"):
            maximum_bipartite_matching(matrix)


def test_what_fills_up_a_diagonal_or_a_block_is_no_edge():
    dense = random.random((8, 12)) < 0.3
    sparse = csr_array(dense.astype(float))
    assert equal(bipartite(sparse.todia()), bipartite(dense))
    assert equal(bipartite(sparse.tobsr((2, 3))), bipartite(dense))


def test_room_behind_the_last_entry_is_no_edge():
    roomy = csr_array(np.eye(3))
    roomy.indices, roomy.data = np.append(roomy.indices, [2, 2]), np.append(roomy.data, [1.0, 1.0])
    assert bipartite(roomy).edges == 3


def test_rows_are_those_of_the_matrix():
    dense = random.random((9, 12)) < 0.3
    rxadj, radj = bipartite(dense).by_rows
    for row in range(9):
        assert radj[rxadj[row] : rxadj[row + 1]].tolist() == np.flatnonzero(dense[row]).tolist()


def test_a_permutation_keeps_the_graph_up_to_names():
    dense = random.random((20, 15)) < 0.25
    graph = bipartite(dense)
    first, second = graph.permuted(3), graph.permuted(3)
    assert equal(first, second)
    assert not equal(first, graph.permuted(4))
    mixed = first.matrix().toarray()
    assert sorted(mixed.sum(0)) == sorted(dense.sum(0))
    assert sorted(mixed.sum(1)) == sorted(dense.sum(1))
    # The Gram matrix's spectrum does not see the order of rows and columns.
    spectrum = [np.linalg.svd(m.astype(float), compute_uv=False) for m in (mixed, dense)]
    assert np.allclose(*spectrum)
    rows = np.random.default_rng(3).permutation(20)
    columns = np.random.default_rng(3)
    columns.permutation(20)
    order = columns.permutation(15)
    assert np.array_equal(mixed[rows], dense[:, order])


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (np.ones(3), "dimensions"),
        (np.ones((2, 2, 2)), "dimensions"),
        (np.array([["a", "b"]]), "numbers"),
        (np.array([[object()]]), "numbers"),
        (([0, 1], [0]), "tuple"),
        (([0, 1], [0], (1, 1, 1)), "pair"),
        (([0, 1], [0], (-1, 1)), "pair"),
        (([0, 1], [0], (1, 1.5)), "pair"),
        (([0, 1], [0], 2), "pair"),
        (([0, 1], [0], ("a", "b")), "pair"),
        (([0, 1], [0], (1, 2**70)), "32 bits"),
        (([0, 1], [[0], [0, 1]], (1, 1)), "indices"),
        ([[1], [1, 0]], "array"),
        (np.ma.masked_array([[1, 0]], [[True, False]]), "masked"),
        (([0, 1, 1], [0], (1, 1)), "indptr"),
        (([1, 1], [0], (1, 1)), "start"),
        (([0, 2, 1], [0], (2, 1)), "decrease"),
        (([0, 2], [0], (1, 1)), "end"),
        (([0, 1], [1], (1, 1)), "outside"),
        (([0, 1], [-1], (1, 1)), "outside"),
        (([0, 1], [0.5], (1, 1)), "integers"),
        (([[0, 1]], [0], (1, 1)), "integers"),
    ],
)
def test_what_is_no_graph_is_named(wrong, word):
    with pytest.raises(GraphError, match=word):
        bipartite(wrong)


def test_broken_arrays_inside_a_sparse_matrix_are_named():
    broken = csr_array(np.eye(3))
    broken.indices[1] = 7
    with pytest.raises(GraphError, match="outside"):
        bipartite(broken)
    with pytest.raises(GraphError, match="neither"):
        bipartite(([0, 1], [0], (1, 1)), by="lines")


@pytest.mark.parametrize("rest", [[], [1.0], [1.0] * 3])
def test_a_row_of_lil_with_more_indices_than_values_or_fewer_is_named(rest):
    broken = lil_array((2, 3))
    broken.rows[1], broken.data[1] = [0, 2], rest
    with pytest.raises(GraphError, match=f"row 1 has 2 indices and {len(rest)} values"):
        bipartite(broken)
    broken.data = broken.data[:1]
    with pytest.raises(GraphError, match="data has 1 lists for 2 rows"):
        bipartite(broken)


def test_a_graph_of_networkx_is_told_what_is_wanted():
    """A class that claims networkx' module stands for it, because the project does not need it."""
    like = type("Graph", (), {"__module__": "networkx.classes.graph", "__len__": lambda _: 4})
    own = type("Roads", (like,), {"__module__": "somewhere.else"})
    for graph in (like(), own()):
        with pytest.raises(GraphError, match=r"networkx\.bipartite\.biadjacency_matrix"):
            bipartite(graph)


def test_more_edges_than_32_bits_count_are_refused(monkeypatch):
    monkeypatch.setattr(graphs, "EDGE_LIMIT", 5)
    assert bipartite(np.eye(5)).edges == 5
    for large in (np.eye(6), np.ones((2, 3)), np.zeros((1, 6))):
        with pytest.raises(GraphError, match="32 bits, 5 at most"):
            bipartite(large)


def test_graphs_are_compared_by_identity():
    """Their arrays are large: equality would cost a pass over them."""
    graph = bipartite(np.eye(2))
    assert isinstance(graph, Graph)
    assert graph == graph
    assert graph != bipartite(np.eye(2))
