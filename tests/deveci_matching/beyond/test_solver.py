"""The one-launch matching: every start, every direction, many interleavings."""

import inspect

import numpy as np
import pytest
from nightly import first
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.signatures import argument_types
from papers.common.model import GivenUpError
from papers.common.problems.graph import GraphError, bipartite
from papers.deveci_matching import beyond
from papers.deveci_matching.beyond import solver
from papers.deveci_matching.beyond.kernels import directions, frontier, grafting

STARTS = ("cheap", "empty", "device")
SEEDS = 40


def largest(graph):
    """Cardinality by SciPy."""
    if not graph.edges:
        return 0
    found = maximum_bipartite_matching(csr_array(graph.matrix()), perm_type="column")
    return int(np.count_nonzero(found >= 0))


def check(graph, answer):
    """A matching of the graph, as large as SciPy's."""
    matched = np.flatnonzero(answer.column_match >= 0)
    rows = answer.column_match[matched]
    assert np.array_equal(answer.row_match[rows], matched)
    assert np.count_nonzero(answer.row_match >= 0) == matched.size == answer.cardinality
    assert graph.matrix().toarray()[rows, matched].all()
    assert answer.cardinality == largest(graph)
    counters = answer.counters
    assert counters["initial_cardinality"] + counters["augmenting_paths"] == answer.cardinality


def random_graph(seed, most=40):
    random = np.random.default_rng(seed)
    rows, columns = random.integers(1, most, 2)
    return bipartite(random.random((rows, columns)) < random.choice([0.03, 0.08, 0.2, 0.6]))


def barren(seed):
    """A wide tree that finds nothing, and paths beside it."""
    random = np.random.default_rng(seed)
    dense = np.zeros((60, 80), bool)
    dense[:30, :50] = random.random((30, 50)) < 0.2  # more columns than rows: some stay free
    dense[:, 40:] |= random.random((60, 40)) < 0.06
    return bipartite(dense)


def ladder(n):
    """A path that one free column must walk to its end: 2 n vertices, one maximum matching."""
    dense = np.eye(n, dtype=bool)
    dense[np.arange(n - 1), np.arange(1, n)] = True
    return bipartite(dense)


