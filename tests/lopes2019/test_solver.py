"""The solver as a whole: limits, options, counters, the README's example, real instances."""

import dataclasses
import inspect
import itertools
import os
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from nightly import first
from scipy.optimize import linear_sum_assignment
from scipy.sparse import load_npz

from papers import lopes2019
from papers.common import deadline
from papers.common.gpu import device
from papers.common.gpu.launch import bind
from papers.common.gpu.signatures import argument_types
from papers.common.instances.matrices import uniform
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.lopes2019 import reference, solve, solver
from papers.lopes2019.baselines import solvers
from papers.lopes2019.evidence import experiments

EXAMPLE = np.array([[8, 6, 5, 3], [3, 1, 1, 1], [2, 8, 6, 9], [5, 6, 9, 7]])


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def test_worked_example_of_the_readme():
    t = reference.step_1(EXAMPLE)
    assert t.slack.tolist() == [[5, 3, 2, 0], [2, 0, 0, 0], [0, 6, 4, 7], [0, 1, 4, 2]]
    reference.step_2(t)
    assert t.column_of_star_at_row.tolist() == [3, 1, 0, -1]
    assert not reference.step_3(t)
    assert reference.step_4(t) == -1
    assert t.column_of_prime_at_row.tolist() == [-1, 2, -1, -1]
    assert t.covered_row.tolist() == [False, True, False, False]
    assert t.covered_column.tolist() == [True, False, False, True]
    reference.step_6(t)
    assert t.slack.tolist() == [[5, 2, 1, 0], [3, 0, 0, 1], [0, 5, 3, 7], [0, 0, 3, 2]]
    row = reference.step_4(t)
    assert row == 3
    reference.step_5(t, row)
    assert t.column_of_star_at_row.tolist() == [3, 2, 0, 1]
    answer = solve(EXAMPLE)
    assert answer.cost == 12
    assert answer.row_duals.sum() + answer.column_duals.sum() == 12


def test_numbers_before_anything_is_launched(monkeypatch):
    with pytest.raises(ValueError, match="n <= 46340"):
        solver.check_size(46341, np.dtype(np.int32))
    with pytest.raises(ValueError, match="n <= 24576"):
        solver.check_size(24577, np.dtype(np.int32), "A")
    monkeypatch.setattr(device, "free_bytes", lambda: 12 * 10**6)
    with pytest.raises(ValueError, match=r"free: n <= 999|free: n <= 1000"):
        solver.check_size(2000, np.dtype(np.int32))
    solver.check_size(990, np.dtype(np.int32))
    with pytest.raises(ValueError, match="step_4='D'"):
        solve(EXAMPLE, step_4="D")


@pytest.mark.parametrize("dtype", solver.DTYPES)
@pytest.mark.parametrize("maximize", [False, True])
def test_every_slack_type(dtype, maximize):
    cost = uniform(20, 6, cost_range=120)
    answer = solve(cost.astype(float) if dtype == "float64" else cost, maximize, dtype=dtype)
    assert assignment_proof.assignment(cost, answer, maximize).ok
    assert answer.cost == cost[linear_sum_assignment(cost, maximize)].sum()


@pytest.mark.parametrize(
    "wrong",
    [{"lines_a_bin": 0}, {"step_2_threads": 24}, {"reduction_threads": 2048}, {"matrix_blocks": 0}],
)
def test_bad_geometry_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        dataclasses.replace(solver.Geometry.for_device(20), **wrong)


def test_smallest_geometry_is_right():
    """One line a bin, one thread and block for the matrix: every loop has to stride."""
    tiny = solver.Geometry(1, 8, 16, 16, 1, 16, 1)
    cost = uniform(20, 2, cost_range=200)
    answer = solve(cost, geometry=tiny)
    assert assignment_proof.assignment(cost, answer).ok


def test_a_run_after_an_interrupted_one():
    class Stop(Exception):
        pass

    def stop(step):
        if step == "step_5":
            raise Stop

    cost = uniform(16, 3, cost_range=16)
    state = solver.upload(cost)
    with pytest.raises(Stop):
        solver.run(state, stop)
    state.launches["step_4"]()  # a signal that nobody waited for
    solver.run(state)
    assert assignment_proof.assignment(cost, solver.download(state)).ok


