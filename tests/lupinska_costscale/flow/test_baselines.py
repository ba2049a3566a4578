"""Push-relabel on the CPU: as printed, fast, and beside other people's codes."""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from papers.common import instances
from papers.common.gpu.environment import MissingPackageError
from papers.common.model import GivenUpError, Instance
from papers.common.problems import flow_proof, kinds
from papers.common.problems.network import FOUR, Network, NetworkError, grid, network
from papers.lupinska_costscale.flow import bounds, reference
from papers.lupinska_costscale.flow.baselines import push_relabel, rivals, solvers

HEURISTICS = push_relabel.HEURISTICS


def problems():
    for seed in range(1, 5):
        yield Instance("random_grid", 4, "9", seed=seed)
        yield Instance("random_grid", 4, "9", (("directions", 8),), seed)
        yield Instance("random_network", 12, "9", seed=seed)


PROBLEMS = list(problems())


def as_network(problem):
    return problem if isinstance(problem, Network) else problem.network()


def solve(name, problem, **options):
    solver = solvers.SOLVERS[name]
    state = solver.upload(problem, **options)
    solver.run(state)
    first = kinds.answer_of(solver, state)
    solver.run(state)
    answer = kinds.answer_of(solver, state)
    assert answer.value == first.value
    assert answer.counters == first.counters
    verdict = flow_proof.flow(problem, answer)
    assert verdict.ok, verdict.reason
    return answer


def by_scipy(problem):
    return solve("scipy_flow", problem).value


# ------------------------------------------------------------------------------- as printed


def check_distances(operation, state, x):
    """Definition 4.1: h(x) <= h(y) + 1 along every residual arc, and no excess below 0."""
    net = state.net
    for y in range(net.nodes):
        assert y == net.source or state.excess[y] >= 0
        for a in state.arcs(y):
            assert state.height[y] <= state.height[net.head[a]] + 1, (operation, x)
    assert (state.height[net.source], state.height[net.sink]) == (net.nodes, 0)


@pytest.mark.parametrize("heuristics", HEURISTICS)
@pytest.mark.parametrize("instance", PROBLEMS, ids=lambda i: i.key)
def test_the_printed_algorithm(instance, heuristics):
    net = as_network(instances.draw(instance))
    seen = []

    def step(operation, state, x):
        check_distances(operation, state, x)
        seen.append(operation)

    answer = reference.push_relabel(net, heuristics, step)
    assert flow_proof.flow(net, answer).ok
    assert answer.value == by_scipy(net)
    assert answer.counters == {"pushes": seen.count("push"), "relabels": seen.count("relabel")}
    assert ("gap" in seen) <= (heuristics == "global+gap")


def test_heights_never_fall():
    net = as_network(instances.draw(Instance("random_grid", 5, "9", seed=3)))
    before = [0] * net.nodes

    def step(operation, state, x):
        assert all(old <= new for old, new in zip(before, state.height, strict=True))
        before[:] = state.height

    reference.push_relabel(net, "global+gap", step)
    assert max(before) >= net.nodes


def test_what_global_relabeling_as_printed_would_break():
    """Node 1 reaches the sink by 2, not so 3: once 1 rises, 3 at height 0 would lie too low."""
    net = network([0, 1, 1, 2], [1, 2, 3, 4], [5, 1, 1, 1], 5, 0, 4)
    state = reference.init(net)
    unreached = reference.global_relabel(state)
    assert unreached == [3]
    assert (state.height[1], state.height[3]) == (2, 2)
    check_distances("global", state, 4)
    reference.gap(state, unreached)
    assert state.height[3] == net.nodes


# ------------------------------------------------------------------------------- at speed


@pytest.mark.parametrize("heuristics", HEURISTICS)
@pytest.mark.parametrize("instance", PROBLEMS, ids=lambda i: i.key)
def test_push_relabel(instance, heuristics):
    problem = instances.draw(instance)
    answer = solve("push_relabel", problem, heuristics=heuristics)
    assert answer.value == by_scipy(problem)
    used = answer.counters["host_relabels"] > 0
    assert used == (heuristics != "none")
    assert answer.counters["relabels"] <= bounds.most_relabels(problem.nodes)


@pytest.mark.parametrize("name", ["push_relabel", "pymaxflow", "scipy_flow"])
@pytest.mark.parametrize("family", ["segmentation", "stereo_move", "random_grid"])
def test_all_codes_agree_on_images(name, family):
    if name == "pymaxflow":
        pytest.importorskip("maxflow")
    label = {"segmentation": "coffee", "stereo_move": "a09", "random_grid": "50"}[family]
    problem = instances.draw(Instance(family, 60, label))
    answer = solve(name, problem)
    assert answer.value == by_scipy(problem) > 0
    assert solve(name, problem.network()).value == answer.value


def edge_cases():
    one = {name: np.zeros((1, 1), int) for name in FOUR}
    yield "one pixel", grid([[3]], [[5]], one), 3
    yield "nothing flows", grid([[3]], [[0]], one), 0
    line = {name: np.zeros((1, 3), int) for name in FOUR}
    line["right"] = np.array([[2, 9, 0]])
    yield "a line", grid([[7, 0, 0]], [[0, 0, 8]], line), 2
    yield "no arcs", network([], [], [], 2, 0, 1), 0
    yield "one arc", network([0], [1], [2**40], 2, 0, 1), 2**40
    yield "backwards only", network([1, 2], [0, 1], [4, 4], 3, 0, 2), 0
    both = network([0, 1, 1, 0], [1, 0, 2, 2], [4, 9, 3, 6], 3, 0, 2)
    yield "straight and both ways", both, 9
    yield "a terminal in the middle", network([1, 1, 0], [0, 2, 2], [4, 3, 1], 3, 1, 2), 4


