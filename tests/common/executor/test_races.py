"""Races show under some seed, and a seed fixes the interleaving; locks and polling end."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import (
    Executor,
)

SEEDS = [None, 1, 2]


def run(kernel, grid, block, *args, seed=None, shared_bytes=0, **options):
    executor = Executor(seed, **options)
    executor.launch(kernel, grid, block, args, shared_bytes)
    return executor


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype)


@cuda.jit
def _lost_update(f):
    f[0] = f[0] + 1


@cuda.jit
def _no_lost_update(f):
    cuda.atomic.add(f, 0, 1)


def test_lost_updates_show_under_some_seeds_only():
    totals = []
    for seed in range(40):
        f = zeros(1)
        run(_lost_update, 2, 8, f, seed=seed)
        totals.append(int(f[0]))
        f[0] = 0
        run(_no_lost_update, 2, 8, f, seed=seed, switch=0.5)
        assert f[0] == 16
    assert min(totals) < 16
    assert max(totals) == 16
    f = zeros(1)
    run(_lost_update, 2, 8, f)  # in order, nothing is lost
    assert f[0] == 16


@cuda.jit
def _message(data, flag, out, payload_first):
    if cuda.grid(1) == 0:
        if payload_first:
            data[0] = 42
            flag[0] = 1
        else:
            flag[0] = 1
            data[0] = 42
    elif flag[0] == 1:
        out[0] = data[0]


def test_message_passing_race_shows_under_some_seeds_only():
    seen = {True: set(), False: set()}
    for payload_first in (True, False):
        for seed in range(200):
            out = np.array([-1])
            run(_message, 2, 1, zeros(1), zeros(1), out, payload_first, seed=seed, switch=0.3)
            seen[payload_first].add(int(out[0]))
    assert seen[True] == {-1, 42}
    assert seen[False] == {-1, 0, 42}


@cuda.jit
def _record_order(order, counter):
    for _ in range(3):
        order[cuda.atomic.add(counter, 0, 1)] = cuda.grid(1)


def orders(executor, launches):
    found = []
    for _ in range(launches):
        order = zeros(48)
        executor.launch(_record_order, 4, 4, (order, zeros(1)))
        found.append(order.tolist())
    return found


def test_a_seed_fixes_the_interleaving_over_several_launches():
    executor, twin = Executor(7), Executor(7)
    first = orders(executor, 3)
    assert first == orders(twin, 3)
    assert executor.count == twin.count
    assert executor.count["switches"] > 0
    assert first[0] != first[1]  # the generator goes on from launch to launch
    assert first != orders(Executor(8), 3)
    assert orders(Executor(), 1)[0] == [i for i in range(16) for _ in range(3)]


def test_every_access_is_preempted_when_switch_is_one():
    out = zeros(48), zeros(1)
    certain, never = Executor(1, switch=1.0), Executor(1, switch=0.0)
    certain.launch(_record_order, 4, 4, out)
    never.launch(_record_order, 4, 4, (zeros(48), zeros(1)))
    assert certain.count["accesses"] == never.count["accesses"] == 96
    # The last thread left has no one to give its turn to.
    assert 96 - 6 <= certain.count["switches"] <= 96
    assert never.count["switches"] == 0


@cuda.jit
def _spin_lock(lock, total, waits):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        cuda.nanosleep(100)
        cuda.atomic.add(waits, 0, 1)
    total[0] = total[0] + 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@pytest.mark.parametrize("seed", [None, *range(10)])
def test_spin_lock_ends_and_excludes(seed):
    lock, total, waits = zeros(1), zeros(1), zeros(1)
    run(_spin_lock, 2, 8, lock, total, waits, seed=seed, switch=0.3)
    assert total[0] == 16
    assert seed is None or waits[0] > 0


@cuda.jit
def _poll_with_barriers(flag, out):
    while cuda.syncthreads_or(flag[0]) == 0:
        if cuda.blockIdx.x == 2:
            flag[0] = 1
    out[cuda.grid(1)] = 1


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_that_loop_over_barriers_let_others_run(seed):
    out = zeros(12)
    run(_poll_with_barriers, 3, 4, zeros(1), out, seed=seed)
    assert out.sum() == 12


@cuda.jit
def _wait_for_last(flag, out):
    if cuda.grid(1) == cuda.gridsize(1) - 1:
        flag[0] = 1
    while flag[0] == 0:
        pass
    out[cuda.grid(1)] = 1


@pytest.mark.parametrize("seed", SEEDS)
def test_spinning_threads_let_others_run(seed):
    out = zeros(12)
    run(_wait_for_last, 3, 4, zeros(1), out, seed=seed)
    assert out.sum() == 12
