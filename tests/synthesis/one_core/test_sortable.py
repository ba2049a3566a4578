"""What a call takes for sortable, before it has chosen a solver."""

import subprocess
import sys

import numpy as np
import pytest

from papers.common.problems import assignment_proof
from papers.synthesis.one_core import solver, sortable
from papers.synthesis.one_core.sortable import in_order, is_sortable

N = 60
DRAW = np.random.default_rng(9)
WHOLE = {
    "products": np.outer(DRAW.permutation(N) + 1, DRAW.permutation(N) + 1),
    "squares": (DRAW.integers(0, 99, N)[:, None] - DRAW.integers(0, 99, N)) ** 2,
    "distances": np.abs(DRAW.permutation(N)[:, None] - np.arange(0, 2 * N, 2)),
}


def sorted_by_the_solver(cost):
    """Whether `synthesis:one_core` has begun by sorting; its answer is proved."""
    answer = solver.solve(cost)
    assert assignment_proof.assignment(cost, answer, False).ok
    return bool(answer.counters["sorted"])


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("sign", [1, -1])
def test_whole_numbers_that_can_be_sorted_are_found(name, sign):
    """Negated costs are a Monge array with one side turned around."""
    cost = sign * WHOLE[name]
    for kind in (np.int16, np.int32, np.int64):
        assert is_sortable(cost.astype(kind))
    assert sorted_by_the_solver(cost)


@pytest.mark.parametrize(
    ("kind", "lines"),
    [(np.uint8, np.arange(16)), (np.int8, np.arange(-8, 8)), (np.uint32, np.arange(60) * 1000)],
)
def test_differences_of_narrow_and_unsigned_numbers_do_not_wrap(kind, lines):
    cost = np.outer(DRAW.permutation(lines), DRAW.permutation(lines))
    assert np.array_equal(cost, cost.astype(kind))
    assert is_sortable(cost.astype(kind))


def test_costs_at_both_ends_of_a_type_do_not_wrap():
    line = np.linspace(-(2**31), 2**31 - 1, N).astype(np.int64)
    cost = np.maximum(line[:, None], line[::-1]).astype(np.int32)
    assert cost.min() < -(2**30) < 2**30 < cost.max()
    assert is_sortable(cost[DRAW.permutation(N)])


def test_one_cost_that_no_sample_sees_is_enough():
    """All inequalities along the diagonal have to hold."""
    cost, step = WHOLE["products"].copy(), N // sortable.SAMPLED
    assert is_sortable(cost)
    spots = zip(*in_order(cost), strict=True)
    spot = next(spot for spot in list(spots)[1:-1] if spot[0] % step and spot[1] % step)
    cost[spot] += cost.max()
    assert not is_sortable(cost)


@pytest.mark.parametrize("times", [2**32, 2**37, 2**38])
def test_where_duals_would_not_fit_neither_says_that_it_sorts(times):
    lines = np.arange(1, 121)
    cost = np.outer(lines, lines) * times
    assert is_sortable(cost) == sorted_by_the_solver(cost)
    assert is_sortable(cost) == (times < 2**38)


def test_what_float64_does_not_resolve_is_not_sorted(monkeypatch):
    monkeypatch.setattr(sortable, "SORTED_BELOW", np.inf)
    cost = WHOLE["distances"] + 2**51
    assert is_sortable(cost - 2**50)
    assert not is_sortable(cost)


@pytest.mark.parametrize(
    "cost",
    [
        np.full((N, N), 7),
        np.add.outer(DRAW.integers(0, 99, N), DRAW.integers(0, 99, N)),
        DRAW.integers(0, 2, (N, N)),
        DRAW.integers(0, 2, (N, N)).astype(bool),
        DRAW.integers(0, 100, (N, 4)) @ DRAW.integers(0, 100, (4, N)),
        WHOLE["products"][:7, :7],
        np.zeros((0, 0), np.int32),
    ],
    ids=["all equal", "sums", "two values", "booleans", "low rank", "small", "empty"],
)
def test_what_is_not_sortable(cost):
    assert not is_sortable(cost)


def test_random_costs_are_told_by_a_sample(monkeypatch):
    sizes = []
    monkeypatch.setattr(
        sortable, "in_order", lambda matrix: sizes.append(len(matrix)) or in_order(matrix)
    )
    assert not any(is_sortable(DRAW.integers(0, N, (N, N))) for _ in range(200))
    assert set(sizes) == {sortable.SAMPLED}
    assert is_sortable(WHOLE["products"])
    assert sizes[-1] == N


def test_the_gpu_is_woken_before_numba_is_loaded():
    """Costs that cannot be sorted go to the GPU, whose context is made beside the import."""
    code = """
import sys, numpy as np
from papers.synthesis.calls import choice, one_matrix, places
choice._has_gpu = lambda: True
choice.waking.begin = lambda: print("numba" in sys.modules)
cost = np.random.default_rng(1).integers(0, 300, (300, 300))
wishes = one_matrix.Wishes(False, False, None, "auto", None, False)
print(one_matrix._choice(places.place(cost), wishes).solver)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "synthesis:dense"]
