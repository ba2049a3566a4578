"""Describes every table and figure of [L19] as data, and five experiments of our own.

[L19 Table 1] [L19 Table 2] [L19 Table 3] [L19 Table 4] [L19 Fig.2] [L19 Fig.4] [L19 Fig.5]
[L19 Fig.6] [L19 Fig.7] [L19 Fig.8] [L19 Fig.9] [L19 Fig.10] [L19 Fig.11] [L19 Fig.12]; Figures 1
and 3 are diagrams, of which `solver.run` and `kernels.search.step_1_min_in_rows` are the content.
Our own: `appendix_b`, `counts`, `kernels`, `authors`, `photos`.

An entry says what to measure (`cells`), how to lay it out (`tables`), how to draw it like the
paper's and how to compare it (`verdicts`); the first five are declared, and say all four by that.
Nothing here runs a solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.declarations import Code, Instances, Ratio, SameCounts, Times
from papers.common.evidence.tables import best_source, measured_by, nothing
from papers.common.model import Cell, Experiment, Instance, Plan, Scope
from papers.lopes2019.evidence import photos, rivals, tables, verdicts
from papers.lopes2019.evidence.tables import LABELS, RANGES_FIG_5

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_SIZES = (512, 1024, 2048, 4096, 8192)
INSTANCES = Instances(
    sizes={"smoke": (64,), "quick": (512, 1024, 2048), "paper": PAPER_SIZES},
    executor={"smoke": (8,), "quick": (16, 32, 64), "paper": (16, 32, 64)},
    labels=LABELS,
)
"""Random integer matrices; kernels without a GPU take the executor's sizes."""

CUDA = Code("lopes2019:gpu", "cuda", "CUDA", kernels=True, scopes=("run", "end_to_end"))
C = Code("lopes2019:cpu_o4", "c", "C")

# ------------------------------------------------------------------------------- declared tables

RUN_TIMES = Times((CUDA, C), tables.printed_times, instances=INSTANCES)
CARDS = Times((replace(CUDA, label="measured", scopes=("run",)),), tables.printed_cards,
              instances=INSTANCES)  # fmt: skip
SPEEDUPS = Ratio(
    "speedup", of=C, over=CUDA, instances=INSTANCES, published="table2",
    printed="speedup_cuda_over_c", times=tables.printed_times, columns=("cuda_gain", "c_gain"),
)  # fmt: skip
O3_OVER_O4 = Ratio(
    "ratio", of=Code("datenagi2016:tree", "o3", kernels=True),
    over=Code("lopes2019:gpu", "o4", kernels=True),
    instances=replace(INSTANCES, executor={**INSTANCES.executor, "quick": (16, 32),
                                           "paper": (16, 32)}),
    published="fig06", printed="o3_time_over_o4_time", times=tables.printed_o3_times,
    columns=("authors_ratio", "o3_ms", "o4_ms", "o3_gain", "o4_gain"),
    title="CUDA O(n^3) over O(n^4)", note=verdicts.other_code, claims=(verdicts.o4_faster,),
)  # fmt: skip
"""Figure 6, seed by seed; the tree stands for the O(n^3) code, which was not published."""

# Dual updates are equal too: before each one the stars are a maximum matching of the zeros, and the
# lines that the free columns reach do not depend on which maximum matching it is.
COUNTS = SameCounts(
    (replace(CUDA, title="kernels"), replace(C, title="CPU code")),
    ("zeros_initial", "matches_initial", "iterations_step_3", "iterations_step_4",
     "iterations_step_6", "kernel_launches", "cost"),
    ("cost", "zeros_initial", "iterations_step_6"), instances=INSTANCES,
)  # fmt: skip

# ------------------------------------------------------------------------------- what to measure


def uniform(n: int, label: str, seed: int) -> Instance:
    """Return a random integer matrix [L19 sec.5]."""
    return Instance("uniform", n, label, seed=seed)


def gpu_cells(
    plan: Plan, labels: tuple[str, ...] = LABELS, scopes: tuple[Scope, ...] = ("run",)
) -> list[Cell]:
    """Plan our kernels, on a GPU at the paper's sizes, in the executor at small ones."""
    return replace(INSTANCES, labels=labels).cells(plan, replace(CUDA, scopes=scopes))


def steps(plan: Plan) -> list[Cell]:
    """Plan Table 3: per-step times for the range n, and the totals."""
    both: tuple[Scope, ...] = ("run", "steps")
    c = replace(INSTANCES, labels=("n",)).cells(plan, replace(C, scopes=both))
    return gpu_cells(plan, ("n",), both) + c


