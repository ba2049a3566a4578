"""Tables of the files beside the code: each stands on the page, and their rows are as they say."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import papers
from papers.reproduce.report import readme
from papers.synthesis.evidence.measured import TABLES
from papers.synthesis.evidence.measured.rows import in_page_order

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


def test_rows_are_sorted_by_order_and_range():
    drawn = pd.DataFrame({"n": [8, 4, 4], "costs": ["10n", "n", "0.1n"]})
    ordered = in_page_order(drawn)
    assert ordered.to_numpy().tolist() == [[4, "0.1n"], [4, "n"], [8, "10n"]]
    assert list(ordered) == list(drawn)
