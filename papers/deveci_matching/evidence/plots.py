"""Plots of Figures 1 to 5 of [D13] from their tables, with print's numbers, if any, above ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from papers.common.evidence import plots
from papers.common.evidence.tables import NOT_MEASURED, best_source, measured_by
from papers.common.model import Plan
from papers.deveci_matching.evidence import sets
from papers.deveci_matching.evidence.codes import ALGORITHMS, KERNELS
from papers.deveci_matching.evidence.profiles import SHOWN
from papers.deveci_matching.evidence.tables import FEW, OF_FIG_2

COLOUR = dict(zip(SHOWN, plots.COLOURS, strict=False))
MARKER = dict(zip(SHOWN, plots.MARKERS, strict=False))


def _empty(axes: Any, text: str = "not measured") -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center")


def _ours(table: pd.DataFrame, column: str = "source") -> pd.DataFrame:
    """Return the rows of the source with the most of `column`; the present run wins a tie."""
    mine = table[table["source"] != NOT_MEASURED]
    return mine if mine.empty else best_source(mine, column)


# ------------------------------------------------------------------------------- Figure 1

PLACES = {"c1": (0, 1.5), "c2": (0, 0.5), "r1": (1, 2), "r2": (1, 1), "r3": (1, 0)}
EDGES = (("c1", "r1"), ("c2", "r1"), ("c2", "r2"), ("c2", "r3"))


def _graph(axes: Any, matched: set[tuple[str, str]], title: str) -> None:
    for ends in EDGES:
        across, up = zip(*(PLACES[end] for end in ends), strict=True)
        thick = ends in matched
        axes.plot(across, up, color=plots.COLOURS[1] if thick else "#999999", zorder=1,
                  linewidth=3 if thick else 1.2)  # fmt: skip
    for name, (x, y) in PLACES.items():
        axes.scatter([x], [y], s=420, color="white", edgecolors="black", zorder=2)
        axes.text(x, y, f"${name[0]}_{name[1]}$", ha="center", va="center", zorder=3)
    axes.set_xlim(-0.3, 1.3)
    axes.set_ylim(-0.4, 2.4)
    axes.set_axis_off()
    axes.set_title(title)


@plots.house_style()
def fig_1(folder: Path, plan: Plan) -> Sequence[tuple[str, Path]]:
    """Plot the graph of [D13 Fig.1] with its start, and the matchings that our kernels find.

    One thread walks back from r2, another from r3; both want c2. The matching that is left must
    have two edges, whichever thread wins.
    """
    # A list of experiments needs no kernels: they are loaded here.
    from papers.deveci_matching import solver

    graph = [[1, 1], [0, 1], [0, 1]]
    started = (np.array([1, -1, -1]), np.array([-1, 0]))
    figure, panels = plots.new_figure(columns=3, size=(8.4, 3.0))
    _graph(panels[0][0], {("c2", "r1")}, "start: $r_1$ and $c_2$ matched")
    outcomes = (("plain", "GPUBFS"), ("wr", "GPUBFS-WR"))
    for axes, (bfs, name) in zip(panels[0][1:], outcomes, strict=True):
        answer = solver.solve(graph, initial=started, algorithm="apfb", bfs=bfs)
        pairs = enumerate(np.asarray(answer.column_match).tolist(), 1)
        matched = {(f"c{column}", f"r{row + 1}") for column, row in pairs if row >= 0}
        _graph(axes, matched, f"APFB {name}: {answer.cardinality} edges")
    path = folder / "deveci_matching_fig01.png"
    plots.save(figure, path)
    return [("Two augmenting paths from one column, and what is left of them", path)]


# ------------------------------------------------------------------------------- Figure 2


@plots.house_style()
def fig_2(table: pd.DataFrame):
    """Plot BFS kernel executions over the iterations, a panel a graph; print has no numbers."""
    shown = _ours(table[table["what"] == "levels"])
    names = list(dict.fromkeys(shown["name"])) or [""]
    figure, panels = plots.new_figure(columns=len(names), size=(5.2 * len(names), 3.8))
    styles = {"GPUBFS": "--", "GPUBFS-WR": "-"}
    for axes, name in zip(panels[0], names, strict=True):
        curves = shown[shown["name"] == name].sort_values("iteration")
        for code in OF_FIG_2:
            algorithm, kernel, _ = code.split()
            points = curves.dropna(subset=[code])
            axes.plot(
                points["iteration"].astype(float), points[code].astype(float), styles[kernel],
                color=plots.COLOURS[list(ALGORITHMS).index(algorithm)],
                marker=plots.MARKERS[list(KERNELS).index(kernel)], markersize=4,
                markerfacecolor=None if kernel == "GPUBFS-WR" else "white",
                label=f"{algorithm} {kernel}",
            )  # fmt: skip
        if curves.empty:
            _empty(axes)
        axes.set_xlabel("id of the iteration")
        axes.set_ylabel("BFS kernel executions")
        axes.set_ylim(bottom=0)
        n = f", n = {curves['n'].iloc[0]}" if len(curves) else ""
        axes.set_title(f"{name}{n}\n{measured_by(curves)}")
        if len(curves):
            axes.legend()
    return figure


# ------------------------------------------------------------------------------- Figures 3 and 4


def _shown_set(ours: pd.DataFrame, prefix: str) -> str:
    """Return the set that a panel shows: that over one second if it is large enough, else all."""
    slow = ours[ours["instance_set"] == f"{prefix}_S1"]
    enough = len(slow) and slow["graphs"].iloc[0] >= FEW
    return f"{prefix}_{'S1' if enough else 'all'}"


def _profile(axes: Any, rows: pd.DataFrame, x: str, columns: dict[str, str], title: str) -> None:
    """Plot one panel, a curve a code; a single point stands alone."""
    rows = rows.sort_values(x)
    for name, column in columns.items():
        points = rows.dropna(subset=[column])
        if points.empty:
            continue
        axes.plot(
            points[x].astype(float), points[column].astype(float), color=COLOUR[name],
            marker=MARKER[name], markersize=4, label=name,
            markerfacecolor="white" if column.startswith("published") else None,
        )  # fmt: skip
    if not axes.lines:
        _empty(axes)
    else:
        axes.legend()
    axes.set_ylim(-0.03, 1.03)
    axes.set_title(title)


def _over(rows: pd.DataFrame, column: str) -> str:
    """Name the code that the speedups refer to, if the table has one."""
    return f", over {rows[column].iloc[0]}" if column in rows and len(rows) else ""


def _two_rows(table: pd.DataFrame, x: str, labels: tuple[str, str], printed_sets: dict[str, str]):
    """Plot published profiles above measured ones, original graphs beside permuted ones.

    Parameters
    ----------
    table : DataFrame
        From `profiles.fig_3` or `profiles.fig_4`.
    x : str
        Column of the abscissa.
    labels : (str, str)
        The labels of the axes.
    printed_sets : dict of str to str
        The set whose published curve each column of panels shows, by prefix.
    """
    ours = _ours(table)
    figure, panels = plots.new_figure(columns=2, rows=2, size=(9.6, 7.0), sharey=True)
    for place, (prefix, what) in enumerate((("O", "original"), ("RCP", "permuted"))):
        name = printed_sets[prefix]
        printed = table[table["instance_set"] == name].drop_duplicates(x)
        columns = {code: f"published_{code}" for code in SHOWN if f"published_{code}" in table}
        known = f"{name}{_over(printed, 'published_over')}"
        _profile(panels[0][place], printed, x, columns, f"{what} graphs, published ({known})")
        name = _shown_set(ours, prefix)
        mine = ours[ours["instance_set"] == name]
        graphs = f"{name}, {mine['graphs'].iloc[0]:.0f} graphs" if len(mine) else name
        graphs += _over(mine, "over")
        own = {code: code for code in SHOWN}
        _profile(panels[1][place], mine, x, own, f"{what} graphs ({graphs})\n{measured_by(mine)}")
        for line in panels:
            line[place].set_xlabel(labels[0])
            line[place].set_ylabel(labels[1])
            line[place].set_xlim(table[x].min() - 0.2, table[x].max() + 0.2)
    return figure


@plots.house_style()
def fig_3(table: pd.DataFrame):
    """Plot the speedup profiles; print's curves are recomputed from Table 2."""
    labels = ("$x$", r"share of graphs with a speedup $\geq 2^x$")
    return _two_rows(table, "log2_speedup", labels, {"O": "O_Hardest20", "RCP": sets.TWINS})


