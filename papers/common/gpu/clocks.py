"""Clocks: a stopwatch that waits for the device, a clock of the steps, and one of the kernels.

Kernel launches return before the kernel has run, so every clock here calls `synchronize` before
it reads the time. On a CPU `synchronize` does nothing and costs nothing.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from papers.common.gpu import device

kernel_clock: KernelClock | None = None
"""The clock that brackets every launch, inside its ``with`` block."""


def no_trace(step: str) -> None:
    """Ignore a step: the `trace` of a run that nobody watches."""


class Stopwatch:
    """Times a ``with`` block between two device synchronisations.

    Parameters
    ----------
    synchronize : callable()
        Waits for everything launched so far, e.g. `papers.common.gpu.device.synchronize`.

    Attributes
    ----------
    ms : float
        Wall time in milliseconds; NaN until the block has ended without an exception.
    """

    __slots__ = ("_start", "_synchronize", "ms")

    def __init__(self, synchronize: Callable[[], object]) -> None:
        self._synchronize = synchronize
        self._start = 0
        self.ms = math.nan

    def __enter__(self) -> Stopwatch:
        self.ms = math.nan
        self._synchronize()
        self._start = time.perf_counter_ns()
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            self._synchronize()
            self.ms = (time.perf_counter_ns() - self._start) / 1e6


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


class KernelClock:
    """Device time of every launch inside the ``with`` block (clock ``kernels``; GPU only).

    Attributes
    ----------
    total_ms : float
        Sum over all launches, in milliseconds.
    by_kernel : dict of str to (int, float)
        Launches and milliseconds by kernel name.

    Notes
    -----
    Each launch is bracketed by two CUDA events, which slows the host loop down: never read this
    clock and the wall clock from the same run. Python collects no garbage meanwhile: going through
    some 100,000 event objects takes it 0.4 s, which a bracket whose launch waits would count.
    """

    def __init__(self) -> None:
        self._events: list[tuple[str, Any, Any]] = []
        self._collects = True
        self.total_ms = 0.0
        self.by_kernel: dict[str, tuple[int, float]] = {}

    def __enter__(self) -> KernelClock:
        global kernel_clock
        if not device.describe().is_gpu:
            raise RuntimeError("device time needs a CUDA GPU")
        device.synchronize()
        self._collects = gc.isenabled()
        gc.collect()
        gc.disable()
        kernel_clock = self
        return self

    def measure(self, name: str, stream: int = device.DEFAULT_STREAM) -> _Bracket:
        """Bracket one launch on its stream."""
        return _Bracket(self._events, name, stream)

    def __exit__(self, *exc: object) -> None:
        global kernel_clock
        kernel_clock = None
        if self._collects:
            gc.enable()
        device.synchronize()
        for name, begin, end in self._events:
            launches, ms = self.by_kernel.get(name, (0, 0.0))
            self.by_kernel[name] = (launches + 1, ms + begin.elapsed_time(end))
        self.total_ms = sum(ms for _, ms in self.by_kernel.values())
        self._events.clear()


class _Bracket:
    def __init__(self, events: list[tuple[str, Any, Any]], name: str, stream: int) -> None:
        from numba import cuda

        self._stream = cuda.external_stream(stream) if stream else 0
        self._begin, self._end = cuda.event(), cuda.event()
        events.append((name, self._begin, self._end))

    def __enter__(self) -> None:
        self._begin.record(self._stream)

    def __exit__(self, *exc: object) -> None:
        self._end.record(self._stream)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile, by linear interpolation.

    Raises
    ------
    ValueError
        For no values at all.
    """
    if len(values) == 0:
        raise ValueError("quartiles of nothing")
    ordered = sorted(map(float, values))
    if any(value != value for value in ordered):
        return math.nan, math.nan, math.nan
    low, middle, high = (_interpolated(ordered, part) for part in (0.25, 0.5, 0.75))
    return low, middle, high


def _interpolated(ordered: Sequence[float], part: float) -> float:
    """Return what `numpy.percentile` does, to the last bit, at a fiftieth of its cost."""
    place = (len(ordered) - 1) * part
    k = min(int(place), len(ordered) - 1)
    below, above = ordered[k], ordered[min(k + 1, len(ordered) - 1)]
    way = place - k
    if way >= 0.5:
        return above - (above - below) * (1 - way)
    return below + (above - below) * way


def quartiles_of_rows(values: np.ndarray) -> np.ndarray:
    """Return `quartiles` of every row, to the last bit, as float64[3, rows].

    Parameters
    ----------
    values : float64[rows, k]
        Without NaN, and k is at least 1.
    """
    ordered = np.sort(values, axis=1)
    last = ordered.shape[1] - 1
    found = np.empty((3, len(ordered)))
    for which, part in enumerate((0.25, 0.5, 0.75)):
        k = int(last * part)
        below, above, way = ordered[:, k], ordered[:, min(k + 1, last)], last * part - k
        apart = above - below
        found[which] = above - apart * (1 - way) if way >= 0.5 else below + apart * way
    return found


def median(values: Sequence[float]) -> float:
    """Return the middle value; see `quartiles`."""
    return quartiles(values)[1]
