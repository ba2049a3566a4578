"""A block solves a problem by the steps of `papers.synthesis.assignment.kernels.dense`.

Its auction rounds take all free rows at once, and its searches begin at all of them,
and at the trees that stay: so a problem
of hundreds of rows has far fewer steps than `solve` takes one after another, and every step has
work for a whole block. The arrays of all problems lie one behind the other; a block sees its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import cuda, int32, int64

from papers.common.gpu.signatures import Duals as Duals_
from papers.common.gpu.signatures import Int32s, Int64, Int64s
from papers.synthesis.assignment.kernels import dense
from papers.synthesis.assignment.kernels.arguments import (
    FRONT_CHUNK,
    LEVELS,
    TOTALS,
    WORDS,
    Duals,
    Front,
    Lists,
    Log,
    Matching,
    Matrix,
    Schedule,
    Shape,
    Tree,
    Work,
)
from papers.synthesis.assignment.settings import WARP
from papers.synthesis.batch.kernels.solve import began, tell

COUNTS = len(TOTALS)

SHARED_WIDTH, SHARED_WIDTH_FLOATS = 320, 256
"""The longest side of problems whose duals, matching and lists fit a block's shared memory, which
is 48 KiB; those of floats have one list more."""


class Problems(NamedTuple):
    """Problem b has its costs from ``first[b]`` on.

    ``lines`` int32[4 * b]: rows, columns, and the places of the first row and column among all.
    ``loose`` D[b] is the largest slack of a pair that needs no repair. ``limit`` is a run's
    nanoseconds.
    """

    first: Int64s
    lines: Int32s
    loose: Duals_
    limit: Int64


class Ends(NamedTuple):
    """The end of each problem (`arguments.Status`), and the launch's words; see `solve.tell`."""

    status: Int32s
    words: Int64s
    signal: Int64s


