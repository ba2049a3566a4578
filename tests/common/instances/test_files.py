"""Matrices from files: formats, places and damage."""

import gzip
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, load_npz, random_array, save_npz

from papers.common import instances
from papers.common.instances import files
from papers.common.instances.files import (
    BrokenInstanceError,
    MissingInstanceError,
)
from papers.common.model import Instance, Matching
from papers.common.problems import matching_proof
from papers.common.problems.graph import bipartite

PATTERN = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]])


@pytest.fixture(autouse=True)
def _own_places(tmp_path, monkeypatch):
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path / "given"))
    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path / "cache"))
    for name in ("given", "given/matrices", "cache"):
        (tmp_path / name).mkdir()


def same(graph, pattern):
    np.testing.assert_array_equal(graph.matrix().toarray(), pattern)


def put(folder, text, name="m.mtx"):
    (folder / name).write_text(text)
    return folder / name


# ------------------------------------------------------------------------------- formats

COORDINATES = "%%MatrixMarket matrix coordinate {} {}\n"


@pytest.mark.parametrize(
    ("field", "values"),
    [("pattern", ["", ""]), ("real", [" 1.5", " 0.0"]), ("integer", [" 7", " 0"]),
     ("complex", [" 1 2", " 0 0"])],
)  # fmt: skip
def test_every_field_is_structure_and_a_stored_zero_counts(tmp_path, field, values):
    lines = [f"{place}{value}\n" for place, value in zip(["1 2", "3 1"], values, strict=True)]
    text = COORDINATES.format(field, "general") + "3 2 2\n" + "".join(lines)
    same(files.read(put(tmp_path, text)), [[0, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize(
    ("field", "symmetry", "value"),
    [("pattern", "symmetric", ""), ("real", "symmetric", " 3"), ("real", "skew-symmetric", " 3"),
     ("complex", "hermitian", " 3 1")],
)  # fmt: skip
def test_both_halves_of_a_symmetric_matrix(tmp_path, field, symmetry, value):
    text = COORDINATES.format(field, symmetry) + f"3 3 2\n2 1{value}\n3 2{value}\n"
    same(files.read(put(tmp_path, text)), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_a_loop_is_stored_once_and_duplicates_are_one_edge(tmp_path):
    text = COORDINATES.format("pattern", "symmetric") + "2 2 3\n1 1\n2 1\n2 1\n"
    same(files.read(put(tmp_path, text)), [[1, 1], [1, 0]])


def test_an_array_file_is_dense(tmp_path):
    mmwrite(tmp_path / "m.mtx", PATTERN.astype(float))
    same(files.read(tmp_path / "m.mtx"), PATTERN)


def test_compressed_matrix_market(tmp_path):
    mmwrite(tmp_path / "m.mtx", coo_array(PATTERN))
    (tmp_path / "z.mtx.gz").write_bytes(gzip.compress((tmp_path / "m.mtx").read_bytes()))
    same(files.read(tmp_path / "z.mtx.gz"), PATTERN)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_npz_of_any_sparse_form(tmp_path, form):
    save_npz(tmp_path / "m.npz", csr_array(PATTERN).asformat(form))
    same(files.read(tmp_path / "m.npz"), PATTERN)


def test_npz_whose_members_are_compressed_otherwise(tmp_path):
    save_npz(tmp_path / "m.npz", csr_array(PATTERN), compressed=False)
    with zipfile.ZipFile(tmp_path / "m.npz") as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_LZMA) as new:
        for name, data in members.items():
            new.writestr(name, data)
    same(files.read(tmp_path / "x.npz"), PATTERN)


# ------------------------------------------------------------------------------- broken files


def cut(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    return path


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_files_that_are_cut_off(tmp_path, share):
    graph = random_array((300, 200), density=0.1, rng=1)
    save_npz(tmp_path / "m.npz", graph.tocsr())
    mmwrite(tmp_path / "m.mtx", graph)
    (tmp_path / "m.mtx.gz").write_bytes(gzip.compress((tmp_path / "m.mtx").read_bytes()))
    for ending in files.GRAPH_ENDINGS:
        with pytest.raises(BrokenInstanceError, match=f"^m{ending}: ") as error:
            files.read(cut(tmp_path / f"m{ending}", share))
        assert str(tmp_path) not in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["", "no banner\n1 1 0\n", COORDINATES.format("real", "general") + "2 2 1\n3 1 1.0\n",
     COORDINATES.format("real", "general") + "2 2 2\n1 1 1.0\n",
     COORDINATES.format("real", "general") + "2 2 1\n1 x 1.0\n"],
)  # fmt: skip
def test_text_that_is_no_matrix(tmp_path, text):
    with pytest.raises(BrokenInstanceError, match=r"^m\.mtx: "):
        files.read(put(tmp_path, text))


def test_npz_files_that_are_no_pattern(tmp_path):
    np.savez(tmp_path / "dense.npz", cost=PATTERN)
    good = csr_array(PATTERN)
    for name, key, value in (
        ("index", "indices", np.where(good.indices == 3, 9, good.indices)),
        ("negative", "indices", good.indices - 1),
        ("order", "indptr", np.array([0, 4, 2, 5])),
        ("end", "indptr", np.array([0, 2, 2, 6])),
    ):
        arrays = {"indices": good.indices, "indptr": good.indptr, "shape": np.array(good.shape)}
        np.savez(tmp_path / f"{name}.npz", **{**arrays, key: value}, data=good.data, format=b"csr")
    for path in sorted(tmp_path.glob("*.npz")):
        with pytest.raises(BrokenInstanceError, match=rf"^{path.name}: ") as error:
            files.read(path)
        assert str(tmp_path) not in str(error.value)


def test_other_endings_and_missing_files(tmp_path):
    with pytest.raises(BrokenInstanceError, match=r"\.npz, \.mtx, \.mtx\.gz"):
        files.read(put(tmp_path, "", "m.mat"))
    with pytest.raises(BrokenInstanceError, match=r"^m\.npz: No such file"):
        files.read(tmp_path / "m.npz")


# ------------------------------------------------------------------------------- places


@pytest.mark.parametrize("place", ["given", "given/matrices", "cache"])
@pytest.mark.parametrize("ending", ["mtx", "npz"])
def test_a_matrix_is_found_by_name(tmp_path, place, ending):
    if ending == "mtx":
        mmwrite(tmp_path / place / "some-name.mtx", coo_array(PATTERN))
    else:
        save_npz(tmp_path / place / "some-name.npz", csr_array(PATTERN))
    same(files.load("some-name"), PATTERN)
    same(files.load("GROUP/some-name"), PATTERN)


def test_a_file_of_ones_own_comes_before_the_cache(tmp_path):
    save_npz(tmp_path / "cache" / "m.npz", csr_array(PATTERN.T))
    save_npz(tmp_path / "given" / "matrices" / "m.npz", csr_array(PATTERN))
    same(files.load("m"), PATTERN)


def test_without_a_variable_the_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("PAPERS_CACHE")
    monkeypatch.delenv("PAPERS_INSTANCES")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert list(files.places()) == [tmp_path / "papers"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.cache() == tmp_path / ".cache" / "papers"
    with pytest.raises(MissingInstanceError, match="not set"):
        files.load("m")


def test_a_missing_matrix_is_named_without_folders(tmp_path):
    with pytest.raises(MissingInstanceError, match=r"^copter2 is neither in") as error:
        files.load("copter2")
    assert str(tmp_path) not in str(error.value)


@pytest.mark.parametrize("name", ["", "../m", "a/b/c", "/etc/passwd", "..", "a b"])
def test_a_path_is_no_name(name):
    with pytest.raises(MissingInstanceError, match="no name"):
        files.load(name)


def test_matrices_are_instances(tmp_path):
    save_npz(tmp_path / "given" / "m.npz", csr_array(PATTERN))
    same(instances.draw(Instance("matrix", 3, "m")), PATTERN)
    shuffled = instances.draw(Instance("matrix", 3, "m", seed=5, permuted=True))
    same(shuffled, bipartite(PATTERN).permuted(5).matrix().toarray())
    with pytest.raises(BrokenInstanceError, match="m has 3 rows, not 4"):
        instances.draw(Instance("matrix", 4, "m"))
    with pytest.raises(MissingInstanceError):
        instances.draw(Instance("matrix", 4, "nobody"))


# ------------------------------------------------------------------------------- real ones

SHARED = [
    Path(os.environ.get("PAPERS_INSTANCES", ".")),
    *(folder / "shared" / "instances" for folder in Path(__file__).resolve().parents),
]
"""Where real matrices may lie: in the folder that the variable names, or beside this repository."""


@pytest.mark.parametrize(
    ("name", "rows", "columns", "nonzeros", "matched"),
    [("Hamrle1", 32, 32, 98, 32), ("ash219", 219, 85, 438, 85), ("EVA", 8497, 8497, 6726, 1303),
     ("mip_nw04", 36, 87482, 636666, 36), ("bcsstk13", 2003, 2003, 83883, 2003)],
)  # fmt: skip
def test_real_matrices(monkeypatch, name, rows, columns, nonzeros, matched):
    from scipy.sparse.csgraph import maximum_bipartite_matching

    folder = next((f for f in SHARED if (f / "matrices" / f"{name}.npz").is_file()), None)
    if folder is None:
        pytest.skip(f"matrices/{name}.npz is not here (set PAPERS_INSTANCES to its folder)")
    monkeypatch.setenv("PAPERS_INSTANCES", str(folder))
    graph = files.load(name)
    assert (graph.rows, graph.columns, graph.edges) == (rows, columns, nonzeros)
    row_match = maximum_bipartite_matching(graph.matrix().tocsr(), perm_type="column")
    column_match = np.full(columns, -1, np.int32)
    column_match[row_match[row_match >= 0]] = np.flatnonzero(row_match >= 0)
    answer = Matching(row_match, column_match, matched)
    assert matching_proof.matching(graph, answer).ok
    pattern = load_npz(folder / "matrices" / f"{name}.npz")
    assert (graph.matrix() != (pattern != 0)).nnz == 0
