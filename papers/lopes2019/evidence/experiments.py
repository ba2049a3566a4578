"""Describes every table and figure of [L19] as data, and experiments of our own.

[L19 Table 1] [L19 Table 2] [L19 Table 3] [L19 Table 4] [L19 Fig.2] [L19 Fig.4] [L19 Fig.5]
[L19 Fig.6] [L19 Fig.7] [L19 Fig.8] [L19 Fig.9] [L19 Fig.10] [L19 Fig.11] [L19 Fig.12], and as
pictures alone [L19 Fig.1] [L19 Fig.3] [L19 Table A.5]. Our own: `appendix_b`, `counts`, `kernels`,
`authors`, `photos`, `claims`, `authors_stream`, `card`.

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
from papers.lopes2019.evidence import (
    authors_stream,
    claims,
    diagrams,
    photos,
    rivals,
    tables,
    verdicts,
    waterfall,
)
from papers.lopes2019.evidence.card import causes, expected
from papers.lopes2019.evidence.card import experiment as card
from papers.lopes2019.evidence.tables import AS_PRINTED, LABELS, RANGES_FIG_5

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_SIZES = (512, 1024, 2048, 4096, 8192)
INSTANCES = Instances(
    sizes={"smoke": (64,), "quick": (512, 1024), "paper": PAPER_SIZES},
    executor={"smoke": (8,), "quick": (12, 24), "paper": (16, 32, 64)},
    labels=LABELS,
)
"""Random integer matrices; kernels without a GPU take the executor's sizes."""

CLOCKS: tuple[Scope, ...] = ("run", "end_to_end")
CUDA = Code("lopes2019:gpu", "cuda", "CUDA", kernels=True, scopes=CLOCKS, options=AS_PRINTED)
TUNED = Code("lopes2019:gpu", "tuned", "tuned CUDA", kernels=True, scopes=CLOCKS)
C = Code("lopes2019:cpu_c", "c", "C")
OUR_C = Code("lopes2019:cpu_o4", "tuned_c", "tuned C")
"""The kernels and the C code as printed, which are compared with print, and ours beside them."""

# ------------------------------------------------------------------------------- declared tables

