"""The way from the refine as printed to ours, each single change measured.

`papers.lupinska_costscale.assignment.configuration.CONFIGURATIONS` has the steps in order; each is
measured on the same matrices in turn, and its gain is the time before it over the time with it,
seed by seed. `tuned_cycle` sweeps the one number of ours that print has otherwise: CYCLE.

`flow_way` is the same of maximum flows, on one real grid of each kind: from Hong's algorithm, with
a limit of time, by the author's hybrid to `gpu_relabel`. Its last step is several changes at once,
as a loop in one launch needs its searches there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from papers.common.evidence import plots
from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.tables import Published, best_source, measured_by
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import GAVE_UP, Cell, Comparison, Experiment, Plan
from papers.lupinska_costscale.assignment.configuration import CHANGES, CONFIGURATIONS, SHORT_CYCLE
from papers.lupinska_costscale.evidence.choices import Choice, best, table_of
from papers.lupinska_costscale.evidence.codes import (
    CYCLE_FLOW,
    GPU_RELABEL,
    HONG,
    HYBRID,
    PAPER,
    PATIENCE_S,
    SOME_GRIDS,
    TUNED,
    cell,
    costs,
    options_of,
    some_grids,
)
from papers.lupinska_costscale.evidence.tables import geometric_mean, measured, order

SIDES = {"smoke": (30,), "quick": (30, 60), "paper": (30, 60, 120)}
EXECUTOR_SIDES = {"smoke": (3,), "quick": (5,), "paper": (5, 6)}
STEPS = tuple(CONFIGURATIONS)
SOLVER = f"{PAPER}:refine"
AT = ["n", "source", "seed"]


def cells(plan: Plan) -> list[Cell]:
    """Plan every configuration on every matrix."""
    sides = (SIDES if plan.gpu else EXECUTOR_SIDES)[plan.preset]
    return [
        Cell(SOLVER, costs(n, 100, seed), options=(("configuration", name),))
        for n in sides
        for seed in plan.seeds
        for name in STEPS
    ]


def _rows(summary: pd.DataFrame, metric: str, scope: str) -> pd.DataFrame:
    """Return one metric, a row a configuration and seed."""
    rows = summary[
        (summary["solver"] == SOLVER) & (summary["metric"] == metric)
        & (summary["scope"] == scope) & (summary["family"] == "uniform")
        & (summary["label"] == "101")
    ]  # fmt: skip
    asked = [options_of(text) for text in rows["options"].fillna("").astype(str)]
    names = [of["configuration"] if [*of] == ["configuration"] else "" for of in asked]
    rows = rows.assign(configuration=pd.Series(names, rows.index, object))
    rows = rows[rows["configuration"].isin(STEPS)]
    return rows[[*AT, "device", "configuration", "median"]].rename(columns={"median": metric})


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return a row for each configuration and side: time, operations, gain, time left over ours.

    ``gain`` is the time of the configuration before over this one's, ``left`` this one's over that
    of ours; all are medians over the seeds, of seeds that went the whole way.
    """
    rows = _rows(summary, "time_ms", "run")
    for metric in ("pushes", "relabels", "price_updates"):
        part = _rows(summary, metric, "answer").drop(columns="device")
        rows = rows.merge(part, on=[*AT, "configuration"], how="left")
    rows = rows.assign(place=rows["configuration"].map(STEPS.index))
    whole = rows.groupby(AT)["place"].transform("nunique") == len(STEPS)
    rows = rows[whole.astype(bool)].sort_values([*AT, "place"])
    times = rows.groupby(AT)["time_ms"]
    rows = rows.assign(
        gain=times.shift(1) / rows["time_ms"],
        left=rows["time_ms"] / times.transform("last"),
        operations=rows["pushes"] + rows["relabels"],
    )
    index = ["n", "source", "device", "place", "configuration"]
    columns = ["time_ms", "gain", "left", "operations", "price_updates"]
    found = rows.groupby(index, sort=False)[columns].median().reset_index()
    found = order(found.assign(change=found["configuration"].map(CHANGES)), by=("n", "place"))
    return found[["n", "source", "device", "configuration", *columns, "change"]]


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goals: the threads of a warp pay, no later change costs, the whole way pays."""
    return list(_goals(found)) or not_measured("the way from print to ours, on a GPU", "goal")


LARGEST_GAIN = 10.0
"""The goal of the whole way at the largest side: an earlier sketch had 11 to 54 there by a warp a
node alone."""


def _goals(found: pd.DataFrame) -> Iterable[Comparison]:
    on_gpu = found[found["device"] != EXECUTOR_NAME] if len(found) else found
    for _, rows in on_gpu.groupby("source", sort=False) if len(on_gpu) else ():
        steps = dict.fromkeys(STEPS[STEPS.index("warp_a_node") + 1 :], 0.9) | {"warp_a_node": 2.0}
        for name, least in steps.items():
            gains = rows.loc[rows["configuration"] == name, "gain"].dropna()
            if len(gains):
                mean = round(geometric_mean(gains), 3)
                yield goal(f"gain by {name}, geometric mean", mean, at_least=least)
        last = rows[rows["n"] == rows["n"].max()]
        for row in last[last["configuration"] == "paper"].itertuples(index=False):
            what = f"time as printed over ours, n = {row.n}"
            yield goal(what, round(float(row.left), 3), at_least=LARGEST_GAIN)


@plots.house_style()
def draw(found: pd.DataFrame) -> Figure:
    """Plot the time left over ours, a curve for each side, from print to ours."""
    shown = best_source(found, "left")
    figure, panels = plots.new_figure(size=(7.2, 4.4))
    axes = panels[0, 0]
    curves = ((f"n = {n}", rows) for n, rows in shown.groupby("n", sort=False))
    plots.waterfall(axes, STEPS, curves)
    axes.set_ylabel("time / time of ours")
    axes.set_title(f"From print to our refine, one change at a time\n{measured_by(shown)}")
    if len(shown):
        axes.legend(loc="upper right", fontsize=7)
    return figure


TUNED_CYCLE = Choice(
    "CYCLE of the tuned refine", TUNED, "cycle", (20, 50, 100, 200, 500, 2000), SHORT_CYCLE,
    lambda plan: [costs(n, 100, seed) for n in (SIDES[plan.preset] if plan.gpu else ())
                  for seed in plan.seeds],
)  # fmt: skip


# ------------------------------------------------------------------------------- maximum flow

FLOW_STEPS: dict[str, tuple[str, dict[str, Any], str]] = {
    "lock_free": (HONG, {"seconds": PATIENCE_S}, "Alg. 4.5: no relabeling from the sink"),
    "paper": (HYBRID, {"cycle": CYCLE_FLOW}, "Alg. 4.8: the host draws heights after CYCLE 7000"),
    "short_cycle": (HYBRID, {"cycle": 700}, "CYCLE 700: less to and fro of stranded excess"),
    "tuned": (GPU_RELABEL, {}, "searches and operations tile by tile in one launch"),
}
"""By step: the code, its options, and the change in the step before."""


def flow_cells(plan: Plan) -> list[Cell]:
    """Plan every step on a real grid of each kind; all of them are cells of other experiments."""
    if not plan.gpu or plan.preset != "paper":
        return []
    return [
        cell(code, one, **options)
        for one in some_grids()
        for code, options, _ in FLOW_STEPS.values()
    ]


def flow_table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return a row for each step and grid: the time, the gain, and the time left over ours.

    Where a step gave up, its time is the limit, and the next one's gain a lower bound.
    """
    parts = []
    for place, (name, (code, options, change)) in enumerate(FLOW_STEPS.items()):
        rows = [measured(summary, (code,), metric) for metric in ("time_ms", GAVE_UP)]
        both = pd.concat(
            [one.assign(gave_up=late) for one, late in zip(rows, (False, True), strict=True)]
        )
        text = ",".join(f"{key}={value}" for key, value in options.items())
        both = both[(both["options"] == text) & both["label"].isin(SOME_GRIDS)]
        parts.append(both.assign(place=place, step=name, change=change))
    found = pd.concat(parts, ignore_index=True)
    index = ["source", "label"]
    found = found.drop_duplicates([*index, "place"]).sort_values([*index, "place"])
    whole = found.groupby(index)["place"].transform("nunique") == len(FLOW_STEPS)
    found = found[whole.astype(bool)]
    times = found.groupby(index)["value"]
    found = found.assign(
        gain=times.shift(1) / found["value"], left=found["value"] / times.transform("last")
    )
    found = order(found, by=("label", "place")).rename(columns={"label": "instance"})
    found = found.rename(columns={"value": "time_ms"})
    shown = ["step", "time_ms", "gave_up", "gain", "left", "change"]
    return found[["instance", "n", "source", "device", *shown]]


