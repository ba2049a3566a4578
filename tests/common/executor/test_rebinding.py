"""Kernels are rebound to the executor: globals, closures, device functions."""

import numpy as np
import pytest
from numba import cuda, int64
from numba.cuda.cudadrv.error import NvvmSupportError

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
def _positions_2d(out, lanes):
    x, y = cuda.grid(2)
    width, height = cuda.gridsize(2)
    out[y, x] = y * width + x + 1000 * height
    lanes[y, x] = cuda.laneid


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


@cuda.jit(device=True)
def _factorial(n):
    return 1 if n <= 1 else n * _factorial(n - 1)


@cuda.jit(device=True)
def _first_lane():
    return cuda.laneid == 0


class _GpuOnly:
    """Stands for an intrinsic: cannot be called on the CPU, so it names a substitute."""

    def __init__(self, substitute):
        self.__executor__ = substitute

    def __call__(self, *args):
        raise AssertionError("only a GPU can do this")


def _load(array, index):
    if not _first_lane():
        return np.int32(-1)
    return cuda.ldcv(array, index)


_acquire = _GpuOnly(_load)


@cuda.jit
def _calls(a, out, n=3):
    t = cuda.threadIdx.x
    out[t] = _factorial(n) + _acquire(a, 0)


def test_device_functions_recursion_and_substitutes():
    out = zeros(2)
    run(_calls, 1, 2, np.array([100]), out, 5)
    assert out.tolist() == [220, 119]


def make_kernel(step, offset):
    scale = np.int64(10)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = step(i) * scale + offset

    return kernel


def test_closures_are_rebound_each_with_its_own_cells():
    @cuda.jit(device=True)
    def square(x):
        return x * x + cuda.blockDim.x

    def twice(x):
        return 2 * x

    executor, out = Executor(), zeros(3)
    executor.launch(make_kernel(square, 1), 1, 3, (out,))
    assert out.tolist() == [31, 41, 71]
    executor.launch(make_kernel(_GpuOnly(twice), np.int32(2)), 1, 3, (out,))
    assert out.tolist() == [2, 22, 42]


def test_plain_functions_run_as_kernels_too():
    out = zeros(3)
    run(_positions_2d.py_func, 1, 3, zeros(1, 3), out.reshape(1, 3))
    assert out.tolist() == [0, 1, 2]


def test_the_real_cuda_is_left_alone():
    before = _block_sum.py_func.__globals__["cuda"]
    run(_block_sum, 1, 64, np.arange(64), zeros(1))
    assert before is cuda is _block_sum.py_func.__globals__["cuda"]
    assert cuda.__name__ == "numba.cuda"
    try:
        ptx, _ = cuda.compile(
            _block_sum.py_func, "void(int32[::1], int64[::1])", abi="numba", cc=(8, 0)
        )
    except NvvmSupportError:
        pytest.skip("the CUDA compiler is not installed")
    assert "bar.sync" in ptx


def test_names_that_the_executor_lacks_are_named():
    @cuda.jit
    def kernel():
        cuda.const.array_like(0)

    with pytest.raises(AttributeError, match=r"executor has no cuda\.const"):
        run(kernel, 1, 1)
