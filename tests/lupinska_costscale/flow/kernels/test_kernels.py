"""The flow kernels under seeded interleavings, and what no interleaving may break."""

from itertools import pairwise

import numpy as np
import pytest
from lupinska_costscale.flow.kernels.watch import Watch
from nightly import first

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.signatures import argument_types
from papers.common.problems import flow_proof
from papers.common.problems.network import EIGHT, FOUR, grid, inner, network
from papers.lupinska_costscale.flow import global_relabeling, solver
from papers.lupinska_costscale.flow.kernels import blocking, cut, lock_free, one_launch, tiles
from papers.lupinska_costscale.flow.kernels import network as nodes
from papers.lupinska_costscale.flow.prepare import Tile
from papers.lupinska_costscale.flow.residuals import distances, split

SEEDS = 70  # a case, fewer where runs are long: 504 in all
FEWER = {
    "lock_free": 28, "lock_free, network": 42, "blocking": 14, "blocking, pull": 14,
    "tiles": 63, "tiles, 8": 63,
}  # fmt: skip

SOLVERS = solver.SOLVERS


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def test_at_least_500_interleavings():
    assert sum(FEWER.get(case, SEEDS) for case in CASES) >= 500


def random_grid(seed, names=FOUR, top=9):
    """4 x 4 to 6 x 7 pixels; two fifths with an arc from the source, two fifths to the sink."""
    draw = np.random.default_rng(seed)
    shape = 4 + seed % 3, 4 + seed % 4
    ends = [draw.integers(0, top, shape) * (draw.random(shape) < 0.4) for _ in range(2)]
    return grid(*ends, {n: draw.integers(0, top, shape) * inner(shape, n) for n in names})


def random_network(seed):
    draw = np.random.default_rng(seed)
    count, arcs = 10 + seed % 9, 40 + 5 * (seed % 5)
    tail, head, capacity = (draw.integers(0, top, arcs) for top in (count, count, 20))
    return network(tail, head, capacity, count, 0, count - 1)


TILES = {"tile": Tile(2, 4), "rounds": 2, "sweeps": 2, "inner": 2}
CASES = {
    "lock_free": ("lock_free", {"cycle": 30}, random_grid),
    "lock_free, network": ("lock_free", {"cycle": 30}, random_network),
    "hybrid": ("hybrid", {"cycle": 8}, random_grid),
    "hybrid, network": ("hybrid", {"cycle": 8}, random_network),
    "blocking": ("blocking", {"tile": Tile(2, 4), "patience": 2, "redraw_every": 4}, random_grid),
    "blocking, pull": (
        "blocking", {"tile": Tile(2, 4), "patience": 2, "redraw_every": 4, "pull": True, "m": 2},
        random_grid,
    ),
    "async": ("async_relabel", {"cycle": 10, "waves": 2}, random_network),
    "tiles": ("gpu_relabel", TILES, random_grid),
    "tiles, 8": ("gpu_relabel", TILES, lambda seed: random_grid(seed, EIGHT)),
    "nodes": ("gpu_relabel", {"rounds": 2, "sweeps": 2, "inner": 2}, random_network),
}  # fmt: skip


def watched_run(case, seed):
    """One interleaving, every store checked, conservation after every launch; the answer."""
    name, options, draw = CASES[case]
    instance = draw(seed % 7)
    watch = Watch(("height",) if name == "gpu_relabel" else ())
    with device.executing(Executor(seed=seed, switch=0.15, on_access=watch)):
        state = SOLVERS[name].upload(instance, **options)
        watch.over(state)
        SOLVERS[name].run(state)
        answer = SOLVERS[name].download(state)
    assert flow_proof.flow(instance, answer).ok, seed
    return instance, answer, watch


ALIKE = ("lock_free, network", "hybrid, network", "tiles, 8")
"""Cases of kernels that another case runs, too: nightly."""


