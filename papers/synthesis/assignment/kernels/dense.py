"""The launch: the reference's schedule, stage by stage; `integers` and `floats` make kernels of it.

A team solves the problem: the blocks of a grid, or one block (`team`).
Between two stages that hand on data stands a barrier of the team: 1 for the start, 2 a round of one
block or 4 an auction of a grid (`grid.chains`; the first of the opening one is the start's), 3 a
rescaling (a rectangle: 1), 4 where lines are sorted and 1 more if that solves the problem, 1 before
the phases and 4 a phase (a cluster: 3), 4 a lift of floats; and between two levels of a search one
of a block, or of a grid the exchange of reports (`grid.reports`).

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

from papers.common.gpu.memory_order import (
    load_relaxed_anywhere,
    store_relaxed_anywhere,
    store_release_system,
)
from papers.common.gpu.signals import PAYLOAD_BITS
from papers.kawtikwar_opts.kernels.clock import globaltimer
from papers.synthesis.assignment.kernels import (
    columns,
    rounds,
    rows,
    search,
    sorting,
    team,
)
from papers.synthesis.assignment.kernels.arguments import (
    AUCTIONS,
    FREE,
    FRONT,
    FRONT_CHUNK,
    LATE,
    LATE_LEVEL,
    LEAST,
    LOOSE,
    MARKS,
    NEAR,
    NUMBER,
    REACH,
    REPAIRS,
    RESCALINGS,
    SCALES,
    SIGNALS,
    SOLVED,
    SUM,
    SUMS,
    TEAM,
    UNDER_WAY,
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
from papers.synthesis.assignment.kernels.cluster import strips
from papers.synthesis.assignment.kernels.columns import OTHERS, fill, lift_columns
from papers.synthesis.assignment.kernels.grid import chains, levels, near, reports
from papers.synthesis.assignment.kernels.team import thread_of, threads_of
from papers.synthesis.assignment.kernels.words import (
    count,
    free_rows,
    hand_over,
    is_late,
    keep,
    prepare_turn,
)
from papers.synthesis.assignment.settings import LARGEST_BLOCK, WARP

FOREVER = 2**62
"""Nanoseconds: no limit of time."""


@cuda.jit(device=True)
def clear(shape, matrix, duals, matching, tree, front, log):
    """The state before a run, whatever the last one left.

    The first pass over the rows follows without a barrier, and reads none of it but words that the
    same thread has written.
    """
    for i in range(thread_of(shape), shape.n, threads_of(shape)):
        matching.column[i] = -1
        tree.row_claim[i] = 0
    for k in range(thread_of(shape), 2 * shape.n, threads_of(shape)):
        front.rows[k], front.start[k], front.base[k] = 0, 0, 0  # read ahead of a level's size
    for j in range(thread_of(shape), shape.m, threads_of(shape)):
        matching.row[j] = -1
        tree.column_claim[j] = 0
        duals.v[j] = 0
        duals.bid[j] = 0
    if thread_of(shape) == 0:
        for slot in range(3):
            for word in (FREE, LATE, FRONT, UNREACHED, LATE_LEVEL):
                store_relaxed_anywhere(log.words, word + slot, int32(0))
            log.levels[LEAST + slot] = matrix.top
            log.levels[REACH + slot] = search.nothing_reached(shape, matrix)
        log.levels[SUM] = 0
        log.levels[NUMBER] = 0
        for which in range(log.totals.size):
            log.totals[which] = 0


@cuda.jit(device=True)
def finish(status, log):
    """Tell the host how the run ended: the first thread."""
    if cuda.grid(1) == 0:
        sequence = int32(load_relaxed_anywhere(log.words, SIGNALS) + 1)
        store_relaxed_anywhere(log.words, SIGNALS, sequence)
        store_release_system(log.signal, 0, (int64(sequence) << PAYLOAD_BITS) | status)


@cuda.jit(device=True)
def mark_nothing(wanted, mean, schedule, shape, matrix, duals, log):
    """Mark nothing: it stands in kernels without marks in place of `near.marks_with`'s."""


