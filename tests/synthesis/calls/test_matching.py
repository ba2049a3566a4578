"""`papers.maximum_bipartite_matching` beside SciPy's, and the cover, rank and blocks of a graph."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching as scipys
from scipy.sparse.csgraph import structural_rank as scipys_rank
from synthesis.calls.arrays import SparseOnDevice

import papers
from papers.common.model import GivenUpError
from papers.synthesis.calls import matching
from papers.synthesis.calls.matching import (
    dulmage_mendelsohn,
    koenig_cover,
    maximum_bipartite_matching,
    structural_rank,
)


def drawn(seed):
    """A small matrix of places, dense."""
    g = np.random.default_rng(seed)
    return g.random(g.integers(0, 13, 2)) < g.choice([0.1, 0.2, 0.4])


def assert_maximum(dense, row_of_column, perm_type="row"):
    """A matching of SciPy's type, shape and size."""
    expected = scipys(csr_array(dense.astype(int)), perm_type)
    assert row_of_column.dtype == expected.dtype
    assert row_of_column.shape == expected.shape
    there = np.flatnonzero(row_of_column >= 0)
    partners = row_of_column[there]
    assert len(set(partners.tolist())) == len(there) == np.count_nonzero(expected >= 0)
    edges = dense if perm_type == "row" else dense.T
    assert edges[partners, there].all()


def assert_blocks(dense, blocks):
    """Block upper triangular, square blocks with a full diagonal that have no blocks themselves."""
    rows, columns = dense.shape
    assert sorted(blocks.row_order) == list(range(rows))
    assert sorted(blocks.column_order) == list(range(columns))
    whole = dense[blocks.row_order][:, blocks.column_order]
    ends = list(zip(blocks.row_blocks, blocks.column_blocks, strict=True))
    assert ends[0] == (0, 0)
    assert ends[-1] == (rows, columns)
    for k, ((top, left), (bottom, right)) in enumerate(pairwise(ends)):
        assert not whole[bottom:, left:right].any()
        high, wide = bottom - top, right - left
        block = whole[top:bottom, left:right]
        if k == 0:
            assert wide > high or wide == high == 0
        elif k == len(ends) - 2:
            assert high > wide or wide == high == 0
        else:
            assert high == wide > 0
            assert block.diagonal().all()
            assert is_irreducible(block)


def is_irreducible(block):
    """Whether a matrix stays perfectly matched without any entry's row and column.

    That is what a square block without blocks of its own is (fully indecomposable).
    """
    size = len(block)
    if size == 1:
        return bool(block[0, 0])
    return all(
        scipys_rank(csr_array(np.delete(np.delete(block, i, 0), j, 1).astype(int))) == size - 1
        for i in range(size)
        for j in range(size)
    )


@pytest.mark.parametrize("solver", [None, "deveci_matching:hk", "scipy"])
def test_random_graphs_are_matched_as_scipy_matches_them(solver):
    for seed in range(60):
        dense = drawn(seed)
        for perm_type in ("row", "column"):
            graph = csr_array(dense.astype(int)).asformat(["csr", "csc", "coo"][seed % 3])
            assert_maximum(
                dense, maximum_bipartite_matching(graph, perm_type, solver=solver), perm_type
            )


def test_kernels_match_when_they_are_named(capsys):
    dense = np.random.default_rng(1).random((9, 8)) < 0.3
    found = maximum_bipartite_matching(
        csr_array(dense.astype(int)), solver="deveci_matching:beyond", explain=True
    )
    assert_maximum(dense, found)
    assert "edges: deveci_matching:beyond, because: the caller" in capsys.readouterr().out


def test_stored_zeros_are_edges():
    graph = csr_array(([0, 0], ([0, 1], [1, 0])), shape=(2, 3))
    assert maximum_bipartite_matching(graph).tolist() == scipys(graph).tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    "graph", [np.eye(2), [[1]], csr_array(np.eye(2)).tolil(), csr_array(np.eye(2)).todok(), None, 5]
)
def test_what_scipy_refuses_is_refused_with_its_type(graph):
    with pytest.raises(TypeError) as expected:
        scipys(graph)
    with pytest.raises(expected.type):
        maximum_bipartite_matching(graph)


def test_bad_options_are_named():
    graph = csr_array(np.eye(2))
    larger = csr_array((np.random.default_rng(0).random((30, 30)) < 0.1).astype(int))
    with pytest.raises(ValueError, match="perm_type"):
        maximum_bipartite_matching(graph, "rows")
    with pytest.raises(ValueError, match="seconds"):
        maximum_bipartite_matching(graph, seconds=-1)
    with pytest.raises(ValueError, match="cannot be stopped"):
        maximum_bipartite_matching(graph, seconds=1, solver="scipy")
    with pytest.raises(GivenUpError):
        maximum_bipartite_matching(larger, seconds=1e-9, solver="deveci_matching:gpu")
    assert maximum_bipartite_matching(graph, seconds=60).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"solver": "nope"}, ValueError, "no solver 'nope'"),
        ({"solver": ["scipy"]}, ValueError, "is no name"),
        ({"seconds": -1}, ValueError, "no positive number"),
        ({"foo": 1}, TypeError, "unexpected keyword argument 'foo'"),
        ({"device": "tpu"}, ValueError, "device='tpu' is not one of"),
        ({"solver": "scipy", "seconds": 1}, ValueError, "takes no seconds"),
    ],
)
@pytest.mark.parametrize("call", [koenig_cover, dulmage_mendelsohn])
def test_bad_options_are_named_beside_a_matching_too(call, options, error, reason):
    graph = csr_array(np.eye(3))
    with pytest.raises(error, match=reason):
        call(graph, maximum_bipartite_matching(graph), **options)


