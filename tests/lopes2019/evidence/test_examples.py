"""The page's matrices: the kernels, under a seed that is searched, do what the page tells."""

import re
from pathlib import Path

import numpy as np
import pytest
from nightly import first

import papers
from papers.common.problems import assignment_proof
from papers.lopes2019 import reference, solve
from papers.lopes2019.evidence import examples, litmus
from papers.lopes2019.kernels import search

README = Path(papers.__file__).parent / "lopes2019" / "README.md"
STORIES = [
    (example, story)
    for example in (examples.WORKED, examples.JOIN, examples.TWO_BLOCKS)
    for story in example.stories
]


@pytest.mark.parametrize(("example", "story"), STORIES)
def test_some_interleaving_is_the_story(example, story):
    run = examples.run_of(example, story)
    cost = np.array(example.cost)
    verdict = assignment_proof.assignment(cost, solve(cost))
    assert verdict.ok, verdict
    expected, _ = reference.solve(cost)
    rows = np.arange(len(cost))
    assert cost[rows, run.columns].sum() == cost[rows, expected].sum()


def test_the_kernels_replay_the_worked_example():
    """Launch 2 of step 4 finds nothing, so the duals shift; launch 3 ends a path."""
    run = examples.run_of(examples.WORKED, "as on the page")
    steps = ["step_2", "step_3", "step_4", "step_6", "step_4", "step_5", "step_3"]
    assert [moment.step for moment in run.moments] == steps
    (shifted,) = run.after("step_6")
    least = min(map(min, examples.WORKED.cost))
    t, row = reference.step_1(np.array(examples.WORKED.cost)), -1
    assert least == 1
    reference.step_2(t)
    reference.step_3(t)
    assert reference.step_4(t) == row
    reference.step_6(t)
    assert np.array_equal(shifted.slack, t.slack)
    assert run.columns == [3, 2, 0, 1]


def test_the_page_s_slacks_are_those_of_the_run():
    """The page's three matrices, stars and primes and all, are the moments of the kernels' run."""
    page = README.read_text(encoding="utf-8").split("## A worked 4x4 example")[1].split("```")[1]
    run = examples.run_of(examples.WORKED, "as on the page")
    after_step_4 = examples.entries(run.after("step_4")[0])
    after_step_6 = examples.entries(run.after("step_4")[1])
    lines = [line.split() for line in page.strip().splitlines()[1:5]]
    assert [line[:4] for line in lines] == [[str(c) for c in row] for row in examples.WORKED.cost]
    assert [line[4:8] for line in lines] == after_step_4
    assert [line[8:12] for line in lines] == after_step_6


def test_the_page_s_join_is_that_of_the_run():
    page = README.read_text(encoding="utf-8").split("## A worked 4x4 example")[1].split("```")[3]
    run = examples.run_of(examples.JOIN, "row 1 wins")
    lines = [line.split() for line in page.strip().splitlines()[1:5]]
    assert [line[:4] for line in lines] == [[str(c) for c in row] for row in examples.JOIN.cost]
    assert [line[4:8] for line in lines] == examples.entries(run.after("step_4")[0])
    assert [line[8:12] for line in lines] == examples.entries(run.after("step_5")[0], primes=False)


def test_the_page_s_duals_prove_the_worked_example():
    page = README.read_text(encoding="utf-8")
    u, v = (
        [int(word) for word in re.search(rf"{name} = \(([-\d, ]+)\)", page)[1].split(",")]
        for name in ("u afterwards", "v")
    )
    cost = np.array(examples.WORKED.cost)
    slack = cost - np.array(u)[:, None] - np.array(v)
    run = examples.run_of(examples.WORKED, "as on the page")
    assert np.array_equal(slack, run.after("step_6")[0].slack)
    assert sum(u) + sum(v) == 12


# ------------------------------------------------------------------------------- S3 broken


def leads_to_itself(seed):
    (story,) = examples.OWN_STAR.stories.values()
    return story(examples.run_under(examples.OWN_STAR, seed).moments)


@pytest.mark.parametrize("part", first(1, range(4)))
def test_no_row_primes_its_own_star(part):
    assert not any(leads_to_itself(seed) for seed in range(100 * part, 100 * part + 100))


def test_with_s3_reversed_a_row_primes_its_own_star(monkeypatch):
    """The exercise: the last two stores of `process`, swapped."""
    monkeypatch.setattr(search, "process", litmus.column_uncovered_first)
    assert any(leads_to_itself(seed) for seed in range(400))


def test_a_story_that_no_run_tells_is_said_so():
    with pytest.raises(LookupError, match="row leads to itself"):
        examples.run_of(examples.OWN_STAR, "a row leads to itself", range(3))


def test_a_run_as_text():
    text = examples.told(examples.run_of(examples.WORKED, "as on the page"))
    assert "after step 4\n  5    3    2    0*\n  2    0*   0'   0    covered\n" in text
    assert "columns covered: 0, 1, 3" in text
