"""Tables of the files beside the code: each stands on the page, and their rows are as they say."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import papers
from papers.reproduce.report import readme
from papers.synthesis.evidence.measured import TABLES, rows

HOME = Path(papers.__file__).parent / "synthesis"
PAGES = [(HOME / name).read_text(encoding="utf-8") for name in ("STEPS.md", "RESULTS.md")]


def test_every_table_stands_on_one_page_once_in_the_order_of_their_list():
    blocks = [block for page in PAGES for block in readme.BLOCK.finditer(page)]
    assert [block["name"] for block in blocks if block["kind"] == "measured"] == list(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_text_in_every_cell_of_its_width(name):
    header, *body = TABLES[name]()
    assert len(body) > 3
    assert {len(row) for row in body} == {len(header)}
    assert all(isinstance(cell, str) for row in (header, *body) for cell in row)
    assert "nan" not in {cell for row in body for cell in row}


def test_neither_the_tables_nor_the_command_load_numba():
    program = (
        "import sys, papers.reproduce.report.readme, papers.synthesis.evidence.measured\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


RUNS = pd.DataFrame(
    {"n": [8, 8, 4, 4], "costs": ["10n", "10n", "n", "0.1n"], "way": ["a", "b", "a", "a"],
     "ms": [1.25, 2.5, 3.0, 4.0]}
)  # fmt: skip


def test_ways_stand_beside_each_other_in_the_order_of_the_file():
    found = rows.beside(RUNS, ["n", "costs"], "way", ["ms"])
    columns = [("n", "n", ""), ("costs", "costs", ""), ("a", "ms a", ".1f"), ("b", "ms b", ".1f")]
    assert rows.rows(found, columns) == [
        ["n", "costs", "a", "b"],
        ["8", "10n", "1.2", "2.5"], ["4", "n", "3.0", ""], ["4", "0.1n", "4.0", ""],
    ]  # fmt: skip
    ordered = rows.rows(rows.in_page_order(found), columns[:2])
    assert ordered[1:] == [["4", "0.1n"], ["4", "n"], ["8", "10n"]]


def test_two_values_of_one_cell_are_refused():
    twice = pd.concat([RUNS, RUNS[:1]])
    with pytest.raises(ValueError, match="duplicate"):
        rows.beside(twice, ["n", "costs"], "way", ["ms"])


def test_a_form_is_a_format_or_a_function_and_nothing_is_shown_of_what_is_missing():
    assert rows.shown(0.0456, ".2g") == "0.046"
    assert rows.shown("host", {"host": "host memory"}.__getitem__) == "host memory"
    assert rows.shown(float("nan"), ".2f") == rows.shown(None, str) == ""
