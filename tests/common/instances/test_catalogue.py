"""Data are held against the facts of their name, and every known matrix has its origin."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nightly import first
from scipy.sparse import coo_array, csr_array, eye_array, save_npz

from papers.common import instances
from papers.common.instances import catalogue, files
from papers.common.instances.catalogue import ForeignInstanceError
from papers.common.instances.families import FAMILIES
from papers.common.instances.files import MissingInstanceError
from papers.common.instances.graphs.suitesparse import REAL
from papers.common.model import Instance
from papers.common.problems import identity
from papers.common.problems.graph import bipartite
from papers.common.problems.network import FOUR, grid

KNOWN = catalogue.known("Hamrle1")
SQUARE = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]])


def knows(monkeypatch, pattern, **changes):
    """Makes the facts of `pattern` those of the name `mine`."""
    graph = bipartite(pattern)
    fact = replace(
        KNOWN, name="mine", symmetric="yes" if catalogue.symmetric(graph) else "no", note="",
        compared_by="pattern", degrees_sha256=identity.degrees(graph),
        **identity.of_data(graph).row(),
    )  # fmt: skip
    monkeypatch.setattr(catalogue, "catalogue", lambda: {"mine": replace(fact, **changes)})


def refused(pattern, match):
    with pytest.raises(ForeignInstanceError, match=match) as told:
        catalogue.check_graph("mine", bipartite(pattern))
    assert "\n" not in str(told.value)


# ------------------------------------------------------------------------------- the check


def test_an_identity_of_its_size_is_not_the_papers_hamrle3(tmp_path, monkeypatch):
    rows = 1_447_360
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path))
    save_npz(tmp_path / "Hamrle3.npz", eye_array(rows, dtype=np.int8, format="csr"), False)
    sentence = (
        "the file of Hamrle3 holds another instance: it is 1447360 x 1447360 with 1447360 entries, "
        "the facts say 1447360 x 1447360 with 5514242 entries"
    )
    with pytest.raises(MissingInstanceError) as told:
        instances.draw(Instance("matrix", rows, "Hamrle3"))
    assert str(told.value) == sentence


def test_data_that_are_the_facts_pass(monkeypatch):
    knows(monkeypatch, SQUARE)
    catalogue.check_graph("mine", bipartite(SQUARE))
    catalogue.check_graph("GROUP/mine", bipartite(SQUARE * 7.5))
    catalogue.check_graph("nobody", bipartite(np.eye(2)))


def test_rows_columns_and_entries(monkeypatch):
    knows(monkeypatch, SQUARE)
    refused(SQUARE[:3], "it is 3 x 4 with 6 entries, the facts say 4 x 4 with 7 entries$")
    refused(SQUARE[:, :3], "it is 4 x 3 with 5 entries")
    refused(np.eye(4), "it is 4 x 4 with 4 entries")
    # An empty column more changes neither entries nor checksum.
    refused(np.pad(SQUARE, ((0, 0), (0, 1))), "it is 4 x 5 with 7 entries, the facts say 4 x 4")
    more = SQUARE + np.eye(4, k=2)
    refused(more, "with 9 entries, .*: entries that are stored as zero count, take them out")


def test_a_diagonal_that_is_too_much_is_told(monkeypatch):
    """As copter2's: everybody else's has one, the one that was measured has none."""
    whole = SQUARE + SQUARE.T
    less = whole - np.diag(np.diag(whole))
    knows(monkeypatch, less, note="it is A/b without its diagonal")
    refused(
        whole, "4 x 4 with 6 entries: take the 4 entries of the diagonal out; it is A/b without"
    )
    catalogue.check_graph("mine", catalogue.without_diagonal(bipartite(whole)))


def test_symmetry(monkeypatch):
    knows(monkeypatch, SQUARE + SQUARE.T, compared_by="")
    other = SQUARE + SQUARE.T
    other[[0, 0], [1, 3]] = other[[0, 0], [3, 1]]  # as many entries, one of them elsewhere
    refused(other, "its pattern is not symmetric, the facts say the contrary")
    knows(monkeypatch, SQUARE, compared_by="")
    even = np.diag([1, 1, 1, 0]) + np.eye(4, k=1) * [[1], [1], [0], [0]]
    even = ((even + even.T) > 0).astype(int)
    assert even.sum() == SQUARE.sum()
    refused(even, "its pattern is symmetric, the facts say the contrary")


def test_the_checksum_of_the_pattern(monkeypatch):
    """Rows in another order: a permuted matrix must not pass as the original."""
    knows(monkeypatch, SQUARE)
    refused(SQUARE[[1, 0, 2, 3]], "its size is right, but the SHA-256 of its data begins with")


def test_the_degrees_where_the_numbering_is_the_sources(monkeypatch):
    knows(monkeypatch, SQUARE, compared_by="degrees")
    catalogue.check_graph("mine", bipartite(SQUARE).permuted(5))
    other = SQUARE.copy()
    other[[0, 0], [1, 3]] = other[[0, 0], [3, 1]]
    refused(other, "its size is right, but its rows and columns have other degrees")


def test_grids_and_networks_are_checked_too(tmp_path, monkeypatch):
    fact = catalogue.known("den_page")
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path))
    zero = np.zeros((fact.rows, fact.columns), np.uint8)
    other = grid(zero, zero, dict.fromkeys(FOUR, zero))
    np.savez(tmp_path / "den_page.npz", source=zero, sink=zero, **other.arcs)
    with pytest.raises(ForeignInstanceError, match=r"den_page .* with 0 entries, the facts say"):
        instances.draw(Instance("grid_cut", other.nodes, "den_page"))
    (tmp_path / "ak-4102.max").write_text("p max 2 1\nn 1 s\nn 2 t\na 1 2 3\n")
    with pytest.raises(ForeignInstanceError, match=r"ak-4102 .* 2 x 2 with 1 entries"):
        instances.draw(Instance("dimacs_flow", 2, "ak-4102"))


def test_the_diagonal_is_taken_out_of_any_shape():
    for shape in ((5, 3), (3, 5), (0, 4)):
        dense = np.random.default_rng(1).integers(0, 2, shape)
        graph = bipartite(coo_array(dense))
        kept = dense * (1 - np.eye(*shape, dtype=int))
        assert catalogue.on_diagonal(graph) == np.count_nonzero(dense) - np.count_nonzero(kept)
        less = catalogue.without_diagonal(graph).matrix().toarray()
        np.testing.assert_array_equal(less, kept)


# ------------------------------------------------------------------------------- the facts

FACTS = list(catalogue.catalogue().values())
MATRICES = [fact for fact in FACTS if fact.family == "matrix"]
MEASURED = [fact for fact in MATRICES if fact.name not in REAL]


def test_every_measured_matrix_has_origin_licence_checksums_and_a_recipe_or_none():
    assert len(MEASURED) == 83
    for fact in MEASURED:
        assert fact.source, fact.name
        assert fact.licence, fact.name
        assert fact.url.startswith("https://"), fact.name
        assert len(fact.sha256) == len(fact.degrees_sha256) == 64, fact.name
        assert fact.compared_by in ("pattern", "degrees")
        if fact.collection:
            assert fact.recipe.startswith(f"{fact.name} is {fact.collection} of the SuiteSparse")
            assert fact.url == f"https://sparse.tamu.edu/{fact.collection}"
        else:
            assert "has no recipe" in fact.recipe
            assert fact.source in fact.recipe
            assert fact.compared_by == "pattern"  # nobody else has it, so nobody numbers it
    with_recipe = [fact.name for fact in MEASURED if fact.collection]
    assert len(with_recipe) == 47
    assert len({fact.sha256 for fact in MEASURED}) == 83


def test_only_the_collections_own_files_are_compared_by_their_numbering():
    for fact in MEASURED:
        own = fact.source.endswith(".mtx") and not fact.change
        assert not fact.collection or (fact.compared_by == "pattern") == own


def test_the_facts_can_be_true():
    assert len({fact.name for fact in FACTS}) == len(FACTS)
    for fact in FACTS:
        assert fact.family in FAMILIES
        assert FAMILIES[fact.family].origin == "file"
    for fact in MATRICES:
        assert 0 < fact.entries <= fact.rows * fact.columns
        assert (fact.symmetric == "") == (fact.rows != fact.columns)


def test_the_papers_twenty_have_one_set_of_facts():
    """Stand-ins are drawn by `suitesparse.REAL`, files are checked by the catalogue."""
    for name, real in REAL.items():
        fact = catalogue.known(name)
        assert (fact.rows, fact.columns, fact.entries) == (real.rows, real.rows, real.nonzeros)
        assert (fact.symmetric == "yes") == real.symmetric
        assert fact.collection == f"{real.group}/{name}"
        assert (fact.sha256, fact.compared_by) == ("", "")


def test_names_with_and_without_a_group():
    assert catalogue.known("SNAP/roadNet-CA") == catalogue.known("roadNet-CA")
    assert catalogue.known("Other/roadNet-CA") is None
    assert catalogue.known("nobody") is None


def test_copter2_says_which_one_it_is():
    fact = catalogue.known("copter2")
    assert (fact.entries, fact.collection, fact.change) == (
        704476, "GHS_psdef/copter2", catalogue.WITHOUT_DIAGONAL,
    )  # fmt: skip
    assert fact.recipe.endswith("GHS_psdef/copter2 of the SuiteSparse Collection, without diagonal")


# ------------------------------------------------------------------------------- real ones

SHARED = [
    Path(os.environ.get(files.FOLDER, ".")),
    *(folder / "shared" / "instances" for folder in Path(__file__).resolve().parents),
]
"""Where real files may lie: in the folder that the variable names, or beside this repository."""


FEW = ["Hamrle1", "ash219", "power", "den_page", "ak-4102"]
ALL = [*FEW, *(fact.name for fact in FACTS if fact.sha256 and fact.name not in FEW)]


@pytest.mark.parametrize("name", first(len(FEW), ALL))
def test_real_files_are_who_they_say(monkeypatch, name):
    fact = catalogue.known(name)
    monkeypatch.setenv(files.FOLDER, "")
    for folder in SHARED:
        if any((folder / room / f"{name}{end}").is_file() for room, end in
               (("matrices", ".npz"), ("maxflow", ".npz"), ("maxflow", ".max.gz"))):  # fmt: skip
            monkeypatch.setenv(files.FOLDER, str(folder))
    if not os.environ[files.FOLDER]:
        pytest.skip(f"the file of {name} is not here (set {files.FOLDER} to its folder)")
    nodes = fact.rows * fact.columns + 2 if fact.family == "grid_cut" else fact.rows
    instance = Instance(fact.family, nodes, name)
    data = instances.draw(instance)
    found = instances.identify(instance, data)
    assert found == {
        "rows": fact.rows, "columns": fact.columns, "entries": fact.entries, "sha256": fact.sha256,
    }  # fmt: skip
    if fact.family == "matrix":
        assert identity.degrees(data) == fact.degrees_sha256
        permuted = instances.identify(replace(instance, permuted=True))
        assert permuted["entries"] == fact.entries
        assert permuted["sha256"] != fact.sha256


def test_a_mirrored_entry_is_noticed_in_a_file(tmp_path, monkeypatch):
    """One entry of a known matrix elsewhere: size, symmetry and all but two degrees are right."""
    knows(monkeypatch, SQUARE)
    monkeypatch.setenv(files.FOLDER, str(tmp_path))
    other = SQUARE.copy()
    other[0, 1], other[0, 2] = 0, 1
    save_npz(tmp_path / "mine.npz", csr_array(other))
    with pytest.raises(ForeignInstanceError, match="SHA-256"):
        instances.draw(Instance("matrix", 4, "mine"))
