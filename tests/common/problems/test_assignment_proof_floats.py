"""The float proof is a bound: what it states is never below the true distance to the optimum."""

import re
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from papers.common.model import Assignment
from papers.common.problems import assignment_proof

ANY = 1e200  # a tolerance that accepts whatever gap there is: then the proof states it
FAR = np.inf


def bound_of(verdict):
    """The bound that an accepted proof states, as an exact fraction."""
    assert verdict.ok, verdict
    return Fraction(Decimal(re.search(r"optimal to within (\S+)$", verdict.reason)[1]))


def fractions(array):
    return [[Fraction(x) if np.isfinite(x) else None for x in row] for row in array.tolist()]


def optimum(exact, maximize):
    """The best sum of any complete assignment, by trying all."""
    n, m = len(exact), len(exact[0])
    if n > m:
        return optimum([list(column) for column in zip(*exact, strict=True)], maximize)
    sums = []
    for columns in permutations(range(m), n):
        chosen = [exact[i][j] for i, j in enumerate(columns)]
        if None not in chosen:
            sums.append(sum(chosen))
    return max(sums) if maximize else min(sums)


def draw(seed):
    """A matrix of mixed scales with an assignment, right or wrong, and duals of any quality."""
    rng = np.random.default_rng(seed)
    maximize = bool(seed % 2)
    n, m = [(2, 2), (3, 3), (4, 4), (3, 5), (5, 3)][seed % 5]
    cost = rng.integers(-9, 10, (n, m)) * 10.0 ** rng.integers(-6, 7, (n, m))
    cost = np.where(rng.random((n, m)) < 0.4, rng.random((n, m)), cost)
    columns = np.sort(rng.permutation(m)[: min(n, m)]) if seed % 3 else np.arange(min(n, m))
    rows = np.sort(rng.permutation(n)[: min(n, m)])
    columns = rng.permutation(columns)
    sign = -1 if maximize else 1
    u = rng.normal(size=n) if seed % 4 else (sign * cost).min(axis=1) * sign
    v = rng.normal(size=m) * (seed % 7 > 2)
    if n == m:  # else the longer side's duals have a sign, and the gap is the offset itself
        offset = rng.choice([0.0, 1e6, 1e12, 1e17])
        u, v = u + offset, v - offset
    total = float(cost[rows, columns].sum())
    return cost, Assignment(rows, columns, total, u, v, maximize), maximize


def exact_gap(exact, answer, maximize):
    """The proof's gap in exact arithmetic."""
    sign = -1 if maximize else 1
    u, v = ([Fraction(x) for x in d.tolist()] for d in (answer.row_duals, answer.column_duals))
    pairs = list(zip(answer.row_ind.tolist(), answer.col_ind.tolist(), strict=True))
    slack = [[sign * (c - a - b) for c, b in zip(row, v, strict=True)]
             for row, a in zip(exact, u, strict=True)]  # fmt: skip
    apart = abs(sum(exact[i][j] for i, j in pairs) - sum(u) - sum(v))
    violation = sum(max(0, -min(row)) for row in slack)
    longer = [] if len(u) == len(v) else v if len(u) < len(v) else u
    return apart + violation + sum(max(0, sign * dual) for dual in longer)


@pytest.mark.parametrize("block", range(4))
def test_the_stated_bound_is_never_below_the_true_distance(block):
    distances = []
    for seed in range(50 * block, 50 * block + 50):
        cost, answer, maximize = draw(seed)
        exact = fractions(cost)
        stated = bound_of(assignment_proof.assignment(cost, answer, maximize, tolerance=ANY))
        gap = exact_gap(exact, answer, maximize)
        assert gap <= stated <= gap * Fraction(1101, 1000)  # two digits, rounded upward
        pairs = zip(answer.row_ind.tolist(), answer.col_ind.tolist(), strict=True)
        distance = abs(sum(exact[i][j] for i, j in pairs) - optimum(exact, maximize))
        assert distance <= stated, seed
        distances.append(distance)
        usual = assignment_proof.assignment(cost, answer, maximize)
        assert not usual.ok or distance <= bound_of(usual)
    assert sum(d > 0 for d in distances) > 20, "nearly all assignments were right: nothing tested"


