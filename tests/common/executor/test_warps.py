"""Shuffles, votes and masks of warps, and the functions of bits."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import (
    DeadlockError,
    Executor,
    ExecutorError,
)

SEEDS = [None, 1, 2]
FULL = 0xFFFFFFFF


def run(kernel, grid, block, *args, seed=None, shared_bytes=0, **options):
    executor = Executor(seed, **options)
    executor.launch(kernel, grid, block, args, shared_bytes)
    return executor


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype)


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
