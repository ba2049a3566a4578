"""The CPU executor: positions, memory, barriers, warps, races, and the errors that it reports."""

import math
import time

import numpy as np
import pytest
from numba import cuda, float64, int32, int64, uint8
from numba.cuda.cudadrv.error import NvvmSupportError

from papers.common.executor.scheduler import (
    BarrierDivergenceError,
    DeadlockError,
    Executor,
    ExecutorError,
    StepLimitError,
)

SEEDS = [None, 1, 2]
FULL = 0xFFFFFFFF


def run(kernel, grid, block, *args, seed=None, shared_bytes=0, **options):
    executor = Executor(seed, **options)
    executor.launch(kernel, grid, block, args, shared_bytes)
    return executor


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype)


# --------------------------------------------------------------------------------- positions


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


# ------------------------------------------------------------------------------------ memory


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


# ------------------------------------------------------------------------------ index, overflow


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


# ---------------------------------------------------------------------------------- barriers


@cuda.jit
def _votes(predicate, out):
    t = cuda.threadIdx.x
    out[t, 0] = cuda.syncthreads_count(predicate[t])
    out[t, 1] = cuda.syncthreads_and(predicate[t])
    out[t, 2] = cuda.syncthreads_or(predicate[t])


@pytest.mark.parametrize("predicate", [[0, 0, 0, 0], [1, 0, 1, 1], [1, 1, 1, 1]])
@pytest.mark.parametrize("seed", SEEDS)
def test_block_votes(predicate, seed):
    out = zeros(4, 3)
    run(_votes, 1, 4, np.array(predicate, np.int32), out, seed=seed)
    assert (out == [sum(predicate), all(predicate), any(predicate)]).all()


@cuda.jit
def _half_returns(out):
    t = cuda.threadIdx.x
    if t >= 4:
        return
    out[t] = 1
    cuda.syncthreads()
    out[4 + t] = out[3 - t]


@pytest.mark.parametrize("seed", [None, *range(10)])
def test_returned_threads_do_not_hold_a_barrier(seed):
    out = zeros(8)
    run(_half_returns, 1, 8, out, seed=seed, switch=0.5)
    assert out.tolist() == [1] * 8


