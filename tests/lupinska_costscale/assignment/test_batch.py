"""Batches of small problems: every answer certified, in every shape and type."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.model import GivenUpError
from papers.common.problems import assignment_proof
from papers.lupinska_costscale import solve_batch
from papers.lupinska_costscale.assignment import batch, many


@pytest.fixture(autouse=True)
def _on_executor():
    device.select("cpu")


def certified(costs, maximize=False, **options):
    answers = batch.solve_batch(costs, maximize, **options)
    assert len(answers) == len(costs)
    for cost, answer in zip(costs, answers, strict=True):
        verdict = assignment_proof.assignment(cost, answer, maximize)
        assert verdict.ok, verdict
        best = cost[linear_sum_assignment(cost, maximize)].sum()
        assert answer.cost == pytest.approx(best, rel=1e-12, abs=1e-12)
    return answers


@pytest.mark.parametrize("kind", ["integers", "doubles", "ties"])
@pytest.mark.parametrize("maximize", [False, True])
def test_optimal(kind, maximize):
    for seed in range(6):
        draw = np.random.default_rng(seed)
        n, m = draw.integers(1, 20, 2)
        shape = 3, n, (n if seed % 3 == 0 else m)
        costs = {
            "integers": lambda d, s: d.integers(-40, 60, s),
            "doubles": lambda d, s: d.normal(size=s),
            "ties": lambda d, s: d.integers(0, 3, s),
        }[kind](draw, shape)
        certified(costs, maximize)


@pytest.mark.parametrize("n", [31, 32, 33, 63, 64])
def test_around_a_warp(n):
    certified(np.random.default_rng(n).integers(0, 101, (1, n, n)))
    certified(np.random.default_rng(n).integers(0, 9, (1, 5, n)))


@pytest.mark.parametrize("dtype", batch.DTYPES)
def test_types(dtype):
    costs = np.random.default_rng(1).integers(0, 1000, (3, 12, 12))
    given = costs.astype(float) if dtype == "float64" else costs
    assert batch.upload(given, dtype=dtype).matrix.dtype == dtype
    certified(given, dtype=dtype)


def test_the_narrowest_type():
    for most, wanted in ((2**28 - 1, "int32"), (2**28, "int64")):
        assert batch.upload(np.array([[[0, most]]])).matrix.dtype == wanted
    extremes = np.array([[[0, 2**28 - 1], [2**28 - 1, 0]], [[2**28 - 1, 2**28 - 1]] * 2])
    certified(extremes)
    certified(extremes, maximize=True)
    certified(np.outer(np.arange(1, 9), np.arange(1, 9))[None] * (2**28 // 64))
    certified(np.random.default_rng(2).integers(0, 9, (2, 6, 6)).astype(np.int64) * 10**15)
    certified(np.random.default_rng(2).integers(0, 255, (2, 6, 6)).astype(np.uint8), True)
    certified(np.random.default_rng(2).integers(0, 2, (2, 6, 6)).astype(bool).astype(int))


def test_forbidden_pairs():
    draw = np.random.default_rng(3)
    costs = np.where(draw.random((4, 9, 9)) < 0.5, np.inf, draw.random((4, 9, 9)))
    costs[:, np.arange(9), np.arange(9)] = 0.75
    certified(costs)
    certified(np.where(np.isinf(costs), -np.inf, costs), maximize=True)


def test_the_order_of_warps_does_not_matter():
    """A warp shares nothing but the counters: the same answers in any interleaving."""
    costs = np.random.default_rng(4).integers(0, 20, (5, 6, 6))
    wanted = certified(costs)
    for seed in range(5):
        with device.executing(Executor(seed=seed, switch=0.3)):
            answer = certified(costs, threads=64)
        assert np.array_equal(answer.col_ind, wanted.col_ind)
        assert answer.counters == wanted.counters


def test_counters():
    counters = certified(np.random.default_rng(4).integers(0, 99, (4, 20, 20))).counters
    assert counters["row_bids"] >= 80
    assert counters["columns_scanned"] >= counters["paths"] > 0
    assert counters["kernel_launches"] == 1


def test_one_matrix_and_its_copies():
    cost = np.random.default_rng(5).integers(0, 50, (11, 9))
    answer = solve_batch(cost, copies=4)
    assert assignment_proof.assignment(cost, answer).ok
    state = batch.upload(cost, copies=4)
    batch.run(state)
    batch.run(state)
    assert batch.download(state).cost == answer.cost
    assert batch.download(state).counters == answer.counters
    state.arrays["columns"][11:22] = state.arrays["columns"][11:22][::-1].copy()
    with pytest.raises(RuntimeError, match="another sum"):
        batch.download(state)
    state.arrays["columns"][0] = -1
    with pytest.raises(RuntimeError, match="perfect"):
        batch.download(state)
    with pytest.raises(RuntimeError, match="no run has ended"):
        batch.download(batch.upload(cost))


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 3), (2, 3, 0)])
def test_empty(shape):
    answer = solve_batch(np.zeros(shape))
    assert len(answer) == shape[0]
    assert all(one.cost == 0 for one in answer)
    assert answer.row_duals.shape == shape[:2]


@pytest.mark.parametrize(
    ("costs", "options", "named"),
    [
        (np.zeros((1, 65, 2)), {}, "65 x 2 are too large"),
        (np.zeros(3), {}, "3-D"),
        (np.zeros((1, 1, 1, 1)), {}, "3-D"),
        (np.array([[[np.nan]]]), {}, "NaN"),
        (np.array([[[np.inf, 1.0], [np.inf, 1.0]]]), {}, "infeasible"),
        (np.array([[[-np.inf]]]), {}, "-inf"),
        (np.array([[["x"]]]), {}, "integers or floats"),
        (np.ma.masked_array(np.zeros((1, 2, 2))), {}, "masked"),
        (np.array([[[2**61, 0]]]), {}, r"2\*\*60"),
        (np.array([[[2**60, 0]]]), {}, "overflow the working type int64"),
        (np.array([[[2**30, 0]]]), {"dtype": "int32"}, "overflow the working type int32"),
        (np.zeros((1, 2, 2)), {"dtype": "int32"}, "float64"),
        (np.zeros((1, 2, 2)), {"dtype": "int8"}, "int8 is not offered"),
        (np.zeros((1, 2, 2)), {"copies": 0}, "copies=0"),
        (np.zeros((1, 2, 2)), {"threads": 48}, "threads=48"),
        (np.zeros((1, 2, 2)), {"threads": 2048}, "threads=2048"),
    ],
)
def test_bad_input_is_named(costs, options, named):
    with pytest.raises(ValueError, match=named):
        solve_batch(costs, **options)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_bad_problem_is_told_by_its_number(bad):
    """Planted: one bad matrix among many was refused without a word about which it was."""
    costs = np.arange(12.0).reshape(3, 2, 2)
    costs[2, :, 1] = bad
    with pytest.raises(ValueError, match=r"^problem 2: "):
        solve_batch(costs)
    with pytest.raises(ValueError, match=r"^(?!problem)"):
        solve_batch(costs[2])


def test_a_batch_too_large_for_the_card(monkeypatch):
    monkeypatch.setattr(device, "free_bytes", lambda: 100)
    with pytest.raises(ValueError, match="are free"):
        batch.upload(np.zeros((9, 8, 8)))


def test_a_limit_of_time_is_kept_between_the_shares(monkeypatch):
    """Every share is a launch; without a limit there is one launch."""
    costs = np.random.default_rng(5).integers(0, 50, (7, 4, 4))
    whole = batch.solve_batch(costs)
    monkeypatch.setattr(batch, "SHARE", 3)
    assert batch.solve_batch(costs).counters["kernel_launches"] == 1
    shared = batch.solve_batch(costs, seconds=600)
    assert shared.cost == whole.cost
    assert shared.counters == whole.counters | {"kernel_launches": 3}
    state = batch.upload(costs, seconds=1e-9)
    with pytest.raises(GivenUpError, match=r"gave up after .* 3 problems") as told:
        batch.run(state)
    assert told.value.reached == {"problems": 3}
    with pytest.raises(RuntimeError, match="no run has ended"):
        batch.download(state)


@pytest.mark.parametrize("name", ["scipy_loop", "batch_of_many"])
def test_many_problems_take_a_limit(name, monkeypatch):
    monkeypatch.setattr(batch, "SHARE", 2)
    solver = many.SOLVERS[name]
    state = solver.upload(np.arange(9).reshape(3, 3) % 5, problems=5, seconds=1e-9)
    with pytest.raises(GivenUpError, match="gave up after"):
        solver.run(state)
    with pytest.raises(RuntimeError, match="no run has ended"):
        solver.download(state)
    state = solver.upload(np.arange(9).reshape(3, 3) % 5, problems=5, seconds=600)
    solver.run(state)
    assert solver.download(state).counters["problems"] == 5
