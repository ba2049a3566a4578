"""The rule of seeds: further seeds of a cell whose first seed takes long are skipped.

How long a cell takes is known when its first seed has been measured, and cells are measured in the
order of their seeds. The rule is decided here, by `SeedRule.reason`, while a run goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from papers.common.model import GAVE_UP, Cell
from papers.reproduce.plan.cells import Job


def _without_seed(cell: Cell) -> str:
    return replace(cell, instance=replace(cell.instance, seed=0)).key


class SeedRule:
    """Decides which further seeds are skipped.

    Parameters
    ----------
    jobs : sequence of Job
        The whole plan.
    long_s : float
        Seconds of a run from which a cell has one seed; see `papers.reproduce.plan.pace`.
    """

    def __init__(self, jobs: Sequence[Job], long_s: float) -> None:
        self._long_s = long_s
        self._first: dict[str, Job] = {}
        for job in jobs:
            kind = _without_seed(job.cell)
            known = self._first.setdefault(kind, job)
            if job.cell.instance.seed < known.cell.instance.seed:
                self._first[kind] = job
        self._run_s: dict[str, float] = {}

    def learn(self, cell: str, values: Iterable[tuple[str, str, float]]) -> None:
        """Take in the measured values of a cell.

        Parameters
        ----------
        cell : str
            Its key.
        values : iterable of (clock, metric, value)
            Rows of a measurement; the longest ``time_ms`` counts, or the time after which the
            solver gave up.
        """
        times = [float(value) for _, metric, value in values if metric in ("time_ms", GAVE_UP)]
        if times:
            self._run_s[cell] = max(times) / 1e3

    def reason(self, job: Job) -> str:
        """Return why a job is skipped, or ""."""
        first = self._first[_without_seed(job.cell)]
        if first.key == job.key or self._run_s.get(first.key, 0.0) < self._long_s:
            return ""
        seed, took = first.cell.instance.seed, self._run_s[first.key]
        return (
            f"seed {seed} took {took:.3g} s a run; from {self._long_s:g} s on a cell has one seed, "
            "unless --seed asks for more"
        )
