"""Tables I to III and Figures 1 to 6 of [K21] as data, and ten experiments of our own.

[K21 Table I] [K21 Table II] [K21 Table III] [K21 Fig.1] [K21 Fig.2] [K21 Fig.3] [K21 Fig.4]
[K21 Fig.5] [K21 Fig.6]; Figure 7 is a diagram: `solver.run` does what it shows. Our own:
`counter`, `card`, `waterfall`, `statements`, `predictions`, `loads`, `claims`, `counts`,
`barriers`, `authors`. Print is compared with ``configuration="paper"``; ours, the tuned one, stands
beside.

An entry states its cells, its table (`tables`), a plot like the report's, and its comparison with
print (`verdicts`). Nothing here runs a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.tables import NOT_MEASURED, best_source, measured_by
from papers.common.model import Cell, Experiment, Instance, Plan, Scope
from papers.kawtikwar_opts.configuration import COUNTERS
from papers.kawtikwar_opts.configuration import ONE_LAUNCH as WAY
from papers.kawtikwar_opts.evidence import (
    counter,
    statements,
    tables,
    text_claims,
    verdicts,
    waterfall,
)
from papers.kawtikwar_opts.evidence.card import expected
from papers.kawtikwar_opts.evidence.card import experiment as card
from papers.kawtikwar_opts.evidence.codes import (
    DOUBLES,
    HOST_LOOP,
    LABELS,
    LAP19,
    ONE_LAUNCH,
    VERSIONS,
)
from papers.kawtikwar_opts.evidence.tables import FIG_1

EXECUTOR_SIZES = {"smoke": (8,), "quick": (12, 24), "paper": (16, 32)}
SIZES = {"smoke": (64,), "quick": (256, 512, 1024), "paper": (256, 512, 1024, 2048, 4096)}
"""The sizes of the report [K21 sec.III.B]."""

LP_SIZES = {"smoke": (), "quick": (256,), "paper": SIZES["paper"]}
"""Sizes of the linear program besides those of the kernels in a smoke run or without a GPU."""

ALL_SEEDS_BELOW = 2048
"""From this n on the report's instances have the first seed alone, as in the report."""

SMALL = 1024
"""The largest n of clocks and codes that are about the host's share of a run."""

AS_PRINTED: dict[str, Any] = {"configuration": "paper"}
"""Options of the report's configuration."""

COUNTED_SIZES = {"smoke": (64,), "quick": (256, 512), "paper": (256, 512)}
"""Sizes of every place of the counter; the release's own is measured at all sizes (Table III)."""

WAY_SIZES = {"smoke": (64,), "quick": (256, 1024), "paper": (256, 1024, 2048)}

AUTHORS = {"smoke": (), "quick": (512, 1024), "paper": (512, 1024, 2048, 4096, 8192)}

# ------------------------------------------------------------------------------- the cells


def sizes(plan: Plan) -> tuple[int, ...]:
    """Return the report's sizes on a GPU, small ones in the executor."""
    return (SIZES if plan.gpu else EXECUTOR_SIZES)[plan.preset]


def doubles(n: int, seed: int = 1) -> Instance:
    """The report's costs: doubles, uniform in [0, 1000n) [K21 sec.III.B].

    The report has one fixed seed, which it does not tell.
    """
    return Instance(DOUBLES, n, "1000n", seed=seed)


def cells_of(
    plan: Plan,
    solver: str,
    n: int,
    scopes: tuple[Scope, ...] = ("run",),
    **options: Any,
) -> list[Cell]:
    """Return the cells of the report's instances of one size by one solver."""
    full = solver if ":" in solver else f"kawtikwar_opts:{solver}"
    few = n >= ALL_SEEDS_BELOW and not plan.seeds_given
    seeds = plan.seeds[:1] if few else plan.seeds
    return [Cell(full, doubles(n, seed), scopes, tuple(options.items())) for seed in seeds]


def versions(
    plan: Plan,
    names: Iterable[str] = VERSIONS,
    scopes: tuple[Scope, ...] = ("run",),
    most: int = SIZES["paper"][-1],
    **options: Any,
) -> list[Cell]:
    """Return cells of versions on the report's instances, up to some order."""
    return [
        one
        for n in sizes(plan)
        if n <= most
        for name in names
        for one in cells_of(plan, name, n, scopes, **options)
    ]


