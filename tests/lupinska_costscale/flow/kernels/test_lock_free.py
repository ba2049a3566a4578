"""Hong's rule under interleavings: transient cases occur, and only such; faults are planted."""

import inspect
from itertools import pairwise

import pytest
from lupinska_costscale.flow.kernels import watch
from lupinska_costscale.flow.kernels.watch import Watch

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.problems import flow_proof
from papers.common.problems.network import network
from papers.lupinska_costscale.flow import global_relabeling
from papers.lupinska_costscale.flow.kernels import lock_free
from papers.lupinska_costscale.flow.solver import SOLVERS


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def crossing(copies=2, feeders=3, chain=3, way=3, units=3):
    """Networks in which nodes are lifted while others are about to push to them.

    Node y has a short way to the sink, of capacity 1, and one over `way` nodes. Some x lead to y,
    and their units come late, over `chain` nodes each, when heights are distances already. Who
    comes first fills the short way; y is then lifted from 1 to `way` + 1, and who has read its
    height before pushes up to it.
    """
    arcs, count = [], 0
    for _ in range(copies):
        around, y = list(range(count + 1, count + way + 1)), count + way + 1
        count = y
        arcs += [(y, -1, 1), (y, around[0], 99)]
        arcs += [(a, b, 99) for a, b in zip(around, [*around[1:], -1], strict=True)]
        for _ in range(feeders):
            path = [0, *range(count + 1, count + chain + 1), y]
            count += chain
            arcs += [(a, b, units) for a, b in pairwise(path)]
    tail, head, capacity = zip(
        *[(a, b if b > 0 else count + 1, c) for a, b, c in arcs], strict=True
    )
    return network(tail, head, capacity, count + 2, 0, count + 1)


INSTANCE = crossing()


def one_run(name, seed, monkeypatch, **options):
    """One interleaving, under a watch that also stands behind the host's cancelling."""
    found = Watch()
    with (
        device.executing(Executor(seed=seed, switch=0.2, on_access=found)),
        monkeypatch.context() as patch,
    ):
        patch.setattr(global_relabeling, "cancel", found.cancel)
        state = SOLVERS[name].upload(INSTANCE, **options)
        found.over(state)
        SOLVERS[name].run(state)
        assert flow_proof.flow(INSTANCE, SOLVERS[name].download(state)).ok
    return found


def some_runs(name, monkeypatch, **options):
    return [one_run(name, seed, monkeypatch, **options) for seed in range(40)]


def test_arcs_are_violated_in_the_transient_case_alone(monkeypatch):
    """Definition 4.1 up to that case between launches, and to the letter behind cancelling."""
    found = some_runs("hybrid", monkeypatch, cycle=3)
    assert sum(each.violated for each in found) > 0, "the test would prove nothing"
    assert sum(each.cancelled for each in found) > 0, "the test would prove nothing"


def planted(function, old, new):
    """A copy of a device function with another text in one place."""
    text = inspect.getsource(function.py_func)
    assert text.count(old) == 1
    space = dict(function.py_func.__globals__)
    exec(text[text.index("def ") :].replace(old, new), space)
    return space[function.py_func.__name__]


LINES = """        cuda.atomic.add(flow.residual, mate_of(k, arc, end, graph), amount)
    cuda.atomic.sub(flow.excess, x, amount)
    cuda.threadfence()
    cuda.atomic.add(flow.excess, end, amount)
"""
EXCESS_FIRST = """    cuda.atomic.sub(flow.excess, x, amount)
    cuda.threadfence()
    cuda.atomic.add(flow.excess, end, amount)
    if k >= 0:
        cuda.atomic.add(flow.residual, mate_of(k, arc, end, graph), amount)
"""
FIRST_LOWER = "if lowest == NOWHERE or (lowest >= load_relaxed(flow.height, x) and lowest > other):"
FAULTS = {
    "to the first lower neighbour": (
        lock_free.operate, "if lowest > other:", FIRST_LOWER, "outlives its excess|left behind",
    ),
    "to the highest lower neighbour": (
        lock_free.operate, "if lowest > other:",
        FIRST_LOWER.replace("):", ") or lowest < other < load_relaxed(flow.height, x):"),
        "outlives its excess|left behind",
    ),
    "excess before the arc": (lock_free.push, LINES, EXCESS_FIRST, "before its arc"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_noticed(fault, monkeypatch):
    function, old, new, words = FAULTS[fault]
    monkeypatch.setattr(function, "__executor__", planted(function, old, new), raising=False)
    with pytest.raises(AssertionError, match=words):
        some_runs("hybrid", monkeypatch, cycle=6)


def test_cancelling_that_does_nothing_is_noticed(monkeypatch):
    monkeypatch.setattr(watch, "HOST_CANCEL", lambda *arrays: 0)
    with pytest.raises(AssertionError, match="left behind cancelling"):
        some_runs("hybrid", monkeypatch, cycle=3)
