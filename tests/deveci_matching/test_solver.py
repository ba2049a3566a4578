"""The eight variants as a whole: maximum from every start and interleaving, bounded, counted."""

import itertools
import random

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, random_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device, memory_order
from papers.common.problems.graph import GraphError, bipartite
from papers.deveci_matching import PAPER, solve, solver
from papers.deveci_matching import launches as binding
from papers.deveci_matching.kernels import phases
from papers.deveci_matching.launches import Geometry
from papers.deveci_matching.start import start

VARIANTS = [
    dict(zip(("algorithm", "bfs", "threads"), names, strict=True))
    for names in itertools.product(binding.ALGORITHMS, binding.BFS, binding.THREADS)
]
variants = pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))
SEEDS, LATE_SEEDS = 30, 20  # a variant and graph


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def pairs_of(*edges, shape):
    row, column = np.array(edges, int).reshape(-1, 2).T
    return coo_array((np.ones(row.size, np.int8), (row, column)), shape=shape)


def cardinality(graph):
    """SciPy's."""
    matrix = csr_array(bipartite(graph).matrix())
    return int((maximum_bipartite_matching(matrix, perm_type="column") >= 0).sum())


def check(graph, answer):
    """A matching along edges, of SciPy's size; the counters add up."""
    checked = bipartite(graph)
    rows, columns = answer.row_match, answer.column_match
    assert rows.dtype == columns.dtype == np.int32
    assert (rows.size, columns.size) == checked.shape
    matched = np.flatnonzero(columns >= 0)
    assert np.array_equal(rows[columns[matched]], matched)
    assert np.count_nonzero(rows >= 0) == matched.size == answer.cardinality
    assert rows.min(initial=-1) >= -1
    start(checked, (rows, columns))  # refuses what is no edge
    assert answer.cardinality == cardinality(checked)
    count = answer.counters
    assert count["initial_cardinality"] + count["augmenting_paths"] == answer.cardinality
    levels = [value for name, value in count.items() if name.startswith("levels_")]
    assert len(levels) == min(count["bfs_iterations"], solver.LEVELS_KEPT)
    if count["bfs_iterations"] <= solver.LEVELS_KEPT:
        assert sum(levels) == count["bfs_launches"]
    launches = 1 + count["bfs_launches"] + 3 * count["bfs_iterations"] - 2
    assert count["kernel_launches"] == (launches if checked.edges else 0)


# ------------------------------------------------------------------------------- graphs


def path(n):
    """Row k beside columns k and k + 1."""
    edges = [(k, k) for k in range(n)] + [(k, k + 1) for k in range(n)]
    return pairs_of(*edges, shape=(n, n + 1))


def with_gaps():
    """Empty rows and columns, first, last and between."""
    graph = random_array((30, 26), density=0.1, rng=5, format="lil")
    graph[[0, 7, 29]] = 0
    graph[:, [0, 11, 12, 25]] = 0
    return graph


GRAPHS = {
    "one edge": pairs_of((0, 0), shape=(1, 1)),
    "wide": random_array((9, 40), density=0.08, rng=1),
    "tall": random_array((40, 9), density=0.08, rng=2),
    "gaps": with_gaps(),
    "star of a row": pairs_of(*((0, c) for c in range(12)), shape=(1, 12)),
    "star of a column": pairs_of(*((r, 0) for r in range(12)), shape=(12, 1)),
    "path": path(17),
    "complete": np.ones((11, 11)),
    "complete, wide": np.ones((5, 13)),
    "complete, tall": np.ones((13, 5)),
    "random": random_array((50, 50), density=0.04, rng=6),
    "sparse": random_array((60, 60), density=0.02, rng=7),
    "triangle": np.tril(np.ones((10, 10))),
    "two halves": np.kron(np.eye(2), np.ones((6, 7))),
}


def some_start(graph, seed=0):
    """Part of the cheap matching, as the caller's arrays."""
    checked = bipartite(graph)
    rmatch, cmatch = start(checked)
    for column in np.flatnonzero(np.random.default_rng(seed).random(checked.columns) < 0.5):
        if cmatch[column] >= 0:
            rmatch[cmatch[column]] = cmatch[column] = -1
    return rmatch, cmatch


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


