"""Memory-model accesses, in the executor."""

import numpy as np
from numba import cuda

from papers.common.executor.scheduler import Executor
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
