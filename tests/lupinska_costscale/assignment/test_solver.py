"""The GPU's cost scaling as a whole: both loops, all heuristics, errors."""

import dataclasses
import inspect
import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from papers.common import deadline
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.signatures import argument_types
from papers.common.instances.matrices import uniform
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.lupinska_costscale import PAPER, solve
from papers.lupinska_costscale.assignment import configuration, launches, solver
from papers.lupinska_costscale.assignment.kernels import lock_free, one_launch, prices, wide

HEURISTICS = [
    {"configuration": "paper"},
    {},
    {"configuration": "paper", "cycle": 8, "price_updates": "every"},
    {"cycle": 8, "price_updates": "first", "arc_fixing": False},
    {"configuration": "paper", "price_updates": "none", "arc_fixing": False, "alpha": 3},
    {"loop": "device"},
]


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


@pytest.fixture
def clock(monkeypatch):
    """A clock on which every look takes a second."""
    ticks = itertools.count()
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: float(next(ticks)))


def upload(cost, **options):
    """A run as printed."""
    return solver.upload(cost, configuration="paper", **options)


def certified(cost, maximize=False, **options):
    answer = solve(cost, maximize, **options)
    verdict = assignment_proof.assignment(np.asarray(cost), answer, maximize)
    assert verdict.ok, verdict
    return answer


@pytest.mark.parametrize("options", HEURISTICS)
def test_optimal(options):
    for seed in range(3 if "loop" in options else 6):  # the one launch takes long here
        draw = np.random.default_rng(seed)
        n, m = draw.integers(1, 7, 2)
        shape = n, (n if seed % 2 else m)
        cost = (draw.integers(-50, 50, shape), draw.random(shape))[seed // 2 % 2]
        answer = certified(cost, seed % 3 == 0, **options)
        best = cost[linear_sum_assignment(cost, seed % 3 == 0)].sum()
        assert answer.cost == pytest.approx(best, rel=1e-10)


def test_orders_of_the_paper():
    """30 a side, costs up to 100 [LU11 sec.6], with the heuristics of each run's first kernel."""
    cost = uniform(30, 1, cost_range=101)
    paper = {"configuration": "paper", "cycle": 20}
    counters = certified(cost, True, **paper).counters
    assert counters["refines"] == 4
    assert counters["price_updates"] == 4
    assert counters["arcs_fixed"] > 450
    every = certified(cost, True, price_updates="every", **paper).counters
    assert every["relabels"] < counters["relabels"]


def test_a_whole_run_leaves_nothing_to_update():
    """CYCLE as in the paper: the first run ends with a flow, and prices stay."""
    counters = certified(uniform(6, 1, cost_range=101), configuration="paper").counters
    assert counters["price_updates"] == 0
    refines = counters["refines"]
    assert counters["kernel_launches"] == 1 + 2 * refines + (refines - 1)


def test_forbidden_and_sparse():
    dense = np.where(uniform(7, 5, cost_range=4) > 1, np.inf, 3.0)
    dense[np.arange(7), np.arange(7)[::-1]] = 7.0
    certified(dense)
    stored = csr_array(np.where(np.isfinite(dense), dense, 0).astype(int))
    for options in HEURISTICS[:4]:
        assert assignment_proof.assignment(dense, solve(stored, **options)).ok
    with pytest.raises(ValueError, match="complete graphs"):
        solve(stored, loop="device")


def test_more_nodes_than_a_block_holds():
    certified(uniform(9, 2, cost_range=20), geometry=launches.Geometry(5), cycle=50)


@pytest.mark.parametrize("options", [{"configuration": "paper"}, {}, {"loop": "device"}])
def test_run_twice(options):
    cost = uniform(6, 3, cost_range=200)
    state = solver.upload(cost, **options)
    counts = []
    for _ in range(2):
        solver.run(state)
        answer = solver.download(state)
        assert assignment_proof.assignment(cost, answer).ok
        # With a short CYCLE the runs of the kernel depend on the interleaving, as operations do.
        launched = answer.counters["kernel_launches"] if options else 0
        counts.append((answer.cost, answer.counters["refines"], launched))
    assert counts[0] == counts[1]


def test_steps_are_traced():
    seen = []
    state = upload(uniform(10, 3, cost_range=120), cycle=5)
    solver.run(state, seen.append)
    assert set(seen) == set(solver.STEPS)
    assert seen[:2] == ["start_refine", "refine"]


def test_epsilons():
    assert solver.epsilons(6100, 10) == [610, 61, 7, 1]
    assert solver.epsilons(0, 10) == [1]
    assert solver.epsilons(5, 2) == [3, 2, 1]


def test_empty_and_constant():
    assert solve(np.zeros((0, 2))).cost == 0
    assert certified(np.full((5, 5), 7)).counters["refines"] == 1
    assert certified(np.full((5, 5), 7), loop="device").cost == 35


def test_the_card():
    assert (PAPER.tag, PAPER.year) == ("LU11", 2011)
    assert solver.SOLVERS["refine"].steps == solver.STEPS


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"alpha": 1}, "alpha=1"),
        ({"cycle": 0}, "cycle=0"),
        ({"cycle": 1.5}, r"cycle=1\.5"),
        ({"operations": 0}, "operations=0"),
        ({"price_updates": "host"}, "price_updates='host'"),
        ({"configuration": "printed"}, "configuration='printed'"),
        ({"configuration": "warp", "cycle": 3}, "configuration='warp'"),
        ({"loop": "gpu"}, "loop='gpu'"),
        ({"arc_fixing": None}, "arc_fixing=None"),
        ({"loop": "device", "geometry": launches.Geometry(33)}, "whole warps"),
    ],
)
def test_bad_options_are_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        solve([[1, 2], [2, 1]], **wrong)


