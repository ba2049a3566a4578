"""The paper's algorithms in NumPy end maximum under any order of the threads."""

import numpy as np
import pytest
from scipy.sparse import random_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.problems.graph import GraphError, bipartite
from papers.deveci_matching import reference
from papers.deveci_matching.reference import (
    L0,
    alternate,
    alternate_wr,
    apfb,
    apsb,
    bfs,
    fix_matching,
    gpubfs,
    gpubfs_wr,
    init_bfs_array,
    init_root,
)

FOUR = [(driver, variant) for driver in (apsb, apfb) for variant in ("plain", "wr")]
four = pytest.mark.parametrize(("driver", "variant"), FOUR)


def largest(graph):
    if min(graph.shape) == 0:
        return 0
    return int((maximum_bipartite_matching(graph.matrix().tocsr(), perm_type="column") >= 0).sum())


def assert_consistent(graph, rmatch, cmatch):
    dense = graph.matrix().toarray()
    for column, row in enumerate(cmatch):
        assert row == -1 or (rmatch[row] == column and dense[row, column])
    assert (np.asarray(rmatch) >= 0).sum() == (np.asarray(cmatch) >= 0).sum()


def assert_maximum(graph, answer):
    assert_consistent(graph, answer.row_match, answer.column_match)
    assert answer.cardinality == (answer.column_match >= 0).sum() == largest(graph)
    counters = answer.counters
    assert counters["initial_cardinality"] + counters["augmenting_paths"] == answer.cardinality
    levels = [value for name, value in counters.items() if name.startswith("levels_")]
    assert len(levels) == counters["bfs_iterations"]
    assert sum(levels) == counters["bfs_launches"]


def random_graph(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 30, 2))
    return bipartite(random_array(shape, density=rng.uniform(0.02, 0.3), rng=rng))


def figure_1():
    """r1 and c2 are matched; two augmenting paths start from c1 and end with r2 and r3."""
    graph = bipartite(np.array([[1, 1], [0, 1], [0, 1]]))
    return graph, (np.array([1, -1, -1]), np.array([-1, 0]))


@four
@pytest.mark.parametrize("block", range(4))
def test_any_order_ends_maximum(driver, variant, block):
    for seed in range(50 * block, 50 * block + 50):
        graph = random_graph(seed // 4)
        rng = np.random.default_rng(1000 + seed)
        orders = rng.permutation(graph.columns), rng.permutation(graph.rows)
        initial = "cheap" if seed % 2 else "empty"
        assert_maximum(graph, driver(graph, initial, variant, *orders))


@four
@pytest.mark.parametrize(
    "pattern",
    [
        np.zeros((0, 0)),
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.zeros((4, 4)),
        np.ones((1, 9)),
        np.ones((9, 1)),
        np.ones((12, 12)),
        np.ones((7, 15)),
        np.triu(np.ones((20, 20))),
        np.eye(25) + np.eye(25, k=1),
        np.eye(25) + np.eye(25, k=-1),
    ],
    ids=str,
)
def test_cases(driver, variant, pattern):
    graph = bipartite(pattern)
    for initial in ("cheap", "empty"):
        assert_maximum(graph, driver(graph, initial, variant))


@four
def test_from_a_matching_of_the_caller(driver, variant):
    graph, initial = figure_1()
    answer = driver(graph, initial, variant)
    assert_maximum(graph, answer)
    assert answer.counters["initial_cardinality"] == 1
    assert answer.counters["augmenting_paths"] == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0)])
def test_figure_1_the_second_path_stops_at_line_8(order):
    graph, (rmatch, cmatch) = figure_1()
    predecessor = np.full(3, -1)
    found, levels, _, _ = bfs(graph, rmatch, cmatch, predecessor, np.arange(2), False, "plain")
    assert found
    assert levels == 2
    assert rmatch.tolist() == [1, -2, -2]
    assert predecessor.tolist() == [0, 1, 1]
    alternate(rmatch, cmatch, predecessor, np.array(order))
    first, second = (row for row in order if row)
    assert cmatch.tolist() == [0, first]
    assert (rmatch[0], rmatch[first], rmatch[second]) == (0, 1, -2)
    fix_matching(rmatch, cmatch)
    assert (rmatch[0], rmatch[first], rmatch[second]) == (0, 1, -1)


def test_figure_1_with_roots_alternates_the_named_path_only():
    graph, (rmatch, cmatch) = figure_1()
    predecessor = np.full(3, -1)
    found, _, bfs_array, root = bfs(graph, rmatch, cmatch, predecessor, np.arange(2), True, "wr")
    assert found
    assert bfs_array.tolist() == [-2, 3]
    assert root.tolist() == [0, 0]
    alternate_wr(rmatch, cmatch, predecessor, bfs_array, root, np.arange(3))
    assert cmatch.tolist() == [0, 2]
    assert rmatch.tolist() == [0, -2, 1]


def test_two_threads_of_a_warp_are_mended():
    """Both rows are matched with column 1, one of them won there [D13 sec.3]."""
    rmatch, cmatch = np.array([0, 1, 1, -2, -1]), np.array([0, 2])
    fix_matching(rmatch, cmatch)
    assert rmatch.tolist() == [0, -1, 1, -1, -1]
    assert cmatch.tolist() == [0, 2]


