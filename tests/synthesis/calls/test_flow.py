"""`papers.maximum_flow`, `minimum_cut` and `grid_cut`: equal answers, whoever solves."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.sparse.csgraph import maximum_flow as scipys
from synthesis.calls.arrays import OnDevice

from papers.common.model import GivenUpError
from papers.common.problems.network import FOUR, FlowError, NetworkError
from papers.lupinska_costscale.flow.forms import grid_of
from papers.synthesis.calls import choice
from papers.synthesis.calls import flow as calls
from papers.synthesis.calls.flow import grid_cut, maximum_flow, minimum_cut

CODES = ("pymaxflow", "push_relabel", "scipy_flow", "gpu_relabel")


def graph(seed, n=9):
    matrix = random_array((n, n), density=0.4, rng=seed, format="csr")
    matrix.data = np.ceil(20 * matrix.data)
    return matrix.astype(np.int32)


def image(seed, shape=(5, 6)):
    g = np.random.default_rng(seed)
    return g.integers(0, 30, shape), g.integers(0, 30, shape), g.integers(0, 9, shape)


def test_flows_and_cuts_are_scipys():
    for seed in range(25):
        csgraph = graph(seed)
        expected = scipys(csgraph, 0, 8)
        found = maximum_flow(csgraph, 0, 8, prove=bool(seed % 2))
        assert found.flow_value == expected.flow_value
        assert found.solved.solver == "lupinska_costscale:push_relabel"  # PyMaxflow tells no flow
        assert not (found.flow + found.flow.T).data.any()
        assert (found.arc_flow <= csgraph.data).all()
        assert found.flow.toarray()[0].sum() == expected.flow_value
        assert found.proof.kind == ("minimum-cut" if seed % 2 else "none")
        cut = minimum_cut(csgraph, 0, 8)
        assert cut.value == csgraph.data[cut.arcs].sum() == expected.flow_value
        assert np.array_equal(cut.source_side, found.source_side)


@pytest.mark.parametrize("code", CODES)
def test_every_code_finds_a_flow(code):
    """A flow that a code does not tell is derived."""
    csgraph, solver = graph(3), f"lupinska_costscale:{code}"
    found = maximum_flow(csgraph, 0, 8, solver=solver)
    assert found.solved.solver == solver
    assert found.flow.toarray()[0].sum() == scipys(csgraph, 0, 8).flow_value


@pytest.mark.parametrize("code", CODES)
def test_every_code_cuts_alike(code):
    """Of all minimum cuts each takes the one with the most pixels on the source's side."""
    for seed in range(4):
        source, sink, arcs = image(seed)
        for connectivity in (4, 8):
            mine = grid_cut(source, sink, arcs, connectivity)
            theirs = grid_cut(
                source, sink, arcs, connectivity, solver=f"lupinska_costscale:{code}", prove=True
            )
            assert theirs.proof.ok
            assert mine.value == theirs.value
            assert np.array_equal(mine.mask, theirs.mask)


@pytest.mark.parametrize(("wish", "brought"), [({}, "cut"), ({"prove": True}, "flow")])
def test_a_cut_alone_leaves_the_device_unless_it_is_to_be_proved(wish, brought, monkeypatch):
    """Of a network, and of a grid whose capacities are wide; others: see `cuts`."""
    asked = []
    whole = choice.solver_of(calls.CUTTER)

    def upload(instance, **options):
        asked.append(options.get("answer", "flow"))
        return whole.upload(instance, **options)

    wide = [2**32 * array for array in image(4)]
    for call, given in ((grid_cut, wide), (minimum_cut, (graph(4), 0, 8))):
        expected = call(*given, solver="lupinska_costscale:push_relabel")
        with monkeypatch.context() as patch:
            found = dataclasses.replace(whole, upload=upload)
            patch.setattr(calls, "solver_of", lambda name, found=found: found)
            found = call(*given, solver=calls.CUTTER, **wish)
        assert (asked.pop(), found.value) == (brought, expected.value)
        assert found.proof.ok == bool(wish)


