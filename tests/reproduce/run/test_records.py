"""One value a cell: the records of two papers never pool."""

import pandas as pd
import pytest

from papers.reproduce import registry
from papers.reproduce.report import readme, report
from papers.reproduce.run import json_files, measurements, records
from papers.reproduce.run.runner import Run

COLUMNS = ["source", "record", "solver", "median"]


def summary(*rows):
    table = pd.DataFrame(rows, columns=COLUMNS)
    usual = {"family": "uniform", "storage": "host", "permuted": False, "n": 8, "label": "n"}
    return table.assign(**usual, seed=1, options="", scope="run")


@pytest.fixture
def three(monkeypatch):
    """Paper ``a`` measures solvers of ``b``, too, and ``b`` some of ``a``."""
    found = {"a": ["a", "b"], "b": ["b", "a"], "c": ["c"]}
    monkeypatch.setattr(records, "owners", found.__getitem__)


@pytest.mark.usefixtures("three")
def test_another_papers_record_counts_only_for_solvers_that_the_own_one_lacks():
    rows = [
        ("recorded x", "a", "b:one", 1.0),
        ("recorded x", "b", "b:one", 2.0),
        ("recorded x", "b", "b:two", 3.0),
        ("recorded y", "b", "b:one", 4.0),  # Of a card that the own record is not of.
        ("recorded x", "c", "b:three", 5.0),
        ("this run", "", "b:one", 6.0),
    ]
    # This run is the user's own measurement, and stands beside every record.
    seen = {name: list(records.seen_by(name, summary(*rows))["median"]) for name in "abc"}
    assert seen == {"a": [1, 3, 4, 6], "b": [2, 3, 4, 6], "c": [5, 6]}
    # The order in which the records are read decides nothing.
    assert list(records.seen_by("a", summary(*rows[::-1]))["median"]) == seen["a"]


SHARED = ("lopes2019", "kawtikwar_opts")
"""Two papers whose records both hold cells of one solver on one card."""


@pytest.fixture(scope="module")
def combined(tmp_path_factory):
    """A run of both papers that has measured nothing."""
    folder = tmp_path_factory.mktemp("combined")
    metas = []
    for name in SHARED:
        (path,) = (registry.folder(name) / "results").glob("*/meta.json")
        metas.append(json_files.read(path, json_files.META))
    (folder / "measurements.csv").write_text(",".join(measurements.COLUMNS) + "\n")
    names = [each for meta in metas for each in meta["experiments"]]
    return Run(folder, {**metas[0], "experiments": names})


def test_a_cell_of_two_records_has_one_value_in_a_page_and_in_a_combined_report(combined):
    everything = report.summary_of(combined)
    cells = everything.assign(cell=everything["cell"] + everything["scope"] + everything["metric"])
    shared = cells[cells.duplicated(["source", "cell"], keep=False)]
    assert shared["solver"].str.startswith("lopes2019:").any(), "the test would prove nothing"
    for name in SHARED:
        seen = records.seen_by(name, everything)
        assert not seen.duplicated(["source", "cell", "scope", "metric"]).any()
        of_page = everything[everything[records.RECORD].isin(records.owners(name))]
        alone = records.seen_by(name, of_page)
        pd.testing.assert_frame_equal(seen, alone)
        own = everything[everything[records.RECORD] == name]
        counted = own.set_index(["source", "cell", "scope", "metric"])["count"]
        kept = seen.set_index(["source", "cell", "scope", "metric"])["count"]
        assert (kept[counted.index] == counted).all(), "nothing is pooled with the own record"


def test_the_page_is_made_of_what_the_papers_experiments_see(monkeypatch):
    asked = []

    def summaries(names):
        asked.append(list(names))
        return records.nothing()

    def seen_by(name, table):
        asked.append(name)
        raise StopIteration

    monkeypatch.setattr(records, "summaries", summaries)
    monkeypatch.setattr(records, "seen_by", seen_by)
    with pytest.raises(StopIteration):
        readme.filled("kawtikwar_opts")
    assert asked == [["kawtikwar_opts", "datenagi2016", "lopes2019"], "kawtikwar_opts"]
