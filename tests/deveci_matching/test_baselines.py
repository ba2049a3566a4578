"""The CPU rivals: right, counted, re-runnable, for every start and every number of threads."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba import njit, prange
from numba.core.errors import TypingError
from scipy.sparse import random_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.model import Solver
from papers.common.problems.graph import GraphError, bipartite
from papers.deveci_matching.baselines import hk, p_hk, pfp, solvers
from papers.deveci_matching.baselines.atomics import (
    atomic_add,
    compare_and_swap,
    exchange,
    load,
    store,
)

SEQUENTIAL = ("hk", "hkdw", "pfp")
MULTICORE = ("p_hk", "p_pfp", "p_dbfs")
MOST = int(numba.config.NUMBA_NUM_THREADS)
CODES = [(code, None) for code in (*SEQUENTIAL, "scipy")]
CODES += [(code, threads) for code in MULTICORE for threads in range(1, min(3, MOST) + 1)]
codes = pytest.mark.parametrize(("code", "threads"), CODES)


def options_of(code, threads, **more):
    return more if threads is None else more | {"threads": threads}


def cover(graph, row_match, column_match):
    """Size of Koenig's vertex cover: columns that no search reaches, rows that one does."""
    rows, columns = set(), set(np.flatnonzero(column_match < 0).tolist())
    queue = list(columns)
    while queue:
        column = queue.pop()
        for row in graph.cadj[graph.cxadj[column] : graph.cxadj[column + 1]].tolist():
            if row not in rows:
                rows.add(row)
                assert row_match[row] >= 0, "an augmenting path is left"
                columns.add(int(row_match[row]))
                queue.append(int(row_match[row]))
    uncovered = np.isin(np.repeat(np.arange(graph.columns), np.diff(graph.cxadj)), list(columns))
    assert np.isin(graph.cadj[uncovered], list(rows)).all()
    return len(rows) + graph.columns - len(columns)


def assert_maximum(graph, answer):
    """A matching, of the size of a vertex cover and of SciPy's, and counters that add up."""
    rmatch, cmatch = answer.row_match, answer.column_match
    assert (rmatch.dtype, cmatch.dtype) == (np.int32, np.int32)
    assert (rmatch.size, cmatch.size) == graph.shape
    matched = np.flatnonzero(cmatch >= 0)
    assert np.array_equal(rmatch[cmatch[matched]], matched)
    assert answer.cardinality == matched.size == (rmatch >= 0).sum()
    column_of = np.repeat(np.arange(graph.columns), np.diff(graph.cxadj))
    assert (cmatch[column_of] == graph.cadj).sum() == matched.size
    assert cover(graph, rmatch, cmatch) == answer.cardinality
    if min(graph.shape):
        theirs = maximum_bipartite_matching(graph.matrix().tocsr(), perm_type="column")
        assert (theirs >= 0).sum() == answer.cardinality
    counters = answer.counters
    assert counters["initial_cardinality"] + counters["augmenting_paths"] == answer.cardinality
    assert all(type(count) is int and count >= 0 for count in counters.values())


def uniform(n, degree, seed, columns=None):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, n * degree), rng.integers(0, columns or n, n * degree)
    return of_edges(n, columns or n, *ends)


def skew(n, degree, seed):
    ends = (np.random.default_rng(seed).random((2, n * degree)) ** 3 * n).astype(int)
    return of_edges(n, n, *ends)


def of_edges(rows, columns, row, column):
    from scipy.sparse import coo_array

    return bipartite(coo_array((np.ones(len(row), bool), (row, column)), shape=(rows, columns)))


def long_path(n):
    """A path through all vertices, matched so that only the whole of it augments."""
    k = np.arange(n)
    graph = of_edges(n, n, np.append(k, k[:-1]), np.append(k, k[1:]))
    return graph, (np.append(k[1:], -1), np.append(-1, k[:-1]))


