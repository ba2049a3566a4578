"""The sequential algorithms: against SciPy, proved by their duals, true to their lemmas."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_array

from papers.common.problems import assignment_proof
from papers.lupinska_costscale.assignment import costs, reference

VERSIONS = reference.VERSIONS
HEURISTICS = [(False, False), (True, False), (False, True), (True, True)]


def drawn(seed):
    """A matrix and a direction, mixed in shape, type and range."""
    draw = np.random.default_rng(seed)
    shape = tuple(draw.integers(1, 9, 2)) if seed % 3 else (int(draw.integers(1, 9)),) * 2
    cost = (
        draw.integers(-50, 50, shape),
        draw.random(shape),
        draw.integers(0, 3, shape),
        np.round(draw.normal(size=shape), 1),
    )[seed % 4]
    return cost, seed % 5 == 0


def assert_optimal(cost, answer, maximize=False):
    verdict = assignment_proof.assignment(cost, answer, maximize)
    assert verdict.ok, verdict
    best = cost[linear_sum_assignment(cost, maximize)].sum()
    assert answer.cost == pytest.approx(best, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("updates", "fixing"), HEURISTICS)
def test_optimal_and_proved(version, updates, fixing):
    for seed in range(24):
        cost, maximize = drawn(seed)
        options = {"version": version, "price_updates": updates, "arc_fixing": fixing}
        answer = reference.solve(cost, maximize, alpha=2 + seed % 10, **options)
        assert_optimal(cost, answer, maximize)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_lemmas_along_a_run(version):
    """Prices never rise within a refine, and every residual arc stays eps-optimal."""
    seen = []

    def watch(run, operation, v):
        low = [0, -run.eps] if version == "5.1" else [-run.eps, -run.eps]
        for w in range(run.nodes):
            for _, other, c in run.residual(w):
                # 5.1: an arc of an x that has just sent its unit is not residual any more.
                assert c + run.p[w] - run.p[other] >= low[w >= run.costs.n]
        if operation == "relabel":
            same = seen and seen[-1][0] == run.count["refines"]
            if same:
                assert all(new <= old for new, old in zip(run.p, seen[-1][1], strict=True))
            seen.append((run.count["refines"], list(run.p)))

    cost = np.random.default_rng(1).integers(0, 40, (6, 6))
    assert_optimal(cost, reference.solve(cost, version=version, watch=watch))
    assert len(seen) > 10


def test_price_updates_save_operations():
    cost = np.random.default_rng(2).integers(0, 101, (20, 20))
    plain = reference.solve(cost).counters
    updated = reference.solve(cost, price_updates=True).counters
    assert updated["price_updates"] > 0 == plain["price_updates"]
    assert updated["relabels"] < plain["relabels"]


def test_a_price_update_keeps_the_flow_eps_optimal_and_makes_a_path_admissible():
    cost = np.random.default_rng(5).integers(0, 30, (8, 8))
    run = reference.Run(costs.read(cost), "5.2", [0] * 64, [0] * 16)
    run.eps = 20
    reference.start_5_2(run)
    before = list(run.p)
    reference.update_prices(run)
    reduced = [(v, w, c + run.p[v] - run.p[w]) for v in range(16) for _, w, c in run.residual(v)]
    assert min(value for *_, value in reduced) >= -run.eps
    assert {v for v, _, value in reduced if value < 0} == set(range(8))
    assert all(new <= old for new, old in zip(run.p, before, strict=True))


def test_no_update_without_an_active_node():
    run = reference.Run(costs.read([[1, 2], [2, 1]]), "5.2", [1, 0, 0, 1], [3, 4, 5, 6], [0] * 4, 1)
    reference.update_prices(run)
    assert run.p == [3, 4, 5, 6]


def test_fixed_arcs_are_in_no_optimal_assignment():
    cost = np.random.default_rng(4).integers(0, 1000, (8, 8))
    for maximize in (False, True):
        answer = reference.solve(cost, maximize, arc_fixing=True)
        assert answer.counters["arcs_fixed"] > 0
        assert_optimal(cost, answer, maximize)


def test_last_epsilon_is_below_one_over_n():
    """1 in units of 1 / (2 N + 1), 2 N being the number of nodes."""
    cost = np.random.default_rng(6).integers(0, 100, (5, 5))
    read = costs.read(cost)
    assert read.factor == 11
    assert read.largest == 11 * (cost.max() - cost.min())
    found = []
    reference.solve(cost, watch=lambda run, *_: found.append(run.eps))
    assert found[-1] == 1
    assert all(a >= b for a, b in itertools.pairwise(found))
    assert set(found) <= {-(-read.largest // 10**k) for k in range(1, 9)} | {1}


@pytest.mark.parametrize("seed", range(12))
def test_sparse(seed):
    """Absent pairs are forbidden, stored zeros are not; rectangular too."""
    draw = np.random.default_rng(seed)
    n, m = draw.integers(2, 9, 2)
    dense = np.where(draw.random((n, m)) < 0.5, np.inf, draw.integers(0, 9, (n, m)))
    k = min(n, m)
    dense[np.arange(k), np.arange(k)] = 5
    there = np.isfinite(dense)
    sparse = coo_array((dense[there], np.nonzero(there)), shape=(n, m))
    for given in (sparse, sparse.astype(np.int32), dense):
        assert_optimal(dense, reference.solve(given))
    flipped = np.where(there, dense, -np.inf)
    assert_optimal(flipped, reference.solve(sparse, maximize=True), True)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_empty(shape):
    for given in (np.zeros(shape), csr_array(np.zeros(shape, int))):
        answer = reference.solve(given)
        assert answer.cost == answer.row_ind.size == 0
        assert (answer.row_duals.size, answer.column_duals.size) == shape


@pytest.mark.parametrize(
    ("cost", "named"),
    [
        (np.zeros(3), "2-D"),
        ([[np.nan, 1.0], [1.0, 1.0]], "NaN"),
        ([[np.inf, np.inf], [1.0, 1.0]], "infeasible"),
        (csr_array(np.array([[1, 1], [0, 0]])), "infeasible: at most 1 of 2"),
        (csr_array(np.array([[np.nan, 1.0]])), "invalid numeric"),
        (csr_array(np.array([[2**61, 1]])), r"2\*\*60"),
        (csr_array(np.array([[1j, 1]])), "integers or floats"),
        ([[2**59, 0], [0, 0]], "overflow"),
        ([[1e300, 1e-9], [3e-9, 2e-9]], "orders of magnitude"),
        ([["x"]], "integers or floats"),
    ],
)
def test_bad_costs_are_named(cost, named):
    with pytest.raises(ValueError, match=named):
        reference.solve(cost)


@pytest.mark.parametrize(("wrong", "named"), [({"version": "5.4"}, "5.4"), ({"alpha": 1}, "alpha")])
def test_bad_options_are_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        reference.solve([[1]], **wrong)


@pytest.mark.parametrize("sparse", [False, True])
def test_costs_whose_median_hides_how_small_the_rest_is(sparse):
    """Planted: most are large, so the steps were coarse, and answers were too dear by a tenth."""
    refused = 0
    for seed in range(20):
        g = np.random.default_rng(seed)
        cost = g.random((9, 9))
        cost[g.random((9, 9)) < 0.85] = 10.0 ** g.integers(6, 17)
        cost[np.arange(9), g.permutation(9)] = g.random(9)
        rows, columns = linear_sum_assignment(cost)
        try:
            answer = reference.solve(csr_array(cost) if sparse else cost)
        except ValueError as error:
            refused += "orders of magnitude" in str(error)
            continue
        assert answer.cost == pytest.approx(cost[rows, columns].sum(), rel=1e-9)
    assert 0 < refused < 20 + sparse


def test_an_answer_that_is_not_optimal_is_refused():
    """`costs.answer` finds the negative cycle, and what is no matching."""
    read = costs.read([[0, 9], [9, 0]])
    with pytest.raises(RuntimeError, match="not optimal"):
        costs.answer(read, np.array([0, 1, 1, 0]), np.zeros(4, np.int64), {})
    for flow in ([1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]):
        with pytest.raises(RuntimeError, match="perfect matching"):
            costs.answer(read, np.array(flow), np.zeros(4, np.int64), {})


def test_an_active_node_without_an_arc_is_named():
    run = reference.Run(costs.read([[1]]), "5.2", [1], [0, 0], [1, 0], 1)
    with pytest.raises(RuntimeError, match="no residual arc"):
        reference.discharge(run, 0)


def test_relabels_are_bounded(monkeypatch):
    monkeypatch.setattr(reference, "relabel_bound", lambda nodes, alpha: 0)
    with pytest.raises(RuntimeError, match="exceeded"):
        reference.solve([[1, 2], [1, 2]])
