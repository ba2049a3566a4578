"""Audits of ranks, put together: a fault on any one of them counts; no MPI is needed for that."""

import dataclasses

import numpy as np
import pytest

from papers.common.model import Assignment
from papers.common.problems import assignment_proof, blocks
from papers.common.problems import assignment_proof_by_strips as by_strips

N = 10
RANKS = 4  # strips of 3, 3, 3 and 1 lines


def tight(kind=float):
    """A matrix of slacks 1 to 9 with its only optimal answer; its duals are exact in float64."""
    rng = np.random.default_rng(6)
    u, v = rng.integers(20, 90, N).astype(kind), rng.integers(20, 90, N).astype(kind)
    slack, columns = rng.integers(1, 10, (N, N)), rng.permutation(N)
    slack[np.arange(N), columns] = 0
    cost = u[:, None] + v + slack
    return cost, Assignment(np.arange(N), columns, (u.sum() + v.sum()).item(), u, v)


def audits(source, answer, by_rows, ranks=RANKS):
    if isinstance(source, np.ndarray):
        source = blocks.ArraySource(source)
    lines = blocks.split(len(answer.row_ind), ranks)
    return [by_strips.audit_strip(source, answer, mine, by_rows) for mine in lines]


def verdict(cost, answer, by_rows, ranks=RANKS):
    """The proof as rank 0 concludes it."""
    found = [("", audit) for audit in audits(cost, answer, by_rows, ranks)]
    return by_strips._concluded(found, answer, assignment_proof.FLOAT_TOLERANCE, "strips")


def row_of(column, answer):
    """The row that a column is assigned to."""
    return int(np.flatnonzero(answer.col_ind == column)[0])


def inside(rank, answer, by_rows):
    """A pair that is not assigned, in the strip of a rank."""
    line = blocks.split(N, RANKS)[rank][0]
    if by_rows:
        return line, int(answer.col_ind[(line + 1) % N])
    return (row_of(line, answer) + 1) % N, line


def violate(cost, rank, answer, by_rows):
    """Lower a cost in the strip of a rank to a half below what the duals say."""
    i, j = inside(rank, answer, by_rows)
    cost[i, j] = answer.row_duals[i] + answer.column_duals[j] - 0.5


every_rank = pytest.mark.parametrize("rank", range(RANKS))
both_ways = pytest.mark.parametrize("by_rows", [True, False])


@both_ways
def test_a_right_answer_is_proved(by_rows):
    cost, answer = tight()
    assert verdict(cost, answer, by_rows).reason.endswith("optimal to within 0; strips")


@every_rank
@both_ways
def test_a_violation_on_any_rank_refutes_though_all_sums_are_right(rank, by_rows):
    """Pairs are tight and the duals add up to the cost: only the violation says what is wrong."""
    cost, answer = tight()
    violate(cost, rank, answer, by_rows)
    refuted = verdict(cost, answer, by_rows)
    assert not refuted.ok
    assert "violations 0.5: a gap of 0.5," in refuted.reason


@every_rank
@both_ways
def test_a_loose_pair_on_any_rank_counts(rank, by_rows):
    cost, answer = tight()
    line = blocks.split(N, RANKS)[rank][0]
    i = line if by_rows else row_of(line, answer)
    cost[i, answer.col_ind[i]] += 0.25
    claimed = dataclasses.replace(answer, cost=answer.cost + 0.25)
    refuted = verdict(cost, claimed, by_rows)
    assert not refuted.ok
    assert "violations 0: a gap of 0.25," in refuted.reason


@every_rank
@both_ways
def test_the_assigned_costs_of_every_rank_are_added(rank, by_rows):
    """Its duals move with its pair, so only the sum of the assigned costs shows the wrong claim."""
    cost, answer = tight()
    i, j = inside(rank, answer, by_rows)
    row = i if by_rows else row_of(j, answer)
    cost[row] += 7
    duals = answer.row_duals.copy()
    duals[row] += 7
    refuted = verdict(cost, dataclasses.replace(answer, row_duals=duals), by_rows)
    assert "the answer says" in refuted.reason
    right = dataclasses.replace(answer, row_duals=duals, cost=answer.cost + 7)
    assert verdict(cost, right, by_rows).ok


@every_rank
@both_ways
def test_the_smallest_cost_of_all_ranks_limits_the_gap_of_a_free_answer(rank, by_rows):
    """Where the assigned costs are all 0, the gap must be far below the smallest cost anywhere."""
    cost = np.where(np.eye(N), 0.0, 1e3)
    u = np.ones(N)
    u[5] -= 2.0**-53  # a digit of duals of size one
    answer = Assignment(np.arange(N), np.arange(N), 0.0, u, -np.ones(N))
    assert verdict(cost, answer, by_rows).ok
    cost[inside(rank, answer, by_rows)] = 1e-13
    assert not verdict(cost, answer, by_rows).ok


class OneFloatStrip:
    """Whole costs; the strip of one rank comes as floats."""

    def __init__(self, cost, rank, by_rows):
        self.cost, self.by_rows = cost, by_rows
        self.lines = blocks.split(len(cost), RANKS)[rank]
        self.shape, self.dtype = cost.shape, cost.dtype

    def block(self, rows, columns):
        found = self.cost[slice(*rows), slice(*columns)]
        mine = (rows if self.by_rows else columns)[0] in range(*self.lines)
        return found.copy() if mine else found.astype(np.int64)

    def fingerprint(self):
        return "one float strip"


@every_rank
@both_ways
def test_one_rank_s_floats_make_it_a_proof_of_floats(rank, by_rows):
    cost, answer = tight()
    whole = {
        "row_duals": answer.row_duals.astype(int),
        "column_duals": answer.column_duals.astype(int),
    }
    answer = dataclasses.replace(answer, **whole)
    source = OneFloatStrip(cost, rank, by_rows)
    merged = by_strips.merged(audits(source, answer, by_rows))
    assert (merged.exact, merged.whole) == (False, False)
    violate(cost, rank, answer, by_rows)
    assert not verdict(source, answer, by_rows).ok


@both_ways
def test_an_empty_strip_says_nothing(by_rows):
    """Five lines of four ranks: 2, 2, 1 and none."""
    zeros = np.zeros(5, int)
    answer = Assignment(np.arange(5), np.arange(5), 0, zeros, zeros)
    cost = 1 - np.eye(5, dtype=int)
    assert verdict(cost, answer, by_rows).reason.startswith("primal = dual = 0 exactly")
    merged = by_strips.merged(audits(cost.astype(float), answer, by_rows))
    assert (merged.exact, merged.whole, merged.smallest) == (False, False, 1.0)


@both_ways
def test_merged_audits_are_the_audit_of_one_rank(by_rows):
    """Duals that are wrong everywhere: every rank has violations and costs to add."""
    cost, answer = tight()
    rng = np.random.default_rng(7)
    bad = dataclasses.replace(answer, row_duals=answer.row_duals + rng.integers(-9, 9, N) / 4)
    parts = audits(cost, bad, by_rows)
    one, merged = audits(cost, bad, by_rows, ranks=1)[0], by_strips.merged(parts)
    assert sum(part.violation > 0 for part in parts) > 1
    assert merged.smallest == one.smallest
    # A row's largest violation counts once a strip of columns.
    assert merged.violation >= one.violation * (1 - 1e-12)
    if by_rows:
        assert merged.violation == pytest.approx(one.violation)
    chosen = np.concatenate(merged.chosen)
    assert np.array_equal(np.sort(chosen), np.sort(np.concatenate(one.chosen)))
