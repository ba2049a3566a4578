"""The eight variants as a whole: maximum from every start, bounded, counted, bad input named."""

import itertools

import numpy as np
import pytest
from deveci_matching.examples import GRAPHS, VARIANTS, check, pairs_of, some_start, variants
from scipy.sparse import csr_array, random_array

from papers.common import deadline
from papers.common.model import GivenUpError
from papers.common.problems.graph import GraphError, bipartite
from papers.deveci_matching import PAPER, solve, solver
from papers.deveci_matching.kernels.notation import STUCK, Signal
from papers.deveci_matching.start import start


@variants
@pytest.mark.parametrize("name", GRAPHS)
def test_maximum_from_every_start(variant, name):
    graph = GRAPHS[name]
    for initial in (None, "cheap", "empty", some_start(graph)):
        answer = solve(graph, initial, **variant)
        check(graph, answer)
        checked = bipartite(graph)
        assert answer.counters["initial_cardinality"] == (start(checked, initial)[1] >= 0).sum()


@variants
@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (3, 5)])
def test_no_edges(variant, shape):
    answer = solve(np.zeros(shape), **variant)
    check(np.zeros(shape), answer)
    assert answer.cardinality == answer.counters["kernel_launches"] == 0


@variants
def test_a_maximum_start_is_proved_in_one_phase(variant):
    graph = GRAPHS["random"]
    best = solve(graph)
    answer = solve(graph, (best.row_match, best.column_match), **variant)
    check(graph, answer)
    assert answer.counters["augmenting_paths"] == 0
    assert answer.counters["bfs_iterations"] == 1
    assert np.array_equal(answer.row_match, best.row_match)


def test_apfb_needs_fewer_phases_and_wr_looks_no_further():
    """[D13 sec.4]: APFB converges in fewer iterations."""
    graph = random_array((120, 120), density=0.02, rng=9)
    by = {
        (v["algorithm"], v["bfs"]): solve(graph, "empty", **v).counters["bfs_iterations"]
        for v in VARIANTS
        if v["threads"] == "ct"
    }
    assert by["apfb", "wr"] < by["apsb", "wr"]
    assert by["apfb", "plain"] < by["apsb", "plain"]


def test_levels_of_a_path_graph():
    """One free column, one path through all: APSB and APFB both search n levels, then 1."""
    n = 9
    rmatch, cmatch = np.arange(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32)
    edges = [(k, k) for k in range(n)] + [(k, k + 1) for k in range(n)] + [(n, 0)]
    graph = pairs_of(*edges, shape=(n + 1, n + 1))
    cmatch[n] = -1
    rmatch = np.append(rmatch, np.int32(-1))
    for variant in VARIANTS:
        answer = solve(graph, (rmatch, cmatch), **variant)
        check(graph, answer)
        assert answer.counters["levels_001"] == n + 1
        assert answer.counters["levels_002"] == 1
        assert answer.counters["bfs_launches"] == n + 2
        assert answer.counters["augmenting_paths"] == 1


# ------------------------------------------------------------------------------- loops that end


@variants
def test_a_matching_that_does_not_grow_is_named(variant):
    """ALTERNATE planted to do nothing; FIXMATCHING frees the ends, and all begins again."""
    state = solver.upload(np.ones((4, 4)), initial="empty", **variant)
    state.launches["alternate"].on_enqueue = lambda enqueue: None
    with pytest.raises(RuntimeError, match="did not grow in each of 5 iterations"):
        solver.run(state)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)


def test_a_search_without_end_is_named(monkeypatch):
    """The word planted to say each time that a vertex was inserted."""
    state = solver.upload(np.ones((4, 4)), initial="empty")
    monkeypatch.setattr(state.mailbox, "wait", lambda: Signal.INSERTED)
    with pytest.raises(RuntimeError, match="more than 5 levels"):
        solver.run(state)
    assert state.launches["bfs"].count == 5


def test_a_walk_without_end_is_named():
    state = solver.upload(np.ones((4, 4)), initial="empty")
    flags = state.arrays["flags"]
    state.launches["alternate"].on_enqueue = lambda enqueue: flags.__setitem__(STUCK, 1)
    with pytest.raises(RuntimeError, match="a path has more than 4 columns"):
        solver.run(state)


def test_a_limit_of_time_is_kept_and_the_next_run_is_right(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: float(next(ticks)))
    graph = GRAPHS["random"]
    state = solver.upload(graph, initial="empty", algorithm="apsb", seconds=3)
    with pytest.raises(GivenUpError, match=r"gave up after 4\.0 s and \d+ iterations") as told:
        solver.run(state)
    assert 0 < told.value.reached["iterations"] < told.value.reached["levels"] <= 4
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    state.seconds = None
    solver.run(state)
    check(graph, solver.download(state))


