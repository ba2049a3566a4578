"""The executor itself: its hook, its counts, the cost of a thread, its parameters."""

import threading

import numpy as np
import pytest
from numba import cuda, int32, int64

from papers.common.executor import threads
from papers.common.executor.scheduler import (
    Executor,
)


def run(kernel, grid, block, *args, seed=None, shared_bytes=0, **options):
    executor = Executor(seed, **options)
    executor.launch(kernel, grid, block, args, shared_bytes)
    return executor


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype)


@cuda.jit
def _block_sum(values, sums):
    partial = cuda.shared.array(64, int64)
    t = cuda.threadIdx.x
    partial[t] = values[cuda.grid(1)]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial[0]


@cuda.jit
def _diverging(odd):
    if cuda.threadIdx.x % 2 == odd:
        cuda.syncthreads()
    else:
        cuda.syncthreads()


@cuda.jit
def _no_lost_update(f):
    cuda.atomic.add(f, 0, 1)


@cuda.jit
def _stores(a, m):
    private = cuda.local.array(1, int32)
    box = cuda.shared.array(1, int32)
    private[0] = 1
    box[0] = 2
    a[1] = 3
    m[0, 1] = 4
    cuda.atomic.add(a, 1, 5)


def test_on_access_sees_stores_and_atomics_to_memory_others_see():
    seen = []
    run(_stores, 1, 1, zeros(2), zeros(1, 2), on_access=lambda *event: seen.append(event))
    assert seen == [
        ("store", "box", 0, 2),
        ("store", "a", 1, 3),
        ("store", "m", (0, 1), 4),
        ("atomic", "a", 1, 8),
    ]


def test_on_access_can_stop_a_launch():
    def refuse(kind, name, index, value):
        if value > 3:
            raise AssertionError(f"{name} must stay below 4")

    with pytest.raises(AssertionError, match="f must stay") as caught:
        run(_no_lost_update, 1, 8, zeros(1), on_access=refuse)
    assert "thread (3, 0, 0)" in caught.value.__notes__[0]


def test_counts():
    executor = Executor()
    for _ in range(2):
        executor.launch(_block_sum, 1, 64, (np.arange(64), zeros(1)))
    # Load and store of each thread, three accesses for each of the 63 sums, and the result.
    assert executor.count == {
        "launches": 2,
        "accesses": 2 * (2 * 64 + 3 * 63 + 2),
        "barriers": 14,
        "switches": 0,
    }


@cuda.jit
def _add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def test_threads_cost_little_because_greenlets_are_used_again(monkeypatch):
    """A thread takes some 3 us: no thread of the system is made, and a greenlet only to wait."""
    made, true = [], threads.greenlet
    monkeypatch.setattr(threads, "greenlet", lambda *args: made.append(args) or true(*args))
    executor, system = Executor(), threading.active_count()
    a, c = np.arange(5120), zeros(5120)
    executor.launch(_add, 20, 256, (a, a, c))
    assert len(made) <= 1
    made.clear()
    executor.launch(_block_sum, 1, 64, (a, zeros(1)))
    assert len(made) <= 64
    made.clear()
    for _ in range(5):
        executor.launch(_block_sum, 1, 64, (a, zeros(1)))
    assert made == []
    assert threading.active_count() == system


def test_constructor_refuses_nonsense():
    with pytest.raises(ValueError, match="probability"):
        Executor(1, switch=1.5)
    with pytest.raises(ValueError, match="warp_size"):
        Executor(warp_size=64)
    with pytest.raises(ValueError, match="shared_bytes"):
        Executor().launch(_diverging, 1, 1, (0,), shared_bytes=-1)