def flow_goals(found: pd.DataFrame) -> list[Comparison]:
    """Check our goals: no step costs, and the way from the author's hybrid to ours pays."""
    made = []
    for _, rows in found.groupby("source", sort=False) if len(found) else ():
        for name in list(FLOW_STEPS)[1:]:
            gain = round(geometric_mean(rows.loc[rows["step"] == name, "gain"]), 3)
            made.append(goal(f"flow: gain by {name}, geometric mean", gain, at_least=0.9))
        left = round(geometric_mean(rows.loc[rows["step"] == "paper", "left"]), 3)
        made.append(goal("flow: time as printed over ours, geometric mean", left, at_least=5.0))
    return made or not_measured("the way from print to our maximum flow, on a GPU", "goal")


def experiments() -> tuple[Experiment, ...]:
    """Return the three experiments."""
    return (
        Experiment(
            name="waterfall", title="From the refine as printed to ours, step by step",
            kind="figure", cells=cells, table=table, figure=draw, compare=compare,
            interleaved=True,
        ),
        Experiment(
            name="tuned_cycle", title="Our refine by its CYCLE, over that of 50", kind="table",
            cells=TUNED_CYCLE.cells, table=table_of(TUNED_CYCLE), compare=_own_cycle,
            interleaved=True,
        ),
        Experiment(
            name="flow_way", title="From the maximum flow as printed to ours, step by step",
            kind="table", cells=flow_cells, table=flow_table, compare=flow_goals, interleaved=True,
        ),
    )  # fmt: skip


def _own_cycle(made: pd.DataFrame) -> list[Comparison]:
    """Check our goal: no other CYCLE is faster by a tenth."""
    judged = best(TUNED_CYCLE, "", "tuned_cycle", "")(made)
    found = [one for one in judged if isinstance(one.measured, float)]
    return [
        goal(one.quantity, float(str(one.measured)), at_least=0.9, note=one.note) for one in found
    ] or not_measured("CYCLE of our refine, on a GPU", "goal")
