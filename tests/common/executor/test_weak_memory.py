"""The weak memory by small kernels of which it is known what a GPU may do, and what not."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from memory_sites import PACKAGE, sites_below, sites_in
from numba import cuda

from papers.common.executor.knowledge import BLOCK, GPU
from papers.common.executor.ranks import AbandonedError, Ranks
from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu.memory_order import (
    load_acquire,
    load_acquire_system,
    load_relaxed,
    load_relaxed_block,
    load_relaxed_system,
    pause,
    release_at,
    store_at,
    store_relaxed,
    store_relaxed_block,
    store_release,
)

SEEDS = 150
HERE = PACKAGE / "common" / "executor"

NOTHING, FENCE, FENCE_OF_BLOCK, ORDERED, ATOMIC = range(5)
"""Orders of a message, on either side: `ORDERED` is the release or the acquire itself."""


def outcomes(kernel, grid, block, *given, words=2, seeds=SEEDS, **options):
    """All contents of the last array, over many seeds; memory and the results begin as zeros."""
    found = set()
    for seed in range(seeds):
        memory, out = np.zeros(4, np.int32), np.zeros(words, np.int32)
        weak = WeakMemory(seed, **options)
        Executor(seed, 0.3, memory=weak).launch(kernel, grid, block, (memory, *given, out))
        found.add(tuple(out.tolist()))
    return found


# ------------------------------------------------------------------------------- message passing


@cuda.jit
def message(memory, sender, receiver, out):
    """Word 0, then the flag in word 1; the other looks at the flag, then at word 0."""
    if cuda.grid(1) == 0:
        memory[0] = 7
        if sender == FENCE:
            cuda.threadfence()
        elif sender == FENCE_OF_BLOCK:
            cuda.threadfence_block()
        if sender == ORDERED:
            store_release(memory, 1, 1)
        elif sender == ATOMIC:
            cuda.atomic.add(memory, 1, 1)
        else:
            store_relaxed(memory, 1, 1)
    else:
        if receiver == ORDERED:
            out[0] = load_acquire(memory, 1)
        else:
            out[0] = load_relaxed(memory, 1)
        if receiver == FENCE:
            cuda.threadfence()
        elif receiver == FENCE_OF_BLOCK:
            cuda.threadfence_block()
        out[1] = memory[0]


@pytest.mark.parametrize("sender", [FENCE, ORDERED, ATOMIC, NOTHING])
@pytest.mark.parametrize("receiver", [FENCE, ORDERED, NOTHING])
def test_a_message_needs_an_order_on_both_sides(sender, receiver):
    """Between blocks: what was stored before the flag is seen behind it, or it may not be."""
    found = outcomes(message, 2, 1, sender, receiver)
    ordered = sender in (FENCE, ORDERED) and receiver in (FENCE, ORDERED)
    assert ((1, 0) in found) == (not ordered)
    assert found >= {(0, 0), (0, 7), (1, 7)}


def test_a_fence_of_the_block_orders_within_a_block_only():
    for grid, block in ((1, 2), (2, 1)):
        found = outcomes(message, grid, block, FENCE_OF_BLOCK, FENCE_OF_BLOCK)
        assert ((1, 0) in found) == (grid == 2)


@cuda.jit
def through_another(memory, fences, out):
    """Thread 0 tells thread 1, which tells thread 2; all three in blocks of their own."""
    who = cuda.grid(1)
    if who == 0:
        memory[0] = 7
        store_release(memory, 1, 1)
    elif who == 1:
        if load_acquire(memory, 1) == 1:
            if fences:
                cuda.threadfence()
            store_relaxed(memory, 2, 1)
    elif load_acquire(memory, 2) == 1:
        out[0] = 1
        out[1] = memory[0]


def test_order_goes_on_through_a_third_thread():
    assert outcomes(through_another, 3, 1, True, seeds=300) == {(0, 0), (1, 7)}
    assert (1, 0) in outcomes(through_another, 3, 1, False, seeds=300)


@cuda.jit
def last_of_three(memory, out):
    """Every thread leaves a one and ticks; the last to tick sees all of them."""
    who = cuda.grid(1)
    memory[who] = 1
    cuda.threadfence()
    if cuda.atomic.add(memory, 3, 1) == 2:
        cuda.threadfence()
        out[0] = memory[0] + memory[1] + memory[2]


def test_atomics_pass_on_what_those_before_carry():
    assert outcomes(last_of_three, 3, 1, words=1) == {(3,)}


# ------------------------------------------------------------------------------- other shapes


@cuda.jit
def both_store_first(memory, fence, out):
    who = cuda.grid(1)
    store_relaxed(memory, who, 1)
    if fence:
        cuda.threadfence()
    out[who] = load_relaxed(memory, 1 - who)


def test_two_that_store_first_may_both_miss_the_other():
    """Store buffering; ``fence.sc`` forbids it."""
    assert outcomes(both_store_first, 2, 1, False) == set(product((0, 1), repeat=2))
    assert outcomes(both_store_first, 2, 1, True) == {(0, 1), (1, 0), (1, 1)}


@cuda.jit
def two_words_twice(memory, fence, out):
    """Each stores to both words, in opposite orders; memory at the end is the outcome."""
    who = cuda.grid(1)
    store_relaxed(memory, who, 1 + who)
    if fence:
        cuda.threadfence()
    store_relaxed(memory, 1 - who, 1 + who)
    cuda.cg.this_grid().sync()
    out[who] = memory[who]


def test_a_late_store_loses_against_one_that_was_made_before():
    """2+2W: both words keep the first of their two stores, unless fences forbid it."""
    assert (1, 2) in outcomes(two_words_twice, 2, 1, False, seeds=300)
    assert (1, 2) not in outcomes(two_words_twice, 2, 1, True, seeds=300)


@cuda.jit
def one_word(memory, out):
    if cuda.grid(1) == 0:
        for value in range(1, 4):
            store_relaxed(memory, 0, value)
            out[3] += memory[0] == value  # a thread sees its own stores
    else:
        for k in range(3):
            out[k] = load_relaxed(memory, 0)


def test_one_word_is_coherent():
    """Nobody sees the versions of a word in another order than anybody else."""
    found = outcomes(one_word, 2, 1, words=4)
    assert all(a <= b <= c and own == 3 for a, b, c, own in found)
    assert len(found) > 10


@cuda.jit
def count(memory, out):
    for _ in range(3):
        cuda.atomic.add(memory, 0, 1)
    cuda.cg.this_grid().sync()
    if cuda.grid(1) == 0:
        out[0] = memory[0]


def test_no_atomic_is_lost():
    assert outcomes(count, 3, 2, words=1, seeds=40) == {(18,)}


@cuda.jit
def own_store(memory, out):
    memory[cuda.grid(1)] = 5
    out[cuda.grid(1)] = memory[cuda.grid(1)]


def test_a_thread_sees_its_own_stores():
    assert outcomes(own_store, 2, 1, seeds=20) == {(5, 5)}


# ------------------------------------------------------------------------------- barriers


GRID, BLOCKS, WARP, SHUFFLE = range(4)


@cuda.jit
def behind_a_barrier(memory, barrier, out):
    who = cuda.grid(1)
    shared = cuda.shared.array(4, np.int32)
    memory[who], shared[who] = 1, 1
    if barrier == GRID:
        cuda.cg.this_grid().sync()
    elif barrier == BLOCKS:
        cuda.syncthreads()
    elif barrier == WARP:
        cuda.syncwarp()
    else:
        cuda.shfl_sync(0xFFFFFFFF, who, 0)
    out[who] = memory[1 - who]
    out[2 + who] = shared[1 - who] == 1


@pytest.mark.parametrize("barrier", [GRID, BLOCKS, WARP, SHUFFLE])
def test_barriers_order_and_shuffles_do_not(barrier):
    found = outcomes(behind_a_barrier, 1, 2, barrier, words=4)
    if barrier == SHUFFLE:
        assert len(found) > 4
    else:
        assert found == {(1, 1, 1, 1)}


@cuda.jit
def block_barrier_only(memory, out):
    memory[cuda.grid(1)] = 1
    cuda.syncthreads()
    out[cuda.blockIdx.x] = memory[2 - 2 * cuda.blockIdx.x]


def test_a_barrier_of_the_block_says_nothing_to_another():
    found = outcomes(block_barrier_only, 2, 2)
    assert found == set(product((0, 1), repeat=2))


@cuda.jit
def of_the_other(memory, out):
    out[cuda.grid(1)] = memory[1 - cuda.grid(1)]


def test_the_end_of_a_launch_orders_all():
    for seed in range(20):
        executor = Executor(seed, 0.3, memory=WeakMemory(seed))
        memory, out = np.zeros(4, np.int32), np.zeros(2, np.int32)
        executor.launch(own_store, 2, 1, (memory, out))
        executor.launch(of_the_other, 2, 1, (memory, out))
        assert out.tolist() == [5, 5]


# ------------------------------------------------------------------------------- leaving out


def sites_of(kernel, *given):
    """The sites that two threads come by."""
    weak, out = WeakMemory(0), np.zeros(2, np.int32)
    Executor(0, memory=weak).launch(kernel, 2, 1, (np.zeros(4, np.int32), *given, out))
    return [site for site in weak.sites if site[0] == __file__]


def test_a_site_that_is_left_out_orders_nothing():
    (fence,) = sites_of(both_store_first, True)
    assert (0, 0) in outcomes(both_store_first, 2, 1, True, without={fence})
    release, acquire = sites_of(message, ORDERED, ORDERED)
    for site in (release, acquire):
        assert (1, 0) in outcomes(message, 2, 1, ORDERED, ORDERED, without={site})


def test_every_site_of_the_papers_is_tried():
    """A fence, acquire or release that is new belongs to a test that misses it."""
    folders = {
        folder
        for path in Path(__file__).parents[2].rglob("test_*.py")
        for folder in re.findall(r'sites_below\("([^"]+)"\)', path.read_text(encoding="utf-8"))
    }
    tried = set().union(*(sites_below(folder).values() for folder in folders))
    there = [set(sites_in(path).values()) for path in PACKAGE.rglob("*.py") if path.parent != HERE]
    assert tried == set().union(*there)
    assert len(tried) > 30


# ------------------------------------------------------------------------------- seeds and bounds


@cuda.jit
def wait_for_flag(memory, out):
    if cuda.grid(1) == 0:
        store_relaxed(memory, 0, 1)
    else:
        while load_relaxed(memory, 0) == 0:
            out[0] += 1


def test_a_loop_that_waits_for_a_store_ends():
    found = outcomes(wait_for_flag, 2, 1, words=1, seeds=30, old=0.9)
    assert max(found) > (0,)


def test_a_seed_fixes_a_run():
    def trace(seed):
        executor = Executor(seed, 0.3, memory=WeakMemory(seed))
        traces = []
        for _ in range(4):
            memory, out = np.zeros(4, np.int32), np.zeros(4, np.int32)
            executor.launch(one_word, 2, 1, (memory, out))
            traces.append(out.tolist())
        return traces

    assert trace(3) == trace(3)
    assert len({str(trace(seed)) for seed in range(20)}) > 15


def test_probabilities_leave_a_chance_to_the_last_version():
    for options in ({"old": 1.0}, {"late": -0.1}):
        with pytest.raises(ValueError, match="a probability below 1"):
            WeakMemory(0, **options)


# ------------------------------------------------------------------------------- ranks


@cuda.jit
def tell(data, flag, release):
    store_at(data, 0, 7)
    if release:
        release_at(flag, 0, 1)
    else:
        store_at(flag, 0, 1)


@cuda.jit
def hear(data, flag, acquire, out):
    while load_relaxed_system(flag, 0) == 0:
        pause()
    if acquire:
        load_acquire_system(flag, 0)
    out[0] = data[0]


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize("acquire", [True, False])
def test_a_message_to_another_rank_needs_a_release_and_an_acquire(release, acquire):
    found = set()
    for seed in range(60):
        data, flag, out = (np.zeros(1, np.int64) for _ in range(3))
        ranks = Ranks(seed, 2, WeakMemory(seed))

        def work(rank, ranks=ranks, data=data, flag=flag, out=out):
            given = (data.ctypes.data, flag.ctypes.data, release), (data, flag, acquire, out)
            ranks.executors[rank].launch((tell, hear)[rank], 1, 1, given[rank])

        ranks.run(work)
        found.add(int(out[0]))
    assert found == ({7} if release and acquire else {0, 7})


def test_fences_of_the_gpu_say_nothing_to_another_rank():
    assert GPU > BLOCK
    found = set()
    for seed in range(60):
        memory, out = np.zeros(4, np.int32), np.zeros(2, np.int32)
        ranks = Ranks(seed, 2, WeakMemory(seed))

        def work(rank, ranks=ranks, memory=memory, out=out):
            ranks.executors[rank].launch(fenced[rank], 1, 1, (memory, out))

        ranks.run(work)
        found.add(tuple(out.tolist()))
    assert (1, 0) in found


@cuda.jit
def fenced_sender(memory, out):
    memory[0] = 7
    cuda.threadfence()
    store_relaxed(memory, 1, 1)


@cuda.jit
def fenced_receiver(memory, out):
    while load_relaxed_system(memory, 1) == 0:
        pause()
    cuda.threadfence_system()
    out[0], out[1] = 1, memory[0]


fenced = fenced_sender, fenced_receiver


def test_a_rank_that_fails_ends_all():
    """The error is the first rank's; the one that waits for it is unwound."""
    ended = []

    def work(rank):
        data = np.zeros(1, np.int64)
        if rank == 0:
            raise ValueError("no")
        try:
            ranks.executors[rank].launch(hear, 1, 1, (data, data, True, data))
        except AbandonedError as error:
            ended.append(str(error))
            raise

    for seed in range(4):
        ended.clear()
        ranks = Ranks(seed, 2, WeakMemory(seed))
        with pytest.raises(ValueError, match="no"):
            ranks.run(work)
        assert ended in ([], ["rank 1"])


@cuda.jit
def in_shared_memory(memory, out):
    shared = cuda.shared.array(2, np.int32)
    if cuda.threadIdx.x == 0:
        shared[0], shared[1] = 0, 0
    cuda.syncthreads()
    store_relaxed_block(shared, cuda.threadIdx.x, 1)
    out[cuda.threadIdx.x] = load_relaxed_block(shared, 1 - cuda.threadIdx.x)


def test_shared_memory_is_weak_too():
    assert (0, 0) in outcomes(in_shared_memory, 1, 2)
