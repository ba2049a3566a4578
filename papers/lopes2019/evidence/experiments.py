"""Every table and figure of [L19] as data, and five experiments of our own.

[L19 Table 1] [L19 Table 2] [L19 Table 3] [L19 Table 4] [L19 Fig.2] [L19 Fig.4] [L19 Fig.5]
[L19 Fig.6] [L19 Fig.7] [L19 Fig.8] [L19 Fig.9] [L19 Fig.10] [L19 Fig.11] [L19 Fig.12]; Figures 1
and 3 are diagrams: `solver.run` and `kernels.matrix.step_1_min_in_rows` do what they show. Our own:
`appendix_b`, `counts`, `kernels`, `authors`, `photos`.

An entry states its cells, its table (`tables`), a plot like the paper's, and its comparison with
print (`verdicts`). Nothing here runs a solver.
"""

from __future__ import annotations

import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.tables import best_source, measured_by, nothing
from papers.common.model import Cell, Experiment, Instance, Plan, Scope
from papers.lopes2019.evidence import photos, tables, verdicts
from papers.lopes2019.evidence.tables import LABELS, RANGES_FIG_5

PAPER_SIZES = (512, 1024, 2048, 4096, 8192)
EXECUTOR_SIZES = {"smoke": (8,), "quick": (16, 32, 64), "paper": (16, 32, 64)}
GPU_SIZES = {"smoke": (64,), "quick": (512, 1024, 2048), "paper": PAPER_SIZES}
CPU_SIZES = {"smoke": (64,), "quick": (512, 1024, 2048), "paper": PAPER_SIZES}

# ------------------------------------------------------------------------------- the cells


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
        for label in (RANGES_FIG_5[::2] if plan.preset == "quick" else RANGES_FIG_5)
    ]


def fig_6(plan: Plan) -> list[Cell]:
    """The O(n^4) kernels and another paper's O(n^3) ones on the same instances."""
    cells = [cell for cell in gpu_cells(plan) if plan.gpu or cell.instance.n <= 32]
    return cells + [Cell(tables.O3, cell.instance) for cell in cells]


def alternatives(plan: Plan) -> list[Cell]:
    """Appendix B's kernels for step 4, and the paper's with the authors' split over blocks."""
    sizes = GPU_SIZES[plan.preset] if plan.gpu else EXECUTOR_SIZES[plan.preset][:2]
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


# ------------------------------------------------------------------------------- how to plot


def _titled(shown: pd.DataFrame, title: str) -> str:
    """A title that says whose measurements are plotted."""
    return f"{title}\n{measured_by(shown)}"


def _curves(published: str, measured: str, yscale: str, ylabel: str, title: str):
    """Plot a curve a cost range against n."""

    def plot(table: pd.DataFrame):
        shown = best_source(table, published, measured)
        return plots.line_plot(
            shown, x="n", y_published=published, y_measured=measured, series="cost_range",
            xscale="log2", yscale=yscale, xlabel="matrix size n", ylabel=ylabel,
            title=_titled(shown, title),
        )  # fmt: skip

    return plot


plot_fig_7 = _curves("published_cuda_ms", "cuda_ms", "log", "time (ms)", "CUDA run time")
plot_fig_8 = _curves("published_c_ms", "c_ms", "log", "time (ms)", "CPU run time")
plot_fig_9 = _curves("published_speedup", "speedup", "log2", "speedup", "CPU time over CUDA time")

ALGORITHMS = {"O4": "O(n^4) Hungarian", "O3": "O(n^3) Hungarian", "SP": "shortest path",
              "A": "auction"}  # fmt: skip


