"""The paper, stepped through: the page's example in both variants, and two trees in a race."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.story import Picture, Story, Telling, Trace, square_costs
from papers.common.executor.recorder import Recorder
from papers.datenagi2016 import solver
from papers.datenagi2016.evidence.trace.pictures import Pictures
from papers.datenagi2016.evidence.trace.words import WORDS, Words
from papers.datenagi2016.launches import Geometry

MOST = 8
"""Rows and columns of a matrix that a page can show."""

SHAPES = Geometry(
    line_threads=16, row_threads=32, column_threads=8, rows_a_block=8, search_threads=32,
    search_blocks=1, reduction_threads=8, scan_threads=32, stage_width=4,
)  # fmt: skip

OUTCOME = (
    "row_assignment", "row_predecessor", "column_predecessor", "row_successor", "row_dual",
    "column_dual",
)  # fmt: skip
"""Two interleavings differ if a line gets another predecessor, successor or partner."""

WORKED = ((8, 6, 5, 3), (3, 1, 1, 1), (2, 8, 6, 9), (5, 6, 9, 7))
RACE = (
    (2, 3, 4, 4, 4, 7), (1, 1, 2, 2, 3, 4), (7, 6, 3, 4, 8, 8),
    (1, 2, 4, 1, 1, 5), (5, 2, 6, 6, 4, 2), (9, 10, 4, 6, 6, 8),
)  # fmt: skip


def _run(cost: np.ndarray, variant: str, recorder: Recorder) -> Any:
    state = solver.upload(cost, variant=variant, geometry=SHAPES)
    recorder.watch({name: array for name, array in state.arrays.items() if name != "staged"})
    solver.run(state)
    return solver.download(state)


def _answered(answer: Any, now: Arrays) -> bool:
    return bool((answer.col_ind == now["row_assignment"]).all())


def story_of(
    data: Any,
    name: str = "yours",
    title: str = "Your matrix",
    caption: str = "",
    variant: str = "classical",
    tellings: tuple[Telling, ...] = (),
) -> Story:
    """Return the story of a matrix of costs, to be minimized.

    Parameters
    ----------
    data : array_like[n, n]
        Integers; n is at most 8.
    name, title, caption, tellings
        As of `Story`.
    variant : {"classical", "tree"}

    Raises
    ------
    ValueError
        If it is no such matrix.
    """
    cost = square_costs(data, MOST)
    n = len(cost)
    return Story(
        name, title, caption, partial(_run, cost, variant), lambda: Words(n), WORDS,
        Pictures(n, variant, int(cost.min())).panels(), OUTCOME, _answered, tellings,
    )  # fmt: skip


# ------------------------------------------------------------------------------- what is told


def swaps(trace: Trace, number: int) -> set[str]:
    """Return the edges that one augmentation has put in, as keys of the matrix."""
    return {s.focus[0] for s in trace.during("augmentation", number) if s.kind == "swap"}


def _worked(trace: Trace) -> bool:
    reached = [s.focus[0] for s in trace.during("forward_pass") if s.kind == "reach_free"]
    last = {part.rpartition(".")[2]: part for part in reached}
    return swaps(trace, 0) == {"m.2.0", "m.1.1", "m.0.3"} and sorted(last.values()) == [
        "m.0.3", "m.1.1", "m.1.2", "m.2.0"
    ]  # fmt: skip


def _race(winner: int, paths: int, trace: Trace) -> bool:
    second = trace.during("forward_pass", 1)
    wins = [s.focus[0] for s in second if s.kind == "win_column"]
    lost = any(s.kind == "lose_column" and s.focus[0].endswith(".0") for s in second)
    roots = [s for s in trace.during("reverse_pass", 1) if s.kind == "root_reached"]
    first = swaps(trace, 0) == {"m.3.0", "m.4.1", "m.5.2"}
    return first and lost and f"m.{winner}.0" in wins and len(roots) == paths


STORIES = (
    story_of(
        WORKED, "worked", "The page's 4x4 example, classical",
        "Rows search from all sides at once. In the first pass every column is free; in the last, "
        "row 3 walks through rows 1 and 2 of others. At theta the matrix is read again, to list "
        "the edges without slack anew.",
        "classical", (Telling("as on the page", 6, _worked),),
    ),
    story_of(
        WORKED, "tree", "The same, with the slack array",
        "The tree variant keeps one number a column: its least slack over the rows that were "
        "reached. At theta that number is lowered, and no matrix is read.",
        "tree", (Telling("as on the page", 4, _worked),),
    ),
    story_of(
        RACE, "race", "Two trees race for a column",
        "In the second pass rows 0 and 1 both find column 0. One exchange decides which of them "
        "owns it. The race decides how many trees bear fruit in this round, not whether the "
        "answer is right: look at the number of passes.",
        "classical",
        (
            Telling("row 1 wins, one path", 1879, partial(_race, 1, 1)),
            Telling("row 0 wins, two paths", 1085, partial(_race, 0, 2)),
        ),
    ),
)  # fmt: skip

PICTURE = Picture("race", "row 1 wins, one path", "Row 0 asks for column 0, too late")
"""The moment that `page.png` shows; ``reproduce pictures`` takes it anew."""
