"""The two runs that the page and Figure 1 tell, found by their marks."""

import numpy as np
import pytest
from deveci_matching.evidence.made_up import BY_NAME, PAPER

from papers.common.problems.graph import bipartite
from papers.deveci_matching import reference
from papers.deveci_matching.evidence import examples


@pytest.mark.parametrize("story", examples.STORIES)
def test_a_story_is_found_and_is_what_the_page_tells(story):
    run = examples.run_of(story)
    assert run.cardinality == 3
    assert [moment.step for moment in run.moments] == ["start", "bfs", "alternate", "fix"]
    searched, walked, fixed = (run.after(step) for step in ("bfs", "alternate", "fix"))
    assert searched.level == (2, 3, 2, 3)
    assert searched.rmatch == (1, -2, -2, 3)
    assert searched.predecessor == (0, 1, 1, 2)
    # The columns hold a matching at every moment: only the rows are told wrong.
    for moment in run.moments:
        held = [row for row in moment.cmatch if row >= 0]
        assert len(held) == len(set(held))
    assert walked.cmatch == fixed.cmatch == (0, 1, -1, 3)
    assert fixed.rmatch == (0, 1, -1, 3)
    assert walked.rmatch[2] == (-2 if story.startswith("line 8") else 1)


def test_stories_tell_runs_apart():
    runs = {story: examples.run_of(story) for story in examples.STORIES}
    for story, known in examples.STORIES.items():
        assert [name for name, run in runs.items() if known(run)] == [story]


def test_a_story_that_no_run_tells_is_refused(monkeypatch):
    monkeypatch.setitem(examples.STORIES, "never", lambda run: run.cardinality == 4)
    monkeypatch.setattr(examples, "SEEDS", range(2))
    with pytest.raises(LookupError, match="'never'"):
        examples.run_of("never")


def test_the_reference_finds_as_many():
    rows, columns = examples.START
    answer = reference.apfb(bipartite(np.array(examples.GRAPH)), initial=(rows, columns))
    assert answer.cardinality == 3


def test_figure_1_draws_marks_walks_collision_and_repair(tmp_path, monkeypatch):
    from papers.deveci_matching.evidence import plots

    drawn = []
    monkeypatch.setattr(plots, "_line", lambda axes, *what: drawn.append(what[2:]))
    ((caption, path),) = BY_NAME["fig01"].artifacts(tmp_path, PAPER)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "collision" in caption
    # A dotted line: the row that believes in a lost column, in the one panel that has it.
    assert [what for what in drawn if ":" in what] == [(plots.BELIEVED, 2.5, ":")]
