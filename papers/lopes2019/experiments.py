"""Every table and figure of [L19] as data, and three experiments of our own.

An entry says what to measure (`cells`), how to lay it out (`tables`), how to draw it like the
paper's and how to compare it. Nothing here runs a solver.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.common import comparison as compare
from papers.common import figures
from papers.common.model import Cell, Comparison, Experiment, Instance, Plan, Scope
from papers.lopes2019 import pictures, tables
from papers.lopes2019.tables import LABELS, RANGES_FIG_5, best_source

PAPER_SIZES = (512, 1024, 2048, 4096, 8192)
EXECUTOR_SIZES = {"smoke": (8,), "quick": (16, 32, 64), "paper": (16, 32, 64)}
GPU_SIZES = {"smoke": (64,), "quick": (512, 1024, 2048), "paper": PAPER_SIZES}
CPU_SIZES = {"smoke": (64,), "quick": (512, 1024, 2048), "paper": PAPER_SIZES}

# ------------------------------------------------------------------------------- what to measure


def uniform(n: int, label: str, seed: int) -> Instance:
    """A random integer matrix [L19 sec.5]."""
    return Instance("uniform", n, label, seed=seed)


def _seeds(plan: Plan) -> tuple[int, ...]:
    return plan.seeds if plan.preset == "paper" else plan.seeds[:1]


def gpu_cells(
    plan: Plan, labels: tuple[str, ...] = LABELS, scopes: tuple[Scope, ...] = ("run",)
) -> list[Cell]:
    """Our kernels, on a GPU at the paper's sizes, in the executor at small ones."""
    sizes = (GPU_SIZES if plan.gpu else EXECUTOR_SIZES)[plan.preset]
    return [
        Cell("lopes2019:gpu", uniform(n, label, seed), scopes)
        for n in sizes
        for label in labels
        for seed in _seeds(plan)
    ]


def cpu_cells(
    plan: Plan, labels: tuple[str, ...] = LABELS, scopes: tuple[Scope, ...] = ("run",)
) -> list[Cell]:
    """The O(n^4) code at the sizes of the kernels, and without a GPU at real ones too."""
    sizes = CPU_SIZES[plan.preset]
    if not plan.gpu:
        sizes = EXECUTOR_SIZES[plan.preset] + sizes
    # One instance is enough from 4096 on: seconds a run, and the spread is a few per cent.
    return [
        Cell("lopes2019:cpu_o4", uniform(n, label, seed), scopes)
        for n in sizes
        for label in labels
        for seed in (_seeds(plan) if n < 4096 else _seeds(plan)[:1])
    ]


def times(plan: Plan) -> list[Cell]:
    """Tables 1 and 2, Figures 7 to 9."""
    return gpu_cells(plan, scopes=("run", "end_to_end")) + cpu_cells(plan)


def steps(plan: Plan) -> list[Cell]:
    """Table 3: per-step times for the range n, and the totals."""
    both: tuple[Scope, ...] = ("run", "steps")
    return gpu_cells(plan, ("n",), both) + cpu_cells(plan, ("n",), both)


def shares(label: str):
    """Figures 10 to 12: per-step times of the kernels for one range."""
    return lambda plan: gpu_cells(plan, (label,), ("run", "steps"))


def fig_4(plan: Plan) -> list[Cell]:
    """The four CPU codes against n, range n."""
    sizes = {"smoke": (32, 64), "quick": (128, 256, 512, 1024, 2048)}.get(
        plan.preset, (128, 256, *PAPER_SIZES)
    )
    return [
        Cell(f"lopes2019:{solver}", uniform(n, "n", seed))
        for solver in tables.CPU
        for n in sizes
        for seed in (_seeds(plan) if n < 4096 else _seeds(plan)[:1])
    ]


def fig_5(plan: Plan) -> list[Cell]:
    """The four CPU codes against the range, one n."""
    n = {"smoke": 64, "quick": 2048, "paper": 2048}[plan.preset]
    return [
        Cell(f"lopes2019:{solver}", uniform(n, label, _seeds(plan)[0]))
        for solver in tables.CPU
        for label in RANGES_FIG_5
    ]


