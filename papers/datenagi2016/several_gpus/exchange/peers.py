"""The kernels exchange by themselves, through memory that all ranks of a host can write.

Past the paper: one launch a pass goes through all levels (`several_gpus.kernels.peers`), and the
host hears of the last one only. The steps between two searches go the same way
(`several_gpus.kernels.peers_root`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, resident_blocks
from papers.common.model import GivenUpError
from papers.common.mpi import ranks, windows
from papers.datenagi2016.kernels.shared import LEVELS
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange.base import Exchange, Level, level_of
from papers.datenagi2016.several_gpus.exchange.messages import active_rows
from papers.datenagi2016.several_gpus.kernels import peers, peers_root, window
from papers.datenagi2016.several_gpus.kernels.strips import EXCHANGES, GIVEN_UP, ROWS
from papers.datenagi2016.several_gpus.launches import Workspace

LOOKS_A_SECOND = 2_000_000
"""Looks of a kernel at a word of its own GPU's memory, about."""

SHARE_OF_PATIENCE = 0.1
"""A kernel waits for another rank's kernel, not for its host: a tenth of the watch's limit."""


def most_looks() -> int:
    """Return after how many looks at a word a kernel gives up its wait."""
    seconds = SHARE_OF_PATIENCE * ranks.the_watch().limit_s
    return int(min(max(seconds * LOOKS_A_SECOND, 1000), 2**31 - 1))


class PeerExchange(Exchange):
    """No exchange of the hosts': the ranks' kernels write into each other's windows.

    Parameters
    ----------
    collectives : Collectives
    block : int
        Columns a rank, at most.

    Raises
    ------
    MissingPackageError
        On every rank, if one rank's memory cannot be mapped by another.
    """

    of_way: ClassVar[dict[str, int]] = {"by_nccl": 0, "by_peers": 1}

    def __init__(self, collectives: Collectives, block: int) -> None:
        super().__init__(collectives)
        size = collectives.size
        ranks.beside(collectives.comm)  # made here, where all ranks are in step
        self._window = windows.window(collectives.comm, window.words_of.py_func(size, block))
        self._block = block
        self._thetas = self._assignments = self._n = 0
        self._common: dict[str, Any] = {}

    def bind(self, work: Workspace) -> None:
        """Bind the search and the steps between two searches, and cut the window for them."""
        size, block, shapes = self._of.size, self._block, work.shapes
        words = self._window.words
        lists = window.lists_at.py_func(size)
        trees = window.trees_at.py_func(size, block)
        assignment = window.assignment_at.py_func(size, block)
        a, ends = work.arrays, window.words_of.py_func(size, block)
        common = {
            "stride": np.int32(block), "patience": np.int32(most_looks()),
            "addresses": self._window.addresses, "words": words[: 2 * size],
            "thetas": words[window.thetas_at.py_func(size) : lists], "lists": words[lists:trees],
            "trees": words[trees:assignment], "assignment": words[assignment:ends],
            "signal": self.mailbox.device_word,
        }  # fmt: skip
        self._common, self._n = common, work.strip.n
        super().bind(work)
        for name, (first, last) in active_rows(work.strip).items():
            rows = {"first_row": np.int32(first), "last_row": np.int32(last), **common}
            arguments = work.arguments(peers.forward_pass, **rows)
            resident = resident_blocks(peers.forward_pass, arguments, shapes.search_threads)
            grid = min(resident, shapes.search_blocks), shapes.search_threads
            work.bind(peers.forward_pass, grid, name, **rows)
        wide = a["theta"].dtype.itemsize == 8  # bits that compare as the thetas do
        theta = a["theta"].view(np.int64) if wide else a["theta"]
        work.bind(peers.share_theta, (1, peers.MOST_RANKS), theta=theta, **common)
        work.bind(peers_root.send_trees, work.both_sides, **common)
        if work.is_root:
            grid = work.warps_over(0, work.strip.n)
            work.bind(peers_root.free_columns, grid, **work.gathered_trees, **common)
            work.bind(peers_root.send_assignment, work.both_sides, **common)
        grid = (128, 256) if device.describe().is_gpu else (1, 32)
        work.bind(peers_root.clear, grid, words=words[:ends])

    _bind_check = Exchange._bind_check_of_all
    matches = Exchange._matches_of_all

    def _bind_assignment(self, work: Workspace) -> None:
        work.bind(peers_root.take_assignment, work.both_sides, **self._common)

    def forward_pass(self, rows: str) -> Level:
        """As `Exchange.forward_pass`, in one launch."""
        return level_of(self._told("a forward pass of all ranks", self.launches[rows]))

    def trees(self) -> None:
        """Send the predecessors to the root, which finds the free columns."""
        self.launches["send_trees"]()
        if self._of.is_root:
            with self.waiting("a reverse pass of all ranks"):
                self.launches["free_columns"]()

    def assignment(self) -> None:
        """Send the root's assignment to all."""
        self._assignments += 1
        if self._of.is_root:
            self.launches["send_assignment"]()
        with self.waiting("an assignment of the root's"):
            self.launches["take_assignment"]()

    def theta(self) -> None:
        """Take the least of the ranks' thetas."""
        self._thetas += 1
        with self.waiting("a theta of all ranks"):
            self.launches["share_theta"]()

    def _told(self, what: str, launch: Launch | None = None) -> int:
        """As `Exchange._told`.

        Raises
        ------
        GivenUpError
            On every rank, if a kernel has waited in vain for another rank's word.
        """
        word = super()._told(what, launch)
        if word == GIVEN_UP:
            looks = f"looked {most_looks()} times for the word of another rank's kernel"
            ranks.give_up(self._of.comm, GivenUpError(f"{what}: a kernel has {looks} in vain"))
        return word

    def forget(self) -> None:
        """Count signals and exchanges anew, and clear the window; collective.

        Other states of these ranks may have used it, and a run that was broken off may still have
        written into it: so all ranks' kernels have ended before it is cleared.
        """
        super().forget()
        self._thetas = self._assignments = 0
        ranks.barrier(self._of.comm)
        self.launches["clear"]()
        device.synchronize()
        ranks.barrier(self._of.comm)

    def counters(self) -> dict[str, int]:
        """Levels and rows as the kernels have counted them."""
        flags = device.to_host(self.arrays["flags"])
        return {"bfs_levels": int(flags[LEVELS]), "frontier_rows": int(flags[ROWS])}

    def bytes(self) -> dict[str, int]:
        """As `Exchange.bytes`; an exchange's bytes are those that came into the root's window."""
        flags = device.to_host(self.arrays["flags"])
        exchanges = int(flags[EXCHANGES])
        words = self._of.size * (exchanges + self._thetas)  # a word each, and a theta
        words += int(flags[ROWS]) + 2 * self._n * self._assignments  # rows; trees, assignments
        of_kernels = {"exchange_calls": exchanges, "exchange_bytes": 8 * words}
        return super().bytes() | of_kernels
