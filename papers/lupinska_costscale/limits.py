"""Limits of a run, and the checks of options that both halves of the paper share."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from papers.common.model import GivenUpError

LARGEST_COUNT = 2**31 - 1
"""Counts that go to kernels have 32 bits."""


class Deadline:
    """A time limit of a run, counted from when the object was made.

    Parameters
    ----------
    seconds : float or None
        None: there is no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.began = time.perf_counter()

    def check(self, progress: str) -> None:
        """Give up if the time is over.

        Parameters
        ----------
        progress : str
            How far the run has come, for the message.

        Raises
        ------
        GivenUpError
        """
        passed = time.perf_counter() - self.began
        if self.seconds is not None and passed > self.seconds:
            raise GivenUpError(f"gave up after {passed:.1f} s and {progress}", 1000 * passed)


def check_seconds(seconds: Any) -> None:
    """Refuse a time limit that is none.

    Raises
    ------
    ValueError
        If it is neither None nor a positive number.
    """
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (number and seconds > 0):
        raise ValueError(f"seconds={seconds!r} is no positive number")


def check_count(name: str, value: Any, least: int = 1, most: int = LARGEST_COUNT) -> None:
    """Refuse an option that is no whole number in its range.

    Raises
    ------
    ValueError
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        raise ValueError(f"{name}={value!r} is no whole number from {least} to {most}")
