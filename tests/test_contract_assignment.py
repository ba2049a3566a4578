"""One suite for every assignment solver: same cases, same assertions, by what each declares."""

import re
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from contract import (
    assert_gave_up,
    assert_steps_are_declared,
    given_up,
    reasons,
    solve,
    solvers,
    upload,
)
from nightly import first
from scipy.optimize import linear_sum_assignment

import papers
from papers.common.problems import assignment_proof, kinds
from papers.reproduce import registry

SOLVERS = list(solvers("assignment"))
every_solver = pytest.mark.parametrize(("solver", "options"), SOLVERS)


def assert_optimal(solver, cost, maximize=False, **options):
    """Solved, of SciPy's cost, and proved by its own duals."""
    cost = np.asarray(cost)
    answer = solve(solver, cost, maximize=maximize, **options)
    wide = cost.astype(np.int64 if cost.dtype.kind in "iub" else np.float64)
    low = wide.min() if cost.dtype.kind in "iub" and cost.size else 0
    rows, columns = linear_sum_assignment(wide - low, maximize)
    best = wide[rows, columns].sum()
    if cost.dtype.kind == "f":
        assert answer.cost == pytest.approx(best, rel=1e-9, abs=1e-9)
    elif (
        not cost.size or np.ptp(wide) < 2**52
    ):  # SciPy works in float64: beyond, only the proof counts
        assert answer.cost == best
    verdict = assignment_proof.assignment(cost, answer, maximize)
    assert verdict.ok, verdict
    return answer


def traits(cost):
    """The features of a matrix that a solver may declare as a limit."""
    cost = np.asarray(cost)
    found = {"f": {"floats"}, "b": {"booleans"}}.get(cost.dtype.kind, set())
    if cost.ndim == 2 and cost.shape[0] != cost.shape[1]:
        found |= {"rectangles"}
    if max(cost.shape, default=0) > 64:
        found |= {"sides above 64"}
    if cost.dtype.kind in "iu" and cost.size and int(cost.max()) - int(cost.min()) >= 2**52:
        found |= {"wide integers"}
    if cost.dtype.kind in "iu" and cost.size and max(int(cost.max()), -int(cost.min())) > 2**53:
        found |= {"large integers"}
    return found


def assert_right_or_refused(solver, cost, maximize=False, extra=(), **options):
    """Solved and proved; refused by name if, and only if, that is declared."""
    met = [solver.limits[each] for each in traits(cost) | set(extra) if each in solver.limits]
    if not met:
        return assert_optimal(solver, cost, maximize, **options)
    with pytest.raises(ValueError, match="|".join(met)):
        upload(solver, np.asarray(cost), maximize=maximize, **options)
    return None


