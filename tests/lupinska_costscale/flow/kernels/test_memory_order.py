"""The flow kernels on a weak memory: fences and acquires that are left out are missed."""

from functools import partial

import numpy as np
import pytest
from lupinska_costscale.flow.kernels.test_kernels import CASES, SOLVERS
from memory_sites import noticed, sites_below
from nightly import first
from numba import cuda, int32

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.gpu.memory_order import load_relaxed
from papers.common.problems import flow_proof
from papers.common.problems.network import FOUR, grid, inner
from papers.lupinska_costscale.flow.kernels import lock_free
from papers.lupinska_costscale.flow.kernels.arguments import Graph, Preflow
from papers.lupinska_costscale.flow.prepare import Tile
from papers.lupinska_costscale.flow.residuals import distances

SITES = sites_below("lupinska_costscale/flow")

NOT_NEEDED = {
    f"network.wave: threadfence {k}": "one block alone reads and writes what this fence orders, "
    "and the barrier of the block behind it orders that already"
    for k in (1, 2)
}
"""Left out, nothing that is right becomes wrong: the reason why."""

MOST = 500_000
"""Accesses of a launch; a run with a fault may not end."""


# ------------------------------------------------------------------------------- whole runs


def run_case(case, seed, without=()):
    """A solver of its own, its flow certified."""
    name, options, draw = CASES[case]
    instance, memory = draw(seed % 7), WeakMemory(seed, without=without)
    with device.executing(Executor(seed, 0.15, max_accesses=MOST, memory=memory)):
        state = SOLVERS[name].upload(instance, **options)
        SOLVERS[name].run(state)
        answer = SOLVERS[name].download(state)
    assert flow_proof.flow(instance, answer).ok
    return memory


@pytest.mark.parametrize("part", first(1, range(10)))
@pytest.mark.parametrize("case", CASES)
def test_flows_on_a_weak_memory(case, part):
    """Two seeds a case by day; in those of the night a short run may meet no old value."""
    stale = sum(run_case(case, seed).stale for seed in range(2 * part, 2 * part + 2))
    assert stale > 0 or part > 0


# ------------------------------------------------------------------------------- a push


@cuda.jit
def hand_over(graph, flow, out):
    """Node 0 pushes its unit to node 1, whose only residual arc is then the one back."""
    x = int32(cuda.grid(1))
    if x == 0:
        lock_free.operate(x, graph, flow, False)
        return
    for _ in range(20):
        if load_relaxed(flow.excess, x) > 0:
            out[0] = lock_free.operate(x, graph, flow, False)
            break


def run_hand_over(seed, without=()):
    """A node that sees its excess has a residual arc: it pushes or is lifted."""
    memory = WeakMemory(seed, without=without)
    i32 = np.int32
    graph = Graph(
        i32(2), i32(4), np.array([0, 1, 2], i32), np.array([1, 0], i32), np.array([1, 0], i32),
        np.zeros(1, np.int64),
    )  # fmt: skip
    flow = Preflow(
        np.array([5, 0], i32), np.zeros(2, i32), np.zeros(2, i32),
        np.array([1, 0, 0, 0], np.int64), np.array([1, 0], i32),
    )  # fmt: skip
    out = np.full(1, lock_free.RELABELED, i32)
    Executor(seed, 0.4, memory=memory).launch(hand_over, 2, 1, (graph, flow, out))
    assert out[0] != lock_free.IDLE, "a node with excess sees no residual arc"
    return memory


def test_excess_comes_with_its_arc():
    for seed in range(60):
        run_hand_over(seed)


# ------------------------------------------------------------------------------- a search


def run_search(seed, without=()):
    """One search by tiles where nothing is active: the heights are the distances.

    A tile that takes a neighbour's old height, and that the neighbour takes for one that waits
    still, is never looked at again.
    """
    memory = WeakMemory(seed, without=without)
    draw, shape = np.random.default_rng(seed), (6, 6)
    arcs = {n: (draw.random(shape) < 0.7) * inner(shape, n) for n in FOUR}
    sink, source = (draw.random(shape) < 0.1).astype(np.int64), np.zeros(shape, np.int64)
    source[seed % 6, 0], sink[seed % 6, 0] = 1, 0
    for way in FOUR:
        arcs[way] = arcs[way].astype(np.int64)
        arcs[way][seed % 6, 0] = 0  # from the source one comes no further
    instance = grid(source, sink, arcs)
    with device.executing(Executor(seed, 0.4, max_accesses=MOST, memory=memory)):
        state = SOLVERS["gpu_relabel"].upload(instance, tile=Tile(2, 2), blocks=9)
        SOLVERS["gpu_relabel"].run(state)
    parts = state.prepared.parts
    wanted, _ = distances(parts.arcs, parts.between, parts.sink, state.prepared.nodes)
    assert (state.arrays["height"] == wanted).all()
    return memory


def test_searches_on_a_weak_memory():
    for seed in range(12):
        run_search(seed)


# ------------------------------------------------------------------------------- planted faults

RUNS = {
    "lock_free.push": run_hand_over,
    "lock_free.operate": run_hand_over,
    "tile_search.relax": run_search,
    "tiles.take": run_search,
    "network.wave": partial(run_case, "async"),
}
"""The run that comes by a site, by the function that the site is in."""


@pytest.mark.parametrize("name", sorted(SITES.keys() - NOT_NEEDED))
def test_an_order_that_is_left_out_is_missed(name):
    assert noticed(RUNS[name.partition(":")[0]], range(60), SITES[name])


@pytest.mark.nightly
@pytest.mark.parametrize("name", NOT_NEEDED)
def test_what_is_not_needed_is_not_missed(name):
    assert noticed(RUNS[name.partition(":")[0]], range(100), SITES[name]) is None
