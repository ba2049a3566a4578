"""Tables 1 to 5 and Figures 1 to 5 of [DN16] as data, and our own experiments.

From print: [DN16 Table 1] [DN16 Table 2] [DN16 Table 3] [DN16 Fig.1] [DN16 Fig.2] [DN16 Fig.3]; the
cells of the multi-GPU part [DN16 sec.6.3] are in `scaling_tables`. Our own: `initial`,
`objectives`, `counts`, `memory`, `large`, `doubles`, `authors`, `arrival`, `waterfall`,
`claims`, `card`, and on several GPUs `sparse`, `sharing`, `larger_counts`, `collectives`,
`exchanges`, `larger`, `model`, `too_large_for_one`.

An experiment names the cells to measure, their table (`tables`), a plot like the paper's and the
comparisons (`verdicts`). Nothing here runs a solver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from papers.common import cores
from papers.common.evidence import cards, plots
from papers.common.evidence.tables import best_source, measured_by, nothing
from papers.common.model import Cell, Experiment, Instance, Plan, Scope
from papers.datenagi2016.evidence import (
    arrival,
    claims,
    message_times,
    scaling_tables,
    scaling_verdicts,
    tables,
    verdicts,
    waterfall,
)
from papers.datenagi2016.evidence.card import efficiency, expected
from papers.datenagi2016.evidence.card import experiment as card
from papers.datenagi2016.evidence.card.prices import FIGURES
from papers.datenagi2016.evidence.tables import GPU, KERNELS, LABELS, OURS, SOLVERS
from papers.datenagi2016.evidence.theory import OVER_N, theory

EXECUTOR_SIZES = {"smoke": (8,), "quick": (12, 24), "paper": (16, 32)}
SMALL = {
    "smoke": (64,),
    "quick": (500, 1000, 2000, 3000),
    "paper": tuple(range(500, 5001, 500)),
}
"""The sizes of Table 1."""

BANDED = {"smoke": (64,), "quick": (1000, 2000), "paper": (1000, 2000, 3000, 4000, 5000)}
"""The sizes of Table 2."""

LARGE = {"smoke": (64,), "quick": (5000,), "paper": (5000, 10000, 15000, 20000)}
"""The sizes of Table 3."""

AUTHORS = {"smoke": (), "quick": (512, 1024, 2048), "paper": (512, 1024, 2048, 4096, 8192)}
"""The sizes at which the authors' codes were run, besides those of Table 3."""

RESIDENT_SIZE = 70000


# ------------------------------------------------------------------------------- what to measure


def uniform(n: int, label: str, seed: int) -> Instance:
    """Return the instance of a random integer matrix [DN16 sec.6.1] [DN16 sec.6.2]."""
    return Instance("uniform", n, label, seed=seed)


def _cell(name: str, n: int, label: str, seed: int, scopes: tuple[Scope, ...]) -> Cell:
    solver, option = SOLVERS[name]
    key, _, value = option.partition("=")
    options = ((key, cores.threads(int(value)) if key == "threads" else value),) if option else ()
    return Cell(f"datenagi2016:{solver}", uniform(n, label, seed), scopes, options)


def kernels(
    plan: Plan,
    sizes: Iterable[int],
    labels: Sequence[str],
    scopes: tuple[Scope, ...],
    names: Sequence[str] = KERNELS,
) -> list[Cell]:
    """Return cells of both variants, as printed and tuned: without a GPU at the executor's sizes.

    Parameters
    ----------
    plan : Plan
    sizes : iterable of int
        The orders on a GPU.
    labels : sequence of str
        The cost ranges.
    scopes : tuple of Scope
        The clocks.
    names : sequence of str
        Some of `tables.KERNELS`.
    """
    return [
        _cell(name, n, label, seed, scopes)
        for n in (sizes if plan.gpu else EXECUTOR_SIZES[plan.preset])
        for label in labels
        for seed in plan.seeds
        for name in names
    ]


def small(plan: Plan) -> list[Cell]:
    """Return the cells of Table 1 and Figure 2: four codes, range n, the paper's clock and ours."""
    scopes: tuple[Scope, ...] = ("end_to_end",) if plan.gpu else ("run",)
    both: tuple[Scope, ...] = ("run", "end_to_end") if plan.gpu else ("run",)
    cells = kernels(plan, SMALL[plan.preset], ("n",), scopes, GPU)
    cells += kernels(plan, SMALL[plan.preset], ("n",), both, OURS)
    return cells + [
        _cell(name, n, "n", seed, ("run",))
        for name in ("OMP-1", "OMP-8")
        for n in SMALL[plan.preset]
        for seed in plan.seeds
    ]


