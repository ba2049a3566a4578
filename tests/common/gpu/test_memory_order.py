"""Memory-model accesses, in the executor."""

import numpy as np
import pytest
from numba import cuda, float64, int64

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import memory_order


@cuda.jit
def hand_over(data, flag, out):
    if cuda.grid(1) == 0:
        data[0] = 42
        memory_order.store_release(flag, 0, 1)
    else:
        while memory_order.load_acquire(flag, 0) == 0:
            pass
        out[0] = data[0]


def test_flag_hands_over_data():
    for seed in range(20):
        data, flag, out = (np.zeros(1, np.int32) for _ in range(3))
        Executor(seed=seed).launch(hand_over, 2, 1, (data, flag, out))
        assert out[0] == 42


@cuda.jit
def hand_over_pairs(pairs, last, out):
    """The first thread stores pairs one after the other; the others look at them meanwhile."""
    if cuda.grid(1) == 0:
        for tag in range(1, last + 1):
            memory_order.store_pair(pairs, 2, tag, tag * out[0])
    else:
        tag = 0
        while tag < last:
            tag, value = memory_order.load_pair(pairs, 2, out[0])
            out[1] += value != tag * out[0]
            memory_order.pause()


@cuda.jit
def hand_over_words(pairs, last, out):
    """As `hand_over_pairs`, a word at a time: what a pair prevents."""
    if cuda.grid(1) == 0:
        for tag in range(1, last + 1):
            memory_order.store_relaxed(pairs, 2, tag)
            memory_order.store_relaxed(pairs, 3, tag * out[0])
    else:
        tag = 0
        while tag < last:
            tag = memory_order.load_relaxed(pairs, 2)
            out[1] += memory_order.load_relaxed(pairs, 3) != tag * out[0]
            memory_order.pause()


def torn(kernel, factor, weak, seeds=20):
    """How many pairs were seen whose words are of two stores."""
    seen = 0
    for seed in range(seeds):
        memory = WeakMemory(seed) if weak else None
        pairs, out = np.zeros(4, np.int64), np.array([factor, 0])
        Executor(seed, 0.5, memory=memory).launch(kernel, 3, 1, (pairs, 6, out))
        seen += out[1]
    return seen


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("factor", [7, 0.5])
def test_a_pair_is_never_torn_and_two_words_are(factor, weak):
    assert torn(hand_over_pairs, factor, weak) == 0
    if isinstance(factor, int):
        assert torn(hand_over_words, factor, weak) > 0


def test_a_pair_is_one_access_of_sixteen_bytes():
    ptx, _ = cuda.compile(
        hand_over_pairs.py_func,
        (int64[::1], int64, float64[::1]),
        device=False,
        abi="numba",
        cc=(9, 0),
    )
    assert ptx.count("ld.relaxed.gpu.global.b128") == ptx.count("mov.b128 {") > 0
    assert "st.relaxed.gpu.global.b128" in ptx


def test_a_pair_needs_words_of_64_bits():
    with pytest.raises(Exception, match="array of int64 and a value of 64 bits"):
        cuda.compile(
            hand_over_pairs.py_func,
            (float64[::1], int64, float64[::1]),
            device=False,
            abi="numba",
            cc=(9, 0),
        )