def shares(label: str) -> Callable[[Plan], list[Cell]]:
    """Plan Figures 10 to 12: per-step times of the kernels for one range."""
    return lambda plan: gpu_cells(plan, (label,), ("run", "steps"))


def fig_4(plan: Plan) -> list[Cell]:
    """Plan the four CPU codes against n, range n; one seed of the rivals at the largest n."""
    sizes = {"smoke": (32, 64), "quick": (128, 256, 512, 1024, 2048)}.get(
        plan.preset, (128, 256, *PAPER_SIZES)
    )
    return [
        Cell(f"lopes2019:{solver}", uniform(n, "n", seed))
        for solver in tables.CPU
        for n in sizes
        for seed in (plan.seeds if solver == "cpu_o4" else rivals.seeds_at(plan, n))
    ]


def fig_5(plan: Plan) -> list[Cell]:
    """Plan the four CPU codes against the range, one n; one seed where O4 takes seconds."""
    n = {"smoke": 64, "quick": 2048, "paper": 2048}[plan.preset]
    return [
        Cell(f"lopes2019:{solver}", uniform(n, label, seed))
        for solver in tables.CPU
        for label in (RANGES_FIG_5[::2] if plan.preset == "quick" else RANGES_FIG_5)
        for seed in rivals.seeds_of_range(plan, solver, label)
    ]


def alternatives(plan: Plan) -> list[Cell]:
    """Plan Appendix B's kernels for step 4, and the paper's with the authors' split over blocks."""
    sizes = INSTANCES.sizes[plan.preset] if plan.gpu else INSTANCES.executor[plan.preset][:2]
    return [
        Cell(
            "lopes2019:gpu",
            uniform(n, label, seed),
            ("run",),
            options,
        )
        for n in sizes
        for label in LABELS
        for seed in plan.seeds
        for options in (
            (),
            (("lines_a_bin", 512 if plan.gpu else 4),),
            (("step_4", "A"),),
            (("step_4", "B"),),
            (("step_4", "C"),),
        )
    ]


def device_time_cells(plan: Plan) -> list[Cell]:
    """Plan the largest instances, by the device's own clock."""
    n = INSTANCES.sizes[plan.preset][-1]
    cells = [
        Cell("lopes2019:gpu", uniform(n, label, seed), ("kernels",))
        for label in LABELS
        for seed in plan.seeds
    ]
    return cells if plan.gpu else []


def photo_cells(plan: Plan) -> list[Cell]:
    """Plan the photos' costs, by the kernels and by the fastest CPU code."""
    name = "coffee into astronaut"
    n = {"smoke": 64, "quick": 1024, "paper": 4096}[plan.preset]
    sizes = sorted({1024, n}) if plan.gpu and plan.preset != "smoke" else [n]
    kernels = sizes if plan.gpu else [{"smoke": 16, "quick": 64, "paper": 64}[plan.preset]]
    return [Cell("lopes2019:gpu", Instance("colours", n, name)) for n in kernels] + [
        Cell("lopes2019:cpu_sp", Instance("colours", n, name)) for n in sizes
    ]


# ------------------------------------------------------------------------------- how to draw


def _titled(shown: pd.DataFrame, title: str) -> str:
    """Return a title that says whose measurements are drawn."""
    return f"{title}\n{measured_by(shown)}"


ALGORITHMS = {"O4": "O(n^4) Hungarian", "O3": "O(n^3) Hungarian", "SP": "shortest path",
              "A": "auction"}  # fmt: skip


