"""The one launch on a weak memory: each fence of its step 4 is missed when it is left out."""

import numpy as np
import pytest
from memory_sites import noticed, sites_below
from nightly import first

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.problems import assignment_proof
from papers.kawtikwar_opts import solver

SITES = sites_below("kawtikwar_opts")

NOT_NEEDED = {
    "one_launch.finish: store_release_system": "the host looks at this one word; all else that it "
    "reads of the launch it copies after the launch's end, in the stream's order",
}
"""Left out, nothing that is right becomes wrong: the reason why."""

N = 6


def run(seed, without=(), configuration="tuned"):
    """A whole solve, mostly of one augmentation, in which all rows race.

    All columns but the last are full of zeros. The last one has a single zero, from which, if its
    row's star is in another column, alternating paths lead to all rows. Every second run has one
    bin, whose fences have the block's scope.
    """
    memory = WeakMemory(seed, without=without)
    cost = np.zeros((N, N), np.int32)
    cost[:, -1] = 2
    cost[seed % N, -1] = 1
    with device.executing(Executor(seed, 0.4, memory=memory)):
        state = solver.upload(
            cost, version="opt2", lines_a_bin=(N // 2, N)[seed % 2], threads=32, blocks=2,
            configuration=configuration,
        )  # fmt: skip
        solver.run(state)
        answer = solver.download(state)
    assert assignment_proof.assignment(cost, answer).ok
    counters = answer.counters
    gained = N - counters["matches_initial"]
    assert counters["iterations_step_5"] == gained, "a path that was signalled is none"
    return memory


@pytest.mark.parametrize("part", first(1, range(10)))
def test_the_one_launch_on_a_weak_memory(part):
    assert sum(run(seed).stale for seed in range(part * 10, part * 10 + 10)) > 20


@pytest.mark.parametrize("part", first(1, range(5)))
def test_the_one_launch_as_printed_on_a_weak_memory(part):
    """Its fences are Lopes's, whose own tests leave them out; what is new are the barriers."""
    seeds = range(part * 10, part * 10 + 10)
    assert sum(run(seed, configuration="paper").stale for seed in seeds) > 20


@pytest.mark.parametrize("name", sorted(SITES.keys() - NOT_NEEDED))
def test_a_fence_that_is_left_out_is_missed(name):
    assert noticed(run, range(120), SITES[name])


@pytest.mark.nightly
@pytest.mark.parametrize("name", NOT_NEEDED)
def test_what_is_not_needed_is_not_missed(name):
    assert noticed(run, range(200), SITES[name]) is None
