"""The classical variant on strips of rows [DN16 sec.5] (4a): the root alone searches."""

from __future__ import annotations

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.kernels_scan import exclusive_scan
from papers.common.mpi import ranks
from papers.datenagi2016.host import decode_signal
from papers.datenagi2016.kernels import classical, shared
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.exchange import Exchange
from papers.datenagi2016.several_gpus.launches import FIRST_EDGES, Workspace, bind_root
from papers.datenagi2016.several_gpus.variant import Mark, Variant
from papers.datenagi2016.solver import PATIENCE

MOST_EDGES = 2**31 - 1
"""Edges that int32 pointers can count."""


class Classical(Variant):
    """Each rank compresses its strip; the edges' lists are gathered at the root, which searches."""

    by_rows = True

    def __init__(
        self, work: Workspace, collectives: Collectives, exchange: Exchange, whole: bool
    ) -> None:
        super().__init__(work, collectives, exchange, whole)
        self.patience = 0 if whole else PATIENCE
        self._work = work
        self._row_edges = device.staging(work.strip.block, np.int32)
        self._edges = np.zeros(work.strip.ranks, np.int64)
        self._words = np.zeros(2, np.int64)
        a, shapes, one_block = work.arrays, work.shapes, (1, work.shapes.reduction_threads)
        scan = 1, shapes.scan_threads
        rows = work.scalars["rows"]
        work.bind(classical.compression_predicate, work.warp_a_row)
        work.bind(exclusive_scan, scan, n=rows, values=a["counts"], sums=a["pointers"])
        work.bind(classical.dual_update_stage_1, work.warp_a_row)
        work.bind(shared.minimum, one_block, n=rows, values=a["slack"])
        work.bind(shared.dual_update_stage_2, work.both_sides)
        bind_root(work)
        self.room_for_edges("adjacency", FIRST_EDGES * max(work.strip.lines, 1))
        if work.is_root:
            counts = {"values": a["whole_counts"], "sums": a["whole_pointers"]}
            work.bind(exclusive_scan, scan, "whole_scan", **counts)
            self.room_for_edges("whole_adjacency", FIRST_EDGES * work.strip.n)

    @staticmethod
    def make_exchange(collectives: Collectives, block: int, asked: str) -> tuple[Exchange, str]:
        """By the paper's collectives, whatever is asked: the ranks exchange no frontier."""
        return Exchange(collectives), ""

    def initial_reduction(self) -> None:
        """Gather and broadcast the rows' minima; the root takes the least of the columns'."""
        a, of = self._a, self._of
        self._go["init"]()
        self._go["row_reduction"]()
        of.gather(a["part_dual"], a["row_dual"])
        of.broadcast(a["row_dual"])
        self._go["column_reduction"]()
        of.gather(a["minima"], a["gathered"])
        if of.is_root:
            self._go["least_of_parts"]()
        of.broadcast(a["column_dual"])

    def compress(self, mark: Mark) -> None:
        """The zero-slack edges of every strip, and their way to the root [DN16 sec.5] (4a)."""
        a, of = self._a, self._of
        mark("matrix_compression")
        mine = 0
        if self._strip.lines:
            self._go["compression_predicate"]()
            device.fetch(a["counts"], self._row_edges)
            mine = int(self._row_edges.sum(dtype=np.int64))  # the scan's int32 might wrap
        counts = self._edges_of_ranks(mine)
        if self._strip.lines:
            self._go["exclusive_scan"]()
            self.room_for_edges("adjacency", mine)
            self._go["compression_scatter"]()
        mark("edge_gather")
        of.gather(a["counts"], a.get("whole_counts"))
        if of.is_root:
            self.room_for_edges("whole_adjacency", sum(counts))
        of.gather_varying(a["adjacency"], counts, a.get("whole_adjacency"))
        if of.is_root:
            self._go["whole_scan"]()

    def _edges_of_ranks(self, mine: int) -> list[int]:
        """Every rank's number of zero-slack edges, on every rank.

        Raises
        ------
        ValueError
            On every rank, if int32 pointers cannot count all of them.
        """
        of = self._of
        self._edges[of.rank] = mine
        of.watch.begins("Allgather of edge counts")
        of.comm.Allgather(self._edges[of.rank : of.rank + 1].copy(), self._edges)
        of.watch.ends()
        counts: list[int] = self._edges.tolist()
        if sum(counts) > MOST_EDGES:
            raise ranks.agreed(
                ValueError(
                    f"{sum(counts)} edges without slack are too many for int32 pointers: at most "
                    f"{MOST_EDGES} (variant='tree' keeps none)"
                )
            )
        return counts

    def room_for_edges(self, name: str, edges: int) -> None:
        """Let an adjacency list hold so many edges; it grows by doubling, and loses its content.

        Parameters
        ----------
        name : {"adjacency", "whole_adjacency"}
            This rank's list, for `compression_scatter`, or the root's, for `forward_pass`. The
            launch that uses it is bound anew.
        edges : int

        Raises
        ------
        ValueError
            For more than `MOST_EDGES`.
        """
        a, go = self._a, self._go
        if name in a and len(a[name]) >= edges:
            return
        if edges > MOST_EDGES:
            raise ValueError(f"{edges} edges without slack are too many for int32 pointers")
        user = {"adjacency": "compression_scatter", "whole_adjacency": "forward_pass"}[name]
        count = go[user].count if user in go else 0
        # The old list is freed before there is a new one: the launch holds it, too.
        go.pop(user, None)
        a.pop(name, None)
        a[name] = device.empty(min(1 << max(edges, 1).bit_length(), MOST_EDGES), np.int32)
        if user == "forward_pass":
            self._work.bind(
                classical.forward_pass, (1, self._work.shapes.search_threads),
                pointers=a["whole_pointers"], adjacency=a["whole_adjacency"],
                signal=self._exchange.mailbox.device_word,
            )  # fmt: skip
        else:
            self._work.bind(classical.compression_scatter, self._work.warp_a_row)
        go[user].count = count

    def forward_pass(self, updated: bool) -> tuple[bool, bool]:
        """The root's alone [DN16 sec.5] (4a); see `Variant.forward_pass`."""
        of, words = self._of, self._words
        if of.is_root:
            self._go["forward_pass"]()
            signal = decode_signal(self._exchange.mailbox.wait())
            words[:] = signal.path_found, signal.stuck
        of.tell(words, 2)
        path_found, stuck = bool(words[0]), bool(words[1])
        if not path_found:  # "otherwise, modified cover arrays are broadcast"
            for name in ("row_cover", "column_cover"):
                of.broadcast(self._a[name])
        return path_found, stuck

    def local_minimum(self) -> None:
        """Over the uncovered entries of the strip [DN16 Alg.7]."""
        if self._strip.lines:
            self._go["dual_update_stage_1"]()
        self._go["minimum"]()

    def update_duals(self) -> None:
        """All duals, on every rank [DN16 Alg.8]."""
        self._go["dual_update_stage_2"]()

    def column_duals(self) -> np.ndarray:
        """Every rank has them."""
        return self._whole("column_dual")

    def counters(self) -> dict[str, int]:
        """The root's kernel has counted the levels."""
        levels = int(device.to_host(self._a["flags"])[shared.LEVELS])
        return super().counters() | {"bfs_levels": levels}