def test_an_interrupted_rerun_leaves_nothing_to_download():
    def stop(step):
        raise KeyboardInterrupt

    state = solver.upload(uniform(8, 3, cost_range=16))
    solver.run(state)
    with pytest.raises(KeyboardInterrupt):
        solver.run(state, stop)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    state = solvers.upload_hungarian_o4(uniform(8, 3, cost_range=16))
    solvers.run_hungarian_o4(state)
    with pytest.raises(KeyboardInterrupt):
        solvers.run_hungarian_o4(state, stop)
    with pytest.raises(RuntimeError, match="not ended"):
        solvers.download_hungarian_o4(state)


@pytest.mark.parametrize("odd", [2.5, "3"])
def test_odd_lines_a_bin_are_named(odd):
    with pytest.raises(ValueError, match="lines_a_bin"):
        solve(EXAMPLE, lines_a_bin=odd)
    assert solve(EXAMPLE, lines_a_bin=2**31).cost == 12


def test_duals_are_those_of_the_slacks():
    cost = uniform(15, 5, cost_range=300)
    for maximize in (False, True):
        state = solver.upload(cost, maximize)
        solver.run(state)
        u, v = state.arrays["column_dual"], state.arrays["row_dual"]  # caller's rows, columns
        sign = -1 if maximize else 1
        slack = state.arrays["slack"].reshape(15, 15)
        assert np.array_equal(slack, sign * state.problem.matrix - u[:, None] - v[None, :])


def test_the_public_call_is_the_solver_s():
    """Equal parameters, equal defaults; the options of `upload` are all there, and the choice."""
    public = inspect.signature(lopes2019.solve).parameters
    inner = inspect.signature(solver.solve).parameters
    assert [(p.name, p.default) for p in public.values()] == [
        *((p.name, p.default) for p in inner.values()),
        ("solver", None),
    ]
    assert list(public) == [*inspect.signature(solver.upload).parameters, "solver"]
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in public.values())


def test_counters_count():
    cost = uniform(24, 3, cost_range=240)
    state = solver.upload(cost)
    launched = []
    for name, bound in state.launches.items():
        state.launches[name] = Recorder(bound, launched)
    solver.run(state)
    counters = solver.download(state).counters
    assert counters["kernel_launches"] == len(launched)
    assert counters["iterations_step_3"] == launched.count("step_3")
    assert counters["iterations_step_4"] == launched.count("step_4")
    assert counters["iterations_step_6"] == launched.count("step_6_add_sub") > 0
    slack = reference.step_1(cost.T).slack
    assert counters["zeros_initial"] == (slack == 0).sum()
    assert 0 < counters["matches_initial"] < 24


class Recorder:
    """A bound launch that notes its kernel's name."""

    def __init__(self, bound, launched):
        self.bound, self.launched, self.name = bound, launched, bound.name

    def __call__(self):
        self.launched.append(self.name)
        self.bound()

    def __getattr__(self, name):
        return getattr(self.bound, name)


@pytest.mark.parametrize("label", ["0.1n", "n", "10n"])
def test_dual_updates_do_not_depend_on_the_order(label):
    """Kernels under several geometries and the serial CPU code make the same dual updates."""
    n = 32
    cost = uniform(n, 8, cost_range={"0.1n": 3, "n": n, "10n": 10 * n}[label])
    counts = set()
    for lines, threads in ((4, 4), (16, 8), (32, 16)):
        shape = dataclasses.replace(
            solver.Geometry.for_device(n), lines_a_bin=lines, step_4_threads=threads
        )
        counts.add(solve(cost, geometry=shape).counters["iterations_step_6"])
    state = solvers.upload_hungarian_o4(cost)
    solvers.run_hungarian_o4(state)
    counts.add(solvers.download_hungarian_o4(state).counters["iterations_step_6"])
    assert len(counts) == 1, counts


def test_a_search_that_never_ends_gives_up(monkeypatch):
    state = solver.upload(uniform(6, 1, cost_range=60))
    endless = solver.Signal(0, True, False)
    monkeypatch.setattr(state, "signal", lambda: endless)
    with pytest.raises(GivenUpError, match="no alternating path after 21 launches") as told:
        solver.run(state)
    assert told.value.reached == {"matched": 0, "searches": 1, "dual_updates": 0}
    assert told.value.after_ms is None
    monkeypatch.setattr(state, "signal", lambda: solver.Signal(2, True, True))
    with pytest.raises(GivenUpError, match="no perfect matching after 7 searches") as told:
        solver.run(state)
    assert told.value.reached == {"matched": 2, "searches": 7, "dual_updates": 0}