def test_bounds_on_the_work_say_what_was_reached():
    state = solver.upload(np.ones((4, 4)), initial="empty")
    state.launches["alternate"].on_enqueue = lambda enqueue: None
    with pytest.raises(GivenUpError, match="did not grow") as told:
        solver.run(state)
    assert told.value.reached == {"iterations": 5, "levels": 5}


def test_a_run_after_a_broken_one_starts_anew():
    graph = GRAPHS["random"]
    state = solver.upload(graph, initial="empty")

    def broken(enqueue):
        enqueue()
        raise KeyboardInterrupt

    state.launches["bfs"].on_enqueue = broken
    with pytest.raises(KeyboardInterrupt):
        solver.run(state)
    state.launches["bfs"].on_enqueue = None
    state.arrays["tally"][0] = 12345  # as if some blocks had not ended
    solver.run(state)
    check(graph, solver.download(state))


# ------------------------------------------------------------------------------- options, errors


@variants
def test_run_again_and_timed_start(variant):
    graph, (rmatch, cmatch) = GRAPHS["sparse"], some_start(GRAPHS["sparse"])
    for options in ({}, {"timed_start": True}, {"initial": (rmatch, cmatch)}):
        state = solver.upload(graph, **variant, **options)
        answers = []
        for _ in range(2):
            solver.run(state)
            answers.append(solver.download(state))
            check(graph, answers[-1])
            if "timed_start" in options:  # The next run must not read it.
                state.arrays["rmatch_start"][:] = state.arrays["cmatch_start"][:] = -154203
        assert answers[0].counters == answers[1].counters
        assert np.array_equal(answers[0].row_match, answers[1].row_match)


@variants
def test_steps_are_traced(variant):
    state = solver.upload(GRAPHS["random"], initial="empty", **variant)
    seen = []
    solver.run(state, seen.append)
    iterations = len(state.levels)
    assert seen == ["init", *list(solver.STEPS) * (iterations - 1), "init", "bfs"]
    assert iterations > 2


def test_levels_are_kept_one_by_one_up_to_a_limit():
    state = solver.upload([[1]])
    solver.run(state)
    state.levels[:] = [1] * 500
    counters = solver.download(state).counters
    assert "levels_400" in counters
    assert "levels_401" not in counters
    assert counters["bfs_iterations"] == counters["bfs_launches"] == 500


def test_input_is_not_changed():
    graph = csr_array(GRAPHS["random"])
    before, given = graph.copy(), some_start(graph)
    kept = tuple(array.copy() for array in given)
    solve(graph, given)
    assert (graph != before).nnz == 0
    assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"algorithm": "hk"}, "algorithm='hk'"),
        ({"bfs": "gpubfs"}, "bfs='gpubfs'"),
        ({"threads": 4}, "threads=4"),
        ({"initial": "best"}, "initial='best'"),
        ({"initial": ([0, 0], [0, -1])}, "not inverse"),
        ({"initial": ([1, -1], [-1, 0])}, "no such edge"),
        ({"timed_start": True, "initial": ([0], [0])}, "shape"),
    ],
)
def test_bad_options_are_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        solver.upload(np.eye(2), **wrong)


def test_bad_graphs_are_named():
    for bad, named in ((np.zeros(3), "two dimensions"), (([0, 3], [0], (1, 2)), "indptr ends")):
        with pytest.raises(GraphError, match=named):
            solve(bad)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(solver.upload([[1]]))


def test_the_card():
    assert (PAPER.name, PAPER.tag) == ("deveci_matching", "D13")
    one = solver.SOLVERS["gpu"]
    assert one.steps == solver.STEPS
    assert one.device == "cuda"
    state = one.upload(np.ones((3, 3)), algorithm="apsb", timed_start=True)
    one.run(state)
    assert one.download(state).cardinality == 3


@variants
def test_copies_within_a_run_leave_the_answer_as_it_is(variant):
    """Each run takes graph and start from the host anew, and the answer is the same."""
    graph = GRAPHS["random"]
    plain = solver.upload(graph, **variant)
    solver.run(plain)
    state = solver.upload(graph, **variant, timed_copies=True)
    for _ in range(2):
        for name in ("cxadj", "cadj", "rmatch_start", "cmatch_start"):
            state.arrays[name][:] = 0  # the next run must not read it
        solver.run(state)
        answer = solver.download(state)
        check(graph, answer)
        assert answer.counters == solver.download(plain).counters
