"""Levels that a block makes by itself: what has no room in its list, heavy columns, both modes."""

import inspect
import re
from types import SimpleNamespace

import numba.cuda.dispatcher
import numpy as np
import pytest
from deveci_matching.beyond.test_solver import check, planted, random_graph
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.signatures import argument_types
from papers.common.model import GivenUpError
from papers.common.problems.graph import bipartite
from papers.deveci_matching.beyond import solver
from papers.deveci_matching.beyond.configuration import CONFIGURATIONS
from papers.deveci_matching.beyond.kernels import directions, frontier, grafting, within


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


def with_leaves(leaves, chains):
    """Columns that all see row 0 alone, and chains whose last free column a cheap start leaves free
    though it has a path: so many free columns begin a search, and few edges. Rows without an edge
    are so many that no row looks for a column.
    """
    dense = np.zeros((401 + 4 * chains, 3 * chains + leaves), bool)
    dense[0, 2 * chains : 2 * chains + leaves] = True
    for k in range(chains):
        row, behind = 1 + 4 * k, 2 * chains + leaves + k
        dense[row, [2 * k, behind]] = dense[row + 1, [2 * k + 1, behind]] = True
        dense[row + 2, 2 * k] = dense[row + 3, 2 * k + 1] = True
    return bipartite(dense)


@pytest.mark.parametrize("start", ["empty", "cheap", "device"])
@pytest.mark.parametrize("name", ["within", "tuned"])
def test_more_columns_than_threads_that_have_an_edge_each(name, start):
    """More than three blocks of 32 have, with less than two edges a thread: none is left out."""
    for leaves, chains in ((120, 8), (140, 8), (160, 8), (150, 1)):
        solved(with_leaves(leaves, chains), start, blocks=3, configuration=name)


def test_a_single_block_that_is_not_alone_counts_levels_as_the_grid_does(monkeypatch):
    """The level of a column is that of the step, so that rows of the next step find its frontier.

    A ring of pairs hangs on a chain from the one free column; behind the ring is the free row.
    """
    monkeypatch.setattr(directions, "LONE_EDGES", -1)
    for ring in (40, 70, 100):
        graph, start = chain_and_ring(ring)
        assert solved(graph, start, blocks=1, jump_after=1000)["levels_pulled"] > 0


def chain_and_ring(ring):
    dense = np.zeros((ring + 4, ring + 4), bool)
    for k in range(3):
        dense[k, [k, k + 1]] = True
    for k in range(ring):
        dense[3 + k, [3, 4 + k]] = True
        dense[3 + (k + 1) % ring, 4 + k] = True
    dense[ring + 3, ring + 3] = True
    row_match, column_match = np.full(ring + 4, -1), np.full(ring + 4, -1)
    row_match[:-1] = np.arange(1, ring + 4)
    column_match[1:] = np.arange(ring + 3)
    return bipartite(dense), (row_match, column_match)


@pytest.mark.parametrize(
    ("light", "workers"), [(0, 4), (1, 4), (5, 4), (133, 132), (2**31 - 1, 132)]
)
def test_no_block_has_two_columns_more_than_another(light, workers):
    parts = [frontier.part_of.py_func(light, k, workers) for k in range(workers)]
    assert [first for first, _ in parts] == [0, *(last for _, last in parts[:-1])]
    assert parts[-1][1] == light
    sizes = [last - first for first, last in parts]
    assert max(sizes) - min(sizes) <= 1


def test_what_a_block_keeps_in_shared_memory_fits(monkeypatch):
    """A block has 48 KiB: the assembler counts what a kernel's text declares."""
    monkeypatch.setattr(
        numba.cuda.dispatcher, "get_current_device",
        lambda: SimpleNamespace(compute_capability=(9, 0)),
    )  # fmt: skip
    kernel = grafting.maximum_matching
    text, _ = cuda.compile_ptx(
        kernel.py_func, argument_types(grafting.SIGNATURES[kernel]), cc=(9, 0)
    )
    declared = re.findall(r"\.shared .*?\.b8 \w+\[(\d+)\]", text)
    assert 4 * within.MAX_BLOCK * 4 < sum(map(int, declared)) <= 48 * 1024


ALONE = "        if alone:\n            level ="
"""Where a level within a block is counted as one of the grid's."""

FAULTS = {
    "columns without a thread are dropped": (
        directions.is_small, "light <= threads and edges", "edges",
        lambda: (with_leaves(150, 1), "empty"), {},
    ),
    "levels within count in the grid": (
        within.push_within, ALONE, ALONE.replace("alone", "True"),
        lambda: chain_and_ring(40), {"blocks": 1, "jump_after": 1000},
    ),
    "what has no room is dropped": (
        within.put, "append_light(found, light and not kept,", "append_light(found, False,",
        lambda: fan(40, 3), {},
    ),
    "a list that is left is dropped": (
        within.push_within,
        "if thread < count:\n        queues.frontier",
        "if False:\n        queues.frontier",
        lambda: fan(40, 3), {},
    ),
    "heavy columns are dropped": (
        within.push_within, "append_heavy(found, its,", "append_heavy(found, 0 * its,",
        lambda: heavy_behind(), {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found_out(spread, monkeypatch, fault):
    """A fault gives fewer pairs, or goes on to a bound, or reads a place never written."""
    function, old, new, made, options = FAULTS[fault]
    if "heavy" in fault:
        monkeypatch.setattr(frontier, "HEAVY_DEGREE", 3)
    if "levels" in fault:
        monkeypatch.setattr(directions, "EDGES_OF_ALL", 2)
        monkeypatch.setattr(within, "EDGES_OF_ONE", 4)
    graph, start = made()
    solved(graph, start, **options)
    assert inspect.getsource(function.py_func).count(old) == 1
    monkeypatch.setattr(function, "__executor__", planted(function, old, new), raising=False)
    with pytest.raises((AssertionError, GivenUpError, IndexError)):
        solved(graph, start, **options)


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
