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
from papers.deveci_matching.evidence.codes import ALGORITHMS, SEARCHES
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

COLUMN_AT = {column: (0.0, 3.0 - column) for column in range(4)}
ROW_AT = {row: (1.0, 3.0 - row) for row in range(4)}
BELIEVED, HELD = plots.COLOURS[3], plots.COLOURS[1]
_WORDS = {-1: "free", -2: "-2"}


def _line(axes: Any, column: int, row: int, colour: str, width: float, style: str = "-") -> None:
    (x, y), (x2, y2) = COLUMN_AT[column], ROW_AT[row]
    axes.plot([x, x2], [y, y2], style, color=colour, linewidth=width, zorder=1)


def _pairs_of(axes: Any, moment: Any) -> None:
    """Draw the pairs that columns hold, and dotted those in which only a row believes."""
    for column, row in enumerate(moment.cmatch):
        if row >= 0:
            _line(axes, column, row, HELD, 3.5)
    for row, column in enumerate(moment.rmatch):
        if column >= 0 and moment.cmatch[column] != row:
            _line(axes, column, row, BELIEVED, 2.5, ":")


def _walks_of(axes: Any, moment: Any) -> None:
    """Draw arrows from each marked row to its predecessor, and on along the walk's plan."""
    for end, mark in enumerate(moment.rmatch):
        row = end if mark == -2 else -1
        while row >= 0:
            column = moment.predecessor[row]
            axes.annotate(
                "", COLUMN_AT[column], ROW_AT[row],
                arrowprops={"arrowstyle": "-|>", "color": plots.COLOURS[0], "shrinkA": 11,
                            "shrinkB": 11, "connectionstyle": "arc3,rad=0.14"},
            )  # fmt: skip
            row = moment.cmatch[column]


def _panel(axes: Any, graph: Any, moment: Any, title: str, levels: bool, walks: bool) -> None:
    for row, line in enumerate(graph):
        for column, edge in enumerate(line):
            if edge:
                _line(axes, column, row, "#bbbbbb", 1.0)
    _pairs_of(axes, moment)
    if walks:
        _walks_of(axes, moment)
    for places, letter in ((COLUMN_AT, "c"), (ROW_AT, "r")):
        for number, (x, y) in places.items():
            axes.scatter([x], [y], s=330, color="white", edgecolors="black", zorder=2)
            axes.text(x, y, f"${letter}_{number + 1}$", ha="center", va="center", zorder=3)
    for column, (x, y) in COLUMN_AT.items():
        if levels and moment.level[column] > 1:
            axes.text(x - 0.16, y, f"level {moment.level[column]}", ha="right", va="center",
                      fontsize=8)  # fmt: skip
    for row, (x, y) in ROW_AT.items():
        word = _WORDS.get(moment.rmatch[row], f"$c_{moment.rmatch[row] + 1}$")
        axes.text(x + 0.16, y, word, ha="left", va="center", fontsize=8)
    axes.set_xlim(-0.75, 1.6)
    axes.set_ylim(-0.5, 3.5)
    axes.set_axis_off()
    axes.set_title(title, fontsize=9)


@plots.house_style()
def fig_1(folder: Path, plan: Plan) -> Sequence[tuple[str, Path]]:
    """Plot the graph of [D13 Fig.1] with a fourth pair: marks, walks, collision and repair.

    Two runs of the kernels in the executor, a line each. Thick is what a column holds; beside each
    row stands its word of ``rmatch``; dotted is a pair in which only the row believes.
    """
    # A list of experiments needs no kernels: they are loaded here.
    from papers.deveci_matching.evidence import examples

    titles = {
        "start": "start", "bfs": "search: levels, marks;\narrows: the walks to come",
        "alternate": "after ALTERNATE", "fix": "after FIXMATCHING",
    }  # fmt: skip
    figure, panels = plots.new_figure(columns=4, rows=2, size=(12.0, 6.2))
    for line, story in zip(panels, examples.STORIES, strict=True):
        run = examples.run_of(story)
        for axes, (step, title) in zip(line, titles.items(), strict=True):
            after = f"{title}\n{story}" if step == "alternate" else title
            _panel(axes, examples.GRAPH, run.after(step), after, step != "start", step == "bfs")
    path = folder / "deveci_matching_fig01.png"
    plots.save(figure, path)
    return [("Marks, walks, collision and repair, in two runs of the kernels", path)]


# ------------------------------------------------------------------------------- Figure 2


