"""Figure 2 shows walks that join and dead ends, and the sentence about it is the search's own."""

from pathlib import Path

import numpy as np
import pytest

import papers
from papers.common.instances.matrices import uniform
from papers.lopes2019.evidence import photos

RESULTS = Path(papers.__file__).parent / "lopes2019" / "RESULTS.md"


@pytest.fixture(scope="module")
def drawn():
    return photos.most_branched()


def shows_both(search):
    """Two free rows' walks join, one path through the join is applied, and a row is a dead end."""
    walks = search.walks()
    through = [row for row, columns in walks.items() if set(columns) & set(search.joins())]
    applied = [row for row in through if search.is_green(row, walks[row])]
    return len(through) > 1 and len(applied) >= 1 and len(search.dead_ends()) > 0


def test_figure_2_shows_a_join_and_a_dead_end(drawn):
    search, _ = drawn
    assert shows_both(search)
    for column in search.joins():
        walks = search.walks()
        through = [row for row, columns in walks.items() if column in columns]
        assert len(through) > 1
        assert sum(search.is_green(row, walks[row]) for row in through) <= 1


def test_without_an_interest_figure_2_would_show_neither(monkeypatch):
    """Planted: if all searches count alike, the first one is drawn, and the test above fails."""
    monkeypatch.setattr(photos.Search, "interest", lambda search: (0, 0))
    search, _ = photos.most_branched()
    assert not shows_both(search)


def test_the_sentence_under_figure_2_is_the_search_s(drawn):
    text = " ".join(RESULTS.read_text(encoding="utf-8").split("## Figures 1, 2 and 3")[1].split())
    search, seed = drawn
    sentence = f"(n = {photos.FIG_2_SIZE}, costs 0 to n, seed {seed}). {photos.told(search)}"
    assert sentence in text, f"Write under Figure 2: {sentence}"


def test_figure_2_is_written(tmp_path):
    ((caption, path),) = photos.fig_2(tmp_path, plan=None)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert photos.told(photos.most_branched()[0]) in caption


@pytest.mark.parametrize("seed", [3, 6])
def test_greens_are_primes_and_lead_back_along_whole_paths(seed):
    for search in photos.searches(uniform(16, seed, cost_range=16)):
        greens = np.flatnonzero(search.green >= 0)
        assert len(greens)
        for column in greens:  # every green is a prime
            assert search.prime[search.green[column]] == column
        walks = search.walks()
        green = [columns for row, columns in walks.items() if search.is_green(row, columns)]
        assert green  # A search that found a path moves stars along one.
        passed = [column for columns in green for column in columns]
        assert len(passed) == len(set(passed))
        assert all(search.star_at_column[columns[-1]] < 0 for columns in green)


def test_walks_that_join_and_dead_ends_are_told_apart():
    """Rows 0 and 1 are free, both reach column 0, whose star is row 2; row 3 is a dead end."""
    search = photos.Search(
        prime=np.array([0, 0, 1, 2]), star_at_row=np.array([-1, -1, 0, 3]),
        star_at_column=np.array([2, -1, -1, 3]), green=np.array([1, 2, -1, -1]),
    )  # fmt: skip
    assert search.walks() == {0: [0, 1], 1: [0, 1]}
    assert (search.joins(), search.dead_ends()) == ([0], [3])
    assert search.interest() == (1, 1, 4)
    assert not search.is_green(0, [0, 1])
    assert search.is_green(1, [0, 1])
    assert photos.told(search) == (
        "The walks from 2 free rows join at C0; greens lead from a free column back along 1 of "
        "them, and no two of these share a column. 1 primed rows are dead ends."
    )
