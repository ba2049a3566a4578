"""The prices of a record, each measured twice.

A price comes from another kernel, another clock, another size or another experiment than the judged
figure: the launch from the host's own clock (`fig05`); search, zero and empty launch from the
device's clock at n = `CLOCKED_N`; the byte of Opt 1 from Opt 0's kernels and that of the others
from Opt 1's; the turn from the record of `lopes2019`, with 32-bit costs; the barrier of the grid
from the limits of the card, and that of a block in Opt 4 from n = `HELD_N`.

A record whose two measurements of a price lie apart by more than `BAND` has no prices: it explains
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from papers.common.evidence.tables import Published
from papers.kawtikwar_opts.evidence import counter
from papers.kawtikwar_opts.evidence.card import printed
from papers.kawtikwar_opts.evidence.card import work as w
from papers.kawtikwar_opts.evidence.card.prices import BAND, HELD_N, PROFILED_N, SMALL_N, Prices
from papers.kawtikwar_opts.evidence.card.work import Record
from papers.kawtikwar_opts.evidence.codes import VERSIONS
from papers.kawtikwar_opts.evidence.counter import CLOCKED_N

MULTIPROCESSORS = {"H200": 132}
"""The cards whose limits are known: multiprocessors."""

BARRIER_US = 2.2
"""A barrier of the grid of 132 blocks of 1024 threads on an H200, by itself."""

TURN_US, TURN_N = 0.672, 8192
"""A turn of the minimum on an H200 with 32-bit costs: the same kernel and blocks, half the bytes.

From the record of `lopes2019` as printed, n = `TURN_N`: the device time of the minimum less that of
an empty kernel, over its 512 turns. A test takes it from there again."""

HELD_BAND = 2.0
"""`BAND` for the barrier of a block, which is measured as a difference of two runs."""


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
    found, theirs = twice(record), printed.of_print(record, published)
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
