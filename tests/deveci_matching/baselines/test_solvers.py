"""The CPU rivals: right, counted, re-runnable, for every start and every number of threads."""

import numba
import numpy as np
import pytest
from deveci_matching.baselines.examples import (
    GRAPHS,
    MOST,
    MULTICORE,
    SEQUENTIAL,
    assert_maximum,
    codes,
    long_path,
    of_edges,
    options_of,
    some_matching,
)

from papers.common.model import GivenUpError, Solver
from papers.common.problems.graph import GraphError
from papers.deveci_matching.baselines import hk, pfp, solvers


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


@pytest.mark.parametrize("code", [*SEQUENTIAL, *MULTICORE])
def test_a_run_in_slices_ends_with_as_many_pairs(code, monkeypatch):
    """A slice goes on from the matching that the last one has reached."""
    monkeypatch.setattr(solvers, "SLICE", 1)
    monkeypatch.setattr(solvers, "LOOKS", 1)  # so that a slice ends within a phase
    call, calls = solvers._call, []
    monkeypatch.setattr(solvers, "_call", lambda *given: calls.append(0) or call(*given))
    graph = GRAPHS["skew"]
    options = options_of(code, 1 if code in MULTICORE else None, initial="empty")
    answer = solvers.solve(graph, code, seconds=600, **options)
    assert_maximum(graph, answer)
    assert answer.counters["augmenting_paths"] == answer.cardinality
    assert len(calls) > 1 or code == "p_dbfs"  # which looks at fewer edges than a slice has


@pytest.mark.parametrize("code", [*SEQUENTIAL, *MULTICORE])
def test_a_limit_of_time_is_kept_and_the_next_run_is_right(code, monkeypatch):
    monkeypatch.setattr(solvers, "_call", broken_off(solvers._call))
    graph = GRAPHS["skew"]
    options = options_of(code, 1 if code in MULTICORE else None, initial="empty")
    state = solvers.SOLVERS[code].upload(graph, seconds=1e-9, **options)
    with pytest.raises(GivenUpError, match=r"gave up after .* edges, \d+ pairs matched") as told:
        solvers.run(state)
    assert set(told.value.reached) == {"matched", "edges_scanned"}
    state.seconds = None
    monkeypatch.undo()
    solvers.run(state)
    assert_maximum(graph, solvers.download(state))


def broken_off(call):
    """As `_call`, but the code may look at one edge only."""
    return lambda state, limit: call(state, 1)


@pytest.mark.parametrize("code", [*SEQUENTIAL, *MULTICORE])
def test_the_bound_on_the_work_is_far_and_ends_a_run(code):
    """No right run comes near it; a run that reaches it says what it has."""
    graph = GRAPHS["skew"]
    options = options_of(code, 1 if code in MULTICORE else None, initial="empty")
    state = solvers.SOLVERS[code].upload(graph, **options)
    solvers.run(state)
    assert state.counters["edges_scanned"] < state.limit
    state.limit = state.counters["edges_scanned"] - 1
    with pytest.raises(solvers.WorkLimitError, match="no right run exceeds") as told:
        solvers.run(state)
    assert told.value.reached["edges_scanned"] > state.limit


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
    with pytest.raises(ValueError, match="sequential"):
        solvers.solve(graph, "scipy", threads=2)
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