RUN_TIMES = Times((CUDA, TUNED, C, OUR_C), tables.printed_times, instances=INSTANCES)
CARDS = Times((replace(CUDA, label="measured"), TUNED), tables.printed_cards, instances=INSTANCES)
SPEEDUPS = Ratio(
    "speedup", of=C, over=CUDA, beside=(TUNED,), instances=INSTANCES, published="table2",
    printed="speedup_cuda_over_c", times=tables.printed_times,
    columns=("tuned_speedup", "cuda_gain", "c_gain"), cause=causes.of_speedup,
)  # fmt: skip
O3_OVER_O4 = Ratio(
    "ratio", of=Code("datenagi2016:tree", "o3", kernels=True),
    over=Code("lopes2019:gpu", "o4", kernels=True, options=AS_PRINTED),
    beside=(Code("lopes2019:gpu", "tuned", kernels=True),),
    instances=replace(INSTANCES, executor={**INSTANCES.executor, "quick": (16, 32),
                                           "paper": (16, 32)}),
    published="fig06", printed="o3_time_over_o4_time", times=tables.printed_o3_times,
    columns=("tuned_ratio", "authors_ratio", "o3_ms", "o4_ms", "o3_gain", "o4_gain"),
    title="CUDA O(n^3) over O(n^4)", note=verdicts.other_code,
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


def step_cells(plan: Plan, labels: tuple[str, ...], *codes: Code) -> list[Cell]:
    """Plan the times of the steps, and the whole times beside them."""
    instances = replace(INSTANCES, labels=labels)
    timed = (replace(code, scopes=("run", "steps")) for code in codes)
    return [cell for code in timed for cell in instances.cells(plan, code)]


def steps(plan: Plan) -> list[Cell]:
    """Plan Table 3: the range n."""
    return step_cells(plan, ("n",), CUDA, TUNED, C)


def shares(label: str) -> Callable[[Plan], list[Cell]]:
    """Plan Figures 10 to 12: per-step times of the kernels for one range."""
    return lambda plan: step_cells(plan, (label,), CUDA, TUNED)


def fig_4(plan: Plan) -> list[Cell]:
    """Plan the four CPU codes against n, range n."""
    sizes = {"smoke": (32, 64), "quick": (128, 256, 512, 1024)}.get(
        plan.preset, (128, 256, *PAPER_SIZES)
    )
    return [
        Cell(f"lopes2019:{solver}", uniform(n, "n", seed))
        for solver in tables.CPU
        for n in sizes
        for seed in plan.seeds
    ]


def fig_5(plan: Plan) -> list[Cell]:
    """Plan the four CPU codes against the range, one n."""
    n = {"smoke": 64, "quick": 1024, "paper": 2048}[plan.preset]
    return [
        Cell(f"lopes2019:{solver}", uniform(n, label, seed))
        for solver in tables.CPU
        # The widest ranges take longest.
        for label in (RANGES_FIG_5[:8:2] if plan.preset == "quick" else RANGES_FIG_5)
        for seed in plan.seeds
    ]


def alternatives(plan: Plan) -> list[Cell]:
    """Plan Appendix B's kernels for step 4, as printed; in our configuration on fewer sizes."""
    executor = {**INSTANCES.executor, "quick": (16, 32), "paper": (16, 32)}
    printed = replace(INSTANCES, executor=executor)
    ours = replace(waterfall.INSTANCES, executor=executor)
    return [
        cell
        for name, options in tables.STEP_4.items()
        for cell in (ours if name.startswith("tuned ") else printed).cells(
            plan, replace(TUNED, scopes=("run",), options=options)
        )
    ]


def authors_cells(plan: Plan) -> list[Cell]:
    """Plan the kernels as released, as printed and tuned, on the authors' instances."""
    released = replace(CUDA, options=(("configuration", "released"),))
    codes = [replace(code, scopes=("run",)) for code in (released, CUDA, TUNED)]
    return [cell for code in codes for cell in INSTANCES.cells(plan, code)]


def device_time_cells(plan: Plan) -> list[Cell]:
    """Plan the largest instances, by the device's own clock."""
    n = INSTANCES.sizes[plan.preset][-1]
    cells = [
        Cell("lopes2019:gpu", uniform(n, label, seed), ("kernels",), options)
        for label in LABELS
        for seed in plan.seeds
        for options in ((), AS_PRINTED)
    ]
    return cells if plan.gpu else []


def photo_cells(plan: Plan) -> list[Cell]:
    """Plan the photos' costs, by the kernels and by the fastest CPU code."""
    name = "coffee into astronaut"
    n = {"smoke": 64, "quick": 1024, "paper": 2304}[plan.preset]
    sizes = sorted({1024, n}) if plan.gpu and plan.preset != "smoke" else [n]
    kernels = sizes if plan.gpu else [{"smoke": 16, "quick": 64, "paper": 64}[plan.preset]]
    return [Cell("lopes2019:gpu", Instance("colours", n, name)) for n in kernels] + [
        Cell(solver, Instance("colours", n, name))
        for solver in ("lopes2019:cpu_sp", *(["datenagi2016:tree"] if plan.gpu else []))
        for n in sizes
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


def picture(name: str, title: str, draw: Callable) -> Experiment:
    """Return an experiment that measures nothing and draws a picture."""
    return Experiment(
        name=name, title=title, kind="picture", cells=lambda plan: [], table=nothing,
        artifacts=draw,
    )  # fmt: skip


EXPERIMENTS: tuple[Experiment, ...] = (
    picture("fig01", "The flow through the steps", diagrams.fig_1),
    picture("fig03", "How step 1 splits the matrix over threads and blocks", diagrams.fig_3),
    picture("table_a5", "Table A.5 with S2 and S3 reversed", diagrams.table_a5),
    picture("fig02", "Primes, greens and stars of one search of a real run", photos.fig_2),
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
    card.explained(
        RUN_TIMES.experiment(
            "fig07", "CUDA run time against n", plot="CUDA run time", label="cuda",
            verdicts=RUN_TIMES.compared("cuda", "CUDA time", verdicts.LATENCY),
        ), "cuda", expected.totals,
    ),
    RUN_TIMES.experiment(
        "fig08", "C run time against n", plot="CPU run time", label="c",
        verdicts=RUN_TIMES.compared("c", "C time"),
    ),
    card.explained_speedups(SPEEDUPS.experiment("table2", "Speedup of CUDA over C")),
    SPEEDUPS.experiment(
        "fig09", "Speedup of CUDA over C against n (verdicts: table2)",
        plot="CPU time over CUDA time", verdicts=False,
    ),
    Experiment(
        name="table3", title="Speedup of each step, costs 0 to n", kind="table",
        cells=steps, compare=verdicts.step_speedups, interleaved=True,
        table=expected.beside(tables.step_speedups, expected.step_speedups, "n"),
    ),
    *(
        Experiment(
            name=f"fig{number}", kind="figure",
            title=f"Share of each step in the CUDA time, costs 0 to {label}",
            cells=shares(label),
            table=expected.beside(
                tables.step_shares(label, f"fig{number}"), expected.shares, label
            ),
            figure=plot_shares(f"Steps' shares, costs 0 to {label}"), compare=verdicts.shares,
        )
        for number, label in ((10, "0.1n"), (11, "n"), (12, "10n"))
    ),
    card.explained(
        CARDS.experiment(
            "table4", "Run times on other GPUs (ms)",
            verdicts=CARDS.compared(
                "measured", "CUDA time beside the K20c", verdicts.LATENCY, "k20c"
            ),
        ), "measured", expected.totals_of_k20c, "k20c",
    ),
    card.experiment(steps, shares("0.1n"), shares("10n"), device_time_cells, authors_stream.cells),
    Experiment(
        name="appendix_b", kind="table",
        title="Step 4: the paper's kernel beside its alternatives A, B and C",
        cells=alternatives, table=tables.appendix_b, compare=verdicts.appendix_b,
        interleaved=True,
    ),
    Experiment(
        name="waterfall", title="From the authors' release to our configuration, step by step",
        kind="figure", cells=waterfall.cells, table=waterfall.table, figure=waterfall.draw,
        compare=waterfall.compare, interleaved=True,
    ),
    claims.experiment(fig_4, fig_5),
    authors_stream.EXPERIMENT,
    COUNTS.experiment("counts", "What no hardware changes: zeros, iterations, optimal costs"),
    Experiment(
        name="kernels", title="Device time of each kernel at the largest n (a GPU only)",
        kind="table", cells=device_time_cells, table=tables.device_times,
    ),
    Experiment(
        name="authors", title="Beside the authors' CUDA C++ on the same card", kind="table",
        cells=authors_cells, table=tables.authors_code, compare=verdicts.authors,
        interleaved=True,
    ),
    Experiment(
        name="photos", title="One photograph's colours rearranged into another", kind="picture",
        cells=photo_cells, table=tables.photos, artifacts=photos.photos,
    ),
)  # fmt: skip
