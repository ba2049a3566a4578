"""Drawing in one style: published values hollow, measured values filled.

Experiments stay data: they name columns of their table, and these helpers draw. Figures are built
without `pyplot`, so nothing is shown and no state is shared; `save` writes the same bytes for the
same figure.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogFormatter, NullLocator

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Okabe and Ito's palette, which the colour-blind can tell apart."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 6.0,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "hatch.linewidth": 0.6,
    "figure.dpi": 100.0,
    "savefig.dpi": 150.0,
}
"""The same on every machine: the user's matplotlibrc plays no part."""


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house style inside the block, whatever the user's matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(cast(Any, STYLE))
        yield


def new_figure(
    columns: int = 1, rows: int = 1, size: tuple[float, float] = (6.4, 4.2), **keywords: Any
) -> tuple[Figure, np.ndarray]:
    """Return an empty figure in the house style and its axes as a 2-D array.

    Parameters
    ----------
    columns, rows : int
        Panels.
    size : (float, float)
        Width and height in inches.
    **keywords
        Passed to `Figure.subplots`, e.g. ``sharey=True``.
    """
    with house_style():
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False, **keywords)
    return figure, axes


def save(figure: Figure, path: Path) -> None:
    """Write `figure` as a PNG whose bytes depend on the figure alone (no date, no version)."""
    path.write_bytes(png(figure))


def png(figure: Figure) -> bytes:
    """Return `figure` as PNG bytes."""
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


# ------------------------------------------------------------------------------ axes


def _power_of_two(value: float, _: Any = None) -> str:
    """Label a tick of a binary axis as the papers do: 512, 2048, 1/64."""
    if value >= 1:
        return f"{value:g}"
    return f"1/{1 / value:g}" if value > 0 else "0"


def _scale(axes: Axes, which: str, scale: str, ticks: Sequence[float] = ()) -> None:
    """Set the scale of one axis: ``linear``, ``log`` (decimal) or ``log2`` (plain labels)."""
    set_scale = axes.set_xscale if which == "x" else axes.set_yscale
    axis = axes.xaxis if which == "x" else axes.yaxis
    if scale == "log2":
        set_scale("log", base=2)
        if len(ticks):
            axis.set_ticks(list(ticks))
        axis.set_major_formatter(FuncFormatter(_power_of_two))
        axis.set_minor_locator(NullLocator())
    elif scale == "log":
        set_scale("log")
        # Plain labels, 20 rather than 2 x 10^1; the minor ones only where decades are few.
        axis.set_major_formatter(LogFormatter())
        axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.6)))
    elif scale != "linear":
        raise ValueError(f"unknown scale {scale!r}; there are linear, log, log2")


def _finish(axes: Axes, xlabel: str, ylabel: str, title: str, ylim: Any) -> None:
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_title(title)
    if ylim is not None:
        axes.set_ylim(*ylim)


def _filled_or_hollow(named: str, hollow: bool) -> Line2D:
    return Line2D(
        [],
        [],
        color="#444444",
        marker="o",
        label=named,
        markerfacecolor="white" if hollow else None,
    )


# ------------------------------------------------------------------------------ lines


