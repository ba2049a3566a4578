"""Plots of the tables; print has none, so only the claimed 1/20 s is hollow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from papers.common.evidence import plots
from papers.common.evidence.tables import NOT_MEASURED, best_source, measured_by
from papers.lupinska_costscale.evidence.codes import (
    CLAIMED_S,
    FLOW_ON_GPU,
    LOCK_FREE,
    ON_CPU,
    ONE_LAUNCH,
    OURS,
    PYMAXFLOW,
    REDRAWN,
    RIVALS,
    SCIPY,
    TUNED,
)
from papers.lupinska_costscale.evidence.tables_flow import GAVE_UP_S

NAMED = (*OURS, TUNED, *RIVALS, SCIPY, ONE_LAUNCH)
COLOUR = dict(zip(NAMED, plots.COLOURS, strict=False))
MARKER = dict(zip(NAMED, plots.MARKERS, strict=False))


def _ours(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the rows of the source with the most of `columns`; the present run wins a tie."""
    mine = table[table["source"] != NOT_MEASURED] if len(table) else table
    return mine if mine.empty else best_source(mine, *columns)


def _empty(axes: Any, rows: pd.DataFrame) -> None:
    if rows.empty:
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", va="center")


def _plot(axes: Any, x: Sequence[float], y: Sequence[float], code: str, **look: Any) -> None:
    """Plot one curve in its code's colour and marker."""
    look = {"label": code, **look}
    axes.plot(np.asarray(x, float), np.asarray(y, float), color=COLOUR[code], marker=MARKER[code],
              markersize=5, **look)  # fmt: skip


