"""The shared parts of the models of a card: causes, and expected figures beside a table."""

import numpy as np
import pandas as pd
import pytest

from papers.common.evidence import cards, comparisons
from papers.common.evidence.resamples import MARK
from papers.common.evidence.verdicts import decide

TEN = cards.around(lambda figure: 1.1)
HALF = cards.around(lambda figure: 1.5)


def of(figures, **rules):
    return cards.cause("p:card", figures, TEN, HALF, cards.factors, "expected {:.3g}", **rules)


def test_a_cause_has_the_band_of_the_expected_figure_and_ends_where_print_begins():
    found = of((4.0, 4.0, 2.0))
    assert (found.low, found.high) == pytest.approx((2 / 1.5, 3.0))
    assert found.words == "expected 2"
    near = of((4.0, 4.0, 3.0))
    assert (near.low, near.high) == pytest.approx((2.0, 4 / 1.1))


@pytest.mark.parametrize(
    ("figures", "rules"),
    [
        ((4.0, 4.0, 3.9), {}),  # it agrees
        ((4.0, 1.5, 2.0), {}),  # print is nearer to our machine
        ((4.0, np.nan, 2.0), {}),
        ((4.0, None, 2.0), {}),
        ((4.0, 2.4, 2.0), {"nearer": 0.5}),
        ((4.0, 2.8, 1.0), {"at_most": 0.2}),  # print is not what the model gives its machine
    ],
)
def test_a_model_that_explains_nothing_gives_no_cause(figures, rules):
    assert of(figures, **rules) is None


def test_an_order_is_explained_where_it_is_the_expected_one():
    printed = {"a": 1.0, "b": 2.0, "c": 3.0}
    ours = {"a": 3.0, "b": 2.0, "c": 1.0}
    cause = cards.cause_of_order("p:card", printed, dict(printed), ours, 0.1, "{}")
    same = comparisons.ranking("order", printed, {"a": 9.0, "b": 8.0, "c": 7.0}, 0.1, cause=cause)
    other = comparisons.ranking("order", printed, {"b": 7.0, "c": 8.0, "a": 9.0}, 0.1, cause=cause)
    none = comparisons.ranking("order", printed, ours, 0.1)
    assert [decide(item).verdict for item in (same, other, none)] == ["differs", "open", "open"]
    assert cards.cause_of_order("p:card", printed, ours, ours, 0.1, "{}") is None
    assert cards.cause_of_order("p:card", printed, dict(printed), {"a": 1.0}, 0.1, "{}") is None


def test_expected_figures_stand_beside_the_rows_that_are_no_resamples():
    summary = pd.DataFrame({"source": ["here", f"here{MARK}1"], "n": [4, 4]})

    def expected(rows, numbers):
        return rows.assign(expected=1.0)

    both = cards.beside(lambda rows, numbers: rows, expected, ["expected"])(summary, None)
    assert both["expected"].tolist()[0] == 1.0
    assert np.isnan(both["expected"].tolist()[1])
    assert both["source"].tolist() == summary["source"].tolist()


def test_a_mean_of_ratios_is_judged_by_its_band():
    rows = pd.DataFrame({"step": list("aab"), "x": [2.0, 0.5, 8.0], "y": 1.0})
    found = cards.alike(rows, "x over y", "x", "y", ["step"], 1.5)
    assert [(item.quantity, item.verdict) for item in found] == [
        ("x over y: a", "holds"), ("x over y: b", "fails"),
    ]  # fmt: skip