# ------------------------------------------------------------------------------- interleavings


def layers(width, depth):
    """All paths have the same length, and any two may cross at any layer.

    Columns of layer i see all rows of layer i + 1; the last rows are free, the first columns too.
    """
    edges, cmatch = [], [-1] * width
    for i in range(depth + 1):
        for a, b in itertools.product(range(width), repeat=2):
            edges.append((i * width + b, i * width + a))
    for i in range(depth):
        for a in range(width):
            edges.append((i * width + a, (i + 1) * width + a))
            cmatch.append(i * width + a)
    size = (depth + 1) * width
    rmatch = np.full(size, -1, np.int32)
    rmatch[np.array(cmatch[width:])] = np.arange(width, size)
    return pairs_of(*edges, shape=(size, size)), (rmatch, np.array(cmatch, np.int32))


def funnel():
    """Six free columns share one row, whose column leads on to three columns and four free rows."""
    edges = [(0, c) for c in range(6)] + [(0, 6)] + [(r, 6) for r in (1, 2, 3)]
    edges += [(r, 6 + r) for r in (1, 2, 3)]
    edges += [(r, c) for r in (4, 5, 6, 7) for c in (7, 8, 9)]
    cmatch = np.array([-1] * 6 + [0, 1, 2, 3], np.int32)
    rmatch = np.array([6, 7, 8, 9, -1, -1, -1, -1], np.int32)
    return pairs_of(*edges, shape=(8, 10)), (rmatch, cmatch)


def crossing():
    """Two long paths that share the row in their middle, and rungs between them."""
    n = 7
    edges, rmatch, cmatch = [], np.full(2 * n + 2, -1, np.int32), np.full(2 * n + 2, -1, np.int32)
    for side, k in itertools.product(range(2), range(n)):
        row, column, before = side * n + k, 2 + side * n + k, 2 + side * n + k - 1 if k else side
        edges += [(row, column), (row, before), ((1 - side) * n + k, before)]
        rmatch[row], cmatch[column] = column, row
    edges += [(2 * n + end, 2 + side * n + n - 1) for end in range(2) for side in range(2)]
    return pairs_of(*edges, shape=(2 * n + 2, 2 * n + 2)), (rmatch, cmatch)


def figure_1():
    """[D13 Fig.1], and nothing else."""
    graph = pairs_of((0, 0), (0, 1), (1, 1), (2, 1), shape=(3, 2))
    return graph, (np.array([1, -1, -1], np.int32), np.array([-1, 0], np.int32))


COLLISIONS = {
    "figure 1": figure_1(),
    "layers": layers(3, 3),
    "funnel": funnel(),
    "crossing": crossing(),
    "complete": (np.ones((6, 5)), "empty"),
    "random": (random_array((14, 15), density=0.16, rng=3), "empty"),
}


