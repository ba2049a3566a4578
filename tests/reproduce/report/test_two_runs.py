"""Verdicts, and two runs beside one another."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from papers.common.evidence import comparisons
from papers.reproduce.report import tally, two_runs

NAN = math.nan


@pytest.mark.parametrize(
    ("published", "measured", "tolerance", "note", "verdict"),
    [
        (7, 7, 0, "", "agrees"),
        (7, 8, 0, "", "open"),
        (7, 8, 0, "other instances", "differs"),
        (100, 109, 0.1, "", "agrees"),
        (100, 111, 0.1, "", "open"),
        (7, None, 0, "why", "not measured"),
        (7, NAN, 0, "", "not measured"),
        (None, 7, 0, "", "not comparable"),
    ],
)
def test_counts(published, measured, tolerance, note, verdict):
    found = comparisons.count("q", published, measured, tolerance, note)
    assert (found.kind, found.verdict) == ("count", verdict)
    assert found.note == ("" if verdict == "agrees" else note)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (2.0, "agrees"),
        (4.0, "agrees"),
        (1.0, "agrees"),
        (4.01, "open"),
        (0.99, "open"),
        (0, "open"),
    ],
)
def test_ratios_agree_within_a_factor(measured, verdict):
    assert comparisons.ratio("q", 2.0, measured, factor=2).verdict == verdict


def test_slopes():
    x = [512, 1024, 2048, 4096]
    squares = [u**2 for u in x]
    assert comparisons.slope(x, [3 * v for v in squares]) == pytest.approx(2)
    assert comparisons.slope(x, [1.0, NAN, NAN, NAN]) is None
    cubes = [u**3 for u in x]
    assert comparisons.shape_slope("q", x, squares, [5 * v for v in squares]).verdict == "agrees"
    apart = comparisons.shape_slope("q", x, squares, cubes)
    assert (apart.verdict, apart.published, apart.measured) == ("open", 2.0, 3.0)
    assert comparisons.shape_slope("q", x, squares, [NAN] * 4).verdict == "not measured"


def test_slopes_use_the_points_both_have():
    """The published curve bends where nothing was measured: that part must not count."""
    x = [1, 2, 4, 8]
    found = comparisons.shape_slope("q", x, [1, 2, 4, 4096], [3, 6, 12, NAN])
    assert (found.verdict, found.published) == ("agrees", 1.0)


def test_rankings():
    printed = {"O4": 1.0, "SP": 2.0, "A": 3.0}
    assert comparisons.ranking("q", printed, {"O4": 10, "SP": 11, "A": 30}).verdict == "agrees"
    swapped = comparisons.ranking("q", printed, {"O4": 10, "SP": 40, "A": 30})
    assert (swapped.verdict, swapped.measured) == ("open", "O4 < A < SP")
    # A tie within the slack is no contradiction.
    assert comparisons.ranking("q", printed, {"O4": 10, "SP": 30.5, "A": 30}).verdict == "agrees"
    assert comparisons.ranking("q", printed, {"O4": 10}).verdict == "not measured"
    assert comparisons.ranking("q", printed, {"O4": 10, "A": 30}).measured == "O4 < A"


LARGER, SMALLER = comparisons.if_larger("a faster card"), comparisons.if_smaller("fewer cores")


@pytest.mark.parametrize(
    ("note", "measured", "verdict", "text"),
    [
        (LARGER, 9.0, "differs", "a faster card"),
        (LARGER, 0.1, "open", ""),
        (SMALLER, 9.0, "open", ""),
        (SMALLER, 0.1, "differs", "fewer cores"),
        (comparisons.either(LARGER, SMALLER), 0.1, "differs", "fewer cores"),
        (comparisons.either(LARGER, "anyhow"), 9.0, "differs", "a faster card; anyhow"),
        (comparisons.either(LARGER, SMALLER), 2.0, "agrees", ""),
        (LARGER, None, "not measured", ""),
    ],
)
def test_a_note_explains_one_direction(note, measured, verdict, text):
    for compared in (comparisons.count, comparisons.ratio):
        tried = compared("q", 2.0, measured, note=note)
        assert (tried.verdict, tried.note) == (verdict, text)


def test_notes_see_slopes_and_rankings():
    x = [512, 1024, 2048]
    up = comparisons.shape_slope("q", x, x, [u**3 for u in x], note=LARGER)
    down = comparisons.shape_slope("q", x, [u**3 for u in x], x, note=LARGER)
    assert (up.verdict, down.verdict) == ("differs", "open")
    first, other = {"A": 1.0, "B": 2.0}, {"A": 2.0, "B": 1.0}
    seen = []
    comparisons.ranking("q", first, other, note=lambda p, m: seen.append((p, m)) or "why")
    assert seen == [("A < B", "B < A")]
    # No ranking is larger than another.
    assert comparisons.ranking("q", first, other, note=LARGER).verdict == "open"


@pytest.mark.parametrize(
    ("published", "measured", "verdict"),
    [
        (0.0, 1.9, "agrees"),
        (0.0, 2.1, "open"),
        (1.0, 3.0, "agrees"),
        (30.0, 59.0, "agrees"),
        (30.0, 61.0, "open"),
        (30.0, 14.0, "open"),
        (0.0, None, "not measured"),
    ],
)
def test_shares_agree_within_points_or_a_factor(published, measured, verdict):
    tried = comparisons.share("q", published, measured)
    assert (tried.kind, tried.verdict) == ("ratio", verdict)


def test_tallies_keep_origins_and_cross_checks_apart():
    items = [
        replace(comparisons.count("a", 1, 1), origin="recorded b"),
        replace(comparisons.count("a", 1, 2), origin="recorded a"),
        replace(comparisons.cross_check("c", 1, 1, True), origin="recorded a"),
        replace(comparisons.count("d", 1, 1), origin="this run"),
        # The origin is a field: the text says nothing about it.
        replace(comparisons.count("e (recorded b)", 1, 2, note="why"), origin="this run"),
    ]
    found = {tally.origin: tally.text() for tally in tally.tallies(items)}
    assert list(found) == ["this run", "recorded a", "recorded b"]
    assert found["this run"] == "1 agrees, 1 differs"
    assert found["recorded a"] == "1 open; cross-checks: 1 agrees"
    assert [t.origin for t in tally.tallies([])] == ["this run"]


def test_a_comparison_without_an_origin_is_not_counted_as_this_run_s():
    with pytest.raises(ValueError, match="'of nobody' does not say its origin"):
        tally.tallies([comparisons.count("of nobody", 1, 1)])


def test_times_are_never_judged():
    assert comparisons.absolute_time("q", 1.0, 1.0).verdict == "not comparable"
    assert comparisons.absolute_time("q", 1.0, None).verdict == "not measured"


# ------------------------------------------------------------------------------ runs


def change(folder, other, **values):
    """Copy a run, with the values of some metrics of toy:good replaced."""
    other.mkdir()
    for name in ("meta.json", "measurements.csv"):
        (other / name).write_bytes((folder / name).read_bytes())
    path = other / "measurements.csv"
    table = pd.read_csv(path, keep_default_na=False, dtype=str)
    for metric, value in values.items():
        hit = (table["metric"] == metric) & (table["solver"] == "toy:good")
        table.loc[hit, "value"] = str(value)
    table.to_csv(path, index=False)
    return other


@pytest.fixture
def first(all_bad):
    return all_bad[0]


def test_two_runs_side_by_side(reproduce, first, tmp_path):
    second = change(first, tmp_path / "second", time_ms=1e6)
    result = reproduce("compare", first, second)
    assert result.code == 0
    assert "equal" in result.out
    summaries = [compare_summary(folder) for folder in (first, second)]
    table = two_runs.compare_runs(*summaries).set_index(["cell", "scope"])
    good = table.loc["toy:good/uniform/n=8/range=n/seed=1", "run"]
    assert good["ms_b"] == 1e6
    assert good["ratio"] == pytest.approx(1e6 / good["ms_a"])
    slow = table.loc["toy:slow/uniform/n=8/range=n/seed=1", "run"]
    assert (slow["ratio"], slow["cost"]) == (1.0, "equal")
    failed = table.loc["toy:fail/uniform/n=8/range=n/seed=1", "-"]
    assert (failed["status_a"], failed["cost"]) == ("failed", "-")


def compare_summary(folder):
    return two_runs.read(folder)


def test_different_costs_exit_1(reproduce, first, tmp_path):
    second = change(first, tmp_path / "second", cost=4)
    result = reproduce("compare", first, second)
    assert result.code == 1
    assert "different costs: uniform/n=8/range=n/seed=1: costs 4, " in result.err
    assert "DIFFERENT" in result.out


def test_costs_are_compared_across_solvers(first, tmp_path):
    """Both runs hold the same wrong cost for one solver: the other solver gives it away."""
    second = compare_summary(change(first, tmp_path / "second", cost=4))
    assert two_runs.different_costs(second, second)
    good = compare_summary(first)
    assert two_runs.different_costs(good, good) == []


def test_cells_of_one_run_only_are_shown(first):
    summary = compare_summary(first)
    less = summary[summary["solver"] != "toy:slow"]
    table = two_runs.compare_runs(less, summary).set_index("cell")
    assert table.loc["toy:slow/uniform/n=8/range=n/seed=1", "status_a"] == "absent"


def test_a_recorded_run_is_its_measurements_alone(reproduce, first, tmp_path):
    recorded = change(first, tmp_path / "recorded")
    (recorded / "meta.json").unlink()
    assert reproduce("compare", first, recorded).code == 0
    (recorded / "measurements.csv").unlink()
    result = reproduce("compare", first, recorded)
    assert (result.code, "no measurements.csv" in result.err) == (2, True)


def drop(folder, *cells):
    path = folder / "measurements.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(cells)))


def test_unmatched_cells_are_one_line(reproduce, first, tmp_path):
    second = change(first, tmp_path / "second")
    drop(second, "toy:slow", "toy:fail")
    result = reproduce("compare", first, second)
    assert result.code == 0
    assert "cells of one run only: 2 of the first, 0 of the second" in result.out
    assert "toy:slow" not in result.out
    assert "toy:good" in result.out


def test_nothing_in_common_exits_2(reproduce, first, tmp_path):
    second = change(first, tmp_path / "second")
    drop(second, "toy:")
    result = reproduce("compare", first, second)
    assert result.code == 2
    assert "no cell in common" in result.err


def test_a_clock_of_one_run_only_leaves_the_status(first):
    summary = compare_summary(first)
    less = summary[summary["scope"] != "end_to_end"]
    table = two_runs.compare_runs(less, summary).set_index(["cell", "scope"])
    row = table.loc["toy:good/uniform/n=8/range=n/seed=1", "end_to_end"]
    assert (row["status_a"], row["status_b"]) == ("ok", "ok")
    assert math.isnan(row["ratio"])
