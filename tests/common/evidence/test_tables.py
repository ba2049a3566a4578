"""What the papers' tables share, and the judges of their rows."""

import re

import pandas as pd
import pytest

from papers.common.evidence import comparisons as compare
from papers.common.evidence import judges, tables
from papers.common.gpu.device import EXECUTOR_NAME

RANKED = {"cost_range": ("0.1n", "n", "10n")}
HERE, THERE = compare.THIS_RUN, "recorded a-card"


def summary(*rows):
    """Rows of (source, options, n, seed, median) of one solver's run."""
    columns = ["source", "options", "n", "seed", "median"]
    return pd.DataFrame(rows, columns=columns).assign(
        solver="toy:gpu", device="a card", family="uniform", label="n", scope="run",
        metric="time_ms", storage="host",
    )  # fmt: skip


def test_solvers_that_are_mixed_are_told_apart():
    given = summary(*((HERE, "", 8, seed, float(seed)) for seed in range(6)))
    given["solver"] = ["toy:gpu", "toy:cpu", "toy:gpu", "toy:cpu", "toy:cpu", "toy:gpu"]
    assert tables.by_seed(given, "toy:gpu")["value"].tolist() == [0.0, 2.0, 5.0]
    assert tables.by_seed(given, "toy:cpu")["value"].tolist() == [1.0, 3.0, 4.0]
    assert tables.by_seed(given, "toy:other").empty


def test_rows_by_seed_and_their_median():
    seeds = [(HERE, "", 8, seed, ms) for seed, ms in ((1, 2.0), (2, 6.0), (3, 3.0))]
    given = summary(*seeds, (HERE, "x=1", 8, 1, 9.0))
    rows = tables.by_seed(given, "toy:gpu")
    assert rows.columns.tolist() == ["source", "device", "n", "cost_range", "seed", "value"]
    assert rows["value"].tolist() == [2.0, 6.0, 3.0]
    found = tables.median(rows, "run_s", ["device"], 1e-3)
    assert found.to_dict("list") == {
        "source": [HERE], "n": [8], "cost_range": ["n"], "device": ["a card"], "run_s": [0.003],
    }  # fmt: skip
    for wrong in ({"solver": "toy:cpu"}, {"metric": "cost"}, {"scope": "steps"}, {"family": "x"}):
        assert tables.by_seed(given, **{"solver": "toy:gpu", **wrong}).empty


def test_only_matrices_of_the_host_are_put_together():
    """A matrix that was drawn in device memory has other clocks."""
    host = summary((HERE, "", 8, 1, 2.0))
    both = pd.concat([host, host.assign(storage="device", median=9.0)])
    assert tables.by_seed(both, "toy:gpu")["value"].tolist() == [2.0]
    assert tables.by_seed(both, "toy:gpu", storage="device")["value"].tolist() == [9.0]


def test_options_may_be_a_pattern_of_the_whole():
    given = summary(*((HERE, options, 8, 1, 1.0) for options in ("a=1", "a=12", "a=1,b=2", "")))
    found = tables.by_seed(given, "toy:gpu", options=re.compile(r"a=\d+"))
    assert len(found) == 2
    assert tables.by_seed(given.iloc[:0], "toy:gpu", options=re.compile(r"a=\d+")).empty


def test_metrics_side_by_side_keep_the_first_one_s_rows():
    first = tables.by_seed(summary((HERE, "", 8, 1, 2.0), (HERE, "", 8, 2, 6.0)), "toy:gpu")
    table = tables.joined({"cost": first, "passes": first.iloc[1:]})
    assert table.columns.tolist() == [*tables.KEY, "seed", "cost", "passes"]
    assert table["cost"].tolist() == [2.0, 6.0]
    assert table["passes"].isna().tolist() == [True, False]