def test_a_limit_of_time_does_not_ask_for_the_kernels():
    """Above the executor's sizes the call takes the CPU's code, with the limit."""
    cost = uniform(130, 1, cost_range=130)
    answer = solve(cost, seconds=1e6)
    assert "kernel_launches" not in answer.counters
    with pytest.raises(GivenUpError, match=r"gave up after .* matched"):
        solve(cost, seconds=1e-9)
    assert assignment_proof.assignment(cost, answer).ok


HARD = np.outer(np.arange(1, 7), np.arange(1, 7))
"""Machol and Wien's: every row needs dual updates."""


def test_a_dual_update_that_changes_nothing_ends_by_the_bound():
    """Planted: step 6 finds a minimum of 0 for ever."""
    state = solver.upload(HARD)

    def find_nothing(enqueue):
        state.arrays["minimum"][0] = 0

    state.launches["step_6_reduction_2"].on_enqueue = find_nothing
    with pytest.raises(GivenUpError, match="no alternating path") as told:
        solver.run(state)
    assert told.value.reached["dual_updates"] == 3 * 6 + 2  # of 21 launches, the first needs none
    state.launches["step_6_reduction_2"].on_enqueue = None
    solver.run(state)
    assert assignment_proof.assignment(state.problem.cost, solver.download(state)).ok


@pytest.mark.parametrize("name", solver.STEP_4)
def test_a_kernel_that_cannot_stop_by_itself_ends_by_the_bounds(name):
    """Planted: step 4 sweeps on when it has found nothing, and says that it has found a zero."""
    state = solver.upload(HARD, step_4=name)
    launch = state.launches["step_4"]
    grid, block, shared_bytes = launch.config
    endless = without_a_stop(launch.kernel)
    state.launches["step_4"] = bind(
        endless, grid, block, *launch.arguments, shared_bytes=shared_bytes
    )
    with pytest.raises(GivenUpError, match="no alternating path after 21 launches") as told:
        solver.run(state)
    assert told.value.reached["dual_updates"] == 0


def without_a_stop(kernel):
    """The same kernel, but that a sweep without a find does not end its loop."""
    text = textwrap.dedent(inspect.getsource(kernel.py_func))
    stop = "        if cuda.syncthreads_or(int32(found)) == 0:\n            break\n"
    assert text.count(stop) == 1
    spoiled = dict(kernel.py_func.__globals__)
    exec(text.replace(stop, "        cuda.syncthreads()\n"), spoiled)
    return spoiled[kernel.py_func.__name__]


def test_a_run_that_gives_up_in_the_middle_leaves_a_state_that_runs_again(monkeypatch):
    """The clock jumps after some signals: the counts are those of that moment."""
    cost = uniform(20, 3, cost_range=400)
    state = solver.upload(cost, seconds=1e6)
    ticks = itertools.chain([0.0] * 4, itertools.count(1e7))
    with monkeypatch.context() as patched:
        patched.setattr(deadline.time, "perf_counter", lambda: next(ticks))
        with pytest.raises(GivenUpError, match=r"gave up after 10000000\.0 s") as told:
            solver.run(state)
    assert told.value.reached["searches"] >= 1
    assert 0 < told.value.reached["matched"] < 20
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    solver.run(state)
    assert assignment_proof.assignment(cost, solver.download(state)).ok


def test_download_refuses_an_unfinished_run():
    state = solver.upload(uniform(6, 1, cost_range=60))
    state.launches["init"]()
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)


@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
@pytest.mark.parametrize("gpu", [False, True])
def test_cells_of_every_experiment_can_be_drawn(preset, gpu):
    from papers.common.instances import FAMILIES
    from papers.common.instances.labels import label_range
    from papers.common.model import Plan
    from papers.lopes2019 import PAPER

    plan = Plan(preset, gpu)
    names = {f"lopes2019:{name}" for name in PAPER.solvers()} | {"datenagi2016:tree"}
    for experiment in experiments.EXPERIMENTS:
        for cell in experiment.cells(plan):
            assert cell.solver in names
            assert cell.instance.family in FAMILIES
            if cell.instance.family == "uniform":
                assert label_range(cell.instance.n, cell.instance.label) >= 1
            if not gpu and cell.solver.endswith((":gpu", ":tree")):
                assert cell.instance.n <= 64, "too large for the executor"


INSTANCES = Path(
    os.environ.get("PAPERS_INSTANCES", Path(__file__).parents[3] / "shared" / "instances")
)
if (INSTANCES / "lap").is_dir():
    INSTANCES /= "lap"
