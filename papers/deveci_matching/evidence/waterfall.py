"""The way from print's slowest variant to `beyond`, each single change measured.

`codes.ON_THE_WAY` has the steps in order: three choices of print's own [D13 sec.4], our
configurations of its best variant (`papers.deveci_matching.configuration`), one change of the
solver, and one idea of `papers.deveci_matching.beyond.configuration` after another. All are
measured on the same graphs in turn; a gain is the time before a change over the time with it, graph
by graph. `threads` sets the readings of MT (G7) beside CT.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.comparisons import EFFECT, goal, not_measured
from papers.common.evidence.tables import Published, best_source, measured_by
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Instance, Plan
from papers.deveci_matching import configuration
from papers.deveci_matching.beyond import configuration as ideas
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.codes import (
    BEST,
    BEYOND,
    EXCLUDED,
    ON_THE_WAY,
    RESIDENT,
    TUNED,
    VARIANTS,
    cell,
)
from papers.deveci_matching.evidence.tables import GRAPH, geometric_mean, measured, order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANGES: dict[str, str] = {
    "APsB GPUBFS MT": "as printed, the slowest variant",
    "APFB GPUBFS MT": "a search goes on behind the first level with a path",
    "APFB GPUBFS-WR MT": "trees that have a path are left",
    BEST: "256 x 256 threads, not one a column: print's best variant",
    **{
        f"{BEST}, {name}": change
        for name, change in configuration.CHANGES.items()
        if name != "paper"
    },
    **{
        BEYOND if name == "tuned" else f"{BEYOND}, {name}": change
        for name, change in ideas.CHANGES.items()
    },
}
"""The change of each step in the one before it."""

NEWER = (f"{BEYOND}, within",)
"""Steps that recorded runs may be older than; any other one has to be there."""

GRAPHS: dict[str, tuple[tuple[str, int, str], ...]] = {
    "smoke": (("delaunay", 2**8, "n8"),),
    "quick": (("delaunay", 2**12, "n12"), ("skew_graph", 10_000, "d8"), ("path", 1000, "deep")),
    "paper": (
        ("delaunay", 2**18, "n18"), ("kron", 2**16, "logn16"), ("uniform_graph", 100_000, "d4"),
        ("skew_graph", 100_000, "d8"), ("path", 10_000, "deep"),
    ),
}  # fmt: skip
"""Meshes, where searches are long; power laws, where columns are; and a search of one path."""


def graphs(plan: Plan) -> list[Instance]:
    """Return the graphs, with every seed; a path has none. The executor gets its smallest graph."""
    if not plan.gpu:
        return sets.small(plan)[:1]
    return [
        Instance(family, n, label, seed=seed)
        for family, n, label in GRAPHS[plan.preset]
        for seed in (plan.seeds[:1] if family == "path" else plan.seeds)
    ]


def cells(plan: Plan) -> list[Cell]:
    """Plan every step on every graph."""
    return [cell(code, graph) for graph in graphs(plan) for code in ON_THE_WAY]


_AT = ["source", *GRAPH]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return a row a graph and step: time, levels, gain by its change, time left over `beyond`'s.

    ``gain`` is the time of the step before over this one's, ``left`` this one's over the last
    one's; all are medians over the seeds that went the whole way. A step of `NEWER`
    that no graph of a record has is left out.
    """
    rows = measured(summary)
    rows = rows[rows["code"].isin(ON_THE_WAY) & (rows["start"] == EXCLUDED)]
    rows = rows.drop_duplicates([*_AT, "code"]).rename(columns={"value": "time_ms"})
    levels = measured(summary, "bfs_launches", "answer").rename(columns={"value": "levels"})
    levels = levels[levels["start"] == EXCLUDED].drop_duplicates([*_AT, "code"])
    rows = rows.merge(levels[[*_AT, "code", "levels"]], on=[*_AT, "code"], how="left")
    rows = rows.assign(place=rows["code"].map(ON_THE_WAY.index).astype(int))
    sources = rows.groupby(["source", "device"])["code"]
    lacking = sources.transform(lambda codes: len(set(NEWER).difference(codes)))
    whole = rows.groupby(_AT)["place"].transform("nunique") + lacking == len(ON_THE_WAY)
    rows = rows[whole.astype(bool)].sort_values([*_AT, "place"])
    times = rows.groupby(_AT)["time_ms"]
    rows = rows.assign(
        gain=times.shift(1) / rows["time_ms"],
        left=rows["time_ms"] / times.transform("last"),
        seeds=1,
    )
    index = ["name", "n", "source", "device", "place", "code"]
    grouped = rows.groupby(index, sort=False)
    columns = ["time_ms", "levels", "gain", "left"]
    found = grouped[columns].median().join(grouped[["seeds"]].sum()).reset_index()
    found = order(found.assign(change=found["code"].map(CHANGES)), by=("name", "n", "place"))
    return found[["name", "n", "source", "device", "code", *columns, "seeds", "change"]]


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goals: no change of ours costs a tenth over all graphs, and the whole way pays."""
    return list(_goals(found)) or not_measured("the way from print to beyond, on a GPU", "goal")


def _goals(found: pd.DataFrame) -> Iterable[Comparison]:
    on_gpu = found[found["device"] != EXECUTOR_NAME] if len(found) else found
    for _, rows in on_gpu.groupby("source", sort=False) if len(on_gpu) else ():
        for code in ON_THE_WAY[ON_THE_WAY.index(BEST) + 1 :]:
            gains = rows.loc[rows["code"] == code, "gain"].dropna()
            if len(gains):
                yield goal(
                    f"gain by {code}, geometric mean", round(geometric_mean(gains), 4),
                    at_least=0.9, note=CHANGES[code],
                )  # fmt: skip
        for code, least in ((BEST, 1.5), (TUNED, 1.0)):
            left = rows.loc[rows["code"] == code, "left"].dropna()
            if len(left):
                what = f"time of {code} over that of beyond, geometric mean"
                yield goal(what, round(geometric_mean(left), 4), at_least=least)


@plots.house_style()
def draw(found: pd.DataFrame) -> Figure:
    """Plot the time left over that of `beyond`, a curve for each graph."""
    shown = best_source(found, "left")
    figure, panels = plots.new_figure(size=(7.2, 4.8))
    axes = panels[0, 0]
    curves = ((str(name), rows) for name, rows in shown.groupby("name", sort=False))
    names = [code.removeprefix(f"{BEST}, ").replace("_", " ") for code in ON_THE_WAY]
    plots.waterfall(axes, ON_THE_WAY, curves, by="code", names=names, rotation=40, fontsize=7)
    axes.set_ylabel("time / time of beyond")
    axes.set_title(f"From print to beyond, one change at a time\n{measured_by(shown)}")
    if len(shown):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    return figure


# ------------------------------------------------------------------------------- threads

MODES = ("CT", "MT", "resident")


def _variants(mode: str) -> tuple[str, ...]:
    known = RESIDENT if mode == "resident" else VARIANTS
    return tuple(code for code in known if code.startswith("APFB") and code.endswith(f" {mode}"))


def threads_cells(plan: Plan) -> list[Cell]:
    """Plan APFB with each number of threads, on graphs of the way and on a larger one."""
    found = [graph for graph in graphs(plan) if graph.family != "path"]
    if plan.gpu and plan.preset == "paper":
        found += [Instance("uniform_graph", 1_000_000, "d3", seed=seed) for seed in plan.seeds]
    return [cell(code, graph) for graph in found for mode in MODES for code in _variants(mode)]


def threads_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return a row a graph and variant: the ratios of both readings of MT to CT.

    ``mt_over_ct`` has a thread a column, ``resident_over_ct`` as many of these as the device holds
    at once; medians over the seeds.
    """
    rows = measured(summary)
    rows = rows[rows["start"] == EXCLUDED].drop_duplicates([*_AT, "code"])
    split = rows["code"].str.rsplit(" ", n=1, expand=True).reindex(columns=[0, 1])
    rows = rows.assign(variant=split[0], mode=split[1])
    rows = rows[rows["code"].isin([code for mode in MODES for code in _variants(mode)])]
    index = [*_AT, "device", "variant"]
    wide = rows.set_index([*index, "mode"])["value"].unstack("mode").reindex(columns=list(MODES))
    wide = wide.dropna().reset_index()
    wide = wide.assign(
        ct_ms=wide["CT"], mt_over_ct=wide["MT"] / wide["CT"],
        resident_over_ct=wide["resident"] / wide["CT"], seeds=1,
    )  # fmt: skip
    keys = ["name", "n", "source", "device", "variant"]
    grouped = wide.groupby(keys, sort=False)
    columns = ["ct_ms", "mt_over_ct", "resident_over_ct"]
    found = grouped[columns].median().join(grouped[["seeds"]].sum()).reset_index()
    return order(found, by=("name", "n", "variant"))[[*keys, *columns, "seeds"]]


def threads_compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goal: in both readings CT is no slower than MT, in the mean over all graphs."""
    judged = []
    on_gpu = found[found["device"] != EXECUTOR_NAME] if len(found) else found
    for _, rows in on_gpu.groupby("source", sort=False) if len(on_gpu) else ():
        for column, what in (
            ("mt_over_ct", "MT of a thread a column over CT"),
            ("resident_over_ct", "MT of the resident threads over CT"),
        ):
            mean = round(geometric_mean(rows[column].dropna()), 4)
            judged.append(goal(f"{what}, geometric mean", mean, at_least=1 / EFFECT))
    return judged or not_measured("MT over CT in both readings, on a GPU", "goal")
