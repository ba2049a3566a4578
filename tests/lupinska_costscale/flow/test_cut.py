"""The cut alone, and excess that is sent back on the device."""

import numpy as np
import pytest
from lupinska_costscale.flow.test_solver import SOLVERS, random_grid, random_network, scipy_value

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.problems import flow_proof, kinds
from papers.common.problems.network import EIGHT, FOUR, FlowError, grid, inner
from papers.lupinska_costscale import grid_cut, minimum_cut
from papers.lupinska_costscale.flow import solver as flow_solver
from papers.lupinska_costscale.flow.prepare import Tile, answer, known
from papers.lupinska_costscale.flow.upload import upload_blank

GPU = SOLVERS["gpu_relabel"]
INSTANCES = [
    *(random_grid(shape, seed, names, share=0.4)
      for seed, shape in enumerate([(1, 1), (5, 9), (9, 5), (7, 33), (12, 12)])
      for names in (FOUR, EIGHT)),
    *(random_network(n, 4 * n, seed) for seed, n in enumerate((5, 20, 40))),
]  # fmt: skip


def much(shape, seed, names=FOUR):
    """More leaves the source than can reach the sink."""
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, 20, shape), draw.integers(0, 4, shape) * (draw.random(shape) < 0.3)
    return grid(*ends, {name: draw.integers(0, 5, shape) * inner(shape, name) for name in names})


STRANDED = [much((5, 9), 1), much((7, 6), 2, EIGHT), random_network(20, 80, 1), much((9, 9), 3)]


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def solved(instance, **options):
    state = GPU.upload(instance, tile=Tile(2, 4), rounds=4, sweeps=3, inner=3, **options)
    GPU.run(state)
    return state


@pytest.mark.parametrize("instance", INSTANCES, ids=range(len(INSTANCES)))
def test_the_cut_alone_is_the_whole_answer_s(instance):
    state = solved(instance, answer="cut")
    found, whole = GPU.download(state), GPU.download(solved(instance))
    assert found.residual is None
    assert found.value == whole.value == scipy_value(instance)
    assert found.source_side.shape == whole.source_side.shape
    assert (found.source_side == whole.source_side).all()
    assert found.counters.keys() == whole.counters.keys()
    proved = kinds.with_proof(GPU, state, found)
    assert flow_proof.flow(instance, proved).ok
    assert (proved.source_side == found.source_side).all()
    again = GPU.download(state)  # after excess was sent back
    assert (again.source_side == found.source_side).all()
    assert again.counters == found.counters


@pytest.mark.parametrize("seed", range(8))
def test_excess_is_sent_back_on_the_device_in_every_interleaving(seed):
    """Nothing is left at a node, no unit crosses the cut, and the host's way finds the same cut."""
    instance = STRANDED[seed % 4]
    with device.executing(Executor(seed=seed, switch=0.2)):
        state = solved(instance)
        a = state.arrays
        stranded = int(a["excess"][: state.prepared.n].sum())
        host = answer(state.prepared, a, {})
        sink = a["to_sink"].copy()
        found = GPU.download(state)
    assert not a["excess"][: state.prepared.n].any()
    assert (a["to_sink"] == sink).all()
    assert (host.value, host.source_side.tolist()) == (found.value, found.source_side.tolist())
    assert flow_proof.flow(instance, found).ok
    assert stranded > 0, "the test would prove nothing"


def test_a_second_run_begins_anew():
    instance = STRANDED[0]
    state = solved(instance)
    first = GPU.download(state)
    GPU.run(state)
    second = GPU.download(state)
    assert first.value == second.value
    assert flow_proof.flow(instance, second).ok


def test_excess_that_stays_is_found_out(monkeypatch):
    monkeypatch.setattr(flow_solver, "settle_on_device", lambda state: None)
    instance = STRANDED[0]
    assert not flow_proof.flow(instance, GPU.download(solved(instance))).ok


def test_nothing_leaves_the_source():
    empty = grid(*np.zeros((2, 3, 4), int), {name: np.zeros((3, 4), int) for name in FOUR})
    found = GPU.download(solved(empty, answer="cut"))
    assert (found.value, found.residual) == (0, None)
    with pytest.raises(ValueError, match="answer='mask'"):
        GPU.upload(empty, answer="mask")


@pytest.mark.parametrize("names", [FOUR, EIGHT], ids=["4", "8"])
def test_capacities_that_are_written_on_the_device_are_cut(names):
    """One state, grid after grid; one of them has no capacity at all."""
    shape = (5, 9)
    state = upload_blank(shape, names, np.int64)
    height, width = shape
    empty = grid(*np.zeros((2, *shape), int), {name: np.zeros(shape, int) for name in names})
    for instance in (much(shape, 1, names), empty, much(shape, 2, names)):
        whole = {"source": instance.source, "sink": instance.sink, **instance.arcs}
        padded = np.zeros((len(whole), *state.prepared.image.shape), np.int64)
        padded[:, :height, :width] = list(whole.values())
        state.arrays["source"][:], state.arrays["sink"][:] = padded[:2].reshape(2, -1)
        state.arrays["capacity"][:] = padded[2:].ravel()
        GPU.run(state)
        found, right = GPU.download(state), GPU.download(solved(instance))
        assert (found.value, found.residual) == (right.value, None)
        assert (found.source_side == right.source_side).all()
        again = known(state.prepared, state.arrays).instance
        assert all((again.arcs[name] == instance.arcs[name]).all() for name in names)
        assert (again.source == instance.source).all()
        assert (again.sink == instance.sink).all()
        assert flow_proof.flow(instance, kinds.with_proof(GPU, state, found)).ok


def test_public_calls_without_a_proof_bring_the_cut_alone(monkeypatch):
    from scipy.sparse import csr_array

    bright = np.random.default_rng(2).integers(0, 9, (6, 7))
    whole = grid_cut(bright, 8 - bright, arcs=2, connectivity=8)
    cut = grid_cut(bright, 8 - bright, arcs=2, connectivity=8, prove=False)
    assert (cut.value, cut.mask.tolist()) == (whole.value, whole.mask.tolist())
    assert (cut.solved.flow.residual, cut.proof.kind) == (None, "none")
    graph = csr_array([[0, 3, 1], [0, 0, 2], [0, 0, 0]])
    assert minimum_cut(graph, 0, 2, prove=False).arcs.tolist() == [1, 2]
    monkeypatch.setattr(flow_solver, "settle_on_device", lambda state: None)
    with pytest.raises(FlowError):
        grid_cut(9 * bright, 8 - bright, arcs=2, connectivity=8)