def alternatives(plan: Plan) -> list[Cell]:
    """Appendix B's kernels for step 4, on the instances of Table 1 (n, 10n)."""
    sizes = (GPU_SIZES if plan.gpu else EXECUTOR_SIZES)[plan.preset]
    return [
        Cell("lopes2019:gpu", uniform(n, label, _seeds(plan)[0]), ("run",), options)
        for n in sizes
        for label in LABELS
        for options in ((), (("step_4", "A"),), (("step_4", "B"),), (("step_4", "C"),))
    ]


def photo_cells(plan: Plan) -> list[Cell]:
    """The pictures' costs, by the kernels and by the fastest CPU code."""
    name = "coffee into astronaut"
    n = {"smoke": 64, "quick": 1024, "paper": 4096}[plan.preset]
    sizes = sorted({1024, n}) if plan.gpu and plan.preset != "smoke" else [n]
    kernels = sizes if plan.gpu else [{"smoke": 16, "quick": 64, "paper": 64}[plan.preset]]
    return [Cell("lopes2019:gpu", Instance("colours", n, name)) for n in kernels] + [
        Cell("lopes2019:cpu_sp", Instance("colours", n, name)) for n in sizes
    ]


# ------------------------------------------------------------------------------- how to draw


def _curves(table: pd.DataFrame, published: str, measured: str, **keywords):
    shown = best_source(table, published, measured)
    return figures.line_plot(
        shown, x="n", y_published=published, y_measured=measured, series="cost_range",
        xscale="log2", xlabel="matrix size n", **keywords,
    )  # fmt: skip


def draw_fig_7(table: pd.DataFrame):
    """Draw CUDA time against n, log axis 1 to 10000 ms as in the paper."""
    return _curves(
        table, "published_cuda_ms", "cuda_ms", yscale="log", ylabel="time (ms)",
        title="CUDA run time",
    )  # fmt: skip


def draw_fig_8(table: pd.DataFrame):
    """Draw C time against n, log axis."""
    return _curves(
        table, "published_c_ms", "c_ms", yscale="log", ylabel="time (ms)", title="CPU run time"
    )


def draw_fig_9(table: pd.DataFrame):
    """Draw speedup against n, binary log axis."""
    return _curves(
        table, "published_speedup", "speedup", yscale="log2", ylabel="speedup",
        title="Speedup, CPU time over CUDA time",
    )  # fmt: skip


def draw_fig_4(table: pd.DataFrame):
    """Draw time over the O(n^4) code's, both axes binary logs, 1/8 to 8."""
    return figures.line_plot(
        best_source(table, "published_ratio", "ratio"),
        x="n", y_published="published_ratio", y_measured="ratio", series="algorithm",
        xscale="log2", yscale="log2", xlabel="matrix size n",
        ylabel="time / time of O(n^4) Hungarian", title="CPU codes, costs 0 to n",
    )  # fmt: skip


def draw_fig_5(table: pd.DataFrame):
    """Draw time against cost range, binary log axes."""
    shown = best_source(table, "published_ms", "time_ms")
    if shown["published_ms"].isna().all():  # another n than the paper's: nothing to overlay
        shown = table[table["source"] == "this run"]
    sizes = ", ".join(str(n) for n in sorted(shown["n"].unique()))
    return figures.line_plot(
        shown.assign(range_over_n=shown["range_over_n"].astype(float)),
        x="range_over_n", y_published="published_ms", y_measured="time_ms", series="algorithm",
        xscale="log2", yscale="log2", xlabel="cost range / n", ylabel="time (ms)",
        title=f"CPU codes, n = {sizes}",
    )  # fmt: skip


