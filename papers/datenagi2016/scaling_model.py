"""A performance model of [DN16 sec.5]: what a run costs on more GPUs than are at hand.

Every phase of a run is a sum of a few counted things, each with a price that is measured:

=================  ===================================  ==============================
what               how often                            its price
=================  ===================================  ==============================
local bytes        of the strip, read from memory       s a byte (1 / bandwidth)
events             launches and the host's wait         s each
messages           collectives, times log2 p            s a tree's step (latency)
moved bytes        through a collective, p > 1          s a byte
=================  ===================================  ==============================

The counts are the algorithm's own (dual updates, levels, rows that the search expands), measured,
and carried to other n by a power law: no count depends on p but through who wins a race. The
prices are fitted by non-negative least squares of relative errors. The band is what leaving out
one measurement after the other makes of a prediction, widened by what the fit of that phase leaves
over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls

ITEM = 4
"""Bytes of a cost."""

COUNTS = ("dual_updates", "forward_passes", "bfs_levels", "augmentations", "frontier_rows")
PRICES = ("local bytes", "events", "messages", "moved bytes")
RESIDUALS = 2.0
"""How many root mean square residuals the band is widened by."""


@dataclass(frozen=True)
class Observation:
    """One measured run.

    Attributes
    ----------
    n, p : int
        Order and GPUs.
    counts : mapping of str to float
        By `COUNTS`.
    seconds : mapping of str to float
        By phase.
    overall : float
        Seconds of the run without a clock in it.
    """

    n: int
    p: int
    counts: Mapping[str, float]
    seconds: Mapping[str, float]
    overall: float


def quantities(
    variant: str, n: int, p: int, counts: Mapping[str, float]
) -> dict[str, tuple[float, ...]]:
    """How often each of `PRICES` is paid in every phase.

    Parameters
    ----------
    variant : {"classical", "tree"}
    n, p : int
    counts : mapping of str to float
        By `COUNTS`.
    """
    steps = math.log2(p)
    some = 1.0 if p > 1 else 0.0
    strip, line = ITEM * n * n / p, ITEM * n
    updates, passes = counts["dual_updates"], counts["forward_passes"]
    levels, rounds = counts["bfs_levels"], counts["augmentations"]
    shared = {
        "initial_reduction": (2 * strip, 3.0, 4 * steps, some * 4 * line),
        "optimality_check": (0.0, rounds + 1, 2 * (rounds + 1) * steps, 0.0),
    }
    if variant == "tree":
        rows = counts["frontier_rows"]
        search = (ITEM * rows * n / p, levels + rounds, (levels + 2 * rounds) * steps,
                  some * 2 * rounds * line)  # fmt: skip
        update = (0.0, updates, 2 * updates * steps, 0.0)
        return shared | {"ap_search": search, "dual_update": update}
    lists = updates + 1
    search = (0.0, levels + passes + rounds, (3 * passes + rounds) * steps,
              some * (2 * passes + rounds) * line)  # fmt: skip
    return shared | {
        "matrix_compression": (lists * strip, lists, 0.0, 0.0),
        "edge_gather": (0.0, lists, 3 * lists * steps, some * 2 * lists * line),
        "ap_search": search,
        "dual_update": (updates * strip, updates, 2 * updates * steps, 0.0),
    }


def phases(variant: str) -> tuple[str, ...]:
    """Names of a variant's phases."""
    return tuple(quantities(variant, 2, 1, dict.fromkeys(COUNTS, 1.0)))


