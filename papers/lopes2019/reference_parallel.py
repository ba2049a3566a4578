"""The parallel steps of [L19 sec.4] in plain NumPy: threads that take turns as a schedule says.

A thread is a generator; it stops at a `yield` before each access to what other threads change. A
schedule is a function that names, of so many threads left, the one that moves on: `in_turn`, a
seeded ``random.Random(seed).randrange``, or an adversary. So each race of the kernels can be
stepped through. `Conditions` states S2, S3 and S5 of [L19 Thm.1], each of which can be broken. S1
needs no care here, because a row's prime is one number; S4, the memory's part, is kept, because
these arrays show every store at once (`evidence.litmus` takes it away in the executor).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.lopes2019.reference import Tableau, step_1, step_3, step_6

Schedule = Callable[[int], int]
"""Which of `k` threads moves on: an index below `k`."""

Thread = Iterator[None]


@dataclass(frozen=True)
class Conditions:
    """The conditions of [L19 Thm.1] that are a matter of order, as the paper keeps them.

    Attributes
    ----------
    reads : tuple of str
        S2: a check asks the column before the row.
    stores : tuple of str
        S3: the row is covered before the column of its star is uncovered.
    repeat : bool
        S5: there are rounds until one uncovers nothing, so that every zero sees every cover.
    """

    reads: tuple[str, str] = ("column", "row")
    stores: tuple[str, str] = ("row", "column")
    repeat: bool = True


KEPT = Conditions()


def in_turn(threads: int) -> int:
    """Let the first thread run to its end, then the next: the serial schedule."""
    return 0


def interleave(threads: Iterable[Thread], schedule: Schedule) -> None:
    """Run threads to their ends; the schedule picks who makes the next access."""
    left = list(threads)
    while left:
        chosen = schedule(len(left))
        if next(left[chosen], "ended") == "ended":
            del left[chosen]


def zeros_of(t: Tableau) -> np.ndarray:
    """Return row and column of every zero: the compressed list, int64[zeros, 2]."""
    return np.argwhere(t.slack == 0)


# ---------------------------------------------------------------------------------- step 2


def step_2_rounds(t: Tableau, schedule: Schedule) -> int:
    """Star zeros, a thread a zero, until no thread had to give its row back [L19 Alg.1].

    Returns
    -------
    int
        Rounds, at most 2 n + 1.
    """
    rounds, again = 0, [-1]
    while again:  # a round covers a line for good, save the last one
        again.clear()
        interleave((star_zero(t, row, column, again) for row, column in zeros_of(t)), schedule)
        rounds += 1
    t.covered_row[:] = t.covered_column[:] = False
    return rounds


def star_zero(t: Tableau, row: int, column: int, again: list[int]) -> Thread:
    """Take the row, then the column; who gets the row alone gives it back [L19 Alg.1]."""
    yield
    if t.covered_row[row] or t.covered_column[column]:
        return
    yield
    if exchange(t.covered_row, row):
        return
    yield
    if exchange(t.covered_column, column):
        yield
        t.covered_row[row] = False
        again.append(row)
    else:
        t.star(row, column)


def exchange(covered: np.ndarray, line: int) -> bool:
    """Cover a line and return what it was before, in one step: ``atomicExch``."""
    before = bool(covered[line])
    covered[line] = True
    return before


# ---------------------------------------------------------------------------------- step 4


def step_4_rounds(t: Tableau, schedule: Schedule, conditions: Conditions = KEPT) -> list[int]:
    """Search from the free columns back to free rows, all zeros at once [L19 Alg.2].

    A round checks every zero once, each in a thread of its own, and ends for all together: it is a
    launch of the kernel whose blocks sweep once. A path that is found ends the search, but not the
    round, so that several are found.

    Parameters
    ----------
    t : Tableau
        After step 3 or step 6; primes and covers change.
    schedule : callable
        Who makes the next access.
    conditions : Conditions
        S2, S3 and S5, kept or broken.

    Returns
    -------
    list of int
        The free rows that were primed, where paths begin; empty if the search ran dry.
    """
    t.count("step_4")
    for _ in range(len(t.slack) + 1):  # a round that uncovers a column covers a row for good
        covered = t.covered_column.copy()
        starts: set[int] = set()
        threads = (check(t, row, column, conditions, starts) for row, column in zeros_of(t))
        interleave(threads, schedule)
        if starts or not conditions.repeat or np.array_equal(covered, t.covered_column):
            break
    return sorted(starts)


def check(t: Tableau, row: int, column: int, order: Conditions, starts: set[int]) -> Thread:
    """See whether a zero is uncovered, and if so process it [L19 Thm.1] [L19 Def.2]."""
    covers: dict[str, tuple[np.ndarray, Any]] = {
        "row": (t.covered_row, row),
        "column": (t.covered_column, column),
    }
    for line in order.reads:
        yield
        covered, place = covers[line]
        if covered[place]:
            return
    yield
    t.column_of_prime_at_row[row] = column
    star = t.column_of_star_at_row[row]
    if star < 0:
        starts.add(int(row))
        return
    for line in order.stores:
        yield
        if line == "row":
            t.covered_row[row] = True
        else:
            t.covered_column[star] = False


# ---------------------------------------------------------------------------------- step 5


def step_5a(t: Tableau, schedule: Schedule) -> np.ndarray:
    """Mark paths green from their free rows on; where two join, the last store wins [L19 Alg.3].

    Returns
    -------
    int64[n]
        Row of the green at each column; -1 where there is none.

    Raises
    ------
    RuntimeError
        Primes run in a circle, which Theorem 1 excludes.
    """
    t.count("step_5")
    green = np.full(len(t.slack), -1)
    interleave((walk_forward(t, row, green) for row in range(len(green))), schedule)
    return green


def walk_forward(t: Tableau, row: int, green: np.ndarray) -> Thread:
    """Follow prime, star, prime ... from one free row, and lay greens [L19 Alg.3]."""
    column = t.column_of_prime_at_row[row]
    if column < 0 or t.column_of_star_at_row[row] >= 0:
        return
    for _ in range(len(green)):  # a path visits a column once
        yield
        green[column] = row
        row = t.row_of_star_at_column[column]
        if row < 0:
            return
        column = t.column_of_prime_at_row[row]
    raise RuntimeError("primes run in a circle")


def step_5b(t: Tableau, green: np.ndarray, schedule: Schedule) -> None:
    """Apply the green paths backward from their free columns [L19 Alg.4].

    Parameters
    ----------
    t : Tableau
        Its stars change.
    green : int64[n]
        From `step_5a`.
    schedule : callable
        Who makes the next access.

    Raises
    ------
    RuntimeError
        Greens end before a free row, which `step_5a` excludes.
    """
    interleave((walk_backward(t, column, green) for column in range(len(green))), schedule)


def walk_backward(t: Tableau, column: int, green: np.ndarray) -> Thread:
    """Turn greens into stars from one free column back to a free row [L19 Alg.4]."""
    yield
    if green[column] < 0 or t.row_of_star_at_column[column] >= 0:
        return
    for _ in range(len(green)):  # a path visits a column once
        yield
        row = green[column]
        if row < 0:
            break
        starred = t.column_of_star_at_row[row]
        t.star(row, column)
        if starred < 0:
            return
        column = starred
    raise RuntimeError("greens end before a free row")


# ---------------------------------------------------------------------------------- Figure 1


def solve_parallel(
    cost: np.ndarray, schedule: Schedule, conditions: Conditions = KEPT
) -> tuple[np.ndarray, Tableau]:
    """Solve a square assignment problem by the parallel steps, as [L19 Fig.1].

    Parameters
    ----------
    cost : ndarray[n, n]
        n >= 1, finite; integers are exact (in int64).
    schedule : callable
        Who makes the next access, in all steps.
    conditions : Conditions
        For step 4.

    Returns
    -------
    column_of_row : int64[n]
        The optimal assignment.
    tableau : Tableau
        The final state.

    Raises
    ------
    RuntimeError
        With broken conditions: primes in a circle, or a search that gained nothing or stopped
        before its end.
    """
    t = step_1(np.asarray(cost))
    step_2_rounds(t, schedule)
    while not step_3(t):
        stars = (t.column_of_star_at_row >= 0).sum()
        while not step_4_rounds(t, schedule, conditions):
            if (t.slack[np.ix_(~t.covered_row, ~t.covered_column)] == 0).any():
                raise RuntimeError("step 4 stopped with an uncovered zero")
            step_6(t)
        step_5b(t, step_5a(t, schedule), schedule)
        if (t.column_of_star_at_row >= 0).sum() <= stars:
            raise RuntimeError("the greens of a search led to no free column")
    return t.column_of_star_at_row, t