FILES = (
    "assign100", "assign500", "assign600", "assign700", "patch_rubberwhale_1024",
    "patch_motorcycle_1024", "colour_coffee_astronaut_1000",
)  # fmt: skip
PUBLISHED = {"assign100": 305, "assign500": 991, "assign600": 1176, "assign700": 1362}


@pytest.mark.parametrize("name", first(2, FILES))
@pytest.mark.parametrize("solver_name", ["gpu", "cpu_o4", "cpu_o3", "cpu_sp", "cpu_auction"])
def test_real_instances(name, solver_name):
    """OR-Library's assignment problems and cost matrices made from photographs."""
    path = INSTANCES / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not here (set PAPERS_INSTANCES to its folder)")
    on_executor = solver_name == "gpu" and not device.gpu_present()
    if on_executor and not name.startswith("assign"):
        pytest.skip(f"{name} is too large for the CPU executor, and there is no GPU")
    device.select("auto")
    from papers.lopes2019 import PAPER

    data = np.load(path)
    chosen = PAPER.solvers()[solver_name]
    state = chosen.upload(data["cost"])
    chosen.run(state)
    answer = chosen.download(state)
    assert answer.cost == int(data["optimum"])
    assert answer.cost == PUBLISHED.get(name, answer.cost)
    assert assignment_proof.assignment(data["cost"], answer).ok


@pytest.mark.parametrize("solver_name", ["gpu", "cpu_sp", "cpu_o3"])
def test_sparse_real_instance_made_dense(solver_name):
    """lcsh2wiki-small: 1919 x 2000, maximum weight, absent pairs worth nothing."""
    path = INSTANCES / "lcsh2wiki-small_L.npz"
    if not path.is_file():
        pytest.skip(f"{path.name} is not here (set PAPERS_INSTANCES to its folder)")
    if solver_name == "gpu" and not device.gpu_present():
        pytest.skip("too large for the CPU executor, and there is no GPU")
    device.select("auto")
    from papers.lopes2019 import PAPER

    cost = load_npz(path).toarray()
    chosen = PAPER.solvers()[solver_name]
    state = chosen.upload(cost, maximize=True)
    chosen.run(state)
    answer = chosen.download(state)
    assert answer.cost == 64177
    assert assignment_proof.assignment(cost, answer, maximize=True).ok


@pytest.mark.parametrize("step_4", solver.STEP_4)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", solver.DTYPES)
def test_bound_arguments_are_what_the_kernels_are_compiled_for(step_4, maximize, dtype):
    """On a GPU a launch is compiled for its arguments' types: they are the listed signatures."""
    from papers.lopes2019.kernels import matrix
    from papers.lopes2019.kernels import search as kernels
    from papers.lopes2019.kernels import step_4 as kernels_step_4

    signatures = {
        kernel.py_func.__name__: (kernel, signature)
        for module in (kernels, matrix, kernels_step_4)
        for kernel, signature in module.SIGNATURES.items()
    }
    cost = uniform(9, 1, cost_range=90)[:5]  # whose padding has a kernel
    state = solver.upload(cost.astype(float) if dtype == "float64" else cost, maximize, dtype,
                          step_4)  # fmt: skip
    for bound in state.launches.values():
        kernel, signature = signatures[bound.name]
        typed = tuple(map(kernel.typeof_pyval, bound.arguments))
        assert typed == argument_types(signature, dtype), bound.name
    assert "star_padding" in state.launches


def test_device_times_table():
    """Per-kernel rows of the scope ``kernels`` become one row a kernel."""
    from papers.lopes2019.evidence import tables
    from papers.reproduce.run.measurements import COLUMNS, summarize

    def row(metric, value):
        cell = ("c", "lopes2019:gpu", "", "a card", "uniform", 512, "n", 1, "host", False, 0,
                "kernels")  # fmt: skip
        return (*cell, metric, value, "ok", "lp-duals", "")

    rows = [row("time_ms", 3.0), row("step_4_ms", 2.0), row("step_4_launches", 40.0),
            row("step_2_ms", 0.5), row("step_2_launches", 1.0)]  # fmt: skip
    summary = summarize(pd.DataFrame(rows, columns=list(COLUMNS)))
    table = tables.device_times(summary, published=None)
    assert table["kernel"].tolist() == ["step_4", "step_2"]
    assert table["us_a_launch"].tolist() == [50.0, 500.0]
