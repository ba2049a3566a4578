"""Cost scaling on one core: optimal in all versions, the same refines as the reference."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from papers.common.instances.matrices import uniform
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.lupinska_costscale.assignment import reference
from papers.lupinska_costscale.assignment.baselines import cost_scaling, refine

VERSIONS = reference.VERSIONS


def certified(cost, maximize=False, **options):
    answer = cost_scaling.solve(cost, maximize, **options)
    verdict = assignment_proof.assignment(cost, answer, maximize)
    assert verdict.ok, verdict
    best = cost[linear_sum_assignment(cost, maximize)].sum()
    assert answer.cost == pytest.approx(best, rel=1e-10, abs=1e-12)
    return answer


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("updates", [False, True])
@pytest.mark.parametrize("fixing", [False, True])
def test_optimal(version, updates, fixing):
    options = {"version": version, "price_updates": updates, "arc_fixing": fixing}
    for seed in range(40):
        draw = np.random.default_rng(seed)
        n, m = draw.integers(1, 25, 2)
        n = m if seed % 3 else n
        cost = (draw.integers(-9, 99, (n, m)), draw.random((n, m)))[seed % 2]
        answer = certified(cost, seed % 5 == 0, alpha=2 + seed % 12, **options)
        assert (answer.counters["price_updates"] == 0) or updates
        assert (answer.counters["arcs_fixed"] == 0) or fixing


@pytest.mark.parametrize("version", VERSIONS)
def test_as_many_refines_as_the_reference(version):
    cost = uniform(12, 3, cost_range=100)
    counters = certified(cost, version=version).counters
    assert counters["refines"] == reference.solve(cost, version=version).counters["refines"]


@pytest.mark.parametrize("n", [100, 200])
def test_operations_stay_far_below_the_bound(n):
    """O(n^2 m) a refine [LU11 sec.6]."""
    counters = certified(uniform(n, 1, cost_range=100)).counters
    nodes, arcs = 2 * n, n * n
    assert counters["pushes"] + counters["relabels"] < counters["refines"] * nodes**2 * arcs / 1000
    assert counters["arcs_fixed"] > arcs / 2


def test_forbidden_sparse_and_ties():
    dense = np.where(uniform(20, 5, cost_range=4) > 1, np.inf, 3.0)
    dense[np.arange(20), np.arange(20)[::-1]] = 7.0
    certified(dense)
    stored = csr_array(np.where(np.isfinite(dense), dense, 0).astype(int))
    assert assignment_proof.assignment(dense, cost_scaling.solve(stored)).ok
    certified(np.ones((30, 30), int))
    certified(np.outer(np.arange(1, 20), np.arange(1, 20)))
    certified(uniform(9, 1, cost_range=9).astype(np.int64) * 10**12)


def test_runs_again():
    state = cost_scaling.upload(uniform(15, 2, cost_range=50))
    with pytest.raises(RuntimeError, match="no run has ended"):
        cost_scaling.download(state)
    answers = []
    for _ in range(2):
        cost_scaling.run(state)
        answers.append(cost_scaling.download(state))
    assert answers[0].counters == answers[1].counters
    assert answers[0].cost == answers[1].cost
    assert cost_scaling.SOLVERS["cost_scaling"].run is cost_scaling.run


@pytest.mark.parametrize("options", [{}, {"version": "5.0"}, {"alpha": 2, "arc_fixing": False}])
def test_a_run_in_slices_is_the_same_run(options, monkeypatch):
    cost = uniform(15, 2, cost_range=50)
    whole = certified(cost, **options)
    monkeypatch.setattr(cost_scaling, "SLICE", 7)
    sliced = certified(cost, seconds=600, **options)
    assert sliced.counters == whole.counters
    assert np.array_equal(sliced.col_ind, whole.col_ind)


def test_a_limit_of_time_is_kept_and_the_next_run_is_right(monkeypatch):
    cost = uniform(15, 2, cost_range=50)
    state = cost_scaling.upload(cost, seconds=1e-9)
    monkeypatch.setattr(cost_scaling, "SLICE", 7)
    with pytest.raises(GivenUpError, match=r"gave up after .* operations") as told:
        cost_scaling.run(state)
    assert told.value.reached["pushes"] + told.value.reached["relabels"] >= 7
    state.seconds = None
    cost_scaling.run(state)
    assert assignment_proof.assignment(cost, cost_scaling.download(state)).ok


def test_a_code_that_pushes_for_ever_is_found_out(monkeypatch):
    """A wrong stop rule: the slices go on, and only pushes are counted."""

    def endless(*given):
        given[-1][0] = 1
        given[-1][:] += np.array([0, 20, 0, 0, 0])
        return refine.GOING

    monkeypatch.setattr(cost_scaling, "min_cost", endless)
    with pytest.raises(GivenUpError, match="along 25 arcs and no relabel in a row") as told:
        cost_scaling.solve(np.ones((5, 5), int))
    assert told.value.reached["pushes"] > 25


def test_empty():
    assert cost_scaling.solve(np.zeros((0, 4))).cost == 0


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"version": "6"}, "version='6'"),
        ({"alpha": 1}, "alpha=1"),
        ({"alpha": 2.5}, r"alpha=2\.5"),
        ({"price_updates": "first"}, "price_updates='first'"),
        ({"arc_fixing": 1}, "arc_fixing=1"),
    ],
)
def test_bad_options_are_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        cost_scaling.solve([[1, 2], [2, 1]], **wrong)


def test_a_bound_that_is_exceeded_raises(monkeypatch):
    monkeypatch.setattr(cost_scaling, "relabel_bound", lambda nodes, alpha: 0)
    with pytest.raises(RuntimeError, match="exceeded 0 relabels"):
        cost_scaling.solve(np.ones((5, 5), int), price_updates=False)
