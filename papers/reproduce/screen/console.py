"""The console, and how times are said. Nothing here loads Numba, pandas or Matplotlib."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
from enum import Enum
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from papers.reproduce.plan.cells import Job
    from papers.reproduce.plan.estimate import Estimator
    from papers.reproduce.plan.pace import Pace

WIDTH = 120
"""Columns of a line where nobody reads it in a terminal."""

COLOURS = {
    "ok": "green",
    "agrees": "green",
    "skipped": "dim",
    "not measured": "dim",
    "not comparable": "dim",
    "differs": "yellow",
    "open": "magenta",
    "holds": "green",
    "fails": "bold red",
}


class Volume(Enum):
    """The amount that a command says."""

    quiet = 0
    answer = 1
    verbose = 2


def console(volume: Volume = Volume.answer) -> Console:
    """Return the console for results; at most 120 columns wide, plain when it is no terminal.

    Brackets are text: a cell has its options in them.
    """
    found = Console(highlight=False, soft_wrap=False)
    wide = found.width if found.is_terminal else WIDTH
    silent = io.StringIO() if volume is Volume.quiet else None
    return Console(highlight=False, markup=False, width=min(wide, WIDTH), file=silent)


def forgive_encoding() -> None:
    """Have the two streams show ``?`` for a letter that they lack, in place of an error.

    A run that has measured for an hour must not end because a locale has no ``Ł``.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors="replace")


def warn(text: str) -> None:
    """Print a line to standard error; a reader that has gone is no error."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        with contextlib.suppress(OSError):
            os.close(2)


def duration(seconds: float) -> str:
    """Return a length of time as ``8 s``, ``3 min`` or ``2.5 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def estimate(guess: Estimator, jobs: Sequence[Job], pace: Pace) -> str:
    """Return how long `jobs` may take, and for how many of them nothing is known."""
    seconds, unknown = guess.total(jobs, pace)
    if unknown == len(jobs):
        return "unknown" if jobs else "nothing to do"
    known = f"about {duration(seconds)}"
    return f"{known}, and {unknown} cells of unknown time" if unknown else known


def cells_on(device: str) -> str:
    """Return where cells are measured: without a GPU not all of them are the executor's."""
    from papers.reproduce.plan.estimate import EXECUTOR  # It loads pandas.

    return "cells without a GPU" if device == EXECUTOR else f"cells on {device}"


def milliseconds(ms: float) -> str:
    """Return a time in milliseconds with three significant digits."""
    if math.isnan(ms):
        return ""
    return f"{ms:.3g} ms" if ms < 1000 else f"{ms / 1000:.3g} s"
