"""Device memory and the bound launch of the problems of one type and one class of sizes.

Integers of 32 bits up to 128 a side are solved by a warp, one row after the other
(`kernels.warp`), others up to `WARPS_WIDTH` a side in that way by a block (`kernels.solve`);
beyond, a block takes all free rows at once (`kernels.each`), unless integers differ by more than
its auction has room for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from papers.common.gpu import device
from papers.common.gpu.copying import overwrite_by_chunks
from papers.common.gpu.launch import Launch, bind, registers_for
from papers.common.gpu.limits import largest
from papers.common.gpu.signals import Mailbox
from papers.common.gpu.state import DeviceState
from papers.synthesis.assignment import pool
from papers.synthesis.assignment.costs import WIDEST, shift_for
from papers.synthesis.assignment.kernels import arguments
from papers.synthesis.assignment.launches import (
    limit_of,
    schedule_of,
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


class Form(NamedTuple):
    """The launch of a group, as far as it does not depend on single costs.

    Attributes
    ----------
    one_by_one : bool
        Whether problems are solved one row after the other.
    kernel : numba.cuda dispatcher
    threads : int
        Of a block.
    shared : int
        Bytes of dynamic shared memory.
    settings : Settings or None
        The schedule of `kernels.each`.
    shift : int
        Bits that its reduced costs lose when they are added.
    """

    one_by_one: bool
    kernel: Any
    threads: int
    shared: int = 0
    settings: Settings | None = None
    shift: int = 0

    @property
    def fields(self) -> tuple[tuple[int, int], ...]:
        """Places among the arguments, and fields there, of the costs and of each limit."""
        return ONE_BY_ONE_FIELDS if self.one_by_one else EACH_FIELDS


@dataclass
class Group(DeviceState, pool.Pooled):
    """The problems of one launch.

    Attributes
    ----------
    numbers : list of int
        The entries of `papers.synthesis.batch.solver.State.stacks` that belong to it.
    problems : int
    counted : tuple of str
        What ``totals`` has of each problem.
    form : Form
    key : hashable
        In the pool; None for a group that goes into none.
    nbytes : int
        Device memory, without costs that were on the device before.
    whole : bool
        Whether no run is under way that nobody has waited for.
    """

    numbers: list[int]
    problems: int
    counted: tuple[str, ...]
    form: Form
    key: Any = None
    nbytes: int = 0
    whole: bool = True

    def totals(self) -> dict[str, int]:
        """Counts of all problems, from the device."""
        counts = device.to_host(self.arrays["totals"]).reshape(-1, len(self.counted))
        sums = counts.sum(axis=0, dtype=np.int64).tolist()
        return dict(zip(self.counted, sums, strict=True))

    def set(self, stacks: list[Stack], limit: np.int64) -> None:
        """Give the launch the costs of stacks, and the nanoseconds that a run may take."""
        a, launch = self.arrays, self.launches["assign"]
        cost, *limits = self.form.fields
        if stacks[0].resident:  # then it is the only one
            a["cost"] = _flat(stacks[0].matrices)
            launch.replace_field(*cost, a["cost"])
        else:
            parts = [stack.matrices.reshape(-1) for stack in stacks]
            overwrite_by_chunks(a["cost"], parts[0] if len(parts) == 1 else np.concatenate(parts))
        if stacks[0].matrices.dtype.kind == "f":
            loose = np.concatenate([stack.loose for stack in stacks])
            device.overwrite(a["loose"], loose.astype(a["loose"].dtype, copy=False))
        for place, name in limits:
            if launch.arguments[place][name] != limit:
                launch.replace_field(place, name, limit)

    def release(self) -> None:
        """Let go of a caller's costs, and go to the pool."""
        if self.key is not None and self.whole:
            if self.key.resident:
                self.launches["assign"].release_field(*self.form.fields[0])
                del self.arrays["cost"]
            self.launches["assign"].on_enqueue = None
            pool.give(self)


class Key(NamedTuple):
    """Equal for two stacks if one can follow the other in a group's memory."""

    what: str
    kind: str
    shape: tuple[int, ...]
    resident: bool
    form: Form
    machine: tuple[Any, ...]


