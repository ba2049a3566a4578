"""`reproduce fetch`, and a run whose matrices are not here."""

import pytest
from toybox import toy as paper

from papers.common.instances import collection
from papers.common.instances.collection import FetchError, NoCollectionError, NoRecipeError
from papers.common.model import Cell, Experiment, Instance
from papers.reproduce import fetch as fetching
from papers.reproduce.run.runner import Run


@pytest.fixture(autouse=True)
def _own_places(tmp_path, monkeypatch):
    monkeypatch.setenv("PAPERS_INSTANCES", str(tmp_path / "given"))
    monkeypatch.setenv("PAPERS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Names that were asked for; "bad" cannot be fetched, "none" has no recipe."""
    seen = []

    def fetch(name, report):
        seen.append(name)
        if name == "bad":
            raise FetchError("no matrix called bad")
        if name == "none":
            raise NoRecipeError("none has no recipe")
        report(f"looking up {name}")
        return tmp_path / f"{name.rpartition('/')[2]}.npz"

    monkeypatch.setattr(collection, "fetch", fetch)
    return seen


def test_all_that_a_paper_names_and_that_are_not_here(reproduce, asked, toy, tmp_path):
    assert fetching.named("toy") == ["nowhere"]
    result = reproduce("fetch", "toy")
    assert result.code == 0, result.err
    assert asked == ["nowhere"]
    assert result.out.splitlines() == ["looking up nowhere", str(tmp_path / "nowhere.npz")]
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "nowhere.npz").touch()
    result = reproduce("fetch", "toy")
    assert result.out == "every matrix that toy names is here\n"
    assert asked == ["nowhere"]


def test_matrices_that_stand_ins_are_named_after_count_too(monkeypatch, toy):
    def cells(plan):
        names = [("stand_in", "wb-edu", True), ("uniform_graph", "d3", False)]
        names += [("stand_in", "wb-edu", False), ("matrix", "copter2", True)]
        found = [Instance(family, 9, label, permuted=order) for family, label, order in names]
        return [Cell("toy:matcher", instance) for instance in found]

    entry = Experiment("x", "x", "table", cells, paper._steps)
    monkeypatch.setattr(fetching.registry, "experiments", lambda name: {"x": entry})
    assert fetching.named("toy") == ["wb-edu", "copter2"]


def test_one_that_fails_does_not_stop_the_others(reproduce, asked):
    result = reproduce("fetch", "toy", "roadNet-CA", "bad", "HB/ash219")
    assert result.code == 3
    assert asked == ["roadNet-CA", "bad", "HB/ash219"]
    assert "bad: no matrix called bad" in result.err


def test_a_matrix_without_a_recipe_is_skipped_in_a_sentence(reproduce, asked, monkeypatch):
    """It comes first of all that the paper names; asked for by name it is a failure."""
    monkeypatch.setattr(fetching, "named", lambda paper: ["none", "one"])
    result = reproduce("fetch", "toy")
    assert (result.code, result.err) == (0, "")
    assert asked == ["none", "one"]
    assert result.out.splitlines()[:2] == ["skipped: none has no recipe", "looking up one"]
    result = reproduce("fetch", "toy", "none")
    assert result.code == 3
    assert "none has no recipe" in result.err


def test_nothing_can_be_fetched(reproduce, monkeypatch):
    def fetch(name, report):
        raise NoCollectionError("fetching needs ssgetpy")

    monkeypatch.setattr(collection, "fetch", fetch)
    result = reproduce("fetch", "toy")
    assert (result.code, result.err) == (2, "reproduce: fetching needs ssgetpy\n")


def test_unknown_papers_and_papers_without_matrices(reproduce, monkeypatch):
    result = reproduce("fetch", "nobody", "m")
    assert (result.code, result.err[:31]) == (2, "reproduce: unknown paper 'nobody"[:31])
    monkeypatch.setattr(fetching.registry, "experiments", lambda name: {})
    result = reproduce("fetch", "toy")
    assert (result.code, result.err) == (2, "reproduce: the experiments of toy name no matrices\n")


def test_a_run_of_graphs_skips_what_is_not_here(reproduce, tmp_path):
    folder = tmp_path / "run"
    result = reproduce("run", "toy:graphs", "--preset", "smoke", "--out", folder)
    assert result.code == 0, result.err
    table = Run.load(folder).measured()
    states = table.groupby("family")["status"].unique().map(list).to_dict()
    assert states == {"uniform_graph": ["ok"], "matrix": ["skipped"]}
    reason = table.loc[table["family"] == "matrix", "reason"].iloc[0]
    assert "nowhere is neither in" in reason
    assert str(tmp_path) not in (folder / "measurements.csv").read_text()
    assert (table["metric"] == "cardinality").sum() == 1
    assert "koenig-cover" in set(table["certificate"])
    again = reproduce("compare", folder, folder)
    assert again.code == 0
    assert "equal" in again.out
    assert "nowhere" in (folder / "report.md").read_text()