def test_what_is_too_large(monkeypatch):
    for lanes in (0, 3, 64, 8):
        with pytest.raises(ValueError, match="lanes="):
            launches.Geometry(36, lanes)
    for lookers in (-1, 3, 8):
        with pytest.raises(ValueError, match="lookers="):
            launches.Geometry(8, 4, lookers)
    with pytest.raises(ValueError, match="as printed has a thread a node"):
        upload(np.ones((2, 2), int), geometry=launches.Geometry(8, 2))
    for wrong in ({"lanes": 1}, {"ahead": False}, {"threads": 0}, {"updates_on": "gpu"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}=|lookers=|lanes="):
            configuration.Configuration(**wrong)
    for threads in (0, 1025, 2.0):
        with pytest.raises(ValueError, match="threads="):
            launches.Geometry(threads)
    with pytest.raises(ValueError, match="at most 64"):
        solver.upload(np.zeros((65, 65), int), loop="device")
    monkeypatch.setattr(device, "free_bytes", lambda: 1000)
    with pytest.raises(ValueError, match="are free"):
        solver.upload(np.zeros((20, 20), int))


def test_an_exceeded_bound_raises():
    state = solver.upload(np.ones((5, 5), int), operations=1)
    with pytest.raises(RuntimeError, match="exceeded 1 relabels"):
        solver.run(state)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)


def test_a_limit_of_time_is_kept_and_the_next_run_is_right(clock):
    cost = uniform(8, 1, cost_range=100)
    state = upload(cost, cycle=2, seconds=3)
    with pytest.raises(GivenUpError, match=r"gave up after 4\.0 s and \d+ operations") as told:
        solver.run(state)
    assert told.value.reached["relabels"] > 0
    state.seconds = None
    solver.run(state)
    assert assignment_proof.assignment(cost, solver.download(state)).ok


@pytest.mark.parametrize(
    ("counted", "words"),
    [
        (lock_free.PUSHES, r"\d+ pushes along 16 arcs and no relabel in a row"),
        (lock_free.RELABELS, "a refine exceeded 3072 relabels"),
    ],
)
def test_a_kernel_that_works_for_ever_is_found_out(counted, words):
    """It says that it pushes, or lifts, and that units are lacking."""
    state = upload(uniform(4, 1, cost_range=9))

    def endless():
        state.arrays["tally"][counted] += 7
        state.arrays["flags"][lock_free.LACKS] = 1

    state.launches[0]["refine"] = endless
    with pytest.raises(GivenUpError, match=words) as told:
        solver.run(state)
    assert sum(told.value.reached.values()) > 16


