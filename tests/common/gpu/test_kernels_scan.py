"""Prefix sums: of a warp, of a block, and of a whole array."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.gpu import kernels_scan, reductions

TILE = 32 * kernels_scan.ITEMS  # entries that a block of one warp takes at a time


@cuda.jit
def scan_warps(values, flags, ranks, totals, sums):
    i = cuda.grid(1)
    ranks[i], totals[i] = reductions.warp_rank(flags[i])
    sums[i] = reductions.warp_scan(values[i])


@pytest.mark.parametrize("seed", range(4))
def test_ranks_and_sums_of_every_warp(seed):
    """Two blocks of two warps: a lane counts its own warp's lanes only."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-1000, 1000, 128).astype(np.int32)
    flags = rng.random(128) < (0, 0.1, 0.6, 1)[seed]
    ranks, totals, sums = (np.full(128, -7, np.int32) for _ in range(3))
    Executor(seed=seed, switch=0.3).launch(scan_warps, 2, 64, (values, flags, ranks, totals, sums))
    by_warp = flags.reshape(4, 32)
    assert np.array_equal(ranks.reshape(4, 32), by_warp.cumsum(axis=1) - by_warp)
    assert np.array_equal(totals.reshape(4, 32), np.repeat(by_warp.sum(axis=1), 32).reshape(4, 32))
    assert np.array_equal(sums.reshape(4, 32), values.reshape(4, 32).cumsum(axis=1))


def scan_block_with(scan, kind):
    @cuda.jit
    def scan_block(values, before, totals):
        scratch = cuda.shared.array(32, kind)
        thread = cuda.threadIdx.x
        rounds = values.shape[0]
        for k in range(rounds):
            before[k, thread], totals[k, thread] = scan(values[k, thread], scratch)

    return scan_block


SCANS = {np.int32: reductions.block_scan, np.int64: reductions.block_scan_int64}


@pytest.mark.parametrize("kind", SCANS)
@pytest.mark.parametrize("threads", [32, 64, 96, 320, 1024])
def test_block_scan_and_its_scratch_is_free_again(threads, kind):
    """Scans follow one another on the same scratch, without a barrier between them."""
    rng = np.random.default_rng(threads)
    values = rng.integers(-50, 50, (3, threads)).astype(kind)
    if kind is np.int64:
        values <<= 40  # sums of 32 bits would lose them
    before, totals = np.zeros_like(values), np.zeros_like(values)
    scan_block = scan_block_with(SCANS[kind], kind)
    Executor(seed=threads, switch=0.2).launch(scan_block, 1, threads, (values, before, totals))
    assert np.array_equal(before, values.cumsum(axis=1) - values)
    assert (totals == values.sum(axis=1)[:, None]).all()


def scanned(values, threads=32, seed=None):
    """The kernel's sums; what it must not write stays poisoned."""
    n = len(values)
    sums = np.full(n + 3, -77, np.int32)
    launch = Executor(seed=seed, switch=0.3).launch
    launch(kernels_scan.exclusive_scan, 1, threads, (np.int32(n), values, sums))
    assert (sums[n + 1 :] == -77).all(), "stored past the end"
    return sums[: n + 1]


def expected(values):
    return np.concatenate([[0], np.cumsum(values, dtype=np.int64)])


SIZES = [
    *(0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 100),
    *(TILE - 4, TILE - 1, TILE, TILE + 1, TILE + 5, 2 * TILE - 1, 2 * TILE, 3 * TILE + 7),
]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("threads", [32, 64, 128])
def test_exclusive_scan(n, threads):
    values = np.random.default_rng(n).integers(0, 40, n).astype(np.int32)
    assert np.array_equal(scanned(values, threads), expected(values))


@pytest.mark.parametrize("n", [33, TILE + 2, 2 * TILE + 1])
@pytest.mark.parametrize(
    "draw",
    [
        lambda n: np.zeros(n),
        lambda n: np.ones(n),
        lambda n: np.full(n, (2**31 - 1) // n),
        lambda n: -np.arange(n),
        lambda n: np.arange(n) == n - 1,
        lambda n: np.arange(n) == 0,
    ],
    ids=["zeros", "ones", "up to int32", "negative", "the last", "the first"],
)
def test_exclusive_scan_of_values(n, draw):
    values = draw(n).astype(np.int32)
    assert np.array_equal(scanned(values), expected(values))


def test_the_total_may_be_the_largest_int32():
    values = np.zeros(TILE + 9, np.int32)
    values[[0, TILE + 8]] = 2**30, 2**30 - 1
    assert scanned(values)[-1] == 2**31 - 1


@pytest.mark.parametrize("seed", range(25))
def test_exclusive_scan_under_interleavings(seed):
    values = np.random.default_rng(seed).integers(0, 9, TILE * 2 + seed).astype(np.int32)
    assert np.array_equal(scanned(values, 32 + 32 * (seed % 3), seed), expected(values))
