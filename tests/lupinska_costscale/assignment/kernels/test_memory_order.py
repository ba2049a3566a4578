"""Refine on a weak memory: each fence and acquire of a push is missed when it is left out."""

import inspect

import numpy as np
import pytest
from memory_sites import noticed, sites_below
from nightly import first
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.gpu.memory_order import load_relaxed_block
from papers.common.problems import assignment_proof
from papers.lupinska_costscale.assignment import solver
from papers.lupinska_costscale.assignment.kernels import one_launch, wide
from papers.lupinska_costscale.assignment.launches import Geometry

i32 = np.int32

SITES = sites_below("lupinska_costscale/assignment")

MOST = 100_000
"""Accesses of a launch; a run with a fault may not end."""


def run(seed, without=(), lanes=1):
    """The host loop, a thread or several a node."""
    memory = WeakMemory(seed, without=without)
    n = 3 + seed % 2
    cost = np.random.default_rng(seed).integers(0, (3, 10)[seed % 2], (n, n))
    with device.executing(
        Executor(seed, (0.1, 0.4)[seed // 2 % 2], max_accesses=MOST, memory=memory)
    ):
        state = solver.upload(
            cost,
            cycle=(1000, 6)[seed % 2],
            price_updates=("every", "none", "first")[seed % 3],
            arc_fixing=seed % 5 > 0,
            geometry=Geometry(n * lanes, lanes),
            configuration="paper" if lanes == 1 else "tuned",
        )
        solver.run(state)
        answer = solver.download(state)
    assert assignment_proof.assignment(cost, answer).ok
    return memory


def run_wide(seed, without=()):
    """Groups of two or four threads a node, prices updated on the device."""
    return run(seed, without, (2, 4)[seed // 8 % 2])


def run_one_launch(seed, without=()):
    """The one launch, a warp a node; every operation pushes a unit or lowers a price.

    A node that sees its unit and not the arc that brought it does neither [LU11 Lemma 5.1].
    """
    memory, lowered = WeakMemory(seed, without=without), []

    def note(kind, name, index, value):
        if name == "price":
            lowered.append(index)

    n = 2 + seed % 2
    cost = np.random.default_rng(seed).integers(0, 4, (n, n))
    with device.executing(Executor(seed, 0.2, max_accesses=MOST, on_access=note, memory=memory)):
        state = solver.upload(cost, loop="device", geometry=Geometry(64))
        solver.run(state)
        answer = solver.download(state)
    assert assignment_proof.assignment(cost, answer).ok
    a, c = state.arrays, state.costs
    reduced = c.cost + a["prices"][c.tail] - a["prices"][n + c.tip]
    sent = a["mates"][c.tail] == c.tip
    assert (reduced[~sent] >= -1).all()
    assert (reduced[sent] <= 1).all()
    refines = a["tally"][2]
    assert len(lowered) == 2 * n + refines * n + answer.counters["relabels"]
    return memory


@cuda.jit
def hand_over(v, mate, excess, state, out):
    """Node v sends a unit; who sees the unit looks for the arc that has brought it."""
    n = mate.size
    if cuda.threadIdx.x == 0:
        one_launch.send(v, 0, n, mate, excess, state)
    elif load_relaxed_block(excess, n if v < n else 0) > 0:
        cuda.threadfence_block()
        out[0] = 1
        out[1] = load_relaxed_block(mate, 0)


def run_hand_over(seed, without=()):
    """A push from x to y, and one back; the receiver looks at its excess first."""
    memory = WeakMemory(seed, without=without)
    executor = Executor(seed, 0.4, memory=memory)
    for v, before, after in ((0, -1, 0), (1, 0, -1)):
        mate, excess, out = np.full(1, before, i32), np.zeros(2, i32), np.zeros(2, i32)
        executor.launch(hand_over, 1, 2, (i32(v), mate, excess, np.ones(1, i32), out))
        assert not out[0] or out[1] == after
    return memory


@pytest.mark.parametrize("part", first(1, range(10)))
def test_the_host_loop_on_a_weak_memory(part):
    assert sum(run(seed).stale for seed in range(part * 5, part * 5 + 5)) > 50


@pytest.mark.parametrize("part", first(1, range(10)))
def test_the_one_launch_on_a_weak_memory(part):
    assert sum(run_one_launch(seed).stale for seed in range(part * 6, part * 6 + 6)) > 50


@pytest.mark.parametrize("part", first(1, range(10)))
def test_groups_of_threads_on_a_weak_memory(part):
    assert sum(run_wide(seed).stale for seed in range(part * 5, part * 5 + 5)) > 50


BARRIER = "        cuda.syncwarp(mask)"


def test_a_group_s_barrier_that_is_left_out_is_missed(monkeypatch):
    text = inspect.getsource(wide.refine_wide.py_func)
    assert text.count(BARRIER) == 1
    text = text.replace(BARRIER, "        pass")
    space = dict(wide.refine_wide.py_func.__globals__)
    exec(text[text.index("def ") :], space)
    monkeypatch.setattr(wide.refine_wide, "__executor__", space["refine_wide"], raising=False)
    with pytest.raises((RuntimeError, AssertionError)):
        [run_wide(seed) for seed in range(60)]


def test_a_unit_comes_with_its_arc():
    for seed in range(60):
        run_hand_over(seed)


RUNS = {
    "lock_free.push": run,
    "lock_free.refine": run,
    "wide.look": run_wide,
    "one_launch.send": run_hand_over,
    "one_launch.refine_block": run_one_launch,
}
"""The run that comes by a site, by the function that the site is in."""


@pytest.mark.parametrize("name", SITES)
def test_an_order_that_is_left_out_is_missed(name):
    assert noticed(RUNS[name.partition(":")[0]], range(60), SITES[name])
