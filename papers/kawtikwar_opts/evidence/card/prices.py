"""The prices of print's card and host, and of those of a record.

Both pay for the same things (`work`): a launch with its wait, a search of step 4, a byte, a turn of
the minimum, a zero. The prices come from nothing that they are to explain:

- print's from print alone: the kernels of Figures 2 to 4, and of Table II the zero, Opt 2's times
  for a search in one launch, and Opts 3 and 4 at n = `HELD_N` for a block's barrier;
- ours from another kernel, another clock, another size or another experiment than the judged
  figure: the launch from the host's own clock (`fig05`); search, zero and empty launch from the
  device's clock at n = `CLOCKED_N`; the byte of Opt 1 from Opt 0's kernels and that of the others
  from Opt 1's; the turn from the record of `lopes2019`, with 32-bit costs; the barrier of the grid
  from the limits of the card, and that of a block in Opt 4 from n = `HELD_N`.

Ours are measured twice. A record whose two measurements of a price lie apart by more than `BAND`
has no prices: it explains nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from papers.common.evidence.tables import Published
from papers.kawtikwar_opts.evidence import counter
from papers.kawtikwar_opts.evidence.card import work as w
from papers.kawtikwar_opts.evidence.card.work import Record, Work
from papers.kawtikwar_opts.evidence.codes import HOST_LOOP, VERSIONS
from papers.kawtikwar_opts.evidence.counter import CLOCKED_N

BAND = 1.5
"""The model may miss by this factor, up or down, and so may two measurements of a price."""

HELD_BAND = 2.0
"""The same for the barrier of a block, which is measured as a difference of two runs."""

SMALL_N, HELD_N, PROFILED_N = 256, 1024, 4096
MULTIPROCESSORS = {"H200": 132}
"""The cards whose limits are known: multiprocessors."""

PRINTED_MULTIPROCESSORS = 68
"""Those of the RTX 2080 Ti."""

BARRIER_US = 2.2
"""A barrier of the grid of 132 blocks of 1024 threads on an H200, by itself."""


TURN_US, TURN_N = 0.672, 8192
"""A turn of the minimum on an H200 with 32-bit costs: the same kernel and blocks, half the bytes.

From the record of `lopes2019` as printed, n = `TURN_N`: the device time of the minimum less that of
an empty kernel, over its 512 turns. A test takes it from there again."""


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
        held = w.turns(n, self.multiprocessors * w.THREADS) * self.held
        return phases + w.BARRIERS_AN_UPDATE * self.barrier + held * (version == "opt4")

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


def _mean(values: list[float]) -> float:
    """Return the geometric mean of those that are known; NaN without one, or with one below 0."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.exp(np.mean(np.log(known)))) if known and min(known) > 0 else np.nan


# ------------------------------------------------------------------------------- print's

FIGURES = {"baseline": "fig02", "opt0": "fig03", "opt1": "fig04"}


def printed_kernels(published: Published) -> dict[tuple[str, str], float]:
    """Load the times of Figures 2 to 4 in ms, by version and kernel."""
    return {
        (version, row.kernel): float(row.total_time_ms)
        for version, figure in FIGURES.items()
        for row in published(figure).itertuples(index=False)
    }


