"""One suite for every matching solver: same cases, same assertions, by what each declares."""

import numpy as np
import pytest
from contract import (
    assert_a_limit_of_time_is_kept_or_refused,
    assert_steps_are_declared,
    solve,
    solvers,
    upload,
)
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.problems import kinds, matching_proof
from papers.common.problems.graph import GraphError, bipartite

SOLVERS = list(solvers("matching"))
every_solver = pytest.mark.parametrize(("solver", "options"), SOLVERS)


random = np.random.default_rng(30)
CASES = {
    "nothing": np.zeros((0, 0)),
    "no columns": np.zeros((3, 0)),
    "no rows": np.zeros((0, 3)),
    "no edges": np.zeros((4, 5)),
    "1x1": np.ones((1, 1)),
    "one row": np.ones((1, 8)),
    "one column": np.ones((8, 1)),
    "complete": np.ones((9, 9)),
    "identity": np.eye(12),
    "star": np.vstack([np.ones((1, 9)), np.eye(1, 9)]),
    "path": np.eye(15) + np.eye(15, k=1),
    "cycle": np.eye(14) + np.roll(np.eye(14), 1, axis=1),
    "Fig. 1": np.array([[1, 1], [0, 1], [0, 1]]),
    "empty lines": np.pad(np.eye(5), 2),
    "wide": random.random((6, 20)) < 0.2,
    "tall": random.random((20, 6)) < 0.2,
    "sparse": random.random((30, 30)) < 0.05,
    "dense": random.random((17, 17)) < 0.5,
    "block edge": random.random((33, 31)) < 0.1,
    "deficient": np.kron(np.array([[1, 1, 1], [1, 0, 0], [1, 0, 0]]), np.ones((4, 4))),
}


@every_solver
@pytest.mark.parametrize("case", CASES)
def test_maximum_and_proved(solver, options, case):
    """As many pairs as SciPy finds, and a vertex cover of that size."""
    graph = bipartite(CASES[case])
    answer = solve(solver, CASES[case], **options)
    verdict = matching_proof.matching(graph, answer)
    assert verdict.ok, verdict
    if graph.edges:
        pairs = maximum_bipartite_matching(csr_array(graph.matrix()), perm_type="column")
        assert answer.cardinality == np.count_nonzero(pairs >= 0)
    else:
        assert answer.cardinality == 0


@every_solver
def test_any_format_is_the_same_graph(solver, options):
    """Formats, index types, repeated and zero entries: structure counts."""
    dense = random.random((11, 13)) < 0.2
    size = solve(solver, dense, **options).cardinality
    row, column = np.nonzero(dense)
    twice = coo_array(
        (np.zeros(2 * row.size), (np.tile(row, 2), np.tile(column, 2))), shape=dense.shape
    )
    sparse = csr_array(dense.astype(float))
    wide = sparse.copy()
    wide.indptr, wide.indices = wide.indptr.astype(np.int64), wide.indices.astype(np.int64)
    arrays = (sparse.indptr, sparse.indices, sparse.shape)
    for same in (twice, sparse, wide, sparse.tocsc(), sparse.tolil(), sparse.todia(), arrays):
        assert solve(solver, same, **options).cardinality == size


@every_solver
def test_bad_graphs_are_named(solver, options):
    good = csr_array(np.eye(3))
    for arrays, word in (
        ((np.array([1, 1, 2, 3]), good.indices, (3, 3)), "start"),
        ((np.array([0, 2, 1, 3]), good.indices, (3, 3)), "decrease"),
        ((np.array([0, 1, 2]), good.indices, (3, 3)), "indptr"),
        ((good.indptr, np.array([0, 1, 3]), (3, 3)), "outside"),
        ((good.indptr, np.array([0.0, 1.0, 2.0]), (3, 3)), "integers"),
    ):
        with pytest.raises(GraphError, match=word):
            upload(solver, arrays, **options)
    with pytest.raises(GraphError, match="dimensions"):
        upload(solver, np.ones(3), **options)


@every_solver
def test_a_run_can_be_repeated_and_keeps_the_graph(solver, options):
    graph = bipartite(random.random((15, 15)) < 0.15)
    before = graph.cxadj.copy(), graph.cadj.copy()
    state = upload(solver, graph, **options)
    sizes = set()
    for _ in range(3):
        solver.run(state)
        answer = kinds.answer_of(solver, state)
        assert matching_proof.matching(graph, answer).ok
        sizes.add(answer.cardinality)
    assert len(sizes) == 1
    assert np.array_equal(graph.cxadj, before[0])
    assert np.array_equal(graph.cadj, before[1])


@every_solver
def test_trace_names_the_declared_steps(solver, options):
    graph = np.random.default_rng(31).random((25, 25)) < 0.1
    seen = []
    state = upload(solver, graph, **options)
    solver.run(state, seen.append)
    assert_steps_are_declared(solver, seen)
    assert matching_proof.matching(bipartite(graph), kinds.answer_of(solver, state)).ok


ENDS_FIRST = (
    "hk", "hkdw", "pfp", "pfp_packed", "ms_bfs_graft", "p_hk", "p_pfp", "p_dbfs", "beyond",
)  # fmt: skip
"""Solvers that may have ended a small instance before they look at the clock."""


@every_solver
def test_a_limit_of_time_is_kept_or_refused_by_name(solver, options):
    """A run that is over time gives up and says what it has reached; the next one is right."""
    instance = CASES["sparse"]
    assert_a_limit_of_time_is_kept_or_refused(solver, instance, options, ENDS_FIRST)
    if "time limits" not in solver.limits:
        answer = solve(solver, instance, seconds=600, **options)
        assert matching_proof.matching(bipartite(instance), answer).ok
