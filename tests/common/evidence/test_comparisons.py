"""Comparisons and their verdicts: every one can agree, and can fail."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from papers.common.evidence import comparisons, verdicts
from papers.common.model import Cause

NAN = math.nan


def with_interval(item, low, high):
    return verdicts.decide(replace(item, low=low, high=high))


# ------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("published", "measured", "tolerance", "verdict"),
    [
        (7, 7, 0, "agrees"),
        (7, 8, 0, "open"),
        (100, 109, 0.1, "agrees"),
        (100, 111, 0.1, "open"),
        (7, None, 0, "not measured"),
        (7, NAN, 0, "not measured"),
        (None, 7, 0, "not comparable"),
    ],
)
def test_counts(published, measured, tolerance, verdict):
    found = comparisons.count("q", published, measured, tolerance, "a remark")
    assert (found.kind, found.verdict, found.note) == ("count", verdict, "a remark")
    assert found.tolerance == ("within 10 %" if tolerance else "equal")


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(2.0, "agrees"), (3.0, "agrees"), (4.0 / 3, "agrees"), (3.01, "open"), (1.33, "open"),
     (0, "open")],
)  # fmt: skip
def test_ratios_agree_within_a_factor(measured, verdict):
    found = comparisons.ratio("q", 2.0, measured)
    assert (found.verdict, found.tolerance) == (verdict, "within a factor of 1.5")


@pytest.mark.parametrize(
    ("published", "measured", "verdict"),
    [
        (0.0, 0.2, "agrees"),
        (0.0, 0.3, "open"),
        (30.0, 34.9, "agrees"),
        (30.0, 35.1, "open"),
        (90.0, 47.06, "open"),  # A factor of two once made this agree.
        (4.0, 5.9, "agrees"),  # Half of a small share.
        (4.0, 6.1, "open"),
        (30.0, None, "not measured"),
    ],
)
def test_shares_agree_by_points(published, measured, verdict):
    assert comparisons.share("q", published, measured).verdict == verdict


def test_slopes():
    x = [512, 1024, 2048, 4096]
    squares = [u**2 for u in x]
    assert comparisons.slope(x, [3 * v for v in squares]) == pytest.approx(2)
    assert comparisons.slope(x, [1.0, NAN, NAN, NAN]) is None
    cubes = [u**3 for u in x]
    assert comparisons.shape_slope("q", x, squares, [5 * v for v in squares]).verdict == "agrees"
    apart = comparisons.shape_slope("q", x, squares, cubes)
    assert (apart.verdict, apart.published, apart.measured) == ("open", 2.0, 3.0)
    near = comparisons.shape_slope("q", x, squares, [u**2.3 for u in x])
    assert near.verdict == "open"
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


def test_times_are_never_judged():
    assert comparisons.absolute_time("q", 1.0, 1.0).verdict == "not comparable"
    assert comparisons.absolute_time("q", 1.0, None).verdict == "not measured"


# ------------------------------------------------------------------------------- words


def test_a_claim_in_words_needs_an_effect_of_its_size():
    """Planted: "more than about two" was once judged by "> 1"."""
    assert comparisons.effect("q", "more than two", 1.72, at_least=2.0).verdict == "open"
    assert comparisons.effect("q", "more than two", 2.2, at_least=2.0).verdict == "agrees"
    assert comparisons.effect("q", "little", 9.0, at_most=5.0).verdict == "open"
    with pytest.raises(ValueError, match="at_least or at_most"):
        comparisons.effect("q", "more", 2.0)


def test_a_goal_without_a_bound_is_refused():
    """Every figure would reach it."""
    with pytest.raises(ValueError, match="at_least or at_most"):
        comparisons.goal("q", 2.0)


def test_a_claim_in_words_needs_its_whole_interval():
    effect = comparisons.effect("q", "faster", 1.3, at_least=1.1)
    assert with_interval(effect, 1.15, 1.5).verdict == "agrees"
    astride = with_interval(effect, 0.9, 1.5)
    assert (astride.verdict, astride.remark) == ("open", verdicts.ASTRIDE)


@pytest.mark.parametrize(
    ("wins", "ties", "share", "verdict"),
    [
        (20, 0, 1.0, "agrees"),
        (19, 0, 1.0, "open"),
        (15, 0, 0.5, "agrees"),
        (14, 0, 0.5, "open"),  # Of 20 coins fourteen or more are heads in 5.8 %.
        (10, 10, 1.0, "agrees"),
        (4, 16, 1.0, "open"),  # Four coins are heads in 6.3 %.
        (0, 20, 1.0, "open"),
    ],
)
def test_how_often_is_told_from_chance(wins, ties, share, verdict):
    assert comparisons.signs("q", "always", wins, 20, share, ties).verdict == verdict


def test_without_a_pair_nothing_was_measured():
    assert comparisons.signs("q", "always", 0, 0, 1.0).verdict == "not measured"
    assert comparisons.signs("q", "always", 0, 3, 1.0, ties=3).verdict == "open"


def test_statements_must_hold_in_nearly_all_resamples():
    claim = comparisons.claim("q", "all", "3 of 3", holds=True)
    assert claim.verdict == "agrees"
    shaky = verdicts.decide(replace(claim, steady=0.9))
    assert (shaky.verdict, shaky.remark) == ("open", verdicts.UNSTEADY)
    assert verdicts.decide(replace(claim, steady=0.96)).verdict == "agrees"
    assert comparisons.claim("q", "all", "2 of 3", holds=False).verdict == "open"


# ------------------------------------------------------------------------------- intervals


def test_agreement_is_of_the_interval_and_not_of_the_median():
    item = comparisons.ratio("q", 2.0, 3.2)
    assert item.verdict == "open"
    assert with_interval(item, 2.9, 3.3).verdict == "agrees"


def test_an_interval_wider_than_the_tolerance_settles_nothing():
    """Planted: with enough noise every comparison would agree."""
    item = comparisons.ratio("q", 2.0, 2.0)
    assert item.verdict == "agrees"
    noise = with_interval(item, 0.5, 9.0)
    assert (noise.verdict, noise.remark) == ("open", verdicts.UNSETTLED)


# ------------------------------------------------------------------------------- causes

SLOWER = Cause("toy:copies", 8.0, 12.0, "the copies take so long")


@pytest.mark.parametrize(
    ("measured", "verdict"), [(10.0, "differs"), (2.0, "agrees"), (50.0, "open"), (0.4, "open")]
)
def test_a_cause_explains_the_figures_that_its_experiment_bounds_and_no_others(measured, verdict):
    assert comparisons.ratio("q", 2.0, measured, cause=SLOWER).verdict == verdict
    assert comparisons.count("q", 2, measured, cause=SLOWER).verdict == verdict


def test_a_cause_does_not_settle_an_interval_wider_than_the_tolerance():
    item = comparisons.ratio("q", 2.0, 10.0, cause=SLOWER)
    noise = with_interval(item, 2.5, 11.0)
    assert (noise.verdict, noise.remark) == ("open", verdicts.UNSETTLED)


def test_a_note_closes_nothing():
    """Planted: a sentence that is always attached once turned every "open" into "differs"."""
    notes = ("a faster card", lambda p, m: "why", comparisons.gains(8.0, 2.0, "ours", "theirs"))
    for note in notes:
        assert comparisons.ratio("q", 2.0, 50.0, note=note).verdict == "open"
    x = [1, 2, 4]
    assert comparisons.shape_slope("q", x, x, [1, 8, 64], note="why").verdict == "open"
    assert (
        comparisons.ranking("q", {"a": 1, "b": 2}, {"a": 2, "b": 1}, note="why").verdict == "open"
    )


LARGER, SMALLER = comparisons.if_larger("a faster card"), comparisons.if_smaller("fewer cores")


@pytest.mark.parametrize(
    ("note", "measured", "text"),
    [
        (LARGER, 9.0, "a faster card"),
        (LARGER, 0.1, ""),
        (SMALLER, 0.1, "fewer cores"),
        (comparisons.either(LARGER, SMALLER), 0.1, "fewer cores"),
        (comparisons.either(LARGER, "anyhow"), 9.0, "a faster card; anyhow"),
        (LARGER, None, ""),
    ],
)
def test_a_note_may_speak_of_one_direction(note, measured, text):
    assert comparisons.ratio("q", 2.0, measured, note=note).note == text


def test_gains_are_arithmetic():
    text = "by arithmetic: print over ours is 8 for ours, 2 for theirs"
    assert comparisons.gains(8.0, 2.0, "ours", "theirs") == text
    assert comparisons.gains(NAN, 2.0, "ours", "theirs") == ""


# ------------------------------------------------------------------------------- of our own


def test_checks_of_our_own_hold_or_fail_and_are_no_comparisons_with_print():
    found = [
        comparisons.correct("costs", 7, 7, holds=True),
        comparisons.correct("costs", 7, 8, holds=False),
        comparisons.predicted("a model", 1.0, 2.0, 1.5),
        comparisons.predicted("a model", 1.0, 2.0, 2.5),
        comparisons.goal("ours", 0.9, at_most=1.0),
        comparisons.goal("ours", 1.1, at_most=1.0),
    ]
    assert [item.verdict for item in found] == ["holds", "fails"] * 3
    assert not any(map(verdicts.is_with_print, found))


def test_a_goal_is_compared_as_measured_and_not_as_shown():
    found = comparisons.goal_of_cells("our time", pd.Series([1.00004]), 1.0, 1.00005)
    assert [item.verdict for item in found] == ["fails", "holds"]


def test_goals_are_of_the_geometric_mean_and_the_worst():
    found = comparisons.goal_of_cells("our time", pd.Series([0.25, 1.0, 1.6]), 0.8, 1.5)
    assert [(c.quantity, c.measured, c.verdict) for c in found] == [
        ("our time, geometric mean of 3 cells", pytest.approx(0.4 ** (1 / 3)), "holds"),
        ("our time, worst of 3 cells", 1.6, "fails"),
    ]
