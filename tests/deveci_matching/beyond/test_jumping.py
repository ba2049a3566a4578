"""Jumps: long searches in a logarithm of rounds, long paths by marks, right in every order."""

import numpy as np
import pytest
from deveci_matching.beyond.test_solver import check, ladder, planted, random_graph
from nightly import first
from scipy.sparse import coo_array

from papers.common.executor.errors import ExecutorError
from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems.graph import bipartite
from papers.deveci_matching.beyond import solver
from papers.deveci_matching.beyond.kernels import jumping


def shifted(n):
    """The ladder with the start that leaves one path, from end to end."""
    start = np.full(n, -1), np.full(n, -1)
    start[0][np.arange(n - 1)] = np.arange(1, n)
    start[1][np.arange(1, n)] = np.arange(n - 1)
    return ladder(n), start


def winding(seed, size=6):
    """A tree of long paths: a grid's spanning paths with shortcuts, from a bad start."""
    random = np.random.default_rng(seed)
    n = size * size
    graph, start = shifted(n)
    dense = graph.matrix().toarray().astype(bool)
    low, high = np.sort(random.integers(0, n, (2, size)), axis=0)
    dense[low, high] = True  # ways that shorten, and some that lead round and round
    dense[high, low] = True
    return bipartite(dense), start


def test_a_long_search_takes_rounds_by_the_logarithm_of_its_length():
    """The path of 100 rows: 100 levels without jumps; with them, the wait and a few rounds."""
    counts = {}
    for n in (40, 100):
        graph, start = shifted(n)
        for wait in (4, solver.NEVER):
            answer = solver.solve(graph, start, jump_after=wait)
            check(graph, answer)
            assert answer.cardinality == n
            counts[n, wait] = answer.counters
        assert counts[n, solver.NEVER]["bfs_launches"] == n
        assert counts[n, solver.NEVER]["jumps"] == 0
        assert counts[n, 4]["jumps"] == 1
        assert counts[n, 4]["bfs_launches"] == 4 + 1  # the wait, and the frontier at the jump
    # Doubling: at most one more than the logarithm for the jump, as many for the marks, and the
    # round of each that finds nothing more.
    rounds = counts[100, 4]["doubling_rounds"]
    assert rounds <= 2 * (int(np.ceil(np.log2(100))) + 2)
    assert rounds - counts[40, 4]["doubling_rounds"] <= 2 * 2
    assert counts[100, 4]["grid_barriers"] - rounds <= 12


def test_the_wait_doubles_after_each_jump_of_a_phase(monkeypatch):
    """Where jumps are in vain they stay rare: after 2, 2 + 4, 2 + 4 + 8 ... levels of a phase."""
    in_vain = planted(jumping.choose, "range(min(degree, LOOKS))", "range(0)")
    monkeypatch.setattr(jumping.choose, "__executor__", in_vain, raising=False)
    graph, start = shifted(60)
    with device.executing(Executor()):
        answer = solver.solve(graph, start, jump_after=2)
    check(graph, answer)
    assert answer.counters["bfs_launches"] == 60
    assert answer.counters["jumps"] == 4  # at the levels 2, 6, 14 and 30; the next is 62


@pytest.mark.parametrize("wait", [1, 3])
def test_random_graphs_with_early_jumps(wait):
    jumps = 0
    for seed in range(10):
        graph = random_graph(seed)
        answer = solver.solve(graph, ("cheap", "empty", "device")[seed % 3], jump_after=wait)
        check(graph, answer)
        jumps += answer.counters.get("jumps", 0)
    assert jumps > 0 or wait > 1


@pytest.mark.parametrize("part", first(1, range(8)))
def test_jumps_are_right_in_every_order(part):
    """Some blocks, many interleavings: one of them late words of memory as well."""
    jumps, found = 0, set()
    for seed in range(part * 12, part * 12 + 12):
        memory = WeakMemory(seed) if seed % 3 == 0 else None
        graph, start = winding(seed % 4) if seed % 2 else (random_graph(seed, 20), "empty")
        with device.executing(Executor(seed, 0.3, memory=memory)):
            answer = solver.solve(graph, start, threads=32, blocks=2, jump_after=1 + seed % 2)
        check(graph, answer)
        jumps += answer.counters.get("jumps", 0)
        found.add((seed % 4, tuple(answer.column_match.tolist())))
    assert jumps > 6, "nothing would be proved"


FAULTS = [
    # Rows that hang on a row that stays out would have no way to the root.
    ("attach", "queues.hops[row] <= IN_TREE:", "queues.hops[row] <= IN_TREE and "
     "trees.end_of_root[IN_TREE - queues.hops[row]] < 0:"),
    # A row would ask where rows lead that have not chosen yet.
    ("jump", "meet(control)\n    for k", "for k"),
    # Of a long path some rows would be passed over: pointers would grow by more than double.
    ("mark_on", "int64(side) * rows, int64(1 - side) * rows", "int64(0), int64(0)"),
    # Rows beside the path would be flipped as well.
    ("begin_marks", "if end == row:", "if end >= 0:"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_noticed(name, old, new, monkeypatch):
    """Each condition of the jump is needed: without it some order gives no maximum matching."""
    function = getattr(jumping, name)
    monkeypatch.setattr(function, "__executor__", planted(function, old, new), raising=False)
    with pytest.raises((AssertionError, GivenUpError, IndexError, ExecutorError)):
        jump_often()


def jump_often():
    """Solve long paths and winding ones in many orders, and check every answer."""
    for seed in range(40):
        graph, start = winding(seed) if seed % 2 else shifted(40 + seed)
        with device.executing(Executor(seed, 0.3)):
            answer = solver.solve(graph, start, threads=32, blocks=2, jump_after=1)
        check(graph, answer)


def test_a_row_that_chose_its_own_partner_would_lead_nowhere(monkeypatch):
    """That condition is for speed alone: without it the first jump is in vain.

    The second one begins to look at another column.
    """
    without = planted(jumping.choose, "if column != mate:", "if True:")
    monkeypatch.setattr(jumping.choose, "__executor__", without, raising=False)
    graph, (rows, columns) = shifted(50)
    backwards = bipartite(graph.matrix().toarray()[:, ::-1])  # partners come first in every row
    start = np.where(rows < 0, -1, 49 - rows), columns[::-1]
    with device.executing(Executor()):
        answer = solver.solve(backwards, start, jump_after=4)
    check(backwards, answer)
    assert answer.counters["bfs_launches"] == 4 + 8 + 1


@pytest.mark.parametrize("bad", [0, -3, 2**31])
def test_a_wait_that_is_none_is_refused(bad):
    with pytest.raises(ValueError, match="jump_after"):
        solver.upload(coo_array(np.eye(3)), jump_after=bad)
