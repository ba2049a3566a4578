"""Many matrices in one loop on one core, beside SciPy's answers one after the other."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment as scipys

from papers import linear_sum_assignment
from papers.common.model import GivenUpError
from papers.synthesis.calls import assignment, choice, one_matrix
from papers.synthesis.calls.choice import Question, choose
from papers.synthesis.calls.one_matrix import Wishes
from papers.synthesis.one_core import many, steps

DRAW = np.random.default_rng(3)
SHAPES = ((7, 9, 9), (5, 6, 11), (5, 11, 6), (3, 70, 70), (1, 1, 1), (2, 1, 5))
KINDS = {
    "int64": lambda shape: DRAW.integers(-50, 99, shape),
    "int32": lambda shape: DRAW.integers(-50, 99, shape, dtype=np.int32),
    "uint8": lambda shape: DRAW.integers(0, 255, shape, dtype=np.uint8),
    "uint32": lambda shape: DRAW.integers(0, 2**32, shape, dtype=np.uint32),
    "uint64": lambda shape: DRAW.integers(0, 99, shape, dtype=np.uint64),
    "other byte order": lambda shape: DRAW.integers(-50, 99, shape).astype(">i4"),
    "float16": lambda shape: DRAW.random(shape).astype(np.float16),
    "every second": lambda shape: DRAW.integers(-9, 99, (*shape[:2], 2 * shape[2]))[:, :, ::2],
    "read only": lambda shape: np.broadcast_to(DRAW.random(shape[1:]), shape),
    "booleans": lambda shape: DRAW.random(shape) < 0.5,
    "float64": lambda shape: DRAW.normal(size=shape),
    "float32": lambda shape: DRAW.random(shape, dtype=np.float32),
    "ties": lambda shape: DRAW.integers(0, 3, shape) / 2,
    "large": lambda shape: DRAW.integers(-many.LARGEST, many.LARGEST, shape),
}


def settled(stack, maximize=False):
    return many.solve(stack, maximize, lambda solved: None)


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
    ("kind", "spoilt"),
    [
        *((np.float64, one) for one in (np.nan, np.inf, -np.inf, 1e308, -1e308)),
        *((np.int64, one) for one in (many.LARGEST + 1, -many.LARGEST - 1, np.iinfo(np.int64).min)),
        (np.uint64, np.iinfo(np.uint64).max),
    ],
    ids=str,
)
@pytest.mark.parametrize("maximize", [False, True])
def test_matrices_that_the_loop_must_not_see_are_left(kind, spoilt, maximize):
    stack = DRAW.integers(0, 9, (3, 4, 4)).astype(kind)
    stack[1, 2, 3] = spoilt
    kept = stack.copy()
    assert settled(stack, maximize).done.tolist() == [True, False, True]
    assert np.array_equal(stack, kept, equal_nan=kind == np.float64)


def test_longer_floats_than_float64_are_left():
    assert not settled(np.ones((2, 3, 3), np.longdouble)).done.any()


def products(n, count=3):
    """Costs that leave most rows free after the turns."""
    lines = np.arange(n) + DRAW.integers(0, 9, (count, 1))
    return lines[:, :, None] * lines[:, None, :]


def test_large_matrices_that_want_scales_are_left():
    assert not settled(products(many.WITHOUT_SCALES + 6)).done.any()
    assert settled(products(many.WITHOUT_SCALES)).done.all()


def test_a_stack_that_wants_scales_is_not_tried_to_its_end(monkeypatch):
    seen, plain = [], many.solve_each

    def solve_each(work, *rest):
        seen.append(len(work))
        plain(work, *rest)

    monkeypatch.setattr(many, "solve_each", solve_each)
    assert not settled(products(many.WITHOUT_SCALES + 6, 20)).done.any()
    assert seen == [1]
    assert settled(DRAW.integers(0, 999, (20, 9, 9))).done.all()
    assert seen[1:] == [many.SAMPLED, 20 - many.SAMPLED]


def test_the_clock_is_asked_between_parts_and_told_what_is_solved(monkeypatch):
    monkeypatch.setattr(many, "WORK", 3 * 9**3)
    told = []
    stack = DRAW.integers(0, 999, (20, 9, 9)).astype(np.float64)
    stack[9] = np.inf
    many.solve(stack, False, told.append)
    assert told == [0, 8, 10, 13, 16]


def test_duals_that_prove_nothing_are_refused():
    """Planted: a dual too large, one of a column without a row, and one that is positive."""
    cost = np.array([[1.0, 5, 9], [1, 9, 9]])
    column, row = np.array([1, 0]), np.array([1, 0, -1])

    def proved(u, v):
        duals = np.array(v, np.float64), np.array(u, np.float64)
        return steps.are_proved(cost, *duals, column, row)

    assert proved([5, 5], [-4, 0, 0])
    assert not proved([6, 5], [-4, 0, 0])
    assert not proved([5, 6], [-4, 0, -1])
    assert not proved([4, 5], [-4, 1, 0])


def test_floats_that_their_duals_do_not_prove_are_left():
    """Costs of sizes far apart: float64 loses the small ones beside a bid of a large one."""
    stack = np.exp(40 * DRAW.normal(size=(60, 12, 12)))
    found = settled(stack)
    assert not found.done.all()
    for k in np.flatnonzero(found.done):
        best = stack[k][scipys(stack[k])].sum()
        assert stack[k][found.rows[k], found.columns[k]].sum() == pytest.approx(best, rel=1e-9)


def test_a_call_solves_by_itself_what_is_left(capsys):
    stack = DRAW.integers(0, 999, (20, 70, 70))
    stack[[3, 8]] = products(70, 2)
    answer = linear_sum_assignment(stack, device="cpu", return_duals=True, explain=True)
    said = capsys.readouterr().out
    assert "20 matrices of 70 x 70 int64 on the host: synthesis:one_core" in said
    assert "2 matrices, each by itself" in said
    for cost, rows, columns, u, v in zip(stack, *answer, strict=True):
        total = cost[rows, columns].sum()
        assert total == cost[scipys(cost)].sum() == u.sum() + v.sum()
        assert (cost - u[:, None] - v >= 0).all()


def test_stacks_whose_matrices_a_gpu_would_get_are_not_kept_from_it(monkeypatch):
    """Of no side in the loop a rule gives a matrix in host memory to a GPU, and longer ones are not
    taken. Of those in device memory it may: there a matrix by itself is copied, here all at once.
    """
    monkeypatch.setattr(choice, "_has_gpu", lambda: True)
    longest = assignment.LOOP_SIDE
    for shape in ("square", "rectangle"):
        for kind in ("int32", "int64", "float32", "float64"):
            question = Question("assignment", shape, longest, kind, "host")
            assert choose(question).solver != "synthesis:dense"
    for named in (None, assignment.ONE_CORE):
        wishes = Wishes(False, False, None, "auto", named, False)
        for side in (longest, longest + 1):
            alike = {((side, side), np.dtype(np.float64)): 25}
            chosen = assignment._choice_of_batch(alike, "host", wishes)
            assert (chosen is not None) == (side <= longest)


@pytest.mark.parametrize("duals", [False, True])
def test_matrices_of_a_list_that_are_alike_go_through_the_loop(duals, monkeypatch, capsys):
    """Of each shape and type with a thousand lines; the others are solved one by one, in order."""
    seen, plain = [], many.solve
    monkeypatch.setattr(many, "solve", lambda stack, *rest: seen.append(stack.shape) or plain(
        stack, *rest))  # fmt: skip
    several = []
    for _ in range(130):
        several += [DRAW.integers(0, 99, (8, 8)), DRAW.normal(size=(5, 8))]
        several += [DRAW.integers(0, 99, (8, 8)).astype(np.int32), DRAW.normal(size=(8, 5))]
    several[7:7] = [products(70, 1)[0], np.ones((3, 2)), [[2.0, 1], [1, 5]]]
    found = linear_sum_assignment(several, True, device="cpu", return_duals=duals, explain=True)
    assert sorted(seen) == [(130, 5, 8), (130, 8, 5), (130, 8, 8), (130, 8, 8)]
    assert "130 matrices of 5 x 8 float64 on the host: synthesis:one_core" in (
        said := capsys.readouterr().out
    )
    assert "3 matrices, each by itself" in said
    for cost, (rows, columns, *more) in zip(map(np.asarray, several), found, strict=True):
        best = cost[scipys(cost, True)].sum()
        assert cost[rows, columns].sum() == pytest.approx(best)
        assert len(more) == 2 * duals
        if duals:
            assert (more[0][:, None] + more[1] >= cost - 1e-9).all()
            assert more[0].sum() + more[1].sum() == pytest.approx(best)


def test_a_list_is_copied_in_parts_between_looks_at_the_clock(monkeypatch):
    monkeypatch.setattr(assignment, "COPIED_BYTES", 30 * 8 * 25)
    seen, plain = [], many.solve
    monkeypatch.setattr(many, "solve", lambda stack, *rest: seen.append(len(stack)) or plain(
        stack, *rest))  # fmt: skip
    several = list(DRAW.integers(0, 99, (250, 5, 5)))
    found = linear_sum_assignment(several, device="cpu")
    assert seen == 8 * [30] + [10]
    assert len(found) == 250
    monkeypatch.setattr(
        one_matrix, "time", SimpleNamespace(perf_counter=itertools.count().__next__)
    )
    with pytest.raises(GivenUpError) as raised:
        linear_sum_assignment(several, device="cpu", seconds=6)
    assert raised.value.reached["matrices"] % 30 in (0, 8)
    assert 0 < raised.value.reached["matrices"] < 100


def test_a_list_that_the_loop_leaves_is_not_copied_to_its_end(monkeypatch):
    monkeypatch.setattr(assignment, "COPIED_BYTES", 30 * 8 * 25)
    seen, plain = [], many.solve
    monkeypatch.setattr(many, "solve", lambda stack, *rest: seen.append(len(stack)) or plain(
        stack, *rest))  # fmt: skip
    several = list(np.full((250, 5, 5), many.LARGEST + 1))
    assert len(linear_sum_assignment(several, device="cpu")) == 250
    assert seen == [30]


def test_few_matrices_of_a_list_load_no_loop(monkeypatch):
    monkeypatch.setattr(many, "solve", lambda *_: pytest.fail("few lines"))
    for several in ([np.eye(3)] * 9, [np.eye(3), np.eye(4), np.ones((2, 9))]):
        assert len(linear_sum_assignment(several, device="cpu")) == len(several)


def test_a_list_s_first_bad_matrix_is_named_whatever_loop_it_is_in():
    several = [*(np.ones((5, 5)) for _ in range(240)), *(np.ones((4, 5)) for _ in range(240))]
    several[300] = np.full((4, 5), np.inf)
    for other in (several[:], several[::-1]):
        bad = next(k for k, one in enumerate(other) if np.isinf(one).any())
        other[bad + 9] = np.full(other[bad + 9].shape, np.nan)
        with pytest.raises(ValueError, match=rf"^matrix {bad}: cost matrix is infeasible"):
            linear_sum_assignment(other, device="cpu")


def test_a_call_names_the_matrix_that_is_bad():
    stack = np.ones((240, 5, 5))
    stack[7, 2, 3] = np.nan
    with pytest.raises(ValueError, match=r"^matrix 7: matrix contains invalid numeric entries"):
        linear_sum_assignment(stack, device="cpu")


def test_a_call_ends_in_time_and_counts_what_is_solved(monkeypatch):
    """By a clock that goes on by a second whenever it is read."""
    clock = SimpleNamespace(perf_counter=itertools.count().__next__)
    monkeypatch.setattr(one_matrix, "time", clock)
    monkeypatch.setattr(many, "WORK", 3 * 9**3)
    stack = DRAW.integers(0, 999, (200, 9, 9))
    with pytest.raises(GivenUpError, match="gave up after 3 s and 11 solved matrices") as raised:
        linear_sum_assignment(stack, device="cpu", seconds=3)
    assert raised.value.reached == {"matrices": 11}
