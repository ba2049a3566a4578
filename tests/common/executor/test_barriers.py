"""Barriers of blocks and of the grid; deadlocks, divergence, errors and the step limit."""

import numpy as np
import pytest
from numba import cuda

from papers.common.executor.scheduler import (
    BarrierDivergenceError,
    DeadlockError,
    Executor,
    StepLimitError,
)

SEEDS = [None, 1, 2]


def run(kernel, grid, block, *args, seed=None, shared_bytes=0, **options):
    executor = Executor(seed, **options)
    executor.launch(kernel, grid, block, args, shared_bytes)
    return executor


def zeros(*shape, dtype=np.int64):
    return np.zeros(shape, dtype)


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
