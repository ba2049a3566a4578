"""The families of flow networks: what files say, what pictures give, what chance draws."""

import gzip
import itertools

import numpy as np
import pytest

from papers.common import instances
from papers.common.instances import files
from papers.common.instances.flows import image_energies
from papers.common.model import Instance
from papers.common.problems import flow_proof
from papers.common.problems.network import EIGHT, FOUR, inner
from papers.lupinska_costscale.flow.baselines import push_relabel


def draw(family, n, label, params=(), seed=1):
    return instances.draw(Instance(family, n, label, params, seed))


def same(first, second):
    pairs = [(first.source, second.source), (first.sink, second.sink)]
    pairs += [(first.arcs[name], second.arcs[name]) for name in first.arcs]
    return all(np.array_equal(one, other) for one, other in pairs)


def solved(problem):
    state = push_relabel.upload(problem)
    push_relabel.run(state)
    answer = push_relabel.download(state)
    assert flow_proof.flow(problem, answer).ok
    return answer


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(files.FOLDER, str(tmp_path))
    monkeypatch.setenv(files.CACHE, str(tmp_path / "cache"))
    (tmp_path / "maxflow").mkdir()
    return tmp_path


# ------------------------------------------------------------------------------- files

DIMACS = """c four nodes
p max 4 5
n 1 s
n 4 t
a 1 2 3
a 1 3 2
a 2 3 5
a 2 4 2
a 3 4 4
"""


@pytest.mark.parametrize("place", ["four.max", "maxflow/four.max", "maxflow/four.max.gz"])
def test_a_dimacs_file(folder, place):
    data = DIMACS.encode()
    (folder / place).write_bytes(gzip.compress(data) if place.endswith("gz") else data)
    net = draw("dimacs_flow", 4, "four")
    assert (net.nodes, net.source, net.sink, net.arcs) == (4, 0, 3, 10)
    assert solved(net).value == 5


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("p max 4 5", "p max 4 6", "5 arcs, 6 announced"),
        ("p max", "p min", "one line"),
        ("n 4 t", "n 4 s", "n NODE t"),
        ("a 1 2 3", "a 1 5 3", "no node"),
        ("a 1 2 3", "a 1 2 -3", "negative"),
        ("a 1 2 3", "a 1 2", "four.max"),
        ("a 1 2 3", "b 1 2 3", "begins with"),
        ("p max 4 5", "p max 5 5", "has 5 nodes, not 4"),
    ],
)
def test_a_damaged_dimacs_file(folder, before, after, reason):
    (folder / "four.max").write_text(DIMACS.replace(before, after))
    with pytest.raises(files.BrokenInstanceError, match=reason):
        draw("dimacs_flow", 4, "four")


@pytest.mark.parametrize("directions", [4, 8])
def test_a_grid_file(folder, directions):
    image = draw("random_grid", 5, "9", (("directions", directions),))
    arrays = {"source": image.source, "sink": image.sink, **image.arcs}
    small = {name: array.astype(np.uint8) for name, array in arrays.items()}
    np.savez(folder / "maxflow" / "toy.npz", flow=7, **small)
    assert same(draw("grid_cut", 27, "toy"), image)
    with pytest.raises(files.BrokenInstanceError, match="27 nodes, not 25"):
        draw("grid_cut", 25, "toy")
    np.savez(folder / "maxflow" / "toy.npz", source=image.source)
    with pytest.raises(files.BrokenInstanceError, match="no array sink"):
        draw("grid_cut", 27, "toy")
    (folder / "maxflow" / "toy.npz").write_bytes(b"PK no zip")
    with pytest.raises(files.BrokenInstanceError, match=r"toy\.npz"):
        draw("grid_cut", 27, "toy")


@pytest.mark.parametrize("family", ["grid_cut", "dimacs_flow"])
def test_a_file_that_is_missing(folder, family):
    with pytest.raises(files.MissingInstanceError, match="nowhere is neither"):
        draw(family, 4, "nowhere")


# ------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize("name", image_energies.PORTRAITS)
def test_a_segmentation_keeps_its_seeds(name):
    image = draw("segmentation", 48, name)
    box, frame = image_energies.seeds(48)
    assert box.any()
    assert not (box & frame).any()
    np.testing.assert_array_equal(image.arcs["right"][:, :-1], image.arcs["left"][:, 1:])
    np.testing.assert_array_equal(image.arcs["down"][:-1], image.arcs["up"][1:])
    assert max(int(arcs.max()) for arcs in image.arcs.values()) <= image_energies.CONTRAST
    side = solved(image).source_side
    assert side[box].all()
    assert not side[frame].any()
    assert same(image, draw("segmentation", 48, name, seed=9))


def test_a_small_segmentation_costs_what_its_labels_cost():
    """The cut's capacity is the energy of the labelling that it stands for, term by term."""
    image = draw("segmentation", 16, "camera")
    answer = solved(image)
    side = answer.source_side
    energy = int(image.sink[side].sum() + image.source[~side].sum())
    for name, p, q in (("right", np.s_[:, :-1], np.s_[:, 1:]), ("down", np.s_[:-1], np.s_[1:])):
        energy += int((image.arcs[name][p] * (side[p] != side[q])).sum())
    assert answer.value == energy


