"""Estimates of the time that the cells of a plan take, from cells already measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from papers.common.instances import problem_of, size_of
from papers.common.problems.kinds import PROBLEMS
from papers.reproduce.plan.cells import Job
from papers.reproduce.plan.pace import Pace

EXECUTOR = "CPU executor"
"""The device of kernels without a GPU, as measurements name it."""

_Kind = tuple[str, str, bool]
"""Family, label, and whether rows and columns are permuted."""


class Estimator:
    """Predicts the time of a cell from cells already measured, scaled as its problem's time grows.

    The time of an assignment grows with its rows cubed, that of a matching with its rows, and that
    of a flow with its nodes (`papers.common.model.Problem.growth`). A prediction needs a measured
    cell of the same solver and options whose size is within a factor of 16; one of the same family
    and range is preferred, then the nearest size.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], list[tuple[_Kind, float, float]]] = {}
        self._in_executor: set[tuple[str, str]] = set()

    def learn(self, summary: pd.DataFrame, devices: set[str] | None = None) -> None:
        """Add the ``run`` medians of a summary, of the given devices only."""
        timed = summary[(summary["scope"] == "run") & (summary["metric"] == "time_ms")]
        for row in timed.itertuples():
            if (devices is None or row.device in devices) and row.n > 0:
                kind = row.family, row.label
                names = row.solver, row.options, *kind
                self.add(*names, row.n, row.median, row.permuted, row.device == EXECUTOR)

    def add(
        self,
        solver: str,
        options: str,
        family: str,
        label: str,
        n: int,
        ms: float,
        permuted: bool = False,
        in_executor: bool = False,
    ) -> None:
        """Add one measured time, in milliseconds."""
        entry = (family, label, permuted), size_of(family, n), ms
        if in_executor:
            self._in_executor.add((solver, options))
        self._known.setdefault((solver, options), []).append(entry)

    def run_ms(self, job: Job) -> float | None:
        """Return the predicted time of one run in milliseconds, or None."""
        instance = job.cell.instance
        size = size_of(instance.family, max(instance.n, 1))
        known = self._known.get((job.cell.solver, job.options), [])
        near = [entry for entry in known if 1 / 16 <= size / entry[1] <= 16]
        if not near:
            return None
        mine = instance.family, instance.label, instance.permuted

        def distance(entry: tuple[_Kind, float, float]) -> tuple[bool, float]:
            return entry[0] != mine, abs(math.log(size / entry[1]))

        _, before, ms = min(near, key=distance)
        return ms * (size / before) ** PROBLEMS[problem_of(instance)].growth

    def seconds(self, job: Job, pace: Pace) -> float | None:
        """Return the predicted time of the whole cell in seconds, or None."""
        one = self.run_ms(job)
        if one is None:
            return None
        once, clocks = one / 1e3, len(job.cell.scopes)
        if (job.cell.solver, job.options) in self._in_executor:
            return 0.05 + once * pace.in_executor * clocks  # Without a warm-up.
        repeats = max(pace.repeats, job.cell.repeats or 0)
        if once < pace.long_s:
            return 0.05 + once * (1 + repeats * clocks)
        # A long cell's first run is its first repetition.
        return 0.05 + once * clocks * min(repeats, max(1, math.ceil(pace.budget_s / once)))

    def total(self, planned: Sequence[Job], pace: Pace) -> tuple[float, int]:
        """Return the sum of the predictions in seconds, and how many jobs have none."""
        predicted = [self.seconds(job, pace) for job in planned]
        return sum(p for p in predicted if p is not None), predicted.count(None)
