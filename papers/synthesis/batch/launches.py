"""Device memory and the bound launch of the problems of one type and one class of sizes.

Integers of 32 bits up to 128 a side are solved by a warp, one row after the other
(`kernels.warp`), others up to `WARPS_WIDTH` a side in that way by a block (`kernels.solve`);
beyond, a block takes all free rows at once (`kernels.each`), unless integers differ by more than
its auction has room for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from papers.common.gpu import device
from papers.common.gpu.copying import to_device_by_chunks
from papers.common.gpu.launch import Launch, bind, registers_for
from papers.common.gpu.limits import largest
from papers.common.gpu.signals import Mailbox
from papers.common.gpu.state import DeviceState
from papers.synthesis.assignment.costs import WIDEST
from papers.synthesis.assignment.kernels import arguments
from papers.synthesis.assignment.launches import (
    limit_of,
    schedule_of,
    shift_for,
    sizes_of,
    tuples_of,
)
from papers.synthesis.assignment.settings import WARP, Settings
from papers.synthesis.batch.costs import Stack
from papers.synthesis.batch.kernels import each, each_floats, each_integers, floats, warp, wide
from papers.synthesis.batch.kernels import solve as kernels
from papers.synthesis.batch.reference import COUNTS, REPAIRS

WARPS_WIDTH = 64
"""The longest side of problems that a block solves row by row."""

LARGEST_BLOCK, EXECUTOR_BLOCK = 512, 64
"""Threads a block of `kernels.each` at most; in the CPU executor every thread costs time."""

MOST_COLUMNS = 4
"""Columns of a thread at most where a problem is solved row by row."""

PER_MILLE = 1000
"""The shares of so many rows are in per mille: `kernels.each` has problems of several sizes."""

ONE_BY_ONE = {"int64": wide, "float64": floats}


@dataclass
class Group(DeviceState):
    """The problems of one launch.

    Attributes
    ----------
    numbers : list of int
        The entries of `papers.synthesis.batch.solver.State.stacks` that belong to it.
    problems : int
    counted : tuple of str
        What ``totals`` has of each problem.
    """

    numbers: list[int]
    problems: int
    counted: tuple[str, ...]

    def totals(self) -> dict[str, int]:
        """Counts of all problems, from the device."""
        counts = device.to_host(self.arrays["totals"]).reshape(-1, len(self.counted))
        sums = counts.sum(axis=0, dtype=np.int64).tolist()
        return dict(zip(self.counted, sums, strict=True))


def group_of(
    stacks: list[Stack], kind: str, width: int, numbers: list[int], seconds: float | None
) -> Group:
    """Allocate and bind the launch of some stacks.

    Parameters
    ----------
    stacks : list of Stack
    kind, width : str, int
        Their `Stack.group`.
    numbers : list of int
        Which of the stacks.
    seconds : float or None
        Time that a launch may take.
    """
    matrices = [stacks[number].matrices for number in numbers]
    shapes = np.concatenate([np.tile(one.shape[1:], (len(one), 1)) for one in matrices])
    sizes = shapes.astype(np.int64).prod(axis=1)
    lines = np.zeros((len(shapes), 4), np.int32)
    lines[:, :2] = shapes
    lines[1:, 2:] = np.cumsum(shapes[:-1], axis=0)
    first = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)
    spread = max(stacks[number].spread for number in numbers)
    one_by_one = is_one_by_one(kind, width, spread)
    group = Group(numbers, len(shapes), COUNTS if one_by_one else arguments.TOTALS)
    group.mailbox = Mailbox()
    a = group.arrays
    a["cost"] = _on_device([stacks[number] for number in numbers])
    a["first"], a["lines"] = device.to_device(first), device.to_device(lines.reshape(-1))
    loose = np.concatenate([stacks[number].loose for number in numbers])
    rows, columns = map(int, shapes.sum(axis=0))
    limit = limit_of(seconds)
    a["status"] = device.empty(len(shapes), np.int32)
    a["ended"] = device.to_device(np.zeros(3, np.int64))
    if one_by_one:
        different = {(one.shape[1], one.shape[2]) for one in matrices}
        launch = _one_by_one(group, np.dtype(kind), width, loose, shapes, different, limit)
    else:
        width = width_for(int(shapes.max()), kind, width)
        launch = _each(group, np.dtype(kind), width, loose, (rows, columns), limit, spread)
    group.launches["assign"] = launch
    return group


def _on_device(stacks: list[Stack]) -> Any:
    """Return all costs of some stacks in device memory, one after the other."""
    matrices = [stack.matrices for stack in stacks]
    if stacks[0].resident:  # then it is the only one
        return matrices[0].reshape(matrices[0].size)
    flat = (
        matrices[0] if len(matrices) == 1 else np.concatenate([one.reshape(-1) for one in matrices])
    )
    return to_device_by_chunks(flat.reshape(-1))


def is_one_by_one(kind: str, width: int, spread: int) -> bool:
    """Whether problems are solved one row after the other."""
    most = warp.WIDEST_SIDE if kind == "int32" else WARPS_WIDTH
    return width <= most or spread >= WIDEST


def shape_of(width: int) -> tuple[int, int]:
    """Threads of a block, and columns of a thread, where problems are solved row by row."""
    columns = min(MOST_COLUMNS, width // WARP)
    return width // columns, columns


def _one_by_one(
    group: Group,
    kind: np.dtype,
    width: int,
    loose: np.ndarray,
    shapes: np.ndarray,
    different: set[tuple[int, int]],
    limit: np.int64,
) -> Launch:
    """Bind `kernels.warp` or `kernels.solve`, which solve a problem row by row."""
    a, (rows, columns) = group.arrays, map(int, shapes.sum(axis=0))
    a["loose"] = device.to_device(loose)
    for name, size, of in (
        ("column", rows, np.int32), ("u", rows, kind), ("v", columns, kind),
        ("totals", len(COUNTS) * group.problems, np.int32),
    ):  # fmt: skip
        a[name] = device.empty(size, of)
    threads, a_thread = shape_of(width)
    shared = 0
    if kind == np.int32:
        sizes = [warp.shared_bytes(*shape) for shape in different]
        threads, shared = WARP, max(sizes) if min(sizes) else 0
        kernel = warp.assign_with(width, shared > 0)
    else:
        kernel = ONE_BY_ONE[kind.name].assign_with(width, a_thread)
    word = group.mailbox.device_word  # type: ignore[union-attr]
    return bind(
        kernel, group.problems, threads,
        kernels.Batch(a["cost"], a["first"], a["lines"], a["loose"],
                      np.int32(REPAIRS if kind.kind == "f" else -1), largest(kind),
                      kind.type(0), limit),
        kernels.Out(a["column"], a["u"], a["v"], a["status"], a["totals"], a["ended"], word),
        shared_bytes=shared,
    )  # fmt: skip


def width_for(longest: int, kind: str, width: int) -> int:
    """The longest side that the block's kernel is made for: of a class, or less.

    Where duals and lists fit shared memory, that spares trips to the level behind, above all of the
    atomics, and half a large block's threads are enough: two problems share a multiprocessor. So
    208 problems of 300 a side are one wave on 132 multiprocessors, and not two.
    """
    less = each.SHARED_WIDTH_FLOATS if kind == "float64" else each.SHARED_WIDTH
    return less if longest <= less < width else width


def threads_for(width: int) -> int:
    """Threads of a block that solves problems with sides up to `width`: a power of two."""
    most = LARGEST_BLOCK if device.describe().is_gpu else EXECUTOR_BLOCK
    return min(1 << (width.bit_length() - 1), most)


BUCKETS = {"i": 1, "f": 8}
"""The width of a search's bucket by the kind of costs, times ``mean / n``: of five widths the
fastest where a block is alone with a problem (`evidence/batch_buckets.csv`)."""

WARPS_A_ROW = 16
"""Warps that look for one row's bid at most where a block is alone with a problem."""


