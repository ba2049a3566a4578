"""Measures, draws and hands to the model how MPI's collectives grow with the ranks of one host.

The experiment `collectives` starts `several_gpus.time_collectives` on 2 to 32 ranks and writes
`collectives.csv` with a plot of it. A file of that name in `published/` is the model's: `growth`
turns it into the price of a message on p ranks over that on two.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from papers.common import cores
from papers.common.evidence import plots
from papers.common.evidence.tables import Published
from papers.common.model import Plan
from papers.common.mpi.job import size_of_job
from papers.datenagi2016.several_gpus.time_collectives import COLUMNS

NAME = "collectives"
RANKS = {"smoke": (2,), "quick": (2, 4), "paper": (2, 4, 8, 16, 32)}
LIMIT_S = 120.0
"""Seconds after which a number of ranks is left out."""

OF_A_LEVEL = ("gather", "broadcast")
"""The collectives of a level [DN16 sec.5] (4b), on a short frontier."""

SHORT = 1024
"""Bytes of a short frontier."""


def launcher() -> str | None:
    """Return the path of mpiexec: the one beside Python, else one of the system's."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.is_file() else shutil.which("mpiexec")


def start(ranks: int, repeats: int | None = None) -> list[dict[str, str]]:
    """Time the collectives on so many ranks of this host; returns rows by `COLUMNS`.

    A number of ranks that does not end, or that the launcher refuses, has no rows.
    """
    program = "papers.datenagi2016.several_gpus.time_collectives"
    more = [] if repeats is None else [str(repeats)]
    command = [str(launcher()), "-n", str(ranks), sys.executable, "-m", program, *more]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return list(csv.DictReader(io.StringIO(done.stdout), COLUMNS))


def pictures(folder: Path, plan: Plan) -> list[tuple[str, Path]]:
    """Time the collectives, write `collectives.csv`, and plot a level's two messages by ranks."""
    if launcher() is None or size_of_job() > 1:
        return []
    rows = [row for p in RANKS[plan.preset] if p <= max(2, cores.allowed()) for row in start(p)]
    if not rows:
        return []
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table.to_csv(folder / f"{NAME}.csv", index=False)
    path = folder / f"{NAME}.png"
    path.write_bytes(plots.png(draw(table.astype({"ranks": int, "bytes": int, "us": float}))))
    caption = (
        "Microseconds of MPI's collectives over the ranks of one host, no GPU in them "
        f"({cores} cores; {int(table['ranks'].max())} ranks at most)."
    )
    return [(caption, path)]


@plots.house_style()
def draw(table: pd.DataFrame) -> Figure:
    """Plot each collective over the ranks, a panel a size."""
    sizes = sorted(table["bytes"].unique())
    figure, panels = plots.new_figure(columns=len(sizes), size=(3.2 * len(sizes), 3.4))
    for axes, size in zip(panels[0], sizes, strict=True):
        for place, (name, rows) in enumerate(table[table["bytes"] == size].groupby("collective")):
            axes.plot(rows["ranks"], rows["us"], marker="o", color=plots.COLOURS[place], label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"{size} bytes a rank")
        axes.set_xlabel("ranks")
    panels[0][0].set_ylabel("time (us)")
    panels[0][0].legend()
    return figure


def known(published: Published) -> pd.DataFrame | None:
    """Return the measured times that the model has, None without any."""
    try:
        return published(NAME)
    except FileNotFoundError:
        return None


def growth(table: pd.DataFrame) -> Callable[[int], float]:
    """Return the time of a level's two messages on p ranks over that on two.

    Between and beyond the measured numbers of ranks the logarithms go straight on; one rank sends
    nothing.
    """
    short = table[(table["bytes"] == SHORT) & table["collective"].isin(OF_A_LEVEL)]
    sums = short.groupby("ranks")["us"].sum().sort_index()
    x, y = np.log2(sums.index.to_numpy(float)), np.log2(sums.to_numpy(float))
    y = y - np.interp(1.0, x, y)

    def of(p: int) -> float:
        if p < 2:
            return 0.0
        at = float(np.log2(p))
        if at > x[-1] and len(x) > 1:
            slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
            return float(2 ** (y[-1] + slope * (at - x[-1])))
        return float(2 ** np.interp(at, x, y))

    return of