def draw_shares(title: str):
    """Draw stacked shares of the steps."""

    def draw(table: pd.DataFrame):
        return figures.stacked_bars(
            best_source(table, "published_share_pct", "share_pct"),
            x="n", y_published="published_share_pct", y_measured="share_pct", series="step",
            xlabel="matrix size n", ylabel="share of CUDA time (%)", title=title, ylim=(0, 100),
        )  # fmt: skip

    return draw


# ------------------------------------------------------------------------------- how to compare

FASTER_CARD = (
    "an H100 reads memory about fifteen times faster than the GTX 970, a CPU core has gained far "
    "less, and the host learns of step 4's outcome without a synchronisation"
)
LAUNCH_BOUND = (
    "on this card the matrix-wide steps 1 and 6 shrink to launch latency, so the search takes "
    "their share"
)
OUR_CPU = (
    "other CPU codes on another CPU: ours are compiled by Numba with vectorised sweeps; the "
    "paper gives no source for O3, SP and A"
)


def _sources(table: pd.DataFrame, *columns: str) -> list[tuple[str, pd.DataFrame]]:
    """Rows that have both values, by source; the caller names the source in the quantity."""
    both = table.dropna(subset=list(columns))
    return [(str(source), rows) for source, rows in both.groupby("source", sort=False)]


def _nothing(quantity: str, kind) -> list[Comparison]:
    return [Comparison(quantity, kind, None, None, "not measured", "no cell has both values")]


def compare_times(published: str, measured: str, what: str):
    """Compare the growth with n (slope) and the order of the ranges, then absolute times."""

    def verdicts(table: pd.DataFrame) -> list[Comparison]:
        found = []
        for source, rows in _sources(table, published, measured):
            for label, curve in rows.groupby("cost_range", sort=False):
                found.append(
                    compare.shape_slope(
                        f"{what}: slope over n, range {label} ({source})",
                        curve["n"], curve[published], curve[measured],
                        note=f"flatter: {FASTER_CARD}" if "CUDA" in what else OUR_CPU,
                    )
                )  # fmt: skip
            largest = rows[rows["n"] == rows["n"].max()]
            found.append(
                compare.ranking(
                    f"{what}: order of ranges at n={largest['n'].iloc[0]} ({source})",
                    dict(zip(largest["cost_range"], largest[published], strict=True)),
                    dict(zip(largest["cost_range"], largest[measured], strict=True)),
                )
            )
            found += [
                compare.absolute_time(
                    f"{what}, ms: n={row.n} range {row.cost_range} ({source})",
                    getattr(row, published), getattr(row, measured), "another machine",
                )
                for row in rows.itertuples()
            ]  # fmt: skip
        return found or _nothing(what, "shape")

    return verdicts


def compare_ratios(published: str, measured: str, keys: tuple[str, ...], note: str, factor=2.0):
    """Compare a printed ratio redone on our machine, cell by cell."""

    def verdicts(table: pd.DataFrame) -> list[Comparison]:
        found = []
        for source, rows in _sources(table, published, measured):
            for row in rows.itertuples():
                where = ", ".join(f"{key} {getattr(row, key)}" for key in keys)
                found.append(
                    compare.ratio(
                        f"{published.removeprefix('published_')}: {where} ({source})",
                        getattr(row, published), getattr(row, measured), factor, note,
                    )
                )  # fmt: skip
        return found or _nothing(measured, "ratio")

    return verdicts


def compare_speedups(table: pd.DataFrame) -> list[Comparison]:
    """Table 2: each ratio, and that the speedup grows with n."""
    found = compare_ratios(
        "published_speedup", "speedup", ("n", "cost_range"), f"larger: {FASTER_CARD}"
    )(table)
    for source, rows in _sources(table, "published_speedup", "speedup"):
        for label, curve in rows.groupby("cost_range", sort=False):
            found.append(
                compare.shape_slope(
                    f"speedup: slope over n, range {label} ({source})",
                    curve["n"], curve["published_speedup"], curve["speedup"],
                    note="the H100 is far from full at small n, so its speedup keeps growing",
                )
            )  # fmt: skip
    return found


