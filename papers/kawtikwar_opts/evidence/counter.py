"""Why Opt 0 gains 4.65 in print: the price of one zero by the memory of the counter of zeros.

The baseline adds to one counter for every zero that it finds [K21 Listing 1], and Opt 0 does not.
Print's own times give (t_baseline - t_opt0) / dual updates / n = 0.45 to 0.80 us a zero: an access
to memory of the host, not an atomic in the card's cache. In the authors' program the counter is
``__managed__`` and shares its page with flags that the host reads and writes around every launch of
step 4. Here it lies there, or alone in managed, mapped or device memory, and each zero is added, or
each warp's zeros at once. The rest of the run is the same, as printed.

Of n x n entries about n are zeros, so a warp rarely has two: an addition a warp saves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from papers.common.evidence import comparisons
from papers.common.evidence.comparisons import not_measured
from papers.common.evidence.tables import Published, order
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cause, Comparison
from papers.kawtikwar_opts.configuration import COUNTERS
from papers.kawtikwar_opts.evidence.codes import DOUBLES, PRINTED, VERSIONS, by_seed

HOST_US = (0.3, 2.0)
"""The price that we predict of a zero whose counter is in memory of the host, in microseconds: the
way over the bus and back, one zero after the other since all want the same word."""

CARD_US = (-0.02, 0.02)
"""The same on the card, where the pass over the matrix hides it: not told from nothing."""

MEMORIES = {
    "paper": ("managed, beside flags of the host", HOST_US),
    "managed": ("managed, alone", CARD_US),
    "mapped": ("mapped", HOST_US),
    "copied": ("device", CARD_US),
}
"""Memory of the counter and the predicted price of a zero, by configuration."""

CLOCKED_N = 512
"""The size whose device time says what a zero costs, for what Table III lets us expect."""

FACTOR = 1.5
"""An expected speedup is met within this factor."""

KEYS = ["source", "device", "n", "seed"]


def options_of(name: str) -> str:
    """Return a configuration as the options of a summary's row."""
    return f"configuration={name}"


def _of(summary: pd.DataFrame, version: str, name: str, column: str, *where: str) -> pd.DataFrame:
    """Return a metric of a version in a configuration, with `KEYS` and one column."""
    metric, scope = where
    rows = by_seed(summary, version, metric, scope, options_of(name))
    return rows.rename(columns={"value": column})[[*KEYS, column]]


def _measured(summary: pd.DataFrame, version: str, name: str) -> pd.DataFrame:
    """Return run time in ms, and the compression's device time in us a launch."""
    run = _of(summary, version, name, "run_ms", "time_ms", "run")
    whole = _of(summary, version, name, "ms", "compress_matrix_ms", "kernels")
    calls = _of(summary, version, name, "launches", "compress_matrix_launches", "kernels")
    device = whole.merge(calls, on=KEYS)
    device = device.assign(compress_us=1e3 * device["ms"] / device["launches"])
    return run.merge(device[[*KEYS, "compress_us"]], on=KEYS, how="left")


