"""Launch shapes, device memory and bound launches of a run of [DN16] on one GPU.

`solver` is the algorithm; this is its plumbing.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.kernels_scan import exclusive_scan
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.limits import blocks_for, grid_for, largest
from papers.common.gpu.signals import Mailbox
from papers.datenagi2016.configuration import TUNED, Configuration
from papers.datenagi2016.kernels import classical, printed, tree
from papers.datenagi2016.kernels import shared as k
from papers.datenagi2016.kernels.arguments import TUPLES, Scope
from papers.datenagi2016.printed_launches import (
    level_launches,
    matrix_launches,
    more_arrays,
    more_bytes,
    wait_for_each,
)

VARIANTS = ("classical", "tree")


@dataclass(frozen=True)
class Geometry:
    """Launch shapes.

    Attributes
    ----------
    line_threads, row_threads, column_threads : int
        Threads a block of the kernels with a thread a line, of those with a warp a row, and of
        the column reduction.
    rows_a_block : int
        Rows that a block of the column reduction passes over.
    search_threads, search_blocks : int
        Threads a block, and blocks, of the forward pass; the classical variant's has one block.
    reduction_threads, scan_threads : int
        Threads of the minimum and of the prefix sum, one block each.
    stage_width : int
        Edges a row that the compression keeps aside on its way over the matrix (classical).

    Raises
    ------
    ValueError
        For a value below 1, a block that is no whole number of warps or larger than 1024, fewer
        `line_threads` than there are flags, or `reduction_threads` or `search_threads` that are no
        power of two.
    """

    line_threads: int
    row_threads: int
    column_threads: int
    rows_a_block: int
    search_threads: int
    search_blocks: int
    reduction_threads: int
    scan_threads: int
    stage_width: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1 or (name.endswith("threads") and value > k.MAX_BLOCK):
                raise ValueError(f"{name}={value} is out of range")
        for name in ("row_threads", "search_threads", "scan_threads"):
            if getattr(self, name) % 32:
                raise ValueError(f"{name}={getattr(self, name)} is no whole number of warps")
        if self.line_threads < k.FLAGS:
            raise ValueError(f"line_threads={self.line_threads} is below the {k.FLAGS} flags")
        for name in ("reduction_threads", "search_threads"):
            if getattr(self, name).bit_count() != 1:
                raise ValueError(f"{name}={getattr(self, name)} is no power of two")

    @classmethod
    def for_device(cls, n: int, variant: str) -> Geometry:
        """Shapes for the selected device, order `n` and variant."""
        machine = device.describe()
        if not machine.is_gpu:
            blocks = 2 if variant == "tree" else 1
            return cls(16, 64, 32, 8, 64, blocks, 16, 32, 4)
        rows = 16 if n <= 4096 else 64
        if variant == "classical":
            return cls(256, 256, 128, rows, 1024, 1, 1024, 1024, 16)
        # Wide frontiers want two blocks a multiprocessor, to have enough loads in flight; below
        # that the grid barrier counts, and small matrices do not fill all multiprocessors.
        blocks = min(machine.multiprocessors, max(1, n // 64))
        if n > 8192:
            blocks = 2 * machine.multiprocessors
        return cls(256, 256, 128, rows, 512, blocks, 1024, 1024, 16)

    def narrow(self, m: int) -> Geometry:
        """Return shapes with which the tree's forward pass gives each of m columns one thread.

        A warp shares a group of 32 columns only where there are twice as many warps as groups.
        """
        groups = blocks_for(m, 32)
        threads = min(self.search_threads, 32 << (groups.bit_length() - 1))
        blocks = min(self.search_blocks, max(1, groups * 32 // threads))
        return replace(self, search_threads=threads, search_blocks=blocks)


def allocate(
    shape: tuple[int, int],
    dtype: np.dtype,
    cost: Any,
    variant: str,
    shapes: Geometry,
    configuration: Configuration = TUNED,
    flags: Any = None,
) -> dict[str, Any]:
    """Device memory for one problem; the arrays are named as in the table of `kernels.shared`.

    Parameters
    ----------
    shape : (n, m)
        Rows and columns, of which there are as many as rows or more.
    dtype : dtype
        Type of the costs.
    cost : device array [n * m]
    variant : {"classical", "tree"}
    shapes : Geometry
    configuration : Configuration
    flags : device array, int32[FLAGS], optional
        The words that the host copies, if it does.

    Returns
    -------
    dict of str to device array
    """
    n, m = shape
    arrays: dict[str, Any] = {"cost": cost, **more_arrays(shape, variant, configuration)}
    for name, size in (("row_dual", n), ("column_dual", m), ("slack", m)):
        arrays[name] = device.empty(size, dtype)
    for name in ("assignment", "cover", "predecessor", "successor", "mark"):
        arrays[f"row_{name}"] = device.empty(n, np.int32)
        arrays[f"column_{name}"] = device.empty(m, np.int32)
    arrays["frontier_reverse"] = device.empty(m, np.int32)
    arrays["frontier_augment"] = device.empty(n, np.int32)
    arrays["theta"] = device.empty(1, dtype)
    arrays["flags"] = device.to_device(np.zeros(k.FLAGS, np.int32)) if flags is None else flags
    if variant == "tree":
        arrays["frontier"] = device.empty(2 * n, np.int32)
        return arrays
    arrays["frontier_in"] = device.empty(n, np.int32)
    arrays["frontier_out"] = device.empty(n, np.int32)
    arrays["counts"] = device.empty(n, np.int32)
    arrays["pointers"] = device.empty(n + 1, np.int32)
    arrays["staged"] = device.empty(n * shapes.stage_width, np.int32)
    arrays["adjacency"] = device.empty(n * m, np.int32)
    return arrays


def state_bytes(
    shape: tuple[int, int],
    itemsize: int,
    variant: str,
    stage_width: int = 16,
    configuration: Configuration = TUNED,
) -> int:
    """Bytes of device memory of a run besides the cost matrix.

    Parameters
    ----------
    shape : (n, m)
        See `allocate`.
    itemsize : int
        Bytes of a cost.
    variant : {"classical", "tree"}
    stage_width : int
        See `Geometry`.
    configuration : Configuration
    """
    n, m = shape
    shared = (n + 2 * m + 1) * itemsize + 6 * 4 * (n + m) + 4 * k.FLAGS
    shared += more_bytes(shape, variant, configuration)
    if variant == "tree":
        return shared + 8 * n
    return shared + 4 * (4 * n + 1 + n * stage_width + n * m)


def arguments_of(kernel: Any, known: Mapping[str, Any], /, **special: Any) -> tuple[Any, ...]:
    """Return the arguments that a kernel's parameters name.

    Parameters
    ----------
    kernel : numba.cuda dispatcher
    known : mapping of str to device array, NumPy scalar or named tuple
        By the names of the kernels' parameters, or of what is in a tuple of `kernels.arguments`.
    **special : device array, NumPy scalar or named tuple
        Arguments of this kernel that go before those of `known`, also into its tuples.

    Raises
    ------
    KeyError
        For a parameter that neither names.
    """
    given = {**known, **special}
    return tuple(_argument(name, given) for name in inspect.signature(kernel.py_func).parameters)


def _argument(name: str, given: Mapping[str, Any]) -> Any:
    if name in given:
        return given[name]
    kind, parts = TUPLES[name]
    return kind(*(_argument(part, given) for part in parts))


def bind_by_name(
    kernel: Any, grid: int, block: int, known: Mapping[str, Any], /, **special: Any
) -> Launch:
    """Bind a kernel to so many blocks of so many threads, and to `arguments_of` it."""
    return bind(kernel, grid, block, *arguments_of(kernel, known, **special))


def bind_launches(
    shape: tuple[int, int],
    dtype: np.dtype,
    a: dict[str, Any],
    mailbox: Mailbox,
    variant: str,
    shapes: Geometry,
    negligible: float,
    configuration: Configuration = TUNED,
) -> dict[str, Launch]:
    """Every launch of a run, bound to its grid and its arrays, by its kernel's name.

    One GPU has the whole matrix: a strip of n rows and m columns that begins at row 0. Where m is
    larger than n there is no column reduction: columns that stay unassigned must have a dual of 0
    (`rectangles`), and `init` gives it to all.
    `negligible` is the tolerance of the classical variant's test for zero (`half_units`).
    """
    n, m = shape
    known = {
        "n": np.int32(n), "rows": np.int32(n), "columns": np.int32(m),
        **scalars(dtype, shapes, negligible), **a,
        "first": np.int32(0), "scope": Scope(np.int32(0), np.int32(n)),
        "values": a["slack"], "signal": mailbox.device_word,
    }  # fmt: skip
    special: dict[Any, dict[str, Any]] = {}
    if variant == "classical":
        special[exclusive_scan] = {"values": a["counts"], "sums": a["pointers"]}
    else:
        special[k.minimum] = {"n": np.int32(m)}  # over the columns' slacks, not the rows'
    if m > n:
        special[k.init] = {"top": dtype.type(0)}
    launches = {
        kernel.py_func.__name__: bind_by_name(kernel, *grid, known, **special.get(kernel, {}))
        for kernel, grid in _grids(shape, variant, shapes, configuration).items()
    }
    bound = partial(_bind_known, known)
    threads = shapes.line_threads, shapes.scan_threads
    if variant == "classical" and configuration.by_entry:
        launches |= matrix_launches(bound, known, shape, threads)
    if not configuration.one_pass:
        launches |= level_launches(bound, known, shape, variant, configuration, threads)
    if configuration.wait:
        wait_for_each(launches)
    return launches


def _bind_known(
    known: Mapping[str, Any], kernel: Any, grid: int, block: int, **special: Any
) -> Launch:
    return bind_by_name(kernel, grid, block, known, **special)


def _grids(
    shape: tuple[int, int], variant: str, shapes: Geometry, configuration: Configuration
) -> dict[Any, tuple[int, int]]:
    """Return the kernels that are bound by their names, and the blocks and threads of each."""
    n, m = shape
    line, row = grid_for(m, shapes.line_threads), grid_for(32 * n, shapes.row_threads)
    columns = blocks_for(m, shapes.column_threads) * blocks_for(n, shapes.rows_a_block)
    one_block = 1, shapes.reduction_threads
    by_line = configuration.thread_a_line
    grids: dict[Any, tuple[int, int]] = {k.init: line}
    if by_line:
        grids |= {printed.row_reduction: line, printed.column_reduction: line}
    else:
        columns_grid = columns, shapes.column_threads
        grids |= {k.row_reduction: row, k.column_reduction: columns_grid}
    if m > n:
        del grids[printed.column_reduction if by_line else k.column_reduction]
    grids |= {
        k.optimality_check: line, k.reverse_pass: line, k.augmentation: line, k.minimum: one_block,
    }  # fmt: skip
    if variant == "tree":
        search = shapes.narrow(m) if configuration.thread_a_column else shapes
        if configuration.one_pass:
            grids[tree.forward_pass] = search.search_blocks, search.search_threads
        return grids | {k.dual_update: line}
    if configuration.one_pass:
        grids[classical.forward_pass] = 1, shapes.search_threads
    if not configuration.by_entry:
        grids |= {
            classical.compression_predicate: row, exclusive_scan: (1, shapes.scan_threads),
            classical.compression_scatter: row,
        }  # fmt: skip
    if by_line:
        del grids[k.minimum]
        grids |= {printed.dual_update_stage_1: line, printed.minimum: (1, 32)}
    else:
        grids[classical.dual_update_stage_1] = row
    return grids | {k.dual_update_stage_2: line}


def scalars(dtype: np.dtype, shapes: Geometry, negligible: float) -> dict[str, Any]:
    """The scalars of a run that do not depend on its shape, by the kernels' names for them."""
    return {
        "top": largest(dtype), "zero": dtype.type(0), "negligible": dtype.type(negligible),
        "width": np.int32(shapes.stage_width), "rows_a_block": np.int32(shapes.rows_a_block),
    }  # fmt: skip
