"""The report's tables: our measurements beside the published numbers.

Every function takes the run's summary (one row a cell and metric, see
`papers.reproduce.run.measurements`) and the loader of the published numbers, and returns a tidy
table with both side by side. Rows of the present run and of every recorded run stand below each
other, with their ``source``. Times are in milliseconds, as the report prints them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import tables
from papers.common.evidence.tables import (
    KEY,
    NOT_MEASURED,
    Published,
    beside,
    beside_authors,
    joined,
    median,
    named,
)
from papers.common.gpu.device import EXECUTOR_NAME
from papers.kawtikwar_opts.evidence import counter as price
from papers.kawtikwar_opts.evidence import statements as sentences
from papers.kawtikwar_opts.evidence.codes import (
    DOUBLES,
    HOST_LOOP,
    LABELS,
    LAP19,
    ONE_LAUNCH,
    PRINTED,
    VERSIONS,
    by_seed,
)

FIG_1 = {"CPU": "kawtikwar_opts:cpu_lp", "LAP16": "datenagi2016:tree",
         "LAP19": "kawtikwar_opts:baseline"}  # fmt: skip
"""Our solvers, by the report's names in Fig. 1."""

FIG_1_CLOCK = {"CPU": ("end_to_end", ""), "LAP16": ("end_to_end", ""), "LAP19": ("run", PRINTED)}
"""Their clocks and options. LAP19 is the baseline, and print's figures of it are Table II's."""

NCU = ("measured", "no GPU", "no ncu on the path", "not permitted", "failed")
"""The meanings of the counter ``ncu_status``, by place."""

NCU_SAYS = {
    "no GPU": "not measured: no GPU",
    "no ncu on the path": "not measured: no ncu on the path",
    "not permitted": "not measured: ncu may not read the counters here (ERR_NVGPUCTRPERM)",
    "failed": "not measured: ncu failed",
}

NCU_KERNELS = {
    "opt0": ("step_6_add_sub", "compress_matrix"),
    "opt1": ("add_sub_compress_matrix",),
    **{version: ("hungarian",) for version in ONE_LAUNCH},
}
"""The kernels that Nsight Compute profiles, by version [K21 Table I]."""

METRICS = ("l1_hit_rate", "compute_throughput", "memory_throughput")

order = partial(
    tables.order, ranked={"cost_range": LABELS, "version": VERSIONS, "solver": tuple(FIG_1)}
)


def printed_sizes(table: pd.DataFrame, sizes: Iterable[int]) -> pd.DataFrame:
    """Leave out sizes that the report lacks, except those of the CPU executor."""
    return table[table["n"].isin(set(sizes)) | (table["device"] == EXECUTOR_NAME)]


# ------------------------------------------------------------------------------- Figure 1


