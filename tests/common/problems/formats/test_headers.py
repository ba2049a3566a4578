"""Headers that claim what their files cannot hold are refused before anything is allocated."""

import contextlib
import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import csr_array, random_array, save_npz

from papers.common.problems import kinds
from papers.common.problems.formats import headers, matrices
from papers.common.problems.formats.matrices import FileFormatError
from papers.common.problems.network import FOUR

BANNER = "%%MatrixMarket matrix coordinate pattern general\n"
ARRAY = "%%MatrixMarket matrix array real general\n"
HUGE = 99999999999
NETWORK = "p max {} {}\nn 1 s\nn 2 t\na 1 2 3\n"
ROOM = 1 << 24
"""Bytes that a reader may take to refuse a file (LZMA takes 8 MiB); the headers claim far more."""


def refused(path, match):
    """The sentence of a refusal: it names the file, and little memory was taken for it."""
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=match) as told:
            kinds.read(path)
        assert tracemalloc.get_traced_memory()[1] < ROOM
    finally:
        tracemalloc.stop()
    assert path.name in str(told.value)
    assert "\n" not in str(told.value)


def text(tmp_path, name, words):
    path = tmp_path / name
    data = words.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def npy_bytes(shape, dtype="<i8", data=b"", magic=b"\x93NUMPY\x01\x00"):
    """A NumPy file whose header claims `shape`, whatever its data."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return magic + len(header).to_bytes(2, "little") + header + data


def npz(path, arrays, method=zipfile.ZIP_STORED, **lies):
    """A ``.npz`` with honest arrays, and members of the bytes in `lies`."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, np.asarray(array))
            archive.writestr(f"{name}.npy", buffer.getvalue())
        for name, data in lies.items():
            archive.writestr(f"{name}.npy", data)
    return path


# ------------------------------------------------------------------------------- text


@pytest.mark.parametrize("name", ["m.mtx", "m.mtx.gz"])
@pytest.mark.parametrize(
    ("words", "match"),
    [
        (f"{BANNER}3 3 {HUGE}\n1 1\n", f"claims {HUGE} entries: they are counted in 32 bits"),
        (f"{BANNER}{HUGE} 3 1\n1 1\n", "claims 99999999999 rows"),
        (f"{BANNER}3 {10**400} 1\n1 1\n", "claims 1000000000.* columns"),
        (f"{BANNER}30000 30000 900000000\n1 1\n", "900000000 entries"),
        (f"{BANNER}3 3 -1\n1 1\n", "'-1' is no count of entries"),
        (f"{BANNER}3 3 1e3\n1 1\n", "'1e3' is no count of entries"),
        (f"{BANNER}3 3 ٣\n1 1\n", "is no count of entries"),
        (f"{BANNER}3 3\n1 1\n", "the size line has 2 numbers, not rows, columns, entries"),
        (f"{BANNER}% no size\n", "no size line"),
        (f"{ARRAY}40000 40000\n1\n", "claims 1600000000 entries|40000 x 40000"),
        (f"{ARRAY}40000 40000 2\n1\n", "the size line has 3 numbers, not rows, columns"),
        ("%MatrixMarket matrix coordinate pattern general\n1 1 0\n", "the first line is not"),
    ],
)
def test_matrix_market(tmp_path, name, words, match):
    refused(text(tmp_path, name, words), match)


@pytest.mark.parametrize("name", ["m.mtx", "m.mtx.gz"])
@pytest.mark.parametrize(("given", "true"), [(4, 3), (3, 3), (2, 3)])
def test_one_line_too_few_is_noticed(tmp_path, name, given, true):
    """The shortest lines: four bytes an entry, and the last one may lack its end."""
    lines = "\n".join(["1 1", "2 2", "3 3"][:true])
    path = text(tmp_path, name, f"{BANNER}3 3 {given}\n{lines}")
    if given == true:
        assert kinds.read(path).edges == 3
    elif given > true:
        refused(path, "claims 4 entries, which take 16 bytes at least: the file holds 12")
    else:
        refused(path, r"m\.mtx")


def test_a_file_that_cannot_hold_its_entries_is_not_even_unpacked():
    class Packed(io.BytesIO):
        def read(self, size=-1):
            raise AssertionError("it was read past its header")

    words = f"{BANNER}3 3 1000\n".encode()
    with pytest.raises(headers.HeaderError, match="the file holds 101"):
        matrices.of_matrix_market(Packed(words), len(words) + 100)


@pytest.mark.parametrize("name", ["n.max", "n.max.gz"])
@pytest.mark.parametrize(
    ("nodes", "arcs", "match"),
    [
        (2, HUGE, f"claims {HUGE} arcs: they are counted in 32 bits"),
        (HUGE, 1, f"claims {HUGE} nodes"),
        (2, 2_000_000_000, "2000000000 arcs, which take 16000000000 bytes at least"),
        (2, -1, "'-1' is no count of arcs"),
        ("0x2", 1, "'0x2' is no count of nodes"),
    ],
)
def test_dimacs(tmp_path, name, nodes, arcs, match):
    refused(text(tmp_path, name, NETWORK.format(nodes, arcs)), match)


