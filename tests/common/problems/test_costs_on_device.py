"""Costs in device memory: adopted, drawn, read back, and put together to an answer."""

import numpy as np
import pytest

from papers.common import instances
from papers.common.executor.scheduler import Executor
from papers.common.gpu import device
from papers.common.instances import matrices
from papers.common.instances.matrices import on_device
from papers.common.model import Instance
from papers.common.problems import assignment_proof, costs_on_device
from papers.lopes2019.baselines import solvers


@pytest.fixture(autouse=True)
def _executor():
    with device.executing(Executor()):
        yield


@pytest.mark.parametrize("seed", range(6))
def test_bounds_under_any_interleaving(seed):
    wanted = np.random.default_rng(seed).integers(3, 2**31, (11, 11), dtype=np.int32)
    wanted.flat[[seed, 120 - seed]] = 2, 2**31 - 1
    with device.executing(Executor(seed=seed, switch=0.3)):
        costs = costs_on_device.adopt(wanted)
    assert (costs.low, costs.high) == (2, 2**31 - 1)


@pytest.mark.parametrize("at", [0, 15, 16, 63, 64, 127, 168])
def test_an_extreme_entry_is_found_wherever_it_is(at):
    matrix = np.full((13, 13), 50, np.int32)
    matrix.flat[at] = 7
    assert costs_on_device.adopt(matrix).low == 7
    matrix.flat[at] = 70
    assert costs_on_device.adopt(matrix).high == 70
    matrix.flat[at] = -1
    with pytest.raises(ValueError, match=r"must be >= 0, the smallest is -1"):
        costs_on_device.adopt(matrix)


def test_adopting_does_not_copy():
    matrix = np.arange(9, dtype=np.int32).reshape(3, 3)
    assert costs_on_device.adopt(matrix).array is matrix


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros(4, np.int32), "1-D array"),
        (np.zeros((2, 2, 2), np.int32), "3-D array"),
        (np.zeros((2, 3), np.int32), "square, not 2 x 3"),
        (np.zeros((2, 2), np.int64), "int32, not int64"),
        (np.zeros((2, 2), np.uint32), "int32, not uint32"),
        (np.zeros((2, 2), np.float64), "int32, not float64"),
        (np.zeros((2, 2), ">i4"), "int32, not >i4"),
        (np.zeros((4, 4), np.int32).T[1:, 1:], "C-contiguous"),
        (np.zeros((4, 4), np.int32)[::2, ::2], "C-contiguous"),
        (np.full((2, 2), -(2**31), np.int32), ">= 0"),
    ],
)
def test_bad_costs_are_refused(array, reason):
    with pytest.raises(ValueError, match=reason):
        costs_on_device.adopt(array)


def test_what_is_not_in_device_memory_is_refused():
    with pytest.raises(TypeError, match="not list"):
        costs_on_device.adopt([[1]])


def test_rows_come_back():
    costs = on_device.draw_uniform(19, 99, 4)
    rows = costs_on_device.strips(costs)
    whole = matrices.uniform(19, 4, cost_range=99)
    for start, stop in [(0, 19), (0, 0), (7, 8), (5, 19), (19, 19)]:
        np.testing.assert_array_equal(rows(start, stop), whole[start:stop])
        assert rows(start, stop).dtype == np.int32
    for start, stop in [(-1, 3), (3, 2), (0, 20)]:
        with pytest.raises(ValueError, match="rows"):
            rows(start, stop)


def test_a_copied_row_is_not_device_memory():
    costs = on_device.draw_uniform(4, 99, 4)
    costs_on_device.strips(costs)(0, 2)[:] = -5
    assert device.to_host(costs.array).min() >= 0


@pytest.mark.parametrize("factor", [1, 2, 3, 8])
def test_costs_that_would_overflow_are_refused(factor):
    most = (2**31 - 1) // factor
    problem = costs_on_device.prepare_resident(
        costs_on_device.adopt(np.full((2, 2), most, np.int32)), factor
    )
    assert (problem.size, problem.shift, problem.maximize, problem.forbidden) == (
        2,
        0,
        False,
        False,
    )
    assert problem.dtype == "int32"
    if factor > 1:
        over = costs_on_device.adopt(np.array([[0, most + 1], [0, 0]], np.int32))
        with pytest.raises(ValueError, match=f"up to {most + 1} .* at most {most}"):
            costs_on_device.prepare_resident(over, factor)


def solved(costs, n):
    """A proved answer whose matrix is only in device memory."""
    state = solvers.upload_hungarian_o3(costs_on_device.strips(costs)(0, n))
    solvers.run_hungarian_o3(state)
    right = solvers.download_hungarian_o3(state)
    problem = costs_on_device.prepare_resident(costs)
    given = right.col_ind.astype(np.int32), right.row_duals, right.column_duals
    return right, costs_on_device.finish_resident(problem, *given, {"turns": 3})


@pytest.mark.parametrize("n", [1, 15, 16, 17, 40])
def test_an_answer_is_put_together_and_certified(n):
    costs = on_device.draw_uniform(n, 10 * n, 3)
    right, answer = solved(costs, n)
    assert answer.cost == right.cost
    assert type(answer.cost) is int
    np.testing.assert_array_equal(answer.row_ind, np.arange(n))
    np.testing.assert_array_equal(answer.col_ind, right.col_ind)
    assert answer.row_duals.dtype == answer.column_duals.dtype == answer.col_ind.dtype == np.int64
    assert answer.counters == {"turns": 3}
    assert assignment_proof.assignment(costs_on_device.strips(costs), answer, rows=n).ok
    instance = Instance("uniform", n, "10n", seed=3, storage="device")
    assert assignment_proof.assignment(instances.host_strips(instance), answer, rows=n).ok


def test_sums_beyond_int32_are_exact():
    costs = costs_on_device.adopt(np.full((5, 5), 2**31 - 1, np.int32))
    problem = costs_on_device.prepare_resident(costs, factor=1)
    assert costs_on_device.finish_resident(problem, np.arange(5)).cost == 5 * (2**31 - 1)


@pytest.mark.parametrize("columns", [[0, 1], [0, 1, 3], [-1, 1, 2], [[0, 1, 2]]])
def test_columns_outside_are_refused_before_anything_is_read(columns):
    problem = costs_on_device.prepare_resident(costs_on_device.adopt(np.zeros((3, 3), np.int32)))
    with pytest.raises(ValueError, match=r"a column of 0 \.\. 2"):
        costs_on_device.finish_resident(problem, np.array(columns))


def test_nothing_is_a_problem_too():
    for costs in (
        costs_on_device.adopt(np.zeros((0, 0), np.int32)),
        on_device.draw_uniform(0, 5, 1),
    ):
        assert (costs.low, costs.high, costs.shape) == (0, 0, (0, 0))
        none = np.zeros(0, np.int64)
        answer = costs_on_device.finish_resident(
            costs_on_device.prepare_resident(costs), none, none, none
        )
        assert (answer.cost, len(answer.row_ind)) == (0, 0)
        assert costs_on_device.strips(costs)(0, 0).shape == (0, 0)
