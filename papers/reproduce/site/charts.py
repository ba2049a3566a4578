"""Reads a Matplotlib figure back as the data of interactive charts, one a panel.

The papers draw their figures once, with Matplotlib. Everything that such a figure shows is in its
artists: curves, bars, pies, bands, labels, scales. They are read here and written in the form that
Plotly takes (JSON), so that an interactive chart shows the same numbers as the picture, by the same
code, and no experiment declares its axes twice. A figure with an artist that is not known here has
no chart: its picture stands on the page instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle, Wedge
from matplotlib.ticker import FixedLocator

DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}
SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down",
    "P": "cross", "X": "x", "*": "star",
}  # fmt: skip

PUBLISHED, MEASURED, MODEL, REFERENCE = "published", "measured", "model", "reference"
"""The sides of a trace: those of the comparison, a model's band, and a line that has no name."""

Trace = dict[str, Any]


class UnknownArtistError(ValueError):
    """A figure shows something that no chart is made of."""


def panels(figure: Figure) -> list[dict[str, Any]]:
    """Return the panels of a figure, in its order.

    Parameters
    ----------
    figure : Figure
        As an experiment's `figure` returns it.

    Returns
    -------
    list of dict
        ``title``, ``data`` (traces) and ``layout`` (axes, shapes, annotations); a trace's
        ``legendgroup`` is its series, and its ``meta`` is its side (``published``, ``measured``,
        ``model``, ``reference``) or "". A panel that shows nothing is left out.

    Raises
    ------
    UnknownArtistError
        For an artist that is not a curve, a bar, a slice, a band or a text.
    """
    named = _Names([*figure.legends, *(axes.get_legend() for axes in figure.axes)])
    found = [_panel(axes, named) for axes in figure.axes]
    return [p for p in found if any(trace["meta"] != REFERENCE for trace in p["data"])]


def marks(found: Iterable[Mapping[str, Any]]) -> str:
    """Return how panels tell print from ours, as they were drawn.

    Parameters
    ----------
    found : iterable of mapping
        As `panels` returns them.

    Returns
    -------
    str
        E.g. ``"published hollow, measured filled"``; "" where one of the two is missing, or where
        both have one look.
    """
    traces = [trace for panel in found for trace in panel["data"]]
    looks = {
        side: {_mark(t) for t in traces if t["meta"] == side} for side in (PUBLISHED, MEASURED)
    }
    if not all(looks.values()) or looks[PUBLISHED] & looks[MEASURED]:
        return ""
    return ", ".join(f"{side} {' or '.join(sorted(looks[side]))}" for side in looks)


def _mark(trace: Trace) -> str:
    if trace["type"] == "bar":
        return "hatched" if "pattern" in trace["marker"] else "filled"
    if "markers" in trace["mode"]:
        return "hollow" if trace["marker"]["symbol"].endswith("-open") else "filled"
    return {"solid": "solid", "dash": "dashed"}.get(trace["line"]["dash"], "dotted")


class _Names:
    """Finds the series of an artist by its look, from the entries of the figure's legends."""

    def __init__(self, legends: Sequence[Legend | None]) -> None:
        self.by_look: dict[tuple[Any, ...], str] = {}
        for legend in filter(None, legends):
            # The words are those of the texts: a handle may have no label of its own.
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                for look in _looks(handle):
                    self.by_look.setdefault(look, text.get_text())
        self.both = {PUBLISHED, MEASURED} <= set(self.by_look.values())

    def series(self, artist: Any, label: str) -> tuple[str, str]:
        """Return the series and, where the legend tells them apart, published or measured."""
        found = label if label and not label.startswith("_") else ""
        for look in () if found else _looks(artist):
            found = self.by_look.get(look, "")
            if found not in ("", PUBLISHED, MEASURED):
                break
        side = (PUBLISHED if _is_hollow(artist) else MEASURED) if self.both else ""
        for word in (PUBLISHED, MEASURED):
            if found.endswith(f", {word}"):
                found, side = found.removesuffix(f", {word}"), word
        return found, side


def _looks(artist: Any) -> list[tuple[Any, ...]]:
    """Return the marks by which a legend's entry may name an artist, the most telling first."""
    if isinstance(artist, Line2D):
        colour, marker = to_hex(artist.get_color()), str(artist.get_marker())
        hollow = _is_hollow(artist)
        return [(colour, marker, hollow), (colour, marker), (colour,)]
    if isinstance(artist, Patch):
        return [(_colour(artist), artist.get_hatch()), (_colour(artist),)]
    return []


