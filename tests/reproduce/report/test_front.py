"""The first screen of the front page: each paper's row is made of the records that are there."""

import shutil

import pytest
from nightly import first

from papers import PAPERS
from papers.common.evidence import published
from papers.reproduce import registry
from papers.reproduce.registry import UsageError
from papers.reproduce.report import front
from papers.reproduce.run import measurements, records

COMPLETE = [name for name in PAPERS if registry.card(name).status == "complete"]
PAGE = "# x\n\n<!-- answers -->\nstale\n<!-- end -->\nrest\n"


def text():
    return front.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMPLETE)
def test_a_row_is_of_the_records_that_are_there(name):
    stale = f"`reproduce readme {name}` makes its row of README.md anew"
    assert f"<!-- records {front.digest(name)} -->" in front.rows(text())[name], stale


@pytest.mark.parametrize("name", first(0, COMPLETE))
def test_a_row_says_what_its_records_say(name):
    assert front.rows(text())[name] == front.row(name)


@pytest.mark.parametrize("name", [*COMPLETE, "synthesis"])
def test_no_check_of_correctness_fails_on_the_records(name):
    """Planted: costs of three seeds were compared with one another, and four checks failed."""
    summary = records.seen_by(name, records.summaries(records.owners(name)))
    rows = measurements.usable(summary)
    numbers = published.loader(registry.MODULES[name])
    found = [
        (experiment.name, item.quantity, item.verdict)
        for experiment in registry.experiments(name).values()
        if experiment.compare is not None and not experiment.unavailable
        for item in experiment.compare(experiment.table(rows, numbers))
        if item.kind == "correctness"
    ]
    assert found
    assert [item for item in found if item[2] == "fails"] == []


def test_the_answers_stand_before_the_first_heading_with_verdict_sense_and_machine():
    """A stranger reads no further than the first screen."""
    known = front.rows(text().partition("\n## ")[0])
    assert list(known) == COMPLETE
    for name, line in known.items():
        _, holds, numbers = (part for part in line.strip("| ").split(" | "))
        assert holds.count("**") == 2 * len(registry.card(name).claims) > 0
        sense = holds.rpartition("<br>")[2]
        assert " hold" in sense or " confirmed" in sense
        for part in numbers.split("<br>"):
            assert part.partition(" agree")[0].replace(" of ", "").isdigit(), part
            assert part.partition(": ")[2], "no machine is named"


def test_a_row_takes_its_place_and_others_stay():
    page = front.replaced(PAGE, PAPERS[1], f"| [b](papers/{PAPERS[1]}/README.md) | new |")
    page = front.replaced(page, PAPERS[0], f"| [a](papers/{PAPERS[0]}/README.md) | first |")
    page = front.replaced(page, PAPERS[1], f"| [b](papers/{PAPERS[1]}/README.md) | newer |")
    assert list(front.rows(page)) == list(PAPERS[:2])
    assert page.startswith("# x\n\n<!-- answers -->\n" + front.HEAD)
    assert page.endswith("| newer |\n<!-- end -->\nrest\n")
    assert "stale" not in page
    with pytest.raises(UsageError, match="answers"):
        front.replaced("# no table\n", PAPERS[0], "| |")


def test_rows_that_a_record_has_made_stale_are_made_anew_with_it(monkeypatch, tmp_path):
    page = tmp_path / "README.md"
    lines = [f"| [x](papers/{one}/README.md) | {one} was |\n" for one in PAPERS[:3]]
    page.write_text(PAGE.replace("stale\n", "".join(lines)))
    monkeypatch.setattr(front, "PAGE", page)
    monkeypatch.setattr(front, "digest", lambda one: "was" if one == PAPERS[1] else "newer")
    monkeypatch.setattr(front, "row", lambda one: f"| [x](papers/{one}/README.md) | {one} newer |")
    front.fill(PAPERS[0])
    told = [line.split(" | ")[1].split()[1] for line in front.rows(page.read_text()).values()]
    assert told == ["newer", "was", "newer"]


@pytest.fixture
def record(finished_run, toy, tmp_path, monkeypatch):
    """The toy paper's one record: the session's run."""
    folder = tmp_path / "toy" / "results" / "some-gpu"
    folder.mkdir(parents=True)
    for name in ("measurements.csv", "environment.json"):
        shutil.copy(finished_run[0] / name, folder)
    monkeypatch.setattr("papers.reproduce.registry.folder", lambda name: tmp_path / "toy")
    return folder


def test_a_row_is_made_of_records_and_of_nothing_else(record):
    before = front.row("toy")
    assert before.startswith("| [")
    assert "agree" in before
    assert front.digest("toy") in before
    (record / "measurements.csv").open("a").write("\n")
    assert front.digest("toy") not in before


def test_a_paper_outside_of_the_tour_has_no_row(toy, monkeypatch, tmp_path):
    monkeypatch.setattr(front, "PAGE", tmp_path / "nowhere.md")
    front.fill("toy")
    assert not (tmp_path / "nowhere.md").exists()