@cuda.jit
def _grid_phases(a, b, out):
    i = cuda.grid(1)
    n = a.size
    grid = cuda.cg.this_grid()
    a[i] = i
    grid.sync()
    b[i] = a[(i + n // 2) % n]
    grid.sync()
    out[i] = b[n - 1 - i]


@pytest.mark.parametrize("seed", [None, *range(10)])
def test_grid_sync_over_five_blocks(seed):
    a, b, out = zeros(40), zeros(40), zeros(40)
    executor = run(_grid_phases, 5, 8, a, b, out, seed=seed, switch=0.3)
    i = np.arange(40)
    np.testing.assert_array_equal(out, (39 - i + 20) % 40)
    assert executor.count["barriers"] == 2


@cuda.jit
def _grid_against_block():
    if cuda.threadIdx.x < 2:
        cuda.cg.this_grid().sync()
    else:
        cuda.syncthreads()


@cuda.jit
def _return_before_grid_sync():
    if cuda.grid(1) < 3:
        return
    cuda.cg.this_grid().sync()


@cuda.jit
def _warp_against_block():
    if cuda.threadIdx.x == 0:
        cuda.syncwarp()
    else:
        cuda.syncthreads()


@pytest.mark.parametrize("seed", SEEDS)
def test_deadlocks_say_who_waits_where(seed):
    with pytest.raises(DeadlockError) as caught:
        run(_grid_against_block, 3, 4, seed=seed)
    text = str(caught.value)
    assert "6 thread(s) at grid sync" in text
    assert "6 thread(s) at syncthreads" in text
    assert "block 0-2 thread 0-1" in text
    assert "block 0-2 thread 2-3" in text
    assert "in _grid_against_block" in text
    with pytest.raises(DeadlockError, match=r"(?s)5 thread\(s\) at grid sync.*3 thread.*returned"):
        run(_return_before_grid_sync, 2, 4, seed=seed)
    with pytest.raises(DeadlockError, match=r"syncwarp mask 0xffffffff.*thread 0"):
        run(_warp_against_block, 1, 4, seed=seed)


@cuda.jit
def _diverging(odd):
    if cuda.threadIdx.x % 2 == odd:
        cuda.syncthreads()
    else:
        cuda.syncthreads()


@cuda.jit(device=True)
def _barrier():
    cuda.syncthreads()


@cuda.jit
def _diverging_in_a_device_function(odd):
    if cuda.threadIdx.x % 2 == odd:
        _barrier()
    else:
        _barrier()


@pytest.mark.parametrize("kernel", [_diverging, _diverging_in_a_device_function])
@pytest.mark.parametrize("seed", SEEDS)
def test_divergent_barriers_are_reported(kernel, seed):
    with pytest.raises(BarrierDivergenceError) as caught:
        run(kernel, 1, 4, 0, seed=seed)
    text = str(caught.value)
    assert "thread 0, 2" in text
    assert "thread 1, 3" in text
    run(kernel, 1, 4, 2, seed=seed)  # all threads in the same branch


@cuda.jit
def _fails_in_one_thread(a):
    cuda.syncthreads()
    if cuda.grid(1) == 6:
        a[0] = 1 // a[1]
    cuda.syncthreads()
    a[2] = 1


def test_an_exception_carries_a_note_and_stops_the_launch():
    a = zeros(3)
    executor = Executor()
    with pytest.raises(ZeroDivisionError) as caught:
        executor.launch(_fails_in_one_thread, 2, 4, (a,))
    assert caught.value.__notes__ == [
        "in kernel _fails_in_one_thread, block (1, 0, 0), thread (2, 0, 0)"
    ]
    a[1] = 1
    executor.launch(_fails_in_one_thread, 2, 4, (a,))  # the executor is usable afterwards
    assert a.tolist() == [1, 1, 1]


def test_an_exception_unwinds_the_waiting_threads():
    unwound = []

    @cuda.jit
    def kernel(a):
        try:
            cuda.syncthreads()
            a[9] = 1
        finally:
            unwound.append(cuda)

    with pytest.raises(IndexError):
        run(kernel, 2, 4, zeros(1))
    assert len(unwound) >= 4  # all of the block that had started


@cuda.jit
def _never_ends(a):
    while a[0] == 0:
        pass


@cuda.jit
def _never_ends_in_barriers():
    while True:
        cuda.syncthreads()


@pytest.mark.parametrize("seed", SEEDS)
def test_step_limit(seed):
    with pytest.raises(StepLimitError, match=r"_never_ends.*10000"):
        run(_never_ends, 1, 2, zeros(1), seed=seed, max_accesses=10_000)
    with pytest.raises(StepLimitError, match="_never_ends_in_barriers"):
        run(_never_ends_in_barriers, 1, 2, seed=seed, max_accesses=1000)


# ------------------------------------------------------------------------------------- warps


@cuda.jit
def _shuffles(values, out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.shfl_sync(FULL, values[t], 3)
    out[1, t] = cuda.shfl_up_sync(FULL, values[t], 2)
    out[2, t] = cuda.shfl_down_sync(FULL, values[t], 5)
    out[3, t] = cuda.shfl_xor_sync(FULL, values[t], 9)
    out[4, t] = cuda.shfl_sync(FULL, values[t], 35)  # modulo the warp


@pytest.mark.parametrize("seed", SEEDS)
def test_shuffles(seed):
    values, out = np.arange(100, 164), zeros(5, 64)
    run(_shuffles, 1, 64, values, out, seed=seed, switch=0.3)
    lane, first = np.arange(64) % 32, np.arange(64) // 32 * 32
    np.testing.assert_array_equal(out[0], 100 + first + 3)
    np.testing.assert_array_equal(out[1], 100 + first + np.where(lane < 2, lane, lane - 2))
    np.testing.assert_array_equal(out[2], 100 + first + np.where(lane > 26, lane, lane + 5))
    np.testing.assert_array_equal(out[3], 100 + first + (lane ^ 9))
    np.testing.assert_array_equal(out[4], out[0])


@cuda.jit
def _votes_of_warps(values, out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.ballot_sync(FULL, values[t] > 1)
    out[1, t] = cuda.all_sync(FULL, values[t] > 0)
    out[2, t] = cuda.any_sync(FULL, values[t] > 2)
    out[3, t] = cuda.match_any_sync(FULL, values[t])
    mask, same = cuda.match_all_sync(FULL, values[t])
    out[4, t] = mask
    out[5, t] = same
    out[6, t] = cuda.eq_sync(FULL, values[t] > 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_warp_votes(seed):
    values, out = np.ones(64, np.int64), zeros(7, 64)
    values[[1, 31]] = 3
    values[40] = 2
    run(_votes_of_warps, 1, 64, values, out, seed=seed, switch=0.3)
    threes = 1 << 1 | 1 << 31
    # Numba types these masks int32: lane 31 makes them negative.
    assert set(out[0, :32]) == {threes - 2**32}
    assert set(out[0, 32:]) == {1 << 8}
    assert (out[1] == 1).all()
    assert set(out[2, :32]) == {1}
    assert set(out[2, 32:]) == {0}
    assert out[3, 1] == out[3, 31] == threes - 2**32
    assert out[3, 0] == FULL ^ threes
    assert out[3, 40] == 1 << 8
    assert (out[4] == 0).all()
    assert (out[5] == 0).all()
    assert (out[6] == 1).all()
    run(_votes_of_warps, 1, 32, np.full(32, 4), out, seed=seed)
    assert (out[4, :32] == -1).all()
    assert (out[5, :32] == 1).all()


@cuda.jit
def _warp_exchange(box, out):
    t = cuda.threadIdx.x
    box[t] = t
    cuda.syncwarp()
    out[t] = box[t ^ 1]


@cuda.jit
def _warp_exchange_without_sync(box, out):
    t = cuda.threadIdx.x
    box[t] = t
    out[t] = box[t ^ 1]


def test_syncwarp_orders_and_its_absence_shows():
    expected = (np.arange(64) ^ 1).tolist()
    wrong = 0
    for seed in range(10):
        out = zeros(64)
        run(_warp_exchange, 1, 64, np.full(64, -1), out, seed=seed)
        assert out.tolist() == expected
        run(_warp_exchange_without_sync, 1, 64, np.full(64, -1), out, seed=seed)
        wrong += out.tolist() != expected
    assert wrong > 0


@cuda.jit
def _partial_masks(out):
    t = cuda.threadIdx.x
    if t >= 6:
        return
    if t < 2:
        out[t] = cuda.shfl_xor_sync(0b11, 10 + t, 1)
    else:
        cuda.syncwarp(0b111100)
        out[t] = cuda.ballot_sync(0b111100, t != 3)
    out[6 + t] = cuda.shfl_sync(FULL, t, 5)  # lanes 6 and 7 have returned: not waited for


@pytest.mark.parametrize("seed", [None, *range(5)])
def test_masks_of_part_of_a_warp(seed):
    out = zeros(12)
    run(_partial_masks, 1, 8, out, seed=seed, switch=0.5)
    assert out.tolist() == [11, 10] + [0b110100] * 4 + [5] * 6


@cuda.jit
def _last_lane_returns(out):
    t = cuda.threadIdx.x
    if t < 3:
        cuda.syncwarp()
        out[t] = 1


@pytest.mark.parametrize("seed", [None, *range(5)])
def test_a_lane_that_returns_completes_a_meeting(seed):
    out = zeros(3)
    run(_last_lane_returns, 1, 4, out, seed=seed)
    assert out.tolist() == [1, 1, 1]


@cuda.jit
def _reads_absent_lane(out, reals):
    out[0] = cuda.shfl_sync(FULL, 1, 7)
    reals[0] = cuda.shfl_sync(FULL, 1.0, 7)


def test_value_of_an_absent_lane_is_poison():
    out, reals = zeros(1), zeros(1, dtype=np.float64)
    run(_reads_absent_lane, 1, 1, out, reals)
    assert out[0] < -1
    assert np.isnan(reals[0])


@cuda.jit
def _mask_without_caller():
    cuda.ballot_sync(0b1, True)


def test_mask_without_the_calling_lane_is_an_error():
    with pytest.raises(ExecutorError, match="lane 1 calls ballot_sync with mask 0x1"):
        run(_mask_without_caller, 1, 2)


def test_meeting_at_different_intrinsics_is_a_deadlock():
    @cuda.jit
    def kernel():
        if cuda.laneid == 0:
            cuda.all_sync(0b11, True)
        else:
            cuda.any_sync(0b11, True)

    with pytest.raises(DeadlockError, match=r"(?s)all_sync.*any_sync"):
        run(kernel, 1, 2)


@cuda.jit
def _bits(x, out):
    out[0] = cuda.popc(x)
    out[1] = cuda.clz(x)
    out[2] = cuda.ffs(x)
    out[3] = cuda.brev(x)
    out[4] = cuda.selp(x > 4, 8, 9)
    out[5] = cuda.activemask()
    out[6] = cuda.lanemask_lt()


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0, [0, 32, 0, 0, 9]),
        (12, [2, 28, 3, 0x30000000, 8]),
        (-1, [32, 0, 1, FULL, 9]),
        (0x80000000, [1, 0, 32, 1, 8]),
    ],
)
def test_bit_functions(x, expected):
    out = zeros(7)
    run(_bits, 1, 4, x, out)
    assert out[:5].tolist() == expected
    assert out[5:].tolist() == [0b1000, 0b111]  # written last, by lane 3
    with pytest.raises(OverflowError, match="32-bit"):
        run(_bits, 1, 1, 2**32, out)


@cuda.jit
def _fused(a, out):
    out[0] = cuda.fma(a, a, -1.0)
    out[1] = a * a - 1.0


def test_fma_rounds_once():
    out = zeros(2, dtype=np.float64)
    run(_fused, 1, 1, 1.0 + 2.0**-30, out)
    assert out[0] == 2.0**-29 + 2.0**-60
    assert out[1] == 2.0**-29


@cuda.jit
def _hints(a):
    cuda.stcg(a, 1, cuda.ldcg(a, 0) + 1)
    cuda.stwt(a, 2, cuda.ldcv(a, 1) + cuda.ldca(a, 1))
    cuda.threadfence()
    cuda.threadfence_block()
    cuda.threadfence_system()


def test_cache_hints_are_plain_accesses():
    a = np.array([5, 0, 0])
    assert run(_hints, 1, 1, a).count["accesses"] == 5
    assert a.tolist() == [5, 6, 12]


# ----------------------------------------------------------------------------------- atomics


def atomic_kernel(name):
    operation = getattr(cuda.atomic, name)  # noqa: F841 (fails here if Numba has no such atomic)

    if name == "cas":

        @cuda.jit
        def kernel(a, index, operand, old):
            old[0] = cuda.atomic.cas(a, index, operand, 9)

    elif name == "compare_and_swap":

        @cuda.jit
        def kernel(a, index, operand, old):
            old[0] = cuda.atomic.compare_and_swap(a, operand, 9)

    else:
        source = (
            "def kernel(a, index, operand, old):\n"
            f"    old[0] = cuda.atomic.{name}(a, index, operand)\n"
        )
        scope = {"cuda": cuda}
        exec(source, scope)
        kernel = cuda.jit(scope["kernel"])
    return kernel


ATOMICS = [
    ("add", 5, 3, 8),
    ("sub", 5, 3, 2),
    ("min", 5, 3, 3),
    ("min", 5, 7, 5),
    ("max", 5, 3, 5),
    ("max", 5, 7, 7),
    ("exch", 5, 3, 3),
    ("cas", 5, 5, 9),
    ("cas", 5, 4, 5),
    ("compare_and_swap", 5, 5, 9),
    ("compare_and_swap", 5, 4, 5),
    ("and_", 6, 3, 2),
    ("or_", 6, 3, 7),
    ("xor", 6, 3, 5),
    ("nanmin", 5, 3, 3),
    ("nanmax", 5, 7, 7),
]


@pytest.mark.parametrize(("name", "before", "operand", "after"), ATOMICS)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_atomics_return_the_old_value(name, before, operand, after, dtype):
    a, old = np.array([before], dtype), zeros(1)
    run(atomic_kernel(name), 1, 1, a, 0, operand, old)
    assert (a[0], old[0]) == (after, before)


@pytest.mark.parametrize(
    ("name", "before", "operand", "after"),
    [
        ("inc", 2, 3, 3),
        ("inc", 3, 3, 0),
        ("inc", 9, 3, 0),
        ("dec", 2, 3, 1),
        ("dec", 0, 3, 3),
        ("dec", 9, 3, 3),
    ],
)
def test_wrapping_counters(name, before, operand, after):
    a, old = np.array([before], np.uint32), zeros(1)
    run(atomic_kernel(name), 1, 1, a, 0, operand, old)
    assert (a[0], old[0]) == (after, before)
    with pytest.raises(TypeError, match="int32 array 'a'"):
        run(atomic_kernel(name), 1, 1, a.astype(np.int32), 0, operand, old)


NAN = math.nan


@pytest.mark.parametrize(
    ("name", "before", "operand", "after"),
    [
        ("add", 1.5, 2.0, 3.5),
        ("max", 1.5, NAN, 1.5),
        ("max", NAN, 1.5, NAN),
        ("min", NAN, 1.5, NAN),
        ("nanmax", NAN, 1.5, 1.5),
        ("nanmax", 1.5, NAN, 1.5),
        ("nanmin", NAN, 1.5, 1.5),
        ("nanmin", 2.5, 1.5, 1.5),
    ],
)
def test_float_atomics(name, before, operand, after):
    a, old = np.array([before]), zeros(1, dtype=np.float64)
    run(atomic_kernel(name), 1, 1, a, 0, operand, old)
    np.testing.assert_array_equal([a[0], old[0]], [after, before])


def test_atomics_in_two_dimensions_and_their_errors():
    a, old = zeros(2, 3, dtype=np.int32), zeros(1)
    add = atomic_kernel("add")

    @cuda.jit
    def add_2d(a, i, j, value):
        cuda.atomic.add(a, (i, j), value)

    run(add_2d, 2, 8, a, 1, 2, 3)
    assert a.tolist() == [[0, 0, 0], [0, 0, 48]]
    with pytest.raises(IndexError, match="'a'"):
        run(add_2d, 1, 1, a, 2, 0, 1)
    with pytest.raises(OverflowError, match="int32 array 'a'"):
        run(add_2d, 1, 1, a, 1, 2, 2**31 - 48)
    with pytest.raises(TypeError, match="no such atomic on uint8"):
        run(add, 1, 1, zeros(1, dtype=np.uint8), 0, 1, old)
    with pytest.raises(TypeError, match="no such atomic on float64"):
        run(atomic_kernel("exch"), 1, 1, zeros(1, dtype=np.float64), 0, 1, old)


# ------------------------------------------------------------------------------------- races


@cuda.jit
def _lost_update(f):
    f[0] = f[0] + 1


@cuda.jit
def _no_lost_update(f):
    cuda.atomic.add(f, 0, 1)


def test_lost_updates_show_under_some_seeds_only():
    totals = []
    for seed in range(40):
        f = zeros(1)
        run(_lost_update, 2, 8, f, seed=seed)
        totals.append(int(f[0]))
        f[0] = 0
        run(_no_lost_update, 2, 8, f, seed=seed, switch=0.5)
        assert f[0] == 16
    assert min(totals) < 16
    assert max(totals) == 16
    f = zeros(1)
    run(_lost_update, 2, 8, f)  # in order, nothing is lost
    assert f[0] == 16


@cuda.jit
def _message(data, flag, out, payload_first):
    if cuda.grid(1) == 0:
        if payload_first:
            data[0] = 42
            flag[0] = 1
        else:
            flag[0] = 1
            data[0] = 42
    elif flag[0] == 1:
        out[0] = data[0]


def test_message_passing_race_shows_under_some_seeds_only():
    seen = {True: set(), False: set()}
    for payload_first in (True, False):
        for seed in range(200):
            out = np.array([-1])
            run(_message, 2, 1, zeros(1), zeros(1), out, payload_first, seed=seed, switch=0.3)
            seen[payload_first].add(int(out[0]))
    assert seen[True] == {-1, 42}
    assert seen[False] == {-1, 0, 42}


@cuda.jit
def _record_order(order, counter):
    for _ in range(3):
        order[cuda.atomic.add(counter, 0, 1)] = cuda.grid(1)


def orders(executor, launches):
    found = []
    for _ in range(launches):
        order = zeros(48)
        executor.launch(_record_order, 4, 4, (order, zeros(1)))
        found.append(order.tolist())
    return found


def test_a_seed_fixes_the_interleaving_over_several_launches():
    executor, twin = Executor(7), Executor(7)
    first = orders(executor, 3)
    assert first == orders(twin, 3)
    assert executor.count == twin.count
    assert executor.count["switches"] > 0
    assert first[0] != first[1]  # the generator goes on from launch to launch
    assert first != orders(Executor(8), 3)
    assert orders(Executor(), 1)[0] == [i for i in range(16) for _ in range(3)]


def test_every_access_is_preempted_when_switch_is_one():
    out = zeros(48), zeros(1)
    certain, never = Executor(1, switch=1.0), Executor(1, switch=0.0)
    certain.launch(_record_order, 4, 4, out)
    never.launch(_record_order, 4, 4, (zeros(48), zeros(1)))
    assert certain.count["accesses"] == never.count["accesses"] == 96
    # The last thread left has no one to give its turn to.
    assert 96 - 6 <= certain.count["switches"] <= 96
    assert never.count["switches"] == 0


@cuda.jit
def _spin_lock(lock, total, waits):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        cuda.nanosleep(100)
        cuda.atomic.add(waits, 0, 1)
    total[0] = total[0] + 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@pytest.mark.parametrize("seed", [None, *range(10)])
def test_spin_lock_ends_and_excludes(seed):
    lock, total, waits = zeros(1), zeros(1), zeros(1)
    run(_spin_lock, 2, 8, lock, total, waits, seed=seed, switch=0.3)
    assert total[0] == 16
    assert seed is None or waits[0] > 0


@cuda.jit
def _poll_with_barriers(flag, out):
    while cuda.syncthreads_or(flag[0]) == 0:
        if cuda.blockIdx.x == 2:
            flag[0] = 1
    out[cuda.grid(1)] = 1


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_that_loop_over_barriers_let_others_run(seed):
    out = zeros(12)
    run(_poll_with_barriers, 3, 4, zeros(1), out, seed=seed)
    assert out.sum() == 12


@cuda.jit
def _wait_for_last(flag, out):
    if cuda.grid(1) == cuda.gridsize(1) - 1:
        flag[0] = 1
    while flag[0] == 0:
        pass
    out[cuda.grid(1)] = 1


@pytest.mark.parametrize("seed", SEEDS)
def test_spinning_threads_let_others_run(seed):
    out = zeros(12)
    run(_wait_for_last, 3, 4, zeros(1), out, seed=seed)
    assert out.sum() == 12


# --------------------------------------------------------------------------------- rebinding


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


# ---------------------------------------------------------------------------- hook, counts, cost


@cuda.jit
def _stores(a, m):
    private = cuda.local.array(1, int32)
    box = cuda.shared.array(1, int32)
    private[0] = 1
    box[0] = 2
    a[1] = 3
    m[0, 1] = 4
    cuda.atomic.add(a, 1, 5)


def test_on_access_sees_stores_and_atomics_to_memory_others_see():
    seen = []
    run(_stores, 1, 1, zeros(2), zeros(1, 2), on_access=lambda *event: seen.append(event))
    assert seen == [
        ("store", "box", 0, 2),
        ("store", "a", 1, 3),
        ("store", "m", (0, 1), 4),
        ("atomic", "a", 1, 8),
    ]


def test_on_access_can_stop_a_launch():
    def refuse(kind, name, index, value):
        if value > 3:
            raise AssertionError(f"{name} must stay below 4")

    with pytest.raises(AssertionError, match="f must stay") as caught:
        run(_no_lost_update, 1, 8, zeros(1), on_access=refuse)
    assert "thread (3, 0, 0)" in caught.value.__notes__[0]


def test_counts():
    executor = Executor()
    for _ in range(2):
        executor.launch(_block_sum, 1, 64, (np.arange(64), zeros(1)))
    # Load and store of each thread, three accesses for each of the 63 sums, and the result.
    assert executor.count == {
        "launches": 2,
        "accesses": 2 * (2 * 64 + 3 * 63 + 2),
        "barriers": 14,
        "switches": 0,
    }


@cuda.jit
def _add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def best_time(repeats, executor, *launch):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        executor.launch(*launch)
        times.append(time.perf_counter() - start)
    return min(times)


def test_cost_of_a_thread_and_of_a_barrier():
    # Measured: 3 us and 1 ms. Ten times that on a busy machine still beats one OS thread each.
    executor = Executor()
    a, c = np.arange(5120), zeros(5120)
    assert best_time(5, executor, _add, 20, 256, (a, a, c)) / 5120 < 30e-6
    assert best_time(5, executor, _block_sum, 1, 64, (a, zeros(1))) < 10e-3


def test_constructor_refuses_nonsense():
    with pytest.raises(ValueError, match="probability"):
        Executor(1, switch=1.5)
    with pytest.raises(ValueError, match="warp_size"):
        Executor(warp_size=64)
    with pytest.raises(ValueError, match="shared_bytes"):
        Executor().launch(_diverging, 1, 1, (0,), shared_bytes=-1)