def _cut(table: pd.DataFrame, curves: pd.DataFrame) -> str:
    """Say where the curves of a panel stop before their codes did; empty if none does."""
    if curves.empty:
        return ""
    same = (table["name"] == curves["name"].iloc[0]) & (table["source"] == curves["source"].iloc[0])
    sums = table[same & (table["what"] == "iterations")]
    last = curves["iteration"].max()
    longer = {code: float(sums[code].max()) for code in OF_FIG_2 if code in sums}
    longer = {code: total for code, total in longer.items() if total > last}
    if not longer:
        return ""
    each = ", ".join(f"{code.removesuffix(' CT')} ran {n:.0f}" for code, n in longer.items())
    return f"\ncut at iteration {last:.0f}: {each}"


@plots.house_style()
def fig_2(table: pd.DataFrame):
    """Plot BFS kernel executions over the iterations, a panel a graph; print has no numbers.

    The title says where the table, and so a curve, stops before the code did.
    """
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
                marker=plots.MARKERS[list(SEARCHES).index(kernel)], markersize=4,
                markerfacecolor=None if kernel == "GPUBFS-WR" else "white",
                label=f"{algorithm} {kernel}",
            )  # fmt: skip
        if curves.empty:
            _empty(axes)
        axes.set_xlabel("id of the iteration")
        axes.set_ylabel("BFS kernel executions")
        axes.set_ylim(bottom=0)
        n = f", n = {curves['n'].iloc[0]}" if len(curves) else ""
        axes.set_title(f"{name}{n}\n{measured_by(curves)}{_cut(table, curves)}")
        if len(curves):
            axes.legend()
    return figure


# ------------------------------------------------------------------------------- Figures 3 and 4


def _shown_set(ours: pd.DataFrame, printed: str, prefix: str) -> tuple[str, str]:
    """Return the set that a measured panel shows, and words on it if it is not print's above.

    That is print's set if we have enough graphs of it, else all graphs of its ordering.
    """
    same = ours[ours["instance_set"] == printed]
    graphs = int(same["graphs"].iloc[0]) if len(same) else 0
    if graphs >= FEW:
        return printed, ""
    return f"{prefix}_all", f"not print's set, of which only {graphs} graphs are here"


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

    Each title names its panel's set, and says where the measured one is not the one above.

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
    figure, panels = plots.new_figure(columns=2, rows=2, size=(10.4, 7.2), sharey=True)
    for place, (prefix, what) in enumerate((("O", "original"), ("RCP", "permuted"))):
        name = printed_sets[prefix]
        printed = table[table["instance_set"] == name].drop_duplicates(x)
        columns = {code: f"published_{code}" for code in SHOWN if f"published_{code}" in table}
        known = f"{name}{_over(printed, 'published_over')}"
        alone = printed.dropna(subset=[each for each in columns.values() if each in printed])
        told = f"\nprint tells the value at {alone[x].iloc[0]:g} alone" if len(alone) == 1 else ""
        _profile(panels[0][place], printed, x, columns, f"published, {what} graphs: {known}{told}")
        name, other = _shown_set(ours, name, prefix)
        mine = ours[ours["instance_set"] == name]
        graphs = f"{name}, {mine['graphs'].iloc[0]:.0f} graphs" if len(mine) else name
        title = f"{what} graphs: {graphs}{_over(mine, 'over')}\n"
        title += f"{other}\n" if other and len(mine) else ""
        own = {code: code for code in SHOWN}
        _profile(panels[1][place], mine, x, own, title + measured_by(mine))
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
    """Plot the overall speedups, PFP left and HK right, published above measured, in one scale."""
    ours = _ours(table, "speedup")
    names = [name for name in (*sets.SETS, sets.TWINS) if name in set(table["instance_set"])]
    figure, panels = plots.new_figure(rows=2, size=(8.4, 6.4), sharey=True)
    rows = (("published_speedup", table, "published (text and Table 2)", "not in print"),
            ("speedup", ours, measured_by(ours), "not measured"))  # fmt: skip
    for line, (column, source, title, missing) in zip(panels, rows, strict=True):
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
                elif heights.notna().any():
                    axes.text(x, 1.3, missing, ha="center", va="bottom", fontsize=7, rotation=90)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xticks(range(len(names)), [name.replace(" of ", "\nof ") for name in names])
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("speedup (geometric mean)")
        axes.set_title(title)
        if source[column].isna().all() if len(source) else True:
            _empty(axes)
    panels[0][0].legend()
    return figure