def _legend(axes: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _logarithmic(axes: Any, rows: pd.DataFrame, ylabel: str, title: str) -> None:
    """Scale both axes; a tick for each size."""
    sizes = sorted(set(rows["n"])) if len(rows) else [10, 100]
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yscale("log")
    axes.set_xlabel("vertices a side")
    axes.set_ylabel(ylabel)
    axes.set_title(title)
    _legend(axes)


# ------------------------------------------------------------------------------- the claim


@plots.house_style()
def claim_small(table: pd.DataFrame) -> Figure:
    """Plot time over n, a panel a C, on both clocks; the claimed 1/20 s is dashed."""
    mine = _ours(table, "run_s", "end_to_end_s")
    largest = sorted(set(mine["C"])) if len(mine) else [100]
    figure, panels = plots.new_figure(
        columns=len(largest), size=(3.4 * len(largest) + 2.2, 3.6), sharey=True
    )
    for axes, cost in zip(panels[0], largest, strict=True):
        rows = mine[mine["C"] == cost] if len(mine) else mine
        for code in (*OURS, TUNED, ONE_LAUNCH) if len(rows) else ():
            curve = rows[rows["code"] == code].sort_values("n")
            _plot(axes, curve["n"], curve["run_s"], code)
            _plot(axes, curve["n"], curve["end_to_end_s"], code, linestyle=":", label=None)
        axes.axhline(CLAIMED_S, color="black", linestyle="--", linewidth=1, label="claimed: 1/20 s")
        _empty(axes, rows)
        axes.set_yscale("log")
        axes.set_xlabel("vertices a side")
        axes.set_title(f"costs up to {cost}")
    panels[0][0].set_ylabel("s (dotted: host to host)")
    panels[0][-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.suptitle(measured_by(mine) if len(mine) else "not measured", fontsize=9)
    return figure


@plots.house_style()
def claim_large(table: pd.DataFrame) -> Figure:
    """Plot time over n of all codes, doubly logarithmic."""
    mine = _ours(table, LOCK_FREE)
    figure, panels = plots.new_figure(size=(6.0, 4.2))
    axes = panels[0][0]
    for code in NAMED[:-1] if len(mine) else ():
        curve = mine.dropna(subset=[code]).sort_values("n")
        if len(curve):
            _plot(axes, curve["n"], curve[code], code)
    _empty(axes, mine)
    title = measured_by(mine) if len(mine) else ""
    _logarithmic(axes, mine, "ms", f"complete bipartite graphs, costs up to 100\n{title}")
    return figure


@plots.house_style()
def operations(table: pd.DataFrame) -> Figure:
    """Plot the operations of a refine over n under the bound n^2 m, costs up to 100."""
    mine = _ours(table, "operations")
    mine = mine[mine["C"] == 100] if len(mine) else mine
    figure, panels = plots.new_figure(size=(6.0, 4.2))
    axes = panels[0][0]
    for code in OURS if len(mine) else ():
        curve = mine[mine["code"] == code].sort_values("n")
        _plot(axes, curve["n"], curve["a_refine"], code)
    if len(mine):
        sizes = np.unique(mine["n"].to_numpy(float))
        axes.plot(sizes, 4 * sizes**4, "--", color="black", linewidth=1, label="bound n² m")
    _empty(axes, mine)
    title = measured_by(mine) if len(mine) else ""
    _logarithmic(axes, mine, "pushes and relabels of a refine", title)
    return figure


# ------------------------------------------------------------------------------- constants


def _sweep(table: pd.DataFrame, option: str, same: Sequence[str], panels_by: str) -> Figure:
    """Plot the ratio of times to that of the author's value over the value, a panel a code."""
    mine = _ours(table, "over_published")
    names = list(dict.fromkeys(mine[panels_by])) if len(mine) else [""]
    figure, panels = plots.new_figure(columns=len(names), size=(4.6 * len(names), 3.6))
    for axes, name in zip(panels[0], names, strict=True):
        rows = mine[mine[panels_by] == name] if len(mine) else mine
        for place, (key, curve) in enumerate(rows.groupby(list(same)) if len(rows) else ()):
            curve = curve.dropna(subset=["over_published"]).sort_values(option)
            axes.plot(curve[option].astype(float), curve["over_published"].astype(float),
                      color=plots.COLOURS[place % 8], marker=plots.MARKERS[place % 8],
                      markersize=5, label=", ".join(map(str, key)))  # fmt: skip
        for best in set(rows["published_best"]) if len(rows) else ():
            axes.axvline(float(best), color="black", linestyle="--", linewidth=1)
        axes.axhline(1, color="black", linewidth=0.6)
        _empty(axes, rows)
        axes.set_xscale("log", base=2 if option == "alpha" else 10)
        axes.set_xlabel(option.upper())
        axes.set_ylabel("time over that of the author's value")
        axes.set_title(name)
        _legend(axes)
    figure.suptitle(measured_by(mine) if len(mine) else "", fontsize=9)
    return figure


def alpha(table: pd.DataFrame) -> Figure:
    """Plot time by ALPHA; the author's 10 is dashed."""
    return _sweep(table, "alpha", ("code", "n"), "code")


def cycle(table: pd.DataFrame) -> Figure:
    """Plot time by CYCLE; the author's 7000 and 500,000 are dashed."""
    return _sweep(table, "cycle", ("instance",), "code")


# ------------------------------------------------------------------------------- maximum flow


@plots.house_style()
def flow_versions(table: pd.DataFrame) -> Figure:
    """Plot time over PyMaxflow's by instance, a marker a version; below the line is faster."""
    mine = _ours(table, PYMAXFLOW, "value")
    codes = [REDRAWN, *FLOW_ON_GPU, ON_CPU]
    figure, panels = plots.new_figure(size=(max(6.0, 0.34 * len(mine) + 2.5), 5.0))
    axes = panels[0][0]
    places = np.arange(len(mine))
    for place, code in enumerate(codes if len(mine) else ()):
        ratios = (mine[code] / mine[PYMAXFLOW]).to_numpy(float)
        axes.plot(places, ratios, linestyle="none", color=plots.COLOURS[place],
                  marker=plots.MARKERS[place], markersize=5, label=code)  # fmt: skip
    for code, column in GAVE_UP_S.items():
        if len(mine) and mine[column].notna().any():
            least = (1000 * mine[column] / mine[PYMAXFLOW]).to_numpy(float)
            axes.plot(places, least, linestyle="none", color=plots.COLOURS[codes.index(code)],
                      marker=r"$\uparrow$", markersize=7, label=f"{code}: gave up")  # fmt: skip
    axes.axhline(1, color="black", linewidth=0.8)
    _empty(axes, mine)
    axes.set_yscale("log")
    axes.set_ylabel("time over PyMaxflow's on one core")
    names = list(mine["instance"]) if len(mine) else []
    axes.set_xticks(places, names, rotation=60, ha="right", fontsize=7)
    axes.set_title(measured_by(mine) if len(mine) else "")
    _legend(axes)
    return figure
