"""Which cuts go straight to the device, and that all others and all faults are as they were."""

import numpy as np
import pytest
from synthesis.calls.arrays import OnDevice

from papers.common.gpu import device
from papers.common.problems.network import EIGHT, FOUR, NetworkError
from papers.lupinska_costscale.flow import solver
from papers.lupinska_costscale.flow.forms import grid_of
from papers.synthesis.assignment import pool
from papers.synthesis.calls import choice
from papers.synthesis.calls.cuts.pooled import Room
from papers.synthesis.calls.cuts.there import SolvedThere
from papers.synthesis.calls.flow import CUTTER, grid_cut

PUSH = "lupinska_costscale:push_relabel"


@pytest.fixture(autouse=True)
def _empty():
    device.select("cpu")
    pool.clear()
    yield
    pool.clear()


def image(seed, shape=(5, 7), most=9):
    return tuple(np.random.default_rng(seed).integers(0, most, (3, *shape)))


def test_the_cut_alone_goes_there_and_a_proof_does_not():
    source, sink, arcs = image(1)
    found = grid_cut(source, sink, arcs, solver=CUTTER)
    assert isinstance(found.solved, SolvedThere)
    assert (found.proof.kind, found.solved.solver) == ("none", CUTTER)
    assert found.solved.flow.residual is None
    assert found.counters["kernel_launches"] > 0
    proved = grid_cut(source, sink, arcs, solver=CUTTER, prove=True)
    assert not isinstance(proved.solved, SolvedThere)
    assert proved.proof.ok
    assert (proved.value, proved.mask.tolist()) == (found.value, found.mask.tolist())
    assert not isinstance(grid_cut(source, sink, arcs, solver=PUSH).solved, SolvedThere)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float64", "bool"])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_arrays_of_every_type_are_cut_alike(dtype, connectivity):
    source, sink, arcs = (array.astype(dtype) for array in image(2))
    names = FOUR if connectivity == 4 else EIGHT
    for between in (3, arcs, {name: arcs if k % 3 else 2 for k, name in enumerate(names)}):
        found = grid_cut(source, sink.tolist(), between, connectivity, solver=CUTTER)
        expected = grid_cut(source, sink, between, connectivity, solver=PUSH)
        assert isinstance(found.solved, SolvedThere)
        assert found.value == expected.value
        assert np.array_equal(found.mask, expected.mask)


def test_the_instance_is_made_when_it_is_asked_for():
    source, sink, arcs = image(3)
    solved = grid_cut(source, sink, arcs, 8, solver=CUTTER).solved
    assert "instance" not in vars(solved)
    grid = grid_of(source, sink, arcs, 8)
    assert solved.instance.nodes == grid.nodes
    assert solved.instance is solved.instance
    assert np.array_equal(solved.instance.source, grid.source)
    assert all(np.array_equal(solved.instance.arcs[name], grid.arcs[name]) for name in EIGHT)


@pytest.mark.skipif(device.gpu_present(), reason="the stand-ins for arrays lie in host memory")
def test_images_on_a_device_are_taken_and_explained(capsys):
    source, sink, arcs = image(4)
    found = grid_cut(OnDevice(source), OnDevice(sink), OnDevice(arcs), solver=CUTTER, explain=True)
    assert isinstance(found.solved, SolvedThere)
    assert np.array_equal(found.mask, grid_cut(source, sink, arcs, solver=PUSH).mask)
    told = capsys.readouterr().out
    assert told.count("37 nodes on the device: lupinska_costscale:gpu_relabel") == 1


@pytest.mark.parametrize("scale", [2**27, 2**32])
def test_wide_capacities_are_cut_the_other_way(scale):
    source, sink, arcs = (scale * array for array in image(5))
    found = grid_cut(source, sink, arcs, solver=CUTTER)
    expected = grid_cut(source, sink, arcs, solver=PUSH)
    assert not isinstance(found.solved, SolvedThere)
    assert (found.value, found.mask.tolist()) == (expected.value, expected.mask.tolist())


OK = np.ones((3, 4), int)
BAD = {
    "negative source": (OK - 2, OK, OK, 4),
    "negative sink": (OK, OK.astype(np.int32) - 2, OK, 4),
    "negative and later no number": (OK - 2, OK + 0.5, OK, 4),
    "no whole number": (OK, OK + 0.5, OK, 4),
    "not finite": (OK, OK, np.full((3, 4), np.inf), 4),
    "objects": (OK.astype(object), OK, OK, 4),
    "negative floats": (OK, -1.0 * OK, OK, 4),
    "a negative arc that leaves": (OK, OK, {**dict.fromkeys(FOUR, 1), "up": OK - 2}, 4),
    "a negative scalar": (OK, OK, -1, 4),
    "too large": (np.full((3, 4), 2**60), OK, OK, 4),
    "too large together": (np.full((3, 4), 2**58), np.full((3, 4), 2**58), 2**58, 4),
    "shapes": (OK, np.ones((4, 3), int), OK, 4),
    "nothing but scalars": (1, 1, 1, 4),
    "a line": (np.ones(3, int), 1, 1, 4),
    "empty": (np.ones((0, 4), int), 1, 1, 4),
    "connectivity": (OK, OK, OK, 5),
    "directions": (OK, OK, {"right": 1}, 4),
    "unknown directions": (OK, OK, dict.fromkeys(EIGHT, 1), 4),
}


@pytest.mark.parametrize("name", BAD)
def test_faults_have_the_names_they_have_elsewhere_and_nothing_is_launched(name, monkeypatch):
    source, sink, arcs, connectivity = BAD[name]
    monkeypatch.setattr(solver, "run_gpu_relabel", lambda state: pytest.fail("it was launched"))
    with pytest.raises(NetworkError) as expected:
        grid_cut(source, sink, arcs, connectivity, solver=PUSH)
    with pytest.raises(NetworkError) as found:
        grid_cut(source, sink, arcs, connectivity, solver=CUTTER)
    assert str(found.value) == str(expected.value)


def test_bad_limits_are_named_before_anything_is_sent(monkeypatch):
    monkeypatch.setattr(Room, "fill", lambda self, image: pytest.fail("it was sent"))
    with pytest.raises(ValueError, match="seconds"):
        grid_cut(*image(6), solver=CUTTER, seconds=-1)
    with pytest.raises(ValueError, match="is not one of"):
        grid_cut(*image(6), device="tpu")
    with pytest.raises(RuntimeError, match="no CUDA GPU"):
        grid_cut(*image(6), device="gpu")


@pytest.mark.parametrize(
    ("tied", "device_", "goes"), [(9, "auto", True), (11, "auto", False), (11, "gpu", True)]
)
def test_the_rules_see_how_many_pixels_are_tied(tied, device_, goes, monkeypatch):
    """A pixel of 9 has an arc to a terminal, or of 11: then flow has far to go."""
    monkeypatch.setattr(choice, "_has_gpu", lambda: True)
    gone = []

    def cut(self, seconds):
        gone.append(self.seen.tied)
        self.whole = True
        raise InterruptedError

    monkeypatch.setattr(Room, "cut", cut)
    source = np.zeros((4, 20_000), int)
    source[:, ::tied] = 5
    sink = np.zeros_like(source)
    sink[0, -1] = 7
    if goes:
        with pytest.raises(InterruptedError):
            grid_cut(source, sink, 3, device=device_)
        assert gone == [np.count_nonzero(source | sink)]
        return
    found = grid_cut(source, sink, 3, device=device_)
    assert found.solved.solver == "lupinska_costscale:pymaxflow"
    assert found.value == 6  # the two arcs to the corner
    assert not gone
    assert len(pool._idle) == 1
