"""A small graph's matching in one compiled function, beside SciPy's and the usual way."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching as scipys
from synthesis.calls.test_direct import blocks, drawn

from papers.synthesis.calls import choice
from papers.synthesis.calls.lines import direct, small
from papers.synthesis.calls.matching import maximum_bipartite_matching
from papers.synthesis.evidence.graphs import looks

BROKEN = {
    "falls": ([0, 2, 3], [1, 0, 0]),
    "ends early": ([0, 2, 1], [0, 1, 0]),
    "outside": ([0, 1, 2], [0, 7]),
    "beyond": ([0, 1, 9], [0, 1]),
}


def size(partners):
    return int(np.count_nonzero(partners >= 0))


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("perm_type", ["row", "column"])
def test_a_small_graph_is_matched_as_far_as_it_can_be(form, perm_type):
    for seed in range(400):
        matrix = drawn(seed).asformat(form)
        partners = small.matched(matrix, perm_type)
        there = np.flatnonzero(partners >= 0)
        pairs = (partners[there], there)
        rows, columns = pairs if perm_type == "row" else pairs[::-1]
        assert partners.size == matrix.shape[1 if perm_type == "row" else 0]
        assert np.unique(partners[there]).size == there.size
        assert (matrix.toarray()[rows, columns] != 0).all()
        assert there.size == size(scipys(matrix, perm_type))


def test_searches_follow_where_the_greedy_pass_does_not_end():
    assert direct.look(blocks()).missing == 50
    assert size(small.matched(blocks(), "row")) == 100


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (4, 4)])
def test_a_graph_without_edges_has_no_pairs(shape):
    assert small.matched(csr_array(shape, dtype=np.int8), "row").tolist() == [-1] * shape[1]


@pytest.mark.parametrize("arrays", BROKEN.values(), ids=BROKEN)
def test_a_broken_graph_is_left_to_the_usual_way(arrays):
    indptr, indices = (np.array(part, np.int32) for part in arrays)
    matrix = csr_array((2, 2), dtype=np.int8)
    matrix.indptr, matrix.indices, matrix.data = indptr, indices, np.ones(indices.size, np.int8)
    assert small.matched(matrix, "row") is None
    matrix.indptr = np.array([0, 0], np.int32)  # a line too few
    assert small.matched(matrix, "row") is None


def test_other_arrays_are_left_to_the_usual_way():
    """Another type or layout would be compiled anew, which takes longer than any small graph."""
    fits = drawn(1)
    assert small.matched(fits, "row") is not None
    wide, locked, apart, swapped = (drawn(1) for _ in range(4))
    wide.indices = wide.indices.astype(np.int64)
    locked.indptr.flags.writeable = False
    apart.indices = np.repeat(apart.indices, 2)[::2]
    swapped.indptr = swapped.indptr.astype(">i4")
    for other in (wide, locked, apart, swapped, coo_array(fits), fits.tolil()):
        assert small.matched(other, "row") is None
    assert len(small.maximum.signatures) == 1


def test_a_larger_graph_is_left_to_the_usual_way(monkeypatch):
    matrix = drawn(1)
    monkeypatch.setattr(small, "SMALL", matrix.nnz)
    assert small.matched(matrix, "row") is None


def test_a_graph_on_which_searches_stop_is_left_to_the_usual_way(monkeypatch):
    monkeypatch.setattr(small, "maximum", small.maximum.py_func)
    monkeypatch.setattr(small, "LOOKS", 0)
    assert small.matched(blocks(), "row") is None
    assert size(maximum_bipartite_matching(blocks())) == 100


def test_a_call_that_asks_for_nothing_takes_this_way(monkeypatch, capsys):
    given = []
    monkeypatch.setattr(small, "matched", lambda *asked: given.append(asked[1]))
    for options in ({"seconds": 60.0}, {"solver": "scipy"}, {"explain": True}):
        assert size(maximum_bipartite_matching(blocks(), **options)) == 100
    assert given == []
    for options in ({}, {"device": "cpu"}, {"perm_type": "column"}):
        assert size(maximum_bipartite_matching(blocks(), **options)) == 100
    assert given == ["row", "row", "column"]
    assert "papers:" in capsys.readouterr().out


def test_bad_wishes_are_refused_before():
    with pytest.raises(ValueError, match="device='tpu'"):
        maximum_bipartite_matching(blocks(), device="tpu")
    with pytest.raises(ValueError, match="perm_type='rows'"):
        maximum_bipartite_matching(blocks(), "rows")


def test_no_rule_sends_so_small_a_graph_to_a_gpu():
    for edges in (1, 64, small.SMALL - 1):
        for traits in (frozenset(), frozenset({"dense"})):
            question = choice.Question("matching", "graph", edges, "any", "host", traits)
            rule = choice.rule_for(question, ("gpu", "cpu"))
            assert rule.runs_on == "cpu"


def test_searches_end_on_all_recorded_graphs_of_that_size():
    found = pd.read_csv(looks.__file__.replace(".py", ".csv"))
    few = found[found["edges"] < small.SMALL]
    assert len(few) == 34
    assert few["ended"].all()
