"""Step 4 on a weak memory: each of its fences is missed when it is left out."""

import numpy as np
import pytest
from lopes2019.kernels.test_interleavings import check_marks
from memory_sites import noticed, sites_below
from nightly import first
from numba import cuda

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.gpu.memory_order import store_relaxed
from papers.common.instances.matrices import uniform
from papers.lopes2019 import solver
from papers.lopes2019.kernels.arguments import Words
from papers.lopes2019.kernels.search import (
    BLOCKS_DONE,
    FLAGS,
    PATH_FOUND,
    ZERO_FOUND,
    send_signals,
)

SITES = sites_below("lopes2019")

NOT_NEEDED = {
    "search.send_signals: store_release_system": "the host looks at this one word; all else that "
    "it reads of a launch it copies after the launch's end, in the stream's order",
}
"""Left out, nothing that is right becomes wrong: the reason why."""

N = 8


def run(seed, without=()):
    """Searches without a greedy start, so that there are many paths; each signal is checked.

    Every second run has one block, whose fences have the block's scope.
    """
    memory = WeakMemory(seed, without=without)
    cost = (uniform(N, seed, cost_range=10) > 4).astype(np.int32)
    with device.executing(Executor(seed, 0.2, memory=memory)):
        state = solver.upload(
            cost,
            step_4=solver.STEP_4[seed // 2 % len(solver.STEP_4)],
            geometry=solver.Geometry(
                lines_a_bin=(2, N)[seed % 2], step_4_threads=(4, 8)[seed % 2], step_2_threads=8,
                line_threads=8, matrix_threads=8, reduction_threads=8, matrix_blocks=2,
            ),
        )  # fmt: skip
    launches = state.launches
    solver.step_1(state, lambda step: None)
    for name in ("step_3_init", "step_3"):
        launches[name]()
    for _ in range(4):
        signal = checked_step_4(state)
        if signal.path_found:
            check_marks(state)
            for name in ("step_5a", "step_5b", "step_3_init", "step_3"):
                launches[name]()
        elif not signal.zero_found:
            break
    return memory


def checked_step_4(state):
    """A launch of step 4, whose signal tells what all of its blocks have done."""
    a = state.arrays
    before = a["covered_column"].copy()
    state.launches["step_4"]()
    signal = state.signal()
    assert signal.path_found == (a["flags"][PATH_FOUND] != 0)
    assert signal.zero_found == (a["covered_column"] != before).any()
    return signal


@cuda.jit
def one_finds(words):
    """Block 1 has found a path and uncovered a column; the last block to end tells the host."""
    if cuda.blockIdx.x == 1:
        store_relaxed(words.flags, PATH_FOUND, 1)
        store_relaxed(words.flags, ZERO_FOUND, 1)
    send_signals(words)


def run_signals(seed, without=()):
    """The end of a launch alone: two launches in a row, each of which finds both."""
    memory = WeakMemory(seed, without=without)
    executor = Executor(seed, 0.5, memory=memory)
    flags, signal = np.zeros(FLAGS, np.int32), np.zeros(1, np.int64)
    for sequence in (1, 2):
        executor.launch(one_finds, 3, 1, (Words(flags, signal),))
        assert signal[0] == sequence << 34 | 1 << 33 | 1 << 32
        assert flags[ZERO_FOUND] == flags[BLOCKS_DONE] == 0
    return memory


@pytest.mark.parametrize("part", first(1, range(10)))
def test_step_4_on_a_weak_memory(part):
    """[L19 Thm.1] on stores that come late and loads that are old."""
    assert sum(run(seed).stale for seed in range(part * 24, part * 24 + 24)) > 20


@pytest.mark.parametrize("name", sorted(SITES.keys() - NOT_NEEDED))
def test_a_fence_that_is_left_out_is_missed(name):
    at_the_end = name.startswith("search.send_signals")
    assert noticed(run_signals if at_the_end else run, range(120), SITES[name])


def test_signals_on_a_weak_memory():
    for seed in range(120):
        run_signals(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NOT_NEEDED)
def test_what_is_not_needed_is_not_missed(name):
    assert noticed(run, range(200), SITES[name]) is None
    assert noticed(run_signals, range(2000), SITES[name]) is None
