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
    median,
    named,
    over,
)

LABELS = ("0.1n", "n", "10n")
"""The paper's cost ranges, in its order."""

AS_PRINTED = (("configuration", "paper"),)
"""A cell's options: the kernels as the paper prints them."""

PRINTED = "configuration=paper"
"""The same as a summary has them; without options the kernels are ours."""

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


def c_over_cuda(summary: pd.DataFrame, options: str = PRINTED) -> pd.DataFrame:
    """C time over CUDA time, seed by seed, then the median over the seeds that both ran.

    Returns
    -------
    DataFrame
        ``source``, ``n``, ``cost_range``, ``device``, ``cuda_ms``, ``c_ms``, ``speedup``.
    """
    keys = [*KEY, "seed"]
    gpu = by_seed(summary, "gpu", options=options).rename(columns={"value": "cuda_ms"})
    both = gpu.merge(named(by_seed(summary, "cpu_c"), "c_ms"), on=keys)
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

    ``authors_ratio`` is measured on an H200: the alternating tree of Date and Nagi over the program
    of this paper's authors.
    """
    keys = list(BY)
    printed = published("fig06")[[*keys, "o3_time_over_o4_time"]]
    printed = printed.merge(printed_times(published), on=keys)
    cuda = printed["published_cuda_ms"]
    printed = printed.assign(
        published_o3_ms=printed["o3_time_over_o4_time"] * cuda, published_o4_ms=cuda
    )
    o4, o3 = published("authors_code_h200"), published("authors_o3_h200")
    theirs = {
        name: rows.groupby(keys)["solve_ms"].median()
        for name, rows in (("o4", o4[o4["flags"] == "managed"]), ("o3", o3))
    }
    ratio = (theirs["o3"] / theirs["o4"]).rename("authors_ratio").reset_index()
    printed = printed.merge(ratio, on=keys, how="left")
    return printed[[*keys, "published_o3_ms", "published_o4_ms", "authors_ratio"]]


# ------------------------------------------------------------------------------- steps


def step_times(summary: pd.DataFrame, options: str = PRINTED) -> pd.DataFrame:
    """Wall time of each step of the kernels, a row a seed: `KEY`, ``seed``, ``step``, ``cuda_ms``.

    The paper counts every compression of the zeros to step 6 [L19 Alg.7], and so do the clocks.
    """
    parts = [
        named(by_seed(summary, "gpu", f"{step}_ms", "steps", options), "cuda_ms").assign(step=step)
        for step in STEPS
    ]
    return pd.concat(parts, ignore_index=True)


def c_step_times(summary: pd.DataFrame) -> pd.DataFrame:
    """Wall time of each step of the C code, a row a seed: `KEY`, ``seed``, ``step``, ``c_ms``.

    The compiled code reads the clock between the steps, in some 30 ns.
    """
    parts = [
        named(by_seed(summary, "cpu_c", f"{step}_ms", "steps"), "c_ms").assign(step=step)
        for step in STEPS
    ]
    return pd.concat(parts, ignore_index=True)


def speedups_of_steps(summary: pd.DataFrame, options: str = PRINTED) -> pd.DataFrame:
    """C time over CUDA time of each step and of the whole, medians over the seeds.

    Returns
    -------
    DataFrame
        `KEY`, ``step`` ("global" for the whole), ``cuda_ms``, ``c_ms``, ``speedup``; a step that
        does not run in one of the codes has no speedup.
    """
    keys, values = [*KEY, "seed", "step"], ["cuda_ms", "c_ms", "speedup"]
    both = step_times(summary, options).merge(c_step_times(summary), on=keys)
    ran = (both["cuda_ms"] > 0) & (both["c_ms"] > 0)
    both = both.assign(speedup=(both["c_ms"] / both["cuda_ms"]).where(ran))
    of_steps = both.groupby([*KEY, "step"], sort=False)[values].median().reset_index()
    whole = c_over_cuda(summary, options).assign(step="global").drop(columns="device")
    return pd.concat([of_steps, whole], ignore_index=True)


def step_speedups(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Table 3: C time over CUDA time of each step, for the range 0 to n."""
    printed = published("table3")[["n", "step", "speedup_cuda_over_c"]]
    printed = printed.rename(columns={"speedup_cuda_over_c": "published_speedup"})
    # Figure 11's shares of Table 1's totals: the CUDA time of a step in print, and so its C time.
    steps = published("fig11")[["n", "step", "derived_time_ms"]]
    printed = printed.merge(steps, on=["n", "step"], how="left")
    keys = [*KEY, "step"]
    tuned = speedups_of_steps(summary, "")[[*keys, "speedup"]]
    tuned = tuned.rename(columns={"speedup": "tuned_speedup"})
    measured = speedups_of_steps(summary).merge(tuned, on=keys, how="left")
    measured = measured.query("cost_range == 'n'").drop(columns="cost_range")
    table = order(beside(printed, measured, ["n", "step"]), by=("n",))
    table = table.assign(
        cuda_gain=table["derived_time_ms"] / table["cuda_ms"],
        c_gain=table["derived_time_ms"] * table["published_speedup"] / table["c_ms"],
    )
    return table[
        ["n", "step", "source", "published_speedup", "speedup", "tuned_speedup", "cuda_ms", "c_ms",
         "cuda_gain", "c_gain"]
    ]  # fmt: skip


