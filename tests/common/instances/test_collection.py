"""Fetching: a collection that is a folder, its checksums, and the recipes of the catalogue."""

import io
import sys
import tarfile
import types
from dataclasses import replace

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, save_npz

from papers.common.instances import catalogue, collection, files
from papers.common.instances.catalogue import ForeignInstanceError
from papers.common.instances.collection import FetchError, NoCollectionError, NoRecipeError
from papers.common.instances.files import BrokenInstanceError
from papers.common.problems import identity
from papers.common.problems.graph import bipartite

PATTERN = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 1]])


@pytest.fixture(autouse=True)
def _own_places(tmp_path, monkeypatch):
    monkeypatch.delenv("PAPERS_INSTANCES", raising=False)
    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()


def same(graph, pattern):
    np.testing.assert_array_equal(graph.matrix().toarray(), pattern)


def cut(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])


class Entry:
    """What the client knows of one matrix; its file is in a folder."""

    def __init__(self, folder, group, name, shape=(3, 4)):
        self.group, self.name, self.nnz = group, name, 5
        self.rows, self.cols = shape
        self._path = folder / f"{group}-{name}.tar.gz"

    def url(self, format):
        assert format == "MM"
        return self._path.as_uri()

    def publish(self, pattern=PATTERN, member=None):
        text = io.BytesIO()
        mmwrite(text, coo_array(pattern))
        with tarfile.open(self._path, "w:gz") as archive:
            for name in (
                f"{self.name}/{self.name}_b.mtx",
                member or f"{self.name}/{self.name}.mtx",
            ):
                data = text.getvalue() if not name.endswith("_b.mtx") else b"a right-hand side"
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A client in the place of ssgetpy, whose index holds like names and one twice."""
    names = ("A/some", "A/some-more", "A/twice", "B/twice")
    entries = {name: Entry(tmp_path, *name.split("/")) for name in names}
    for entry in entries.values():
        entry.publish()

    def search(name, limit):
        return [entry for entry in entries.values() if name.lower() in entry.name.lower()][:limit]

    monkeypatch.setitem(sys.modules, "ssgetpy", types.SimpleNamespace(search=search))
    return entries


def test_a_fetched_matrix_is_in_the_cache_with_its_checksum(tmp_path, published):
    told = []
    path = collection.fetch("some", told.append)
    assert path == tmp_path / "cache" / "some.npz"
    same(files.load("some"), PATTERN)
    assert any("downloading A/some" in line for line in told)
    assert sorted(p.name for p in path.parent.iterdir()) == ["SHA256SUMS", "some.npz"]
    collection.fetch("B/twice")
    collection.fetch("some")
    lines = (tmp_path / "cache" / "SHA256SUMS").read_text().splitlines()
    assert [line.split("  ")[1] for line in lines] == ["some.npz", "twice.npz"]


def test_a_fetched_file_that_changed_is_noticed(published):
    path = collection.fetch("some")
    save_npz(path, csr_array(PATTERN * 0 + 1))
    with pytest.raises(BrokenInstanceError, match="fetch it again"):
        files.load("some")
    collection.fetch("some")
    same(files.load("some"), PATTERN)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("twice", "several .* A/twice, B/twice"), ("om", "no matrix called om"),
     ("B/some", "no matrix called B/some")],
)  # fmt: skip
def test_a_name_means_one_matrix(published, name, reason):
    with pytest.raises(FetchError, match=reason):
        collection.fetch(name)


def test_archives_that_are_not_what_they_should_be(tmp_path, published):
    entry = published["A/some"]
    entry.publish(PATTERN.T)
    with pytest.raises(BrokenInstanceError, match="some is 4 x 3, the index says 3 x 4"):
        collection.fetch("some")
    entry.publish(member="some/other.mtx")
    with pytest.raises(BrokenInstanceError, match="holds no some/some"):
        collection.fetch("some")
    entry.publish()
    cut(entry._path, 0.5)
    with pytest.raises(BrokenInstanceError, match="some: "):
        collection.fetch("some")
    entry._path.unlink()
    with pytest.raises(FetchError, match="cannot be had"):
        collection.fetch("some")
    assert not list((tmp_path / "cache").iterdir())


def test_a_download_that_breaks_off(tmp_path, published, monkeypatch):
    class Answer(io.BytesIO):
        headers = {"Content-Length": "1000"}  # noqa: RUF012

    monkeypatch.setattr(
        collection.urllib.request, "urlopen", lambda url, timeout: Answer(b"x" * 10)
    )
    with pytest.raises(FetchError, match="broke off after 10 of 1000 bytes"):
        collection.fetch("some")


def test_without_the_client_or_without_a_network(monkeypatch):
    monkeypatch.setitem(sys.modules, "ssgetpy", None)
    with pytest.raises(NoCollectionError, match="make install EXTRAS=suitesparse"):
        collection.fetch("some")

    def unreachable(**keywords):
        raise ConnectionError("no route")

    monkeypatch.setitem(sys.modules, "ssgetpy", types.SimpleNamespace(search=unreachable))
    with pytest.raises(NoCollectionError, match=r"index .* no route"):
        collection.fetch("some")


# ------------------------------------------------------------------------------- recipes

KNOWN = catalogue.known("Hamrle1")
SQUARE = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 0]])


def fact_of(pattern, **changes):
    """The facts of a made-up matrix called `mine`, which is A/some there."""
    graph = bipartite(pattern)
    found = identity.of_data(graph)
    fact = replace(
        KNOWN, name="mine", collection="A/some", symmetric="", note="",
        compared_by="pattern", degrees_sha256=identity.degrees(graph), **found.row(),
    )  # fmt: skip
    return replace(fact, **changes)


@pytest.fixture
def knows(monkeypatch):
    """Puts one fact into the catalogue, alone."""

    def put(fact):
        monkeypatch.setattr(catalogue, "catalogue", lambda: {fact.name: fact})

    return put


def test_a_recipe_knows_the_group_and_the_name_there(tmp_path, published, knows):
    knows(fact_of(PATTERN, collection="B/twice"))
    told = []
    assert collection.fetch("mine", told.append) == tmp_path / "cache" / "mine.npz"
    assert told[:2] == ["looking up B/twice", "downloading B/twice, 5 nonzeros"]
    same(files.load("mine"), PATTERN)


def test_a_recipe_takes_the_diagonal_out(published, knows):
    entry = published["A/some"]
    entry.publish(SQUARE)
    entry.rows, entry.cols = SQUARE.shape
    less = SQUARE - np.diag(np.diag(SQUARE))
    knows(fact_of(less, change=catalogue.WITHOUT_DIAGONAL, symmetric="yes"))
    collection.fetch("mine")
    same(files.load("mine"), less)


def test_a_fetched_matrix_that_is_another_is_not_kept(tmp_path, published, knows):
    other = PATTERN[::-1]  # its size and its degrees are right
    knows(fact_of(other))
    with pytest.raises(ForeignInstanceError, match="the file of mine holds another instance"):
        collection.fetch("mine")
    assert not (tmp_path / "cache" / "mine.npz").exists()
    knows(fact_of(other, compared_by="degrees"))
    same(files.read(collection.fetch("mine")), PATTERN)


def test_a_matrix_without_a_recipe_is_not_looked_up(monkeypatch):
    monkeypatch.setitem(sys.modules, "ssgetpy", None)
    with pytest.raises(NoRecipeError, match=r"^mip_nw04 has no recipe: .* coin-or-tools/Data-mip"):
        collection.fetch("mip_nw04")
