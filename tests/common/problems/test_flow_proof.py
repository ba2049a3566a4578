"""The proof of a flow: right ones pass, every planted fault is found."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from papers.common import instances
from papers.common.model import Flow, Instance
from papers.common.problems import flow_proof
from papers.common.problems.network import FOUR, Network, NetworkError, grid, network
from papers.lupinska_costscale.flow.baselines import push_relabel


def solved(instance):
    state = push_relabel.upload(instance)
    push_relabel.run(state)
    return push_relabel.download(state)


def scipy_value(net):
    matrix = csr_array(
        (net.capacity.astype(np.int32), net.head, net.first), shape=(net.nodes, net.nodes)
    )
    return maximum_flow(matrix, net.source, net.sink).flow_value


CASES = {
    "grid": Instance("random_grid", 7, "9", seed=2),
    "grid of eight": Instance("random_grid", 6, "9", (("directions", 8),), 2),
    "network": Instance("random_network", 30, "9", seed=4),
}


@pytest.fixture(params=CASES)
def problem(request):
    return instances.draw(CASES[request.param])


@pytest.fixture
def answer(problem):
    return solved(problem)


def refuted(problem, answer):
    verdict = flow_proof.flow(problem, answer)
    assert not verdict.ok
    assert verdict.kind == "minimum-cut"
    return verdict.reason


def spoiled(answer, name, change):
    """The answer with one residual array changed in place by `change`; for networks the line."""
    if isinstance(answer.residual, dict):
        residual = {key: array.copy() for key, array in answer.residual.items()}
        change(residual[name].reshape(-1))
    else:
        residual = answer.residual.copy()
        change(residual)
    return replace(answer, residual=residual)


def test_a_maximum_flow_is_proved(problem, answer):
    verdict = flow_proof.flow(problem, answer)
    assert (verdict.ok, verdict.kind) == (True, "minimum-cut"), verdict.reason
    net = problem if isinstance(problem, Network) else problem.network()
    assert answer.value == scipy_value(net) > 0
    assert str(answer.value) in verdict.reason


@pytest.mark.parametrize("name", ["source", "sink", *FOUR])
@pytest.mark.parametrize("amount", [-1, 1, 2**40, -(2**62)])
def test_every_changed_residual_capacity_is_found(problem, answer, name, amount):
    size = answer.residual.size if isinstance(problem, Network) else problem.source.size
    for place in range(size):

        def change(line, place=place):
            line[place] += amount

        refuted(problem, spoiled(answer, name, change))


@pytest.mark.parametrize("error", [-1, 1])
def test_a_wrong_value(problem, answer, error):
    assert "the answer says" in refuted(problem, replace(answer, value=answer.value + error))


def test_a_flow_that_is_not_maximum(problem, answer):
    if isinstance(problem, Network):
        nothing = Flow(0, problem.capacity.copy(), answer.source_side)
    else:
        left = {"source": problem.source, "sink": problem.sink, **problem.arcs}
        nothing = Flow(0, left, answer.source_side)
    assert "not proved maximum" in refuted(problem, nothing)


def test_a_cut_that_is_not_minimum(problem, answer):
    found = set()
    for place in range(answer.source_side.size):
        side = answer.source_side.copy()
        side.flat[place] ^= True
        verdict = flow_proof.flow(problem, replace(answer, source_side=side))
        found.add(verdict.ok)
        if verdict.ok:  # Another minimum cut; then an arc less must be one more elsewhere.
            assert str(answer.value) in verdict.reason
    assert False in found


def test_flow_that_is_lost_on_its_way(problem, answer):
    """A unit more along an arc and its mate keeps the bounds and breaks conservation."""
    net = problem if isinstance(problem, Network) else problem.network()
    whole = solved(net)
    for a in np.flatnonzero(whole.residual > 0):
        left = whole.residual.copy()
        left[a] -= 1
        left[net.mate[a]] += 1
        refuted(net, replace(whole, residual=left))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda a: replace(a, source_side=a.source_side[:-1]), "has shape"),
        (lambda a: replace(a, source_side=a.source_side.astype(int)), "is of type"),
        (lambda a: replace(a, residual=np.zeros(3)), ""),
        (lambda a: replace(a, residual={}), ""),
        (lambda a: spoiled(replace(a), "source", lambda line: None), None),
    ],
)
def test_arrays_that_are_no_flow(problem, answer, spoil, reason):
    if reason is None:
        assert flow_proof.flow(problem, spoil(answer)).ok
    else:
        assert reason in refuted(problem, spoil(answer))


def test_floats_and_small_integers(problem, answer):
    def of_type(kind):
        if isinstance(problem, Network):
            return replace(answer, residual=answer.residual.astype(kind))
        residual = {name: array.astype(kind) for name, array in answer.residual.items()}
        return replace(answer, residual=residual)

    assert "is of type" in refuted(problem, of_type(float))
    for kind in (np.int32, np.uint16):
        assert flow_proof.flow(problem, of_type(kind)).ok


def test_terminals_on_the_wrong_side():
    net = network([0, 1], [1, 2], [4, 3], 3, 0, 2)
    answer = solved(net)
    for node in (net.source, net.sink):
        side = answer.source_side.copy()
        side[node] ^= True
        assert "part" in refuted(net, replace(answer, source_side=side))


def test_only_networks_and_grids_have_flows():
    with pytest.raises(NetworkError, match="ndarray"):
        flow_proof.flow(np.zeros((2, 2)), Flow(0, {}, np.zeros((2, 2), bool)))


def calls_of(function, *arguments):
    """How many calls of Python and C functions one call makes: the work that arrays do not do."""
    events = []
    sys.setprofile(lambda frame, event, argument: events.append(event))
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in events)


def test_the_work_in_python_does_not_grow_with_the_pixels():
    """Four million pixels are proved in seconds because no loop of Python runs over them."""
    calls = []
    for side in (16, 512):
        arcs = {name: np.zeros((side, side), np.int64) for name in FOUR}
        some = np.ones((side, side), np.int64)
        image = grid(some, some, arcs)
        left = {"source": 0 * some, "sink": 0 * some, **arcs}
        answer = Flow(some.size, left, np.ones((side, side), bool))
        assert flow_proof.flow(image, answer).ok
        calls.append(calls_of(flow_proof.flow, image, answer))
    assert calls[0] == calls[1]