def scales_with(
    rescale: Any, begin: Any, auction: Any, sum_of_sample: Any, divide: Any, meet: Any, mark: Any,
    sort: Any,
) -> Any:  # fmt: skip
    """Make `start_and_scales`.

    Parameters
    ----------
    rescale, auction, sum_of_sample, divide, meet, mark
        Steps of it.
    begin : device function
        Prepares the auction that opens.
    sort : device function
        What is tried before any scale (`sorting`).
    """

    @cuda.jit(device=True)
    def start_and_scales(due, schedule, shape, matrix, duals, matching, lists, tree, front, log):
        """The start, then rescalings and rounds for falling eps where many rows are free.

        One loop, so that every part of it is in the kernel once. The start is a rescaling of the
        empty matching to eps 0: row minima, and column minima of the rest.

        Returns
        -------
        turn : int32
        delta : D
            The width of a search's bucket.
        scaled : bool
            Whether scales were begun.
        """
        turn, last = int32(0), False
        eps, mean, floor = matrix.zero, matrix.zero, matrix.zero
        stop, most, width = schedule.start_stop, schedule.start_rounds, schedule.delta
        for stage in range(schedule.most_scales + 2):
            marks = schedule.near > 0 and (stage == 0 or last)
            if thread_of(shape) == 0:
                log.totals[NEAR] = 0
            turn = rescale(
                stage == 0, eps, turn, due, shape, matrix, duals, matching, lists, tree, log
            )
            if stage == 0:
                sum_of_sample(matrix.zero, shape, matrix, duals, log.levels)
                # The sample and the pairs need the duals alone: both are made behind one barrier.
                begin(free_rows(log, turn), shape, matrix, duals, matching, lists, front, log)
                meet()
                mean = divide(log.levels[SUM], max(int64(log.levels[NUMBER]), int64(1)))
                for _ in range(shape.shift):
                    mean = mean + mean
            mark(marks, mean, schedule, shape, matrix, duals, log)
            before = turn
            turn = auction(
                eps, mean, stop, most, stage == 0, turn, due, schedule, shape, matrix, duals,
                matching, lists, tree, front, log,
            )  # fmt: skip
            count(shape, log, AUCTIONS, turn != before)
            if stage == 0:
                if shape.square == 0 or free_rows(log, turn) <= schedule.many:
                    break
                if sort(turn, due, schedule, shape, matrix, duals, matching, lists, tree, log):
                    turn = int32(turn + 1)
                    break
                eps, floor = mean, divide(divide(mean, shape.n), shape.n)
                stop, most, width = schedule.stop, schedule.most_rounds, schedule.delta_scaled
            elif last:
                break
            else:
                eps = divide(eps, schedule.divisor)
                count(shape, log, SCALES, 1)
            if eps <= 0 or eps < floor or stage == schedule.most_scales or is_late(log, turn):
                last, eps = True, matrix.zero
                stop, most = int32(0), schedule.last_rounds
        return turn, divide(mean * width, shape.n), stage > 0

    return start_and_scales


def lifts_with(new_row_duals: Any, least_in_columns: Any, meet: Any) -> Any:
    """Make `lifts`, for floats."""

    @cuda.jit(device=True)
    def lifts(may_part, turn, due, schedule, shape, matrix, duals, matching, lists, tree, log):
        """Make the duals small, and part pairs that are loose, or count them; the next turn."""
        for lift in range(schedule.lifts):
            fill(tree.distance, shape.m, matrix.top, shape)
            meet()
            least_in_columns(OTHERS, shape, matrix, duals.u, matching.row, tree.distance)
            meet()
            lift_columns(matrix.zero, shape, duals, tree.distance)
            meet()
            last = lift == schedule.lifts - 1
            slack, loose_at = matrix.top, int32(LOOSE)
            if last:
                slack = matrix.loose
            new_row_duals(
                slack, not (last and may_part), True, turn, shape, matrix, duals, matching, lists,
                log, loose_at,
            )  # fmt: skip
            prepare_turn(shape, log, turn, due)
            count(shape, log, RESCALINGS, 1)
            meet()
            turn = int32(turn + 1)
        return turn

    return lifts


