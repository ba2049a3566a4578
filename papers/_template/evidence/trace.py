"""The paper, stepped through: its stories, told by an interpreter, drawn by panels [T00].

`reproduce trace` looks here for two names: ``STORIES``, the example of the README first, and
``story_of(data)``, the story of somebody's own instance; `reproduce pictures` for ``PICTURE``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from papers._template import solver
from papers.common.evidence.trace.panels import NEVER, Arrays, Look, Matrix, Vectors, shown, unset
from papers.common.evidence.trace.story import Picture, Story, Told, Word, square_costs
from papers.common.executor.recorder import Event, Recorder

MOST = 8
"""Rows and columns of a matrix that a page can show."""

# The vocabulary: a kind of event, its title, and its line in the paper.
WORDS = {
    "launch": Word("a launch", "Algorithms 1 and 2"),
    "nearer": Word("a shorter path", "Algorithm 1"),
    "tree": Word("into the tree", "Algorithm 1"),
    "take": Word("take a column", "Algorithm 2"),
}


def words(event: Event, now: Arrays) -> Told | None:
    """Tell an event of the kernels; None of what has no name in the paper."""
    if event.kind == "launch":
        return Told("launch", f"Kernel {event.kernel} is launched.")
    if not event.changes or event.kernel == "init":
        return None
    column = event.index
    if event.array == "distance":
        sentence = f"Column {column} is at distance {event.new}."
        return Told("nearer", sentence, (f"v.distance.{column}",), together=True)
    if event.array == "tree" and event.new == 1:
        return Told("tree", f"Column {column} is nearest: it joins the tree.", (f"m.c{column}",))
    if event.array == "row_of_column":
        part = f"m.{event.new}.{column}"
        return Told("take", f"Row {event.new} takes column {column}.", (part,))
    return None


def _cell(n: int, now: Arrays, row: int, column: int) -> Look:
    taken = now["row_of_column"][column] == row
    text = shown(now["matrix"][row * n + column].item())
    return Look(text + "\N{BLACK STAR}" * bool(taken), "star" if taken else "")


def _row(now: Arrays, row: int) -> Look:
    return Look(f"row {row}", "" if (now["row_of_column"] == row).any() else "free")


def _column(now: Arrays, column: int) -> Look:
    return Look(f"column {column}", "reached" if now["tree"][column] == 1 else "")


def _element(now: Arrays, line: str, index: int) -> Look:
    value = now[line][index]
    return NEVER if unset(value) else Look(shown(value.item()))


def _run(cost: np.ndarray, recorder: Recorder) -> Any:
    state = solver.upload(cost)
    recorder.watch(state.arrays)
    solver.run(state)
    return solver.download(state)


def _answered(answer: Any, now: Arrays) -> bool:
    return bool((now["row_of_column"][answer.col_ind] == answer.row_ind).all())


def story_of(
    data: Any, name: str = "yours", title: str = "Your matrix", caption: str = ""
) -> Story:
    """Return the story of a matrix of costs, to be minimized.

    Raises
    ------
    ValueError
        If it is not square, or has more rows than a page can show.
    """
    cost = square_costs(data, MOST, whole=False)
    n = len(cost)
    lines = dict.fromkeys(("distance", "before", "tree", "u", "v", "row_of_column"), n)
    rows, columns = ([f"{side} {k}" for k in range(n)] for side in ("row", "column"))
    panels = (
        Matrix("m", "Costs", rows, columns, partial(_cell, n), _row, _column),
        Vectors("v", "Arrays", lines, _element),
    )
    return Story(
        name, title, caption, partial(_run, cost), lambda: words, WORDS, panels,
        ("row_of_column", "before", "u", "v"), _answered,
    )  # fmt: skip


STORIES = (
    story_of(
        ((8, 6, 5, 3), (3, 1, 1, 1), (2, 8, 6, 9), (5, 6, 9, 7)), "worked",
        "The page's 4x4 example", "One row after another; watch the last search, of row 3.",
    ),
)  # fmt: skip

PICTURE = Picture("worked", "natural order", "Column 1 is nearest: it joins the tree")
"""The moment that the teaching page shows; ``reproduce pictures`` takes it."""
