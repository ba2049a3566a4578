"""A pair swapped whole, and the minimum of 64-bit integers by halves, in the executor."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import memory_order, reductions


@cuda.jit
def add_by_swaps(pairs, times, one):
    for _ in range(times):
        tag, value = memory_order.load_pair(pairs, 0, one[0])
        while True:
            found, now = memory_order.swap_pair(pairs, 0, tag, value, tag + 1, value - one[0])
            if found == tag and now == value:
                break
            tag, value = found, now


@cuda.jit
def add_by_stores(pairs, times, one):
    for _ in range(times):
        tag, value = memory_order.load_pair(pairs, 0, one[0])
        memory_order.store_pair(pairs, 0, tag + 1, value - one[0])


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("one", [3, 0.5])
def test_no_swap_is_lost_and_stores_are(weak, one):
    lost = 0
    for seed in range(10):
        for kernel in (add_by_swaps, add_by_stores):
            memory = WeakMemory(seed) if weak else None
            pairs = np.zeros(2, np.int64)
            Executor(seed, 0.5, memory=memory).launch(kernel, 3, 1, (pairs, 4, np.array([one])))
            value = pairs[1:].view(np.float64)[0] if one == 0.5 else pairs[1]
            if kernel is add_by_swaps:
                assert (pairs[0], value) == (12, -12 * one)
            lost += pairs[0] != 12
    assert lost > 0


@cuda.jit
def least(values, out):
    out[cuda.threadIdx.x] = reductions.warp_min_int64(values[cuda.threadIdx.x])


@pytest.mark.parametrize("span", [3, 2**31, 2**33, 2**62])
def test_the_least_of_64_bits_is_found_by_halves(span):
    for seed in range(12):
        values = np.random.default_rng(seed).integers(-span, span, 32)
        out = np.zeros(32, np.int64)
        Executor(seed).launch(least, 1, 32, (values, out))
        assert (out == values.min()).all()
