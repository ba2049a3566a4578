"""The state of a maximum flow on the device: arrays, launches, counters, limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from papers.common.deadline import Deadline
from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.common.model import GivenUpError
from papers.lupinska_costscale.flow import bounds
from papers.lupinska_costscale.flow.kernels.lock_free import PUSHES, RELABELS
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
    pushes, relabels : int
        Those that the host has been told of.
    arrived : int
        Units at the terminals that the host has been told of.
    deadline : Deadline
        The time limit of the run that goes on.
    stretch : Stretch
        The rounds since the last relabel.
    of_a_round : int
        Pushes of an active node in a round, at least: see `flow.bounds`.
    top : int or None
        The height from which on no node is active; None: there is none.
    rounds : int
        Rounds of a launch, at most; of `gpu_relabel` alone more than one.
    m, patience, redraw_every : int
        Options of the blocking version.
    cut_only : bool
        Whether `download` brings the cut alone.
    again : dict of str to device array
        The arrays of the launch that sends stranded excess back; of `gpu_relabel` alone.
    bits : uint8[bytes] or None
        The source's side, a bit a node, once it was read off the last search.
    value : int
        The units at the sink, as of then.
    settled : bool
        Whether stranded excess was sent back since.
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
    pushes: int = 0
    relabels: int = 0
    arrived: int = 0
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    stretch: bounds.Stretch = field(default_factory=bounds.Stretch)
    of_a_round: int = bounds.ALL
    top: int | None = None
    rounds: int = 1
    m: int = 1
    patience: int = 1
    redraw_every: int = 0
    cut_only: bool = False
    again: dict[str, Any] = field(default_factory=dict)
    bits: np.ndarray | None = None
    value: int = 0
    settled: bool = False
    solved: bool = False

    def begin(self, mark: Callable[[str], None]) -> None:
        """Restore the start, on the device and of the counters."""
        mark("init")
        self.solved, self.host_relabels, self.bfs_levels = False, 0, 0
        self.bits, self.settled = None, False
        self.pushes = self.relabels = self.arrived = 0
        self.deadline = Deadline(self.seconds)
        self.stretch = bounds.Stretch()
        for launch in self.launches.values():
            launch.reset()
        self.launches["restore"]()
        if "control" in self.arrays:
            device.clear(self.arrays["control"])

    @property
    def done(self) -> int:
        """Pushes and relabels that the host has been told of."""
        return self.pushes + self.relabels

    @property
    def reached(self) -> dict[str, int]:
        """Return the counts that a run has reached when it gives up."""
        return {"pushes": self.pushes, "relabels": self.relabels, "arrived": self.arrived}

    def count_operations(self, rounds: int = 1) -> int:
        """Read the pushes and relabels so far.

        Parameters
        ----------
        rounds : int
            Rounds of the kernels since the last call, as `flow.bounds` counts them; 0 after the
            last one, when nothing has to move any more.

        Returns
        -------
        int
            `done`.

        Raises
        ------
        GivenUpError
            If there are more than the caller's bound on operations, or than the bounds of
            `flow.bounds`.
        """
        before, tally = (self.relabels, self.pushes), device.to_host(self.arrays["tally"])
        self.pushes, self.relabels = int(tally[PUSHES]), int(tally[RELABELS])
        operations, most = self.prepared.operations, bounds.most_relabels(self.prepared.nodes)
        if operations is not None and self.done > operations:
            self._give_up(f"{self.done} operations, the bound is {operations}")
        if self.relabels > most:
            self._give_up(f"{self.relabels} relabels, the bound is {most}")
        if self.relabels > before[0] or self.pushes == before[1]:
            self.stretch.ends()
        elif rounds and self.stretch.goes_on(rounds) and self._stands_still():
            self._give_up(f"{self.stretch.rounds:.0f} rounds and no relabel in a row")
        return self.done

    def _give_up(self, message: str) -> NoReturn:
        raise GivenUpError(f"{message}; {self.pushes} pushes so far", reached=self.reached)

    def _stands_still(self) -> bool:
        """Whether there were more rounds without a relabel than `flow.bounds` allows."""
        height, top = device.to_host(self.arrays["height"]), self.top
        below = height if top is None else height[height < top]
        degree = bounds.largest_degree(self.prepared.parts.arcs)
        return self.stretch.too_long(height, int(below.max(initial=0)), degree, self.of_a_round)

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
            self.deadline.check(f"{self.done} operations: {left}", reached=self.reached)

    def progress(self, otherwise: bool = False, rounds: int = 1) -> None:
        """Count operations, and demand that there are more than before.

        Parameters
        ----------
        otherwise : bool
            Whether something else has changed, so that no operation is needed.
        rounds : int
            See `count_operations`.

        Raises
        ------
        GivenUpError
            As `count_operations`.
        RuntimeError
            If nothing has moved.
        """
        before = self.done
        if self.count_operations(rounds) == before and not otherwise:
            raise RuntimeError(f"nothing moves after {before} operations, and excess is left")

    def at_terminals(self) -> int:
        """e(s) + e(t)."""
        self.arrived = int(device.to_host(self.arrays["excess"][self.prepared.n :]).sum())
        return self.arrived
