"""Many matrices in one loop on one core, beside SciPy's answers one after the other."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment as scipys

from papers import linear_sum_assignment
from papers.common.deadline import Deadline
from papers.common.model import GivenUpError
from papers.synthesis.calls import assignment, choice
from papers.synthesis.calls.choice import Question, choose
from papers.synthesis.calls.one_matrix import Wishes
from papers.synthesis.one_core import many

DRAW = np.random.default_rng(3)
SHAPES = ((7, 9, 9), (5, 6, 11), (5, 11, 6), (3, 70, 70), (1, 1, 1), (2, 1, 5))
KINDS = {
    "int64": lambda shape: DRAW.integers(-50, 99, shape),
    "int32": lambda shape: DRAW.integers(-50, 99, shape, dtype=np.int32),
    "uint8": lambda shape: DRAW.integers(0, 255, shape, dtype=np.uint8),
    "booleans": lambda shape: DRAW.random(shape) < 0.5,
    "float64": lambda shape: DRAW.normal(size=shape),
    "float32": lambda shape: DRAW.random(shape, dtype=np.float32),
    "ties": lambda shape: DRAW.integers(0, 3, shape) / 2,
    "large": lambda shape: DRAW.integers(-many.LARGEST, many.LARGEST, shape),
}


def settled(stack, maximize=False):
    return many.solve(stack, maximize, Deadline(None))


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_is_settled_is_optimal_and_proved_by_its_duals(shape, kind, maximize):
    stack = KINDS[kind](shape)
    found = settled(stack, maximize)
    assert found.done.mean() > 0.5
    sign = -1 if maximize else 1
    for k in np.flatnonzero(found.done):
        cost = stack[k].astype(np.float64)
        rows, columns = found.rows[k], found.columns[k]
        assert (np.diff(rows) > 0).all()
        assert len(set(columns.tolist())) == min(shape[1:])
        best = cost[scipys(cost, maximize)].sum()
        assert cost[rows, columns].sum() == pytest.approx(best, rel=1e-9)
        u, v = found.row_duals[k], found.column_duals[k]
        reduced = sign * (cost - u[:, None] - v)
        assert reduced.min() >= -1e-9 * max(1, abs(cost).max())
        assert u.sum() + v.sum() == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (3, 0, 5), (3, 5, 0)], ids=str)
def test_stacks_without_entries_are_settled(shape):
    found = settled(np.zeros(shape))
    assert found.done.all()
    assert found.rows.shape == found.columns.shape == (shape[0], min(shape[1:]))


@pytest.mark.parametrize(
    "spoilt", [np.nan, np.inf, -np.inf, 1e308, many.LARGEST + 1, np.iinfo(np.uint64).max], ids=str
)
def test_costs_that_the_loop_must_not_see_are_refused(spoilt):
    kind = np.float64 if isinstance(spoilt, float) else np.uint64
    stack = np.ones((3, 4, 4), kind)
    assert settled(stack) is not None
    stack[1, 2, 3] = spoilt
    assert settled(stack) is None


def test_longer_floats_than_float64_are_refused():
    assert settled(np.ones((2, 3, 3), np.longdouble)) is None


def products(n, count=3):
    """Costs that leave most rows free after the turns."""
    lines = np.arange(n) + DRAW.integers(0, 9, (count, 1))
    return lines[:, :, None] * lines[:, None, :]


def test_large_matrices_that_want_scales_are_left():
    assert not settled(products(many.WITHOUT_SCALES + 6)).done.any()
    assert settled(products(many.WITHOUT_SCALES)).done.all()


def test_a_stack_that_wants_scales_is_not_tried_to_its_end(monkeypatch):
    seen, plain = [], many.solve_each

    def solve_each(work, begin, end, *rest):
        seen.append((begin, end))
        plain(work, begin, end, *rest)

    monkeypatch.setattr(many, "solve_each", solve_each)
    assert not settled(products(many.WITHOUT_SCALES + 6, 20)).done.any()
    assert seen == [(0, many.SAMPLED)]
    assert settled(DRAW.integers(0, 999, (20, 9, 9))).done.all()
    assert seen[1:] == [(0, many.SAMPLED), (many.SAMPLED, 20)]


def test_floats_that_their_duals_do_not_prove_are_left():
    """Costs of sizes far apart: float64 loses the small ones beside a bid of a large one."""
    stack = np.exp(40 * DRAW.normal(size=(60, 12, 12)))
    found = settled(stack)
    assert not found.done.all()
    for k in np.flatnonzero(found.done):
        best = stack[k][scipys(stack[k])].sum()
        assert stack[k][found.rows[k], found.columns[k]].sum() == pytest.approx(best, rel=1e-9)


def test_a_call_solves_by_itself_what_is_left(capsys):
    stack = np.concatenate([DRAW.integers(0, 999, (3, 70, 70)), products(70, 2)])
    rows, columns, u, v = linear_sum_assignment(
        stack, device="cpu", return_duals=True, explain=True
    )
    said = capsys.readouterr().out
    assert "5 matrices of 70 x 70 int64 on the host: synthesis:one_core" in said
    assert "2 matrices, each by itself" in said
    for k, cost in enumerate(stack):
        total = cost[rows[k], columns[k]].sum()
        assert total == cost[scipys(cost)].sum() == u[k].sum() + v[k].sum()
        assert (cost - u[k][:, None] - v[k] >= 0).all()


def test_stacks_whose_matrices_a_gpu_would_get_are_not_kept_from_it(monkeypatch):
    """Of each side below the bound no rule gives a matrix to a GPU, and from it on some do."""
    monkeypatch.setattr(choice, "_has_gpu", lambda: True)
    bound = assignment.LEFT_TO_ONE_CORE

    def gets_a_gpu(side):
        return any(
            choose(Question("assignment", shape, side, kind, place)).solver == "synthesis:dense"
            for shape in ("square", "rectangle")
            for kind in ("int32", "int64", "float32", "float64")
            for place in ("host", "device")
        )

    assert gets_a_gpu(bound)
    assert not gets_a_gpu(bound - 1)
    wishes = Wishes(False, False, None, "auto", None, False)
    for side, count in ((bound - 1, 15), (bound, 15)):
        stack = np.zeros((count, side, side))
        chosen = assignment._choice_of_batch([stack], "host", wishes)
        assert (chosen is not None) == (side < bound)
    named = replace(wishes, solver=assignment.ONE_CORE)
    assert assignment._choice_of_batch([stack], "host", named).solver == assignment.ONE_CORE


def test_a_call_names_the_matrix_that_is_bad():
    stack = np.ones((40, 5, 5))
    stack[7, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"^matrix 7: matrix contains invalid numeric entries"):
        linear_sum_assignment(stack, device="cpu")


def test_it_ends_in_time():
    stack = DRAW.random((3000, 60, 60))
    with pytest.raises(GivenUpError, match="matrices"):
        linear_sum_assignment(stack, device="cpu", seconds=1e-3)
    many.solve(stack[:1], False, Deadline(None))
    late = Deadline(1e-9)
    with pytest.raises(GivenUpError):
        many.solve(stack, False, late)