GRAPHS = {
    "nothing": bipartite(np.zeros((0, 0))),
    "no rows": bipartite(np.zeros((0, 5))),
    "no columns": bipartite(np.zeros((5, 0))),
    "no edges": bipartite(np.zeros((5, 4))),
    "one edge": bipartite(np.ones((1, 1))),
    "star of a row": bipartite(np.ones((1, 300))),
    "star of a column": bipartite(np.ones((300, 1))),
    "path": long_path(700)[0],
    "complete": bipartite(np.ones((60, 60))),
    "complete, wide": bipartite(np.ones((20, 90))),
    "triangle": bipartite(np.triu(np.ones((80, 80)))[:, ::-1]),
    "wide": bipartite(random_array((40, 200), density=0.02, rng=np.random.default_rng(1))),
    "tall": bipartite(random_array((200, 40), density=0.02, rng=np.random.default_rng(2))),
    "uniform 2": uniform(800, 2, 3),
    "uniform 3": uniform(1500, 3, 4),
    "uniform 3, tall": uniform(1500, 3, 5, columns=1000),
    "uniform 8": uniform(500, 8, 6),
    "skew": skew(1500, 8, 7),
    "skew, permuted": skew(1500, 8, 7).permuted(1),
    "figure 1": bipartite(np.array([[1, 1], [0, 1], [0, 1]])),
}


