"""The end of a job of ranks when one of them fails alone, or stops answering."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import NoReturn

from papers.common.mpi.job import rank_of_job

FAILED = 70
"""Exit code of a job that a rank has ended."""

PATIENCE = "PAPERS_MPI_TIMEOUT_S"
"""Environment variable: seconds that a rank waits for the others in one call."""

PATIENCE_S = 600.0
"""Its default. A rank that draws or proves a large instance keeps the others waiting."""

HEARD_S = 0.3
"""Seconds between a rank's last line and the abort: the launcher has to have read the line by then.
Without them a job on a busy machine once ended with no line at all."""

TURN_S = 0.5
"""Seconds by which a rank speaks after the rank below it: longer than `HEARD_S`, so that where
several fail at once, the lowest has ended the job before another speaks."""

MOST_TURNS = 10
"""Ranks beyond it speak together: nobody waits longer than these turns for a job's end."""


def end_job(message: str, code: int = FAILED) -> NoReturn:
    """Say in one line what is wrong, and end every rank."""
    rank = rank_of_job()
    time.sleep(TURN_S * min(rank, MOST_TURNS))
    # One write: the launcher mixes the ranks' lines.
    sys.stderr.write(f"rank {rank}: {' '.join(message.split())}\n")
    sys.stderr.flush()
    time.sleep(HEARD_S)
    threading.Timer(5.0, os._exit, (code,)).start()  # if the abort itself cannot get through
    from mpi4py import MPI  # it runs by now

    MPI.COMM_WORLD.Abort(code)
    os._exit(code)


class Watch:
    """Ends the job when a wait for the other ranks takes too long.

    ``watch.begins("Gather")`` before a call that waits, ``watch.ends()`` after it: two
    assignments, for calls that take microseconds. A thread looks at them twice a second.

    Parameters
    ----------
    limit_s : float, optional
        Seconds; by default the environment's `PATIENCE`, or `PATIENCE_S`.
    """

    def __init__(self, limit_s: float | None = None) -> None:
        self.limit_s = limit_s or float(os.environ.get(PATIENCE) or PATIENCE_S)
        self._since = 0.0
        self._what = ""
        self._ended = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def begins(self, what: str) -> None:
        """A wait begins."""
        self._what = what
        self._since = time.monotonic()

    def ends(self) -> None:
        """The wait is over."""
        self._since = 0.0

    def close(self) -> None:
        """Look no more."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(0.5):
            since = self._since
            if since and time.monotonic() - since > self.limit_s:
                end_job(
                    f"{self._what} has waited {self.limit_s:g} s for the other ranks: one of them "
                    f"does not answer ({PATIENCE} sets the limit)"
                )


_watch: Watch | None = None


def the_watch() -> Watch:
    """The process's watch, made when it is first wanted: its thread lives as long."""
    global _watch
    if _watch is None:
        _watch = Watch()
    return _watch