def spread(
    plan: Plan,
    sizes: Iterable[int],
    labels: Sequence[str] = ("n",),
    name: str = "tuned CU-TREE",
    most: int = 3000,
) -> list[Cell]:
    """Return cells for counts that no hardware changes, on more instances, by the cheapest code.

    Without a GPU that is the CPU's. Up to n = `most` there are ten instances.
    """
    name = name if plan.gpu else "OMP-8"
    return [
        _cell(name, n, label, seed, ("run",))
        for n in sizes
        for label in labels
        for seed in (_counted_seeds(plan) if n <= most else plan.seeds)
        if n <= 5000 or plan.gpu
    ]


def _counted_seeds(plan: Plan) -> tuple[int, ...]:
    """Return ten seeds in preset paper and three in quick, unless the command line names some."""
    if plan.seeds_given or plan.preset == "smoke":
        return plan.seeds
    return tuple(range(1, 11 if plan.preset == "paper" else 4))


def banded(plan: Plan) -> list[Cell]:
    """Return the cells of Table 2, the assignments by iteration, on ten instances a size.

    One instance differs from another by half of the first band. Without a GPU small ones run in
    the executor.
    """
    sizes = BANDED[plan.preset]
    if not plan.gpu:
        return kernels(plan, sizes, ("n",), ("run",), ("CU-TREE", "tuned CU-TREE"))
    return [
        cell
        for name in ("CU-TREE", "tuned CU-TREE")
        for cell in spread(plan, sizes, name=name, most=max(sizes))
    ]


def large_small(plan: Plan) -> list[Cell]:
    """Return the cells of Table 3 up to n = 5000, ours with every clock; in the executor small."""
    scopes: tuple[Scope, ...] = ("steps", "end_to_end") if plan.gpu else ("steps",)
    every: tuple[Scope, ...] = ("run", *scopes) if plan.gpu else scopes
    sizes = [n for n in LARGE[plan.preset] if n <= 5000]
    on_cpu = [
        _cell("OMP-8", n, label, seed, ("run", "steps"))
        for n in sizes
        for label in LABELS
        for seed in plan.seeds
        # Without a GPU the quick preset spares itself the runs that take longest.
        if label == "n" or plan.gpu or plan.preset != "quick"
    ]
    # Beside the executor one thread is enough: only its counts are needed.
    beside = [
        _cell("OMP-1", n, label, seed, ("run",))
        for n in ([] if plan.gpu else EXECUTOR_SIZES[plan.preset])
        for label in LABELS
        for seed in plan.seeds
    ]
    on_gpu = kernels(plan, sizes, LABELS, scopes, GPU) + kernels(plan, sizes, LABELS, every, OURS)
    return on_gpu + on_cpu + beside


def large_large(plan: Plan) -> list[Cell]:
    """Return the cells of Table 3 from n = 10000: the same instances for all codes.

    The codes as printed and OMP-8 are measured by step alone: their total is the sum of the steps,
    as the way of the costs to the card, short beside print's runs, would be long beside ours. Ours
    have every clock. OMP-8 has the first instance alone from n = 15000 on, for the minutes.
    """
    sizes = [n for n in LARGE[plan.preset] if n > 5000]
    cells: list[Cell] = []
    if plan.gpu:
        cells += kernels(plan, sizes, LABELS, ("steps",), GPU)
        cells += kernels(plan, sizes, LABELS, ("run", "steps", "end_to_end"), OURS)
    on_cpu = [
        _cell("OMP-8", n, label, seed, ("steps",))
        for n in sizes
        for label in LABELS
        for seed in (plan.seeds if n < 15000 else plan.seeds[:1])
    ]
    return cells + on_cpu


def table_3(plan: Plan) -> list[Cell]:
    """Return the cells of Table 3 and Figure 3: three codes, three ranges, the steps."""
    return large_small(plan) + large_large(plan)


def all_counts(plan: Plan) -> list[Cell]:
    """Return every instance of Tables 1 to 3, and more instances of the sizes that are cheap."""
    more = spread(plan, SMALL[plan.preset]) + spread(plan, [5000] * plan.gpu, LABELS)
    if plan.preset != "paper":
        more = spread(plan, BANDED[plan.preset], LABELS)
    return small(plan) + table_3(plan) + (more if plan.preset != "smoke" else [])


def resident(plan: Plan) -> list[Cell]:
    """Return the cells of the tree variant's largest instance, which no host has to hold."""
    if not plan.gpu or plan.preset != "paper":
        return []
    large = Instance("uniform", RESIDENT_SIZE, "n", seed=plan.seeds[0], storage="device")
    return [Cell("datenagi2016:tree", large, ("run",))]


