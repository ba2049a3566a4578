"""Auction rounds and rescaling: the steps that make a new list of free rows."""

from __future__ import annotations

from typing import Any

from numba import cuda, int32, int64

from papers.common.gpu.memory_order import store_relaxed_anywhere
from papers.synthesis.assignment.kernels.arguments import BIDS, FREE, RESCALINGS, ROUNDS
from papers.synthesis.assignment.kernels.columns import FREE_ONLY, fill, raise_free_columns
from papers.synthesis.assignment.kernels.rows import (
    column_at,
    first_tile,
    group_of,
    leads,
    log_warps,
    row_dual,
)
from papers.synthesis.assignment.kernels.team import thread_of, threads_of
from papers.synthesis.assignment.kernels.words import (
    count,
    free_rows,
    is_late,
    place_for,
    prepare_turn,
)


def bids_with(two_least: Any, loads: int) -> Any:
    """Make `make_bids` from `rows.two_least`."""

    @cuda.jit(device=True)
    def make_bids(eps, mean, turn, free, shape, matrix, duals, matching, lists):
        """Every free row bids for its nearest column so much that the second nearest is eps nearer.

        Race: bids for a column meet in an atomic minimum; the lowest stays, whoever comes first.
        """
        power = log_warps(shape, free, loads)
        group, groups = group_of(power, shape)
        half = int32((turn & 1) * shape.n)
        for base in range(0, free, groups):
            k = int32(base + group)
            row = int32(-1)
            if k < free:
                row = lists.rows[half + k]
            first, place, second = two_least(shape, matrix, duals.v, matching.row, row, turn, power)
            if row >= 0 and leads(power):
                lists.column[k] = -1
                if first < matrix.top:
                    column = column_at(place, row, first_tile(row, turn, shape.m), shape.m)
                    fall = mean
                    if second < matrix.top:
                        fall = second - first
                    offer = duals.v[column] - fall - eps
                    lists.column[k] = column
                    lists.offer[k] = offer
                    cuda.atomic.min(duals.bid, column, offer)

    return make_bids


@cuda.jit(device=True)
def take_bids(turn, free, shape, matrix, duals, matching, lists, tree, log):
    """Each column takes its lowest bid; losers and displaced rows make the next list.

    Race: of equal bids the one whose exchange comes first wins. Only a winner touches its column,
    its own row and the displaced one, which does not bid. The others have read the column's row,
    before or after the winner's store, in vain.
    """
    half, other = int32((turn & 1) * shape.n), int32((turn + 1 & 1) * shape.n)
    width = int32(cuda.blockDim.x)
    for start in range(int32(shape.block * width), free, threads_of(shape)):
        k = int32(start + cuda.threadIdx.x)
        stays = int32(-1)
        if k < free:
            row, column, offer = lists.rows[half + k], lists.column[k], lists.offer[k]
            stays = row
            if column >= 0 and offer == duals.bid[column]:
                # Loaded ahead of the exchange, which only one of equal bidders wins.
                displaced = matching.row[column]
                cost = matrix.cost[int64(row) * shape.m + column]
                if cuda.atomic.exch(tree.column_claim, column, turn + 1) != turn + 1:
                    stays = displaced
                    if stays >= 0:
                        matching.column[stays] = -1
                    matching.row[column] = row
                    matching.column[row] = column
                    duals.v[column] = offer
                    duals.u[row] = cost - offer
        place = place_for(stays >= 0, log.words, FREE + (turn + 1) % 3)
        if stays >= 0:
            lists.rows[other + place] = stays


@cuda.jit(device=True)
def begin_rounds(free, shape, matrix, duals, matching, lists, front, log):
    """Rounds need no preparation: it stands where a grid has `chains.begin_chains`."""


