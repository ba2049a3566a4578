"""Every table and figure of [L19] as data, and five experiments of our own.

[L19 Table 1] [L19 Table 2] [L19 Table 3] [L19 Table 4] [L19 Fig.2] [L19 Fig.4] [L19 Fig.5]
[L19 Fig.6] [L19 Fig.7] [L19 Fig.8] [L19 Fig.9] [L19 Fig.10] [L19 Fig.11] [L19 Fig.12]; Figures 1
and 3 are diagrams, of which `solver.run` and `kernels.step_1_min_in_rows` are the content. Our own:
`appendix_b`, `counts`, `kernels`, `authors`, `photos`.

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
    """Appendix B's kernels for step 4, and the paper's with the authors' split over blocks."""
    sizes = (GPU_SIZES if plan.gpu else EXECUTOR_SIZES)[plan.preset]
    return [
        Cell("lopes2019:gpu", uniform(n, label, _seeds(plan)[0]), ("run",), options)
        for n in sizes
        for label in LABELS
        for options in (
            (),
            (("lines_a_bin", 512 if plan.gpu else 4),),
            (("step_4", "A"),),
            (("step_4", "B"),),
            (("step_4", "C"),),
        )
    ]


def device_time_cells(plan: Plan) -> list[Cell]:
    """The largest instances, by the device's own clock."""
    n = GPU_SIZES[plan.preset][-1]
    seed = _seeds(plan)[0]
    cells = [Cell("lopes2019:gpu", uniform(n, label, seed), ("kernels",)) for label in LABELS]
    return cells if plan.gpu else []


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


def _titled(shown: pd.DataFrame, title: str) -> str:
    """A title that says whose measurements are drawn."""
    sources = [str(s) for s in shown["source"].unique() if s != "not measured"]
    return f"{title}\nmeasured: {', '.join(sources) or 'nothing'}"


def _curves(published: str, measured: str, yscale: str, ylabel: str, title: str):
    """Draw a curve a cost range against n."""

    def draw(table: pd.DataFrame):
        shown = best_source(table, published, measured)
        return figures.line_plot(
            shown, x="n", y_published=published, y_measured=measured, series="cost_range",
            xscale="log2", yscale=yscale, xlabel="matrix size n", ylabel=ylabel,
            title=_titled(shown, title),
        )  # fmt: skip

    return draw


draw_fig_7 = _curves("published_cuda_ms", "cuda_ms", "log", "time (ms)", "CUDA run time")
draw_fig_8 = _curves("published_c_ms", "c_ms", "log", "time (ms)", "CPU run time")
draw_fig_9 = _curves("published_speedup", "speedup", "log2", "speedup", "CPU time over CUDA time")

ALGORITHMS = {"O4": "O(n^4) Hungarian", "O3": "O(n^3) Hungarian", "SP": "shortest path",
              "A": "auction"}  # fmt: skip


