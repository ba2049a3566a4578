"""The report's configuration and the way to ours: single changes, the same answers with each."""

import dataclasses
import itertools

import numpy as np
import pytest
from nightly import first
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu import clocks, device, graph
from papers.common.gpu.launch import Launch
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.kawtikwar_opts import configuration, launches, solve, solver
from papers.kawtikwar_opts.configuration import CHANGES, COUNTERS, ONE_LAUNCH, of_version
from papers.kawtikwar_opts.kernels.printed import one_launch, steps
from papers.lopes2019 import configuration as lopes
from papers.lopes2019.kernels.search import ZERO_FOUND

HOST_LOOP = tuple(launches.HOST_LOOP)
DAILY = [(v, "paper") for v in solver.VERSIONS]
DAILY += [("baseline", "mapped_by_warp"), ("opt1", "copied")]
DAILY += [("opt2", name) for name in ("our_search", "wide_bins", "our_step_1")]
ALL = [(version, name) for version in solver.VERSIONS for name in of_version(version)]
NAMES = first(len(DAILY), DAILY + [one for one in ALL if one not in DAILY])


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@pytest.mark.parametrize("code", NAMES)
def test_answers_are_proved_whatever_the_configuration(code):
    """Square, rectangular, maximized, floats; the same dual updates as ours on squares."""
    version, name = code
    for seed, (n, m) in enumerate(((1, 1), (9, 9), (12, 12), (5, 11), (11, 5))):
        cost = uniform(12, seed, cost_range=(3, 12, 120)[seed % 3])[:n, :m]
        cost = cost / 7 if seed == 3 else cost
        maximize = bool(seed % 2)
        answer = solve(cost, maximize, version=version, configuration=name)
        assert assignment_proof.assignment(cost, answer, maximize).ok
        ours = solve(cost, maximize, version=version)
        assert answer.counters["zeros_initial"] == ours.counters["zeros_initial"]
        assert answer.counters["step_4_restarts"] >= 0
        if n == m:
            same = "iterations_step_6"
            assert answer.counters[same] == ours.counters[same]


def test_each_step_of_the_way_changes_one_field():
    """The host's part counts in a host loop only."""
    inside = [
        {k: v for k, v in dataclasses.asdict(one).items() if k not in ("host", "counter")}
        for one in ONE_LAUNCH.values()
    ]
    for before, after in itertools.pairwise(inside):
        assert sum(before[k] != after[k] for k in after) == 1
    assert list(CHANGES) == list(ONE_LAUNCH)
    assert configuration.PAPER.host == lopes.RELEASED
    for name, one in COUNTERS.items():
        assert one.by_warp == name.endswith("by_warp")
        plain = dataclasses.replace(one, by_warp=False)
        assert plain == COUNTERS[name.removesuffix("_by_warp")]


@pytest.mark.parametrize("version", HOST_LOOP)
def test_an_opt_of_the_host_loop_differs_from_the_one_before_in_its_kernels(version):
    """As printed: the release's kernels, and of the report's own only those that it names."""
    own = {
        "baseline": ["compress_matrix", "step_6_add_sub"],
        "opt0": ["add_reduction", "compress_matrix", "step_6_add_sub"],
        "opt1": ["add_reduction", "add_sub_compress_matrix", "compress_matrix", "step_6_init"],
    }
    state = solver.upload(uniform(9, 1, cost_range=40), version=version, configuration="paper")
    modules = {name: bound for name, bound in state.launches.items()}
    released = lopes_launches()
    assert sorted(set(modules) - (released - {"compress_matrix", "step_6_add_sub"})) == own[version]


def lopes_launches():
    from papers.lopes2019 import solver as lopes_solver

    state = lopes_solver.upload(uniform(9, 1, cost_range=40), configuration="released")
    return set(state.launches)


def test_the_shapes_as_printed_are_the_release_s(monkeypatch):
    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    paper = configuration.PAPER
    for n in (256, 4096):
        shape = launches.Geometry.for_device(n, "baseline", paper)
        assert (shape.lines_a_bin, shape.threads, shape.blocks) == (512, 1024, 256)
        inner = launches._lopes_shapes(n, shape, paper)
        assert (inner.step_2_threads, inner.step_4_threads) == (1024, 1024)
        assert (inner.line_threads, inner.matrix_threads, inner.reduction_threads) == (64, 512, 256)
        whole = launches.Geometry.for_device(n, "opt2", paper)
        assert (whole.lines_a_bin, whole.threads, whole.blocks) == (512, 1024, 132)


