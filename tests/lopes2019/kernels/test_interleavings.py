"""The racy kernels under many seeded interleavings, several blocks, threads preempted anywhere.

Memory is sequentially consistent here, which shows races of order; `test_memory_order.py` has the
same kernels on a weak memory, which shows a missing fence.
"""

import dataclasses

import numpy as np
import pytest

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.gpu.clocks import no_trace
from papers.common.instances.matrices import uniform
from papers.common.problems import assignment_proof
from papers.lopes2019 import solver

SEEDS = 200
SMALL = solver.Geometry(
    lines_a_bin=3, step_4_threads=4, step_2_threads=8, line_threads=4,
    matrix_threads=8, reduction_threads=8, matrix_blocks=2,
)  # fmt: skip


def state_under(seed, cost, step_4="paper", switch=0.2, configuration="tuned"):
    """A state whose launches run under one interleaving."""
    executor = Executor(seed=seed, switch=switch)
    with device.executing(executor):
        return solver.upload(cost, step_4=step_4, geometry=SMALL, configuration=configuration)


@pytest.mark.parametrize("configuration", ["tuned", "paper"])
def test_step_2_under_interleavings(configuration):
    """Alg. 1: exchange, undo, repeat. Always a maximal set of stars, one a line."""
    cost = (uniform(9, 4, cost_range=3) > 0).astype(np.int32)
    outcomes = set()
    for seed in range(SEEDS):
        state = state_under(seed, cost, configuration=configuration)
        solver.step_1(state, no_trace)
        solver.step_2(state, no_trace)
        row_of = state.arrays["row_of_star_at_column"]
        column_of = state.arrays["column_of_star_at_row"]
        starred = np.flatnonzero(row_of >= 0)
        assert np.array_equal(column_of[row_of[starred]], starred)
        assert (column_of >= 0).sum() == len(starred)
        slack = state.arrays["slack"].reshape(9, 9)
        assert not (slack[np.ix_(row_of < 0, column_of < 0)] == 0).any()
        outcomes.add(tuple(row_of.tolist()))
    assert len(outcomes) > 5, "the interleavings did not differ: the test would prove nothing"


@pytest.mark.parametrize(
    ("step_4", "configuration"),
    [
        ("paper", "tuned"), ("A", "tuned"), ("paper", "paper"),
        *(pytest.param(*names, marks=pytest.mark.nightly)
          for names in (("B", "tuned"), ("C", "tuned"), ("paper", "all_paths"))),
    ],
)  # fmt: skip
def test_step_4_under_interleavings(step_4, configuration):
    """Theorem 1: whatever the interleaving, the marks are those of some serial run.

    A serial run primes only reachable zeros, its primes lead to free columns, and when it finds no
    path its covers are the one minimum cover: no zero is left uncovered.
    """
    cost = uniform(10, 11, cost_range=5)
    covers, found = set(), set()
    for seed in range(SEEDS):
        state = state_under(seed, cost, step_4, configuration=configuration)
        solver.step_1(state, no_trace)
        # No greedy start: every search then has many paths and joins.
        solver.step_3(state, no_trace)
        signal = solver.begin_search(state, no_trace)
        for _ in range(6 if configuration == "tuned" else 30):  # a block that stops finds fewer
            if signal.path_found:
                check_marks(state)
                state.launch("step_5a", "step_5b")
                solver.step_3(state, no_trace)
                signal = solver.begin_search(state, no_trace)
            elif signal.zero_found:
                signal = solver.sweep(state)
            else:
                break
        found.add(tuple(state.arrays["column_of_star_at_row"].tolist()))
        stars = (state.arrays["row_of_star_at_column"] >= 0).sum()
        if not signal.path_found and not signal.zero_found:
            lines = state.arrays["covered_row"], state.arrays["covered_column"]
            slack = state.arrays["slack"].reshape(10, 10)
            assert not (slack[np.ix_(lines[1] == 0, lines[0] == 0)] == 0).any()
            assert lines[0].sum() + lines[1].sum() == stars, "not a minimum cover"
            covers.add(int(stars))
    assert len(found) > 5, "the interleavings did not differ: the test would prove nothing"
    assert len(covers) == 1, "no search ran dry, or maximum matchings of different sizes"


