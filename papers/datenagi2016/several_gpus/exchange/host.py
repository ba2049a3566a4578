"""Messages through the hosts' MPI: as printed, and in one call instead of two.

The kernels write their message into the host's memory, and the list is copied from it. Theta,
predecessors and assignment go by the paper's collectives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange.base import Level
from papers.datenagi2016.several_gpus.exchange.messages import Buffers, MessageExchange
from papers.datenagi2016.several_gpus.kernels import tree
from papers.datenagi2016.several_gpus.kernels.tree import HEADER
from papers.datenagi2016.several_gpus.launches import Workspace

INLINE = 254
"""Rows of a message that the first call carries: one KiB with its header."""

FEW_BLOCKS = 8
"""Blocks that copy a list from the host's memory: each read crosses the bus."""


class HostExchange(MessageExchange):
    """Exchanges through MPI on the host.

    Parameters
    ----------
    collectives : Collectives
    block : int
        Columns a rank, at most.
    """

    tells = (tree.WHAT_GOES, tree.WHAT_GOES)

    def __init__(self, collectives: Collectives, block: int) -> None:
        super().__init__(collectives)
        self._out, out_device = device.mapped(HEADER + max(block, INLINE), np.int32)
        stride = HEADER + collectives.size * block
        self._in, self._in_device = device.mapped(stride, np.int32)
        self.buffers = Buffers(out_device, device.empty(stride, np.int32), 1, stride)
        self._word = HEADER + INLINE
        self._first = self._out[: self._word]
        self._heads = np.empty(collectives.size * self._word, np.int32)

    def bind(self, work: Workspace) -> None:
        """Bind the copy of a list that came, too."""
        super().bind(work)
        grid = (FEW_BLOCKS, 256) if device.describe().is_gpu else (1, 32)
        lists = {"source": self._in_device, "target": self.buffers.messages}
        work.bind(tree.copy_message, grid, "copy_list", **lists)

    def _levels(self, rows: Any, level: Any) -> Iterator[Level]:
        found = self._exchanged(rows)
        yield found
        while found.rows:
            found = self._exchanged(level)
            yield found

    def _exchanged(self, launch: Any) -> Level:
        """Exchange this rank's message, once the kernel has made it."""
        launch()
        self.mailbox.wait()
        level = self._brought()
        self._in[0] = level.rows
        if level.rows:
            self.launches["copy_list"]()
        return level

    def _brought(self) -> Level:
        """Bring all ranks' rows into the list; collective."""
        raise NotImplementedError

    def _gather(self, part: Any, whole: Any) -> None:
        self._of.gather(part, whole)

    def _collect(self, counts: list[int]) -> None:
        """Lay the rows that came with the heads one behind the other."""
        at = HEADER
        for rank, count in enumerate(counts):
            if count:
                start = rank * self._word + HEADER
                self._in[at : at + count] = self._heads[start : start + count]
                at += count


class AllgatherExchange(HostExchange):
    """One Allgather a level. A second one brings the rows where a rank has more than `INLINE`."""

    def _brought(self) -> Level:
        of = self._of
        of.count("exchange", 4 * self._word)
        of.watch.begins("Allgather of a frontier")
        of.comm.Allgather(self._first, self._heads)
        counts = self._heads[:: self._word].tolist()
        total, most = sum(counts), max(counts)
        if most > INLINE:
            of.count("exchange", 4 * counts[of.rank])
            mine = self._out[HEADER : HEADER + counts[of.rank]]
            of.comm.Allgatherv(mine, [self._in[HEADER : HEADER + total], counts])
        elif total:
            self._collect(counts)
        of.watch.ends()
        return Level(total, bool(self._heads[1 :: self._word].any()))


class GatherExchange(HostExchange):
    """As printed: Gather at the root, which makes the list and broadcasts it.

    The list's length is a Broadcast of its own before it, which print does not mention; and a
    second Gather brings the rows that the first one has no room for.
    """

    def _brought(self) -> Level:
        of = self._of
        of.count("gather", 4 * self._word)
        of.watch.begins("Gather of a frontier")
        of.comm.Gather(self._first, self._heads if of.is_root else None)
        counts = self._heads[:: self._word].tolist() if of.is_root else []
        head = np.zeros(3, np.int32)
        if of.is_root:
            head[:] = sum(counts), max(counts) > INLINE, self._heads[1 :: self._word].any()
        of.count("broadcast", head.nbytes)
        of.comm.Bcast(head)
        total = int(head[0])
        if head[1]:
            mine = self._out[HEADER : HEADER + int(self._out[0])]
            of.count("gather", mine.nbytes)
            room = [self._in[HEADER : HEADER + total], counts] if of.is_root else None
            of.comm.Gatherv(mine, room)
        elif of.is_root and total:
            self._collect(counts)
        if total:
            of.count("broadcast", 4 * total)
            of.comm.Bcast(self._in[HEADER : HEADER + total])
        of.watch.ends()
        return Level(total, bool(head[2]))
