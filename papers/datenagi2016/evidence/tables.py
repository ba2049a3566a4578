"""The paper's tables: our measurements beside the published numbers.

Every function takes the run's summary (one row a cell and metric, see
`papers.reproduce.run.measurements`) and the loader of the published numbers, and returns a tidy
table with both side by side. Rows of the present run and of every recorded run stand below each
other, with their ``source``. Times of this paper are in seconds, as it prints them.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, fields
from functools import partial

import pandas as pd

from papers.common.evidence import comparisons, tables
from papers.common.evidence.tables import KEY, Published, beside, beside_authors, joined, median
from papers.common.gpu.device import EXECUTOR_NAME
from papers.datenagi2016.bands import BANDS, name_of
from papers.datenagi2016.evidence.theory import OVER_N, ZETA_2, Theory, theory

LABELS = ("0.1n", "n", "10n")
"""The paper's cost ranges, in its order."""

SOLVERS = {
    "OMP-1": ("cpu_omp", "threads=1"),
    "OMP-8": ("cpu_omp", "threads=8"),
    "CU-CLASS": ("classical", "configuration=paper"),
    "CU-TREE": ("tree", "configuration=paper"),
    "tuned CU-CLASS": ("classical", ""),
    "tuned CU-TREE": ("tree", ""),
}
"""Our solvers and their options, by the paper's names: as printed, and beside them as tuned here.

Print is compared with the codes as printed alone."""

THREADS = re.compile(r"threads=(?!1$)\d+")
"""Options of OMP-8's cells: eight threads, fewer on a machine with fewer cores."""

GPU = ("CU-CLASS", "CU-TREE")
OURS = ("tuned CU-CLASS", "tuned CU-TREE")
KERNELS = (*GPU, *OURS)
STEPS: dict[str, tuple[str, ...]] = {
    "CU-CLASS": (
        "initial_reduction", "optimality_check", "matrix_compression", "forward_pass",
        "reverse_pass", "augmentation", "dual_update",
    ),
}  # fmt: skip
STEPS["CU-TREE"] = STEPS["OMP-8"] = tuple(s for s in STEPS["CU-CLASS"] if s[0] != "m")
STEPS |= {name: STEPS[name.removeprefix("tuned ")] for name in OURS}
"""The steps of each solver; only the classical one compresses the matrix."""

order = partial(tables.order, ranked={"cost_range": LABELS, "solver": tuple(SOLVERS)})
"""Sort as the paper does: sizes up, ranges 0.1n, n, 10n, its codes as in Table 1."""

# ------------------------------------------------------------------------------- from a summary


def by_seed(
    summary: pd.DataFrame, name: str, metric: str = "time_ms", scope: str = "run"
) -> pd.DataFrame:
    """Return one metric of one solver, by the paper's name; see `by_seed`."""
    solver, options = SOLVERS[name]
    chosen = THREADS if name == "OMP-8" else options
    return tables.by_seed(summary, f"datenagi2016:{solver}", metric, scope, chosen)