COUNTED = ["paper", "mapped_by_warp", "managed", "copied"]


@pytest.mark.parametrize(
    "name", first(4, [*COUNTED, *(name for name in COUNTERS if name not in COUNTED)])
)
def test_the_counter_holds_all_zeros_wherever_it_lies(name):
    state = solver.upload(uniform(12, 3, cost_range=120), version="baseline", configuration=name)
    for _ in range(2):
        solver.run(state)
        zeros = (state.arrays["slack"] == 0).sum()
        assert state.arrays["zeros_size"][0] == zeros == state.arrays["zeros_size_b"].sum()
    shared = np.shares_memory(state.arrays["zeros_size"], state.arrays["flags"])
    assert shared == (COUNTERS[name].counter == "flags")


@pytest.mark.parametrize(
    ("each", "warp"), [("paper", "paper_by_warp"), ("mapped", "mapped_by_warp")]
)
def test_a_warp_adds_once(each, warp):
    """Atomics on the one counter, seen one by one: a warp with zeros adds its own together."""
    cost, seen = np.zeros((8, 8), int), {}
    for name in (each, warp):
        events = []
        with device.executing(Executor(on_access=lambda *event, log=events: log.append(event[1]))):
            state = solver.upload(cost, version="baseline", configuration=name)
            solver.run(state)
        seen[name] = events.count("zeros_size")
    blocks = 4  # 64 entries in blocks of 16 threads, less than a warp each
    assert seen[each] - seen[warp] == 64 - blocks


