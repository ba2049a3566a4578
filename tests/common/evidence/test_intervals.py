"""Resamples of measurements, and the intervals that comparisons get from them."""

import numpy as np
import pandas as pd
import pytest

from papers.common.evidence import comparisons, intervals, judges, resamples, tables
from papers.common.evidence.intervals import Evidence
from papers.common.model import Experiment
from papers.reproduce.run.measurements import SUMMARY

HERE, THERE = "this run", "recorded a-card"


def row(solver, seed, values, n=8, source=HERE, metric="time_ms", **more):
    known = {
        "source": source, "solver": solver, "options": "", "device": "a card", "family": "uniform",
        "n": n, "label": "n", "seed": seed, "storage": "host", "permuted": False, "scope": "run",
        "metric": metric, "cell": f"{solver}/{n}/{seed}", "median": float(np.median(values)),
        "values": tuple(map(float, values)), "count": len(values), "status": "ok",
    }  # fmt: skip
    return dict.fromkeys(SUMMARY, "") | known | more


def summary(*rows):
    return pd.DataFrame(list(rows))


def ratios(table):
    """Ours over theirs by seed, then the median over the seeds, by origin and n."""
    keys = ["source", "n", "seed"]
    sides = [
        table[table["solver"] == name][[*keys, "median"]].rename(columns={"median": name})
        for name in ("ours", "theirs")
    ]
    both = sides[0].merge(sides[1], on=keys)
    both = both.assign(ratio=both["ours"] / both["theirs"], published=2.0)
    return both.groupby(["source", "n"], sort=False)[["ratio", "published"]].median().reset_index()


RATIO = Experiment(
    "ratio", "", "table", cells=lambda plan: [], table=lambda table, published: ratios(table),
    compare=judges.judged(
        "ratio", "published", "ratio", judges.each("n={n}", "published", "ratio")
    ),
)  # fmt: skip


def compared(*rows, draws=resamples.DRAWS):
    evidence = Evidence(summary(*rows), draws)
    return evidence.compare(RATIO, RATIO.table(evidence.summary, None), None)


# ------------------------------------------------------------------------------- resamples


def test_resamples_hold_every_row_and_only_measured_values():
    rows = summary(row("ours", 1, [1, 2, 9]), row("ours", 2, [3, 4, 5]), row("x", 1, [7], n=16))
    stack = resamples.stacked(rows, HERE)
    assert len(stack) == 3 * resamples.DRAWS
    assert stack["source"].nunique() == resamples.DRAWS
    found = set(stack.loc[stack["n"] == 8, "median"])
    assert found <= {1, 2, 9, 3, 4, 5}
    assert len(found) > 3
    assert set(stack.loc[stack["n"] == 16, "median"]) == {7}


def test_the_same_measurements_give_the_same_resamples():
    rows = summary(row("ours", 1, [1, 2, 9]), row("ours", 2, [3, 4, 5]))
    pd.testing.assert_frame_equal(resamples.stacked(rows, HERE), resamples.stacked(rows, HERE))


def test_categories_find_the_rows_that_texts_find():
    rows = [
        row(solver, seed, [seed, 2.0, 5.0], metric=metric)
        for solver in ("p:a", "p:b")
        for seed in (1, 2, 3)
        for metric in ("time_ms", "pushes")
    ]
    stack = resamples.stacked(summary(*rows), HERE)
    texts = stack.astype(dict.fromkeys(resamples._CATEGORIES, object))
    for solver, metric, scope, count in (
        ("p:a", "time_ms", "run", 3), ("p:b", "pushes", "run", 3), ("p:b", "pushes", "steps", 0),
        ("p:none", "time_ms", "run", 0),
    ):  # fmt: skip
        found = tables.by_seed(stack, solver, metric, scope)
        assert len(found) == count * resamples.DRAWS
        pd.testing.assert_frame_equal(found, tables.by_seed(texts, solver, metric, scope))


def test_a_seed_is_replaced_in_all_codes_at_once():
    """Planted: seeds drawn for each code by itself would pair times of two instances."""
    rows = [row(solver, seed, [seed * by]) for seed in (1, 10, 100)
            for solver, by in (("ours", 4.0), ("theirs", 2.0))]  # fmt: skip
    (found,) = compared(*rows)
    assert (found.low, found.high) == (2.0, 2.0)
    stack = resamples.stacked(summary(*rows), HERE)
    assert stack["median"].nunique() > 3  # Seeds were replaced all the same.


def test_a_code_that_ran_on_one_seed_keeps_that_seed():
    rows = [row("ours", seed, [seed]) for seed in (1, 2, 3)] + [row("theirs", 1, [1])]
    stack = resamples.stacked(summary(*rows), HERE)
    first = stack[(stack["solver"] == "ours") & (stack["seed"] == 1)]
    assert set(first["median"]) == {1}  # No other seed has both codes.
    (found,) = compared(*rows)
    assert (found.low, found.high) == (1.0, 1.0)


