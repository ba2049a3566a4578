"""The part of a solver's state that all solvers have: arrays, launches, signals, counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from papers.common.gpu.launch import Launch
from papers.common.gpu.signals import Mailbox


@dataclass(kw_only=True)
class DeviceState:
    """Base class of the states that a solver's `upload` makes and its `run` works on.

    Attributes
    ----------
    arrays : dict of str to device array
    launches : dict of str to Launch
    mailbox : Mailbox or None
        None for an empty problem.
    counters : dict of str to int
        Counts of this run.
    solved : bool
        Whether a run has ended well.
    """

    arrays: dict[str, Any] = field(default_factory=dict)
    launches: dict[str, Launch] = field(default_factory=dict)
    mailbox: Mailbox | None = None
    counters: dict[str, int] = field(default_factory=dict)
    solved: bool = False

    def payload(self) -> int:
        """Wait for the next signal and return its payload; see `Mailbox.wait`."""
        assert self.mailbox is not None
        return self.mailbox.wait()

    def forget(self) -> None:
        """Start counting anew: also right after a run that was interrupted between two signals."""
        if self.mailbox is not None:
            self.mailbox.forget()
        self.begin()

    def begin(self) -> None:
        """Start counting anew where every signal was read: nothing is waited for."""
        self.solved = False
        self.counters.clear()
        for launch in self.launches.values():
            launch.reset()