def fig_1(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 1: end-to-end times of the CPU, LAP16 and LAP19; print's finer right panel."""
    printed = published("fig01")
    printed = printed[printed["panel"].str.startswith("right")]
    printed = printed.rename(columns={"time_ms": "published_ms"})[["n", "solver", "published_ms"]]
    parts = []
    for name, solver in FIG_1.items():
        rows = tables.by_seed(summary, solver, "time_ms", *FIG_1_CLOCK[name], DOUBLES)
        part = median(rows, "measured_ms", ["device"]).assign(solver=name)
        if name != "CPU":
            part = printed_sizes(part, printed["n"])
        parts.append(part)
    measured = pd.concat(parts, ignore_index=True).merge(
        _over_lap19(summary), on=["source", "n", "solver"], how="left"
    )
    table = order(beside(printed, measured, ["n", "solver"]), by=("n", "solver"))
    return table[["n", "solver", "source", "device", "published_ms", "measured_ms", "over_lap19"]]


def _over_lap19(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the times of Figure 1 over LAP19's, seed by seed, then the median."""
    rows = {
        name: tables.by_seed(summary, solver, "time_ms", *FIG_1_CLOCK[name], DOUBLES)
        for name, solver in FIG_1.items()
    }
    parts = [
        tables.over(mine, rows["LAP19"], "over_lap19").assign(solver=name)
        for name, mine in rows.items()
    ]
    return pd.concat(parts, ignore_index=True).drop(columns="cost_range")


# ------------------------------------------------------------------------------- Tables II, III


CLOCKED = {
    "measured_ms": ("run", PRINTED),
    "tuned_ms": ("run", ""),
    "graph_ms": ("run", "host=graph"),
    "end_to_end_ms": ("end_to_end", ""),
}
"""Clock and options of each column of times: the report's configuration, ours, ours with a CUDA
graph for each straight run of launches, and ours with upload and download."""


def _times(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the times of all versions on the report's instances."""
    parts = []
    for version in VERSIONS:
        part: pd.DataFrame | None = None
        for name, (scope, options) in CLOCKED.items():
            rows = by_seed(summary, version, scope=scope, options=options)
            column = median(rows, name, ["device"])
            part = column if part is None else part.merge(column, on=[*KEY, "device"], how="outer")
        assert part is not None, "four clocks"
        parts.append(part.assign(version=version))
    found = pd.concat(parts, ignore_index=True)
    return found[found[["measured_ms", "tuned_ms"]].notna().any(axis=1)]


def run_times(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table II and Figure 6: time and gain over the version before.

    ``measured_ms`` is as printed, the costs on the device; the others are `CLOCKED`'s.
    """
    printed = published("table2").rename(
        columns={"time_ms": "published_ms", "incremental_delta_ms": "published_delta_ms"}
    )[["n", "version", "published_ms", "published_delta_ms"]]
    measured = printed_sizes(_times(summary), printed["n"])
    table = order(beside(printed, measured, ["n", "version"]), by=("n", "version"))
    before = _previous(table, "measured_ms")
    table = table.assign(delta_ms=before - table["measured_ms"])
    return table[
        ["n", "version", "source", "device", "published_ms", "measured_ms", "published_delta_ms",
         "delta_ms", "tuned_ms", "graph_ms", "end_to_end_ms"]
    ]  # fmt: skip


def _previous(table: pd.DataFrame, column: str, of: str = "") -> pd.Series:
    """Return `column` of the version before (or of version `of`), same source, device and size."""
    keys = ["source", "device", "n"]
    values = table.set_index([*keys, "version"])[column].to_dict()
    before = dict((later, earlier) for earlier, later in pairwise(VERSIONS))
    found = [
        values.get((row.source, row.device, row.n, of or before.get(row.version, "")), math.nan)
        for row in table.itertuples(index=False)
    ]
    return pd.Series(found, index=table.index, dtype=float)


def speedups(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table III: speedup over the version before, and over the baseline.

    ``incremental`` and ``total`` are as printed, ``tuned_...`` ours. ``total_by_zero`` follows
    from what a zero costs the baseline by the clock of its kernels (`evidence.counter`).
    """
    printed = published("table3").rename(
        columns={
            "incremental_speedup": "published_incremental",
            "total_speedup": "published_total",
        }
    )[["n", "version", "published_incremental", "published_total"]]
    summary = summary[summary["family"] == DOUBLES]
    times = run_times(summary, published)
    measured = times[times["source"] != NOT_MEASURED]
    measured = measured[measured["version"] != "baseline"][["n", "version", "source", "device"]]
    measured = measured.merge(_ratios(summary), on=["source", "n", "version"], how="left")
    expected = price.expected(summary, published)
    measured = measured.merge(expected, on=["source", "n", "version"], how="left")
    table = order(beside(printed, measured, ["n", "version"]), by=("n", "version"))
    return table[
        ["n", "version", "source", "device", "published_incremental", "incremental",
         "tuned_incremental", "published_total", "total", "tuned_total", "us_a_zero",
         "total_by_zero"]
    ]  # fmt: skip


def _ratios(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the speedups of all versions: seed by seed, then the median over the seeds."""
    rows = {
        (version, options): by_seed(summary, version, options=options)
        for version in VERSIONS
        for options in (PRINTED, "")
    }
    parts = []
    for before, version in pairwise(VERSIONS):
        part: pd.DataFrame | None = None
        for prefix, options in (("", PRINTED), ("tuned_", "")):
            for name, of in (("incremental", before), ("total", "baseline")):
                ratio = tables.over(rows[of, options], rows[version, options], prefix + name)
                part = ratio if part is None else part.merge(ratio, on=KEY, how="outer")
        assert part is not None, "four ratios"
        parts.append(part.assign(version=version))
    return pd.concat(parts, ignore_index=True).drop(columns="cost_range")


def statements(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the figures behind the statements about Tables II and III, as printed."""
    mine = summary[summary["family"] == DOUBLES]
    return sentences.table(run_times(mine, published), published)


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean; NaN if there are no values."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


# ------------------------------------------------------------------------------- Figures 2 to 4

KERNELS = {
    "step_6_reduction_1": "min_reduce_kernel1",
    "compress_matrix": "compress_matrix",
    "step_6_add_sub": "step_6_add_sub",
    "add_sub_compress_matrix": "add_sub_compress_matrix",
}
"""The names of our kernels in the report's pies; all other kernels are its "others"."""

PIES = {"fig02": "baseline", "fig03": "opt0", "fig04": "opt1"}


def _kernel_times(summary: pd.DataFrame, version: str) -> pd.DataFrame:
    """Return device time by kernel, with the report's names, at the largest order of a source.

    As printed; medians over the seeds.
    """
    rows = summary[
        (summary["solver"] == f"kawtikwar_opts:{version}")
        & (summary["options"] == PRINTED)
        & (summary["scope"] == "kernels")
        & (summary["family"] == DOUBLES)
        & summary["metric"].str.endswith("_ms")
        & (summary["metric"] != "time_ms")
    ]
    names = rows["metric"].str.removesuffix("_ms").map(KERNELS).fillna("others")
    rows = rows.assign(kernel=names)
    keys = ["source", "device", "n", "seed", "kernel"]
    sums = rows.groupby(keys, sort=False)["median"].sum().rename("measured_ms").reset_index()
    largest = sums.groupby("source")["n"].transform("max")
    kept = sums[sums["n"] == largest].drop(columns="seed")
    keys.remove("seed")
    return kept.groupby(keys, sort=False)["measured_ms"].median().reset_index()


def kernel_shares(figure: str):
    """Return Figures 2 to 4: device time by kernel and its share."""
    version = PIES[figure]

    def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
        printed = published(figure).rename(columns={"total_time_ms": "published_ms"})
        printed = _with_share(printed, "published_ms", "published_share_pct", ["n"])
        keys = ["n", "kernel"]
        names = {name: rank for rank, name in enumerate(printed["kernel"])}
        measured = _with_share(
            _kernel_times(summary, version), "measured_ms", "share_pct", ["source", "n"]
        )
        printed = printed[[*keys, "published_ms", "published_share_pct"]]
        found = tables.order(
            beside(printed, measured, keys), by=("n", "kernel"), ranked={"kernel": tuple(names)}
        )
        return found.assign(version=version)[
            ["n", "version", "kernel", "source", "device", "published_ms", "measured_ms",
             "published_share_pct", "share_pct"]
        ]  # fmt: skip

    return table


def _with_share(table: pd.DataFrame, value: str, share: str, keys: list[str]) -> pd.DataFrame:
    whole = table.groupby(keys)[value].transform("sum")
    return table.assign(**{share: 100 * table[value] / whole})


# ------------------------------------------------------------------------------- Figure 5

CALLS = {
    "copy": "cudaMemcpyToSymbol",
    "launch": "cudaLaunchKernel",
    "wait": "",
    "rest": "others",
}
"""The report's name for each of our calls. Its copies are the upload of the costs: the release has
no other ``cudaMemcpyToSymbol``. It does not show its waits."""


def host_calls(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Figure 5: the host's time by call in Opt 1; ``us_a_call`` is the mean of one call.

    As printed. Shares leave the waits out, which the report does not show.
    """
    printed = published("fig05").rename(columns={"total_time_ms": "published_ms"})
    names = {theirs: ours for ours, theirs in CALLS.items()}
    printed = printed.assign(call=printed["cuda_api_call"].map(names))
    options = f"what=calls,version=opt1,{PRINTED}"
    parts = []
    for call in CALLS:
        time = by_seed(summary, "profile", f"host_{call}_us", "answer", options)
        count = by_seed(summary, "profile", f"host_{call}_calls", "answer", options)
        part = median(time, "measured_ms", ["device"], 1e-3)
        calls = median(count, "calls", ["device"])
        parts.append(part.merge(calls, on=[*KEY, "device"], how="left").assign(call=call))
    measured = pd.concat(parts, ignore_index=True).drop(columns="cost_range")
    largest = measured.groupby("source")["n"].transform("max")
    measured = measured[measured["n"] == largest]
    printed = _with_share(printed, "published_ms", "published_share_pct", ["n"])
    shown = measured[measured["call"] != "wait"]
    shares = _with_share(shown, "measured_ms", "share_pct", ["source", "n"])["share_pct"]
    measured = measured.assign(
        share_pct=shares, us_a_call=1e3 * measured["measured_ms"] / measured["calls"]
    )
    keys = ["n", "call"]
    printed = printed[[*keys, "published_ms", "published_share_pct"]]
    table = tables.order(
        beside(printed, measured, keys), by=("n", "call"), ranked={"call": tuple(CALLS)}
    )
    table = table.assign(in_print=table["call"].map(CALLS))
    return table[
        ["n", "call", "in_print", "source", "device", "published_ms", "measured_ms", "calls",
         "us_a_call", "published_share_pct", "share_pct"]
    ]  # fmt: skip


# ------------------------------------------------------------------------------- Table I, loads


def _profiled(
    summary: pd.DataFrame, what: str, printed: bool = True
) -> Iterable[tuple[tuple, dict[str, float]]]:
    """Yield (source, device, n) and the counters of every profile of one kind, as printed or ours.

    The loads in the machine code belong to no configuration.
    """
    options = summary["options"].astype(str)
    rows = summary[
        (summary["solver"] == "kawtikwar_opts:profile")
        & options.str.startswith(f"what={what},")
        & (options.str.contains(PRINTED, regex=False) == printed)
        & (summary["scope"] == "answer")
    ]
    for key, part in rows.groupby(["source", "device", "n"], sort=False):
        yield key, part.drop_duplicates("metric").set_index("metric")["median"].to_dict()


def _ncu_status(values: dict[str, float]) -> str:
    return NCU[int(values.get("ncu_status", NCU.index("failed")))]


def hardware(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Table I: L1 hit rate and throughputs of three kernels, or the cause if missing.

    A row for each configuration that was profiled; the report's is compared.
    """
    printed = published("table1").rename(columns={"value_pct": "published_pct"})
    printed = printed[["n", "kernel", "metric", "published_pct"]]
    versions = {kernel: version for version in ("opt0", "opt1") for kernel in NCU_KERNELS[version]}
    rows = []
    for chosen in ("paper", "tuned"):
        for (source, device, n), values in _profiled(summary, "ncu", chosen == "paper"):
            status = _ncu_status(values)
            why = NCU_SAYS.get(status if status != "measured" else "failed", "")
            for kernel, version in versions.items():
                for metric in METRICS:
                    value = values.get(f"ncu_{version}_{kernel}_{metric}", math.nan) / 100
                    note = why if math.isnan(value) else ""
                    rows.append((n, kernel, metric, chosen, source, device, value, note))
    measured = pd.DataFrame(
        rows,
        columns=[
            "n", "kernel", "metric", "configuration", "source", "device", "measured_pct", "note",
        ],
    )  # fmt: skip
    table = tables.order(
        beside(printed, measured, ["n", "kernel", "metric"]), by=("n", "kernel", "metric"),
        ranked={"kernel": tuple(versions), "metric": METRICS},
    )  # fmt: skip
    return table[
        ["n", "kernel", "metric", "configuration", "source", "device", "published_pct",
         "measured_pct", "note"]
    ]  # fmt: skip


PROFILED_SIZE = 4096
"""The order of the report's Section IV."""

FUSED = "ncu_opt1_add_sub_compress_matrix_global_loads"
"""The counter of one launch of Opt 1's fused kernel; print's counts are those of a launch (KA2)."""


EXECUTED = {"listing_3": ("opt2", True), "listing_4": ("opt3", True)} | {
    version: (version, False) for version in ONE_LAUNCH
}
"""The version, and whether as printed, whose runs execute each code of `loads`."""


def _loads_a_pass(summary: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the warps' loads a dual update of the runs in one launch, by source and code.

    ncu counts those of a whole run, of the first instance; print's figures are those of one launch
    of the kernel (KA2), which passes over the matrix once.
    """
    found = {}
    for code, (version, printed) in EXECUTED.items():
        options = PRINTED if printed else ""
        rows = by_seed(summary, version, "iterations_step_6", "answer", options)
        first = rows[(rows["n"] == PROFILED_SIZE) & (rows["seed"] == rows["seed"].min())]
        updates = dict(zip(first["source"], first["value"], strict=True))
        for (source, _, n), values in _profiled(summary, "ncu", printed):
            if n == PROFILED_SIZE and source in updates:
                loads = values.get(f"ncu_{version}_hungarian_global_loads", math.nan)
                found[source, code] = loads / float(updates[source])
    return found


def _fused_loads(summary: pd.DataFrame, printed: bool) -> dict[str, float]:
    """Return the loads of one launch of Opt 1's fused kernel by source."""
    return {
        source: values.get(FUSED, math.nan)
        for (source, _, n), values in _profiled(summary, "ncu", printed)
        if n == PROFILED_SIZE
    }


def loads(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Opt 3's global loads: in the machine code of step 6, and executed if ncu counts them.

    The listings are the report's own, one entry a thread, which ``configuration="paper"`` runs;
    ``opt2`` to ``opt4`` hold four, in a body that the code has twice. Executed loads are those of a
    whole run over its dual updates; beside them stands a launch of Opt 1's fused kernel.
    """
    claims = published("text_claims").set_index("id")["value"].astype(float)
    claims = claims.rename({"KA-k": "listing_3", "KA-l": "listing_4"}) / 1e6
    executed = _loads_a_pass(summary)
    fused = {printed: _fused_loads(summary, printed) for printed in (True, False)}
    rows = []
    for (source, device, _), values in _profiled(summary, "loads", printed=False):
        for code, (_, printed) in EXECUTED.items():
            counts = {
                name: values.get(f"{code}_{name}", math.nan)
                for name in ("ptx_loads", "ptx_stores", "sass_loads", "sass_stores")
            }
            rows.append(
                {
                    "code": code, "source": source, "device": device, **counts,
                    "published_million": claims.get(code, math.nan),
                    "million_a_pass": executed.get((source, code), math.nan) / 1e6,
                    "opt1_million_a_launch": fused[printed].get(source, math.nan) / 1e6,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------- claims of the text


def claims(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the numbers in the report's text, beside our own measurements."""
    printed = published("text_claims")
    sources: dict[str, dict[str, float]] = {}
    for values in (
        _speedup_claims(summary, published),
        _kernel_claims(summary, published),
        _profile_claims(summary, published),
    ):
        for source, found in values.items():
            sources.setdefault(source, {}).update(found)
    rows = []
    for claim in printed.itertuples(index=False):
        for source in sources or {NOT_MEASURED: {}}:
            value = sources.get(source, {}).get(claim.id, math.nan)
            rows.append(
                {
                    "id": claim.id, "section": claim.section, "quantity": claim.quantity,
                    "unit": claim.unit, "source": source, "published": float(claim.value),
                    "measured": value,
                    "fused_loads": sources.get(source, {}).get(FUSED, math.nan),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def _on_gpu(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["source"] != NOT_MEASURED) & (table["device"] != EXECUTOR_NAME)]


def _speedup_claims(summary: pd.DataFrame, published: Published) -> dict[str, dict[str, float]]:
    table = _on_gpu(speedups(summary, published))
    found = {}
    for source, rows in table.groupby("source", sort=False):
        last, zero = (rows[rows["version"] == version] for version in ("opt4", "opt0"))
        at = rows[rows["n"] == PROFILED_SIZE].set_index("version")["incremental"].to_dict()
        # Means and extremes need all sizes of print.
        whole = set(last["n"]) == set(published("table2")["n"])
        found[str(source)] = {
            "KA-a": geometric_mean(last["total"]) if whole else math.nan,
            "KA-b": geometric_mean(zero["total"]) if whole else math.nan,
            "KA-t": float(last["total"].max()) if whole else math.nan,
            **{
                claim: at.get(version, math.nan)
                for claim, version in (
                    ("KA-f", "opt0"), ("KA-h", "opt1"), ("KA-j", "opt2"), ("KA-o", "opt3"),
                    ("KA-r", "opt4"),
                )
            },
            "KA-q": 100 * (at.get("opt4", math.nan) - 1),
        }  # fmt: skip
    return found


def _kernel_claims(summary: pd.DataFrame, published: Published) -> dict[str, dict[str, float]]:
    times: dict[str, dict[tuple[str, str], float]] = {}
    for version in HOST_LOOP:
        found_times = _kernel_times(summary, version)
        for row in found_times[found_times["n"] == PROFILED_SIZE].itertuples(index=False):
            times.setdefault(row.source, {})[version, row.kernel] = row.measured_ms
    found = {}
    for source, ms in times.items():
        whole = sum(value for (version, _), value in ms.items() if version == "baseline")
        before = ms.get(("baseline", "compress_matrix"), math.nan)
        after = ms.get(("opt0", "compress_matrix"), math.nan)
        apart = after + ms.get(("opt0", "step_6_add_sub"), math.nan)
        fused = ms.get(("opt1", "add_sub_compress_matrix"), math.nan)
        found[source] = {
            "KA-c": 100 * before / whole if whole else math.nan,
            "KA-d": 100 * (1 - after / before), "KA-e": before / after, "KA-g": apart / fused,
        }  # fmt: skip
    return found


def _profile_claims(summary: pd.DataFrame, published: Published) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    calls = _on_gpu(host_calls(summary, published))
    calls = calls[(calls["call"] == "launch") & (calls["n"] == PROFILED_SIZE)]
    for row in calls.itertuples(index=False):
        found.setdefault(row.source, {})["KA-i"] = row.share_pct
    executed, fused = _loads_a_pass(summary), _fused_loads(summary, printed=True)
    for (source, _, n), values in _profiled(summary, "ncu"):
        if n != PROFILED_SIZE:
            continue
        before, after = (
            executed.get((source, code), math.nan) for code in ("listing_3", "listing_4")
        )
        hits = [
            values.get(f"ncu_{version}_hungarian_l1_hit_rate", math.nan) / 100
            for version in ("opt3", "opt4")
        ]
        found.setdefault(source, {}).update(
            {
                "KA-k": before, "KA-l": after, FUSED: fused.get(source, math.nan),
                "KA-m": 100 * (1 - after / before), "KA-p": hits[0], "KA-s": hits[1],
            }
        )  # fmt: skip
    for source, gain in _fused_gain(summary).items():
        found.setdefault(source, {})["KA-n"] = gain
    return found


def _fused_gain(summary: pd.DataFrame) -> dict[str, float]:
    """Return Opt 2's device time of step 6 over Opt 3's, by the kernel's clock, as printed.

    Print's 1.13 is the fused part's alone; here the reduction before it is in both.
    """
    rows = {
        version: by_seed(summary, version, "step_6_us", "answer", f"trace_steps=True,{PRINTED}")
        for version in ("opt2", "opt3")
    }
    ratio = tables.over(rows["opt2"], rows["opt3"], "gain")
    ratio = ratio[ratio["n"] == PROFILED_SIZE]
    return dict(zip(ratio["source"], ratio["gain"], strict=True))


# ------------------------------------------------------------------------------- our own

COUNTERS = ("cost", "iterations_step_6", "zeros_initial", "iterations_step_5", "step_4_restarts",
            "kernel_launches")  # fmt: skip


def counts(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return the work of the versions and of `lopes2019` on instances that several have solved."""
    parts = []
    for family in (DOUBLES, "uniform"):
        for name in (*VERSIONS, LAP19):
            solver = name if ":" in name else f"kawtikwar_opts:{name}"
            columns = {
                counter: tables.by_seed(summary, solver, counter, "answer", "", family)
                for counter in COUNTERS
            }
            parts.append(joined(columns).assign(version=name.partition(":")[0], family=family))
    table = pd.concat(parts, ignore_index=True)
    groups = table.groupby([*KEY, "family", "seed"], sort=False)
    table = table[groups["version"].transform("nunique") > 1]
    table = order(table, by=("family", "n", "cost_range", "seed", "version"))
    table = table.rename(
        columns={"iterations_step_6": "dual_updates", "iterations_step_5": "paths"}
    )
    return table[
        ["family", "n", "cost_range", "seed", "source", "version", "cost", "dual_updates", "paths",
         "zeros_initial", "step_4_restarts", "kernel_launches"]
    ]  # fmt: skip


GRID_SYNC_US = 1.7
"""A barrier of the grid of 132 blocks, 1.3 us (128 threads) to 2.3 us (1024); measured on an H100,
the H200 has as many multiprocessors."""


def barriers(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Opt 4's time over that of its barriers of the grid, the least cost of one launch."""
    parts = []
    for family in (DOUBLES, "uniform"):
        rows = named(by_seed(summary, "opt4", family=family), "run_ms", "device")
        for counter in ("barriers", "step_4_restarts", "iterations_step_6", "iterations_step_5"):
            column = by_seed(summary, "opt4", counter, "answer", family=family)
            rows = rows.merge(named(column, counter), on=[*KEY, "seed"], how="left")
        parts.append(rows.assign(family=family))
    table = pd.concat(parts, ignore_index=True)
    values = ["run_ms", "barriers", "step_4_restarts", "iterations_step_6", "iterations_step_5"]
    table = table.groupby([*KEY, "device", "family"], sort=False)[values].median().reset_index()
    table = table.rename(
        columns={"step_4_restarts": "restarts", "iterations_step_6": "dual_updates",
                 "iterations_step_5": "paths"}
    )  # fmt: skip
    table = table.assign(
        us_a_barrier=1e3 * table["run_ms"] / table["barriers"],
        sync_share_pct=0.1 * GRID_SYNC_US * table["barriers"] / table["run_ms"],
    )
    table = order(table, by=("family", "n", "cost_range"))
    return table[
        ["family", "n", "cost_range", "source", "device", "barriers", "restarts", "dual_updates",
         "paths", "run_ms", "us_a_barrier", "sync_share_pct"]
    ]  # fmt: skip


def authors_code(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return Opt 4 beside HyLAC's classical solver and `lopes2019`: medians over the seeds.

    Times of two cards never stand beside one another: HyLAC was measured on each.
    """
    ours, lopes = by_seed(summary, "opt4", family="uniform"), tables.by_seed(summary, LAP19)
    here = [
        beside_authors(
            ours[ours["device"].str.contains(card)], published(f"authors_code_{card.lower()}")
        )
        for card in CARDS
    ]
    table = pd.concat([part for part in here if len(part)] or here[:1], ignore_index=True)
    both = ours.merge(named(lopes, "lopes2019_ms"), on=[*KEY, "seed"])
    both = both.assign(ours_over_lopes2019=both["value"] / both["lopes2019_ms"])
    grouped = both.groupby([*KEY, "device"], sort=False)[["lopes2019_ms", "ours_over_lopes2019"]]
    table = table.merge(grouped.median().reset_index(), on=[*KEY, "device"], how="left")
    table = order(table, by=("n", "cost_range"))
    return table[
        ["n", "cost_range", "source", "device", "seeds", "published_authors_ms", "measured_ms",
         "ours_over_authors", "lopes2019_ms", "ours_over_lopes2019"]
    ]  # fmt: skip


# ------------------------------------------------------------------------------- predictions

CARDS = {"H100": (2.96, 2.43), "H200": (3.81, 2.93)}
"""The memory bandwidth of a card in TB/s, read and copied by a Numba kernel."""

LAUNCH_US = 2.0
"""The time of a launch among back-to-back launches of empty kernels, on both cards."""

ROUND_TRIP_US = 5.0
"""The time from the end of a kernel to the start of the next one that the host chooses: it sees a
word in mapped memory and begins a launch."""

TRAFFIC = {
    "reduction": (0.5, 0.0),
    "add_sub": (1.0, 1.0),
    "compress": (1.0, 0.0),
    "fused": (1.0, 1.0),
}
"""The numbers of matrices that a kernel reads and writes in a dual update.

As many lines are covered as there are stars, nearly n in most updates; half of the columns are
taken as covered. The minimum skips covered columns. Rows are covered at random within a column, and
memory moves sectors of four doubles, so that additions and subtractions touch nearly every
sector."""

PASSES = {
    **{version: ("reduction", "add_sub", "compress") for version in ("baseline", "opt0")},
    **{version: ("reduction", "fused") for version in VERSIONS[2:]},
}
SMALL_LAUNCHES = {"baseline": 3, "opt0": 4, "opt1": 4}
"""The launches of a dual update besides `PASSES`: the second reduction, the clearing of the bins,
step 4; from Opt 0 on also the sum of the bins."""

BARRIERS_AN_UPDATE = 3
"""The barriers of a dual update in one launch: after the word that asks for it, the minimum and the
zeros."""

LAUNCHES_A_PATH = 5
"""The launches of an augmentation in the host loop: steps 3 (two), 4, 5 (two); one at a restart."""


def card_of(device: str) -> str:
    """Return which of `CARDS` a device is; for another the first, whose times nobody judges."""
    return next((card for card in CARDS if card in device), next(iter(CARDS)))


def pass_us(n: int, kernel: str, card: str) -> float:
    """Return the time of a pass by the bytes that it moves, in microseconds, for doubles."""
    read, written = TRAFFIC[kernel]
    rate = CARDS[card][int(written > 0)]
    return (read + written) * 8 * n * n / (rate * 1e6)


def predict(
    n: int, version: str, updates: float, paths: float, restarts: float, card: str = "H100"
) -> dict[str, Any]:
    """Predict a run from bytes and barriers alone, before it is measured.

    The prediction ignores contended atomics, loads within a thread, and the length of a search: if
    the measurement is far above it, one of these is the cause.

    Parameters
    ----------
    n : int
        Order.
    version : str
        One of `VERSIONS`.
    updates, paths, restarts : float
        Dual updates, augmentations and restarts of step 4; no hardware changes the first.
    card : str
        One of `CARDS`.

    Returns
    -------
    dict
        For a dual update ``megabytes``, ``launches``, ``barriers``, ``bytes_us``, ``sync_us`` (the
        time of launches, round trips and barriers) and ``update_us``; for the run ``run_ms``.
    """
    passes = [pass_us(n, kernel, card) for kernel in PASSES[version]]
    megabytes = sum(8e-6 * n * n * sum(TRAFFIC[kernel]) for kernel in PASSES[version])
    if version in ONE_LAUNCH:
        launches, barrier = 0, BARRIERS_AN_UPDATE
        update = sum(passes) + barrier * GRID_SYNC_US
        others = 0.0
    else:
        launches, barrier = len(passes) + SMALL_LAUNCHES[version], 0
        # A launch is hidden behind the kernel before it unless that one is shorter.
        hidden = sum(max(LAUNCH_US, us) for us in passes)
        update = hidden + SMALL_LAUNCHES[version] * LAUNCH_US + ROUND_TRIP_US
        path = LAUNCHES_A_PATH * LAUNCH_US + ROUND_TRIP_US
        others = paths * path + restarts * (LAUNCH_US + ROUND_TRIP_US)
    return {
        "megabytes": megabytes, "launches": launches, "barriers": barrier, "bytes_us": sum(passes),
        "sync_us": update - sum(passes), "update_us": update,
        "run_ms": 1e-3 * (updates * update + others),
    }  # fmt: skip


STEP_6 = re.compile(r"(step_6_\w+|compress_matrix|add_reduction|add_sub_compress_matrix)_ms")
"""Return the device times of a dual update's kernels."""


def _step_6_us(summary: pd.DataFrame, version: str) -> pd.DataFrame:
    """Return the device time of step 6, by events around kernels or by the kernel's clock."""
    if version in ONE_LAUNCH:
        rows = by_seed(summary, version, "step_6_us", "answer", "trace_steps=True")
        return median(rows, "step_6_us").drop(columns="cost_range")
    rows = summary[
        (summary["solver"] == f"kawtikwar_opts:{version}")
        & (summary["options"] == "")
        & (summary["scope"] == "kernels")
        & (summary["family"] == DOUBLES)
        & summary["metric"].astype(str).str.fullmatch(STEP_6)
    ]
    sums = 1e3 * rows.groupby(["source", "n", "seed"], sort=False)["median"].sum()
    medians = sums.groupby(["source", "n"], sort=False).median()
    return medians.rename("step_6_us").reset_index()


def predictions(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return predicted and measured time of a dual update and of a run, on the report's instances.

    ``gain`` is the time of the version before over this one's. ``step_6_us`` is the device time of
    step 6 in a dual update, without launches and searches.
    """
    parts = []
    for version in VERSIONS:
        part = median(by_seed(summary, version), "measured_ms", ["device"])
        names = {"iterations_step_6": "dual_updates", "iterations_step_5": "paths",
                 "step_4_restarts": "restarts"}  # fmt: skip
        for counter, name in names.items():
            column = median(by_seed(summary, version, counter, "answer"), name)
            part = part.merge(column, on=KEY, how="left")
        part = part.merge(_step_6_us(summary, version), on=["source", "n"], how="left")
        parts.append(part.assign(version=version))
    table = pd.concat(parts, ignore_index=True).drop(columns="cost_range")
    found = [
        predict(row.n, row.version, row.dual_updates, row.paths, row.restarts, card_of(row.device))
        for row in table.itertuples(index=False)
    ]
    columns = list(predict(1, "opt4", 1, 1, 1))
    predicted = pd.DataFrame(found, columns=columns, index=table.index).add_prefix("predicted_")
    table = pd.concat([table, predicted], axis=1)
    table = order(table, by=("n", "version"))
    table = table.assign(
        step_6_us=table["step_6_us"] / table["dual_updates"].replace(0, np.nan),
        predicted_gain=_previous(table, "predicted_run_ms") / table["predicted_run_ms"],
        measured_gain=_previous(table, "measured_ms") / table["measured_ms"],
        measured_over_predicted=table["measured_ms"] / table["predicted_run_ms"],
    )
    return table[
        ["n", "version", "source", "device", "dual_updates", "predicted_megabytes",
         "predicted_launches", "predicted_barriers", "predicted_bytes_us", "predicted_sync_us",
         "predicted_update_us", "step_6_us", "predicted_run_ms", "measured_ms",
         "measured_over_predicted", "predicted_gain", "measured_gain"]
    ]  # fmt: skip