@pytest.mark.parametrize("offset", [0.0, 1e6, 2.0**50])
def test_an_offset_of_the_duals_changes_no_bound(offset):
    cost = np.array([[1.0, 0.0], [0.0, 1.0]])
    u = np.full(2, offset)
    answer = Assignment(np.arange(2), np.arange(2), 2.0, u, -u)
    assert bound_of(assignment_proof.assignment(cost, answer, tolerance=ANY)) == 2


@pytest.mark.parametrize("offset", [1e12, 1e13, 1e17])
@pytest.mark.parametrize("maximize", [False, True])
def test_large_duals_do_not_hide_a_violation(offset, maximize):
    """As float64 adds, every slack is 0 or large; the claimed cost is half a percent too high."""
    e, k, sign = 2.0**-14, 2.0**-6, -1 if maximize else 1
    cost = sign * np.array([[e, -0.6 * e, offset], [-0.6 * e, -e, offset], [0, 0, k]])
    u = sign * np.array([offset, offset, k])
    v = sign * np.array([-offset, -offset, 0])
    claimed = Assignment(np.arange(3), np.arange(3), sign * k, u, v, maximize)
    verdict = assignment_proof.assignment(cost, claimed, maximize)
    assert not verdict.ok, verdict
    assert "violations" in verdict.reason


def test_costs_and_duals_are_added_in_one_sum():
    """The row duals' sum is no float64: rounded by itself it would be off by one."""
    big = 2.0**53
    cost = np.full((4, 4), FAR)
    np.fill_diagonal(cost, [0.0, 1.0, 1.0, 1.0])
    u, v = np.array([big, 1, 1, 1]), np.array([-big, 0, 0, 0])
    verdict = assignment_proof.assignment(cost, Assignment(np.arange(4), np.arange(4), 3.0, u, v))
    assert verdict.ok, verdict
    assert "dual 3:" in verdict.reason
    assert bound_of(verdict) == 0


def test_a_stated_bound_is_rounded_upward():
    cost = np.array([[1.0, 5.0], [5.0, 1.0]])
    answer = Assignment(np.arange(2), np.arange(2), 2.0, np.array([1.0, 1 - 1.01e-12]), np.zeros(2))
    verdict = assignment_proof.assignment(cost, answer)
    assert Fraction(2) - sum(map(Fraction, answer.row_duals.tolist())) <= bound_of(verdict)
    assert verdict.reason.endswith("1.1e-12")


@pytest.mark.parametrize(
    ("cost", "u", "reason"),
    [
        (np.array([[2**53 + 1]]), np.array([float(2**53)]), "a whole cost exceeds 2\\*\\*53"),
        (np.array([[1.0]]), np.array([2**53 + 1]), "a whole dual exceeds 2\\*\\*53"),
        (np.array([[1.0]], np.longdouble), np.array([1.0]), "costs of dtype"),
        (np.array([[1.0]]), np.array([1.0], np.longdouble), "duals of dtype"),
    ],
)
def test_what_float64_does_not_hold_is_refused(cost, u, reason):
    """Rounding it on the way in would be rounding that nobody counts."""
    if np.finfo(np.longdouble).nmant == np.finfo(np.float64).nmant and "dtype" in reason:
        pytest.skip("long doubles are doubles on this machine")
    answer = Assignment(np.arange(1), np.arange(1), float(cost[0, 0]), u, np.zeros(1))
    verdict = assignment_proof.assignment(cost, answer)
    assert not verdict.ok
    assert re.search(reason, verdict.reason), verdict


def test_denormals_are_exact():
    tiny = 5e-324
    cost = np.array([[tiny, 0.0], [0.0, tiny]])
    zeros = np.zeros(2)
    right = Assignment(np.arange(2), np.array([1, 0]), 0.0, zeros, zeros)
    assert bound_of(assignment_proof.assignment(cost, right)) == 0
    wrong = Assignment(np.arange(2), np.arange(2), 2 * tiny, zeros, zeros)
    assert not assignment_proof.assignment(cost, wrong).ok
