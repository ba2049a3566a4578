"""Algorithms 1 to 9 in turn on one CPU core: the "C" column of [L19 Table 1], as print reads.

The paper compares its kernels with "a similar C/CPU implementation" [L19 sec.5] and does not give
its source. This is what the words say: each kernel as a loop over the elements that its threads
have, on the arrays of [L19 sec.4.1], one list of zeros, no vector instructions (the loops carry
row and column with them). Step 4 sweeps over the zeros until a sweep finds none or ends a path, so
one search finds many paths, which step 5 marks green and applies. Our own code for the same
algorithm, `hungarian_o4`, makes a dual update several times faster; deviation D11 measures it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from papers.lopes2019.baselines.hungarian_o4 import COUNTERS, STEPS, _lap

_JIT: dict[str, Any] = {"cache": True, "nogil": True}
_STEP_3, _STEP_4, _STEP_5, _STEP_6, _ZEROS, _MATCHES = range(6)


class Workspace(NamedTuple):
    """The arrays of [L19 sec.4.1]; T is the working type, n the order. -1 stands for "none"."""

    cost: np.ndarray  # T[n, n], column by column; never written
    slack: np.ndarray  # T[n * n]: entry (row, column) at column * n + row
    zeros: np.ndarray  # int32[n * n]
    zeros_size: np.ndarray  # int64[1]
    covered_row: np.ndarray  # bool[n]
    covered_column: np.ndarray  # bool[n]
    row_of_star_at_column: np.ndarray  # int32[n]
    column_of_star_at_row: np.ndarray  # int32[n]
    column_of_prime_at_row: np.ndarray  # int32[n]
    row_of_green_at_column: np.ndarray  # int32[n]
    row_dual: np.ndarray  # int64[n] or float64[n]
    column_dual: np.ndarray  # int64[n] or float64[n]
    limit: np.ndarray  # T[1]: T's largest value
    counters: np.ndarray  # int64[6], in the order of COUNTERS


def allocate(matrix: np.ndarray) -> Workspace:
    """Allocate the workspace for a square C-contiguous int32, int64 or float64 matrix."""
    n, t = matrix.shape[0], matrix.dtype
    wide = np.float64 if t.kind == "f" else np.int64
    limit = np.inf if t.kind == "f" else np.iinfo(t).max
    return Workspace(
        cost=matrix,
        slack=np.empty(n * n, t),
        zeros=np.empty(n * n, np.int32),
        zeros_size=np.zeros(1, np.int64),
        covered_row=np.empty(n, np.bool_),
        covered_column=np.empty(n, np.bool_),
        row_of_star_at_column=np.empty(n, np.int32),
        column_of_star_at_row=np.empty(n, np.int32),
        column_of_prime_at_row=np.empty(n, np.int32),
        row_of_green_at_column=np.empty(n, np.int32),
        row_dual=np.empty(n, wide),
        column_dual=np.empty(n, wide),
        limit=np.array([limit], t),
        counters=np.zeros(len(COUNTERS), np.int64),
    )


@njit(**_JIT)
def step_1(w: Workspace) -> None:
    """Subtract the row minima, then the column minima [L19 step 1] [L19 Alg.8] [L19 Alg.9]."""
    n = w.row_dual.size
    w.counters[:] = 0
    row_min = np.full(n, w.limit[0])
    column_min = np.full(n, w.limit[0])
    costs = w.cost.ravel()
    row, column = 0, 0
    for i in range(n * n):
        if costs[i] < row_min[row]:
            row_min[row] = costs[i]
        row += 1
        if row == n:
            row = 0
    for i in range(n * n):
        entry = costs[i] - row_min[row]
        w.slack[i] = entry
        if entry < column_min[column]:
            column_min[column] = entry
        row += 1
        if row == n:
            row = 0
            column += 1
    row, column = 0, 0
    for i in range(n * n):
        w.slack[i] -= column_min[column]
        row += 1
        if row == n:
            row = 0
            column += 1
    w.row_dual[:] = row_min
    w.column_dual[:] = column_min


@njit(**_JIT)
def compress(w: Workspace) -> None:
    """List the positions of all zeros: step 6's last kernel [L19 Alg.7]."""
    size = 0
    for i in range(w.slack.size):
        if w.slack[i] == 0:
            w.zeros[size] = i
            size += 1
    w.zeros_size[0] = size


@njit(**_JIT)
def step_2(w: Workspace) -> None:
    """Star each zero that has no starred zero in its row or column [L19 step 2] [L19 Alg.1]."""
    n = w.row_dual.size
    w.counters[_ZEROS] = w.zeros_size[0]
    w.row_of_star_at_column[:] = -1
    w.column_of_star_at_row[:] = -1
    for k in range(w.zeros_size[0]):
        column = w.zeros[k] // n
        row = w.zeros[k] - column * n
        if w.row_of_star_at_column[column] < 0 and w.column_of_star_at_row[row] < 0:
            w.row_of_star_at_column[column] = row
            w.column_of_star_at_row[row] = column
            w.counters[_MATCHES] += 1


@njit(**_JIT)
def step_3(w: Workspace) -> int:
    """Cover each column with a starred zero; returns how many [L19 step 3] [L19 sec.4.3]."""
    w.counters[_STEP_3] += 1
    stars = 0
    w.covered_row[:] = False
    for column in range(w.covered_column.size):
        w.covered_column[column] = w.row_of_star_at_column[column] >= 0
        stars += w.covered_column[column]
    return stars


