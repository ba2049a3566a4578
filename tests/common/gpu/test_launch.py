"""Bound launches."""

import numpy as np
from numba import cuda

from papers.common.gpu import device, launch


@cuda.jit
def add_one(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += 1


def test_a_bound_launch_runs_again_and_counts():
    device.select("cpu")
    values = device.to_device(np.arange(5))
    bound = launch.bind(add_one, 2, 4, values)
    bound()
    bound()
    assert bound.name == "add_one"
    assert bound.count == 2
    assert device.to_host(values).tolist() == [2, 3, 4, 5, 6]
    bound.reset()
    assert bound.count == 0
