"""The certifier accepts what is optimal and refuses every planted fault."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common.model import Assignment
from papers.common.problems import assignment_proof
from papers.lopes2019.baselines import solvers


def proved(cost, maximize=False):
    """An optimal answer with duals, from a CPU solver."""
    state = solvers.upload_hungarian_o3(cost, maximize=maximize)
    solvers.run_hungarian_o3(state)
    return solvers.download_hungarian_o3(state)


RNG = np.random.default_rng(7)
SHAPES = [(1, 1), (6, 6), (5, 9), (9, 5), (300, 300)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["int", "float"])
def test_optimal_answers_pass(shape, maximize, kind):
    cost = RNG.integers(-50, 50, shape) if kind == "int" else RNG.normal(size=shape)
    answer = proved(cost, maximize)
    verdict = assignment_proof.assignment(cost, answer, maximize)
    assert verdict.ok, verdict
    assert verdict.kind == "lp-duals"
    strips = assignment_proof.assignment(
        lambda start, stop: cost[start:stop], answer, rows=shape[0]
    )
    assert strips == verdict
    best = cost[linear_sum_assignment(cost, maximize)].sum()
    assert answer.cost == pytest.approx(best)


def test_nothing_checked_is_never_ok():
    answer = Assignment(np.array([0]), np.array([0]), 1, None, None)
    verdict = assignment_proof.assignment(np.array([[1]]), answer)
    assert not verdict.ok
    assert verdict.kind == "none"


COST = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])


def faulty(**changes):
    return dataclasses.replace(proved(COST), **changes)


def moved(duals, at, by):
    duals = duals.copy()
    duals[at] += by
    return duals


PLANTED = {
    "column twice": (lambda a: {"col_ind": np.array([1, 1, 2])}, "twice"),
    "row missing": (lambda a: {"row_ind": a.row_ind[:2], "col_ind": a.col_ind[:2]}, "expected"),
    "row order": (lambda a: {"row_ind": np.array([1, 0, 2])}, "increasing"),
    "row order, unsigned": (lambda a: {"row_ind": np.array([1, 0, 1], np.uint64)}, "increasing"),
    "row outside": (lambda a: {"row_ind": np.array([0, 1, 3])}, "increasing list"),
    "half a row": (lambda a: {"row_ind": np.array([0, 0.5, 2])}, "row_ind holds float64"),
    "half a column": (lambda a: {"col_ind": a.col_ind + 0.5}, "col_ind holds float64"),
    "flags for columns": (lambda a: {"col_ind": a.col_ind > 0}, "col_ind holds bool"),
    "column outside": (lambda a: {"col_ind": np.array([1, 0, 3])}, "does not exist"),
    "column negative": (lambda a: {"col_ind": np.array([1, -1, 2])}, "does not exist"),
    "wrong cost": (lambda a: {"cost": a.cost - 1}, "the answer says"),
    "worse matching": (lambda a: {"col_ind": np.array([0, 1, 2]), "cost": 6}, "not tight"),
    "dual too large": (lambda a: {"row_duals": moved(a.row_duals, 1, 1)}, "reduced cost -"),
    "dual too small": (lambda a: {"column_duals": moved(a.column_duals, 2, -1)}, "not tight"),
    "shifted pair": (
        lambda a: {
            "row_duals": moved(a.row_duals, 0, 2),
            "column_duals": moved(a.column_duals, a.col_ind[0], -2),
        },
        "reduced cost -|not tight",
    ),
    "NaN cost": (lambda a: {"cost": float("nan")}, "the answer says"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_refused(fault):
    change, reason = PLANTED[fault]
    answer = proved(COST)
    verdict = assignment_proof.assignment(COST, dataclasses.replace(answer, **change(answer)))
    assert not verdict.ok
    assert any(part in verdict.reason for part in reason.split("|")), verdict


def test_every_single_dual_error_is_refused():
    """No dual can move by one, alone, without being noticed."""
    cost = RNG.integers(0, 30, (12, 12))
    answer = proved(cost)
    for side in ("row_duals", "column_duals"):
        for at in range(12):
            for by in (-1, 1):
                wrong = dataclasses.replace(answer, **{side: moved(getattr(answer, side), at, by)})
                assert not assignment_proof.assignment(cost, wrong).ok


def test_longer_side_conditions():
    cost = RNG.integers(0, 30, (4, 7))
    answer = proved(cost)
    free = np.setdiff1d(np.arange(7), answer.col_ind)[0]
    lowered = dataclasses.replace(answer, column_duals=moved(answer.column_duals, free, -1))
    assert "unassigned column" in assignment_proof.assignment(cost, lowered).reason
    shifted = dataclasses.replace(
        answer, row_duals=answer.row_duals - 40, column_duals=answer.column_duals + 40
    )
    assert "wrong sign" in assignment_proof.assignment(cost, shifted).reason


def test_forbidden_pair_and_direction():
    cost = np.array([[1.0, np.inf], [0.0, 5.0]])
    answer = proved(cost)
    assert assignment_proof.assignment(cost, answer).ok
    wrong = dataclasses.replace(answer, col_ind=np.array([1, 0]), cost=np.inf)
    assert not assignment_proof.assignment(cost, wrong).ok
    assert not assignment_proof.assignment(cost, answer, maximize=True).ok


def test_another_matrix_is_refused():
    answer = proved(COST)
    assert not assignment_proof.assignment(COST[:, :2], answer).ok
    assert not assignment_proof.assignment(COST[:2], answer).ok
    other = COST.copy()
    other[0, 0] = 0
    assert not assignment_proof.assignment(other, answer).ok


def test_float_tolerance_is_tight():
    cost = RNG.random((40, 40))
    answer = proved(cost)
    slightly = dataclasses.replace(answer, row_duals=moved(answer.row_duals, 3, 1e-7))
    assert assignment_proof.assignment(cost, answer).ok
    assert not assignment_proof.assignment(cost, slightly).ok


TWO = np.array([[0.0, 1.0], [1.0, 0.0]])
CROSSED = Assignment(np.array([0, 1]), np.array([1, 0]), 2.0, np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(
    ("u", "v"),
    [
        ([1e12, 1e12], [-1e12, -1e12]),  # huge duals must not widen the tolerance
        ([1e12, -1e12], [1e12, -1e12]),
        ([np.inf, 0], [0, 0]),
        ([np.nan, 0], [0, 0]),
        ([2, 0], [0, 0]),
        ([1, 1], [0, 0]),
    ],
)
@pytest.mark.parametrize("kind", [float, int])
def test_a_wrong_matching_is_refused_whatever_its_duals(u, v, kind):
    wrong = dataclasses.replace(
        CROSSED, row_duals=np.array(u, float), column_duals=np.array(v, float)
    )
    assert not assignment_proof.assignment(TWO.astype(kind), wrong).ok


def test_integer_duals_that_would_wrap_are_refused():
    wrong = dataclasses.replace(
        CROSSED,
        cost=2,
        row_duals=np.array([2**62, -(2**62)]),
        column_duals=np.array([2**62 + 1, 1 - 2**62]),
    )
    assert "overflow" in assignment_proof.assignment(TWO.astype(int), wrong).reason
    big = np.array([[2**60 + 1, 0], [0, 0]])
    zero = dataclasses.replace(CROSSED, cost=0, row_duals=np.zeros(2, int),
                               column_duals=np.zeros(2, int))  # fmt: skip
    assert "2**60" in assignment_proof.assignment(big, zero).reason


@pytest.mark.parametrize("odd", [np.nan, -np.inf])
def test_only_the_right_infinity_forbids(odd):
    cost = np.array([[odd, 1.0], [1.0, odd]])
    duals = {"row_duals": np.ones(2), "column_duals": np.zeros(2)}
    assert not assignment_proof.assignment(cost, dataclasses.replace(CROSSED, **duals)).ok


def test_strips_must_be_all_the_rows():
    answer = proved(COST)

    def strips(start, stop):
        return np.vstack([COST, COST[:1]])[start:stop]

    assert not assignment_proof.assignment(strips, answer, rows=4).ok
    assert not assignment_proof.assignment(lambda start, stop: COST[:2], answer, rows=3).ok
    with pytest.raises(ValueError, match="rows="):
        assignment_proof.assignment(strips, answer)


@pytest.mark.parametrize("big", [1e6, 1e12, 1e15])
def test_a_big_m_does_not_widen_the_tolerance(big):
    """Half of the entries are huge and take no part: a worse answer must still be refused."""
    rng = np.random.default_rng(4)
    cost = np.where(rng.random((24, 24)) < 0.5, big, rng.random((24, 24)))
    np.fill_diagonal(cost, 1.0)
    answer = proved(cost)
    assert assignment_proof.assignment(cost, answer).ok
    swapped = answer.col_ind.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    worse = dataclasses.replace(
        answer, col_ind=swapped, cost=float(cost[answer.row_ind, swapped].sum())
    )
    assert not assignment_proof.assignment(cost, worse).ok
    shifted = dataclasses.replace(answer, row_duals=moved(answer.row_duals, 0, -1e-4))
    assert not assignment_proof.assignment(cost, shifted).ok


def test_huge_integers_are_exact():
    cost = np.array([[2**60, 2**60 - 1], [2**60 - 1, 2**60 - 3]])
    answer = proved(cost)
    assert assignment_proof.assignment(cost, answer).ok
    assert answer.cost == 2**61 - 3
    off = dataclasses.replace(answer, row_duals=moved(answer.row_duals, 0, 1))
    assert not assignment_proof.assignment(cost, off).ok


INF = np.inf


@pytest.mark.parametrize("stretch", [1e3, 1e11, 1e15, 1e17])
@pytest.mark.parametrize("far", [INF, 1e20])
def test_blocks_shifted_apart_do_not_hide_a_worse_answer(stretch, far):
    """Two blocks that share no allowed pair: their duals may move apart without bound."""
    cost = np.array([[0, 1, far, far], [1, 0, far, far], [far, far, 0, 1], [far, far, 1, 0]], float)
    u = np.array([stretch, stretch, -stretch, -stretch])
    worse = Assignment(np.arange(4), np.array([1, 0, 2, 3]), 2.0, u, -u)
    assert not assignment_proof.assignment(cost, worse).ok
    right = Assignment(np.arange(4), np.arange(4), 7.0, u, -u)
    assert not assignment_proof.assignment(cost, right).ok, "the claimed cost is wrong"


def test_overflowing_sums_are_refused():
    cost = np.array([[0.0, 5.0], [5.0, 0.0]])
    crossed = Assignment(
        np.array([0, 1]), np.array([1, 0]), 10.0, np.array([1.7e308, -1.7e308]), np.zeros(2)
    )
    assert not assignment_proof.assignment(cost, crossed).ok
    flat = np.full((2, 2), 1e308)
    whole = Assignment(np.arange(2), np.arange(2), 2e307, np.full(2, 1e307), np.zeros(2))
    assert not assignment_proof.assignment(flat, whole).ok


def test_errors_of_the_longer_side_count():
    n, b = 200, 4e-8
    cost = np.full((n, 3 * n), 2.0)
    cost[np.arange(n), np.arange(n)] = 1
    cost[np.arange(n), n + np.arange(n)] = 1 - b
    v = np.concatenate([np.zeros(n), np.full(n, -b), np.full(n, b)])
    wrong = Assignment(np.arange(n), np.arange(n), float(n), np.ones(n), v)
    assert not assignment_proof.assignment(cost, wrong).ok


def test_integer_costs_with_float_duals():
    big = 10**12
    cost = np.array([[big, big - 1], [big, big]])
    wrong = Assignment(np.arange(2), np.arange(2), 2 * big, np.full(2, 1e12), np.zeros(2))
    claimed = Assignment(
        np.arange(2), np.array([1, 0]), 2 * big + 5, np.full(2, 1e12), np.array([0.0, -1.0])
    )
    assert not assignment_proof.assignment(cost, claimed).ok
    assert not assignment_proof.assignment(cost, wrong).ok


def test_costs_that_cannot_be_checked():
    odd = np.array([[-1, -1.5], [-1.5, -1]], object)
    answer = Assignment(np.arange(2), np.arange(2), -2, np.array([-1, -1]), np.zeros(2, int))
    assert not assignment_proof.assignment(odd, answer).ok
    two = Assignment(np.arange(2), np.arange(2), 2, np.ones(2, int), np.zeros(3, int))
    assert not assignment_proof.assignment(
        np.array([[1, 9, 9], [9, 1, 9], [0, 0, -100]]), two, rows=2
    ).ok


# ------------------------------------------------------------------- the pass over integer strips

STRIPS = 2 * assignment_proof.STRIP_ROWS + 44
ROWS = [0, 1, 255, 256, 300, 511, 512, STRIPS - 1]
COLUMNS = [0, 1, 63, 300, STRIPS - 2, STRIPS - 1]
INTEGERS = ["int32", "int64", "int16", "uint16", "uint64", ">i4"]


def tight(columns=STRIPS, maximize=False):
    """Three strips of integers with an optimal answer: slack 1 to 9, 0 at the assigned pairs."""
    rng = np.random.default_rng(5)
    u, v = rng.integers(200, 900, STRIPS), rng.integers(200, 900, columns)
    slack = rng.integers(1, 10, (STRIPS, columns))
    assigned = rng.permutation(columns)
    slack[np.arange(STRIPS), assigned] = 0
    cost = u[:, None] + v[None, :] + (-slack if maximize else slack)
    total = int(u.sum() + v.sum())
    return cost, Assignment(np.arange(STRIPS), assigned, total, u, v, maximize)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_integers_of_any_type_and_layout_pass(dtype, order, maximize):
    cost, answer = tight(maximize=maximize)
    cost = cost.astype(dtype, order=order)
    assert assignment_proof.assignment(cost, answer).ok
    narrow = dataclasses.replace(answer, row_duals=answer.row_duals.astype(np.int16))
    assert assignment_proof.assignment(cost, narrow).ok


def test_booleans_pass():
    cost = ~np.eye(5, dtype=bool)
    zero = np.zeros(5, int)
    assert assignment_proof.assignment(
        cost, Assignment(np.arange(5), np.arange(5), 0, zero, zero)
    ).ok
    crossed = np.array([1, 0, 2, 3, 4])
    wrong = Assignment(np.arange(5), crossed, 2, zero, zero)
    assert "not tight" in assignment_proof.assignment(cost, wrong).reason


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint16"])
@pytest.mark.parametrize("maximize", [False, True])
def test_one_entry_that_is_wrong_by_one_is_found_wherever_it_is(dtype, maximize):
    cost, answer = tight(maximize=maximize)
    cost = cost.astype(dtype)
    sign = -1 if maximize else 1
    for i in ROWS:
        for j in [c for c in COLUMNS if c != answer.col_ind[i]]:
            kept = cost[i, j]
            cost[i, j] = answer.row_duals[i] + answer.column_duals[j] - sign
            for given in (cost, lambda start, stop: cost[start:stop]):
                verdict = assignment_proof.assignment(given, answer, rows=STRIPS)
                assert not verdict.ok
                assert verdict.reason == f"reduced cost -1 at row {i}, column {j}"
            cost[i, j] = kept
    assert assignment_proof.assignment(cost, answer).ok


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("maximize", [False, True])
def test_one_loose_pair_is_found_wherever_it_is(dtype, maximize):
    cost, answer = tight(maximize=maximize)
    cost = cost.astype(dtype)
    sign = -1 if maximize else 1
    last = int(np.flatnonzero(answer.col_ind == STRIPS - 1)[0])
    for i in [*ROWS, last]:
        j = answer.col_ind[i]
        cost[i, j] += sign
        claimed = dataclasses.replace(answer, cost=answer.cost + sign)
        reason = assignment_proof.assignment(cost, claimed).reason
        assert reason == f"row {i}, column {j} is assigned but not tight"
        cost[i, j] -= sign


def test_the_first_wrong_entry_is_named_and_comes_before_loose_pairs():
    cost, answer = tight()
    cost[0, answer.col_ind[0]] += 1
    places = [(300, 5), (300, 9), (301, 0)]
    for i, j in places:
        cost[i, j] = answer.row_duals[i] + answer.column_duals[j] - 3
    assert "row 0" in assignment_proof.assignment(cost, answer).reason  # an earlier strip
    cost[7, 20] = answer.row_duals[7] + answer.column_duals[20] - 4
    assert assignment_proof.assignment(cost, answer).reason == "reduced cost -4 at row 7, column 20"
    cost[7, 20] += 9
    cost[0, answer.col_ind[0]] -= 1
    assert (
        assignment_proof.assignment(cost, answer).reason == "reduced cost -3 at row 300, column 5"
    )


@pytest.mark.parametrize("value", [2**60 + 1, -(2**60) - 1, 2**63 - 1, -(2**63)])
def test_a_cost_that_could_wrap_is_found_wherever_it_is(value):
    cost, answer = tight()
    huge = dataclasses.replace(answer, row_duals=answer.row_duals + 2**61 - 1000)
    for i in ROWS:
        for j in COLUMNS:
            kept, cost[i, j] = cost[i, j], value
            assert "2**60" in assignment_proof.assignment(cost, answer).reason
            cost[i, j] = kept
    cost[5, 5] = value  # said before the slack that it makes wrap
    assert "2**60" in assignment_proof.assignment(cost, huge).reason


def test_unsigned_costs_beyond_the_limit_are_refused():
    cost, answer = tight()
    cost = cost.astype(np.uint64)
    cost[-1, -1] = 2**64 - 1
    assert "2**60" in assignment_proof.assignment(cost, answer).reason


def test_slack_at_the_limits_does_not_wrap():
    top, bottom = 2**60, 2**61
    cost = np.array([[top, top], [top, top]])
    far = Assignment(np.arange(2), np.arange(2), 2 * top, np.full(2, bottom), np.full(2, bottom))
    assert f"reduced cost {top - 2 * bottom}" in assignment_proof.assignment(cost, far).reason
    near = dataclasses.replace(far, row_duals=-far.row_duals, column_duals=-far.column_duals)
    assert "not tight" in assignment_proof.assignment(cost, near).reason
    upward = dataclasses.replace(near, maximize=True)
    assert f"reduced cost {-top - 2 * bottom}" in assignment_proof.assignment(cost, upward).reason


@pytest.mark.parametrize("seed", range(20))
def test_the_pass_agrees_with_the_definition(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 300, 2)
    cost = rng.integers(-(2**31), 2**31, (n, m)).astype(rng.choice(["int32", "int64"]))
    v = rng.integers(-(2**61), 2**61, m)
    low, high, least, most = assignment_proof._scan(cost, v)
    rest = cost.astype(np.int64) - v
    np.testing.assert_array_equal(low, cost.min(axis=1))
    np.testing.assert_array_equal(high, cost.max(axis=1))
    np.testing.assert_array_equal(least, rest.min(axis=1))
    np.testing.assert_array_equal(most, rest.max(axis=1))


def test_a_float_strip_among_integer_strips():
    """From there on the answer is judged as one of floats; what came before was exact."""
    cost, answer = tight()

    def strips(start, stop):
        return cost[start:stop].astype(float if start else np.int32)

    assert assignment_proof.assignment(strips, answer, rows=STRIPS).reason.endswith("to within 0")
    for i in (3, 300):
        kept, cost[i, 3] = cost[i, 3], answer.row_duals[i] + answer.column_duals[3] - 1
        assert not assignment_proof.assignment(strips, answer, rows=STRIPS).ok
        cost[i, 3] = kept
