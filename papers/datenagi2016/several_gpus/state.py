"""One rank's share of a problem and of a run [DN16 sec.5]."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.deadline import Deadline
from papers.common.gpu.state import DeviceState
from papers.common.model import GivenUpError
from papers.common.mpi import ranks
from papers.common.problems.assignment import Problem
from papers.common.problems.costs_on_device import ResidentProblem
from papers.datenagi2016 import bands
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange import Exchange
from papers.datenagi2016.several_gpus.strip import PartProblem, Strip
from papers.datenagi2016.several_gpus.variant import Variant


@dataclass
class State(DeviceState):
    """Everything that `several_gpus.solver.run` touches on one rank.

    Attributes
    ----------
    problem : Problem, ResidentProblem or PartProblem
    n : int
        Order; an empty problem has neither strip nor variant nor exchange.
    comm : mpi4py communicator
    collectives : Collectives
    whole : bool
        Whether the costs are integers, in whatever type they are kept.
    strip : Strip
    variant : Variant
    exchange : Exchange
        It has the mailbox, too.
    reason : str
        Why the exchange is not a faster one, if the fastest was asked for: a full phrase.
    gpus : int
        Different GPUs that the ranks have; 0 in the executor.
    matches, passes, augmentations : int
        Counted alike on every rank.
    matches_at_update, matches_at_pass : list of int
        As in `papers.datenagi2016.solver.State`.
    seconds : float or None
        Time that a run may take, by the root's clock.
    deadline : Deadline
        The time limit of the run that goes on.
    """

    problem: Problem | ResidentProblem | PartProblem
    n: int
    comm: Any
    collectives: Collectives
    whole: bool = True
    strip: Strip | None = None
    variant: Variant = None  # type: ignore[assignment]
    exchange: Exchange = None  # type: ignore[assignment]
    reason: str = ""
    matches: int = 0
    passes: int = 0
    augmentations: int = 0
    matches_at_update: list[int] = field(default_factory=list)
    matches_at_pass: list[int] = field(default_factory=list)
    state_bytes: int = 0
    gpus: int = 0
    seconds: float | None = None
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    _over: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    @property
    def reached(self) -> dict[str, int]:
        """The counts that a run has reached, the same on every rank."""
        return {"matched": self.matches, "dual_updates": len(self.matches_at_update)}

    def check_time(self) -> None:
        """Give up, all ranks together, if the time is over by the root's clock; collective.

        The root tells the others in a word, which is sent only where the time is limited.

        Raises
        ------
        GivenUpError
            On every rank.
        """
        if self.seconds is None:
            return
        met: GivenUpError | None = None
        if self.collectives.is_root:
            met = self._time_is_over()
            self._over[0] = -1 if met is None else int(1000 * (met.after_ms or 0))
        self.collectives.tell(self._over, 1)
        if self._over[0] >= 0:
            text = f"gave up after {self._over[0] / 1e6:.1f} s and {self.matches} of {self.n} rows"
            raise ranks.agreed(GivenUpError(text, self._over[0] / 1000, self.reached))

    def _time_is_over(self) -> GivenUpError | None:
        try:
            self.deadline.check("")
        except GivenUpError as error:
            return error
        return None

    def forget(self) -> None:
        """Start counting anew; collective."""
        self.solved = False
        self.matches = self.passes = self.augmentations = 0
        self.matches_at_update.clear()
        self.matches_at_pass.clear()
        self.deadline = Deadline(self.seconds)
        self.collectives.forget()
        self.exchange.forget()
        super().forget()  # behind the exchange's, which may launch a kernel

    def counters_of_all(self) -> dict[str, int]:
        """The root's counters, on every rank; collective."""
        found = {
            "initial_assignments": (*self.matches_at_update, self.n)[0],
            "dual_updates": len(self.matches_at_update),
            "forward_passes": self.passes,
            **self.variant.counters(),
            "augmentations": self.augmentations,
            "kernel_launches": sum(launch.count for launch in self.launches.values()),
            "state_bytes": self.state_bytes,
            "cost_bytes": int(self.arrays["cost"].nbytes),
            "ranks": self.collectives.size,
            "gpus": self.gpus,
            "cuda_aware": int(self.collectives.aware),
            **self.exchange.of_way,
            **self.exchange.bytes(),
            **bands.counters(self.matches_at_update, self.matches_at_pass, self.n),
        }
        shared: dict[str, int] = ranks.share(self.comm, found)
        return shared