def rounds_with(make_bids: Any, meet: Any) -> Any:
    """Make `rounds` from `make_bids` and the team's barrier."""

    @cuda.jit(device=True)
    def rounds(
        eps, mean, stop, most, opening, turn, due, schedule, shape, matrix, duals, matching, lists,
        tree, front, log,
    ):  # fmt: skip
        """Rounds until at most `stop` rows are free, their number stalls, or there were `most`.

        They take no notice of whether they are the `opening`, nor of the front (see `chains`).

        Returns
        -------
        int32
            The turn whose list of free rows is the present one.
        """
        before = int32(0)
        for done in range(most):
            free, late = free_rows(log, turn), is_late(log, turn)
            if free <= stop or late:
                break
            if done % schedule.stall_rounds == 0:
                # The first round has nothing to be compared with.
                fallen = int64(1000) * (before - free)
                if done > 0 and fallen < int64(schedule.stall_share) * before:
                    break
                before = free
            make_bids(eps, mean, turn, free, shape, matrix, duals, matching, lists)
            meet()
            take_bids(turn, free, shape, matrix, duals, matching, lists, tree, log)
            prepare_turn(shape, log, turn, due)
            count(shape, log, ROUNDS, 1)
            count(shape, log, BIDS, free)
            meet()
            turn = int32(turn + 1)
        return turn

    return rounds


def row_duals_with(least_of_row: Any, loads: int) -> Any:
    """Make `new_row_duals` from `rows.least_of_row`."""

    @cuda.jit(device=True)
    def new_row_duals(
        eps, keep_all, v_counts, turn, shape, matrix, duals, matching, lists, log, loose_at
    ):
        """Row duals from the column duals; pairs with a larger slack than eps go.

        Without duals v nobody has a column yet, and all rows are free, in their order: nothing that
        was cleared is read then. A pair that stays lends its row the dual that makes it tight
        (unless `keep_all`, of floats:
        there the least dual stays, and loose pairs are counted in ``totals[loose_at]``).
        Rows that are free make the list of the next turn.

        Race: rows that look for their least ``c - v`` see columns before or after these are freed,
        which decides about a place only, and nobody looks at it here.
        """
        power = log_warps(shape, shape.n, loads)
        group, groups = group_of(power, shape)
        other = int32((turn + 1 & 1) * shape.n)
        for base in range(0, shape.n, groups):
            row = int32(base + group)
            if row >= shape.n:
                row = int32(-1)
            least = least_of_row(v_counts, shape, matrix, duals.v, row, power)
            if row >= 0 and leads(power):
                dual = row_dual(least, matrix.top)
                column = int32(-1)
                if v_counts:
                    column = matching.column[row]
                if column >= 0:
                    tight = matrix.cost[int64(row) * shape.m + column] - duals.v[column]
                    if tight - dual <= eps:
                        if loose_at < 0:
                            dual = tight
                    elif keep_all:
                        cuda.atomic.add(log.totals, loose_at, 1)
                    else:
                        matching.column[row] = -1
                        matching.row[column] = -1
                        column = int32(-1)
                duals.u[row] = dual
                if column < 0:
                    place = int32(row)
                    if v_counts:
                        place = int32(cuda.atomic.add(log.words, FREE + (turn + 1) % 3, 1))
                    lists.rows[other + place] = row

    return new_row_duals


def rescale_with(new_row_duals: Any, least_in_columns: Any, meet: Any) -> Any:
    """Make `rescale` from the passes over rows and columns, and the team's barrier."""

    @cuda.jit(device=True)
    def rescale(first, eps, turn, due, shape, matrix, duals, matching, lists, tree, log):
        """New row duals, pairs that are no longer near go, free columns rise; the next turn.

        The `first` one meets duals v that are all 0, and no barrier has followed `dense.clear`.
        """
        fill(tree.distance, shape.m, matrix.top, shape)
        if first and thread_of(shape) == 0:
            store_relaxed_anywhere(log.words, FREE + (turn + 1) % 3, int32(shape.n))
        new_row_duals(
            eps, False, not first, turn, shape, matrix, duals, matching, lists, log, int32(-1)
        )
        prepare_turn(shape, log, turn, due)
        count(shape, log, RESCALINGS, 1)
        meet()
        if shape.square != 0:  # a rectangle's columns stay at 0 until they are taken
            least_in_columns(FREE_ONLY, shape, matrix, duals.u, matching.row, tree.distance)
            meet()
            raise_free_columns(eps, shape, matrix, duals, matching.row, tree.distance)
            meet()
        return int32(turn + 1)

    return rescale