def crossing(n):
    """Many free columns before few free rows, and a heavy column that sees them all."""
    dense = np.zeros((n, n), bool)
    dense[: n // 2, 0] = True
    dense[np.arange(n // 2), np.arange(n // 2) + n // 2 - 1] = True
    dense[n // 2 :, n // 2 :] = np.tri(n - n // 2, dtype=bool)
    dense[0, :] = True
    return bipartite(dense)


@pytest.mark.parametrize("initial", STARTS)
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed, initial):
    graph = random_graph(seed)
    check(graph, solver.solve(graph, initial))


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (3, 5)])
def test_no_edges(shape):
    answer = solver.solve(np.zeros(shape, int))
    assert answer.cardinality == 0
    assert answer.row_match.shape == shape[:1]
    assert answer.column_match.shape == shape[1:]


@pytest.mark.parametrize("initial", STARTS)
def test_shapes_that_decide(initial):
    for graph in (
        ladder(40),
        crossing(24),
        bipartite(np.ones((7, 7))),
        bipartite(np.ones((1, 9))),
        bipartite(np.ones((9, 1))),
    ):
        check(graph, solver.solve(graph, initial))


def test_any_matching_is_a_start_and_a_run_can_be_repeated():
    graph = ladder(20)
    shifted = np.full(20, -1), np.full(20, -1)
    shifted[0][np.arange(19)] = np.arange(1, 20)
    shifted[1][np.arange(1, 20)] = np.arange(19)
    state = solver.upload(graph, shifted)
    for _ in range(2):
        solver.run(state)
        answer = solver.download(state)
        check(graph, answer)
        assert answer.counters["initial_cardinality"] == 19
        # The one path walks the ladder from end to end: twenty levels.
        assert answer.counters["bfs_launches"] == 20
    timed = solver.solve(graph, "cheap", timed_start=True)
    check(graph, timed)


def test_the_public_call_takes_every_option_and_names_bad_ones():
    graph = random_graph(7)
    for options in ({}, {"initial": "device"}, {"timed_start": True}, {"threads": 64, "blocks": 2}):
        check(graph, beyond.solve(graph, **options))
    with pytest.raises(ValueError, match="threads=48"):
        beyond.solve(graph, threads=48)
    with pytest.raises(TypeError, match="unexpected keyword"):
        beyond.solve(graph, thread=64)


@pytest.mark.parametrize("initial", STARTS)
def test_bound_arguments_are_what_the_kernel_is_compiled_for(initial):
    """On a GPU the launch is compiled for its arguments' types: they are the listed signature."""
    launch = solver.upload(random_graph(7), initial).launches["matching"]
    typed = tuple(map(grafting.maximum_matching.typeof_pyval, launch.arguments))
    assert typed == argument_types(grafting.SIGNATURES[grafting.maximum_matching])


def test_every_array_is_bound_under_its_name():
    """Fields are filled by place: each holds the array that its name says."""
    state = solver.upload(random_graph(7))
    sizes, _, _, _, ways, graph, start, *parts, counters = state.launches["matching"].arguments
    bound = {"rstart": start.rmatch, "cstart": start.cmatch, "control": counters}
    for fields in (graph, *parts):
        bound |= fields._asdict()
    bound["queue"] = bound.pop("frontier")
    assert (*ways, bound.pop("spreads")) == (4, 1, 1, 1, 1, 1)
    assert bound.keys() == state.arrays.keys()
    assert all(bound[name] is array for name, array in state.arrays.items())
    assert tuple(sizes) == state.graph.shape


@pytest.mark.parametrize("initial", STARTS)
def test_a_run_in_shares_goes_on_where_it_was(initial, monkeypatch):
    """A launch of one phase goes on where the last has ended: grafted, planted anew, cut short."""
    monkeypatch.setattr(solver, "SHARE", 1)
    monkeypatch.setattr(directions, "LONE_EDGES", 0)
    seen, grafted = set(), 0
    for graph in [*map(random_graph, range(8)), *map(barren, (3, 13, 17))]:
        answer = beyond.solve(graph, initial, seconds=600)
        check(graph, answer)
        if graph.edges:
            assert answer.counters["kernel_launches"] == answer.counters["bfs_iterations"]
            seen.add(answer.counters["kernel_launches"])
            grafted += answer.counters["phases_grafted"]
    assert max(seen) > 1, "the test would prove nothing"
    assert grafted > 0 or initial != "cheap", "the test would prove nothing"


def test_a_limit_of_time_is_kept_and_the_next_run_is_right(monkeypatch):
    monkeypatch.setattr(solver, "SHARE", 1)
    graph = ladder(30)
    state = solver.upload(graph, "empty", seconds=1e-9)
    with pytest.raises(GivenUpError, match=r"gave up after .* s and \d+ phases") as told:
        solver.run(state)
    assert told.value.reached["phases"] == 1
    assert told.value.reached["paths"] > 0
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    state.seconds = None
    solver.run(state)
    check(graph, solver.download(state))


WRITES = """matching.cmatch[column] = row
            matching.rmatch[row] = column
"""


@pytest.mark.parametrize(
    ("function", "old", "new", "words"),
    [
        (grafting.augment, WRITES, "pass\n", "more phases than columns"),
        (directions.levels, "if light + heavy == 0:", "if light + heavy < 0:", "more levels than"),
    ],
    ids=["paths that are not applied", "a wrong stop rule"],
)
def test_a_kernel_that_does_not_end_by_itself_is_found_out(function, old, new, words, monkeypatch):
    monkeypatch.setattr(function, "__executor__", planted(function, old, new), raising=False)
    monkeypatch.setattr(directions, "LONE_EDGES", -1)  # no levels by block 0 alone
    with (
        device.executing(Executor()),
        pytest.raises(GivenUpError, match=words) as told,
    ):
        beyond.solve(np.ones((3, 3)), "empty", blocks=1)
    assert set(told.value.reached) == {"phases", "paths", "levels"}


def planted(function, old, new):
    """A copy of a device function with another text in one place."""
    text = inspect.getsource(function.py_func)
    assert text.count(old) == 1, text
    space = dict(function.py_func.__globals__)
    exec(text[text.index("def ") :].replace(old, new), space)
    return space[function.py_func.__name__]


def test_errors_come_before_a_launch():
    for bad in ({"threads": 48}, {"threads": 0}, {"blocks": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            solver.upload(np.eye(3), **bad)
    with pytest.raises(GraphError, match="initial"):
        solver.upload(np.eye(3), "best")
    with pytest.raises(RuntimeError, match="nothing"):
        solver.download(solver.upload(np.eye(3)))


@pytest.mark.parametrize(("lone", "within"), [(0, 0), (0, 2), (4, 0)])
@pytest.mark.parametrize("kind", ["heavy", "light"])
def test_interleavings(kind, lone, within, monkeypatch):
    """Several blocks; block 0 alone or not, levels within each or not; heavy columns shared."""
    monkeypatch.setattr(directions, "LONE_EDGES", lone)
    monkeypatch.setattr(directions, "EDGES_OF_ALL", within)
    if kind == "heavy":
        monkeypatch.setattr(frontier, "HEAVY_DEGREE", 3)
    graphs = [ladder(9), crossing(10), *(random_graph(seed, 14) for seed in (3, 4, 5))]
    found, seen = set(), {"levels_alone": 0, "levels_pulled": 0, "levels_within": 0}
    for seed in range(SEEDS):
        graph = graphs[seed % len(graphs)]
        with device.executing(Executor(seed=seed, switch=0.1)):
            answer = solver.solve(graph, STARTS[seed // len(graphs) % 3], threads=32, blocks=2)
        check(graph, answer)
        found.add((seed % len(graphs), tuple(answer.column_match.tolist())))
        for name in seen:
            seen[name] += answer.counters[name]
    assert len(found) > len(graphs), "the interleavings did not differ: nothing would be proved"
    assert (seen["levels_alone"] > 0) == (lone > 0)
    assert (seen["levels_within"] > 0) == (within > 0)
    if not lone:
        assert seen["levels_pulled"] > 0


def test_trees_that_found_nothing_stay_and_take_rows(monkeypatch):
    """Grafting happens, and ends maximum: a wide barren tree, and paths beside it."""
    monkeypatch.setattr(directions, "LONE_EDGES", 0)
    grafted = 0
    for seed in range(20):
        graph = barren(seed)
        answer = solver.solve(graph, "cheap")
        check(graph, answer)
        grafted += answer.counters["phases_grafted"]
    assert grafted > 0


@pytest.mark.parametrize("lone", [0, 4])
def test_a_phase_ends_early_where_paths_are_short(monkeypatch, lone):
    """Twelve paths of one edge, and a long one that would keep the phase busy for 30 levels."""
    monkeypatch.setattr(directions, "LONE_EDGES", lone)
    dense = np.zeros((43, 43), bool)
    dense[:31, :31] = ladder(31).matrix().toarray()
    short = np.arange(31, 43)
    dense[short, short] = True
    graph = bipartite(dense)
    start = np.full(43, -1, np.int32), np.full(43, -1, np.int32)
    for column in range(1, 31):
        start[0][column - 1], start[1][column] = column, column - 1
    answer = solver.solve(graph, start, blocks=2)
    check(graph, answer)
    assert answer.counters["phases_cut"] > 0


def test_a_long_row_is_pulled_by_a_warp(monkeypatch):
    """A free row of more than 32 edges finds the one frontier column that can reach it."""
    monkeypatch.setattr(directions, "LONE_EDGES", 0)
    dense = np.zeros((3, 120), bool)
    dense[0, 0] = dense[0, 1] = True
    dense[1, 1] = True
    dense[1, 2:60] = True
    dense[2, 60:] = True
    dense[2, 1] = True
    graph = bipartite(dense)
    for initial in STARTS:
        answer = solver.solve(graph, initial)
        check(graph, answer)


# ------------------------------------------------------------------------------- rows that two want


def pairs_of(rows, columns, matched):
    """A start of the given (row, column) pairs."""
    row_match, column_match = np.full(rows, -1), np.full(columns, -1)
    for row, column in matched:
        row_match[row], column_match[column] = column, row
    return row_match, column_match


def contested(barren, wide, lonely):
    """Column 0 sees rows 0 and 1; column 1 sees row 1 and rows whose columns lead nowhere.

    The tree of column 0 may find row 1 when it has row 0 already; then row 1 must be left to the
    tree of column 1, which stays with its `barren` rows, so that the next phase grafts. `wide`
    matched columns see row 1 besides, which makes it long; `lonely` rows see nothing.
    """
    inner = barren + wide
    dense = np.zeros((2 + inner + lonely, 2 + inner), bool)
    dense[[0, 1], 0] = True
    dense[1, 1] = True
    places = 2 + np.arange(inner)
    dense[places, places] = True
    dense[2 : 2 + barren, 1] = True
    dense[1, 2 + barren :] = True
    return bipartite(dense), pairs_of(*dense.shape, zip(places, places, strict=True))


@pytest.mark.parametrize("sizes", first(2, [(40, 60), (0, 0), (0, 60), (40, 0)]), ids=str)
def test_a_row_that_one_tree_refuses_belongs_to_the_other(monkeypatch, sizes):
    wide, lonely = sizes
    monkeypatch.setattr(directions, "LONE_EDGES", 0)
    graph, start = contested(6, wide, lonely)
    for seed in range(60):
        with device.executing(Executor(seed=seed, switch=0.3)):
            answer = solver.solve(graph, start, threads=32, blocks=2)
        assert answer.cardinality == 8 + wide, seed
        check(graph, answer)


def long_last_row(first_tree, barren=6, wide=40, crowd=120):
    """The last row sees `wide` matched columns and the root of a barren tree: a warp pulls it.

    With `first_tree` it sees, before these, the root of a tree that has row 0 as well. `crowd` free
    columns share one row: they make the frontier dense, so that rows pull.
    """
    rows, columns = 3 + barren + wide, 2 + barren + wide + crowd
    first, second = (0, 1) if first_tree else (0, 1 + wide)
    others = [column for column in range(columns) if column not in (first, second)]
    matched = list(enumerate(others[: barren + wide], 2))
    dense = np.zeros((rows, columns), bool)
    for row, column in matched:
        dense[row, column] = True
    seen = matched[-wide:] if first_tree else matched[:wide]
    dense[-1, [column for _, column in seen]] = True
    dense[[row for row, column in matched if (row, column) not in seen], second] = True
    dense[-1, second] = dense[0, first] = True
    dense[-1, first] = first_tree
    dense[1, others[barren + wide :]] = True
    return bipartite(dense), pairs_of(rows, columns, matched), barren + wide + 3


@pytest.mark.parametrize("first_tree", [False, True])
def test_a_warp_looks_at_all_columns_of_a_long_row(monkeypatch, first_tree):
    monkeypatch.setattr(directions, "LONE_EDGES", 0)
    graph, start, largest_one = long_last_row(first_tree)
    pulled = 0
    for seed in range(30):
        with device.executing(Executor(seed=seed, switch=0.3)):
            answer = solver.solve(graph, start, threads=32, blocks=2)
        assert answer.cardinality == largest_one, seed
        pulled += answer.counters["levels_pulled"]
    assert pulled > 0
