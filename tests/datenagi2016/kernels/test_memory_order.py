"""Both variants on a weak memory, on one GPU: barriers and the ends of launches order all."""

import pytest
from datenagi2016.kernels.test_interleavings import SMALL, instance
from memory_sites import noticed, sites_below
from nightly import first

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory
from papers.common.gpu import device
from papers.common.problems import assignment_proof
from papers.datenagi2016 import solver
from papers.datenagi2016.launches import VARIANTS

SITES = sites_below("datenagi2016/kernels")

NOT_NEEDED = {
    "shared.send_signal: store_release_system": "the host looks at this one word; all else that it "
    "reads of a launch it copies after the launch's end, in the stream's order",
}
"""Left out, nothing that is right becomes wrong: the reason why."""


def run(seed, without=()):
    """A whole solve, proved."""
    cost, memory = instance(seed), WeakMemory(seed, without=without)
    with device.executing(Executor(seed, 0.2, memory=memory)):
        answer = solver.solve(cost, variant=VARIANTS[seed // 6 % 2], geometry=SMALL)
    assert assignment_proof.assignment(cost, answer).ok
    return memory


@pytest.mark.parametrize("part", first(1, range(10)))
def test_both_variants_on_a_weak_memory(part):
    """Two instances a variant and part."""
    assert sum(run(seed).stale for seed in range(part * 12, part * 12 + 12, 3)) > 50


def test_a_reason_is_given_for_every_site():
    assert NOT_NEEDED.keys() == SITES.keys()


@pytest.mark.nightly
@pytest.mark.parametrize("name", NOT_NEEDED)
def test_what_is_not_needed_is_not_missed(name):
    assert noticed(run, range(24), SITES[name]) is None
