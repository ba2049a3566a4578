"""Makes the paper's tables from measurements, print beside each.

The tables that `experiments` declares need no function here. Every other function takes the run's
summary (one row a cell and metric, see `papers.reproduce.run.measurements`) and the loader of the
published numbers, and returns a tidy table with both side by side. Rows of the present run and of
every recorded run stand below each other, told apart by ``source``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.tables import (
    KEY,
    Published,
    beside,
    beside_authors,
    median,
    named,
    over,
)

LABELS = ("0.1n", "n", "10n")
"""The paper's cost ranges, in its order."""

STEPS = ("step_1", "step_2", "step_3", "step_4", "step_5", "step_6")
CPU = {"cpu_o4": "O4", "cpu_o3": "O3", "cpu_sp_lists": "SP", "cpu_auction_jacobi": "A"}
"""Our CPU solvers by the letters of Figures 4 and 5; `rivals` measures that they are the right
ones."""

order = partial(tables.order, ranked={"cost_range": LABELS})
"""Sort as the paper does: sizes up, ranges 0.1n, n, 10n."""

# ------------------------------------------------------------------------------- from a summary


def by_seed(
    summary: pd.DataFrame,
    solver: str,
    metric: str = "time_ms",
    scope: str = "run",
    options: str = "",
    family: str = "uniform",
) -> pd.DataFrame:
    """One metric of one solver, a row a seed, as `papers.common.evidence.tables.by_seed`.

    `solver` is one of this paper, or another paper's with its full name.
    """
    full = solver if ":" in solver else f"lopes2019:{solver}"
    return tables.by_seed(summary, full, metric, scope, options, family)


def medians(summary: pd.DataFrame, solver: str, *args: str, **kwargs: str) -> pd.DataFrame:
    """Median over seeds of one metric of one solver; arguments as in `by_seed`.

    Returns
    -------
    DataFrame
        ``source``, ``n``, ``cost_range``, ``device``, ``value``.
    """
    return median(by_seed(summary, solver, *args, **kwargs), "value", ["device"])


def cpu_over_cuda(summary: pd.DataFrame, metric: str, scope: str) -> pd.DataFrame:
    """CPU time over CUDA time, seed by seed, then the median over the seeds that both ran.

    Returns
    -------
    DataFrame
        ``source``, ``n``, ``cost_range``, ``device``, ``cuda_ms``, ``c_ms``, ``speedup``.
    """
    keys = [*KEY, "seed"]
    gpu = by_seed(summary, "gpu", metric, scope).rename(columns={"value": "cuda_ms"})
    cpu = named(by_seed(summary, "cpu_o4", metric, scope), "c_ms")
    both = gpu.merge(cpu, on=keys)
    both = both.assign(speedup=both["c_ms"] / both["cuda_ms"])
    values = ["cuda_ms", "c_ms", "speedup"]
    return both.groupby([*KEY, "device"], sort=False)[values].median().reset_index()


# ------------------------------------------------------------------------------- Tables 1 and 4

BY = ("n", "cost_range")
printed_times = tables.printed_times("table1", BY, "implementation", {"CUDA": "cuda", "C": "c"})
"""Loads Table 1 as ``n cost_range published_cuda_ms published_c_ms``."""

CARDS = {"NVIDIA Tesla K20c": "k20c", "NVIDIA GeForce GTX 970": "gtx970"}
"""The paper's GPUs (Tables 4 and 1)."""


def printed_cards(published: Published) -> pd.DataFrame:
    """Load the CUDA times of Tables 4 and 1, a column for each of the paper's GPUs."""
    cuda = published("table1").query("implementation == 'CUDA'")
    both = pd.concat([published("table4"), cuda])
    return tables.printed_times("both", BY, "device", CARDS)(lambda name: both)