DOUBLES: dict[str, dict[str, tuple[int, ...]]] = {
    "smoke": {"tuned CU-CLASS": (64,), "tuned CU-TREE": (64,)},
    "quick": {"tuned CU-CLASS": (1000,), "tuned CU-TREE": (1000, 2000)},
    "paper": {
        "tuned CU-CLASS": (1000, 2500, 5000), "tuned CU-TREE": (1000, 2500, 5000, 10_000)
    },
}  # fmt: skip
"""The sizes with doubles. At n = 10,000 the classical variant takes eight seconds."""


def doubles(plan: Plan) -> list[Cell]:
    """Return cells on doubles in [0, 2], which a fixed epsilon of 1e-6 gets wrong at n = 10000."""
    sizes = DOUBLES[plan.preset] if plan.gpu else dict.fromkeys(OURS, (16,))
    return [
        Cell(f"datenagi2016:{SOLVERS[name][0]}", Instance("uniform_double", n, "2", seed=seed))
        for name in OURS
        for n in sizes[name]
        for seed in plan.seeds
    ]


def beside_authors(plan: Plan) -> list[Cell]:
    """Return cells on the instances of the authors' codes, on a GPU only; as printed up to 2048."""
    if not plan.gpu:
        return []
    large = [n for n in LARGE[plan.preset] if n >= 5000]
    small = [n for n in AUTHORS[plan.preset] if n <= 2048]
    ours = kernels(plan, [*AUTHORS[plan.preset], *large], LABELS, ("run",), OURS)
    return ours + kernels(plan, small, LABELS, ("run",), GPU)


# ------------------------------------------------------------------------------- how to draw


@plots.house_style()
def draw_fig_2(table: pd.DataFrame):
    """Plot grouped bars a size, as printed and as measured; each panel has its own seconds."""
    shown = best_source(table, "published_s", "total_s")
    figure, panels = plots.new_figure(columns=2, size=(10.4, 4.2))
    sizes = sorted(shown["n"].unique())
    titles = {"published_s": "published", "total_s": measured_by(shown)}
    for axes, (column, title) in zip(panels[0], titles.items(), strict=True):
        for place, name in enumerate(SOLVERS):
            if name in OURS and column == "published_s":
                continue
            bars = shown[shown["solver"] == name].set_index("n")[column].reindex(sizes)
            at = [i + (place - 2.5) * 0.14 for i in range(len(sizes))]
            axes.bar(at, bars.fillna(0.0), 0.13, color=plots.COLOURS[place], label=name)
        axes.set_xticks(range(len(sizes)), [str(n) for n in sizes])
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("problem size n")
        axes.set_ylabel("time (s)")
        axes.set_title(title)
    panels[0][1].legend()
    return figure


def _pie(axes: Any, shares: pd.Series, title: str) -> None:
    colours = dict(zip((*tables.SHOWN, "other"), plots.COLOURS, strict=False))
    axes.set_title(title, fontsize=9)
    if shares.empty or shares.isna().all():
        axes.text(0, 0, "not measured", ha="center", va="center")
        axes.set_axis_off()
        return
    shares = shares.astype(float).fillna(0.0)
    axes.pie(
        shares,
        labels=[f"{share:.0f}%" if share >= 3 else "" for share in shares],
        colors=[colours[step] for step in shares.index],
        startangle=90, counterclock=False, wedgeprops={"edgecolor": "white"},
    )  # fmt: skip


@plots.house_style()
def draw_fig_3(table: pd.DataFrame):
    """Plot four pies as printed, and below them the same as measured."""
    shown = best_source(table, "share_pct", "published_share_pct")
    printed = table.dropna(subset=["published_share_pct"])
    kinds = [(name, label) for name in GPU for label in ("n", "10n")]
    figure, panels = plots.new_figure(columns=4, rows=2, size=(10.4, 5.6))
    rows = (("published_share_pct", printed, "published"), ("share_pct", shown, "measured"))
    for line, (column, source, what) in zip(panels, rows, strict=True):
        for axes, (name, label) in zip(line, kinds, strict=True):
            mine = source[(source["solver"] == name) & (source["cost_range"] == label)]
            shares = mine.drop_duplicates("step").set_index("step")[column]
            n = mine["n"].iloc[0] if len(mine) else 0
            _pie(axes, shares, f"{name}, 0 to {label}, n = {n}\n{what}")
    figure.suptitle(measured_by(shown), fontsize=9)
    steps = [*tables.SHOWN, "other"]
    patches = [plots.Patch(facecolor=c) for c in plots.COLOURS[: len(steps)]]
    names = [step.replace("_", " ") for step in steps]
    figure.legend(patches, names, loc="outside lower center", ncols=len(steps))
    return figure


