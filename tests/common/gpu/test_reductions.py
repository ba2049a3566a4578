"""Reductions over a warp and a block, in the executor."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu import reductions


@cuda.jit
def minimum_of_block(values, stop, out):
    shared = cuda.shared.array(64, values.dtype)
    thread = cuda.threadIdx.x
    shared[thread] = values[thread]
    reductions.block_min(shared, thread, stop)
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
    reductions.block_max(shared, thread, stop)
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
    out[0, lane] = reductions.warp_min(values[lane])
    out[1, lane] = reductions.warp_sum(values[lane])


@cuda.jit
def least_of_warp(values, out):
    lane = cuda.threadIdx.x
    out[lane] = reductions.warp_min_int32(values[lane])


@pytest.mark.parametrize("low", [-(2**31), 0])
def test_the_least_int32_of_a_warp_is_one_instruction(low, monkeypatch):
    import numba.cuda.dispatcher as dispatcher

    values = np.random.default_rng(4).integers(low, 2**31, 32).astype(np.int32)
    out = np.zeros(32, np.int32)
    Executor(seed=1).launch(least_of_warp, 1, 32, (values, out))
    assert (out == values.min()).all()
    card = type("Card", (), {"compute_capability": (8, 0)})
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: card)
    signature, options = "void(int32[::1], int32[::1])", {"device": False, "abi": "numba"}
    ptx, _ = cuda.compile(least_of_warp.py_func, signature, cc=(8, 0), **options)
    assert ptx.count("redux.sync.min.s32") == 1
    with pytest.raises(Exception, match="an int32 is needed"):
        cuda.compile(least_of_warp.py_func, "void(int64[::1], int64[::1])", cc=(8, 0), **options)


def test_every_lane_gets_the_warp_s_result():
    values = np.random.default_rng(3).integers(-50, 50, 32).astype(np.int32)
    out = np.zeros((2, 32), np.int64)
    Executor(seed=1).launch(reduce_warp, 1, 32, (values, out))
    assert (out[0] == values.min()).all()
    assert (out[1] == values.sum()).all()
