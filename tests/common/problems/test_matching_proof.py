"""The proof of a matching: right ones pass, every planted fault is found."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import random_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.model import Matching
from papers.common.problems import matching_proof
from papers.common.problems.assignment_proof import Refuted
from papers.common.problems.graph import bipartite


def a_graph(rows, columns, density, seed):
    return bipartite(random_array((rows, columns), density=density, rng=seed, format="csr"))


def matched(graph):
    """SciPy's maximum matching."""
    partner = np.full(graph.rows, -1, np.int32)
    if graph.edges:
        partner = maximum_bipartite_matching(graph.matrix().tocsr(), perm_type="column")
    return of_rows(graph, partner)


def of_rows(graph, row_match):
    row_match = np.asarray(row_match, np.int32)
    column_match = np.full(graph.columns, -1, np.int32)
    rows = np.flatnonzero(row_match >= 0)
    column_match[row_match[rows]] = rows
    return Matching(row_match, column_match, rows.size)


SHAPES = [(1, 1), (30, 30), (40, 25), (25, 40), (200, 200), (0, 5), (5, 0), (0, 0)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("density", [0.0, 0.03, 0.2, 1.0])
def test_a_maximum_matching_is_proved(shape, density):
    for seed in range(3):
        graph = a_graph(*shape, density, seed)
        answer = matched(graph)
        verdict = matching_proof.matching(graph, answer)
        assert (verdict.ok, verdict.kind) == (True, "koenig-cover"), verdict.reason
        assert verdict.reason.startswith(f"{answer.cardinality} pairs")


@pytest.fixture
def graph():
    return a_graph(60, 50, 0.04, 7)


def refuted(graph, answer):
    verdict = matching_proof.matching(graph, answer)
    assert not verdict.ok
    assert verdict.kind == "koenig-cover"
    return verdict.reason


def test_every_matching_that_lacks_one_pair_is_found(graph):
    whole = matched(graph)
    for row in np.flatnonzero(whole.row_match >= 0):
        partner = whole.row_match.copy()
        partner[row] = -1
        assert "not maximum" in refuted(graph, of_rows(graph, partner))


def test_a_longer_augmenting_path_is_found():
    """Row 0 and column 0 can swap with others along a path of seven edges."""
    path = np.eye(4, dtype=int) + np.eye(4, k=1, dtype=int)
    partner = [1, 2, 3, -1]
    assert "free row 3" in refuted(path, of_rows(bipartite(path), partner))


def test_the_empty_matching_is_maximum_only_without_edges():
    none = Matching(np.full(3, -1), np.full(4, -1), 0)
    assert matching_proof.matching(np.zeros((3, 4)), none).ok
    assert "not maximum" in refuted(np.ones((3, 4)), none)


def test_a_pair_that_is_no_edge(graph):
    whole = matched(graph)
    free_row = np.flatnonzero(whole.row_match < 0)[0]
    dense = graph.matrix().toarray()
    column = next(c for c in whole.row_match if c >= 0 and not dense[free_row, c])
    partner = np.where(whole.row_match == column, -1, whole.row_match)
    partner[free_row] = column
    assert "no neighbour" in refuted(graph, of_rows(graph, partner))


@pytest.mark.parametrize("side", ["row_match", "column_match"])
def test_a_vertex_used_twice(graph, side):
    whole = matched(graph)
    line = getattr(whole, side).copy()
    first, second = np.flatnonzero(line >= 0)[:2]
    line[first] = line[second]
    assert "matched with" in refuted(graph, replace(whole, **{side: line}))


@pytest.mark.parametrize("side", ["row_match", "column_match"])
def test_the_sides_contradict_each_other(graph, side):
    whole = matched(graph)
    line = getattr(whole, side).copy()
    line[np.flatnonzero(line >= 0)[0]] = -1
    assert "matched" in refuted(graph, replace(whole, **{side: line}))


@pytest.mark.parametrize("error", [-1, 1])
def test_a_wrong_cardinality(graph, error):
    whole = matched(graph)
    reason = refuted(graph, replace(whole, cardinality=whole.cardinality + error))
    assert f"the answer says {whole.cardinality + error}" in reason


@pytest.mark.parametrize("side", ["row_match", "column_match"])
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda line: line[:-1], "has shape"),
        (lambda line: np.append(line, -1), "has shape"),
        (lambda line: line[:, None], "has shape"),
        (lambda line: line.astype(float), "holds float64"),
        (lambda line: np.where(line == line.max(), 10**6, line), "outside -1"),
        (lambda line: np.where(line == line.max(), -2, line), "outside -1"),
        (lambda line: np.where(line == line.max(), 2**32, line.astype(np.int64)), "outside -1"),
    ],
)
def test_arrays_that_are_no_matching(graph, side, spoil, reason):
    whole = matched(graph)
    assert reason in refuted(graph, replace(whole, **{side: spoil(getattr(whole, side))}))


def test_the_check_of_a_cover_does_not_trust_the_search(graph):
    """All vertices but one of a tight cover leave an edge out; one more is too many."""
    answer = matched(graph)
    rows, columns, end = matching_proof._reach(
        graph.cxadj, graph.cadj, answer.row_match, answer.column_match
    )
    assert end == -1
    matching_proof.check_cover(graph, rows, ~columns, answer.cardinality)
    for side, vertices in enumerate((rows, ~columns)):
        for vertex in np.flatnonzero(vertices):
            cover = [rows.copy(), ~columns]
            cover[side][vertex] = False
            with pytest.raises(Refuted, match="leaves out an edge"):
                matching_proof.check_cover(graph, *cover, answer.cardinality)
        cover = [rows.copy(), ~columns]
        cover[side][np.flatnonzero(~vertices)[0]] = True
        with pytest.raises(Refuted, match="proves nothing"):
            matching_proof.check_cover(graph, *cover, answer.cardinality)


def test_unsorted_neighbours_and_any_input_of_the_contract():
    graph = (np.array([0, 2, 4]), np.array([1, 0, 1, 0]), (2, 2))
    assert matching_proof.matching(graph, Matching(np.array([1, 0]), np.array([1, 0]), 2)).ok
