"""Measured causes: the figures that counts and other cells of an experiment let us expect.

Most of the paper's choices change how much there is to do: pushes, relabels and launches, which
every run counts. Where a time moves as such a count does, the count is its cause; where it does
not, the difference stays open. So it does where our figure is what the paper says and its interval
alone is too wide (`of_failure`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from papers.common.evidence.comparisons import FACTOR
from papers.common.model import Cause
from papers.lupinska_costscale.evidence.codes import EVERY, PAPER
from papers.lupinska_costscale.evidence.tables import geometric_mean

NEAR = 1.25
"""A time that follows a count lies within this factor of it: a push and a relabel, or two launches,
do not take equally long."""


def counted(
    experiment: str, ratios: Iterable[float], words: str, within: float = NEAR
) -> Cause | None:
    """Return the cause by which a ratio of times lies between some ratios of counts.

    Parameters
    ----------
    experiment : str
        Its name, without the paper.
    ratios : iterable of float
        What the counts let us expect; NaN where there is none.
    words : str
        One sentence.
    within : float
        The factor that times may lie off.

    Returns
    -------
    Cause or None
        None without a count.
    """
    known = [ratio for ratio in ratios if ratio > 0]
    if not known:
        return None
    return Cause(f"{PAPER}:{experiment}", min(known) / within, max(known) * within, words)


def of_failure(
    cause: Cause | None,
    found: float,
    at_least: float = 0.0,
    at_most: float = math.inf,
) -> Cause | None:
    """Return the cause if our figure and the one that it lets us expect both miss the bounds.

    Parameters
    ----------
    cause : Cause or None
    found : float
        Our figure.
    at_least, at_most : float
        The bounds of the comparison.
    """
    if cause is None:
        return None
    expected = math.sqrt(cause.low * cause.high)
    missed = not (at_least <= found <= at_most or at_least <= expected <= at_most)
    return cause if missed else None


# ------------------------------------------------------------------------------- heuristics


def of_heuristic(rows: pd.DataFrame, name: str) -> Cause | None:
    """Return why a heuristic takes its share of the time without.

    Parameters
    ----------
    rows : DataFrame
        One code and CYCLE of the table `tables_refine.heuristics`, a row a size and combination.
    name : str
        The combination.
    """
    mine = rows[rows["heuristics"] == name]
    if name == "price updates" and not mine["price_updates"].any():
        return _twins(rows)
    operations, launches = (
        geometric_mean(mine[column]) for column in ("operations_over_none", "launches_over_none")
    )
    if math.isnan(launches):
        return _sequential(rows, name, operations)
    return counted(
        "heuristics", (operations, launches),
        f"{operations:.3g} of the operations are left, in {launches:.3g} of the launches",
    )  # fmt: skip


def _twins(rows: pd.DataFrame) -> Cause | None:
    """Return the cause where no price was updated: the program is then the one without.

    Two more equal programs, "both" and "both, after every run", bound how far such two lie apart.
    """
    apart = geometric_mean(rows.loc[rows["heuristics"] == EVERY, "time_over_both"].dropna())
    words = "no price update was made: the first run of the kernel left no node active"
    return counted("heuristics", (apart, 1 / apart), words, within=1.0)


PAIRS = {
    "price updates": (("price updates", "none"), ("both", "arc fixing")),
    "arc fixing": (("arc fixing", "none"), ("both", "price updates")),
    "both": (("both", "arc fixing"), ("price updates", "none")),
}
"""By combination: the step that is asked about, and the same step with the other heuristic on (or,
of both, off). For `both` the step is from arc fixing alone to both."""


def _sequential(rows: pd.DataFrame, name: str, operations: float) -> Cause | None:
    """Return the cause on one core: operations saved, and the time that the heuristic itself takes.

    That time is read from the other pair of programs that differ by the heuristic alone.
    """
    (_, before), (with_it, without) = PAIRS[name]
    wide = rows.pivot(index="n", columns="heuristics", values=["time_ms", "operations"])
    if not {name, before, with_it, without, "none"} <= {*rows["heuristics"]}:
        return None
    time, work = wide["time_ms"], wide["operations"]
    own = time[with_it] - time[without] * work[with_it] / work[without]
    expected = time[before] * work[name] / work[before] + own
    ratio = geometric_mean((expected / time["none"]).dropna())
    share = geometric_mean((own / time["none"]).dropna())
    words = f"{operations:.3g} of the operations are left"
    if not math.isnan(share):
        words += f", and the heuristic itself takes {share:.3g} of the time without"
    return counted("heuristics", (ratio,), words)


def of_every_run(rows: pd.DataFrame) -> Cause | None:
    """Return why heuristics after every run of the kernel take their share of the time."""
    mine = rows[rows["heuristics"] == EVERY]
    operations, launches = (
        geometric_mean(mine[column]) for column in ("operations_over_both", "launches_over_both")
    )
    return counted(
        "heuristics", (operations, launches),
        f"a CYCLE that ends runs early leaves {operations:.3g} of the operations, in "
        f"{launches:.3g} of the launches; with the printed CYCLE there is one run a refine",
    )  # fmt: skip


# ------------------------------------------------------------------------------- CYCLE


def of_cycle(mine: pd.DataFrame, theirs: int, other: int) -> Cause | None:
    """Return why another CYCLE takes its share of the time with the author's.

    A launch is taken for a time on the host, the search and the copies, and a time a turn. Both
    follow from the least and the largest CYCLE; the others' times from these and their launches.

    Parameters
    ----------
    mine : DataFrame
        The hybrid's rows of the table `tables.cycle`, of one source.
    theirs, other : int
        The author's CYCLE, and the one compared with it.
    """
    wide = mine.pivot(index="instance", columns="cycle", values=["time_ms", "launches"])
    least, most = mine["cycle"].min(), mine["cycle"].max()
    # The first launch of all fills the source's arcs: it is none of the kernel.
    rounds = wide["launches"] - 1
    each = wide["time_ms"] / rounds
    turn = (each[most] - each[least]) / (most - least)
    host = each[least] - turn * least
    expected = rounds * pd.DataFrame({cycle: host + turn * cycle for cycle in rounds})
    ratio = geometric_mean((expected[other] / expected[theirs]).dropna())
    words = (
        f"a launch costs {host.median():.3g} ms on the host and {1e3 * turn.median():.3g} us a "
        "turn, in which excess that cannot reach the sink goes on to and fro"
    )
    return counted("cycle", (ratio,), words, within=FACTOR)
