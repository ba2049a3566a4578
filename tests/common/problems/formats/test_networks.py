"""Files of networks and grids: what is read, what is damaged, what an answer's file holds."""

import gzip

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from papers.common.model import Flow
from papers.common.problems.formats import networks
from papers.common.problems.formats.networks import NetworkFileError
from papers.common.problems.network import EIGHT, FOUR, grid, inner, network

DIMACS = """c two parallel arcs, a loop, and a way back: à l'École
p max 3 5

n 1 s
n 3 t
a 1 2 3
a 1 2 4
a 2 3 6
a 2 2 9
a 3 1 2
"""
ARCS = [(0, 1, 3), (0, 1, 4), (1, 2, 6), (1, 1, 9), (2, 0, 2)]


def image(names=FOUR, shape=(2, 3)):
    draw = np.random.default_rng(1)
    arcs = {name: draw.integers(0, 9, shape) * inner(shape, name) for name in names}
    return grid(*draw.integers(0, 9, (2, *shape)), arcs)


def arrays_of(found):
    return {"source": found.source, "sink": found.sink, **found.arcs}


def answer_of(net):
    """The flow of 6 from 0 by 1 to 2, as residual capacities."""
    ways = {(0, 1): 6, (1, 2): 6}
    flow = [
        ways.get((t, h), 0) - ways.get((h, t), 0) for t, h in zip(net.tail, net.head, strict=True)
    ]
    return Flow(6, net.capacity - np.array(flow), np.array([True, True, False]))


# ------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("name", ["net.max", "net.max.gz", "NET.MAX", "NET.MAX.GZ"])
def test_dimacs(tmp_path, name):
    data = DIMACS.encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.lower().endswith("gz") else data)
    net = networks.read(path)
    assert (net.nodes, net.source, net.sink) == (3, 0, 2)
    assert list(zip(*(column.tolist() for column in net.given), strict=True)) == ARCS
    assert net.capacity.sum() == 15  # without the loop
    assert networks.is_flow_file(path)


def test_arcs_as_arrays(tmp_path):
    tail, head, capacity = np.array(ARCS).T
    path = tmp_path / "net.npz"
    np.savez(path, tail=tail, head=head, capacity=capacity, nodes=3, source=0, sink=2, more=1)
    net = networks.read(path)
    assert (net.nodes, net.source, net.sink) == (3, 0, 2)
    assert list(zip(*(column.tolist() for column in net.given), strict=True)) == ARCS
    assert networks.is_flow_file(path)


@pytest.mark.parametrize("names", [FOUR, EIGHT], ids=["4", "8"])
def test_a_grid(tmp_path, names):
    path = tmp_path / "image.npz"
    made = arrays_of(image(names))
    np.savez(path, **{name: array.astype(np.uint8) for name, array in made.items()})
    read = arrays_of(networks.read(path))
    assert list(read) == list(made)
    for name, array in made.items():
        np.testing.assert_array_equal(read[name], array)
    assert networks.is_flow_file(path)


def test_what_is_no_flow_file(tmp_path):
    save_npz(tmp_path / "graph.npz", csr_array(np.eye(3)))
    (tmp_path / "broken.npz").write_bytes(b"PK")
    for name in ("graph.npz", "broken.npz", "missing.npz", "costs.csv", "max"):
        assert not networks.is_flow_file(tmp_path / name)


# ------------------------------------------------------------------------------- damage


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("p max 3 5", "p max 3 6", "5 arcs, 6 announced"),
        ("p max 3 5\n", "", 'one line "p max'),
        ("p max 3 5", "p min 3 5", 'line 2 is .p min 3 5.: there must be one line "p max'),
        ("p max 3 5", "p max 3 5\np max 3 5", 'line 3 is .*there must be one line "p max'),
        ("p max 3 5", "p max three 5", "three"),
        ("p max 3 5", "p max 3", "line 2"),
        ("n 3 t\n", "", 'one line "n NODE s" and one "n NODE t"'),
        ("n 3 t", "n 3 s", "line 5 is"),
        ("n 3 t", "n 3 t\nn 3 t", "line 6 is"),
        ("n 3 t", "n 3 st", "line 5 is"),
        ("n 3 t", "n 4 t", "outside"),
        ("n 3 t", "n 1 t", "one node"),
        ("a 1 2 3", "a 0 2 3", "a tail is no node"),
        ("a 1 2 3", "a 1 4 3", "a head is no node"),
        ("a 1 2 3", "a 1 2 -3", "negative"),
        ("a 1 2 3", "a 1 2", "line 6 is 'a 1 2': there must be three numbers"),
        ("a 1 2 3", "a 1 2 3 4", "three numbers"),
        ("a 1 2 3", "a 1 2 3.5", "3.5"),
        ("a 1 2 3", "a 1 2 9223372036854775808", "net.max"),
        ("a 1 2 3", "a 1 2 4611686018427387904", r"2\*\*62"),
        ("a 1 2 3", "e 1 2 3", "line 6 begins with 'e'"),
    ],
)
def test_damaged_dimacs(tmp_path, before, after, reason):
    assert before in DIMACS
    path = tmp_path / "net.max"
    path.write_text(DIMACS.replace(before, after, 1), encoding="latin-1")
    with pytest.raises(NetworkFileError, match=reason) as told:
        networks.read(path)
    assert str(told.value).startswith("net.max: ")
    assert str(tmp_path) not in str(told.value)


