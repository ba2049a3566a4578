"""Several ranks in one process, which a seed interleaves, on one weak memory.

Real ranks are processes, and the system interleaves them. Here each is a greenlet with an executor
of its own. A rank that looks in vain for another's word (`papers.common.gpu.memory_order.pause`)
or that has stored into another's memory may let another go on. Stores by address reach another
rank's arrays as late as the memory model allows.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from functools import partial

from greenlet import getcurrent, greenlet

from papers.common.executor.scheduler import Executor
from papers.common.executor.weak_memory import WeakMemory


class AbandonedError(RuntimeError):
    """Another rank has failed, so that this one cannot go on."""


class Ranks:
    """Ranks that share a weak memory.

    Parameters
    ----------
    seed : int
        Fixes the interleaving of the ranks and of each one's threads.
    count : int
    memory : WeakMemory
    switch : float
        As in `Executor`.

    Attributes
    ----------
    executors : list of Executor
        By rank.
    """

    def __init__(self, seed: int, count: int, memory: WeakMemory, switch: float = 0.1) -> None:
        self.memory, self._random = memory, random.Random(f"ranks {seed}")
        self.executors = [
            Executor(count * seed + rank, switch, memory=memory, rank=rank) for rank in range(count)
        ]
        for rank, executor in enumerate(self.executors):
            executor.let_others_run(partial(self._leave, rank))
        self._places: dict[int, greenlet] = {}

    def run(self, work: Callable[[int], object]) -> None:
        """Call ``work(rank)`` for all ranks at once, and return when all have returned.

        Raises
        ------
        Exception
            Whatever the first of them raised.
        """
        self._hub = getcurrent()
        homes = {rank: greenlet(partial(work, rank)) for rank in range(len(self.executors))}
        self._places = dict(homes)
        try:
            while self._places:
                rank = self._random.choice(sorted(self._places))
                self._places[rank].switch()
                if homes[rank].dead:
                    del self._places[rank]
        finally:
            self._abandon(homes)

    def _leave(self, rank: int) -> None:
        """Let another rank go on; this one will where the running greenlet stands."""
        self._places[rank] = getcurrent()
        self._hub.switch()

    def _abandon(self, homes: dict[int, greenlet]) -> None:
        """Unwind the ranks that are left, because one has failed."""
        for rank, home in homes.items():
            if not home.dead:
                with contextlib.suppress(AbandonedError):
                    self._places[rank].throw(AbandonedError(f"rank {rank}"))