def group_of(
    stacks: list[Stack], kind: str, width: int, numbers: list[int], seconds: float | None
) -> Group:
    """Take the memory and the launch of some stacks out of the pool, or make them.

    What is there for one stack alone serves the next of its shape; for stacks of several shapes it
    is made each time.

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
    chosen = [stacks[number] for number in numbers]
    shapes = {stack.matrices.shape[1:] for stack in chosen}
    form = form_of(kind, width, shapes, max(stack.spread for stack in chosen))
    limit = limit_of(seconds)
    if len(stacks) == 1:
        shape = chosen[0].matrices.shape
        key = Key("batch", kind, shape, chosen[0].resident, form, pool.machine())
        group = pool.take(key, lambda: _made(chosen, numbers, form, limit))
        group.key = key
    else:
        group = pool.made(lambda: _made(chosen, numbers, form, limit))
    group.set(chosen, limit)
    return group


def form_of(kind: str, width: int, shapes: set[tuple[int, ...]], spread: int) -> Form:
    """The form of the launch for problems of a type, a class of sizes, and these shapes."""
    if not is_one_by_one(kind, width, spread):
        return _form_of_each(np.dtype(kind), width_for(max(map(max, shapes)), kind, width), spread)
    if kind == "int32":
        sizes = [warp.shared_bytes(*shape) for shape in shapes]
        shared = max(sizes) if min(sizes) else 0
        return Form(True, warp.assign_with(width, shared > 0), WARP, shared)
    threads, columns = shape_of(width)
    return Form(True, ONE_BY_ONE[kind].assign_with(width, columns), threads)


def _made(chosen: list[Stack], numbers: list[int], form: Form, limit: np.int64) -> Group:
    """Allocate and bind the launch of some stacks; their costs are not there yet."""
    matrices = [stack.matrices for stack in chosen]
    shapes = np.concatenate([np.tile(one.shape[1:], (len(one), 1)) for one in matrices])
    sizes = shapes.astype(np.int64).prod(axis=1)
    lines = np.zeros((len(shapes), 4), np.int32)
    lines[:, :2] = shapes
    lines[1:, 2:] = np.cumsum(shapes[:-1], axis=0)
    first = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)
    kind, (rows, columns) = matrices[0].dtype, map(int, shapes.sum(axis=0))
    group = Group(numbers, len(shapes), COUNTS if form.one_by_one else arguments.TOTALS, form)
    group.mailbox = Mailbox()
    a, resident = group.arrays, chosen[0].resident
    a["cost"] = _flat(matrices[0]) if resident else device.empty(int(sizes.sum()), kind)
    a["first"], a["lines"] = device.to_device(first), device.to_device(lines.reshape(-1))
    a["status"] = device.empty(len(shapes), np.int32)
    a["ended"] = device.to_device(np.zeros(3, np.int64))
    dual = kind if form.one_by_one else np.dtype(np.float64 if kind.kind == "f" else np.int64)
    a["loose"] = device.to_device(np.zeros(len(shapes), dual))
    bound = _one_by_one if form.one_by_one else _each
    group.launches["assign"] = bound(group, kind, dual, (rows, columns), limit)
    group.nbytes = sum(
        array.nbytes for name, array in a.items()
        if name != "signal" and not (resident and name == "cost")
    )  # fmt: skip
    return group


def _flat(matrices: Any) -> Any:
    """All costs of a stack on the device."""
    return matrices.reshape(matrices.size)


def is_one_by_one(kind: str, width: int, spread: int) -> bool:
    """Whether problems are solved one row after the other."""
    most = warp.WIDEST_SIDE if kind == "int32" else WARPS_WIDTH
    return width <= most or spread >= WIDEST


def shape_of(width: int) -> tuple[int, int]:
    """Threads of a block, and columns of a thread, where problems are solved row by row."""
    columns = min(MOST_COLUMNS, width // WARP)
    return width // columns, columns


def _one_by_one(
    group: Group, kind: np.dtype, dual: np.dtype, sizes: tuple[int, int], limit: np.int64
) -> Launch:
    """Bind `kernels.warp` or `kernels.solve`, which solve a problem row by row."""
    a, (rows, columns), form = group.arrays, sizes, group.form
    for name, size, of in (
        ("column", rows, np.int32), ("u", rows, dual), ("v", columns, dual),
        ("totals", len(COUNTS) * group.problems, np.int32),
    ):  # fmt: skip
        a[name] = device.empty(size, of)
    word = group.mailbox.device_word  # type: ignore[union-attr]
    return bind(
        form.kernel, group.problems, form.threads,
        kernels.Batch(a["cost"], a["first"], a["lines"], a["loose"],
                      np.int32(REPAIRS if kind.kind == "f" else -1), largest(kind),
                      kind.type(0), limit),
        kernels.Out(a["column"], a["u"], a["v"], a["status"], a["totals"], a["ended"], word),
        shared_bytes=form.shared,
    )  # fmt: skip


ONE_BY_ONE_FIELDS = (
    (0, kernels.Batch._fields.index("cost")), (0, kernels.Batch._fields.index("limit")),
)  # fmt: skip
"""`Form.fields` of the arguments that `_one_by_one` binds."""


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


def _form_of_each(kind: np.dtype, width: int, spread: int) -> Form:
    """The form of a launch of `kernels.each`."""
    of_duals, threads = "f" if kind.kind == "f" else "i", threads_for(width)
    usual, bucket = Settings.for_shape(width, width, kind), BUCKETS[of_duals]
    settings = replace(usual, delta=bucket, delta_scaled=bucket)
    kernel = each_kernel(kind.name, width, int(settings.loads), threads)
    shift = shift_for(spread, width * width) if of_duals == "i" else 0
    return Form(False, kernel, threads, 0, settings, shift)


def _each(
    group: Group, kind: np.dtype, dual: np.dtype, sizes: tuple[int, int], limit: np.int64
) -> Launch:
    """Bind `kernels.each`: a block a problem."""
    a, (rows, columns), form = group.arrays, sizes, group.form
    for name, (size, of) in sizes_of(rows, columns, dual, group.problems).items():
        if name != "chosen":
            a[name] = device.empty(size, of)
    a["signal"] = group.mailbox.device_word  # type: ignore[union-attr]
    assert form.settings is not None
    warps = min(WARPS_A_ROW, form.threads // WARP)
    shared = (0, 0, 0, warps, 1, form.settings.sampled_rows, form.shift)
    return bind(
        form.kernel, group.problems, form.threads,
        schedule_of(form.settings, PER_MILLE), arguments.Shape(*map(np.int32, shared)),
        each.Problems(a["first"], a["lines"], a["loose"], limit),
        arguments.Matrix(
            a["cost"], largest(dual), dual.type(-1), dual.type(0), dual.type(0), a["near"],
            a["bound"],
        ),
        *tuples_of(a, limit), each.Ends(a["status"], a["ended"], a["signal"]),
    )  # fmt: skip


EACH_FIELDS = (
    (3, arguments.Matrix._fields.index("cost")), (2, each.Problems._fields.index("limit")),
    (9, arguments.Log._fields.index("limit")),
)  # fmt: skip
"""`Form.fields` of the arguments that `_each` binds."""
