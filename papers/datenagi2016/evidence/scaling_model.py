"""A performance model of [DN16 sec.5]: the time of a run on more GPUs than are at hand.

The time of every phase is a sum over a few counted quantities, each with a measured price:

=================  ===================================  ==============================
quantity           count                                price
=================  ===================================  ==============================
local bytes        of the strip, read from memory       s a byte (1 / bandwidth)
events             launches and the host's wait         s each
messages           MPI's collectives, times `Growth`    s each (latency, two ranks)
exchanges          of a level or theta, and of trees    s each (latency, two ranks)
                   and assignment if hosts take no
                   part, times `Growth`
moved bytes        through MPI's collectives, p > 1     s a byte
=================  ===================================  ==============================

The counts are the algorithm's own (dual updates, levels, rows that the search expands). They are
measured, and a power law carries them to other orders; counts depend on p only through races. The
prices of all phases are fitted together, by non-negative least squares of relative errors. Bytes
and events have a price in every phase; the other quantities have one price for all phases, because
they go the same way everywhere. If several ranks exchange in another way than one rank by itself
(through NCCL), the events of phases with exchanges have one price on one rank and another on
several; and if that way was seen on one number of ranks only, the whole time of a level of the
search counts as its exchange.

The band spans the predictions of the fits that leave out one configuration each, widened by the
residual of that phase. The growth of messages with p is that of MPI's collectives on one host where
these were timed (`evidence.message_times`); else, if only one number of ranks above one was
measured, it is unknown, and the band reaches from no growth to p - 1. A band that is wider than
`evidence.scaling_verdicts.WIDEST` says nothing, and fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

ITEM = 4
"""Bytes of a cost."""

COUNTS = ("dual_updates", "forward_passes", "bfs_levels", "augmentations", "frontier_rows")
PRICES = ("local bytes", "events", "messages", "exchanges", "moved bytes")

SEARCH = "ap_search"

FEWEST = 4
"""The least number of configurations (order and number of ranks) that a fit takes."""

GROWTHS: dict[str, Callable[[int], float]] = {
    "log2 p": math.log2,
    "none": lambda p: float(p > 1),
    "p - 1": lambda p: float(p - 1),
}
"""`Growth`, the price of a message on p ranks over one on two; the model takes the first."""

Growth = str | Callable[[int], float]
"""A key of `GROWTHS`, or a function of the ranks."""

RIDGE = 1e-4
"""The weight of the scaled prices themselves beside that of the relative errors."""

RESIDUALS = 2.0
"""The band is widened by so many root mean square residuals."""


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
    way : str
        The way of the ranks' exchange.
    """

    n: int
    p: int
    counts: Mapping[str, float]
    seconds: Mapping[str, float]
    overall: float
    way: str = ""


def quantities(
    variant: str, n: int, p: int, counts: Mapping[str, float], growth: Growth = "log2 p"
) -> dict[str, tuple[float, ...]]:
    """Return how often each of `PRICES` is paid in every phase.

    Parameters
    ----------
    variant : {"classical", "tree", "device"}
        The last is the tree variant whose ranks exchange without their hosts: after the initial
        reduction it sends no message by MPI, and its transfers count as exchanges.
    n, p : int
    counts : mapping of str to float
        By `COUNTS`.
    growth : str or callable(int) -> float
        A key of `GROWTHS`, or a measured one.
    """
    steps = growth(p) if callable(growth) else GROWTHS[growth](p)
    some = 1.0 if p > 1 else 0.0
    strip, line = ITEM * n * n / p, ITEM * n
    updates, passes = counts["dual_updates"], counts["forward_passes"]
    levels, rounds = counts["bfs_levels"], counts["augmentations"]
    shared: dict[str, tuple[float, ...]] = {
        "initial_reduction": (2 * strip, 3.0, 4 * steps, 0.0, some * 4 * line),
        "optimality_check": (0.0, rounds + 1, 2 * (rounds + 1) * steps, 0.0, 0.0),
    }
    if variant == "device":
        met = (levels + passes + 2 * rounds) * steps
        return shared | {
            "optimality_check": (0.0, rounds + 1, 0.0, 0.0, 0.0),
            "ap_search": (ITEM * counts["frontier_rows"] * n / p, levels + rounds, 0.0, met, 0.0),
            "dual_update": (0.0, updates, 0.0, updates * steps, 0.0),
        }
    if variant == "tree":
        rows = counts["frontier_rows"]
        met = (levels + passes) * steps
        search = (ITEM * rows * n / p, levels + rounds, 2 * rounds * steps, met,
                  some * 2 * rounds * line)  # fmt: skip
        update = (0.0, updates, 0.0, updates * steps, 0.0)
        return shared | {"ap_search": search, "dual_update": update}
    lists = updates + 1
    # The root says after every pass whether there is a path; before a dual update it sends covers.
    search = (0.0, levels + passes + rounds, (passes + 2 * updates + rounds) * steps, 0.0,
              some * (2 * updates + rounds) * line)  # fmt: skip
    return shared | {
        "matrix_compression": (lists * strip, lists, 0.0, 0.0, 0.0),
        "edge_gather": (0.0, lists, 2 * lists * steps, 0.0, some * 2 * lists * line),
        "ap_search": search,
        "dual_update": (updates * strip, updates, 2 * updates * steps, 0.0, 0.0),
    }