def test_names_keep_or_drop_the_device():
    rows = tables.by_seed(summary((HERE, "", 8, 1, 2.0)), "toy:gpu")
    assert "device" not in tables.named(rows, "gpu_ms")
    assert {"gpu_ms", "card"} <= {*tables.named(rows, "gpu_ms", "card")}


def test_measured_rows_first_then_print_alone():
    printed = pd.DataFrame({"n": [8, 16], "published": [1.0, 2.0]})
    measured = pd.DataFrame({"source": [HERE, THERE, HERE], "n": [8, 8, 4], "ms": [3.0, 4.0, 5.0]})
    table = tables.beside(printed, measured, ["n"])
    assert table["source"].tolist() == [HERE, THERE, HERE, tables.NOT_MEASURED]
    assert table["published"].fillna(0).tolist() == [1.0, 1.0, 0.0, 2.0]
    assert table["ms"].isna().tolist() == [False, False, False, True]
    nothing = tables.beside(printed, measured.iloc[:0], ["n"])
    assert nothing["source"].tolist() == [tables.NOT_MEASURED] * 2


def test_the_authors_times_are_met_seed_by_seed():
    ours = tables.by_seed(
        summary(*((HERE, "", 8, seed, ms) for seed, ms in ((1, 1.0), (2, 2.0), (3, 4.0)))),
        "toy:gpu",
    )
    authors = pd.DataFrame(
        {"n": 8, "cost_range": "n", "seed": [1, 2, 9], "solve_ms": [4.0, 4.0, 1.0]}
    )
    (row,) = tables.beside_authors(ours, authors).to_dict("records")
    assert (row["seeds"], row["measured_ms"], row["published_authors_ms"]) == (2, 1.5, 4.0)
    # Medians of ratios, not ratios of medians.
    assert (row["authors_over_ours"], row["ours_over_authors"]) == (3.0, 0.375)
    assert tables.beside_authors(ours.iloc[:0], authors).empty


def test_order_is_print_s():
    table = pd.DataFrame(
        [
            (16, "n", HERE), (8, "other", HERE), (8, "10n", tables.NOT_MEASURED),
            (8, "0.1n", THERE), (8, "10n", HERE), (8, "0.1n", HERE),
        ],
        columns=["n", "cost_range", "source"],
    )  # fmt: skip
    found = tables.order(table, ranked=RANKED)
    assert list(found.itertuples(index=False, name=None)) == [
        (8, "0.1n", HERE), (8, "0.1n", THERE), (8, "10n", HERE), (8, "10n", tables.NOT_MEASURED),
        (8, "other", HERE), (16, "n", HERE),
    ]  # fmt: skip
    assert found.index.tolist() == list(range(6))
    assert tables.order(table, by=("cost_range",), ranked=RANKED)["n"].iloc[2] == 16


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ({HERE: [1.0], THERE: [1.0, 2.0]}, THERE),
        ({THERE: [1.0], HERE: [1.0]}, HERE),
        ({HERE: [None, None], THERE: [1.0]}, THERE),
        ({THERE: [None], HERE: [None]}, THERE),
    ],
)
def test_the_source_that_is_drawn_fills_the_most(values, best):
    rows = [(source, value) for source, column in values.items() for value in column]
    table = pd.DataFrame(rows, columns=["source", "ms"]).astype({"ms": "float64"})
    shown = tables.best_source(table, "ms")
    assert set(shown["source"]) == {best}
    assert tables.measured_by(shown) == f"measured: {best}"
    assert tables.best_source(table.iloc[:0], "ms").empty


def test_print_alone_is_nobody_s():
    assert tables.measured_by(pd.DataFrame({"source": [tables.NOT_MEASURED]})).endswith("nothing")


# ------------------------------------------------------------------------------- judges

PAIR = ("published", "measured")


def judged_rows(**columns):
    given = {"source": HERE, "n": 8, "published": 2.0, "measured": 2.0, **columns}
    return pd.DataFrame({name: pd.Series(value) for name, value in given.items()}).ffill()


