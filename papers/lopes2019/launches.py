"""Launch shapes, device memory and bound launches of a run of [L19].

`solver` is the algorithm; this module is its plumbing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.common.gpu import device
from papers.common.gpu.launch import Launch, bind
from papers.common.gpu.limits import grid_for, largest, smallest
from papers.common.gpu.signals import Mailbox
from papers.common.problems.assignment import Problem
from papers.lopes2019.kernels import matrix as m
from papers.lopes2019.kernels import search as k
from papers.lopes2019.kernels import step_4 as alternatives
from papers.lopes2019.kernels.arguments import Covers, Marks, Order, Words, Zeros


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
    def for_device(cls, n: int) -> Geometry:
        """Shapes for the selected device and order `n`."""
        machine = device.describe()
        if not machine.is_gpu:
            return cls(max(1, -(-n // 3)), 8, 16, 16, 16, 16, 4)
        # One block searches alone up to 4096: no restarts, and fences within the block. Beyond, its
        # sweeps over the zeros would take longer than the restarts of several blocks.
        lines = 4096 if n <= 4096 else 2048
        return cls(lines, 1024, 1024, 256, 512, 512, 8 * machine.multiprocessors)


def allocate(problem: Problem, shapes: Geometry, mailbox: Mailbox) -> dict[str, Any]:
    """Device memory for one problem, the costs copied into it.

    The arrays are named as in the table of `kernels.search`.
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
    arrays["flags"] = device.to_device(np.zeros(k.FLAGS, np.int32))
    arrays["zero_of_row"] = device.to_device(np.full(n, -1, np.int32))
    arrays["signal"] = mailbox.device_word
    return arrays


def bind_launches(
    problem: Problem, arrays: dict[str, Any], shapes: Geometry, step_4: str, searched: int
) -> dict[str, Launch]:
    """Every launch of a run, bound to its grid and its arrays, by the name that `solver` uses.

    `searched` columns are no padding; where all are, there is no ``star_padding``.
    Longer than most functions: one entry a kernel, nothing else.
    """
    launches: dict[str, Launch] = {}
    order = problem.size
    a, n = arrays, np.int32(order)
    top = largest(problem.matrix.dtype)
    lines = np.int32(shapes.lines_a_bin)
    line = grid_for(order, shapes.line_threads)
    matrix = (
        min(shapes.matrix_blocks, -(-order * order // shapes.matrix_threads)),
        shapes.matrix_threads,
    )
    stars = a["row_of_star_at_column"], a["column_of_star_at_row"]
    covers = Covers(a["covered_row"], a["covered_column"])
    prime, green, flags = a["column_of_prime_at_row"], a["row_of_green_at_column"], a["flags"]
    zeros, sizes = a["zeros"], a["zeros_size"]
    slack, partial = a["slack"], a["partial"]

    launches["init"] = bind(k.init, *line, n, sizes, *stars, *covers)
    if searched < order:
        launches["star_padding"] = bind(
            k.star_padding, *line, n, np.int32(searched), stars[0], covers.column
        )
    launches.update(_bind_step_1(problem, arrays, shapes, matrix))
    by_row = np.int32(step_4 != "paper")
    launches["compress_matrix"] = bind(
        m.compress_matrix, *matrix, n, lines, by_row, slack, zeros, sizes
    )
    launches["step_2"] = bind(
        k.step_2, 1, shapes.step_2_threads, n, lines, zeros, sizes, *covers, *stars, flags
    )
    launches["step_3_init"] = bind(k.step_3_init, *line, n, *covers, prime, green, flags)
    launches["step_3"] = bind(k.step_3, *line, n, stars[0], covers[1], flags)
    search, extra = {
        "paper": (k.step_4, ()),
        "A": (alternatives.step_4_a, ()),
        "B": (alternatives.step_4_b, (a["zero_of_row"],)),
        "C": (alternatives.step_4_c, (a["zero_of_row"],)),
    }[step_4]
    launches["step_4"] = bind(
        search, sizes.size, shapes.step_4_threads,
        Order(n, lines), Zeros(zeros, sizes), covers, Marks(stars[1], prime),
        Words(flags, a["signal"]), *extra,
        shared_bytes=2 * order if step_4 in ("A", "C") else 0,
    )  # fmt: skip
    launches["step_5a"] = bind(k.step_5a, *line, n, *stars, prime, green)
    launches["step_5b"] = bind(k.step_5b, *line, n, *stars, green)
    launches["step_6_reduction_1"] = bind(
        m.step_6_reduction_1,
        partial.size,
        shapes.reduction_threads,
        n,
        slack,
        *covers,
        top,
        partial,
    )
    launches["step_6_reduction_2"] = bind(
        m.step_6_reduction_2, 1, shapes.reduction_threads, partial, top, a["minimum"]
    )
    launches["step_6_add_sub"] = bind(
        m.step_6_add_sub, *matrix, n, slack, *covers, a["minimum"], sizes,
        a["row_dual"], a["column_dual"],
    )  # fmt: skip
    return launches


def _bind_step_1(
    problem: Problem, arrays: dict[str, Any], shapes: Geometry, matrix: tuple[int, int]
) -> dict[str, Launch]:
    """Row and column reductions: lines a block such that the blocks fill the GPU [L19 Fig.3]."""
    a, order = arrays, problem.size
    n = np.int32(order)
    top, bottom = largest(problem.matrix.dtype), smallest(problem.matrix.dtype)
    launches: dict[str, Launch] = {}
    threads = shapes.step_2_threads
    blocks_wanted = max(1, shapes.matrix_blocks // 4)
    lines = 1
    while lines < 32 and lines < threads and order // (2 * lines) >= blocks_wanted:
        lines *= 2
    rows = max(lines, min(8, threads))  # 8 neighbours: one 32-byte sector
    if problem.maximize:
        extremes, update, start = (
            m.step_1_max_in_rows,
            m.step_1_max_slack,
            bottom,
        )
    else:
        extremes, update, start = m.step_1_min_in_rows, m.step_1_row_sub, top
    launches["row_extremes"] = bind(
        extremes, -(-order // rows), threads, n, np.int32(rows), a["cost"], start,
        a["row_extreme"],
    )  # fmt: skip
    launches["row_update"] = bind(
        update, *matrix, n, a["cost"], a["row_extreme"], a["slack"], a["row_dual"]
    )
    launches["column_minima"] = bind(
        m.step_1_min_in_columns, -(-order // lines), threads, n, np.int32(lines), a["slack"],
        top, a["min_in_column"],
    )  # fmt: skip
    launches["column_update"] = bind(
        m.step_1_column_sub, *matrix, n, a["slack"], a["min_in_column"], a["column_dual"]
    )
    return launches
