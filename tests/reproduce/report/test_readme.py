"""Filling a paper's RESULTS.md from recorded runs, on the toy paper."""

import shutil

import pandas as pd
import pytest

from papers.reproduce.registry import UsageError
from papers.reproduce.report import readme
from papers.reproduce.run import records

PAGE = """# Toy

<!-- results: steps -->
old
<!-- end -->
between
<!-- results: table1 -->
<!-- end -->
last
"""


@pytest.fixture
def paper(finished_run, toy, tmp_path, monkeypatch):
    """The toy paper's folder, with the session's run as its one recorded run."""
    record = tmp_path / "toy" / "results" / "some-gpu"
    record.mkdir(parents=True)
    shutil.copy(finished_run[0] / "measurements.csv", record)
    monkeypatch.setattr("papers.reproduce.registry.folder", lambda name: tmp_path / "toy")
    (tmp_path / "toy" / "RESULTS.md").write_text(PAGE)
    return tmp_path / "toy"


def test_blocks_are_filled_and_the_rest_is_kept(paper):
    text = readme.filled("toy")
    head, steps, between, table1, last = readme_parts(text)
    assert (head, between, last) == ("# Toy\n\n", "\nbetween\n", "\nlast\n")
    lines = steps.splitlines()
    assert lines[:2] == [
        "| n | seed | metric | median | count |",
        "| --- | --- | --- | --- | --- |",
    ]
    assert lines[2].startswith("| 8 | 1 | prepare_ms | ")
    assert "old" not in text
    # Column names are words, published numbers keep their decimals.
    assert table1.splitlines()[0] == "| n | range | published speedup | speedup |"
    assert table1.splitlines()[2].startswith("| 8 | n | 0.50 | ")
    paper.joinpath("RESULTS.md").write_text(text)
    assert readme.filled("toy") == text


def readme_parts(text):
    """Split at the marks: text, block, text, block, text."""
    parts = []
    for piece in text.split("<!-- results: "):
        name, mark, rest = piece.partition(" -->\n")
        parts += rest.split("<!-- end -->") if mark and name in ("steps", "table1") else [piece]
    return parts


def test_rows_of_recorded_runs_only_named_where_there_are_two(paper, monkeypatch):
    from papers.reproduce import registry

    def table(measurements, published):
        sources = ["this run", "recorded a", "recorded b", "published"]
        return pd.DataFrame({"source": sources, "device": "x", "time_ms": [1.5, 2.5, 3.5, 4.5]})

    entry = registry.experiments("toy")["steps"]
    changed = {"steps": entry.__class__(**{**vars(entry), "table": table})}
    monkeypatch.setattr(registry, "experiments", lambda name: changed)
    paper.joinpath("RESULTS.md").write_text(PAGE.partition("between")[0])
    block = readme.filled("toy").splitlines()[3:-1]
    assert block == ["| run | time ms |", "| --- | --- |", "| a | 2.5 |", "| b | 3.5 |"]


def test_recorded_runs_of_another_papers_solvers_count_too():
    """Figure 6 of one paper measures a solver of another."""
    assert records.owners("lopes2019") == ["lopes2019", "datenagi2016"]
    block = readme._Recorded("lopes2019").block("fig06")
    assert len([line for line in block.splitlines() if line.startswith("| 8192 |")]) == 3


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- results: nothing -->\n<!-- end -->\n", "no experiment 'nothing'"),
        (
            "<!-- results: steps -->\ntext of mine\n<!-- results: table1 -->\n<!-- end -->\n",
            "lacks",
        ),
        (
            "<!-- results: steps -->\ntext of mine\n",
            "toy/RESULTS.md: <!-- results: steps --> lacks",
        ),
        ("<!-- results: -->\n<!-- end -->\n", "toy/RESULTS.md: <!-- results: --> lacks"),
        (
            "<!-- measured: x -->\n<!-- end -->\n",
            "toy/RESULTS.md: .* no measured table 'x'; .* one",
        ),
        ("<!-- measured: one -->\nmine\n", "toy/RESULTS.md: <!-- measured: one --> lacks"),
        ("<!-- answer -->\nmine\n", "toy/RESULTS.md: <!-- answer --> lacks"),
        (
            "<!-- answer -->\nmine\n<!-- results: steps -->\n<!-- end -->\n",
            "<!-- answer --> lacks",
        ),
        (
            "<!-- measured: one -->\nmine\n<!-- results: steps -->\n<!-- end -->\n",
            "<!-- measured: one --> lacks",
        ),
    ],
)
def test_a_wrong_mark_changes_nothing(paper, measured, page, message):
    path = paper / "RESULTS.md"
    path.write_text(page)
    with pytest.raises(UsageError, match=message):
        readme.fill("toy")
    assert path.read_text() == page