def compare_shares(table: pd.DataFrame) -> list[Comparison]:
    """Figures 10 to 12: each share within a factor 2, and the order of the steps."""
    found = []
    for source, rows in _sources(table, "published_share_pct", "share_pct"):
        for n, bar in rows.groupby("n"):
            found.append(
                compare.ranking(
                    f"order of the steps by share, n={n} ({source})",
                    dict(zip(bar["step"], bar["published_share_pct"], strict=True)),
                    dict(zip(bar["step"], bar["share_pct"], strict=True)),
                    slack=0.25, note=LAUNCH_BOUND,
                )
            )  # fmt: skip
    found += compare_ratios("published_share_pct", "share_pct", ("n", "step"), LAUNCH_BOUND)(table)
    return found


def compare_fig_5(table: pd.DataFrame) -> list[Comparison]:
    """Figure 5: who is fastest at each range, and how time grows with the range."""
    found = []
    for source, rows in _sources(table, "published_ms", "time_ms"):
        for over_n, column in rows.groupby("range_over_n"):
            found.append(
                compare.ranking(
                    f"order of the codes, range {over_n:g} n ({source})",
                    dict(zip(column["algorithm"], column["published_ms"], strict=True)),
                    dict(zip(column["algorithm"], column["time_ms"], strict=True)),
                    slack=0.2, note=OUR_CPU,
                )
            )  # fmt: skip
        for name, curve in rows.groupby("algorithm", sort=False):
            found.append(
                compare.shape_slope(
                    f"{name}: slope over the range ({source})",
                    curve["range_over_n"], curve["published_ms"], curve["time_ms"],
                    tolerance=0.15, note=OUR_CPU,
                )
            )  # fmt: skip
    return found or _nothing("time against the range", "shape")


def compare_counts(table: pd.DataFrame) -> list[Comparison]:
    """Optimal costs, initial zeros and dual updates of kernels and CPU code agree, exactly.

    Dual updates too: before each one the stars are a maximum matching of the zeros, and what can
    be reached from the free columns does not depend on which maximum matching it is.
    """
    found = []
    keys = ["source", "n", "cost_range", "seed"]
    for (source, n, label, seed), rows in table.groupby(keys, sort=False):
        ours, cpu = (rows[rows["solver"] == name] for name in ("gpu", "cpu_o4"))
        if ours.empty or cpu.empty:
            continue
        for counter in ("cost", "zeros_initial", "iterations_step_6"):
            found.append(
                compare.count(
                    f"{counter}, n={n} range {label} seed {seed}: CPU code and kernels ({source})",
                    cpu[counter].iloc[0], ours[counter].iloc[0],
                )
            )  # fmt: skip
    return found or _nothing("costs, zeros and dual updates", "count")


def compare_authors(table: pd.DataFrame) -> list[Comparison]:
    """The goal: geometric mean at or under the authors' code, no cell over 1.5 times it."""
    found = []
    for source, rows in _sources(table, "published_authors_ms", "measured_ms"):
        if not rows["device"].str.contains("H100").all():
            continue
        ratios = rows["measured_ms"] / rows["published_authors_ms"]
        mean, worst = float(np.exp(np.log(ratios).mean())), float(ratios.max())
        for what, value, bound in (
            (f"our time over the authors', geometric mean of {len(rows)} cells", mean, 1.0),
            ("our time over the authors', worst cell", worst, 1.5),
        ):
            verdict = "agrees" if value <= bound else "differs"
            note = f"the goal is at most {bound}"
            found.append(
                Comparison(f"{what} ({source})", "ratio", bound, round(value, 4), verdict, note)
            )
    return found or _nothing("our time over the authors' code, on an H100", "ratio")


