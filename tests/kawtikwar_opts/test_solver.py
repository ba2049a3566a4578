"""The six versions as a whole: optimal, certified, the same dual updates; interleavings; errors."""

import dataclasses
import inspect

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers import kawtikwar_opts
from papers.common.executor.scheduler import Executor, Scheduler
from papers.common.gpu import device, launch
from papers.common.gpu.signatures import argument_types
from papers.common.instances.matrices import uniform, uniform_double
from papers.common.problems import assignment_proof
from papers.kawtikwar_opts import PAPER, launches, reference, solve, solver
from papers.kawtikwar_opts.kernels import one_launch, opt4
from papers.kawtikwar_opts.kernels.clock import CLOCKS
from papers.lopes2019 import solver as lopes

VERSIONS = solver.VERSIONS
ONE_LAUNCH = tuple(solver.ONE_LAUNCH)
SEEDS = 40  # a version; half of them with one bin, half with several; the search is all versions'


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def certified(cost, maximize=False, **options):
    answer = solve(cost, maximize, **options)
    verdict = assignment_proof.assignment(np.asarray(cost), answer, maximize)
    assert verdict.ok, verdict
    return answer


# ------------------------------------------------------------------------------- all versions


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 17])
@pytest.mark.parametrize("label", ["0.1n", "n", "10n"])
def test_optimal_with_the_dual_updates_of_lopes(version, n, label):
    cost = uniform(n, 1, cost_range={"0.1n": max(2, n // 10), "n": n, "10n": 10 * n}[label])
    wanted = lopes.solve(cost)
    for lines in {n, None}:
        answer = certified(cost, version=version, lines_a_bin=lines)
        assert answer.cost == wanted.cost
        for counter in ("iterations_step_6", "zeros_initial"):
            assert answer.counters[counter] == wanted.counters[counter]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("n", [33, 40])
def test_orders_beyond_a_warp(version, n):
    cost = uniform(n, 2, cost_range=n)
    answer = certified(cost, version=version)
    columns, t = reference.solve(cost)
    assert answer.cost == cost[np.arange(n), columns].sum()
    assert answer.counters["iterations_step_6"] == t.steps["step_6"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("dtype", solver.DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
def test_every_slack_type(version, dtype, maximize):
    cost = uniform(18, 6, cost_range=120)
    given = cost.astype(float) if dtype == "float64" else cost
    answer = certified(given, maximize, dtype=dtype, version=version)
    assert answer.cost == cost[linear_sum_assignment(cost, maximize)].sum()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("n", [7, 20])
def test_doubles_of_the_report(version, n):
    """[K21 sec.III.B]: uniform in [0, 1000n]."""
    cost = uniform_double(n, 3, cost_range=1000.0 * n)
    answer = certified(cost, version=version)
    assert answer.cost == pytest.approx(cost[linear_sum_assignment(cost)].sum(), rel=1e-12)


CASES = {
    "ties": np.ones((9, 9), int),
    "zeros": np.zeros((6, 6)),
    "adversarial": np.outer(np.arange(1, 7), np.arange(1, 7)),
    "wide": uniform(12, 4, cost_range=50)[:7],
    "tall": uniform(12, 4, cost_range=50)[:, :5],
    "negative": uniform(10, 5, cost_range=60) - 30,
    "large": uniform(8, 6, cost_range=9).astype(np.int64) * 10**12,
    "forbidden": np.where(uniform(9, 7, cost_range=3) > 0, np.inf, 1.0) * 1.0,
}
CASES["forbidden"][np.arange(9), np.arange(9)[::-1]] = 5.0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", list(CASES))
def test_shapes_and_ties(version, case):
    cost = CASES[case]
    answer = certified(cost, version=version)
    assert answer.cost == cost[linear_sum_assignment(cost)].sum()
    if case != "forbidden":
        certified(cost, maximize=True, version=version)


def test_an_empty_matrix():
    assert solve(np.zeros((0, 0))).cost == 0
    assert PAPER.solvers()["opt4"].upload([[3]]).version == "opt4"


def test_the_public_call_is_the_solver_s():
    """Equal parameters and defaults, but for the version, which the card's default decides."""
    public, inner = (
        inspect.signature(call).parameters for call in (kawtikwar_opts.solve, solver.solve)
    )
    defaults = {p.name: p.default for p in inner.values()}
    assert defaults["version"] == PAPER.defaults["assignment"].gpu
    assert {p.name: p.default for p in public.values()} == {
        **defaults,
        "version": None,
        "solver": None,
    }
    assert list(public) == [*inspect.signature(solver.upload).parameters, "solver"]
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in public.values())


def test_the_card():
    solvers = PAPER.solvers()
    assert tuple(solvers)[: len(VERSIONS)] == VERSIONS
    for name in VERSIONS:
        one = solvers[name]
        assert one.steps == (() if name in ONE_LAUNCH else solver.STEPS)


@pytest.mark.parametrize("version", VERSIONS)
def test_run_twice(version):
    cost = uniform(20, 3, cost_range=200)
    state = solver.upload(cost, version=version)
    answers = []
    for _ in range(2):
        solver.run(state)
        answers.append(solver.download(state))
        assert assignment_proof.assignment(cost, answers[-1]).ok
    first, second = (a.counters for a in answers)
    for counter in ("iterations_step_6", "zeros_initial"):  # restarts depend on the interleaving
        assert first[counter] == second[counter]
    assert first["kernel_launches"] == 1 or version not in ONE_LAUNCH


@pytest.mark.parametrize("version", ["baseline", "opt0", "opt1"])
def test_the_zeros_are_counted(version):
    """All of them, by the atomic or by the reduction."""
    state = solver.upload(uniform(20, 3, cost_range=200), version=version)
    solver.run(state)
    zeros = (state.arrays["slack"] == 0).sum()
    assert state.arrays["zeros_size"][0] == zeros == state.arrays["zeros_size_b"].sum()


def test_steps_are_traced():
    state = solver.upload(uniform(12, 3, cost_range=120), version="opt1")
    seen = []
    solver.run(state, seen.append)
    assert set(seen) == set(solver.STEPS)
    assert seen[:4] == ["step_1", "step_2", "step_3", "step_4"]


@pytest.mark.parametrize("version", VERSIONS)
def test_bound_arguments_are_what_the_kernels_are_compiled_for(version):
    """On a GPU a launch is compiled for its arguments' types: they are the listed signatures."""
    module = (solver.HOST_LOOP | solver.ONE_LAUNCH)[version]
    signatures = module.SIGNATURES | one_launch.SIGNATURES
    kernels = {kernel.py_func.__name__: kernel for kernel in signatures}
    for dtype in solver.DTYPES:
        cost = uniform(9, 1, cost_range=90).astype(dtype)
        seen = set()
        for seconds in (None, 1e6):
            state = solver.upload(cost, dtype=dtype, version=version, seconds=seconds)
            for bound in state.launches.values():
                if bound.name not in kernels:
                    continue  # the kernels of `papers.lopes2019`, whose tests ask the same
                kernel = kernels[bound.name]
                typed = tuple(map(kernel.typeof_pyval, bound.arguments))
                assert typed == argument_types(signatures[kernel], dtype), bound.name
                seen.add(bound.name)
        own = {kernel.py_func.__name__ for kernel in module.SIGNATURES}
        assert seen == own | ({"begin"} if version in ONE_LAUNCH else set())


# ------------------------------------------------------------------------------- one launch


@pytest.mark.parametrize("version", ONE_LAUNCH)
@pytest.mark.parametrize("lines", [2, 8])
def test_one_launch_under_interleavings(version, lines):
    """Two and more blocks, threads preempted anywhere: always optimal, always proved.

    8 lines: one bin, block 0 searches alone; 2 lines: up to three blocks search.
    """
    found, updates = set(), {}
    for seed in range(lines == 8, SEEDS, 2):
        kind = seed // 2 % 3
        cost = uniform(4 + kind, kind, cost_range=(2, 6, 40)[kind])
        with device.executing(Executor(seed=seed, switch=0.1)):
            state = solver.upload(
                cost, version=version, lines_a_bin=lines, threads=32, blocks=2 if lines == 8 else 3
            )
            solver.run(state)
            answer = solver.download(state)
        assert assignment_proof.assignment(cost, answer).ok, seed
        found.add((kind, tuple(answer.col_ind.tolist())))
        updates.setdefault(kind, set()).add(answer.counters["iterations_step_6"])
    assert len(found) > 3, "the interleavings did not differ: the test would prove nothing"
    assert all(len(counts) == 1 for counts in updates.values())


@pytest.mark.parametrize("lines", [3, 24])
def test_barriers_are_counted(lines, monkeypatch):
    """The formula, beside the barriers that the executor sees."""
    seen = []
    original = Scheduler.grid_barrier

    def counting(scheduler, frame):
        seen.append(1)
        original(scheduler, frame)

    monkeypatch.setattr(Scheduler, "grid_barrier", counting)
    cost = uniform(24, 3, cost_range=240)
    answer = solve(cost, version="opt4", lines_a_bin=lines, threads=32, blocks=8)
    counters = answer.counters
    assert len(seen) == counters["barriers"] * 32 * 8
    assert counters["iterations_step_6"] > 0
    assert counters["iterations_step_3"] > 1
    assert (counters["step_4_restarts"] > 0) == (lines == 3)


@pytest.mark.parametrize("version", ONE_LAUNCH)
def test_steps_by_the_device_s_clock(version):
    cost = uniform(16, 3, cost_range=160)
    state = solver.upload(cost, version=version, trace_steps=True)
    solver.run(state)
    clocks = state.arrays["clocks"].copy()
    assert len(clocks) == CLOCKS
    assert (clocks[1:7] > 0).all()
    counters = solver.download(state).counters
    assert counters["step_6_us"] == round(clocks[6] / 1000)
    assert "step_1_us" not in solve(cost, version=version).counters


def test_large_bins_outgrow_a_thread_s_memory():
    """More zeros than `MEMORY` a thread: the rest is looked at in every sweep."""
    cost = np.zeros((48, 48), int)
    cost[:, :3] = uniform(48, 1, cost_range=5)[:, :3]
    answer = certified(cost, version="opt4", lines_a_bin=48, threads=32, blocks=2)
    assert answer.counters["zeros_initial"] > 62 * 32


@pytest.mark.parametrize("version", ONE_LAUNCH)
def test_patience_ends_in_an_error(version):
    cost = uniform(24, 3, cost_range=240)
    for lines in (24, 4):
        for patience in (0, 1):
            state = solver.upload(cost, version=version, lines_a_bin=lines, threads=32, blocks=6,
                                  patience=patience)  # fmt: skip
            with pytest.raises(RuntimeError, match=r"after|come to rest"):
                solver.run(state)
            with pytest.raises(RuntimeError, match="no run has ended"):
                solver.download(state)


@pytest.mark.parametrize("version", ["baseline", "opt1"])
def test_patience_of_the_host_loop(version):
    for patience in (0, 1):
        state = solver.upload(uniform(24, 3, cost_range=240), version=version, patience=patience)
        with pytest.raises(RuntimeError, match="after"):
            solver.run(state)


# ------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"version": "opt5"}, "version='opt5'"),
        ({"lines_a_bin": 0}, "lines_a_bin=0"),
        ({"lines_a_bin": 2.5}, "lines_a_bin=2.5"),
        ({"threads": 48}, "threads=48"),
        ({"threads": 2048}, "threads=2048"),
        ({"threads": 16}, "whole warps"),
        ({"blocks": 0}, "blocks=0"),
        ({"blocks": 2, "lines_a_bin": 1}, "lines_a_bin must be at least 2"),
    ],
)
def test_bad_options_are_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        solve([[1, 2, 3], [2, 3, 1], [3, 1, 2]], **wrong)


def test_bad_costs_are_named():
    for bad, named in (([[1.0, np.nan]], "NaN"), ([[np.inf, np.inf], [1, 2]], "infeasible")):
        with pytest.raises(ValueError, match=named):
            solve(bad)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(solver.upload([[1, 2], [3, 4]]))


def test_shapes_on_a_gpu(monkeypatch):
    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    for n in (1, 100, 512, 4096, 8192, 20000, 46340):
        for version in VERSIONS:
            shape = launches.Geometry.for_device(n, version)
            if version in ONE_LAUNCH:
                assert shape.blocks <= 132
                assert -(-n // shape.lines_a_bin) <= shape.blocks
            else:
                assert shape.lines_a_bin == 512


def test_a_block_that_does_not_fit_is_named(monkeypatch):
    class Kernel:
        def typeof_pyval(self, value):
            return type(value)

        def compile(self, types):
            return self

        def max_cooperative_grid_blocks(self, threads):
            return 0 if threads > 512 else 132

    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    assert launch.resident_blocks(Kernel(), (1,), 512) == 132
    with pytest.raises(RuntimeError, match="1024 threads"):
        launch.resident_blocks(Kernel(), (1,), 1024)


def test_geometry_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        launches.Geometry(1, 32, 1).blocks = 2
    assert opt4.hungarian.py_func.__name__ == "hungarian"