def draw_objectives(table: pd.DataFrame):
    """Plot objectives over n, print and ours, with the band that theory leaves."""
    shown = best_source(table[table["cost_range"] != "0.1n"], "measured", "published")
    shown = shown[shown["n"] >= 500] if (shown["n"] >= 500).any() else shown
    over = {f"{name}_over_n": shown[name] / shown["n"] for name in ("published", "measured")}
    shown = shown.assign(**over).dropna(subset=["measured"])
    figure = plots.line_plot(
        shown.assign(cost_range="0 to " + shown["cost_range"]),
        x="n", y_published="published_over_n", y_measured="measured_over_n", series="cost_range",
        xscale="log", yscale="log", xlabel="matrix size n", ylabel="objective / n",
        title=f"Objectives; grey: theory\n{measured_by(shown)}", ylim=(0.9, 30),
    )  # fmt: skip
    for label in ("n", "10n"):
        limits = theory(1, OVER_N[label])
        figure.axes[0].axhspan(
            limits.theory_low, max(limits.theory_high, 1.01 * limits.theory_low),
            color="#bbbbbb", zorder=0,
        )  # fmt: skip
    return figure


def fig_1(folder: Path, plan: Plan) -> Sequence[tuple[str, Path]]:
    """Plot Figure 1's example as our own kernels compress it [DN16 Fig.1]."""
    from papers.datenagi2016.evidence import (
        compression,  # It loads kernels, which a list of names does not need.
    )

    return compression.fig_1(folder, plan)


# ------------------------------------------------------------------------------- the entries

STATEMENTS = claims.experiment(
    small, table_3, doubles, scaling_tables.strong, scaling_tables.sparse
)


