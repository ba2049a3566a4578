"""A forward pass as printed: the host launches expansion and contraction, level by level.

[DN16 sec.4.3.1]: after each level the host copies the size of the frontier, and stops at 0. The
tuned pass is one launch (`kernels.classical.forward_pass`, `kernels.tree.forward_pass`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from papers.common.gpu.launch import Launch
from papers.datenagi2016.host import Copies, Signal

FRONTIER = ("frontier_predicate", "frontier_scan", "frontier_scatter")
CONTRACTION = ("contraction", "contraction_scan", "contraction_scatter")


def launch_all(launches: Mapping[str, Launch], *names: str) -> None:
    """Launch in turn those kernels that the configuration has."""
    for name in names:
        if name in launches:
            launches[name]()


@dataclass
class Levels:
    """The forward passes of one run.

    Attributes
    ----------
    launches : mapping of str to Launch
    host : Copies
    n : int
        Rows.
    matches : int
        Rows that the latest optimality check counted.
    updated : bool
        Whether a dual update was made and no forward pass since.
    passes, levels : int
        Forward passes and levels so far.
    """

    launches: Mapping[str, Launch]
    host: Copies
    n: int
    matches: int = 0
    updated: bool = False
    passes: int = 0
    levels: int = 0

    def forward_pass(self) -> Signal:
        """Search from the active rows until no level reaches another.

        Raises
        ------
        RuntimeError
            After more levels than there are rows, which no right kernel needs.
        """
        launches = self.launches
        contraction = CONTRACTION if "contraction" in launches else FRONTIER
        launch_all(launches, "activate", *FRONTIER)
        size, reached = self.host.frontier(), 0
        for _ in range(self.n + 1):  # every level but the last covers a column for good
            if size == 0:
                break
            launch_all(launches, "room", "expansion", *contraction)
            size = self.host.frontier()
            reached += size
            self.levels += 1
        else:
            raise RuntimeError(f"a forward pass has more than {self.n + 1} levels")
        path = self.host.path()
        stuck = self.updated and reached == 0 and not path
        if stuck and "activate" in launches and "room" not in launches:
            stuck = not self.host.reached()  # a row that cannot lead on is in no frontier
        self.updated = False
        self.passes += 1
        return Signal(self.matches, path, stuck)
