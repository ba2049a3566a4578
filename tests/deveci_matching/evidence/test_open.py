"""RESULTS.md tells every row that is open, in a group with the reason, and how many it has."""

import re
from pathlib import Path

import pytest

import papers.deveci_matching as paper
from papers.reproduce.report import front

pytestmark = pytest.mark.nightly
"""The comparisons of this record take as long as a hundred tests."""

PAGE = Path(paper.__file__).parent / "RESULTS.md"

SLOW = r"\b(O|RCP)_S1\b"
GROUPS = {
    "Print's own sizes": ("full_size", r" over GPU, "),
    "The multicore codes": (
        "fig03|claims|statements", r"of P-DBFS over|^DE-k|P-PFP over|P-HK over|fastest multicore",
    ),
    "The sets of slow graphs": ("table1|fig03|fig04|fig05|claims", rf"{SLOW}|^DE-[bcdef],"),
    "Speedups on original graphs": (
        "fig03|fig05|claims", r"^% of O_Hardest20 .* of GPU over|over HK, O_Hardest20$|^DE-g,",
    ),
    "The permuted half of Figure 3": ("fig03", r"^% of RCP of .* of GPU over"),
    "Means over permuted graphs": ("fig05", r"RCP of O_Hardest20"),
    "Two rows of Table 1": ("table1", r" over APFB GPUBFS-WR CT, O_Hardest20$"),
    "Pairs of means in Table 1": ("table1", r"of the pairs$|, pairs of means$"),
    "Executions of the BFS kernel": ("statements", r"fewer executions"),
    "One graph each": ("claims", r"^DE-[lm],"),
    "PFP on permuted graphs": ("statements", r"^HK over PFP"),
}  # fmt: skip
"""A group's name on the page -> its experiments, and what its comparisons are called."""


@pytest.fixture(scope="module")
def rows():
    """The open comparisons of the record: experiment and quantity."""
    found = front._comparisons("deveci_matching")
    return [(experiment, item.quantity) for experiment, item in found if item.verdict == "open"]


def groups_of(experiment, quantity):
    return [
        name
        for name, (experiments, words) in GROUPS.items()
        if re.fullmatch(experiments, experiment) and re.search(words, quantity)
    ]


def told(text):
    """Return each group's number on a page."""
    part = text.partition("**Open against print.**")[2].partition("\n\n**")[0]
    return {name: int(count) for name, count in re.findall(r"^- \*(.+?)\* \((\d+)", part, re.M)}


def faults(rows, text):
    """Return what is wrong with a page: rows without one group, and groups with another number."""
    strays = [row for row in rows if len(groups_of(*row)) != 1]
    counts = dict.fromkeys(GROUPS, 0)
    for row in rows:
        for name in groups_of(*row):
            counts[name] += 1
    known = told(text)
    numbers = [name for name in {*counts, *known} if counts.get(name) != known.get(name)]
    return strays + sorted(numbers)


def test_the_page_tells_every_open_row_in_one_group_with_its_number(rows):
    assert rows
    assert faults(rows, PAGE.read_text(encoding="utf-8")) == []


def test_a_row_that_the_page_does_not_tell_is_found(rows):
    text = PAGE.read_text(encoding="utf-8")
    assert faults([*rows, ("claims", "DE-z, made up")], text) == [("claims", "DE-z, made up")]
    assert faults(rows[1:], text) == groups_of(*rows[0]), "a row that is open no more"
    name = "One graph each"
    assert faults(rows, text.replace(f"*{name}* (2)", f"*{name}* (3)")) == [name]
    assert faults(rows, text.replace(f"- *{name}* (2)", "-")) == [name]