def _beside(table: cards.Table, figures: cards.Table) -> cards.Table:
    """Return a table with the figures of the model `card` beside its own."""
    return cards.beside(table, figures, FIGURES)


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="fig01", title="Compression of an array and of a matrix, by our kernels",
        kind="picture", cells=lambda plan: [], table=nothing, artifacts=fig_1,
    ),
    Experiment(
        name="table2", title="Assignments by iteration, CU-TREE, costs 0 to n", kind="table",
        cells=banded, table=tables.bands, compare=verdicts.bands,
    ),
    Experiment(
        name="initial", title="Assignments before the first dual update (Tables 2 and 3)",
        kind="table", cells=all_counts, table=tables.initial, compare=verdicts.initial,
    ),
    Experiment(
        name="objectives", title="Objectives of Tables 1 and 3, and what theory allows",
        kind="figure", cells=lambda plan: all_counts(plan) + beside_authors(plan),
        table=tables.objectives, figure=draw_objectives, compare=verdicts.objectives,
    ),
    Experiment(
        name="table1", title="Times of small instances, costs 0 to n, in s (verdicts: fig02)",
        kind="table", cells=small, table=tables.run_times, interleaved=True,
    ),
    Experiment(
        name="fig02", title="Times of small instances, costs 0 to n", kind="figure",
        cells=small, table=_beside(tables.run_times, expected.small_ratios), figure=draw_fig_2,
        compare=verdicts.run_times,
        interleaved=True,
    ),
    Experiment(
        name="table3", title="Times of large instances by step, in s", kind="table",
        cells=table_3, table=_beside(tables.step_times, expected.of_table_3),
        compare=verdicts.step_times, interleaved=True,
    ),
    Experiment(
        name="fig03", title="Shares of the steps, the largest instances", kind="figure",
        cells=table_3, table=_beside(tables.step_shares, expected.shares), figure=draw_fig_3,
        compare=verdicts.step_shares, interleaved=True,
    ),
    card.experiment(
        small, table_3, waterfall.cells, beside_authors, arrival.cells, scaling_tables.strong,
        scaling_tables.sparse,
    ),
    Experiment(
        name="counts", title="Work by solver; costs, initial assignments and dual updates alike",
        kind="table", cells=all_counts, table=tables.counts, compare=verdicts.counts,
    ),
    Experiment(
        name="memory", title="Device memory besides the costs, and the largest n on two cards",
        kind="table", cells=table_3, table=tables.memory, compare=verdicts.memory,
    ),
    Experiment(
        name="large", title=f"CU-TREE at n = {RESIDENT_SIZE}, drawn on the device (a GPU only)",
        kind="table", cells=resident, table=tables.large, compare=verdicts.large,
    ),
    Experiment(
        name="doubles", title="Doubles in [0, 2]: both variants, proved", kind="table",
        cells=doubles, table=tables.doubles, compare=verdicts.doubles,
    ),
    Experiment(
        name="authors", title="Beside the authors' CUDA C++ on the same card", kind="table",
        cells=beside_authors, table=tables.authors_code, compare=verdicts.authors,
    ),
    Experiment(
        name="arrival", title="Host to host with costs that arrive whole and in chunks",
        kind="table", cells=arrival.cells, table=arrival.table, compare=arrival.compare,
        interleaved=True,
    ),
    Experiment(
        name="waterfall", title="From print to our configuration, step by step", kind="figure",
        cells=waterfall.cells, table=waterfall.table, figure=waterfall.draw,
        compare=waterfall.compare, interleaved=True,
    ),
    replace(STATEMENTS, table=_beside(STATEMENTS.table, expected.statements)),
    Experiment(
        name="table4", title="Weak scaling over GPUs, costs 0 to 10n, in s (start it with mpiexec)",
        kind="table", cells=scaling_tables.weak,
        table=cards.beside(scaling_tables.table_4, efficiency.weak, FIGURES),
        compare=scaling_verdicts.table_4,
    ),
    Experiment(
        name="table5",
        title="Strong scaling over GPUs, costs 0 to 10n, in s (start it with mpiexec)",
        kind="table", cells=scaling_tables.strong,
        table=cards.beside(scaling_tables.table_5, efficiency.strong, FIGURES),
        compare=scaling_verdicts.table_5,
    ),
    Experiment(
        name="fig04", title="Weak scaling efficiency in the model's band (print: see table4)",
        kind="figure", cells=lambda plan: scaling_tables.weak(plan) + scaling_tables.strong(plan),
        table=scaling_tables.figure_4, figure=scaling_verdicts.draw_fig_4,
        compare=scaling_verdicts.figures,
    ),
    Experiment(
        name="fig05", title="Strong scaling efficiency in the model's band (print: see table5)",
        kind="figure", cells=scaling_tables.strong, table=scaling_tables.figure_5,
        figure=scaling_verdicts.draw_fig_5, compare=scaling_verdicts.figures,
    ),
    Experiment(
        name="model", title="The scaling model beside a run that it has not seen", kind="table",
        cells=scaling_tables.strong, table=scaling_tables.model_table,
        compare=scaling_verdicts.model,
    ),
    Experiment(
        name="sparse", title="Sparse cost ranges on one GPU and on two (mpiexec)", kind="table",
        cells=lambda plan: scaling_tables.sparse(plan) + scaling_tables.weak(plan),
        table=cards.beside(
            scaling_tables.sparse_table, efficiency.of_sparse, efficiency.SPARSE_FIGURES
        ),
        compare=scaling_verdicts.sparse,
    ),
    Experiment(
        name="sharing", kind="table",
        title="4 to 16 ranks that share the GPUs: proofs, messages, memory (mpiexec)",
        cells=scaling_tables.shared_gpus, table=scaling_tables.sharing_table,
        compare=scaling_verdicts.sharing,
    ),
    Experiment(
        name="larger_counts", title="Counts at the orders of 8 and 16 GPUs, on one (a GPU only)",
        kind="table", cells=scaling_tables.counted, table=scaling_tables.counted_table,
        compare=scaling_verdicts.counted,
    ),
    Experiment(
        name="collectives", title="MPI's collectives over the ranks of one host", kind="picture",
        cells=lambda plan: [], table=nothing, artifacts=message_times.pictures,
    ),
    Experiment(
        name="exchanges", title="A level's exchange of the tree variant in four ways (mpiexec)",
        kind="table", cells=scaling_tables.exchanges, table=scaling_tables.exchange_table,
        compare=scaling_verdicts.exchanges, interleaved=True,
    ),
    Experiment(
        name="larger",
        title="Strong scaling of the tree variant beyond the paper's orders (mpiexec)",
        kind="table", cells=scaling_tables.larger, table=scaling_tables.larger_table,
        compare=scaling_verdicts.larger,
    ),
    Experiment(
        name="too_large_for_one",
        title=f"n = {scaling_tables.TOO_LARGE}, which no H100 or H200 holds (mpiexec)",
        kind="table", cells=scaling_tables.too_large, table=scaling_tables.too_large_table,
        compare=scaling_verdicts.too_large,
    ),
)  # fmt: skip
