"""A small graph's matching without a choice, beside SciPy's and the usual way."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import block_diag, coo_array, csr_array, eye_array
from scipy.sparse.csgraph import maximum_bipartite_matching as scipys
from synthesis.calls.test_direct import blocks, drawn

from papers.synthesis.calls import choice, matching
from papers.synthesis.calls.choice import solver_of
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


def with_arrays(indptr, indices, shape=(2, 2)):
    """A CSR matrix whose arrays nobody has checked."""
    matrix = csr_array(shape, dtype=np.int8)
    matrix.indptr, matrix.indices = indptr, indices
    matrix.data = np.ones(np.size(indices), np.int8)
    return matrix


@pytest.mark.parametrize("arrays", BROKEN.values(), ids=BROKEN)
def test_a_broken_graph_is_left_to_the_usual_way(arrays):
    indptr, indices = (np.array(part, np.int32) for part in arrays)
    assert small.matched(with_arrays(indptr, indices), "row") is None


@pytest.mark.parametrize("lines", [1, 3])
def test_a_line_too_few_or_too_many_is_left_to_the_usual_way(lines, monkeypatch):
    """Nothing reads such arrays: lines that are not there would lie outside."""
    monkeypatch.setattr(small, "greedy", None)
    matrix = with_arrays(np.zeros(lines + 1, np.int32), np.zeros(0, np.int32))
    assert small.matched(matrix, "row") is None


@pytest.mark.parametrize(
    "graph",
    [
        csr_array(np.array([1, 0, 2])),
        with_arrays(np.array([0, 1, 2], np.int32), np.array([[0], [1]], np.int32)),
        with_arrays(np.array([[0, 1, 2]], np.int32), np.array([0, 1], np.int32)),
        with_arrays(np.array([0, 1, 2], np.int32), np.array(0, np.int32)),
        with_arrays(None, np.array([0, 1], np.int32)),
    ],
    ids=["a line", "indices in two dimensions", "ends in two", "in none", "no ends"],
)
def test_arrays_that_are_no_lines_have_the_errors_of_the_usual_way(graph):
    said = []
    for options in ({}, {"seconds": 60.0}):
        try:
            said.append(maximum_bipartite_matching(graph, **options))
        except (ValueError, TypeError, IndexError) as error:
            said.append((type(error), str(error)))
    assert isinstance(said[0], tuple)
    assert said[0] == said[1]
    assert "Typing" not in said[0][0].__name__


def test_other_arrays_are_left_to_the_usual_way():
    """Another type or layout would be compiled anew, which takes longer than any small graph."""
    fits = drawn(1)
    assert small.matched(fits, "row") is not None
    wide, locked, apart, swapped = (drawn(1) for _ in range(4))
    wide.indices = wide.indices.astype(np.int64)
    locked.indptr.flags.writeable = False
    apart.indices = np.repeat(apart.indices, 2)[::2]
    swapped.indptr = swapped.indptr.astype(">i4")
    compiled = len(direct.greedy.signatures)
    for other in (wide, locked, apart, swapped, coo_array(fits), fits.tolil()):
        assert small.matched(other, "row") is None
    assert len(direct.greedy.signatures) == compiled


def test_a_larger_graph_is_left_to_the_usual_way(monkeypatch):
    matrix = drawn(1)
    monkeypatch.setattr(small, "SMALL", matrix.nnz)
    assert small.matched(matrix, "row") is None


def test_it_is_the_matching_of_the_usual_way(monkeypatch):
    """The same pass, the same searches, in the same order and as long: planted ones differ."""
    given, enlarge = [], direct.enlarge

    def noted(*arrays):
        given.append(arrays[-2:])
        return enlarge(*arrays)

    for module in (small, direct):
        monkeypatch.setattr(module, "enlarge", noted)
    few = block_diag((csr_array(np.array([[1, 1], [1, 0]])), eye_array(direct.FEW))).tocsr()
    wide = csr_array(np.ones((6, 2), np.int8))
    behind = np.append(blocks().indices, np.full(9, 7, np.int32))
    roomy = with_arrays(blocks().indptr, behind, blocks().shape)
    for matrix in (few, wide, roomy, blocks(), *map(drawn, range(200))):
        looked, before = direct.look(matrix), len(given)
        if looked.missing:
            looked.enlarge()
        usual = given[before:]
        assert np.array_equal(small.matched(matrix, "column"), looked.match)
        assert np.array_equal(small.matched(matrix, "row"), looked.across_match)
        assert given[before:] == 3 * usual
    assert {0, direct.DEEP} == {deep for _, deep in given}


def test_an_answer_is_the_caller_s():
    matrix = drawn(3)
    before = matrix.copy()
    partners = maximum_bipartite_matching(matrix)
    assert partners.dtype == np.int32
    assert partners.flags.owndata
    partners[:] = 5
    assert (matrix != before).nnz == 0


@pytest.mark.parametrize("perm_type", ["row", "column"])
def test_a_solver_goes_on_from_where_searches_stop(monkeypatch, perm_type):
    """Neither the pass nor the searches are made again."""
    monkeypatch.setattr(small, "LOOKS", 0)
    found = small.matched(blocks(), perm_type)
    assert isinstance(found, direct.Looked)
    assert found.pairs == 50 <= np.count_nonzero(found.match >= 0) < 100
    behind = np.append(blocks().indices, np.full(9, 7, np.int32))
    roomy = small.matched(with_arrays(blocks().indptr, behind, blocks().shape), perm_type)
    assert roomy.indices.size == blocks().nnz
    monkeypatch.setattr(direct, "look", None)
    for form in ("csr", "csc"):
        matrix = blocks().asformat(form)
        partners = maximum_bipartite_matching(matrix, perm_type)
        there = np.flatnonzero(partners >= 0)
        pairs = (partners[there], there) if perm_type == "row" else (there, partners[there])
        assert (matrix.toarray()[pairs] != 0).all()
        assert there.size == size(scipys(matrix, perm_type))


def test_a_call_that_asks_for_nothing_takes_this_way(monkeypatch, capsys):
    given = []
    monkeypatch.setattr(small, "matched", lambda *asked: given.append(asked[1]))
    monkeypatch.setattr(choice, "_has_gpu", lambda: True)
    monkeypatch.setattr(matching, "solver_of", lambda name: solver_of("deveci_matching:hk"))
    for options in ({"seconds": 60.0}, {"solver": "scipy"}, {"explain": True}, {"device": "gpu"}):
        assert size(maximum_bipartite_matching(blocks(), **options)) == 100
    assert given == []
    for options in ({}, {"device": "cpu"}, {"perm_type": "column"}):
        assert size(maximum_bipartite_matching(blocks(), **options)) == 100
    assert given == ["row", "row", "column"]
    assert "papers:" in capsys.readouterr().out


def test_a_machine_without_a_gpu_is_told_of(monkeypatch):
    said = []
    monkeypatch.setattr(choice, "_has_gpu", lambda: False)
    monkeypatch.setattr(choice, "_say_so_once", lambda: said.append(1))
    maximum_bipartite_matching(blocks())
    maximum_bipartite_matching(blocks(), device="cpu")
    assert said == [1]


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