# ------------------------------------------------------------------------------- NumPy


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (
            npy_bytes((HUGE, 3)),
            "299999999997 elements of the matrix, which take .* the file holds 0",
        ),
        (npy_bytes((2, 2), data=bytes(31)), "take 32 bytes at least: the file holds 31"),
        (npy_bytes((-3, 3)), r"claims the shape \(-3, 3\)"),
        (npy_bytes(("x", 3)), "no header of a NumPy array"),
        (npy_bytes((1, 1), data=bytes(8), magic=b"\x93NUMPY\x03\x00"), "version 3.0"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "no header of a NumPy array"),
        (b"", "no header of a NumPy array"),
    ],
)
def test_a_matrix_of_costs(tmp_path, data, match):
    (tmp_path / "c.npy").write_bytes(data)
    refused(tmp_path / "c.npy", match)


GRAPH = csr_array(np.eye(3, dtype=np.int8))
ARRAYS = {"indptr": GRAPH.indptr, "data": GRAPH.data, "shape": [3, 3], "format": np.bytes_("csr")}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_graph_whose_member_claims_more(tmp_path, method):
    assert (
        kinds.read(npz(tmp_path / "g.npz", ARRAYS | {"indices": GRAPH.indices}, method)).edges == 3
    )
    lie = npy_bytes((HUGE,), "<i4", bytes(12))
    refused(npz(tmp_path / "g.npz", ARRAYS, method, indices=lie), f"{HUGE} elements of indices")


@pytest.mark.parametrize(
    ("shape", "match"),
    [([HUGE, 3], "claims 99999999999 rows"), ([3, -3], "'-3' is no count of columns"),
     ([3.0, 3.0], "no pair"), ([3, 3, 3], "no pair")],
)  # fmt: skip
def test_a_graph_of_coordinates_in_a_huge_shape(tmp_path, shape, match):
    arrays = {"row": [0], "col": [0], "data": [1], "shape": shape, "format": np.bytes_("coo")}
    refused(npz(tmp_path / "g.npz", arrays), match)


def test_networks_and_grids(tmp_path):
    arcs = {"tail": [0], "head": [1], "capacity": [1], "source": 0, "sink": 1}
    refused(npz(tmp_path / "n.npz", arcs | {"nodes": HUGE}), f"claims {HUGE} nodes")
    refused(npz(tmp_path / "n.npz", arcs | {"nodes": -2}), "'-2' is no count of nodes")
    lie = npy_bytes((HUGE,))
    honest = {name: array for name, array in arcs.items() if name != "tail"}
    refused(npz(tmp_path / "n.npz", honest | {"nodes": 2}, tail=lie), "elements of tail")
    side = dict.fromkeys(("sink", *FOUR), np.zeros((2, 2), int))
    refused(npz(tmp_path / "g.npz", side, source=npy_bytes((10**6, 10**6))), "elements of source")


# ------------------------------------------------------------------------------- memory


def test_what_the_memory_does_not_hold(tmp_path, monkeypatch):
    """The file is honest, or its empty rows cost it nothing: the machine is too small."""
    monkeypatch.setattr(headers, "memory", lambda: 1 << 20)
    refused(text(tmp_path, "m.mtx", f"{BANNER}1000000 1000000 1\n1 1\n"), "memory at least")
    refused(text(tmp_path, "n.max", NETWORK.format(1000000, 1)), "1000000 nodes, which take")
    np.save(tmp_path / "c.npy", np.zeros((400, 400)))
    refused(tmp_path / "c.npy", "160000 elements of the matrix, which take .* memory")
    coo = {"row": [0], "col": [0], "data": [1], "format": np.bytes_("coo")}
    refused(npz(tmp_path / "g.npz", coo | {"shape": [10**6, 10**6]}), "1000000 x 1000000")


# ------------------------------------------------------------------------------- any bytes


def whole_files(tmp_path):
    """A small honest file of every format."""
    graph = random_array((20, 30), density=0.2, rng=1)
    save_npz(tmp_path / "f.npz", graph.tocsr())
    mmwrite(tmp_path / "f.mtx", graph)
    (tmp_path / "f.mtx.gz").write_bytes(gzip.compress((tmp_path / "f.mtx").read_bytes()))
    text(tmp_path, "f.max", NETWORK.format(2, 1))
    np.save(tmp_path / "f.npy", np.arange(30).reshape(5, 6))
    grid = dict.fromkeys(("source", "sink", *FOUR), np.zeros((2, 2), int))
    npz(tmp_path / "grid.npz", grid)
    return sorted(path for path in tmp_path.iterdir())


def test_damaged_bytes_give_data_or_the_named_error(tmp_path):
    """One byte changed, or the end cut off: no other error leaves a reader."""
    random = np.random.default_rng(3)
    told = []
    for path in whole_files(tmp_path):
        whole = path.read_bytes()
        for _ in range(12):
            damaged = bytearray(whole)
            damaged[random.integers(len(whole))] = random.integers(256)
            path.write_bytes(damaged[: None if random.integers(2) else random.integers(len(whole))])
            with contextlib.suppress(FileFormatError):
                kinds.read(path)
                continue
            told.append(path.name)
        path.write_bytes(whole)
        kinds.read(path)
    assert len(told) > 20
    assert len(set(told)) == 6


def test_an_archive_of_a_version_that_is_not_known(tmp_path):
    """Only a damaged byte makes it: the directory says which version unpacks a member."""
    path = npz(tmp_path / "g.npz", ARRAYS | {"indices": GRAPH.indices})
    whole = path.read_bytes()
    entry = whole.index(b"PK\x01\x02")
    path.write_bytes(whole[: entry + 6] + b"\xb7" + whole[entry + 7 :])
    refused(path, "zip file version 18.3")
