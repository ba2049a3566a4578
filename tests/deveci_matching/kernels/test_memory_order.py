"""The kernels on a weak memory, and why none of their fences is missed there."""

import dataclasses
import itertools

import pytest
from deveci_matching.beyond.test_solver import check as check_beyond
from deveci_matching.beyond.test_solver import random_graph
from deveci_matching.examples import check
from deveci_matching.test_interleavings import COLLISIONS, solve_under
from memory_sites import noticed, sites_below
from nightly import first

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.deveci_matching import beyond, launches, solver
from papers.deveci_matching.beyond import configuration

SITES = sites_below("deveci_matching")

NOT_SHOWN = {
    "bfs.report: threadfence 1": "it keeps a thread's load of flags[LEVEL] before the store of the "
    "next level by the last block; a load that sees a later store is no run of the executor",
    "bfs.report: threadfence 2": "as the first: the other side of the same order",
    "bfs.report: store_release_system": "the host looks at this one word; all else that it reads "
    "of a launch it copies after the launch's end, in the stream's order",
}
"""Left out, no run of the executor goes wrong: the reason why."""

VARIANTS = [
    dict(zip(("algorithm", "bfs", "threads"), names, strict=True))
    for names in itertools.product(solver.ALGORITHMS, solver.BFS, launches.THREADS)
]


def run(seed, without=()):
    """A whole run of one of the eight variants on one of the graphs whose paths collide."""
    memory = WeakMemory(seed, old=0.7, without=without)
    graph, initial = list(COLLISIONS.values())[seed % len(COLLISIONS)]
    variant = VARIANTS[seed // len(COLLISIONS) % len(VARIANTS)]
    executor = Executor(seed, 0.3, warp_size=4, memory=memory)
    check(graph, solve_under(executor, variant, graph, initial))
    return memory


def run_beyond(seed):
    """The one launch, whose claims are atomics and whose stages barriers of the grid divide.

    Every other run has no lone block, so that all blocks go on by themselves.
    """
    memory = WeakMemory(seed)
    graph = random_graph(seed, 25)
    ideas = dataclasses.replace(configuration.TUNED, lone=seed % 2 == 0)
    with device.executing(Executor(seed, 0.3, memory=memory)):
        start = ("cheap", "empty", "device")[seed % 3]
        state = beyond.solver.upload(graph, start, configuration=ideas)
        beyond.solver.run(state)
        answer = beyond.solver.download(state)
    check_beyond(graph, answer)
    return memory.stale, answer.counters.get("levels_within", 0)


@pytest.mark.parametrize("part", first(1, range(10)))
def test_the_variants_on_a_weak_memory(part):
    """Every variant on every graph."""
    assert sum(run(seed).stale for seed in range(part * 48, part * 48 + 48)) > 500


@pytest.mark.parametrize("part", first(1, range(10)))
def test_the_one_launch_on_a_weak_memory(part):
    stale, within = zip(*map(run_beyond, range(part * 8, part * 8 + 8)), strict=True)
    assert sum(stale) > 0
    assert sum(within) > 0


def test_a_reason_is_given_for_every_site():
    assert NOT_SHOWN.keys() == SITES.keys()


@pytest.mark.parametrize("name", first(0, NOT_SHOWN))
def test_what_is_not_shown_is_not_missed(name):
    assert noticed(run, range(192), SITES[name]) is None