def shares_by_seed(summary: pd.DataFrame, options: str = PRINTED) -> pd.DataFrame:
    """Return each step's share of the CUDA time in per cent, seed by seed, then the median."""
    rows = step_times(summary, options)
    whole = rows.groupby([*KEY, "seed"])["cuda_ms"].transform("sum")
    rows = rows.assign(share_pct=100 * rows["cuda_ms"] / whole)
    values = ["cuda_ms", "share_pct"]
    return rows.groupby([*KEY, "step"], sort=False)[values].median().reset_index()


def step_shares(label: str, figure: str) -> Callable[[pd.DataFrame, Published], pd.DataFrame]:
    """Figures 10 to 12: the share of each step in the CUDA time, for one cost range."""

    def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        printed = published(figure)[["n", "step", "time_share_pct", "derived_time_ms"]]
        printed = printed.rename(columns={"time_share_pct": "published_share_pct"})
        keys = [*KEY, "step"]
        tuned = shares_by_seed(summary, "")[[*keys, "share_pct"]]
        tuned = tuned.rename(columns={"share_pct": "tuned_share_pct"})
        measured = shares_by_seed(summary).merge(tuned, on=keys, how="left")
        measured = measured[measured["cost_range"] == label].drop(columns="cost_range")
        result = order(beside(printed, measured, ["n", "step"]), by=("n",))
        took = result["cuda_ms"].where(result["cuda_ms"] > 0)
        result = result.assign(step_gain=result["derived_time_ms"] / took)
        totals = result.groupby(["source", "n"])[["derived_time_ms", "cuda_ms"]].transform("sum")
        result = result.assign(run_gain=totals["derived_time_ms"] / totals["cuda_ms"])
        return result[
            ["n", "step", "source", "published_share_pct", "share_pct", "tuned_share_pct",
             "cuda_ms", "step_gain", "run_gain"]
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
    "paper": AS_PRINTED,
    "A": (*AS_PRINTED, ("step_4", "A")),
    "B": (*AS_PRINTED, ("step_4", "B")),
    "C": (*AS_PRINTED, ("step_4", "C")),
    "tuned": (),
    "tuned A": (("step_4", "A"),),
    "tuned B": (("step_4", "B"),),
    "tuned C": (("step_4", "C"),),
}
"""Kernels for step 4, as printed and in our configuration, by the options of their cells."""


