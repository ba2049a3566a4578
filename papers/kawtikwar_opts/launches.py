"""Launch shapes, device memory and bound launches of a run of [K21].

`solver` is the algorithm; this module is its plumbing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind, registers_for, resident_blocks
from papers.common.gpu.limits import largest
from papers.common.gpu.signals import Mailbox
from papers.common.problems.assignment import Problem
from papers.kawtikwar_opts.configuration import TUNED, Configuration
from papers.kawtikwar_opts.kernels import baseline, one_launch, opt0, opt1, opt2, opt3, opt4
from papers.kawtikwar_opts.kernels.arguments import FLAGS, Duals, Log, Matrix, Search, Shape, Stars
from papers.kawtikwar_opts.kernels.clock import CLOCKS
from papers.kawtikwar_opts.kernels.near_zero import threshold
from papers.kawtikwar_opts.kernels.printed import host_loop
from papers.kawtikwar_opts.kernels.printed import one_launch as printed_launch
from papers.lopes2019 import launches as lopes
from papers.lopes2019.kernels.arguments import Covers, Order, Zeros
from papers.lopes2019.kernels.matrix import MAX_BLOCK
from papers.lopes2019.kernels.search import Flag as LopesFlag
from papers.lopes2019.rectangle import Layout

HOST_LOOP = {"baseline": baseline, "opt0": opt0, "opt1": opt1}
ONE_LAUNCH = {"opt2": opt2, "opt3": opt3, "opt4": opt4}
VERSIONS = (*HOST_LOOP, *ONE_LAUNCH)

OUR_LINES, OUR_THREADS = 512, 512
"""Columns a bin and threads a block of our host loops; in the release step 4 has 1024 threads."""


@dataclass(frozen=True)
class Geometry:
    """Launch shapes.

    Attributes
    ----------
    lines_a_bin : int
        Columns whose zeros form one bin: one block of step 4.
    threads : int
        Threads a block.
    blocks : int
        Blocks of the matrix-wide kernels at most; of the one launch, where as many as are resident
        at once is the limit too.

    Raises
    ------
    ValueError
        For a value below 1, or threads that are no power of two or more than 1024.
    """

    lines_a_bin: int
    threads: int
    blocks: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, int | np.integer):
                raise ValueError(f"{name}={value!r} is no whole number")
            if value < 1:
                raise ValueError(f"{name}={value} is out of range")
        if self.threads > MAX_BLOCK or int(self.threads).bit_count() != 1:
            raise ValueError(f"threads={self.threads} is no power of two up to {MAX_BLOCK}")

    @classmethod
    def for_device(cls, n: int, version: str, choice: Configuration = TUNED) -> Geometry:
        """Shapes for the selected device, order `n`, version and configuration.

        The executor has small ones, whatever the configuration: three bins.
        """
        machine = device.describe()
        if not machine.is_gpu:
            lines = max(1, -(-n // 3))
            return cls(lines, 16, 4) if version in HOST_LOOP else cls(lines, 32, 3)
        if version in HOST_LOOP:
            if choice.an_entry_a_thread:
                released = lopes.Geometry.for_device(n, choice.host)
                return cls(released.lines_a_bin, released.step_4_threads, released.matrix_blocks)
            return cls(OUR_LINES, OUR_THREADS, 8 * machine.multiprocessors)
        if choice.lines_a_bin is not None:
            return cls(choice.lines_a_bin, MAX_BLOCK, machine.multiprocessors)
        # One block searches alone as far as its sweeps over the zeros stay short: no barriers of
        # the grid within a search, and covers from the multiprocessor's own cache.
        lines = n if n <= 8192 else 4096
        tiles = -(-n * n // (4 * MAX_BLOCK))
        return cls(lines, MAX_BLOCK, min(machine.multiprocessors, max(tiles, -(-n // lines))))


def allocate(
    problem: Problem,
    layout: Layout,
    shapes: Geometry,
    version: str,
    mailbox: Mailbox,
    trace_steps: bool,
    choice: Configuration = TUNED,
    words: Any = None,
) -> dict[str, Any]:
    """Device memory for one problem, the costs copied into it.

    `words` are flags that the host reads as well.
    """
    square = dataclasses.replace(problem, matrix=layout.matrix)
    arrays = lopes.allocate(square, _lopes_shapes(problem.size, shapes, choice), mailbox, words)
    arrays["zeros_size_b"] = arrays.pop("zeros_size")
    if version in HOST_LOOP:
        arrays["zeros_size"] = _counter(choice, words)
        return arrays
    arrays["partial"] = device.empty(int(shapes.blocks), problem.matrix.dtype)
    flags = np.zeros(FLAGS, np.int32)
    flags[LopesFlag.READ_BY_HOST] = 1  # the printed step 4 shall send the host no word
    arrays["flags"] = device.to_device(flags)
    arrays["clocks"] = device.to_device(np.zeros(CLOCKS if trace_steps else 1, np.int64))
    return arrays


def _counter(choice: Configuration, words: Any) -> Any:
    """The counter of all zeros, int32[1], in the memory that a configuration asks for."""
    if choice.counter == "flags":
        return words[LopesFlag.ALL_ZEROS : LopesFlag.ALL_ZEROS + 1]
    if choice.counter == "managed":
        return device.managed(1, np.int32)[1]
    if choice.counter == "mapped":
        return device.mapped(1, np.int32)[1]
    return device.empty(1, np.int32)


def _lopes_shapes(n: int, shapes: Geometry, choice: Configuration) -> lopes.Geometry:
    """The same shapes for the kernels of `papers.lopes2019`; as printed, the release's."""
    threads = int(shapes.threads)
    if choice.an_entry_a_thread:
        released = lopes.Geometry.for_device(n, choice.host)
        return dataclasses.replace(
            released, lines_a_bin=int(shapes.lines_a_bin), step_4_threads=threads,
            step_2_threads=threads,
        )  # fmt: skip
    return lopes.Geometry(
        int(shapes.lines_a_bin), threads, threads, min(threads, 256), threads, threads,
        int(shapes.blocks),
    )  # fmt: skip


