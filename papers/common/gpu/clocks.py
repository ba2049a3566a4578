"""Clocks: a stopwatch that waits for the device, and a clock that splits a run into its steps.

Kernel launches return before the kernel has run, so every clock here calls `synchronize` before
it reads the time. On a CPU `synchronize` does nothing and costs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


@dataclass
class Lap:
    """What a `stopwatch` measured.

    Attributes
    ----------
    ms : float
        Wall time in milliseconds; NaN until the block has been left.
    """

    ms: float = float("nan")


@contextmanager
def stopwatch(synchronize: Callable[[], object]) -> Iterator[Lap]:
    """Time a block between two device synchronisations.

    Parameters
    ----------
    synchronize : callable()
        Waits for everything launched so far, e.g. `papers.common.gpu.device.synchronize`.

    Yields
    ------
    Lap
        Its ``ms`` is filled in when the block ends without an exception.
    """
    lap = Lap()
    synchronize()
    start = time.perf_counter_ns()
    yield lap
    synchronize()
    lap.ms = (time.perf_counter_ns() - start) / 1e6


class StepClock:
    """The `trace` callable of a solver: adds up the wall time of every step.

    The time from one call to the next belongs to the step the first one named. Every boundary
    synchronises, so the sum over the steps exceeds an undisturbed run; compare shares, not sums.

    Parameters
    ----------
    synchronize : callable()
        Waits for everything launched so far.
    steps : sequence of str
        Steps to list even if the run never enters them; they count 0 ms.

    Attributes
    ----------
    totals : dict of str to float
        Milliseconds by step.
    visits : dict of str to int
        How often each step began.
    """

    def __init__(self, synchronize: Callable[[], object], steps: Sequence[str] = ()) -> None:
        self._synchronize = synchronize
        self._step: str | None = None
        self._since = 0
        self.totals: dict[str, float] = dict.fromkeys(steps, 0.0)
        self.visits: dict[str, int] = dict.fromkeys(steps, 0)

    def __call__(self, step: str) -> None:
        """Close the step that is running and begin `step`."""
        self.stop()
        self.visits[step] = self.visits.get(step, 0) + 1
        self._step = step
        self._since = time.perf_counter_ns()

    def add(self, step: str, ms: float, visits: int) -> None:
        """Charge time that a solver has measured itself, inside compiled code."""
        self.totals[step] = self.totals.get(step, 0.0) + ms
        self.visits[step] = self.visits.get(step, 0) + visits

    def stop(self) -> None:
        """Close the step that is running, if any; call it once after the run."""
        self._synchronize()
        now = time.perf_counter_ns()
        if self._step is not None:
            elapsed = (now - self._since) / 1e6
            self.totals[self._step] = self.totals.get(self._step, 0.0) + elapsed
        self._step = None


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile, by linear interpolation.

    Raises
    ------
    ValueError
        For no values at all.
    """
    if len(values) == 0:
        raise ValueError("quartiles of nothing")
    low, middle, high = np.percentile(np.asarray(values, dtype=float), [25, 50, 75])
    return float(low), float(middle), float(high)


def median(values: Sequence[float]) -> float:
    """Return the middle value; see `quartiles`."""
    return quartiles(values)[1]