def appendix_b(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """The kernels for step 4: run time, launches, and time over the paper's choice.

    Each is set beside the paper's choice in its own configuration.
    """
    keys, parts = [*KEY, "seed"], []
    for name, pairs in STEP_4.items():
        options = ",".join(f"{key}={value}" for key, value in pairs)
        part = by_seed(summary, "gpu", options=options).rename(columns={"value": "time_ms"})
        for counter in ("iterations_step_4", "iterations_step_3"):
            column = named(by_seed(summary, "gpu", counter, "answer", options), counter)
            part = part.merge(column, on=keys)
        own = "" if name.startswith("tuned") else PRINTED
        part = part.merge(named(by_seed(summary, "gpu", options=own), "choice_ms"), on=keys)
        parts.append(part.assign(step_4=name))
    table = pd.concat(parts, ignore_index=True)
    # Only instances on which an alternative ran as well.
    table = table[table.groupby(keys)["step_4"].transform("nunique") > 2]
    table = table.assign(over_choice=table["time_ms"] / table["choice_ms"])
    table = table.rename(columns={"iterations_step_4": "launches", "iterations_step_3": "searches"})
    values = ["time_ms", "over_choice", "launches", "searches"]
    table = table.groupby([*KEY, "device", "step_4"], sort=False)[values].median().reset_index()
    return order(table)[
        ["n", "cost_range", "source", "device", "step_4", "time_ms", "over_choice", "launches",
         "searches"]
    ]  # fmt: skip


AUTHORS = {"managed": "configuration=released", "copied": PRINTED}
"""The authors' program by its flags, and our configuration that has them so."""


def authors_code(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Our kernels beside the authors' CUDA C++ on one card model, seed by seed, then the median.

    The program is measured as released, with its flags in managed memory, and with flags that the
    host copies; beside each stands our configuration that has them so, and ours last. Print's times
    are those of another card, and of a program whose flags the paper does not describe.
    """
    keys = [*KEY, "seed"]
    table = named(by_seed(summary, "gpu"), "tuned_ms", "device")
    authors = published("authors_code_h200")
    for flags, options in AUTHORS.items():
        theirs = authors[authors["flags"] == flags]
        theirs = theirs.groupby(["n", "cost_range", "seed"])["solve_ms"].median()
        theirs = theirs.rename(f"published_{flags}_ms").reset_index()
        table = table.merge(theirs, on=["n", "cost_range", "seed"])
        table = table.merge(named(by_seed(summary, "gpu", options=options), f"{flags}_ms"), on=keys)
        ratio = table[f"{flags}_ms"] / table[f"published_{flags}_ms"]
        table = table.assign(**{f"{flags}_over_authors": ratio})
    table = table.assign(
        tuned_over_authors=table["tuned_ms"] / table["published_managed_ms"], seeds=1
    )
    values = [name for name in table if name.endswith(("_ms", "_over_authors"))]
    grouped = table.groupby([*KEY, "device"], sort=False)
    result = grouped[values].median().join(grouped[["seeds"]].sum()).reset_index()
    printed = printed_cards(published)[[*BY, "published_gtx970_ms"]]
    result = order(result.merge(printed, on=list(BY), how="left"))
    return result[
        ["n", "cost_range", "source", "device", "seeds", "published_gtx970_ms",
         "published_managed_ms", "managed_ms", "managed_over_authors", "published_copied_ms",
         "copied_ms", "copied_over_authors", "tuned_ms", "tuned_over_authors"]
    ]  # fmt: skip


def device_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Device time of each kernel over a whole run, medians over the seeds (a GPU only)."""
    rows = summary[
        (summary["solver"] == "lopes2019:gpu")
        & summary["options"].isin(["", PRINTED])
        & (summary["scope"] == "kernels")
        & (summary["family"] == "uniform")
    ].rename(columns={"label": "cost_range"})
    rows = rows.assign(configuration=rows["options"].map({"": "tuned", PRINTED: "paper"}))
    keys = ["n", "cost_range", "source", "device", "configuration", "seed"]
    parts = {}
    for suffix, name in (("_ms", "device_ms"), ("_launches", "launches")):
        mine = rows[rows["metric"].str.endswith(suffix) & (rows["metric"] != "time_ms")]
        mine = mine.assign(kernel=mine["metric"].str.removesuffix(suffix))
        parts[name] = mine.rename(columns={"median": name})[[*keys, "kernel", name]]
    table = parts["launches"].merge(parts["device_ms"], on=[*keys, "kernel"])
    table = table.assign(us_a_launch=1e3 * table["device_ms"] / table["launches"])
    of = ["n", "cost_range", "source", "device", "configuration", "kernel"]
    values = ["launches", "device_ms", "us_a_launch"]
    table = table.groupby(of, sort=False)[values].median().reset_index()
    table = table.sort_values("device_ms", ascending=False, kind="stable")
    return order(table)[
        ["n", "cost_range", "source", "device", "configuration", "kernel", "launches", "device_ms",
         "us_a_launch"]
    ]  # fmt: skip


def photos(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """The colour rearrangement: cost and time by solver."""
    parts = []
    for solver in ("gpu", "cpu_sp", "datenagi2016:tree"):
        time = named(medians(summary, solver, family="colours"), "time_ms", "device")
        cost = named(medians(summary, solver, "cost", "answer", family="colours"), "cost")
        parts.append(time.merge(cost, on=KEY).assign(solver=solver))
    table = order(pd.concat(parts, ignore_index=True))
    table = table.rename(columns={"cost_range": "pictures"})
    return table[["n", "pictures", "source", "device", "solver", "time_ms", "cost"]]
