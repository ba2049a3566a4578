"""One suite for every assignment solver: same cases, same assertion."""

import importlib
import importlib.util

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import papers
from papers.common.gpu import device
from papers.common.problems import assignment_proof


@pytest.fixture(autouse=True, scope="module")
def _on_executor():
    device.select("cpu")


MATCHING = ("deveci_matching",)
"""Papers whose solvers take graphs: tests/test_matching_contract.py."""


ONLY = {"lupinska_costscale": ("refine", "cost_scaling", "batch")}
"""Of a paper that has solvers of other problems too, those of one assignment."""


def solvers():
    """Every assignment solver of every paper, options included."""
    for paper in (name for name in papers.PAPERS if name not in MATCHING):
        for name, solver in importlib.import_module(f"papers.{paper}").PAPER.solvers().items():
            if solver.ranks and importlib.util.find_spec("mpi4py") is None:
                continue  # tests/datenagi2016/several_gpus/test_solver.py says so
            if name not in ONLY.get(paper, (name,)):
                continue
            yield pytest.param(solver, {}, id=f"{paper}:{name}")
            if (paper, name) == ("lopes2019", "gpu"):
                for choice in "ABC":
                    yield pytest.param(solver, {"step_4": choice}, id=f"{paper}:gpu-{choice}")


SOLVERS = list(solvers())


def solve(solver, cost, **options):
    state = solver.upload(cost, **options)
    solver.run(state)
    return solver.download(state)


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


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
@pytest.mark.parametrize("case", CASES)
def test_case(solver, options, case):
    scaled = "auction" in solver.name or solver.name in ("refine", "cost_scaling")
    if scaled and case in ("wide int64", "uint64", "big-M"):
        with pytest.raises(ValueError, match=r"overflow|orders of magnitude"):
            solve(solver, np.asarray(CASES[case]))
        return
    assert_optimal(solver, CASES[case], **options)


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
@pytest.mark.parametrize("case", ["wide", "tall", "ties", "float negative", "uint8", "int8"])
def test_maximize(solver, options, case):
    assert_optimal(solver, CASES[case], maximize=True, **options)


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
def test_maximize_with_forbidden_pairs(solver, options):
    cost = np.where(np.isinf(CASES["forbidden"]), -np.inf, CASES["forbidden"])
    assert_optimal(solver, cost, maximize=True, **options)


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0)])
def test_empty(solver, options, shape):
    answer = solve(solver, np.zeros(shape), **options)
    assert answer.row_ind.size == answer.col_ind.size == 0
    assert answer.cost == 0


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
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
    with pytest.raises(ValueError, match=reason):
        solver.upload(cost, **options)


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
def test_input_is_not_changed_and_state_runs_again(solver, options):
    cost = rng.integers(0, 40, (18, 18))
    before = cost.copy()
    state = solver.upload(cost, **options)
    answers = []
    for _ in range(2):
        solver.run(state)
        answers.append(solver.download(state))
    assert np.array_equal(cost, before)
    assert answers[0].cost == answers[1].cost
    assert assignment_proof.assignment(cost, answers[1]).ok


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
def test_trace_names_the_declared_steps(solver, options):
    seen = []
    state = solver.upload(rng.integers(0, 400, (24, 24)), **options)
    solver.run(state, seen.append)
    assert set(seen) <= set(solver.steps)
    if solver.steps:
        assert seen[0] == solver.steps[0]
        assert set(seen) == set(solver.steps)
    assert assignment_proof.assignment(state.problem.cost, solver.download(state)).ok


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


def blocks():
    """Every solver with its instances, thirty at a time; kernels in the executor get a tenth."""
    for solver in SOLVERS:
        if solver.values[0].ranks:
            continue  # on several ranks: tests/datenagi2016/several_gpus/test_solver.py
        for block in range(1 if solver.values[0].device == "cuda" else 10):
            yield pytest.param(*solver.values, block, id=f"{block}-{solver.id}")


@pytest.mark.parametrize(("solver", "options", "block"), list(blocks()))
def test_random_instances(solver, options, block):
    for seed in range(30 * block, 30 * block + 30):
        assert_optimal(solver, random_instance(seed), maximize=seed % 7 == 0, **options)


@pytest.mark.parametrize(("solver", "options"), SOLVERS)
@pytest.mark.parametrize("big", [1e9, 1e14, 1e17])
@pytest.mark.parametrize("maximize", [False, True])
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
            assert "orders of magnitude" in refused
            continue
        assert assignment_proof.assignment(cost, answer, maximize).ok
        assert answer.cost == pytest.approx(cost[linear_sum_assignment(cost, maximize)].sum())
