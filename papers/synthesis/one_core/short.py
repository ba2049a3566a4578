"""The short way to an answer: rows in turn, and paths from the few that are left."""

from __future__ import annotations

from numba import njit

from papers.synthesis.one_core import steps
from papers.synthesis.one_core.monge import wants_sorting


@njit(**steps.JIT)
def short_way(matrix, v, u, column, row, free, most, sorts, top, away):
    """Match rows in turn from the empty matching, and the last ones by paths if they are few.

    One compiled function in place of several, and bounds that are found before a run, save a cold
    run of a small matrix a third of its time (`evidence/one_core_cold.csv`).

    Parameters
    ----------
    matrix, column, row
        As in `steps.take_in_turn`; the matching is written.
    v, u : dual[m], dual[n]
        Written; u only behind the paths.
    free : int64[n]
        Written: begins with the rows that are free before the paths.
    most : float
        Rows that paths are made for at most.
    sorts : bool
        Whether it ends with the empty matching where `monge.wants_sorting` says yes.
    top, away : dual
        As in `steps.shortest_paths`.

    Returns
    -------
    left, bids, scans : int
        Rows that the turns have left; without paths if they are more than `most`; -1 if lines want
        sorting. Scans as in `steps.shortest_paths`.
    slack, total : dual
        As in `steps.slack_of`; 0 without paths.
    """
    n, none = u.size, v.dtype.type(0)
    column[:] = -1
    row[:] = -1
    v[:] = 0
    for i in range(n):
        free[i] = i
    if n == 0:
        return 0, 0, 0, none, none
    if n == v.size:
        if sorts and wants_sorting(matrix):
            return -1, 0, 0, none, none
        steps.column_minima(matrix, v, top)
    left, bids = steps.take_in_turn(matrix, v, column, row, free, n, 4 * n, top)
    if left > most:
        return left, bids, 0, none, none
    scans = steps.shortest_paths(matrix, v, column, row, free, 0, left, top, away)
    if scans < 0:
        return left, bids, scans, none, none
    slack, total = steps.slack_of(matrix, v, u, column, top)
    return left, bids, scans, slack, total