def _spelled_out(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(algorithm=table["algorithm"].map(ALGORITHMS))


def draw_fig_4(table: pd.DataFrame):
    """Draw time over the O(n^4) code's, both axes binary logs."""
    shown = best_source(table, "published_ratio", "ratio")
    return figures.line_plot(
        _spelled_out(shown),
        x="n", y_published="published_ratio", y_measured="ratio", series="algorithm",
        xscale="log2", yscale="log2", xlabel="matrix size n",
        ylabel="time / time of O(n^4) Hungarian", title=_titled(shown, "CPU codes, costs 0 to n"),
    )  # fmt: skip


def draw_fig_5(table: pd.DataFrame):
    """Draw time against cost range, binary log axes."""
    shown = best_source(table, "published_ms", "time_ms")
    sizes = ", ".join(str(n) for n in sorted(shown["n"].unique()))
    return figures.line_plot(
        _spelled_out(shown),
        x="range_over_n", y_published="published_ms", y_measured="time_ms", series="algorithm",
        xscale="log2", yscale="log2", xlabel="cost range / n", ylabel="time (ms)",
        title=_titled(shown, f"CPU codes, n = {sizes}"),
    )  # fmt: skip


def draw_shares(title: str):
    """Draw stacked shares of the steps."""

    def draw(table: pd.DataFrame):
        shown = best_source(table, "published_share_pct", "share_pct")
        return figures.stacked_bars(
            shown.assign(step=shown["step"].str.replace("_", " ")),
            x="n", y_published="published_share_pct", y_measured="share_pct", series="step",
            xlabel="matrix size n", ylabel="share of CUDA time (%)", title=_titled(shown, title),
            ylim=(0, 100),
        )  # fmt: skip

    return draw


# ------------------------------------------------------------------------------- how to compare

LATENCY = (
    "flatter: at small n a run is a chain of launches and waits, which the newer card shortens "
    "less than the matrix-wide kernels that rule at large n (Figures 10 to 12)"
)


def _gains(row, first: str, second: str, what: str, other: str):
    """A note that splits a differing ratio into how far either side moved from print.

    It holds by arithmetic, so it is given only where both sides did get faster; anything else
    stays open.
    """
    ours, theirs = getattr(row, first), getattr(row, second)
    if not (ours > 1 and theirs > 1):
        return ""
    text = f"{what} fell {ours:.3g} times below print, {other} {theirs:.3g} times"
    return compare.if_larger(text) if ours > theirs else compare.if_smaller(text)


def _sources(table: pd.DataFrame, *columns: str) -> list[tuple[str, pd.DataFrame]]:
    """Rows that have both values, by source; the caller names the source in the quantity."""
    both = table.dropna(subset=list(columns))
    return [(str(source), rows) for source, rows in both.groupby("source", sort=False)]


def _nothing(quantity: str, kind) -> list[Comparison]:
    return [Comparison(quantity, kind, None, None, "not measured", "no cell has both values")]


def compare_times(published: str, measured: str, what: str, note: compare.Note = ""):
    """Compare the growth with n (slope) and the order of the ranges, then absolute times."""

    def verdicts(table: pd.DataFrame) -> list[Comparison]:
        found = []
        for source, rows in _sources(table, published, measured):
            for label, curve in rows.groupby("cost_range", sort=False):
                found.append(
                    compare.shape_slope(
                        f"{what}: slope over n, range {label} ({source})",
                        curve["n"], curve[published], curve[measured], note=note,
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


compare_cuda = compare_times(
    "published_cuda_ms", "cuda_ms", "CUDA time", compare.if_smaller(LATENCY)
)
compare_c = compare_times("published_c_ms", "c_ms", "C time")


def compare_cards(table: pd.DataFrame) -> list[Comparison]:
    """Table 4: each of ours beside the paper's second card."""
    return compare_times(
        "published_k20c_ms", "measured_ms", "CUDA time beside the K20c", compare.if_smaller(LATENCY)
    )(table)


def compare_speedups(table: pd.DataFrame) -> list[Comparison]:
    """Table 2: each ratio, and how the speedup grows with n."""
    found = []
    for source, rows in _sources(table, "published_speedup", "speedup"):
        for row in rows.itertuples():
            found.append(
                compare.ratio(
                    f"speedup: n={row.n} range {row.cost_range} ({source})",
                    row.published_speedup, row.speedup,
                    note=_gains(row, "cuda_gain", "c_gain", "CUDA time", "C time"),
                )
            )  # fmt: skip
        for label, curve in rows.groupby("cost_range", sort=False):
            found.append(
                compare.shape_slope(
                    f"speedup: slope over n, range {label} ({source})",
                    curve["n"], curve["published_speedup"], curve["speedup"],
                )
            )  # fmt: skip
    return found or _nothing("speedup", "ratio")


def compare_step_speedups(table: pd.DataFrame) -> list[Comparison]:
    """Table 3: each ratio, and the order of the steps by speedup."""
    found = []
    for source, rows in _sources(table, "published_speedup", "speedup"):
        for row in rows.itertuples():
            found.append(
                compare.ratio(
                    f"speedup: n={row.n} {row.step} ({source})",
                    row.published_speedup, row.speedup,
                    note=_gains(row, "cuda_gain", "c_gain", "the step's CUDA time", "its C time"),
                )
            )  # fmt: skip
        for n, column in rows[rows["step"] != "global"].groupby("n"):
            found.append(
                compare.ranking(
                    f"order of the steps by speedup, n={n} ({source})",
                    dict(zip(column["step"], column["published_speedup"], strict=True)),
                    dict(zip(column["step"], column["speedup"], strict=True)), slack=0.25,
                )
            )  # fmt: skip
    return found or _nothing("speedup of the steps", "ratio")


def compare_shares(table: pd.DataFrame) -> list[Comparison]:
    """Figures 10 to 12: each share, and the order of the steps."""
    found = []
    for source, rows in _sources(table, "published_share_pct", "share_pct"):
        for n, bar in rows.groupby("n"):
            found.append(
                compare.ranking(
                    f"order of the steps by share, n={n} ({source})",
                    dict(zip(bar["step"], bar["published_share_pct"], strict=True)),
                    dict(zip(bar["step"], bar["share_pct"], strict=True)), slack=0.25,
                )
            )  # fmt: skip
        for row in rows.itertuples():
            # A share is larger where the run gained more than the step did.
            note = _gains(row, "run_gain", "step_gain", "the run's time", "the step's")
            if row.share_pct == 0:
                note = "no dual update was needed on these instances"
            found.append(
                compare.share(
                    f"share of {row.step}, n={row.n} ({source})",
                    row.published_share_pct, row.share_pct, note=note,
                )
            )  # fmt: skip
    return found or _nothing("shares of the steps", "ratio")


def compare_fig_4(table: pd.DataFrame) -> list[Comparison]:
    """Figure 4: each ratio, and the order of the codes at each n."""
    found = []
    for source, rows in _sources(table, "published_ratio", "ratio"):
        for row in rows.itertuples():
            found.append(
                compare.ratio(
                    f"{row.algorithm} over O4, n={row.n} ({source})", row.published_ratio, row.ratio
                )
            )
        for n, column in rows.groupby("n"):
            found.append(
                compare.ranking(
                    f"order of the codes, n={n} ({source})",
                    dict(zip(column["algorithm"], column["published_ratio"], strict=True)),
                    dict(zip(column["algorithm"], column["ratio"], strict=True)), slack=0.2,
                )
            )  # fmt: skip
    return found or _nothing("time over O4", "ratio")


def compare_fig_5(table: pd.DataFrame) -> list[Comparison]:
    """Figure 5: who is fastest at each range, and how time grows with the range."""
    found = []
    for source, rows in _sources(table, "published_ms", "time_ms"):
        for over_n, column in rows.groupby("range_over_n"):
            label = f"{over_n:g}n" if over_n >= 1 else f"n/{1 / over_n:g}"
            found.append(
                compare.ranking(
                    f"order of the codes, range {label} ({source})",
                    dict(zip(column["algorithm"], column["published_ms"], strict=True)),
                    dict(zip(column["algorithm"], column["time_ms"], strict=True)), slack=0.2,
                )
            )  # fmt: skip
        for name, curve in rows.groupby("algorithm", sort=False):
            found.append(
                compare.shape_slope(
                    f"{name}: slope over the range ({source})",
                    curve["range_over_n"], curve["published_ms"], curve["time_ms"], tolerance=0.15,
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
        for counter in ("cost", "zeros_initial", "iterations_step_6"):
            expected, got = cpu[counter].iloc[0], ours[counter].iloc[0]
            found.append(
                compare.cross_check(
                    f"{counter}, n={n} range {label} seed {seed}: CPU code, kernels ({source})",
                    expected, got, expected == got,
                )
            )  # fmt: skip
    return found or _nothing("costs, zeros and dual updates", "cross-check")


def compare_authors(table: pd.DataFrame) -> list[Comparison]:
    """Our goal: geometric mean at or under the authors' code, no cell over 1.5 times it.

    The authors' code ran on seeds 1 to 3, at n = 8192 and 10n on two of them.
    """
    found = []
    for source, rows in table.groupby("source", sort=False):
        complete = len(rows) == 15 and (rows["seeds"] >= 2).all()
        if not complete or not rows["device"].str.contains("H100").all():
            continue
        ratios = 1 / rows["authors_over_ours"]
        mean, worst = float(np.exp(np.log(ratios).mean())), float(ratios.max())
        found += [
            compare.cross_check(
                f"our time over the authors', {what} ({source})", f"at most {bound}",
                round(value, 4), value <= bound,
            )
            for what, value, bound in (
                ("geometric mean of 15 cells", mean, 1.0), ("worst of 15 cells", worst, 1.5),
            )
        ]  # fmt: skip
    return found or _nothing(
        "our time over the authors' code: all 15 cells, an H100", "cross-check"
    )


def compare_appendix_b(table: pd.DataFrame) -> list[Comparison]:
    """Appendix B gives no numbers, but the paper's kernel was chosen as the fastest."""
    found = []
    rows_on_gpu = table[table["device"] != "CPU executor"]
    for (source, n), rows in rows_on_gpu.groupby(["source", "n"], sort=False):
        for choice in ("A", "B", "C"):
            ratios = rows.loc[rows["step_4"] == choice, "over_paper"].dropna()
            mean = float(np.exp(np.log(ratios).mean()))
            alone = "one block searches alone at this n: nothing has to be seen by others"
            note = alone if mean < 0.95 and n <= 4096 else ""
            verdict = "agrees" if mean > 0.95 else ("differs" if note else "open")
            found.append(
                Comparison(
                    f"alternative {choice} over the paper's kernel, n={n} ({source})",
                    "ratio", "> 1 (text)", round(mean, 3), verdict, note,
                )
            )  # fmt: skip
    return found or _nothing("alternatives over the paper's kernel, on a GPU", "ratio")


def _no_fig_6(summary: pd.DataFrame, published: tables.Published) -> pd.DataFrame:
    return published("fig06")


# ------------------------------------------------------------------------------- the entries

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "fig02", "Primes, greens and stars of one search of a real run", "picture",
        lambda plan: [], tables.nothing, artifacts=pictures.fig_2,
    ),
    Experiment(
        "fig04", "CPU codes against n, relative to the O(n^4) Hungarian", "figure",
        fig_4, tables.over_o4, draw_fig_4, compare_fig_4,
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
        "table1", "Run times in CUDA and C, in ms (verdicts: fig07, fig08)", "table",
        times, tables.run_times,
    ),
    Experiment(
        "fig07", "CUDA run time against n", "figure",
        times, tables.run_times, draw_fig_7, compare_cuda,
    ),
    Experiment(
        "fig08", "C run time against n", "figure",
        times, tables.run_times, draw_fig_8, compare_c,
    ),
    Experiment(
        "table2", "Speedup of CUDA over C", "table",
        times, tables.speedups, None, compare_speedups,
    ),
    Experiment(
        "fig09", "Speedup of CUDA over C against n (verdicts: table2)", "figure",
        times, tables.speedups, draw_fig_9,
    ),
    Experiment(
        "table3", "Speedup of each step, costs 0 to n", "table",
        steps, tables.step_speedups, None, compare_step_speedups,
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
        times, tables.other_gpus, None, compare_cards,
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
        "kernels", "Device time of each kernel at the largest n (a GPU only)", "table",
        device_time_cells, tables.device_times,
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