def some_matching(graph, seed):
    """Half of a maximum matching, as arrays."""
    answer = solvers.solve(graph, "hk")
    rmatch, cmatch = answer.row_match.copy(), answer.column_match.copy()
    pairs = np.flatnonzero(cmatch >= 0)
    away = np.random.default_rng(seed).permutation(pairs)[: pairs.size // 2]
    rmatch[cmatch[away]] = -1
    cmatch[away] = -1
    return rmatch, cmatch


@codes
@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_from_every_start(name, code, threads):
    graph = GRAPHS[name]
    for initial in (None, "cheap", "empty", some_matching(graph, 1)):
        answer = solvers.solve(graph, code, **options_of(code, threads, initial=initial))
        assert_maximum(graph, answer)


@codes
def test_the_whole_graph_may_be_one_path(code, threads):
    graph, initial = long_path(5000)
    answer = solvers.solve(graph, code, **options_of(code, threads, initial=initial))
    assert_maximum(graph, answer)
    assert answer.cardinality == 5000
    if code != "scipy":
        assert answer.counters["initial_cardinality"] == 4999
        assert answer.counters["augmenting_paths"] == 1


@codes
def test_figure_1(code, threads):
    graph = GRAPHS["figure 1"]
    initial = (np.array([1, -1, -1]), np.array([-1, 0]))
    answer = solvers.solve(graph, code, **options_of(code, threads, initial=initial))
    assert_maximum(graph, answer)
    assert answer.column_match[0] == 0
    assert answer.column_match[1] in (1, 2)


@pytest.mark.parametrize("code", [*SEQUENTIAL, *MULTICORE])
def test_a_run_can_be_repeated(code):
    graph = GRAPHS["skew"]
    threads = options_of(code, 1 if code in MULTICORE else None)
    solver = solvers.SOLVERS[code]
    state = solver.upload(graph, **threads)
    with pytest.raises(RuntimeError, match="has not ended"):
        solver.download(state)
    answers = []
    for _ in range(3):
        solver.run(state)
        answers.append(solver.download(state))
    within = solver.upload(graph, timed_start=True, **threads)
    for _ in range(2):
        solver.run(within)
        answers.append(solver.download(within))
    for answer in answers:
        assert_maximum(graph, answer)
        assert answer.counters == answers[0].counters
        assert np.array_equal(answer.column_match, answers[0].column_match)
    assert not np.shares_memory(answers[0].row_match, state.rmatch)


@pytest.mark.parametrize("initial", ["empty", "arrays"])
def test_other_starts_than_the_cheap_one_may_be_timed_too(initial):
    graph = GRAPHS["uniform 3"]
    initial = some_matching(graph, 2) if initial == "arrays" else initial
    timed = solvers.solve(graph, "pfp", initial=initial, timed_start=True)
    assert_maximum(graph, timed)
    assert timed.counters == solvers.solve(graph, "pfp", initial=initial).counters


@pytest.mark.parametrize(("code", "twin"), [("p_hk", "hk"), ("p_pfp", "pfp")])
@pytest.mark.parametrize("name", ["path", "uniform 3", "skew", "wide", "no edges"])
def test_with_one_thread_the_multicore_code_is_the_sequential_one(name, code, twin):
    one = solvers.solve(GRAPHS[name], code, threads=1)
    other = solvers.solve(GRAPHS[name], twin)
    assert np.array_equal(one.row_match, other.row_match)
    assert dict(one.counters) == dict(other.counters) | {"threads": 1}


@pytest.mark.parametrize("code", [*SEQUENTIAL, *MULTICORE])
def test_work_limit(code):
    graph = GRAPHS["uniform 3"]
    more = options_of(code, 1 if code in MULTICORE else None)
    edges = solvers.solve(graph, code, **more).counters["edges_scanned"]
    assert graph.columns < edges
    answer = solvers.solve(graph, code, work_limit=edges, **more)
    assert_maximum(graph, answer)
    for limit in (edges - 1, edges // 2, 0):
        solver = solvers.SOLVERS[code]
        state = solver.upload(graph, work_limit=limit, **more)
        with pytest.raises(solvers.WorkLimitError, match=f"work_limit is {limit}"):
            solver.run(state)
        with pytest.raises(RuntimeError, match="has not ended"):
            solver.download(state)


def test_phases_of_shortest_paths():
    """Two disjoint paths of one length are one phase of HK, and the last phase finds none."""
    graph, (rmatch, cmatch) = long_path(50)
    twice = of_edges(
        100, 100, *(np.concatenate([ends, ends + 50]) for ends in graph.matrix().nonzero())
    )
    both = (np.concatenate([rmatch, np.where(rmatch < 0, -1, rmatch + 50)]),
            np.concatenate([cmatch, np.where(cmatch < 0, -1, cmatch + 50)]))  # fmt: skip
    counters = solvers.solve(twice, "hk", initial=both).counters
    assert (counters["augmenting_paths"], counters["phases"]) == (2, 2)
    assert counters["bfs_levels"] == 50


def test_duff_and_wiberg_find_longer_paths_in_the_same_phase():
    """A path of one edge and one of three: two phases of HK, one of HKDW, and a last one."""
    graph = of_edges(3, 3, [0, 1, 1, 2], [0, 1, 2, 2])
    initial = (np.array([-1, 2, -1]), np.array([-1, -1, 1]))
    assert solvers.solve(graph, "hk", initial=initial).counters["phases"] == 3
    assert solvers.solve(graph, "hkdw", initial=initial).counters["phases"] == 2


def test_marks_and_levels_begin_anew_before_they_run_out():
    visited = np.full(3, 255, np.uint8)
    assert pfp.mark_of(255, visited) == 255
    assert visited.tolist() == [255] * 3
    assert pfp.mark_of(256, visited) == 1
    assert visited.tolist() == [0] * 3
    level = np.full(3, 7, np.int32)
    assert hk.next_base(np.int64(10), 4, level, 3) == 16
    assert level.tolist() == [7] * 3
    assert hk.next_base(np.int64(2**31 - 10), 4, level, 3) == hk.FIRST
    assert level.tolist() == [0] * 3


def test_errors():
    graph = GRAPHS["wide"]
    with pytest.raises(GraphError):
        solvers.solve(graph, "hk", initial="greedy")
    with pytest.raises(GraphError):
        solvers.solve(np.ones(3), "p_hk")
    with pytest.raises(ValueError, match="none of hk, hkdw"):
        solvers.solve(graph, "push_relabel")
    with pytest.raises(ValueError, match="at least 0"):
        solvers.solve(graph, "pfp", work_limit=-1)
    with pytest.raises(ValueError, match="sequential"):
        solvers.solve(graph, "pfp", threads=2)
    with pytest.raises(ValueError, match="at least 1"):
        solvers.solve(graph, "p_pfp", threads=0)
    with pytest.raises(ValueError, match=f"offers {MOST}"):
        solvers.solve(graph, "p_pfp", threads=MOST + 1)
    with pytest.raises(ValueError, match="cannot be stopped"):
        solvers.solve(graph, "scipy", work_limit=5)
    state = solvers.upload(graph, make=lambda *rest: lambda *more: pfp.STUCK, parallel=False)
    with pytest.raises(RuntimeError, match="where there must be one"):
        solvers.run(state)


def test_the_number_of_threads_is_put_back():
    before = numba.get_num_threads()
    assert solvers.solve(GRAPHS["skew"], "p_dbfs", threads=1).counters["threads"] == 1
    assert numba.get_num_threads() == before
    assert solvers.solve(GRAPHS["skew"], "p_dbfs").counters["threads"] == MOST


def test_solvers():
    assert list(solvers.SOLVERS) == [*SEQUENTIAL, *MULTICORE, "scipy"]
    for name, solver in solvers.SOLVERS.items():
        assert isinstance(solver, Solver)
        assert (solver.name, solver.device) == (name, "cpu")


# --------------------------------------------------------------------------- atomics, races


@njit
def _once(sums, seen, baton, given, raised, flags, i):
    """What each of many threads does to the same few elements."""
    seen[atomic_add(sums, 0, 1)] += 1
    atomic_add(sums, 1, -i)
    given[i] = exchange(baton, 0, i)
    old = load(raised, 0)
    while True:
        was = compare_and_swap(raised, 0, old, old + 2)
        if was == old:
            break
        old = was
    if load(flags, i % 100) == 0 and compare_and_swap(flags, i % 100, 0, 3) == 0:
        atomic_add(sums, 2, 1)


@njit(parallel=True)
def _all_at_once(sums, seen, baton, given, raised, flags):
    for i in prange(seen.size):
        _once(sums, seen, baton, given, raised, flags, np.int64(i))


def contend(threads, n=200_000):
    """Sums are exact, tickets and the baton are handed out once, every flag has one winner."""
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        sums, seen = np.zeros(3, np.int64), np.zeros(n, np.int32)
        baton, given = np.array([n], np.int64), np.empty(n, np.int64)
        raised, flags = np.zeros(1, np.int32), np.zeros(100, np.uint8)
        _all_at_once(sums, seen, baton, given, raised, flags)
    finally:
        numba.set_num_threads(before)
    assert sums.tolist() == [n, -n * (n - 1) // 2, 100]
    assert (seen == 1).all()
    assert np.array_equal(np.sort(np.append(given, baton)), np.arange(n + 1))
    assert raised[0] == 2 * n
    assert (flags == 3).all()


def race(threads, rounds):
    """The multicore codes, again and again: each time another interleaving."""
    graphs = uniform(3000, 3, 11), skew(3000, 6, 12), uniform(20000, 3, 13)
    for graph in graphs:
        size = solvers.solve(graph, "hk").cardinality
        for code in MULTICORE:
            state = solvers.SOLVERS[code].upload(graph, threads=threads, initial="empty")
            for _ in range(rounds):
                solvers.run(state)
                assert solvers.download(state).cardinality == size, (code, threads)
            assert_maximum(graph, solvers.download(state))


def crowd(threads, rounds, rows=4000, free=1100):
    """P-HK's first level where all free columns look at the same rows, half of them matched.

    Who starts late catches up over the claimed rows; from there on threads meet at every row.
    """
    half = rows // 2
    pattern = np.zeros((rows, free + half), bool)
    pattern[:, :free] = True
    pattern[np.arange(half), free + np.arange(half)] = True
    graph = bipartite(pattern)
    rmatch = np.append(free + np.arange(half), np.full(half, -1)).astype(np.int32)
    work = p_hk.allocate(rows, graph.columns, threads)
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        for _ in range(rounds):
            work.level[:] = 0
            work.queue[:free] = np.arange(free)
            work.counters[:] = 0
            last = p_hk._levels_of(graph.cxadj, graph.cadj, rmatch, work, hk.FIRST, free, 2**62)
            assert last == 0
            assert work.counters[p_hk.ENDS] == half
            assert np.array_equal(np.sort(work.ends[:half]), half + np.arange(half))
            assert work.counters[p_hk.TAIL] == graph.columns
            assert np.array_equal(np.sort(work.queue), np.arange(graph.columns))
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("threads", range(1, min(3, MOST) + 1))
def test_levels_claim_each_row_once(threads):
    crowd(threads, rounds=5)


@pytest.mark.parametrize("threads", range(1, min(3, MOST) + 1))
def test_atomics_under_contention(threads):
    contend(threads)


def test_races():
    race(MOST, rounds=4)


def test_more_threads_than_cores():
    """Three and four threads, whatever Numba may use here: in a process of its own."""
    environment = os.environ | {"NUMBA_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive"}
    subprocess.run([sys.executable, __file__], env=environment, check=True, timeout=200)


@njit
def _store(array, index, value):
    return store(array, index, value)


@njit
def _add(array, index, value):
    return atomic_add(array, index, value)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_store_converts_as_an_assignment_does(dtype):
    array = np.zeros(4, dtype)[::2]
    assert _store(array, 1, 200) == 200
    assert array.tolist() == [0, 200]


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2), int), np.zeros(3, bool), (1, 2)])
def test_atomics_take_lines_of_integers_only(array):
    with pytest.raises(TypingError, match="an atomic operation needs"):
        _add(array, 0, 1)


def test_atomics_add_integers_only():
    with pytest.raises(TypingError, match="an atomic operation needs integers"):
        _add(np.zeros(3, int), 0, 1.5)


if __name__ == "__main__":
    for count in (3, 4):
        contend(count)
        crowd(count, rounds=2)
        race(count, rounds=2)
