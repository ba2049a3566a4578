"""The paper, stepped through: the page's two examples, a restart, and any small matrix.

Rows and columns are the paper's: the kernels are handed the transpose (deviation D1).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.story import Picture, Story, Telling, Trace, square_costs
from papers.common.executor.recorder import Recorder
from papers.common.problems.assignment import prepare
from papers.lopes2019 import solver
from papers.lopes2019.evidence import examples
from papers.lopes2019.evidence.trace.pictures import Pictures
from papers.lopes2019.evidence.trace.words import WORDS, Words
from papers.lopes2019.launches import Geometry

MOST = 8
"""Rows and columns of a matrix that a page can show."""

WATCHED = (
    "slack", "zeros", "zeros_size", "covered_row", "covered_column", "row_of_star_at_column",
    "column_of_star_at_row", "column_of_prime_at_row", "row_of_green_at_column", "row_extreme",
    "min_in_column", "row_dual", "column_dual", "partial", "minimum", "flags",
)  # fmt: skip

OUTCOME = (
    "column_of_star_at_row", "column_of_prime_at_row", "row_of_green_at_column", "slack",
)  # fmt: skip
"""Two interleavings differ if a line gets other marks; the order of the zeros is none."""


def geometry(lines_a_bin: int) -> Geometry:
    """Return launch shapes with few threads, so that each can be watched."""
    return Geometry(
        lines_a_bin=lines_a_bin, step_4_threads=4, step_2_threads=8, line_threads=8,
        matrix_threads=8, reduction_threads=8, matrix_blocks=2,
    )  # fmt: skip


def _run(cost: np.ndarray, lines_a_bin: int, recorder: Recorder) -> Any:
    state = solver.upload(cost.T, geometry=geometry(lines_a_bin))
    recorder.watch({name: state.arrays[name] for name in WATCHED})
    solver.run(state)
    return solver.download(state)


def _answered(answer: Any, now: Arrays) -> bool:
    return bool((answer.col_ind == now["row_of_star_at_column"]).all())


def story_of(
    data: Any,
    name: str = "yours",
    title: str = "Your matrix",
    caption: str = "",
    lines_a_bin: int | None = None,
    tellings: tuple[Telling, ...] = (),
) -> Story:
    """Return the story of a matrix of costs, to be minimized.

    Parameters
    ----------
    data : array_like[n, n]
        Finite numbers; n is at most 8.
    name, title, caption, tellings
        As of `Story`.
    lines_a_bin : int, optional
        Columns to a block of step 4; by default half of them.

    Raises
    ------
    ValueError
        If it is no such matrix.
    """
    cost = square_costs(data, MOST, whole=False)
    n = len(cost)
    lines = lines_a_bin or -(-n // 2)
    shift = prepare(cost.T, dtypes=solver.DTYPES, reflect=False).shift
    pictures = Pictures(n, shift)
    return Story(
        name, title, caption, partial(_run, cost, lines), lambda: Words(n, lines), WORDS,
        pictures.panels(), OUTCOME, _answered, tellings, loads=("covered_row", "covered_column"),
        switch=examples.SWITCH,
    )  # fmt: skip


# ------------------------------------------------------------------------------- what is told


def _launches_before_a_path(trace: Trace) -> int:
    """Launches of step 4 of the first search."""
    kernels = [step.kernel for step in trace.of_kind("launch", "restart")]
    return kernels[: kernels.index("step_5a")].count("step_4")


def _sentences(trace: Trace, kind: str) -> list[str]:
    return [step.sentence for step in trace.of_kind(kind)]


def _focus(trace: Trace, kind: str) -> list[str]:
    return [step.focus[0] for step in trace.of_kind(kind)]


def _worked(trace: Trace) -> bool:
    primes = _focus(trace, "prime")
    stars = sorted(_focus(trace, "star"))
    return stars == ["m.0.3", "m.1.1", "m.2.0"] and primes == ["m.1.2", "m.3.1"]


def _joined(winner: int, trace: Trace) -> bool:
    stars = sorted(_focus(trace, "star"))
    return stars == ["m.2.0", "m.3.3"] and _winner(trace) == winner


def _winner(trace: Trace) -> int:
    """The row whose green column 0 has kept in the first search."""
    first = next(step.launch for step in trace.steps if step.kernel == "step_5a")
    rows = [
        int(step.focus[0].split(".")[1])
        for step in trace.of_kind("green", "green_replaced")
        if step.launch == first and step.focus[0].endswith(".0")
    ]
    return rows[-1] if rows else -1


def _two_blocks(launches: int, winner: int, trace: Trace) -> bool:
    stars = sorted(_focus(trace, "star"))
    return (
        stars == ["m.3.0", "m.4.1", "m.5.2"]
        and _launches_before_a_path(trace) == launches
        and _winner(trace) == winner
    )


STORIES = (
    story_of(
        examples.WORKED.cost, "worked", "The page's 4x4 example: one path, one dual update",
        "The smallest complete run. The second launch of step 4 finds nothing: it is there only "
        "because the first uncovered a column, and nobody can know without asking that no block "
        "had work from it.",
        examples.WORKED.lines_a_bin, (Telling("as on the page", 5, _worked),),
    ),
    story_of(
        examples.JOIN.cost, "join", "A join and a dead end",
        "Rows 0 and 1 are free, and both walk through column 0. Two threads store one green, "
        "without a lock: the last stays, and the other row waits for the next search.",
        examples.JOIN.lines_a_bin,
        (
            Telling("row 0 wins", 8, partial(_joined, 0)),
            Telling("row 1 wins", 44, partial(_joined, 1)),
        ),
    ),
    story_of(
        examples.TWO_BLOCKS.cost, "restart", "Two blocks: one launch, or a restart",
        "The search starts in block 1, whose columns are free, and has to get to block 0. Whether "
        "block 0 still looks when block 1 uncovers its columns decides whether the host launches "
        "step 4 again. That is all that a restart is.",
        examples.TWO_BLOCKS.lines_a_bin,
        (
            Telling("one launch, row 0 wins", 66, partial(_two_blocks, 1, 0)),
            Telling("one launch, row 1 wins", 48, partial(_two_blocks, 1, 1)),
            Telling("a restart, row 0 wins", 475, partial(_two_blocks, 2, 0)),
            Telling("a restart, row 1 wins", 291, partial(_two_blocks, 2, 1)),
        ),
    ),
)  # fmt: skip

PICTURE = Picture("join", "row 0 wins", "A join: column 0 had row 1", "row 1 wins")
"""The moment that `page.png` shows; ``reproduce pictures`` takes it anew."""