@pytest.mark.parametrize("shifts_of", [image_energies.stereo_shifts, image_energies.flow_shifts])
def test_a_move_ends_at_the_energy_that_its_cut_has(shifts_of):
    first, second = image_energies.stereo_pair(24)
    shifts = shifts_of(first.shape[1])
    labels = image_energies.cheapest(first, second, shifts)
    for alpha in (0, 7, len(shifts) - 1):
        image, constant = image_energies.expansion_move(first, second, shifts, labels, alpha)
        before = image_energies.labelling_energy(first, second, shifts, labels)
        answer = solved(image)
        moved = np.where(answer.source_side, labels, alpha)
        after = image_energies.labelling_energy(first, second, shifts, moved)
        assert answer.value + constant == after <= before
        labels = moved
        assert not np.any((image.source > 0) & (image.sink > 0))
        assert not image.arcs["left"].any()
        assert not image.arcs["up"].any()


def test_every_labelling_of_a_move_costs_its_cut():
    """All 2**6 moves of six pixels: the capacity of each cut is the energy of the labels."""
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 256, (2, 2, 3, 3)).astype(np.uint8)
    shifts = np.array([(0, 0), (0, -1), (1, 0)])
    labels = np.array([[0, 1, 2], [1, 1, 0]])
    image, constant = image_energies.expansion_move(first, second, shifts, labels, 2)
    for bits in itertools.product([False, True], repeat=6):
        takes = np.array(bits).reshape(2, 3)
        capacity = int(image.source[takes].sum() + image.sink[~takes].sum())
        capacity += int(image.arcs["right"][:, :-1][~takes[:, :-1] & takes[:, 1:]].sum())
        capacity += int(image.arcs["down"][:-1][~takes[:-1] & takes[1:]].sum())
        moved = np.where(takes, 2, labels)
        energy = image_energies.labelling_energy(first, second, shifts, moved)
        assert capacity + constant == energy


def test_moves_by_name():
    image = draw("stereo_move", 24, "a06")
    assert image.shape == (24, 36)
    assert same(draw("stereo_move", 24, "x", (("alpha", 6),)), image)
    assert not same(draw("flow_move", 24, "a20"), image)


# ------------------------------------------------------------------------------- random ones


@pytest.mark.parametrize(("directions", "names"), [(4, FOUR), (8, EIGHT)])
def test_a_random_grid(directions, names):
    image = draw("random_grid", 40, "20", (("directions", directions),))
    assert tuple(image.arcs) == names
    for name, arcs in image.arcs.items():
        inside = arcs[inner((40, 40), name)]
        assert (inside.min(), inside.max()) == (0, 20)
        assert abs(inside.mean() - 10) < 1
    assert not np.any((image.source > 0) & (image.sink > 0))
    assert abs(np.count_nonzero(image.source) / 1600 - 10 / 21) < 0.06
    assert same(image, draw("random_grid", 40, "20", (("directions", directions),)))
    assert not same(image, draw("random_grid", 40, "20", (("directions", directions),), seed=2))


def test_an_oblong_grid():
    image = draw("oblong_grid", 4, "4x50")
    assert (image.shape, tuple(image.arcs)) == ((4, 50), FOUR)
    assert not np.any((image.source > 0) & (image.sink > 0))
    assert same(draw("oblong_grid", 40, "40x40"), draw("random_grid", 40, "20"))
    assert not same(image, draw("oblong_grid", 4, "4x50", seed=2))


def test_a_channel_has_its_terminals_at_its_ends():
    image = draw("channel_grid", 4, "4x50")
    assert np.argwhere(image.source)[:, 1].tolist() == [0] * 4
    assert np.argwhere(image.sink)[:, 1].tolist() == [49] * 4
    for name, arcs in image.arcs.items():
        inside = inner((4, 50), name)
        assert (arcs[inside].min(), arcs[inside].max()) == (1, 20)
        assert not arcs[~inside].any()
    assert 1 <= solved(image).value <= 4 * 20
    assert not same(image, draw("channel_grid", 4, "4x50", seed=2))


def test_a_random_network():
    net = draw("random_network", 500, "30", (("degree", 3),))
    assert (net.nodes, net.source, net.sink) == (500, 0, 499)
    assert 1400 < np.count_nonzero(net.capacity) <= 1500
    assert int(net.capacity.max()) <= 60
    assert solved(net).value >= 0


@pytest.mark.parametrize(
    ("family", "n", "label", "reason"),
    [
        ("segmentation", 48, "nobody", "not one of"),
        ("segmentation", 3, "camera", "no room"),
        ("stereo_move", 24, "a30", "none of 0 .. 29"),
        ("flow_move", 24, "seven", "does not tell its alpha"),
        ("random_grid", 4, "n", "does not tell its largest"),
        ("random_grid", 0, "3", "side 0"),
        ("oblong_grid", 4, "5x9", "does not name a shape of 4 rows"),
        ("channel_grid", 4, "4x0", "a grid of 4 x 0 pixels"),
        ("random_network", 1, "3", "1 nodes"),
    ],
)
def test_what_cannot_be_drawn(family, n, label, reason):
    with pytest.raises(ValueError, match=reason):
        draw(family, n, label)


def test_a_shift_out_of_the_picture_costs_the_most():
    first = np.zeros((3, 4, 3), np.uint8)
    for shift in ((0, 4), (3, 0), (-3, -4)):
        assert len(np.unique(image_energies.differences(first, first, shift))) == 1
    inside = image_energies.differences(first, first, (1, -1))
    expected = np.full((3, 4), inside[2, 0])
    expected[:2, 1:] = 0
    np.testing.assert_array_equal(inside, expected)
    assert inside[2, 0] > 0


def test_the_largest_side_is_an_image_of_itself():
    """A picture that has the wanted side already is taken as it is."""
    import skimage.data

    np.testing.assert_array_equal(image_energies.portrait("camera", 512), skimage.data.camera())