# ------------------------------------------------------------------------------- host loop


def bind_host_loop(
    problem: Problem,
    layout: Layout,
    arrays: dict[str, Any],
    shapes: Geometry,
    version: str,
    choice: Configuration = TUNED,
) -> dict[str, Launch]:
    """Every launch of a version with a host loop: Lopes's, and the report's in their place."""
    named = arrays | {"zeros_size": arrays["zeros_size_b"]}
    lopes_shapes = _lopes_shapes(problem.size, shapes, choice)
    # The costs are reflected already, so Lopes's kernels minimize.
    launches = lopes.bind_launches(
        dataclasses.replace(problem, matrix=layout.matrix, maximize=False), named, lopes_shapes,
        "paper", layout.lines, choice.host,
    )  # fmt: skip
    for name in ("compress_matrix", "step_6_add_sub"):
        launches.pop(name)
    if choice.an_entry_a_thread:
        launches.update(_bind_printed(problem, arrays, lopes_shapes, version, choice))
    else:
        launches.update(_bind_ours(problem, arrays, shapes, version))
    return launches


def _bind_printed(
    problem: Problem,
    a: dict[str, Any],
    shapes: lopes.Geometry,
    version: str,
    choice: Configuration,
) -> dict[str, Launch]:
    """Bind the report's kernels on the release's blocks, an entry a thread."""
    order = Order(np.int32(problem.size), np.int32(shapes.lines_a_bin))
    matrix = -(-(problem.size**2) // shapes.matrix_threads), shapes.matrix_threads
    eps, covers = threshold(problem), Covers(a["covered_row"], a["covered_column"])
    duals, total, bins = Duals(a["row_dual"], a["column_dual"]), a["zeros_size"], a["zeros_size_b"]
    zeros, reduction = Zeros(a["zeros"], bins), (1, shapes.reduction_threads)
    count = host_loop.NOT
    launches = {}
    if version == "baseline":
        count = host_loop.BY_WARP if choice.by_warp else host_loop.EACH
        if choice.counter != "flags":  # the host clears flags, and nobody else before step 6
            launches["counter_init"] = bind(baseline.step_6_init, *reduction, total, bins)
    else:
        launches["add_reduction"] = bind(opt0.add_reduction, *reduction, bins, total)
    launches["compress_matrix"] = bind(
        host_loop.compress_matrix, *matrix, order, eps, a["slack"], zeros, total, np.int32(count)
    )
    if version == "opt1":
        launches["step_6_init"] = bind(opt1.step_6_init, *reduction, bins)
        launches["add_sub_compress_matrix"] = bind(
            host_loop.add_sub_compress_matrix, *matrix, order, eps, a["slack"], covers,
            a["minimum"], zeros, duals,
        )  # fmt: skip
    else:
        launches["step_6_add_sub"] = bind(
            host_loop.step_6_add_sub, *matrix, order.n, a["slack"], covers, a["minimum"], total,
            bins, duals,
        )  # fmt: skip
    return launches


def _bind_ours(
    problem: Problem, a: dict[str, Any], shapes: Geometry, version: str
) -> dict[str, Launch]:
    """Bind the report's kernels in tiles (`kernels.entries`)."""
    kernels = HOST_LOOP[version]
    n, threads = np.int32(problem.size), int(shapes.threads)
    tiles = -(-(problem.size**2) // (4 * threads))
    matrix = min(int(shapes.blocks), tiles), threads
    lines, eps = np.int32(shapes.lines_a_bin), threshold(problem)
    covers = Covers(a["covered_row"], a["covered_column"])
    duals = Duals(a["row_dual"], a["column_dual"])
    bins = a["zeros_size_b"]
    counted = (a["zeros_size"], bins) if version == "baseline" else (bins,)
    launches = {
        "step_6_init": bind(kernels.step_6_init, 1, threads, *counted),
        "compress_matrix": bind(
            kernels.compress_matrix, *matrix, n, lines, eps, a["slack"], a["zeros"], *counted
        ),
    }
    if version != "baseline":
        launches["add_reduction"] = bind(kernels.add_reduction, 1, threads, bins, a["zeros_size"])
    if version == "opt1":
        launches["add_sub_compress_matrix"] = bind(
            kernels.add_sub_compress_matrix, *matrix, Order(n, lines), eps, a["slack"], covers,
            a["minimum"], Zeros(a["zeros"], bins), duals,
        )  # fmt: skip
    else:
        launches["step_6_add_sub"] = bind(
            kernels.step_6_add_sub, *matrix, n, a["slack"], covers, a["minimum"], duals
        )
    return launches


# ------------------------------------------------------------------------------- one launch


def bind_one_launch(
    problem: Problem,
    layout: Layout,
    arrays: dict[str, Any],
    shapes: Geometry,
    version: str,
    patience: int,
    choice: Configuration = TUNED,
) -> Launch:
    """The one launch, with as many blocks as asked for, or as are resident at once.

    Raises
    ------
    ValueError
        If there are more bins than blocks, or less than a warp to a block.
    RuntimeError
        If not even one block of that size fits a multiprocessor.
    """
    arguments = _arguments(problem, layout, arrays, shapes, patience)
    kernel = for_block(version, int(shapes.threads), choice=choice)
    return _cooperative(kernel, arguments, shapes)


def bind_shares(
    problem: Problem,
    layout: Layout,
    arrays: dict[str, Any],
    shapes: Geometry,
    version: str,
    choice: Configuration = TUNED,
) -> dict[str, Launch]:
    """The same work in shares: ``begin``, and ``go_on``, again and again; errors as above."""
    arguments, threads = (
        _arguments(problem, layout, arrays, shapes, one_launch.SHARE),
        int(shapes.threads),
    )
    return {
        name: _cooperative(for_block(version, threads, name, choice), arguments, shapes)
        for name in ("begin", "go_on")
    }


def _arguments(
    problem: Problem, layout: Layout, arrays: dict[str, Any], shapes: Geometry, patience: int
) -> tuple[Any, ...]:
    """Arguments of `kernels.one_launch`."""
    a, order, threads = arrays, problem.size, int(shapes.threads)
    if threads < 32:
        raise ValueError(f"threads={threads}: one launch needs whole warps")
    lines_a_turn = 1
    while lines_a_turn * int(shapes.blocks) < order and lines_a_turn < threads:
        lines_a_turn *= 2
    lines_a_turn = max(lines_a_turn, min(8, threads))  # 8 neighbours: one 32-byte sector
    multiplier, shift = reciprocal(order)
    return (
        Shape(
            Order(np.int32(order), np.int32(shapes.lines_a_bin)), np.int32(layout.lines),
            np.int32(lines_a_turn), np.int64(multiplier), np.int32(shift), np.int32(patience),
        ),
        Matrix(
            threshold(problem), largest(problem.matrix.dtype), a["cost"], a["slack"],
            a["row_extreme"], a["min_in_column"], a["partial"],
        ),
        Search(
            Covers(a["covered_row"], a["covered_column"]),
            Stars(
                a["row_of_star_at_column"], a["column_of_star_at_row"],
                a["column_of_prime_at_row"], a["row_of_green_at_column"],
            ),
            Zeros(a["zeros"], a["zeros_size_b"]),
        ),
        Duals(a["row_dual"], a["column_dual"]),
        Log(a["flags"], a["clocks"], a["signal"]),
    )  # fmt: skip


def _cooperative(kernel: Any, arguments: tuple[Any, ...], shapes: Geometry) -> Launch:
    """Bind a kernel of one launch to the blocks that are resident at once; at least one a bin."""
    threads, search = int(shapes.threads), arguments[2]
    # [K21 sec.IV.C] asks cudaOccupancyMaxPotentialBlockSize; here the block size is given.
    blocks = min(int(shapes.blocks), resident_blocks(kernel, arguments, threads))
    bins = search.zeros.sizes.size
    if bins > blocks:
        order = int(arguments[0].order.n)
        raise ValueError(
            f"{bins} bins of {shapes.lines_a_bin} columns need a block each, there are {blocks}: "
            f"lines_a_bin must be at least {-(-order // blocks)}"
        )
    return bind(kernel, blocks, threads, *arguments)


@cache
def for_block(
    version: str, threads: int, name: str = "hungarian", choice: Configuration = TUNED
) -> Any:
    """A cooperative kernel, limited to the registers that a block of `threads` threads may have.

    Without a limit the compiler takes 255 a thread, and no block of more than 256 threads starts.
    """
    kernel = printed_launch.kernel(
        name, version, choice.step_1, choice.search, choice.an_entry_a_thread
    )
    return cuda.jit(max_registers=registers_for(threads))(kernel.py_func)


def reciprocal(n: int) -> tuple[int, int]:
    """`(multiplier, shift)` with ``position // n == position * multiplier >> shift`` below 2**31.

    Granlund & Montgomery 1994: with ``l = ceil(log2 n)`` and the multiplier rounded up, exact for
    31-bit positions; the product stays below 2**63.
    """
    shift = 31 + (n - 1).bit_length()
    return -(-(1 << shift) // n), shift