def grid_of(variant, columns):
    """CT: five columns and more a thread; MT: one. Several blocks in both."""
    return Geometry(2, 2) if variant["threads"] == "ct" else Geometry(-(-columns // 4), 4)


def solve_under(executor, variant, graph, initial):
    """A whole run whose launches all go to one executor."""
    with device.executing(executor):
        shapes = grid_of(variant, bipartite(graph).columns)
        state = solver.upload(graph, initial=initial, geometry=shapes, **variant)
        solver.run(state)
        return solver.download(state)


@variants
@pytest.mark.parametrize("name", COLLISIONS)
def test_under_interleavings(variant, name):
    """Threads preempted anywhere, several blocks: always maximum."""
    graph, initial = COLLISIONS[name]
    found = set()
    for seed in range(SEEDS):
        answer = solve_under(Executor(seed, 0.3, warp_size=4), variant, graph, initial)
        check(graph, answer)
        found.add(tuple(answer.row_match.tolist()))
    if name != "figure 1":
        assert len(found) > 3, "the interleavings did not differ: the test would prove nothing"
    elif (variant["algorithm"], variant["bfs"]) == ("apsb", "wr"):
        assert len(found) == 1, "its one root names the last end that its one column has found"
    else:
        assert len(found) == 2


class Relaxed(Executor):
    """An executor whose relaxed loads may be late, as far as coherence allows.

    Of each word a launch keeps all values in the order they were stored. A load yields any of them
    that is not older than what the same thread has loaded or stored there before.
    """

    def __init__(self, seed, monkeypatch, **options):
        super().__init__(seed, **options)
        self.random, self.late = random.Random(seed), 0
        monkeypatch.setattr(memory_order.load_relaxed, "__executor__", self.load)
        monkeypatch.setattr(memory_order.store_relaxed, "__executor__", self.store)

    def launch(self, *args, **options):
        self.values, self.seen = {}, {}
        super().launch(*args, **options)

    def history(self, array, index, first):
        word = array.name, index
        return word, self.values.setdefault(word, [first])

    def load(self, array, index):
        word, values = self.history(array, index, array[index])
        reader = array.scheduler.current, word
        least = self.seen.get(reader, 0)
        chosen = self.random.randrange(least, len(values))
        self.late += chosen < len(values) - 1
        self.seen[reader] = chosen
        return values[chosen]

    def store(self, array, index, value):
        word, values = self.history(array, index, array[index])
        array.array[index] = value
        values.append(value)
        self.seen[array.scheduler.current, word] = len(values) - 1


@variants
@pytest.mark.parametrize("name", COLLISIONS)
def test_under_late_loads(variant, name, monkeypatch):
    """What today's memory model allows: old values of racing words, in no common order."""
    graph, initial = COLLISIONS[name]
    late = 0
    for seed in range(LATE_SEEDS):
        executor = Relaxed(seed, monkeypatch, switch=0.3, warp_size=4)
        check(graph, solve_under(executor, variant, graph, initial))
        late += executor.late
    assert late > 0, "no load was late: the test would prove nothing"


@variants
def test_every_phase_with_a_path_gains(variant):
    """What bounds the host's loop."""
    graph, initial = COLLISIONS["random"]
    for seed in range(10):
        with device.executing(Executor(seed, 0.3)):
            state = solver.upload(graph, initial=initial, geometry=Geometry(2, 8), **variant)
            sizes, fix = [], state.launches["fix_matching"]

            def fixing(fix=fix, state=state, sizes=sizes):
                fix()
                a = state.arrays
                sizes.append(np.count_nonzero(a["cmatch"] >= 0))
                assert np.count_nonzero(a["rmatch"] >= 0) == sizes[-1]
                assert a["rmatch"].min() >= -1

            fixing.reset, fixing.count = fix.reset, 0
            state.launches["fix_matching"] = fixing
            solver.run(state)
            assert sizes == sorted(set(sizes))
            assert sizes[0] > 0
            assert len(sizes) == len(state.levels) - 1


# ------------------------------------------------------------------------------- loops that end


class Planted:
    """A launch with something else in its place."""

    def __init__(self, action):
        self.action, self.count = action, 0

    def __call__(self):
        self.action()

    def reset(self):
        self.count = 0


@variants
def test_a_matching_that_does_not_grow_is_named(variant):
    """ALTERNATE planted to do nothing; FIXMATCHING frees the ends, and all begins again."""
    state = solver.upload(np.ones((4, 4)), initial="empty", **variant)
    state.launches["alternate"] = Planted(lambda: None)
    with pytest.raises(RuntimeError, match="did not grow in each of 5 iterations"):
        solver.run(state)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)


def test_a_search_without_end_is_named(monkeypatch):
    """The word planted to say each time that a vertex was inserted."""
    state = solver.upload(np.ones((4, 4)), initial="empty")
    monkeypatch.setattr(state.mailbox, "wait", lambda: phases.Signal.INSERTED)
    with pytest.raises(RuntimeError, match="more than 5 levels"):
        solver.run(state)
    assert state.launches["bfs"].count == 5


def test_a_walk_without_end_is_named():
    state = solver.upload(np.ones((4, 4)), initial="empty")
    flags = state.arrays["flags"]
    state.launches["alternate"] = Planted(lambda: flags.__setitem__(phases.STUCK, 1))
    with pytest.raises(RuntimeError, match="a path has more than 4 columns"):
        solver.run(state)


def test_a_run_after_a_broken_one_starts_anew():
    graph = GRAPHS["random"]
    state = solver.upload(graph, initial="empty")
    bfs = state.launches["bfs"]

    def broken():
        bfs()
        raise KeyboardInterrupt

    state.launches["bfs"] = Planted(broken)
    with pytest.raises(KeyboardInterrupt):
        solver.run(state)
    state.launches["bfs"] = bfs
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
            if "timed_start" in options:  # whatever stood there
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


@pytest.mark.parametrize("bfs", binding.BFS)
def test_what_does_not_fit_is_named(bfs, monkeypatch):
    """The formula is what is allocated; one byte less is refused before anything is copied."""
    graph = bipartite(GRAPHS["wide"])
    needed = binding.needed_bytes(graph, bfs)
    allocated = solver.upload(graph, bfs=bfs).arrays
    assert sum(array.nbytes for array in allocated.values()) == needed
    monkeypatch.setattr(device, "free_bytes", lambda: needed)
    solver.upload(graph, bfs=bfs)
    monkeypatch.setattr(device, "free_bytes", lambda: needed - 1)
    monkeypatch.setattr(binding, "allocate", None)
    with pytest.raises(GraphError, match=f"needs {needed} bytes of device memory, {needed - 1}"):
        solver.upload(graph, bfs=bfs)


@pytest.mark.parametrize("wrong", [(0, 8), (1 << 20, 8), (2, 0), (2, 1025), (2.0, 8)])
def test_bad_geometry_is_named(wrong):
    with pytest.raises(ValueError, match="whole number"):
        Geometry(*wrong)


def test_shapes_on_a_gpu(monkeypatch):
    """CT: 256 x 256. MT: one thread a column, as far as they are resident."""
    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    monkeypatch.setattr(binding, "hardware_threads", lambda: 132 * 2048)
    for columns in (1, 256, 257, 10**5, 10**7):
        assert Geometry.for_device(columns, "ct") == Geometry(256, 256)
        mt = Geometry.for_device(columns, "mt")
        wanted = min(columns, 270336)
        assert wanted <= mt.blocks * mt.threads < wanted + mt.threads


@variants
def test_bound_arguments_are_what_the_kernels_are_compiled_for(variant):
    """On a GPU a launch is compiled for its arguments' types: they are the listed signatures."""
    listed = {kernel.py_func.__name__: text for kernel, text in phases.SIGNATURES.items()}
    state = solver.upload(GRAPHS["wide"], **variant)
    for launch in state.launches.values():
        kinds = listed[launch.name].removeprefix("void(").removesuffix(")").split(", ")
        arguments, _ = launch._flat
        assert len(arguments) == len(kinds)
        for argument, kind in zip(arguments, kinds, strict=True):
            assert argument.dtype.name == kind.removesuffix("[::1]"), (launch.name, kind)
            assert isinstance(argument, np.ndarray) == kind.endswith("[::1]")


def test_the_variants_are_what_they_are_called():
    """Which kernels a variant launches."""
    for variant in VARIANTS:
        state = solver.upload(GRAPHS["wide"], **variant)
        names = {part: launch.name for part, launch in state.launches.items()}
        wr = variant["bfs"] == "wr"
        ends = wr and variant["algorithm"] == "apsb"
        assert names["init_bfs_array"] == ("init_bfs_array_wr" if wr else "init_bfs_array")
        assert names["bfs"] == ("gpubfs_wr" if wr else "gpubfs")
        assert names["alternate"] == ("alternate_from_ends" if ends else "alternate")
        if wr:
            assert state.launches["bfs"]._flat[0][1] == ends


def test_the_card():
    assert (PAPER.name, PAPER.tag) == ("deveci_matching", "D13")
    one = solver.SOLVERS["gpu"]
    assert one.steps == solver.STEPS
    assert one.device == "cuda"
    state = one.upload(np.ones((3, 3)), algorithm="apsb", timed_start=True)
    one.run(state)
    assert one.download(state).cardinality == 3
