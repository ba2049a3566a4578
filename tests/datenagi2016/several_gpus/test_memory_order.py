"""Ranks that write each other's memory, on a weak memory: each fence is missed when left out."""

from unittest import mock

import numpy as np
import pytest
from datenagi2016.several_gpus import test_kernels
from memory_sites import noticed, sites_below
from nightly import first
from numba import cuda, int64

from papers.common.executor.ranks import Ranks
from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu.memory_order import load_acquire_system, load_relaxed_system, pause
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.datenagi2016.kernels.arguments import (
    Covers,
    Lines,
    Marks,
    Predecessors,
    Successors,
)
from papers.datenagi2016.kernels.shared import ACTIVE, MATCHES, REVERSE
from papers.datenagi2016.several_gpus.kernels import peers, strips, tree, window
from papers.datenagi2016.several_gpus.kernels.strips import MPI_FLAGS, OUT

SITES = sites_below("datenagi2016/several_gpus")
i32 = np.int32
PATIENCE = i32(5000)


def ranks_of(seed, count, without):
    return Ranks(seed, count, WeakMemory(seed, without=without), switch=0.5)


def window_of(parts, stride):
    """Every rank's part, and their addresses."""
    parts_of = [np.zeros(window.words_of.py_func(parts, stride), np.int64) for _ in range(parts)]
    return parts_of, np.array([each.ctypes.data for each in parts_of], np.int64)


# ------------------------------------------------------------------------------- a search


