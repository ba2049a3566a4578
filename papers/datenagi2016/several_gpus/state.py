"""What one rank of [DN16 sec.5] holds of a problem and of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.common.mpi import ranks
from papers.common.problems import blocks
from papers.datenagi2016 import bands
from papers.datenagi2016.kernels.shared import Flag
from papers.datenagi2016.several_gpus.collectives import Collectives
from papers.datenagi2016.several_gpus.kernels.strips import EXCHANGES, ROWS


@dataclass(frozen=True)
class PartProblem:
    """A problem of which no rank has the whole.

    Attributes
    ----------
    source : Source
        The caller's matrix, by part.
    matrix : device array
        This rank's strip in working form, flat; of at least one element.
    work : dtype
    shift : int or float
        As in `papers.common.problems.assignment.Problem`.
    maximize : bool
    """

    source: blocks.Source
    matrix: Any
    work: np.dtype
    shift: Any
    maximize: bool

    @property
    def size(self) -> int:
        """Order of the matrix."""
        return int(self.source.shape[0])


@dataclass
class State:
    """Everything `several_gpus.solver.run` touches on one rank.

    Attributes
    ----------
    problem : Problem or PartProblem
    comm : mpi4py communicator
    collectives : Collectives
    strip : Strip
    exchange : HostExchange, NcclExchange, LoneExchange or PeerExchange, or None
        Of the tree variant.
    reason : str
        Why the exchange is not NCCL's, if that was wanted.
    gpus : int
        Different GPUs that the ranks have; 0 in the executor.
    matches, passes, levels, augmentations, frontier_rows : int
        Counted alike on every rank; the classical variant's levels are the root's. Kernels that
        exchange by themselves count levels and rows.
    flags, row_edges, edges, words : host arrays
        What a step reads from the device or from another rank: `Flag` and beyond, edges of each
        row of the strip, edges of each rank, a small message.
    """

    problem: Any
    variant: str
    n: int
    comm: Any
    collectives: Collectives
    whole: bool = True
    solved: bool = False
    strip: Any = None
    shapes: Any = None
    exchange: Any = None
    reason: str = ""
    mailbox: Any = None
    arrays: dict[str, Any] = field(default_factory=dict)
    launches: dict[str, Launch] = field(default_factory=dict)
    matches: int = 0
    passes: int = 0
    levels: int = 0
    augmentations: int = 0
    frontier_rows: int = 0
    matches_at_update: list[int] = field(default_factory=list)
    matches_at_pass: list[int] = field(default_factory=list)
    state_bytes: int = 0
    gpus: int = 0
    flags: Any = None
    row_edges: Any = None
    edges: Any = None
    words: Any = None
    nothing: Any = None

    @property
    def by_peers(self) -> bool:
        """Whether the ranks' kernels write into each other's memory."""
        return getattr(self.exchange, "name", "") == "peers"

    @property
    def by_device(self) -> bool:
        """Whether the ranks exchange without their hosts."""
        return self.exchange is not None and not self.exchange.by_host

    def forget(self) -> None:
        """Start counting anew."""
        self.solved = False
        self.matches = self.passes = self.levels = self.augmentations = 0
        self.frontier_rows = 0
        self.matches_at_update.clear()
        self.matches_at_pass.clear()
        self.collectives.forget()
        if self.mailbox is not None:
            self.mailbox.forget()
        if self.exchange is not None:
            self.exchange.forget()
        for launch in self.launches.values():
            launch.reset()

    def counters(self) -> dict[str, int]:
        """What the root has counted, on every rank; collective."""
        of = self.collectives
        if self.variant == "classical" or self.by_peers:
            flags = device.to_host(self.arrays["flags"])
            self.levels = int(flags[Flag.LEVELS])
            self.frontier_rows = int(flags[ROWS])
        found = {
            "initial_assignments": (*self.matches_at_update, self.n)[0],
            "dual_updates": len(self.matches_at_update),
            "forward_passes": self.passes,
            "bfs_levels": self.levels,
            "frontier_rows": self.frontier_rows,
            "augmentations": self.augmentations,
            "kernel_launches": sum(launch.count for launch in self.launches.values()),
            "state_bytes": self.state_bytes,
            "cost_bytes": int(self.arrays["cost"].nbytes),
            "ranks": of.size,
            "gpus": self.gpus,
            "cuda_aware": int(of.aware),
            "by_nccl": int(getattr(self.exchange, "name", "") == "nccl"),
            "by_peers": int(self.by_peers),
        }
        for name, calls in of.calls.items():
            found[f"{name}_calls"], found[f"{name}_bytes"] = calls, of.bytes[name]
        if self.by_peers:
            found |= self._through_window(int(flags[EXCHANGES]))
        found |= bands.counters(self.matches_at_update, self.matches_at_pass, self.n)
        return ranks.share(self.comm, found)

    def _through_window(self, exchanges: int) -> dict[str, int]:
        """Of peers: exchanges, and bytes that have come into the root's part of the window."""
        words = self.collectives.size * (exchanges + len(self.matches_at_update))
        between = 2 * self.n * self.augmentations
        size = 8 * (words + self.frontier_rows + between)
        return {"exchange_calls": exchanges, "exchange_bytes": size}
