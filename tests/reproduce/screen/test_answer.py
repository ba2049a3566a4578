"""The answer at the end: at most forty lines, what differs by name, numbers whole, JSON whole."""

import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import THIS_RUN
from papers.reproduce.screen import answer as screen
from papers.reproduce.screen.answer import Answer, End
from papers.reproduce.screen.tables import aligned


def ratio(quantity, published, measured, origin=THIS_RUN):
    return replace(comparisons.ratio(quantity, published, measured, factor=2), origin=origin)


def section(paper, experiment, items):
    names = SimpleNamespace(name=paper), SimpleNamespace(name=experiment)
    return SimpleNamespace(paper=names[0], experiment=names[1], comparisons=items)


def answer(tmp_path, sections, ends=()):
    return Answer(tmp_path, "CPU executor", "quick", list(ends), sections, code=0, why="all ran")


def shown(found, width=120):
    return [line.plain for line in screen.lines(found, width)]


def test_what_is_open_is_told_by_name_with_its_tolerance_the_worst_first(tmp_path):
    items = [ratio("near", 1.0, 2.5), ratio("far", 1.0, 99.0), ratio("good", 1.0, 1.0)]
    lines = shown(answer(tmp_path, [section("toy", "fig1", items)]))
    told = [line for line in lines if line.startswith("open  ")]
    assert told == [
        "open     toy:fig1  far: 99, print 1 (within a factor of 2)",
        "open     toy:fig1  near: 2.5, print 1 (within a factor of 2)",
    ]
    assert any(re.match(r"toy +none +1 / 0 / 2$", line) for line in lines)
    assert lines[-1] == "exit code 0: all ran"
    assert lines[-2] == f"report: {tmp_path / 'site' / 'index.html'}"
    for word in ("agrees", "differs", "open"):
        assert sum(line.startswith(f"{word}: ") for line in lines) == 1


def crowd(tmp_path):
    """Five papers, twelve experiments each, seven open rows each, and cells that fail oddly."""
    sections = [
        section(f"paper{p}", f"table{e}", [ratio(f"q{i}", 1.0, 9.0 + i) for i in range(7)])
        for p in range(5)
        for e in range(12)
    ]
    ends = [End(f"c{i}", ("paper0",), "failed", f"reason {'x' * i}") for i in range(50)]
    found = answer(tmp_path, sections, ends)
    return replace(found, problems=[f"problem {i}" for i in range(30)])


@pytest.mark.parametrize("width", [80, 120])
def test_there_are_at_most_forty_lines_whatever_happened(tmp_path, width):
    """Planted: without the folding there are four hundred."""
    lines = shown(crowd(tmp_path), width)
    assert sum(math.ceil(max(1, len(line)) / width) for line in lines) <= screen.MOST
    assert any("more (experiments or lines), see the report" in line for line in lines)
    counted = [line for line in lines if line.endswith(": 7 rows, see the report")]
    assert counted


def test_a_row_of_a_record_is_counted_apart_and_not_told_as_this_run_s(tmp_path):
    items = [ratio("theirs", 1.0, 99.0, "recorded some-gpu")]
    lines = shown(answer(tmp_path, [section("toy", "fig1", items)]))
    assert not [line for line in lines if "theirs" in line]
    assert any(re.match(r"toy +none +nothing to judge here +0 / 0 / 1$", line) for line in lines)


def test_cells_that_are_not_ok_are_one_line_a_reason(tmp_path):
    ends = [End(f"c{n}", ("toy",), "skipped", f"it is for {n} ranks") for n in (2, 4)]
    lines = shown(answer(tmp_path, [section("toy", "fig1", [])], [*ends, End("d", ("toy",), "ok")]))
    assert "2 skipped: it is for ... ranks" in lines
    alike = [replace(end, reason="it is for 4 ranks: mpiexec -n 4 ...") for end in ends]
    lines = shown(answer(tmp_path, [section("toy", "fig1", [])], alike))
    assert "2 skipped: it is for 4 ranks: mpiexec -n 4 ..." in lines


def test_programs_get_everything_and_no_number_that_json_lacks(tmp_path):
    items = [ratio("a", 1.0, math.inf), ratio("b", 1.0, 99.0)]
    found = answer(tmp_path, [section("toy", "fig1", items)], [End("c", ("toy",), "ok")])
    value = json.loads(screen.as_json(found), parse_constant=pytest.fail)
    assert value["format"] == screen.JSON_FORMAT
    assert value["papers"]["toy"]["cells"] == {"ok": 1}
    assert value["papers"]["toy"]["verdicts"][THIS_RUN]["print"] == {"open": 2}
    assert [row["measured"] for row in value["comparisons"]] == [None, 99]
    assert value["comparisons"][1]["tolerance"] == "within a factor of 2"


# ------------------------------------------------------------------------------ aligned text

TABLE = [
    ["solver", "n", "published_ms", "ours_ms", "a long remark"],
    ["lopes2019:gpu", "512", "0.0372500", "123456.789", "words that may be folded " * 4],
    ["lopes2019:cpu", "1024", "17.25", "", "short"],
]


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_no_number_is_cut_whatever_the_width(width):
    """Planted: Rich's tables cut `0.0372500` to `0.0...` at 80 columns."""
    text = aligned(TABLE, width)
    assert "…" not in text
    for row in TABLE[1:]:
        assert all(number in text for number in row[:4])
    assert " ".join(TABLE[1][4].split()) in " ".join(re.findall(r"[a-z]+", text)) or width > 40


@pytest.mark.parametrize("width", [40, 80, 120])
def test_lines_keep_to_the_width_where_words_can(width):
    assert max(map(len, aligned(TABLE, width).split("\n"))) <= width


def test_what_does_not_fit_goes_on_below_with_its_first_column():
    text = aligned(TABLE, 40)
    assert text.count("lopes2019:gpu") == len(text.split("\n\n")) > 1