def _spelled_out(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(algorithm=table["algorithm"].map(ALGORITHMS))


def plot_fig_4(table: pd.DataFrame) -> Figure:
    """Plot time over the O(n^4) code's, both axes binary logs."""
    shown = best_source(table, "published_ratio", "ratio")
    return plots.line_plot(
        _spelled_out(shown),
        x="n", y_published="published_ratio", y_measured="ratio", series="algorithm",
        known=tuple(ALGORITHMS.values()), xscale="log2", yscale="log2", xlabel="matrix size n",
        ylabel="time / time of O(n^4) Hungarian", title=_titled(shown, "CPU codes, costs 0 to n"),
    )  # fmt: skip


def plot_fig_5(table: pd.DataFrame) -> Figure:
    """Plot time against cost range, binary log axes."""
    shown = best_source(table, "published_ms", "time_ms")
    sizes = ", ".join(str(n) for n in sorted(shown["n"].unique()))
    return plots.line_plot(
        _spelled_out(shown),
        x="range_over_n", y_published="published_ms", y_measured="time_ms", series="algorithm",
        known=tuple(ALGORITHMS.values()), xscale="log2", yscale="log2", xlabel="cost range / n",
        ylabel="time (ms)", title=_titled(shown, f"CPU codes, n = {sizes}"),
    )  # fmt: skip


def plot_shares(title: str) -> Callable[[pd.DataFrame], Figure]:
    """Return a function that plots stacked shares of the steps."""

    def draw(table: pd.DataFrame) -> Figure:
        shown = best_source(table, "published_share_pct", "share_pct")
        return plots.stacked_bars(
            shown.assign(step=shown["step"].str.replace("_", " ")),
            x="n", y_published="published_share_pct", y_measured="share_pct", series="step",
            xlabel="matrix size n", ylabel="share of CUDA time (%)", title=_titled(shown, title),
            ylim=(0, 100),
        )  # fmt: skip

    return draw


# ------------------------------------------------------------------------------- the entries

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="fig02", title="Primes, greens and stars of one search of a real run", kind="picture",
        cells=lambda plan: [], table=nothing, artifacts=photos.fig_2,
    ),
    Experiment(
        name="fig04", title="CPU codes against n, relative to the O(n^4) Hungarian", kind="figure",
        cells=fig_4, table=tables.over_o4, figure=plot_fig_4, compare=verdicts.over_o4,
        interleaved=True,
    ),
    Experiment(
        name="fig05", title="CPU codes against the cost range", kind="figure",
        cells=fig_5, table=tables.against_range, figure=plot_fig_5, compare=verdicts.against_range,
        interleaved=True,
    ),
    rivals.RIVALS,
    O3_OVER_O4.experiment(
        "fig06", "CUDA O(n^3) (datenagi2016:tree) over CUDA O(n^4)", plot="CUDA codes",
        yscale="linear",
    ),
    RUN_TIMES.experiment("table1", "Run times in CUDA and C, in ms (verdicts: fig07, fig08)"),
    RUN_TIMES.experiment(
        "fig07", "CUDA run time against n", plot="CUDA run time", label="cuda",
        verdicts=RUN_TIMES.compared("cuda", "CUDA time", verdicts.LATENCY),
    ),
    RUN_TIMES.experiment(
        "fig08", "C run time against n", plot="CPU run time", label="c",
        verdicts=RUN_TIMES.compared("c", "C time"),
    ),
    SPEEDUPS.experiment("table2", "Speedup of CUDA over C"),
    SPEEDUPS.experiment(
        "fig09", "Speedup of CUDA over C against n (verdicts: table2)",
        plot="CPU time over CUDA time", verdicts=False,
    ),
    Experiment(
        name="table3", title="Speedup of each step, costs 0 to n", kind="table",
        cells=steps, table=tables.step_speedups, compare=verdicts.step_speedups,
        interleaved=True,
    ),
    *(
        Experiment(
            name=f"fig{number}", kind="figure",
            title=f"Share of each step in the CUDA time, costs 0 to {label}",
            cells=shares(label), table=tables.step_shares(label, f"fig{number}"),
            figure=plot_shares(f"Steps' shares, costs 0 to {label}"), compare=verdicts.shares,
        )
        for number, label in ((10, "0.1n"), (11, "n"), (12, "10n"))
    ),
    CARDS.experiment(
        "table4", "Run times on other GPUs (ms)",
        verdicts=CARDS.compared("measured", "CUDA time beside the K20c", verdicts.LATENCY, "k20c"),
    ),
    Experiment(
        name="appendix_b", kind="table",
        title="Step 4: the paper's kernel beside its alternatives A, B and C",
        cells=alternatives, table=tables.appendix_b, compare=verdicts.appendix_b,
        interleaved=True,
    ),
    COUNTS.experiment("counts", "What no hardware changes: zeros, iterations, optimal costs"),
    Experiment(
        name="kernels", title="Device time of each kernel at the largest n (a GPU only)",
        kind="table", cells=device_time_cells, table=tables.device_times,
    ),
    Experiment(
        name="authors", title="Beside the authors' CUDA C++ on one H100", kind="table",
        cells=gpu_cells, table=tables.authors_code, compare=verdicts.authors,
    ),
    Experiment(
        name="photos", title="One photograph's colours rearranged into another", kind="picture",
        cells=photo_cells, table=tables.photos, artifacts=photos.photos,
    ),
)  # fmt: skip