@njit(**_JIT)
def step_4(w: Workspace, begin: bool) -> bool:
    """Prime uncovered zeros, sweep after sweep; True if a path ended [L19 step 4] [L19 Alg.2].

    At the beginning of a search primes and greens are erased.
    """
    n = w.row_dual.size
    w.counters[_STEP_4] += 1
    if begin:
        w.column_of_prime_at_row[:] = -1
        w.row_of_green_at_column[:] = -1
    path = False
    for _ in range(n + 1):  # every sweep but the last covers a row for good
        found = False
        for k in range(w.zeros_size[0]):
            column = w.zeros[k] // n
            row = w.zeros[k] - column * n
            if not w.covered_column[column] and not w.covered_row[row]:
                w.column_of_prime_at_row[row] = column
                star = w.column_of_star_at_row[row]
                if star >= 0:
                    found = True
                    w.covered_row[row] = True
                    w.covered_column[star] = False
                else:
                    path = True
        if path or not found:
            break
    return path


@njit(**_JIT)
def step_5a(w: Workspace) -> None:
    """Mark the paths green, forward from their free rows [L19 Alg.3]."""
    n = w.row_dual.size
    for first in range(n):
        row = first
        if w.column_of_star_at_row[row] < 0 and w.column_of_prime_at_row[row] >= 0:
            for _ in range(n):  # a path visits a column once
                column = w.column_of_prime_at_row[row]
                w.row_of_green_at_column[column] = row
                row = w.row_of_star_at_column[column]
                if row < 0:
                    break


@njit(**_JIT)
def step_5b(w: Workspace) -> None:
    """Apply the green paths, backward from their free columns [L19 Alg.4]."""
    n = w.row_dual.size
    for last in range(n):
        column = last
        if w.row_of_star_at_column[column] < 0 and w.row_of_green_at_column[column] >= 0:
            for _ in range(n):  # a path visits a column once
                row = w.row_of_green_at_column[column]
                after = w.column_of_star_at_row[row]
                w.column_of_star_at_row[row] = column
                w.row_of_star_at_column[column] = row
                if after < 0:
                    break
                column = after


@njit(**_JIT)
def step_5(w: Workspace) -> None:
    """Steps 5a and 5b [L19 step 5]."""
    w.counters[_STEP_5] += 1
    step_5a(w)
    step_5b(w)


@njit(**_JIT)
def step_6(w: Workspace) -> None:
    """Shift the duals by the least uncovered slack [L19 step 6] [L19 Alg.5] [L19 Alg.6]."""
    n = w.row_dual.size
    w.counters[_STEP_6] += 1
    least = w.limit[0]
    row, column = 0, 0
    for i in range(n * n):
        if not w.covered_row[row] and not w.covered_column[column] and w.slack[i] < least:
            least = w.slack[i]
        row += 1
        if row == n:
            row = 0
            column += 1
    row, column = 0, 0
    for i in range(n * n):
        if w.covered_row[row] and w.covered_column[column]:
            w.slack[i] += least
        if not w.covered_row[row] and not w.covered_column[column]:
            w.slack[i] -= least
        row += 1
        if row == n:
            row = 0
            column += 1
    for line in range(n):
        if w.covered_row[line]:
            w.row_dual[line] -= least
        if not w.covered_column[line]:
            w.column_dual[line] += least
    compress(w)


@njit(**_JIT)
def _drive(w: Workspace, timed: bool, spent: np.ndarray, visits: np.ndarray) -> bool:
    """Run the flow chart of [L19 Fig.1]; False if it has not ended after its worst case.

    Each search adds a star, and each dual update of one search covers at least one more row.
    """
    n = w.row_dual.size
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
        path = step_4(w, True)
        since = _lap(timed, spent, visits, 4, since)
        for _ in range(n + 1):
            if path:
                break
            step_6(w)
            since = _lap(timed, spent, visits, 6, since)
            path = step_4(w, False)
            since = _lap(timed, spent, visits, 4, since)
        if not path:
            return False
        step_5(w)
        since = _lap(timed, spent, visits, 5, since)
    return False


def hungarian(w: Workspace) -> bool:
    """Solve; False if it has not ended after its worst case."""
    nothing = np.zeros(0, np.int64)
    return bool(_drive(w, False, nothing, nothing))


def hungarian_timed(w: Workspace, add: Callable[[str, float, int], None]) -> bool:
    """As `hungarian`; afterwards ``add(step, milliseconds, visits)`` is called for each step."""
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
    n = w.row_dual.size
    if n == 0:
        return True
    for name, step in (("step_1", step_1), ("step_6", compress), ("step_2", step_2)):
        trace(name)
        step(w)
    for _ in range(n + 1):
        trace("step_3")
        if step_3(w) == n:
            return True
        if not _traced_search(w, trace, look):
            return False
        trace("step_5")
        step_5(w)
    return False


def _traced_search(w: Workspace, trace: Callable[[str], None], look: Callable[[], None]) -> bool:
    """Steps 4 and 6 until a path ends; False if none did in n + 1 rounds."""
    for rounds in range(w.row_dual.size + 2):
        look()
        trace("step_4")
        if step_4(w, rounds == 0):
            return True
        trace("step_6")
        step_6(w)
    return False
