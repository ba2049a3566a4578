"""The way from the authors' release to our configuration: each single change measured.

`papers.lopes2019.configuration.CONFIGURATIONS` has the steps in order; every one is measured on the
same instances in turn, and its gain is the time before it over the time with it, seed by seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.declared import Code, Instances
from papers.common.evidence.tables import KEY, Published, best_source, measured_by
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Cell, Comparison, Plan
from papers.lopes2019.configuration import CHANGES, CONFIGURATIONS
from papers.lopes2019.evidence.tables import LABELS, by_seed, order

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INSTANCES = Instances(
    sizes={"smoke": (64,), "quick": (512, 2048), "paper": (512, 8192)},
    executor={"smoke": (8,), "quick": (16,), "paper": (16, 32)},
    labels=LABELS,
)
STEPS = tuple(CONFIGURATIONS)


def options_of(name: str) -> tuple[tuple[str, str], ...]:
    """Return a configuration as a cell's options; ours is the default."""
    return () if name == "tuned" else (("configuration", name),)


def cells(plan: Plan) -> list[Cell]:
    """Plan every configuration on every instance."""
    code = Code("lopes2019:gpu", "", kernels=True)
    return [
        cell
        for name in STEPS
        for cell in INSTANCES.cells(plan, replace(code, options=options_of(name)))
    ]


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return a row for each configuration and instance size: time, gain by its change, gain so far.

    ``gain`` is the time of the configuration before over this one's, ``left`` this one's over the
    last one's; both are medians over the seeds.
    """
    keys, parts = [*KEY, "seed"], []
    before: pd.DataFrame | None = None
    last = by_seed(summary, "gpu").rename(columns={"value": "last"})[[*keys, "last"]]
    for place, name in enumerate(STEPS):
        options = ",".join(f"{key}={value}" for key, value in options_of(name))
        rows = by_seed(summary, "gpu", options=options).rename(columns={"value": "time_ms"})
        rows = rows.merge(last, on=keys)
        if before is not None:
            rows = rows.merge(before, on=keys, how="left")
        else:
            rows = rows.assign(before=np.nan)
        before = rows[[*keys, "time_ms"]].rename(columns={"time_ms": "before"})
        rows = rows.assign(
            gain=rows["before"] / rows["time_ms"], left=rows["time_ms"] / rows["last"]
        )
        parts.append(rows.assign(configuration=name, change=CHANGES[name], place=place))
    rows = pd.concat(parts, ignore_index=True)
    # Only instances that went the whole way.
    rows = rows[rows.groupby(keys)["place"].transform("nunique") == len(STEPS)]
    names = [*KEY, "device", "place", "configuration", "change"]
    medians = rows.groupby(names, sort=False)[["time_ms", "gain", "left"]].median().reset_index()
    medians = order(medians, by=("n", "cost_range", "source", "place"))
    return medians[
        [
            "n",
            "cost_range",
            "source",
            "device",
            "configuration",
            "time_ms",
            "gain",
            "left",
            "change",
        ]
    ]


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goals: no change costs more than a tenth over all instances, and the way pays."""
    return list(_goals(found)) or not_measured("the way from the release to ours, on a GPU", "goal")


def _goals(found: pd.DataFrame) -> Iterable[Comparison]:
    on_gpu = found[found["device"] != EXECUTOR_NAME] if len(found) else found
    for _, rows in on_gpu.groupby("source", sort=False) if len(on_gpu) else ():
        for name in STEPS[1:]:
            gains = rows.loc[rows["configuration"] == name, "gain"].dropna()
            if len(gains):
                mean = float(np.exp(np.log(gains).mean()))
                yield goal(f"gain by {name}, geometric mean", mean, at_least=0.9)
        whole = rows.loc[rows["configuration"] == "paper", "left"].dropna()
        if len(whole):
            mean = float(np.exp(np.log(whole).mean()))
            yield goal("time as printed over ours, geometric mean", mean, at_least=1.5)


@plots.house_style()
def draw(found: pd.DataFrame) -> Figure:
    """Plot the time left over ours, a curve for each instance, from the release to ours."""
    shown = best_source(found, "left")
    figure, panels = plots.new_figure(size=(7.2, 4.4))
    axes = panels[0, 0]
    groups = shown.groupby(["n", "cost_range"], sort=False)
    curves = ((f"n = {n}, costs 0 to {label}", rows) for (n, label), rows in groups)
    plots.waterfall(axes, STEPS, curves, looks=("-", "--", ":")[: len(LABELS)])
    axes.set_ylabel("time / time of ours")
    axes.set_title(f"From the release to ours, one change at a time\n{measured_by(shown)}")
    axes.legend(loc="upper right", fontsize=7)
    return figure
