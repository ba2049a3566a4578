"""Rows of text from a table's rows: forms, headings, ways beside each other."""

import pandas as pd
import pytest

from papers.common.evidence import rows

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


def test_two_values_of_one_cell_are_refused():
    twice = pd.concat([RUNS, RUNS[:1]])
    with pytest.raises(ValueError, match="duplicate"):
        rows.beside(twice, ["n", "costs"], "way", ["ms"])


def test_a_form_is_a_format_or_a_function_and_nothing_is_shown_of_what_is_missing():
    assert rows.shown(0.0456, ".2g") == "0.046"
    assert rows.shown("host", {"host": "host memory"}.__getitem__) == "host memory"
    assert rows.shown(float("nan"), ".2f") == rows.shown(None, str) == ""
