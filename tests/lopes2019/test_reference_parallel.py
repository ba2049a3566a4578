"""The parallel steps in NumPy: right under every schedule, and wrong without S2, S3 or S5."""

import random

import numpy as np
import pytest
from nightly import first

from papers.common.instances.matrices import uniform
from papers.lopes2019 import reference
from papers.lopes2019.evidence.examples import JOIN
from papers.lopes2019.reference_parallel import (
    Conditions,
    in_turn,
    interleave,
    solve_parallel,
    step_2_rounds,
    step_4_rounds,
    step_5a,
    step_5b,
)


def last(threads):
    return threads - 1


def at_random(seed):
    return random.Random(seed).randrange


def joined():
    """The page's second example before its first search: rows 0 and 1 are free, columns 1 and 2."""
    t = reference.step_1(np.array(JOIN.cost))
    t.star(2, 0)
    t.star(3, 3)
    assert not reference.step_3(t)
    return t


def walk(t, row):
    """The columns on the way from a row along primes and stars."""
    columns = []
    while row >= 0:
        columns.append(int(t.column_of_prime_at_row[row]))
        row = t.row_of_star_at_column[columns[-1]]
    return columns


@pytest.mark.parametrize("part", first(2, range(6)))
def test_any_schedule_ends_with_the_least_cost(part):
    for seed in range(100 * part, 100 * part + 100):
        n = 1 + seed % 7
        cost = uniform(n, seed, cost_range=(2, 5, 30)[seed % 3])
        columns, t = solve_parallel(cost, (at_random(seed), in_turn, last)[seed % 7 % 3])
        expected, _ = reference.solve(cost)
        assert sorted(columns) == list(range(n))
        assert cost[np.arange(n), columns].sum() == cost[np.arange(n), expected].sum()
        assert t.slack.min() == 0


def test_schedules_differ():
    """Else the test before would try one run three hundred times."""
    cost = np.ones((4, 4), int)
    assert len({tuple(solve_parallel(cost, at_random(seed))[0]) for seed in range(30)}) > 5


def test_threads_move_on_as_the_schedule_says():
    said = []

    def thread(name, steps):
        for step in range(steps):
            yield
            said.append(f"{name}{step}")

    order = iter([1, 0, 1, 1, 0, 0, 0])
    interleave([thread("a", 2), thread("b", 2)], lambda left: next(order) % left)
    assert said == ["b0", "b1", "a0", "a1"]


@pytest.mark.parametrize("seed", first(10, range(40)))
def test_step_2_leaves_no_zero_that_could_be_starred(seed):
    t = reference.step_1((uniform(7, seed, cost_range=3) > 0).astype(int))
    rounds = step_2_rounds(t, at_random(seed))
    assert rounds <= 15
    starred = np.flatnonzero(t.row_of_star_at_column >= 0)
    assert np.array_equal(t.column_of_star_at_row[t.row_of_star_at_column[starred]], starred)
    free = np.ix_(t.column_of_star_at_row < 0, t.row_of_star_at_column < 0)
    assert not (t.slack[free] == 0).any()
    assert not t.covered_row.any()
    assert not t.covered_column.any()


def test_some_schedule_needs_the_undo_of_step_2():
    full = reference.step_1(np.ones((3, 3), int))
    assert max(step_2_rounds(reference.Tableau(full.slack), at_random(s)) for s in range(40)) > 1


# ------------------------------------------------------------------------------- joins


def test_two_walks_join_and_one_path_is_applied():
    """Rows 0 and 1 walk through column 0; its star, row 2, leads to the free column 1.

    A round that finds one path may end before the other row was primed; these runs are left out.
    """
    winners = []
    for seed in range(60):
        t, schedule = joined(), at_random(seed)
        if step_4_rounds(t, schedule) != [0, 1]:
            continue
        assert walk(t, 0) == walk(t, 1) == [0, 1]
        green = step_5a(t, schedule)
        step_5b(t, green, schedule)
        winner = int(green[0])
        assert winner in (0, 1)
        assert green[1] == 2
        loser = 1 - winner
        assert t.column_of_star_at_row[[winner, loser, 2, 3]].tolist() == [0, -1, 1, 3]
        assert t.row_of_star_at_column.tolist() == [winner, 2, -1, 3]
        winners.append(winner)
    assert min(winners.count(0), winners.count(1)) > 5, "one last writer was hardly met"


@pytest.mark.parametrize(("schedule", "winner"), [(in_turn, 1), (last, 0)])
def test_the_last_store_of_a_green_stays(schedule, winner):
    t = joined()
    assert step_4_rounds(t, in_turn) == [0, 1]
    assert step_5a(t, schedule)[0] == winner


def test_a_dead_end_gets_no_green():
    """Row 3 leads to a free column, but no free row leads to row 3."""
    ends = set()
    for seed in range(60):
        t, schedule = joined(), at_random(seed)
        assert step_4_rounds(t, schedule)
        end = int(t.column_of_prime_at_row[3])
        assert end in (1, 2)
        ends.add(end)
        green = step_5a(t, schedule)
        assert 3 not in green
        assert green[2] == green[3] == -1
    assert ends == {1, 2}, "S1: row 3 has two uncovered zeros, and the last store stays"


def test_columns_alone_would_choose_a_dead_end():
    """The paper's reason for step 5a: column 1 has two primes, and one of them leads nowhere."""
    t = joined()
    step_4_rounds(t, in_turn)
    assert np.flatnonzero(t.column_of_prime_at_row == 1).tolist() == [2, 3]
    assert t.column_of_star_at_row[3] == 3
    assert not (t.column_of_prime_at_row == 3).any()


# ------------------------------------------------------------------------------- S2, S3, S5

BROKEN = {
    "S2": (Conditions(reads=("row", "column")), "primes run in a circle"),
    "S3": (Conditions(stores=("column", "row")), "primes run in a circle"),
    "S5": (Conditions(repeat=False), "step 4 stopped with an uncovered zero"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_without_a_condition_some_schedule_goes_wrong(broken):
    """Each goes wrong as the page's table says; with all kept none of these runs does."""
    conditions, said = BROKEN[broken]
    errors = set()
    for seed in range(160):
        cost = (uniform(3 + seed % 5, seed, cost_range=10) > 4).astype(int)
        try:
            solve_parallel(cost, at_random(seed), conditions)
        except RuntimeError as error:
            errors.add(str(error))
        solve_parallel(cost, at_random(seed))
    assert errors == {said}
