"""Figures 1 and 2 of [LU11] as diagrams: boxes and arrows, redrawn from the text.

The paper's drawings were not at hand; what they must say follows from their captions and from
sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from papers.common.evidence import plots
from papers.common.model import Plan

Box = tuple[float, float, str]
"""Centre and text."""

PROBLEM, METHOD, HOST, DEVICE = "#e8f1fa", "#fdf0e0", "#f2f2f2", "#e3f4ec"

REDUCTIONS: Mapping[str, tuple[Box, str]] = {
    "matching": ((0.0, 3.0, "bipartite matching"), PROBLEM),
    "assignment": ((2.2, 3.0, "assignment\n(weighted matching)"), PROBLEM),
    "flow": ((0.0, 1.8, "maximum flow"), PROBLEM),
    "cost": ((2.2, 1.8, "maximum flow of\nminimum cost"), PROBLEM),
    "cuts": ((-2.2, 3.0, "graph cut:\nenergies of labels"), PROBLEM),
    "motion": ((4.4, 3.0, "optical flow"), PROBLEM),
    "push": ((0.0, 0.6, "push-relabel\nAlg. 4.1 to 4.4"), METHOD),
    "scaling": ((2.2, 0.6, "cost scaling\nAlg. 5.0 to 5.3"), METHOD),
    "hong": ((0.0, -0.6, "lock-free push-relabel\nAlg. 4.5 to 4.8"), METHOD),
    "refine": ((2.2, -0.6, "lock-free refine\nAlg. 5.4"), METHOD),
}
REDUCED = (
    ("matching", "flow", "unit capacities"),
    ("cuts", "flow", "Kolmogorov, Zabih"),
    ("motion", "assignment", ""),
    ("assignment", "cost", "u = 1, c = -w"),
    ("flow", "push", ""),
    ("cost", "scaling", ""),
    ("push", "hong", "a thread a node"),
    ("scaling", "refine", ""),
    ("push", "scaling", "refine pushes,\nrelabels"),
    ("hong", "refine", "prices for\nheights"),
)

LOOP: Mapping[str, tuple[Box, str]] = {
    "start": ((0.0, 5.0, r"$\epsilon = C$,  $p = 0$"), HOST),
    "ask": ((0.0, 4.0, r"$\epsilon \geq 1/n$ ?"), HOST),
    "done": ((2.6, 4.0, "f is the assignment"), PROBLEM),
    "scale": ((0.0, 3.0, r"$\epsilon = \epsilon / \alpha$,  $f = 0$,  prices of X"), HOST),
    "kernel": ((0.0, 2.0, "push or relabel, a thread a node\n(CYCLE iterations)"), DEVICE),
    "first": ((0.0, 1.0, "first run of this refine?"), HOST),
    "fix": ((2.6, 1.0, "arc fixing"), DEVICE),
    "prices": ((2.6, 2.0, "price updates"), HOST),
    "flow": ((0.0, 0.0, "is f a flow?"), HOST),
}
STEPS = (
    ("start", "ask", ""),
    ("ask", "done", "no"),
    ("ask", "scale", "yes"),
    ("scale", "kernel", ""),
    ("kernel", "first", ""),
    ("first", "fix", "yes"),
    ("fix", "prices", ""),
    ("prices", "kernel", ""),
    ("first", "flow", "no"),
)
BACK = (("flow", "kernel", "no", -1.7), ("flow", "ask", "yes", -2.2))
"""Arrows that go round the others at the left: their abscissa is the last entry."""


def _boxes(axes: Any, boxes: Mapping[str, tuple[Box, str]]) -> dict[str, Any]:
    made = {}
    for name, ((x, y, text), colour) in boxes.items():
        look = {"boxstyle": "round,pad=0.5", "facecolor": colour, "edgecolor": "#444444"}
        made[name] = axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=look)
    return made


def _arrows(axes: Any, made: Mapping[str, Any], arrows: Sequence[tuple[str, str, str]]) -> None:
    """Draw straight arrows from the edge of one box to that of another, with their words."""
    for start, end, text in arrows:
        a, b = made[start], made[end]
        axes.annotate(
            "", b.get_position(), a.get_position(), zorder=0,
            arrowprops={
                "arrowstyle": "-|>", "color": "#444444", "shrinkA": 0, "shrinkB": 0,
                "patchA": a.get_bbox_patch(), "patchB": b.get_bbox_patch(),
            },
        )  # fmt: skip
        (x0, y0), (x1, y1) = a.get_position(), b.get_position()
        level = y0 == y1
        side = {"ha": "center", "va": "bottom"} if level else {"ha": "left", "va": "center"}
        axes.text((x0 + x1) / 2 + 0.1 * (not level), (y0 + y1) / 2 + 0.05, text, fontsize=7,
                  color="#444444", **side)  # fmt: skip


def _around(axes: Any, made: Mapping[str, Any]) -> None:
    for start, end, text, x in BACK:
        (left, y0), (goal, y1) = _left_edge(axes, made[start]), _left_edge(axes, made[end])
        axes.plot([left, x, x], [y0, y0, y1], color="#444444", linewidth=1.2, zorder=0)
        look = {"arrowstyle": "-|>", "color": "#444444", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (goal, y1), (x, y1), zorder=0, arrowprops=look)
        axes.text(x + 0.05, (y0 + y1) / 2, text, fontsize=7, color="#444444")


def _left_edge(axes: Any, box: Any) -> tuple[float, float]:
    """Return a box's left edge, in the axes' units."""
    pixels = box.get_bbox_patch().get_window_extent()
    x, y = axes.transData.inverted().transform((pixels.x0, (pixels.y0 + pixels.y1) / 2))
    return float(x), float(y)


def _frame(axes: Any, x: tuple[float, float], y: tuple[float, float]) -> None:
    axes.set_xlim(*x)
    axes.set_ylim(*y)
    axes.set_axis_off()


@plots.house_style()
def fig_1(folder: Path, plan: Plan) -> Sequence[tuple[str, Path]]:
    """Draw which problem is reduced to which, and by what each is solved [LU11 Fig.1]."""
    figure, panels = plots.new_figure(size=(8.6, 4.6))
    axes = panels[0][0]
    _frame(axes, (-3.3, 5.5), (-1.1, 3.5))
    _arrows(axes, _settled(figure, axes, REDUCTIONS), REDUCED)
    path = folder / "lupinska_costscale_fig01.png"
    plots.save(figure, path)
    return [("Problems (blue), what they are reduced to, and what solves them (orange)", path)]


@plots.house_style()
def fig_2(folder: Path, plan: Plan) -> Sequence[tuple[str, Path]]:
    """Draw the loop of cost scaling with both heuristics [LU11 Fig.2]."""
    figure, panels = plots.new_figure(size=(6.6, 5.6))
    axes = panels[0][0]
    _frame(axes, (-2.6, 3.9), (-0.5, 5.5))
    made = _settled(figure, axes, LOOP)
    _arrows(axes, made, STEPS)
    _around(axes, made)
    path = folder / "lupinska_costscale_fig02.png"
    plots.save(figure, path)
    return [("Cost scaling: what the host does (grey) and what the GPU does (green)", path)]


def _settled(figure: Any, axes: Any, boxes: Mapping[str, tuple[Box, str]]) -> dict[str, Any]:
    """Draw boxes and let the canvas lay them out, so that arrows know where they end."""
    made = _boxes(axes, boxes)
    figure.canvas.draw()
    return made
