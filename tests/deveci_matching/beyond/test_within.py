"""Levels that a block makes by itself: what has no room in its list, heavy columns, both modes."""

import inspect

import numpy as np
import pytest
from deveci_matching.beyond.test_solver import check, planted, random_graph

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems.graph import bipartite
from papers.deveci_matching.beyond import solver
from papers.deveci_matching.beyond.configuration import CONFIGURATIONS
from papers.deveci_matching.beyond.kernels import directions, frontier, within


def fan(arms, length):
    """A free column that sees `arms` rows, each of which begins a chain of `length` pairs.

    The last chain alone ends at a free row: all rows that the column leads to have to be followed.
    """
    pairs = arms * length
    dense = np.zeros((pairs + 1, pairs + 1), bool)
    row_match, column_match = np.full(pairs + 1, -1), np.full(pairs + 1, -1)
    for arm in range(arms):
        before = pairs
        for step in range(length):
            k = arm * length + step
            dense[k, before] = dense[k, k] = True
            row_match[k] = column_match[k] = before = k
    dense[pairs, pairs - 1] = True
    return bipartite(dense), (row_match, column_match)


@pytest.fixture
def spread(monkeypatch):
    """No levels by block 0 alone, and levels within blocks wherever no column is heavy."""
    monkeypatch.setattr(directions, "LONE_EDGES", -1)
    monkeypatch.setattr(directions, "EDGES_OF_ALL", 1000)
    monkeypatch.setattr(within, "EDGES_OF_ONE", 1000)


def solved(graph, start="empty", seed=0, blocks=2, **more):
    with device.executing(Executor(seed=seed, switch=0.1)):
        answer = solver.solve(graph, start, threads=32, blocks=blocks, **more)
    check(graph, answer)
    return answer.counters


@pytest.mark.parametrize("alone", [False, True])
def test_what_has_no_room_in_the_list_goes_to_the_grid(spread, monkeypatch, alone):
    """Forty chains begin at one column, and a block of 32 threads has room for 32 of them."""
    monkeypatch.setattr(directions, "LONE_EDGES", 2 if alone else -1)
    graph, start = fan(40, 3)
    for seed in range(6):
        counts = solved(graph, start, seed)
        assert counts["augmenting_paths"] == 1
        assert counts["levels_alone" if alone else "levels_within"] > 0


def test_a_heavy_column_is_left_to_all_blocks(spread, monkeypatch):
    monkeypatch.setattr(frontier, "HEAVY_DEGREE", 3)
    for seed in range(12):
        solved(random_graph(seed, 14), ("empty", "cheap")[seed % 2], seed)


def test_no_more_levels_than_turns(spread, monkeypatch):
    """A chain of 30 pairs takes one level of the grid for each `TURNS` of a block's."""
    graph, start = fan(1, 30)
    levels = {}
    for turns in (1, 8, 100):
        monkeypatch.setattr(directions, "TURNS", turns)
        levels[turns] = solved(graph, start, jump_after=100)["bfs_launches"]
    assert levels[100] < levels[8] < levels[1]
    assert levels[1] >= 30


def test_a_block_alone_stops_at_a_path(monkeypatch):
    """So that the phase can end: behind a short path the other tree has a long way to go."""
    monkeypatch.setattr(directions, "LONE_EDGES", 4)
    graph, (rows, columns) = fan(1, 30)
    dense = np.zeros((graph.rows + 9, graph.columns + 9), bool)
    dense[: graph.rows, : graph.columns] = graph.matrix().toarray()
    for k in range(9):
        dense[graph.rows + k, graph.columns + k] = True
    free = np.full(9, -1)
    counts = solved(bipartite(dense), (np.append(rows, free), np.append(columns, free)))
    assert counts["phases_cut"] > 0
    assert counts["levels_alone"] > 0


def test_the_idea_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(directions, "LONE_EDGES", -1)
    graph, start = fan(40, 3)
    assert solved(graph, start, configuration="lone_block")["levels_within"] == 0
    assert solved(graph, start, configuration="within")["levels_within"] > 0
    assert list(CONFIGURATIONS)[-2:] == ["within", "tuned"]


FAULTS = {
    "what has no room is dropped": (
        within.put, "append_light(found, light and not kept,", "append_light(found, False,",
    ),
    "a list that is left is dropped": (
        within.push_within,
        "if thread < count:\n        queues.frontier",
        "if False:\n        queues.frontier",
    ),
    "heavy columns are dropped": (
        within.push_within, "append_heavy(found, its,", "append_heavy(found, 0 * its,",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found_out(spread, monkeypatch, fault):
    function, old, new = FAULTS[fault]
    if "heavy" in fault:
        monkeypatch.setattr(frontier, "HEAVY_DEGREE", 3)
    assert inspect.getsource(function.py_func).count(old) == 1
    monkeypatch.setattr(function, "__executor__", planted(function, old, new), raising=False)
    graph, start = fan(40, 3)
    if "heavy" in fault:
        graph, start = heavy_behind()
    found = (
        AssertionError,
        GivenUpError,
        IndexError,
    )  # fewer pairs, a bound, a place never written
    with pytest.raises(found):
        solved(graph, start)


def heavy_behind():
    """A free column leads to one matched column of five edges, whose last row alone is free."""
    dense = np.zeros((6, 6), bool)
    dense[0, 5] = True
    dense[:6, 0] = True
    for k in range(1, 5):
        dense[k, k] = True
    rows, columns = np.full(6, -1), np.full(6, -1)
    for k in range(5):
        rows[k] = columns[k] = k
    return bipartite(dense), (rows, columns)