def assign_each_with(
    width: int, loads: int, floats: bool, divide: Callable, scaled: Callable
) -> Any:
    """Make the kernel for sides up to `width`; see the dense solver's `dense.solve_with`.

    Returns
    -------
    numba.cuda dispatcher
        The kernel ``assign_each``.
    """
    solve = dense.solve_with(loads, floats, divide, scaled, alone=True, marks=0, sorts=False)
    started = FRONT_CHUNK if floats else 1
    within = width <= (SHARED_WIDTH_FLOATS if floats else SHARED_WIDTH)
    size, twice = (width, 2 * width) if within else (1, 1)

    @cuda.jit
    def assign_each(
        schedule, shape, problems, matrix, duals, matching, lists, tree, front, log, ends
    ):
        """Solve many assignment problems whose costs lie in device memory.

        The schedule's shares are in per mille of the rows, ``shape.sample_step`` is the number of
        sampled rows; of ``shape`` only the numbers that all problems share are read.

        Paper: none; by the steps of `papers.synthesis.assignment.kernels.dense`.
        Launch: a block a problem, of a power of two threads, at least a warp.
        Reads/Writes: reads ``problems`` and ``cost``, writes everything else; small problems live
        in shared memory, and only their answers are written.
        Race: those of the stages, within a block; blocks share two counters alone.
        """
        problem, thread = int32(cuda.blockIdx.x), int32(cuda.threadIdx.x)
        due = int64(0)
        if thread == 0:
            due = began(ends) + problems.limit
        n, m = problems.lines[4 * problem], problems.lines[4 * problem + 1]
        r, c = problems.lines[4 * problem + 2], problems.lines[4 * problem + 3]
        first = problems.first[problem]
        work = Work(
            n, m, int32(n == m), shape.warps_a_row, shape.tile,
            int32((n + shape.sample_step - 1) // shape.sample_step), shape.shift,
            int32(0), int32(1), cuda.shared.array(WARP, duals.v.dtype),
            cuda.shared.array(WARP, duals.v.dtype), cuda.shared.array(WARP, int32),
            cuda.shared.array(FRONT_CHUNK, duals.v.dtype),
            cuda.shared.array(started, duals.v.dtype), cuda.shared.array(FRONT_CHUNK, int32),
            int32(0), int32(0), int32(0), cuda.shared.array(1, duals.v.dtype),
            cuda.shared.array(1, duals.v.dtype), cuda.shared.array(1, int32),
            cuda.shared.array(1, int32), cuda.shared.array(1, int32),
        )  # fmt: skip
        own = Schedule(
            schedule.start_rounds, int32(n * schedule.start_stop // 1000),
            int32(n * schedule.many // 1000), int32(n * schedule.stop // 1000), schedule.divisor,
            schedule.most_scales, schedule.most_rounds, schedule.stall_rounds,
            schedule.stall_share, schedule.last_rounds, schedule.delta, schedule.delta_scaled,
            schedule.repairs, schedule.lifts, schedule.near, schedule.near_least,
            schedule.warps_marked, int32(0), int32(0), int32(0),
        )  # fmt: skip
        costs = Matrix(
            matrix.cost[first : first + int64(n) * m], matrix.top, matrix.none, matrix.zero,
            problems.loose[problem], matrix.near, matrix.bound,
        )  # fmt: skip
        if within:
            its = Duals(
                cuda.shared.array(size, duals.v.dtype), cuda.shared.array(size, duals.v.dtype),
                cuda.shared.array(size, duals.v.dtype),
            )  # fmt: skip
            pairs = Matching(cuda.shared.array(size, int32), cuda.shared.array(size, int32))
            words = cuda.shared.array(WORDS, int32)
            levels = cuda.shared.array(LEVELS, duals.v.dtype)
            totals = cuda.shared.array(COUNTS, int64)
            by_turns = cuda.shared.array(size, int32)  # of bids, and of searches behind them
            status = solve(
                due, own, work, costs, its, pairs,
                Lists(cuda.shared.array(twice, int32), by_turns,
                      cuda.shared.array(size, duals.v.dtype)),
                Tree(cuda.shared.array(size, duals.v.dtype), cuda.shared.array(size, int32),
                     cuda.shared.array(size, int32), by_turns, cuda.shared.array(size, int32),
                     cuda.shared.array(size, int32), cuda.shared.array(size, int32)),
                Front(cuda.shared.array(twice, int32), cuda.shared.array(twice, duals.v.dtype),
                      cuda.shared.array(twice, duals.v.dtype), front.reports, front.held),
                Log(words, levels, totals, log.signal, log.limit),
            )  # fmt: skip
            cuda.syncthreads()
            for i in range(thread, n, cuda.blockDim.x):
                matching.column[r + i], duals.u[r + i] = pairs.column[i], its.u[i]
            for j in range(thread, m, cuda.blockDim.x):
                duals.v[c + j] = its.v[j]
            for k in range(thread, COUNTS, cuda.blockDim.x):
                log.totals[COUNTS * problem + k] = totals[k]
        else:
            status = solve(
                due, own, work, costs,
                Duals(duals.u[r : r + n], duals.v[c : c + m], duals.bid[c : c + m]),
                Matching(matching.column[r : r + n], matching.row[c : c + m]),
                Lists(lists.rows[2 * r : 2 * (r + n)], lists.column[r : r + n],
                      lists.offer[r : r + n]),
                Tree(tree.distance[c : c + m], tree.before[c : c + m], tree.opened[c : c + m],
                     tree.link[c : c + m], tree.owner[c : c + m], tree.row_claim[r : r + n],
                     tree.column_claim[c : c + m]),
                Front(front.rows[2 * r : 2 * (r + n)], front.start[2 * r : 2 * (r + n)],
                      front.base[2 * r : 2 * (r + n)], front.reports, front.held),
                Log(log.words[WORDS * problem : WORDS * (problem + 1)],
                    log.levels[LEVELS * problem : LEVELS * (problem + 1)],
                    log.totals[COUNTS * problem : COUNTS * (problem + 1)], log.signal, log.limit),
            )  # fmt: skip
        if thread == 0:
            tell(status, problem, cuda.gridDim.x, ends)

    return assign_each


SIGNATURE = (Schedule, Shape, Problems, Matrix, Duals, Matching, Lists, Tree, Front, Log, Ends)
"""Types that the kernels are compiled for, an entry an argument."""
