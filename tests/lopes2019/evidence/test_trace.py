"""The page to step through shows the duals and marks of the teaching page."""

import numpy as np
import pytest

from papers.common.evidence.trace import runs
from papers.lopes2019.evidence.trace import STORIES, story_of


def last_looks(run):
    """Texts of all parts at the end."""
    looks = dict(run.initial)
    for step in run.steps:
        looks |= step.looks
    return {part: look.text for part, look in looks.items()}


def shown(run, line):
    """A line of the arrays, as numbers."""
    looks = last_looks(run)
    n = len(run.recording.final["covered_row"])
    return [float(looks[f"v.{line}.{i}"].replace("\N{MINUS SIGN}", "-")) for i in range(n)]


def test_the_worked_example_ends_with_the_duals_of_the_teaching_page():
    run = runs.trace(STORIES[0], STORIES[0].tellings[0].seed)
    assert shown(run, "row_dual") == [3, 0, 2, 5]
    assert shown(run, "column_dual") == [0, 1, 1, 0]
    assert shown(run, "column_of_star_at_row") == [3, 2, 0, 1]
    looks = last_looks(run)
    starred = {part for part, text in looks.items() if "\N{BLACK STAR}" in text}
    assert starred == {"m.0.3", "m.1.2", "m.2.0", "m.3.1"}


@pytest.mark.parametrize("least", [0, 7, -3, 0.5])
def test_the_duals_that_are_shown_add_up_to_the_cost_whatever_is_taken_off(least):
    cost = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]]) + least
    run = runs.trace(story_of(cost), 5)
    assert run.answer.cost == pytest.approx(5 + 3 * least)
    assert sum(shown(run, "row_dual") + shown(run, "column_dual")) == pytest.approx(run.answer.cost)