def fig_1(plan: Plan) -> list[Cell]:
    """Return the cells of Figure 1: three codes, LAP19's those of Table II's baseline."""
    gpu = versions(plan, (FIG_1["LAP16"],), ("end_to_end",))
    gpu += versions(plan, (FIG_1["LAP19"],), **AS_PRINTED)
    alike = sizes(plan) if plan.preset == "smoke" or not plan.gpu else ()
    orders = {*LP_SIZES[plan.preset], *alike}
    lp = [one for n in sorted(orders) for one in cells_of(plan, FIG_1["CPU"], n, ("end_to_end",))]
    return gpu + lp


def table_2(plan: Plan) -> list[Cell]:
    """Return the cells of Tables II and III and Figure 6: six versions as printed, and ours.

    Ours up to n = `SMALL` also end to end and, with a host loop, as graphs: there the host's share
    is large. The price of a zero comes from `counted_zeros`.
    """
    found = versions(plan, VERSIONS, **AS_PRINTED) + versions(plan)
    if plan.gpu:
        found += versions(plan, VERSIONS, ("end_to_end",), SMALL)
    found += versions(plan, HOST_LOOP, ("run",), SMALL, host="graph")
    return found + counted_zeros(plan)


def counted_zeros(plan: Plan) -> list[Cell]:
    """Return the cells of the counter: its places in the baseline, and Opt 0, which has none."""
    scopes: tuple[Scope, ...] = ("run", "kernels") if plan.gpu else ("run",)
    orders = (COUNTED_SIZES if plan.gpu else EXECUTOR_SIZES)[plan.preset]
    codes = [("baseline", name) for name in COUNTERS] + [("opt0", "paper"), ("opt0", "copied")]
    return [
        one
        for n in orders
        for version, name in codes
        for one in cells_of(plan, version, n, scopes, configuration=name)
    ]


def counter_cells(plan: Plan) -> list[Cell]:
    """Return the cells of `counted_zeros`, and the release's own counter at all sizes."""
    return counted_zeros(plan) + versions(plan, ("baseline", "opt0"), **AS_PRINTED)


def way(plan: Plan) -> list[Cell]:
    """Return the cells from Opt 1 as printed to our Opt 2."""
    orders = (WAY_SIZES if plan.gpu else EXECUTOR_SIZES)[plan.preset]
    found = [one for n in orders for one in cells_of(plan, "opt1", n, **AS_PRINTED)]
    for n, name in product(orders, WAY):
        options: dict[str, Any] = {} if name == "tuned" else {"configuration": name}
        found += cells_of(plan, "opt2", n, **options)
    return found


def pie(version: str) -> Callable[[Plan], list[Cell]]:
    """Return the cells of Figures 2 to 4: device time by kernel at the largest size, on a GPU."""

    def cells(plan: Plan) -> list[Cell]:
        last = sizes(plan)[-1]
        return cells_of(plan, version, last, ("kernels",), **AS_PRINTED) if plan.gpu else []

    return cells


def profiled(what: str) -> Callable[[Plan], list[Cell]]:
    """Return the cell of a profile (`evidence.profile`) of one instance of the largest size.

    It solves by the version that it is about, Opt 1; ncu profiles runs of its own.
    """
    version = "opt4" if what == "ncu" else "opt1"

    def cells(plan: Plan) -> list[Cell]:
        n = sizes(plan)[-1] if what != "loads" else EXECUTOR_SIZES["smoke"][0]
        of_code: dict[str, Any] = (
            {} if what == "loads" else AS_PRINTED
        )  # the machine code of both stands there
        return cells_of(plan, "profile", n, ("run",), what=what, version=version, **of_code)[:1]

    return cells


def opt_3_loads(plan: Plan) -> list[Cell]:
    """Return the cells of Opt 3's loads, in the machine code and executed."""
    return profiled("loads")(plan) + profiled("ncu")(plan) + loaded(plan)


def loaded(plan: Plan) -> list[Cell]:
    """Return the cells whose dual updates and clocks of the steps Opt 3's figures need."""
    last, some = sizes(plan)[-1], ("opt2", "opt3")
    found = [one for v in some for one in cells_of(plan, v, last, **AS_PRINTED)]
    if plan.gpu:
        options: dict[str, Any] = {"trace_steps": True, **AS_PRINTED}
        found += [one for v in some for one in cells_of(plan, v, last, **options)]
    return found


def predicted(plan: Plan) -> list[Cell]:
    """Return the cells of all versions, with their counters and the device time of step 6."""
    found = versions(plan)
    if plan.gpu:
        found += versions(plan, HOST_LOOP, ("kernels",))
        found += [
            one
            for n in sizes(plan)
            for version in ONE_LAUNCH
            for one in cells_of(plan, version, n, ("run",), trace_steps=True)
        ]
    return found


