"""Device memory and bound launches of one rank.

`several_gpus.solver` is the algorithm; this is its plumbing. A kernel's arguments are found by its
parameters' names (`papers.datenagi2016.launches.bind_by_name`), among a rank's arrays and scalars.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch
from papers.common.gpu.limits import blocks_for, grid_for
from papers.common.mpi import windows
from papers.datenagi2016.kernels import shared
from papers.datenagi2016.launches import Geometry, arguments_of, bind_by_name, scalars
from papers.datenagi2016.several_gpus.kernels import strips, window
from papers.datenagi2016.several_gpus.strip import Strip

FIRST_EDGES = 4
"""Edges a row that the adjacency lists have room for at first."""

Grid = tuple[int, int]
"""Blocks, and threads a block."""


def state_bytes(strip: Strip, itemsize: int, stage_width: int = 16) -> int:
    """Bytes of device memory besides the strip, at the start, at most.

    The edge lists grow as needed; the window is one exchange's.
    """
    n, block, p = strip.n, strip.block, strip.ranks
    whole = p * block
    if strip.by_rows:
        both = itemsize * (3 * whole + 2 * block + p * n) + 4 * 12 * whole
        return both + 4 * (whole + block + 1 + block * stage_width + 2 * FIRST_EDGES * n)
    both = itemsize * (2 * whole + 3 * block + n * p + n) + 4 * (10 * whole + 6 * block)
    words = max(windows.LEAST, window.words_of.py_func(p, block))
    return both + 4 * (2 * whole + block + 8 * p) + 2 * 8 * words  # doubled as it may be


def allocate(
    strip: Strip, dtype: np.dtype, cost: Any, shapes: Geometry, root: bool
) -> dict[str, Any]:
    """Device memory of one rank; the arrays are named as in the table of `kernels.shared`.

    Arrays of a split line hold ``block`` elements; those that a Gather fills, or that are whole,
    hold ``ranks * block``, so that the ranks' parts lie where they belong. ``gathered`` is the
    root's.
    """
    n, block = strip.n, strip.block
    whole = strip.ranks * block
    a: dict[str, Any] = {"cost": cost}
    rows, columns = (block, whole) if strip.by_rows else (whole, block)
    lines = {
        "row_assignment": whole, "column_assignment": columns, "row_cover": whole,
        "column_cover": columns, "row_predecessor": whole, "column_predecessor": columns,
        "row_successor": whole, "column_successor": whole, "row_mark": whole,
        "column_mark": columns, "frontier_reverse": whole, "frontier_augment": whole,
    }  # fmt: skip
    for name, size in lines.items():
        a[name] = device.to_device(np.full(size, -1, np.int32))
    a["row_dual"] = device.to_device(np.zeros(whole, dtype))
    a["column_dual"] = device.to_device(np.zeros(columns, dtype))
    a["theta"] = device.empty(1, dtype)
    a["flags"] = device.to_device(np.zeros(strips.MPI_FLAGS, np.int32))
    most = max(n, whole)
    a["gathered"] = device.empty(strip.ranks * most if root else 1, dtype)
    a["minima"] = device.to_device(np.zeros(most, dtype))
    if strip.by_rows:
        a["slack"] = device.empty(max(rows, columns), dtype)  # U; the check resets it
        a["part_dual"] = device.to_device(np.zeros(block, dtype))
        a["counts"] = device.to_device(np.zeros(block, np.int32))
        a["pointers"] = device.to_device(np.zeros(block + 1, np.int32))
        a["staged"] = device.empty(block * shapes.stage_width, np.int32)
        if root:
            a["whole_counts"] = device.empty(whole, np.int32)
            a["whole_pointers"] = device.to_device(np.zeros(whole + 1, np.int32))
            a["frontier_in"] = device.empty(n, np.int32)
            a["frontier_out"] = device.empty(n, np.int32)
        return a
    a["slack"] = device.empty(columns, dtype)
    a["sent"] = device.to_device(np.full(block, -1, np.int32))
    a["thetas"] = device.empty(strip.ranks, dtype)
    alone = strip.ranks == 1  # then the part is the whole, and is not gathered
    a["whole_predecessor"] = a["sent"] if alone else device.to_device(np.full(whole, -1, np.int32))
    a["root_flags"] = device.to_device(np.zeros(strips.MPI_FLAGS, np.int32))
    if root:
        a["whole_assignment"] = device.to_device(np.full(whole, -1, np.int32))
        a["whole_reverse"] = device.empty(whole, np.int32)
    a["whole_dual"] = device.empty(whole, dtype)
    return a


@dataclass(frozen=True)
class Workspace:
    """One rank's strip, device memory and launches.

    Attributes
    ----------
    strip : Strip
    dtype : dtype
        The working type, of costs, duals and slacks.
    shapes : Geometry
    is_root : bool
        Whether this rank has the root's arrays and launches, too.
    negligible : float
        See `papers.datenagi2016.kernels.half_units.no_slack`; 0 for whole numbers.
    arrays : dict of str to device array
        From `allocate`.
    launches : dict of str to Launch
        By their kernels' names, or by the name that `bind` is told.
    """

    strip: Strip
    dtype: np.dtype
    shapes: Geometry
    is_root: bool
    negligible: float
    arrays: dict[str, Any]
    launches: dict[str, Launch] = field(default_factory=dict)

    @cached_property
    def scalars(self) -> dict[str, Any]:
        """The kernels' scalars by their names."""
        strip = self.strip
        numbers = {
            "n": strip.n, "rows": strip.shape[0], "columns": strip.shape[1],
            "first": strip.rows[0], "first_column": strip.columns[0],
            "rank": strip.rank, "parts": strip.ranks,
        }  # fmt: skip
        found = {name: np.int32(number) for name, number in numbers.items()}
        return found | scalars(self.dtype, self.shapes, self.negligible)

    def arguments(self, kernel: Any, **special: Any) -> tuple[Any, ...]:
        """A kernel's arguments; `special` goes before arrays and scalars."""
        return arguments_of(kernel, self.scalars | self.arrays, **special)

    def bind(self, kernel: Any, grid: Grid, /, name: str = "", **special: Any) -> None:
        """Bind a kernel and keep its launch under `name`, by default the kernel's."""
        launch = bind_by_name(kernel, *grid, self.scalars | self.arrays, **special)
        self.launches[name or launch.name] = launch

    @property
    def gathered_trees(self) -> dict[str, Any]:
        """The root's arrays over all columns (tree), by the kernels' names for a rank's."""
        names = {
            "column_predecessor": "whole_predecessor", "column_assignment": "whole_assignment",
            "frontier_reverse": "whole_reverse",
        }  # fmt: skip
        return {name: self.arrays[whole] for name, whole in names.items()}

    def lines(self, count: int) -> Grid:
        """One thread a line, for so many lines."""
        return grid_for(count, self.shapes.line_threads)

    @property
    def both_sides(self) -> Grid:
        """One thread a line, for all rows and for this rank's columns."""
        return self.lines(max(self.strip.n, self.strip.shape[1]))

    def warps_over(self, first: int, last: int) -> Grid:
        """One thread a line of ``first .. last``, in whole warps."""
        return grid_for(last - first, blocks_for(self.shapes.line_threads, 32) * 32)

    @property
    def warp_a_row(self) -> Grid:
        """One warp a row of the strip."""
        return grid_for(32 * self.strip.shape[0], self.shapes.row_threads)