def test_a_push_against_the_prices_is_found_out(monkeypatch):
    """Planted in the kernel: it pushes wherever it can, and never lifts."""
    text = inspect.getsource(lock_free.refine.py_func)
    assert text.count("elif least < -price[v]:") == 1
    space = dict(lock_free.refine.py_func.__globals__)
    exec(text[text.index("def ") :].replace("elif least < -price[v]:", "elif True:"), space)
    monkeypatch.setattr(lock_free.refine, "__executor__", space["refine"], raising=False)
    with pytest.raises(GivenUpError, match="no relabel in a row"):
        solve(
            np.array([[1, 5, 9], [1, 5, 9], [1, 5, 9]]),
            configuration="paper",
            cycle=50,
            price_updates="none",
        )


def test_too_large_a_problem_for_the_executor_is_refused_by_name():
    with device.executing(Executor(max_accesses=1000)):
        state = upload(uniform(8, 1, cost_range=100))
        with pytest.raises(GivenUpError, match="the CPU executor's limit"):
            solver.run(state)


def test_what_cannot_happen_is_named():
    """A node that lost its arcs, and a run that does nothing: raised, not waited for."""
    state = upload(uniform(4, 1, cost_range=9))
    start = state.launches[0]["start_refine"]

    def without_arcs():
        start()
        state.arrays["last"][2] = state.arrays["first"][2]

    state.launches[0]["start_refine"] = without_arcs
    with pytest.raises(RuntimeError, match="no residual arc"):
        solver.run(state)

    state = upload(uniform(4, 1, cost_range=9))
    state.launches[0]["refine"] = lambda: None
    with pytest.raises(RuntimeError, match="did nothing"):
        solver.run(state)


def test_bound_arguments_are_what_the_kernels_are_compiled_for():
    """On a GPU a launch is compiled for its arguments' types: they are the listed signatures."""
    for modules, options in (
        ((lock_free,), {"configuration": "paper"}),
        ((wide, prices, lock_free), {}),
        ((one_launch,), {"loop": "device"}),
    ):
        state = solver.upload(uniform(9, 1, cost_range=90), **options)
        bound = {launch.name: launch for launch in state.launches[0].values()}
        if state.start is not None:
            bound["start"] = state.start
        types_of = {
            kernel: types for module in modules for kernel, types in module.SIGNATURES.items()
        }
        names = {kernel.py_func.__name__ for kernel in types_of}
        assert names - set(bound) == ({"refine"} if wide in modules else set())
        for kernel, types in types_of.items():
            if kernel.py_func.__name__ in bound:
                arguments = bound[kernel.py_func.__name__].arguments
                assert tuple(map(kernel.typeof_pyval, arguments)) == argument_types(types), kernel


def test_shapes_on_a_gpu(monkeypatch):
    card = device.Device("card", True, 132, 1 << 36, (9, 0))
    monkeypatch.setattr(device, "describe", lambda: card)
    paper, tuned = configuration.PAPER, configuration.TUNED
    for_device = launches.Geometry.for_device
    assert for_device(30, "host", paper) == launches.Geometry(32 * 16, 1)
    assert for_device(30, "host", tuned) == launches.Geometry(128, 32)
    alone = configuration.CONFIGURATIONS["alone_in_a_warp"]
    assert for_device(30, "host", alone) == launches.Geometry(512, 32, 1)
    assert for_device(30, "device", tuned).threads == 1024
    assert for_device(5, "device", tuned).threads == 320
    assert for_device(1000, "host", paper).blocks(2000) == 4
    assert for_device(1000, "host", tuned).blocks(2000) == 500


def test_the_way_leads_from_print_to_ours_in_single_changes():
    way = list(configuration.CONFIGURATIONS.items())
    assert [name for name, _ in way] == list(configuration.CHANGES)
    assert (way[0][1], way[-1][1]) == (configuration.PAPER, configuration.TUNED)
    for (_, before), (name, one) in itertools.pairwise(way):
        fields = [f.name for f in dataclasses.fields(one)]
        assert sum(getattr(before, f) != getattr(one, f) for f in fields) == 1, name


@pytest.mark.parametrize("name", configuration.CONFIGURATIONS)
def test_every_configuration_is_right(name):
    cost = uniform(14, 1, cost_range=101)
    counters = certified(cost, configuration=name).counters
    short = configuration.CONFIGURATIONS[name].cycle == configuration.SHORT_CYCLE
    assert (counters["price_updates"] > 0) == short
