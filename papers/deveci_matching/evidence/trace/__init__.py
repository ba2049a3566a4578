"""The paper, stepped through: Figure 1 and its collision, two trees, and a root that is a hint."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from papers.common.evidence.trace.panels import Arrays
from papers.common.evidence.trace.story import Picture, Story, Telling, Trace
from papers.common.executor.recorder import Recorder
from papers.common.problems.graph import bipartite
from papers.deveci_matching import solver
from papers.deveci_matching.evidence.trace.pictures import Pictures
from papers.deveci_matching.evidence.trace.words import WORDS, Words
from papers.deveci_matching.launches import Geometry

MOST = 10
"""Rows, and columns, of a graph that a page can show."""

PLAIN: Mapping[str, Any] = {"algorithm": "apfb", "bfs": "plain"}

FIGURE_1 = ((1, 1, 0, 0), (0, 1, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1))
"""[D13 Fig.1] with a fourth pair, as on the page."""

FIGURE_1_START = ((1, -1, -1, 3), (-1, 0, -1, 3))

TWO_TREES = ((0, 2, 5, 6), (3, 4), (1, 2), (1,), (0, 3), (0,))
"""Rows of each column."""

HINT = ((1, 1, 1, 1, 1), (0, 0, 0, 0, 1))
HINT_START = ((4, -1), (-1, -1, -1, -1, 0))


def _run(
    graph: Any, initial: Any, variant: Mapping[str, Any], shapes: Geometry, recorder: Recorder
) -> Any:
    state = solver.upload(graph, initial=initial, geometry=shapes, **variant)
    recorder.watch(state.arrays)
    solver.run(state)
    return solver.download(state)


def _answered(answer: Any, now: Arrays) -> bool:
    return bool(
        (answer.row_match == now["rmatch"]).all() and (answer.column_match == now["cmatch"]).all()
    )


def story_of(
    data: Any,
    name: str = "yours",
    title: str = "Your graph",
    caption: str = "",
    initial: Any = "cheap",
    variant: Mapping[str, Any] = PLAIN,
    grid: tuple[int, int] = (2, 8),
    switch: float = 0.4,
    tellings: tuple[Telling, ...] = (),
) -> Story:
    """Return the story of a bipartite graph.

    Parameters
    ----------
    data : Graph, sparse array, array_like[rows, columns]
        At most 10 rows and columns, and an edge at least.
    name, title, caption, switch, tellings
        As of `Story`.
    initial, variant
        The matching to start from and the variant, as of `solver.upload`.
    grid : (int, int)
        Blocks, and threads a block.

    Raises
    ------
    ValueError
        If it is no such graph.
    """
    graph = bipartite(np.array(data) if isinstance(data, tuple) else data)
    if not graph.edges or max(graph.shape) > MOST:
        raise ValueError(f"a page shows graphs of at most {MOST} rows and columns, with an edge")
    if not isinstance(initial, str):
        initial = tuple(np.array(side, np.int32) for side in initial)
    rooted = variant["bfs"] == "wr"
    names = ("rmatch", "cmatch", "predecessor", "bfs_array", *(["root"] if rooted else []))
    return Story(
        name, title, caption, partial(_run, graph, initial, variant, Geometry(*grid)), Words,
        WORDS, Pictures(graph, rooted).panels(), names, _answered, tellings,
        loads=("cmatch",), switch=switch,
    )  # fmt: skip


# ------------------------------------------------------------------------------- what is told


def _freed(trace: Trace, kind: str) -> list[str]:
    return [step.focus[0] for step in trace.during("fix_matching") if step.kind == kind]


def _debris(ends: list[str], liars: list[str], trace: Trace) -> bool:
    return (_freed(trace, "free_end"), _freed(trace, "free_liar")) == (ends, liars)


def _one_of_three(trace: Trace) -> bool:
    rows = sorted(_freed(trace, "free_end") + _freed(trace, "free_liar"))
    replaced = any(s.kind == "predecessor_replaced" for s in trace.steps)
    return replaced and rows == ["g.r1", "g.r3", "g.r7"]


def _hint(trace: Trace) -> bool:
    final, initial = trace.recording.events, trace.recording.initial
    roots = [e.new for e in final if e.array == "root" and e.index == 4 and e.kernel == "gpubfs_wr"]
    of_row = [e.new for e in final if e.array == "predecessor" and e.index == 0]
    return "root" in initial and bool(roots) and roots[-1] != of_row[-1]


def _matrix(columns: tuple[tuple[int, ...], ...], rows: int) -> np.ndarray:
    found = np.zeros((rows, len(columns)), int)
    for column, its in enumerate(columns):
        found[list(its), column] = 1
    return found


STORIES = (
    story_of(
        FIGURE_1, "worked", "The page's example: Figure 1 and its collision",
        "Rows r2 and r3 both want c2. Four schedules leave three kinds of debris and one "
        "cardinality. Look at cmatch: it is a matching at every moment; only rmatch lies.",
        FIGURE_1_START, PLAIN, (1, 8), 0.4,
        (
            Telling("r3 is stopped by line 8", None, partial(_debris, ["g.r3"], [])),
            Telling("r2 is stopped by line 8", 0, partial(_debris, ["g.r2"], [])),
            Telling("both pass, r2 believes in c2", 19, partial(_debris, [], ["g.r2"])),
            Telling("both pass, r3 believes in c2", 8, partial(_debris, [], ["g.r3"])),
        ),
    ),
    story_of(
        _matrix(TWO_TREES, 7), "two_trees", "Two trees, three ends, one path",
        "Row r3 is found by one tree, and then another tree stores itself as its predecessor: the "
        "first has lost its only end. Three paths existed; speculation keeps one and gives the "
        "others another try. Lost is never wrong, only late.",
        "cheap", PLAIN, (2, 4), 0.3, (Telling("one of three", 0, _one_of_three),),
    ),
    story_of(
        HINT, "hint", "A root is a hint (GPUBFS-WR)",
        "Columns c1 to c4 race for row r1. Its predecessor and the root of c5 are two words, and "
        "may have two winners: the path belongs to one tree, the mark goes to another, and one "
        "pair is gained all the same.",
        HINT_START, {"algorithm": "apsb", "bfs": "wr"}, (3, 4), 0.6,
        (Telling("two words, two winners", 8, _hint),),
    ),
)  # fmt: skip

PICTURE = Picture(
    "worked",
    "both pass, r3 believes in c2",
    "Column c2 gets row r2, but r3",
    "r3 is stopped by line 8",
)
"""The moment that `page.png` shows; ``reproduce pictures`` takes it anew."""