def of_print(record: Record, published: Published) -> Prices | None:
    """Return the prices of print's card; None without the counts at Figures 2 to 4's size.

    The figures do not tell a search from its launch: print's launch holds its share of a search.
    """
    known = {v: found for v in HOST_LOOP if (found := record.work(v, PROFILED_N))}
    if set(known) != set(HOST_LOOP):
        return None
    ms = printed_kernels(published)
    updates = {n: record("opt0", n, "iterations_step_6", "answer") for n in record.sizes}
    zero = counter.of_print(published, pd.Series(updates).dropna()).to_dict()
    launches = []
    for version in ("opt0", "opt1"):
        counted = known[version]
        us = 1e3 * ms[version, "others"] - w.stars(counted) * zero[PROFILED_N]
        launches.append(us / w.others(counted, version))
    launch = _mean(launches)
    turns, megabytes = [], []
    for (version, kernel), time in ms.items():
        each = 1e3 * time / known[version].updates - launch
        if kernel == w.MINIMUM:
            turns.append(each / w.turns(PROFILED_N, w.REDUCTION))
        elif kernel != "others" and (version, kernel) != ("baseline", "compress_matrix"):
            megabytes.append(each / w.megabytes(PROFILED_N, kernel))
    prices = Prices(
        PRINTED_MULTIPROCESSORS, launch, launch, 0.0, 0.0, _mean(turns), 0.0,
        _printed_hold(record, published), dict.fromkeys(VERSIONS, _mean(megabytes)), zero,
    )  # fmt: skip
    return replace(prices, sweep=_printed_sweep(prices, record, published))


def _printed_hold(record: Record, published: Published) -> float:
    """Return the barrier of a block a turn, by Opts 3 and 4 of Table II at n = `HELD_N`."""
    ms = published("table2").set_index(["version", "n"])["time_ms"]
    turns = w.turns(HELD_N, PRINTED_MULTIPROCESSORS * w.THREADS)
    updates = record("opt4", HELD_N, "iterations_step_6", "answer")
    return 1e3 * float(ms["opt4", HELD_N] - ms["opt3", HELD_N]) / updates / turns


def _printed_sweep(prices: Prices, record: Record, published: Published) -> float:
    """Return the time of a run of step 4 in one launch: what Opt 2's times leave for it."""
    times, found = published("table2"), []
    for row in times[times["version"] == "opt2"].itertuples(index=False):
        counted = record.work("opt2", row.n)
        if counted is not None:
            rest = 1e3 * row.time_ms - counted.updates * prices.update_us(counted.n, "opt2")
            found.append(rest / counted.searches)
    return _mean(found)


# ------------------------------------------------------------------------------- ours


@dataclass(frozen=True)
class Measured:
    """A price of a record, as it is taken and as it is measured once more.

    Attributes
    ----------
    price, again : float
        In microseconds.
    n : int
        The order at which the price was measured.
    band : float
        The factor by which the two may lie apart.
    """

    price: float
    again: float
    n: int
    band: float = BAND

    @property
    def trusted(self) -> bool:
        """Whether the two agree; NaN never does."""
        return 1 / self.band <= self.again / self.price <= self.band if self.price > 0 else False


TRACED = "trace_steps=True,configuration=paper"
CALLS = "what=calls,version=opt1,configuration=paper"


def _searching(record: Record) -> Measured:
    """Return a run of step 4 beyond its launch; again by the clock inside one launch."""
    empty = record.us_a_launch("opt0", CLOCKED_N, "step_4_init")
    price = record.us_a_launch("opt0", CLOCKED_N, "step_4") - empty
    us = record("opt3", PROFILED_N, "step_4_us", "answer", TRACED)
    runs = record("opt3", PROFILED_N, "iterations_step_4", "answer", TRACED)
    return Measured(price, us / runs - w.BARRIERS_A_SEARCH * BARRIER_US, CLOCKED_N)


def _launching(record: Record, search: float) -> Measured:
    """Return a launch: the host's time outside of its waits, in which the device has nothing to do.

    Again by Opt 0's run at the least size, less its searches.
    """
    launch, rest, calls = (
        record("profile", PROFILED_N, f"host_{name}", "answer", CALLS)
        for name in ("launch_us", "rest_us", "launch_calls")
    )
    small = record.work("opt0", SMALL_N)
    again = np.nan
    if small is not None:
        us = 1e3 * record("opt0", SMALL_N) - small.searches * search
        again = us / small.launches
    return Measured((launch + rest) / calls, again, PROFILED_N)


