"""Rectangles are searched as they are: right in both orientations, and no search for padding."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from papers.common.gpu import device
from papers.common.problems import assignment_proof
from papers.datenagi2016 import rectangles, solver
from papers.datenagi2016.baselines import solvers as baselines


def solve(name, cost, maximize=False):
    if name == "cpu_omp":
        return baselines.solve_omp(cost, maximize, threads=1)
    device.select("cpu")
    return solver.solve(cost, maximize, variant=name)


every_solver = pytest.mark.parametrize("name", ["tree", "classical", "cpu_omp"])


@every_solver
def test_every_shape_and_kind_of_costs(name):
    for seed in range(24):
        draw = np.random.default_rng(seed)
        shape = tuple(draw.integers(1, 13, 2))
        cost = (draw.integers(-20, 20, shape), draw.random(shape) - 0.5, np.full(shape, 3.0))[
            seed % 3
        ]
        if seed % 4 == 1:
            cost = np.where(draw.random(shape) < 0.15, np.inf, cost)
        maximize = bool(seed % 2)
        cost = np.where(np.isinf(cost), -cost, cost) if maximize else cost
        try:
            best = cost[linear_sum_assignment(cost, maximize)].sum()
        except ValueError:
            continue
        answer = solve(name, cost, maximize)
        verdict = assignment_proof.assignment(cost, answer, maximize)
        assert verdict.ok, (verdict, shape)
        assert answer.cost == pytest.approx(best, rel=1e-12, abs=1e-12)


@every_solver
@pytest.mark.parametrize("shape", [(8, 80), (80, 8)])
def test_there_is_no_search_for_padding(name, shape):
    """Padded to 80 x 80 they took 72 searches and more."""
    counters = solve(name, np.random.default_rng(1).integers(0, 1000, shape)).counters
    assert counters["augmentations"] <= 8
    assert counters["forward_passes"] <= 8 + 1 + counters["dual_updates"]
    assert counters["bfs_levels"] <= 16


@every_solver
def test_equal_costs_need_a_search_a_row(name):
    """The worst case of the paper's search: all free columns hang on one row."""
    assert solve(name, np.full((6, 40), 7)).counters["augmentations"] == 6


def test_columns_without_a_row_have_a_dual_of_0():
    cost = np.random.default_rng(4).integers(20, 30, (9, 12))
    cost[:, 3] = 0  # wanted by all rows
    for name in ("tree", "classical", "cpu_omp"):
        answer = solve(name, cost)
        free = np.setdiff1d(np.arange(12), answer.col_ind)
        assert (answer.column_duals[free] == 0).all()
        assert (answer.column_duals <= 0).all()
        assert (answer.column_duals < 0).any()


def test_a_column_reduction_would_be_found_out(monkeypatch):
    """Planted: columns that begin with their minima, as in the square, have unequal duals."""
    real = solver.bind_launches

    def reduced(shape, dtype, arrays, *rest):
        launches = real(shape, dtype, arrays, *rest)
        init = launches["init"]

        def wrong(enqueue):
            enqueue()
            arrays["column_dual"][:] = np.arange(shape[1]) % 3

        init.on_enqueue = wrong
        return launches

    monkeypatch.setattr(solver, "bind_launches", reduced)
    cost = np.random.default_rng(4).integers(50, 90, (5, 9))
    assert not assignment_proof.assignment(cost, solve("tree", cost)).ok


def test_the_way_back_to_the_square():
    problem = type("P", (), {"cost": np.zeros((3, 2)), "matrix": np.arange(9).reshape(3, 3)})
    assert rectangles.rows_first(problem).tolist() == [[0, 3, 6], [1, 4, 7]]
    columns, u, v = rectangles.square_again(
        problem, np.array([2, 0]), np.array([5, 6]), np.array([1, 2, 1])
    )
    assert columns.tolist() == [1, 2, 0]  # the transposed assignment; row 1 has the padding column
    assert (u.tolist(), v.tolist()) == ([-1, 0, -1], [7, 8, 0])
