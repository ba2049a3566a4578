"""Clusters of more than two blocks, and runs that end in one without an answer."""

import itertools

import numpy as np
import pytest
from numba import cuda
from synthesis.assignment.small import KINDS, assert_optimal, has_assignment

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment import launches, solver
from papers.synthesis.assignment.kernels import search, words
from papers.synthesis.assignment.settings import Settings

CLUSTER = Settings(threads=64, loads=2, blocks=2, cluster=4, start_rounds=0, scale_above=1000)


@pytest.fixture(autouse=True)
def _four_blocks(monkeypatch):
    monkeypatch.setattr(launches, "EXECUTOR_CLUSTER", 4)


def uploaded(cost, seconds=None):
    """A state whose phases are a cluster's, which has not begun."""
    state = solver.upload(cost, settings=CLUSTER, seconds=seconds)
    assert state.workspace.conclusion.config[:2] == (4, 64)
    assert state.workspace.conclusion.cluster
    return state


@pytest.mark.parametrize("shape", [(6, 129), (5, 192), (4, 193), (4, 256), (1, 1), (1, 200)])
@pytest.mark.parametrize("kind", ["uniform", "forbidden", "product"])
def test_three_and_four_blocks_have_columns(kind, shape):
    """A column more than a block's, as many as all have, and blocks that have none."""
    cost = KINDS[kind](np.random.default_rng(4), *shape)
    assert has_assignment(cost, False)
    with device.executing(Executor()):
        state = uploaded(cost)
        solver.run(state)
        assert_optimal(cost, solver.download(state))


@pytest.mark.parametrize("shape", [(4, 4), (4, 9), (5, 70)])
def test_an_infeasible_matrix_is_seen_by_all_blocks(shape):
    cost = np.full(shape, np.inf)
    cost[:3, :2] = 1.0  # three rows have two columns
    cost[3:] = 2.0
    with device.executing(Executor()):
        state = uploaded(cost)
        with pytest.raises(ValueError, match="infeasible"):
            solver.run(state)
        cost[2, 2] = 9.0
        state = uploaded(cost)
        solver.run(state)
        assert_optimal(cost, solver.download(state))


@pytest.mark.parametrize("kind", ["euclid", "floats"])
def test_a_cluster_gives_up_at_any_turn(kind, monkeypatch):
    """The clock counts how often it is looked at; when it runs out, all blocks leave together."""
    monkeypatch.setattr(words, "CLOCK_EVERY", 1)
    cost = KINDS[kind](np.random.default_rng(1), 9, 9)
    ended = []
    for look in range(1, 24, 2):
        ticks = itertools.count()
        monkeypatch.setattr(globaltimer, "__executor__", ticks.__next__)
        with device.executing(Executor()):
            state = uploaded(cost, 1e-9 * (CLUSTER.blocks * CLUSTER.threads + look))
            try:
                solver.run(state)
            except GivenUpError as told:
                ended.append(told.reached["iterations"])
            else:
                assert_optimal(cost, solver.download(state))
                ended.append("solved")
    assert ended[-1] == "solved"
    assert any(levels > 0 for levels in ended if levels != "solved")


def test_a_circle_ends_the_trace_and_the_run(monkeypatch):
    """Planted: no path is ever claimed, and the bound on the phases ends the cluster's run."""

    @cuda.jit(device=True)
    def lost(column, shape, tree):
        return -1

    monkeypatch.setattr(search, "root_of", lost)
    with device.executing(Executor()):
        state = uploaded(KINDS["uniform"](np.random.default_rng(1), 6, 6))
        with pytest.raises(RuntimeError, match="has not ended within its bounds"):
            solver.run(state)


def test_a_card_that_refuses_the_cluster_keeps_the_grid(monkeypatch):
    def refused(*given, cluster=False, **options):
        if cluster:
            raise launches.ClusterError("the driver refused a cluster")
        return bind(*given, **options)

    bind = launches.bind
    monkeypatch.setattr(launches, "bind", refused)
    cost = KINDS["uniform"](np.random.default_rng(2), 7, 7)
    with device.executing(Executor()):
        answer = solver.solve(cost, settings=CLUSTER)
    assert_optimal(cost, answer)
    assert answer.counters["cluster_barriers"] == 0


@pytest.mark.parametrize("room", [0, 6000, 10_000])
def test_a_card_with_less_shared_memory_keeps_the_cluster(room, monkeypatch):
    """Costs go to the largest strip that it has room for, and stay in the matrix without any."""
    bound = []

    def refusing(kernel, blocks, threads, *given, shared_bytes=0, **options):
        if shared_bytes > room:
            raise launches.SharedMemoryError("the driver refused it")
        bound.append(shared_bytes)
        return bind(kernel, blocks, threads, *given, shared_bytes=shared_bytes, **options)

    bind = launches.bind
    monkeypatch.setattr(launches, "bind", refusing)
    cost = KINDS["uniform"](np.random.default_rng(3), 40, 65).astype(np.int32)
    sizes = dict(launches.strips_for(cost.shape, cost.dtype, 4))
    assert sizes == {"whole": 6400, "narrow": 3200, "nowhere": 0}
    with device.executing(Executor()):
        answer = solver.solve(cost, settings=CLUSTER)
    assert_optimal(cost, answer)
    assert answer.counters["cluster_barriers"] > 0
    assert max(bound) == max(size for size in sizes.values() if size <= room)


def test_strips_fit_beside_what_else_a_block_has():
    """Large sides have narrow strips, or none: of floats, and of integers of 64 bits."""
    for n, m, kind, strip in (
        (512, 512, np.float64, "whole"), (1024, 1024, np.int32, "narrow"),
        (1024, 1024, np.int64, "nowhere"), (640, 1000, np.int32, "whole"),
        (641, 1000, np.int32, "narrow"), (320, 1000, np.float64, "whole"),
        (321, 1000, np.float64, "nowhere"),
    ):  # fmt: skip
        found = launches.strips_for((n, m), np.dtype(kind), 16)
        assert found[0][0] == strip
        assert found[-1] == ("nowhere", 0)
        assert all(size <= launches.STRIP_BYTES for _, size in found)
