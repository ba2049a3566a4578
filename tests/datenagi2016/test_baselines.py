"""The OpenMP version: right, certified, counted, re-runnable, for every number of threads."""

import numba
import numpy as np
import pytest
from nightly import first
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from papers.common.gpu.clocks import StepClock
from papers.common.instances import matrices
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.datenagi2016 import bands
from papers.datenagi2016.baselines import openmp, solvers

TWO = min(2, numba.config.NUMBA_NUM_THREADS)
threads = pytest.mark.parametrize("threads", sorted({1, TWO}))


def assert_solved(cost, answer, maximize=False):
    """SciPy's cost, a certificate, and counters that add up."""
    cost = np.asarray(cost)
    rows, columns = linear_sum_assignment(cost, maximize)
    best = cost[rows, columns].sum(dtype=object if cost.dtype.kind == "i" else float)
    assert answer.cost == pytest.approx(best, rel=1e-12, abs=1e-12)
    if cost.dtype.kind == "i":
        assert answer.cost == best
    verdict = assignment_proof.assignment(cost, answer, maximize=maximize)
    assert verdict.ok, verdict.reason
    counters = answer.counters
    n = min(cost.shape)
    for prefix in ("assignments", "passes"):
        found = [counters[band] for band in bands.names(prefix)]
        assert counters["initial_assignments"] + sum(found) == n
    assert (n > 0) <= counters["augmentations"] <= n
    assert counters["bfs_levels"] >= counters["forward_passes"] >= counters["dual_updates"]
    assert all(isinstance(count, int) and count >= 0 for count in counters.values())


def random_costs(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 60, 2) if seed % 3 == 0 else np.repeat(rng.integers(1, 300), 2)
    high = int(rng.choice([1, 2, 5, 50, 1000, 2**28]))
    return rng.integers(-high, high + 1, shape)


@threads
@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
@pytest.mark.parametrize("seed", first(3, range(12)))
def test_random_integers(seed, dtype, threads):
    cost = random_costs(seed)
    maximize = seed % 2 == 1
    answer = solvers.solve_omp(cost, maximize, dtype, threads)
    assert_solved(cost, answer, maximize)
    assert answer.counters["threads"] == threads


@threads
@pytest.mark.parametrize(
    "cost",
    [
        np.zeros((0, 0), np.int64),
        [[7]],
        [[-2.5]],
        [[4, 1, 3], [2, 0, 5], [3, 2, 2]],
        np.full((70, 70), 9),
        np.full((70, 40), -9.5),
        matrices.adversarial(60),
        matrices.adversarial(60)[::-1].copy(),
        matrices.geometric(80, 2, cost_range=300),
        np.triu(np.ones((130, 130), np.int32)),
        1 - np.eye(130, dtype=np.int32),
        2**60 * np.eye(20, dtype=np.int64),
    ],
    ids=["empty", "one", "one-float", "three", "constant", "constant-float", "product", "reversed",
         "geometric", "triangle", "inverse", "large"],
)  # fmt: skip
def test_cases(cost, threads):
    assert_solved(cost, solvers.solve_omp(cost, threads=threads))


@threads
@pytest.mark.parametrize("shape", [(30, 30), (20, 70), (70, 20)])
@pytest.mark.parametrize("maximize", [False, True])
def test_forbidden_pairs(shape, maximize, threads):
    rng = np.random.default_rng(5)
    cost = rng.random(shape)
    cost[rng.random(shape) < 0.3] = -np.inf if maximize else np.inf
    assert_solved(cost, solvers.solve_omp(cost, maximize, threads=threads), maximize)


@threads
def test_doubles_of_the_authors_range(threads):
    cost = np.random.default_rng(3).uniform(0, 2, (500, 500))
    assert_solved(cost, solvers.solve_omp(cost, threads=threads))


@pytest.mark.parametrize("factor", [1, 10])
def test_initial_assignments_are_a_maximum_matching_of_the_zeros(factor):
    cost = matrices.uniform(200, 1, cost_range=200 * factor)
    reduced = cost - cost.min(axis=1, keepdims=True)
    zeros = csr_array(reduced == reduced.min(axis=0))
    matched = int((maximum_bipartite_matching(zeros) >= 0).sum())
    counters = solvers.solve_omp(cost).counters
    assert counters["initial_assignments"] == matched < 200
    assert counters["dual_updates"] > 0


@threads
def test_runs_again_from_the_costs(threads):
    cost = matrices.uniform(150, 2, cost_range=1500)
    state = solvers.upload(cost, threads=threads)
    answers = []
    for _ in range(2):
        solvers.run(state)
        answers.append(solvers.download(state))
        assert_solved(cost, answers[-1])
    assert answers[0].cost == answers[1].cost
    assert answers[0].counters.keys() == answers[1].counters.keys()


def test_narrow_type_only_if_four_times_the_range_fits():
    for high, dtype in ((2**29 - 1, "int32"), (2**29, "int64")):
        cost = np.array([[0, high], [high, high]])
        state = solvers.upload(cost)
        assert state.duals.slack.dtype == dtype
        solvers.run(state)
        assert_solved(cost, solvers.download(state))