def _is_hollow(artist: Any) -> bool:
    if isinstance(artist, Line2D):
        return to_rgba(artist.get_markerfacecolor())[:3] == (1, 1, 1) and _has_marker(artist)
    return bool(artist.get_hatch()) or to_rgba(artist.get_facecolor())[:3] == (1, 1, 1)


def _has_marker(line: Line2D) -> bool:
    return str(line.get_marker()) in SYMBOLS


def _colour(patch: Patch) -> str:
    hollow = to_rgba(patch.get_facecolor())[:3] == (1, 1, 1)
    return to_hex(patch.get_edgecolor() if hollow else patch.get_facecolor())


# ------------------------------------------------------------------------------ a panel


def _panel(axes: Axes, named: _Names) -> dict[str, Any]:
    wedges = [patch for patch in axes.patches if isinstance(patch, Wedge)]
    bars = [c for c in axes.containers if isinstance(c, BarContainer)]
    traces: list[Trace] = []
    if wedges:
        traces.append(_pie(axes, wedges, named))
    traces += [_bars(container, named) for container in bars]
    traces += [_band(band) for band in axes.collections]
    traces += [trace for line in axes.lines for trace in _curve(axes, line, named)]
    drawn = {patch for container in bars for patch in container.patches} | set(wedges)
    shapes = [_span(axes, patch) for patch in axes.patches if patch not in drawn]
    if axes.images or axes.tables:
        raise UnknownArtistError("an image or a table")
    layout: dict[str, Any] = {"shapes": shapes, "barmode": "overlay"}
    if not wedges:
        layout |= {"xaxis": _axis(axes, axes.xaxis, "x"), "yaxis": _axis(axes, axes.yaxis, "y")}
        layout["annotations"] = list(_texts(axes))
    return {"title": _title(axes.get_title()), "data": traces, "layout": layout}


def _title(text: str) -> str:
    """Return a panel's title without the machine, which the page names."""
    lines = ["measured" if t.startswith("measured: ") else t for t in text.split("\n") if t]
    return ", ".join(lines)


def _numbers(values: Iterable[Any]) -> list[float | None]:
    """Return floats with six significant digits; JSON knows no NaN."""
    found = (float(value) for value in values)
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in found]


def _said(series: str, side: str) -> Trace:
    shown = series if side == REFERENCE else ", ".join(filter(None, [series, side]))
    return {"name": shown, "legendgroup": series, "meta": side}


def _curve(axes: Axes, line: Line2D, named: _Names) -> Iterator[Trace]:
    x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
    across = line.get_transform() == axes.get_yaxis_transform(which="grid")
    up = line.get_transform() == axes.get_xaxis_transform(which="grid")
    if across or up:
        x, y = (np.asarray(axes.get_xlim()), y) if across else (x, np.asarray(axes.get_ylim()))
    if not len(x):
        return
    drawn, marked = str(line.get_linestyle()) in DASHES, _has_marker(line)
    colour = to_hex(line.get_color())
    series, side = named.series(line, str(line.get_label()))
    if not series:
        series, side = "a line for the eye", REFERENCE
    yield {
        "type": "scatter", "x": _numbers(x), "y": _numbers(y), **_said(series, side),
        "mode": "+".join(["lines"] * drawn + ["markers"] * marked) or "lines",
        "line": {"color": colour, "dash": DASHES.get(str(line.get_linestyle()), "solid")},
        "marker": {"symbol": SYMBOLS.get(str(line.get_marker()), "circle")
                   + ("-open" if _is_hollow(line) else ""), "color": colour, "size": 8},
    }  # fmt: skip


def _bars(container: BarContainer, named: _Names) -> Trace:
    rectangles = [patch for patch in container.patches if isinstance(patch, Rectangle)]
    level = container.orientation == "horizontal"
    first = rectangles[0]
    middles = [(r.get_y() + r.get_height() / 2) if level else (r.get_x() + r.get_width() / 2)
               for r in rectangles]  # fmt: skip
    sizes = [r.get_width() if level else r.get_height() for r in rectangles]
    bases = [r.get_x() if level else r.get_y() for r in rectangles]
    widths = [abs(r.get_height() if level else r.get_width()) for r in rectangles]
    colour, hollow = _colour(first), _is_hollow(first)
    return {
        "type": "bar", "orientation": "h" if level else "v",
        ("y" if level else "x"): _numbers(middles), ("x" if level else "y"): _numbers(sizes),
        "base": _numbers(bases), "width": _numbers(widths),
        "marker": {"color": "rgba(0,0,0,0)" if hollow else colour,
                   "line": {"color": colour, "width": 1},
                   **({"pattern": {"shape": "/", "fgcolor": colour}} if hollow else {})},
        **_said(*named.series(first, str(container.get_label()))),
    }  # fmt: skip