@pytest.mark.parametrize("name", ["push_relabel", "pymaxflow", "scipy_flow"])
@pytest.mark.parametrize(("problem", "value"), [c[1:] for c in edge_cases()],
                         ids=[c[0] for c in edge_cases()])  # fmt: skip
def test_edge_cases(name, problem, value):
    if name == "pymaxflow":
        pytest.importorskip("maxflow")
    if name == "scipy_flow" and value > 2**31:
        with pytest.raises(NetworkError, match="32 bits"):
            solve(name, problem)
        return
    assert solve(name, problem).value == value


# ------------------------------------------------------------------------------- what is refused


def test_a_run_that_needs_more_than_allowed():
    problem = instances.draw(PROBLEMS[0])
    state = push_relabel.upload(problem, operations=3)
    with pytest.raises(GivenUpError, match="more than 3"):
        push_relabel.run(state)
    with pytest.raises(RuntimeError, match="nothing to download"):
        push_relabel.download(state)


def test_options_and_problems():
    problem = instances.draw(PROBLEMS[0])
    for options in ({"heuristics": "gap"}, {"operations": -1}):
        with pytest.raises(ValueError, match=next(iter(options))):
            push_relabel.upload(problem, **options)
    with pytest.raises(ValueError, match="heuristics"):
        reference.push_relabel(problem.network(), "gap")
    for solver in solvers.SOLVERS.values():
        with pytest.raises((NetworkError, MissingPackageError)):
            solver.upload(np.zeros((3, 3)))
    state = rivals.upload_scipy(problem)
    with pytest.raises(RuntimeError, match="nothing to download"):
        rivals.download_scipy(state)


def test_without_pymaxflow(monkeypatch):
    monkeypatch.setitem(sys.modules, "maxflow", None)
    with pytest.raises(MissingPackageError, match="not installed"):
        rivals.upload_pymaxflow(instances.draw(PROBLEMS[0]))


def test_a_wrong_answer_of_pymaxflow_is_found():
    """Its value and its cut are its own: the flow they are proved with does not cover for them."""
    pytest.importorskip("maxflow")
    problem = instances.draw(PROBLEMS[0])
    state = rivals.upload_pymaxflow(problem)
    with pytest.raises(RuntimeError, match="nothing to download"):
        rivals.download_pymaxflow(state)
    rivals.run_pymaxflow(state)
    state.value += 1
    assert not flow_proof.flow(problem, rivals.download_pymaxflow(state)).ok


def test_a_flow_of_scipys_is_read_whatever_it_stores():
    """Less than every arc and mate, as a version may, or as many in other places."""
    from scipy.sparse import csr_array

    net = network([0, 0, 1, 2, 2], [1, 2, 3, 3, 1], [3, 2, 2, 4, 5], 4, 0, 3)
    state = rivals.upload_scipy(net)
    rivals.run_scipy(state)
    whole = state.found.flow.toarray()
    sent = whole[net.tail, net.head]
    assert sent.any()
    assert np.array_equal(rivals._sent(net, state.found.flow), sent)
    stored = csr_array(whole)  # what carries nothing is left out
    assert stored.nnz < net.arcs
    assert np.array_equal(rivals._sent(net, stored), sent)
    turned = state.found.flow.tocsr(copy=True)
    turned.indices, turned.data = turned.indices.copy(), turned.data.copy()
    for begin, end in zip(turned.indptr[:-1], turned.indptr[1:], strict=True):
        for part in (turned.indices, turned.data):
            part[begin:end] = part[begin:end][::-1].copy()
    assert np.array_equal(turned.indptr, net.first)
    assert np.array_equal(rivals._sent(net, turned), sent)


def test_a_rivals_user_pays_for_no_proof(monkeypatch):
    """A flow beside PyMaxflow's cut, and a cut beside SciPy's flow, are made by `proof` alone."""
    problem = instances.draw(PROBLEMS[0])
    for name, maker in (("pymaxflow", (push_relabel, "run")), ("scipy_flow", (rivals, "settle"))):
        solver = solvers.SOLVERS[name]
        with monkeypatch.context() as patch:
            patch.setattr(*maker, lambda *_: pytest.fail("this is no part of an answer"))
            state = solver.upload(problem)
            solver.run(state)
            answer = solver.download(state)
            assert answer.value == by_scipy_alone(problem)
            with pytest.raises(pytest.fail.Exception, match="no part"):
                solver.proof(state, answer)
        assert flow_proof.flow(problem, solver.proof(state, answer)).ok


def by_scipy_alone(problem):
    net = as_network(problem)
    graph = csr_array((net.capacity.astype(np.int32), net.head, net.first), (net.nodes, net.nodes))
    return maximum_flow(graph, net.source, net.sink).flow_value


def test_one_flow_proves_all_repetitions_of_a_rival(monkeypatch):
    problem, runs = instances.draw(PROBLEMS[3]), []
    true = push_relabel.run
    monkeypatch.setattr(push_relabel, "run", lambda state: runs.append(1) or true(state))
    for _ in range(3):
        assert flow_proof.flow(problem, kinds.answer_of(*ran("pymaxflow", problem))).ok
    assert runs == [1]


def ran(name, problem):
    solver = solvers.SOLVERS[name]
    state = solver.upload(problem)
    solver.run(state)
    return solver, state