@pytest.mark.parametrize("case", first(7, sorted(CASES, key=lambda case: case in ALIKE)))
def test_interleavings(case):
    """Any order of the threads: a certified flow of the same value, with other operations."""
    ways, values, stores = {}, {}, 0
    seeds = FEWER.get(case, SEEDS)
    for seed in range(seeds):
        instance, answer, watch = watched_run(case, seed)
        values.setdefault(seed % 7, set()).add(answer.value)
        work = answer.counters["pushes"], answer.counters["relabels"]
        residual = answer.residual
        if isinstance(residual, dict):
            residual = np.concatenate([residual[n].ravel() for n in instance.arcs])
        ways.setdefault(seed % 7, set()).add((work, residual.tobytes()))
        stores += watch.stores
    assert all(len(found) == 1 for found in values.values())
    assert max(max(found) for found in values.values()) > 0
    assert stores > 20 * seeds
    differed = any(len(found) > 1 for found in ways.values())
    if "tiles" in case:
        assert not differed  # tiles of a colour never meet, and what they add commutes
    elif "blocking" not in case:  # whose phases allow few orders
        assert differed, "no interleaving differed: the test would prove nothing"


# ------------------------------------------------------------------------------- searches


@pytest.mark.parametrize("names", [FOUR, EIGHT], ids=["4", "8"])
@pytest.mark.parametrize("seed", range(6))
def test_tiles_find_the_distances(names, seed):
    """At the end heights are those of a sequential search; no launch lets one fall."""
    instance = random_grid(seed, names, top=5)
    with device.executing(Executor(seed=seed, switch=0.1)):
        state = SOLVERS["gpu_relabel"].upload(
            instance, tile=Tile(2, 2), rounds=1, sweeps=1, inner=1, blocks=5
        )
        launch, seen = state.launches["kernel"], []

        def recording(enqueue):
            enqueue()
            seen.append(state.arrays["height"].copy())

        launch.on_enqueue = recording
        SOLVERS["gpu_relabel"].run(state)
    assert len(seen) > 1
    for before, after in pairwise(seen):
        assert (after >= before).all()
    arcs = state.prepared.parts.arcs
    wanted, _ = distances(
        arcs, state.arrays["residual"], state.arrays["to_sink"], state.prepared.nodes
    )
    assert (seen[-1] == wanted).all()


@pytest.mark.parametrize("names", [FOUR, EIGHT], ids=["4", "8"])
def test_one_search_by_tiles(names):
    """A serpentine of open arcs through many tiles: distances far beyond a tile's size."""
    shape = 8, 8
    arcs = {n: np.zeros(shape, np.int64) for n in names}
    for row in range(0, 8, 2):
        along, down = ("right", 7) if row % 4 == 0 else ("left", 0)
        arcs[along][row] = inner(shape, along)[row]
        if row < 6:
            arcs["down"][row : row + 2, down] = 1
    sink = np.zeros(shape, np.int64)
    sink[6, 0] = 1
    source = np.zeros(shape, np.int64)
    source[3, 3] = 1  # behind no open arc: nothing is active
    instance = grid(source, sink, arcs)
    for seed in range(8):
        with device.executing(Executor(seed=seed, switch=0.2)):
            state = SOLVERS["gpu_relabel"].upload(instance, tile=Tile(2, 2), blocks=4)
            SOLVERS["gpu_relabel"].run(state)
        parts = state.prepared.parts
        wanted, levels = distances(parts.arcs, parts.between, parts.sink, instance.nodes)
        assert (state.arrays["height"] == wanted).all()
        assert levels == wanted[0] == 35
        assert state.arrays["control"][tiles.STEPS] < levels
        assert state.arrays["control"][tiles.ROUNDS] == 1


def test_a_wave_lifts_to_the_distances():
    """Alone, with nobody pushing, the asynchronous search is the sequential one."""
    instance = random_network(4)
    state = SOLVERS["async_relabel"].upload(instance, cycle=1, waves=1)
    state.begin(lambda step: None)
    state.arrays["excess"][:] = 0
    state.launches["kernel"]()
    parts = state.prepared.parts
    wanted, levels = distances(parts.arcs, parts.between, parts.sink, 0)
    assert (state.arrays["height"] == wanted).all()
    assert wanted.max() == levels > 1
    assert state.arrays["control"][nodes.STEPS] == levels