@plots.house_style()
def fig_4(table: pd.DataFrame):
    """Plot the performance profiles; print tells only the share of fastest runs."""
    labels = ("times the fastest of the four", "share of graphs")
    return _two_rows(table, "factor", labels, {"O": "O_S1", "RCP": "RCP_S1"})


# ------------------------------------------------------------------------------- Figure 5


@plots.house_style()
def fig_5(table: pd.DataFrame):
    """Plot the overall speedups, PFP left and HK right, published above measured."""
    ours = _ours(table, "speedup")
    names = [name for name in (*sets.SETS, sets.TWINS) if name in set(table["instance_set"])]
    figure, panels = plots.new_figure(rows=2, size=(8.4, 6.4))
    rows = (("published_speedup", table, "published (text and Table 2)"),
            ("speedup", ours, measured_by(ours)))  # fmt: skip
    for line, (column, source, title) in zip(panels, rows, strict=True):
        axes = line[0]
        for place, code in enumerate(("PFP", "HK")):
            bars = source[source["over"] == code].dropna(subset=[column])
            heights = bars.drop_duplicates("instance_set").set_index("instance_set")[column]
            heights = heights.reindex(names).astype(float)
            at = np.arange(len(names)) + (place - 0.5) * 0.36
            axes.bar(at, heights, 0.33, color=plots.COLOURS[place], label=f"over {code}")
            for x, height in zip(at, heights, strict=True):
                if height == height:
                    axes.text(x, height, f"{height:.3g}", ha="center", va="bottom", fontsize=8)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xticks(range(len(names)), [name.replace(" of ", "\nof ") for name in names])
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("speedup (geometric mean)")
        axes.set_title(title)
        if source[column].isna().all() if len(source) else True:
            _empty(axes)
    panels[0][0].legend()
    return figure