@pytest.fixture
def measured(monkeypatch):
    """The toy paper has one table of a file of its own."""
    tables = {"one": lambda: [["n", "way"], ["8", "a|b"]]}
    monkeypatch.setattr(readme, "measured_tables", lambda name: tables)


def test_a_table_of_a_papers_own_file_is_filled_beside_those_of_its_records(paper, measured):
    page = "<!-- measured: one -->\n| n | way |\n| --- | --- |\n| 9 | wrong |\n<!-- end -->\n"
    right = page.replace("| 9 | wrong |", "| 8 | a\\|b |")
    (paper / "RESULTS.md").write_text(f"{PAGE}{page}tail\n")
    text = readme.filled("toy")
    assert text.endswith(f"last\n{right}tail\n")
    assert "| 8 | 1 | prepare_ms | " in text
    assert readme.fill("toy").read_text() == text == readme.filled("toy")


def test_a_paper_may_have_a_module_of_such_tables(tmp_path, monkeypatch):
    from papers.reproduce import registry

    # Each state is a package of its own: Python keeps the names of a folder that it has listed.
    states = {
        "without_a_folder": {},
        "without_a_module": {"evidence/__init__.py": ""},
        "with_a_module": {
            "evidence/__init__.py": "", "evidence/measured.py": "TABLES = {'one': list}"
        },
        "without_a_package": {"evidence/__init__.py": "import no_such_package"},
    }  # fmt: skip
    monkeypatch.syspath_prepend(tmp_path)
    for name, files in states.items():
        for file, text in {"__init__.py": "", **files}.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(text)
        monkeypatch.setitem(registry.MODULES, name, name)
    assert readme.measured_tables("without_a_folder") == {}
    assert readme.measured_tables("without_a_module") == {}
    assert readme.measured_tables("with_a_module") == {"one": list}
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        readme.measured_tables("without_a_package")


def test_the_command_writes_the_page(paper, reproduce):
    expected = readme.filled("toy")
    result = reproduce("readme", "toy")
    assert result.code == 0
    assert paper.joinpath("RESULTS.md").read_text() == expected
    shutil.rmtree(paper / "results")
    result = reproduce("readme", "toy")
    assert (result.code, result.err) == (2, "reproduce: toy has no recorded run\n")


def test_a_page_that_is_not_there_is_made_of_the_experiments_with_recorded_rows(paper, monkeypatch):
    from papers.reproduce import registry

    known = registry.experiments("toy")
    chosen = {name: known[name] for name in ("table1", "steps", "empty")}
    monkeypatch.setattr(registry, "experiments", lambda name: chosen)
    (paper / "RESULTS.md").unlink()
    text = readme.fill("toy").read_text()
    assert text.startswith("# Results: ")
    assert [block["name"] for block in readme.BLOCK.finditer(text)] == ["table1", "steps"]
    assert readme.filled("toy") == text


def test_a_number_of_a_sentence_may_come_from_a_papers_own_file(paper):
    (paper / "evidence").mkdir()
    pd.DataFrame({"way": ["old", "new"], "ms": [3.0, 2.0]}).to_csv(
        paper / "evidence" / "ways.csv", index=False
    )
    mark = "<!-- value: evidence/{} ms way=new -->?<!-- /value -->"
    (paper / "RESULTS.md").write_text(PAGE + mark.format("ways"))
    assert readme.filled("toy").endswith("-->2<!-- /value -->")
    (paper / "RESULTS.md").write_text(PAGE + mark.format("no_ways"))
    with pytest.raises(UsageError, match="no experiment 'evidence/no_ways'"):
        readme.filled("toy")
