"""The input contract: what is refused, and that working forms and answers go together."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from papers.common.problems.assignment import (
    INTEGER_LIMIT,
    finish,
    prepare,
    prepare_block,
    total_cost,
)

BAD = [
    (np.zeros(3), "2-D"),
    (np.zeros((2, 2, 2)), "3-D"),
    (np.array([["a", "b"], ["c", "d"]]), "integers or floats"),
    (np.zeros((2, 2), complex), "integers or floats"),
    (np.array([[np.nan, 1], [1, 2.0]]), "NaN at row 0, column 0"),
    (np.array([[1.0, -np.inf], [1, 2.0]]), "-inf at row 0, column 1 when minimizing"),
    (np.array([[np.inf, np.inf], [1, 2.0]]), "infeasible"),
    (np.array([[1.0, np.inf], [2.0, np.inf]]), "infeasible"),
    (np.array([[1e308, -1e308], [0, 0]]), "overflow"),
    (np.array([[INTEGER_LIMIT + 1, 0], [0, 0]]), "overflow"),
    (np.array([[2**63, 0], [0, 0]], np.uint64), "overflow"),
    (np.full((10, 10), 8e307), "overflow float64 when 10 are added"),
    (np.array([[8e307, np.inf], [0.0, 0.0]]), "overflow"),
    (np.ma.masked_array(np.eye(2), mask=np.eye(2)), "masked"),
    (csr_array(np.eye(2)), "sparse"),
]


@pytest.mark.parametrize(("cost", "reason"), BAD)
def test_bad_input_is_named(cost, reason):
    with pytest.raises(ValueError, match=reason):
        prepare(cost)


def test_positive_infinity_is_wrong_when_maximizing():
    with pytest.raises(ValueError, match="inf at row 1, column 0 when maximizing"):
        prepare(np.array([[1.0, 2], [np.inf, 0]]), maximize=True)


@pytest.mark.parametrize("offset", [0, 2**59, -(2**59)])
@pytest.mark.parametrize(
    ("spread", "expected"), [(2**30 - 1, "int32"), (2**30, "int64"), (100, "int32")]
)
def test_narrowest_type_that_cannot_overflow(offset, spread, expected):
    cost = np.array([[0, spread], [1, 2]], np.int64) + offset
    problem = prepare(cost)
    assert problem.matrix.dtype == expected
    assert problem.matrix.min() == 0
    assert problem.matrix.max() == spread


def test_overflow_of_an_asked_type():
    with pytest.raises(ValueError, match=r"uint8: it holds a range of at most 127"):
        prepare(np.array([[0, 128]]), dtype="uint8", dtypes=("int32", "uint8"))
    for dtype in ("float32", "foo"):
        with pytest.raises(ValueError, match="not offered"):
            prepare(np.eye(2), dtype=dtype)
    with pytest.raises(ValueError, match="float64"):  # integers beyond 2**53 would be rounded
        prepare(np.array([[0, 2**53]]), dtype="float64")
    with pytest.raises(ValueError, match="float64"):
        prepare(np.eye(2), dtype="int32")


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int16, np.uint64, np.float32])
def test_every_numeric_type_is_taken(dtype):
    cost = np.array([[1, 0], [0, 1]]).astype(dtype)
    answer = finish(prepare(cost), np.array([1, 0]))
    assert answer.cost == 0
    assert answer.col_ind.tolist() == [1, 0]


@pytest.mark.parametrize("shape", [(2, 4), (4, 2)])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("reflect", [False, True])
def test_padding_and_mirroring(shape, maximize, reflect):
    cost = np.arange(8).reshape(shape) - 3
    problem = prepare(cost, maximize, reflect=reflect)
    assert problem.matrix.shape == (4, 4)
    body = problem.matrix[: shape[0], : shape[1]]
    assert np.array_equal(body, 4 - cost if maximize and reflect else cost + 3)


@pytest.mark.parametrize("maximize", [False, True])
def test_floats_of_either_sign_are_never_shifted(maximize):
    cost = np.array([[1e-9, -1e9, 1.0], [1e9, 1e-300, 1.0], [2.0, 3.0, 1.0]])
    problem = prepare(cost, maximize, signed=True)
    assert np.array_equal(problem.matrix, -cost if maximize else cost)
    block, shift = prepare_block(cost, (-1e9, 1e9), 3, maximize, None, ("float64",), 2)
    assert np.array_equal(block, problem.matrix)
    assert shift == problem.shift == 0
    with pytest.raises(ValueError, match="orders of magnitude"):
        prepare(cost, maximize)
    duals = np.array([1.0, 2.0, 5.0]), np.array([3.0, 4.0, 6.0])
    answer = finish(problem, np.array([1, 0, 2]), *duals)
    sign = -1 if maximize else 1
    assert np.array_equal(answer.row_duals, sign * duals[0])
    assert np.array_equal(answer.column_duals, sign * duals[1])
    whole = prepare(cost.astype(int), maximize, signed=True)
    assert whole.matrix.min() == 0


@pytest.mark.parametrize("maximize", [False, True])
def test_forbidden_pairs_of_signed_floats_stay_the_worst(maximize):
    far = -np.inf if maximize else np.inf
    cost = np.array([[-5.0, far, 2], [far, 3, 1], [4, -6, far]])
    problem = prepare(cost, maximize, signed=True)
    allowed = problem.matrix[np.isfinite(cost)]
    assert problem.matrix[0, 1] >= allowed.max() + 3 * np.ptp(allowed)


def test_forbidden_pairs_cost_more_than_all_others_together():
    cost = np.array([[1.0, np.inf, 4], [2, 3, np.inf], [5, 0, 7]])
    problem = prepare(cost)
    allowed = problem.matrix[np.isfinite(cost)]
    assert problem.matrix[0, 1] > 3 * allowed.max()
    with pytest.raises(ValueError, match="infeasible"):
        finish(problem, np.array([1, 0, 2]))


def test_empty_matrices():
    for shape in ((0, 0), (0, 3), (3, 0)):
        problem = prepare(np.zeros(shape))
        assert problem.size == 0


def test_cost_is_exact_beyond_int64():
    chosen = np.full(40, 2**60 - 1)
    assert total_cost(chosen) == 40 * (2**60 - 1)