def printed_o3_times(published: Published) -> pd.DataFrame:
    """Load the times that follow from Figure 6 and Table 1, and the ratio of two public codes.

    ``authors_ratio`` is measured on an H100: the alternating tree of Date and Nagi over the program
    of this paper's authors.
    """
    keys = list(BY)
    printed = published("fig06")[[*keys, "o3_time_over_o4_time"]]
    printed = printed.merge(printed_times(published), on=keys)
    o4 = printed["published_cuda_ms"]
    printed = printed.assign(
        published_o3_ms=printed["o3_time_over_o4_time"] * o4, published_o4_ms=o4
    )
    codes = {"o4": "authors_code_h100", "o3": "authors_o3_h100"}
    theirs = {k: published(v).groupby(keys)["solve_ms"].median() for k, v in codes.items()}
    ratio = (theirs["o3"] / theirs["o4"]).rename("authors_ratio").reset_index()
    printed = printed.merge(ratio, on=keys, how="left")
    return printed[[*keys, "published_o3_ms", "published_o4_ms", "authors_ratio"]]


# ------------------------------------------------------------------------------- steps


def step_times(summary: pd.DataFrame, solver: str, name: str) -> pd.DataFrame:
    """Wall time of each step (median over seeds): ``source n cost_range step <name>``."""
    parts = [
        named(medians(summary, solver, f"{step}_ms", "steps"), name).assign(step=step)
        for step in STEPS
    ]
    return pd.concat(parts, ignore_index=True)


def c_step_times(summary: pd.DataFrame) -> pd.DataFrame:
    """Time of each step of the C code, seed by seed, without what the clock itself took.

    What the steps add up to beyond the undisturbed run is the clock's, and is taken out evenly over
    the visits of the steps. A step that is not three times what was taken out of it drowns in it
    and is left out. Where compiled code reads the clock, next to nothing is taken out.

    Returns
    -------
    DataFrame
        ``source``, ``n``, ``cost_range``, ``seed``, ``step``, ``c_ms``.
    """
    keys = [*KEY, "seed"]
    parts = []
    for step in STEPS:
        part = named(by_seed(summary, "cpu_o4", f"{step}_ms", "steps"), "c_ms").assign(step=step)
        count = named(by_seed(summary, "cpu_o4", f"iterations_{step}", "answer"), "visits")
        parts.append(part.merge(count, on=keys, how="left").fillna({"visits": 1}))
    table = pd.concat(parts, ignore_index=True)
    table = table.merge(named(by_seed(summary, "cpu_o4"), "run_ms"), on=keys)
    sums = table.groupby(keys)[["c_ms", "visits"]].transform("sum")
    per_visit = (sums["c_ms"] - table["run_ms"]).clip(lower=0) / sums["visits"]
    taken = per_visit * table["visits"]
    net = table["c_ms"] - taken
    table = table.assign(c_ms=net.where(net >= 3 * taken))
    return table.dropna(subset=["c_ms"])[[*keys, "step", "c_ms"]]