@pytest.mark.parametrize("version", ["opt2", "opt3", "opt4"])
def test_one_launch_as_printed_under_interleavings(version):
    """All blocks take part in every step, threads are preempted anywhere; 1 to 3 bins."""
    found, updates = set(), {}
    for seed in range(0 if version == "opt2" else 20, 24):
        kind = seed % 3
        cost = uniform(4 + kind, kind, cost_range=(2, 6, 40)[kind])
        with device.executing(Executor(seed=seed, switch=0.1)):
            state = solver.upload(
                cost, version=version, configuration="paper", lines_a_bin=(2, 8)[seed // 3 % 2],
                threads=32, blocks=3,
            )  # fmt: skip
            solver.run(state)
            answer = solver.download(state)
        assert assignment_proof.assignment(cost, answer).ok, seed
        found.add((kind, tuple(answer.col_ind.tolist())))
        updates.setdefault(kind, set()).add(answer.counters["iterations_step_6"])
    assert len(found) >= 3, "the interleavings did not differ: the test would prove nothing"
    assert all(len(counts) == 1 for counts in updates.values())


@pytest.mark.parametrize("name", ["our_search", "wide_bins", "our_step_1"])
@pytest.mark.parametrize("lines", [3, 24])
def test_barriers_are_counted_between_print_and_ours(name, lines, monkeypatch):
    from papers.common.executor.scheduler import Scheduler

    seen, original = [], Scheduler.grid_barrier

    def counting(scheduler, frame):
        seen.append(1)
        original(scheduler, frame)

    monkeypatch.setattr(Scheduler, "grid_barrier", counting)
    cost = uniform(16, 3, cost_range=160)
    answer = solve(
        cost, version="opt2", configuration=name, lines_a_bin=lines, threads=32, blocks=6
    )
    assert len(seen) == answer.counters["barriers"] * 32 * 6
    assert answer.counters["iterations_step_6"] > 0


def test_no_flag_of_a_run_of_step_4_is_lost():
    """Planted: no barrier behind the clearing, or none behind the reading."""

    def two_runs(flags, out):
        for run in range(2):
            steps.clear_flags(flags)
            if cuda.blockIdx.x == 1 - run and cuda.threadIdx.x == 0:
                flags[ZERO_FOUND] = 1
            moved, path = steps.read_flags(flags)
            out[2 * cuda.grid(1) + run] = moved and not path

    for seed in range(40):
        flags, out = np.zeros(8, np.int32), np.zeros(8, np.int32)
        Executor(seed, switch=0.5).launch(two_runs, 2, 2, (flags, out))
        assert out.all(), seed


def test_shares_as_printed_solve():
    cost = uniform(9, 2, cost_range=160)
    answer = solve(cost, version="opt3", configuration="paper", seconds=1e6)
    assert assignment_proof.assignment(cost, answer).ok
    assert answer.counters["kernel_launches"] >= 2


def test_unknown_choices_are_named():
    cost = np.zeros((3, 3))
    for wrong, message in (
        ({"configuration": "print"}, "opt4's: paper, our_search, wide_bins, our_step_1, tuned"),
        ({"version": "opt1", "configuration": "mapped"}, "not one of opt1's: paper, copied, tuned"),
        ({"host": "c"}, "host='c' is neither python nor graph"),
        ({"host": "graph"}, "opt4 is one launch"),
    ):
        with pytest.raises(ValueError, match=message):
            solver.upload(cost, **wrong)


def test_the_kernels_between_are_made_of_the_same_phases():
    ours = one_launch.kernel("hungarian", "opt2", False, False, False)
    assert ours is one_launch.opt2.hungarian
    assert one_launch.parts(False, False, False) == one_launch.ours.PARTS
    mixed = one_launch.parts(True, False, True)
    assert mixed.step_1 is one_launch.steps.step_1
    assert mixed.search_until_dry is one_launch.ours.search_until_dry


# ------------------------------------------------------------------------------- graphs


class Definition:
    """In place of a CUDA graph: it writes down what is added to it, and when it is launched."""

    made = 0

    def __init__(self, log):
        self.log, self.added = log, []
        Definition.made += 1

    def launch(self, config, kernel, *arguments):
        self.added.append(kernel)
        return self

    def instantiate(self):
        log, added = self.log, self.added

        class Executable:
            def launch(self, stream):
                log.append(tuple(added))

        return Executable()


class Named(Launch):
    """A bound launch on a card that is not there."""

    def __init__(self, name):
        self.name, self.count, self._on_enqueue = name, 0, None

    def add_to(self, node):
        return node.launch("shape", self.name, 1, 2)


@pytest.fixture
def graphs(monkeypatch):
    """Graphs as on a card; the log of what ran."""
    log = []
    monkeypatch.setattr(Definition, "made", 0)

    def build(self):
        node = definition = Definition(log)
        for launch in self.launches:
            node = launch.add_to(node)
        self._graph, self._stream = definition.instantiate(), "stream"

    monkeypatch.setattr(graph.Graph, "_build", build)
    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    return log


def test_a_straight_run_is_one_graph_and_is_built_once(graphs, monkeypatch):
    monkeypatch.setattr(Launch, "__call__", lambda self: graphs.append(self.name))
    queue, (a, b, c) = graph.Queue(), map(Named, "abc")
    for wanted in ((a, b, c), (a, b), (a, b, c), (c,)):
        for launch in wanted:
            queue.add(launch)
        queue.flush()
    assert graphs == [("a", "b", "c"), ("a", "b"), ("a", "b", "c"), "c"]
    assert Definition.made == 2
    assert (a.count, b.count, c.count) == (3, 3, 2)
    queue.add(a)
    queue.forget()
    queue.flush()
    assert len(graphs) == 4


def test_a_clock_of_the_kernels_sees_every_launch(graphs, monkeypatch):
    monkeypatch.setattr(Launch, "__call__", lambda self: graphs.append(self.name))
    both = graph.Graph(map(Named, "ab"))
    monkeypatch.setattr(clocks, "kernel_clock", object())
    both()
    assert graphs == ["a", "b"]


@pytest.mark.parametrize("version", HOST_LOOP)
@pytest.mark.parametrize("name", ["paper", "tuned"])
def test_a_host_loop_in_graphs_is_the_same_run(version, name):
    cost = uniform(12, 3, cost_range=120)
    counters = []
    for host in ("python", "graph"):
        seen = []
        state = solver.upload(cost, version=version, configuration=name, host=host)
        for trace in (None, seen.append):
            solver.run(state, trace)
            answer = solver.download(state)
            assert assignment_proof.assignment(cost, answer).ok
        counters.append((answer.counters["iterations_step_6"], answer.counters["zeros_initial"]))
        assert set(seen) == set(solver.STEPS)
    assert counters[0] == counters[1]


@pytest.mark.parametrize(("name", "runs"), [("tuned", 3), ("paper", 4)])
def test_the_runs_between_two_answers(name, runs, monkeypatch):
    """Ours asks once a search, so that three straight runs repeat; the release asks more often."""
    lengths = set()
    original = graph.Graph.__init__

    def noting(self, launched):
        original(self, launched)
        lengths.add(tuple(one.name for one in self.launches))

    monkeypatch.setattr(graph.Graph, "__init__", noting)
    answer = solve(uniform(16, 3, cost_range=160), version="opt0", configuration=name, host="graph")
    assert answer.counters["iterations_step_6"] > 1
    assert answer.counters["iterations_step_5"] > 1
    assert len(lengths) == runs, lengths