@pytest.mark.parametrize("form", ["lil", "dok", "bsr", "dia", "coo"])
def test_the_rank_takes_every_format_as_scipys_does(form):
    graph = csr_array([[1, 1, 1], [0, 0, 1], [0, 0, 1]]).asformat(form)
    assert structural_rank(graph) == scipys_rank(graph.tocsr()) == 2


def test_a_matrix_on_a_device_is_matched_and_the_answer_goes_back():
    dense = np.random.default_rng(3).random((6, 7)) < 0.3
    graph = csr_array(dense.astype(np.float32))
    found = maximum_bipartite_matching(SparseOnDevice(graph))
    assert_maximum(dense, found)
    assert koenig_cover(SparseOnDevice(graph)).size == scipys_rank(graph)


def test_cover_rank_and_blocks_of_random_graphs():
    for seed in range(60):
        dense = drawn(seed)
        graph = csr_array(dense.astype(int))
        matching = maximum_bipartite_matching(graph) if seed % 2 else None
        cover = koenig_cover(graph, matching)
        assert not dense[~cover.rows][:, ~cover.columns].any()
        assert cover.size == papers.structural_rank(graph) == scipys_rank(graph)
        assert_blocks(dense, dulmage_mendelsohn(graph, matching))


def test_square_blocks_have_a_matched_diagonal():
    """Planted: rows and columns of a block each stood in an order of their own."""
    dense = ~np.eye(3, dtype=bool)
    assert_blocks(dense, dulmage_mendelsohn(csr_array(dense.astype(int))))


@pytest.mark.parametrize("solver", ["scipy", None])
@pytest.mark.parametrize("make", [csr_array, csc_array, coo_array])
def test_a_broken_graph_is_an_error_by_name(solver, make):
    """Planted: SciPy follows an index as it is, into memory of others."""
    graph = make(np.eye(3, dtype=int))
    for wrong in (-1, 3, 10**9):
        broken = graph.copy()
        if make is coo_array:
            broken.coords[1][0] = wrong
        else:
            broken.indices[0] = wrong
        with pytest.raises(ValueError, match="outside"):
            maximum_bipartite_matching(broken, solver=solver)
    if make is not coo_array:
        graph.indptr[1] = 3
        with pytest.raises(ValueError, match="decreases"):
            maximum_bipartite_matching(graph, solver=solver)


def test_a_long_chain_of_blocks_needs_no_recursion():
    n = 3000
    places = np.arange(n)
    graph = csr_array((np.ones(2 * n - 1), (np.r_[places, places[:-1]], np.r_[places, places[1:]])))
    blocks = dulmage_mendelsohn(graph)
    assert np.array_equal(blocks.row_blocks, np.r_[0, 0 : n + 1, n])
    assert np.array_equal(blocks.row_order, places)


@pytest.mark.parametrize(
    "matching", [[0, -1], [0, 0], [1, 0], [0], [0.0, 1.0], [0, 2]],
    ids=["not maximum", "a row twice", "no edges", "too short", "floats", "a row outside"],
)  # fmt: skip
def test_planted_matchings_are_refused(matching):
    graph = csr_array(np.eye(2))
    for call in (koenig_cover, dulmage_mendelsohn):
        with pytest.raises(ValueError, match="matching"):
            call(graph, np.array(matching))


def test_planted_blocks_are_found():
    dense = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], bool)
    blocks = dulmage_mendelsohn(csr_array(dense.astype(int)))
    assert_blocks(dense, blocks)
    for order in (blocks.row_order, blocks.column_order):  # the same block, so nothing is wrong
        order[:2] = order[1::-1].copy()
    assert_blocks(dense, blocks)
    skew = blocks.row_order.copy()
    blocks.row_order[:] = np.roll(skew, 1)
    with pytest.raises(AssertionError):  # rows that stand beside others' columns
        assert_blocks(dense, blocks)
    blocks.row_order[:] = skew
    with pytest.raises(AssertionError):  # two blocks of one
        assert_blocks(np.triu(dense), blocks)
    with pytest.raises(AssertionError):  # an entry below
        assert_blocks(np.ones((2, 2)), dulmage_mendelsohn(csr_array(np.triu(np.ones((2, 2))))))


def test_a_dense_graph_is_told_apart(monkeypatch):
    """Its searches are wide and many: the record has one on which a GPU loses."""
    asked = []
    choose = matching.choose

    def noted(question, *given):
        asked.append(question.has("dense"))
        return choose(question, *given)

    monkeypatch.setattr(matching, "choose", noted)
    full = np.ones((matching.DENSE + 1, matching.DENSE + 1))
    thin = np.eye(matching.DENSE + 1)
    for graph in (full, thin):
        maximum_bipartite_matching(csr_array(graph), seconds=60.0)
    assert asked == [True, False]