def check_marks(state):
    n = state.n
    prime, star = state.arrays["column_of_prime_at_row"], state.arrays["row_of_star_at_column"]
    starts = 0
    for first in np.flatnonzero(prime >= 0):
        row = first
        assert state.arrays["slack"][prime[row] * n + row] == 0
        starts += state.arrays["column_of_star_at_row"][row] < 0
        for _ in range(n):
            row = star[prime[row]]
            if row < 0:
                break
            assert prime[row] >= 0
        assert row < 0, "primes run in a circle"
    assert starts > 0, "a path was signalled, but no primed row is free"


def test_step_5_under_interleavings():
    """Alg. 3 and 4: paths that join are applied once, the others all; the stars stay a matching.

    Rows 0..3 are free and primed; rows 0 and 1 lead into one path, rows 2 and 3 into another.
    """
    n = 8
    winners = set()
    for seed in range(SEEDS):
        state = state_under(seed, np.zeros((n, n), np.int32))
        a = state.arrays
        for name in ("row_of_star_at_column", "column_of_star_at_row"):
            a[name][:] = -1
        a["row_of_green_at_column"][:] = -1
        a["column_of_prime_at_row"][:] = -1
        for row, column in ((4, 0), (5, 1), (6, 2), (7, 3)):
            a["row_of_star_at_column"][column], a["column_of_star_at_row"][row] = row, column
        # 0 and 1 -> column 0 -> row 4 -> free column 4; 2 -> column 1 -> row 5 -> column 2
        # -> row 6 -> free column 5; 3 -> column 2 joins there; row 7 is a dead end into column 0.
        for row, column in ((0, 0), (1, 0), (4, 4), (2, 1), (5, 2), (6, 5), (3, 2), (7, 0)):
            a["column_of_prime_at_row"][row] = column
        state.launches["step_5a"]()
        state.launches["step_5b"]()
        row_of, column_of = a["row_of_star_at_column"], a["column_of_star_at_row"]
        starred = np.flatnonzero(row_of >= 0)
        assert len(starred) == 6, "each of the two paths adds one star"
        assert np.array_equal(column_of[row_of[starred]], starred)
        assert (column_of >= 0).sum() == 6
        winners.add((column_of[0] >= 0, column_of[2] >= 0))
    assert len(winners) == 4, "not every winner was seen"


@pytest.mark.parametrize("step_4", solver.STEP_4)
def test_whole_runs_under_interleavings(step_4):
    """Compression, search and augmentation together: always optimal, always proved."""
    for seed in range(SEEDS):
        n = 4 + seed % 4
        cost = uniform(n, seed, cost_range=(2, 6, 40)[seed % 3])
        state = state_under(seed, cost, step_4, switch=0.1)
        solver.run(state)
        verdict = assignment_proof.assignment(cost, solver.download(state))
        assert verdict.ok, (seed, verdict)


def test_interleavings_find_a_planted_fault():
    """Without the undo of Alg. 1 some interleaving leaves a zero that could be starred."""
    from numba import cuda

    @cuda.jit
    def step_2_without_undo(zeros, covered_row, covered_column, star, n):
        i = cuda.threadIdx.x
        column = zeros[i] // n
        row = zeros[i] - column * n
        mine = cuda.atomic.exch(covered_row, row, 1) == 0
        if mine and cuda.atomic.exch(covered_column, column, 1) == 0:
            star[column] = row

    zeros = np.array([0, 1, 2, 3], np.int32)  # a full 2 x 2: a perfect matching exists
    sizes = set()
    for seed in range(50):
        star = np.full(2, -1, np.int32)
        covers = np.zeros(2, np.int32), np.zeros(2, np.int32)
        Executor(seed=seed, switch=0.3).launch(
            step_2_without_undo, 1, 4, (zeros, *covers, star, np.int32(2))
        )
        sizes.add(int((star >= 0).sum()))
    assert min(sizes) < 2, "the executor never met the race that the undo is there for"


def test_geometry_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SMALL.lines_a_bin = 1
