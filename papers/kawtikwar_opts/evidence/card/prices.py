"""The prices of a card and its host, and the times that they make of the work of a run.

Print's machine and ours pay for the same things (`work`): a launch with its wait, a search of step
4, a byte, a turn of the minimum, a zero. `printed` has print's prices, `measured` a record's; none
comes from a figure that it is to explain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from papers.kawtikwar_opts.evidence.card import work as w
from papers.kawtikwar_opts.evidence.card.work import Work
from papers.kawtikwar_opts.evidence.codes import HOST_LOOP

BAND = 1.5
"""The model may miss by this factor, up or down, and so may two measurements of a price."""

SMALL_N, HELD_N, PROFILED_N = 256, 1024, 4096
"""Sizes at which prices are taken: of a launch once more, of Opt 4's barrier, of Figures 2 to 5."""


@dataclass(frozen=True)
class Prices:
    """Prices in microseconds.

    Attributes
    ----------
    multiprocessors : int
    launch, empty : float
        A launch with its wait in a run, and an empty one by the clock of the kernels.
    search : float
        A run of step 4 beyond its launch; print's launch holds it already.
    sweep : float
        A run of step 4 in one launch, with its barriers.
    turn, barrier, held : float
        A turn of the minimum, a barrier of the grid, a barrier of a block a turn in Opt 4.
    megabyte : mapping of str to float
        By version.
    zero : mapping of int to float
        An addition to the counter of all zeros, by n.
    """

    multiprocessors: int
    launch: float
    empty: float
    search: float
    sweep: float
    turn: float
    barrier: float
    held: float
    megabyte: Mapping[str, float]
    zero: Mapping[int, float]

    def pass_us(self, n: int, kernel: str, version: str) -> float:
        """Return the time of a kernel's pass of its own: the minimum by turns, others by bytes."""
        if kernel == w.MINIMUM:
            return w.turns(n, w.REDUCTION) * self.turn
        return w.megabytes(n, kernel) * self.megabyte[version]

    def phase_us(self, n: int, kernel: str, version: str) -> float:
        """Return the time of a pass within one launch: by turns or by bytes, whichever is longer.

        Little's law: as many entries are under way as there are threads.
        """
        turns = w.turns(n, self.multiprocessors * w.THREADS)
        return max(turns * self.turn, w.megabytes(n, kernel) * self.megabyte[version])

    def update_us(self, n: int, version: str) -> float:
        """Return the time of a dual update in one launch, the search left out."""
        phases = sum(self.phase_us(n, k, version) for k in (w.MINIMUM, *w.PASSES[version]))
        turns = w.turns(n, self.multiprocessors * w.THREADS) if version == "opt4" else 0
        held = turns * self.held if turns else 0.0
        return phases + w.BARRIERS_AN_UPDATE * self.barrier + held

    def run_ms(self, work: Work, version: str) -> float:
        """Return the time of a run."""
        n, _, searches, begun, updates = work
        if version not in HOST_LOOP:
            paths = begun * w.BARRIERS_A_PATH * self.barrier
            return 1e-3 * (searches * self.sweep + updates * self.update_us(n, version) + paths)
        passes = sum(self.pass_us(n, k, version) for k in (w.MINIMUM, *w.PASSES[version]))
        zeros = w.stars(work) + (updates + 1) * n * (version == "baseline")
        us = work.launches * self.launch + searches * self.search + updates * passes
        return 1e-3 * (us + zeros * self.zero[n])

    def kernel_ms(self, work: Work, version: str, kernel: str) -> float:
        """Return the device time of a kernel of Figures 2 to 4, by the clock of the kernels."""
        n, updates, zero = work.n, work.updates, self.zero[work.n]
        if kernel == "others":
            us = w.others(work, version) * self.empty + work.searches * self.search
            return 1e-3 * (us + w.stars(work) * zero)
        each = self.pass_us(n, kernel, version) + self.empty
        counted = n * zero * ((version, kernel) == ("baseline", "compress_matrix"))
        return 1e-3 * updates * (each + counted)
