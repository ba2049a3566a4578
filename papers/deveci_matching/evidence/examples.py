"""The page's graph, and the interleavings under which the kernels do what it tells.

A race has many right outcomes, and the page tells two. `STORIES` says by which marks a run is
known; `run_of` tries seeds of the executor until the kernels leave these marks, so no seed is
written down that the next change of a kernel would make stale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.deveci_matching import solver
from papers.deveci_matching.kernels.notation import END
from papers.deveci_matching.launches import Geometry

GRAPH = ((1, 1, 0, 0), (0, 1, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1))
"""[D13 Fig.1] with a fourth pair: rows by columns; r1 to r4 and c1 to c4, here from 0 on."""

START = (np.array([1, -1, -1, 3]), np.array([-1, 0, -1, 3]))
"""r1 is matched to c2 and r4 to c4."""

SWITCH = 0.4
"""Chance of another thread's turn before an access."""

SEEDS = range(400)
"""Interleavings that are tried."""


@dataclass(frozen=True)
class Moment:
    """The kernels' arrays at the end of a step, as the kernels name them.

    Attributes
    ----------
    step : {"start", "bfs", "alternate", "fix"}
        The step of the first iteration that has ended.
    rmatch, cmatch : tuple of int
        -1: free; -2 in ``rmatch``: the end of a path.
    level, predecessor : tuple of int
        Level of each column, 1 for none; the column that has reached each row, -1 for none.
    """

    step: str
    rmatch: tuple[int, ...]
    cmatch: tuple[int, ...]
    level: tuple[int, ...]
    predecessor: tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """A run of APFB-GPUBFS: its seed, the moments of its first iteration, its matching's size."""

    seed: int
    moments: tuple[Moment, ...]
    cardinality: int

    def after(self, step: str) -> Moment:
        """Return the moment at the end of a step."""
        return next(moment for moment in self.moments if moment.step == step)


def believers(moment: Moment) -> list[int]:
    """Return the rows that name a column which holds another row."""
    return [
        row
        for row, column in enumerate(moment.rmatch)
        if column >= 0 and moment.cmatch[column] != row
    ]


def left_over(moment: Moment) -> list[int]:
    """Return the rows that are still marked as ends: no walk has passed line 8 from them."""
    return [row for row, column in enumerate(moment.rmatch) if column == END]


STORIES: dict[str, Callable[[Run], bool]] = {
    "line 8 stops the second walk": lambda run: left_over(run.after("alternate")) == [2],
    "both walks pass line 8": lambda run: believers(run.after("alternate")) == [2],
}
"""By name, the marks by which a run is known: what ALTERNATE leaves for FIXMATCHING."""


def run_under(seed: int) -> Run:
    """Run the kernels in the executor under one interleaving; keep the first iteration's steps."""
    moments: list[Moment] = []
    steps: list[str] = []

    def watch(step: str) -> None:
        if "fix" not in steps[:-1] and steps[1:]:  # the first "init" is the copy of the start
            moments.append(_moment({"init": "start"}.get(steps[-1], steps[-1]), state))
        steps.append(step)

    with device.executing(Executor(seed, SWITCH)):
        state = solver.upload(
            np.array(GRAPH), "apfb", "plain", "ct", START, geometry=Geometry(1, 8)
        )
        solver.run(state, watch)
        answer = solver.download(state)
    return Run(seed, tuple(moments), answer.cardinality)


def _moment(step: str, state: Any) -> Moment:
    read = {
        name: tuple(device.to_host(state.arrays[name]).tolist())
        for name in ("rmatch", "cmatch", "bfs_array", "predecessor")
    }
    return Moment(step, read["rmatch"], read["cmatch"], read["bfs_array"], read["predecessor"])


def run_of(story: str) -> Run:
    """Return the first run that is known by the marks of a story.

    Raises
    ------
    LookupError
        If no seed gives it.
    """
    for seed in SEEDS:
        run = run_under(seed)
        if STORIES[story](run):
            return run
    raise LookupError(f"no interleaving is the story {story!r}")