@house_style()
def line_plot(
    table: pd.DataFrame,
    x: str,
    y_published: str | None,
    y_measured: str | None,
    series: str,
    xscale: str = "log2",
    yscale: str = "linear",
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    ylim: tuple[float | None, float | None] | None = None,
    axes: Axes | None = None,
    known: Sequence[str] = (),
) -> Figure:
    """Draw a curve a series: dashed with hollow markers as published, solid as measured.

    Parameters
    ----------
    table : DataFrame
        One row per x and series.
    x, series : str
        Columns of the abscissa and of the curves' names.
    y_published, y_measured : str or None
        Columns of the ordinates; NaN leaves a gap, None leaves the curve out.
    xscale, yscale : {"linear", "log", "log2"}
        Scales as in the paper's figure.
    xlabel, ylabel, title : str
        Labels.
    ylim : (float, float), optional
        Limits.
    axes : Axes, optional
        Draw into these instead of a new figure.
    known : sequence of str
        Names of series that several figures draw: each has one colour and marker in all of them,
        those of its place here. Other series come after these.

    Returns
    -------
    Figure
        The figure, new or that of `axes`.
    """
    if axes is None:
        axes = new_figure()[1][0, 0]
    names = list(dict.fromkeys(table[series]))
    places = _places(names, known)
    looks = [(y_published, "--", True), (y_measured, "-", False)]
    for name in names:
        place = places[name]
        curve = table[table[series] == name].sort_values(x)
        for column, line, hollow in looks:
            if column is None or column not in curve or curve[column].isna().all():
                continue
            points = curve.dropna(subset=[column])
            axes.plot(
                points[x].to_numpy(dtype=float),
                points[column].to_numpy(dtype=float),
                linestyle=line,
                color=COLOURS[place % len(COLOURS)],
                marker=MARKERS[place % len(MARKERS)],
                markerfacecolor="white" if hollow else None,
            )
    _scale(axes, "x", xscale, sorted(set(table[x])))
    _scale(axes, "y", yscale)
    _finish(axes, xlabel, ylabel, title, ylim)
    _line_legend(axes, places, y_published, y_measured)
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    return figure


def waterfall(
    axes: Axes,
    steps: Sequence[str],
    curves: Iterable[tuple[str, pd.DataFrame]],
    by: str = "configuration",
    names: Sequence[str] | None = None,
    looks: Sequence[str] = ("-",),
    **ticks: Any,
) -> None:
    """Draw what is left of the time behind each change of a way, a stepped curve an instance.

    Parameters
    ----------
    axes : Axes
    steps : sequence of str
        The configurations on the way, in order.
    curves : iterable of (str, DataFrame)
        The label of each curve; rows with the columns `by` (one of `steps`) and ``left``.
    by : str
    names : sequence of str, optional
        What the steps are called on the axis; by default their names with blanks.
    looks : sequence of str
        Line styles; so many curves, one after another, share a colour.
    **ticks
        Of the labels on the axis.
    """
    places = {step: place for place, step in enumerate(steps)}
    for number, (label, rows) in enumerate(curves):
        axes.plot(
            [places[step] for step in rows[by]], rows["left"].to_numpy(dtype=float),
            drawstyle="steps-post", color=COLOURS[number // len(looks) % len(COLOURS)],
            linestyle=looks[number % len(looks)], label=label,
        )  # fmt: skip
    axes.set_yscale("log", base=2)
    shown = names or [step.replace("_", " ") for step in steps]
    axes.set_xticks(range(len(steps)), shown, **{"rotation": 35, "ha": "right", **ticks})


def _places(names: Sequence[Any], known: Sequence[str]) -> dict[Any, int]:
    """Give every series its place among the colours, by name; the known ones keep theirs."""
    order = list(dict.fromkeys([*known, *names]))
    return {name: order.index(name) for name in names}


def _line_legend(
    axes: Axes, places: Mapping[Any, int], y_published: str | None, y_measured: str | None
) -> None:
    """Name the series by colour and marker, then what hollow and filled mean."""
    entries = [
        Line2D(
            [], [], color=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)],
            label=str(name),
        )
        for name, i in places.items()
    ]  # fmt: skip
    if y_published is not None and y_measured is not None:
        entries += [_filled_or_hollow("published", True), _filled_or_hollow("measured", False)]
        entries[-2].set_linestyle("--")
    axes.legend(handles=entries)


# ------------------------------------------------------------------------------ bars


