"""Causes by the mix and the size of graphs: each condition decides."""

from types import SimpleNamespace

import pandas as pd
import pytest

from papers.deveci_matching.evidence.causes import bounds


def mean(printed, theirs, ours):
    return bounds.of_mean(
        SimpleNamespace(
            published_over_best=printed, print_model_over_best=theirs, expected_over_best=ours
        )
    )


def test_a_mean_has_a_cause_where_both_mixes_are_explained():
    found = mean(2.0, 2.2, 0.5)
    assert (found.low, found.high) == pytest.approx((0.4, 0.625))
    assert "print's twenty would give 2.2, our set gives 0.5" in found.words
    assert found.experiment == "deveci_matching:table1"


@pytest.mark.parametrize(
    "figures",
    [
        (2.0, 3.5, 0.5),  # print's own mix does not give print's figure
        (2.0, 2.1, 1.5),  # ours would agree with print
        (2.0, 1.4, 1.3),  # the mixes are hardly told apart
        (2.0, None, 0.5),
        (2.0, 2.0, float("nan")),
    ],
)
def test_a_mean_has_none_otherwise(figures):
    assert mean(*figures) is None


def test_a_mean_of_pairs_has_a_cause_where_print_and_its_mix_keep_the_sentence():
    assert bounds.of_pairs(1.3, 1.4, 0.8).high == pytest.approx(0.88)
    assert bounds.of_pairs(1.3, 1.4, 1.05).high == 1.1
    assert bounds.of_pairs(1.3, 1.05, 0.8) is None
    assert bounds.of_pairs(1.3, 1.4, 1.2) is None


def test_a_speedup_has_a_cause_where_the_expected_one_disagrees_with_print():
    found = bounds.of_speedup(4.0, 1.6)
    assert (found.low, found.high) == pytest.approx((1.6 / 1.5, 2.4))
    assert bounds.of_speedup(4.0, 3.0) is None
    assert bounds.of_speedup(4.0, None) is None


def share(**changes):
    row = {"over": "HK", "published_over": "HK", "published_GPU": 0.65, "expected_GPU": 0.3,
           "expected_GPU_low": 0.2, "expected_GPU_high": 0.7, **changes}  # fmt: skip
    return bounds.of_share(SimpleNamespace(**row))


def test_a_share_has_a_cause_up_to_where_shares_agree_and_over_the_same_code_alone():
    found = share()
    assert (found.low, found.high) == pytest.approx((20.0, 60.0))
    assert share(over="PFP") is None
    assert share(expected_GPU=0.63) is None
    assert share(expected_GPU=float("nan")) is None


def test_copies_have_a_cause_where_print_keeps_its_bound_and_the_record_does_not():
    def found(theirs, ours):
        row = SimpleNamespace(published=6.0, print_model_measured=theirs, expected_measured=ours)
        return bounds.of_copies(row)

    assert (found(2.5, 10.0).low, found(2.5, 10.0).high) == pytest.approx((8.0, 12.5))
    assert found(7.0, 10.0) is None
    assert found(2.5, 5.0) is None
    assert found(None, 10.0) is None


NEVER = pd.Series([False] * 3)


def test_more_iterations_have_a_cause_where_each_such_graph_is_a_race():
    few, many = pd.Series([2.0, 3.0, 4.0]), pd.Series([5.0, 2.0, 3.0])

    def found(*overlap):
        return bounds.of_iterations(few, many, pd.Series(overlap), NEVER, "1 of 3")

    assert found(False, True, True).says == "1 of 3"
    assert "2 in number" in found(False, True, True).words
    assert found(True, True, False) is None
    assert bounds.of_iterations(many, many, ~NEVER, NEVER, "0 of 0, 3 ties") is None


def test_a_statement_that_holds_of_the_medians_alone_has_races_for_a_cause():
    few, many = pd.Series([2.0, 2.0, 4.0]), pd.Series([5.0, 3.0, 4.0])
    found = bounds.of_iterations(few, many, ~NEVER, pd.Series([False, True, True]), "2 of 2")
    assert found.says == "2 of 2"
    assert "2 have in some pair" in found.words
    assert bounds.of_iterations(few, many, ~NEVER, NEVER, "2 of 2") is None
