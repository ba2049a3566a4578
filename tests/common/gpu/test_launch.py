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


def test_a_launch_names_its_arguments():
    device.select("cpu")
    values = device.to_device(np.arange(5))
    bound = launch.bind(add_one, 2, 4, values)
    assert len(bound.arguments) == 1
    assert bound.arguments[0] is values


def test_a_hook_stands_around_a_launch_or_in_its_place():
    device.select("cpu")
    values = device.to_device(np.arange(3))
    bound = launch.bind(add_one, 1, 4, values)
    seen = []

    def watch(enqueue):
        before = values.tolist()
        enqueue()
        seen.append((before, values.tolist()))

    bound.on_enqueue = watch
    assert bound.on_enqueue is watch
    bound()
    assert seen == [([0, 1, 2], [1, 2, 3])]
    bound.on_enqueue = lambda enqueue: None
    bound()
    assert values.tolist() == [1, 2, 3]
    bound.on_enqueue = None
    bound()
    assert values.tolist() == [2, 3, 4]
    assert bound.count == 3
    assert len(seen) == 1