def beside_authors(plan: Plan) -> list[Cell]:
    """Return the cells of HyLAC's instances by Opt 4 and `lopes2019`, on a GPU only."""
    return [
        Cell(solver, Instance("uniform", n, label, seed=seed), ("run",))
        for n in (AUTHORS[plan.preset] if plan.gpu else ())
        for label in LABELS
        for seed in plan.seeds
        for solver in ("kawtikwar_opts:opt4", LAP19)
    ]


def counted(plan: Plan) -> list[Cell]:
    """Return the cells of the report's and of small integer instances, by all versions."""
    n = (512 if plan.preset != "smoke" else 64) if plan.gpu else EXECUTOR_SIZES[plan.preset][0]
    integers = [
        Cell(f"kawtikwar_opts:{name}" if ":" not in name else name,
             Instance("uniform", n, label, seed=seed), ("run",))
        for label in LABELS
        for seed in plan.seeds
        for name in (*VERSIONS, LAP19)
    ]  # fmt: skip
    found = versions(plan) + versions(plan, (LAP19,), ("run",), SMALL)
    return found + integers + beside_authors(plan)


def barred(plan: Plan) -> list[Cell]:
    """Return the cells of every instance that Opt 4 solves in some experiment."""
    return [one for one in counted(plan) if one.solver == "kawtikwar_opts:opt4"]


def claimed(plan: Plan) -> list[Cell]:
    """Return the cells that the claims of the text need."""
    pies = [one for version in HOST_LOOP for one in pie(version)(plan)]
    profiles = profiled("calls")(plan) + profiled("ncu")(plan)
    return table_2(plan) + pies + profiles + loaded(plan)


# ------------------------------------------------------------------------------- how to plot


def _grouped(series: str, names: Iterable[str], title: str):
    """Plot grouped bars a size as the report does, linear and log; published above measured."""

    @plots.house_style()
    def plot(table: pd.DataFrame):
        shown = best_source(table, "published_ms", "measured_ms")
        if series == "solver":  # A bar that only print has stays.
            more = table[table["source"] == NOT_MEASURED]
            shown = pd.concat([shown, more]).drop_duplicates(["n", series])
        orders = sorted(shown["n"].unique())
        figure, panels = plots.new_figure(columns=2, rows=2, size=(10.4, 6.6))
        rows = {"published_ms": "published", "measured_ms": measured_by(shown)}
        listed = list(names)
        width = 0.8 / len(listed)
        for line, (column, what) in zip(panels, rows.items(), strict=True):
            for axes, scale in zip(line, ("linear", "log"), strict=True):
                for place, name in enumerate(listed):
                    bars = shown[shown[series] == name].set_index("n")[column].reindex(orders)
                    at = [i + (place - (len(listed) - 1) / 2) * width for i in range(len(orders))]
                    axes.bar(at, bars, 0.92 * width, color=plots.COLOURS[place], label=name)
                if not shown[column].isna().all():
                    axes.set_yscale(scale)
                else:
                    axes.text(0.5, 0.5, "nothing", transform=axes.transAxes, ha="center")
                axes.set_xticks(range(len(orders)), [str(n) for n in orders])
                axes.set_xlim(-0.6, len(orders) - 0.4)
                axes.grid(visible=False, axis="x")
                axes.set_xlabel("problem size n")
                axes.set_ylabel("time (ms)")
                axes.set_title(f"{title}, {scale}\n{what}")
        panels[0][0].legend()
        return figure

    return plot


