"""The state of a maximum flow on the device: arrays, launches, counters, limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.deadline import Deadline
from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.common.model import GivenUpError
from papers.lupinska_costscale.flow.prepare import Prepared


@dataclass
class State:
    """Everything `solver` touches between upload and download.

    Attributes
    ----------
    prepared : Prepared
        The instance as the kernels take it.
    seconds : float or None
        A run that has no answer by the end of the first launch after so long gives up.
    arrays : dict of str to device array
    launches : dict of str to Launch
    host_relabels, bfs_levels : int
        Number of times that heights were drawn anew on the host; levels of all breadth-first
        searches.
    more : dict of str to int
        Counters that only one version has.
    done : int
        Pushes and relabels that the host has been told of.
    deadline : Deadline
        The time limit of the run that goes on.
    m, patience, redraw_every : int
        Options of the blocking version.
    solved : bool
        Whether `run` has ended well.
    """

    prepared: Prepared
    seconds: float | None = None
    arrays: dict[str, Any] = field(default_factory=dict)
    launches: dict[str, Launch] = field(default_factory=dict)
    host_relabels: int = 0
    bfs_levels: int = 0
    more: dict[str, int] = field(default_factory=dict)
    done: int = 0
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    m: int = 1
    patience: int = 1
    redraw_every: int = 0
    solved: bool = False

    def begin(self, mark: Callable[[str], None]) -> None:
        """Restore the start, on the device and of the counters."""
        mark("init")
        self.solved, self.host_relabels, self.bfs_levels = False, 0, 0
        self.done, self.deadline = 0, Deadline(self.seconds)
        for launch in self.launches.values():
            launch.reset()
        self.launches["restore"]()
        if "control" in self.arrays:
            size = self.arrays["control"].size
            device.overwrite(self.arrays["control"], np.zeros(size, np.int32))

    def count_operations(self) -> int:
        """Read the pushes and relabels so far into `done`.

        Raises
        ------
        GivenUpError
            If they are more than the bound.
        """
        self.done = int(device.to_host(self.arrays["tally"]).sum())
        if self.done > self.prepared.operations:
            raise GivenUpError(f"{self.done} operations, the bound is {self.prepared.operations}")
        return self.done

    def check_time(self, left: str) -> None:
        """Give up if the time is over; the first launch is always waited for.

        Parameters
        ----------
        left : str
            How far the run has come, for the message.

        Raises
        ------
        GivenUpError
        """
        if self.done:
            self.deadline.check(f"{self.done} operations: {left}")

    def progress(self, otherwise: bool = False) -> None:
        """Count operations, and demand that there are more than before.

        Parameters
        ----------
        otherwise : bool
            Whether something else has changed, so that no operation is needed.

        Raises
        ------
        GivenUpError
            As `count_operations`.
        RuntimeError
            If nothing has moved.
        """
        before = self.done
        if self.count_operations() == before and not otherwise:
            raise RuntimeError(f"nothing moves after {before} operations, and excess is left")

    def at_terminals(self) -> int:
        """e(s) + e(t)."""
        return int(device.to_host(self.arrays["excess"][self.prepared.n :]).sum())
