"""The launch: the reference's schedule, stage by stage; `integers` and `floats` make kernels of it.

Between two stages that hand on data stands a barrier of the grid: 3 for the start (a square: 5),
2 a round, 3 a rescaling, 1 a level of a search and 3 a phase, 4 a lift of floats.

==================  ===================  ======================================================
reference           array                dtype, shape
==================  ===================  ======================================================
c                   matrix.cost          T[n * m], by rows
u, v                duals.u, duals.v     D[n], D[m]
column, row         matching             int32[n], int32[m], -1 where there is none
free                lists.rows           int32[2 * n], by turns; `arguments.Word.FREE`
distance, before    tree                 D[m], int32[m]
rows, start         front                int32[2 * n], D[2 * n], by levels; `Word.FRONT`
least, goal         log.levels           D; `arguments.Level`
==================  ===================  ======================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import load_relaxed, store_relaxed, store_release_system
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment.kernels import columns, rounds, rows, search
from papers.synthesis.assignment.kernels.arguments import (
    EXPIRED,
    FREE,
    FRONT,
    LATE,
    LATE_LEVEL,
    LEAST,
    LOOSE,
    NUMBER,
    REACH,
    REPAIRS,
    RESCALINGS,
    SCALES,
    SIGNALS,
    SOLVED,
    SUM,
    UNREACHED,
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
from papers.synthesis.assignment.kernels.columns import ALL, OTHERS, fill, first_duals, lift_columns
from papers.synthesis.assignment.kernels.rows import group_of, leads, log_warps, row_dual
from papers.synthesis.assignment.kernels.words import count, free_rows, is_late, prepare_turn
from papers.synthesis.assignment.settings import LARGEST_BLOCK, WARP

FOREVER = 2**62
"""Nanoseconds: no limit of time."""


@cuda.jit(device=True)
def clear(shape, matrix, duals, matching, lists, tree, log):
    """The state before a run, whatever the last one left.  A barrier has to follow."""
    for i in range(cuda.grid(1), shape.n, cuda.gridsize(1)):
        matching.column[i] = -1
        tree.row_claim[i] = 0
        lists.rows[i] = i
    for j in range(cuda.grid(1), shape.m, cuda.gridsize(1)):
        matching.row[j] = -1
        tree.column_claim[j] = 0
        tree.distance[j] = matrix.top
        duals.v[j] = 0
        duals.bid[j] = 0
    if cuda.grid(1) == 0:
        for slot in range(3):
            for word in (FREE, LATE, FRONT, UNREACHED, LATE_LEVEL):
                store_relaxed(log.words, word + slot, int32(0))
            log.levels[LEAST + slot] = matrix.top
            log.levels[REACH + slot] = search.nothing_reached(shape, matrix)
        store_relaxed(log.words, FREE, shape.n)
        log.levels[SUM] = 0
        log.levels[NUMBER] = 0
        for which in range(log.totals.size):
            log.totals[which] = 0


@cuda.jit(device=True)
def finish(status, log):
    """Tell the host how the run ended: the first thread."""
    if cuda.grid(1) == 0:
        sequence = int32(load_relaxed(log.words, SIGNALS) + 1)
        store_relaxed(log.words, SIGNALS, sequence)
        store_release_system(log.signal, 0, (int64(sequence) << PAYLOAD_BITS) | status)


def reduction_with(two_least: Any, least_in_columns: Any, sum_of_sample: Any, loads: int) -> Any:
    """Make `reduce_lines`."""

    @cuda.jit(device=True)
    def reduce_lines(shape, matrix, duals, matching, tree, log):
        """Row minima, of a square also column minima, and the sum for the mean."""
        grid = cuda.cg.this_grid()
        power = log_warps(shape, shape.n, loads)
        group, groups = group_of(power)
        for base in range(0, shape.n, groups):
            row = int32(base + group)
            if row >= shape.n:
                row = int32(-1)
            first, _, _ = two_least(shape, matrix, duals.v, row, int32(0), power)
            if row >= 0 and leads(power):
                duals.u[row] = row_dual(first, matrix.top)
        grid.sync()
        if shape.square != 0:
            least_in_columns(ALL, shape, matrix, duals.u, matching.row, tree.distance)
            grid.sync()
            first_duals(shape, matrix, duals, tree.distance)
            grid.sync()
        sum_of_sample(matrix.zero, shape, matrix, duals, log.levels)
        grid.sync()

    return reduce_lines


def scales_with(rescale: Any, bid_rounds: Any, divide: Any) -> Any:
    """Make `scales`."""

    @cuda.jit(device=True)
    def scales(mean, turn, due, schedule, shape, matrix, duals, matching, lists, tree, log):
        """Rescale and bid for falling eps, then at eps 0; the turn after them."""
        eps, least = mean, divide(divide(mean, shape.n), shape.n)
        for _ in range(schedule.most_scales):
            if eps <= 0 or eps < least or is_late(log, turn):
                break
            turn = rescale(eps, turn, due, shape, matrix, duals, matching, lists, tree, log)
            turn = bid_rounds(
                eps, mean, schedule.stop, schedule.most_rounds, turn, due, schedule, shape, matrix,
                duals, matching, lists, tree, log,
            )  # fmt: skip
            count(log, SCALES, 1)
            eps = divide(eps, schedule.divisor)
        turn = rescale(matrix.zero, turn, due, shape, matrix, duals, matching, lists, tree, log)
        return bid_rounds(
            matrix.zero, mean, int32(0), schedule.last_rounds, turn, due, schedule, shape, matrix,
            duals, matching, lists, tree, log,
        )  # fmt: skip

    return scales


def lifts_with(new_row_duals: Any, least_in_columns: Any) -> Any:
    """Make `lifts`, for floats."""

    @cuda.jit(device=True)
    def lifts(may_part, turn, due, schedule, shape, matrix, duals, matching, lists, tree, log):
        """Make the duals small, and part pairs that are loose, or count them; the next turn."""
        grid = cuda.cg.this_grid()
        for lift in range(schedule.lifts):
            fill(tree.distance, shape.m, matrix.top)
            grid.sync()
            least_in_columns(OTHERS, shape, matrix, duals.u, matching.row, tree.distance)
            grid.sync()
            lift_columns(matrix.zero, shape, duals, tree.distance)
            grid.sync()
            last = lift == schedule.lifts - 1
            slack, loose_at = matrix.top, int32(LOOSE)
            if last:
                slack = matrix.loose
            new_row_duals(
                slack, not (last and may_part), turn, shape, matrix, duals, matching, lists, log,
                loose_at,
            )  # fmt: skip
            prepare_turn(log, turn, due)
            count(log, RESCALINGS, 1)
            grid.sync()
            turn = int32(turn + 1)
        return turn

    return lifts


def assign_with(loads: int, floats: bool, divide: Callable, scaled: Callable) -> Any:
    """Make the kernel for integers or for floats.

    Parameters
    ----------
    loads : int
        Costs that a thread loads before it looks at the first of them.
    floats : bool
        Whether rounding is repaired at the end.
    divide : device function (value, int32) -> value
    scaled : device function (value, bits) -> value
        Makes values small enough to be added up.

    Returns
    -------
    numba.cuda dispatcher
        The kernel ``assign``.
    """
    two_least = rows.two_least_with(loads)
    least_in_columns = columns.least_with(loads)
    reduce_lines = reduction_with(two_least, least_in_columns, columns.sum_with(scaled), loads)
    bid_rounds = rounds.rounds_with(rounds.bids_with(two_least, loads))
    new_row_duals = rounds.row_duals_with(two_least, loads)
    scales = scales_with(rounds.rescale_with(new_row_duals, least_in_columns), bid_rounds, divide)
    phases = search.phases_with(search.search_with(search.relax_with(loads)))
    lifts = lifts_with(new_row_duals, least_in_columns)

    @cuda.jit(device=True)
    def repair(
        turn, level, due, delta, schedule, shape, matrix, duals, matching, lists, tree, front, log
    ):
        """Floats: small duals, and pairs that rounding has left loose are matched anew."""
        status = int32(SOLVED)
        for attempt in range(schedule.repairs + 1):
            if is_late(log, turn):
                return int32(EXPIRED)
            may_part = attempt < schedule.repairs and shape.square != 0
            turn = lifts(
                may_part, turn, due, schedule, shape, matrix, duals, matching, lists, tree, log
            )
            if free_rows(log, turn) == 0:
                break
            count(log, REPAIRS, 1)
            turn, level, status = phases(
                turn, level, due, delta, shape, matrix, duals, matching, lists, tree, front, log
            )
            if status != SOLVED:
                break
        return status

    @cuda.jit
    def assign(schedule, shape, matrix, duals, matching, lists, tree, front, log):
        """Solve an assignment problem whose costs lie in device memory.

        Launch: cooperative; blocks of a power of two threads, at least a warp.
        Reads/Writes: reads ``cost``, writes everything else.
        Race: those of the stages; barriers of the grid stand between them.
        """
        grid = cuda.cg.this_grid()
        work = Work(
            shape.n, shape.m, shape.square, shape.warps_a_row, shape.tile, shape.sample_step,
            shape.shift, cuda.shared.array(LARGEST_BLOCK, duals.v.dtype),
            cuda.shared.array(WARP, duals.v.dtype), cuda.shared.array(LARGEST_BLOCK, int32),
        )  # fmt: skip
        due = globaltimer() + log.limit
        clear(work, matrix, duals, matching, lists, tree, log)
        grid.sync()
        reduce_lines(work, matrix, duals, matching, tree, log)
        mean = divide(log.levels[SUM], max(int64(log.levels[NUMBER]), int64(1)))
        for _ in range(shape.shift):
            mean = mean + mean
        turn = bid_rounds(
            matrix.zero, mean, int32(0), schedule.start_rounds, int32(0), due, schedule, work,
            matrix, duals, matching, lists, tree, log,
        )  # fmt: skip
        many = int64(1000) * free_rows(log, turn) > int64(schedule.scale_above) * shape.n
        if shape.square != 0 and many:
            turn = scales(
                mean, turn, due, schedule, work, matrix, duals, matching, lists, tree, log
            )
        delta = divide(mean * schedule.delta, shape.n)
        turn, level, status = phases(
            turn, int32(0), due, delta, work, matrix, duals, matching, lists, tree, front, log
        )
        if floats and status == SOLVED:
            status = repair(
                turn, level, due, delta, schedule, work, matrix, duals, matching, lists, tree,
                front, log,
            )  # fmt: skip
        finish(status, log)

    return assign


SIGNATURE = (Schedule, Shape, Matrix, Duals, Matching, Lists, Tree, Front, Log)
"""Types that the kernels are compiled for, an entry an argument (`arguments`)."""
