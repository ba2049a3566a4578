"""The flow solvers as a whole: values beside SciPy's, certified; options, bounds, errors."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems import flow_proof
from papers.common.problems.network import (
    EIGHT,
    FOUR,
    FlowError,
    Grid,
    NetworkError,
    grid,
    inner,
    network,
)
from papers.lupinska_costscale.flow import prepare
from papers.lupinska_costscale.flow import solver as flow_solver
from papers.lupinska_costscale.flow.prepare import Tile

SMALL = {
    "lock_free": {"cycle": 50},
    "hybrid": {"cycle": 20},
    "blocking": {"tile": Tile(2, 4)},
    "async_relabel": {"cycle": 20, "waves": 2},
    "gpu_relabel": {"tile": Tile(2, 4), "rounds": 4, "sweeps": 3, "inner": 3},
}
SOLVERS = flow_solver.SOLVERS
ON_NETWORKS = [name for name in SMALL if name != "blocking"]


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def scipy_value(instance):
    net = instance.network() if isinstance(instance, Grid) else instance
    capacity = net.capacity.astype(np.int32)
    graph = csr_array((capacity, net.head, net.first), (net.nodes, net.nodes))
    return int(maximum_flow(graph, net.source, net.sink).flow_value)


def certified(name, instance, **options):
    solver = SOLVERS[name]
    state = solver.upload(instance, **(SMALL[name] | options))
    solver.run(state)
    answer = solver.download(state)
    verdict = flow_proof.flow(instance, answer)
    assert verdict.ok, verdict
    return answer


def random_grid(shape, seed, names=FOUR, share=0.3, top=12):
    draw = np.random.default_rng(seed)
    ends = [draw.integers(0, top, shape) * (draw.random(shape) < share) for _ in range(2)]
    return grid(*ends, {n: draw.integers(0, top, shape) * inner(shape, n) for n in names})


def random_network(nodes, arcs, seed):
    draw = np.random.default_rng(seed)
    tail, head, capacity = (draw.integers(0, top, arcs) for top in (nodes, nodes, 30))
    return network(tail, head, capacity, nodes, 1, nodes - 2)


def ladder(n):
    """A path of n nodes with a way round every arc: long distances, one bottleneck at the end."""
    tail = np.concatenate([np.arange(n - 1), np.arange(n - 2)])
    head = np.concatenate([np.arange(1, n), np.arange(2, n)])
    capacity = np.concatenate([np.arange(n - 1, 0, -1), np.full(n - 2, 2)])
    return network(tail, head, capacity, n, 0, n - 1)


def test_the_list():
    assert set(SOLVERS) == set(SMALL)
    assert all(solver.device == "cuda" for solver in SOLVERS.values())


@pytest.mark.parametrize("name", list(SMALL))
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (5, 6), (8, 8)])
@pytest.mark.parametrize("names", [FOUR, EIGHT], ids=["4", "8"])
def test_grids(name, shape, names):
    instance = random_grid(shape, 7, names, share=0.4)
    assert certified(name, instance).value == scipy_value(instance)


@pytest.mark.parametrize("name", ON_NETWORKS)
@pytest.mark.parametrize("seed", range(4))
def test_networks(name, seed):
    instance = random_network(12 + 6 * seed, 60 + 30 * seed, seed)
    assert certified(name, instance).value == scipy_value(instance)


@pytest.mark.parametrize("name", ON_NETWORKS)
def test_long_distances(name):
    instance = ladder(18)
    assert certified(name, instance).value == scipy_value(instance) == 3


@pytest.mark.parametrize("name", list(SMALL))
def test_nothing_to_send_and_nowhere_to_go(name):
    empty = np.zeros((3, 5), np.int64)
    arcs = {n: 4 * inner((3, 5), n) for n in FOUR}
    for source, sink in ((empty, empty + 3), (empty + 3, empty), (empty, empty)):
        answer = certified(name, grid(source, sink, arcs))
        assert answer.value == 0


@pytest.mark.parametrize("name", ON_NETWORKS)
def test_an_arc_from_source_to_sink(name):
    instance = network([0, 0, 1, 2], [3, 1, 3, 1], [5, 4, 2, 9], 4, 0, 3)
    assert certified(name, instance).value == 7
    assert certified(name, network([0], [1], [6], 2, 0, 1)).value == 6


@pytest.mark.parametrize("name", list(SMALL))
def test_capacities_of_64_bits(name):
    small = random_grid((4, 5), 3)
    factor = 2**40
    wide = grid(
        small.source * factor, small.sink * factor, {n: a * factor for n, a in small.arcs.items()}
    )
    assert prepare.prepare(wide).dtype == np.int64
    assert prepare.prepare(small).dtype == np.int32
    assert certified(name, wide).value == factor * scipy_value(small)


def test_excess_outgrows_32_bits():
    """Residual capacities of 32 bits, excess of 64: three sources of 2**30 each into one pixel."""
    right = np.array([[2**30 - 1, 0, 0]])
    left = np.array([[0, 0, 2**30 - 1]])
    none = np.zeros((1, 3), np.int64)
    source, sink = np.array([[2**30, 2**30, 2**30]]), np.array([[0, 2**31 - 1, 0]])
    instance = grid(source, sink, {"right": right, "left": left, "down": none, "up": none})
    assert prepare.prepare(instance).dtype == np.int32
    for name in SMALL:
        assert certified(name, instance).value == 2**31 - 1


@pytest.mark.parametrize("name", list(SMALL))
def test_run_twice(name):
    instance = random_grid((5, 5), 4)
    solver = SOLVERS[name]
    state = solver.upload(instance, **SMALL[name])
    answers = []
    for _ in range(2):
        solver.run(state)
        answers.append(solver.download(state))
    assert flow_proof.flow(instance, answers[1]).ok
    assert answers[0].value == answers[1].value
    launches = [answer.counters["kernel_launches"] for answer in answers]
    assert min(launches) > 0
    if name != "async_relabel":  # on busy cores its runs were seen to take 4 and 7 launches
        assert launches[0] == launches[1]  # counted anew each time
    assert answers[1].counters["pushes"] > 0


def test_counters():
    instance = random_grid((6, 6), 5)
    for name in SMALL:
        counters = certified(name, instance).counters
        assert {"pushes", "relabels", "kernel_launches", "host_relabels", "bfs_levels"} <= set(
            counters
        )
        assert (counters["host_relabels"] > 0) == (name not in ("lock_free", "gpu_relabel"))
        assert (counters["bfs_levels"] > 0) == (name != "lock_free")


@pytest.mark.parametrize("pull", [False, True])
@pytest.mark.parametrize("m", [1, 3])
def test_blocking_options(pull, m):
    instance = random_grid((5, 5), 6)
    answer = certified("blocking", instance, pull=pull, m=m, redraw_every=0)
    assert answer.value == scipy_value(instance)
    often = certified("blocking", instance, pull=pull, m=m, patience=1, redraw_every=1)
    assert often.counters["host_relabels"] > answer.counters["host_relabels"]
    assert often.counters["relabels"] <= answer.counters["relabels"]


def test_steps_are_traced():
    instance = random_grid((4, 5), 3)
    seen = {}
    for name, solver in SOLVERS.items():
        state = solver.upload(instance, **(SMALL[name] | {"pull": True} if name == "blocking"
                                           else SMALL[name]))  # fmt: skip
        seen[name] = []
        solver.run(state, seen[name].append)
        assert set(seen[name]) <= set(solver.steps)
        assert seen[name][0] == "init"
    assert set().union(*seen.values()) == set(flow_solver.STEPS)


# ------------------------------------------------------------------------------- bounds


@pytest.mark.parametrize("name", list(SMALL))
def test_too_many_operations_raise(name):
    solver = SOLVERS[name]
    state = solver.upload(random_grid((5, 5), 4), **SMALL[name], operations=3)
    with pytest.raises(RuntimeError, match="operations, the bound is 3"):
        solver.run(state)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)


@pytest.mark.parametrize("name", list(SMALL))
def test_a_standstill_raises(name):
    """Kernels that do nothing: the host gives up."""
    solver = SOLVERS[name]
    state = solver.upload(random_grid((5, 5), 4), **SMALL[name])
    for part, launch in state.launches.items():
        if part != "restore":
            launch.on_enqueue = lambda enqueue: None
    with pytest.raises(RuntimeError, match="nothing moves"):
        solver.run(state)


def test_a_search_without_rest_raises(monkeypatch):
    solver = SOLVERS["gpu_relabel"]
    for instance in (random_grid((5, 5), 4), random_network(9, 30, 1)):
        state = solver.upload(instance, **SMALL["gpu_relabel"])
        words = flow_solver.tiles if isinstance(instance, Grid) else flow_solver.network

        def restless(enqueue, state=state, words=words):
            state.arrays["control"][words.STATUS] = words.RESTLESS

        state.launches["kernel"].on_enqueue = restless
        with pytest.raises(RuntimeError, match="come to rest"):
            solver.run(state)


def test_what_is_no_maximum_preflow_is_not_handed_out():
    """`download` finds excess that could still go on, whatever `run` believed."""
    instance = random_grid((5, 5), 4)
    state = SOLVERS["hybrid"].upload(instance, cycle=1)
    state.begin(lambda step: None)
    state.solved = True
    with pytest.raises(FlowError, match="not maximum"):
        SOLVERS["hybrid"].download(state)


def test_lock_free_gives_up_after_its_time_and_not_before():
    instance = random_grid((5, 5), 4)
    state = SOLVERS["lock_free"].upload(instance, cycle=1, seconds=1e-9)
    with pytest.raises(GivenUpError, match=r"gave up after \d+\.\d s and \d+ operations: \d+ of \d+"
                       ) as told:  # fmt: skip
        SOLVERS["lock_free"].run(state)
    assert told.value.after_ms > 1e-6
    assert state.count_operations() > 0
    with pytest.raises(RuntimeError, match="no run has ended"):
        SOLVERS["lock_free"].download(state)
    assert certified("lock_free", instance, seconds=600).value == scipy_value(instance)


# ------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "wrong", "named"),
    [
        ("lock_free", {"cycle": 0}, "cycle=0"),
        ("lock_free", {"seconds": 0}, "seconds=0"),
        ("lock_free", {"seconds": True}, "seconds=True"),
        ("lock_free", {"seconds": "1"}, "seconds='1'"),
        ("hybrid", {"cycle": 2.5}, "cycle=2.5"),
        ("hybrid", {"operations": 0}, "operations=0"),
        ("async_relabel", {"waves": -1}, "waves=-1"),
        ("blocking", {"m": 0}, "m=0"),
        ("blocking", {"patience": True}, "patience=True"),
        ("blocking", {"redraw_every": -1}, "redraw_every=-1"),
        ("gpu_relabel", {"rounds": 0}, "rounds=0"),
        ("gpu_relabel", {"blocks": 0}, "blocks=0"),
    ],
)
def test_bad_options_are_named(name, wrong, named):
    with pytest.raises(ValueError, match=named):
        SOLVERS[name].upload(random_grid((3, 3), 1), **wrong)


@pytest.mark.parametrize("shape", [(8, 33), (0, 32), (64, 32), (2.0, 4)])
def test_bad_tiles_are_named(shape):
    with pytest.raises(ValueError, match="a tile of"):
        Tile(*shape)


def test_bad_instances_are_named(monkeypatch):
    for name, solver in SOLVERS.items():
        with pytest.raises(NetworkError, match="not of a list"):
            solver.upload([[1, 2]])
        with monkeypatch.context() as patch:
            patch.setattr(device, "free_bytes", lambda: 100)
            with pytest.raises(NetworkError, match="bytes of device memory"):
                solver.upload(random_grid((3, 3), 1))
            patch.setattr(prepare, "LARGEST", 10)
            with pytest.raises(NetworkError, match="32 bits"):
                solver.upload(random_grid((3, 3), 1))
        if name == "blocking":
            with pytest.raises(NetworkError, match="grids only"):
                solver.upload(random_network(6, 12, 1))
