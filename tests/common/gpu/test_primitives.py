"""Reductions and memory-model accesses, in the executor."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device, launch, primitives


@cuda.jit
def minimum_of_block(values, stop, out):
    shared = cuda.shared.array(64, values.dtype)
    thread = cuda.threadIdx.x
    shared[thread] = values[thread]
    primitives.block_min(shared, thread, stop)
    if thread < stop:
        out[thread] = shared[thread]


@pytest.mark.parametrize("threads", [1, 2, 32, 64])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float64])
def test_block_min_of_residues(threads, dtype):
    rng = np.random.default_rng(threads)
    values = rng.integers(0, 200, threads).astype(dtype)
    stop = 1
    while stop <= threads:
        out = np.zeros(stop, dtype)
        Executor(seed=stop).launch(minimum_of_block, 1, threads, (values, np.int32(stop), out))
        assert np.array_equal(out, values.reshape(-1, stop).min(axis=0))
        stop *= 2


@cuda.jit
def maximum_of_block(values, stop, out):
    shared = cuda.shared.array(64, values.dtype)
    thread = cuda.threadIdx.x
    shared[thread] = values[thread]
    primitives.block_max(shared, thread, stop)
    if thread < stop:
        out[thread] = shared[thread]


def test_block_max_of_residues():
    values = np.random.default_rng(1).integers(-200, 200, 64).astype(np.int32)
    for stop in (1, 8, 64):
        out = np.zeros(stop, np.int32)
        Executor(seed=stop).launch(maximum_of_block, 1, 64, (values, np.int32(stop), out))
        assert np.array_equal(out, values.reshape(-1, stop).max(axis=0))


@cuda.jit
def reduce_warp(values, out):
    lane = cuda.threadIdx.x
    out[0, lane] = primitives.warp_min(values[lane])
    out[1, lane] = primitives.warp_sum(values[lane])


def test_every_lane_gets_the_warp_s_result():
    values = np.random.default_rng(3).integers(-50, 50, 32).astype(np.int32)
    out = np.zeros((2, 32), np.int64)
    Executor(seed=1).launch(reduce_warp, 1, 32, (values, out))
    assert (out[0] == values.min()).all()
    assert (out[1] == values.sum()).all()


@cuda.jit
def hand_over(data, flag, out):
    if cuda.grid(1) == 0:
        data[0] = 42
        primitives.store_release(flag, 0, 1)
    else:
        while primitives.load_acquire(flag, 0) == 0:
            pass
        out[0] = data[0]


def test_flag_hands_over_data():
    for seed in range(20):
        data, flag, out = (np.zeros(1, np.int32) for _ in range(3))
        Executor(seed=seed).launch(hand_over, 2, 1, (data, flag, out))
        assert out[0] == 42


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


def test_device_memory_is_poisoned_and_copied():
    device.select("cpu")
    source = np.arange(4)
    copy = device.to_device(source)
    copy[0] = 9
    assert source[0] == 0
    assert (device.empty(3, np.int32) == np.int32(-1515870811)).all()
    host, view = device.mapped(2, np.int64)
    view[1] = 5
    assert host.tolist() == [0, 5]


def test_selecting_a_device():
    assert not device.select("cpu").is_gpu
    assert device.describe().slug == "cpu-executor"
    with pytest.raises(ValueError, match="'tpu'"):
        device.select("tpu")
    if not device.gpu_present():
        with pytest.raises(RuntimeError, match="no CUDA GPU"):
            device.select("gpu")
        assert not device.select("auto").is_gpu