def compare_appendix_b(table: pd.DataFrame) -> list[Comparison]:
    """Appendix B says that the paper's kernel was chosen as the fastest; no numbers are printed."""
    found = []
    for source, rows in table.groupby("source", sort=False):
        for choice in ("A", "B", "C"):
            ratios = rows.loc[rows["step_4"] == choice, "over_paper"].dropna()
            if ratios.empty:
                continue
            mean = float(np.exp(np.log(ratios).mean()))
            verdict = "agrees" if mean >= 1 else "differs"
            note = "" if mean >= 1 else "this alternative is the faster one here; see the README"
            found.append(
                Comparison(
                    f"alternative {choice} over the paper's kernel, geometric mean ({source})",
                    "ratio", "> 1", round(mean, 3), verdict, note,
                )
            )  # fmt: skip
    return found or _nothing("alternatives over the paper's kernel", "ratio")


def _no_fig_6(summary: pd.DataFrame, published: tables.Published) -> pd.DataFrame:
    return published("fig06")


# ------------------------------------------------------------------------------- the entries

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "fig02", "Primes, greens and stars of one search of a real run", "picture",
        lambda plan: [], tables.marks, artifacts=pictures.fig_2,
    ),
    Experiment(
        "fig04", "CPU codes against n, relative to the O(n^4) Hungarian", "figure",
        fig_4, tables.over_o4, draw_fig_4,
        compare_ratios("published_ratio", "ratio", ("algorithm", "n"), OUR_CPU),
    ),
    Experiment(
        "fig05", "CPU codes against the cost range", "figure",
        fig_5, tables.against_range, draw_fig_5, compare_fig_5,
    ),
    Experiment(
        "fig06", "CUDA O(n^3) over CUDA O(n^4)", "figure", lambda plan: [], _no_fig_6,
        unavailable="needs a CUDA O(n^3) solver, which the paper datenagi2016 brings",
    ),
    Experiment(
        "table1", "Run times in CUDA and C (ms)", "table",
        times, tables.run_times, None, compare_times("published_cuda_ms", "cuda_ms", "CUDA time"),
    ),
    Experiment(
        "fig07", "CUDA run time against n", "figure",
        times, tables.run_times, draw_fig_7,
        compare_times("published_cuda_ms", "cuda_ms", "CUDA time"),
    ),
    Experiment(
        "fig08", "C run time against n", "figure",
        times, tables.run_times, draw_fig_8, compare_times("published_c_ms", "c_ms", "C time"),
    ),
    Experiment(
        "table2", "Speedup of CUDA over C", "table",
        times, tables.speedups, None, compare_speedups,
    ),
    Experiment(
        "fig09", "Speedup of CUDA over C against n", "figure",
        times, tables.speedups, draw_fig_9, compare_speedups,
    ),
    Experiment(
        "table3", "Speedup of each step, costs 0 to n", "table",
        steps, tables.step_speedups, None,
        compare_ratios("published_speedup", "speedup", ("n", "step"), f"larger: {FASTER_CARD}"),
    ),
    *(
        Experiment(
            f"fig{number}", f"Share of each step in the CUDA time, costs 0 to {label}", "figure",
            shares(label), tables.step_shares(label, f"fig{number}"),
            draw_shares(f"Steps' shares, costs 0 to {label}"), compare_shares,
        )
        for number, label in ((10, "0.1n"), (11, "n"), (12, "10n"))
    ),
    Experiment(
        "table4", "Run times on other GPUs (ms)", "table",
        times, tables.other_gpus, None,
        compare_times("published_ms", "measured_ms", "CUDA time"),
    ),
    Experiment(
        "appendix_b", "Step 4: the paper's kernel beside its alternatives A, B and C", "table",
        alternatives, tables.appendix_b, None, compare_appendix_b,
    ),
    Experiment(
        "counts", "What no hardware changes: zeros, iterations, optimal costs", "table",
        times, tables.counts, None, compare_counts,
    ),
    Experiment(
        "authors", "Beside the authors' CUDA C++ on one H100", "table",
        lambda plan: gpu_cells(plan), tables.authors_code, None, compare_authors,
    ),
    Experiment(
        "photos", "One photograph's colours rearranged into another", "picture",
        photo_cells, tables.photos, None, None, pictures.photos,
    ),
)  # fmt: skip