def step_speedups(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Table 3: CPU time over CUDA time of each step, for the range 0 to n."""
    printed = published("table3")[["n", "step", "speedup_cuda_over_c"]]
    printed = printed.rename(columns={"speedup_cuda_over_c": "published_speedup"})
    # Figure 11's shares of Table 1's totals: the CUDA time of a step in print, and so its C time.
    steps = published("fig11")[["n", "step", "derived_time_ms"]]
    printed = printed.merge(steps, on=["n", "step"], how="left")
    keys = [*KEY, "seed", "step"]
    gpu = [
        named(by_seed(summary, "gpu", f"{step}_ms", "steps"), "cuda_ms").assign(step=step)
        for step in STEPS
    ]
    both = pd.concat(gpu, ignore_index=True).merge(c_step_times(summary), on=keys, how="left")
    both = both.assign(speedup=both["c_ms"] / both["cuda_ms"])
    values = ["cuda_ms", "c_ms", "speedup"]
    of_steps = both.groupby([*KEY, "step"], sort=False)[values].median().reset_index()
    whole = cpu_over_cuda(summary, "time_ms", "run").assign(step="global")
    measured = pd.concat([of_steps, whole], ignore_index=True).query("cost_range == 'n'")
    measured = measured[["source", "n", "step", "cuda_ms", "c_ms", "speedup"]]
    table = order(beside(printed, measured, ["n", "step"]), by=("n",))
    table = table.assign(
        cuda_gain=table["derived_time_ms"] / table["cuda_ms"],
        c_gain=table["derived_time_ms"] * table["published_speedup"] / table["c_ms"],
    )
    return table[
        ["n", "step", "source", "published_speedup", "speedup", "cuda_ms", "c_ms", "cuda_gain",
         "c_gain"]
    ]  # fmt: skip


def shares_by_seed(summary: pd.DataFrame) -> pd.DataFrame:
    """Return each step's share of the CUDA time in per cent, seed by seed, then the median."""
    parts = [by_seed(summary, "gpu", f"{step}_ms", "steps").assign(step=step) for step in STEPS]
    rows = pd.concat(parts, ignore_index=True)
    whole = rows.groupby([*KEY, "seed"])["value"].transform("sum")
    return median(rows.assign(value=100 * rows["value"] / whole), "share_pct", ["step"])


def step_shares(label: str, figure: str) -> Callable[[pd.DataFrame, Published], pd.DataFrame]:
    """Figures 10 to 12: the share of each step in the CUDA time, for one cost range."""

    def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        printed = published(figure)[["n", "step", "time_share_pct", "derived_time_ms"]]
        printed = printed.rename(columns={"time_share_pct": "published_share_pct"})
        measured = step_times(summary, "gpu", "cuda_ms").merge(
            shares_by_seed(summary), on=[*KEY, "step"]
        )
        measured = measured[measured["cost_range"] == label]
        result = order(beside(printed, measured, ["n", "step"]), by=("n",))
        took = result["cuda_ms"].where(result["cuda_ms"] > 0)
        result = result.assign(step_gain=result["derived_time_ms"] / took)
        totals = result.groupby(["source", "n"])[["derived_time_ms", "cuda_ms"]].transform("sum")
        result = result.assign(run_gain=totals["derived_time_ms"] / totals["cuda_ms"])
        return result[
            ["n", "step", "source", "published_share_pct", "share_pct", "cuda_ms", "step_gain",
             "run_gain"]
        ]  # fmt: skip

    return table


# ------------------------------------------------------------------------------- CPU codes


def cpu_times(summary: pd.DataFrame) -> pd.DataFrame:
    """Run times of the four CPU codes: ``source n cost_range algorithm time_ms``."""
    parts = [
        named(medians(summary, solver), "time_ms").assign(algorithm=letters)
        for solver, letters in CPU.items()
    ]
    return pd.concat(parts, ignore_index=True)


def over_o4(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Figure 4: run time over that of the O(n^4) code, against n, for the range 0 to n."""
    printed = published("fig04")[["n", "algorithm", "time_over_o4_time"]]
    printed = printed.rename(columns={"time_over_o4_time": "published_ratio"})
    times = cpu_times(summary)
    base = times[times["algorithm"] == "O4"].rename(columns={"time_ms": "o4_ms"})
    others = times[times["algorithm"] != "O4"]
    measured = others.merge(base[[*KEY, "o4_ms"]], on=KEY)
    o4 = by_seed(summary, "cpu_o4")
    ratios = [
        over(by_seed(summary, solver), o4, "ratio").assign(algorithm=letters)
        for solver, letters in CPU.items()
    ]
    measured = measured.merge(pd.concat(ratios), on=[*KEY, "algorithm"])
    measured = measured[measured["cost_range"] == "n"].drop(columns="cost_range")
    table = order(beside(printed, measured, ["n", "algorithm"]), by=("algorithm", "n"))
    return table[["algorithm", "n", "source", "published_ratio", "ratio", "time_ms", "o4_ms"]]


RANGES_FIG_5 = tuple(
    f"n/{4**-k}" if k < 0 else ("n" if k == 0 else f"{4**k}n") for k in range(-3, 8)
)
"""Cost ranges of Figure 5: n/64, n/16, n/4, n, 4n ... 16384n."""


def range_over_n(label: str) -> float:
    """The cost range as a multiple of n: 0.25 for ``"n/4"``, 16 for ``"16n"``."""
    head, _, divisor = label.partition("n")
    return float(head or 1) / float(divisor.removeprefix("/") or 1)


def against_range(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Figure 5: run time of the four CPU codes against the cost range, at one n."""
    printed = published("fig05")[["n", "algorithm", "cost_max_over_n", "time_ms"]]
    printed = printed.rename(columns={"time_ms": "published_ms", "cost_max_over_n": "range_over_n"})
    times = cpu_times(summary)
    times = times[times["cost_range"].isin(RANGES_FIG_5)]
    # A size with the range n alone belongs to Figure 4.
    enough = times.groupby(["source", "n"])["cost_range"].transform("nunique") > 4
    times = times[enough]
    measured = times.assign(range_over_n=times["cost_range"].map(range_over_n).astype(float)).drop(
        columns="cost_range"
    )
    table = beside(printed, measured, ["n", "algorithm", "range_over_n"])
    table = order(table, by=("n", "algorithm", "range_over_n"))
    return table[["n", "algorithm", "range_over_n", "source", "published_ms", "time_ms"]]


# ------------------------------------------------------------------------------- our own


STEP_4 = {
    "paper": "",
    "paper, 512 columns a block": "lines_a_bin=512",
    "paper, 4 columns a block": "lines_a_bin=4",
    "A": "step_4=A",
    "B": "step_4=B",
    "C": "step_4=C",
}
"""Kernels for step 4 by the options of their cells."""


def appendix_b(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """The kernels for step 4: run time, launches, and time over the paper's choice."""
    keys = [*KEY, "seed"]
    base = named(by_seed(summary, "gpu"), "paper_ms")
    parts = []
    for name, options in STEP_4.items():
        part = by_seed(summary, "gpu", options=options).rename(columns={"value": "time_ms"})
        for counter in ("iterations_step_4", "iterations_step_3"):
            column = named(by_seed(summary, "gpu", counter, "answer", options), counter)
            part = part.merge(column, on=keys)
        parts.append(part.assign(step_4=name))
    table = pd.concat(parts, ignore_index=True).merge(base, on=keys)
    # Only instances on which an alternative ran as well.
    table = table[table.groupby(keys)["step_4"].transform("nunique") > 1]
    table = table.assign(over_paper=table["time_ms"] / table["paper_ms"])
    table = table.rename(columns={"iterations_step_4": "launches", "iterations_step_3": "searches"})
    values = ["time_ms", "over_paper", "launches", "searches"]
    table = table.groupby([*KEY, "device", "step_4"], sort=False)[values].median().reset_index()
    return order(table)[
        ["n", "cost_range", "source", "device", "step_4", "time_ms", "over_paper", "launches",
         "searches"]
    ]  # fmt: skip


def authors_code(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Our kernels beside the authors' CUDA C++ on one card model, seed by seed, then the median."""
    table = order(beside_authors(by_seed(summary, "gpu"), published("authors_code_h100")))
    return table[
        ["n", "cost_range", "source", "device", "seeds", "published_authors_ms", "measured_ms",
         "authors_over_ours"]
    ]  # fmt: skip


def device_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Device time of each kernel over a whole run (scope ``kernels``; a GPU only)."""
    rows = summary[
        (summary["solver"] == "lopes2019:gpu")
        & (summary["options"] == "")
        & (summary["scope"] == "kernels")
        & (summary["family"] == "uniform")
    ].rename(columns={"label": "cost_range"})
    keys = ["n", "cost_range", "source", "device", "seed"]
    parts = {}
    for suffix, name in (("_ms", "device_ms"), ("_launches", "launches")):
        mine = rows[rows["metric"].str.endswith(suffix) & (rows["metric"] != "time_ms")]
        mine = mine.assign(kernel=mine["metric"].str.removesuffix(suffix))
        parts[name] = mine.rename(columns={"median": name})[[*keys, "kernel", name]]
    table = parts["launches"].merge(parts["device_ms"], on=[*keys, "kernel"])
    table = table.assign(us_a_launch=1e3 * table["device_ms"] / table["launches"])
    table = table.sort_values("device_ms", ascending=False, kind="stable")
    return order(table)[
        ["n", "cost_range", "source", "device", "kernel", "launches", "device_ms", "us_a_launch"]
    ]


def photos(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """The colour rearrangement: cost and time by solver."""
    parts = []
    for solver in ("gpu", "cpu_sp"):
        time = named(medians(summary, solver, family="colours"), "time_ms", "device")
        cost = named(medians(summary, solver, "cost", "answer", family="colours"), "cost")
        parts.append(time.merge(cost, on=KEY).assign(solver=solver))
    table = order(pd.concat(parts, ignore_index=True))
    table = table.rename(columns={"cost_range": "pictures"})
    return table[["n", "pictures", "source", "device", "solver", "time_ms", "cost"]]
