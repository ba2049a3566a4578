"""Figures 1 and 3 of [L19] and Table A.5 as pictures, each from the program itself where it can be.

Figure 1 is drawn from `ARROWS`, which a test holds against the steps that the solver takes. Figure
3 is drawn from the loads of `kernels.matrix.step_1_min_in_rows`, as the executor lists them. Table
A.5 is drawn from two runs of `evidence.litmus`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from papers.common.evidence import plots
from papers.common.model import Plan

# The kernels load Numba; they are imported where they run, so that listing experiments is instant.

# ------------------------------------------------------------------------------- Figure 1

BOXES: Mapping[str, tuple[float, float, str]] = {
    "step_1": (0.0, 5.0, "Step 1: subtract the minima of rows,\nthen of columns; list the zeros"),
    "step_2": (0.0, 4.0, "Step 2: star zeros,\none a line at most"),
    "step_3": (0.0, 3.0, "Step 3: cover the starred columns"),
    "end": (3.4, 3.0, "the stars are\nthe assignment"),
    "step_4": (0.0, 2.0, "Step 4: search from free columns back\nto free rows, prime what is met"),
    "step_5": (-2.2, 0.9, "Step 5: apply the paths\n(5a: greens, 5b: stars)"),
    "step_6": (2.2, 0.9, "Step 6: shift the duals,\nlist the zeros anew"),
}
"""Centre and text of each box."""

ARROWS: Mapping[tuple[str, str], str] = {
    ("step_1", "step_2"): "",
    ("step_2", "step_3"): "",
    ("step_3", "end"): "all columns\nare covered",
    ("step_3", "step_4"): "else",
    ("step_4", "step_5"): "paths were\nfound",
    ("step_4", "step_6"): "no zero is\nuncovered",
    ("step_5", "step_3"): "",
    ("step_6", "step_4"): "",
}
"""Which step follows which, and when."""

BENT = {("step_5", "step_3"): -0.35, ("step_6", "step_4"): 0.45}
"""Arrows that go back, and how much they are bent aside."""


@plots.house_style()
def fig_1(folder: Path, plan: Plan) -> list[tuple[str, Path]]:
    """Draw the flow through the steps [L19 Fig.1]."""
    figure, panels = plots.new_figure(size=(7.4, 5.4))
    axes = panels[0][0]
    axes.set(xlim=(-4.2, 4.6), ylim=(0.4, 5.5))
    axes.set_axis_off()
    made = {}
    for name, (x, y, text) in BOXES.items():
        colour = "#e3f4ec" if name != "end" else "#e8f1fa"
        look = {"boxstyle": "round,pad=0.5", "facecolor": colour, "edgecolor": "#444444"}
        made[name] = axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=look)
    figure.canvas.draw()  # the boxes' edges are known now
    for (start, end), text in ARROWS.items():
        _arrow(axes, made[start], made[end], text, BENT.get((start, end), 0.0))
    path = folder / "fig01.png"
    plots.save(figure, path)
    return [("The flow through the steps; each is one or several kernels.", path)]


def _arrow(axes: Any, start: Any, end: Any, text: str, bend: float) -> None:
    """Draw an arrow from box to box, with its words beside its middle."""
    axes.annotate(
        "", end.get_position(), start.get_position(), zorder=0,
        arrowprops={
            "arrowstyle": "-|>", "color": "#444444", "shrinkA": 0, "shrinkB": 0,
            "patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch(),
            "connectionstyle": f"arc3,rad={bend}",
        },
    )  # fmt: skip
    (x0, y0), (x1, y1) = start.get_position(), end.get_position()
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    if y0 == y1:
        axes.text(x + 0.25, y + 0.08, text, ha="center", va="bottom", fontsize=7, color="#444444")
    else:  # between the two arrows that leave step 4, or right of an upright one
        side, shift = ("right", -0.35) if x1 > x0 else ("left", 0.35 if x1 < x0 else 0.15)
        axes.text(x + shift, y, text, ha=side, va="center", fontsize=7, color="#444444")


# ------------------------------------------------------------------------------- Figure 3

SIZE, THREADS = 16, 16
"""Order of the matrix of Figure 3, and threads a block: small enough to be read."""


def readers(n: int = SIZE, threads: int = THREADS) -> np.ndarray:
    """Return who reads each entry when the minima of the rows are sought [L19 Alg.8].

    Parameters
    ----------
    n : int
        Order of the matrix.
    threads : int
        Threads a block, a power of two.

    Returns
    -------
    int64[n, n, 2]
        Block and thread by row and column of the paper's matrix, as the kernel's own loads show
        under the launch shapes of `launches.bind_launches`.
    """
    from papers.common.executor.scheduler import Executor
    from papers.common.executor.weak_memory import WeakMemory, WeakView
    from papers.common.gpu import device
    from papers.lopes2019 import solver
    from papers.lopes2019.launches import Geometry

    found = np.full((n * n, 2), -1)

    class Listed(WeakView):
        def load(self, index: Any, scope: int, acquire: bool) -> Any:
            if self.name == "cost":
                thread = self.scheduler.current
                found[index] = thread.block.number, thread.number
            return super().load(index, scope, acquire)

    class Witness(WeakMemory):
        def view(self, array: Any, name: str, scheduler: Any) -> WeakView:
            return Listed(array, name, scheduler, scheduler)

    shapes = Geometry(n, 8, threads, 8, 8, threads, matrix_blocks=8)
    with device.executing(Executor(memory=Witness(0, 0.0, 0.0))):
        state = solver.upload(np.zeros((n, n), np.int32), geometry=shapes)
        launches = state.launches.values()
        next(launch for launch in launches if launch.name == "step_1_min_in_rows")()
    return found.reshape(n, n, 2).swapaxes(0, 1)  # entry (row, column) stands at column * n + row


@plots.house_style()
def fig_3(folder: Path, plan: Plan) -> list[tuple[str, Path]]:
    """Draw which thread of which block reads which entry in step 1 [L19 Fig.3]."""
    who = readers()
    n, blocks = len(who), int(who[..., 0].max()) + 1
    rows = n // blocks
    wide = THREADS // rows
    figure, panels = plots.new_figure(size=(6.4, 6.6))
    axes = panels[0][0]
    for row in range(n):
        for column in range(n):
            block, thread = who[row, column]
            colour = plots.COLOURS[block % len(plots.COLOURS)]
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, alpha=0.25, lw=0))
            axes.text(column + 0.5, row + 0.5, f"{thread}", ha="center", va="center", fontsize=7)
    for column in range(0, n + 1, wide):
        axes.axvline(column, color="#444444", lw=0.8)
    for row in range(0, n + 1, rows):
        axes.axhline(row, color="black", lw=1.8)
    axes.set(xlim=(0, n), ylim=(n, 0), aspect="equal", xlabel=f"columns, in slices of {wide}",
             ylabel="rows", title="Thread that reads an entry, by block")  # fmt: skip
    axes.set_xticks(np.arange(0, n, wide), np.arange(0, n, wide))
    axes.set_yticks([rows * b + rows / 2 for b in range(blocks)],
                    [f"block {b}" for b in range(blocks)], rotation=90, va="center")  # fmt: skip
    axes.tick_params(length=0)
    axes.grid(False)
    path = folder / "fig03.png"
    plots.save(figure, path)
    caption = (
        f"The minima of {n} rows by {blocks} blocks of {THREADS} threads: a block has {rows} rows, "
        f"a slice {wide} columns, and a thread reads one place of every slice. The block then "
        f"halves its {THREADS} results until {rows} are left, one a row."
    )
    return [(caption, path)]


# ------------------------------------------------------------------------------- Table A.5

KINDS = {"CC?": "#e8f1fa", "CR?": "#e8f1fa", "prime": "#f2f2f2", "CR": "#fdf0e0", "UC": "#e3f4ec"}
"""Colour of an access: reads blue, stores of covers orange and green."""


@plots.house_style()
def table_a5(folder: Path, plan: Plan) -> list[tuple[str, Path]]:
    """Draw two runs that Lemma 1 forbids, one without S2 and one without S3 [L19 Table A.5]."""
    from papers.lopes2019.evidence import litmus

    trials = ("S2 reversed", "S3 reversed")
    figure, panels = plots.new_figure(columns=2, size=(9.0, 6.0))
    for axes, trial in zip(panels[0], trials, strict=True):
        run = litmus.shown(trial)
        _timeline(axes, [(e.zero, e.access) for e in run.checked])
        axes.set_title(f"{trial} (seed {run.seed})")
        names = [f"{zero}$_{litmus.row_name(zero)}$" for zero in litmus.ZEROS]
        axes.set_xticks(range(len(names)), names)
    path = folder / "table_a5.png"
    plots.save(figure, path)
    caption = (
        "Table A.5 with the condition S2, then S3, reversed: C leads to A and B to D (arrows), "
        "which Lemma 1 forbids; the primes of rows i and j lead to one another. CC? and CR?: "
        "column, row read as uncovered; CR: row covered; UC: column uncovered."
    )
    return [(caption, path)]


def _timeline(axes: Any, events: Sequence[tuple[str, str]]) -> None:
    """Draw the accesses of the four zeros, time downward, and the two messages."""
    zeros = list(dict.fromkeys("CABD"))
    axes.set(xlim=(-0.6, 3.6), ylim=(len(events) + 0.6, 0.2), ylabel="time")
    axes.set_yticks([])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    for time, (zero, access) in enumerate(events, 1):
        look = {"boxstyle": "round,pad=0.25", "facecolor": KINDS[access], "edgecolor": "#888888"}
        axes.text(zeros.index(zero), time, access, ha="center", va="center", fontsize=8, bbox=look)
    times = {event: time for time, event in enumerate(events, 1)}
    for sender, reader in (("C", "A"), ("B", "D")):
        start, end = (sender, "UC"), (reader, "CC?")
        axes.annotate(
            "", (zeros.index(reader), times[end]), (zeros.index(sender), times[start]),
            arrowprops={"arrowstyle": "-|>", "color": "#D55E00", "shrinkA": 14, "shrinkB": 14},
        )  # fmt: skip