rng = np.random.default_rng(20)
CASES = {
    "1x1": [[7]],
    "1x1 negative": [[-3]],
    "2x2": [[1, 2], [3, 4]],
    "all zero": np.zeros((6, 6), int),
    "constant": np.full((9, 9), 5),
    "ties": rng.integers(0, 2, (13, 13)),
    "negative": rng.integers(-100, 0, (8, 8)),
    "identity": 1 - np.eye(10, dtype=int),
    "anti-diagonal": np.fliplr(1 - np.eye(10, dtype=int)),
    "Machol-Wien": np.outer(np.arange(1, 13), np.arange(1, 13)),
    "permutation": rng.permutation(36).reshape(6, 6),
    "wide": rng.integers(0, 20, (4, 11)),
    "tall": rng.integers(-9, 20, (11, 4)),
    "one row": rng.integers(0, 20, (1, 9)),
    "one column": rng.integers(0, 20, (9, 1)),
    "block edge 15": rng.integers(0, 30, (15, 15)),
    "block edge 16": rng.integers(0, 30, (16, 16)),
    "block edge 17": rng.integers(0, 30, (17, 17)),
    "block edge 33": rng.integers(0, 33, (33, 33)),
    "bool": rng.random((7, 7)) < 0.5,
    "uint8": rng.integers(0, 256, (12, 12)).astype(np.uint8),
    "int8": rng.integers(-128, 128, (12, 12)).astype(np.int8),
    "uint64": rng.integers(0, 2**59, (6, 6)).astype(np.uint64),
    "wide int64": rng.integers(-(2**58), 2**58, (7, 7)),
    "large offset": rng.integers(0, 9, (7, 7)) + 10**17,
    "float": rng.random((14, 14)),
    "float32": rng.random((10, 10)).astype(np.float32),
    "float negative": rng.normal(size=(9, 12)),
    "float ties": rng.integers(0, 3, (12, 12)) / 8,
    "tiny floats": rng.random((6, 6)) * 1e-200,
    "forbidden": np.where(rng.random((12, 12)) < 0.4, np.inf, rng.random((12, 12)))
    + np.where(np.eye(12), -0.0, 0),
    "forbidden, tiny costs": np.array(
        [[1e-12, np.inf, 3e-12], [2e-12, 5e-12, np.inf], [1e-12] * 3]
    ),
    "forbidden, huge costs": np.array([[np.inf, 1e20], [1e20, 1e20]]),
    "forbidden, constant": np.array([[0.0, np.inf], [0.0, 0.0]]),
    "forbidden, negative": np.array([[-5.0, np.inf, -1.0], [-2.0, -7.5, -3.0]]),
    "big-M": np.where(rng.random((9, 9)) < 0.4, 1e9, rng.random((9, 9))) + 0.25,
    "float16": rng.random((6, 6)).astype(np.float16),
    "big-endian": rng.integers(0, 99, (6, 6)).astype(">i4"),
    "not contiguous": rng.integers(0, 50, (20, 20))[::2, ::2],
    "Fortran order": np.asfortranarray(rng.integers(0, 50, (9, 9))),
}
CASES["forbidden"][np.arange(12), np.arange(12)] = 0.5


WIDE = {"big-M": ("wide floats",)}
"""Cases whose floats differ by many orders of magnitude."""


def is_one_of_several(case):
    """Whether a solver is made of kernels, and not the one that its paper takes by default."""
    solver, paper = case.values[0], case.id.partition(":")[0]
    default = registry.card(paper).defaults["assignment"].gpu
    return solver.device == "cuda" and solver.name != default


WIDE_INTEGERS = ("uint64", "wide int64", "large offset")
"""Cases that need int64, which costs Numba's codes another compilation."""


def is_a_rival(case):
    """Whether a solver is a code of the CPU, and not the one that any paper takes by default."""
    cards = [registry.card(paper) for paper in papers.PAPERS]
    defaults = {card.defaults["assignment"].cpu for card in cards if "assignment" in card.defaults}
    return case.values[0].device == "cpu" and case.values[0].name not in defaults


def of_cases(names):
    """Every solver on every case by its defaults; a variant takes every eighth one by day.

    Kernels that are no paper's default take every other case by day, each other ones than the
    solver before it: the executor is slow, and versions of one algorithm are alike. Rivals on the
    CPU take `WIDE_INTEGERS` by night.
    """
    for turn, case in enumerate(SOLVERS):
        for place, name in enumerate(names):
            late = case.values[1] and place % 8
            late = late or (is_one_of_several(case) and (place + turn) % 2)
            late = late or (name in WIDE_INTEGERS and is_a_rival(case))
            marks = [*case.marks, *([pytest.mark.nightly] if late else [])]
            yield pytest.param(*case.values, name, id=f"{name}-{case.id}", marks=marks)


@pytest.mark.parametrize(("solver", "options", "case"), list(of_cases(CASES)))
def test_case(solver, options, case):
    assert_right_or_refused(solver, CASES[case], extra=WIDE.get(case, ()), **options)


@every_solver
@pytest.mark.parametrize("case", ["wide", "tall", "ties", "float negative", "uint8", "int8"])
def test_maximize(solver, options, case):
    assert_right_or_refused(solver, CASES[case], maximize=True, **options)