def show_ms(value: float) -> str:
    """Return the number with at least three digits and without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _pies(series: str, colours: Iterable[str]):
    """Plot two pies, as printed and as measured, the times beside the slices."""
    listed = list(colours)

    @plots.house_style()
    def plot(table: pd.DataFrame):
        printed = table.dropna(subset=["published_ms"]).drop_duplicates(series)
        ours = table.dropna(subset=["measured_ms"])
        ours = best_source(ours, "measured_ms") if not ours.empty else ours
        figure, panels = plots.new_figure(columns=2, size=(9.6, 4.2))
        pairs = (("published_ms", printed, "published"), ("measured_ms", ours, measured_by(ours)))
        for axes, (column, rows, what) in zip(panels[0], pairs, strict=True):
            n = f", n = {rows['n'].iloc[0]}" if len(rows) else ""
            axes.set_title(f"{what}{n}")
            if rows.empty or not rows[column].sum() > 0:
                axes.text(0.5, 0.5, "not measured", ha="center", va="center")
                axes.set_axis_off()
                continue
            whole = rows[column].sum()
            axes.pie(
                rows[column],
                labels=[
                    f"{show_ms(value)} ms, {100 * value / whole:.0f} %"
                    if value > 0.01 * whole
                    else ""
                    for value in rows[column]
                ],
                colors=[plots.COLOURS[listed.index(name)] for name in rows[series]],
                startangle=180, counterclock=False, wedgeprops={"edgecolor": "white"},
            )  # fmt: skip
        used = [name for name in listed if name in {*printed[series], *ours[series]}]
        patches = [plots.Patch(facecolor=plots.COLOURS[listed.index(name)]) for name in used]
        figure.legend(patches, used, loc="outside lower center", ncols=max(1, len(used)))
        return figure

    return plot


plot_fig_1 = _grouped("solver", FIG_1, "end to end")
plot_fig_6 = _grouped("version", VERSIONS, "run time")
plot_kernels = _pies("kernel", (*tables.KERNELS.values(), "others"))
plot_calls = _pies("call", tables.CALLS)

# ------------------------------------------------------------------------------- the entries

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="fig01", title="A CPU's linear program, LAP16 and LAP19, end to end", kind="figure",
        cells=fig_1, table=tables.fig_1, figure=plot_fig_1, compare=verdicts.fig_1,
        interleaved=True,
    ),
    *(
        Experiment(
            name=figure, title=f"Device time by kernel, {version} (a GPU only)", kind="figure",
            cells=pie(version), figure=plot_kernels, compare=verdicts.kernel_shares,
            table=expected.beside(tables.kernel_shares(figure), expected.shares),
        )
        for figure, version in tables.PIES.items()
    ),
    Experiment(
        name="table1", title="L1 hit rate and throughputs of three kernels (needs Nsight Compute)",
        kind="table", cells=profiled("ncu"), table=tables.hardware, compare=verdicts.hardware,
    ),
    Experiment(
        name="fig05", title="The host's time by call, Opt 1, by the host's clock", kind="figure",
        cells=profiled("calls"), table=expected.beside(tables.host_calls, expected.calls),
        figure=plot_calls, compare=verdicts.host_calls,
    ),
    Experiment(
        name="table2", title="Run times and gains of the six versions, in ms (verdicts: fig06)",
        kind="table", cells=table_2, table=tables.run_times, interleaved=True,
    ),
    Experiment(
        name="fig06", title="Run times of the six versions", kind="figure",
        cells=table_2, table=expected.beside(tables.run_times, expected.runs), figure=plot_fig_6,
        compare=verdicts.run_times, interleaved=True,
    ),
    Experiment(
        name="table3", title="Incremental and total speedups", kind="table",
        cells=table_2, table=expected.beside(tables.speedups, expected.speedups),
        compare=verdicts.speedups, interleaved=True,
    ),
    Experiment(
        name="counter", title="Why 4.65: the price of a zero by its counter's memory",
        kind="table", cells=counter_cells, table=counter.table, compare=counter.compare,
        interleaved=True,
    ),
    card.experiment(claimed),
    Experiment(
        name="waterfall", title="From Opt 1 as printed to our Opt 2, one change at a time",
        kind="figure", cells=way, table=waterfall.table, figure=waterfall.draw,
        compare=waterfall.compare, interleaved=True,
    ),
    Experiment(
        name="statements", title="Statements of the text about Tables II and III", kind="table",
        cells=table_2, table=expected.beside(tables.statements, expected.statements),
        compare=statements.compare,
    ),
    Experiment(
        name="predictions", title="Bytes and barriers a dual update: predicted beside measured",
        kind="table", cells=predicted, table=tables.predictions, compare=verdicts.predictions,
    ),
    Experiment(
        name="loads", title="Opt 3: global loads in the machine code", kind="table",
        cells=opt_3_loads, table=tables.loads, compare=verdicts.loads,
    ),
    Experiment(
        name="claims", title="Numbers of the text, recomputed", kind="table",
        cells=claimed, table=expected.beside(tables.claims, expected.claims),
        compare=text_claims.claims,
    ),
    Experiment(
        name="counts", title="Work by version; costs, zeros and dual updates alike", kind="table",
        cells=counted, table=tables.counts, compare=verdicts.counts,
    ),
    Experiment(
        name="barriers", title="Opt 4: its time over its barriers of the grid", kind="table",
        cells=barred, table=tables.barriers, compare=verdicts.barriers,
    ),
    Experiment(
        name="authors", title="Opt 4 beside HyLAC's classical solver and lopes2019 on one card",
        kind="table", cells=beside_authors, table=tables.authors_code, compare=verdicts.authors,
        interleaved=True,
    ),
)  # fmt: skip
