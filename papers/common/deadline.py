"""Limits of a run, of time and of work, and the checks of the options that set them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from papers.common.model import GivenUpError

LARGEST_COUNT = 2**31 - 1
"""Counts that go to kernels have 32 bits."""


class Deadline:
    """The limits of one run, of time and of work, counted from when the object was made.

    Every host loop asks `check` once a turn. A persistent kernel cannot ask: it returns after a
    bounded share of the work, says whether it has finished, and is launched again by a host loop
    that asks.

    Parameters
    ----------
    seconds : float or None
        None: time is no limit.
    bound : int or None
        The largest amount of work. None: work is no limit.
    unit : str
        What the work is counted in, in the plural, e.g. ``"dual updates"``.
    """

    def __init__(
        self, seconds: float | None, bound: int | None = None, unit: str = "operations"
    ) -> None:
        self.seconds = seconds
        self.bound = bound
        self.unit = unit
        self.began = time.perf_counter()

    def left(self, progress: str, reached: Mapping[str, int] | None = None) -> float | None:
        """Return the seconds that are left for what comes next; None where time is no limit.

        Parameters
        ----------
        progress, reached
            As of `check`.

        Raises
        ------
        GivenUpError
            If none are.
        """
        self.check(progress, reached=reached)
        if self.seconds is None:
            return None
        return max(1e-9, self.seconds - (time.perf_counter() - self.began))

    def check(self, progress: str, done: int = 0, reached: Mapping[str, int] | None = None) -> None:
        """Give up if the time is over, or if more work is done than the bound allows.

        Parameters
        ----------
        progress : str
            How far the run has come, for the message.
        done : int
            The work so far.
        reached : mapping of str to int, optional
            The same progress in counts, for a program: `GivenUpError.reached`.

        Raises
        ------
        GivenUpError
        """
        passed = time.perf_counter() - self.began
        if self.seconds is not None and passed > self.seconds:
            message = f"gave up after {passed:.1f} s and {progress}"
            raise GivenUpError(message, 1000 * passed, reached)
        if self.bound is not None and done > self.bound:
            message = f"{done} {self.unit}, the bound is {self.bound}: {progress}"
            raise GivenUpError(message, reached=reached)


def in_words(reached: Mapping[str, int]) -> str:
    """Return counts as words of a message: ``"12 matched, 40 dual updates"``."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in reached.items())


def check_seconds(seconds: Any) -> None:
    """Refuse a time limit that is none.

    Raises
    ------
    ValueError
        If it is neither None nor a positive number.
    """
    number = isinstance(seconds, Real) and not isinstance(seconds, bool | np.bool_)
    if seconds is not None and not (number and seconds > 0):
        raise ValueError(f"seconds={seconds!r} is no positive number")
    try:
        float(seconds or 0)
    except OverflowError:
        raise ValueError("seconds has more digits than a float: None is no limit") from None


def check_count(name: str, value: Any, least: int = 1, most: int = LARGEST_COUNT) -> None:
    """Refuse an option that is no whole number in its range.

    Raises
    ------
    ValueError
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise ValueError(f"{name}={value!r} is no whole number from {least} to {most}")