def _spelled_out(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(algorithm=table["algorithm"].map(ALGORITHMS))


def plot_fig_4(table: pd.DataFrame):
    """Plot time over the O(n^4) code's, both axes binary logs."""
    shown = best_source(table, "published_ratio", "ratio")
    return plots.line_plot(
        _spelled_out(shown),
        x="n", y_published="published_ratio", y_measured="ratio", series="algorithm",
        xscale="log2", yscale="log2", xlabel="matrix size n",
        ylabel="time / time of O(n^4) Hungarian", title=_titled(shown, "CPU codes, costs 0 to n"),
    )  # fmt: skip


def plot_fig_5(table: pd.DataFrame):
    """Plot time against cost range, binary log axes."""
    shown = best_source(table, "published_ms", "time_ms")
    sizes = ", ".join(str(n) for n in sorted(shown["n"].unique()))
    return plots.line_plot(
        _spelled_out(shown),
        x="range_over_n", y_published="published_ms", y_measured="time_ms", series="algorithm",
        xscale="log2", yscale="log2", xlabel="cost range / n", ylabel="time (ms)",
        title=_titled(shown, f"CPU codes, n = {sizes}"),
    )  # fmt: skip


plot_fig_6 = _curves(
    "published_ratio", "ratio", "linear", "time of O(n^3) / time of O(n^4)", "CUDA codes"
)


def plot_shares(title: str):
    """Plot stacked shares of the steps."""

    def plot(table: pd.DataFrame):
        shown = best_source(table, "published_share_pct", "share_pct")
        return plots.stacked_bars(
            shown.assign(step=shown["step"].str.replace("_", " ")),
            x="n", y_published="published_share_pct", y_measured="share_pct", series="step",
            xlabel="matrix size n", ylabel="share of CUDA time (%)", title=_titled(shown, title),
            ylim=(0, 100),
        )  # fmt: skip

    return plot


# ------------------------------------------------------------------------------- the entries

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "fig02", "Primes, greens and stars of one search of a real run", "picture",
        lambda plan: [], nothing, artifacts=photos.fig_2,
    ),
    Experiment(
        "fig04", "CPU codes against n, relative to the O(n^4) Hungarian", "figure",
        fig_4, tables.over_o4, plot_fig_4, verdicts.over_o4,
    ),
    Experiment(
        "fig05", "CPU codes against the cost range", "figure",
        fig_5, tables.against_range, plot_fig_5, verdicts.against_range,
    ),
    Experiment(
        "fig06", "CUDA O(n^3) (datenagi2016:tree) over CUDA O(n^4)", "figure",
        fig_6, tables.cuda_o3_over_o4, plot_fig_6, verdicts.cuda_o3_over_o4,
    ),
    Experiment(
        "table1", "Run times in CUDA and C, in ms (verdicts: fig07, fig08)", "table",
        times, tables.run_times,
    ),
    Experiment(
        "fig07", "CUDA run time against n", "figure",
        times, tables.run_times, plot_fig_7, verdicts.cuda_times,
    ),
    Experiment(
        "fig08", "C run time against n", "figure",
        times, tables.run_times, plot_fig_8, verdicts.c_times,
    ),
    Experiment(
        "table2", "Speedup of CUDA over C", "table",
        times, tables.speedups, None, verdicts.speedups,
    ),
    Experiment(
        "fig09", "Speedup of CUDA over C against n (verdicts: table2)", "figure",
        times, tables.speedups, plot_fig_9,
    ),
    Experiment(
        "table3", "Speedup of each step, costs 0 to n", "table",
        steps, tables.step_speedups, None, verdicts.step_speedups,
    ),
    *(
        Experiment(
            f"fig{number}", f"Share of each step in the CUDA time, costs 0 to {label}", "figure",
            shares(label), tables.step_shares(label, f"fig{number}"),
            plot_shares(f"Steps' shares, costs 0 to {label}"), verdicts.shares,
        )
        for number, label in ((10, "0.1n"), (11, "n"), (12, "10n"))
    ),
    Experiment(
        "table4", "Run times on other GPUs (ms)", "table",
        times, tables.other_gpus, None, verdicts.cards,
    ),
    Experiment(
        "appendix_b", "Step 4: the paper's kernel beside its alternatives A, B and C", "table",
        alternatives, tables.appendix_b, None, verdicts.appendix_b,
    ),
    Experiment(
        "counts", "Counts that no hardware changes: zeros, iterations, optimal costs", "table",
        times, tables.counts, None, verdicts.counts,
    ),
    Experiment(
        "kernels", "Device time of each kernel at the largest n (a GPU only)", "table",
        device_time_cells, tables.device_times,
    ),
    Experiment(
        "authors", "Beside the authors' CUDA C++ on one H100", "table",
        lambda plan: gpu_cells(plan), tables.authors_code, None, verdicts.authors,
    ),
    Experiment(
        "photos", "One photograph's colours rearranged into another", "picture",
        photo_cells, tables.photos, None, None, photos.photos,
    ),
)  # fmt: skip