@house_style()
def stacked_bars(
    table: pd.DataFrame,
    x: str,
    y_published: str | None,
    y_measured: str | None,
    series: str,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    ylim: tuple[float | None, float | None] | None = None,
    axes: Axes | None = None,
    known: Sequence[str] = (),
) -> Figure:
    """Draw a stack of shares at every x: published hatched and hollow, measured filled beside it.

    Parameters
    ----------
    table : DataFrame
        One row per x and series; the series are stacked in the order of their first rows.
    x : str
        Column of the groups; they stand at equal distances, in the order of their first rows.
    y_published, y_measured, series, xlabel, ylabel, title, ylim, axes, known
        As in `line_plot`.

    Returns
    -------
    Figure
        The figure, new or that of `axes`.
    """
    if axes is None:
        axes = new_figure()[1][0, 0]
    groups = list(dict.fromkeys(table[x]))
    names = list(dict.fromkeys(table[series]))
    places = _places(names, known)
    shown = [c for c in (y_published, y_measured) if c is not None and c in table]
    width = 0.8 / max(len(shown), 1)
    for place, column in enumerate(shown):
        offset = (place - (len(shown) - 1) / 2) * width
        heights = table.pivot_table(index=x, columns=series, values=column, sort=False)
        heights = heights.reindex(index=groups, columns=names).fillna(0.0)
        bottom = np.zeros(len(groups))
        for name in names:
            values = heights[name].to_numpy(dtype=float)
            look = _bar_look(COLOURS[places[name] % len(COLOURS)], hollow=column == y_published)
            axes.bar(np.arange(len(groups)) + offset, values, 0.92 * width, bottom=bottom, **look)
            bottom += values
    axes.set_xticks(
        np.arange(len(groups)), [f"{g:g}" if isinstance(g, float) else str(g) for g in groups]
    )
    axes.grid(visible=False, axis="x")
    _finish(axes, xlabel, ylabel, title, ylim)
    entries = [Patch(facecolor=COLOURS[i % len(COLOURS)], label=str(n)) for n, i in places.items()]
    if len(shown) == 2:
        entries.append(Patch(**_bar_look("#444444", True), label="published"))
        entries.append(Patch(**_bar_look("#444444", False), label="measured"))
    axes.legend(handles=entries, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    return figure


def _bar_look(colour: str, hollow: bool) -> dict[str, Any]:
    if hollow:
        return {"facecolor": "white", "edgecolor": colour, "hatch": "////", "linewidth": 0.9}
    return {"facecolor": colour, "edgecolor": colour, "linewidth": 0.9}


# ------------------------------------------------------------------------------ tables


TABLE_POINTS = 7.5
"""Font size of `table_image`; a line of text is as high, times its line spacing."""


@house_style()
def table_image(
    rows: Sequence[Sequence[str]], title: str = "", numeric: Sequence[bool] = ()
) -> Figure:
    """Draw a table, for those that are no figure in the paper.

    Parameters
    ----------
    rows : sequence of sequence of str
        Header, whose underscores are drawn as spaces, and body.
    title : str
        Caption above.
    numeric : sequence of bool
        Which columns hold numbers and stand at the right; the others stand at the left.
    """
    header = [name.replace("_", " ") for name in rows[0]] if rows else []
    rows = [header, *rows[1:]] if header else [["no rows"]]
    widths = [max(len(row[i]) for row in rows) + 2 for i in range(len(rows[0]))]
    total = sum(widths)
    size = (max(4.0, 0.075 * total), 0.15 * len(rows) + 0.7)
    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.02, 0.0, 0.96, 1.0 - 0.55 / size[1]))
    axes.set_axis_off()
    axes.set_xlim(0, total)
    axes.set_ylim(len(rows) + 0.5, 0)
    axes.set_title(textwrap.fill(title, max(30, total)))
    # One text a column, hung up by the last line's baseline: a box and a text for each cell would
    # take seconds to draw.
    row_points = 72 * (size[1] - 0.55) / (len(rows) + 0.5)
    left = 0
    for place, width in enumerate(widths):
        right = place < len(numeric) and numeric[place]
        side, x = ("right", left + width - 1) if right else ("left", left + 1)
        column = "\n".join(row[place] or "-" for row in rows)
        axes.text(
            x, len(rows) - 0.25, column, ha=side, multialignment=side, va="baseline",
            fontsize=TABLE_POINTS, linespacing=row_points / TABLE_POINTS,
        )  # fmt: skip
        left += width
    axes.axhspan(0, 1.05, color="#eeeeee", zorder=0)
    return figure
