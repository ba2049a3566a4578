"""The way from Opt 1 to our Opt 2, one change at a time: what the single launch is worth by itself.

`papers.kawtikwar_opts.configuration.ONE_LAUNCH` has the steps. Before them stands Opt 1 as printed:
the first gain is that of the one launch alone, with the host loop's steps inside it. Threads are no
step of it: step 4 has 1024 in the release, and so has ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.comparisons import goal, not_measured
from papers.common.evidence.tables import Published, best_source, measured_by, order
from papers.common.gpu.device import EXECUTOR_NAME
from papers.common.model import Comparison
from papers.kawtikwar_opts.configuration import CHANGES, ONE_LAUNCH
from papers.kawtikwar_opts.evidence.codes import by_seed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WAY = {"opt1 as printed": ("opt1", "paper")} | {name: ("opt2", name) for name in ONE_LAUNCH}
"""Version and configuration of each step; the first is where the way begins."""

SAYS = {"opt1 as printed": "Opt 1 in the report's configuration: a host loop", **CHANGES}

GAIN = 0.9
"""No step may cost more than a tenth over all sizes."""

KEYS = ["source", "device", "n", "seed"]


def options_of(configuration: str) -> str:
    """Return a configuration as a row's options; ours is the default."""
    return "" if configuration == "tuned" else f"configuration={configuration}"


def table(summary: pd.DataFrame, published: Published) -> pd.DataFrame:
    """Return time and gain of each step: medians over the instances that went all the way.

    ``gain`` is the time of the step before over this one's, ``left`` this one's over the last's.
    """
    parts, before, last = [], None, _times(summary, *WAY["tuned"]).rename(columns={"ms": "last"})
    for place, (step, code) in enumerate(WAY.items()):
        rows = _times(summary, *code)
        whole = rows.merge(last, on=KEYS)
        if before is not None:
            whole = whole.merge(before.rename(columns={"ms": "before"}), on=KEYS, how="left")
        else:
            whole = whole.assign(before=np.nan)
        before = rows
        parts.append(whole.assign(step=step, place=place))
    rows = pd.concat(parts, ignore_index=True)
    rows = rows[rows.groupby(KEYS)["place"].transform("nunique") == len(WAY)]
    rows = rows.assign(gain=rows["before"] / rows["ms"], left=rows["ms"] / rows["last"])
    names = ["n", "source", "device", "place", "step"]
    found = rows.groupby(names, sort=False)[["ms", "gain", "left"]].median().reset_index()
    found = order(found, by=("n", "source", "place"), ranked={})
    found = found.rename(columns={"ms": "time_ms"}).assign(change=found["step"].map(SAYS))
    return found[["n", "source", "device", "step", "time_ms", "gain", "left", "change"]]


def _times(summary: pd.DataFrame, version: str, configuration: str) -> pd.DataFrame:
    rows = by_seed(summary, version, options=options_of(configuration))
    return rows.rename(columns={"value": "ms"})[[*KEYS, "ms"]]


def compare(found: pd.DataFrame) -> list[Comparison]:
    """Check our goals: no step costs more than a tenth over all sizes."""
    return list(_goals(found)) or not_measured("the way from Opt 1 to our Opt 2, on a GPU", "goal")


def _goals(found: pd.DataFrame) -> Iterable[Comparison]:
    on_gpu = found[found["device"] != EXECUTOR_NAME] if len(found) else found
    for _, rows in on_gpu.groupby("source", sort=False) if len(on_gpu) else ():
        for step in list(WAY)[1:]:
            gains = rows.loc[rows["step"] == step, "gain"].dropna()
            if len(gains):
                mean = round(float(np.exp(np.log(gains).mean())), 3)
                yield goal(f"gain by {step} in Opt 2, geometric mean", mean, at_least=GAIN)


@plots.house_style()
def draw(found: pd.DataFrame) -> Figure:
    """Plot the time left over ours, a curve for each size, from Opt 1 as printed to our Opt 2."""
    shown = best_source(found, "left")
    figure, panels = plots.new_figure(size=(6.4, 4.2))
    axes = panels[0, 0]
    curves = ((f"n = {n}", rows) for n, rows in shown.groupby("n", sort=False))
    names = ["opt1 as printed", "one launch", *(s.replace("_", " ") for s in list(WAY)[2:])]
    plots.waterfall(axes, list(WAY), curves, by="step", names=names)
    axes.set_ylabel("time / time of our Opt 2")
    axes.set_title(f"From Opt 1 to our Opt 2, one change at a time\n{measured_by(shown)}")
    axes.legend()
    return figure
