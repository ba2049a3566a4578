"""Positions of threads, memory of a thread, a block and the grid, and arrays."""

import numpy as np
import pytest
from numba import cuda, float64, int32, int64, uint8

from papers.common.executor.scheduler import (
    Executor,
)

SEEDS = [None, 1, 2]


def run(kernel, grid, block, *args, seed=None, shared_bytes=0, **options):
    executor = Executor(seed, **options)
    executor.launch(kernel, grid, block, args, shared_bytes)
    return executor


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype)


@cuda.jit
def _positions(out, sizes):
    i = cuda.grid(1)
    out[i, 0] = cuda.threadIdx.x
    out[i, 1] = cuda.blockIdx.x
    out[i, 2] = cuda.laneid
    if i == 0:
        sizes[0] = cuda.blockDim.x
        sizes[1] = cuda.gridDim.x
        sizes[2] = cuda.gridsize(1)
        sizes[3] = cuda.warpsize


@pytest.mark.parametrize("seed", SEEDS)
def test_positions_in_one_dimension(seed):
    out, sizes = zeros(120, 3), zeros(4)
    run(_positions, 3, 40, out, sizes, seed=seed)
    i = np.arange(120)
    np.testing.assert_array_equal(out, np.stack([i % 40, i // 40, i % 40 % 32], axis=1))
    assert sizes.tolist() == [40, 3, 120, 32]


@cuda.jit
def _positions_2d(out, lanes):
    x, y = cuda.grid(2)
    width, height = cuda.gridsize(2)
    out[y, x] = y * width + x + 1000 * height
    lanes[y, x] = cuda.laneid


@cuda.jit
def _positions_3d(out):
    t, b = cuda.threadIdx, cuda.blockIdx
    out[b.x * 2 + t.x, b.y * 3 + t.y, b.z * 4 + t.z] += 1


def test_positions_in_two_and_three_dimensions():
    out, lanes = zeros(6, 8), zeros(6, 8)
    run(_positions_2d, (2, 3), (4, 2), out, lanes)
    np.testing.assert_array_equal(out, np.arange(48).reshape(6, 8) + 6000)
    # Lanes follow the linear index x + y * blockDim.x.
    assert lanes[1, :4].tolist() == [4, 5, 6, 7]
    out = zeros(4, 3, 8)
    run(_positions_3d, (2, 1, 2), (2, 3, 4), out)
    assert (out == 1).all()


@pytest.mark.parametrize(("grid", "block"), [(0, 1), (1, 0), (1, 1025), ((1, 1, 1, 1), 1), (1, ())])
def test_bad_launch_shapes_are_refused(grid, block):
    with pytest.raises(ValueError, match=r"grid|block"):
        run(_positions_3d, grid, block, zeros(1, 1, 1))


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="_positions takes 2 arguments, not 1"):
        run(_positions, 1, 1, zeros(1, 3))
    with pytest.raises(TypeError, match="'sizes'"):
        run(_positions, 1, 1, zeros(1, 3), "text")
    with pytest.raises(TypeError, match=r"'out'.*complex"):
        run(_positions, 1, 1, zeros(1, 3, dtype=complex), zeros(4))


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


@pytest.mark.parametrize("seed", [None, *range(20)])
def test_shared_reduction_is_right_under_every_seed(seed):
    values = np.random.default_rng(0).integers(-1000, 1000, 192).astype(np.int32)
    sums = zeros(3)
    executor = run(_block_sum, 3, 64, values, sums, seed=seed, switch=0.2)
    np.testing.assert_array_equal(sums, values.reshape(3, 64).sum(axis=1))
    assert executor.count["barriers"] == 3 * 7


@cuda.jit
def _block_sum_without_last_barriers(values, sums):
    partial = cuda.shared.array(64, int64)
    t = cuda.threadIdx.x
    partial[t] = values[t]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        half //= 2
    if t == 0:
        sums[0] = partial[0]


def test_missing_barrier_in_a_reduction_shows_under_some_seed():
    wrong = 0
    for seed in range(10):
        sums = zeros(1)
        run(_block_sum_without_last_barriers, 1, 64, np.arange(64), sums, seed=seed)
        wrong += sums[0] != 64 * 63 // 2
    assert wrong > 0


@cuda.jit
def _two_arrays_on_one_line(out):
    a, b = cuda.shared.array(4, int32), cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    a[t] = t
    b[t] = 10 + t
    cuda.syncthreads()
    out[t] = a[3 - t]
    out[4 + t] = b[3 - t]


def test_two_shared_arrays_on_one_line_do_not_alias():
    out = zeros(8)
    run(_two_arrays_on_one_line, 1, 4, out)
    assert out.tolist() == [3, 2, 1, 0, 13, 12, 11, 10]


@cuda.jit
def _dynamic_shared(out):
    words = cuda.shared.array(0, int32)
    octets = cuda.shared.array(shape=0, dtype=np.uint8)
    t = cuda.threadIdx.x
    words[t] = 0x01020304 + t
    cuda.syncthreads()
    out[t] = octets[4 * t]
    if t == 0:
        out[3] = words.size
        out[4] = octets.size


def test_dynamic_shared_arrays_alias_the_same_bytes():
    out = zeros(5)
    run(_dynamic_shared, 2, 3, out, shared_bytes=15)
    assert out.tolist() == [4, 5, 6, 3, 15]


@cuda.jit
def _uninitialised(ints, floats):
    shared, local = cuda.shared.array((2, 2), int32), cuda.local.array(2, np.int32)
    reals, singles = cuda.local.array(1, float64), cuda.shared.array(1, np.float32)
    octets = cuda.local.array(3, uint8)
    ints[0] = shared[1, 1]
    ints[1] = local[0]
    ints[2] = octets[0]
    floats[0] = reals[0]
    floats[1] = singles[0]


def test_uninitialised_memory_holds_poison():
    ints, floats = zeros(3), zeros(2, dtype=np.float64)
    run(_uninitialised, 1, 1, ints, floats)
    assert ints[0] < -1
    assert ints[1] < -1
    assert ints[2] != 0
    assert np.isnan(floats).all()


@cuda.jit
def _shared_is_per_block(out):
    box = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        box[0] = cuda.blockIdx.x
    cuda.syncthreads()
    out[cuda.grid(1)] = box[0]


def test_each_block_has_its_own_shared_memory():
    out = zeros(12)
    run(_shared_is_per_block, 4, 3, out, seed=3, switch=0.5)
    assert out.tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3


@cuda.jit
def _local_is_per_thread(out):
    box = cuda.local.array(1, int64)
    i = cuda.grid(1)
    box[0] = i
    cuda.syncthreads()
    out[i] = box[0]


def test_each_thread_has_its_own_local_memory():
    out = zeros(8)
    run(_local_is_per_thread, 1, 8, out)
    assert out.tolist() == list(range(8))


@cuda.jit
def _array_attributes(matrix, out):
    row = matrix[1]
    out[0] = len(matrix)
    out[1] = matrix.shape[1]
    out[2] = matrix.ndim
    out[3] = matrix.size
    out[4] = row[2]
    row[0] = 77
    out[5] = matrix[0:2, 1][1]
    for value in row:
        out[6] += value


@pytest.mark.parametrize("order", ["C", "F"])
def test_array_attributes_rows_and_slices(order):
    matrix, out = np.asarray([[1, 2, 3], [4, 5, 6]], np.uint8, order=order), zeros(7)
    run(_array_attributes, 1, 1, matrix, out)
    assert out.tolist() == [2, 3, 2, 6, 6, 5, 77 + 5 + 6]
    assert matrix[1, 0] == 77