def bind_initial_reduction(work: Workspace) -> None:
    """Bind the launches of [DN16 sec.5] (2); a partial minimum goes into ``minima``."""
    a, strip, shapes = work.arrays, work.strip, work.shapes
    (rows, columns), by_rows = strip.shape, strip.by_rows
    columns_to = a["minima"] if by_rows else a["column_dual"]
    slices = blocks_for(columns, shapes.column_threads) * blocks_for(rows, shapes.rows_a_block)
    work.bind(shared.init, work.both_sides, column_dual=columns_to)
    work.bind(
        shared.row_reduction, work.warp_a_row, row_dual=a["part_dual" if by_rows else "minima"]
    )
    work.bind(shared.column_reduction, (slices, shapes.column_threads), column_dual=columns_to)
    if work.is_root:
        work.bind(
            strips.least_of_parts, work.lines(strip.n), stride=np.int32(len(a["minima"])),
            minima=a["column_dual" if by_rows else "row_dual"],
        )  # fmt: skip


def bind_root(work: Workspace, **special: Any) -> None:
    """Bind the reverse and the augmentation pass, which the root makes on gathered arrays."""
    if work.is_root:
        for kernel in (shared.reverse_pass, shared.augmentation):
            work.bind(kernel, work.lines(work.strip.n), **special)