def by_instance(summary: pd.DataFrame, names: Iterable[str] = tuple(COUNTERS)) -> pd.DataFrame:
    """Return the price of a zero by configuration and instance, by two clocks.

    ``us_a_zero`` is print's formula on the run's time, ``us_a_zero_of_kernel`` the same on the
    device time of the compression; both over Opt 0 with the same flags, which has no counter.
    """
    summary = summary[summary["family"] == DOUBLES]
    plain: dict[str, pd.DataFrame] = {}
    parts = []
    for name in names:
        flags = "paper" if name.startswith("paper") else "copied"
        if flags not in plain:
            updates = _of(summary, "opt0", flags, "updates", "iterations_step_6", "answer")
            plain[flags] = _measured(summary, "opt0", flags).merge(updates, on=KEYS)
        rows = _measured(summary, "baseline", name)
        rows = rows.merge(plain[flags], on=KEYS, suffixes=("", "_without"))
        if rows.empty:
            continue
        n, saved = rows["n"], rows["run_ms"] - rows["run_ms_without"]
        of_kernel = rows["compress_us"] - rows["compress_us_without"]
        parts.append(
            rows.assign(
                configuration=name,
                us_a_zero=1e3 * saved / rows["updates"].replace(0, np.nan) / n,
                us_a_zero_of_kernel=of_kernel / n,
            )
        )
    columns = [*KEYS, "configuration", "updates", "run_ms", "us_a_zero", "us_a_zero_of_kernel"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the price of a zero by memory and way of counting; medians over the seeds."""
    rows = by_instance(summary)
    values = ["updates", "run_ms", "us_a_zero", "us_a_zero_of_kernel"]
    keys = ["n", "configuration", "source", "device"]
    found = rows.groupby(keys, sort=False)[values].median().reset_index()
    base = found["configuration"].str.removesuffix("_by_warp")
    found = found.assign(
        memory=base.map({name: words for name, (words, _) in MEMORIES.items()}),
        added=np.where(found["configuration"] == base, "each zero", "each warp"),
        predicted_from=base.map({name: band[0] for name, (_, band) in MEMORIES.items()}),
        predicted_to=base.map({name: band[1] for name, (_, band) in MEMORIES.items()}),
    )
    updates = found.groupby("n")["updates"].median()
    printed = of_print(published, updates)
    at = found["n"].where(found["configuration"] == "paper")
    found = found.assign(published_us_a_zero=at.map(printed))
    found = order(found, by=("n", "configuration"), ranked={"configuration": tuple(COUNTERS)})
    return found[
        ["n", "memory", "added", "configuration", "source", "device", "run_ms", "predicted_from",
         "predicted_to", "us_a_zero_of_kernel", "published_us_a_zero", "us_a_zero"]
    ]  # fmt: skip


def of_print(published: Published, updates: pd.Series) -> pd.Series:
    """Return print's price of a zero by n: (t_baseline - t_opt0) / dual updates / n.

    Parameters
    ----------
    published : callable
        Loader of print's numbers.
    updates : Series
        Our dual updates by n; no hardware changes them, but print's instances are others.
    """
    times = published("table2").pivot(index="n", columns="version", values="time_ms")
    saved = times["baseline"] - times["opt0"]
    of_ours = updates.reindex(saved.index).replace(0, np.nan)
    return (1e3 * saved / of_ours / saved.index).dropna()


def expected(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the total speedups that the price of a zero lets us expect, as printed.

    n zeros a dual update, each at the price that the clock of the kernels shows at n = `CLOCKED_N`,
    are added to a run without them: Opt 0's, and print's gain of a version over Opt 0 is taken for
    ours. No version is expected from its own time, so that an error in it explains nothing: the run
    without the zeros is Opt 1's for Opt 0, made longer as in print.
    """
    names = ["source", "n", "version", "us_a_zero", "total_by_zero"]
    rows = by_instance(summary[summary["n"] == CLOCKED_N], ("paper",))
    price = rows.groupby("source")["us_a_zero_of_kernel"].median()
    updates = _of(summary, "opt0", "paper", "updates", "iterations_step_6", "answer")
    counts = updates.groupby(["source", "n"])["updates"].median()
    printed = published("table2").pivot(index="n", columns="version", values="time_ms")
    parts = []
    for version in VERSIONS[1:]:
        other = "opt1" if version == "opt0" else "opt0"
        known = pd.concat([_median_run(summary, other), counts], axis=1, join="inner")
        known.columns = pd.Index(["other", "updates"])
        known = known.reset_index()
        each = known["source"].map(price)
        zeros = 1e-3 * each * known["n"] * known["updates"]
        without = known["other"] * known["n"].map(printed["opt0"] / printed[other])
        gain = known["n"].map(printed["opt0"] / printed[version])
        whole = (1 + zeros / without) * gain
        parts.append(known.assign(version=version, us_a_zero=each, total_by_zero=whole))
    return pd.concat(parts, ignore_index=True)[names]


def _median_run(summary: pd.DataFrame, version: str) -> pd.Series:
    rows = by_seed(summary, version, options=PRINTED)
    return rows.groupby(["source", "n"])["value"].median()


def cause(price: float, speedup: float, sizes: int = 1) -> Cause | None:
    """Return the measured cause of a total speedup that is not print's; None without one.

    Of a mean of several `sizes` the band is the narrower, as their errors are not all alike.
    A price outside of what we predict (`HOST_US`) explains nothing: then it is not the host's
    memory that the baseline waits for.
    """
    if np.isnan(price) or np.isnan(speedup) or not HOST_US[0] <= price <= HOST_US[1]:
        return None
    words = (
        f"a zero costs the baseline {price:.2g} us by the clock of its kernels at n = {CLOCKED_N}, "
        f"0.45 to 0.80 us in print: with it a total of {speedup:.3g} is to be expected"
    )
    factor = FACTOR ** (1 / math.sqrt(sizes))
    return Cause("kawtikwar_opts:counter", speedup / factor, speedup * factor, words)


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Compare the prices with what we predicted, and show print's beside ours."""
    on_gpu = found[found["device"] != EXECUTOR_NAME] if len(found) else found
    made = [one for _, rows in on_gpu.groupby("source", sort=False) for one in _prices(rows)]
    return made or not_measured("the price of a zero by the counter's memory, on a GPU", "model")


def _prices(rows: pd.DataFrame) -> Iterable[Comparison]:
    for row in rows.itertuples(index=False):
        where = f"{row.memory}, {row.added}, n={row.n}"
        if not np.isnan(row.us_a_zero_of_kernel):
            yield comparisons.predicted(
                f"us a zero, counter in memory {where}", row.predicted_from, row.predicted_to,
                round(float(row.us_a_zero_of_kernel), 4),
            )  # fmt: skip
        if not np.isnan(row.published_us_a_zero):
            yield comparisons.absolute_time(
                f"us a zero, by the times of baseline and Opt 0, n={row.n}",
                round(float(row.published_us_a_zero), 3), round(float(row.us_a_zero), 3),
            )  # fmt: skip
