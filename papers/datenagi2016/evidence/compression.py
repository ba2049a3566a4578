"""Figure 1: array and matrix compression, by our own kernels on the paper's kind of example."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from papers.common.gpu import device
from papers.common.gpu.kernels_scan import exclusive_scan
from papers.common.gpu.launch import bind
from papers.common.model import Plan
from papers.datenagi2016 import solver

ARRAY = "ABCDEF"
RELEVANT = np.array([0, 1, 0, 1, 1, 0], np.int32)

MATRIX = np.array([[4, 2, 5, 0], [0, 7, 0, 3], [6, 0, 9, 8], [1, 0, 2, 0]], np.int32)
"""It has six zeros, one in every row and column, so that the initial reduction changes nothing."""


def compress_array() -> tuple[np.ndarray, str]:
    """Return the addresses of the relevant elements, and the scattered array [DN16 Fig.1]."""
    n = len(RELEVANT)
    sums = device.empty(n + 1, np.int32)
    bind(exclusive_scan, 1, 32, np.int32(n), device.to_device(RELEVANT), sums)()
    addresses = device.to_host(sums)
    compressed = [""] * int(addresses[n])
    for k in np.flatnonzero(RELEVANT):
        compressed[addresses[k]] = ARRAY[k]
    return addresses, "".join(compressed)


def compress_matrix() -> tuple[np.ndarray, np.ndarray]:
    """Return row pointers and adjacency list of `MATRIX`'s zeros, by the classical kernels."""
    state = solver.upload(MATRIX, variant="classical")
    solver.initial_reduction(state.launches, lambda step: None)
    solver.matrix_compression(state.launches, lambda step: None)
    pointers = device.to_host(state.arrays["pointers"])
    return pointers, device.to_host(state.arrays["adjacency"])[: pointers[-1]]


def fig_1(folder: Path, plan: Plan) -> list[tuple[str, Path]]:
    """Plot both compressions [DN16 Fig.1]; the numbers come from the kernels."""
    addresses, compressed = compress_array()
    pointers, adjacency = compress_matrix()
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    _cells(left, "array", list(ARRAY), 0)
    _cells(left, "predicate", [str(flag) for flag in RELEVANT], 1)
    _cells(left, "prefix sum", [str(k) for k in addresses], 2)
    _cells(left, "compressed", list(compressed), 3, "tab:green")
    for i, row in enumerate(MATRIX):
        _cells(right, f"row {i}", [str(value) for value in row], i, bold=row == 0)
    _cells(right, "pointers P", [str(k) for k in pointers], 5, "tab:blue")
    _cells(right, "columns Z", [str(k) for k in adjacency], 6, "tab:green")
    for axes, title in ((left, "(a) array"), (right, "(b) matrix, CSR")):
        axes.set_title(title)
        axes.set_xlim(-3.2, 7.2)
        axes.set_ylim(7.2, -0.6)
        axes.set_axis_off()
    path = folder / "fig01.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    caption = (
        f"Compression by predicate, prefix sum and scatter: {len(compressed)} of {len(ARRAY)} "
        f"elements, {len(adjacency)} zeros of a 4 x 4 matrix as CSR."
    )
    return [(caption, path)]


def _cells(
    axes: Axes,
    name: str,
    words: list[str],
    y: int,
    colour: str = "0.35",
    bold: np.ndarray | None = None,
) -> None:
    """Plot a row of boxes with a name to its left."""
    axes.text(-0.3, y + 0.4, name, ha="right", va="center")
    for x, word in enumerate(words):
        strong = bold is not None and bool(bold[x])
        edge = "tab:green" if strong else colour
        axes.add_patch(Rectangle((x, y), 0.9, 0.8, fill=False, edgecolor=edge, linewidth=1.4))
        axes.text(
            x + 0.45, y + 0.4, word, ha="center", va="center",
            fontweight="bold" if strong else "normal",
        )  # fmt: skip
