"""Launch shapes, device memory and bound launches of a run of [L19].

`solver` is the algorithm; this module is its plumbing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.limits import grid_for, largest, smallest
from papers.common.gpu.signals import Mailbox
from papers.common.problems.assignment import Problem
from papers.lopes2019.configuration import LINES_A_BIN, TUNED, Configuration
from papers.lopes2019.kernels import matrix as m
from papers.lopes2019.kernels import printed
from papers.lopes2019.kernels import search as k
from papers.lopes2019.kernels import step_4 as alternatives
from papers.lopes2019.kernels.arguments import Covers, Marks, Order, Words, Zeros

FEW_ZEROS = 2
"""Zeros a thread up to which ten checks of each cost less than the restarts that they save."""

ALONE = 1024
"""The largest n that one bin, and so one block of step 4, takes whole."""

MOST_ZEROS = 2**31 - 1
"""More zeros than any bin has."""


@dataclass(frozen=True)
class Geometry:
    """Launch shapes.

    Attributes
    ----------
    lines_a_bin : int
        Columns (or rows) whose zeros form one bin: one block of step 4.
    step_4_threads, step_2_threads, line_threads, matrix_threads, reduction_threads : int
        Threads a block of step 4, of step 2 (one block), of the kernels with a thread a line,
        of the matrix-wide kernels, of the reductions.
    matrix_blocks : int
        Blocks of the matrix-wide kernels at most.

    Raises
    ------
    ValueError
        For a value below 1, more than 1024 threads, or a reduction whose threads are no power of
        two.
    """

    lines_a_bin: int
    step_4_threads: int
    step_2_threads: int
    line_threads: int
    matrix_threads: int
    reduction_threads: int
    matrix_blocks: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 1 or (name.endswith("threads") and value > m.MAX_BLOCK):
                raise ValueError(f"{name}={value} is out of range")
        for name in ("step_2_threads", "reduction_threads"):  # step 1 reduces with the former
            if getattr(self, name).bit_count() != 1:
                raise ValueError(f"{name}={getattr(self, name)} is no power of two")

    @classmethod
    def for_device(cls, n: int, configuration: Configuration = TUNED) -> Geometry:
        """Shapes for the selected device, order `n` and configuration.

        The executor has small ones, whatever the configuration: three bins.
        """
        machine = device.describe()
        if not machine.is_gpu:
            return cls(max(1, -(-n // 3)), 8, 16, 16, 16, 16, 4)
        if configuration.an_entry_a_thread:
            lines = configuration.lines_a_bin or cls.for_device(n).lines_a_bin
            return cls(lines, 1024, 1024, 64, 512, 256, 256)  # the release's
        if configuration.lines_a_bin is not None:
            return replace(cls.for_device(n), lines_a_bin=configuration.lines_a_bin)
        # One block searches alone up to `ALONE`: no restarts, and fences within the block. Beyond,
        # its sweeps over the zeros take longer than the restarts of several blocks.
        lines = ALONE if n <= ALONE else LINES_A_BIN
        return cls(lines, 1024, 1024, 256, 512, 512, 8 * machine.multiprocessors)


def allocate(
    problem: Problem, shapes: Geometry, mailbox: Mailbox, flags: Any = None
) -> dict[str, Any]:
    """Device memory for one problem, the costs copied into it.

    The arrays are named as in the table of `kernels.search`. `flags` are words that the host reads
    as well; by default they are in device memory alone.
    """
    n, matrix = problem.size, problem.matrix
    arrays: dict[str, Any] = {}
    bins = -(-n // shapes.lines_a_bin)
    arrays["cost"] = device.to_device(matrix.reshape(-1))
    arrays["slack"] = device.empty(n * n, matrix.dtype)
    arrays["zeros"] = device.empty(n * n, np.int32)
    arrays["zeros_size"] = device.empty(bins, np.int32)
    for name in (
        "covered_row",
        "covered_column",
        "row_of_star_at_column",
        "column_of_star_at_row",
        "column_of_prime_at_row",
        "row_of_green_at_column",
    ):
        arrays[name] = device.empty(n, np.int32)
    for name in ("row_extreme", "min_in_column"):
        arrays[name] = device.empty(n, matrix.dtype)
    for name in ("row_dual", "column_dual"):
        arrays[name] = device.empty(n, np.float64 if matrix.dtype.kind == "f" else np.int64)
    blocks = min(shapes.matrix_blocks, -(-n * n // (2 * shapes.reduction_threads)))
    arrays["partial"] = device.empty(blocks, matrix.dtype)
    arrays["minimum"] = device.empty(1, matrix.dtype)
    if flags is None:
        flags = device.to_device(np.zeros(k.FLAGS, np.int32))
    arrays["flags"] = flags
    arrays["zero_of_row"] = device.to_device(np.full(n, -1, np.int32))
    arrays["signal"] = mailbox.device_word
    return arrays


def bind_launches(
    problem: Problem,
    arrays: dict[str, Any],
    shapes: Geometry,
    step_4: str,
    searched: int,
    configuration: Configuration = TUNED,
) -> dict[str, Launch]:
    """Every launch of a run, bound to its grid and its arrays, by the name that `solver` uses.

    `searched` columns are no padding; where all are, there is no ``star_padding``.
    """
    a, n = arrays, np.int32(problem.size)
    line = grid_for(problem.size, shapes.line_threads)
    stars = a["row_of_star_at_column"], a["column_of_star_at_row"]
    covers = Covers(a["covered_row"], a["covered_column"])
    launches = {"init": bind(k.init, *line, n, a["zeros_size"], *stars, *covers)}
    if searched < problem.size:
        launches["star_padding"] = bind(
            k.star_padding, *line, n, np.int32(searched), stars[0], covers.column
        )
    launches.update(_bind_step_1(problem, arrays, shapes, configuration))
    launches.update(_bind_search(problem, arrays, shapes, step_4, configuration))
    launches.update(_bind_step_6(problem, arrays, shapes, step_4, configuration))
    return launches


def _whole_matrix(order: int, shapes: Geometry, configuration: Configuration) -> tuple[int, int]:
    """Return the grid of the kernels on the whole matrix."""
    blocks = -(-order * order // shapes.matrix_threads)
    if not configuration.an_entry_a_thread:
        blocks = min(shapes.matrix_blocks, blocks)
    return blocks, shapes.matrix_threads


def _bind_search(
    problem: Problem,
    a: dict[str, Any],
    shapes: Geometry,
    step_4: str,
    configuration: Configuration,
) -> dict[str, Launch]:
    """Bind steps 2 to 5."""
    n, lines = np.int32(problem.size), np.int32(shapes.lines_a_bin)
    line = grid_for(problem.size, shapes.line_threads)
    stars = a["row_of_star_at_column"], a["column_of_star_at_row"]
    covers = Covers(a["covered_row"], a["covered_column"])
    prime, green, flags = a["column_of_prime_at_row"], a["row_of_green_at_column"], a["flags"]
    zeros, sizes = a["zeros"], a["zeros_size"]
    step_2, blocks = (printed.step_2, sizes.size) if configuration.step_2_by_bin else (k.step_2, 1)
    launches = {
        "step_2": bind(
            step_2, blocks, shapes.step_2_threads, n, lines, zeros, sizes, *covers, *stars, flags
        ),
        "step_5a": bind(k.step_5a, *line, n, *stars, prime, green),
        "step_5b": bind(k.step_5b, *line, n, *stars, green),
    }
    if configuration.count_by_star:
        launches["step_3_init"] = bind(printed.step_3_init, *line, n, *covers, flags)
        launches["step_3"] = bind(printed.step_3, *line, n, stars[0], covers.column, flags)
        launches["step_4_init"] = bind(printed.step_4_init, *line, n, prime, green)
    else:
        launches["step_3_init"] = bind(k.step_3_init, *line, n, *covers, prime, green, flags)
        launches["step_3"] = bind(k.step_3, *line, n, stars[0], covers.column, flags)
    checks = np.int32(configuration.checks)
    if configuration.barriers == 1:
        most = FEW_ZEROS * shapes.step_4_threads if configuration.spare_checks else MOST_ZEROS
        by_columns: tuple[Any, tuple[Any, ...]] = k.step_4, (checks, np.int32(most))
    else:
        rules = printed.Rules(np.int32(configuration.stop_at_path), checks)
        by_columns = printed.step_4, (rules,)
    search, extra = {
        "paper": by_columns,
        "A": (alternatives.step_4_a, ()),
        "B": (alternatives.step_4_b, (a["zero_of_row"],)),
        "C": (alternatives.step_4_c, (a["zero_of_row"],)),
    }[step_4]
    launches["step_4"] = bind(
        search, sizes.size, shapes.step_4_threads,
        Order(n, lines), Zeros(zeros, sizes), covers, Marks(stars[1], prime),
        Words(flags, a["signal"]), *extra,
        shared_bytes=2 * problem.size if step_4 in ("A", "C") else 0,
    )  # fmt: skip
    return launches


def _bind_step_6(
    problem: Problem,
    a: dict[str, Any],
    shapes: Geometry,
    step_4: str,
    configuration: Configuration,
) -> dict[str, Launch]:
    """Bind step 6, the compression with it."""
    n, top = np.int32(problem.size), largest(problem.matrix.dtype)
    matrix = _whole_matrix(problem.size, shapes, configuration)
    covers = Covers(a["covered_row"], a["covered_column"])
    listed = (
        n, np.int32(shapes.lines_a_bin), np.int32(step_4 != "paper"), a["slack"], a["zeros"],
        a["zeros_size"],
    )  # fmt: skip
    shifted = (
        n, a["slack"], *covers, a["minimum"], a["zeros_size"], a["row_dual"], a["column_dual"],
    )  # fmt: skip
    if configuration.an_entry_a_thread:
        counter = np.int32(configuration.one_counter)
        compression = bind(printed.compress_matrix, *matrix, *listed, a["flags"], counter)
        shift = bind(printed.step_6_add_sub, *matrix, *shifted, a["flags"])
    else:
        compression = bind(m.compress_matrix, *matrix, *listed)
        shift = bind(m.step_6_add_sub, *matrix, *shifted)
    partial, threads = a["partial"], shapes.reduction_threads
    return {
        "compress_matrix": compression,
        "step_6_reduction_1": bind(
            m.step_6_reduction_1, partial.size, threads, n, a["slack"], *covers, top, partial
        ),
        "step_6_reduction_2": bind(m.step_6_reduction_2, 1, threads, partial, top, a["minimum"]),
        "step_6_add_sub": shift,
    }


def _bind_step_1(
    problem: Problem, a: dict[str, Any], shapes: Geometry, configuration: Configuration
) -> dict[str, Launch]:
    """Bind the row and column reductions and what they take off [L19 Fig.3]."""
    order, by_entry = problem.size, configuration.an_entry_a_thread
    n, kernels = np.int32(order), printed if by_entry else m
    top, bottom = largest(problem.matrix.dtype), smallest(problem.matrix.dtype)
    matrix = _whole_matrix(order, shapes, configuration)
    rows, columns, threads = _lines_of_step_1(order, shapes, by_entry)
    if problem.maximize:
        extremes, update, start = m.step_1_max_in_rows, kernels.step_1_max_slack, bottom
    else:
        extremes, update, start = m.step_1_min_in_rows, kernels.step_1_row_sub, top
    return {
        "row_extremes": bind(
            extremes, -(-order // rows), threads, n, np.int32(rows), a["cost"], start,
            a["row_extreme"],
        ),
        "row_update": bind(
            update, *matrix, n, a["cost"], a["row_extreme"], a["slack"], a["row_dual"]
        ),
        "column_minima": bind(
            kernels.step_1_min_in_columns, -(-order // columns), threads, n, np.int32(columns),
            a["slack"], top, a["min_in_column"],
        ),
        "column_update": bind(
            kernels.step_1_column_sub, *matrix, n, a["slack"], a["min_in_column"], a["column_dual"]
        ),
    }  # fmt: skip


def _lines_of_step_1(order: int, shapes: Geometry, by_entry: bool) -> tuple[int, int, int]:
    """Return rows a block, columns a block (powers of two) and threads of step 1's reductions.

    The release shares the lines out over as many blocks as step 6 has; ours takes as few lines as
    fill the device, and at least eight rows: one 32-byte sector.
    """
    if by_entry:
        threads, lines = shapes.reduction_threads, 1
        while lines < threads and lines * shapes.matrix_blocks < order:
            lines *= 2
        return lines, lines, threads
    threads, lines = shapes.step_2_threads, 1
    blocks_wanted = max(1, shapes.matrix_blocks // 4)
    while lines < 32 and lines < threads and order // (2 * lines) >= blocks_wanted:
        lines *= 2
    return max(lines, min(8, threads)), lines, threads
