"""The report, stepped through: one matrix, six versions, on one time line."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.runs import record
from papers.common.evidence.trace.story import Picture, Story, square_costs
from papers.common.executor.recorder import Recorder
from papers.kawtikwar_opts import solver
from papers.kawtikwar_opts.evidence.codes import VERSIONS
from papers.kawtikwar_opts.evidence.trace.pictures import Pictures, marks_of
from papers.kawtikwar_opts.evidence.trace.words import WORDS, Words

MOST = 6
"""Rows and columns of a matrix that a page can show."""

UNWATCHED = ("cost", "signal", "clocks", "zero_of_row")

WORKED = ((8, 6, 5, 3), (3, 1, 1, 1), (2, 8, 6, 9), (5, 6, 9, 7))
TIES = (
    (2, 5, 4, 6, 9, 5), (1, 3, 3, 4, 9, 5), (7, 3, 7, 8, 7, 9),
    (1, 6, 6, 1, 6, 3), (5, 2, 9, 4, 4, 7), (6, 8, 5, 4, 11, 4),
)  # fmt: skip


def _run(cost: np.ndarray, lines_a_bin: int, recorder: Recorder, version: str) -> Any:
    state = solver.upload(
        cost.T, dtype="int32", version=version, lines_a_bin=lines_a_bin, threads=32, blocks=2
    )
    watched = {name: array for name, array in state.arrays.items() if name not in UNWATCHED}
    recorder.watch(watched)
    solver.run(state)
    return solver.download(state)


def _answered(answer: Any, now: Arrays) -> bool:
    return bool((answer.col_ind == now["row_of_star_at_column"]).all())


def story_of(
    data: Any,
    name: str = "yours",
    title: str = "Your matrix",
    caption: str = "The same matrix in six versions.",
    lines_a_bin: int | None = None,
) -> Story:
    """Return the story of a matrix of costs, to be minimized, in all versions.

    Parameters
    ----------
    data : array_like[n, n]
        Integers; n is at most 6.
    name, title, caption : str
        As of `Story`.
    lines_a_bin : int, optional
        Columns to a bin of zeros; by default half of them.

    Raises
    ------
    ValueError
        If it is no such matrix.
    """
    cost = square_costs(data, MOST)
    n = len(cost)
    lines = lines_a_bin or -(-n // 2)

    @cache
    def time_lines() -> dict[str, list[str]]:
        return {version: marks_of(record(story, None, version)[0]) for version in VERSIONS}

    pictures = Pictures(n, lines, time_lines)
    story = Story(
        name, title, caption, partial(_run, cost, lines),
        lambda version: Words(n, lines, VERSIONS.index(version)), WORDS,
        pictures.panels(), ("slack",), _answered, loads=("slack",), variants=VERSIONS,
    )  # fmt: skip
    return story


STORIES = (
    story_of(
        WORKED, "worked", "The page's 4x4 example in six versions",
        "Each version does the same work. Watch the counters in the dual update: Opt 0 takes "
        "the additions to the one counter away, Opt 1 a pass, Opt 2 the launches, Opt 3 the second "
        "load; Opt 4 lets the threads wait for each other. The answer is 12 six times.",
        2,
    ),
    story_of(
        TIES, "ties", "A 6x6 matrix with ties, in six versions",
        "The same on 36 entries: of the two bins' lists the order decides which zeros get stars, "
        "and the answer is 17 six times.",
        3,
    ),
)  # fmt: skip

PICTURE = Picture("worked", "opt3", "Slack (1, 3) is covered twice")
"""The moment that `page.png` shows; ``reproduce pictures`` takes it anew."""