def gathered(counts: Mapping[str, float]) -> float:
    """Return the messages of the tree variant's frontiers and thetas under ``exchange="gather"``.

    A level, and the look that ends a pass, gather the ranks' numbers of rows and send the sum; a
    level sends its rows, too. A theta is reduced and sent.

    Parameters
    ----------
    counts : mapping of str to float
        By `COUNTS`.
    """
    looks = counts["bfs_levels"] + counts["forward_passes"]
    return 2 * looks + counts["bfs_levels"] + 2 * counts["dual_updates"]


def phases(variant: str) -> tuple[str, ...]:
    """Return the names of a variant's phases."""
    return tuple(quantities(variant, 2, 1, _ONES))


@dataclass(frozen=True)
class Fit:
    """Prices and counts of one variant on one machine.

    Attributes
    ----------
    prices : dict of str to float64[5]
        Seconds for one of each of `PRICES` on several ranks, by phase.
    alone : dict of str to float64[5]
        The same on one rank.
    laws : dict of str to (float, float)
        Each count is ``a n**b``.
    known : dict of int to dict
        Median counts of the orders that were measured; some orders lack some.
    share : float
        Time of a run over the sum of its steps, whose clocks wait at every boundary.
    residuals : dict of str to float
        Root mean square of the fitted runs' relative errors, by phase and for ``overall``.
    growth : str
        A key of `GROWTHS`.
    """

    variant: str
    prices: Mapping[str, np.ndarray]
    alone: Mapping[str, np.ndarray]
    laws: Mapping[str, tuple[float, float]]
    known: Mapping[int, Mapping[str, float]]
    share: float
    residuals: Mapping[str, float]
    growth: Growth = "log2 p"

    def counts(self, n: int) -> Mapping[str, float]:
        """Return the counts at order `n`, each as measured there or by its power law."""
        laws = {name: a * n**b for name, (a, b) in self.laws.items()}
        return laws | dict(self.known.get(n, {}))

    def seconds(
        self, n: int, p: int, counts: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """Return the predicted seconds by phase, and ``overall``."""
        often = quantities(self.variant, n, p, counts or self.counts(n), self.growth)
        prices = self.alone if p == 1 else self.prices
        found = {name: float(prices[name] @ np.array(often[name])) for name in often}
        return found | {"overall": self.share * sum(found.values())}


@dataclass(frozen=True)
class Model:
    """A fit to all measurements, and the fits that leave out one of them each."""

    fit: Fit
    others: Sequence[Fit] = field(default_factory=tuple)

    def band(self, step: str, n: int, p: int) -> tuple[float, float, float]:
        """Return low, middle and high of a phase's seconds, or of ``overall``."""
        return self._band(step, [each.seconds(n, p)[step] for each in (self.fit, *self.others)])

    def efficiency(
        self, step: str, base: int, n: int, p: int, weak: bool
    ) -> tuple[float, float, float]:
        """Return low, middle and high of ``t_1 / t_p`` (weak) or ``t_1 / (p t_p)`` (strong)."""
        scale = 1 if weak else p
        values = []
        for each in (self.fit, *self.others):
            seconds = each.seconds(n, p)[step]
            value = each.seconds(base, 1)[step] / (scale * seconds) if seconds > 0 else math.nan
            values.append(value)
        return self._band(step, values)

    def _band(self, step: str, values: list[float]) -> tuple[float, float, float]:
        known = [value for value in values if not math.isnan(value)]
        if not known:
            return math.nan, math.nan, math.nan
        wide = 1 + RESIDUALS * self.fit.residuals[step]
        return min(known) / wide, values[0], max(known) * wide


def power_law(n: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return ``(a, b)`` of ``a n**b`` through positive values; a constant if there is one n."""
    pairs = [(x, y) for x, y in zip(n, values, strict=True) if y > 0]
    if not pairs:
        return 0.0, 0.0
    x, y = np.log(np.array(pairs, float)).T
    if len(set(x)) < 2:
        return float(np.exp(y.mean())), 0.0
    slope, at = np.polyfit(x, y, 1)
    return float(np.exp(at)), float(slope)


def fit_once(variant: str, runs: Sequence[Observation], growth: Growth = "log2 p") -> Fit:
    """Fit the prices of all phases to `runs`."""
    sizes = [run.n for run in runs]
    laws = {name: power_law(sizes, [run.counts[name] for run in runs]) for name in COUNTS}
    known = {
        n: {
            name: float(np.median([run.counts[name] for run in runs if run.n == n]))
            for name in COUNTS
        }
        for n in set(sizes)
    }
    prices, alone = _prices(variant, runs, growth)
    fit = Fit(variant, prices, alone, laws, known, 1.0, {}, growth)
    found = [fit.seconds(run.n, run.p, run.counts) for run in runs]
    residuals = {
        name: _rms(
            [mine[name] / run.seconds[name] - 1
             for mine, run in zip(found, runs, strict=True) if run.seconds[name] > 0]
        )
        for name in prices
    }  # fmt: skip
    ratios = [
        run.overall / mine["overall"]
        for mine, run in zip(found, runs, strict=True)
        if mine["overall"] > 0
    ]
    share = float(np.median(ratios)) if ratios else 1.0
    residuals["overall"] = _rms([ratio / share - 1 for ratio in ratios])
    return replace(fit, share=share, residuals=residuals)


def _rms(errors: Sequence[float]) -> float:
    """Return the root mean square; 0 if there are no values."""
    return float(np.sqrt(np.mean(np.square(errors)))) if len(errors) else 0.0


def _prices(
    variant: str, runs: Sequence[Observation], growth: Growth
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the non-negative prices of least relative error, on several ranks and on one."""
    numbers = {run.p for run in runs if run.p > 1}
    ways = {run.way for run in runs if run.p > 1}
    other_way = bool(ways) and not ways <= {run.way for run in runs if run.p == 1}
    names = [(name, price) for name in phases(variant) for price in ("local bytes", "events")]
    columns: list[Any] = [*names, "messages", "exchanges", "moved bytes"]
    exchanging = [name for name, row in quantities(variant, 2, 2, _ONES).items() if row[3]]
    columns += [(name, "alone") for name in exchanging if other_way]
    places = {column: place for place, column in enumerate(columns)}

    def entries(name: str, alone: bool) -> list[int | None]:
        events = places[name, "events"]
        found: list[int | None] = [places[name, "local bytes"], events]
        if other_way and name in exchanging:
            apart = None if name == SEARCH and len(numbers) == 1 else events
            found[1] = places[name, "alone"] if alone else apart
        return [*found, places["messages"], places["exchanges"], places["moved bytes"]]

    rows = []
    for run in runs:
        for name, amounts in quantities(variant, run.n, run.p, run.counts, growth).items():
            if run.seconds[name] > 0:
                row = np.zeros(len(columns))
                for place, amount in zip(entries(name, run.p == 1), amounts, strict=True):
                    if place is not None:
                        row[place] = amount / run.seconds[name]
                rows.append(row)
    system = np.array(rows).reshape(len(rows), len(columns))
    scale = system.max(axis=0, initial=0.0)  # The columns differ by 1e9.
    scale[scale == 0] = 1.0
    # Without one configuration two prices may not be told apart: of all equally good ones the
    # smallest are taken, or rounding would choose, which differs between processors.
    ridge = RIDGE * np.eye(len(columns))
    target = np.concatenate([np.ones(len(system)), np.zeros(len(columns))])
    found = nnls(np.vstack([system / scale, ridge]), target)[0] / scale

    def of(alone: bool) -> dict[str, np.ndarray]:
        return {
            name: np.array([0.0 if k is None else found[k] for k in entries(name, alone)])
            for name in phases(variant)
        }

    return of(False), of(True)


_ONES = dict.fromkeys(COUNTS, 1.0)


Counted = Mapping[int, Mapping[str, float]]
"""Counts by order: of runs on one GPU, at orders that several GPUs are to solve."""


def fitted(
    variant: str,
    runs: Sequence[Observation],
    counted: Counted | None = None,
    growth: Callable[[int], float] | None = None,
) -> Model:
    """Fit the model to all runs, and once more without those of each configuration.

    Parameters
    ----------
    variant : str
        See `quantities`.
    runs : sequence of Observation
    counted : mapping of int to mapping, optional
        Counts of orders that none of the runs has.
    growth : callable(int) -> float, optional
        The measured growth of a message; the ways without a host do not use it.

    An order that alone was run on a number of ranks is not left out: it alone tells how messages
    grow to that number.

    Raises
    ------
    ValueError
        For fewer than `FEWEST` configurations.
    """
    configurations = list(dict.fromkeys((run.n, run.p) for run in runs))
    if len(configurations) < FEWEST:
        raise ValueError(f"{len(configurations)} configurations do not fit: {FEWEST} are needed")
    law: Growth = growth if growth is not None and variant != "device" else "log2 p"

    def fit_to(chosen: Sequence[Observation]) -> Fit:
        fit = fit_once(variant, chosen, law)
        return replace(fit, known={**(counted or {}), **fit.known})

    fit = fit_to(runs)
    others = [
        fit_to([run for run in runs if (run.n, run.p) != left])
        for left in configurations
        if len(configurations) > FEWEST and [p for _, p in configurations].count(left[1]) > 1
    ]
    if isinstance(law, str) and len({run.p for run in runs if run.p > 1}) < 2:
        more = [name for name in GROWTHS if name != law]
        others += [replace(each, growth=name) for each in (fit, *others) for name in more]
    return Model(fit, tuple(others))