@cache
def each_kernel(kind: str, width: int, loads: int, threads: int) -> Any:
    """The kernel for a type of costs, with the registers that blocks of so many threads leave."""
    module = each_floats if kind == "float64" else each_integers
    limit = registers_for(threads, LARGEST_BLOCK // threads)
    return cuda.jit(max_registers=limit)(module.assign_each_with(width, loads).py_func)


def _each(
    group: Group, kind: np.dtype, width: int, loose: np.ndarray, sizes: tuple[int, int],
    limit: np.int64, spread: int,
) -> Launch:  # fmt: skip
    """Bind `kernels.each`: a block a problem."""
    a, (rows, columns), problems = group.arrays, sizes, group.problems
    dual = np.dtype(np.float64 if kind.kind == "f" else np.int64)
    a["loose"] = device.to_device(loose.astype(dual))
    for name, (size, of) in sizes_of(rows, columns, dual, problems).items():
        if name != "chosen":
            a[name] = device.empty(size, of)
    a["signal"] = group.mailbox.device_word  # type: ignore[union-attr]
    threads = threads_for(width)
    bucket = BUCKETS[dual.kind]
    usual = Settings.for_shape(width, width, kind)
    settings = replace(usual, delta=bucket, delta_scaled=bucket)
    shift = shift_for(spread, width * width) if dual.kind == "i" else 0
    shared = (0, 0, 0, min(WARPS_A_ROW, threads // WARP), 1, settings.sampled_rows, shift)
    return bind(
        each_kernel(kind.name, width, int(settings.loads), threads), problems, threads,
        schedule_of(settings, PER_MILLE), arguments.Shape(*map(np.int32, shared)),
        each.Problems(a["first"], a["lines"], a["loose"], limit),
        arguments.Matrix(
            a["cost"], largest(dual), dual.type(-1), dual.type(0), dual.type(0), a["near"],
            a["bound"],
        ),
        *tuples_of(a, limit), each.Ends(a["status"], a["ended"], a["signal"]),
    )  # fmt: skip
