"""The steps of [DN16 sec.5] that differ between the two variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from papers.common.gpu import device
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange import Exchange
from papers.datenagi2016.several_gpus.launches import Workspace, bind_initial_reduction

Mark = Callable[[str], None]


class Variant:
    """One rank's part in the steps of a variant; every method is collective.

    Parameters
    ----------
    work : Workspace
    collectives : Collectives
    exchange : Exchange
    whole : bool
        Whether the costs are integers, in whatever type they are kept.

    Attributes
    ----------
    by_rows : bool
        Whether the ranks split the rows of the matrix, or its columns [DN16 sec.5] (1).
    patience : int
        Dual updates in a row that may reach nothing new.
    """

    by_rows: ClassVar[bool]

    def __init__(
        self, work: Workspace, collectives: Collectives, exchange: Exchange, whole: bool
    ) -> None:
        self.patience = 0
        self._of, self._exchange, self._strip = collectives, exchange, work.strip
        self._a, self._go = work.arrays, work.launches
        bind_initial_reduction(work)
        exchange.bind(work)

    @staticmethod
    def make_exchange(collectives: Collectives, block: int, asked: str) -> tuple[Exchange, str]:
        """Return the exchange of a variant, and why it is not a faster one; collective."""
        raise NotImplementedError

    def forget(self) -> None:
        """Count anew."""

    def initial_reduction(self) -> None:
        """Partial row and column duals, gathered and broadcast [DN16 sec.5] (2)."""
        raise NotImplementedError

    def compress(self, mark: Mark) -> None:
        """List the zero-slack edges, if the variant needs a list [DN16 sec.5] (4a)."""

    def forward_pass(self, updated: bool) -> tuple[bool, bool]:
        """Search from all active rows at once [DN16 sec.5] (4).

        Parameters
        ----------
        updated : bool
            Whether a dual update came before it, in the same search.

        Returns
        -------
        path_found, stuck : bool
            The same on every rank; stuck: the update brought nothing new.
        """
        raise NotImplementedError

    def local_minimum(self) -> None:
        """Find the smallest positive slack of this rank's strip [DN16 sec.5] (5)."""
        raise NotImplementedError

    def update_duals(self) -> None:
        """Move the duals by half of theta [DN16 sec.5] (5)."""
        raise NotImplementedError

    def column_duals(self) -> np.ndarray:
        """The duals of all columns, in half units, on every rank."""
        raise NotImplementedError

    def counters(self) -> dict[str, int]:
        """Levels and rows of the last run's searches."""
        return self._exchange.counters()

    def _whole(self, name: str) -> np.ndarray:
        found: Any = device.to_host(self._a[name])
        return found[: self._strip.n]