def test_half_units_have_one_parity():
    odd = 0
    for seed in range(8):
        state = solvers.upload(matrices.uniform(60, seed, cost_range=601))
        solvers.run(state)
        for duals in (state.duals.d_r, state.duals.d_c):
            assert len(set((duals & 1).tolist())) == 1
        odd += int(state.duals.d_r[0]) & 1
    assert odd  # else the test shows nothing


def test_steps_in_the_order_of_the_flow_chart():
    state = solvers.upload(matrices.uniform(100, 4, cost_range=1000))
    seen = []
    solvers.run(state, seen.append)
    counters = solvers.download(state).counters
    assert seen[:3] == ["initial_reduction", "optimality_check", "forward_pass"]
    assert seen[-1] == "optimality_check"
    assert set(seen) == set(solvers.STEPS)
    assert seen.count("dual_update") == counters["dual_updates"]
    assert seen.count("forward_pass") == counters["forward_passes"]
    assert seen.count("reverse_pass") == seen.count("augmentation")
    assert seen.count("optimality_check") == seen.count("augmentation") + 1
    clock = StepClock(lambda: None, solvers.STEPS)
    solvers.run(state, clock)
    clock.stop()
    assert all(clock.totals[step] > 0 for step in solvers.STEPS)


def test_threads_are_checked_and_restored():
    limit = numba.config.NUMBA_NUM_THREADS
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            solvers.upload(np.eye(3), threads=wrong)
    with pytest.raises(ValueError, match=f"{limit + 1} threads asked, this machine offers {limit}"):
        solvers.upload(np.eye(3), threads=limit + 1)
    assert solvers.solve_omp(np.eye(3)).counters["threads"] == limit
    before = numba.get_num_threads()
    solvers.solve_omp(np.eye(3), threads=1)
    assert numba.get_num_threads() == before


def test_a_failed_run_is_not_downloaded(monkeypatch):
    state = solvers.upload(matrices.uniform(60, 1, cost_range=600))
    with pytest.raises(RuntimeError, match="nothing to download"):
        solvers.download(state)
    before = numba.get_num_threads()
    monkeypatch.setattr(solvers, "min_reduction", lambda f, w: int(w.limit[0]))
    with pytest.raises(RuntimeError, match="no positive slack"):
        solvers.run(state)
    assert numba.get_num_threads() == before
    monkeypatch.setattr(solvers, "min_reduction", lambda f, w: 2)
    monkeypatch.setattr(solvers, "dual_update", lambda *arguments: 0)
    with pytest.raises(RuntimeError, match="no column reached zero"):
        solvers.run(state)
    with pytest.raises(RuntimeError, match="nothing to download"):
        solvers.download(state)


def test_a_cycle_ends():
    forest, _ = openmp.allocate(np.eye(4, dtype=np.int32), 1)
    for name in ("p_r", "p_c", "s_r", "s_c", "frontier"):
        getattr(forest, name)[:] = 1
    assert openmp.reverse_pass(forest, 1)
    assert openmp.augmentation(forest, 1)


@pytest.mark.parametrize(
    ("cost", "match"),
    [
        ([[1.0, np.nan]], "NaN"),
        ([1, 2], "1-D"),
        (np.full((2, 2), np.inf), "infeasible"),
        ([[0, 2**62], [0, 0]], "overflow"),
        ([["a"]], "dtype"),
    ],
)
def test_bad_input(cost, match):
    with pytest.raises(ValueError, match=match):
        solvers.solve_omp(cost)
    with pytest.raises(ValueError, match="not offered"):
        solvers.solve_omp(np.eye(2), dtype="int8")


def test_a_limit_of_time_is_kept_and_the_next_run_is_right():
    cost = np.random.default_rng(7).integers(0, 300, (30, 30))
    state = solvers.upload(cost, threads=1, seconds=1e-9)
    with pytest.raises(GivenUpError, match=r"gave up after .* \d+ of 30 rows are assigned") as told:
        solvers.run(state)
    assert told.value.reached["matched"] < 30
    with pytest.raises(RuntimeError, match="has not ended"):
        solvers.download(state)
    state.seconds = None
    solvers.run(state)
    assert assignment_proof.assignment(cost, solvers.download(state)).ok


@pytest.mark.parametrize(
    ("step", "planted", "words"),
    [
        ("augmentation", lambda *given: 0, "after 6 rounds of augmentations"),
        ("dual_update", lambda *given: 1, "after 6 dual updates"),
    ],
)
def test_a_step_that_does_nothing_is_found_out(step, planted, words, monkeypatch):
    monkeypatch.setattr(solvers, step, planted)
    cost = np.outer(np.arange(6), np.arange(6))  # without dual updates two rows are assigned
    with pytest.raises(GivenUpError, match=words) as told:
        solvers.solve_omp(cost, threads=1)
    assert set(told.value.reached) == {"matched", "dual_updates"}
