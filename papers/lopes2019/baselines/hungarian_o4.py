"""The O(n^4) Hungarian algorithm on one CPU core: the "C" column of [L19 Table 1].

One function a step, named after it, on the arrays of [L19 sec.4.1]. As in the paper the slack
matrix is stored column by column; the caller's C-contiguous rows are taken as the paper's columns
(the problem is symmetric), so ``slack[c, r]`` below is row ``r`` of column ``c``, and nothing is
transposed.

The authors did not publish their C code. This one is the same algorithm, with what a careful
programmer would add on a CPU, none of which changes an iteration:

- the zeros are compressed, as on the GPU, into one list a column (`Workspace.zeros`): step 4 then
  reads zeros, not the matrix;
- step 4 takes the zeros in scan order: uncovered columns first in, first out, the zeros of a column
  by row number. It processes one path at a time: the first primed zero without a star in its row
  ends the search, and step 5 augments that one path. So there is one iteration of step 5, and one
  of step 3, a path (the GPU finds several paths in one);
- step 6 writes every entry that changes, in vectorizable sweeps over whole columns. It reads only
  uncovered columns for the minimum, and leaves covered columns alone while no row is covered: no
  entry of theirs changes then. New zeros appear in uncovered columns only and vanish from covered
  ones only, so the lists are mended rather than rebuilt.

Signed integers hold the slack without overflow as long as ``2 * max(cost)`` fits: the duals stay
within ``max(cost)`` (see `papers.common.problems.assignment`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

# No reassociation: only what lets a minimum of finite doubles be vectorized.
_JIT: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": {"nnan", "nsz"}}
_BLOCK = 256  # entries swept before the sweep asks whether there was a zero among them

STEPS = ("step_1", "step_2", "step_3", "step_4", "step_5", "step_6")
COUNTERS = (
    "iterations_step_3",
    "iterations_step_4",
    "iterations_step_5",
    "iterations_step_6",
    "zeros_initial",
    "matches_initial",
)
_STEP_3, _STEP_4, _STEP_5, _STEP_6, _ZEROS, _MATCHES = range(6)


class Workspace(NamedTuple):
    """Everything the steps share; T is the working type, n the order, c = n but for rectangles.

    ``row_cover[r]`` is 0 for an uncovered row and T's largest value for a covered one, so that
    ``max(slack, row_cover)`` is the slack of uncovered entries. -1 stands for "none".
    """

    cost: np.ndarray  # T[c, n], column by column; never written
    slack: np.ndarray  # T[c, n]
    zeros: np.ndarray  # int32[c, n]: rows of the zeros of column c in zeros[c, :zeros_size[c]]
    zeros_size: np.ndarray  # int32[c]
    row_cover: np.ndarray  # T[n]
    column_cover: np.ndarray  # bool[c]
    row_of_star_at_column: np.ndarray  # int32[c]
    column_of_star_at_row: np.ndarray  # int32[n]
    column_of_prime_at_row: np.ndarray  # int32[n]
    open_columns: np.ndarray  # int32[c]: uncovered columns that step 4 has still to scan
    open_size: np.ndarray  # int32[1]
    row_dual: np.ndarray  # int64[n] or float64[n]
    column_dual: np.ndarray  # int64[c] or float64[c]
    change: np.ndarray  # T[2, n]: a sweep adds it to a column or takes it from it
    limit: np.ndarray  # T[1]: T's largest value
    counters: np.ndarray  # int64[6], in the order of COUNTERS


def allocate(matrix: np.ndarray) -> Workspace:
    """Allocate the workspace for a C-contiguous int32, int64 or float64 matrix.

    A rectangle has fewer lines (the paper's columns) than entries in a line; see
    `papers.lopes2019.rectangle` for the one line of padding that it needs.
    """
    (columns, rows), t = matrix.shape, matrix.dtype
    wide = np.float64 if t.kind == "f" else np.int64
    limit = np.inf if t.kind == "f" else np.iinfo(t).max
    return Workspace(
        cost=matrix,
        slack=np.empty_like(matrix),
        zeros=np.empty((columns, rows), np.int32),
        zeros_size=np.empty(columns, np.int32),
        row_cover=np.empty(rows, t),
        column_cover=np.empty(columns, np.bool_),
        row_of_star_at_column=np.empty(columns, np.int32),
        column_of_star_at_row=np.empty(rows, np.int32),
        column_of_prime_at_row=np.empty(rows, np.int32),
        open_columns=np.empty(columns, np.int32),
        open_size=np.zeros(1, np.int32),
        row_dual=np.empty(rows, wide),
        column_dual=np.empty(columns, wide),
        change=np.empty((2, rows), t),
        limit=np.array([limit], t),
        counters=np.zeros(len(COUNTERS), np.int64),
    )


# --------------------------------------------------------------------------- sweeps


@njit(**_JIT)
def _lower(into: np.ndarray, column: np.ndarray) -> None:
    """Entrywise minimum: ``into = min(into, column)``."""
    for r in range(into.size):
        into[r] = column[r] if column[r] < into[r] else into[r]


@njit(**_JIT)
def _least_uncovered(column: np.ndarray, row_cover: np.ndarray, least: Any) -> Any:
    """Least of `least` and the column's entries in uncovered rows."""
    for r in range(column.size):
        entry = column[r] if column[r] > row_cover[r] else row_cover[r]
        least = entry if entry < least else least
    return least


@njit(**_JIT)
def _subtract(into: np.ndarray, column: np.ndarray, change: np.ndarray, least: Any) -> Any:
    """``into = column - change``; returns the least of `least` and the result."""
    for r in range(into.size):
        entry = into.dtype.type(column[r] - change[r])
        into[r] = entry
        least = entry if entry < least else least
    return least


@njit(**_JIT)
def _take(column: np.ndarray, change: np.ndarray, row_cover: np.ndarray, least: Any) -> Any:
    """``column -= change``; returns the least of `least` and the result in uncovered rows."""
    for r in range(column.size):
        entry = column.dtype.type(column[r] - change[r])
        column[r] = entry
        entry = entry if entry > row_cover[r] else row_cover[r]
        least = entry if entry < least else least
    return least


@njit(**_JIT)
def _add(column: np.ndarray, change: np.ndarray) -> None:
    for r in range(column.size):
        column[r] += change[r]


@njit(**_JIT)
def _lower_by(column: np.ndarray, less: Any) -> None:
    for r in range(column.size):
        column[r] -= less


@njit(**_JIT)
def _append_zeros(
    column: np.ndarray, row_cover: np.ndarray, first: int, zeros: np.ndarray, size: int
) -> int:
    """Append ``first + r`` for every zero of a block of a column in an uncovered row ``r``."""
    for r in range(column.size):
        if column[r] == 0 and row_cover[r] == 0:
            zeros[size] = first + r
            size += 1
    return size


@njit(**_JIT)
def _collect_zeros(
    column: np.ndarray, change: np.ndarray, row_cover: np.ndarray, zeros: np.ndarray, size: int
) -> int:
    """``column -= change``, and append the zeros in uncovered rows; returns the new size.

    In blocks, because the search for zeros is scalar and most blocks have none.
    """
    n = column.size
    limit = row_cover.dtype.type(1)
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        block, cover = column[first:last], row_cover[first:last]
        if _take(block, change[first:last], cover, limit) == 0:
            size = _append_zeros(block, cover, first, zeros, size)
    return size


# --------------------------------------------------------------------------- the steps


@njit(**_JIT)
def step_1(w: Workspace) -> None:
    """Subtract the row minimum from each row, then the column minimum from each column.

    Paper: [L19 step 1].
    """
    n = w.slack.shape[0]
    least = w.change[0]
    w.counters[:] = 0
    w.row_cover[:] = 0
    least[:] = w.cost[0]
    for c in range(1, n):
        _lower(least, w.cost[c])
    w.row_dual[:] = least
    for c in range(n):
        column_min = _subtract(w.slack[c], w.cost[c], least, w.limit[0])
        w.column_dual[c] = column_min
        if column_min != 0:
            _lower_by(w.slack[c], column_min)


@njit(**_JIT)
def compress(w: Workspace) -> None:
    """List the zeros of every column: the last kernel of step 6, here after step 1 [L19 Alg.7].

    A pass of its own, as on the GPU, and counted to step 6, as the paper counts it.
    """
    limit = w.row_cover.dtype.type(1)
    for c in range(w.slack.shape[0]):
        size = 0
        for first in range(0, w.slack.shape[1], _BLOCK):
            last = min(first + _BLOCK, w.slack.shape[1])
            block, cover = w.slack[c, first:last], w.row_cover[first:last]
            if _least_uncovered(block, cover, limit) == 0:
                size = _append_zeros(block, cover, first, w.zeros[c], size)
        w.zeros_size[c] = size
        w.counters[_ZEROS] += size


@njit(**_JIT)
def step_2(w: Workspace) -> None:
    """Star each zero that has no starred zero in its row or column [L19 step 2]."""
    w.row_of_star_at_column[:] = -1
    w.column_of_star_at_row[:] = -1
    for c in range(w.slack.shape[0]):
        for z in range(w.zeros_size[c]):
            r = w.zeros[c, z]
            if w.column_of_star_at_row[r] < 0:
                w.column_of_star_at_row[r] = c
                w.row_of_star_at_column[c] = r
                w.counters[_MATCHES] += 1
                break


@njit(**_JIT)
def step_3(w: Workspace) -> int:
    """Cover each column with a starred zero; returns how many [L19 step 3].

    Uncovers all rows and erases the primes, which the paper counts into step 5.
    """
    w.counters[_STEP_3] += 1
    w.row_cover[:] = 0
    w.column_of_prime_at_row[:] = -1
    n = w.slack.shape[0]
    uncovered = 0
    for c in range(n):
        w.column_cover[c] = w.row_of_star_at_column[c] >= 0
        if not w.column_cover[c]:
            w.open_columns[uncovered] = c
            uncovered += 1
    w.open_size[0] = uncovered
    return n - uncovered


@njit(**_JIT)
def step_4(w: Workspace) -> int:
    """Prime uncovered zeros until a row without a star is reached, or none is left.

    Paper: [L19 step 4]. Returns that row (go to step 5) or -1 (go to step 6).
    """
    w.counters[_STEP_4] += 1
    scanned, size = 0, w.open_size[0]
    while scanned < size:
        c = w.open_columns[scanned]
        scanned += 1
        for z in range(w.zeros_size[c]):
            r = w.zeros[c, z]
            if w.row_cover[r] != 0:
                continue
            w.column_of_prime_at_row[r] = c
            star = w.column_of_star_at_row[r]
            if star < 0:
                return r
            w.row_cover[r] = w.limit[0]
            w.column_cover[star] = False
            # Covered until now, so not yet in the queue: it never holds more than n columns.
            w.open_columns[size] = star
            size += 1
    return -1


@njit(**_JIT)
def step_5(w: Workspace, r: int) -> bool:
    """Exchange primes and stars along the path from the unstarred row `r`.

    Paper: [L19 step 5]. A prime leads to its column, the star there to the next row.
    Returns False if the path has no end, which would be an error elsewhere.
    """
    w.counters[_STEP_5] += 1
    for _ in range(w.slack.shape[0]):
        c = w.column_of_prime_at_row[r]
        row_of_star = w.row_of_star_at_column[c]
        w.column_of_star_at_row[r] = c
        w.row_of_star_at_column[c] = r
        if row_of_star < 0:
            return True
        r = row_of_star
    return False


@njit(**_JIT)
def step_6(w: Workspace) -> None:
    """Subtract the least uncovered slack from uncovered entries, add it to doubly covered ones.

    Paper: [L19 step 6] [L19 Alg.5] [L19 Alg.6] [L19 Alg.7]. Leaves in `open_columns` the columns
    with a new zero, which are the only ones that step 4 has to look at again.
    """
    w.counters[_STEP_6] += 1
    n = w.slack.shape[0]
    least = w.limit[0]
    for c in range(n):
        if not w.column_cover[c]:
            least = _least_uncovered(w.slack[c], w.row_cover, least)
    covered = _set_change(w, least)
    w.open_size[0] = 0
    for c in range(n):
        size = w.zeros_size[c]
        if not w.column_cover[c]:
            w.column_dual[c] += least
            size = _collect_zeros(w.slack[c], w.change[0], w.row_cover, w.zeros[c], size)
            if size > w.zeros_size[c]:
                w.open_columns[w.open_size[0]] = c
                w.open_size[0] += 1
        elif covered:
            _add(w.slack[c], w.change[1])
            size = _drop_covered(w.zeros[c], size, w.row_cover)
        w.zeros_size[c] = size


@njit(**_JIT)
def _set_change(w: Workspace, least: Any) -> int:
    """Set step 6's changes of uncovered and of covered columns; returns the covered rows."""
    covered = 0
    for r in range(w.row_cover.size):
        is_covered = w.row_cover[r] != 0
        w.change[0, r] = 0 if is_covered else least
        w.change[1, r] = least if is_covered else 0
        w.row_dual[r] -= w.change[1, r]
        covered += is_covered
    return covered


@njit(**_JIT)
def _drop_covered(zeros: np.ndarray, size: int, row_cover: np.ndarray) -> int:
    """Remove the zeros in covered rows from a covered column's list; returns the new size."""
    kept = 0
    for z in range(size):
        if row_cover[zeros[z]] == 0:
            zeros[kept] = zeros[z]
            kept += 1
    return kept


# --------------------------------------------------------------------------- the loop


_clock_gettime = types.ExternalFunction(
    "clock_gettime", types.int32(types.int32, types.CPointer(types.int64))
)
_MONOTONIC = getattr(time, "CLOCK_MONOTONIC", -1)
CAN_TIME_STEPS = _MONOTONIC >= 0
"""True where compiled code can read a clock (POSIX); a call takes some 30 ns."""


@njit(**_JIT)
def _lap(timed: bool, spent: np.ndarray, visits: np.ndarray, step: int, since: Any) -> Any:
    """Charge the time since `since` to a step and return the present time, in ns."""
    if not timed:
        return since
    pair = np.empty(2, np.int64)  # seconds, nanoseconds
    _clock_gettime(_MONOTONIC, pair.ctypes)
    now = pair[0] * 1_000_000_000 + pair[1]
    if step > 0:
        spent[step - 1] += now - since
        visits[step - 1] += 1
    return now


@njit(**_JIT)
def _drive(w: Workspace, timed: bool, spent: np.ndarray, visits: np.ndarray) -> bool:
    """Run the flow chart of [L19 Fig.1]; False if it has not ended after its worst case.

    Each step 5 adds a star, and each step 6 of one search covers at least one more row: n + 1
    searches of n + 1 rounds are enough.
    """
    n = w.slack.shape[0]
    if n == 0:
        return True
    since = _lap(timed, spent, visits, 0, np.int64(0))
    step_1(w)
    since = _lap(timed, spent, visits, 1, since)
    compress(w)
    since = _lap(timed, spent, visits, 6, since)
    step_2(w)
    since = _lap(timed, spent, visits, 2, since)
    for _ in range(n + 1):
        stars = step_3(w)
        since = _lap(timed, spent, visits, 3, since)
        if stars == n:
            return True
        row = step_4(w)
        since = _lap(timed, spent, visits, 4, since)
        rounds = 0
        while row < 0:
            if rounds > n:
                return False
            step_6(w)
            since = _lap(timed, spent, visits, 6, since)
            row = step_4(w)
            since = _lap(timed, spent, visits, 4, since)
            rounds += 1
        ended = step_5(w, row)
        since = _lap(timed, spent, visits, 5, since)
        if not ended:
            return False
    return False


def hungarian(w: Workspace) -> bool:
    """Solve; False if it has not ended after its worst case."""
    nothing = np.zeros(0, np.int64)
    return bool(_drive(w, False, nothing, nothing))


def hungarian_timed(w: Workspace, add: Callable[[str, float, int], None]) -> bool:
    """As `hungarian`; afterwards ``add(step, milliseconds, visits)`` is called for each step.

    The clock is read by the compiled code, so no call from Python is charged to a step.
    """
    spent, visits = np.zeros(len(STEPS), np.int64), np.zeros(len(STEPS), np.int64)
    ended = bool(_drive(w, True, spent, visits))
    for step, ns, count in zip(STEPS, spent.tolist(), visits.tolist(), strict=True):
        add(step, ns / 1e6, count)
    return ended


def run_steps(
    w: Workspace, trace: Callable[[str], None], look: Callable[[], None] = lambda: None
) -> bool:
    """Do what `hungarian` does from Python, and call ``trace(name)`` before each step.

    Before each step 4, ``look()`` is called as well: it may raise, to end the run.
    """
    n = w.slack.shape[0]
    if n == 0:
        return True
    for name, step in (("step_1", step_1), ("step_6", compress), ("step_2", step_2)):
        trace(name)
        step(w)
    for _ in range(n + 1):
        trace("step_3")
        if step_3(w) == n:
            return True
        row = _traced_search(w, trace, look)
        if row < 0:
            return False
        trace("step_5")
        if not step_5(w, row):
            return False
    return False


def _traced_search(w: Workspace, trace: Callable[[str], None], look: Callable[[], None]) -> int:
    """Steps 4 and 6 until a path ends; returns its row, or -1 if none did in n + 1 rounds."""
    for _ in range(w.slack.shape[0] + 1):
        look()
        trace("step_4")
        row = int(step_4(w))
        if row >= 0:
            return row
        trace("step_6")
        step_6(w)
    return -1
