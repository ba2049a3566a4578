"""Indices and values out of range, casts, and constants: each fault names its place."""

import math

import numpy as np
import pytest
from numba import cuda, float64, int32

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
def _read_at(a, out, index):
    if cuda.grid(1) == 5:
        out[0] = a[index]


@cuda.jit
def _write_at(a, value, index):
    a[index] = value


@cuda.jit
def _write_at_2d(a, value, i, j):
    a[i, j] = value


@cuda.jit
def _read_at_2d(a, out, i, j):
    out[0, 0] = a[i, j]


@pytest.mark.parametrize("index", [-1, 4, 10**12])
def test_bad_index_names_kernel_block_thread_array_and_index(index):
    with pytest.raises(IndexError) as caught:
        run(_read_at, 2, 4, zeros(4), zeros(1), index)
    for part in ("_read_at", "block (1, 0, 0)", "thread (1, 0, 0)", "'a'", f"index {index}"):
        assert part in str(caught.value)
    assert "thread (1, 0, 0)" in caught.value.__notes__[0]
    with pytest.raises(IndexError, match="'a'"):
        run(_write_at, 1, 1, zeros(4), 1, index)


@pytest.mark.parametrize("index", [(0, 3), (2, 0), (-1, 0), (0, -1)])
def test_bad_index_in_two_dimensions(index):
    a = zeros(2, 3)
    with pytest.raises(IndexError, match=r"index \(.*'a'.*\(2, 3\)"):
        run(_write_at_2d, 1, 1, a, 1, *index)
    with pytest.raises(IndexError, match="'a'"):
        run(_read_at_2d, 1, 1, a, a, *index)
    assert (a == 0).all()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int32", 2**31), ("int32", -(2**31) - 1), ("uint8", 256), ("uint8", -1), ("int64", 2**63)],
)
def test_store_out_of_range_is_refused(dtype, value):
    a = zeros(1, dtype=dtype)
    with pytest.raises(OverflowError, match=f"_write_at.*thread.*{value}.*{dtype}.*'a'"):
        run(_write_at, 1, 1, a, value, 0)
    with pytest.raises(OverflowError, match=f"{dtype}.*'a'"):
        run(_write_at_2d, 1, 1, a.reshape(1, 1), value, 0, 0)
    assert a[0] == 0


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31)])
def test_store_at_the_ends_of_the_range(value):
    a = zeros(1, dtype=np.int32)
    run(_write_at, 1, 1, a, value, 0)
    assert a[0] == value


def test_float_into_an_integer_array_is_refused():
    with pytest.raises(TypeError, match=r"1\.5.*int32.*'a'"):
        run(_write_at, 1, 1, zeros(1, dtype=np.int32), 1.5, 0)


LIMIT = np.int32(2**31 - 1)
TABLE = np.asarray([5, 6, 7], np.int32)


@cuda.jit
def _casts(x, out, reals):
    out[0] = np.int32(x) * np.int32(x)  # int64 in Numba: must not wrap
    out[1] = int32(x) + LIMIT
    out[2] = np.iinfo(np.int32).max
    out[3] = min(np.int64(x), 7) + max(2, 3) + abs(-4)
    out[4] = np.uint8(True) + TABLE[2]
    out[5] = int32(2.9)
    reals[0] = np.float32(0.1)
    reals[1] = math.sqrt(float64(x))
    reals[2] = np.inf


def test_casts_and_constants():
    out, reals = zeros(6), zeros(3, dtype=np.float64)
    run(_casts, 1, 1, np.int32(2_000_000_000), out, reals)
    assert out.tolist() == [4 * 10**18, 2 * 10**9 + 2**31 - 1, 2**31 - 1, 7 + 3 + 4, 1 + 7, 2]
    assert reals.tolist() == [float(np.float32(0.1)), math.sqrt(2e9), math.inf]


@cuda.jit
def _cast_overflow(x, use_numba):
    if cuda.threadIdx.x == 2:
        if use_numba:
            int32(x)
        else:
            np.int32(x)


@pytest.mark.parametrize("use_numba", [False, True])
def test_cast_out_of_range_names_kernel_and_thread(use_numba):
    with pytest.raises(OverflowError, match=r"_cast_overflow.*thread \(2, 0, 0\).*int32"):
        run(_cast_overflow, 1, 4, 2**31, use_numba)


@cuda.jit
def _write_to_constant():
    TABLE[0] = 1


def test_globals_are_frozen_when_the_kernel_is_first_seen():
    table = np.array([1, 2])

    @cuda.jit
    def kernel(out):
        out[0] = table[0]

    executor, out = Executor(), zeros(1)
    executor.launch(kernel, 1, 1, (out,))
    table[0] = 9
    executor.launch(kernel, 1, 1, (out,))
    assert out[0] == 1


def test_global_arrays_are_constants():
    with pytest.raises(TypeError, match="constant"):
        run(_write_to_constant, 1, 1)
    assert TABLE[0] == 5