def test_cancelling_on_the_device_is_the_host_s():
    """Violated arcs planted in a preflow: both push the same."""
    instance = random_network(3)
    state = SOLVERS["gpu_relabel"].upload(instance, rounds=1, sweeps=1, inner=1)
    state.begin(lambda step: None)
    a, problem = state.arrays, state.prepared
    a["height"][:] = np.arange(problem.n)[::-1] * 3
    a["excess"][: problem.n] += 1000  # so that all can be pushed
    between, excess = a["residual"].copy(), a["excess"].copy()
    found = global_relabeling.cancel(problem.parts.arcs, between, excess, a["height"].copy())
    a["to_sink"][:] = 0  # the search finds nothing and no operation follows
    state.launches["kernel"]()
    assert found > 3
    assert (a["residual"] == between).all()
    assert (a["excess"] == excess).all()
    assert a["control"][nodes.STATUS] == nodes.DONE


def test_marked_excess_is_subtracted_once():
    """[LU11 Alg.4.8], line 11, with the "not" that the print lacks."""
    parts = split(random_network(5))
    excess = np.ones(parts.arcs.nodes + 2, np.int64)
    nobody = np.zeros_like(parts.sink)
    total = global_relabeling.Total(100, np.zeros(parts.arcs.nodes, bool))
    for _ in range(2):
        height, levels = global_relabeling.global_relabel(
            parts.arcs, parts.between, nobody, excess, 7, total
        )
        assert total.excess == 100 - parts.arcs.nodes
        assert (height == 7).all()
        assert levels == 0


# ------------------------------------------------------------------------------- phases


def test_a_relabel_phase_sets_masks_and_heights():
    """One row: no excess, an open arc to a lower pixel, and none."""
    flat = np.zeros((1, 4), np.int64)
    right = np.array([[3, 3, 3, 0]])
    instance = grid([[0, 5, 0, 5]], np.array([[0, 0, 0, 1]]),
                    {"right": right, "left": flat, "down": flat, "up": flat})  # fmt: skip
    state = SOLVERS["blocking"].upload(instance, tile=Tile(1, 4))
    state.begin(lambda step: None)
    a = state.arrays
    a["height"][:] = [0, 2, 1, 0]
    state.launches["relabel"]()
    assert a["mask"].tolist() == [
        blocking.INACTIVE, blocking.ACTIVE, blocking.INACTIVE, blocking.PASSIVE,
    ]  # fmt: skip
    assert a["height"].tolist() == [0, 2, 1, 1]
    state.launches["push"]()
    assert a["excess"][:4].tolist() == [0, 2, 3, 5]
    assert a["residual"].reshape(4, 4)[0].tolist() == [3, 0, 3, 0]
    assert a["residual"].reshape(4, 4)[1].tolist() == [0, 0, 3, 0]


# ------------------------------------------------------------------------------- types


MODULES = (lock_free, blocking, cut, nodes, one_launch)


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("factor", [1, 2**32], ids=["int32", "int64"])
def test_bound_arguments_are_what_the_kernels_are_compiled_for(case, factor):
    """On a GPU a launch is compiled for its arguments' types: they are the listed signatures."""
    name, options, draw = CASES[case]
    instance = draw(2)
    wide = {n: c * factor for n, c in getattr(instance.arcs, "items", dict)()}
    if wide:
        instance = grid(instance.source * factor, instance.sink, wide)
    elif factor > 1:
        instance = network(
            instance.tail, instance.head, instance.capacity * factor, instance.nodes, 0,
            instance.sink,
        )  # fmt: skip
    kind = "int32" if factor == 1 else "int64"
    listed = {f.py_func.__name__: (f, types) for m in MODULES for f, types in m.SIGNATURES.items()}
    state = SOLVERS[name].upload(instance, **options)
    assert state.launches
    for launch in state.launches.values():
        kernel, types = listed[launch.name]
        assert tuple(map(kernel.typeof_pyval, launch.arguments)) == argument_types(types, kind)
        assert all(np.size(a) for a in leaves(launch.arguments))


def leaves(arguments):
    """The arrays and numbers of nested tuples."""
    for argument in arguments:
        yield from leaves(argument) if isinstance(argument, tuple) else (argument,)
