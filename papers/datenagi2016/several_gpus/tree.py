"""The alternating tree variant on strips of columns [DN16 sec.5] (4b): all ranks search."""

from __future__ import annotations

import numpy as np

from papers.common.gpu import device
from papers.datenagi2016.kernels import shared
from papers.datenagi2016.several_gpus import exchange as exchanges
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange import Exchange
from papers.datenagi2016.several_gpus.launches import Workspace, bind_root
from papers.datenagi2016.several_gpus.variant import Variant


class Tree(Variant):
    """Each rank expands the frontier over its columns; the exchange contracts it."""

    by_rows = False

    def __init__(
        self, work: Workspace, collectives: Collectives, exchange: Exchange, whole: bool
    ) -> None:
        super().__init__(work, collectives, exchange, whole)
        a, one_block = work.arrays, (1, work.shapes.reduction_threads)
        work.bind(shared.minimum, one_block, n=work.scalars["columns"], values=a["slack"])
        work.bind(shared.dual_update, work.both_sides)
        if work.is_root:
            bind_root(work, flags=a["root_flags"], **work.gathered_trees)
        self._nothing = np.full(work.strip.ranks * work.strip.block, -1, np.int32)

    @staticmethod
    def make_exchange(collectives: Collectives, block: int, asked: str) -> tuple[Exchange, str]:
        """The way that is asked for, by default the fastest that the machine has."""
        way, reason = exchanges.choose(collectives.comm, asked)
        return exchanges.make(way, collectives, block), reason

    def initial_reduction(self) -> None:
        """The root takes the least of the rows' minima; the columns' are whole."""
        a, of = self._a, self._of
        self._go["init"]()
        self._go["row_reduction"]()
        of.gather(a["minima"], a["gathered"])
        if of.is_root:
            self._go["least_of_parts"]()
            device.overwrite(a["whole_assignment"], self._nothing)
        of.broadcast(a["row_dual"])
        self._go["column_reduction"]()

    def forward_pass(self, updated: bool) -> tuple[bool, bool]:
        """All ranks' in step [DN16 sec.5] (4b); see `Variant.forward_pass`."""
        found = self._exchange.forward_pass("woken_rows" if updated else "first_rows")
        # With neither a row nor a free column reached, the same would repeat for ever.
        return found.path_found, updated and found.rows == 0 and not found.path_found

    def local_minimum(self) -> None:
        """Over the slacks of this rank's columns."""
        self._go["minimum"]()

    def update_duals(self) -> None:
        """All rows, and this rank's columns [DN16 Alg.9]."""
        self._go["dual_update"]()

    def column_duals(self) -> np.ndarray:
        """A column's dual stays with its rank until here."""
        self._of.gather(self._a["column_dual"], self._a["whole_dual"])
        self._of.broadcast(self._a["whole_dual"])
        return self._whole("whole_dual")
