"""The exchange by the paper's own collectives; the other ways replace some of its methods."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.common.gpu.signals import Mailbox
from papers.datenagi2016.kernels import shared
from papers.datenagi2016.kernels.arguments import Scope
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.kernels import strips
from papers.datenagi2016.several_gpus.launches import Workspace


class Level(NamedTuple):
    """Rows that one exchange brought, or a whole pass reached; the same on every rank."""

    rows: int
    path_found: bool


def level_of(word: int) -> Level:
    """Unpack the word that `several_gpus.kernels.tree.rows_and_path` packs."""
    return Level(word & ((1 << 33) - 1), bool(word >> 33))


class Exchange:
    """Gather, Reduce and Broadcast by the hosts' MPI [DN16 sec.5]; the classical variant's way.

    Parameters
    ----------
    collectives : Collectives
    ahead : int
        Kernels that may have told something that the host has not heard yet.

    Attributes
    ----------
    mailbox : Mailbox
        The words that the kernels tell the host.
    arrays, launches : dict
        The workspace's that `bind` was given.
    of_way : dict of str to int
        Counters that tell a record which way was taken.
    levels, frontier_rows : int
        Levels of a run's searches, and rows that they expanded.
    """

    of_way: ClassVar[dict[str, int]] = {"by_nccl": 0, "by_peers": 0}

    def __init__(self, collectives: Collectives, ahead: int = 1) -> None:
        self._of = collectives
        self.mailbox = Mailbox(ahead)
        self.arrays: dict[str, Any] = {}
        self.launches: dict[str, Launch] = {}
        self.levels = self.frontier_rows = 0
        self._flags = device.staging(strips.MPI_FLAGS, np.int32)

    # --------------------------------------------------------------------------- launches

    def bind(self, work: Workspace) -> None:
        """Bind the launches that belong to the exchange."""
        self.arrays, self.launches = work.arrays, work.launches
        self._bind_check(work)
        self._bind_assignment(work)

    def _bind_check(self, work: Workspace) -> None:
        first, last = work.strip.bounds
        scope = Scope(np.int32(first), np.int32(last - first))
        work.bind(shared.optimality_check, work.both_sides, scope=scope)

    def _bind_assignment(self, work: Workspace) -> None:
        work.bind(strips.accept_assignment, work.both_sides)

    def _bind_check_of_all(self, work: Workspace) -> None:
        work.bind(
            strips.optimality_check_of_all, work.both_sides, "optimality_check",
            signal=self.mailbox.device_word,
        )  # fmt: skip

    # --------------------------------------------------------------------------- the steps

    def matches(self) -> int:
        """Assigned rows [DN16 sec.5] (3): each rank counts within its scope, Reduce, Broadcast."""
        self.launches["optimality_check"]()
        device.fetch(self.arrays["flags"], self._flags)
        return self._of.total(int(self._flags[shared.MATCHES]))

    def forward_pass(self, rows: str) -> Level:
        """Search from all active rows at once [DN16 sec.5] (4b).

        Parameters
        ----------
        rows : {"first_rows", "woken_rows"}
            The launch that sends this rank's share of the first frontier.

        Returns
        -------
        Level
            Rows reached beyond the first frontier, and whether a free column was.
        """
        raise NotImplementedError

    def trees(self) -> None:
        """Bring all columns' predecessors to the root; they are there where it searches alone."""

    def assignment(self) -> None:
        """Broadcast the root's assignment [DN16 sec.5] (4)."""
        self._of.broadcast(self.arrays["row_assignment"])
        self.launches["accept_assignment"]()

    def theta(self) -> None:
        """Reduce theta to the ranks' least, and Broadcast it [DN16 sec.5] (5)."""
        self._of.least(self.arrays["theta"])

    def _matches_of_all(self) -> int:
        """Assigned rows where every rank counts them all: no host has to tell another."""
        return self._told("an assignment of the root's", self.launches["optimality_check"])

    # --------------------------------------------------------------------------- the host

    def _told(self, what: str, launch: Launch | None = None) -> int:
        """Launch a kernel, if there is one to launch, and wait for the next word of the device."""
        with self.waiting(what):
            if launch is not None:
                launch()  # in the executor it ends with the kernel
            return self.mailbox.wait()

    @contextlib.contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Watch a wait for other ranks, in kernels launched in the block or on the host."""
        if self._of.size == 1:  # it waits for nobody but its device
            yield
            return
        self._of.watch.begins(what)
        try:
            yield
        finally:
            self._of.watch.ends()

    def forget(self) -> None:
        """Count anew; collective where another rank must not begin before."""
        self.levels = self.frontier_rows = 0
        self.mailbox.forget()

    def counters(self) -> dict[str, int]:
        """Levels and rows of the last run's searches."""
        return {"bfs_levels": self.levels, "frontier_rows": self.frontier_rows}

    def bytes(self) -> dict[str, int]:
        """Calls and bytes of the last run's collectives, by ``NAME_calls`` and ``NAME_bytes``."""
        found = {}
        for name, calls in self._of.calls.items():
            found[f"{name}_calls"], found[f"{name}_bytes"] = calls, self._of.bytes[name]
        return found