def counted(summary: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return a counter that all solvers share, a row an instance, from the first that has it.

    The experiment `counts` shows that they share it.
    """
    solvers = (*OURS[::-1], *GPU[::-1], "OMP-8", "OMP-1")
    rows = pd.concat([by_seed(summary, name, metric, "answer") for name in solvers])
    return rows.drop_duplicates([*KEY, "seed"]).drop(columns="device")


def spread(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Reduce `counted` over its instances to ``seeds``, `name` (the mean), ``min`` and ``max``."""
    grouped = rows.groupby(KEY, sort=False)["value"]
    table = grouped.agg(["size", "mean", "min", "max"]).reset_index()
    return table.rename(columns={"size": "seeds", "mean": name})


# ------------------------------------------------------------------------------- by instance

PAIRS = {
    "OMP-1": "OMP-8", "OMP-8": "CU-CLASS", "CU-TREE": "CU-CLASS",
    "tuned CU-TREE": "tuned CU-CLASS",
}  # fmt: skip
"""The codes whose times are divided: the key's over the value's, on the same instance."""


def _seconds(summary: pd.DataFrame, name: str, scope: str) -> pd.DataFrame:
    """Return one code's seconds, a row an instance; a CPU code's clock is always its run.

    Where a code was measured by step alone, its run is the sum of the steps.
    """
    rows = by_seed(summary, name, scope=scope if name in KERNELS else "run")
    if name not in STEPS or (name in KERNELS and scope != "run"):
        return rows.assign(value=rows["value"] / 1e3)
    steps = [by_seed(summary, name, f"{step}_ms", "steps") for step in STEPS[name]]
    keys = [*KEY, "device", "seed"]
    sums = pd.concat(steps).groupby(keys, sort=False)["value"].sum().reset_index()
    rows = pd.concat([rows, sums]).drop_duplicates(keys)
    return rows.assign(value=rows["value"] / 1e3)


def over(summary: pd.DataFrame, slow: str, fast: str) -> pd.DataFrame:
    """Return one code's time over another's, seed by seed, then the median over the seeds.

    Host to host as in print where both have that clock on a seed, else the runs.

    Returns
    -------
    DataFrame
        `KEY`, ``solver`` (the first code), ``over`` (the second) and ``measured_over``.
    """
    mine = f"datenagi2016:{SOLVERS[slow][0]}", f"datenagi2016:{SOLVERS[fast][0]}"
    summary = summary[summary["solver"].isin(mine)]
    found = []
    for scope in ("end_to_end", "run"):
        both = [_seconds(summary, name, scope).drop(columns="device") for name in (slow, fast)]
        pairs = both[0].merge(both[1], on=[*KEY, "seed"], suffixes=("", "_fast"))
        pairs = pairs.assign(measured_over=pairs["value"] / pairs["value_fast"])
        found.append(pairs.groupby(KEY, sort=False)["measured_over"].median().reset_index())
    table = pd.concat(found).drop_duplicates(KEY)
    return table.assign(solver=slow, over=fast)


def with_ratios(
    table: pd.DataFrame, summary: pd.DataFrame, printed: pd.DataFrame, on: list[str], seconds: str
) -> pd.DataFrame:
    """Add to each code of `PAIRS` its time over its partner's, printed and measured.

    Parameters
    ----------
    table : DataFrame
        Columns `on`, ``solver``, ``source``.
    printed : DataFrame
        Columns `on`, ``solver`` and `seconds`, the printed times.
    """
    columns = [*on, "solver", "over", "published_over"]
    theirs = []
    for slow, fast in PAIRS.items():
        pair = [printed[printed["solver"] == name][[*on, seconds]] for name in (slow, fast)]
        both = pair[0].merge(pair[1], on=on, suffixes=("", "_fast"))
        both = both.assign(published_over=both[seconds] / both[f"{seconds}_fast"])
        theirs.append(both.assign(solver=slow, over=fast)[columns])
        if slow in GPU and fast in GPU:  # Print's ratio stands beside ours, too.
            ours_too = {"solver": f"tuned {slow}", "over": f"tuned {fast}"}
            theirs.append(both.assign(**ours_too)[columns])
    ours = pd.concat([over(summary, slow, fast) for slow, fast in PAIRS.items()])
    ours = ours[
        ours["cost_range"].isin(LABELS) if "cost_range" in on else ours["cost_range"] == "n"
    ]
    table = table.merge(pd.concat(theirs), on=[*on, "solver"], how="left")
    return table.merge(
        ours[["source", *on, "solver", "measured_over"]], on=["source", *on, "solver"], how="left"
    )


def shared_seconds(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the median run of each code over the seeds that all codes of a row have solved.

    Returns
    -------
    DataFrame
        `KEY`, ``solver``, ``shared_s``.
    """
    rows = pd.concat([_seconds(summary, name, "run").assign(solver=name) for name in STEPS])
    codes = rows.groupby([*KEY, "seed"], sort=False)["solver"].transform("nunique")
    most = codes.groupby([rows[key] for key in KEY], sort=False).transform("max")
    grouped = rows[codes == most].groupby([*KEY, "solver"], sort=False)["value"]
    return grouped.median().rename("shared_s").reset_index()


# ------------------------------------------------------------------------------- Table 1, Figure 2


def run_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table 1 (and Figure 2): times of four codes for the range 0 to n, in seconds.

    ``total_s`` covers the same as the paper's times: host to host on a GPU, the run on a CPU.
    """
    printed = published("table1")[["n", "solver", "time_s"]]
    printed = printed.rename(columns={"time_s": "published_s"})
    parts = []
    for name in SOLVERS:
        run = median(by_seed(summary, name), "run_s", ["device"], 1e-3)
        whole = median(by_seed(summary, name, scope="end_to_end"), "total_s", ["device"], 1e-3)
        if name not in KERNELS:
            whole = run.rename(columns={"run_s": "total_s"})
        threads = median(by_seed(summary, name, "threads", "answer"), "threads", ["device"])
        part = run.merge(whole, on=[*KEY, "device"], how="outer")
        parts.append(part.merge(threads, on=[*KEY, "device"], how="left").assign(solver=name))
    measured = pd.concat(parts, ignore_index=True).query("cost_range == 'n'")
    sizes = set(printed["n"])
    kernels = measured["solver"].isin(KERNELS) & (measured["device"] == EXECUTOR_NAME)
    # Sizes of Table 3 and of the authors' codes are shown in their own tables.
    measured = measured[measured["n"].isin(sizes) | kernels]
    table = beside(printed, measured, ["n", "solver"])
    table = with_ratios(table, summary, printed, ["n"], "published_s")
    table = order(table, by=("n", "solver"))
    return table[
        ["n", "solver", "source", "device", "threads", "published_s", "total_s", "run_s", "over",
         "published_over", "measured_over"]
    ]  # fmt: skip


# ------------------------------------------------------------------------------- Table 2

COUNTED_BY = {
    "forward pass": ("CU-TREE", "passes"),
    "dual update": ("CU-TREE", "assignments"),
    "forward pass, tuned": ("tuned CU-TREE", "passes"),
}
"""The ways to count iterations: the code that is counted, and the prefix of its counters."""


def bands(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table 2: assignments by iteration band for the range 0 to n, over all instances.

    The paper does not define an iteration. Forward passes after the first maximum matching of the
    zeros, to which its loop returns, give its numbers; dual updates give fewer and fuller bands.
    """
    printed = published("table2").rename(columns={"assignments": "published"})
    printed = printed.assign(
        band=[
            stage if stage == "initial" else f"{first:.0f}-{last:.0f}"
            for stage, first, last in zip(
                printed["stage"], printed["iteration_from"], printed["iteration_to"], strict=True
            )
        ]
    )[["n", "band", "published"]]
    answers = summary[summary["scope"] == "answer"]
    initial = spread(counted(answers, "initial_assignments"), "mean")
    parts = [initial.assign(band="initial", place=0, counted_by="")]
    for by, (name, prefix) in COUNTED_BY.items():
        for place, (first, last) in enumerate(BANDS, 1):
            metric = name_of(prefix, first, last)
            part = spread(by_seed(answers, name, metric, "answer"), "mean")
            band = f"{first}-{last}" if last else f"{first} up"
            parts.append(part.assign(band=band, place=place, counted_by=by))
    measured = pd.concat(parts, ignore_index=True).query("cost_range == 'n'")
    wanted = measured["n"].isin(set(printed["n"]))
    measured = measured[wanted & ((measured["max"] > 0) | (measured["place"] == 0))]
    table = beside(printed, measured, ["n", "band"])
    # A band that no instance reached has no row; print may still have one.
    table = order(table, by=("n", "counted_by", "place"))
    return table[["n", "band", "counted_by", "source", "published", "mean", "min", "max", "seeds"]]


# ------------------------------------------------------------------------------- counts in 1 to 3


def initial(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the assignments before the first dual update, in Tables 2 and 3."""
    second = published("table2").query("stage == 'initial'")
    second = second.assign(cost_range="n", table="Table 2").rename(columns={"assignments": "mean"})
    third = published("table3").rename(columns={"initial_assignments_mean": "mean"})
    third = third.drop_duplicates(["n", "cost_range"]).assign(table="Table 3")
    printed = pd.concat([second, third], ignore_index=True)
    printed = printed.rename(columns={"mean": "published"})[
        ["n", "cost_range", "table", "published"]
    ]
    measured = spread(counted(summary, "initial_assignments"), "measured")
    table = order(beside(printed, measured, ["n", "cost_range"]))
    table = table.assign(share_pct=100 * table["measured"] / table["n"])
    return table[
        ["n", "cost_range", "source", "table", "published", "measured", "min", "max", "seeds",
         "share_pct"]
    ]  # fmt: skip


def objectives(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the objectives of Tables 1 and 3 beside ours and the bounds of theory."""
    columns = ["n", "cost_range", "objective_mean"]
    printed = pd.concat(
        [
            published(name)[columns].drop_duplicates().assign(table=f"Table {name[-1]}")
            for name in ("table1", "table3")
        ],
        ignore_index=True,
    ).rename(columns={"objective_mean": "published"})
    measured = spread(counted(summary, "cost"), "measured")
    measured = measured[measured["cost_range"].isin(LABELS)]
    table = order(beside(printed, measured, ["n", "cost_range"]))
    limits = [
        asdict(theory(n, OVER_N[label]))
        for n, label in zip(table["n"], table["cost_range"], strict=True)
    ]
    names = [field.name for field in fields(Theory)]
    table = pd.concat([table, pd.DataFrame(limits, columns=names)], axis=1)
    return table[
        ["n", "cost_range", "source", "table", "published", "measured", "min", "max", "seeds",
         *names]
    ]  # fmt: skip


COUNTERS = ("dual_updates", "forward_passes", "bfs_levels", "augmentations", "kernel_launches")
SHARED = ("cost", "initial_assignments", "dual_updates")
"""Counters that do not depend on the solver.

Before a dual update the matching of the zeros is maximum, and the lines that can be reached from
the free rows are the same for every maximum matching.
"""


def counts(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the work by solver, as means over the instances that several solvers have solved.

    ``instances`` is their number, ``alike`` the number of those on which the solver shares `SHARED`
    with all others.
    """
    keys = [*KEY, "seed"]
    parts = []
    for name in SOLVERS:
        names = dict.fromkeys((*SHARED, *COUNTERS))
        columns = {counter: by_seed(summary, name, counter, "answer") for counter in names}
        parts.append(joined(columns).assign(solver=name))
    table = pd.concat(parts, ignore_index=True)
    groups = table.groupby(keys, sort=False)
    table = table.assign(
        alike=(groups[list(SHARED)].transform("nunique") == 1).all(axis=1), instances=1
    )[groups["solver"].transform("nunique") > 1]
    means = table.groupby([*KEY, "solver"], sort=False)[list(COUNTERS)].mean()
    sums = table.groupby([*KEY, "solver"], sort=False)[["instances", "alike"]].sum()
    found = order(means.join(sums).reset_index(), by=("n", "cost_range", "solver"))
    return found[["n", "cost_range", "source", "solver", "instances", "alike", *COUNTERS]]


# ------------------------------------------------------------------------------- Table 3, Figure 3

SHOWN = ("matrix_compression", "forward_pass", "dual_update")


def _step_seconds(summary: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return seconds of the steps that print shows and of all steps, as medians over the seeds."""
    keys = [*KEY, "device", "seed"]
    table = pd.DataFrame(columns=keys)
    for step in STEPS[name]:
        column = by_seed(summary, name, f"{step}_ms", "steps").rename(columns={"value": step})
        table = column if table.empty else table.merge(column, on=keys, how="outer")
    steps = list(STEPS[name])
    table = table.reindex(columns=[*keys, *steps])
    table = table.assign(all_steps=table[steps].sum(axis=1))
    values = table.groupby([*KEY, "device"], sort=False)[[*steps, "all_steps"]].median() / 1e3
    return values.reset_index().assign(solver=name)


def step_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table 3: times of the large instances by step, in seconds.

    ``total_s`` is the run without a clock in it; for OMP-8 from n = 10000 it is the sum of the
    steps, which compiled code times. ``end_to_end_s`` adds upload and download, as print does.
    """
    keys = ["n", "cost_range", "solver"]
    printed = published("table3").pivot_table(index=keys, columns="step", values="time_s")
    printed = printed.add_prefix("published_").add_suffix("_s").reset_index()
    parts = []
    for name in STEPS:
        part = _step_seconds(summary, name)
        for column, scope in (("run_s", "run"), ("end_to_end_s", "end_to_end")):
            extra = median(by_seed(summary, name, scope=scope), column, ["device"], 1e-3)
            part = part.merge(extra, on=[*KEY, "device"], how="left")
        threads = median(by_seed(summary, name, "threads", "answer"), "threads", ["device"])
        parts.append(part.merge(threads, on=[*KEY, "device"], how="left"))
    measured = pd.concat([part for part in parts if not part.empty] or parts, ignore_index=True)
    measured = measured.assign(total_s=measured["run_s"].fillna(measured["all_steps"]))
    measured = measured.rename(columns={step: f"{step}_s" for step in SHOWN})
    table = beside(printed, measured, keys)
    table = with_ratios(table, summary, printed, ["n", "cost_range"], "published_total_s")
    table = table.merge(shared_seconds(summary), on=[*KEY, "solver"], how="left")
    table = order(table, by=("n", "cost_range", "solver"))
    table = table.reindex(columns=[*table.columns, *{f"{s}_s" for s in SHOWN} - {*table.columns}])
    pairs = [f"{kind}{step}_s" for step in (*SHOWN, "total") for kind in ("published_", "")]
    return table[
        ["n", "cost_range", "solver", "source", "device", "threads", *pairs, "end_to_end_s",
         "shared_s", "over", "published_over", "measured_over"]
    ]  # fmt: skip


def step_shares(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 3: shares of the steps in the time, at n = 20000 or the largest n that was run.

    Print's "other" includes copies and set-up, ours only the remaining steps. Therefore the shares
    of the three named steps alone stand beside them (``_of_three``).
    """
    keys = ["n", "cost_range", "solver", "step"]
    printed = published("fig03").rename(columns={"time_share_pct": "published_share_pct"})
    parts = [_step_seconds(summary, name) for name in KERNELS]
    measured = pd.concat([p for p in parts if not p.empty] or parts, ignore_index=True)
    measured = measured.query("cost_range in ('n', '10n')")
    largest = measured.groupby("source")["n"].transform("max")
    measured = measured[measured["n"] == largest]
    steps = list(STEPS["CU-CLASS"])
    whole = measured.reindex(columns=steps).fillna(0.0)
    shares = 100 * whole.div(whole.sum(axis=1), axis=0)
    shares = shares[list(SHOWN)].assign(other=shares.drop(columns=list(SHOWN)).sum(axis=1))
    shares = shares.join(measured[[*KEY, "solver"]])
    long = shares.melt([*KEY, "solver"], var_name="step", value_name="share_pct")
    long = long[long["solver"].str.endswith("CU-CLASS") | (long["step"] != "matrix_compression")]
    table = beside(printed[[*keys, "published_share_pct"]], long, keys)
    for column in ("published_share_pct", "share_pct"):
        named = table[column].where(table["step"] != "other")
        total = named.groupby([table[k] for k in [*KEY, "solver"]]).transform("sum")
        table[column.replace("_pct", "_of_three_pct")] = 100 * named / total.where(total > 0)
    table = order(table, by=("n", "cost_range", "solver"))
    return table[
        [*keys, "source", "published_share_pct", "share_pct", "published_share_of_three_pct",
         "share_of_three_pct"]
    ]  # fmt: skip


# ------------------------------------------------------------------------------- our own

CARDS = {"6 GB": 6e9, "80 GB": 80e9}
PRINTED_LIMITS = {"CU-CLASS": "DN-d", "CU-TREE": "DN-e"}
"""The text claims that the classical variant fails from 24000 on, and the tree reaches 35000."""

# The classical variant's pointers into its list of zeros are int32, and n * n must fit. It is
# `solver.MAX_SIZE`, written again because the solver loads Numba, which tables do without.
LARGEST = {"CU-CLASS": 46340}
"""The largest orders, which more memory does not raise."""


def largest_order(state_bytes: float, n: int, exponent: float, memory: float) -> int:
    """Return the largest order that fits, with int32 costs and a state like ``n ** exponent``."""
    low, high = 0, 1 << 22
    while low + 1 < high:
        middle = (low + high) // 2
        needed = 4 * middle**2 + state_bytes * (middle / n) ** exponent
        low, high = (middle, high) if needed <= memory else (low, middle)
    return low


def memory(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the device memory besides the costs, and the largest orders on two cards.

    The orders are extrapolated, and none is above `LARGEST`.
    """
    claims = published("text_claims").set_index("id")["value"].astype(float)
    rows = []
    for name in KERNELS:
        state = by_seed(summary, name, "state_bytes", "answer")
        state = state.groupby([*KEY, "device"], sort=False)["value"].max().reset_index()
        for (source, label, device), part in state.groupby(["source", "cost_range", "device"]):
            sizes = part.sort_values("n")
            n, used = int(sizes["n"].iloc[-1]), float(sizes["value"].iloc[-1])
            upper = sizes[sizes["n"] >= n / 4]
            exponent = comparisons.slope(list(upper["n"]), list(upper["value"]))
            exponent = 1.0 if exponent is None else min(max(exponent, 1.0), 2.0)
            most = LARGEST.get(name.removeprefix("tuned "), math.inf)
            printed = claims[PRINTED_LIMITS[name]] if name in PRINTED_LIMITS else math.nan
            limits = {
                f"largest_n_{card.replace(' ', '').lower()}": min(
                    largest_order(used, n, exponent, size), most
                )
                for card, size in CARDS.items()
            }
            rows.append(
                {
                    "n": n, "cost_range": label, "solver": name, "source": source,
                    "device": device, "state_bytes": used, "bytes_per_row": used / n,
                    "over_costs": used / (4 * n * n), "exponent": exponent,
                    "published_limit_6gb": printed, **limits,
                }
            )  # fmt: skip
    table = pd.DataFrame(rows)
    return table if table.empty else order(table, by=("solver", "cost_range"))


def large(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the instance drawn on the device: time, cost beside theory, proof."""
    rows = summary[(summary["family"] == "uniform") & (summary["storage"] == "device")]
    # The counts of larger orders are taken from matrices drawn there, too, of another range.
    rows = rows[(rows["solver"] == "datenagi2016:tree") & (rows["label"] == "n")]
    found = []
    for (source, device, n, seed), part in rows.groupby(["source", "device", "n", "seed"]):
        values = part.set_index(["scope", "metric"])["median"]
        limits = theory(int(n), OVER_N["n"])
        found.append(
            {
                "n": n, "seed": seed, "source": source, "device": device,
                "run_s": values.get(("run", "time_ms"), math.nan) / 1e3,
                "cost": values.get(("answer", "cost"), math.nan),
                "theory_low": limits.theory_low, "theory_high": limits.theory_high,
                "initial_assignments": values.get(("answer", "initial_assignments"), math.nan),
                "dual_updates": values.get(("answer", "dual_updates"), math.nan),
                "state_bytes": values.get(("answer", "state_bytes"), math.nan),
                "certificate": part["certificate"].iloc[0],
            }
        )  # fmt: skip
    return pd.DataFrame(found)


def doubles(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return doubles with small gaps: time, dual updates, cost beside Aldous's limit, proof."""
    names = {f"datenagi2016:{SOLVERS[name][0]}": name for name in OURS}
    rows = summary[(summary["family"] == "uniform_double") & summary["solver"].isin(names)]
    rows = rows[rows["options"] == ""]
    # Other papers measure these solvers, too, on ranges that are no number ("1000n").
    rows = rows[pd.to_numeric(rows["label"], errors="coerce").notna()]
    found = []
    keys = ["source", "device", "solver", "n", "label", "seed"]
    for (source, device, solver, n, label, seed), part in rows.groupby(keys, sort=False):
        values = part.set_index(["scope", "metric"])["median"]
        found.append(
            {
                "n": n, "cost_range": f"[0, {label})", "seed": seed, "solver": names.get(solver),
                "source": source, "device": device,
                "run_s": values.get(("run", "time_ms"), math.nan) / 1e3,
                "dual_updates": values.get(("answer", "dual_updates"), math.nan),
                "cost": values.get(("answer", "cost"), math.nan),
                "zeta_2_times_range": ZETA_2 * float(label),
                "certificate": part["certificate"].iloc[0],
            }
        )  # fmt: skip
    return pd.DataFrame(found)


PEERS = {"CU-CLASS": "datenagi-classical", "CU-TREE": "culap-tree"}
"""The authors' codes, by the paper's names of their variants."""

AUTHORS = ("authors_code_h100", "authors_code_h200")
"""The CSVs of the authors' times, a card each: times of two cards never stand in one row."""


def authors_code(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return our kernels beside the authors' CUDA C++ on the same card: medians over the seeds."""
    theirs = pd.concat([published(name) for name in AUTHORS], ignore_index=True)
    parts = []
    for name in KERNELS:
        ours = by_seed(summary, name)
        peer = theirs[theirs["peer"] == PEERS[name.removeprefix("tuned ")]]
        for card, rows in peer.groupby("device", sort=False):
            here = ours[ours["device"] == card]
            parts.append(beside_authors(here, rows).assign(solver=name))
    table = order(pd.concat(parts, ignore_index=True), by=("solver", "n", "cost_range"))
    return table[
        ["solver", "n", "cost_range", "source", "device", "seeds", "published_authors_ms",
         "measured_ms", "ours_over_authors"]
    ]  # fmt: skip