def _pie(axes: Axes, wedges: Sequence[Wedge], named: _Names) -> Trace:
    # A slice's own label is its number; the legend names it.
    names = [named.series(wedge, "")[0] or str(wedge.get_label()) for wedge in wedges]
    return {
        "type": "pie", "sort": False, "labels": names, "hole": 0.35, "textinfo": "percent",
        "values": _numbers(wedge.theta2 - wedge.theta1 for wedge in wedges),
        "marker": {"colors": [_colour(wedge) for wedge in wedges],
                   "pattern": {"shape": ["/" if w.get_hatch() else "" for w in wedges]}},
        "hoverinfo": "label+percent", "name": axes.get_title(), "legendgroup": "", "meta": "",
    }  # fmt: skip


def _band(band: Any) -> Trace:
    if not isinstance(band, PolyCollection) or len(band.get_paths()) != 1:
        raise UnknownArtistError(type(band).__name__)
    corners = np.asarray(band.get_paths()[0].vertices)
    red, green, blue, alpha = to_rgba(np.asarray(band.get_facecolor())[0])
    label = str(band.get_label())
    shown = "" if label.startswith("_") else label
    return {
        "type": "scatter", "fill": "toself", "mode": "lines", "line": {"width": 0},
        "x": _numbers(corners[:, 0]), "y": _numbers(corners[:, 1]), "hoverinfo": "skip",
        "fillcolor": f"rgba({255 * red:.0f},{255 * green:.0f},{255 * blue:.0f},{alpha:.2f})",
        **_said(shown.removesuffix(", model") or "band", MODEL),
    }  # fmt: skip


def _span(axes: Axes, patch: Patch) -> dict[str, Any]:
    """Return a band over the whole axes as a shape."""
    whole = patch.get_data_transform() == axes.get_yaxis_transform(which="grid")
    if not whole or not isinstance(patch, (Rectangle, Polygon)):
        raise UnknownArtistError(type(patch).__name__)
    corners = patch.get_patch_transform().transform(patch.get_path().vertices)
    (_, y0), (_, y1) = np.min(corners, axis=0), np.max(corners, axis=0)
    return {
        "type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": float(y0), "y1": float(y1),
        "fillcolor": to_hex(patch.get_facecolor()), "opacity": 0.35, "line": {"width": 0},
        "layer": "below",
    }  # fmt: skip


def _axis(axes: Axes, axis: Axis, which: str) -> dict[str, Any]:
    """Return one axis: its label, its scale, the ticks that the figure fixes."""
    logarithmic = axis.get_scale() == "log"
    found: dict[str, Any] = {
        "title": {"text": axis.get_label_text()}, "type": "log" if logarithmic else "linear",
    }  # fmt: skip
    locator = axis.get_major_locator()
    if isinstance(locator, FixedLocator):
        places = [float(place) for place in axis.get_majorticklocs()]
        texts = axis.get_major_formatter().format_ticks(places)
        found |= {"tickvals": places, "ticktext": [text.replace("\n", "<br>") for text in texts]}
    fixed = not (axes.get_autoscalex_on() if which == "x" else axes.get_autoscaley_on())
    if fixed:
        limits = axes.get_xlim() if which == "x" else axes.get_ylim()
        if not logarithmic or min(limits) > 0:
            found["range"] = [float(math.log10(e) if logarithmic else e) for e in limits]
    return found


def _texts(axes: Axes) -> Iterator[dict[str, Any]]:
    for text in axes.texts:
        within = text.get_transform() == axes.transAxes
        x, y = (float(place) for place in text.get_position())
        if not within:
            x = math.log10(x) if axes.get_xscale() == "log" and x > 0 else x
            y = math.log10(y) if axes.get_yscale() == "log" and y > 0 else y
        where = {"xref": "paper", "yref": "paper"} if within else {}
        yield {"x": x, "y": y, "text": text.get_text(), "showarrow": False, **where}