def test_the_metrics_of_one_repetition_are_drawn_together():
    """Steps whose sum is 10 in every repetition add up to 10 in every resample."""
    rows = summary(
        row("ours", 1, [1, 5, 9], metric="step_a_ms"), row("ours", 1, [9, 5, 1], metric="step_b_ms")
    )
    stack = resamples.stacked(rows, HERE)
    assert set(stack.groupby("source")["median"].sum()) == {10}


# ------------------------------------------------------------------------------- intervals


def test_an_interval_spans_repetitions_and_seeds():
    rows = [row("ours", seed, [seed, seed + 0.5, seed + 1]) for seed in (1, 2)]
    rows += [row("theirs", seed, [1.0]) for seed in (1, 2)]
    (found,) = compared(*rows)
    assert found.low < 1.5 < 2.5 < found.high
    (without,) = compared(*rows, draws=0)
    assert (without.low, without.high) == (None, None)


def test_the_verdict_is_that_of_the_interval():
    """The medians agree; the scatter between the seeds says that nothing is known."""
    steady = [row("ours", seed, [2.0]) for seed in (1, 2, 3)]
    wild = [row("ours", seed, [value]) for seed, value in ((1, 0.2), (2, 2.0), (3, 20.0))]
    theirs = [row("theirs", seed, [1.0]) for seed in (1, 2, 3)]
    assert compared(*steady, *theirs)[0].verdict == "agrees"
    (found,) = compared(*wild, *theirs)
    assert (found.measured, found.verdict) == (2.0, "open")


def test_every_origin_has_its_own_interval():
    rows = [row("ours", 1, values, source=source)
            for source, values in ((HERE, [1, 2, 3]), (THERE, [4.0]))]  # fmt: skip
    rows += [row("theirs", 1, [1.0], source=source) for source in (HERE, THERE)]
    here, there = compared(*rows)
    assert (here.origin, there.origin) == (HERE, THERE)
    assert (here.low, here.high) == (1.0, 3.0)
    assert (there.low, there.high) == (4.0, 4.0)


def test_a_statement_says_in_how_many_resamples_it_holds():
    statement = Experiment(
        "s", "", "table", cells=lambda plan: [], table=lambda table, published: ratios(table),
        compare=lambda rows: [
            comparisons.claim("above one", "all", "x", bool((rows["ratio"] > 1).all()))
        ],
    )  # fmt: skip
    evidence = Evidence(summary(row("ours", 1, [0.5, 2, 3]), row("theirs", 1, [1.0])))
    (found,) = evidence.compare(statement, statement.table(evidence.summary, None), None)
    assert 0.5 < found.steady < 0.95
    assert found.verdict == "open"


def test_a_figure_that_few_resamples_have_says_that_it_has_no_interval():
    """A table may drop a resample's row: a figure of some draws has no honest interval."""
    dropped = []

    def compare(rows):
        dropped.append(rows)
        kept = len(dropped) == 1 or len(dropped) % 2
        return [comparisons.goal("g", float(rows["ratio"].max()), at_most=9.0)] if kept else []

    one = Experiment(
        "s", "", "table", cells=lambda plan: [], table=lambda table, published: ratios(table),
        compare=compare,
    )  # fmt: skip
    evidence = Evidence(summary(row("ours", 1, [0.5, 2, 3]), row("theirs", 1, [1.0])))
    (found,) = evidence.compare(one, one.table(evidence.summary, None), None)
    assert (found.low, found.verdict, found.remark) == (None, "holds", intervals.TOO_FEW)


def test_exact_counts_and_checks_of_correctness_have_no_interval():
    exact = Experiment(
        "s", "", "table", cells=lambda plan: [], table=lambda table, published: ratios(table),
        compare=lambda rows: [
            comparisons.count("n", 8, rows["n"].iloc[0]),
            comparisons.correct("n", 8, rows["ratio"].iloc[0], holds=True),
        ],
    )  # fmt: skip
    evidence = Evidence(summary(row("ours", 1, [1, 2, 3]), row("theirs", 1, [1.0])))
    found = evidence.compare(exact, exact.table(evidence.summary, None), None)
    assert [(item.low, item.verdict) for item in found] == [(None, "agrees"), (None, "holds")]


@pytest.mark.parametrize(("known", "expected"), [(39, (1.0, 2.0)), (36, (1.0, 2.0)), (30, None)])
def test_a_figure_that_resamples_lack_has_no_interval(known, expected):
    values = [1.0, *[2.0] * (known - 1)]
    assert resamples.bounds(values) == expected