@dataclass(frozen=True)
class Fit:
    """Prices and counts of one variant on one machine.

    Attributes
    ----------
    prices : dict of str to float64[4]
        Seconds for one of each of `PRICES`, by phase.
    laws : dict of str to (float, float)
        Each count is ``a n**b``.
    share : float
        A run over the sum of its steps, whose clocks wait at every boundary.
    residuals : dict of str to float
        Root mean square of the fitted runs' relative errors, by phase and for ``overall``.
    """

    variant: str
    prices: Mapping[str, np.ndarray]
    laws: Mapping[str, tuple[float, float]]
    share: float
    residuals: Mapping[str, float]

    def counts(self, n: int) -> dict[str, float]:
        """Counts at order `n`, by the power laws."""
        return {name: a * n**b for name, (a, b) in self.laws.items()}

    def seconds(
        self, n: int, p: int, counts: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """Predicted seconds by phase, and ``overall``."""
        often = quantities(self.variant, n, p, counts or self.counts(n))
        found = {name: float(self.prices[name] @ np.array(often[name])) for name in often}
        return found | {"overall": self.share * sum(found.values())}


@dataclass(frozen=True)
class Model:
    """A fit, and what is left of it without each of its measurements."""

    fit: Fit
    others: Sequence[Fit] = field(default_factory=tuple)

    def band(self, step: str, n: int, p: int) -> tuple[float, float, float]:
        """Low, middle and high of a phase's seconds, or of ``overall``."""
        return self._band(step, [each.seconds(n, p)[step] for each in (self.fit, *self.others)])

    def efficiency(
        self, step: str, base: int, n: int, p: int, weak: bool
    ) -> tuple[float, float, float]:
        """Low, middle and high of ``t_1 / t_p`` (weak) or ``t_1 / (p t_p)`` (strong)."""
        scale = 1 if weak else p
        return self._band(
            step,
            [
                each.seconds(base, 1)[step] / (scale * each.seconds(n, p)[step])
                for each in (self.fit, *self.others)
                if each.seconds(n, p)[step] > 0
            ],
        )

    def _band(self, step: str, values: list[float]) -> tuple[float, float, float]:
        if not values:
            return math.nan, math.nan, math.nan
        wide = 1 + RESIDUALS * self.fit.residuals[step]
        return min(values) / wide, values[0], max(values) * wide


def power_law(n: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """``(a, b)`` of ``a n**b`` through positive values; a constant, if there is but one n."""
    pairs = [(x, y) for x, y in zip(n, values, strict=True) if y > 0]
    if not pairs:
        return 0.0, 0.0
    x, y = np.log(np.array(pairs, float)).T
    if len(set(x)) < 2:
        return float(np.exp(y.mean())), 0.0
    slope, at = np.polyfit(x, y, 1)
    return float(np.exp(at)), float(slope)


def fit_once(variant: str, runs: Sequence[Observation]) -> Fit:
    """Fit the prices of all phases to `runs`."""
    sizes = [run.n for run in runs]
    laws = {name: power_law(sizes, [run.counts[name] for run in runs]) for name in COUNTS}
    prices, residuals = {}, {}
    for name in phases(variant):
        often = np.array([quantities(variant, r.n, r.p, r.counts)[name] for r in runs], float)
        seconds = np.array([run.seconds[name] for run in runs], float)
        prices[name] = _prices(often, seconds)
        used = seconds > 0
        residuals[name] = _rms((often @ prices[name])[used] / seconds[used] - 1)
    sums = [
        sum(
            float(prices[name] @ np.array(amount))
            for name, amount in quantities(variant, r.n, r.p, r.counts).items()
        )
        for r in runs
    ]
    ratios = [run.overall / total for run, total in zip(runs, sums, strict=True) if total > 0]
    share = float(np.median(ratios)) if ratios else 1.0
    residuals["overall"] = _rms(np.array(ratios) / share - 1)
    return Fit(variant, prices, laws, share, residuals)


def _rms(errors: np.ndarray) -> float:
    """Root mean square; 0 of none."""
    return float(np.sqrt(np.mean(np.square(errors)))) if len(errors) else 0.0


def _prices(often: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Non-negative prices of least relative error; columns are scaled, as they differ by 1e9."""
    used = seconds > 0
    if not used.any():
        return np.zeros(often.shape[1])
    rows = often[used] / seconds[used, None]
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1.0
    found, _ = nnls(rows / scale, np.ones(len(rows)))
    return found / scale


def fitted(variant: str, runs: Sequence[Observation]) -> Model:
    """Fit the model, and once without each run.

    Raises
    ------
    ValueError
        For fewer than four runs: that many prices has a phase.
    """
    if len(runs) < len(PRICES):
        raise ValueError(f"{len(runs)} runs do not fit {len(PRICES)} prices")
    others = tuple(
        fit_once(variant, [*runs[:k], *runs[k + 1 :]]) for k in range(len(runs))
    ) if len(runs) > len(PRICES) else ()  # fmt: skip
    return Model(fit_once(variant, runs), others)
