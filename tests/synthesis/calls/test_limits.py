"""A limit of time counts from the call's beginning, with all that is done before a solver runs."""

import time

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

import papers
from papers import grid_cut, maximum_bipartite_matching, maximum_flow, minimum_cut
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.synthesis.calls import flow, matching
from papers.synthesis.calls.lines import direct


def test_what_a_call_raises_is_the_packages_own():
    assert papers.GivenUpError is GivenUpError
    assert "GivenUpError" in dir(papers)


def slow(right, seconds):
    def call(*given, **options):
        time.sleep(seconds)
        return right(*given, **options)

    return call


NET = csr_array([[0, 3, 1], [0, 0, 2], [0, 0, 0]])
COSTS = np.array([[3, 1, 2], [2, 4, 6]], np.int32)
BRIGHT = np.array([[9, 8, 1], [7, 2, 0]])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("network_of", lambda limit: maximum_flow(NET, 0, 2, seconds=limit)),
        ("network_of", lambda limit: minimum_cut(NET, 0, 2, seconds=limit)),
        ("grid_of", lambda limit: grid_cut(BRIGHT, 9 - BRIGHT, arcs=2, seconds=limit)),
    ],
    ids=["flow", "cut", "image"],
)
def test_a_network_is_laid_out_in_the_callers_time(monkeypatch, name, call):
    call(60)
    monkeypatch.setattr(flow, name, slow(getattr(flow, name), 0.3))
    with pytest.raises(GivenUpError, match="laid out") as told:
        call(0.2)
    assert told.value.after_ms > 200


@pytest.mark.parametrize("solver", ["deveci_matching:pfp", "deveci_matching:beyond"])
def test_a_graph_is_turned_in_the_callers_time(monkeypatch, solver):
    graph = csr_array(random_array((300, 300), density=0.02, rng=np.random.default_rng(1)))
    maximum_bipartite_matching(graph, solver=solver, seconds=60)
    monkeypatch.setattr(direct, "look", slow(direct.look, 0.3))
    monkeypatch.setattr(matching, "_enlarged", lambda *_: False)
    with pytest.raises(GivenUpError, match="a greedy pass over the graph"):
        maximum_bipartite_matching(graph, solver=solver, seconds=0.2)


@pytest.mark.parametrize("seconds", [float("inf"), 1e300, 10**30], ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda **limit: papers.linear_sum_assignment(COSTS, solver="synthesis:dense", **limit),
        lambda **limit: papers.linear_sum_assignment(
            np.stack([COSTS] * 2), solver="synthesis:batch", **limit
        ),
        lambda **limit: papers.linear_sum_assignment(COSTS, device="cpu", **limit),
        lambda **limit: maximum_bipartite_matching(NET, solver="deveci_matching:beyond", **limit),
        lambda **limit: maximum_flow(NET, 0, 2, solver="lupinska_costscale:gpu_relabel", **limit),
        lambda **limit: grid_cut(BRIGHT, 9 - BRIGHT, 2, **limit),
    ],
    ids=["dense", "batch", "one core", "graph", "flow", "image"],
)
def test_a_limit_that_never_comes_is_a_limit(call, seconds):
    device.select("cpu")
    assert str(call(seconds=seconds)) == str(call())
