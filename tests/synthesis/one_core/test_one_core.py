"""The solver for one core beside SciPy's answers, each proved by its duals."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment as scipys

from papers import linear_sum_assignment
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.synthesis.one_core import solver, steps
from papers.synthesis.one_core.solver import solve

SHAPES = ((1, 1), (2, 2), (5, 5), (17, 17), (40, 40), (3, 9), (9, 3), (20, 21), (1, 6), (6, 1))


def drawn(kind, shape, seed):
    """Costs of a kind that takes other steps than the others."""
    g = np.random.default_rng(seed)
    n, m = shape
    return {
        "small range": lambda: g.integers(0, 3, shape),
        "wide range": lambda: g.integers(-(2**49), 2**49, shape),
        "product": lambda: np.outer(np.sort(g.integers(0, 99, n)), np.sort(g.integers(0, 99, m))),
        "low rank": lambda: g.integers(0, 99, (n, 3)) @ g.integers(0, 99, (3, m)),
        "one cost": lambda: np.full(shape, 7),
        "floats": lambda: g.normal(size=shape),
        "twelve decades": lambda: 10.0 ** g.uniform(-6, 6, shape),
        "points": lambda: np.hypot(*(g.random(n)[:, None] - g.random(m) for _ in "xy")),
    }[kind]()


KINDS = (
    "small range", "wide range", "product", "low rank", "one cost", "floats", "twelve decades",
    "points",
)  # fmt: skip


def assert_optimal(cost, maximize=False):
    answer = solve(cost, maximize)
    proof = assignment_proof.assignment(cost, answer, maximize)
    assert proof.ok, proof.reason
    rows, columns = scipys(cost, maximize)
    assert answer.cost == pytest.approx(cost[rows, columns].sum(), rel=1e-9, abs=1e-9)
    return answer


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("maximize", [False, True])
def test_answers_are_optimal_and_proved(kind, maximize):
    for shape in SHAPES:
        for seed in range(6):
            assert_optimal(drawn(kind, shape, seed), maximize)


@pytest.mark.parametrize(
    ("cost", "scaled"),
    [(drawn("low rank", (90, 90), 3), True), (drawn("low rank", (90, 90), 3) / 7, True),
     (drawn("floats", (90, 90), 3), False), (drawn("low rank", (90, 95), 3), False)],
    ids=["low rank", "of floats", "normal", "rectangle"],
)  # fmt: skip
def test_squares_of_structured_costs_are_scaled(cost, scaled):
    assert (assert_optimal(cost).counters["scales"] > 0) == scaled


def settled(kind, n, seed=3):
    """Distances of points to themselves, to others near by, or in another order."""
    g = np.random.default_rng(seed)
    x, order = g.random(n), g.permutation(n)
    near = x + g.normal(size=n) / n**3
    other = {"themselves": x, "moved": near, "in another order": x[order]}[kind]
    return abs(x[:, None] - other)


@pytest.mark.parametrize("kind", ["themselves", "moved", "in another order"])
def test_what_is_nearly_settled_is_not_sorted_and_needs_no_search(kind):
    for n in (40, 150):
        answer = assert_optimal(settled(kind, n))
        assert answer.counters["sorted"] == answer.counters["scans"] == 0
    assert_optimal(settled(kind, 40)[:30])


def test_a_sample_says_what_is_nearly_settled():
    g = np.random.default_rng(1)
    assert steps.looks_settled(settled("themselves", 16))
    for n in (1, 15):
        assert not steps.looks_settled(settled("themselves", n))
    line = np.arange(40.0)
    nearer = settled("themselves", 40) + 1
    nearer[1] = 0  # a row that no sample has is the nearest of all columns
    assert not steps.looks_settled(nearer)
    for other in (np.outer(line, line), np.full((40, 40), 7.0), g.random((40, 40))):
        assert not steps.looks_settled(other)


def test_the_least_costs_of_all_rows_need_no_other_proof(monkeypatch):
    """The optimum is 0, so that no share of it is left for what sums of duals round."""
    monkeypatch.setattr(assignment_proof, "assignment", lambda *_: pytest.fail("a proof"))
    monkeypatch.setattr(solver.assignment_proof, "assignment", lambda *_: pytest.fail("a proof"))
    cost = settled("themselves", 60)
    assert solve(cost).cost == 0


def test_few_rows_that_turns_leave_are_matched_by_the_short_way(monkeypatch):
    """One compiled function; without it the same answers come by the long one."""
    monkeypatch.setattr(steps, "shortest_paths", lambda *_: pytest.fail("the long way"))
    kinds = [drawn(name, (60, 60), 3) for name in ("wide range", "points", "one cost")]
    kinds += [drawn("floats", shape, 3) for shape in ((60, 60), (30, 44), (44, 30))]
    answers = [assert_optimal(cost) for cost in kinds]
    monkeypatch.undo()
    monkeypatch.setattr(solver, "LOOKED_AT", 1)  # a row's paths at a time
    for cost, answer in zip(kinds, answers, strict=True):
        other = assert_optimal(cost)
        assert other.counters == answer.counters
        assert np.array_equal(other.col_ind, answer.col_ind)


def test_every_step_is_needed_somewhere():
    """Without paths, turns or scales something is left that they take: counts say so."""
    counts = assert_optimal(drawn("low rank", (90, 90), 3)).counters
    assert counts["bids"] > 90
    assert counts["scales"] > 2
    assert 0 < counts["left_free"] < 30
    assert counts["scans"] > 0


def test_pairs_that_are_not_tight_are_noticed(monkeypatch):
    """The planted fault: what the last eps has left counts as tight."""
    cost = drawn("low rank", (90, 90), 3)
    right = steps.keep_tight

    def keep_all(matrix, v, u, column, row, free, loose, top):
        return right(matrix, v, u, column, row, free, 2**40, top)

    monkeypatch.setattr(steps, "keep_tight", keep_all)
    with pytest.raises(RuntimeError, match="still loose"):
        solve(cost)
    monkeypatch.setattr(solver, "_is_little", lambda state, *slack: True)
    assert not assignment_proof.assignment(cost, solve(cost), False).ok


def test_paths_that_leave_the_duals_are_noticed(monkeypatch):
    """The planted fault: duals do not fall behind a path."""
    right = steps.shortest_paths

    def without_duals(matrix, v, *rest):
        return right(matrix, v.copy(), *rest)

    monkeypatch.setattr(steps, "shortest_paths", without_duals)
    wrong = 0
    for seed in range(20):
        cost = drawn("low rank", (60, 60), seed)  # what scales leave is matched by these paths
        try:
            wrong += not assignment_proof.assignment(cost, solve(cost), False).ok
        except RuntimeError as error:  # its own check has noticed
            wrong += "still loose" in str(error)
    assert wrong > 0


def test_a_call_goes_on_to_scipy_where_float64_does_not_resolve_the_costs(monkeypatch, capsys):
    cost = drawn("floats", (150, 150), 1)
    monkeypatch.setattr(solver, "_is_little", lambda state, *slack: False)
    rows, columns = linear_sum_assignment(cost, device="cpu", explain=True)
    expected = scipys(cost)
    assert cost[rows, columns].sum() == pytest.approx(cost[expected].sum())
    assert "prove too little" in (said := capsys.readouterr().out)
    assert "so instead: scipy" in said


def stand_ins(shape, seed, large):
    """A planted assignment of small costs, some more of them, and a large cost for all others."""
    g = np.random.default_rng(seed)
    n, m = shape
    cost = np.full(shape, large)
    if n <= m:
        cost[np.arange(n), g.permutation(m)[:n]] = g.random(n)
    else:
        cost[g.permutation(n)[:m], np.arange(m)] = g.random(m)
    cost[g.random(shape) < 0.01] = 0.5
    return cost


@pytest.mark.parametrize("shape", [(3, 2), (30, 34), (100, 120), (120, 100), (128, 128)])
@pytest.mark.parametrize("large", [1e6, 1e9, 1e12, 1e15])
def test_large_costs_in_the_place_of_forbidden_pairs(shape, large):
    """A bid of a large cost once lowered a dual so far that no slack beside it was seen."""
    for seed in range(3):
        cost = stand_ins(shape, seed, large)
        rows, columns = scipys(cost)
        expected = cost[rows, columns].sum()
        answer = solve(cost)
        assert assignment_proof.assignment(cost, answer, False).ok
        assert answer.cost == pytest.approx(expected, rel=1e-9)
        rows, columns, u, v = linear_sum_assignment(cost, device="cpu", return_duals=True)
        assert cost[rows, columns].sum() == pytest.approx(expected, rel=1e-9)
        slack = cost - u[:, None] - v
        assert slack.min() > -1e-6
        assert np.abs(slack[rows, columns]).max() < 1e-6


def test_costs_of_many_sizes():
    """Exponents from -10 to 10: the dual of a large cost hides what small ones differ by."""
    restarted = 0
    for seed in range(50, 70):
        cost = 10.0 ** np.random.default_rng(seed).integers(-10, 10, (128, 128))
        rows, columns = scipys(cost)
        answer = solve(cost)
        restarted += answer.counters["restarts"]
        assert assignment_proof.assignment(cost, answer, False).ok
        assert answer.cost == pytest.approx(cost[rows, columns].sum(), rel=1e-9)
    assert restarted > 0


def test_a_rectangle_keeps_the_duals_of_columns_without_a_row():
    cost = np.array([[1e15, 1e15], [0.3, 0.7], [0.5, 1e15]])
    rows, columns = linear_sum_assignment(cost, seconds=60)
    assert rows.tolist() == [1, 2]
    assert columns.tolist() == [1, 0]


@pytest.mark.parametrize("shape", [(8, 8), (5, 9), (9, 5), (60, 60)])
def test_forbidden_pairs(shape):
    refused = 0
    for seed in range(25):
        g = np.random.default_rng(seed)
        cost = np.where(g.random(shape) < 0.25, g.random(shape), np.inf)
        try:
            rows, columns = scipys(cost)
        except ValueError:
            refused += 1
            with pytest.raises(ValueError, match="infeasible"):
                solve(cost)
            continue
        answer = solve(cost)
        assert assignment_proof.assignment(cost, answer, False).ok
        assert answer.cost == pytest.approx(cost[rows, columns].sum())
    assert refused < 25


def test_forbidden_pairs_of_structured_costs():
    """Scales with infinities: a row that has one column left bids no infinity for it."""
    g = np.random.default_rng(2)
    cost = np.where(g.random((90, 90)) < 0.3, drawn("product", (90, 90), 1).astype(float), np.inf)
    cost[np.arange(90), g.permutation(90)] = 5000.0
    cost[4] = np.where(np.arange(90) == 7, 1.0, np.inf)
    assert_optimal(cost)


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0)])
def test_empty_costs(shape):
    answer = solve(np.zeros(shape))
    assert answer.cost == 0
    assert answer.row_ind.size == 0


def test_a_limit_of_time_ends_a_run():
    with pytest.raises(GivenUpError) as given_up:
        solve(drawn("points", (300, 300), 1), seconds=1e-9)
    assert "scales" in given_up.value.reached
    with pytest.raises(ValueError, match="seconds"):
        solve(np.ones((2, 2)), seconds=-1)


def test_the_answer_does_not_depend_on_looks_at_the_clock(monkeypatch):
    """Auctions and paths in the smallest shares do what they do in one."""
    cost = drawn("product", (90, 90), 3)
    whole = solve(cost)
    monkeypatch.setattr(solver, "LOOKED_AT", 1)
    shares = solve(cost)
    assert whole.counters == shares.counters
    assert np.array_equal(whole.col_ind, shares.col_ind)


def test_a_state_runs_again_from_the_beginning():
    cost = drawn("product", (60, 60), 5)
    state = solver.upload(cost)
    with pytest.raises(RuntimeError, match="nothing to download"):
        solver.download(state)
    solver.run(state)
    first = solver.download(state)
    solver.run(state)
    again = solver.download(state)
    assert first.counters == again.counters
    assert np.array_equal(first.col_ind, again.col_ind)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.array([[np.nan]]), "NaN"), (np.array([[-np.inf]]), "wrong sign"),
        (np.array([[0, 2**53]]), "would overflow"), (np.array([["a"]]), "type"),
    ],
    ids=["NaN", "infinity", "range", "letters"],
)  # fmt: skip
def test_bad_costs_are_named(cost, message):
    with pytest.raises((ValueError, TypeError), match=message):
        solve(cost)