def _passing(record: Record, empty: float) -> Measured:
    """Return a megabyte of Opt 1's fused kernel; again by Opt 0's two kernels."""

    def price(version: str) -> float:
        us = sum(record.us_a_launch(version, PROFILED_N, k) - empty for k in w.PASSES[version])
        return us / sum(w.megabytes(PROFILED_N, k) for k in w.PASSES[version])

    return Measured(price("opt1"), price("opt0"), PROFILED_N)


def _turning(record: Record, empty: float) -> Measured:
    """Return a turn of the minimum: that of 32-bit costs; again with doubles.

    The second measurement is the judged kernel's own, and is nobody's price.
    """
    own = record.us_a_launch("opt0", PROFILED_N, "step_6_reduction_1") - empty
    return Measured(TURN_US, own / w.turns(PROFILED_N, w.REDUCTION), TURN_N)


def _adding(record: Record) -> Measured:
    """Return a zero at n = `CLOCKED_N` by the kernels' clock; again in mapped memory."""

    def price(name: str, without: str) -> float:
        us = (
            record.us_a_launch(v, CLOCKED_N, "compress_matrix", options=f"configuration={x}")
            for v, x in (("baseline", name), ("opt0", without))
        )
        dear, plain = us
        return (dear - plain) / CLOCKED_N

    return Measured(price("paper", "paper"), price("mapped", "copied"), CLOCKED_N)


def _holding(record: Record) -> Measured:
    """Return a block's barrier a turn: Opt 4 less Opt 3 at n = `HELD_N`; again at `CLOCKED_N`."""

    def price(n: int) -> float:
        turns = w.turns(n, MULTIPROCESSORS["H200"] * w.THREADS)
        updates = record("opt4", n, "iterations_step_6", "answer")
        return 1e3 * (record("opt4", n) - record("opt3", n)) / updates / turns

    return Measured(price(HELD_N), price(CLOCKED_N), HELD_N, HELD_BAND)


def twice(record: Record) -> dict[str, Measured]:
    """Return the prices that are measured twice, by name."""
    search = _searching(record)
    empty = record.us_a_launch("opt0", CLOCKED_N, "step_4_init")
    return {
        "launch": _launching(record, search.price), "search": search,
        "megabyte": _passing(record, empty), "turn": _turning(record, empty),
        "zero": _adding(record), "held": _holding(record),
    }  # fmt: skip


def of_record(record: Record, published: Published) -> Prices | None:
    """Return the prices of a record on an H200; None where one is missing or not trusted."""
    found, theirs = twice(record), of_print(record, published)
    if theirs is None or not all(each.trusted for each in found.values()) or not _alike(record):
        return None
    low, high = counter.HOST_US
    if not low <= found["zero"].price <= high:
        return None
    return _as_measured(record, found, theirs)


ALIKE = 1.01
"""The most by which the dual updates of two versions may differ at one size."""


def _alike(record: Record) -> bool:
    """Whether all versions made as many dual updates, size by size: else the rows are mixed up."""
    for n in record.sizes:
        known = [found.updates for v in VERSIONS if (found := record.work(v, n))]
        if known and max(known) > ALIKE * min(known):
            return False
    return True


def _as_measured(record: Record, found: Mapping[str, Measured], theirs: Prices) -> Prices:
    """Return the prices as they were measured.

    A zero becomes cheaper with n as it does in print: the ratio of the two cards is that at n =
    `CLOCKED_N`.
    """
    fused, apart, search = found["megabyte"].price, found["megabyte"].again, found["search"].price
    bytes_of = {v: fused if v in ("baseline", "opt0") else apart for v in VERSIONS}
    ratio = found["zero"].price / theirs.zero[CLOCKED_N]
    return Prices(
        MULTIPROCESSORS["H200"], found["launch"].price,
        record.us_a_launch("opt0", CLOCKED_N, "step_4_init"), search,
        search + w.BARRIERS_A_SEARCH * BARRIER_US, found["turn"].price, BARRIER_US,
        found["held"].price, bytes_of, {n: ratio * us for n, us in theirs.zero.items()},
    )  # fmt: skip