def test_lines_of_four_numbers_are_no_lines_of_three(tmp_path):
    """Twelve numbers in three lines must not become four arcs."""
    path = tmp_path / "net.max"
    path.write_text("p max 3 3\nn 1 s\nn 3 t\n" + "a 1 2 3 1\n" * 3)
    with pytest.raises(NetworkFileError, match="line 4"):
        networks.read(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sink": None}, "no array sink"),
        ({"up": None, "left": None}, "no array left, up"),
        ({"down_left": np.zeros((2, 3), int)}, "no array down_right"),
        ({"source": np.zeros(3, int)}, "height and width"),
        ({"up": np.ones((2, 3), int)}, "an arc up leaves the image"),
        ({"up": np.full((2, 3), np.nan)}, "no whole number"),
        ({"up": np.array(["x"])}, "shape"),
        ({"source": np.array(None)}, "allow_pickle"),
    ],
)
def test_damaged_grids(tmp_path, change, reason):
    arrays = {**arrays_of(image()), **change}
    path = tmp_path / "image.npz"
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(NetworkFileError, match=reason):
        networks.read(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": None}, "no array nodes"),
        ({"head": None, "sink": None}, "no array head, sink"),
        ({"source": [0, 1]}, "source is not one whole number"),
        ({"nodes": 3.0}, "nodes is not one whole number"),
        ({"head": [1, 2]}, "one length"),
        ({"capacity": [1, 2, 3, 4, -5]}, "negative"),
    ],
)
def test_damaged_arcs(tmp_path, change, reason):
    tail, head, capacity = np.array(ARCS).T
    given = {"tail": tail, "head": head, "capacity": capacity, "nodes": 3, "source": 0, "sink": 2}
    given |= change
    path = tmp_path / "net.npz"
    np.savez(path, **{name: array for name, array in given.items() if array is not None})
    with pytest.raises(NetworkFileError, match=reason):
        networks.read(path)


@pytest.mark.parametrize("name", ["net.npz", "net.max.gz"])
def test_a_file_that_was_cut_off(tmp_path, name):
    path = tmp_path / name
    if name.endswith("npz"):
        np.savez(path, **arrays_of(image(shape=(40, 50))))
    else:
        path.write_bytes(gzip.compress(DIMACS.encode()))
    whole = path.read_bytes()
    for size in (0, 2, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:size])
        with pytest.raises(NetworkFileError, match=f"^{name}: "):
            networks.read(path)


def test_other_endings_and_missing_files(tmp_path):
    with pytest.raises(NetworkFileError, match=r"read from \.npz, \.max, \.max\.gz"):
        networks.read(tmp_path / "net.txt")
    with pytest.raises(FileNotFoundError):
        networks.read(tmp_path / "net.max")


# ------------------------------------------------------------------------------- writing


def dimacs_network(tmp_path):
    path = tmp_path / "net.max"
    path.write_text(DIMACS)
    return networks.read(path)


def test_the_flow_stands_beside_the_arcs_of_the_file(tmp_path):
    net = dimacs_network(tmp_path)
    networks.write(tmp_path / "flow.csv", net, answer_of(net))
    assert (tmp_path / "flow.csv").read_text().splitlines() == [
        "tail,head,capacity,flow", "0,1,3,3", "0,1,4,3", "1,2,6,6", "1,1,9,0", "2,0,2,0",
    ]  # fmt: skip
    networks.write(tmp_path / "flow.npz", net, answer_of(net))
    with np.load(tmp_path / "flow.npz") as file:
        assert set(file.files) == {"flow_value", "source_side", "tail", "head", "capacity", "flow"}
        assert file["flow_value"] == 6
        assert file["flow"].tolist() == [3, 3, 6, 0, 0]
        assert file["source_side"].tolist() == [True, True, False]


def test_a_network_of_no_file_names_its_own_arcs(tmp_path):
    net = network([0, 0, 1, 2], [1, 1, 2, 0], [3, 4, 6, 2], 3, 0, 2)
    networks.write(tmp_path / "flow.csv", net, answer_of(net))
    lines = (tmp_path / "flow.csv").read_text().splitlines()
    assert lines == ["tail,head,capacity,flow", "0,1,7,6", "1,2,6,6", "2,0,2,0"]


def test_a_network_without_arcs(tmp_path):
    net = network(*np.empty((3, 0), int), 3, 0, 2)
    networks.write(tmp_path / "flow.csv", net, Flow(0, net.capacity, np.array([1, 1, 0], bool)))
    assert (tmp_path / "flow.csv").read_text() == "tail,head,capacity,flow\n"


def test_the_mask_of_a_grid(tmp_path):
    made = image()
    mask = np.array([[True, False, True], [False, False, True]])
    answer = Flow(4, arrays_of(made), mask)
    networks.write(tmp_path / "MASK.CSV", made, answer)
    assert (tmp_path / "MASK.CSV").read_text() == "1,0,1\n0,0,1\n"
    networks.write(tmp_path / "MASK.NPZ", made, answer)
    with np.load(tmp_path / "MASK.NPZ") as file:
        assert file["source_side"].tolist() == mask.tolist()
        assert file["flow_value"] == 4
        for name, array in arrays_of(made).items():
            assert (file[f"residual_{name}"] == array).all()


def test_other_endings_are_refused_before_anything_is_written(tmp_path):
    net = dimacs_network(tmp_path)
    with pytest.raises(NetworkFileError, match=r"written to \.npz, \.csv"):
        networks.write(tmp_path / "flow.txt", net, answer_of(net))
    assert not (tmp_path / "flow.txt").exists()
    with pytest.raises(FileNotFoundError):
        networks.write(tmp_path / "nowhere" / "flow.csv", net, answer_of(net))