def repair_with(
    phases: Any, new_row_duals: Any, least_in_columns: Any, meet: Any, floats: bool
) -> Any:
    """Make `match_and_repair`."""
    lifts = lifts_with(new_row_duals, least_in_columns, meet)

    @cuda.jit(device=True)
    def match_and_repair(
        turn, delta, due, schedule, shape, matrix, duals, matching, lists, tree, front, log
    ):
        """Exact phases; of floats small duals, and phases anew for pairs that are loose."""
        level, status = int32(0), int32(SOLVED)
        for attempt in range(schedule.repairs + 1):
            turn, level, status = phases(
                turn, level, due, delta, shape, matrix, duals, matching, lists, tree, front, log
            )
            if status != SOLVED or not floats:
                break
            may_part = attempt < schedule.repairs and shape.square != 0
            if cuda.threadIdx.x == 0:  # the columns' duals may rise; barriers are within
                shape.marked[near.MARKED] = 0
            turn = lifts(
                may_part, turn, due, schedule, shape, matrix, duals, matching, lists, tree, log
            )
            if free_rows(log, turn) == 0:
                break
            count(shape, log, REPAIRS, 1)
        return status

    return match_and_repair


def solve_with(
    loads: int, floats: bool, divide: Callable, scaled: Callable, alone: bool, marks: int,
    sorts: bool,
) -> Any:  # fmt: skip
    """Make `solve`, all of a run but its ends, for integers or for floats.

    Parameters
    ----------
    loads : int
        Costs that a thread loads before it looks at the first of them.
    floats : bool
        Whether rounding is repaired at the end.
    divide : device function (value, int32) -> value
    scaled : device function (value, bits) -> value
        Makes values small enough to be added up.
    alone : bool
        Whether the team is one block.
    marks : int
        What goes by marks of near pairs, if any are made (`near`): NOTHING, BIDS or SEARCHES, too.
    sorts : bool
        Whether lines are sorted before scales (`sorting`), for which `Work.firsts` and `places`
        have to have a word a thread.

    Returns
    -------
    device function
    """
    meet = team.meet_with(alone)
    two_least = rows.two_least_with(loads, floats)
    least_in_columns = columns.least_with(2 * loads)
    new_row_duals = rounds.row_duals_with(rows.least_with(2 * loads, floats), 2 * loads)
    if alone:
        begin = rounds.begin_rounds
        auction = rounds.rounds_with(rounds.bids_with(two_least, loads), meet)
    else:
        begin = chains.begin_chains
        auction = chains.chains_with(loads, floats, marks >= near.BIDS)
    start_and_scales = scales_with(
        rounds.rescale_with(new_row_duals, least_in_columns, meet),
        begin,
        auction,
        columns.sum_with(scaled),
        divide,
        meet,
        near.marks_with(2 * loads, divide, meet) if marks else mark_nothing,
        sorting.sort_with(meet) if sorts else sorting.sort_nothing,
    )
    if alone:
        relax = search.relax_alone_with(loads, floats)
        phases = search.phases_with(search.search_alone_with(relax), meet)
    else:
        searches = marks >= near.SEARCHES
        relax = levels.relax_with(loads, floats, searches)
        phases = search.phases_with(levels.search_with(relax, floats, searches), meet)
    match_and_repair = repair_with(phases, new_row_duals, least_in_columns, meet, floats)

    @cuda.jit(device=True)
    def solve(due, schedule, shape, matrix, duals, matching, lists, tree, front, log):
        """Solve one problem by one team; the end (`arguments.Status`)."""
        clear(shape, matrix, duals, matching, tree, front, log)
        if not alone:
            reports.clear_reports(shape, matrix, front)
        turn, delta, scaled = start_and_scales(
            due, schedule, shape, matrix, duals, matching, lists, tree, front, log
        )
        if not alone and schedule.cluster != 0:
            fits = schedule.cluster_unscaled == 0 or (not scaled and delta > 0)
            if fits and free_rows(log, turn) > 0:
                hand_over(turn, delta, due, shape, log)
                return int32(UNDER_WAY)
            keep(shape, log)
        return match_and_repair(
            turn, delta, due, schedule, shape, matrix, duals, matching, lists, tree, front, log
        )

    return solve