def test_row_0_is_told_apart_from_levels():
    """Minus row 0 is no level and not "unvisited": both are above 0."""
    graph = bipartite(np.ones((1, 1)))
    rmatch, cmatch, predecessor = np.array([-1]), np.array([-1]), np.array([-1])
    bfs_array, root = init_bfs_array(cmatch), init_root(cmatch)
    fixed = (L0, bfs_array, graph.cxadj, graph.cadj, rmatch, predecessor, root, np.arange(1))
    assert gpubfs_wr(*fixed, improved=True) == (False, True)
    assert bfs_array.tolist() == [0]
    assert gpubfs_wr(*fixed, improved=True) == (False, False)
    alternate_wr(rmatch, cmatch, predecessor, bfs_array, root, np.arange(1))
    assert (rmatch.tolist(), cmatch.tolist()) == ([0], [0])
    assert min(init_bfs_array(np.array([-1, 3]))) > 0


def test_a_root_with_a_path_is_left_alone():
    """Columns 1 and 2 hang on column 0; once 1 has found row 2, 2 does not look for row 3."""
    pattern = np.zeros((4, 3))
    for row, column in ((0, 0), (1, 0), (0, 1), (1, 2), (2, 1), (3, 2)):
        pattern[row, column] = 1
    graph = bipartite(pattern)
    for variant, ends in (("plain", [-2, -2]), ("wr", [-2, -1])):
        rmatch, cmatch = np.array([1, 2, -1, -1]), np.array([-1, 0, 1])
        bfs(graph, rmatch, cmatch, np.full(4, -1), np.arange(3), False, variant)
        assert rmatch[2:].tolist() == ends


@pytest.mark.parametrize("variant", ["plain", "wr"])
def test_apsb_stops_at_the_level_of_the_first_free_row_and_apfb_does_not(variant):
    """Column 0 has a free row; column 1 reaches one two levels further."""
    pattern = np.zeros((4, 4))
    for row, column in ((0, 0), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3)):
        pattern[row, column] = 1
    graph = bipartite(pattern)
    initial = (np.array([-1, 2, 3, -1]), np.array([-1, -1, 1, 2]))
    short, full = apsb(graph, initial, variant), apfb(graph, initial, variant)
    assert [short.counters[f"levels_00{k}"] for k in range(3)] == [1, 3, 1]
    assert [full.counters[f"levels_00{k}"] for k in range(2)] == [3, 1]
    assert short.counters["bfs_iterations"] == 3
    assert full.counters["bfs_iterations"] == 2


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("variant", ["plain", "wr"])
@pytest.mark.parametrize("shortest", [True, False])
def test_every_round_that_finds_a_path_gains(seed, variant, shortest):
    graph = random_graph(seed)
    rng = np.random.default_rng(seed)
    rmatch, cmatch = np.full(graph.rows, -1), np.full(graph.columns, -1)
    predecessor = rng.integers(-1, graph.columns, graph.rows)  # Left by earlier rounds.
    size, found = 0, True
    while found:
        found, _, bfs_array, root = bfs(
            graph, rmatch, cmatch, predecessor, rng.permutation(graph.columns), shortest, variant
        )
        ends = int((rmatch == -2).sum())
        assert found == (ends > 0)
        if variant == "wr" and shortest:
            roots = int((bfs_array < 1).sum())
            alternate_wr(rmatch, cmatch, predecessor, bfs_array, root, rng.permutation(graph.rows))
        else:
            roots = 1 if found else 0
            alternate(rmatch, cmatch, predecessor, rng.permutation(graph.rows))
        fix_matching(rmatch, cmatch)
        assert_consistent(graph, rmatch, cmatch)
        gain = int((cmatch >= 0).sum()) - size
        assert roots <= gain <= ends
        size += gain
    assert size == largest(graph)


def test_flags_of_one_level():
    graph, (rmatch, cmatch) = figure_1()
    predecessor, bfs_array = np.full(3, -1), init_bfs_array(cmatch)
    fixed = (bfs_array, graph.cxadj, graph.cadj, rmatch, predecessor, np.arange(2))
    assert gpubfs(L0, *fixed) == (True, False)
    assert gpubfs(L0 + 1, *fixed) == (False, True)
    assert gpubfs(L0 + 2, *fixed) == (False, False)


def test_errors():
    graph, _ = figure_1()
    with pytest.raises(GraphError):
        apsb(graph, "greedy")
    with pytest.raises(ValueError, match="neither plain nor wr"):
        apfb(graph, variant="fast")


def test_rounds_without_gain_raise(monkeypatch):
    graph, initial = figure_1()
    monkeypatch.setattr(reference, "alternate", lambda *rest: None)
    with pytest.raises(RuntimeError, match="in each of 3 rounds"):
        apfb(graph, initial, "plain")


def test_a_walk_in_a_circle_ends():
    rmatch, cmatch = np.array([-2, -2]), np.array([1, 0])
    alternate(rmatch, cmatch, np.array([0, 1]), np.arange(2))
    assert (rmatch.tolist(), cmatch.tolist()) == ([0, 1], [0, 1])