def test_images_on_a_device_are_cut(capsys):
    source, sink, arcs = image(1)
    expected = grid_cut(source, sink, arcs)
    found = grid_cut(OnDevice(source), OnDevice(sink), OnDevice(arcs), explain=True)
    assert np.array_equal(found.mask, expected.mask)
    assert "32 nodes on the device: lupinska_costscale:" in capsys.readouterr().out
    by_name = dict.fromkeys(("right", "left", "down", "up"), OnDevice(arcs))
    assert np.array_equal(grid_cut(source, sink, by_name).mask, expected.mask)


def test_a_grid_whose_terminals_are_far_is_left_to_the_cpu(monkeypatch):
    """A channel's flow runs through all columns; with an arc at every ninth pixel it is short."""
    monkeypatch.setattr(choice, "_has_gpu", lambda: True)
    source, sink = np.zeros((4, 20_000), int), np.zeros((4, 20_000), int)
    source[:, 0] = sink[:, -1] = 80
    arcs = dict.fromkeys(FOUR, 3)
    chosen = [
        calls.choice_for(grid_of(*ends, arcs), calls.Wishes()).solver
        for ends in ((source, sink), (source + (np.arange(20_000) % 9 == 0), sink))
    ]
    assert chosen == ["lupinska_costscale:pymaxflow", "lupinska_costscale:gpu_relabel"]


def test_without_pymaxflow_and_with_a_limit_others_answer(monkeypatch):
    source, sink, arcs = image(2)
    expected = grid_cut(source, sink, arcs)
    limited = grid_cut(source, sink, arcs, seconds=60)
    monkeypatch.setattr(choice, "_installed", lambda package: False)
    fallback = grid_cut(source, sink, arcs)
    wide = grid_cut(source * 2**32, sink * 2**32, arcs * 2**32)
    names = [cut.solved.solver.partition(":")[2] for cut in (expected, limited, fallback, wide)]
    assert names == ["pymaxflow", "push_relabel", "scipy_flow", "push_relabel"]
    for cut in (limited, fallback, wide):
        assert np.array_equal(cut.mask, expected.mask)
    with pytest.raises(GivenUpError):
        grid_cut(*image(3), seconds=1e-9, solver="lupinska_costscale:lock_free")


def test_a_false_answer_is_caught_by_the_proof(monkeypatch):
    """Planted: a cut with one pixel on the wrong side."""
    source, sink, arcs = image(1)
    right = calls.run

    def spoilt(*args):
        flow = right(*args)
        flow.source_side[2, 2] ^= True
        return flow

    monkeypatch.setattr(calls, "run", spoilt)
    with pytest.raises(FlowError, match="not proved maximum"):
        grid_cut(source, sink, arcs, prove=True)


def test_bad_input_is_named():
    with pytest.raises(NetworkError, match=r"scipy\.sparse"):
        maximum_flow(np.eye(3), 0, 1)
    with pytest.raises(NetworkError, match="one node"):
        minimum_cut(graph(1), 2, 2)
    with pytest.raises(NetworkError, match="negative"):
        grid_cut(-1, 2, np.ones((2, 2), int))
    with pytest.raises(ValueError, match="seconds"):
        grid_cut(1, 2, np.ones((2, 2), int), seconds=0)
    with pytest.raises(ValueError, match="solves no flow"):
        grid_cut(1, 2, np.ones((2, 2), int), solver="lopes2019:cpu_sp")
    assert minimum_cut(csr_array((3, 3), dtype=int), 0, 2).value == 0


def test_answers_print_what_was_asked_for():
    """And not the whole problem, which is in them for the proof."""
    capacities = csr_array(np.array([[0, 3], [0, 0]], np.int32))
    source, sink = np.array([[9, 0]]), np.array([[0, 9]])
    for answer in (
        maximum_flow(capacities, 0, 1),
        minimum_cut(capacities, 0, 1),
        grid_cut(source, sink, 2),
    ):
        assert "solved=" not in repr(answer)
        assert "value=" in repr(answer)
        assert answer.solved.solver
