"""Atomics under contention, and the multicore codes raced again and again."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from deveci_matching.baselines.examples import MOST, MULTICORE, assert_maximum, skew, uniform
from numba import njit, prange
from numba.core.errors import TypingError

from papers.common.problems.graph import bipartite
from papers.deveci_matching.baselines import hk, p_hk, solvers
from papers.deveci_matching.baselines.atomics import (
    atomic_add,
    compare_and_swap,
    exchange,
    load,
    store,
)


@njit
def _once(sums, seen, baton, given, raised, flags, i):
    """Change the same few elements as many other threads do."""
    seen[atomic_add(sums, 0, 1)] += 1
    atomic_add(sums, 1, -i)
    given[i] = exchange(baton, 0, i)
    old = load(raised, 0)
    while True:
        was = compare_and_swap(raised, 0, old, old + 2)
        if was == old:
            break
        old = was
    if load(flags, i % 100) == 0 and compare_and_swap(flags, i % 100, 0, 3) == 0:
        atomic_add(sums, 2, 1)


@njit(parallel=True)
def _all_at_once(sums, seen, baton, given, raised, flags):
    for i in prange(seen.size):
        _once(sums, seen, baton, given, raised, flags, np.int64(i))


def contend(threads, n=200_000):
    """Sums are exact, tickets and the baton are handed out once, every flag has one winner."""
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        sums, seen = np.zeros(3, np.int64), np.zeros(n, np.int32)
        baton, given = np.array([n], np.int64), np.empty(n, np.int64)
        raised, flags = np.zeros(1, np.int32), np.zeros(100, np.uint8)
        _all_at_once(sums, seen, baton, given, raised, flags)
    finally:
        numba.set_num_threads(before)
    assert sums.tolist() == [n, -n * (n - 1) // 2, 100]
    assert (seen == 1).all()
    assert np.array_equal(np.sort(np.append(given, baton)), np.arange(n + 1))
    assert raised[0] == 2 * n
    assert (flags == 3).all()


def race(threads, rounds):
    """The multicore codes, again and again: each time another interleaving."""
    graphs = uniform(3000, 3, 11), skew(3000, 6, 12), uniform(20000, 3, 13)
    for graph in graphs:
        size = solvers.solve(graph, "hk").cardinality
        for code in MULTICORE:
            state = solvers.SOLVERS[code].upload(graph, threads=threads, initial="empty")
            for _ in range(rounds):
                solvers.run(state)
                assert solvers.download(state).cardinality == size, (code, threads)
            assert_maximum(graph, solvers.download(state))


def crowd(threads, rounds, rows=4000, free=1100):
    """P-HK's first level where all free columns look at the same rows, half of them matched.

    Who starts late catches up over the claimed rows; from there on threads meet at every row.
    """
    half = rows // 2
    pattern = np.zeros((rows, free + half), bool)
    pattern[:, :free] = True
    pattern[np.arange(half), free + np.arange(half)] = True
    graph = bipartite(pattern)
    rmatch = np.append(free + np.arange(half), np.full(half, -1)).astype(np.int32)
    work = p_hk.allocate(rows, graph.columns, threads)
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        for _ in range(rounds):
            work.level[:] = 0
            work.queue[:free] = np.arange(free)
            work.counters[:] = 0
            last = p_hk._levels_of(graph.cxadj, graph.cadj, rmatch, work, hk.FIRST, free, 2**62)
            assert last == 0
            assert work.counters[p_hk.ENDS] == half
            assert np.array_equal(np.sort(work.ends[:half]), half + np.arange(half))
            assert work.counters[p_hk.TAIL] == graph.columns
            assert np.array_equal(np.sort(work.queue), np.arange(graph.columns))
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("threads", range(1, min(3, MOST) + 1))
def test_levels_claim_each_row_once(threads):
    crowd(threads, rounds=5)


@pytest.mark.parametrize("threads", range(1, min(3, MOST) + 1))
def test_atomics_under_contention(threads):
    contend(threads)


def test_races():
    race(MOST, rounds=3)


def test_more_threads_than_cores():
    """Three and four threads, also on a machine of two cores: in a process of its own."""
    here = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "NUMBA_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive", "PYTHONPATH": os.pathsep.join(here),
    }  # fmt: skip
    subprocess.run([sys.executable, __file__], env=environment, check=True, timeout=200)


@njit
def _store(array, index, value):
    return store(array, index, value)


@njit
def _add(array, index, value):
    return atomic_add(array, index, value)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_store_converts_as_an_assignment_does(dtype):
    array = np.zeros(4, dtype)[::2]
    assert _store(array, 1, 200) == 200
    assert array.tolist() == [0, 200]


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((2, 2), int), np.zeros(3, bool), (1, 2)])
def test_atomics_take_lines_of_integers_only(array):
    with pytest.raises(TypingError, match="an atomic operation needs"):
        _add(array, 0, 1)


def test_atomics_add_integers_only():
    with pytest.raises(TypingError, match="an atomic operation needs integers"):
        _add(np.zeros(3, int), 0, 1.5)


if __name__ == "__main__":
    for count in (3, 4):
        contend(count)
        crowd(count, rounds=2)
        race(count, rounds=2)