def run_search(seed, without=()):
    """A first forward pass on two or three ranks, beside the trees of its definition."""
    ranks = ranks_of(seed, 2 + seed % 2, without)
    with mock.patch.multiple(
        test_kernels,
        at_once=lambda work, parts, without=None: ranks.run(work),
        Executor=lambda seed, switch: ranks.executors[seed % 10],
    ):
        test_kernels.test_ranks_that_write_each_others_lists_search_the_same_trees(
            4 * (seed // 2) + 1 + seed % 2
        )
    return ranks.memory


# ------------------------------------------------------------------------------- an exchange


@cuda.jit
def exchanges(rank, parts, patience, words, addresses, data, flags, out):
    """Blocks leave a word each; behind the exchange every block has all of its rank's.

    One block of a rank counts a row and finds a free column. A second exchange keeps the blocks
    from leaving the next word before all have read this one.
    """
    counts = cuda.shared.array(32, int64)
    b, blocks = cuda.blockIdx.x, cuda.gridDim.x
    for epoch in range(1, 2 * out.size // (3 * blocks), 2):
        if cuda.threadIdx.x == 0:
            data[b] = 10 * epoch + b
            if b == epoch % blocks:
                cuda.atomic.add(flags, OUT + (epoch & 1), 1)
                cuda.atomic.add(flags, REVERSE, 1)
        peers.send_word(epoch, rank, parts, addresses, flags)
        size, path = peers.await_words(epoch, parts, patience, words, counts, flags)
        if cuda.threadIdx.x == 0:
            place = 3 * ((epoch >> 1) * blocks + b)
            out[place] = size
            out[place + 1] = 1 if path else 0
            out[place + 2] = data[(b + 1) % blocks]
            if b == 0:
                flags[REVERSE] = 0
        peers.send_word(epoch + 1, rank, parts, addresses, flags)
        peers.await_words(epoch + 1, parts, patience, words, counts, flags)


def run_exchange(seed, without=()):
    """One or two ranks of three blocks exchange how many rows they have, twice."""
    parts, blocks = (2, 1, 1, 1)[seed % 4], 3
    ranks = ranks_of(seed, parts, without)
    windows, addresses = window_of(parts, 1)

    def work(rank):
        data, flags, out = np.zeros(blocks, i32), np.zeros(MPI_FLAGS, i32), np.zeros(6 * blocks)
        ranks.executors[rank].launch(
            exchanges, blocks, parts,
            (i32(rank), i32(parts), PATIENCE, windows[rank], addresses, data, flags, out),
        )  # fmt: skip
        for k, found in enumerate(out.reshape(-1, 3)):
            epoch, b = 1 + 2 * (k // blocks), k % blocks
            assert found.tolist() == [parts, 1, 10 * epoch + (b + 1) % blocks]

    ranks.run(work)
    return ranks.memory


# ------------------------------------------------------------------------------- thetas


def run_theta(seed, without=()):
    """Two or three ranks agree on their least theta, three times."""
    parts = 2 + seed % 2
    thetas = np.random.default_rng(seed).integers(1, 100, (3, parts))
    ranks = ranks_of(seed, parts, without)
    windows, addresses = window_of(parts, 1)

    def work(rank):
        flags, mine = np.zeros(MPI_FLAGS, i32), windows[rank]
        for given in thetas:
            theta = np.array([given[rank]], i32)
            ranks.executors[rank].launch(
                peers.share_theta, 1, parts,
                (i32(rank), i32(parts), PATIENCE, mine[: 2 * parts], mine[2 * parts : 4 * parts],
                 addresses, theta, flags),
            )  # fmt: skip
            assert theta[0] == given.min()

    ranks.run(work)
    return ranks.memory


# ------------------------------------------------------------------------------- the last block


def run_check(seed, without=()):
    """The last block of a check sends how many rows all blocks have counted."""
    n = 6
    memory = WeakMemory(seed, without=without)
    executor = Executor(seed, 0.5, memory=memory)
    flags, word = np.zeros(MPI_FLAGS, i32), np.zeros(1, np.int64)
    rows_of = np.random.default_rng(seed).permutation(n).astype(i32)
    rows_of[seed % n] = -1
    for sequence in (1, 2):
        lines = [np.zeros(n, i32) for _ in range(9)]
        flags[MATCHES] = 0
        executor.launch(
            strips.optimality_check_of_all, 3, 2,
            (Lines(i32(n), i32(n)), i32(99), rows_of, Covers(*lines[:2]), Predecessors(*lines[2:4]),
             Successors(*lines[4:6]), Marks(*lines[6:8]), lines[8], flags, word),
        )  # fmt: skip
        assert word[0] == sequence << PAYLOAD_BITS | n - 1
    return memory


# ------------------------------------------------------------------------------- the host


@cuda.jit
def host(signal, message, out):
    """As the host reads: the message, once its word has come."""
    while load_acquire_system(signal, 0) == 0:
        pause()
    for k in range(out.size):
        out[k] = load_relaxed_system(message, k)


def run_message(seed, without=()):
    """A message in the host's memory is whole when the host hears of it."""
    ranks = ranks_of(seed, 2, without)
    n = 64
    message, signal = np.zeros(tree.HEADER + n, i32), np.zeros(1, np.int64)
    mark, flags, out = np.zeros(n, i32), np.zeros(MPI_FLAGS, i32), np.zeros(4, i32)
    rows = 5 + seed % 50, 2 + seed % 3
    mark[list(rows)] = ACTIVE
    flags[REVERSE] = 1

    def work(rank):
        if rank == 0:
            arguments = i32(0), i32(n), mark, message, flags, i32(tree.WHAT_GOES), signal
            ranks.executors[0].launch(tree.send_rows, 2, 32, arguments)
        else:
            ranks.executors[1].launch(host, 1, 1, (signal, message, out))

    ranks.run(work)
    assert out[:2].tolist() == [2, 1]
    assert sorted(out[2:].tolist()) == sorted(rows)
    return ranks.memory


# ------------------------------------------------------------------------------- tests

RUNS = {
    "peers.send_word": run_exchange,
    "peers.await_words": run_exchange,
    "peers.share_theta": run_theta,
    "strips.ends_last": run_check,
    "strips.tell_host": run_message,
}
"""The run that comes by a site, by the function that the site is in."""

SEEDS = {run_search: 2, run_exchange: 12, run_theta: 24, run_check: 40, run_message: 40}
"""Runs by day; nightly ten times as many."""


@pytest.mark.parametrize("part", first(1, range(10)))
@pytest.mark.parametrize("run", SEEDS, ids=lambda run: run.__name__)
def test_the_kernels_on_a_weak_memory(run, part):
    for seed in range(part * SEEDS[run], (part + 1) * SEEDS[run]):
        run(seed)


@pytest.mark.parametrize("name", SITES)
def test_a_fence_that_is_left_out_is_missed(name):
    assert noticed(RUNS[name.partition(":")[0]], range(150), SITES[name])