def assign_with(
    loads: int,
    floats: bool,
    divide: Callable,
    scaled: Callable,
    alone: bool = False,
    marks: int = near.NOTHING,
) -> Any:
    """Make the kernel for one problem; see `solve_with`.

    Returns
    -------
    numba.cuda dispatcher
        The kernel ``assign``.
    """
    solve = solve_with(loads, floats, divide, scaled, alone, marks, not floats)
    chunk = FRONT_CHUNK if alone else reports.chunk_of(floats)
    started = chunk if floats else 1
    seconds = LARGEST_BLOCK if marks >= near.SEARCHES else WARP

    @cuda.jit
    def assign(schedule, shape, matrix, duals, matching, lists, tree, front, log):
        """Solve an assignment problem whose costs lie in device memory.

        Paper: none; as `papers.synthesis.assignment.reference`.
        Launch: cooperative, or one block; blocks of a power of two threads, at least a warp.
        Reads/Writes: reads ``cost``, writes everything else.
        Race: those of the stages; barriers of the team stand between them.
        """
        blocks, threads = int32(cuda.gridDim.x), int32(cuda.blockDim.x)
        workers = reports.workers_of(shape.m, shape.tile, blocks, threads)
        work = Work(
            shape.n, shape.m, shape.square, shape.warps_a_row, shape.tile, shape.sample_step,
            shape.shift, int32(cuda.blockIdx.x), blocks,
            cuda.shared.array(LARGEST_BLOCK, duals.v.dtype),
            cuda.shared.array(seconds, duals.v.dtype), cuda.shared.array(LARGEST_BLOCK, int32),
            cuda.shared.array(chunk, duals.v.dtype),
            cuda.shared.array(started, duals.v.dtype), cuda.shared.array(chunk, int32),
            int32(cuda.ffs(shape.tile) - 1), workers,
            reports.pairs_of(shape.m, shape.tile, workers),
            cuda.shared.array(WARP, duals.v.dtype), cuda.shared.array(WARP, duals.v.dtype),
            cuda.shared.array(SUMS, int32), cuda.shared.array(TEAM, int32),
            cuda.shared.array(MARKS, int32),
        )  # fmt: skip
        due = globaltimer() + log.limit
        status = solve(due, schedule, work, matrix, duals, matching, lists, tree, front, log)
        if status != UNDER_WAY:
            finish(status, log)

    return assign


SIGNATURE = (Schedule, Shape, Matrix, Duals, Matching, Lists, Tree, Front, Log)
"""Types that the kernels are compiled for, an entry an argument (`arguments`)."""


def ways(
    assign_with: Callable[..., Any], conclude_with: Callable[..., Any]
) -> dict[str, Callable[[], Any]]:
    """Return the makers of the kernels of one type that tests compile, by name."""
    return {
        "assign": lambda: assign_with(8),
        "alone": lambda: assign_with(8, True),
        "marked": lambda: assign_with(8, marks=near.SEARCHES),
        "conclude": lambda: conclude_with(8),
        "whole": lambda: conclude_with(8, strips.WHOLE),
    }
