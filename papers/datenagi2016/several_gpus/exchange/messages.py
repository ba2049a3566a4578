"""A search whose levels are launches, each with a message of this rank's new rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.model import GivenUpError
from papers.common.mpi import ranks
from papers.datenagi2016.kernels.arguments import Messages
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange.base import Exchange, Level
from papers.datenagi2016.several_gpus.kernels import tree
from papers.datenagi2016.several_gpus.launches import Workspace
from papers.datenagi2016.several_gpus.strip import Strip


@dataclass(frozen=True)
class Buffers:
    """Device ends of the messages: a level's kernel writes one and reads the others.

    Attributes
    ----------
    message : device int32[HEADER + block]
        This rank's. It has room for `block` rows: a column adds at most one row to a message, and
        a rank sends at most `block` of the first frontier's rows.
    messages : device int32[parts * stride]
    parts, stride : int
    """

    message: Any
    messages: Any
    parts: int
    stride: int


def active_rows(strip: Strip) -> dict[str, tuple[int, int]]:
    """The rows that a rank looks at to begin a search: its share, or all that it may have woken."""
    return {"first_rows": strip.bounds, "woken_rows": (0, strip.n)}


class MessageExchange(Exchange):
    """Messages of rows, level by level.

    Attributes
    ----------
    buffers : Buffers
    tells : tuple of int
        What the host hears of the launch that begins a search, and of a level's.
    """

    buffers: Buffers
    tells = (tree.NOTHING, tree.WHAT_CAME)

    def __init__(self, collectives: Collectives, ahead: int = 1) -> None:
        super().__init__(collectives, ahead)
        self._most = 0

    def bind(self, work: Workspace) -> None:
        """Bind a level, the launches that begin a search, and those that gather its trees."""
        super().bind(work)
        self._most = work.strip.n + 2  # every level but the first and the last covers a column
        signal, buffers = self.mailbox.device_word, self.buffers
        for name, (first, last) in active_rows(work.strip).items():
            work.bind(
                tree.send_rows, work.warps_over(first, last), name, first=np.int32(first),
                last=np.int32(last), tell=np.int32(self.tells[0]), signal=signal,
                message=buffers.message,
            )  # fmt: skip
        shapes = work.shapes
        work.bind(
            tree.search_level, (shapes.search_blocks, shapes.search_threads), "level",
            parts=np.int32(buffers.parts), stride=np.int32(buffers.stride),
            messages=Messages(buffers.messages, buffers.message), tell=np.int32(self.tells[1]),
            signal=signal,
        )  # fmt: skip
        work.bind(tree.predecessors_of_trees, work.both_sides)
        if work.is_root:
            flags, grid = work.arrays["root_flags"], work.warps_over(0, work.strip.n)
            work.bind(tree.free_columns, grid, flags=flags, **work.gathered_trees)

    def forward_pass(self, rows: str) -> Level:
        """As `Exchange.forward_pass`, a launch and an exchange a level.

        Raises
        ------
        GivenUpError
            On every rank, for more levels than there are columns to cover.
        """
        found: list[Level] = []
        for level in self._levels(self.launches[rows], self.launches["level"]):
            found.append(level)
            if len(found) > self._most:
                raise ranks.agreed(GivenUpError(f"a search has gone on for {self._most} levels"))
        self.levels += len(found) - 1
        self.frontier_rows += sum(level.rows for level in found)
        return Level(sum(level.rows for level in found[1:]), found[-1].path_found)

    def trees(self) -> None:
        """Gather the partial predecessors; the root finds the free columns [DN16 sec.5]."""
        self.launches["predecessors_of_trees"]()
        self._gather(self.arrays["sent"], self.arrays["whole_predecessor"])
        if self._of.is_root:
            self.launches["free_columns"]()

    def _levels(self, rows: Any, level: Any) -> Iterator[Level]:
        """Go through a search: yield the rows that each exchange brings, until one brings none."""
        raise NotImplementedError

    def _gather(self, part: Any, whole: Any) -> None:
        """Bring the ranks' parts to the root."""
        raise NotImplementedError
