"""The way from print to our configuration: each single change measured, for each variant.

`papers.datenagi2016.configuration.CONFIGURATIONS` has the changes in order; those that concern a
variant are measured on the same instances in turn. The gain of a change is the time before it over
the time with it, seed by seed: the ablation of the deviations that the README lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.declared import Code, Instances
from papers.common.evidence.tables import KEY, Published, best_source, by_seed, measured_by
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Plan
from papers.datenagi2016.configuration import BOTH, CHANGES, steps_of
from papers.datenagi2016.evidence.tables import LABELS, order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INSTANCES = Instances(
    sizes={"smoke": (64,), "quick": (512, 2000), "paper": (1000, 2500)},
    executor={"smoke": (8,), "quick": (16,), "paper": (16, 32)},
    labels=LABELS,
)


def options_of(name: str) -> tuple[tuple[str, str], ...]:
    """Return a configuration as a cell's options; ours is the default."""
    return () if name == "tuned" else (("configuration", name),)


def cells(plan: Plan) -> list[Cell]:
    """Plan every configuration of both variants on every instance."""
    return [
        cell
        for variant in BOTH
        for name in steps_of(variant)
        for cell in INSTANCES.cells(
            plan, Code(f"datenagi2016:{variant}", "", kernels=True, options=options_of(name))
        )
    ]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return a row for each variant, configuration and instance size.

    ``gain`` is the time of the configuration before over this one's, ``left`` this one's over the
    last one's; both are medians over the seeds that went the whole way.
    """
    found = pd.concat([_way(summary, variant) for variant in BOTH], ignore_index=True)
    names = [*KEY, "device", "variant", "place", "configuration", "change"]
    grouped = found.groupby(names, sort=False)[["time_ms", "gain", "left"]]
    medians = grouped.median().reset_index()
    medians = order(medians, by=("variant", "n", "cost_range", "source", "place"))
    columns = ["variant", "n", "cost_range", "source", "device", "configuration", "time_ms",
               "gain", "left", "change"]  # fmt: skip
    return medians[columns]


def _way(summary: pd.DataFrame, variant: str) -> pd.DataFrame:
    """Return one variant's rows, a row a configuration and instance."""
    keys, steps = [*KEY, "seed"], steps_of(variant)
    parts = []
    for place, name in enumerate(steps):
        options = ",".join(f"{key}={value}" for key, value in options_of(name))
        rows = by_seed(summary, f"datenagi2016:{variant}", options=options)
        rows = rows[rows["cost_range"].isin(LABELS)].rename(columns={"value": "time_ms"})
        parts.append(rows.assign(place=place, configuration=name, change=CHANGES[name]))
    rows = pd.concat(parts, ignore_index=True)
    rows = rows[rows.groupby(keys)["place"].transform("nunique") == len(steps)]
    rows = rows.sort_values("place", kind="stable")
    times = rows.groupby(keys, sort=False)["time_ms"]
    return rows.assign(
        variant=variant, gain=times.shift(1) / rows["time_ms"],
        left=rows["time_ms"] / times.transform("last"),
    )  # fmt: skip


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goals: no change costs more than a tenth over all instances, and the way pays."""
    return list(_goals(found)) or not_measured("the way from print to ours, on a GPU", "goal")


def _goals(found: pd.DataFrame) -> Iterable[Comparison]:
    on_gpu = found[found["device"] != EXECUTOR_NAME]
    for (_, variant), rows in on_gpu.groupby(["source", "variant"], sort=False):
        for name in steps_of(variant):
            gains = rows.loc[rows["configuration"] == name, "gain"].dropna()
            if len(gains):
                what = f"{variant}: gain by {name}, geometric mean"
                yield goal(what, round(_mean(gains), 3), at_least=0.9)
        whole = rows.loc[rows["configuration"] == "paper", "left"].dropna()
        if len(whole):
            what = f"{variant}: time as printed over ours, geometric mean"
            yield goal(what, round(_mean(whole), 3), at_least=1.5)


def _mean(values: pd.Series) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.log(values).mean()))


@plots.house_style()
def draw(found: pd.DataFrame) -> Figure:
    """Plot the time left over ours, a curve for each instance, a panel a variant."""
    shown = best_source(found, "left")
    figure, panels = plots.new_figure(columns=2, size=(10.4, 4.6), sharey=True)
    for axes, variant in zip(panels[0], BOTH, strict=True):
        steps, mine = steps_of(variant), shown[shown["variant"] == variant]
        groups = mine.groupby(["n", "cost_range"], sort=False)
        curves = ((f"n = {n}, costs 0 to {label}", rows) for (n, label), rows in groups)
        plots.waterfall(axes, steps, curves, looks=("-", "--", ":")[: len(LABELS)])
        axes.set_ylabel("time / time of ours")
        axes.set_title(f"{variant}: from print to ours, one change at a time")
    panels[0][0].legend(fontsize=7)
    figure.suptitle(measured_by(shown), fontsize=9)
    return figure