def test_judges_see_the_rows_of_one_source_that_have_both_values():
    table = pd.DataFrame(
        [(HERE, 8, 2.0, 3.0), (THERE, 8, 2.0, 9.0), (HERE, 16, None, 3.0), (HERE, 32, 2.0, None)],
        columns=["source", "n", *PAIR],
    )
    found = judges.judged("times", *PAIR, judges.each("n={n}", *PAIR))(table)
    assert [(c.quantity, c.verdict) for c in found] == [
        ("n=8", "agrees"),
        ("n=8", "open"),
    ]


def test_every_comparison_says_its_origin():
    table = pd.DataFrame(
        [(HERE, 8, 2.0, 3.0), (THERE, 8, 2.0, 9.0), (tables.NOT_MEASURED, 16, 2.0, None)],
        columns=["source", "n", *PAIR],
    )
    verdicts = judges.judged("times", *PAIR, judges.each("n={n}", *PAIR))
    found = judges.by_origin(verdicts, table)
    assert [(c.origin, c.measured) for c in found] == [(HERE, 3.0), (THERE, 9.0)]

    def forgets_to_say(rows):
        return [compare.count("rows", 1, len(rows))]

    # What was not measured is missing in this run.
    assert [c.origin for c in judges.by_origin(forgets_to_say, table)] == [HERE, THERE, HERE]
    assert [c.origin for c in judges.by_origin(forgets_to_say, table[["n"]])] == [HERE]
    (kept,) = judges.by_origin(lambda rows: found[1:], table.iloc[:1])
    assert kept.origin == THERE


def test_nothing_to_compare_is_said_once_for_all_origins():
    table = pd.DataFrame([(THERE, 8, 2.0), ("recorded b", 8, 2.0)], columns=["source", "n", "x"])
    nothing = judges.judged("times", *PAIR)
    (found,) = judges.by_origin(nothing, table.assign(published=None, measured=None))
    assert (found.verdict, found.origin) == ("not measured", HERE)
    assert judges.by_origin(lambda rows: [], table) == []


@pytest.mark.parametrize("device", [None, EXECUTOR_NAME])
def test_where_nothing_can_be_judged_it_is_said(device):
    table = judged_rows(device=device) if device else judged_rows().iloc[:0]
    (found,) = judges.judged("times", *PAIR, judges.each("n={n}", *PAIR))(table)
    assert (found.quantity, found.verdict) == ("times", "not measured")


def test_a_row_has_its_own_note_and_times_are_not_judged():
    table = judged_rows(measured=90.0)
    note = judges.each("n={n}", *PAIR, note=lambda row: f"because n is {row.n}")
    (found,) = note(table, HERE)
    assert (found.verdict, found.note) == ("open", "because n is 8")
    (found,) = judges.each_time("n={n}", *PAIR)(table, HERE)
    assert (found.verdict, found.kind) == ("not comparable", "time")


def test_rankings_of_every_group():
    table = pd.DataFrame(
        [("a", 8, "n", 1.0, 1.0), ("b", 8, "n", 2.0, 2.0), ("a", 8, "10n", 1.0, 2.0),
         ("b", 8, "10n", 2.0, 1.0), ("rest", 8, "n", 3.0, 0.0)],
        columns=["code", "n", "cost_range", *PAIR],
    )  # fmt: skip
    by_two = judges.rankings("n={}, {}", *PAIR, "code", ["n", "cost_range"], 0.1)
    judge = judges.without(by_two, "code", "rest")
    assert {c.quantity: c.verdict for c in judge(table, HERE)} == {
        "n=8, 10n": "open",
        "n=8, n": "agrees",
    }
    by_one = judges.rankings("n={}", *PAIR, "code", "n", 0.1, label=lambda n: f"<{n}>")
    assert [c.quantity for c in by_one(table, HERE)] == ["n=<8>"]
