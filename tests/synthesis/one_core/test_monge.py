"""Costs whose lines can be sorted: a sample finds them, and nothing is taken on trust."""

import numpy as np
import pytest

from papers.common.problems import assignment_proof
from papers.synthesis.one_core import monge, solver

N = 60
DRAW = np.random.default_rng(8)
SPOTS, GOALS = DRAW.random(N), DRAW.random(N)
SORTED = {
    "products": np.multiply.outer(DRAW.permutation(N) + 1, DRAW.permutation(N) + 1),
    "squares of whole distances": (DRAW.integers(0, 99, N)[:, None] - DRAW.integers(0, 99, N)) ** 2,
    "distances on a line": np.abs(SPOTS[:, None] - GOALS),
    "squares of distances": (SPOTS[:, None] - GOALS) ** 2,
    "sums": np.add.outer(DRAW.integers(0, 99, N), DRAW.integers(0, 99, N)),
}


def proved(cost, maximize=False):
    """The answer's counters, once it is proved."""
    answer = solver.solve(cost, maximize)
    assert assignment_proof.assignment(cost, answer, maximize).ok
    return answer.counters


@pytest.mark.parametrize("name", SORTED)
@pytest.mark.parametrize("maximize", [False, True])
def test_lines_that_can_be_sorted_are_matched_by_sorting(name, maximize):
    cost = SORTED[name]
    counters = proved(-cost if maximize else cost, maximize)
    assert (counters["sorted"], counters["scales"]) == (1, 0)


def test_the_sorted_matrix_is_a_monge_array():
    cost = SORTED["products"].astype(np.int64)
    rows, columns = np.empty(N, np.int64), np.empty(N, np.int64)
    monge.sort_lines(cost, rows, columns, np.empty(N, np.int64))
    found = cost[np.ix_(rows, columns)]
    assert (found[:-1, :-1] + found[1:, 1:] <= found[:-1, 1:] + found[1:, :-1]).all()


@pytest.mark.parametrize("values", [2, N, 1000])
def test_random_costs_do_not_look_so(values):
    draw = np.random.default_rng(values)
    assert not any(
        monge.looks_sortable(draw.integers(0, values, (N, N), np.int32)) for _ in range(200)
    )


def test_forbidden_pairs_and_small_matrices_do_not_look_so():
    cost = SORTED["squares of distances"].copy()
    assert monge.looks_sortable(cost)
    cost[0, 0] = np.inf
    assert not monge.looks_sortable(cost)
    assert not monge.looks_sortable(cost[1:8, 1:8].copy())
    proved(cost)


@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_a_sample_that_errs_costs_time_and_no_answer(kind, monkeypatch):
    monkeypatch.setattr(solver.monge, "looks_sortable", lambda matrix: True)
    cost = np.random.default_rng(3).integers(0, N, (N, N)).astype(kind)
    assert proved(cost)["sorted"] == 0


def test_pairs_that_are_loose_after_sorting_are_parted():
    cost = np.multiply.outer(np.arange(1, N + 1), np.arange(1, N + 1))
    cost[3, 5] -= 3000
    counters = proved(cost)
    assert counters["sorted"] == 1
    assert counters["bids"] > 0


def test_integers_whose_duals_would_not_fit_are_not_sorted():
    lines = np.arange(1, 121)
    cost = np.multiply.outer(lines, lines) * 2**38
    assert proved(cost)["sorted"] == 0
    assert proved(cost // 2)["sorted"] == 1
