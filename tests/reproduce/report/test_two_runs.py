"""Verdicts are counted, and two runs stand beside one another."""

import json
import math
from dataclasses import replace

import pandas as pd
import pytest

from papers.common.evidence import comparisons
from papers.reproduce.report import groups, tally, two_runs


def test_tallies_keep_origins_and_checks_of_our_own_apart():
    items = [
        replace(comparisons.count("a", 1, 1), origin="recorded b"),
        replace(comparisons.count("a", 1, 2), origin="recorded a"),
        replace(comparisons.correct("c", 1, 1, True), origin="recorded a"),
        replace(comparisons.count("d", 1, 1), origin="this run"),
        # The origin is a field: the text says nothing about it.
        replace(comparisons.count("e (recorded b)", 1, 2), origin="this run"),
        replace(comparisons.goal("f", 2.0, at_most=1.0), origin="this run"),
    ]
    found = {tally.origin: tally.text() for tally in tally.tallies(items)}
    assert list(found) == ["this run", "recorded a", "recorded b"]
    assert found["this run"] == "1 agrees, 1 open; our goals: 1 fails"
    assert found["recorded a"] == "1 open; correctness: 1 holds"
    assert [t.origin for t in tally.tallies([])] == ["this run"]


def test_a_comparison_without_an_origin_is_not_counted_as_this_run_s():
    with pytest.raises(ValueError, match="'of nobody' does not say its origin"):
        tally.tallies([comparisons.count("of nobody", 1, 1)])


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


# ------------------------------------------------------------------------------ by solver


def test_runs_are_compared_by_solver_clock_and_device(reproduce, first, tmp_path):
    second = change(first, tmp_path / "second", time_ms=1e6)
    words = ["compare", first, second]
    target = {name: tmp_path / f"out.{name}" for name in ("csv", "json")}
    result = reproduce(*words, "--csv", target["csv"], "--json", target["json"])
    assert result.code == 0
    value = json.loads(target["json"].read_text())
    by_group = {(row["solver"], row["clock"]): row for row in value["groups"]}
    assert by_group["toy:slow", "run"]["ratio"] == 1.0
    assert by_group["toy:good", "run"]["ratio"] > 100
    assert list(pd.read_csv(target["csv"])["cell"]) == [row["cell"] for row in value["cells"]]
    assert "toy:good/uniform" not in result.out
    assert "toy:good/uniform" in reproduce(*words, "--verbose").out


@pytest.mark.parametrize(("limit", "code"), [(1.5, 1), (1e12, 0)])
def test_a_threshold_fails_the_slower_solver_alone(reproduce, first, tmp_path, limit, code):
    second = change(first, tmp_path / "second", time_ms=1e6)
    result = reproduce("compare", first, second, "--fail-above", limit)
    assert result.code == code
    assert ("toy:good, run: " in result.err) == bool(code)
    assert "toy:slow" not in result.err
    assert reproduce("compare", second, first, "--fail-above", 1.5).code == 0


def test_scatter_around_the_limit_fails_nothing():
    """Planted: a median above the limit failed a run whose cells lie on both sides of it."""
    table = pd.DataFrame({"solver": ["a"], "clock": ["run"], "ratio": [1.3]})
    assert groups.slower(table.assign(low=0.9, high=1.6), 1.2) == []
    assert len(groups.slower(table.assign(low=1.21, high=1.6), 1.2)) == 1


@pytest.mark.parametrize(
    ("count", "ends"), [(1, (0, 0)), (5, (0, 4)), (6, (0, 5)), (9, (1, 7)), (20, (5, 14))]
)
def test_the_interval_of_a_median_is_the_sign_test_s(count, ends):
    """The ranks of the textbook's table for 95 %; of fewer than six values all are in it."""
    assert groups.interval(list(range(count))[::-1]) == ends