@every_solver
def test_maximize_with_forbidden_pairs(solver, options):
    cost = np.where(np.isinf(CASES["forbidden"]), -np.inf, CASES["forbidden"])
    assert_right_or_refused(solver, cost, maximize=True, **options)


@every_solver
@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0)])
@pytest.mark.parametrize("dtype", [int, float])
def test_empty(solver, options, shape, dtype):
    answer = assert_right_or_refused(solver, np.zeros(shape, dtype), **options)
    if answer is not None:
        assert answer.row_ind.size == answer.col_ind.size == 0
        assert answer.cost == 0


@every_solver
@pytest.mark.parametrize(
    ("cost", "reason"),
    [
        (np.zeros(3), "2-D"),
        (np.array([[np.nan, 1.0], [1.0, 1.0]]), "NaN"),
        (np.array([[np.inf, np.inf], [1.0, 1.0]]), "infeasible"),
        (np.array([["x"]]), "integers or floats"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(solver, options, cost, reason):
    with pytest.raises(ValueError, match=reasons(solver, reason)):
        upload(solver, cost, **options)


BEYOND = {
    "floats": np.array([[0.5]]),
    "booleans": np.eye(3, dtype=bool),
    "rectangles": np.ones((2, 3), int),
    "large integers": np.array([[10**17]]),
    "wide integers": CASES["wide int64"],
    "wide floats": CASES["big-M"],
    "sides above 64": np.eye(65, dtype=int),
}
"""An example of each limit that a solver may declare."""


@every_solver
def test_declared_limits_are_refused_by_name(solver, options):
    for limit, words in solver.limits.items():
        with pytest.raises(ValueError, match=words):
            upload(solver, BEYOND[limit], **options)


@every_solver
def test_input_is_not_changed_and_state_runs_again(solver, options):
    cost = rng.integers(0, 40, (18, 18))
    before = cost.copy()
    state = upload(solver, cost, **options)
    answers = []
    for _ in range(2):
        solver.run(state)
        answers.append(kinds.answer_of(solver, state))
    assert np.array_equal(cost, before)
    assert answers[0].cost == answers[1].cost
    assert assignment_proof.assignment(cost, answers[1]).ok


@every_solver
def test_trace_names_the_declared_steps(solver, options):
    cost = np.random.default_rng(21).integers(0, 400, (24, 24))
    seen = []
    state = upload(solver, cost, **options)
    solver.run(state, seen.append)
    assert_steps_are_declared(solver, seen)
    assert set(seen) == set(solver.steps)
    assert assignment_proof.assignment(cost, kinds.answer_of(solver, state)).ok


STACKS = [case for case in SOLVERS if case.values[0].stack]


@pytest.mark.parametrize(("solver", "options"), STACKS)
@pytest.mark.parametrize("shape", [(4, 7, 7), (3, 5, 8), (3, 8, 5), (1, 1, 1)])
@pytest.mark.parametrize("maximize", [False, True])
def test_a_stack_is_answered_matrix_by_matrix(solver, options, shape, maximize):
    costs = np.random.default_rng(22).integers(-30, 30, shape)
    before = costs.copy()
    answers = list(solve(solver, costs, maximize=maximize, **options))
    assert np.array_equal(costs, before)
    assert len(answers) == len(costs)
    for cost, answer in zip(costs, answers, strict=True):
        assert assignment_proof.assignment(cost, answer, maximize).ok
        assert answer.cost == cost[linear_sum_assignment(cost, maximize)].sum()


@pytest.mark.parametrize(("solver", "options"), STACKS)
def test_a_bad_stack_is_refused(solver, options):
    with pytest.raises(ValueError, match="4-D"):
        upload(solver, np.zeros((2, 2, 2, 2)), **options)
    costs = np.ones((3, 2, 2))
    costs[1, 0] = np.inf
    with pytest.raises(ValueError, match="infeasible"):
        solve(solver, costs, **options)


# ------------------------------------------------------------------------------- limits of time

LIMITED = [case for case in SOLVERS if "time limits" not in case.values[0].limits]
every_limited_solver = pytest.mark.parametrize(("solver", "options"), LIMITED)

ENDS_FIRST = ("cost_scaling", "batch", "batch_of_many", "scipy", "scipy_loop", "refine", "tree")
"""Solvers that look at the clock between launches, slices or problems: a small one may have ended
before they look."""


@every_limited_solver
def test_a_limit_that_is_not_reached_changes_nothing(solver, options):
    cost = np.random.default_rng(23).integers(0, 90, (6, 6))
    assert_optimal(solver, cost, seconds=1e6, **options)
    for wrong in (0, -1, True, "1", float("nan")):
        with pytest.raises(ValueError, match="seconds="):
            upload(solver, cost, seconds=wrong, **options)


@every_limited_solver
def test_a_run_that_gives_up_says_what_it_had_reached_and_leaves_nothing(solver, options):
    cost = products(9)
    state = upload(solver, cost, seconds=1e-9, **options)
    told = given_up(solver, state)
    if told is None:
        assert solver.name in ENDS_FIRST
        return
    assert_gave_up(solver, state, told)
    assert told.reached.get("matched", 0) < len(cost)
    assert_optimal(solver, cost, **options)


# ------------------------------------------------------------------------------- many instances


def random_instance(seed):
    """Mixed shape, type and range, one a seed."""
    draw = np.random.default_rng(seed)
    shape = tuple(draw.integers(1, 25, 2)) if seed % 2 else (int(draw.integers(1, 25)),) * 2
    kind = seed % 5
    if kind == 0:
        return draw.integers(0, max(1, shape[0] // 10) + 1, shape)
    if kind == 1:
        return draw.integers(-10 * shape[0], 10 * shape[0] + 1, shape).astype(np.int32)
    if kind == 2:
        return draw.random(shape)
    if kind == 3:
        return draw.integers(0, 256, shape).astype(np.uint8)
    return np.round(draw.normal(size=shape), 1)


def shuffled(cost, seed):
    """Rows and columns in another order: what is easy must not be so by its order."""
    draw = np.random.default_rng(seed)
    return cost[draw.permutation(len(cost))][:, draw.permutation(len(cost))]


def products(n):
    """Machol and Wien's: the greedy choice is wrong at every row, every row needs dual updates."""
    line = np.arange(1, n + 1)
    return line[:, None] * line


def staircase(n):
    """Free on and below the diagonal alone: one perfect matching, found by the longest paths."""
    rows, columns = np.indices((n, n))
    return np.where(columns <= rows, 0, 1 + columns - rows)


def bottleneck(n):
    """Half of the rows want the same few columns: nested sets that violate Hall's condition."""
    few = np.minimum(np.arange(n), n // 4)
    return np.where(np.arange(n)[None, :] <= few[:, None], 0, 7) + (np.indices((n, n)).sum(0) % 2)


HARD = {"products": products, "staircase": staircase, "bottleneck": bottleneck}


@pytest.mark.parametrize(("solver", "options", "family"), list(of_cases(HARD)))
def test_hard_families(solver, options, family):
    for n in (13, 22) if solver.device == "cpu" else (9,):
        cost = shuffled(HARD[family](n), n)
        assert_right_or_refused(solver, cost, **options)
        assert_right_or_refused(solver, cost, maximize=True, **options)


def blocks():
    """Every solver with its instances, ten at a time for kernels, thirty for codes of the CPU.

    Each kernels' solver has one block; ten for codes of the CPU are run by ``make test-all``.
    """
    for case in SOLVERS:
        solver = case.values[0]
        if solver.ranks:
            continue  # on several ranks: the tests of their paper
        for block in range(1 if solver.device == "cuda" else 10):
            late = solver.device == "cpu" or case.values[1]  # variants see `CASES` by day
            marks = [pytest.mark.nightly] if late else []
            yield pytest.param(*case.values, block, id=f"{block}-{case.id}", marks=marks)


@pytest.mark.parametrize(("solver", "options", "block"), list(blocks()))
def test_random_instances(solver, options, block):
    size = 10 if solver.device == "cuda" else 30
    for seed in range(size * block, size * block + size):
        cost = random_instance(seed)
        assert_right_or_refused(solver, cost, maximize=seed % 7 == 0, **options)


@every_solver
@pytest.mark.parametrize("big", first(1, [1e14, 1e9, 1e17]))
@pytest.mark.parametrize("maximize", first(1, [False, True]))
def test_a_big_m_that_takes_no_part(solver, options, big, maximize):
    """Right and proved, or refused by name; never wrong."""
    draw = np.random.default_rng(8)
    for _ in range(10):
        cost = np.where(draw.random((5, 5)) < 0.3, big, draw.random((5, 5)))
        np.fill_diagonal(cost, 0.5)
        cost = -cost if maximize else cost
        refused = None
        try:
            answer = solve(solver, cost, maximize=maximize, **options)
        except ValueError as error:
            refused = str(error)
        if refused is not None:
            assert re.search(reasons(solver, "orders of magnitude"), refused)
            continue
        assert assignment_proof.assignment(cost, answer, maximize).ok
        assert answer.cost == pytest.approx(cost[linear_sum_assignment(cost, maximize)].sum())


# ------------------------------------------------------------------------------- hard floats


def mixed_floats():
    """Floats whose sums float64 rounds away: each with the digits that decide far below others."""
    draw = np.random.default_rng(4)
    wide = 10.0 ** draw.uniform(-9, 9, (4, 4))
    blocks = np.full((4, 4), 1e12)
    blocks[:2, :2] = 1e-3 * draw.random((2, 2))
    blocks[2:, 2:] = 1e11 + 1e12 * draw.random((2, 2))
    return {
        "blocks of 1e-3 beside 1e12": blocks,
        "cancelling": np.array([[-1e12, 0.0], [0.0, 1e12 - 2.0**-13]]),
        "1e-9 to 1e9": wide,
        "1e-9 to 1e9, both signs": wide * draw.choice([-1.0, 1.0], (4, 4)),
        "denormals": 5e-324 * np.array([[2, 3, 0], [0, 0, 0], [1, 3, 0]]),
        "two denormals": np.array([[5e-324, 0.0], [0.0, 5e-324]]),
    }


def distance_from_the_optimum(cost, answer):
    """The exact one, by trying all assignments."""
    exact = [[Fraction(x) for x in row] for row in cost.tolist()]
    sums = [sum(exact[i][j] for i, j in enumerate(p)) for p in permutations(range(len(exact)))]
    found = sum(exact[i][j] for i, j in zip(answer.row_ind, answer.col_ind, strict=True))
    return abs(found - (max(sums) if answer.maximize else min(sums)))


@every_solver
@pytest.mark.parametrize("maximize", [False, True])
def test_the_guarantee_for_floats_holds_at_mixed_scales(solver, options, maximize):
    """Solved within what the papers' `solve` promises and proved, or refused by name."""
    solved = 0
    for name, cost in mixed_floats().items():
        try:
            answer = solve(solver, cost, maximize=maximize, **options)
        except ValueError as error:
            assert re.search(reasons(solver, "orders of magnitude"), str(error)), name  # noqa: PT017
            continue
        solved += 1
        verdict = assignment_proof.assignment(cost, answer, maximize)
        assert verdict.ok, (name, verdict)
        sizes = np.abs(cost[answer.row_ind, answer.col_ind]).sum()
        duals = np.abs(answer.row_duals).sum() + np.abs(answer.column_duals).sum()
        promised = max(1e-10 * sizes, 2.0**-49 * duals)
        assert distance_from_the_optimum(cost, answer) <= promised, name
    assert solved == 6 or solver.device == "cpu" or solver.limits
