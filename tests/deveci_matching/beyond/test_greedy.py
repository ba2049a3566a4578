"""The start on the device is the cheap matching, leaves first, in every order of the threads."""

import numpy as np
import pytest
from deveci_matching.beyond.test_solver import check, random_graph

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.problems.graph import bipartite
from papers.deveci_matching.beyond import solver
from papers.deveci_matching.beyond.kernels import greedy
from papers.deveci_matching.start import cheap_matching


def in_turn(graph):
    """The number of pairs that columns get one by one: those of one edge, then by number."""
    order = np.argsort(np.diff(graph.cxadj) != 1, kind="stable")
    matrix = graph.matrix().tocsc()[:, order]
    by_order = bipartite(matrix)
    return int(np.count_nonzero(cheap_matching(by_order.cxadj, by_order.cadj, graph.rows)[1] >= 0))


def triangle(n, lower):
    return bipartite(np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T)


GRAPHS = [triangle(12, True), triangle(12, False), *(random_graph(seed, 30) for seed in range(8))]


@pytest.mark.parametrize("weak", [False, True])
def test_the_start_is_that_of_the_columns_one_by_one(weak):
    sizes = set()
    for seed in range(30):
        graph = GRAPHS[seed % len(GRAPHS)]
        memory = WeakMemory(seed) if weak else None
        with device.executing(Executor(seed, 0.3, memory=memory)):
            answer = solver.solve(graph, "device", threads=32, blocks=2)
        check(graph, answer)
        assert answer.counters["initial_cardinality"] == in_turn(graph), seed
        sizes.add(answer.counters["augmenting_paths"])
    assert sizes > {0}, "some starts must leave paths"


def test_a_full_triangle_needs_no_search():
    """Either triangle: the start is the one perfect matching, as the cheap one is."""
    for lower in (False, True):
        answer = solver.solve(triangle(40, lower), "device")
        assert answer.counters["augmenting_paths"] == 0
        assert answer.counters["bfs_launches"] == 0


@pytest.mark.parametrize("chain", [0, 1, 3])
def test_a_thread_that_may_send_no_more_columns_away_leaves_no_edge_free(chain, monkeypatch):
    monkeypatch.setattr(greedy, "CHAIN", chain)
    fewer = 0
    for seed in range(12):
        graph = GRAPHS[seed % len(GRAPHS)]
        with device.executing(Executor(seed, 0.3)):
            answer = solver.solve(graph, "device", threads=32, blocks=2)
        check(graph, answer)
        start = answer.counters["initial_cardinality"]
        assert 2 * start >= answer.cardinality  # a maximal matching
        fewer += start < in_turn(graph)
    assert fewer > 0 or chain > 1, "the bound was never reached"
